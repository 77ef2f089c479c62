"""Kills in the middle of training and saving, and disks that are full or read-only."""

import ctypes
import os
import pickle
import random
import resource
import shutil
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import edgewise
from edgewise import UCB, AdaBoostMH, BiasBaseline, Blend, Checkpoint, ItemKNN, RankBoost
from edgewise.io import write_letor, write_run, write_table
from edgewise.model import read
from soak.corpus import MIXED, N_ROWS, NUMBERED, QID, RATINGS
from soak.driver import Part

rng = np.random.default_rng(1)
X = rng.normal(size=(300, 6))
Y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=300) > 0).astype(int) + (X[:, 3] > 1)
QUERIES = np.arange(300) // 10
ROUNDS = 60

RUNS: dict[str, Callable[[], Any]] = {
    "tree": lambda: AdaBoostMH("tree", n_rounds=ROUNDS),
    "search": lambda: AdaBoostMH("stump", n_rounds=4 * ROUNDS, search=UCB(2)),
    "sample": lambda: AdaBoostMH("product", n_rounds=ROUNDS, subsample=0.5, random_state=3),
    "validated": lambda: AdaBoostMH("tree", n_rounds=ROUNDS, validation_fraction=0.2),
    "ranker": lambda: RankBoost("stump", n_rounds=ROUNDS),
    "top of lists": lambda: RankBoost("tree", objective="ndcg", n_rounds=ROUNDS),
}
SAVED = {
    "items": (lambda: ItemKNN(), NUMBERED, NUMBERED.take(np.arange(len(NUMBERED)) % 5 > 0)),
    "blend": (
        lambda: Blend([("a", BiasBaseline()), ("b", ItemKNN())], random_state=0),
        RATINGS,
        RATINGS.take(np.arange(len(RATINGS)) % 5 > 0),
    ),
}

_KILLS = 6


def train(model: Any, path: Path, every: int) -> Any:
    """Train a model with checkpoints, from the last one if there is any."""
    if path.exists():
        model = edgewise.load(path).set_params(warm_start=True, n_rounds=model.n_rounds)
    model.set_params(callbacks=[Checkpoint(path, every)])
    return model.fit(X, Y, qid=QUERIES) if isinstance(model, RankBoost) else model.fit(X, Y)


def content(path: Path) -> tuple[Any, dict[str, bytes]]:
    """Return what training left in a file; its settings may differ by `warm_start`."""
    header, arrays = read(path)
    return header["state"], {name: array.tobytes() for name, array in arrays.items()}


def forked(run: Callable[[], Any]) -> tuple[int, int]:
    """Run a function in a process of its own; return its number, and where its result comes."""
    result, there = os.pipe()
    process = os.fork()
    if process:
        os.close(there)
        return process, result
    try:
        try:
            answer = (True, run())
        except BaseException:
            answer = (False, traceback.format_exc())
        with os.fdopen(there, "wb") as stream:
            pickle.dump(answer, stream)
    finally:
        os._exit(0)


def answer(process: int, result: int) -> Any:
    """Return the result of a forked function; None if it was killed."""
    with os.fdopen(result, "rb") as stream:
        pickled = stream.read()
    os.waitpid(process, 0)
    if not pickled:
        return None
    right, value = pickle.loads(pickled)
    if not right:
        raise AssertionError(value)
    return value


