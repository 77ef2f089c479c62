"""One training run on the workers of a cluster: started, watched, and resumed after a fault.

Every worker that has rows runs one task, :func:`train_here`, all of them at the same time.
"""

import io
import logging
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import Callback, Checkpoint, ProgressBar, TrainingRun, check_callbacks
from edgewise.cluster import TIMEOUT, rows_here
from edgewise.common.collective import Alone, Collective
from edgewise.common.files import replace_file
from edgewise.dask.pieces import (
    Piece,
    RowRange,
    Size,
    assign_rows,
    cut_pieces,
    size_of,
    spread_rows,
)
from edgewise.dask.transport import DaskCollective, abort, register, unregister
from edgewise.data import Table
from edgewise.model.file import load

if TYPE_CHECKING:
    from distributed import Client, Future

logger = logging.getLogger("edgewise")

# Seconds: between looks at the workers; for the others to end after one has failed; and to wait for
# partitions that no worker computes.
_LOOK, _GRACE, _NOBODY = 1.0, 20.0, 30.0

# The number of faults without a new checkpoint after which training gives up.
_ATTEMPTS = 3


class WorkerJob(NamedTuple):
    """The job that all workers of a run get."""

    run: str
    model: Any
    arguments: dict[str, Any]  # of `fit`, beside the rows
    reports: bool  # to the client
    shows: bool  # progress
    every: int | None  # rounds from one checkpoint to the next
    workers: list[str]  # the addresses of all
    timeout: float  # in a sum over all


