"""Many models over folds, in one table."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np
from sklearn.base import clone

from edgewise.common.checks import integer, one_of
from edgewise.common.choices import COMPARE_BY
from edgewise.common.dtypes import Reals
from edgewise.common.progress import progress
from edgewise.common.text import counted, text_table
from edgewise.ratings import Ratings, Split
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.evaluation.catalogue import defined_mean
from edgewise.recommend.evaluation.evaluator import (
    BEST,
    DEFAULT_METRICS,
    LEVEL,
    METRICS,
    Evaluator,
    RecommenderMetric,
    check_relevant,
    metrics_named,
)

TIMES = ("fit_s", "fit_cpu_s", "predict_s", "predict_cpu_s")
"""The names of times in results, in seconds: wall-clock time, and CPU time of all threads."""

COLUMNS = tuple(
    name for name in DEFAULT_METRICS if not name.endswith(LEVEL) and name + BEST not in METRICS
)
"""The metrics that a comparison shows by default: the best of ratings and levels, and the rest."""

_SHOWN_TIMES = ("fit_s", "predict_s")

# A printed table continues below once it is wider than this.
_WIDTH = 120


def compare(
    models: Any,
    ratings: Any,
    metrics: Iterable[str] | str = COLUMNS,
    *,
    n_folds: int = 5,
    by: str = "random",
    k: int = 10,
    relevant: float | None = None,
    unknown: str = "mean",
    random_state: Any = None,
    verbose: int = 0,
) -> "RecommenderComparison":
    """Fit many recommenders on the same folds and evaluate them in one table.

    Parameters
    ----------
    models : mapping of names to recommenders, or sequence of recommenders or (name, recommender)
        The models; copies are fitted. Models without a name go by their class.
    ratings : Ratings, one Split, or iterable of splits
        Ratings to make folds of, or pairs of training and test ratings, such as the published
        folds of a data set.
    metrics : str or sequence of str, default COLUMNS
        Names of metrics: see :func:`evaluate`.
    n_folds : int, default 5
        Number of folds, if `ratings` are not split yet.
    by : {"random", "user", "time", "last"}, default "random"
        Make folds of random ratings; spread each user's ratings evenly; test on `n_folds` windows
        of time, each after all that it trains on (:meth:`Ratings.windows`); or test once, on the
        last rating of each user (:meth:`Ratings.leave_last`).
    k, relevant, unknown
        As in :func:`evaluate`.
    random_state, verbose
        See :class:`Recommender`.

    Raises
    ------
    RuntimeError
        If a model fails; it names the model and the fold.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, Popularity, compare
    >>> rows = [(user, item, 1 + user * item % 5) for user in range(6) for item in range(5)]
    >>> ratings = Ratings.from_arrays(*zip(*rows))
    >>> found = compare([BiasBaseline(), Popularity()], ratings, ["rmse", "auc"], random_state=0)
    >>> found
    RecommenderComparison(2 models, 2 metrics, 5 folds)
    >>> found.best("rmse")
    'BiasBaseline'
    """
    named = _named_models(models)
    chosen = metrics_named(metrics, k)
    needed = tuple(dict.fromkeys(one for metric in chosen for one in metric.choices))
    check_relevant(relevant)
    one_of("unknown", unknown, UNKNOWN)
    one_of("by", by, COMPARE_BY)
    labelled = [(repr(name), model) for name, model in named.items()]
    splits = splits_of(ratings, n_folds, random_state, by=by)
    runs = evaluate_on_splits("models", labelled, splits, needed, relevant, unknown, verbose)
    values, outputs = _gathered(dict(zip(named, runs, strict=True)), chosen)
    names = tuple(metric.name for metric in chosen)
    return RecommenderComparison(tuple(named), names, values, outputs)


def _named_models(models: Any) -> dict[str, Recommender]:
    """Return models by name, or raise; repeated classes are numbered."""
    if isinstance(models, Recommender):
        models = [models]
    if not isinstance(models, Iterable):
        raise TypeError(f"models must be recommenders, got {type(models).__name__}")
    pairs = (
        list(models.items())
        if isinstance(models, Mapping)
        else [one if isinstance(one, tuple) and len(one) == 2 else (None, one) for one in models]
    )
    if not pairs:
        raise ValueError("models must hold at least one recommender, got none")
    named: dict[str, Recommender] = {}
    for given, model in pairs:
        if not isinstance(model, Recommender):
            raise TypeError(f"models must be recommenders, got {type(model).__name__}")
        if given is not None and not isinstance(given, str):
            raise TypeError(f"models must have strings as names, got {given!r}")
        if given in named:
            raise ValueError(f"models must have different names, got {given!r} twice")
        name = type(model).__name__
        free = (one for one in chain([name], (f"{name} {k}" for k in count(2))) if one not in named)
        named[next(free) if given is None else given] = model
    return named


@dataclass(frozen=True, eq=False, repr=False)
class RecommenderComparison:
    """The result of :func:`compare`; ``print`` it for a table.

    Values are means over the folds in which they are defined; times, in seconds, are medians, since
    the first fit of a process may include compilation. "mae_best" and the like take the output,
    predicted rating or level, with the smaller mean over all folds: the same output in all folds,
    and one that a user could choose beforehand.

    Attributes
    ----------
    models, metrics : tuples of str
        The names of the models and the metrics.
    folds_ : dict of str to dict of str to float array
        For each model and metric, the values of the folds; also the times "fit_s", "fit_cpu_s",
        "predict_s" and "predict_cpu_s". CPU times add up all threads.
    outputs_ : dict of str to dict of str to str
        For each model and metric such as "mae_best", the output in use: "expected" or "level".

    Examples
    --------
    >>> import numpy as np
    >>> folds = {"one": {"rmse": np.array([1.0, 0.8])}, "two": {"rmse": np.array([0.9, 0.8])}}
    >>> print(RecommenderComparison(("one", "two"), ("rmse",), folds, {"one": {}, "two": {}}))
    model    rmse
    one    0.9000
    two    0.8500*
    mean of 2 folds; * best
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    folds_: dict[str, dict[str, Reals]]
    outputs_: dict[str, dict[str, str]]

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return len(next(iter(self.folds_[self.models[0]].values())))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row per model: "model", then the metrics and times by name."""
        names = (*self.metrics, *self._times)
        return [
            {"model": model} | {name: self.value(model, name) for name in names}
            for model in self.models
        ]

    def value(self, model: str, metric: str) -> float:
        """Return the mean of a metric, or the median of a time, of a model."""
        one_of("metric", metric, [*self.metrics, *self._times])
        values = self.folds_[one_of("model", model, self.models)][metric]
        return float(np.median(values)) if metric in TIMES else defined_mean(values)

    def best(self, metric: str) -> str:
        """Return the model with the best value of a metric or time; ties go to the first."""
        values = np.array([self.value(model, metric) for model in self.models])
        if np.isnan(values).all():
            raise ValueError(f"metric {metric!r} is defined for none of the models")
        place = np.nanargmax(values) if larger_is_better(metric) else np.nanargmin(values)
        return self.models[int(place)]

    @property
    def _times(self) -> list[str]:
        return [name for name in TIMES if name in self.folds_[self.models[0]]]

    def to_frame(self, library: str | None = None) -> Any:
        """Return :attr:`table` as a frame of `library`, "pandas" or "polars"; None takes either."""
        from edgewise.io.frames import frame_library

        rows = self.table
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return frame_library(library).DataFrame(columns)

    def __repr__(self) -> str:
        sizes = {"models": len(self.models), "metrics": len(self.metrics), "folds": self.n_folds}
        parts = ", ".join(counted(size, what) for what, size in sizes.items())
        return f"RecommenderComparison({parts})"

    def __str__(self) -> str:
        shown = [*self.metrics, *(name for name in _SHOWN_TIMES if name in self._times)]
        height = max(len(_title(name)) for name in shown)
        names = [*[""] * (height - 1), "model", *self.models]
        table = _wrapped(names, [self._column(name, height) for name in shown])
        return f"{table}\n{self._note()}"

    def _column(self, name: str, height: int) -> list[str]:
        """Return the lines of the title and the cells, with numbers that end at the same place."""
        values = np.array([self.value(model, name) for model in self.models])
        top = np.nan
        if not np.isnan(values).all():
            top = np.nanmax(values) if larger_is_better(name) else np.nanmin(values)
        digits = 3 if name in TIMES else 4
        marks = [
            ("L" if self.outputs_[model].get(name) == "level" else "") + "*" * bool(value == top)
            for model, value in zip(self.models, values, strict=True)
        ]
        room = max(map(len, marks))
        texts = ["-" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
        cells = [f"{text}{mark:<{room}}" for text, mark in zip(texts, marks, strict=True)]
        title = [f"{word}{'':{room}}" for word in _title(name)]
        return [*[""] * (height - len(title)), *title, *cells]

    def _note(self) -> str:
        parts = f"mean of {self.n_folds} folds" if self.n_folds > 1 else "1 fold"
        if self._times:
            parts += "; seconds: median" if self.n_folds > 1 else "; times in seconds"
        levels = any("level" in judged.values() for judged in self.outputs_.values())
        return parts + "; * best" + ("; L by the predicted level" if levels else "")


def larger_is_better(metric: str) -> bool:
    """Return whether a larger value of a metric or time is better."""
    return metric not in TIMES and metrics_named(metric, 1)[0].larger_is_better


def _title(name: str) -> list[str]:
    return name.replace("@", "_@").split("_")


def _wrapped(names: list[str], columns: list[list[str]]) -> str:
    """Return a table; columns that don't fit follow below."""
    blocks: list[list[list[str]]] = []
    width = _WIDTH
    for column in columns:
        size = max(map(len, column)) + 2
        if width + size > _WIDTH:
            blocks.append([names])
            width = max(map(len, names))
        blocks[-1].append(column)
        width += size
    return "\n\n".join(text_table(list(zip(*block, strict=True))) for block in blocks)


