"""Workers of a Dask cluster that are killed while they train."""

import logging
import os
import random
import signal
import time
import warnings
from collections import Counter
from pathlib import Path
from threading import Timer
from typing import Any

from edgewise import AdaBoostMH, Checkpoint, RankBoost
from soak.driver import Part
from soak.kills import QUERIES, ROUNDS, X, Y

_WORKERS = 2


class Cluster(Part):
    """Training on a cluster whose workers are killed."""

    name = "cluster"
    about = "workers of a Dask cluster are killed: training goes on, and ends with the same bits"
    counted = "kills"
    wanted = 20
    share = 6.0
    seconds = 300.0
    gigabytes = 16.0
    workers = 1

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        import dask

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        dask.config.set({"distributed.comm.timeouts.connect": "60s"})
        self.client = self._started()
        self.seconds_taken = {"classes": 1.0, "ranks": 1.0}
        self.expected = {
            "classes": AdaBoostMH("tree", n_rounds=ROUNDS).fit(X, Y),
            "ranks": RankBoost("stump", n_rounds=ROUNDS).fit(X, Y, qid=QUERIES),
        }

    def _started(self) -> Any:
        from dask.distributed import Client, LocalCluster

        return Client(
            LocalCluster(_WORKERS, threads_per_worker=1, memory_limit=0, dashboard_address=None)
        )

    def case(self, rng: random.Random) -> Counter[str]:
        """Train once, and kill a worker meanwhile."""
        try:
            self.client.wait_for_workers(_WORKERS, timeout=60)
        except TimeoutError:
            # Dask does not replace a worker that dies while it starts.
            self.client.cluster.close()
            self.client.close()
            self.client = self._started()
        task, killed = rng.choice(("classes", "ranks")), Counter[str]()
        pids = sorted(self.client.run(os.getpid).values())

        def kill() -> None:
            os.kill(rng.choice(pids), signal.SIGKILL)
            killed["while training"] += 1

        timer = Timer(rng.uniform(0, self.seconds_taken[task]), kill)
        started = time.monotonic()
        timer.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self._trained(task)
        timer.cancel()
        if not killed:
            self.seconds_taken[task] = time.monotonic() - started
        ours, theirs = model.fitted_.terms, self.expected[task].fitted_.terms
        assert ours.votes.tobytes() == theirs.votes.tobytes()
        assert ours.thresholds.tobytes() == theirs.thresholds.tobytes()
        return killed or Counter({"after the end": 1})

    def _trained(self, what: str) -> Any:
        import dask.array as da

        from edgewise.dask import DaskAdaBoostMH, DaskRankBoost

        rows, y, qid = (
            da.from_array(array, chunks=(50, *array.shape[1:])) for array in (X, Y, QUERIES)
        )
        callbacks = [Checkpoint(self.folder / f"{what}.edgewise", every=5)]
        if what == "ranks":
            ranker = DaskRankBoost("stump", n_rounds=ROUNDS, callbacks=callbacks)
            return ranker.fit(rows, y, qid=qid, client=self.client)
        return DaskAdaBoostMH("tree", n_rounds=ROUNDS, callbacks=callbacks).fit(
            rows, y, client=self.client
        )
