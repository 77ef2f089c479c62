"""``edgewise rank``: train RankBoost on a file, and see how well it ranks."""

import argparse
from typing import TYPE_CHECKING, Any

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.options import count
from edgewise.commands.paths import Named, check_inputs, check_outputs
from edgewise.commands.screen import say, say_facts, say_rules
from edgewise.commands.testing import (
    add_columns,
    add_scores,
    check_scores,
    refuse_columns,
    say_test,
    scores_of,
    write_scores,
)
from edgewise.commands.training import (
    add_training,
    finished,
    losses_of,
    on_a_terminal,
    raise_if_interrupted,
    rounds_of,
)

if TYPE_CHECKING:
    from edgewise.commands.graded import Graded
    from edgewise.estimators import RankBoost
    from edgewise.metrics import RankingMetric

LEARNERS = ("stump", "product", "tree", "feature")
CRITERIA = ("edge", "energy")
MONOTONE = ("learn", "increasing", "none")
PAIR_WEIGHTS = ("equal", "difference")
QUERY_WEIGHTS = ("pairs", "root", "equal")

_PATIENCE = 100
_TOP_RULES = 5
_TOP_TREES = 2
_DESCRIPTION = """\
Train RankBoost on judged documents and show how well it ranks.

Files are those of LETOR (SVMlight with qid:), plain or gzipped, or tables whose names end in .csv,
.csv.gz or .parquet; of tables, --target names the column of grades and --query that of queries.

With --validate, training stops when the metric has not improved there for --early-stopping-rounds
rounds, and
the rounds up to the best are kept. Metrics are expectations over the order of documents with equal
scores; a query without a relevant document, one with a grade above 0, counts 0.

Ctrl-C ends the training early: the rounds so far are shown and saved, and the exit code is 130."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "rank",
        help="train RankBoost on judged documents, and test it",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = parser.add_argument_group("files")
    files.add_argument("train", metavar="TRAIN", help="documents to train on")
    files.add_argument("--validate", metavar="FILE", help="documents to choose the rounds on")
    files.add_argument("--test", metavar="FILE", help="documents to test on")
    files.add_argument("--model", metavar="OUT.edgewise", help="where to save the model")
    add_scores(files, "the test documents")
    add_columns(parser)
    training = parser.add_argument_group("training")
    add_training(training)
    training.add_argument(
        "--metric", metavar="NAME", default="map", help="what to validate by (default: map)"
    )
    training.add_argument(
        "--early-stopping-rounds",
        metavar="N",
        type=count,
        help=f"rounds without a better value to bear (default with --validate: {_PATIENCE})",
    )
    training.add_argument(
        "--learner", choices=LEARNERS, default="stump", help="family of rules (default: stump)"
    )
    training.add_argument(
        "--criterion",
        choices=CRITERIA,
        default="edge",
        help="what rules are chosen by (default: edge)",
    )
    training.add_argument(
        "--monotonic-cst",
        choices=MONOTONE,
        default="learn",
        help="how columns may run: one way that is learned, upwards, or anyhow (default: learn)",
    )
    training.add_argument(
        "--pair-weight",
        choices=PAIR_WEIGHTS,
        default="difference",
        help="what a pair counts: 1 or the difference of its grades (default: difference)",
    )
    training.add_argument(
        "--query-weight",
        choices=QUERY_WEIGHTS,
        default="root",
        help="what a query's pairs count: their number, its root or 1 (default: root)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Train, save, and tell what came of it."""
    _check(options)
    from edgewise.commands.graded import Roles, read_graded

    metric = _metric(options.metric)
    paths = [path for _, path in _inputs(options) if path is not None]
    roles = Roles(options.target, options.query, options.doc)
    files = dict(zip(paths, read_graded(paths, roles), strict=True))
    validate, test = files.get(options.validate), files.get(options.test)
    _check_metric(metric, validate)
    if options.scores is not None and test is not None:
        check_scores(options.scores, test)
    model = _trained(options, files[options.train], validate)
    if options.model is not None:
        model.save(options.model)
    tested = None if test is None else (test, scores_of(test, model))
    if options.scores is not None and tested is not None:
        write_scores(options.scores, *tested)
    _tell(model, files[options.train], validate)
    if tested is not None:
        say_test(*tested, metric.name)
    say_rules(model, _TOP_TREES if options.learner == "tree" else _TOP_RULES)
    if not hasattr(model, "feature_names_in_") and model.n_rounds_:
        say("  (x0 is feature 1 of the files, x1 is feature 2, and so on)")
    raise_if_interrupted(model)


