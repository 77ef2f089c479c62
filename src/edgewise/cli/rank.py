"""``edgewise rank``: train RankBoost on a file and test it."""

from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import common, documents
from edgewise.cli.predict import predictions
from edgewise.cli.tables import is_table, test_values, warn_of_one_list
from edgewise.common import choices
from edgewise.common.choices import DEFAULT_RANKING_METRICS
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise.estimators import CrossValidation, RankBoost

# The share of the training queries of a fold that says when to stop.
_ASIDE = 0.2
_TOP_RULES, _TOP_TREES = 5, 2

files, training = common.heading("Files"), common.heading("Training")


@common.command("rank")
@click.argument("data", type=common.FILE, help="Documents to train on.")
@files("--validate", type=common.FILE, help="Documents to choose the number of rounds on.")
@files("--test", type=common.FILE, help="Documents to test on.")
@common.model_file(files)
@files(
    "--output",
    "-o",
    type=common.OutputFile(),
    help="Write the scores of the test documents here: a TREC run if the name ends in .run or "
    ".run.gz, a table if it ends in .csv, .csv.gz or .parquet, one score per line otherwise.",
)
@documents.columns
@common.boosting(training)
@training(
    "--eval-metric",
    metavar="NAME",
    default="map",
    help="Metric on the validation documents, such as mrr, ndcg@10 or precision@5.",
)
@training(
    "--learner",
    choices=choices.RANK_LEARNERS,
    default="stump",
    help="Weak rules to boost; auto chooses them, objective and rounds on held-out queries.",
)
@training(
    "--objective",
    choices=choices.OBJECTIVES,
    help="What rounds improve: the order of all pairs, or NDCG or average precision.",
)
@training(
    "--criterion",
    choices=choices.RANK_CRITERIA,
    help="How to compare rules: by edge, or by the exact loss (stumps only).",
)
@training(
    "--step",
    choices=choices.RANK_STEPS,
    default=None,
    help="Minimize the bound or the loss by the step; by default the bound, but for energy.",
)
@training(
    "--monotonic-cst",
    choices=choices.MONOTONIC,
    help="Direction of every feature: learned, increasing or unconstrained.",
)
@training(
    "--pair-weight",
    choices=choices.PAIR_WEIGHTS,
    default="difference",
    help="Weight of a pair: 1, or the difference of its grades.",
)
@training(
    "--query-weight",
    choices=choices.QUERY_WEIGHTS,
    default="root",
    help="Weight of a query: its number of pairs, the square root of that, or 1.",
)
@training(
    "--missing",
    "--q-def",
    "missing",
    choices=choices.RANK_MISSING,
    help="Output of a rule where its feature is missing: learned, 0 (low) or 1 (high).",
)
@training(
    "--subsample",
    type=common.Real(0, 1, min_open=True),
    default=1.0,
    help="Share of the queries, drawn in every round, to search for rules.",
)
@training(
    "--max-bins",
    type=click.IntRange(2, 65535),
    help="Most bins of a feature.  [default: 65535, for more documents 1024]",
)
@common.time_limit(training)
@training(
    "--folds",
    type=click.IntRange(min=2),
    help="Measure these settings by cross-validation, in N folds of whole queries, as well.",
)
@common.json_option(training)
def rank(
    data: str,
    validate: str | None,
    test: str | None,
    model: str | None,
    output: str | None,
    folds: int | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Train RankBoost on judged documents and show how well it ranks.

    Files are in LETOR format (SVMlight with qid:), plain or gzipped, or tables as
    for `edgewise train`: .csv, .tsv, .parquet, .arrow, .arff and others. For a
    table, --target names the column with grades and --query the column with query
    ids. Columns of ids and columns that never vary are left out.

    With --validate, training stops early and keeps the best number of rounds.
    With --folds 5, five rankers are trained first, each on four fifths of the
    queries of DATA, and measured on the others. Early stopping goes by a fifth of
    the training queries there, and in the end if there is no --validate.

    Metrics average over all orders of documents with equal scores. A query
    without a relevant document (grade above 0) counts as 0.

    Ctrl-C ends the training: the rounds so far are tested and saved, and the exit
    code is 130.
    """
    from edgewise.estimators import RankBoost
    from edgewise.metrics import ranking_metric

    roles = {role: settings.pop(role) for role in documents.ROLES}
    with common.one_line_errors("--eval-metric"):
        metric = ranking_metric(settings["eval_metric"])
    settings |= {"eval_metric": metric.name, "verbose": common.verbosity()}
    if settings["learner"] == "auto":
        decided = ("n_rounds", "learning_rate", "objective")
        settings |= {name: "auto" for name in decided if not common.given(name)}
    paths = {"DATA": data, "--validate": validate, "--test": test}
    _check(paths, roles, settings)
    given = [path for path in paths.values() if path is not None]
    read, schema = documents.read_judged(given, roles)
    found = dict(zip(given, read, strict=True))
    trained, held_out, tested = found[data], found.get(validate or ""), found.get(test or "")
    if trained.rows.qid is None:
        warn_of_one_list(trained.path, len(trained.rows))
    if held_out is not None:
        # Grades that the metric does not take fail now, not in the first round.
        with common.one_line_errors(held_out.path):
            metric(held_out.judged, held_out.judged.grades)
        settings["early_stopping_rounds"] = settings["early_stopping_rounds"] or common.PATIENCE
    if tested is not None:
        documents.check_output(output, tested.rows)
    measured = None if folds is None else _cross_validated(trained, settings, metric.name, folds)
    ranker = RankBoost(**settings)
    if settings["early_stopping_rounds"] and held_out is None:
        ranker.set_params(validation_fraction=_ASIDE)
    with common.one_line_errors(data):
        ranker.fit(*trained.examples, eval_set=held_out and held_out.examples)
    if not ranker.n_rounds_:
        common.raise_if_interrupted(ranker)
    ranker.schema_ = schema
    if model is not None:
        ranker.save(model)
    scores = None
    if tested is not None:
        predicted = predictions(ranker, tested.rows)
        scores = predicted["score"]
        if output is not None:
            documents.write_scores(output, tested.rows, predicted)
    if as_json:
        common.print_json(_result(ranker, trained, tested, scores, metric.name, measured))
        common.raise_if_interrupted(ranker)
        return
    if measured is not None:
        click.echo(f"cross-validation of {measured}\n")
    _print(ranker, trained, held_out)
    if tested is not None and scores is not None:
        documents.print_test(tested, scores, metric.name)
    common.print_rules(ranker, _TOP_TREES if settings["learner"] == "tree" else _TOP_RULES)
    if not hasattr(ranker, "feature_names_in_") and ranker.n_rounds_:
        click.echo("  (x0 is feature 1 of the files, x1 is feature 2, and so on)")
    common.raise_if_interrupted(ranker)


def _check(paths: dict[str, str | None], roles: documents.Roles, settings: dict[str, Any]) -> None:
    """Raise if options do not go together."""
    common.needs(["early_stopping_rounds"], "validate", "folds")
    common.needs(["output"], "test")
    if settings["learner"] != "stump":
        for name, value in (("criterion", "energy"), ("monotonic_cst", "increasing")):
            if settings[name] == value:
                option = name.replace("_", "-")
                raise click.UsageError(f"--{option} {value} works with --learner stump only")
    train = str(paths["DATA"])
    table = is_table(train)
    kinds = ("a LETOR file", "a table")
    for name, path in paths.items():
        if path is not None and is_table(path) != table:
            raise click.UsageError(
                f"{name} {path} is {kinds[not table]} and DATA is {kinds[table]}: "
                "all files must be of one kind"
            )
    if table and roles["target"] is None:
        raise click.UsageError(f"--target must name the column of {train} with grades")
    documents.check_roles(roles, train)


def _cross_validated(
    trained: documents.Documents, settings: dict[str, Any], metric: str, folds: int
) -> "CrossValidation":
    """Return how well rankers of these settings rank queries that they have not seen."""
    from edgewise.estimators import RankBoost, cross_validate

    ranker = RankBoost(**settings)
    if settings["early_stopping_rounds"]:
        ranker.set_params(validation_fraction=_ASIDE)
    names = list(dict.fromkeys((*DEFAULT_RANKING_METRICS, metric)))
    if folds > trained.judged.n_queries:
        queries = pluralize(trained.judged.n_queries, "queries")
        raise click.UsageError(f"--folds {folds}: {trained.path} has {queries}")
    with common.one_line_errors(trained.path):
        return cross_validate(ranker, *trained.examples, cv=folds, metrics=names)


def _result(
    ranker: "RankBoost",
    trained: documents.Documents,
    tested: documents.Documents | None,
    scores: Any,
    metric: str,
    measured: "CrossValidation | None",
) -> dict[str, Any]:
    """Return what is printed, for programs."""
    rounds = ranker.n_rounds_
    last = {key: ranker.history_[key][rounds - 1] for key in ("ranking_loss", "bound") if rounds}
    return {
        "training": {
            "documents": len(trained.rows),
            "rounds": rounds,
            "ended_by": ranker.stop_reason_,
            **last,
        },
        "cross_validation": measured and measured.means,
        "test": tested and test_values(tested.judged, scores, metric),
        "rules": [str(rule) for rule in ranker.rules(_TOP_RULES)] if rounds else [],
    }


def _print(
    ranker: "RankBoost", trained: documents.Documents, held_out: documents.Documents | None
) -> None:
    facts = [("training", f"{trained}, {ranker.n_features_in_} features")]
    facts += common.training_facts(ranker)
    if held_out is not None:
        facts.append(("validation", str(held_out)))
        if ranker.n_rounds_:
            best = ranker.history_["validation"][ranker.n_rounds_ - 1]
            facts.append((f"  {ranker.eval_metric}", f"{best:.4f}"))
    common.print_facts(facts)
