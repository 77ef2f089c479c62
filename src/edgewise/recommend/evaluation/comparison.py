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

from edgewise.common.checks import integer, one_of
from edgewise.common.choices import COMPARE_BY
from edgewise.common.compiled import compiling
from edgewise.common.dtypes import Reals
from edgewise.common.progress import progress
from edgewise.common.text import pluralize
from edgewise.metrics import METRICS, Metric
from edgewise.metrics.significance import UnitSums
from edgewise.metrics.tables import MetricTable
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

TIMES = ("fit_s", "fit_cpu_s", "predict_s", "predict_cpu_s")
"""The names of times in results, in seconds: wall-clock time, and CPU time of all threads."""

COLUMNS = tuple(
    name for name in DEFAULT_METRICS if not name.endswith(LEVEL) and name + BEST not in METRICS
)
"""The metrics that a comparison shows by default: the best of ratings and levels, and the rest."""

_PRINTED_TIMES = ("fit_s", "predict_s")


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
    >>> result = compare([BiasBaseline(), Popularity()], ratings, ["rmse", "auc"], random_state=0)
    >>> result
    RecommenderComparison(2 models, 2 metrics, 5 folds)
    >>> result.best("rmse")
    'BiasBaseline'
    """
    named = _named_models(models)
    chosen = recommender_metrics(metrics, k)
    variants = dict.fromkeys(variant for metric in chosen for variant in output_variants(metric))
    one_of("by", by, COMPARE_BY)
    evaluation = FoldEvaluation("models", tuple(variants), relevant, unknown, verbose)
    splits = resolve_splits(ratings, n_folds, random_state, by=by)
    labeled = [(repr(name), model) for name, model in named.items()]
    return _build_comparison(named, evaluation.run(labeled, splits), chosen)


def _named_models(models: Any) -> dict[str, Recommender]:
    """Return models by name, or raise; repeated classes are numbered."""
    if isinstance(models, Recommender):
        models = [models]
    if not isinstance(models, Iterable):
        raise TypeError(f"models must be recommenders, got {type(models).__name__}")
    entries = list(models.items() if isinstance(models, Mapping) else models)
    if not entries:
        raise ValueError("models must hold at least one recommender, got none")
    named: dict[str, Recommender] = {}
    for entry in entries:
        is_pair = isinstance(entry, tuple) and len(entry) == 2
        name, model = entry if is_pair else (None, entry)
        if not isinstance(model, Recommender):
            raise TypeError(f"models must be recommenders, got {type(model).__name__}")
        if name is None:
            kind = type(model).__name__
            numbered = chain([kind], (f"{kind} {k}" for k in count(2)))
            name = next(candidate for candidate in numbered if candidate not in named)
        if not isinstance(name, str):
            raise TypeError(f"models must have strings as names, got {name!r}")
        if name in named:
            raise ValueError(f"models must have different names, got {name!r} twice")
        named[name] = model
    return named


@dataclass(frozen=True, eq=False, repr=False)
class RecommenderComparison(MetricTable):
    """The result of :func:`compare`; ``print`` it for a table.

    Values are means over the folds in which they are defined; times, in seconds, are medians
    without the compilation of kernels. "mae_best" and similar take the output, predicted rating or
    level, with the smaller mean over all folds.

    Attributes
    ----------
    systems, metrics : tuples of str
        The names of the models and the metrics.
    sums : dict of str to dict of str to UnitSums
        For each model and metric, its sums over users in all folds, for intervals; none for
        "catalog_coverage" and "gini".
    folds_ : dict of str to dict of str to float array
        For each model and metric, the values of the folds; also the times "fit_s", "fit_cpu_s",
        "predict_s" and "predict_cpu_s". CPU times add up all threads.
    outputs_ : dict of str to dict of str to str
        For each model and metric such as "mae_best", the output in use: "expected" or "level".

    Examples
    --------
    >>> import numpy as np
    >>> folds = {"one": {"rmse": np.array([1.0, 0.8])}, "two": {"rmse": np.array([0.9, 0.8])}}
    >>> print(RecommenderComparison(("one", "two"), ("rmse",), {}, folds))
    model    rmse
    one    0.9000
    two    0.8500*
    mean of 2 folds; * best
    """

    folds_: dict[str, dict[str, Reals]]
    outputs_: dict[str, dict[str, str]] = field(default_factory=dict)

    kind: str = field(default="model", kw_only=True)

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return len(next(iter(self.folds_[self.systems[0]].values())))

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*self.metrics, *self._times)

    def value(self, system: str, metric: str) -> float:
        """Return the mean of a metric, or the median of a time, of a model."""
        one_of("metric", metric, self._columns)
        values = self.folds_[one_of("model", system, self.systems)][metric]
        return float(np.median(values)) if metric in TIMES else defined_mean(values)

    def _larger_is_better(self, metric: str) -> bool:
        return metric not in TIMES and super()._larger_is_better(metric)

    @property
    def _times(self) -> list[str]:
        return [name for name in TIMES if name in self.folds_[self.systems[0]]]

    @property
    def _printed_columns(self) -> tuple[str, ...]:
        return (*self.metrics, *(name for name in _PRINTED_TIMES if name in self._times))

    def _title(self, name: str) -> list[str]:
        return name.replace("@", "_@").split("_")

    def _mark(self, system: str, name: str) -> str:
        return "L" if self.outputs_.get(system, {}).get(name) == "level" else ""

    def __repr__(self) -> str:
        sizes = {"models": len(self.systems), "metrics": len(self.metrics), "folds": self.n_folds}
        counts = ", ".join(pluralize(size, unit) for unit, size in sizes.items())
        return f"RecommenderComparison({counts})"

    def text(self, intervals: bool = False, stars: bool = True) -> str:
        """Return the printed table: see :meth:`MetricTable.text`."""
        note = f"mean of {self.n_folds} folds" if self.n_folds > 1 else "1 fold"
        if self._times:
            note += "; seconds: median" if self.n_folds > 1 else "; times in seconds"
        note += "; * best" * (stars and len(self.systems) > 1)
        if any("level" in outputs.values() for outputs in self.outputs_.values()):
            note += "; L by the predicted level"
        return (
            f"{super().text(intervals, stars)}\n{note}" + "; ± 95% interval over users" * intervals
        )


def _build_comparison(
    models: Iterable[str], results: "list[list[FoldResult]]", metrics: tuple[Metric, ...]
) -> RecommenderComparison:
    """Return the values of all folds in one table."""
    folds: dict[str, dict[str, Reals]] = {}
    outputs: dict[str, dict[str, str]] = {}
    sums: dict[str, dict[str, UnitSums]] = {}
    for model, rows in zip(models, results, strict=True):
        values = {name: np.array([row.values[name] for row in rows]) for name in rows[0].values}
        folds[model], outputs[model], sums[model] = {}, {}, {}
        for metric in metrics:
            variants = output_variants(metric)
            means = [defined_mean(values[variant.name]) for variant in variants]
            # NaN sorts last.
            best = variants[int(np.argsort(means, kind="stable")[0])].name
            folds[model][metric.name] = values[best]
            if len(variants) > 1 and not np.isnan(values[best]).all():
                outputs[model][metric.name] = "level" if LEVEL in best else "expected"
            samples = [(row.users, row.sums[best]) for row in rows if best in row.sums]
            if samples:
                sums[model][metric.name] = UnitSums.merge(samples)
        folds[model] |= {name: values[name] for name in TIMES}
    names = tuple(metric.name for metric in metrics)
    return RecommenderComparison(tuple(folds), names, sums, folds, outputs)


def resolve_splits(
    ratings: Any, n_folds: Any, random_state: Any, argument: str = "n_folds", by: str = "random"
) -> tuple[Iterable[Split], int]:
    """Return folds of ratings, or the given splits, and their number, or raise."""
    if isinstance(ratings, Ratings):
        if by == "last":
            return [ratings.leave_last()], 1
        if by == "time":
            integer(argument, n_folds, 1, len(ratings))
            return ratings.windows(n_folds), int(n_folds)
        integer(argument, n_folds, 2, max(2, len(ratings)))
        return ratings.folds(n_folds, by, random_state), int(n_folds)
    splits = [ratings] if _is_split(ratings) else ratings
    splits = list(splits) if isinstance(splits, Iterable) else []
    if not splits or not all(map(_is_split, splits)):
        raise TypeError(
            "ratings must be Ratings, or pairs of Ratings to train on and to test on, got "
            f"{type(ratings).__name__}"
        )
    return [Split(*split) for split in splits], len(splits)


def _is_split(value: Any) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and all(isinstance(side, Ratings) for side in value)


class FoldResult(NamedTuple):
    """A model on one split: values and times by name, the tested users, and sums over them."""

    values: dict[str, float]
    users: NDArray[Any]
    sums: dict[str, UnitSums]


@dataclass(frozen=True)
class FoldEvaluation:
    """How models are evaluated on splits; errors name the argument that has the models."""

    argument: str
    metrics: tuple[Metric, ...]
    relevant: float | None
    unknown: str
    verbose: int

    def __post_init__(self) -> None:
        check_relevant(self.relevant)
        one_of("unknown", self.unknown, UNKNOWN)

    def check_models(self, models: Sequence[tuple[str, Recommender]]) -> None:
        """Raise if a parameter of a model is wrong, before any is fitted."""
        for label, model in models:
            try:
                model._check_parameters()
            except (TypeError, ValueError) as error:
                message = f"{self.argument}: model {label} cannot be fitted: {error}"
                raise ValueError(message) from error

    def run(
        self, models: Sequence[tuple[str, Recommender]], splits: tuple[Iterable[Split], int]
    ) -> list[list[FoldResult]]:
        """Return each model's values and times on each split; errors name a model by its label."""
        self.check_models(models)
        runs: list[list[FoldResult]] = [[] for _ in models]
        folds, n_folds = splits
        with progress(bool(self.verbose), n_folds * len(models), "fits") as step:
            for fold, split in enumerate(folds, start=1):
                for results, (label, model) in zip(runs, models, strict=True):
                    try:
                        results.append(self._evaluate(clone(model), split))
                    except Exception as error:
                        raise RuntimeError(
                            f"model {label} failed on fold {fold}: {type(error).__name__}: {error}"
                        ) from error
                    step()
        return runs

    def _evaluate(self, model: Recommender, split: Split) -> FoldResult:
        """Fit a model and measure it."""
        times: dict[str, float] = {}
        with _clock("fit", times):
            model.fit(split.train)
        evaluator = Evaluator(model, split.test, self.unknown)
        with _clock("predict", times):
            _ = evaluator.predictions
        results = evaluator.measure(self.metrics, self.relevant)
        sums = {name: result.sums for name, result in results.items() if result.sums is not None}
        values = {name: result.value for name, result in results.items()}
        return FoldResult(values | times, split.test.user_ids.values, sums)


@contextmanager
def _clock(what: str, times: dict[str, float]) -> Iterator[None]:
    """Record the seconds of some work without compilation, which only the first fit needs."""
    wall, cpu, before = time.perf_counter(), time.process_time(), compiling.spent
    yield
    compiled = [now - then for now, then in zip(compiling.spent, before, strict=True)]
    times[f"{what}_s"] = max(0.0, time.perf_counter() - wall - compiled[0])
    times[f"{what}_cpu_s"] = max(0.0, time.process_time() - cpu - compiled[1])
