"""The interface of a backend, and what it reads and writes in a round."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import GAIN_SCALE, WIDE_SEARCH_LIMIT
from edgewise.common.dtypes import (
    SEARCH,
    WIDE_SEARCH,
    Columns,
    Exacts,
    Integers,
    Reals,
    Rows,
    Signs,
)
from edgewise.data import BinnedTable

# Score columns travel through the search in vectors of this many lanes.
_WIDTHS = (1, 2, 4, 8, 16, 32)
_CACHE_LINE = 64


LEARN = 2
"""Where a search says on which side of a cut missing values are: each column learns it."""


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


@cache
def _width(lanes: int) -> NDArray[np.int8]:
    return np.empty((0,) * lanes.bit_length(), dtype=np.int8)


def aligned_zeros(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray:
    """Return zeros that start on a cache line, so that no vector straddles two."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


def gains(squares: Any, masses: Any) -> Any:
    """Return the sum of squared edges over the mass, in fixed point.

    With one score column the best real vote on some rows lowers the loss by half of this, to second
    order; with several this takes one mass for all. The sum of squares is an integer below 2**62,
    so that the only rounding is that of one division.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.asarray(squares, dtype=np.float64) / np.asarray(masses, dtype=np.float64)
    return np.rint(np.where(np.asarray(masses) > 0, shares, 0.0) * GAIN_SCALE).astype(np.int64)


@dataclass(frozen=True)
class Entries:
    """Some entries of S, chunk by chunk, in each by row.

    Attributes
    ----------
    shape : tuple (chunks, n, lanes)
        That of the S they are from, with its n rows numbered anew.
    starts : intp array of shape (chunks + 1,)
        The entries of chunk c are from ``starts[c]`` to ``starts[c + 1]``.
    rows, lanes : int32 and uint8 arrays
        The row and the lane of each entry.
    values : integer array
        Their signed weights.
    """

    shape: tuple[int, int, int]
    starts: Columns
    rows: Rows
    lanes: NDArray[np.uint8]
    values: Integers

    @property
    def arrays(self) -> tuple[Columns, Rows, NDArray[np.uint8], Integers]:
        """The entries as compiled code wants them."""
        return self.starts, self.rows, self.lanes, self.values

    @property
    def scores(self) -> Columns:
        """The score column of each entry."""
        chunk = np.repeat(np.arange(self.shape[0]), np.diff(self.starts))
        return chunk * self.shape[2] + self.lanes

    def sums(self, n_scores: int) -> tuple[Exacts, Exacts]:
        """Return the sums of the values and of their sizes, for each score column."""
        n_columns, scores = self.shape[0] * self.shape[2], self.scores
        totals, masses = (np.zeros(n_columns, dtype=np.int64) for _ in range(2))
        np.add.at(totals, scores, self.values)
        np.add.at(masses, scores, np.abs(self.values))
        return totals[:n_scores], masses[:n_scores]

    def of_rows(self, rows: Rows) -> "Entries":
        """Return the entries of some rows."""
        chosen = np.zeros(self.shape[1], dtype=bool)
        chosen[rows] = True
        kept = np.flatnonzero(chosen[self.rows])
        return replace(
            self,
            starts=np.searchsorted(kept, self.starts).astype(np.intp),
            rows=self.rows[kept],
            lanes=self.lanes[kept],
            values=self.values[kept],
        )


@dataclass
class Problem:
    """What one search sums: signed weights of all rows or of some.

    Attributes
    ----------
    signed : integer array of shape (chunks, n, lanes)
        S, the signed weights quantised for the search, row by row as histograms add them.
    signed_totals, signed_masses : int64 arrays of shape (K,)
        The sums of S and of |S| over the rows. Where S has a mass column, one after the last score
        column that holds each row's sum of |S|, they leave it out.
    rows : int32 array or None
        The rows that count, ascending; None is all of them.
    kept : dict or None
        Where searches leave their histograms, so that those of a part of the rows can be
        subtracted from them; None keeps nothing.
    split_from : tuple of Problem or None
        The problem that this one is a part of and the one that holds the other part: histograms
        that both have kept give this one's by subtraction.
    borrowed : bool
        Whether `signed` is memory that the backend lend, to be given back by ``release``.
    mass_column : bool
        Whether S has a mass column.
    entries : Entries or None
        The entries that count, where only some do; `signed` has their values then.
    """

    signed: Integers
    signed_totals: Exacts
    signed_masses: Exacts
    rows: Rows | None = None
    kept: dict[tuple[Any, ...], Any] | None = None
    split_from: tuple["Problem", "Problem"] | None = None
    borrowed: bool = False
    mass_column: bool = False
    entries: Entries | None = None

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return len(self.signed_totals)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of S: (chunks, n, lanes)."""
        if self.entries is not None:
            return self.entries.shape
        chunks, n, lanes = self.signed.shape
        return chunks, n, lanes

    @property
    def n_rows(self) -> int:
        """The number of rows that S has, those that do not count included."""
        return self.shape[1]

    @property
    def edge(self) -> int:
        """The edge of the constant on these rows."""
        return int(np.abs(self.signed_totals).sum())

    @property
    def gain(self) -> int:
        """The gain of the constant on these rows: see `gains`."""
        return int(gains((self.signed_totals**2).sum(), self.signed_masses.sum()))

    @property
    def width(self) -> NDArray[np.int8]:
        """An empty array with d dimensions for 2**(d - 1) lanes, as compiled code wants it."""
        return _width(self.shape[2])

    @cached_property
    def flat_signed(self) -> Integers:
        """S as a flat view."""
        return self.signed.reshape(-1)

    @cached_property
    def member(self) -> NDArray[np.bool_] | None:
        """Whether each row counts; None where all do."""
        if self.rows is None:
            return None
        member = np.zeros(self.n_rows, dtype=bool)
        member[self.rows] = True
        return member

    @property
    def column_totals(self) -> Exacts:
        """The sums of all columns of S, the mass column included."""
        if not self.mass_column:
            return self.signed_totals
        return np.append(self.signed_totals, self.signed_masses.sum())


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
    mass_column : bool
        Whether S has a column more, with each row's sum of |S|: searches by gain need it.
    signed : integer array of shape (chunks, n, lanes)
        S, the signed weights w * y quantised for the search, row by row as histograms add them.
    signed_totals, signed_masses : int64 arrays of shape (K,)
        The sums of S and of |S| over the rows.
    """

    labels: Signs
    target: NDArray[np.int32]
    row_mass: Exacts
    weights: Reals
    mass_column: bool = False
    scores: Reals = field(init=False)
    signed: Integers = field(init=False)
    signed_totals: Exacts = field(init=False)
    signed_masses: Exacts = field(init=False)

    def __post_init__(self) -> None:
        k, n = self.weights.shape
        chunks, lanes = lanes_for(k + self.mass_column)
        search = WIDE_SEARCH if n * k > WIDE_SEARCH_LIMIT else SEARCH
        self.scores = np.zeros((k, n))
        self.signed = aligned_zeros((chunks, n, lanes), search)
        self.signed_totals = np.zeros(k, dtype=np.int64)
        self.signed_masses = np.zeros(k, dtype=np.int64)

    @property
    def width(self) -> NDArray[np.int8]:
        """An empty array with d dimensions for 2**(d - 1) lanes, as compiled code wants it."""
        return _width(self.signed.shape[2])

    @cached_property
    def flat_signed(self) -> Integers:
        """S as a flat view."""
        return self.signed.reshape(-1)

    @cached_property
    def equal_mass(self) -> bool:
        """Whether all rows weigh the same."""
        return bool((self.row_mass == self.row_mass[0]).all())

    def problem(self) -> Problem:
        """Return the round's problem: S of all rows, good until the weights change."""
        return Problem(
            self.signed,
            self.signed_totals,
            self.signed_masses,
            mass_column=self.mass_column,
        )

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


