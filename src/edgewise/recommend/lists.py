"""Recommended lists: items (or users), best first, with their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import text_table

# The best scores are looked for among the maxima of at least this many sets for each, which hold at
# most so many scores.
_SETS, _FOLDS = 8, 64


class RecommendedList(NamedTuple):
    """One list: ids, best first, and their scores."""

    ids: NDArray[Any]
    scores: Reals

    def __str__(self) -> str:
        rows = zip(self.ids.tolist(), self.scores, strict=True)
        return text_table([(str(one), f"{score:.3f}") for one, score in rows])


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

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        span = slice(int(self.ends[at - 1]) if at else 0, int(self.ends[at]))
        return RecommendedList(self.ids[span], self.scores[span])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecommendedLists):
            return NotImplemented
        parts = ((self.keys, other.keys), (self.ids, other.ids), (self.scores, other.scores))
        return all(np.array_equal(one, two) for one, two in (*parts, (self.ends, other.ends)))

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
        from edgewise.io.frames import frame_library

        return frame_library(library).DataFrame(self.columns(key, value))

    def columns(self, key: str = "user", value: str = "item") -> dict[str, NDArray[Any]]:
        """Return the columns of :meth:`to_frame`."""
        sizes = np.diff(self.ends, prepend=0)
        place = np.arange(len(self.ids)) - np.repeat(self.ends - sizes, sizes) + 1
        ids = {key: np.repeat(self.keys, sizes), value: self.ids}
        return {**ids, "rank": place, "score": self.scores}


def best_of(scores: Reals, n: int) -> NDArray[np.intp]:
    """Return the positions of the `n` largest scores, best first; ties go to the lowest position.

    Minus infinity and NaN never count, so there may be fewer than `n`.
    """
    rows, places = contenders(np.array(scores[None]), n)
    return ranked(rows, places, scores[places], n)[1]


def contenders(
    scores: NDArray[Any], n: int, errors: Reals | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and positions of all scores that may be among the `n` largest of their row.

    In order; minus infinity and NaN never are, and NaN becomes minus infinity in `scores`. Scores
    may be off by `errors`, one for each row.
    """
    n_rows, width = scores.shape
    # Every n-th largest score is at least the n-th largest maximum of as many sets or more.
    fold = int(np.clip(width // (_SETS * n), 1, _FOLDS))
    size = width // fold
    whole = scores[:, : fold * size].reshape(n_rows, fold, size)
    most = whole.max(axis=1) if fold > 1 else scores
    if fold * size < width:
        rest = scores[:, fold * size :]
        np.maximum(most[:, : rest.shape[1]], rest, out=most[:, : rest.shape[1]])
    if np.isnan(most).any():
        scores[np.isnan(scores)] = -np.inf
        return contenders(scores, n, errors)
    least = np.full(n_rows, -np.inf)
    if size > n:
        least = np.partition(most, size - n, axis=1)[:, size - n].astype(np.float64)
    if errors is not None:
        least -= 2 * errors
    limits = np.finfo(scores.dtype)
    least = np.maximum(least, float(limits.min)).astype(scores.dtype)
    # Rounding to single precision must not raise the least score.
    least = np.nextafter(least, limits.min) if scores.dtype == np.float32 else least
    found = np.flatnonzero(scores >= least[:, None])
    rows, places = np.divmod(found, max(width, 1))
    return rows, places


def ranked(
    rows: NDArray[np.intp], places: NDArray[np.intp], scores: Reals, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals]:
    """Return the `n` largest scores of each row, best first, with rows and positions.

    Ties go to the lowest position; minus infinity and NaN never count.
    """
    order = np.lexsort((places, -scores, rows))
    order = order[scores[order] > -np.inf]
    mine = rows[order]
    turn = np.arange(len(mine)) - np.searchsorted(mine, mine)
    order = order[turn < n]
    return rows[order], places[order], scores[order]
