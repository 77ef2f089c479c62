"""When compiled kernels are worth it, and their compilation by another process meanwhile."""

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from edgewise.common.compiled import (
    COMPILE_FROM,
    LOAD_FROM,
    backend_choice,
    forms_file,
    is_compiled,
    use_compiled,
)

WarmupFit = Callable[[], tuple[Any, ...]]
"""Returns a function and its arguments: a small training that needs the same kernels."""

# Work in NumPy that is worth another process, which compiles meanwhile: about a second of it.
_COMPILE_APART_FROM = 2 * LOAD_FROM

# Seconds between looks at what is compiled.
_LOOK_EVERY = 0.1

_PROGRAM = "from edgewise.backend.warmup import run_warmup; run_warmup()"


def kernels_ready(
    visits: float, form: str, warmup: WarmupFit | None = None, waits: bool = False
) -> Callable[[], bool]:
    """Return a predicate that is true once compiled kernels may take over the work.

    The work visits this many entries, and earlier work of the same `form` counts as well. If it is
    worth it, another process compiles the `warmup` meanwhile; work that has none, or `waits`,
    compiles its kernels itself.
    """
    visits += _done[form]
    if use_compiled(visits, form=form, waits=waits or warmup is None):
        return always
    if form:
        _done[form] = visits
    if warmup is None or visits < _COMPILE_APART_FROM or backend_choice() != "auto":
        return never
    if form not in _compilations:
        _compilations[form] = KernelCompilation(form, warmup)
    compilation = _compilations[form]
    return lambda: compilation.is_done() or (compilation.failed and visits >= COMPILE_FROM)


def always() -> bool:
    """Return True."""
    return True


def never() -> bool:
    """Return False."""
    return False


class KernelCompilation:
    """The kernels of a form of work, compiled by another process meanwhile.

    The process trains something small, and goes on if this one ends. There is one at a time for a
    cache; while it works for others, this waits for its turn.
    """

    def __init__(self, form: str, warmup: WarmupFit) -> None:
        self._form, self._warmup = form, warmup
        self._process: subprocess.Popen[bytes] | None = None
        self._next_look = 0.0
        self.failed, self._done = not can_start(), False
        self._look()

    def is_done(self) -> bool:
        """Return whether the kernels are there."""
        if not (self._done or self.failed or time.monotonic() < self._next_look):
            self._look()
        return self._done

    def _look(self) -> None:
        self._next_look = time.monotonic() + _LOOK_EVERY
        ended = self._process is not None and self._process.poll() is not None
        self._done = is_compiled(self._form)
        self.failed |= ended and not self._done
        if self._process is not None or self._done or self.failed:
            return
        try:
            with lock_file().open("a") as lock:
                if take_lock(lock.fileno()):
                    self._process = self._start(lock.fileno())
        except Exception:
            # Whatever cannot be locked, made small, pickled or started is trained without.
            self.failed = True

    def _start(self, lock: int) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(folder for folder in sys.path if folder)
        # A file, since writing to a pipe would wait for its reader to start.
        with tempfile.TemporaryFile() as program:
            pickle.dump(self._warmup(), program)
            program.seek(0)
            process = subprocess.Popen(
                # -P: modules that happen to lie in the working folder are not imported.
                [sys.executable, "-P", "-c", _PROGRAM],
                stdin=program,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"EDGEWISE_BACKEND": "numba", "PYTHONPATH": path},
                # It holds the lock as long as it lives, however it ends.
                pass_fds=[lock],
                start_new_session=True,
            )
        _started.append(process)
        # Somebody must wait for it, or it stays a zombie.
        Thread(target=process.wait, daemon=True).start()
        return process


# The entries that NumPy has visited in work of each form: many small models are worth compiled
# kernels as well.
_done: "defaultdict[str, float]" = defaultdict(float)

# What other processes compile, by its form.
_compilations: dict[str, KernelCompilation] = {}

_started: list[subprocess.Popen[bytes]] = []


@atexit.register
def _leave_running() -> None:
    """Let processes continue after this one, which Python would warn of."""
    for process in _started:
        process.returncode = process.returncode or 0


def run_warmup() -> None:
    """Train what standard input describes: the whole life of the process that compiles."""
    os.nice(5)
    function, *arguments = pickle.load(sys.stdin.buffer)
    function(*arguments)


def can_start() -> bool:
    """Return whether a process can be started and locked.

    In a frozen program the executable is the program, and not every system has file locks.
    """
    named = Path(sys.executable or "").name.lower().startswith(("python", "pypy"))
    return named and os.name == "posix" and not getattr(sys, "frozen", False)


def lock_file() -> Path:
    """Return the file that is locked while a process compiles for the cache."""
    return forms_file().with_suffix(".lock")


def take_lock(descriptor: int) -> bool:
    """Lock an open file, also for the processes that inherit it; return whether it was free."""
    import fcntl

    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
