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
from collections.abc import Callable, Iterator, Sequence
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
from edgewise.dask.pieces import Piece, Run, Size, place, shares, size_of, spread
from edgewise.dask.transport import DaskCollective, abort, register, unregister
from edgewise.data import Table
from edgewise.model.file import load

if TYPE_CHECKING:
    from distributed import Client, Future

logger = logging.getLogger("edgewise")

# Seconds: between looks at the workers; for the others to end after one has failed; and to wait for
# partitions that no worker computes.
_LOOK, _GRACE, _NOBODY = 1.0, 20.0, 30.0

# How often in a row training goes on after a fault without a new checkpoint.
_ATTEMPTS = 3


class Sets(NamedTuple):
    """Delayed pieces of the training rows, and of validation rows by what errors call them."""

    training: list[Any]
    validation: dict[str, list[Any]]


class Order(NamedTuple):
    """What all workers of a run have to know."""

    run: str
    model: Any
    arguments: dict[str, Any]  # of `fit`, beside the rows
    reports: bool  # whether the client listens
    shows: bool  # progress
    every: int | None  # rounds from one checkpoint to the next
    workers: list[str]  # the addresses of all
    timeout: float  # in a sum over all


class Training:
    """The training of a plain model on a cluster.

    With a Checkpoint among its callbacks, training goes on from the last one after a fault.
    """

    def __init__(self, client: "Client", model: Any, sets: Sets, arguments: dict[str, Any]) -> None:
        own = check_callbacks(model.callbacks)
        self.client, self.sets, self.arguments = client, sets, arguments
        self.checkpoints = [one for one in own if isinstance(one, Checkpoint)]
        for checkpoint in self.checkpoints:
            checkpoint.check(lambda path: Path(path).touch())
        bars = [one for one in own if isinstance(one, ProgressBar)]
        self.shows = bool(model.verbose or bars)
        self.model = copy(model)
        self.model.verbose = 0
        self.model.callbacks = [one for one in own if one not in (*self.checkpoints, *bars)]
        self.saved: bytes | None = None
        self._pieces: list[list[Future]] = []
        self._sizes: list[list[Size]] = []

    def record(self) -> Any:
        """Train, and return the record of the model."""
        from distributed import Lock
        from distributed.comm import CommClosedError

        started, limit = time.monotonic(), self.model.time_limit
        failures, before = 0, self.saved
        # Two runs at once could each wait for workers that the other one holds.
        with self.client.as_current(), Lock("edgewise"):
            parts = [self.sets.training, *self.sets.validation.values()]
            self._pieces = [self.client.compute(part) for part in parts]
            try:
                while True:
                    try:
                        return self._attempt()
                    # The second: a worker died while Dask was asking it for something.
                    except (ConnectionError, CommClosedError) as error:
                        failures, before = failures * (self.saved is before) + 1, self.saved
                        self._check_goes_on(error, failures)
                        logger.warning("%s; going on from the last checkpoint", error)
                    if limit is not None:
                        self.model.time_limit = max(limit - (time.monotonic() - started), 1e-3)
            finally:
                # Dask may name the same tasks differently in a later computation.
                for piece in chain.from_iterable(self._pieces):
                    piece.release()

    def _check_goes_on(self, error: Exception, failures: int) -> None:
        """Prepare to resume after a fault, or raise it again."""
        if not self.checkpoints:
            error.add_note("callbacks=[Checkpoint(path)] goes on after a fault like this one")
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

        runs = self._placed()
        workers = list(dict.fromkeys(run.worker for run in runs[0]))
        split = [
            shares(self.client, *one) for one in zip(runs, self._pieces, self._sizes, strict=True)
        ]
        run = f"edgewise-{uuid4()}"
        every = min((one.every for one in self.checkpoints), default=None)
        reports = self.shows or every is not None
        # A class that a worker does not know would end Dask's connection to it, if not in bytes.
        order = dumps(
            Order(run, self.model, self.arguments, reports, self.shows, every, workers, TIMEOUT)
        )
        with ExitStack() as stack:
            stack.enter_context(self._connected(run, workers))
            tasks = [
                self.client.submit(
                    train_here,
                    order,
                    rank,
                    [part[worker].blocks for part in split],
                    [part[worker].pieces for part in split],
                    key=f"{run}-{rank}",
                    workers=[worker],
                    allow_other_workers=False,
                    pure=False,
                )
                for rank, worker in enumerate(workers)
            ]
            stack.callback(self.client.cancel, tasks, force=True)
            watch = _Watch(self.client, run, tasks, workers)
            if reports:
                stack.enter_context(self._listening(run, watch))
            return watch.result()

    def _placed(self) -> list[list[Run]]:
        """Return which worker takes which rows, of the training rows and of each validation set."""
        client = self.client
        flat = [*chain.from_iterable(self._pieces)]
        while True:
            _wait_for_pieces(client, flat)
            if not self._sizes:
                sizes = [client.map(size_of, part, pure=False) for part in self._pieces]
                _wait_for_pieces(client, [*chain.from_iterable(sizes)])
                self._sizes = client.gather(sizes)
            held = client.who_has(flat)
            holders = [[held.get(piece.key, ()) for piece in part] for part in self._pieces]
            if all(all(part) for part in holders):
                break
        training = place(self._sizes[0], holders[0])
        if not training:
            raise ValueError("X has 0 rows, in all partitions together")
        workers = list(dict.fromkeys(run.worker for run in training))
        found = [training]
        for name, sizes, having in zip(
            self.sets.validation, self._sizes[1:], holders[1:], strict=True
        ):
            runs = place(sizes, having, workers)
            if not runs:
                raise ValueError(f"{name} has 0 rows, in all partitions together")
            found.append(spread(runs, sizes, workers, name))
        return found

    @contextmanager
    def _connected(self, run: str, workers: list[str]) -> Iterator[None]:
        """Prepare the workers to sum over each other."""
        if len(workers) > 1 and self.client.scheduler.address.startswith("inproc"):
            raise ValueError(
                f"client: the {len(workers)} workers that have rows are threads of one process, "
                "and would wait for each other; make processes, or one worker with several threads"
            )
        self.client.run(register, run, workers=workers)
        try:
            yield
        finally:
            with suppress(Exception):
                self.client.run(unregister, run, workers=workers, on_error="ignore")

    @contextmanager
    def _listening(self, run: str, watch: "_Watch") -> Iterator[None]:
        """Show the progress that the first worker reports, and write the checkpoints it sends."""
        from distributed import Queue

        queue = Queue(run)

        def receive() -> None:
            for message in queue.get(batch=True):
                if isinstance(message, str):
                    sys.stderr.write(message)
                else:
                    self.saved = bytes(message)
                    for checkpoint in self.checkpoints:
                        try:
                            with replace_file(checkpoint.path) as file:
                                file.write(self.saved)
                        except OSError as error:
                            warnings.warn(f"no checkpoint: {error}", RuntimeWarning, stacklevel=2)

        watch.receive = receive
        try:
            yield
        finally:
            with suppress(Exception):
                receive()
            queue.close()


