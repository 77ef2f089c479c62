"""A Dask cluster on this machine: time, traffic and memory by workers, and workers that are killed.

Run with
    python benchmarks/cluster.py --rows 5000000 --workers 1 2
    python benchmarks/cluster.py --kills 20
It needs Dask and LightGBM (`pip install "edgewise[dask]" lightgbm`).

The workers make the rows themselves, and have one thread each. A round is timed by the difference
of two fits, of few and of more rounds; the rest is reading, binning and starting. Traffic is what
the collective sums: a ring sends almost twice as much. Memory is the peak of a worker's process
above what it had with its rows in memory. Compiled kernels and imports are loaded by a first fit.

The estimate for many machines has as many rows on each machine as one worker had, and adds to its
measured time that of the sums, each after the other: a step of a message takes 50 microseconds, and
the network carries 10 Gbit/s. Of N machines a ring takes 2 (N - 1) steps and a tree, as here and
in MPI, 2 log2 N; both move twice the bytes.

A kill is `kill -9` of one worker at a random time during a fit, every other one with a checkpoint;
one that comes after the end is not counted.
It must end in the same model as without a kill, or in an error that names the worker.
"""

import argparse
import faulthandler
import os
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from edgewise import AdaBoostMH, Checkpoint, Tree
from edgewise.common.text import text_table
from edgewise.dask import DaskAdaBoostMH
from edgewise.dask.transport import DaskCollective
from edgewise.model.file import pack_model
from large import collisions

PIECE = 125_000  # rows of a partition
FEW, MORE = 5, 45  # rounds of the two fits
LATENCY = 0.05  # ms of a step of a message in the estimate
NETWORK = 1250.0  # kB a millisecond in the estimate


@contextmanager
def cluster(n_workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address=None,
            worker_dashboard_address=None,
        ) as workers,
        Client(workers) as client,
    ):
        yield client


def rows(n: int, piece: int = PIECE) -> tuple[da.Array, da.Array]:
    """Return rows and classes that the workers make."""

    def block(block_info: Any) -> np.ndarray:
        (start, stop), _ = block_info[None]["array-location"]
        X, y = collisions(np.random.default_rng(start), stop - start)
        return np.column_stack([X, y]).astype(np.float32)

    sizes = tuple(min(piece, n - start) for start in range(0, n, piece))
    both = da.map_blocks(block, chunks=(sizes, (29,)), dtype=np.float32)
    both = both.persist()
    X, y = both[:, :28].persist(), both[:, 28].astype(np.int64).persist()
    da.compute(X.sum(), y.sum())
    return X, y


# What the collective sums, and the memory of a worker. Functions of this script travel by value, so
# what they share on a worker belongs to the class.


def count() -> None:
    """Have this process count the calls and bytes of sums."""
    summed = DaskCollective.allreduce
    DaskCollective.counted = [0, 0]

    def counted(self: Any, values: np.ndarray, operation: str = "sum") -> np.ndarray:
        self.counted[0] += 1
        self.counted[1] += values.nbytes
        return summed(self, values, operation)

    DaskCollective.allreduce = counted


def counts() -> list[int]:
    found, DaskCollective.counted[:] = [*DaskCollective.counted], [0, 0]
    return found


def memory() -> tuple[float, float]:
    """Return the memory now and at its peak, in MB."""
    now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return now / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def ours(settings: dict[str, Any], n_rounds: int, X: da.Array, y: da.Array) -> None:
    DaskAdaBoostMH(n_rounds=n_rounds, **settings).fit(X, y)


def lightgbm(settings: dict[str, Any], n_rounds: int, X: da.Array, y: da.Array) -> None:
    from lightgbm import DaskLGBMClassifier

    DaskLGBMClassifier(n_estimators=n_rounds, verbosity=-1, **settings).fit(X, y)


PAPER = {"preset": "paper"}

FITS = {
    "AdaBoostMH, trees of 31 leaves": (
        ours,
        {"learner": Tree("stump", 31, "free", "gain"), "votes": "real", "loss": "logistic"} | PAPER,
    ),
    "AdaBoostMH, stumps": (ours, {"learner": "stump"} | PAPER),
    "LightGBM, trees of 31 leaves": (lightgbm, {"num_leaves": 31}),
}


class Line(NamedTuple):
    """A fit: milliseconds and sums of a round, kB summed, seconds before it, MB of a worker."""

    name: str
    n_workers: int
    a_round: float
    before: float
    sums: float
    volume: float
    peak: float


