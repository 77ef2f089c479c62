"""The partitions of Dask collections as pieces that workers train on, and who takes which."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The maximum number of runs of rows that a partition is cut into, to keep queries on one worker.
_MAX_RUNS = 100


class Piece(NamedTuple):
    """Some rows, with their targets, weights and queries."""

    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[Any] | None
    qid: NDArray[Any] | None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    def rows(self, start: int, stop: int) -> "Piece":
        """Return a run of the rows."""
        run = slice(start, stop)
        X = self.X.iloc[run] if hasattr(self.X, "iloc") else self.X[run]
        y, weights, qid = self.y, self.sample_weight, self.qid
        weights = None if weights is None else weights[run]
        return Piece(X, y[run], weights, None if qid is None else qid[run])


class Size(NamedTuple):
    """The size of a piece: its rows, and its runs of rows of one query."""

    n_rows: int
    queries: list[Any]
    starts: list[int]


class Share(NamedTuple):
    """The pieces that a worker takes, and their numbers among all."""

    blocks: list[int]
    pieces: list[Any]


def is_dask(X: Any) -> bool:
    """Return whether `X` is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def partitions(name: str, collection: Any) -> list[Any]:
    """Return the partitions of the rows of a Dask DataFrame or Array, as delayed objects."""
    if not is_dask(collection) or not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask DataFrame or Array, got {type(collection).__name__}: "
            "dask.array.from_array and dask.dataframe.from_pandas make one"
        )
    if not hasattr(collection, "numblocks"):
        return list(collection.to_delayed())
    if collection.ndim == 2 and collection.numblocks[1] > 1:
        # A piece has all columns; the rows, whose number Dask may not know, stay as they are.
        collection = collection.rechunk({1: -1})
    # Optimized apart, arrays that share tasks would disagree on them.
    return list(np.ravel(collection.to_delayed(optimize_graph=False)))


def delayed_pieces(
    X: Any, y: Any, sample_weight: Any = None, qid: Any = None, prefix: str = ""
) -> list[Any]:
    """Return the pieces of some collections with the same partitions, as delayed objects."""
    from dask import delayed

    parts = {
        name: partitions(f"{prefix}{name}", collection)
        for name, collection in (("X", X), ("y", y), ("sample_weight", sample_weight), ("qid", qid))
        if collection is not None
    }
    n_parts = len(parts["X"])
    for name, delayed_parts in parts.items():
        if len(delayed_parts) != n_parts:
            raise ValueError(
                f"{prefix}{name} has {len(delayed_parts)} partitions and X has {n_parts}: rechunk "
                "or repartition them to the same rows"
            )
    make = delayed(make_piece, pure=False)
    return [
        make(
            number, prefix, **{name: delayed_parts[number] for name, delayed_parts in parts.items()}
        )
        for number in range(n_parts)
    ]


def make_piece(
    number: int, prefix: str, X: Any, y: Any, sample_weight: Any = None, qid: Any = None
) -> Piece:
    """Return the piece of a partition, or raise if its rows differ in number."""
    arrays: dict[str, Any] = {}
    for name, values in (("y", y), ("sample_weight", sample_weight), ("qid", qid)):
        array = values.toarray() if hasattr(values, "toarray") else values
        arrays[name] = None if array is None else np.asarray(array)
        if array is not None and len(arrays[name]) != X.shape[0]:
            raise ValueError(
                f"{prefix}X and {prefix}{name} must have the same rows in every partition: number "
                f"{number} has {X.shape[0]} of X and {len(arrays[name])} of {name}"
            )
    return Piece(X, **arrays)


def size_of(piece: Piece) -> Size:
    """Return the size of a piece."""
    if piece.qid is None or not piece.n_rows:
        return Size(piece.n_rows, [], [])
    new = np.ones(piece.n_rows, dtype=bool)
    new[1:] = piece.qid[1:] != piece.qid[:-1]
    starts = np.flatnonzero(new)
    return Size(piece.n_rows, piece.qid[starts].tolist(), starts.tolist())


