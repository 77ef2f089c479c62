"""``edgewise apply``: rank documents with a saved model."""

import click

from edgewise.cli import common, documents

files = common.heading("Files")


@common.command("apply")
@common.argument("model", type=common.FILE, help="Model saved by `edgewise rank`.")
@common.argument("file", type=common.FILE, help="Documents to rank.")
@files(
    "--output",
    "-o",
    type=common.OutputFile(),
    help="Write the scores here: a TREC run if the name ends in .run or .run.gz, one score per "
    "line otherwise.",
)
@documents.columns
def apply(model: str, file: str, output: str | None, **roles: str | None) -> None:
    """Rank documents with a saved RankBoost model.

      edgewise apply ranker.edgewise test.txt
          shows how well the model ranks judged documents
      edgewise apply ranker.edgewise new.csv --query query --doc doc -o new.run
          writes the ranking; the documents need no grades

    FILE has the format of the training file: LETOR (SVMlight with qid:), plain or
    gzipped, or a table whose name ends in .csv, .csv.gz or .parquet. Features that
    a LETOR file leaves out are 0. Columns of a table are found by name; columns
    that the model does not use are ignored.

    If the documents have grades, in a LETOR file or in the column --target, the
    metrics of `edgewise rank --test` are shown.
    """
    from edgewise.metrics.registry import first_metric, ranking_metric

    documents.check_roles(roles, file)
    ranker = common.load_model(model, "RankBoost", "rank documents")
    if documents.is_table(file) and roles["target"] is None and output is None:
        raise click.UsageError(
            "nothing to do: add --output to write scores, or --target to name the column of "
            f"{file} with grades"
        )
    with common.one_line_errors(model):
        metric = ranking_metric(first_metric(ranker.eval_metric))
    ranked = documents.read_for_model(file, roles, ranker, model)
    documents.check_output(output, ranked)
    scores = documents.score(ranked, ranker, output)
    if ranked.lists is not None:
        documents.print_test(ranked, scores, metric.name)
    else:
        common.print_facts([("ranked", str(ranked))])
