"""Rows to train on and rows to test on, and the settings that ``edgewise train`` trains with."""

import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import common, tables
from edgewise.cli.tables import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.io import Schema

SHARE = 0.2
"""The share of the rows to hold out."""

# The most rows to hold out, and how many there must be to hold any out.
_MOST, _LEAST = 50_000, 50
# The share of the training rows that settings are compared on, by these metrics.
_TUNING = 0.25
_METRICS = {"classes": "log_loss", "labels": "hamming_loss", "grades": "map"}


def split(
    args: SimpleNamespace, task: str, schema: "Schema | None", rows: Rows
) -> tuple[Rows, Rows | None]:
    """Return the rows to train on and those to test on, if there are enough."""
    import numpy as np

    if args.test is not None:
        if schema is None:
            test = tables.read_svmlight(args.test, task, rows.X.shape[1])
        else:
            raw = tables.read_raw(args.test, schema.words)
            tables.note(args.test, raw, schema)
            test = tables.rows_of(args.test, raw, schema)
        return rows, test if rows.classes is None else tables.known(rows.classes, test)
    share = min(args.hold_out, _MOST / len(rows))
    if not share or len(rows) < _LEAST:
        return rows, None
    aside = _held_out(rows, task, share, args.random_state)
    if not aside.any():
        return rows, None
    return rows.take(np.flatnonzero(~aside)), rows.take(np.flatnonzero(aside))


def _held_out(rows: Rows, task: str, share: float, seed: int) -> "NDArray[Any]":
    """Return which rows to hold out: of each class or, to rank, whole queries."""
    import numpy as np

    rng = np.random.default_rng(seed)
    aside = np.zeros(len(rows), dtype=bool)
    groups = rows.qid if task == "grades" else rows.y if task == "classes" else None
    if task == "grades" and groups is None:
        return aside
    if groups is None:
        aside[rng.permutation(len(rows))[: round(share * len(rows))]] = True
        return aside
    values, codes = np.unique(groups, return_inverse=True)
    if task == "grades":
        chosen = rng.permutation(len(values))[: round(share * len(values))]
        return np.isin(codes, chosen)
    for code in range(len(values)):
        members = rng.permutation(np.flatnonzero(codes == code))
        # At least one row of a class trains.
        aside[members[: min(round(share * len(members)), len(members) - 1)]] = True
    return aside


@dataclass
class Fit:
    """A trained model, what --tune tried before it, and whether Ctrl-C ended it."""

    model: Any
    tried: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False


def fit(args: SimpleNamespace, task: str, rows: Rows) -> Fit:
    """Train with the settings of the options, or with the best that --tune finds."""
    if args.tune:
        return _tuned(args, task, rows)
    given = {"learner": args.learner, "n_rounds": args.rounds}
    settings = {name: value for name, value in given.items() if value is not None}
    model = _trained(args, task, rows, args.time_limit, settings)
    return Fit(model, interrupted=model.stop_reason_ == "interrupted")


def _tuned(args: SimpleNamespace, task: str, rows: Rows) -> Fit:
    """Compare settings on a part of the training rows, and train on all of them with the best.

    After an interrupt the best model so far remains, of the other training rows.
    """
    import numpy as np

    began, metric, candidates = time.perf_counter(), _METRICS[task], _candidates(task)
    aside = _held_out(rows, task, _TUNING, args.random_state + 1)
    if len(rows) < _LEAST or not aside.any():
        raise click.UsageError(f"--tune: {args.data} has too few rows to try settings on")
    kept, held_out = rows.take(np.flatnonzero(~aside)), rows.take(np.flatnonzero(aside))
    # The last fit has its share of the time.
    limit = args.time_limit and args.time_limit / (len(candidates) + 1)
    tried: list[dict[str, Any]] = []
    models: list[Any] = []
    for name, settings in candidates.items():
        models.append(_trained(args, task, kept, limit, settings, held_out))
        value = tables.measured(models[-1], held_out)[metric]
        tried.append({"settings": name, metric: value, "rounds": models[-1].n_rounds_})
        if models[-1].stop_reason_ == "interrupted":
            break
    values = [-one[metric] if task == "grades" else one[metric] for one in tried]
    best = values.index(min(values))
    for place, one in enumerate(tried):
        one["chosen"] = place == best
    if models[-1].stop_reason_ == "interrupted":
        return Fit(models[best], tried, interrupted=True)
    settings = dict(list(candidates.values())[best])
    if task == "grades":
        rounds = max(1, models[best].n_rounds_)
        settings |= {"n_rounds": rounds, "early_stopping_rounds": None}
    left = args.time_limit and max(1.0, args.time_limit - (time.perf_counter() - began))
    model = _trained(args, task, rows, left, settings)
    return Fit(model, tried, model.stop_reason_ == "interrupted")


def _trained(
    args: SimpleNamespace,
    task: str,
    rows: Rows,
    limit: float | None,
    settings: dict[str, Any],
    held_out: Rows | None = None,
) -> Any:
    """Return a trained model."""
    import numpy as np

    from edgewise import AdaBoostMH, RankBoost
    from edgewise.cli.progress import progress

    shared = {
        "random_state": args.random_state,
        "n_jobs": args.n_jobs,
        "device": args.device,
        "time_limit": limit,
        "handle_infinite": "missing",
    }
    kind: Any = RankBoost if task == "grades" else AdaBoostMH
    model = kind(**shared, **settings)
    options = {"sample_weight": "--weight", "n_rounds": "--rounds", "learner": "--learner"}
    with common.one_line_errors(rows.path, options), progress() as shown:
        model.set_params(callbacks=shown)
        if task == "grades":
            watched = None if held_out is None else (held_out.X, held_out.y, held_out.qid)
            # That rows are one list is said already.
            qid = [0] * len(rows) if rows.qid is None else rows.qid
            model.fit(rows.X, rows.y, qid=qid, sample_weight=rows.weight, eval_set=watched)
        else:
            model.fit(rows.X, rows.y, sample_weight=rows.weight)
    if task != "grades":
        # Training has numbers for the classes, or for the labels.
        names = np.array(args.target) if rows.classes is None else rows.classes
        model.fitted_ = replace(model.fitted_, classes=names[model.classes_])
    return model.set_params(callbacks=None)


def _candidates(task: str) -> dict[str, dict[str, Any]]:
    """Return the settings that --tune tries."""
    from edgewise import Indicator, Stump, Tree

    base = [Stump(), Indicator()]
    if task == "grades":
        patience = {"early_stopping_rounds": common.PATIENCE, "n_rounds": 1000}
        return {
            "stumps": patience,
            "trees of 8 leaves": {"learner": "tree", **patience},
            "trees of 16 leaves, free votes": {
                "learner": Tree(Stump(constant=True), 16, "free", "gain"),
                **patience,
            },
            "stumps in small steps": {"learning_rate": 0.1, **patience},
        }
    usual: dict[str, Any] = {
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
        "trees of 6 leaves": {"learner": Tree(base, 6, "free", "gain"), **usual},
        "stumps": {"learner": "stump", **usual},
    }
