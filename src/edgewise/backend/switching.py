"""Training that starts in NumPy while another process compiles, and then changes over.

Both backends keep the same state and return the same integers, so where the change happens does not
show in the model.
"""

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.common.compiled import forms_file, is_compiled

if TYPE_CHECKING:
    from edgewise.backend.base import Backend

WarmupFit = Callable[[], tuple[Any, ...]]
"""Returns a function and its arguments: a small training that takes the same kernels."""

# Seconds between looks at what is compiled, and after which a lock is a killed process' leftover.
_LOOK_EVERY, _LOCK_EXPIRES = 0.1, 120.0

# The methods that begin a round: what was made before them is not asked for again.
_FIRST_OF_A_ROUND = frozenset({"problem", "potentials"})

_PROGRAM = "from edgewise.backend.switching import rehearse; rehearse()"


class SwitchingBackend:
    """A backend that begins as one and becomes `other` at the start of a round, once `ready`."""

    def __init__(
        self, first: "Backend", ready: Callable[[], bool], other: Callable[[], "Backend"]
    ) -> None:
        self.now, self._ready, self._other = first, ready, other
        self._switched = False

    def __getattr__(self, name: str) -> Any:
        if name in _FIRST_OF_A_ROUND and not self._switched and self._ready():
            self._switched = True
            self.now = self._other()
        return getattr(self.now, name)


class KernelCompilation:
    """The kernels of a form of work, compiled by another process meanwhile.

    The process trains something small, and goes on if this one ends. There is one at a time for a
    cache; while it works for others, this waits for its turn.
    """

    def __init__(self, form: str, warmup: WarmupFit) -> None:
        self._form, self._rehearsal = form, warmup
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
        if self._process is None and not (self._done or self.failed) and _locked():
            self._start()

    def _start(self) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        environment = os.environ | {"EDGEWISE_BACKEND": "numba", "PYTHONPATH": path}
        try:
            # A file, since writing to a pipe would wait for its reader to start.
            with tempfile.TemporaryFile() as program:
                pickle.dump(self._rehearsal(), program)
                program.seek(0)
                self._process = subprocess.Popen(
                    # -P: modules that happen to lie in the working folder are not imported.
                    [sys.executable, "-P", "-c", _PROGRAM],
                    stdin=program,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    start_new_session=True,
                )
            _started.append(self._process)
        except Exception:
            # Whatever cannot be made small, pickled or started is trained without.
            self.failed = True
            with suppress(OSError):
                _lock_file().unlink()


_started: list[subprocess.Popen[bytes]] = []


@atexit.register
def _leave_alone() -> None:
    """Let processes go on after this one, which Python would warn of."""
    for process in _started:
        process.returncode = process.poll() or 0


def rehearse() -> None:
    """Train what standard input describes: the whole life of the process that compiles."""
    if hasattr(os, "nice"):
        os.nice(5)
    try:
        function, *arguments = pickle.load(sys.stdin.buffer)
        function(*arguments)
    finally:
        _lock_file().unlink(missing_ok=True)


def can_start() -> bool:
    """Return whether the executable is Python: in a frozen program it would be the program."""
    named = Path(sys.executable or "").name.lower().startswith(("python", "pypy"))
    return named and not getattr(sys, "frozen", False)


def _lock_file() -> Path:
    return forms_file().with_suffix(".lock")


def _locked() -> bool:
    """Take the cache's lock, or return False if another process has it."""
    path = _lock_file()
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _LOCK_EXPIRES:
            path.unlink()
    try:
        path.touch(exist_ok=False)
    except OSError:
        return False
    return True