def _gathered(
    runs: dict[str, list[dict[str, float]]], metrics: tuple[RecommenderMetric, ...]
) -> tuple[dict[str, dict[str, Reals]], dict[str, dict[str, str]]]:
    """Return the values of all folds by model and metric, and the outputs in use."""
    folds: dict[str, dict[str, Reals]] = {}
    outputs: dict[str, dict[str, str]] = {}
    for model, rows in runs.items():
        found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        folds[model], outputs[model] = {}, {}
        for metric in metrics:
            means = [defined_mean(found[one.name]) for one in metric.choices]
            # NaN sorts last.
            taken = metric.choices[int(np.argsort(means, kind="stable")[0])]
            folds[model][metric.name] = found[taken.name]
            if len(metric.choices) > 1 and not np.isnan(found[taken.name]).all():
                outputs[model][metric.name] = "level" if LEVEL in taken.name else "expected"
        folds[model] |= {name: found[name] for name in TIMES}
    return folds, outputs


def splits_of(
    ratings: Any, n_folds: Any, random_state: Any, called: str = "n_folds", by: str = "random"
) -> tuple[Iterable[Split], int]:
    """Return folds of ratings, or the given splits, and their number, or raise."""
    if isinstance(ratings, Ratings):
        if by == "last":
            return [ratings.leave_last()], 1
        if by == "time":
            integer(called, n_folds, 1, len(ratings))
            return ratings.windows(n_folds), int(n_folds)
        integer(called, n_folds, 2, max(2, len(ratings)))
        return ratings.folds(n_folds, by, random_state), int(n_folds)
    if _is_split(ratings):
        return [Split(*ratings)], 1
    if not isinstance(ratings, Iterable):
        raise TypeError(
            "ratings must be Ratings, or pairs of Ratings to train on and to test on, got "
            f"{type(ratings).__name__}"
        )
    splits = list(ratings)
    if not splits or not all(map(_is_split, splits)):
        raise ValueError("ratings must be Ratings, or pairs of Ratings to train on and to test on")
    return [Split(*one) for one in splits], len(splits)


