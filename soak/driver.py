"""The driver of all parts: workers that stay alive, watched and replaced by their parent."""

import ctypes
import faulthandler
import json
import logging
import math
import multiprocessing
import random
import resource
import signal
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

FAILED = "FAILED"

# Workers report this often, in seconds.
_REPORT_SECONDS = 0.1

# A part ends after this many failures.
_MAX_FAILURES = 50


class Part(ABC):
    """One way to attack the library, case by case; a case is decided by its number."""

    name: ClassVar[str]
    about: ClassVar[str]
    counted: ClassVar[str]
    """What the figures count."""
    wanted: ClassVar[int] = 0
    """How many of them a full run is to have."""
    share: ClassVar[float] = 1.0
    """The part of the time that it takes, relative to the others."""
    seconds: ClassVar[float] = 30.0
    """The most that a case may take."""
    gigabytes: ClassVar[float] = 2.0
    """The most memory that a worker may take beyond what it has at the start."""
    workers: ClassVar[int | None] = None
    """The most workers; None for as many as there are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        logging.getLogger("edgewise").setLevel(logging.ERROR)
        self.last: bytes = b""  # the input of the last case, which a failure keeps

    def check(self) -> None:
        """Raise unless the part does its work on input that is not mutated."""
        return

    @abstractmethod
    def case(self, rng: random.Random) -> Counter[str]:
        """Run one case and return what happened, or raise if that must not happen."""


@dataclass
class Failure:
    """A case that did not end as it should."""

    part: str
    case: int
    what: str
    trace: str = ""


@dataclass
class Figures:
    """What a part counted."""

    part: str
    about: str
    counted: str
    wanted: int
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All that was counted."""
        return sum(self.outcomes.values())


def draw(part: str, seed: int, number: int) -> random.Random:
    """Return the source of all that is random in a case."""
    return random.Random(f"{part} {seed} {number}")


def run_cases(part: Part, seed: int, numbers: Sequence[int]) -> Figures:
    """Run the check and some cases in this process, as tests do; a case that fails raises."""
    part.check()
    figures = Figures(part.name, part.about, part.counted, part.wanted)
    for number in numbers:
        figures.outcomes.update(part.case(draw(part.name, seed, number)))
    return figures


def run_part(
    kind: type[Part],
    folder: Path,
    seed: int,
    seconds: float,
    workers: int,
    method: str = "spawn",
    n_cases: float = math.inf,
) -> Figures:
    """Run up to `n_cases` of a part in worker processes, for some time at most.

    `method` is how processes start.
    """
    figures = Figures(kind.name, kind.about, kind.counted, kind.wanted)
    started = time.monotonic()
    n = min(workers, kind.workers or workers)
    end = started + seconds
    watched = [_WatchedWorker(kind, folder, seed, k, n, (end, n_cases), method) for k in range(n)]
    # All take their step: a worker whose messages nobody takes would wait.
    while sum(worker.step(figures) for worker in watched):
        if len(figures.failures) >= _MAX_FAILURES:
            for worker in watched:
                worker.end()
            break
        time.sleep(0.05)
    figures.seconds = time.monotonic() - started
    return figures


