"""Where a numeric column is cut, and which bin a value falls into."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import ROW, Codes, Exacts, Reals
from edgewise.data.columns import CategoricalColumn, NumericColumn, SparseColumn
from edgewise.data.partition import Partition

MAX_BINS = 65_535

# Integer columns that span at most this many values are coded by a table look-up.
_LOOKUP_SPAN = 65_536

# Beyond this not every integer is a float64; thresholds and values are compared as floats.
EXACT_INTEGERS = 2**53

# Where there are fewer values to a bin than this, Python's lists are faster to look up than arrays.
_LISTED = 50

# Bins of more rows than this, and than this many to a bin, are found on a sample of the rows.
_SAMPLE, _SAMPLE_PER_BIN = 200_000, 64
_GOLDEN = 0.6180339887498949

# The compiled search of bins multiplies masses by numbers of bins in 64 bits.
_FITS = 2**61


@dataclass(frozen=True)
class Bins:
    """The bins of one numeric column.

    Value bin `b` holds the values with exactly `b` thresholds at or below them; the code after
    the last value bin is for missing values. Thresholds are real numbers, so that a cut on bins
    and a cut on raw values are the same rule.
    """

    name: str
    thresholds: Reals
    has_missing: bool
    has_values: bool = True

    @property
    def n_values(self) -> int:
        """The number of value bins."""
        return len(self.thresholds) + 1

    @property
    def missing_code(self) -> int:
        """The code of missing values, whether or not there are any."""
        return self.n_values

    @property
    def n_codes(self) -> int:
        """The number of codes that occur in the training data."""
        return self.n_values + self.has_missing

    @property
    def can_split(self) -> bool:
        """Whether any cut of this column separates two rows."""
        return len(self.thresholds) > 0 or (self.has_missing and self.has_values)

    def first(self, threshold: float) -> int:
        """Return the first bin at or above one of the thresholds, or minus infinity."""
        return int(self.thresholds.searchsorted(threshold, side="right"))

    def encode(self, column: NumericColumn | SparseColumn) -> NDArray[np.intp]:
        """Return the code of every stored value of the column."""
        values = column.values
        if values.dtype.kind in "iu" and len(values):
            low, high = int(values.min()), int(values.max())
            exact = max(-low, high) < EXACT_INTEGERS
            if exact and high - low < min(_LOOKUP_SPAN, 4 * len(values)):
                span = np.arange(low, high + 1, dtype=np.float64)
                table = np.searchsorted(self.thresholds, span, side="right")
                return table[values.astype(np.intp) - low]
        codes = np.searchsorted(self.thresholds, values.astype(np.float64), side="right")
        if values.dtype.kind == "f":
            codes[np.isnan(values)] = self.missing_code
        return codes

    def encode_with_counts(
        self,
        column: NumericColumn | SparseColumn,
        dtype: type[np.unsignedinteger],
        compiled: bool = False,
    ) -> tuple[Codes, NDArray[np.intp]]:
        """Return the code of every stored value, and how many values have each code."""
        if not compiled or column.values.dtype.kind != "f":
            codes = self.encode(column)
            return codes.astype(dtype), np.bincount(codes, minlength=self.missing_code + 1)
        from edgewise.data.kernels import encode_values

        padded = np.full(255 if len(self.thresholds) <= 255 else 65_535, np.inf)
        padded[: len(self.thresholds)] = self.thresholds
        quickly = np.empty(len(column.values), dtype=dtype)
        counts = np.zeros(self.missing_code + 1, dtype=np.intp)
        encode_values(column.values, padded, len(self.thresholds), quickly, counts)
        return quickly, counts


def sampled_rows(n_rows: int, max_bins: int) -> NDArray[np.intp] | None:
    """Return the rows on which bins are found, the same for all tables of a size; None is all.

    They are one row of each of equal runs of rows. Its position in the run changes, so that a
    period in the rows does not select rows of one kind.
    """
    size = max(_SAMPLE, _SAMPLE_PER_BIN * max_bins)
    if n_rows <= size:
        return None
    starts = np.arange(size + 1) * n_rows // size
    return starts[:-1] + (np.arange(size) * _GOLDEN % 1.0 * np.diff(starts)).astype(np.intp)


def find_bins(
    name: str,
    column: NumericColumn | SparseColumn,
    mass: Exacts | None,
    max_bins: int,
    least_share: float = 0.0,
    compiled: bool = False,
    sample: NDArray[np.intp] | None = None,
    partition: Partition | None = None,
) -> Bins:
    """Cut a column into at most `max_bins` bins of about equal mass.

    With at most `max_bins` different values each has a bin of its own. Missing values take one of
    the bins. Each side of a threshold has at least `least_share` of the mass (None: one per row).
    Only the rows of a `sample` count, if they have more than `max_bins` different values. Other
    processes of the `partition` have other rows of the column. The compiled loop (`compiled`) gives
    the same.
    """

    def distinct(part: NumericColumn | SparseColumn, mass: Exacts | None) -> tuple[Reals, Exacts]:
        merged = _find_distinct(part, mass)
        if partition is None:
            return merged
        gathered = partition.collective.gather(merged)
        return _sum_by_value(*map(np.concatenate, zip(*gathered, strict=True)))

    has_missing = column.values.dtype.kind == "f" and bool(np.isnan(column.values).any())
    if partition is not None:
        has_missing = partition.any(has_missing)
    if sample is None:
        values, counts = distinct(column, mass)
    else:
        sampled_mass = mass if mass is None else mass[sample]
        values, counts = distinct(_take_sample(column, sample), sampled_mass)
        if len(values) <= max_bins - has_missing:
            values, counts = distinct(column, mass)
    limit = max_bins - has_missing
    last = np.arange(len(values) - 1)
    if len(values) > limit:
        last = _last_of_bins(counts, limit, compiled)
    if least_share > 0 and len(last):
        below = np.cumsum(counts)[last] / counts.sum()
        last = last[(below >= least_share) & (1 - below >= least_share)]
    return Bins(name, midpoints(values, last), has_missing, has_values=len(values) > 0)


def midpoints(values: Reals, last: NDArray[np.intp]) -> Reals:
    """Return the midpoint between ``values[i]`` and ``values[i + 1]`` for each `i` in `last`.

    The midpoint lies above the lower value and at most at the upper one, so that ``x >= midpoint``
    separates them even where they are neighboring floats or infinite.
    """
    lower, upper = values[last], values[last + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = lower / 2 + upper / 2
        between = (lower < middle) & (middle <= upper)
    return np.where(between, middle, upper)


def _take_sample(
    column: NumericColumn | SparseColumn, rows: NDArray[np.intp]
) -> NumericColumn | SparseColumn:
    if isinstance(column, NumericColumn):
        return NumericColumn(column.values[rows])
    positions = np.searchsorted(rows, column.rows)
    inside = rows.take(positions, mode="clip") == column.rows
    return SparseColumn(positions[inside].astype(ROW), column.values[inside], len(rows))


def _find_distinct(
    column: NumericColumn | SparseColumn, mass: Exacts | None
) -> tuple[Reals, Exacts]:
    """Return the sorted distinct values, and the mass of each."""
    values = column.values
    stored_mass = mass
    if isinstance(column, SparseColumn) and mass is not None:
        stored_mass = mass[column.rows]
    if values.dtype.kind == "f" and mass is None:
        # Missing values come last when sorted.
        values = np.sort(values)
        values = values[: int(np.searchsorted(values, np.nan))]
    elif values.dtype.kind == "f":
        missing = np.isnan(values)
        if missing.any():
            values = values[~missing]
            stored_mass = stored_mass[~missing] if stored_mass is not None else None
    distinct, counts = _sum_by_value(values, stored_mass)
    if isinstance(column, SparseColumn) and len(column.values) < column.n_rows:
        distinct, counts = _with_zeros(column, mass, distinct, counts)
    return distinct, counts


def _sum_by_value(values: NDArray[np.number], mass: Exacts | None) -> tuple[Reals, Exacts]:
    """Return the distinct values, ascending, and the mass of each; `values` may be sorted."""
    if len(values) == 0:
        return np.empty(0), np.empty(0, np.int64)
    if mass is None:
        ordered = values if values.dtype.kind == "f" else np.sort(values)
    else:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
    new = np.empty(len(ordered), dtype=bool)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    distinct = ordered[starts].astype(np.float64)
    if mass is None:
        return distinct, np.diff(starts, append=len(ordered))
    return distinct, np.add.reduceat(mass[order], starts)


def _with_zeros(
    column: SparseColumn, mass: Exacts | None, distinct: Reals, counts: Exacts
) -> tuple[Reals, Exacts]:
    """Add the zeros that a sparse column does not store."""
    if mass is None:
        unstored = column.n_rows - len(column.values)
    else:
        unstored = int(mass.sum() - mass[column.rows].sum())
    index = int(np.searchsorted(distinct, 0.0))
    if index < len(distinct) and distinct[index] == 0.0:
        counts = counts.copy()
        counts[index] += unstored
        return distinct, counts
    return np.insert(distinct, index, 0.0), np.insert(counts, index, unstored)


def _last_of_bins(counts: Exacts, n_bins: int, compiled: bool) -> NDArray[np.intp]:
    """Return the index of the last value of every bin but the last.

    A value that outweighs an average bin has a bin of its own; the others share what is left.
    All in whole numbers, so that it is the same for weights in any unit.
    """
    heavy = _find_heavy(counts, n_bins)
    edges = np.flatnonzero(np.diff(heavy.astype(np.int8), prepend=1, append=1))
    segments = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    spare = n_bins - int(heavy.sum()) - len(segments)
    if not heavy.any() or spare < 0:
        return np.array(_cut_evenly(counts, 0, len(counts), n_bins, compiled), dtype=np.intp)
    light = int(counts[~heavy].sum())
    lasts = set(np.flatnonzero(heavy).tolist())
    for start, stop in segments:
        mass = int(counts[start:stop].sum())
        # Beside huge weights, small ones count 0 in fixed point.
        lasts.update(_cut_evenly(counts, start, stop, 1 + spare * mass // max(light, 1), compiled))
        lasts.add(stop - 1)
    lasts.discard(len(counts) - 1)
    return np.array(sorted(lasts), dtype=np.intp)


def _find_heavy(counts: Exacts, n_bins: int) -> NDArray[np.bool_]:
    """Return which values outweigh an average bin of the values that do not."""
    heavy = np.zeros(len(counts), dtype=bool)
    while True:
        bins, mass = n_bins - int(heavy.sum()), int(counts[~heavy].sum())
        more = ~heavy & (counts > mass // max(bins, 1))
        if bins <= 0 or not more.any():
            return heavy
        heavy |= more


def _cut_evenly(counts: Exacts, start: int, stop: int, n_bins: int, compiled: bool) -> list[int]:
    """Return the last value of every bin but the last, for the values from start to stop.

    Each bin in turn takes its share of what is left.
    """
    sums = np.cumsum(counts[start:stop])
    if compiled and int(sums[-1]) * n_bins < _FITS:
        from edgewise.data.kernels import cut_evenly

        buffer = np.empty(n_bins, dtype=np.intp)
        return buffer[: cut_evenly(sums, start, n_bins, buffer)].tolist()
    running: Sequence[int] = sums  # type: ignore[assignment]
    if n_bins * _LISTED > len(running):
        running = sums.tolist()
    total, done, first = int(running[-1]), 0, 0
    lasts: list[int] = []
    for left in range(n_bins, 1, -1):
        # The target is done + (total - done) / left; the nearer of the sums around it is taken.
        last = bisect_left(running, done + -(-(total - done) // left), first)
        around = int(running[last]) + int(running[last - 1])
        if last > first and around * left > 2 * (done * left + total - done):
            last -= 1
        if last >= len(running) - 1:
            break
        lasts.append(start + last)
        first, done = last + 1, int(running[last])
    return lasts


@dataclass(frozen=True)
class Categories:
    """The values of one categorical column that training saw, in order.

    The code after the last value is for missing values and for values that training did not see.
    """

    name: str
    categories: tuple[object, ...]
    has_missing: bool

    @property
    def missing_code(self) -> int:
        """The code of missing and unseen values, whether or not there are any."""
        return len(self.categories)

    @property
    def n_codes(self) -> int:
        """The number of codes that occur in the training data."""
        return len(self.categories) + self.has_missing

    @property
    def can_split(self) -> bool:
        """Whether any two rows differ in this column."""
        return self.n_codes > 1

    def encode(self, column: CategoricalColumn) -> Codes:
        """Return the code of every row."""
        return column.recode(self.categories).codes

    @staticmethod
    def of(
        name: str, column: CategoricalColumn, partition: Partition | None = None
    ) -> "Categories":
        """Return the values of a training column whose other rows are in other processes."""
        occurs = np.bincount(column.codes, minlength=column.missing_code + 1) > 0
        has_missing = bool(occurs[-1])
        # A chunk may have categories of rows that are held out or have no weight.
        present = tuple(c for c, used in zip(column.categories, occurs, strict=False) if used)
        if partition is None:
            return Categories(name, present, has_missing)
        merged = {category for local in partition.collective.gather(present) for category in local}
        return Categories(name, tuple(sorted(merged)), partition.any(has_missing))
