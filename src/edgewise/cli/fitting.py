"""How ``edgewise train`` trains: hold-out set, settings, the candidates of --tune, and folds."""

import sys
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from edgewise.cli import common, params
from edgewise.cli.evaluate import evaluate_rows
from edgewise.cli.tables import Rows
from edgewise.common.choices import DEFAULT_RANKING_METRICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise import CrossValidation

TEST_FRACTION = 0.2
MAX_TEST_ROWS = 50_000
"""The hold-out set: a fraction of the rows, up to a number of rows."""

_MIN_ROWS = 50  # fewer rows are not split
_TUNING_FRACTION = 0.25
_VALIDATION_FRACTION = 0.2
# A ranker is tuned by the metric that it learns by.
_METRICS = {"classes": "log_loss", "labels": "hamming_loss"}

Settings = dict[str, Any]


def hold_out(rows: Rows, task: str, fraction: float, seed: int) -> tuple[Rows, Rows | None]:
    """Split rows into training and test rows, by class or by query; few rows all train.

    The only row of a class trains.
    """
    import numpy as np
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    if not fraction or len(rows) < _MIN_ROWS:
        return rows, None
    candidates, strata = np.arange(len(rows)), None
    if task == "grades":
        if rows.qid is None or (rows.qid == rows.qid[0]).all():
            return rows, None
        splitter = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
        _, test = next(splitter.split(candidates, groups=rows.qid))
    else:
        if task == "classes":
            counts = np.bincount(rows.y)
            candidates = np.flatnonzero(counts[rows.y] > 1)
            n_classes, smaller_side = (counts > 1).sum(), min(fraction, 1 - fraction)
            strata = rows.y[candidates] if smaller_side * len(candidates) >= n_classes else None
        if round(fraction * len(candidates)) < 1:
            return rows, None
        _, test = train_test_split(
            candidates, test_size=fraction, stratify=strata, random_state=seed
        )
    is_test = np.zeros(len(rows), dtype=bool)
    is_test[test] = True
    return rows.take(np.flatnonzero(~is_test)), rows.take(np.flatnonzero(is_test))


class Fit(NamedTuple):
    """A trained model, the candidates of --tune, and whether Ctrl-C ended the training."""

    model: Any
    candidates: list[dict[str, Any]]
    interrupted: bool


def fit(args: SimpleNamespace, task: str, rows: Rows, validation: Rows | None = None) -> Fit:
    """Train with the settings of the options, or with the best that --tune finds."""
    if args.tune:
        return _tune(args, task, rows)
    settings = dict(args.parameters)
    if validation is not None and "n_rounds" in settings:
        # Without a number of rounds training stops early by itself.
        settings.setdefault("early_stopping_rounds", params.PATIENCE)
    model = _train(args, task, rows, settings, validation)
    return Fit(model, [], _is_interrupted(model))


def cross_validate(args: SimpleNamespace, rows: Rows) -> "CrossValidation":
    """Return how well rankers of these settings rank the queries of other folds."""
    import edgewise
    from edgewise.metrics.registry import first_metric

    ranker = build(args, "grades", args.parameters)
    own_metric = first_metric(ranker.eval_metric)
    own_metrics = [] if own_metric == "auto" else [own_metric]
    metrics = list(dict.fromkeys((*DEFAULT_RANKING_METRICS, *own_metrics)))
    with common.one_line_errors(rows.path):
        return edgewise.cross_validate(
            ranker, rows.X, rows.y, rows.qid, cv=args.folds, metrics=metrics
        )


def check(args: SimpleNamespace, task: str, rows: Rows, validation: Rows | None) -> None:
    """Raise if a parameter is wrong, or there are fewer queries than folds."""
    from edgewise.estimators import classification, ranking

    model = build(args, task, args.parameters, validation)
    with common.one_line_errors("--set"):
        estimators = ranking if task == "grades" else classification
        estimators.check_parameters(model, validation is not None)
    n_queries = 0 if rows.qid is None else rows.n_queries
    if args.folds is not None and args.folds > n_queries:
        raise click.UsageError(f"--folds must be at most {n_queries}, the number of queries")


def read_settings(args: SimpleNamespace) -> Settings:
    """Return the parameters of --learner, its limits, --rounds, constraints and --set."""
    settings = params.parse_settings(args.settings)
    for option, name, value in (
        ("--learner", "learner", args.learner),
        ("--rounds", "n_rounds", args.n_rounds),
        ("--monotonic", "monotonic_cst", params.parse_directions(args.monotonic)),
        ("--no-interactions", "interaction_cst", "no_interactions" * args.no_interactions),
    ):
        if value:
            if name in settings:
                raise click.UsageError(f"{option} and --set {name} set the same parameter")
            settings[name] = value
    limits = {name: getattr(args, name) for name in ("max_terms", "max_pairs")}
    if args.learner != "additive":
        params.refuse_options(limits, "needs --learner additive")
    elif any(value is not None for value in limits.values()):
        from edgewise import Additive

        settings["learner"] = Additive(**limits)
    return settings


