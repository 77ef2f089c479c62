"""``edgewise info``: what a model file holds."""

import math
from typing import TYPE_CHECKING

import click
import numpy as np

from edgewise.cli.common import FILE, argument, command, load_model, print_facts, print_rules
from edgewise.common.text import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.estimators import AdaBoostMH, RankBoost, RankFusion
    from edgewise.recommend import Recommender

    Model = AdaBoostMH | RankBoost | RankFusion

Facts = list[tuple[str, str]]

_TOP_FEATURES = 10
_TOP_RULES = 3
_MOST_NAMES = 20


@command("info")
@argument("model", type=FILE, help="Model file, as written by model.save(path).")
def info(model: str) -> None:
    """Show what a model file holds, without running any code from it."""
    from edgewise import AdaBoostMH
    from edgewise.recommend import Recommender

    loaded = load_model(model)
    if isinstance(loaded, Recommender):
        print_facts(_recommender_facts(loaded))
        return
    classifies = isinstance(loaded, AdaBoostMH)
    print_facts(_classifier_facts(loaded) if classifies else _ranker_facts(loaded))
    _print_features(loaded)


def _classifier_facts(model: "AdaBoostMH") -> Facts:
    names = [str(name) for name in model.classes_.tolist()]
    facts = [
        ("estimator", f"{type(model).__name__}, {model.votes_} votes, {model.loss_} loss"),
        _learner(model),
        ("labels" if model.fitted_.multilabel else "classes", _listed(names)),
        _features(model),
        _rounds(model),
    ]
    if model.n_rounds_:
        last = _last(model)
        facts += [
            ("training error", f"{last['train_error']:.4g}"),
            ("Hamming loss", f"{last['hamming_loss']:.4g}"),
            ("bound on it", f"{last['bound']:.4g}"),
        ]
        facts += _validation(model, last) + _two_classes(last) + _searched(model)
    return facts


def _ranker_facts(model: "RankBoost") -> Facts:
    from edgewise.estimators import RankFusion

    facts = [
        ("estimator", f"{type(model).__name__}, rules compared by {model.criterion}"),
        _learner(model),
        ("pairs", f"weighted by {model.pair_weight}, queries by {model.query_weight}"),
    ]
    if isinstance(model, RankFusion):
        facts.append(("lists", _listed(list(model.list_names_))))
    facts += [_features(model), _rounds(model)]
    if model.n_rounds_:
        last = _last(model)
        facts += [
            ("ranking loss", f"{last['ranking_loss']:.4g}"),
            ("bound on it", f"{last['bound']:.4g}"),
        ]
        facts += _validation(model, last) + _searched(model)
    return facts


def _recommender_facts(model: "Recommender") -> Facts:
    ratings = model.ratings_
    span = f" from {model.low_:g} to {model.high_:g}" if model.low_ < model.high_ else ""
    predicts = {"rating": "ratings", "score": "scores"}[model.predicts]
    facts = [
        ("estimator", f"{type(model).__name__}, which predicts {predicts}"),
        ("ratings", f"{len(ratings):,}{span}, {model.mean_:.4g} on average"),
        ("users", _catalogue(model.known_users_, ratings.user_ids.kind)),
        ("items", _catalogue(model.known_items_, ratings.item_ids.kind)),
    ]
    for side in ("user", "item"):
        table = getattr(ratings, f"{side}_features")
        if table is not None:
            names = [str(table.name(j)) for j in range(table.n_columns)]
            facts.append((f"{side} features", _listed(names)))
    parameters = model.get_params(deep=False).items()
    facts += [("parameters", ", ".join(f"{name}={value!r}" for name, value in parameters))]
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("known_") and isinstance(value, np.ndarray):
            facts.append((name, " x ".join(f"{size:,}" for size in value.shape)))
    return facts


def _catalogue(known: "NDArray[np.bool_]", kind: str) -> str:
    """Return how many ids there are, of which kind, and how many are unknown."""
    n_unknown = len(known) - int(known.sum())
    return f"{len(known):,}, {kind}" + (f", {n_unknown:,} of them unknown" if n_unknown else "")


def _listed(names: list[str]) -> str:
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return f"{len(names)}: {', '.join(names[:_MOST_NAMES])}{more}"


def _learner(model: "Model") -> tuple[str, str]:
    return "learner", "custom" if model.learner_ is None else repr(model.learner_)


def _features(model: "Model") -> tuple[str, str]:
    n_used = (model.feature_importances_ > 0).sum()
    return "features", f"{model.n_features_in_}, of which {n_used} are used"


def _rounds(model: "Model") -> tuple[str, str]:
    return "rounds", f"{model.n_rounds_} (training ended by: {model.stop_reason_})"


def _last(model: "Model") -> dict[str, float]:
    """Return the history of the last round that the model keeps."""
    return {name: values[model.n_rounds_ - 1] for name, values in model.history_.items()}


def _validation(model: "Model", last: dict[str, float]) -> Facts:
    if "validation" not in last:
        return []
    metric = model.eval_metric if isinstance(model.eval_metric, str) else "custom metric"
    return [("validation", f"{last['validation']:.4g} ({metric})")]


def _two_classes(last: dict[str, float]) -> Facts:
    """Return the metrics of two classes, and the rows that they are measured on."""
    rows = "validation rows" if "validation" in last else "training rows"
    names = {"roc_auc": "ROC AUC", "balanced_accuracy": "balanced acc."}
    return [
        (title, f"{last[name]:.4g} ({rows})")
        for name, title in names.items()
        if not math.isnan(last.get(name, math.nan))
    ]


def _searched(model: "Model") -> Facts:
    """Return how many columns a round searches, and how much work that saves."""
    recorded = [model.history_[name][: model.n_rounds_] for name in ("columns", "saved")]
    columns, saved = (
        [value for value in one.tolist() if not math.isnan(value)] for one in recorded
    )
    if not columns:
        return []
    share = f", {sum(saved) / len(saved):.1%} of the work saved" if saved else ""
    return [("columns a round", f"{sum(columns) / len(columns):,.1f} on average{share}")]


def _print_features(model: "Model") -> None:
    shares = model.feature_importances_.tolist()
    used = sorted((j for j, share in enumerate(shares) if share > 0), key=lambda j: -shares[j])
    if not used:
        return
    click.echo("top features     share of the decrease in loss")
    for j in used[:_TOP_FEATURES]:
        click.echo(f"  {shares[j]:6.1%}  {one_line(model.fitted_.feature_name(j))}")
    if len(used) > _TOP_FEATURES:
        click.echo(f"  ... and {len(used) - _TOP_FEATURES} more")
    print_rules(model, _TOP_RULES)