class _WatchedWorker:
    """A worker, and the one that replaces it when it dies or hangs."""

    def __init__(
        self,
        kind: type[Part],
        folder: Path,
        seed: int,
        place: int,
        stride: int,
        limits: tuple[float, float],
        method: str,
    ) -> None:
        self.kind, self.folder, self.seed = kind, folder, seed
        self.place, self.stride, self.limits = place, stride, limits
        self.context: Any = multiprocessing.get_context(method)
        self._start(place)

    def _start(self, first: int) -> None:
        self.now = self.context.Array(ctypes.c_double, [first, 0.0], lock=False)
        self.pipe, theirs = self.context.Pipe(duplex=False)
        settings = (self.folder / f"worker-{self.place}", self.seed, first, self.stride)
        self.process = self.context.Process(
            target=_work, args=(self.kind, *settings, self.limits, self.now, theirs), daemon=False
        )
        self.process.start()
        theirs.close()

    def step(self, figures: Figures) -> bool:
        """Take what the worker sent; return whether it goes on."""
        self._take(figures)
        number, since = int(self.now[0]), self.now[1]
        if self.process.is_alive():
            if since and time.monotonic() - since > self.kind.seconds:
                self.end()
                return self._replace(figures, number, f"took over {self.kind.seconds:g} s")
            return True
        code = self.process.exitcode
        if code == 0:
            self._take(figures)
            return False
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return self._replace(figures, number, f"ended the process ({name})")

    def _take(self, figures: Figures) -> None:
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                outcomes, failures = self.pipe.recv()
                figures.outcomes.update(outcomes)
                figures.failures.extend(failures)

    def _replace(self, figures: Figures, number: int, what: str) -> bool:
        self._take(figures)
        figures.outcomes[FAILED] += 1
        figures.failures.append(Failure(self.kind.name, number, what))
        if time.monotonic() >= self.limits[0]:
            return False
        self._start(number + self.stride)
        return True

    def end(self) -> None:
        """End the worker."""
        self.process.kill()
        self.process.join()


def _work(
    kind: type[Part],
    folder: Path,
    seed: int,
    first: int,
    stride: int,
    limits: tuple[float, float],
    now: Any,
    pipe: Any,
) -> None:
    """Run every `stride`-th case until the deadline, or the last one."""
    deadline, n_cases = limits
    faulthandler.enable()
    part, number = kind(folder), first
    bound_memory(kind.gigabytes)
    outcomes: Counter[str] = Counter()
    sent = time.monotonic()
    if first == 0:
        try:
            part.check()
        except Exception as error:
            trace = traceback.format_exc()
            pipe.send((Counter({FAILED: 1}), [Failure(kind.name, -1, repr(error)[:300], trace)]))
            return
    while number < n_cases and (clock := time.monotonic()) < deadline:
        if clock - sent > _REPORT_SECONDS:
            pipe.send((outcomes, []))
            outcomes, sent = Counter(), clock
        now[0], now[1] = number, clock
        try:
            outcomes.update(part.case(draw(kind.name, seed, number)))
        except Exception as error:
            failure = Failure(kind.name, number, repr(error)[:300], traceback.format_exc())
            pipe.send((Counter({FAILED: 1}), [failure]))
            (folder.parent / f"{kind.name}-{number}.input").write_bytes(part.last)
        number += stride
    pipe.send((outcomes, []))


def bound_memory(gigabytes: float) -> None:
    """Let this process take this much more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    max_bytes = pages * resource.getpagesize() + int(gigabytes * (1 << 30))
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))


def format_report(figures: Sequence[Figures], title: str) -> str:
    """Return the report as Markdown."""
    lines = [f"# {title}", "", "| part | | counted | outcomes | failures | minutes |"]
    lines.append("|---|---|---|---|---|---|")
    for figure in figures:
        outcomes = ", ".join(f"{n:,} {name}" for name, n in sorted(figure.outcomes.items()))
        cells = (figure.part, figure.about, f"{figure.total:,} {figure.counted}", outcomes)
        lines.append(
            f"| {' | '.join(cells)} | {len(figure.failures)} | {figure.seconds / 60:.1f} |"
        )
    for failure in (failure for figure in figures for failure in figure.failures):
        lines += ["", f"## {failure.part} {failure.case}: {failure.what}", ""]
        lines += ["```", failure.trace.rstrip(), "```"] if failure.trace else []
    return "\n".join(lines) + "\n"


def format_json(figures: Sequence[Figures]) -> str:
    """Return the report for programs."""
    parts = [
        {
            **vars(figure),
            "total": figure.total,
            "failures": [vars(failure) for failure in figure.failures],
        }
        for figure in figures
    ]
    return json.dumps(parts, indent=1) + "\n"
