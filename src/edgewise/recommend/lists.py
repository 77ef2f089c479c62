"""Lists of items (or users) for each of many users (or items), best first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals


class Ranked(NamedTuple):
    """One list: ids, best first, and their scores.

    Examples
    --------
    >>> import numpy as np
    >>> best = Ranked(np.array(["Heat", "Fargo"]), np.array([4.5, 4.25]))
    >>> print(best)
    Heat   4.500
    Fargo  4.250
    """

    ids: NDArray[Any]
    scores: Reals

    def __str__(self) -> str:
        words = [str(one) for one in self.ids.tolist()]
        width = max(map(len, words), default=0)
        lines = zip(words, self.scores, strict=True)
        return "\n".join(f"{word:<{width}}  {score:.3f}" for word, score in lines)


@dataclass(frozen=True, eq=False, repr=False)
class RankedLists(Sequence[Ranked]):
    """The lists of several users (or items), in the order in which they were asked for.

    Attributes
    ----------
    keys : array
        Whose list each is.
    ids : array
        All lists, one after the other.
    scores : float64 array
        The scores of these.
    ends : intp array
        Where each list ends. Lists may be shorter than was asked for, and empty.

    Examples
    --------
    >>> import numpy as np
    >>> lists = RankedLists(np.array([7, 8]), np.array([1, 2, 1]), np.array([5.0, 4, 3]),
    ...                     np.array([2, 3]))
    >>> lists
    RankedLists(2 lists of 3 ids)
    >>> lists[1].ids
    array([1])
    >>> [len(one.ids) for one in lists]
    [2, 1]
    """

    keys: NDArray[Any]
    ids: NDArray[Any]
    scores: Reals
    ends: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"RankedLists({len(self)} lists of {len(self.ids)} ids)"

    def __iter__(self) -> Iterator[Ranked]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        span = slice(int(self.ends[at - 1]) if at else 0, int(self.ends[at]))
        return Ranked(self.ids[span], self.scores[span])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RankedLists):
            return NotImplemented
        parts = ((self.keys, other.keys), (self.ids, other.ids), (self.scores, other.scores))
        return all(np.array_equal(one, two) for one, two in (*parts, (self.ends, other.ends)))

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self, key: str = "user", value: str = "item", library: str | None = None) -> Any:
        """Return a data frame of one row for each entry: whose list, id, place and score.

        Parameters
        ----------
        key, value : str, default "user" and "item"
            The names of the columns of ids.
        library : {"pandas", "polars"} or None, default None
            What the frame is to be; None takes the first of these that is installed.
        """
        from edgewise.io.frames import frame_library

        sizes = np.diff(self.ends, prepend=0)
        place = np.arange(len(self.ids)) - np.repeat(self.ends - sizes, sizes) + 1
        columns = {
            key: np.repeat(self.keys, sizes),
            value: self.ids,
            "rank": place,
            "score": self.scores,
        }
        return frame_library(library).DataFrame(columns)

    @classmethod
    def of(cls, keys: NDArray[Any], lists: Sequence[Ranked], like: NDArray[Any]) -> Self:
        """Return lists put one after the other; `like` gives the type of the ids."""
        ends = np.cumsum([len(one.ids) for one in lists], dtype=np.intp)
        ids = np.concatenate([one.ids for one in lists]) if lists else like[:0]
        scores = np.concatenate([one.scores for one in lists]) if lists else np.zeros(0)
        return cls(keys, ids, scores, ends)


def best_of(scores: Reals, n: int) -> NDArray[np.intp]:
    """Return the places of the `n` largest scores, best first; of equal ones the lowest place.

    Entries of minus infinity or NaN are never among them, so that there may be fewer than `n`.

    Examples
    --------
    >>> import numpy as np
    >>> best_of(np.array([1.0, 3.0, -np.inf, 3.0]), 2)
    array([1, 3])
    >>> best_of(np.array([1.0, -np.inf]), 5)
    array([0])
    """
    candidates = np.flatnonzero(scores > -np.inf)
    if len(candidates) > n:
        kept = scores[candidates]
        least = np.partition(kept, len(kept) - n)[len(kept) - n]
        candidates = candidates[kept >= least]
    return candidates[np.argsort(-scores[candidates], kind="stable")[:n]]
