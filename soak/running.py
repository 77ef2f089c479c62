"""One process for long: threads that share a model, and hundreds of fits."""

import gc
import random
import resource
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import edgewise
from edgewise import AdaBoostMH, ItemKNN, RankBoost
from soak.corpus import GRADES, MODELS, NUMBERED, QID, X, Y
from soak.driver import Part

# Threads that predict while another trains.
_N_THREADS = 8

_FITS = ("stumps", "tree", "ranker", "categories", "items", "implicit", "rankboost", "blend")


class Threads(Part):
    """Eight threads that ask one model while another trains."""

    name = "threads"
    about = "eight threads ask one model while another trains: all answers have the same bits"
    counted = "answers"
    wanted = 10_000
    share = 3.0
    seconds = 60.0
    gigabytes = 4.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rows = np.random.default_rng(0).normal(size=(200, X.shape[1]))
        ids = NUMBERED.user_ids.values
        self.asked: list[tuple[Any, Any]] = [
            (AdaBoostMH("tree", n_rounds=20).fit(X, Y), lambda model: model.predict_proba(rows)),
            (AdaBoostMH("stump", n_rounds=20).fit(X, Y), lambda model: model.predict_proba(rows)),
            (RankBoost(n_rounds=20).fit(X, GRADES, qid=QID), lambda model: model.predict(rows)),
            (ItemKNN().fit(NUMBERED), lambda model: model.recommend(ids, n=4).scores),
            (MODELS["rankboost"](), lambda model: model.recommend(["3", "4"], n=4).scores),
        ]

    def case(self, rng: random.Random) -> Counter[str]:
        """Ask one model from all threads, fresh from a file, so that nothing is ready yet."""
        model, ask = rng.choice(self.asked)
        path = self.folder / "shared.edgewise"
        model.save(path)
        expected, shared = np.asarray(ask(edgewise.load(path))).tobytes(), edgewise.load(path)
        expected_terms = (
            AdaBoostMH("tree", n_rounds=6, n_jobs=2).fit(X, Y).fitted_.terms.votes.tobytes()
        )
        start = threading.Barrier(_N_THREADS + 1)

        def answers() -> list[bytes]:
            start.wait()
            return [np.asarray(ask(shared)).tobytes() for _ in range(4)]

        def trains() -> bytes:
            start.wait()
            return AdaBoostMH("tree", n_rounds=6, n_jobs=2).fit(X, Y).fitted_.terms.votes.tobytes()

        with ThreadPoolExecutor(_N_THREADS + 1) as pool:
            trained = pool.submit(trains)
            asked = [pool.submit(answers) for _ in range(_N_THREADS)]
            results = [one for answer in asked for one in answer.result()]
        assert all(one == expected for one in results)
        assert trained.result() == expected_terms
        return Counter(same=len(results))


class Growth(Part):
    """Fits, saves and loads, two hundred a case: no memory, thread or file stays behind."""

    name = "growth"
    about = "two hundred fits, saves and loads in one process: memory, threads and files stay level"
    counted = "fits"
    wanted = 1_000
    share = 3.0
    seconds = 300.0
    gigabytes = 4.0
    workers = 1
    fits = 200
    megabytes = 8.0
    """How much the memory may grow."""

    def case(self, rng: random.Random) -> Counter[str]:
        """Fit again and again."""
        path = self.folder / "model.edgewise"

        def once(name: str) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                MODELS[name]().save(path)
            edgewise.load(path)

        for name in _FITS * 2:
            once(name)
        after = self._held()
        # Twice, if it grew: kernels that another process compiled are loaded once.
        for _ in range(2):
            before = after
            for at in range(self.fits):
                once(_FITS[at % len(_FITS)])
            after = self._held()
            if after[0] - before[0] <= self.megabytes:
                break
        assert after[0] - before[0] <= self.megabytes, f"{after[0] - before[0]:.1f} MB more"
        assert after[1:] == before[1:], f"threads and files: {before[1:]}, then {after[1:]}"
        return Counter({"level": self.fits})

    def _held(self) -> tuple[float, int, int]:
        """Return megabytes of memory, threads, and open files."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        files = len([*Path("/proc/self/fd").iterdir()])
        return pages * resource.getpagesize() / 1e6, threading.active_count(), files
