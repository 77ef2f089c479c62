"""Processes that sum arrays together: XGBoost's collective between threads, which it allows."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for

import numpy as np
import pytest

from edgewise.cluster import MPICollective, XGBoostCollective

pytest.importorskip("xgboost.collective")


def together(n, work):
    """Return what `work(collective)` returned or raised in each of `n` ranks."""
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(n_workers=n, host_ip="127.0.0.1", sortby="task")
    tracker.start()
    arguments = tracker.worker_args()

    def one(task):
        with XGBoostCollective(task, timeout=20, **arguments) as processes:
            assert (processes.rank, processes.size) == (task, n)
            return work(processes)

    with ThreadPoolExecutor(n) as pool:
        futures = [pool.submit(one, task) for task in range(n)]
        wait_for(futures)
    return [future.exception() or future.result() for future in futures]


def exercise(processes):
    mine = np.arange(6).reshape(2, 3) * (1 + processes.rank)
    return (
        [processes.allreduce(mine.astype(kind)) for kind in ("u1", "i4", "i8", "u8")],
        processes.allreduce(np.array([processes.rank / 3]), "max"),
        processes.allreduce(np.array([processes.rank / 3]), "min"),
        processes.gather("ab" * processes.rank),
        processes.gather("ab" * 400 * processes.rank),
        processes.broadcast(None),
        processes.broadcast({"from": processes.rank}, 1),
    )


def check(found, n):
    for sums, most, least, gathered, long, nothing, given in found:
        for values in sums:
            assert values.tolist() == (np.arange(6).reshape(2, 3) * sum(range(n + 1))).tolist()
        assert [values.dtype.str[1:] for values in sums] == ["u1", "i4", "i8", "u8"]
        assert (most.item(), least.item()) == ((n - 1) / 3, 0.0)
        assert gathered == ["ab" * rank for rank in range(n)]
        assert long == ["ab" * 400 * rank for rank in range(n)]
        assert nothing is None
        assert given == {"from": 1}


def test_xgboost_sums_and_shares():
    check(together(3, exercise), 3)


def test_a_process_that_fails_stops_the_others():
    def fail(processes):
        processes.allreduce(np.ones(1000, dtype=np.int64))
        if processes.rank == 1:
            raise ValueError("rank 1 has a bad column")
        return processes.allreduce(np.ones(1000, dtype=np.int64))

    first, root, last = together(3, fail)
    assert isinstance(root, ValueError)
    for lost in (first, last):
        assert isinstance(lost, ConnectionError)
        assert "lost the connection to another process" in str(lost)
        assert "Stack trace" not in str(lost)


def test_mpi_of_one_process():
    pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
    processes = MPICollective()
    assert (processes.rank, processes.size) == (0, 1)
    assert processes.allreduce(np.ones(3, dtype=np.int64)).tolist() == [1, 1, 1]
    assert processes.gather(3) == [3]
    assert processes.broadcast(None) is None