class ClusterTraining:
    """The training of a plain model on a cluster.

    With a Checkpoint among its callbacks, training resumes from the last one after a fault.
    """

    def __init__(
        self,
        client: "Client",
        model: Any,
        training: list[Any],
        validation: dict[str, list[Any]],
        arguments: dict[str, Any],
    ) -> None:
        callbacks = check_callbacks(model.callbacks)
        self.client, self.arguments = client, arguments
        self.names = ["X", *validation]
        self.delayed_sets = [training, *validation.values()]
        self.checkpoints = [callback for callback in callbacks if isinstance(callback, Checkpoint)]
        for checkpoint in self.checkpoints:
            checkpoint.check(lambda path: Path(path).touch())
        bars = [callback for callback in callbacks if isinstance(callback, ProgressBar)]
        self.shows = bool(model.verbose or bars)
        self.model = copy(model)
        self.model.verbose = 0
        self.model.callbacks = [
            callback for callback in callbacks if callback not in (*self.checkpoints, *bars)
        ]
        self.saved: bytes | None = None
        self._pieces: list[list[Future]] = []
        self._sizes: list[list[Size]] = []

    def train(self) -> Any:
        """Train, and return the record of the model."""
        from distributed import Lock
        from distributed.comm import CommClosedError

        started, limit = time.monotonic(), self.model.time_limit
        failures, before = 0, self.saved
        # Two runs at once could each wait for workers that the other one holds.
        with self.client.as_current(), Lock("edgewise"):
            self._pieces = [self.client.compute(pieces) for pieces in self.delayed_sets]
            try:
                while True:
                    try:
                        return self._attempt()
                    # The second: a worker died while Dask was asking it for something.
                    except (ConnectionError, CommClosedError) as error:
                        failures, before = failures * (self.saved is before) + 1, self.saved
                        self._resume_after(error, failures)
                        logger.warning("%s; resuming from the last checkpoint", error)
                    if limit is not None:
                        self.model.time_limit = max(limit - (time.monotonic() - started), 1e-3)
            finally:
                # Dask may name the same tasks differently in a later computation.
                for piece in chain.from_iterable(self._pieces):
                    piece.release()

    def _resume_after(self, error: Exception, failures: int) -> None:
        """Prepare to resume after a fault, or raise it again."""
        if not self.checkpoints:
            error.add_note("callbacks=[Checkpoint(path)] lets training resume after such a fault")
            raise error
        if failures >= _ATTEMPTS:
            error.add_note(f"gave up after {failures} faults without a new checkpoint")
            raise error
        if self.saved is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "checkpoint"
                path.write_bytes(self.saved)
                self.model.fitted_ = load(path).fitted_
            self.model.warm_start = True

    def _attempt(self) -> Any:
        """Place the rows, train on all workers that have some, and return the record."""
        from cloudpickle import dumps

        ranges = self._assign_all_rows()
        workers = list(dict.fromkeys(range_.worker for range_ in ranges[0]))
        sets = [
            cut_pieces(self.client, *arguments)
            for arguments in zip(ranges, self._pieces, self._sizes, strict=True)
        ]
        run = f"edgewise-{uuid4()}"
        every = min((checkpoint.every for checkpoint in self.checkpoints), default=None)
        reports = self.shows or every is not None
        job = WorkerJob(
            run, self.model, self.arguments, reports, self.shows, every, workers, TIMEOUT
        )
        # A class that a worker does not know would end Dask's connection to it, if not in bytes.
        packed = dumps(job)
        with ExitStack() as stack:
            stack.enter_context(self._register(run, workers))
            tasks = [
                self.client.submit(
                    train_here,
                    packed,
                    rank,
                    [shares[worker].blocks for shares in sets],
                    [shares[worker].pieces for shares in sets],
                    key=f"{run}-{rank}",
                    workers=[worker],
                    allow_other_workers=False,
                    pure=False,
                )
                for rank, worker in enumerate(workers)
            ]
            stack.callback(self.client.cancel, tasks, force=True)
            watch = _TaskWatch(self, run, tasks, workers)
            if reports:
                stack.enter_context(watch.listen())
            return watch.result()

    def _assign_all_rows(self) -> list[list[RowRange]]:
        """Return which worker takes which rows, of the training rows and of each validation set."""
        client = self.client
        every = [*chain.from_iterable(self._pieces)]
        while True:
            _wait_for_pieces(client, every)
            if not self._sizes:
                sizes = [client.map(size_of, pieces, pure=False) for pieces in self._pieces]
                _wait_for_pieces(client, [*chain.from_iterable(sizes)])
                self._sizes = client.gather(sizes)
            held = client.who_has(every)
            holders = [[held.get(piece.key, ()) for piece in pieces] for pieces in self._pieces]
            if all(map(all, holders)):
                break
        assigned: list[list[RowRange]] = []
        workers: list[str] = []
        for name, sizes, having in zip(self.names, self._sizes, holders, strict=True):
            ranges = assign_rows(sizes, having, workers)
            if not ranges:
                raise ValueError(f"{name} has 0 rows, in all partitions together")
            if workers:
                ranges = spread_rows(ranges, sizes, workers, name)
            workers = workers or list(dict.fromkeys(range_.worker for range_ in ranges))
            assigned.append(ranges)
        return assigned

    @contextmanager
    def _register(self, run: str, workers: list[str]) -> Iterator[None]:
        """Prepare the workers to sum over each other."""
        if len(workers) > 1 and self.client.scheduler.address.startswith("inproc"):
            raise ValueError(
                f"client must have processes, or one worker: its {len(workers)} workers that have "
                "rows are threads of one process"
            )
        self.client.run(register, run, workers=workers)
        try:
            yield
        finally:
            with suppress(Exception):
                self.client.run(unregister, run, workers=workers, on_error="ignore")

    def save(self, checkpoint: bytes) -> None:
        """Keep a checkpoint that the first worker sent, and write it to its files."""
        self.saved = checkpoint
        for callback in self.checkpoints:
            try:
                with replace_file(callback.path) as file:
                    file.write(checkpoint)
            except OSError as error:
                warnings.warn(f"no checkpoint: {error}", RuntimeWarning, stacklevel=2)