class RealStep(NamedTuple):
    """A step after which the weights are computed from the scores.

    A score changes by the base function's output times ``coefficients[l]``. Of `votes` only the
    signs count. `logistic` says which loss the weights follow; `shift` is added to the exponents
    of the exponential one. `unit` is the fixed point in which the new weights are summed.
    """

    coefficients: Reals
    votes: Reals
    logistic: bool
    shift: float
    unit: float


class InitialWeights(NamedTuple):
    """W1, which sums to 1.

    An entry's is its row's, or where there is a matrix the matrix's, times that of its label
    (-1, +1) and score column.
    """

    rows: Reals
    by_label: Reals
    matrix: Reals


class Tally(NamedTuple):
    """What one update counted.

    Attributes
    ----------
    pseudo : int
        The sum over rows of ``| sum over l of w[i,l] y[i,l] v[l] |`` before the update, in 64-bit
        fixed point: w'_Sigma of Kégl 2014b eq. 14. -1 where each column had a cut of its own.
    wrong_rows : int
        The mass of the rows predicted wrongly after the update.
    wrong_entries : int64 array of shape (2, K)
        The mass of the entries with the wrong sign after the update, by label (-1, +1) and column.
    """

    pseudo: int
    wrong_rows: int
    wrong_entries: Exacts


