"""Recommended lists: items (or users), best first, with their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import text_table
from edgewise.io.frames import frame_library

# The best scores are searched among the maxima of at least this many groups per list entry, each of
# at most this many scores.
_GROUPS, _MAX_GROUP = 8, 64


class RecommendedList(NamedTuple):
    """One list: ids, best first, and their scores."""

    ids: NDArray[Any]
    scores: Reals

    def __str__(self) -> str:
        rows = zip(self.ids.tolist(), self.scores, strict=True)
        return text_table([(str(item), f"{score:.3f}") for item, score in rows])


@dataclass(frozen=True, eq=False, repr=False)
class RecommendedLists(Sequence[RecommendedList]):
    """The lists of several users (or items), in the order of the request.

    Attributes
    ----------
    keys : array
        The user (or item) of each list.
    ids, scores : arrays
        The ids and scores of all lists, one after the other.
    ends : intp array
        Where each list ends. Lists may be shorter than requested, or empty.

    Examples
    --------
    >>> import numpy as np
    >>> lists = RecommendedLists(np.array([7, 8]), np.array([1, 2, 1]), np.array([5.0, 4, 3]),
    ...                          np.array([2, 3]))
    >>> print(lists[0])
    1  5.000
    2  4.000
    """

    keys: NDArray[Any]
    ids: NDArray[Any]
    scores: Reals
    ends: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"RecommendedLists({len(self)} lists of {len(self.ids)} ids)"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        span = slice(int(self.ends[i - 1]) if i else 0, int(self.ends[i]))
        return RecommendedList(self.ids[span], self.scores[span])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecommendedLists):
            return NotImplemented
        names = ("keys", "ids", "scores", "ends")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self, key: str = "user", value: str = "item", library: str | None = None) -> Any:
        """Return a data frame with one row per entry: key, id, rank and score.

        Parameters
        ----------
        key, value : str, default "user" and "item"
            The names of the id columns.
        library : {"pandas", "polars"} or None, default None
            The kind of frame; None takes the first of these that is installed.
        """
        return frame_library(library).DataFrame(self.columns(key, value))

    def columns(self, key: str = "user", value: str = "item") -> dict[str, NDArray[Any]]:
        """Return the columns of :meth:`to_frame`."""
        sizes = np.diff(self.ends, prepend=0)
        rank = np.arange(len(self.ids)) - np.repeat(self.ends - sizes, sizes) + 1
        ids = {key: np.repeat(self.keys, sizes), value: self.ids}
        return {**ids, "rank": rank, "score": self.scores}


def find_best(scores: Reals, n: int) -> NDArray[np.intp]:
    """Return the positions of the `n` largest scores, best first; ties go to the lowest position.

    Minus infinity and NaN never count, so there may be fewer than `n`.
    """
    rows, positions = top_candidates(np.array(scores[None]), n)
    return rank_best(rows, positions, scores[positions], n)[1]


def top_candidates(
    scores: NDArray[Any], n: int, errors: Reals | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and positions of all scores that may be among the `n` largest of their row.

    They are in order, without minus infinity and NaN; NaN becomes minus infinity in `scores`.
    Scores may be off by `errors`, one for each row.
    """
    n_rows, width = scores.shape
    # The n-th largest score is at least the n-th largest maximum of n or more groups of scores.
    group = int(np.clip(width // (_GROUPS * n), 1, _MAX_GROUP))
    n_groups = width // group
    grouped = scores[:, : group * n_groups].reshape(n_rows, group, n_groups)
    maxima = grouped.max(axis=1) if group > 1 else scores
    remaining = scores[:, group * n_groups :]
    if remaining.size:
        first_maxima = maxima[:, : remaining.shape[1]]
        np.maximum(first_maxima, remaining, out=first_maxima)
    if np.isnan(maxima).any():
        scores[np.isnan(scores)] = -np.inf
        return top_candidates(scores, n, errors)
    lowest = np.full(n_rows, -np.inf)
    if n_groups > n:
        nth = np.partition(maxima, n_groups - n, axis=1)[:, n_groups - n]
        lowest = nth.astype(np.float64)
    if errors is not None:
        lowest -= 2 * errors
    limits = np.finfo(scores.dtype)
    lowest = np.maximum(lowest, float(limits.min)).astype(scores.dtype)
    if scores.dtype == np.float32:
        # Rounding to single precision must not raise the lowest score.
        lowest = np.nextafter(lowest, limits.min)
    rows, positions = np.divmod(np.flatnonzero(scores >= lowest[:, None]), max(width, 1))
    return rows, positions


def rank_best(
    rows: NDArray[np.intp], positions: NDArray[np.intp], scores: Reals, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals]:
    """Return the `n` largest scores of each row, best first, with rows and positions.

    Ties go to the lowest position; minus infinity and NaN never count.
    """
    order = np.lexsort((positions, -scores, rows))
    order = order[scores[order] > -np.inf]
    in_order = rows[order]
    rank = np.arange(len(in_order)) - np.searchsorted(in_order, in_order)
    order = order[rank < n]
    return rows[order], positions[order], scores[order]
