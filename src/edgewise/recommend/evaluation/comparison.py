"""Many models over folds, in one table."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from edgewise.common.checks import flag, integer, one_of
from edgewise.common.choices import COMPARE_BY
from edgewise.common.compiled import compiling
from edgewise.common.dtypes import Reals
from edgewise.common.progress import progress
from edgewise.common.text import pluralize, text_table
from edgewise.metrics import METRICS, Metric
from edgewise.metrics.significance import Z95
from edgewise.ratings import Ratings, Split
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.evaluation.catalog import defined_mean
from edgewise.recommend.evaluation.evaluator import (
    BEST,
    DEFAULT_METRICS,
    LEVEL,
    Evaluator,
    check_relevant,
    output_variants,
    recommender_metrics,
)
from edgewise.recommend.evaluation.users import Difference, UserSums, difference, pooled

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
    chosen = recommender_metrics(metrics, k)
    needed = tuple(dict.fromkeys(one for metric in chosen for one in output_variants(metric)))
    check_relevant(relevant)
    one_of("unknown", unknown, UNKNOWN)
    one_of("by", by, COMPARE_BY)
    labeled = [(repr(name), model) for name, model in named.items()]
    splits = splits_of(ratings, n_folds, random_state, by=by)
    runs = evaluate_on_splits("models", labeled, splits, needed, relevant, unknown, verbose)
    names = tuple(metric.name for metric in chosen)
    return RecommenderComparison(tuple(named), names, *_gathered(named, runs, chosen))


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

    Values are means over the folds in which they are defined; times, in seconds, are medians, and
    leave out the compilation of kernels. "mae_best" and the like take the output,
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
    users_ : dict of str to dict of str to UserSums
        For each model and metric, its sums over users, from which intervals come. Metrics of all
        lists together, "catalog_coverage" and "gini", have none.

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
    users_: dict[str, dict[str, UserSums]] = field(default_factory=dict)

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

    def interval(self, model: str, metric: str) -> tuple[float, float, float]:
        """Return the value of a metric and its 95% interval; NaN where it has none.

        Users are what varies: the interval is what other users of the same kind would give, by the
        spread of the values over users (of errors over ratings, by the delta method). The folds'
        values of a user are taken together.
        """
        value, half = self.value(model, metric), Z95 * self._standard_error(model, metric)
        return value, value - half, value + half

    def difference(self, model: str, other: str, metric: str) -> Difference:
        """Return how far two models are apart, with a 95% interval and a p-value.

        The test is paired: both models are tested on the same users, and users that are difficult
        for both do not count. The p-value is two-sided, from the normal distribution.
        """
        value = self.value(model, metric) - self.value(other, metric)
        return difference(value, self._standard_error(model, metric, other))

    def _standard_error(self, model: str, metric: str, other: str | None = None) -> float:
        sums = [self.users_.get(one, {}).get(metric) for one in (model, other or model)]
        if sums[0] is None or sums[1] is None:
            return np.nan
        return sums[0].standard_error(None if other is None else sums[1])

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

    def to_frame(self, library: str | None = None, *, intervals: bool = False) -> Any:
        """Return :attr:`table` as a frame of `library`, "pandas" or "polars"; None takes either.

        With `intervals`, metrics such as "rmse" have columns "rmse_low" and "rmse_high" too.
        """
        from edgewise.io.frames import frame_library

        return frame_library(library).DataFrame(self.columns(flag("intervals", intervals)))

    def columns(self, intervals: bool = False) -> dict[str, list[Any]]:
        """Return the columns of :meth:`to_frame`."""
        rows = self.table
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        if intervals:
            for name in self.metrics:
                ends = [self.interval(model, name)[1:] for model in self.models]
                columns[f"{name}_low"], columns[f"{name}_high"] = (
                    list(end) for end in zip(*ends, strict=True)
                )
        return columns

    def __repr__(self) -> str:
        sizes = {"models": len(self.models), "metrics": len(self.metrics), "folds": self.n_folds}
        parts = ", ".join(pluralize(size, what) for what, size in sizes.items())
        return f"RecommenderComparison({parts})"

    def __str__(self) -> str:
        return self.text()

    def text(self, intervals: bool = False) -> str:
        """Return the printed table; with `intervals`, values have half their 95% interval.

        Examples
        --------
        >>> import numpy as np
        >>> from edgewise.recommend.evaluation.users import UserSums
        >>> values = np.array([0.2, 0.4, 0.6, 0.4])
        >>> folds = {"one": {"recall@5": np.array([values.mean()])}}
        >>> sums = {"one": {"recall@5": UserSums.of(values)}}
        >>> found = RecommenderComparison(("one",), ("recall@5",), folds, {"one": {}}, sums)
        >>> print(found.text(intervals=True))
                       recall
        model              @5
        one    0.4000 ±0.1600*
        1 fold; * best; ± 95% interval over users
        """
        shown = [*self.metrics, *(name for name in _SHOWN_TIMES if name in self._times)]
        height = max(len(_title(name)) for name in shown)
        names = [*[""] * (height - 1), "model", *self.models]
        table = _wrapped(names, [self._column(name, height, intervals) for name in shown])
        return f"{table}\n{self._note()}" + "; ± 95% interval over users" * intervals

    def _column(self, name: str, height: int, intervals: bool) -> list[str]:
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
        if intervals and name in self.metrics:
            errors = [self._standard_error(model, name) for model in self.models]
            halves = ["" if np.isnan(error) else f" ±{Z95 * error:.4f}" for error in errors]
            texts = [text + half for text, half in zip(texts, halves, strict=True)]
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
    return metric not in TIMES and recommender_metrics(metric, 1)[0].larger_is_better


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
    models: Iterable[str], runs: "list[list[Run]]", metrics: tuple[Metric, ...]
) -> tuple[dict[str, dict[str, Reals]], dict[str, dict[str, str]], dict[str, dict[str, UserSums]]]:
    """Return the values of all folds by model and metric, the outputs in use, and sums by user."""
    folds: dict[str, dict[str, Reals]] = {}
    outputs: dict[str, dict[str, str]] = {}
    users: dict[str, dict[str, UserSums]] = {}
    for model, rows in zip(models, runs, strict=True):
        found = {name: np.array([row.values[name] for row in rows]) for name in rows[0].values}
        folds[model], outputs[model], users[model] = {}, {}, {}
        for metric in metrics:
            means = [defined_mean(found[one.name]) for one in output_variants(metric)]
            # NaN sorts last.
            taken = output_variants(metric)[int(np.argsort(means, kind="stable")[0])]
            folds[model][metric.name] = found[taken.name]
            if metric.base.endswith(BEST) and not np.isnan(found[taken.name]).all():
                outputs[model][metric.name] = "level" if LEVEL in taken.name else "expected"
            parts = [(row.users, row.sums[taken.name]) for row in rows if taken.name in row.sums]
            if parts:
                users[model][metric.name] = pooled(parts)
        folds[model] |= {name: found[name] for name in TIMES}
    return folds, outputs, users


class Run(NamedTuple):
    """A model on one split: values and times by name, the tested users, and sums over them."""

    values: dict[str, float]
    users: NDArray[Any]
    sums: dict[str, UserSums]


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


def check_models(argument: str, models: Sequence[tuple[str, Recommender]]) -> None:
    """Raise if a parameter of a model is wrong, before any is fitted."""
    for label, model in models:
        try:
            model._check_parameters()
        except (TypeError, ValueError) as error:
            message = f"{argument}: model {label} cannot be fitted: {error}"
            raise ValueError(message) from error


def evaluate_on_splits(
    argument: str,
    models: Sequence[tuple[str, Recommender]],
    splits: tuple[Iterable[Split], int],
    metrics: tuple[Metric, ...],
    relevant: float | None,
    unknown: str,
    verbose: int,
) -> list[list[Run]]:
    """Return each model's values and times on each split; errors name a model by its label."""
    check_models(argument, models)
    runs: list[list[Run]] = [[] for _ in models]
    parts, count = splits
    with progress(bool(verbose), count * len(models), "fits") as step:
        for fold, (train, test) in enumerate(parts, start=1):
            for run, (label, model) in zip(runs, models, strict=True):
                try:
                    run.append(_run(clone(model), train, test, metrics, relevant, unknown))
                except Exception as error:
                    raise RuntimeError(
                        f"model {label} failed on fold {fold}: {type(error).__name__}: {error}"
                    ) from error
                step()
    return runs


def _run(
    model: Recommender,
    train: Ratings,
    test: Ratings,
    metrics: tuple[Metric, ...],
    relevant: float | None,
    unknown: str,
) -> Run:
    """Fit a model and measure it."""
    times: dict[str, float] = {}
    with _clock("fit", times):
        model.fit(train)
    evaluator = Evaluator(model, test, unknown)
    with _clock("predict", times):
        _ = evaluator.predictions
    found = evaluator.measured(metrics, relevant)
    sums = {name: one.users for name, one in found.items() if one.users is not None}
    values = {name: one.value for name, one in found.items()}
    return Run(values | times, test.user_ids.values, sums)


@contextmanager
def _clock(what: str, times: dict[str, float]) -> Iterator[None]:
    """Note the seconds of some work, less those of compiling, which only the first fit needs."""
    wall, cpu, before = time.perf_counter(), time.process_time(), compiling.spent
    yield
    compiled = [now - then for now, then in zip(compiling.spent, before, strict=True)]
    times[f"{what}_s"] = max(0.0, time.perf_counter() - wall - compiled[0])
    times[f"{what}_cpu_s"] = max(0.0, time.process_time() - cpu - compiled[1])
