"""``edgewise apply``: rank documents with a saved model."""

from typing import TYPE_CHECKING

import click

from edgewise.cli.common import (
    FILE,
    OutputFile,
    argument,
    command,
    heading,
    load_model,
    one_line_errors,
    print_facts,
)
from edgewise.cli.documents import (
    Roles,
    check_output,
    columns,
    is_table,
    print_test,
    read_for_model,
    score,
)
from edgewise.metrics import ranking_metric

if TYPE_CHECKING:
    from edgewise.estimators import RankBoost

files = heading("Files")


@command("apply")
@argument("model", type=FILE, help="Model saved by `edgewise rank`.")
@argument("file", type=FILE, help="Documents to rank.")
@files(
    "--output",
    "-o",
    type=OutputFile(),
    help="Write the scores here: a TREC run if the name ends in .run or .run.gz, one number a line "
    "otherwise.",
)
@columns
def apply(
    model: str,
    file: str,
    output: str | None,
    target: str | None,
    query: str | None,
    doc: str | None,
) -> None:
    """Rank documents with a saved RankBoost model.

      edgewise apply ranker.edgewise test.txt
          shows how well the model ranks judged documents
      edgewise apply ranker.edgewise new.csv --query query --doc doc -o new.run
          writes the ranking; the documents need no grades

    FILE has the format of the training file: LETOR (SVMlight with qid:), plain or
    gzipped, or a table whose name ends in .csv, .csv.gz or .parquet. Features that
    a LETOR file leaves out are 0. Columns of a table are found by name; columns
    that the model does not use are ignored.

    If there are grades, in a LETOR file or in the column --target, the metrics
    of `edgewise rank --test` are shown.
    """
    roles = Roles(target, query, doc)
    roles.check(file)
    ranker = _ranker(model)
    if is_table(file) and target is None and output is None:
        raise click.UsageError(
            "nothing to do: add --output to write scores, or --target to name the column of "
            f"{file} with grades"
        )
    with one_line_errors(model):
        metric = ranking_metric(ranker.eval_metric)
    documents = read_for_model(file, roles, ranker, model)
    check_output(output, documents)
    scores = score(documents, ranker, output)
    if documents.lists is not None:
        print_test(documents, scores, metric.name)
    else:
        print_facts([("ranked", str(documents))])


def _ranker(path: str) -> "RankBoost":
    from edgewise import AdaBoostMH, RankBoost, RankFusion
    from edgewise.recommend import Recommender

    model = load_model(path)
    if isinstance(model, Recommender):
        instead = f"use `edgewise recommend {path} --user ID`"
    elif isinstance(model, RankFusion):
        instead = f"use `edgewise fuse {path} RUN RUN -o FUSED.run`"
    elif isinstance(model, AdaBoostMH):
        instead = f"use edgewise.load({path!r}).predict(X) in Python"
    else:
        assert isinstance(model, RankBoost)
        return model
    raise click.ClickException(
        f"{path} holds {type(model).__name__}, which does not rank documents: {instead}"
    )
