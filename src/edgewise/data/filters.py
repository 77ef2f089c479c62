"""Haar filters and their numbers: which differences of rectangles an image has."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import index
from typing import NamedTuple

import numpy as np

from edgewise.common.checks import integer
from edgewise.common.dtypes import Columns

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
    twice, so that every filter responds to an image of one colour with 0. Numbers run over the
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
        place = bisect_right(self._ends, number)
        vertical, horizontal = self._places[place]
        past = number - (self._ends[place - 1] if place else 0)
        v, h = divmod(past, len(horizontal))
        (height, top), (width, left) = vertical[v].tolist(), horizontal[h].tolist()
        return Filter(KINDS[place], top, left, height, width)

    def name(self, j: int) -> str:
        """Return a name of filter `j` to read in a rule: its kind and the pixels it covers."""
        one = self[j]
        down, across = one.fields
        rows = _span("row", one.top, down * one.height)
        columns = _span("column", one.left, across * one.width)
        return f"{one.kind} at {rows}, {columns}"

    def pixels(self, j: int) -> Columns:
        """Return the numbers of the pixels that filter `j` covers."""
        one = self[j]
        down, across = one.fields
        rows = np.arange(one.top, one.top + down * one.height)
        columns = np.arange(one.left, one.left + across * one.width)
        return (rows[:, None] * self.shape[1] + columns).ravel()

    @property
    def n_scales(self) -> int:
        """The number of scales: kinds, each with fields of one height and width, in this order."""
        return len(self._scales.sizes)

    def draw(self, scales: Columns, rng: np.random.Generator) -> Columns:
        """Return one filter of each scale, at a random place."""
        known = self._scales
        tops, lefts = divmod(rng.integers(known.sizes[scales]), known.n_lefts[scales])
        return known.firsts[scales] + tops * known.strides[scales] + lefts

    @cached_property
    def _scales(self) -> "_Scales":
        starts = [0, *self._ends[:-1]]
        parts = [_scales(start, *place) for start, place in zip(starts, self._places, strict=True)]
        return _Scales(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

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