class RowRange(NamedTuple):
    """A run of rows of a piece, and the worker that takes it."""

    piece: int
    start: int
    stop: int
    worker: str


def assign_rows(
    sizes: Sequence[Size], holders: Sequence[Sequence[str]], workers: Iterable[str] = ()
) -> list[RowRange]:
    """Return which worker takes which rows: of those that hold a piece, the one with fewest rows.

    A piece that none of `workers` holds goes to the one with fewest rows; without `workers`, any
    may take it. Rows of a query that began on another worker go there.
    """
    load: Counter[str] = Counter(dict.fromkeys(workers, 0))
    allowed, home, runs = {*workers}, dict[Any, str](), list[RowRange]()
    for number, (size, having) in enumerate(zip(sizes, holders, strict=True)):
        if not size.n_rows:
            continue
        near = [worker for worker in having if not allowed or worker in allowed]
        worker = min(near or allowed, key=lambda candidate: (load[candidate], candidate))
        load[worker] += size.n_rows
        owners = [home.setdefault(query, worker) for query in size.queries] or [worker]
        starts = size.starts or [0]
        firsts = [i for i in range(len(owners)) if i == 0 or owners[i] != owners[i - 1]]
        if len(firsts) > _MAX_RUNS:
            moved = next(i for i, owner in enumerate(owners) if owner != worker)
            raise ValueError(
                f"qid: the rows of query {size.queries[moved]!r}, and of others, are in partition "
                f"{number} and an earlier one; each query must be in one partition, or the rows "
                "sorted by query"
            )
        ends = [starts[i] for i in firsts[1:]] + [size.n_rows]
        runs += [
            RowRange(number, starts[i], stop, owners[i])
            for i, stop in zip(firsts, ends, strict=True)
        ]
    return runs


def spread_rows(
    runs: list[RowRange], sizes: Sequence[Size], workers: Sequence[str], name: str
) -> list[RowRange]:
    """Return validation rows with some for every worker: whole queries, or rows, move."""
    for worker in workers:
        if any(run.worker == worker for run in runs):
            continue
        cuts = [_middle(run, sizes[run.piece]) for run in runs]
        rows = Counter[str]()
        for run in runs:
            rows[run.worker] += run.stop - run.start
        movable = [
            i
            for i, run in enumerate(runs)
            if cuts[i] > run.start or sum(other.worker == run.worker for other in runs) > 1
        ]
        if not movable:
            unit = "queries" if sizes[runs[0].piece].queries else "rows"
            raise ValueError(f"{name} has fewer {unit} than there are workers, {len(workers)}")
        i = max(movable, key=lambda i: (rows[runs[i].worker], runs[i].stop - runs[i].start))
        run, cut = runs[i], cuts[i]
        moved = run._replace(start=cut, worker=worker)
        runs[i : i + 1] = [run._replace(stop=cut), moved] if cut > run.start else [moved]
    return runs


def _middle(run: RowRange, size: Size) -> int:
    """Return where to cut a run in two, between queries; its start where that cannot be."""
    middle = (run.start + run.stop) // 2
    if not size.queries:
        return middle
    starts = [start for start in size.starts if run.start < start < run.stop]
    return min(starts, key=lambda start: abs(start - middle), default=run.start)


def cut_pieces(
    client: Any, runs: Sequence[RowRange], pieces: Sequence[Any], sizes: Sequence[Size]
) -> Mapping[str, Share]:
    """Return each worker's pieces, cut to its rows on the worker that holds them."""
    shares: dict[str, Share] = {}
    for number, run in enumerate(runs):
        piece = pieces[run.piece]
        if run.stop - run.start < sizes[run.piece].n_rows:
            piece = client.submit(Piece.rows, piece, run.start, run.stop, pure=False)
        share = shares.setdefault(run.worker, Share([], []))
        share.blocks.append(number)
        share.pieces.append(piece)
    return shares
