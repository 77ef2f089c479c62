"""State and problems of the backends whose rows are in this process' memory."""

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import WIDE_SEARCH_LIMIT
from edgewise.backend.base import Problem, State, Targets
from edgewise.common.dtypes import SEARCH, WIDE_SEARCH, Exacts, Integers, Reals, Rows

# The numbers of lanes that score columns may be padded to.
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


@cache
def width_of(lanes: int) -> NDArray[np.int8]:
    """Return an empty array of d dimensions for 2**(d - 1) lanes: compiled code reads its type."""
    return np.empty((0,) * lanes.bit_length(), dtype=np.int8)


def aligned_zeros(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray:
    """Return zeros that start on a cache line, so that no vector straddles two."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


def search_type(n_weights: int) -> type[np.signedinteger]:
    """Return the integers that hold sums of this many quantized weights."""
    return WIDE_SEARCH if n_weights > WIDE_SEARCH_LIMIT else SEARCH


# Compiled code is called with plain tuples: Numba takes a microsecond longer for the type of a
# `NamedTuple`.
SignedVectors = tuple[Integers, int, int, NDArray[np.int8]]
"""The signed weights S as compiled code takes them: S in one dimension, n, chunks, and the width of
`width_of`."""


@dataclass
class SignedProblem(Problem):
    """A problem whose signed weights are an array."""

    # S, (chunks, n, lanes), quantized for the search, row by row as histograms add them
    signed: Integers = field(default_factory=lambda: np.empty((1, 0, 1), dtype=SEARCH))
    rows: Rows | None = None  # the rows that count, ascending; None is all of them
    lease: Any = None  # returns the memory of `signed` when nothing refers to it any more

    @staticmethod
    def of(
        signed: Integers,
        totals: Exacts,
        masses: Exacts,
        rows: Rows | None = None,
        mass_column: bool = False,
        constraints: Problem | None = None,
        lease: Any = None,
    ) -> "SignedProblem":
        """Return the problem of all rows of S, or of some."""
        n = signed.shape[1]
        return SignedProblem(
            n, n if rows is None else len(rows), totals, masses, mass_column, constraints,
            signed=signed, rows=rows, lease=lease,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of S: (chunks, n, lanes)."""
        chunks, n, lanes = self.signed.shape
        return chunks, n, lanes

    @cached_property
    def vectors(self) -> SignedVectors:
        """S as compiled code takes it."""
        chunks, n, lanes = self.signed.shape
        return self.signed.reshape(-1), n, chunks, width_of(lanes)

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
        return np.append(self.signed_totals, self.mass) if self.mass_column else self.signed_totals

    def absolute(self) -> "SignedProblem":
        sizes = abs(self.signed)
        return replace(self, signed=sizes, signed_totals=self.signed_masses, histograms=None)

    def matrix(self, rows: Rows | None = None, mass: bool = False) -> Exacts:
        """Return S of some rows, or of all, as an (n, K) int64 matrix; `mass` adds its column."""
        signed = self.signed if rows is None else self.signed[:, rows]
        chunks, n, lanes = signed.shape
        by_row = signed.transpose(1, 0, 2).reshape(n, chunks * lanes)
        return by_row[:, : self.n_scores + mass].astype(np.int64)

    def with_signed(
        self, signed: Integers, constraints: Problem | None, factors: Reals | None = None
    ) -> "SignedProblem":
        """Return the problem of other signed weights, or of these times a factor for each row."""
        if factors is not None:
            signed = np.rint(signed * factors[None, :, None]).astype(signed.dtype)
        other = replace(self, signed=signed)
        scores = other.matrix()
        sizes = np.abs(scores)
        if self.mass_column:
            chunk, lane = divmod(self.n_scores, signed.shape[2])
            signed[chunk, :, lane] = sizes.sum(axis=1)
        totals = scores.sum(axis=0), sizes.sum(axis=0)
        return SignedProblem.of(signed, *totals, None, self.mass_column, constraints)

    def constraints_of(self, rows: Rows) -> "SignedProblem | None":
        """Return the constraints of copies of some rows."""
        constraints = self.constraints
        if constraints is None:
            return None
        assert isinstance(constraints, SignedProblem)
        return constraints.with_signed(np.ascontiguousarray(constraints.signed[:, rows]), None)


class HostState(State):
    """Weights and scores as arrays, score column by score column.

    `scale` normalizes the initial weights, `row_mass` (n,) is each row's share in error counts in
    fixed point, `weights` and `scores` (K, n) are w and f, and `whole` is the problem of all rows,
    as of the last step. With `mass_column`, S has one more column: each row's sum of ``|S|``.
    """

    def __init__(
        self,
        targets: Targets,
        scale: float,
        row_mass: Exacts,
        weights: Reals,
        mass_column: bool = False,
        n_all: int | None = None,
    ) -> None:
        k, n = weights.shape
        self.targets, self.scale, self.row_mass = targets, scale, row_mass
        self.labels, self.target = targets.labels, targets.target
        self.n_scores, self.n_rows = k, n
        self.weights, self.scores = weights, np.zeros((k, n))
        chunks, lanes = lanes_for(k + mass_column)
        # Sums over the rows of all processes must not overflow.
        signed = aligned_zeros((chunks, n, lanes), search_type((n_all or n) * k))
        zeros = np.zeros(k, dtype=np.int64)
        self.whole = SignedProblem.of(signed, zeros, zeros, mass_column=mass_column)
        self.constraints: dict[tuple[str, ...], SignedProblem] = {}

    @cached_property
    def initial(self) -> tuple[Reals, Reals, Reals]:
        """W1, which sums to 1: row weights, factors by label and column, or single weights."""
        targets = self.targets
        if targets.matrix is None:
            return targets.row_weights, targets.label_weights * self.scale, np.empty((0, 0))
        flat = np.full_like(targets.label_weights, self.scale)
        return targets.row_weights, flat, targets.row_weights * targets.matrix

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The state as compiled code takes it.

        Labels, target, row mass, whether that is equal for all rows, initial weights, weights,
        scores, and whether there is a mass column.
        """
        equal_mass = bool((self.row_mass == self.row_mass[:1]).all())
        return (
            self.labels, self.target, self.row_mass, equal_mass, self.initial, self.weights,
            self.scores, self.whole.mass_column,
        )  # fmt: skip
