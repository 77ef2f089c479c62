"""Haar filters: their numbers, and their responses on demand from integral images."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import NARROW_CODE, WIDE_CODE, Codes, Columns, Reals
from edgewise.data.bins import EXACT_INTEGERS, MAX_BINS, Bins
from edgewise.data.partition import Partition

# The weights of a filter's corners in the integral image, down the rows and along the columns: the
# weight of a corner is their product. A field is (-1, 1), a light and a dark one (-1, 2, -1), and a
# dark one that counts twice between two light ones (-1, 3, -3, 1).
CORNERS = {
    "two stripes across": ((-1, 1), (-1, 2, -1)),
    "two stripes down": ((-1, 2, -1), (-1, 1)),
    "three stripes across": ((-1, 1), (-1, 3, -3, 1)),
    "three stripes down": ((-1, 3, -3, 1), (-1, 1)),
    "checkerboard": ((1, -2, 1), (1, -2, 1)),
}

KINDS = tuple(CORNERS)
"""The kinds of filters, in the order of their numbers."""

MAX_SIDE = 1024
"""The maximum number of rows and columns of an image, so that its filters can be numbered."""

# The maximum sum of the magnitudes of a filter's corner weights: no partial sum of a response
# exceeds this times the sum of all pixels.
_WEIGHT = 16

# The binary exponents of real pixels, so that no response divided by the width of a bin overflows
# or underflows.
_MIN_EXPONENT, _MAX_EXPONENT = -500, 500

# The number of rows whose responses, or whose transposed pixels, stay in the cache.
_BLOCK = 65_536
_TRANSPOSED_BLOCK = 1_024


class HaarFilter(NamedTuple):
    """Alternating light and dark fields of equal height and width, from the pixel (`top`, `left`).

    The upper left field is light.
    """

    kind: str
    top: int
    left: int
    height: int
    width: int

    @property
    def fields(self) -> tuple[int, int]:
        """The number of fields down the rows and along the columns."""
        down, across = CORNERS[self.kind]
        return len(down) - 1, len(across) - 1


@dataclass(frozen=True)
class HaarFilters:
    """All Haar filters on images of one shape, numbered from 0.

    The response of a filter to an image is the sum of the pixels in its light fields minus the sum
    in its dark fields (Viola and Jones 2004). A dark field between two light ones counts twice, so
    that the response to an image of one color is 0. Numbers run over the kinds, then heights and
    tops, then widths and lefts. `smallest` is the minimum height and width of a field, in pixels.

    Examples
    --------
    >>> filters = HaarFilters((28, 28), smallest=2)
    >>> len(filters)
    231925
    >>> filters[70_000]
    HaarFilter(kind='two stripes down', top=16, left=17, height=2, width=4)
    >>> filters.name(70_000)
    'two stripes down at rows 16-19, columns 17-20'
    """

    shape: tuple[int, int]
    smallest: int = 1

    def __post_init__(self) -> None:
        try:
            rows, columns = self.shape
            shape = (integer("shape", rows, 1), integer("shape", columns, 1))
        except (TypeError, ValueError) as error:
            raise ValueError(
                "shape must be the images' rows and columns, two integers of at least 1, "
                f"got {self.shape!r}"
            ) from error
        if max(shape) > MAX_SIDE:
            raise ValueError(f"shape must have sides of at most {MAX_SIDE}, got {self.shape!r}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "smallest", integer("smallest", self.smallest, 1))
        if not len(self):
            raise ValueError(
                f"no Haar filter with fields of at least {self.smallest} pixels fits into "
                f"shape={shape}: it takes two fields side by side or one above the other"
            )

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, j: int) -> HaarFilter:
        number = index(j)
        if not 0 <= number < len(self):
            raise IndexError(f"filter numbers run from 0 to {len(self) - 1}, got {j}")
        kind = bisect_right(self._ends, number)
        vertical, horizontal = self._ranges[kind]
        past = number - (self._ends[kind - 1] if kind else 0)
        v, h = divmod(past, len(horizontal))
        (height, top), (width, left) = vertical[v].tolist(), horizontal[h].tolist()
        return HaarFilter(KINDS[kind], top, left, height, width)

    def name(self, j: int) -> str:
        """Return the name of filter `j`: its kind and the pixels it covers."""
        haar = self[j]
        down, across = haar.fields
        rows = _span("row", haar.top, down * haar.height)
        columns = _span("column", haar.left, across * haar.width)
        return f"{haar.kind} at {rows}, {columns}"

    def sources(self, j: int) -> Columns:
        """Return the numbers of the pixels that filter `j` covers."""
        haar = self[j]
        down, across = haar.fields
        rows = np.arange(haar.top, haar.top + down * haar.height)
        columns = np.arange(haar.left, haar.left + across * haar.width)
        return (rows[:, None] * self.shape[1] + columns).ravel()

    @property
    def n_scales(self) -> int:
        """The number of scales: kinds, each with fields of one height and width, in this order."""
        return len(self._scales.sizes)

    def draw(self, scales: Columns, rng: "np.random.Generator") -> Columns:
        """Return one filter of each scale, at a random position."""
        known = self._scales
        tops, lefts = divmod(rng.integers(known.sizes[scales]), known.n_lefts[scales])
        return known.firsts[scales] + tops * known.strides[scales] + lefts

    @cached_property
    def _scales(self) -> "_Scales":
        starts = [0, *self._ends[:-1]]
        scales = [_kind_scales(a, *ranges) for a, ranges in zip(starts, self._ranges, strict=True)]
        return _Scales(*map(np.concatenate, zip(*scales, strict=True)))

    @cached_property
    def _ranges(self) -> list[tuple[Columns, Columns]]:
        """For each kind every (height, top) and every (width, left) of its fields."""
        rows, columns = self.shape
        return [
            (
                _field_ranges(rows, len(down) - 1, self.smallest),
                _field_ranges(columns, len(across) - 1, self.smallest),
            )
            for down, across in CORNERS.values()
        ]

    @cached_property
    def _ends(self) -> list[int]:
        """The number after the last one of each kind."""
        return list(accumulate(len(down) * len(across) for down, across in self._ranges))


class _Scales(NamedTuple):
    """The number of filters of each scale, its first one, its number of lefts, and its stride.

    The filter one column to the right has the next number; the one a row below is a stride away.
    """

    sizes: Columns
    firsts: Columns
    n_lefts: Columns
    strides: Columns


def _kind_scales(start: int, vertical: Columns, horizontal: Columns) -> _Scales:
    """Return the scales of one kind, whose filters are numbered from `start`."""
    _, tops, n_tops = np.unique(vertical[:, 0], return_index=True, return_counts=True)
    _, lefts, n_lefts = np.unique(horizontal[:, 0], return_index=True, return_counts=True)
    stride = len(horizontal)
    sizes = n_tops[:, None] * n_lefts
    return _Scales(
        sizes.ravel(),
        (start + tops[:, None] * stride + lefts).ravel(),
        np.tile(n_lefts, len(n_tops)),
        np.full(sizes.size, stride),
    )


def _field_ranges(length: int, n_fields: int, smallest: int) -> Columns:
    """Return every (size, start) with which adjacent fields fit into the length."""
    sizes = np.arange(smallest, length // n_fields + 1)
    counts = length - n_fields * sizes + 1
    starts = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack((np.repeat(sizes, counts), starts))


def _span(noun: str, first: int, count: int) -> str:
    return f"{noun} {first}" if count == 1 else f"{noun}s {first}-{first + count - 1}"


class Images:
    """Integral images, from which the response of a filter takes a few additions.

    Entry ``y * (columns + 1) + x`` of `integral` holds, for every image, the sum of the pixels
    above row `y` and left of column `x`: a corner of a field is one contiguous vector.

    Sums of integers are exact. Real pixels are rounded (to 39 bits below the largest pixel of a
    28 x 28 image) so that their sums are exact too: the response to an area of one color is 0, and
    the responses to an image do not depend on the other images.
    """

    def __init__(self, X: Any, filters: HaarFilters, partition: Partition | None = None) -> None:
        pixels = _pixels(X, filters.shape)
        self.filters = filters
        self.partition = partition
        self.n_rows = len(pixels)
        self.integral = _integral(pixels, filters.shape)
        if partition is not None:
            kinds = partition.collective.gather(self.integral.dtype.kind if len(pixels) else None)
            if len({*kinds} - {None}) > 1:
                raise ValueError(
                    "X has whole numbers in some partitions and others elsewhere: image filters "
                    "need pixels of one type"
                )

    def responses(self, j: int, rows: slice = slice(None)) -> Reals:
        """Return the response of filter `j` to every image, or to some of them."""
        sums = self._vector()[rows]
        return self._sums(j, sums, rows).astype(np.float64, copy=False)

    def encode(self, numbers: Sequence[int] | Columns, max_bins: int) -> tuple[list[Bins], Codes]:
        """Return the bins of the responses of some filters, and the codes of all images.

        The bins are of equal width, see `even_bins`, so that responses need not be sorted.
        """
        max_bins = integer("max_bins", max_bins, 2, MAX_BINS)
        dtype = NARROW_CODE if max_bins <= np.iinfo(NARROW_CODE).max + 1 else WIDE_CODE
        codes = np.empty((len(numbers), self.n_rows), dtype=dtype)
        sums = self._vector()
        bins = []
        for row, j in zip(codes, numbers, strict=True):
            self._sums(j, sums)
            exponent, first, count = even_bins(sums, max_bins, self.partition)
            _encode_sums(sums, exponent, first, row)
            thresholds = np.ldexp(np.arange(first + 1, first + count, dtype=np.float64), exponent)
            bins.append(Bins(self.filters.name(j), thresholds, has_missing=False))
        return bins, codes

    def _vector(self) -> NDArray[Any]:
        return np.empty(self.n_rows, dtype=self.integral.dtype)

    def _sums(self, j: int, out: NDArray[Any], images: slice = slice(None)) -> NDArray[Any]:
        """Write the responses of filter `j` into `out`, in the type of the integral images."""
        kind, top, left, height, width = self.filters[j]
        factor, inner, outer = _PLANS[kind]
        step = self.filters.shape[1] + 1

        def corners(steps: list[_Step]) -> list[tuple[np.ufunc, NDArray[Any]]]:
            corner_rows = [
                (add, (top + y * height) * step + left + x * width) for add, y, x in steps
            ]
            return [(add, self.integral[corner_row][images]) for add, corner_row in corner_rows]

        (_, first), (join, two), *more = corners(inner)
        last = corners(outer)
        for begin in range(0, len(out), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            total = out[rows]
            join(first[rows], two[rows], out=total)
            for add, corner in more:
                add(total, corner[rows], out=total)
            np.multiply(total, factor, out=total)
            for add, corner in last:
                add(total, corner[rows], out=total)
        return out


def even_bins(
    values: NDArray[Any], max_bins: int, partition: Partition | None = None
) -> tuple[int, int, int]:
    """Return the binary exponent of the width of bins, the first bin, and the number of bins.

    Bin `k` holds the values from ``k * width`` to below ``(k + 1) * width``. The width is the
    smallest power of two with which at most `max_bins` bins cover the values: dividing by it is
    exact. It is at least 1 for integers, and at least the last bit of the largest value.
    """
    low, high = (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)
    if partition is not None:
        low, high = partition.min(low), partition.max(high)
    largest = math.frexp(max(-low, high))[1]
    narrowest = 0 if values.dtype.kind in "iu" else largest - 53
    # The power of two at or below (high - low) / max_bins is never too wide, even if rounded.
    exponent = max(math.frexp(high / max_bins - low / max_bins)[1] - 1, narrowest)
    while True:
        first = math.floor(math.ldexp(low, -exponent))
        count = math.floor(math.ldexp(high, -exponent)) - first + 1
        if count <= max_bins:
            return exponent, first, count
        exponent += 1


def _encode_sums(sums: NDArray[Any], exponent: int, first: int, out: Codes) -> None:
    """Write ``floor(sums / 2**exponent) - first`` into `out`, overwriting `sums`."""
    if sums.dtype.kind == "i":
        np.right_shift(sums, exponent, out=sums)
        # The difference is right even where both terms wrap around, and fast in a narrow type.
        np.copyto(out, sums, casting="unsafe")
        np.subtract(out, out.dtype.type(first % 2 ** (8 * out.itemsize)), out=out)
    else:
        np.multiply(sums, math.ldexp(1.0, -exponent), out=sums)
        np.floor(sums, out=sums)
        np.subtract(sums, first, out=sums)
        np.copyto(out, sums, casting="unsafe")


def _pixels(X: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Return `X` as an array of complete images, or raise."""
    pixels = np.asarray(X)
    if pixels.ndim != 2 or pixels.dtype.kind not in "biuf":
        raise ValueError(
            "X must be a two-dimensional array of numbers, an image in each row, "
            f"got {pixels.ndim} dimension(s) of {pixels.dtype}"
        )
    rows, columns = shape
    if pixels.shape[1] != rows * columns:
        raise ValueError(
            f"shape={shape} is {rows} x {columns} = {rows * columns} pixels, "
            f"but X has {pixels.shape[1]} columns"
        )
    if not len(pixels):
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required.")
    if pixels.dtype.kind == "f":
        largest = max(-float(pixels.min()), float(pixels.max()))
        # False for NaN.
        if not largest < np.inf:
            raise ValueError(
                "Haar filters need complete images: X has missing (NaN) or infinite pixels"
            )
        if largest >= 2.0**_MAX_EXPONENT:
            raise ValueError(f"X must have pixels below 2**{_MAX_EXPONENT}, got {largest:g}")
    return pixels


