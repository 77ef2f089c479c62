"""Ranked lists out of data frames and TREC runs: entries, gathered into one row a document."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import finite_numbers, one_of
from edgewise.common.dtypes import REAL, Reals
from edgewise.common.ids import as_ids
from edgewise.fusion.queries import Queries
from edgewise.io.trec import positions_by, sorted_codes

if TYPE_CHECKING:
    from edgewise.io import Run


class ListEntries(NamedTuple):
    """Entries of lists; a position of NaN means that the list does not return the document."""

    queries: NDArray[Any]
    docs: NDArray[Any]
    positions: Reals
    scores: Reals | None


def from_runs(runs: Mapping[str, "Run"], order: str) -> dict[str, Any]:
    """Return the arguments of :class:`RankedLists` from runs, sorted as trec_eval sorts them."""
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError(f"runs must be a mapping of names to runs, got {runs!r}")
    one_of("order", order, ("score", "rank"))
    return _joined(
        {str(name): _run_entries(run, name, order) for name, run in runs.items()}, "runs"
    )


def _run_entries(run: "Run", name: str, order: str) -> ListEntries:
    name = f"runs[{name!r}]"
    for attribute in ("queries", "docs", "ranks", "scores"):
        if not hasattr(run, attribute):
            raise TypeError(f"{name} must have queries, docs, ranks and scores; no {attribute}")
    queries = as_ids(f"{name}.queries", run.queries, floats=True)
    if not len(queries):
        raise ValueError(f"{name} must not be empty")
    docs = as_ids(f"{name}.docs", run.docs, floats=True)
    scores = finite_numbers(f"{name}.scores", run.scores)
    keys = -scores if order == "score" else finite_numbers(f"{name}.ranks", run.ranks)
    if not len(queries) == len(docs) == len(scores) == len(keys):
        raise ValueError(f"{name} must have arrays of the same length")
    positions = positions_by(queries, -sorted_codes(docs.astype(np.str_)), keys)
    return ListEntries(queries, docs, positions.astype(REAL), scores)


def from_frames(
    frames: Any, query: str, doc: str, list_: str, rank: str, score: str
) -> dict[str, Any]:
    """Return the arguments of :class:`RankedLists` from one long frame, or from a frame a list."""
    if not isinstance(frames, Mapping):
        table = read_frame(frames, "frames", list_, query, doc)
        lists = as_ids(f"frames[{list_!r}]", table[list_].to_list(), floats=True)
        entries = _frame_entries(table, "frames", query, doc, rank, score, lists)
        names, places = np.unique(lists, return_inverse=True)
        return _gathered(entries, [str(name) for name in names], places, "frames")
    if not frames:
        raise ValueError("frames must not be empty, got a mapping without lists")
    found = {}
    for key, frame in frames.items():
        name = f"frames[{str(key)!r}]"
        table = read_frame(frame, name, query, doc)
        found[str(key)] = _frame_entries(table, name, query, doc, rank, score)
    without = [name for name, entries in found.items() if entries.scores is None]
    if without and len(without) < len(found):
        raise ValueError(
            f"frames must all have a column {score!r} or none of them, "
            f"but frames[{without[0]!r}] has none"
        )
    return _joined(found, "frames")


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


def _frame_entries(
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


def _joined(parts: Mapping[str, ListEntries], argument: str) -> dict[str, Any]:
    queries, docs, positions, scores = zip(*parts.values(), strict=True)
    for what, ids in (("queries", queries), ("documents", docs)):
        if len({part.dtype.kind for part in ids}) > 1:
            raise ValueError(
                f"{argument}: {what} must have ids of one kind, got numbers in one list, words in "
                "another"
            )
    together = ListEntries(
        np.concatenate(queries),
        np.concatenate(docs),
        np.concatenate(positions),
        None if scores[0] is None else np.concatenate(scores),
    )
    places = np.repeat(np.arange(len(parts)), [len(part) for part in queries])
    return _gathered(together, list(parts), places, argument)


def _gathered(
    entries: ListEntries, names: list[str], lists: NDArray[np.intp], argument: str
) -> dict[str, Any]:
    """Return one row for each query and document; `lists` has the index of each entry's list."""
    queries, docs, positions, scores = entries
    _, first, rows = np.unique(pair_numbers(queries, docs), return_index=True, return_inverse=True)
    again = first_repeat(rows * len(names) + lists)
    if again is not None:
        raise ValueError(
            f"{argument}: list {names[lists[again]]!r} must have a document once, got "
            f"{docs[again]} twice for query {queries[again]}"
        )

    def table(values: Reals) -> Reals:
        found = np.full((len(first), len(names)), np.nan, dtype=REAL)
        found[rows, lists] = values
        return found

    return {
        "positions": table(positions),
        "qid": queries[first],
        "scores": None if scores is None else table(scores),
        "docs": docs[first],
        "names": names,
    }


def pair_numbers(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
    """Return one number for each different pair."""
    right = sorted_codes(second)
    return sorted_codes(first) * (int(right.max(initial=0)) + 1) + right


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