class _Watch:
    """The tasks of a run, one on each worker, and what to make of their ends."""

    def __init__(
        self, client: "Client", run: str, tasks: "list[Future]", workers: list[str]
    ) -> None:
        self.client, self.run, self.tasks, self.workers = client, run, tasks, workers
        self.receive: Callable[[], None] = lambda: None
        self._interrupted = False

    def result(self) -> Any:
        """Return what the first worker returned, or raise what ended the training."""
        while True:
            try:
                self._wait(_LOOK, "FIRST_COMPLETED")
                self.receive()
                if self.tasks[0].status == "finished":
                    # The others are about to end, too.
                    self._wait(_GRACE, "ALL_COMPLETED")
                    with suppress(TimeoutError):
                        return self.tasks[0].result(timeout=_GRACE)
                lost = self._lost()
                if lost or any(task.status not in ("pending", "finished") for task in self.tasks):
                    raise self._cause()
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

    def _lost(self) -> list[str]:
        """Return the workers that the scheduler does not know any more."""
        known = self.client.nthreads()
        return [worker for worker in self.workers if worker not in known]

    def _cause(self) -> BaseException:
        """Return what went wrong first, once the others have ended."""
        from distributed.scheduler import KilledWorker

        began, lost = time.monotonic(), self._lost()
        others = [worker for worker in self.workers if worker not in lost]
        with suppress(Exception):
            # They wait for a worker that is lost, or has failed, or does not start.
            self.client.run(abort, self.run, workers=others, on_error="ignore")
        while time.monotonic() - began < _GRACE:
            self._wait(_LOOK, "ALL_COMPLETED")
            self.receive()
            lost = self._lost()
            waits = [
                worker
                for worker, task in zip(self.workers, self.tasks, strict=True)
                if task.status == "pending" and worker not in lost
            ]
            idle = [worker for worker in waits if not self._runs(worker)]
            if waits == idle:
                break
        else:
            # Only a new process ends a wait for a lost one; their nannies start them.
            with suppress(Exception):
                self.client.restart_workers([one for one in waits if one not in idle], timeout=20)
        errors = [task.exception() for task in self.tasks if task.status == "error"]
        for error in errors:
            if not isinstance(error, (ConnectionError, KilledWorker)):
                return error
        if lost:
            return ConnectionError(
                f"worker {lost[0]} died, or was lost, during training"
                + (f", and {len(lost) - 1} others" if len(lost) > 1 else "")
            )
        if idle:
            return RuntimeError(
                f"worker {idle[0]} did not start to train: all {len(self.workers)} workers that "
                "have rows must do so at the same time, and it is busy with other tasks"
            )
        return errors[0] if errors else ConnectionError("a worker was lost during training")

    def _runs(self, worker: str) -> bool:
        """Return whether a worker has begun its task."""
        key = self.tasks[self.workers.index(worker)].key
        found = self.client.run(is_running, key, workers=[worker], on_error="ignore")
        return bool(found.get(worker))


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
                    "no worker of the cluster computes the partitions of X, y or the others: there "
                    "are no workers, or the data were pinned to some that are lost"
                ) from None
        except CancelledError as error:
            raise RuntimeError(
                "partitions of X, y or the others were lost with their worker, and Dask does not "
                "know how to compute them again: scattered data are lost with their worker"
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


def train_here(
    order_bytes: bytes,
    rank: int,
    blocks: list[list[int]],
    pieces: list[list[Piece]],
) -> Any:
    """Train on the rows of this worker, together with the others; the first returns the record."""
    from distributed import get_worker

    order: Order = pickle.loads(order_bytes)
    model = order.model
    if model.n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    with ExitStack() as stack:
        collective: Collective = Alone()
        if len(order.workers) > 1:
            group = DaskCollective(order.run, rank, order.workers, order.timeout)
            collective = stack.enter_context(group)
        if rank == 0:
            model.callbacks = [*model.callbacks, *_reporters(order)]
        else:
            model.verbose = 0
        (training, *validation) = (
            _joined(collective, *part) for part in zip(blocks, pieces, strict=True)
        )
        rows, given = training[0], dict[str, Any](training[1])
        if validation:
            given["eval_set"] = [
                tuple(part for part in (X, other["y"], other.get("qid")) if part is not None)
                for X, other in validation
            ]
        model.fit(rows, **given | order.arguments)
    return model.fitted_ if rank == 0 else None


def _joined(
    collective: Collective, blocks: list[int], pieces: list[Piece]
) -> tuple[Table, dict[str, NDArray[Any]]]:
    """Return pieces as one table, with their targets, weights and queries."""
    table = rows_here([piece.X for piece in pieces], collective, blocks)
    joined = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("y", "sample_weight", "qid")
        if getattr(pieces[0], name) is not None
    }
    return table, joined


def _reporters(order: Order) -> list[Callback]:
    """Return the callbacks of the first worker, which keep the client informed."""
    from distributed import Queue

    queue = Queue(order.run) if order.reports else None
    bar = [ProgressBar(cast(TextIO, _Lines(queue)))] if order.shows else []
    return [*bar, _Reporter(order, queue)]


class _Lines(io.TextIOBase):
    """A stream that ends at the client."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def write(self, text: str) -> int:
        self._queue.put(text)
        return len(text)


class _Reporter(Callback):
    """Sends checkpoints to the client, and ends the training when the client asks for it."""

    def __init__(self, order: Order, queue: Any) -> None:
        self.order, self.queue = order, queue

    def on_round(self, run: TrainingRun) -> str | None:
        every = self.order.every
        if every is not None and run.history.n_rounds % every == 0:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "checkpoint"
                run.save(path)
                self.queue.put(path.read_bytes())
        return "interrupted" if self.order.run in _STOPPED else None

    def on_end(self, run: TrainingRun) -> None:
        _STOPPED.discard(self.order.run)