def _is_split(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(part, Ratings) for part in value)
    )


def evaluate_on_splits(
    argument: str,
    models: Sequence[tuple[str, Recommender]],
    splits: tuple[Iterable[Split], int],
    metrics: tuple[RecommenderMetric, ...],
    relevant: float | None,
    unknown: str,
    verbose: int,
) -> list[list[dict[str, float]]]:
    """Return each model's values and times on each split; errors name a model by its label."""
    for label, model in models:
        try:
            model._check_parameters()
        except (TypeError, ValueError) as error:
            message = f"{argument}: model {label} cannot be fitted: {error}"
            raise ValueError(message) from error
    runs: list[list[dict[str, float]]] = [[] for _ in models]
    parts, count = splits
    with progress(bool(verbose), count * len(models), "fits") as step:
        for fold, (train, test) in enumerate(parts, start=1):
            for run, (label, model) in zip(runs, models, strict=True):
                times: dict[str, float] = {}
                fresh = clone(model)
                try:
                    with _clock("fit", times):
                        fresh.fit(train)
                    evaluator = Evaluator(fresh, test, unknown)
                    with _clock("predict", times):
                        _ = evaluator.predictions
                    run.append(evaluator.values(metrics, relevant) | times)
                except Exception as error:
                    raise RuntimeError(
                        f"model {label} failed on fold {fold}: {type(error).__name__}: {error}"
                    ) from error
                step()
    return runs


@contextmanager
def _clock(what: str, times: dict[str, float]) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times[f"{what}_s"] = time.perf_counter() - wall
    times[f"{what}_cpu_s"] = time.process_time() - cpu
