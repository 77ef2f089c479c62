"""What the kernels read and write in a round: weights, scores and their fixed-point images."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.dtypes import SEARCH, WIDE_SEARCH, Columns, Exacts, Integers, Reals, Signs
from edgewise.kernels.fixed_point import WIDE_SEARCH_LIMIT

# Score columns travel through the search in vectors of this many lanes.
_WIDTHS = (1, 2, 4, 8, 16, 32)
_CACHE_LINE = 64


def lanes_for(n_scores: int) -> tuple[int, int]:
    """Return (chunks, lanes): how K score columns are laid out as vectors.

    Examples
    --------
    >>> lanes_for(1), lanes_for(10), lanes_for(26), lanes_for(40)
    ((1, 1), (1, 16), (1, 32), (3, 16))
    """
    for lanes in _WIDTHS:
        if n_scores <= lanes:
            return 1, lanes
    by_32, by_16 = -(-n_scores // 32), -(-n_scores // 16)
    return (by_32, 32) if 2 * by_32 == by_16 else (by_16, 16)


def aligned_zeros(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray:
    """Return zeros that start on a cache line, so that no vector straddles two."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


@dataclass
class State:
    """Weights and scores of every (row, score column) entry.

    Attributes
    ----------
    labels : int8 array of shape (K, n)
        The label matrix Y, -1 or +1, score column by score column like all that follows.
    target : int32 array of shape (n,)
        The index of the row's class, or -1 where there is no single one (multi-label, binary).
    row_mass : int64 array of shape (n,)
        The share of each row in error counts, in fixed point.
    weights, scores : float64 arrays of shape (K, n)
        w and f.
    signed : integer array of shape (chunks, n, lanes)
        S, the signed weights w * y quantised for the search, row by row as histograms add them.
    signed_totals, signed_masses : int64 arrays of shape (K,)
        The sums of S and of |S| over the rows.
    """

    labels: Signs
    target: NDArray[np.int32]
    row_mass: Exacts
    weights: Reals
    scores: Reals = field(init=False)
    signed: Integers = field(init=False)
    signed_totals: Exacts = field(init=False)
    signed_masses: Exacts = field(init=False)

    def __post_init__(self) -> None:
        k, n = self.weights.shape
        chunks, lanes = lanes_for(k)
        search = WIDE_SEARCH if n * k > WIDE_SEARCH_LIMIT else SEARCH
        self.scores = np.zeros((k, n))
        self.signed = aligned_zeros((chunks, n, lanes), search)
        self.signed_totals = np.zeros(k, dtype=np.int64)
        self.signed_masses = np.zeros(k, dtype=np.int64)

    @cached_property
    def width(self) -> NDArray[np.int8]:
        """An empty array with d dimensions for 2**(d - 1) lanes, as compiled code wants it."""
        return np.empty((0,) * self.signed.shape[2].bit_length(), dtype=np.int8)

    @cached_property
    def flat_signed(self) -> Integers:
        """S as a flat view."""
        return self.signed.reshape(-1)

    @cached_property
    def equal_mass(self) -> bool:
        """Whether all rows weigh the same."""
        return bool((self.row_mass == self.row_mass[0]).all())

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.weights.shape[1]

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return self.weights.shape[0]


class Edges(NamedTuple):
    """Sums over the rows for each score column, in 64-bit fixed point.

    Attributes
    ----------
    edges : int64 array of shape (K,)
        The edge of the cut: the sum of w * y * sign.
    masses : int64 array of shape (K,)
        The weight of the rows on which the cut does not abstain.
    total : int
        W, the weight of everything.
    """

    edges: Exacts
    masses: Exacts
    total: int


class Step(NamedTuple):
    """One round's step, as the update needs it.

    The weight of an entry is multiplied by ``agree[l]`` where the cut and the label agree, by
    ``against[l]`` where they do not, and by `rest` where the cut abstains; its score changes by
    the cut times ``coefficients[l]``. Of `votes` only the signs count.
    """

    agree: Reals
    against: Reals
    rest: float
    coefficients: Reals
    votes: Reals

    @staticmethod
    def none(n_scores: int) -> "Step":
        """Return the step that changes nothing (it only refreshes the sums)."""
        ones, zeros = np.ones(n_scores), np.zeros(n_scores)
        return Step(ones, ones, 1.0, zeros, zeros)


class Tally(NamedTuple):
    """What one update counted.

    Attributes
    ----------
    pseudo : int
        The sum over rows of ``| sum over l of w[i,l] y[i,l] v[l] |`` before the update, in 64-bit
        fixed point: w'_Sigma of seed 001 eq. 14. -1 where each column had a cut of its own.
    wrong_rows : int
        The mass of the rows predicted wrongly after the update.
    wrong_entries : int64 array of shape (2, K)
        The mass of the entries with the wrong sign after the update, by label (-1, +1) and column.
    """

    pseudo: int
    wrong_rows: int
    wrong_entries: Exacts


@dataclass(frozen=True)
class Candidates:
    """The best cut of each column searched; good until the next search.

    With one cut for all score columns the arrays have shape (columns,); with a cut for each
    (`per_score`), shape (columns, K).

    Attributes
    ----------
    columns : intp array
        The columns' numbers, ascending.
    edges : int64 array
        The edge: the sum over l of ``|edge of column l|``, in the search's fixed point.
    first : intp array
        The first bin on the positive side; 0 puts every value there.
    missing : int8 array
        The side of missing values.
    score_edges : int64 array of shape (columns, K) or None
        The edges of the score columns at the best cut, where asked for.
    """

    columns: Columns
    edges: Exacts
    first: Columns
    missing: Signs
    score_edges: Exacts | None = None
