"""``edgewise show``: the contents of a saved model."""

import math
from typing import Any

import click

from edgewise.cli import common, params, tables

Facts = list[tuple[str, str]]

_MAX_NAMES = 20


@params.command("show")
@params.argument("model", "Saved model.", type=params.FILE)
@params.argument("data", "Rows to show effects on.", type=params.FILE, required=False)
@params.option(
    "-n", type=params.COUNT, default=10, help="Number of columns, and of rules or terms."
)
@params.json
def show(model: str, data: str | None, n: int, as_json: bool) -> None:
    """Show what a model learned: columns, effects and rules or terms.

      edgewise show people.edgewise
          its settings, the most important columns and the strongest rules
      edgewise show people.edgewise test.csv
          also the mean prediction at some values of these columns
      edgewise show films.edgewise
          the settings and sizes of a recommender

    A rule tests one or more columns; where the test holds, it adds its votes to
    the scores of the classes, and otherwise subtracts them. Trees are listed as
    paths: a row that meets all conditions of a path gets its votes. Additive
    models are listed as their terms, with small plots of the curves. No code of
    the file is run.
    """
    from edgewise import RankFusion, Recommender

    loaded = common.load_model(model)
    if data is not None and isinstance(loaded, (Recommender, RankFusion)):
        raise click.UsageError(f"DATA is for classifiers and rankers, {model} is neither")
    if isinstance(loaded, Recommender):
        facts = _recommender_facts(loaded)
        if as_json:
            common.print_json(dict(facts))
        else:
            common.print_facts(facts)
        return
    from edgewise.cli.effects import important_columns, print_effects

    rows = data and tables.read_for_model(data, loaded, model, needs_target=False)
    facts = _boosting_facts(loaded)
    columns = important_columns(loaded, rows.X if rows else None, n)
    contributions = loaded.explain().contributions[:n]
    if as_json:
        listed = [
            {"name": c.name, "importance": c.amount, "votes": c.detail} for c in contributions
        ]
        rules = [{"round": r.round, "alpha": r.alpha, "rule": r.text} for r in loaded.rules(n)]
        by_name = [column._asdict() for column in columns]
        parts = {"columns": by_name, "parts": listed, **common.list_terms(loaded), "rules": rules}
        common.print_json({**dict(facts), **parts})
        return
    common.print_facts(facts)
    print_effects(columns)
    if loaded.fitted_.shows_terms:
        common.print_terms(loaded, n)
        return
    # Of trees, the explanation has the importances alone.
    if rows is None and not loaded.fitted_.terms.n_trees:
        common.print_heading("Columns that rules test, alone or together")
        lines = [[f"{c.amount:.1%}", c.name, c.detail] for c in contributions]
        common.print_table([["importance", "columns", "votes"], *lines], left=(1, 2))
    common.print_rules(loaded, n)


def _boosting_facts(model: Any) -> Facts:
    from edgewise import AdaBoostMH, RankFusion

    name, fitted = type(model).__name__, model.fitted_
    if isinstance(model, AdaBoostMH):
        kind = "labels" if fitted.multilabel else "classes"
        classes = [str(label) for label in model.classes_.tolist()]
        facts = [
            ("estimator", f"{name}, {model.votes_} votes, {model.loss_} loss"),
            (kind, _format_names(classes)),
        ]
    else:
        pairs, queries = (model._resolve_setting(key) for key in ("pair_weight", "query_weight"))
        facts = [
            ("estimator", f"{name}, rules compared by {model.criterion}"),
            ("pairs", f"weighted by {pairs}, queries by {queries}"),
        ]
    if isinstance(model, RankFusion):
        facts.append(("lists", _format_names(list(model.list_names_))))
    # Long settings take several indented lines.
    settings = " ".join(repr(model.learner_).split())
    facts.append(("learner", "custom" if model.learner_ is None else settings))
    if model.schema_ is not None:
        facts.append(("target", f"{', '.join(model.schema_.target)} ({model.schema_.task})"))
    n_used = int((model.feature_importances_ > 0).sum())
    facts.append(("features", f"{model.n_features_in_}, {n_used} used"))
    facts.append(("training", common.describe_training(model)))
    return facts + (_history_facts(model) if model.n_rounds_ else [])


def _history_facts(model: Any) -> Facts:
    """Return the metrics of the last round, and how many columns rounds searched."""
    facts, rounds = [], model.n_rounds_
    history = {name: values[:rounds] for name, values in model.history_.items()}
    rows = "training rows"
    if "validation" in history:
        rows = "validation rows"
        facts.append(("validation", f"{history['validation'][-1]:.4g} ({model.eval_metric_})"))
    for name, title in (("roc_auc", "ROC AUC"), ("balanced_accuracy", "balanced acc.")):
        if name in history and not math.isnan(history[name][-1]):
            facts.append((title, f"{history[name][-1]:.4g} ({rows})"))
    columns = model.history_["columns"][:rounds]
    columns = columns[columns == columns]
    if len(columns):
        unit = "tree, counted at each node" if model.fitted_.terms.n_trees else "round"
        facts.append(("columns searched", f"{columns.mean():,.1f} per {unit}"))
    return facts


def _recommender_facts(model: Any) -> Facts:
    import numpy as np

    ratings = model.ratings_
    scale = f" from {model.low_:g} to {model.high_:g}" if model.low_ < model.high_ else ""
    predicts = {"rating": "ratings", "score": "scores"}[model.predicts]
    facts = [
        ("estimator", f"{type(model).__name__}, predicts {predicts}"),
        ("ratings", f"{len(ratings):,}{scale}, mean {model.mean_:.4g}"),
    ]
    for side, known in (("user", model.known_users_), ("item", model.known_items_)):
        n_unknown = len(known) - int(known.sum())
        unknown = f", {n_unknown:,} of them unknown" if n_unknown else ""
        kind = getattr(ratings, f"{side}_ids").kind
        facts.append((f"{side}s", f"{len(known):,}, {kind}{unknown}"))
    for side in ("user", "item"):
        table = getattr(ratings, f"{side}_features")
        if table is not None:
            names = [str(table.name(j)) for j in range(table.n_columns)]
            facts.append((f"{side} features", _format_names(names)))
    parameters = model.get_params(deep=False).items()
    facts.append(("parameters", ", ".join(f"{name}={value!r}" for name, value in parameters)))
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("known_") and isinstance(value, np.ndarray):
            facts.append((name, " x ".join(f"{size:,}" for size in value.shape)))
    return facts


def _format_names(names: list[str]) -> str:
    more = ", ..." if len(names) > _MAX_NAMES else ""
    return f"{len(names)}: {', '.join(names[:_MAX_NAMES])}{more}"