def _inputs(options: argparse.Namespace) -> list[Named]:
    return [("TRAIN", options.train), ("--validate", options.validate), ("--test", options.test)]


def _check(options: argparse.Namespace) -> None:
    """Raise if options don't go together, or files are not as they should be."""
    if options.early_stopping_rounds is not None and options.validate is None:
        raise CommandError("--early-stopping-rounds needs a file to validate on: give --validate")
    if options.scores is not None and options.test is None:
        raise CommandError("--scores are those of the test documents: give --test")
    if options.criterion == "energy" and options.learner != "stump":
        raise CommandError("--criterion energy goes with --learner stump only")
    if options.monotonic_cst == "increasing" and options.learner != "stump":
        raise CommandError("--monotonic-cst increasing goes with --learner stump only")
    inputs = _inputs(options)
    check_inputs(inputs)
    check_outputs([("--model", options.model), ("--scores", options.scores)], inputs, ["--model"])
    _check_kinds(options)


def _check_kinds(options: argparse.Namespace) -> None:
    from edgewise.commands.graded import is_table

    tables = is_table(options.train)
    for name, path in _inputs(options):
        if path is not None and is_table(path) != tables:
            kinds = ("a LETOR file", "a table")
            raise CommandError(
                f"{name} {path} is {kinds[is_table(path)]} and TRAIN is {kinds[tables]}: "
                "all files must be of one kind"
            )
    if tables and options.target is None:
        raise CommandError(f"--target must name the column of {options.train} that holds grades")
    if not tables:
        refuse_columns(options)


def _metric(name: str) -> "RankingMetric":
    from edgewise.metrics import ranking_metric

    with in_one_line("--metric"):
        return ranking_metric(name)


def _check_metric(metric: "RankingMetric", validate: "Graded | None") -> None:
    """Raise now, rather than in the first round, if the grades are none for the metric."""
    if validate is not None:
        with in_one_line(validate.path):
            metric(validate.lists, validate.lists.grades)


def _trained(
    options: argparse.Namespace, train: "Graded", validate: "Graded | None"
) -> "RankBoost":
    from edgewise.estimators import RankBoost

    held_out = None
    if validate is not None:
        held_out = (validate.data.X, validate.lists.grades, validate.data.qid)
    model = RankBoost(
        options.learner,
        n_rounds=options.rounds,
        criterion=options.criterion,
        monotonic_cst=options.monotonic_cst,
        pair_weight=options.pair_weight,
        query_weight=options.query_weight,
        learning_rate=options.rate,
        early_stopping_rounds=None
        if validate is None
        else options.early_stopping_rounds or _PATIENCE,
        eval_metric=options.metric,
        n_jobs=options.jobs,
        random_state=0,
        verbose=on_a_terminal(),
    )
    with in_one_line(train.path):
        model.fit(train.data.X, train.lists.grades, train.data.qid, eval_set=held_out)
    return finished(model)


def _tell(model: "RankBoost", train: "Graded", validate: "Graded | None") -> None:
    facts = [("training", f"{train}, {model.n_features_in_} features"), rounds_of(model)]
    facts += losses_of(model)
    if validate is not None:
        facts.append(("validation", str(validate)))
        if model.n_rounds_:
            best = model.history_["validation"][model.n_rounds_ - 1]
            facts.append((f"  {model.eval_metric}", f"{best:.4f}"))
    say_facts(facts)