class _TaskWatch:
    """The tasks of a run, one on each worker: waits for their ends, and explains failures."""

    def __init__(
        self, training: ClusterTraining, run: str, tasks: "list[Future]", workers: list[str]
    ) -> None:
        self.training, self.client = training, training.client
        self.run, self.tasks, self.workers = run, tasks, workers
        self._queue: Any = None
        self._interrupted = False

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Receive the progress and the checkpoints that the first worker sends."""
        from distributed import Queue

        self._queue = Queue(self.run)
        try:
            yield
        finally:
            with suppress(Exception):
                self._receive()
            self._queue.close()

    def _receive(self) -> None:
        for message in [] if self._queue is None else self._queue.get(batch=True):
            if isinstance(message, str):
                sys.stderr.write(message)
            else:
                self.training.save(bytes(message))

    def result(self) -> Any:
        """Return what the first worker returned, or raise what ended the training."""
        while True:
            try:
                self._wait(_LOOK, "FIRST_COMPLETED")
                self._receive()
                if self.tasks[0].status == "finished":
                    # The others are about to end, too.
                    self._wait(_GRACE, "ALL_COMPLETED")
                    with suppress(TimeoutError):
                        return self.tasks[0].result(timeout=_GRACE)
                failed = any(task.status not in ("pending", "finished") for task in self.tasks)
                if failed or self._lost_workers():
                    raise self._find_cause()
            except KeyboardInterrupt:
                if self._interrupted:
                    raise
                # The workers keep the rounds so far, as on one machine.
                self._interrupted = True
                self.client.run(ask_to_stop, self.run, workers=self.workers[:1])

    def _wait(self, timeout: float, until: str) -> None:
        from distributed import CancelledError, wait

        pending = [task for task in self.tasks if task.status == "pending"]
        with suppress(TimeoutError, CancelledError):
            if pending:
                wait(pending, timeout=timeout, return_when=until)

    def _lost_workers(self) -> list[str]:
        known = self.client.nthreads()
        return [worker for worker in self.workers if worker not in known]

    def _find_cause(self) -> BaseException:
        """Return what went wrong first, once the others have ended."""
        from distributed.scheduler import KilledWorker

        lost, idle = self._end_tasks()
        errors = [task.exception() for task in self.tasks if task.status == "error"]
        for error in errors:
            if not isinstance(error, (ConnectionError, KilledWorker)):
                return error
        if lost:
            others = f", and {len(lost) - 1} others" if len(lost) > 1 else ""
            return ConnectionError(f"worker {lost[0]} died, or was lost, during training{others}")
        if idle:
            return RuntimeError(
                f"worker {idle[0]} did not start to train: all {len(self.workers)} workers that "
                "have rows must do so at the same time, and it is busy with other tasks"
            )
        return errors[0] if errors else ConnectionError("a worker was lost during training")

    def _end_tasks(self) -> tuple[list[str], list[str]]:
        """Abort all tasks; return the workers that are lost, and those that never began."""
        began, lost = time.monotonic(), self._lost_workers()
        others = [worker for worker in self.workers if worker not in lost]
        with suppress(Exception):
            # They wait for a worker that is lost, or has failed, or does not start.
            self.client.run(abort, self.run, workers=others, on_error="ignore")
        while time.monotonic() - began < _GRACE:
            self._wait(_LOOK, "ALL_COMPLETED")
            self._receive()
            lost = self._lost_workers()
            waiting = [
                worker
                for worker, task in zip(self.workers, self.tasks, strict=True)
                if task.status == "pending" and worker not in lost
            ]
            idle = [worker for worker in waiting if not self._has_begun(worker)]
            if waiting == idle:
                return lost, idle
        # Only a new process ends a wait for a lost one; their nannies start them.
        with suppress(Exception):
            busy = [worker for worker in waiting if worker not in idle]
            self.client.restart_workers(busy, timeout=20)
        return lost, idle

    def _has_begun(self, worker: str) -> bool:
        key = self.tasks[self.workers.index(worker)].key
        answers = self.client.run(is_running, key, workers=[worker], on_error="ignore")
        return bool(answers.get(worker))


def _wait_for_pieces(client: "Client", futures: "Sequence[Future]") -> None:
    """Wait until pieces are computed; raise what went wrong, also if no worker is left."""
    from distributed import CancelledError, wait

    since = time.monotonic()
    while True:
        try:
            wait(futures, timeout=_LOOK)
            break
        except TimeoutError:
            since = time.monotonic() if client.run_on_scheduler(is_at_work) else since
            if time.monotonic() - since > _NOBODY:
                raise RuntimeError(
                    "no worker computes the partitions of X, y or the others: the cluster has no "
                    "workers, or the data were pinned to lost ones"
                ) from None
        except CancelledError as error:
            raise RuntimeError(
                "partitions of X, y or the others were lost with their worker, and Dask cannot "
                "compute scattered data again"
            ) from error
    for future in futures:
        if future.status == "error":
            future.result()


# What the scheduler and the workers do


_STOPPED: set[str] = set()


def is_at_work(dask_scheduler: Any) -> bool:
    """Return whether any worker has something to do."""
    return any(worker.processing for worker in dask_scheduler.workers.values())


def ask_to_stop(run: str) -> None:
    """Have a run end after the round that it is in."""
    _STOPPED.add(run)


def is_running(key: str, dask_worker: Any) -> bool:
    """Return whether a task has begun on a worker."""
    task = dask_worker.state.tasks.get(key)
    return task is not None and task.state == "executing"


def train_here(packed: bytes, rank: int, blocks: list[list[int]], pieces: list[list[Piece]]) -> Any:
    """Train on the rows of this worker, together with the others; the first returns the record."""
    from distributed import get_worker

    job: WorkerJob = pickle.loads(packed)
    model = job.model
    if model.n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    with ExitStack() as stack:
        collective: Collective = Alone()
        if len(job.workers) > 1:
            group = DaskCollective(job.run, rank, job.workers, job.timeout)
            collective = stack.enter_context(group)
        if rank == 0:
            model.callbacks = [*model.callbacks, *_reporters(job)]
        else:
            model.verbose = 0
        sets = [_join_pieces(collective, *arrays) for arrays in zip(blocks, pieces, strict=True)]
        X, targets = sets[0]
        if len(sets) > 1:
            targets["eval_set"] = [
                tuple(array for array in (X, other["y"], other.get("qid")) if array is not None)
                for X, other in sets[1:]
            ]
        model.fit(X, **targets | job.arguments)
    return model.fitted_ if rank == 0 else None


def _join_pieces(
    collective: Collective, blocks: list[int], pieces: list[Piece]
) -> tuple[Table, dict[str, Any]]:
    """Return pieces as one table, with their targets, weights and queries."""
    targets: dict[str, NDArray[Any]] = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("y", "sample_weight", "qid")
        if getattr(pieces[0], name) is not None
    }
    return rows_here([piece.X for piece in pieces], collective, blocks), targets


def _reporters(job: WorkerJob) -> list[Callback]:
    """Return the callbacks of the first worker, which keep the client informed."""
    from distributed import Queue

    queue = Queue(job.run) if job.reports else None
    bar = [ProgressBar(cast(TextIO, _ClientStream(queue)))] if job.shows else []
    return [*bar, _Reporter(job, queue)]


class _ClientStream(io.TextIOBase):
    """A text stream to the client."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def write(self, text: str) -> int:
        self._queue.put(text)
        return len(text)


class _Reporter(Callback):
    """Sends checkpoints to the client, and ends the training when the client asks for it."""

    def __init__(self, job: WorkerJob, queue: Any) -> None:
        self.run, self.every, self.queue = job.run, job.every, queue

    def on_round(self, run: TrainingRun) -> str | None:
        if self.every is not None and run.history.n_rounds % self.every == 0:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "checkpoint"
                run.save(path)
                self.queue.put(path.read_bytes())
        return "interrupted" if self.run in _STOPPED else None

    def on_end(self, run: TrainingRun) -> None:
        _STOPPED.discard(self.run)
