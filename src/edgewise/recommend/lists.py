"""Recommended lists: which items they may hold, and the best of these, for many users at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import ArgumentError
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.ids import Ids
from edgewise.common.text import text_table
from edgewise.common.threads import Threads
from edgewise.data.columns import CategoricalColumn
from edgewise.data.table import ColumnTable
from edgewise.io.frames import frame_library
from edgewise.ratings import Grouped
from edgewise.ratings.rows import entry_positions
from edgewise.recommend.arrays import iter_blocks
from edgewise.recommend.model import Approximation, RatingModel

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


class PerUserItems(NamedTuple):
    """Items of each list: list t has ``items[starts[t]:starts[t + 1]]``."""

    starts: NDArray[np.int64]
    items: NDArray[np.integer]

    def of(self, lists: Indices) -> tuple[Indices, Indices]:
        """Return the items of some lists, as positions in `lists` and items."""
        rows = np.repeat(np.arange(len(lists)), self.starts[lists + 1] - self.starts[lists])
        return rows, self.items[entry_positions(self.starts, lists)].astype(np.intp, copy=False)


@dataclass(frozen=True)
class ListFilters:
    """The items that lists may hold: some for all lists, and some for each."""

    allowed: Mask
    seen: Grouped | None = None
    candidates: PerUserItems | None = None
    excluded: PerUserItems | None = None

    def excluded_pairs(self, lists: Indices, users: Indices) -> tuple[Indices, Indices]:
        """Return the items excluded from single lists, as positions in `lists` and items.

        `users` are the indices of their users, -1 for users without any ratings.
        """
        pairs = [(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))]
        if self.seen is not None:
            rated = np.flatnonzero(users >= 0)
            rows, items = PerUserItems(self.seen.starts, self.seen.others).of(users[rated])
            pairs.append((rated[rows], items))
        if self.excluded is not None:
            pairs.append(self.excluded.of(lists))
        rows, items = map(np.concatenate, zip(*pairs, strict=True))
        return rows, items

    def candidate_pairs(self, lists: Indices, users: Indices) -> tuple[Indices, Indices]:
        """Return the allowed candidates of lists, as positions in `lists` and items."""
        allowed = np.zeros((len(lists), len(self.allowed)), dtype=bool)
        if self.candidates is not None:
            allowed[self.candidates.of(lists)] = True
        allowed[:, ~self.allowed] = False
        allowed[self.excluded_pairs(lists, users)] = False
        rows, items = np.nonzero(allowed)
        return rows, items


def per_user_items(
    name: str, items: Mapping[Any, Any], users: list[Any], ids: Ids, required: bool
) -> PerUserItems:
    """Return the items of each user's list, or raise.

    With `required`, every user must have an entry, and all items must be in the catalog.
    """
    missing = [user for user in users if user not in items] if required else []
    if missing:
        raise ValueError(f"{name} must hold items for every user, got none for {missing[0]!r}")
    lists = [np.atleast_1d(np.asarray(items.get(user, ()), dtype=object)) for user in users]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in lists], dtype=np.int64)])
    flat = np.fromiter(chain.from_iterable(lists), dtype=object, count=int(starts[-1]))
    if required:
        return PerUserItems(starts, ids.require(name, flat))
    indices = ids.find(name, flat)
    ends = np.concatenate([[0], np.cumsum(indices >= 0)])
    return PerUserItems(ends[starts], indices[indices >= 0])


def matching_items(where: Mapping[str, Any], features: ColumnTable | None, n_items: int) -> Mask:
    """Return the items whose features have one of the values in `where`, or raise."""
    if not isinstance(where, Mapping):
        raise TypeError(f"where must map features to values, got {type(where).__name__}")
    matches = np.ones(n_items, dtype=bool)
    columns = {} if features is None else dict(features.named_columns())
    for name, allowed in where.items():
        if name not in columns:
            problem = f"must name features of the items; valid names: {list(columns)}"
            raise ArgumentError("where", dict(where), problem)
        is_several = isinstance(allowed, (list, tuple, set, frozenset, np.ndarray))
        values = allowed if is_several else [allowed]
        column = columns[name]
        if isinstance(column, CategoricalColumn):
            matching = [category in set(values) for category in column.categories]
            matches &= np.array([*matching, False])[column.codes]
        else:
            numbers = [value for value in values if not isinstance(value, str)]
            matches &= np.isin(column.reals(), numbers)
    return matches


class RankedEntries(NamedTuple):
    """Entries of lists: the number of the list, the index in the catalog, and the score.

    The entries of a list are adjacent, best first.
    """

    lists: Indices
    indices: Indices
    scores: Reals

    @classmethod
    def merge(cls, blocks: Iterable["RankedEntries"]) -> Self:
        """Return the entries of all blocks, in the order of the lists."""
        empty = cls(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))
        lists, indices, scores = map(np.concatenate, zip(empty, *blocks, strict=True))
        order = np.argsort(lists, kind="stable")
        return cls(lists[order], indices[order], scores[order])

    def to_lists(self, ids: Any, keys: NDArray, catalog: Ids) -> Any:
        """Return the lists of `keys`; the only list if `ids` is a single id."""
        ends = np.searchsorted(self.lists, np.arange(len(keys)), side="right")
        lists = RecommendedLists(keys, catalog.values[self.indices], self.scores, ends)
        return lists[0] if is_single_id(ids) else lists


def is_single_id(ids: Any) -> bool:
    """Return whether this is an id rather than a collection of ids."""
    return isinstance(ids, (str, int, np.integer, np.str_))


def find_top_items(
    model: RatingModel, users: Indices, n: int, filters: ListFilters, unknown: str
) -> RankedEntries:
    """Return the best items for users, -1 for unknown ones, scored in blocks of users."""
    known, excluded = model._are_known(users, None), np.flatnonzero(~filters.allowed)
    popularity = np.zeros(0)
    blocks = [(lists, False) for lists in _split_blocks(np.flatnonzero(known), model.n_items_)]
    if unknown == "mean" and not known.all():
        popularity = model._popularity()
        blocks += [(lists, True) for lists in _split_blocks(np.flatnonzero(~known), model.n_items_)]

    def rank_block(block: tuple[Indices, bool]) -> RankedEntries:
        lists, is_unknown = block
        indices = users[lists]
        if filters.candidates is not None:
            rows, items = filters.candidate_pairs(lists, indices)
            pairs = popularity[items] if is_unknown else model._pair_scores(indices[rows], items)
            rows, items, scores = rank_best(rows, items, pairs, n)
            return RankedEntries(lists[rows], items, scores)
        table, errors = np.tile(popularity, (len(lists), 1)), None
        if not is_unknown:
            table, errors = model._approximate_scores(indices)
        table[:, excluded] = -np.inf
        table[filters.excluded_pairs(lists, indices)] = -np.inf
        return _rank_table((table, errors), lists, indices, n, model._pair_scores)

    with Threads(model._threads() if model._serves_in_threads else 1) as pool:
        return RankedEntries.merge(pool.map(rank_block, blocks))


def find_most_similar(model: RatingModel, side: str, indices: Indices, n: int) -> RankedEntries:
    """Return the known users or items that are most similar to some."""
    known = model._catalog(side)[1]

    def rank_block(lists: Indices) -> RankedEntries:
        keys = indices[lists]
        table, errors = model._approximate_similarities(side, keys)
        table[:, ~known] = -np.inf
        table[np.arange(len(keys)), keys] = -np.inf
        exact = model._unit_vectors(side).pair_cosines if errors is not None else None
        return _rank_table((table, errors), lists, keys, n, exact)

    return RankedEntries.merge(map(rank_block, _split_blocks(np.arange(len(indices)), len(known))))


def _rank_table(
    table: Approximation, lists: Indices, keys: Indices, n: int, exact_scores: Any
) -> RankedEntries:
    """Return the largest of approximate scores, ranked by the exact ones."""
    scores, errors = table
    rows, columns = top_candidates(scores, n, errors)
    exact = scores[rows, columns] if errors is None else exact_scores(keys[rows], columns)
    rows, columns, exact = rank_best(rows, columns, exact.astype(np.float64, copy=False), n)
    return RankedEntries(lists[rows], columns, exact)


def _split_blocks(lists: Indices, width: int) -> list[Indices]:
    return [lists[block] for block in iter_blocks(len(lists), width)]
