"""Ranked lists out of data frames and TREC runs: entries, gathered into one row a document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import numbers
from edgewise.common.dtypes import REAL, Reals
from edgewise.common.ids import as_ids
from edgewise.fusion.queries import Queries


class ListedRun(Protocol):
    """Arrays of a TREC run, one entry for each returned document."""

    @property
    def queries(self) -> ArrayLike:
        """Ids of the queries."""

    @property
    def docs(self) -> ArrayLike:
        """Ids of the documents."""

    @property
    def ranks(self) -> ArrayLike:
        """Ranks, smaller being better."""

    @property
    def scores(self) -> ArrayLike:
        """Scores, larger being better."""


@dataclass(frozen=True, eq=False)
class ListEntries:
    """The entries of one list; a position of NaN means that the document is not returned."""

    queries: NDArray[Any]
    docs: NDArray[Any]
    positions: Reals
    scores: Reals | None


def from_run(run: ListedRun, name: str, order: str) -> ListEntries:
    """Return the entries of a run, sorted as trec_eval sorts."""
    for attribute in ("queries", "docs", "ranks", "scores"):
        if not hasattr(run, attribute):
            raise TypeError(
                f"runs[{name!r}] must have queries, docs, ranks and scores; no {attribute}"
            )
    queries = as_ids(f"runs[{name!r}].queries", run.queries, floats=True)
    docs = as_ids(f"runs[{name!r}].docs", run.docs, floats=True)
    scores = _numbers(run.scores, f"runs[{name!r}].scores")
    keys = -scores if order == "score" else _numbers(run.ranks, f"runs[{name!r}].ranks")
    if not len(queries) == len(docs) == len(scores) == len(keys):
        raise ValueError(f"runs[{name!r}] must have arrays of the same length")
    if not len(queries):
        raise ValueError(f"runs[{name!r}] must not be empty")
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


def from_frame_mapping(
    frames: Mapping[str, Any], query: str, doc: str, rank: str, score: str
) -> dict[str, ListEntries]:
    """Return the entries of each frame, by the names of the lists."""
    if not frames:
        raise ValueError("frames must not be empty, got a mapping without lists")
    found = {}
    for key, frame in frames.items():
        name = f"frames[{str(key)!r}]"
        found[str(key)] = _read(_eager(frame, name), name, query, doc, rank, score)
    without = [name for name, entries in found.items() if entries.scores is None]
    if without and len(without) < len(found):
        raise ValueError(
            f"frames must all have a column {score!r} or none of them, "
            f"but frames[{without[0]!r}] has none"
        )
    return found


def from_frame(
    frame: Any, query: str, doc: str, list_: str, rank: str, score: str
) -> dict[str, ListEntries]:
    """Return the entries of one long frame, by the names of the lists."""
    table = _eager(frame, "frames")
    if list_ not in table.columns:
        raise ValueError(f"frames must have a column {list_!r}, got {list(table.columns)}")
    lists = as_ids(f"frames[{list_!r}]", table[list_].to_list(), floats=True)
    together = _read(table, "frames", query, doc, rank, score, lists)
    names, codes = np.unique(lists, return_inverse=True)
    return {
        str(name): ListEntries(
            together.queries[rows],
            together.docs[rows],
            together.positions[rows],
            None if together.scores is None else together.scores[rows],
        )
        for name, rows in ((name, codes == j) for j, name in enumerate(names))
    }


def _eager(frame: Any, name: str) -> Any:
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
    return table


def _read(
    table: Any,
    name: str,
    query: str,
    doc: str,
    rank: str,
    score: str,
    lists: NDArray[Any] | None = None,
) -> ListEntries:
    """Return the entries of a frame; `lists` names the list of each, if there are several."""
    for column in (query, doc):
        if column not in table.columns:
            raise ValueError(f"{name} must have a column {column!r}, got {list(table.columns)}")
    queries = as_ids(f"{name}[{query!r}]", table[query].to_list(), floats=True)
    docs = as_ids(f"{name}[{doc!r}]", table[doc].to_list(), floats=True)
    scores = None
    if score in table.columns:
        scores = as_reals(table[score], f"{name}[{score!r}]")
        if np.isinf(scores).any():
            raise ValueError(f"{name}[{score!r}] must be finite")
    if rank in table.columns:
        positions = as_reals(table[rank], f"{name}[{rank!r}]")
        _check_ranks(positions, scores, name, rank, score)
        if scores is not None:
            scores = np.where(np.isnan(positions), np.nan, scores)
    elif scores is not None:
        groups = queries if lists is None else _pairs(queries, lists)
        positions = Queries.of(groups).positions(scores[:, None])[:, 0]
    else:
        raise ValueError(
            f"{name} must have a column {rank!r} or {score!r}, got {list(table.columns)}"
        )
    return ListEntries(queries, docs, positions, scores)


def _check_ranks(positions: Reals, scores: Reals | None, name: str, rank: str, score: str) -> None:
    low = positions[(positions < 1) | np.isinf(positions)]
    if len(low):
        raise ValueError(
            f"{name}[{rank!r}] must be at least 1, the rank of the top document, got {low[0]:g}"
        )
    if scores is not None and (np.isnan(scores) & ~np.isnan(positions)).any():
        raise ValueError(f"{name}[{score!r}] must not be missing where there is a rank")


def _pairs(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
    """Return one number for each different pair."""
    _, left = np.unique(first, return_inverse=True)
    values, right = np.unique(second, return_inverse=True)
    return left.astype(np.int64) * len(values) + right


def gather(lists: Mapping[str, ListEntries], argument: str) -> dict[str, Any]:
    """Return the arguments of :class:`RankedLists`: one row for each query and document."""
    queries = _joined([entries.queries for entries in lists.values()], f"{argument}: queries")
    docs = _joined([entries.docs for entries in lists.values()], f"{argument}: documents")
    keys = _pairs(queries, docs)
    _, first, rows = np.unique(keys, return_index=True, return_inverse=True)
    shape = (len(first), len(lists))
    positions, scores = np.full(shape, np.nan, REAL), np.full(shape, np.nan, REAL)
    for j, (name, entries, span) in enumerate(_spans(lists)):
        _refuse_twice(rows[span], entries, f"{argument}: list {name!r}")
        positions[rows[span], j] = entries.positions
        if entries.scores is not None:
            scores[rows[span], j] = entries.scores
    scored = all(entries.scores is not None for entries in lists.values())
    return {
        "positions": positions,
        "qid": queries[first],
        "scores": scores if scored else None,
        "docs": docs[first],
        "names": tuple(lists),
    }


def _spans(lists: Mapping[str, ListEntries]) -> Iterator[tuple[str, ListEntries, slice]]:
    start = 0
    for name, entries in lists.items():
        yield name, entries, slice(start, start + len(entries.queries))
        start += len(entries.queries)


def _joined(parts: list[NDArray[Any]], what: str) -> NDArray[Any]:
    if len({part.dtype.kind for part in parts}) > 1:
        raise ValueError(
            f"{what} must have ids of one kind, got numbers in one list, words in another"
        )
    return np.concatenate(parts)


def _refuse_twice(rows: NDArray[Any], entries: ListEntries, what: str) -> None:
    order = np.argsort(rows, kind="stable")
    twice = np.flatnonzero(rows[order][1:] == rows[order][:-1])
    if len(twice):
        entry = order[twice[0] + 1]
        raise ValueError(
            f"{what} must have a document once, got {entries.docs[entry]} twice "
            f"for query {entries.queries[entry]}"
        )


def as_reals(series: Any, name: str) -> Reals:
    """Return a narwhals series of numbers as float64, missing values as NaN."""
    import narwhals.stable.v1 as nw

    try:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=REAL)
    except Exception as error:  # each library of frames has its own
        raise TypeError(f"{name} must hold numbers: {error}") from None
