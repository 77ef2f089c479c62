"""``edgewise rank``: train RankBoost on a file and test it."""

from typing import Any

import click

from edgewise.cli.common import (
    COUNT,
    FILE,
    MODEL_FILE,
    OutputFile,
    argument,
    boosting,
    command,
    heading,
    needs,
    one_line_errors,
    print_facts,
    print_rules,
    raise_if_interrupted,
    training_facts,
    verbosity,
)
from edgewise.cli.documents import (
    Documents,
    Roles,
    check_output,
    columns,
    is_table,
    print_test,
    read_judged,
    score,
)
from edgewise.estimators import RankBoost
from edgewise.estimators.judgements import PAIR_WEIGHTS, QUERY_WEIGHTS
from edgewise.estimators.ranking import LEARNER_NAMES, MONOTONIC_CHOICES
from edgewise.metrics import RankingMetric, ranking_metric
from edgewise.objective import CRITERIA

_PATIENCE = 100
_TOP_RULES, _TOP_TREES = 5, 2


def _metric(ctx: click.Context, param: click.Parameter, name: str) -> RankingMetric:
    with one_line_errors("--eval-metric"):
        return ranking_metric(name)


files, training = heading("Files"), heading("Training")


@command("rank")
@argument("train", type=FILE, help="Documents to train on.")
@files("--validate", type=FILE, help="Documents to choose the number of rounds on.")
@files("--test", type=FILE, help="Documents to test on.")
@files("--model", type=MODEL_FILE, help="Save the model here; the name must end in .edgewise.")
@files(
    "--output",
    "-o",
    type=OutputFile(),
    help="Write the scores of the test documents here: a TREC run if the name ends in .run or "
    ".run.gz, one number a line otherwise.",
)
@columns
@boosting(training)
@training(
    "--early-stopping-rounds",
    type=COUNT,
    help=f"Stop after N rounds without improvement.  [default with --validate: {_PATIENCE}]",
)
@training(
    "--eval-metric",
    metavar="NAME",
    default="map",
    callback=_metric,
    help="Metric on the validation documents, such as mrr, ndcg@10 or precision@5.",
)
@training(
    "--learner", type=click.Choice(LEARNER_NAMES), default="stump", help="Weak rules to boost."
)
@training(
    "--criterion",
    type=click.Choice(CRITERIA),
    default="edge",
    help="How to compare rules: by edge, or by the exact loss (stumps only).",
)
@training(
    "--monotonic-cst",
    type=click.Choice(MONOTONIC_CHOICES),
    default="learn",
    help="Direction of every feature: learned, increasing or unconstrained.",
)
@training(
    "--pair-weight",
    type=click.Choice(PAIR_WEIGHTS),
    default="difference",
    help="Weight of a pair: 1, or the difference of its grades.",
)
@training(
    "--query-weight",
    type=click.Choice(tuple(QUERY_WEIGHTS)),
    default="root",
    help="Weight of a query: its number of pairs, the square root of that, or 1.",
)
def rank(
    train: str,
    validate: str | None,
    test: str | None,
    model: str | None,
    output: str | None,
    target: str | None,
    query: str | None,
    doc: str | None,
    early_stopping_rounds: int | None,
    eval_metric: RankingMetric,
    **settings: Any,
) -> None:
    """Train RankBoost on judged documents and show how well it ranks.

    Files are in LETOR format (SVMlight with qid:), plain or gzipped, or tables
    whose names end in .csv, .csv.gz or .parquet. For a table, --target names the
    column with grades and --query the column with query ids.

    With --validate, training stops early and keeps the best number of rounds.
    Metrics average over all orders of documents with equal scores. A query
    without a relevant document (grade above 0) counts 0.

    Ctrl-C ends the training: the rounds so far are tested and saved, and the exit
    code is 130.
    """
    roles = Roles(target, query, doc)
    paths = {"TRAIN": train, "--validate": validate, "--test": test}
    _check(paths, roles, settings)
    given = [path for path in paths.values() if path is not None]
    found = dict(zip(given, read_judged(given, roles), strict=True))
    documents, held_out, tested = found[train], found.get(validate or ""), found.get(test or "")
    if held_out is not None:
        # Grades that the metric does not take fail now, not in the first round.
        with one_line_errors(held_out.path):
            eval_metric(held_out.judged, held_out.judged.grades)
        early_stopping_rounds = early_stopping_rounds or _PATIENCE
    if tested is not None:
        check_output(output, tested)
    ranker = RankBoost(
        early_stopping_rounds=early_stopping_rounds,
        eval_metric=eval_metric.name,
        verbose=verbosity(),
        **settings,
    )
    _fit(ranker, documents, held_out)
    if model is not None:
        ranker.save(model)
    scores = None if tested is None else score(tested, ranker, output)
    _print(ranker, documents, held_out)
    if tested is not None and scores is not None:
        print_test(tested, scores, eval_metric.name)
    print_rules(ranker, _TOP_TREES if settings["learner"] == "tree" else _TOP_RULES)
    if not hasattr(ranker, "feature_names_in_") and ranker.n_rounds_:
        click.echo("  (x0 is feature 1 of the files, x1 is feature 2, and so on)")
    raise_if_interrupted(ranker)


def _check(paths: dict[str, str | None], roles: Roles, settings: dict[str, Any]) -> None:
    """Raise if options do not go together."""
    needs(["early_stopping_rounds"], "validate")
    needs(["output"], "test")
    if settings["learner"] != "stump":
        for name, value in (("criterion", "energy"), ("monotonic_cst", "increasing")):
            if settings[name] == value:
                option = name.replace("_", "-")
                raise click.UsageError(f"--{option} {value} works with --learner stump only")
    train = str(paths["TRAIN"])
    kinds = ("a LETOR file", "a table")
    for name, path in paths.items():
        if path is not None and is_table(path) != is_table(train):
            raise click.UsageError(
                f"{name} {path} is {kinds[is_table(path)]} and TRAIN is {kinds[is_table(train)]}: "
                "all files must be of one kind"
            )
    if is_table(train) and roles.target is None:
        raise click.UsageError(f"--target must name the column of {train} with grades")
    roles.check(train)


def _fit(ranker: RankBoost, documents: Documents, held_out: Documents | None) -> None:
    X, y, qid = documents.data.X, documents.judged.grades, documents.data.qid
    evaluated = None
    if held_out is not None:
        evaluated = (held_out.data.X, held_out.judged.grades, held_out.data.qid)
    with one_line_errors(documents.path):
        ranker.fit(X, y, qid, eval_set=evaluated)
    if not ranker.n_rounds_:
        raise_if_interrupted(ranker)


def _print(ranker: RankBoost, documents: Documents, held_out: Documents | None) -> None:
    facts = [("training", f"{documents}, {ranker.n_features_in_} features")]
    facts += training_facts(ranker)
    if held_out is not None:
        facts.append(("validation", str(held_out)))
        if ranker.n_rounds_:
            best = ranker.history_["validation"][ranker.n_rounds_ - 1]
            facts.append((f"  {ranker.eval_metric}", f"{best:.4f}"))
    print_facts(facts)
