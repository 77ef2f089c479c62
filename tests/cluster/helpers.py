"""Processes that train together: forks of the test, with the test itself between them."""

import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from edgewise.cluster import Collective, rows_here

REDUCE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Forked(Collective):
    """One of several forked processes."""

    def __init__(self, rank: int, size: int, pipe: Any) -> None:
        self.rank, self.size, self._pipe = rank, size, pipe

    def allreduce(self, values: np.ndarray, operation: str = "sum") -> np.ndarray:
        self._pipe.send((operation, values))
        return self._pipe.recv()


def together(size: int, run: Callable[[Collective], Any]) -> list[Any]:
    """Return what ``run(collective)`` returns in each of several processes."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(size)]

    def work(rank: int) -> None:
        for _, end in pipes[:rank] + pipes[rank + 1 :]:
            end.close()
        for end, _ in pipes:
            end.close()
        pipe = pipes[rank][1]
        try:
            answer = ("done", run(Forked(rank, size, pipe)))
        except (EOFError, OSError):
            return  # another process has failed
        except Exception as error:
            answer = ("failed", error)
        with suppress(OSError):
            pipe.send(answer)

    processes = [context.Process(target=work, args=(rank,), daemon=True) for rank in range(size)]
    for process in processes:
        process.start()
    try:
        for _, end in pipes:
            end.close()
        return _between([end for end, _ in pipes])
    finally:
        for end, _ in pipes:
            end.close()
        for process in processes:
            process.join()


def _between(pipes: Sequence[Any]) -> list[Any]:
    """Reduce messages until all processes are done, or one fails."""
    while True:
        asked = []
        for pipe in pipes:
            assert pipe.poll(60), "a process does not send what the others send"
            asked.append(pipe.recv())
            if asked[-1][0] == "failed":
                raise asked[-1][1]
        (kind, *_), *_ = asked
        assert {item[0] for item in asked} == {kind}, (
            f"different calls: {[item[0] for item in asked]}"
        )
        values = [item[1] for item in asked]
        if kind == "done":
            return values
        assert len({(part.shape, part.dtype) for part in values}) == 1, "different messages"
        result = REDUCE[kind].reduce(values, axis=0, dtype=values[0].dtype)
        for pipe in pipes:
            pipe.send(result)


def blocks_of(size: int, n_blocks: int, seed: int = 0) -> list[list[int]]:
    """Return the blocks of each process, in any order; each process has one at least."""
    owner = np.random.default_rng(seed).permutation(np.arange(n_blocks) % size)
    return [np.flatnonzero(owner == rank).tolist() for rank in range(size)]


def rows_of(X: Any, places: Sequence[np.ndarray], blocks: Sequence[int]) -> list[Any]:
    """Return runs of rows of anything that has rows."""
    take = getattr(X, "iloc", X)
    return [take[places[block]] for block in blocks]


def fit_together(
    model: Callable[[], Any], X: Any, size: int, n_blocks: int | None = None, seed: int = 0,
    eval_set: Any = None, cuts: Any = None, **arrays: Any,
) -> list[Any]:  # fmt: skip
    """Return the models that several processes train together on the rows of X and other arrays."""
    n_blocks = n_blocks or 2 * size
    n_rows = X.shape[0]
    possible = np.arange(1, n_rows) if cuts is None else cuts
    cuts = np.sort(np.random.default_rng(seed).choice(possible, n_blocks - 1, False))
    places = np.split(np.arange(n_rows), cuts)
    owned = blocks_of(size, n_blocks, seed)

    def run(collective: Collective) -> Any:
        own = owned[collective.rank]

        def part(values: Any, places: Any = places) -> Any:
            pieces = rows_of(values, places, own)
            return np.concatenate([np.asarray(piece) for piece in pieces])

        given = {name: part(values) for name, values in arrays.items() if values is not None}
        if eval_set is not None:
            n_valid = eval_set[0].shape[0]
            others = np.array_split(np.arange(n_valid), n_blocks)
            table = rows_here(rows_of(eval_set[0], others, own), collective, own)
            given["eval_set"] = (table, *(part(values, others) for values in eval_set[1:]))
        table = rows_here(rows_of(X, places, own), collective, own)
        return model().fit(table, **given)

    return together(size, run)