def times(n_rows: int, n_workers: int) -> list[Line]:
    table = []
    for name, (fit, settings) in FITS.items():
        with cluster(n_workers) as client:
            client.run(count)
            X, y = rows(n_rows, min(PIECE, n_rows // (4 * n_workers)))
            before = client.run(memory)
            fit(settings, 2, *rows(20_000, 5_000))
            seconds, traffic = [], []
            for n_rounds in (FEW, MORE):
                client.run(counts)
                started = time.perf_counter()
                fit(settings, n_rounds, X, y)
                seconds.append(time.perf_counter() - started)
                traffic.append(np.max(list(client.run(counts).values()), axis=0))
            after = client.run(memory)
        extra = MORE - FEW
        a_round = (seconds[1] - seconds[0]) / extra
        calls, volume = (traffic[1] - traffic[0]) / extra
        peak = max(after[worker][1] - before[worker][0] for worker in before)
        start = seconds[0] - FEW * a_round
        line = Line(name, n_workers, a_round * 1e3, start, calls, volume / 1e3, peak)
        table.append(line)
    return table


def estimate_many_machines(line: Line) -> list[str]:
    sums = [f"{line.sums:.0f}", f"{line.volume:.1f}"] if line.sums else ["", ""]
    times = [f"{line.a_round:.0f}", f"{line.before:.1f}"]
    return [line.name, str(line.n_workers), *times, *sums, f"{line.peak:.0f}"]


def estimates(table: list[Line]) -> list[list[str]]:
    """Return the milliseconds of a round, computed and summed, on many machines."""
    alone = {line.name: line.a_round for line in table if line.n_workers == 1}
    lines = []
    for line in table:
        if line.n_workers == 2 and line.sums and line.name in alone:
            moving = 2 * line.volume / NETWORK
            for n in (16, 256):
                steps = 2 * (n - 1), 2 * np.log2(n)
                times = (line.sums * step * LATENCY + moving for step in steps)
                cells = [alone[line.name], *times]
                lines.append([line.name, str(n), *(f"{cell:.0f}" for cell in cells)])
    return lines


# Kills


def learned_bytes(model: Any) -> tuple[Any, dict[str, bytes]]:
    arrays: dict[str, np.ndarray] = {}
    state = pack_model(model, "", arrays)["state"]
    return state, {name: array.tobytes() for name, array in arrays.items()}


def kills(n_kills: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    settings: dict[str, Any] = {"learner": "tree", "n_rounds": 1000} | PAPER
    table = []
    with cluster(3) as client, tempfile.TemporaryDirectory() as folder:
        X, y = rows(40_000, 5_000)
        usual = np.inf  # seconds of a fit: the first compiles
        for _ in range(3):
            started = time.perf_counter()
            DaskAdaBoostMH(**settings).fit(X, y)
            usual = min(usual, time.perf_counter() - started)
        expected = learned_bytes(AdaBoostMH(**settings).fit(X.compute(), y.compute()))
        while len(table) < n_kills:
            # A worker that was killed before has no rows any more.
            X, y = rows(40_000, 5_000)
            checkpoint = len(table) % 2 == 1
            pids = client.run(os.getpid)
            trains = sorted({worker for held in client.who_has(X).values() for worker in held})
            victim = pids[trains[int(rng.integers(len(trains)))]]
            delay = float(rng.uniform(0.02, 0.9)) * usual
            killed: list[float] = []

            def kill(pid: int = victim, killed: list[float] = killed) -> None:
                killed.append(time.perf_counter())
                os.kill(pid, signal.SIGKILL)

            own = [Checkpoint(Path(folder) / "model", every=10)] if checkpoint else None
            timer = threading.Timer(delay, kill)
            timer.start()
            faulthandler.dump_traceback_later(90)
            try:
                model = DaskAdaBoostMH(**settings, callbacks=own).fit(X, y)
                same = learned_bytes(model.to_local()) == expected
                outcome = "the same model" if same else "ANOTHER MODEL"
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
            ended = time.perf_counter()
            faulthandler.cancel_dump_traceback_later()
            timer.cancel()
            timer.join()
            if killed:  # before the end
                times = [f"{delay:.1f}", f"{ended - killed[0]:.1f}"]
                kept = "yes" if checkpoint else "no"
                table.append([str(len(table) + 1), kept, *times, outcome])
                print(table[-1], flush=True)
            client.wait_for_workers(3, timeout=600)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.kills:
        head = ["kill", "checkpoint", "after, s", "then took, s", "ended in"]
        print(text_table([head, *kills(options.kills, options.seed)], left=(4,)))
        return
    head = ["", "workers", "ms a round", "before, s", "sums a round", "kB a round", "MB a worker"]
    table = [line for n in options.workers for line in times(options.rows, n)]
    print(text_table([head, *(estimate_many_machines(line) for line in table)]))
    if many := estimates(table):
        head = ["estimate, ms a round", "machines", "own rows", "sums, ring", "sums, tree"]
        print(text_table([head, *many]))


if __name__ == "__main__":
    main()