class Bounds(NamedTuple):
    """Which signs the edges of cuts may have, in a search with one score column.

    Attributes
    ----------
    directions : int8 array of shape (columns,)
        For each column searched: +1 or -1 is the sign that edges must have, 0 lets them have any.
        Cuts that only tell present from missing values are always free.
    starts : intp array of shape (columns + 1,)
        The exceptions of column q are from ``starts[q]`` to ``starts[q + 1]`` of what follows.
    firsts, sides : intp and int8 arrays
        A cut, by its first bin on the positive side, rising, and the side of missing values.
    limits : int64 array
        How large its edge of the other sign may be.
    """

    directions: Signs
    starts: Columns
    firsts: Columns
    sides: Signs
    limits: Exacts


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
        The edge: the sum over l of ``|edge of column l|``, in the search's fixed point. In a search
        by gain, the sum of the gains on either side.
    first : intp array
        The first bin on the positive side; 0 puts every value there.
    missing : int8 array
        The side of missing values; 0 where the cut abstains on them.
    score_edges : int64 array of shape (columns, K) or None
        The edges of the score columns at the best cut, where asked for.
    """

    columns: Columns
    edges: Exacts
    first: Columns
    missing: Signs
    score_edges: Exacts | None = None


class Part(Protocol):
    """Some of the weights."""

    @property
    def backend(self) -> "Backend":
        """Those of a table of the part's rows."""

    @property
    def rows(self) -> Rows:
        """Their numbers in the whole table."""

    @property
    def size(self) -> int:
        """How many rows or entries there are."""

    def gather(self, problem: Problem) -> Problem:
        """Return the part's share of a problem of all rows, as it is now."""


class RowsWithin:
    """Some rows, in the table of all: for what is computed of all rows anyway."""

    def __init__(self, backend: "Backend", rows: Rows) -> None:
        self.backend = backend
        self.rows = rows

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def gather(self, problem: Problem) -> Problem:
        """Return the part's share of a problem of all rows, as it is now."""
        return self.backend.within(problem, self.rows)


class Backend(Protocol):
    """All arithmetic on the rows of one training table."""

    table: BinnedTable
    name: str

    def search(
        self,
        columns: Columns,
        problem: Problem,
        per_score: bool = False,
        score_edges: bool = False,
        constant: bool = True,
        absent: int = LEARN,
        gain: bool = False,
        bounds: Bounds | None = None,
    ) -> Candidates:
        """Return the best cut of each column, by edge or by gain.

        `absent` is the side of missing values (-1, 0 or +1), or LEARN; `bounds` says which signs
        edges may have.
        """

    def histograms(self, columns: Columns, problem: Problem, mass: bool = False) -> Exacts:
        """Return the sums of S of each value of some categorical columns, shape (values, K).

        With `mass` the mass column comes last.
        """

    def flip(self, problem: Problem, signs: Signs) -> Problem:
        """Return the problem under virtual labels."""

    def within(self, problem: Problem, rows: Rows) -> Problem:
        """Return the problem on some of the rows."""

    def cut_rows(
        self, rows: Rows | None, j: int, first: int, missing: int
    ) -> tuple[Rows, Rows] | None:
        """Return those of some rows that are below a cut of column `j`, and those above.

        None where there is no quicker way than to look at the cut of all rows.
        """

    def release(self, problem: Problem) -> None:
        """Take back the memory of a problem that is no longer needed."""

    def over(self, table: BinnedTable) -> "Backend":
        """Return the backend of another table with the same rows."""

    def row_masses(self, problem: Problem) -> Exacts:
        """Return the sum of the sizes of each row's signed weights."""

    def mass_from(self, problem: Problem, least: int) -> int:
        """Return the sum of the sizes of the signed weights that are at least so large."""

    def part_of_rows(self, rows: Rows) -> Part:
        """Return the part of some rows; of those returned before, only the last can be used."""

    def part_of_entries(self, problem: Problem, least: int) -> Part:
        """Return the part of the entries whose signed weights are at least so large."""

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut."""

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step."""

    def reweigh(
        self, state: State, outputs: Signs | Reals, step: RealStep, initial: InitialWeights
    ) -> tuple[int, int]:
        """Move the scores and compute the weights from them."""

    def energy(self, state: State, outputs: Signs | Reals, coefficients: Reals) -> float:
        """Return Z of a real-valued base function."""

    def spread(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Return what `run` gives for each part, on as many threads as there are."""

    def row_parts(self, n_rows: int) -> int:
        """Return into how many parts so many rows are worth cutting."""

    def close(self) -> None:
        """End what was started."""
