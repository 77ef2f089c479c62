"""``edgewise apply``: rank documents with a model that ``edgewise rank`` saved."""

import argparse
from typing import TYPE_CHECKING, Any

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.info import loaded
from edgewise.commands.paths import Named, check_inputs, check_outputs
from edgewise.commands.screen import say_facts
from edgewise.commands.testing import (
    add_columns,
    add_scores,
    check_scores,
    refuse_columns,
    say_test,
    scores_of,
    write_scores,
)

if TYPE_CHECKING:
    from edgewise.estimators import RankBoost

_DESCRIPTION = """\
Rank documents with a saved RankBoost model.

  edgewise apply MODEL FILE
        shows how well the model ranks judged documents
  edgewise apply MODEL FILE --scores OUT.run
        writes the ranking, too; the documents of a table need no grades then

FILE is of the kind that the model was trained on. It may be one of LETOR (SVMlight with qid:),
plain or gzipped; features that it leaves out are 0. Or it is a table whose name ends in .csv,
.csv.gz or .parquet: columns are taken by their names, in any order, and those that the model does
not know are passed over.

Where there are grades, those of LETOR files or of the column --target, metrics are shown as
`edgewise rank --test` does, with the one that the model was trained with."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "apply",
        help="rank documents with a saved model, and test it",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = parser.add_argument_group("files")
    files.add_argument("model", metavar="MODEL", help="a model that `edgewise rank` saved")
    files.add_argument("file", metavar="FILE", help="documents to rank")
    add_scores(files, "the documents")
    add_columns(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Rank the documents, write what was asked for, and tell how well it went."""
    _check(options)
    from edgewise.commands.graded import Graded, Roles, read_for_model
    from edgewise.metrics import ranking_metric

    model = _ranker_of(options.model)
    _check_use(options)
    with in_one_line(options.model):
        metric = ranking_metric(model.eval_metric)
    roles = Roles(options.target, options.query, options.doc)
    documents = read_for_model(options.file, roles, model, options.model)
    if options.scores is not None:
        check_scores(options.scores, documents)
    scores = scores_of(documents, model)
    if options.scores is not None:
        write_scores(options.scores, documents, scores)
    if isinstance(documents, Graded):
        say_test(documents, scores, metric.name)
    else:
        say_facts([("ranked", str(documents))])


def _check(options: argparse.Namespace) -> None:
    """Raise if options don't go together, or files are not as they should be."""
    from edgewise.commands.graded import is_table

    inputs: list[Named] = [("MODEL", options.model), ("FILE", options.file)]
    check_inputs(inputs)
    check_outputs([("--scores", options.scores)], inputs, [])
    if not is_table(options.file):
        refuse_columns(options)


def _check_use(options: argparse.Namespace) -> None:
    """Raise if nothing is to be done with the documents; a model of another kind says so first."""
    from edgewise.commands.graded import is_table

    if is_table(options.file) and options.target is None and options.scores is None:
        raise CommandError(
            "there is nothing to do: --scores says where to write scores, and --target names the "
            f"column of {options.file} that holds grades"
        )


def _ranker_of(path: str) -> "RankBoost":
    from edgewise.estimators import AdaBoostMH, RankFusion
    from edgewise.recommend import Recommender

    model = loaded(path)
    if isinstance(model, Recommender):
        raise CommandError(
            f"{path} holds a recommender, {type(model).__name__}: "
            f"use edgewise recommend {path} --user ID"
        )
    if isinstance(model, RankFusion):
        raise CommandError(
            f"{path} holds a RankFusion, which fuses runs: use edgewise fuse RUN RUN --model {path}"
        )
    if isinstance(model, AdaBoostMH):
        raise CommandError(
            f"{path} holds an AdaBoostMH, which classifies and does not rank: "
            f"use edgewise.load({path!r}).predict(X) in Python"
        )
    return model
