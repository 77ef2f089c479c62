"""Ranked lists out of data frames and TREC runs: entries, gathered into one row a document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import numbers
from edgewise.common.dtypes import REAL, Reals
from edgewise.common.ids import as_ids
from edgewise.fusion.queries import Queries

if TYPE_CHECKING:
    from edgewise.io import Run


@dataclass(frozen=True, eq=False)
class ListEntries:
    """The entries of one list; a position of NaN means that the document is not returned."""

    queries: NDArray[Any]
    docs: NDArray[Any]
    positions: Reals
    scores: Reals | None

    def take(self, rows: NDArray[np.bool_]) -> "ListEntries":
        """Return some of the entries."""
        scores = None if self.scores is None else self.scores[rows]
        return ListEntries(self.queries[rows], self.docs[rows], self.positions[rows], scores)


def from_run(run: "Run", name: str, order: str) -> ListEntries:
    """Return the entries of a run, sorted as trec_eval sorts."""
    name = f"runs[{name!r}]"
    for attribute in ("queries", "docs", "ranks", "scores"):
        if not hasattr(run, attribute):
            raise TypeError(f"{name} must have queries, docs, ranks and scores; no {attribute}")
    queries = as_ids(f"{name}.queries", run.queries, floats=True)
    docs = as_ids(f"{name}.docs", run.docs, floats=True)
    scores = _numbers(run.scores, f"{name}.scores")
    keys = -scores if order == "score" else _numbers(run.ranks, f"{name}.ranks")
    if not len(queries) == len(docs) == len(scores) == len(keys):
        raise ValueError(f"{name} must have arrays of the same length")
    if not len(queries):
        raise ValueError(f"{name} must not be empty")
    _, words = np.unique(docs.astype(np.str_), return_inverse=True)
    groups = Queries.of(queries)
    rows = np.lexsort((-words, keys, groups.codes))
    positions = np.empty(len(rows), dtype=REAL)
    positions[rows] = np.arange(1, len(rows) + 1) - groups.starts[groups.codes[rows]]
    return ListEntries(queries, docs, positions, scores)


def _numbers(values: ArrayLike, name: str) -> Reals:
    array = numbers(name, values)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return array


def from_frames(
    frames: Any, query: str, doc: str, list_: str, rank: str, score: str
) -> dict[str, ListEntries]:
    """Return the entries of each list, from one long frame or from a frame for each list."""
    if not isinstance(frames, Mapping):
        table = read_frame(frames, "frames", list_, query, doc)
        lists = as_ids(f"frames[{list_!r}]", table[list_].to_list(), floats=True)
        together = _entries(table, "frames", query, doc, rank, score, lists)
        names, codes = np.unique(lists, return_inverse=True)
        return {str(name): together.take(codes == j) for j, name in enumerate(names)}
    if not frames:
        raise ValueError("frames must not be empty, got a mapping without lists")
    found = {}
    for key, frame in frames.items():
        name = f"frames[{str(key)!r}]"
        table = read_frame(frame, name, query, doc)
        found[str(key)] = _entries(table, name, query, doc, rank, score)
    without = [name for name, entries in found.items() if entries.scores is None]
    if without and len(without) < len(found):
        raise ValueError(
            f"frames must all have a column {score!r} or none of them, "
            f"but frames[{without[0]!r}] has none"
        )
    return found


def read_frame(frame: Any, name: str, *columns: str) -> Any:
    """Return a data frame through narwhals, or raise if it is empty or lacks one of the columns."""
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"{name} must be a data frame in memory (pandas, polars or Arrow), "
            f"got {type(frame).__name__}"
        ) from None
    if not len(table):
        raise ValueError(f"{name} must not be empty")
    for column in columns:
        if column not in table.columns:
            raise ValueError(f"{name} must have a column {column!r}, got {list(table.columns)}")
    return table


def _entries(
    table: Any, name: str, query: str, doc: str, rank: str, score: str, lists: Any = None
) -> ListEntries:
    """Return the entries of a frame; `lists` names the list of each, if there are several."""
    queries = as_ids(f"{name}[{query!r}]", table[query].to_list(), floats=True)
    docs = as_ids(f"{name}[{doc!r}]", table[doc].to_list(), floats=True)
    scores = None
    if score in table.columns:
        scores = as_reals(table[score], f"{name}[{score!r}]")
        if np.isinf(scores).any():
            raise ValueError(f"{name}[{score!r}] must be finite")
    if rank in table.columns:
        positions = as_reals(table[rank], f"{name}[{rank!r}]")
        low = positions[(positions < 1) | np.isinf(positions)]
        if len(low):
            raise ValueError(
                f"{name}[{rank!r}] must be at least 1, the rank of the top document, got {low[0]:g}"
            )
        if scores is not None:
            if (np.isnan(scores) & ~np.isnan(positions)).any():
                raise ValueError(f"{name}[{score!r}] must not be missing where there is a rank")
            scores = np.where(np.isnan(positions), np.nan, scores)
    elif scores is not None:
        groups = queries if lists is None else pair_numbers(queries, lists)
        positions = Queries.of(groups).positions(scores[:, None])[:, 0]
    else:
        raise ValueError(
            f"{name} must have a column {rank!r} or {score!r}, got {list(table.columns)}"
        )
    return ListEntries(queries, docs, positions, scores)


def pair_numbers(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
    """Return one number for each different pair."""
    _, left = np.unique(first, return_inverse=True)
    values, right = np.unique(second, return_inverse=True)
    return left.astype(np.int64) * len(values) + right


def gather(lists: Mapping[str, ListEntries], argument: str) -> dict[str, Any]:
    """Return the arguments of :class:`RankedLists`: one row for each query and document."""
    queries = _joined([entries.queries for entries in lists.values()], f"{argument}: queries")
    docs = _joined([entries.docs for entries in lists.values()], f"{argument}: documents")
    _, first, rows = np.unique(pair_numbers(queries, docs), return_index=True, return_inverse=True)
    shape = (len(first), len(lists))
    positions, scores = np.full(shape, np.nan, REAL), np.full(shape, np.nan, REAL)
    ends = np.cumsum([len(entries.queries) for entries in lists.values()])
    parts = np.split(rows, ends[:-1])
    for j, ((name, entries), places) in enumerate(zip(lists.items(), parts, strict=True)):
        again = first_repeat(places)
        if again is not None:
            raise ValueError(
                f"{argument}: list {name!r} must have a document once, got {entries.docs[again]} "
                f"twice for query {entries.queries[again]}"
            )
        positions[places, j] = entries.positions
        if entries.scores is not None:
            scores[places, j] = entries.scores
    scored = all(entries.scores is not None for entries in lists.values())
    return {
        "positions": positions,
        "qid": queries[first],
        "scores": scores if scored else None,
        "docs": docs[first],
        "names": tuple(lists),
    }


def _joined(parts: list[NDArray[Any]], what: str) -> NDArray[Any]:
    if len({part.dtype.kind for part in parts}) > 1:
        raise ValueError(
            f"{what} must have ids of one kind, got numbers in one list, words in another"
        )
    return np.concatenate(parts)


def first_repeat(keys: NDArray[Any]) -> int | None:
    """Return the index of a key that occurs before it, None if all are different."""
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    return int(order[twice[0] + 1]) if len(twice) else None


def as_reals(series: Any, name: str) -> Reals:
    """Return a narwhals series of numbers as float64, missing values as NaN."""
    import narwhals.stable.v1 as nw

    try:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=REAL)
    except Exception as error:  # each library of frames has its own
        raise TypeError(f"{name} must hold numbers: {error}") from None
