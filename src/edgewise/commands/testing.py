"""What the commands that rank with a model have in common: options, scores, and the test table."""

import argparse
from typing import TYPE_CHECKING, Any

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.paths import RUN
from edgewise.commands.screen import say_facts, say_table

if TYPE_CHECKING:
    from edgewise.commands.graded import Documents, Graded
    from edgewise.common.dtypes import Reals
    from edgewise.estimators import RankBoost

METRICS = ("map", "ndcg@5", "ndcg@10", "mrr", "precision@10")
"""What is shown of graded documents, besides the metric that was asked for."""


def add_scores(group: Any, whose: str) -> None:
    """Add the option that says where scores go; `whose` they are is told in its help."""
    group.add_argument(
        "--scores",
        metavar="OUT",
        help=f"where to write the scores of {whose}: a TREC run if it ends in .run or "
        ".run.gz, otherwise one number a line, in the order of the file",
    )


def add_columns(parser: Any) -> None:
    """Add the options that name the columns of tables."""
    columns = parser.add_argument_group("columns of tables")
    columns.add_argument("--target", metavar="COL", help="the column of grades")
    columns.add_argument("--query", metavar="COL", help="that of queries (default: one query)")
    columns.add_argument("--doc", metavar="COL", help="that of names of documents, for runs")


def refuse_columns(options: argparse.Namespace) -> None:
    """Raise if columns are named: the files are no tables.

    Raises
    ------
    CommandError
        If one is.
    """
    for name in ("target", "query", "doc"):
        if getattr(options, name) is not None:
            raise CommandError(f"--{name} is for tables (.csv, .csv.gz, .parquet)")


def check_scores(path: str, documents: "Documents") -> None:
    """Raise, before any work is done, if the scores of the documents cannot be written so.

    Raises
    ------
    CommandError
        If `path` is that of a run, and the documents don't make one.
    """
    if not path.endswith(RUN):
        return
    data = documents.data
    if data.docs is None or data.qid is None:
        raise CommandError(
            f"--scores {path}: a run names queries and documents, and {documents.path} does not; "
            "another ending than .run writes one number a line"
        )
    from edgewise.commands.runs import rehearse

    with in_one_line(f"{documents.path} does not make a run"):
        rehearse(data.qid, data.docs)


def scores_of(documents: "Documents", model: "RankBoost") -> "Reals":
    """Return the scores that a model gives to documents.

    Raises
    ------
    CommandError
        If their columns are not of the kinds that the model was trained on.
    """
    with in_one_line(documents.path):
        return model.predict(documents.data.X)


def write_scores(path: str, documents: "Documents", scores: "Reals") -> None:
    """Write the scores of documents: a run or one number a line, as the name says."""
    from edgewise.common.files import replacing
    from edgewise.io import write_run

    data = documents.data
    if path.endswith(RUN):
        write_run(path, data.qid, data.docs, scores)  # type: ignore[arg-type]
        return
    with replacing(path) as stream:
        stream.writelines(f"{score!r}\n".encode() for score in scores.tolist())


def say_test(documents: "Graded", scores: "Reals", asked: str) -> None:
    """Print how well scores rank documents, by the usual metrics and by the one asked for."""
    say_facts([("test", f"{documents}; expected over ties:")])
    names = list(dict.fromkeys((*METRICS, asked)))
    values = [_value(name, documents, scores) for name in names]
    say_table([["", *names], ["", *values]])


def _value(name: str, documents: "Graded", scores: "Reals") -> str:
    from edgewise.metrics import ranking_metric

    metric = ranking_metric(name)
    try:
        return f"{metric(documents.lists, scores):.4f}"
    except ValueError:
        # Gains of negative grades are not defined.
        return "-"
