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

# The weights of a filter's corners in the integral image, down the rows and along the columns; a
# corner's weight is the product of the two. One field is (-1, 1); a light and a dark one are
# (-1, 1, 0) - (0, -1, 1); two light ones and between them a dark one that counts twice are
# (-1, 1, 0, 0) - 2 (0, -1, 1, 0) + (0, 0, -1, 1).
CORNERS = {
    "two stripes across": ((-1, 1), (-1, 2, -1)),
    "two stripes down": ((-1, 2, -1), (-1, 1)),
    "three stripes across": ((-1, 1), (-1, 3, -3, 1)),
    "three stripes down": ((-1, 3, -3, 1), (-1, 1)),
    "checkerboard": ((1, -2, 1), (1, -2, 1)),
}

KINDS = tuple(CORNERS)
"""The kinds of filters, in the order of their numbers."""

LARGEST_SIDE = 1024
"""The most rows and columns of an image: a larger one has more filters than could be numbered."""

# The weights of a filter's corners sum to 16 in magnitude at most, so no sum on the way to a
# response exceeds this many times the sum of all pixels.
_WEIGHT = 16

# Real pixels are kept between 2**-500 and 2**500 in magnitude, so that no response divided by the
# width of a bin overflows, or underflows to a zero that has lost its sign.
_LEAST_EXPONENT, _MOST_EXPONENT = -500, 500

# Responses are computed for this many rows at a time, so that the sum stays in a core's cache; a
# shorter block would spend its time on NumPy's calls.
_BLOCK = 65_536

# Images are turned pixel-major this many at a time, so that a block stays in the cache.
_TURNED = 1_024


class Filter(NamedTuple):
    """One filter: fields of equal size, light and dark in turn, from the pixel (`top`, `left`) on.

    `height` and `width` are those of one field. The upper left field is light.
    """

    kind: str
    top: int
    left: int
    height: int
    width: int

    @property
    def fields(self) -> tuple[int, int]:
        """How many fields the filter has down the rows and along the columns."""
        down, across = CORNERS[self.kind]
        return len(down) - 1, len(across) - 1