class Kills(Part):
    """Training, ranking and recommending, killed at any time and taken up again."""

    name = "kills"
    about = "training, ranking and saving are killed, taken up again, and end with the same bits"
    counted = "kills"
    wanted = 1_000
    share = 12.0
    seconds = 120.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # Compiled kernels and their threads do not survive a fork.
        os.environ["EDGEWISE_BACKEND"] = "numpy"
        self._expected: dict[str, tuple[float, Any]] = {}

    def case(self, rng: random.Random) -> Counter[str]:
        """Kill one run several times."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if rng.random() < 0.2:
                return self._saving(rng)
            return self._training(rng)

    def _training(self, rng: random.Random) -> Counter[str]:
        name, every = rng.choice(list(RUNS)), rng.choice((1, 2, 7))
        if name not in self._expected:
            path = self._path("whole")
            started = time.perf_counter()
            train(RUNS[name](), path, 7)
            self._expected[name] = time.perf_counter() - started, content(path)
        seconds, expected = self._expected[name]
        path, kills = self._path("run"), Counter[str]()
        for _ in range(_KILLS):
            run = forked(lambda: train(RUNS[name](), path, every) is not None)
            kills += self._kill(run, rng.uniform(0, 1.2 * seconds), path)
            if path.exists():
                edgewise.load(path)
        assert answer(*forked(lambda: train(RUNS[name](), path, every) is not None))
        assert content(path) == expected, f"{name} did not end as the run without kills"
        return kills

    def _saving(self, rng: random.Random) -> Counter[str]:
        make, *train_sets = SAVED[rng.choice(list(SAVED))]
        models = [make().fit(train) for train in train_sets]
        path, known = self._path("saved"), []
        for model in models:
            model.save(path)
            known.append(path.read_bytes())

        def run() -> None:
            while True:
                for model in models:
                    model.save(path)

        kills = Counter[str]()
        for _ in range(_KILLS):
            kills += self._kill(forked(run), rng.uniform(0, 0.05), path)
            assert path.read_bytes() in known
        return kills

    def _kill(self, run: tuple[int, int], seconds: float, path: Path) -> Counter[str]:
        time.sleep(seconds)
        os.kill(run[0], signal.SIGKILL)
        if answer(*run) is not None:
            return Counter()  # it had ended
        writing = len(list(path.parent.glob(f".{path.name}.*")))
        for left in path.parent.glob(f".{path.name}.*"):
            left.unlink()
        return Counter({"while writing" if writing else "while training": 1})

    def _path(self, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder / "model.edgewise"


def _checkpoint(path: Path) -> None:
    model = AdaBoostMH("stump", n_rounds=20, callbacks=[Checkpoint(path, every=3)])
    try:
        model.fit(X, Y)
    finally:
        # Where even the start fails there is nothing to keep.
        if hasattr(model, "fitted_"):
            assert model.n_rounds_ == 20


_MODEL = AdaBoostMH("tree", n_rounds=5).fit(X, Y)
WRITERS: dict[str, Callable[[Path], Any]] = {
    "model.edgewise": _MODEL.save,
    "run.edgewise": _checkpoint,
    "table.csv": lambda path: write_table(path, MIXED),
    "table.csv.gz": lambda path: write_table(path, MIXED),
    "table.parquet": lambda path: write_table(path, MIXED),
    "documents.letor": lambda path: write_letor(path, X, Y, QUERIES),
    "list.run": lambda path: write_run(path, QID, [f"d{i}" for i in range(N_ROWS)], X[:N_ROWS, 0]),
    "page.html": lambda path: _MODEL.report(X, Y, path),
    "model.py": _MODEL.export,
    "model.sql": _MODEL.export,
}
"""What writes files, by their names."""


class Disks(Part):
    """Writing to a disk that is full, and to a folder that is read-only."""

    name = "disks"
    about = "files are written where there is no room, or no right to: the old ones stay whole"
    counted = "writes"
    wanted = 2_000
    share = 3.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ["EDGEWISE_BACKEND"] = "numpy"

    def case(self, rng: random.Random) -> Counter[str]:
        """Write one file in a process of its own."""
        name, way = rng.choice(list(WRITERS)), rng.choice(("limit", "full disk", "read-only"))
        room = rng.choice((0, 1, 100, 4096, 8192, 20_000, 60_000))
        return Counter({answer(*forked(lambda: self._write(name, way, room))): 1})

    def _write(self, name: str, way: str, room: int) -> str:
        folder = self.folder / "disk"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        old = b"the old file"
        if way != "limit" and not mounted(folder, f"size={max(room, 4096)}"):
            return "skipped: no right to mount"
        (folder / name).write_bytes(old)
        if way == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        if way == "read-only":
            mounted(folder, f"size={max(room, 4096)}", read_only=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                WRITERS[name](folder / name)
            except OSError:
                assert (folder / name).read_bytes() == old or name == "run.edgewise"
                outcome = "refused"
            else:
                assert way != "read-only"
                assert (folder / name).read_bytes() != old
                outcome = "written"
        assert [path.name for path in folder.iterdir()] == [name]
        if name.endswith(".edgewise") and (folder / name).read_bytes() != old:
            edgewise.load(folder / name)
        return f"{outcome} ({way})"


def mounted(folder: Path, options: str, read_only: bool = False) -> bool:
    """Mount a small disk in memory that this process alone sees; return whether that is allowed."""
    library = ctypes.CDLL(None, use_errno=True)
    new_names, private, again = 0x20000, 0x44000, 0x20
    if read_only:
        return library.mount(b"none", bytes(folder), None, again | 1, None) == 0
    if library.unshare(new_names) or library.mount(b"none", b"/", None, private, None):
        return False
    return library.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, options.encode()) == 0
