"""What to train on and what to test on, and how long both take."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from edgewise.common.checks import integer
from edgewise.ratings import Ratings, Split
from edgewise.recommend.base import Recommender
from edgewise.recommend.evaluation.measures import Measure
from edgewise.recommend.evaluation.single import measured
from edgewise.recommend.evaluation.tested import Tested

TIMES = ("fit_s", "fit_cpu_s", "predict_s", "predict_cpu_s")
"""The names of the times in results, in seconds: on the clock, and of all processors."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Splits, and how many there are."""

    splits: Iterable[Split]
    count: int


def parts_of(ratings: Any, folds: Any, random_state: Any) -> Parts:
    """Return the folds of ratings, or splits that were made already, or raise."""
    if isinstance(ratings, Ratings):
        integer("folds", folds, 2, max(2, len(ratings)))
        return Parts(ratings.folds(folds, random_state=random_state), int(folds))
    if _is_split(ratings):
        return Parts([Split(*ratings)], 1)
    if not isinstance(ratings, Iterable):
        raise TypeError(
            "ratings must be Ratings, or pairs of Ratings to train on and to test on, got "
            f"{type(ratings).__name__}"
        )
    splits = list(ratings)
    if not splits or not all(map(_is_split, splits)):
        raise ValueError("ratings must be Ratings, or pairs of Ratings to train on and to test on")
    return Parts([Split(*one) for one in splits], len(splits))


def _is_split(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(part, Ratings) for part in value)
    )


@dataclass(frozen=True)
class Trial:
    """What is measured of every model on every part."""

    measures: tuple[Measure, ...]
    relevant: float | None
    unknown: str

    def run(self, model: Recommender, split: Split) -> dict[str, float]:
        """Return values and times of a copy of the model, fitted on one part."""
        times: dict[str, float] = {}
        fresh = clone(model)
        with _clock("fit", times):
            fresh.fit(split.train)
        tested = Tested(fresh, split.test, self.unknown)
        with _clock("predict", times):
            _ = tested.predictions
        return measured(tested, self.measures, self.relevant) | times


@contextmanager
def _clock(what: str, times: dict[str, float]) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times[f"{what}_s"] = time.perf_counter() - wall
    times[f"{what}_cpu_s"] = time.process_time() - cpu