@dataclass(frozen=True)
class Filters:
    """All Haar filters on images of one shape, numbered from 0.

    The response of a filter to an image is the sum of the pixels in its light fields less the sum
    of those in its dark fields (Viola and Jones 2004). The dark field between two light ones counts
    twice, so that every filter responds to an image of one color with 0. Numbers run over the
    kinds, then the heights and tops, then the widths and lefts. `smallest` is the least height and
    width of a field, in pixels.

    Examples
    --------
    >>> filters = Filters((28, 28), smallest=2)
    >>> len(filters)
    231925
    >>> filters[70_000]
    Filter(kind='two stripes down', top=16, left=17, height=2, width=4)
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
        if max(shape) > LARGEST_SIDE:
            raise ValueError(f"shape must have sides of at most {LARGEST_SIDE}, got {self.shape!r}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "smallest", integer("smallest", self.smallest, 1))
        if not len(self):
            raise ValueError(
                f"no Haar filter with fields of at least {self.smallest} pixels fits into "
                f"shape={shape}: it takes two fields side by side or one above the other"
            )

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, j: int) -> Filter:
        number = index(j)
        if not 0 <= number < len(self):
            raise IndexError(f"filter numbers run from 0 to {len(self) - 1}, got {j}")
        kind = bisect_right(self._ends, number)
        vertical, horizontal = self._places[kind]
        past = number - (self._ends[kind - 1] if kind else 0)
        v, h = divmod(past, len(horizontal))
        (height, top), (width, left) = vertical[v].tolist(), horizontal[h].tolist()
        return Filter(KINDS[kind], top, left, height, width)

    def name(self, j: int) -> str:
        """Return a name of filter `j` to read in a rule: its kind and the pixels it covers."""
        haar = self[j]
        down, across = haar.fields
        rows = _span("row", haar.top, down * haar.height)
        columns = _span("column", haar.left, across * haar.width)
        return f"{haar.kind} at {rows}, {columns}"

    def pixels(self, j: int) -> Columns:
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
        """Return one filter of each scale, at a random place."""
        known = self._scales
        tops, lefts = divmod(rng.integers(known.sizes[scales]), known.n_lefts[scales])
        return known.firsts[scales] + tops * known.strides[scales] + lefts

    @cached_property
    def _scales(self) -> "_Scales":
        starts = [0, *self._ends[:-1]]
        scales = [
            _scales(start, *stretches)
            for start, stretches in zip(starts, self._places, strict=True)
        ]
        return _Scales(*(np.concatenate(arrays) for arrays in zip(*scales, strict=True)))

    @cached_property
    def _places(self) -> list[tuple[Columns, Columns]]:
        """For each kind the (height, top) and the (width, left) that its fields can have."""
        rows, columns = self.shape
        return [
            (
                _stretches(rows, len(down) - 1, self.smallest),
                _stretches(columns, len(across) - 1, self.smallest),
            )
            for down, across in CORNERS.values()
        ]

    @cached_property
    def _ends(self) -> list[int]:
        """The number after the last one of each kind."""
        return list(accumulate(len(down) * len(across) for down, across in self._places))


class _Scales(NamedTuple):
    """The scales of all kinds: how many filters each has, its first, and how to get to the others.

    A filter one column to the right has the next number; one row down is a stride away.
    """

    sizes: Columns
    firsts: Columns
    n_lefts: Columns
    strides: Columns


def _scales(start: int, vertical: Columns, horizontal: Columns) -> _Scales:
    """Return the scales of one kind, whose filters are numbered from `start` on."""
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


def _stretches(length: int, fields: int, smallest: int) -> Columns:
    """Return every (size, start) of a run of fields that fits into the length."""
    sizes = np.arange(smallest, length // fields + 1)
    counts = length - fields * sizes + 1
    starts = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack((np.repeat(sizes, counts), starts))


def _span(word: str, first: int, count: int) -> str:
    return f"{word} {first}" if count == 1 else f"{word}s {first}-{first + count - 1}"


class Images:
    """Images as sums of pixels, from which the response of any filter takes a few additions.

    Entry ``y * (columns + 1) + x`` of `integral` holds, for every image, the sum of the pixels
    above row `y` and left of column `x` (the integral image): a corner of a field is one contiguous
    vector of all images.

    Sums of whole pixels are exact. Real pixels are first rounded, to 39 bits below the image's
    largest pixel for 28 x 28 pixels, so that their sums are exact too: an area of one color
    responds with 0, and an image has the same responses whatever other images are in the table.
    """

    def __init__(self, X: Any, filters: Filters, partition: Partition | None = None) -> None:
        pixels = _pixels(X, filters.shape)
        self.filters = filters
        self.partition = partition  # which other images are at other processes
        self.n_rows = len(pixels)
        self.integral = _integral(pixels, filters.shape)
        if partition is not None:
            kinds = partition.collective.gather(self.integral.dtype.kind if len(pixels) else None)
            if len({*kinds} - {None}) > 1:
                raise ValueError(
                    "X has whole numbers in some partitions and others elsewhere: image filters "
                    "need pixels of one type"
                )

    def responses(self, j: int, part: slice = slice(None)) -> Reals:
        """Return the response of filter `j` to every image, or to a part of them."""
        sums = self._vector()[part]
        return self._sums(j, sums, part).astype(np.float64, copy=False)

    def coded(self, numbers: Sequence[int] | Columns, max_bins: int) -> tuple[list[Bins], Codes]:
        """Return the bins of some filters' responses, named after them, and every image's codes.

        The bins are those of `even_bins`, so no response is sorted. They are found on these very
        images; others are coded by `Bins.encode` on their responses.
        """
        max_bins = integer("max_bins", max_bins, 2, MAX_BINS)
        dtype = NARROW_CODE if max_bins <= np.iinfo(NARROW_CODE).max + 1 else WIDE_CODE
        codes = np.empty((len(numbers), self.n_rows), dtype=dtype)
        sums = self._vector()
        bins = []
        for row, j in zip(codes, numbers, strict=True):
            self._sums(j, sums)
            exponent, first, count = even_bins(sums, max_bins, self.partition)
            _code(sums, exponent, first, row)
            thresholds = np.ldexp(np.arange(first + 1, first + count, dtype=np.float64), exponent)
            bins.append(Bins(self.filters.name(j), thresholds, has_missing=False))
        return bins, codes

    def _vector(self) -> NDArray[Any]:
        return np.empty(self.n_rows, dtype=self.integral.dtype)

    def _sums(self, j: int, out: NDArray[Any], part: slice = slice(None)) -> NDArray[Any]:
        """Write the responses of filter `j` into `out`, in the type of the integral images."""
        kind, top, left, height, width = self.filters[j]
        factor, inner, outer = _PLANS[kind]
        step = self.filters.shape[1] + 1

        def corners(steps: list[_Step]) -> list[tuple[np.ufunc, NDArray[Any]]]:
            corner_rows = [
                (add, (top + y * height) * step + left + x * width) for add, y, x in steps
            ]
            return [(add, self.integral[corner_row][part]) for add, corner_row in corner_rows]

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
    """Return the binary exponent of the bins' width, the first bin's number, and how many.

    Bin `k` holds the values from ``k * width`` to below ``(k + 1) * width``. The width is the
    smallest power of two of which at most `max_bins` bins cover the values. Dividing by a power of
    two is exact, so that cuts of codes are cuts of values. Bins of integers are no narrower than 1,
    and no bin is narrower than the largest value's last bit: narrower ones could not tell more
    values apart, or would have no exact thresholds. Other processes of the `partition` have more of
    the values.
    """
    low, high = (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)
    if partition is not None:
        low, high = partition.min(low), partition.max(high)
    largest = math.frexp(max(-low, high))[1]
    narrowest = 0 if values.dtype.kind in "iu" else largest - 53
    # A width of at most (high - low) / max_bins would need more bins. The search begins at the
    # power of two at or below that quotient, so that a rounding of it does no harm.
    exponent = max(math.frexp(high / max_bins - low / max_bins)[1] - 1, narrowest)
    while True:
        first = math.floor(math.ldexp(low, -exponent))
        count = math.floor(math.ldexp(high, -exponent)) - first + 1
        if count <= max_bins:
            return exponent, first, count
        exponent += 1


def _code(sums: NDArray[Any], exponent: int, first: int, out: Codes) -> None:
    """Write ``floor(sums / 2**exponent) - first`` into `out`, overwriting `sums`."""
    if sums.dtype.kind == "i":
        np.right_shift(sums, exponent, out=sums)
        # Codes are differences, so they are right even where both terms wrap around in `out`:
        # subtracting in its narrow type takes a fraction of the time.
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
        # The smallest and the largest of values that include a NaN are NaN, and no comparison of
        # NaN is true.
        if not largest < np.inf:
            raise ValueError(
                "Haar filters need complete images: X has missing (NaN) or infinite pixels"
            )
        if largest >= 2.0**_MOST_EXPONENT:
            raise ValueError(f"X must have pixels below 2**{_MOST_EXPONENT}, got {largest:g}")
    return pixels


def _integral(pixels: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Return the integral images, of shape ((rows + 1) * (columns + 1), n)."""
    rows, columns = shape
    dtype = _sum_type(pixels)
    integral: NDArray[Any] = np.zeros((rows + 1, columns + 1, len(pixels)), dtype=dtype)
    for begin in range(0, len(pixels), _TURNED):
        block = pixels[begin : begin + _TURNED]
        if dtype is np.float64:
            block = _round_pixels(block.astype(np.float64))
        sums = integral[1:, 1:, begin : begin + _TURNED]
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
    """Return real pixels rounded to a last bit, each image's own, that makes all its sums exact."""
    _, exponents = np.frexp(np.abs(pixels).max(axis=1, keepdims=True))
    spare = 53 - (_WEIGHT * pixels.shape[1]).bit_length()
    unit = np.ldexp(1.0, np.maximum(exponents - spare, _LEAST_EXPONENT))
    return np.rint(pixels / unit) * unit


_Step = tuple[np.ufunc, int, int]


def _plan(kind: str) -> tuple[int, list[_Step], list[_Step]]:
    """Return a factor, the corners whose sum it multiplies, and the corners added after that.

    So there is one multiplication and no other vector than the sum: corners of weight 2 or 3 come
    first, one of weight 4 twice among those of weight 2, and those of weight 1 last.
    """
    down, across = CORNERS[kind]
    weights = {(y, x): a * b for y, a in enumerate(down) for x, b in enumerate(across)}
    factor = next(f for f in (2, 3) if all(abs(w) == 1 or w % f == 0 for w in weights.values()))
    inner: list[_Step] = []
    outer: list[_Step] = []
    # The sum begins with two corners, of which the first is not subtracted.
    for (y, x), weight in sorted(weights.items(), key=lambda item: -item[1]):
        step = (np.add if weight > 0 else np.subtract, y, x)
        if abs(weight) == 1:
            outer.append(step)
        else:
            inner.extend([step] * (abs(weight) // factor))
    return factor, inner, outer


_PLANS = {kind: _plan(kind) for kind in KINDS}
