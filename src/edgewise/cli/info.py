"""``edgewise info``: what a model file holds."""

import math
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli.common import (
    FILE,
    command,
    heading,
    json_option,
    load_model,
    print_facts,
    print_json,
    print_rules,
)
from edgewise.common.text import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise import AdaBoostMH, RankBoost, RankFusion, Recommender

    Model = AdaBoostMH | RankBoost | RankFusion

Facts = list[tuple[str, str]]

_TOP_FEATURES = 10
_TOP_RULES = 3
_MOST_NAMES = 20
_LOSSES = ("train_error", "hamming_loss", "ranking_loss", "bound")


@command("info")
@click.argument("model", type=FILE, help="Model file, as written by model.save(path).")
@json_option(heading("Options"))
def info(model: str, as_json: bool) -> None:
    """Show what a model file holds, without running any code from it."""
    from edgewise import Recommender

    loaded = load_model(model)
    is_recommender = isinstance(loaded, Recommender)
    facts = _recommender_facts(loaded) if is_recommender else _boosting_facts(loaded)
    if as_json:
        print_json(dict(facts))
        return
    print_facts(facts)
    if not is_recommender:
        _print_features(loaded)


def _boosting_facts(model: "Model") -> Facts:
    from edgewise.metrics.registry import metric_title

    facts = _problem_facts(model)
    facts.insert(1, ("learner", "custom" if model.learner_ is None else repr(model.learner_)))
    n_used, n_rounds = (model.feature_importances_ > 0).sum(), model.n_rounds_
    if model.schema_ is not None:
        targets = ", ".join(model.schema_.target)
        facts.append(("target", f"{targets}, learned as {model.schema_.task}"))
    facts += [
        ("features", f"{model.n_features_in_}, of which {n_used} are used"),
        ("rounds", f"{n_rounds} (training ended by: {model.stop_reason_})"),
    ]
    if not n_rounds:
        return facts
    last = {name: values[n_rounds - 1] for name, values in model.history_.items()}
    facts += [(metric_title(name), f"{last[name]:.4g}") for name in _LOSSES if name in last]
    if "validation" in last:
        facts.append(("validation", f"{last['validation']:.4g} ({model.eval_metric_})"))
    return facts + _two_classes(last) + _searched(model)


def _problem_facts(model: Any) -> Facts:
    from edgewise import AdaBoostMH, RankFusion

    name = type(model).__name__
    if isinstance(model, AdaBoostMH):
        classes = _listed([str(name) for name in model.classes_.tolist()])
        return [
            ("estimator", f"{name}, {model.votes_} votes, {model.loss_} loss"),
            ("labels" if model.fitted_.multilabel else "classes", classes),
        ]
    facts = [
        ("estimator", f"{name}, rules compared by {model.criterion}"),
        ("pairs", f"weighted by {model.pair_weight}, queries by {model.query_weight}"),
    ]
    if isinstance(model, RankFusion):
        facts.append(("lists", _listed(list(model.list_names_))))
    return facts


def _recommender_facts(model: "Recommender") -> Facts:
    import numpy as np

    ratings = model.ratings_
    span = f" from {model.low_:g} to {model.high_:g}" if model.low_ < model.high_ else ""
    predicts = {"rating": "ratings", "score": "scores"}[model.predicts]
    facts = [
        ("estimator", f"{type(model).__name__}, which predicts {predicts}"),
        ("ratings", f"{len(ratings):,}{span}, {model.mean_:.4g} on average"),
        ("users", _catalog(model.known_users_, ratings.user_ids.kind)),
        ("items", _catalog(model.known_items_, ratings.item_ids.kind)),
    ]
    for side in ("user", "item"):
        table = getattr(ratings, f"{side}_features")
        if table is not None:
            names = [str(table.name(j)) for j in range(table.n_columns)]
            facts.append((f"{side} features", _listed(names)))
    parameters = model.get_params(deep=False).items()
    facts.append(("parameters", ", ".join(f"{name}={value!r}" for name, value in parameters)))
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("known_") and isinstance(value, np.ndarray):
            facts.append((name, " x ".join(f"{size:,}" for size in value.shape)))
    return facts


def _catalog(known: "NDArray[Any]", kind: str) -> str:
    """Return how many ids there are, of which kind, and how many are unknown."""
    n_unknown = len(known) - int(known.sum())
    return f"{len(known):,}, {kind}" + (f", {n_unknown:,} of them unknown" if n_unknown else "")


def _listed(names: list[str]) -> str:
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return f"{len(names)}: {', '.join(names[:_MOST_NAMES])}{more}"


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
    recorded = (model.history_[name][: model.n_rounds_] for name in ("columns", "saved"))
    columns, saved = (values[values == values] for values in recorded)
    if not len(columns):
        return []
    share = f", {saved.mean():.1%} of the work saved" if len(saved) else ""
    return [("columns a round", f"{columns.mean():,.1f} on average{share}")]


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