def _integral(pixels: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Return the integral images, of shape ((rows + 1) * (columns + 1), n)."""
    rows, columns = shape
    dtype = _sum_type(pixels)
    integral: NDArray[Any] = np.zeros((rows + 1, columns + 1, len(pixels)), dtype=dtype)
    for begin in range(0, len(pixels), _TRANSPOSED_BLOCK):
        block = pixels[begin : begin + _TRANSPOSED_BLOCK]
        if dtype is np.float64:
            block = _round_pixels(block.astype(np.float64))
        sums = integral[1:, 1:, begin : begin + _TRANSPOSED_BLOCK]
        sums[...] = block.T.reshape(rows, columns, -1)
        for y in range(1, rows):
            sums[y] += sums[y - 1]
        for x in range(1, columns):
            sums[:, x] += sums[:, x - 1]
    return integral.reshape(-1, len(pixels))


def _sum_type(pixels: NDArray[Any]) -> type:
    """Return the narrowest type in which every sum of a filter is exact, else float64."""
    if pixels.dtype.kind == "f" or len(pixels) == 0:
        return np.float64
    largest = _WEIGHT * pixels.shape[1] * max(-int(pixels.min()), int(pixels.max()))
    if largest <= np.iinfo(np.int32).max:
        return np.int32
    return np.int64 if largest < EXACT_INTEGERS else np.float64


def _round_pixels(pixels: Reals) -> Reals:
    """Return real pixels rounded so that all sums of an image are exact."""
    _, exponents = np.frexp(np.abs(pixels).max(axis=1, keepdims=True))
    spare = 53 - (_WEIGHT * pixels.shape[1]).bit_length()
    unit = np.ldexp(1.0, np.maximum(exponents - spare, _MIN_EXPONENT))
    return np.rint(pixels / unit) * unit


_Step = tuple[np.ufunc, int, int]


def _plan(kind: str) -> tuple[int, list[_Step], list[_Step]]:
    """Return a factor, the corners whose sum it multiplies, and the corners added afterwards.

    So a response takes one multiplication and one vector: corners of weight 2 or 3 come first (of
    weight 4 twice), those of weight 1 last.
    """
    down, across = CORNERS[kind]
    weights = {(y, x): a * b for y, a in enumerate(down) for x, b in enumerate(across)}
    factor = next(f for f in (2, 3) if all(abs(w) == 1 or w % f == 0 for w in weights.values()))
    inner: list[_Step] = []
    outer: list[_Step] = []
    # The first corner is not subtracted.
    for (y, x), weight in sorted(weights.items(), key=lambda item: -item[1]):
        step = (np.add if weight > 0 else np.subtract, y, x)
        if abs(weight) == 1:
            outer.append(step)
        else:
            inner.extend([step] * (abs(weight) // factor))
    return factor, inner, outer


_PLANS = {kind: _plan(kind) for kind in KINDS}
