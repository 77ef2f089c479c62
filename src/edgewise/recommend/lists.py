"""Recommended lists: items (or users), best first, with their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import text_table


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

    @classmethod
    def of(cls, keys: NDArray[Any], lists: Sequence[RecommendedList], like: NDArray[Any]) -> Self:
        """Return lists as one object; `like` gives the type of the ids."""
        ends = np.cumsum([len(one.ids) for one in lists], dtype=np.intp)
        ids = np.concatenate([one.ids for one in lists]) if lists else like[:0]
        scores = np.concatenate([one.scores for one in lists]) if lists else np.zeros(0)
        return cls(keys, ids, scores, ends)


def best_of(scores: Reals, n: int) -> NDArray[np.intp]:
    """Return the positions of the `n` largest scores, best first; ties go to the lowest position.

    Minus infinity and NaN never count, so there may be fewer than `n`.
    """
    candidates = np.flatnonzero(scores > -np.inf)
    if len(candidates) > n:
        kept = scores[candidates]
        least = np.partition(kept, len(kept) - n)[len(kept) - n]
        candidates = candidates[kept >= least]
    return candidates[np.argsort(-scores[candidates], kind="stable")[:n]]