def _tune(args: SimpleNamespace, task: str, rows: Rows) -> Fit:
    """Compare settings on some of the training rows, and train on all of them with the best.

    After an interrupt the best model so far remains, which was trained without those rows.
    """
    from edgewise.metrics.registry import larger_is_better

    began = time.perf_counter()
    candidates = {name: {**args.parameters, **own} for name, own in _candidates(task).items()}
    training, held_out = hold_out(rows, task, _TUNING_FRACTION, args.random_state + 1)
    if held_out is None:
        raise click.UsageError(f"--tune: {args.data} has too few rows to compare settings on")
    # The last fit has its share of the time.
    limit = args.time_limit and args.time_limit / (len(candidates) + 1)
    results: list[dict[str, Any]] = []
    models: list[Any] = []
    for name, settings in candidates.items():
        model = _train(args, task, training, {"time_limit": limit, **settings})
        metric = _METRICS.get(task, model.eval_metric_)
        value = evaluate_rows(model, held_out)[metric]
        models.append(model)
        results.append({"settings": name, metric: value, "rounds": model.n_rounds_})
        if _is_interrupted(model):
            break
    values = [result[metric] for result in results]
    best = values.index(max(values) if larger_is_better(metric) else min(values))
    for i, result in enumerate(results):
        result["chosen"] = i == best
    if _is_interrupted(models[-1]):
        return Fit(models[best], results, True)
    settings = dict(candidates[results[best]["settings"]])
    if args.time_limit:
        settings["time_limit"] = max(1.0, args.time_limit - (time.perf_counter() - began))
    model = _train(args, task, rows, settings)
    return Fit(model, results, _is_interrupted(model))


def _candidates(task: str) -> dict[str, Settings]:
    """Return the settings that --tune compares."""
    from edgewise import Indicator, Stump, Tree

    if task == "grades":
        return {
            "default": {},
            "stumps": {"learner": "stump"},
            "stumps in small steps": {"learner": "stump", "learning_rate": 0.1},
            "trees": {"learner": "tree"},
            "trees of 16 leaves": {"learner": Tree("stump", 16, "free", "gain")},
        }
    shared: Settings = {
        "votes": "real",
        "loss": "softmax",
        "n_rounds": "auto",
        "learning_rate": 0.1,
        "subsample": 0.7,
        "damping": 0.5,
    }
    return {
        "default": {},
        "default in small steps": {"learning_rate": 0.05},
        "trees of 6 leaves": {"learner": Tree([Stump(), Indicator()], 6, "free", "gain"), **shared},
        "stumps": {"learner": "stump", **shared},
    }


def _train(
    args: SimpleNamespace, task: str, rows: Rows, settings: Settings, validation: Rows | None = None
) -> Any:
    from edgewise.boosting import ProgressBar

    model = build(args, task, settings, validation)
    with common.one_line_errors(rows.path):
        if sys.stderr.isatty():
            model.set_params(callbacks=[ProgressBar()])
        eval_set = None if validation is None else _training_data(args, validation)
        model.fit(*_training_data(args, rows), sample_weight=rows.weight, eval_set=eval_set)
    return model.set_params(callbacks=None)


def build(
    args: SimpleNamespace, task: str, settings: Settings, validation: Rows | None = None
) -> Any:
    """Return the estimator to train, or raise if it has no such parameter."""
    from edgewise import AdaBoostMH, RankBoost

    if "early_stopping_rounds" in settings and validation is None:
        settings = {"validation_fraction": _VALIDATION_FRACTION, **settings}

    shared = {name: getattr(args, name) for name in ("random_state", "n_jobs", "device")}
    kind = RankBoost if task == "grades" else AdaBoostMH
    settings = {"time_limit": args.time_limit, "handle_infinite": "missing", **settings}
    return params.build_estimator(kind, settings, **shared)


def _training_data(args: SimpleNamespace, rows: Rows) -> tuple[Any, ...]:
    """Return the features and targets of rows, to rank also the query ids, as `fit` takes them."""
    if rows.classes is not None:
        return rows.X, rows.labels
    if rows.y.ndim == 2:
        return rows.X, _NamedLabels(list(args.target), rows.y)
    # A warning that the rows are one list has been given.
    return rows.X, rows.y, [0] * len(rows) if rows.qid is None else rows.qid


def _is_interrupted(model: Any) -> bool:
    return bool(model.stop_reason_ == "interrupted")


@dataclass
class _NamedLabels:
    """A 0/1 matrix with names of its columns, as a data frame has them."""

    columns: list[str]
    values: "NDArray[Any]"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        return self.values if dtype is None else self.values.astype(dtype)
