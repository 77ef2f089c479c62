"""``edgewise predict``: classes, labels or ranks from a saved model."""

from collections import Counter
from typing import Any

import rich_click as click

from edgewise.cli import common, documents, tables
from edgewise.cli.ratings import PARQUET, check_libraries, csv_text, write_columns
from edgewise.common.text import counted

# Classes that have a column of probabilities each.
_MOST_CLASSES = 50

files, option = common.heading("Files"), common.heading("Options")


@common.command("predict")
@click.argument("model", type=common.FILE, help="Model saved by `edgewise train` or `rank`.")
@click.argument("data", type=common.FILE, help="Rows to predict.")
@files(
    "--output",
    "-o",
    type=common.OutputFile(),
    help="Write the predictions here: .csv, .csv.gz or .parquet; of a ranker a TREC run if the "
    "name ends in .run or .run.gz, and else one score per line.  [default: print them]",
)
@tables.target_option("Column with grades, to test a ranker.")
@tables.query_option
@tables.doc_option
@common.json_option(option)
def predict(
    model: str,
    data: str,
    output: str | None,
    target: tuple[str, ...],
    query: str | None,
    doc: str | None,
    as_json: bool,
) -> None:
    """Predict the classes, labels or ranks of rows with a saved model.

      edgewise predict people.edgewise new.csv -o predicted.csv
          writes the class of each row and the probabilities of all classes
      edgewise predict ranker.edgewise new.csv --query query --doc doc -o new.run
          writes a ranking; the rows need no grades
      edgewise predict ranker.edgewise test.txt
          shows how well a ranker ranks judged documents

    DATA has the format of the training table. Its columns are found by name, in
    any order; those that the model does not know are ignored, with a notice. A
    category that training did not have counts as missing. Columns of ids come
    first in the output. In LETOR and SVMlight files, features that a line leaves
    out are 0.
    """
    loaded = tables.load(model, "predict rows")
    if tables.task_of(loaded) == "grades" and loaded.schema_ is None:
        _rank(loaded, model, data, output, as_json, target, query, doc)
        return
    if target:
        raise click.UsageError(
            f"--target is for rankers; to test a classifier, use `edgewise evaluate {model} {data}`"
        )
    is_run = output is not None and output.endswith(common.RUN)
    if is_run and tables.task_of(loaded) != "grades":
        raise click.UsageError(f"--output {output}: {model} does not rank, and makes no run")
    if not is_run:
        if output is not None and not output.lower().endswith(common.TABLE):
            endings = " or ".join(common.TABLE)
            raise click.UsageError(f"--output must end in {endings}, got {output!r}")
        check_libraries(output)
    rows = tables.read_for(data, loaded, model, judged=False, query=query, doc=doc)
    with common.one_line_errors(data):
        found = predictions(loaded, rows)
    if is_run:
        assert output is not None
        _write_run(output, rows, found["score"])
    elif output is not None:
        write_columns(output, found)
    if as_json:
        common.print_json({"rows": len(rows), "output": output} if output else found)
    elif output is None:
        for text in csv_text(found):
            click.echo(text, nl=False)
    else:
        what = f", {_shares(found['predicted'])}" if "predicted" in found else ""
        common.print_facts([("predicted", f"{counted(len(rows), 'rows')}, {output}{what}")])


def predictions(model: Any, rows: tables.Rows) -> dict[str, Any]:
    """Return what a model predicts for rows, as columns of a table, ids first."""
    made = _predictions(model, rows)
    # A column of ids may be called as one of ours.
    return {f"id {name}" if name in made else name: ids for name, ids in rows.ids.items()} | made


def _predictions(model: Any, rows: tables.Rows) -> dict[str, Any]:
    found: dict[str, Any] = {}
    task = tables.task_of(model)
    if task == "grades":
        scores = model.predict(rows.X)
        ids = {"query": rows.qid, "doc": rows.docs}
        found |= {name: part for name, part in ids.items() if part is not None}
        return {**found, "score": scores, "rank": model._ranks(scores, rows.qid)}
    chances, best = tables.answers(model, rows.X)
    classes = [str(one) for one in model.classes_.tolist()]
    if task == "classes":
        found["predicted"] = model.classes_[best]
        found["probability"] = chances[range(len(best)), best]
        shown = classes if len(classes) <= _MOST_CLASSES else []
    else:
        for k, name in enumerate(classes):
            found[name] = best[:, k]
        shown = classes
    for k, name in enumerate(shown):
        found[f"probability of {name}"] = chances[:, k]
    return found


def _shares(predicted: Any) -> str:
    """Return how often each class is predicted, the most frequent first."""
    counts = Counter(predicted.tolist()).most_common(6)
    listed = ", ".join(f"{name} {count / len(predicted):.0%}" for name, count in counts)
    return listed + (", ..." if sum(n for _, n in counts) < len(predicted) else "")


def _write_run(path: str, rows: tables.Rows, scores: Any) -> None:
    from edgewise.io import check_run, write_run

    if rows.qid is None or rows.docs is None:
        raise click.UsageError(
            f"--output {path}: a run needs query ids and document ids: add --query and --doc"
        )
    with common.one_line_errors(f"{rows.path} does not make a run"):
        check_run(rows.qid, rows.docs)
    write_run(path, rows.qid, rows.docs, scores)


def _rank(
    ranker: Any,
    model: str,
    data: str,
    output: str | None,
    as_json: bool,
    target: tuple[str, ...],
    query: str | None,
    doc: str | None,
) -> None:
    """Rank documents with a model that has no schema: one of `edgewise rank`."""
    if len(target) > 1:
        raise click.UsageError("--target names one column with grades")
    if output is not None and output.lower().endswith(PARQUET):
        raise click.UsageError(f"--output {output}: a ranker's scores go to a run or a text file")
    roles = {"target": target[0] if target else None, "query": query, "doc": doc}
    documents.check_roles(roles, data)
    if documents.is_table(data) and not target and output is None:
        raise click.UsageError(
            "nothing to do: add --output to write scores, or --target to name the column of "
            f"{data} with grades"
        )
    metric = documents.metric_of(ranker)
    ranked = documents.read_for_model(data, roles, ranker, model)
    documents.check_output(output, ranked)
    scores = documents.score(ranked, ranker, output)
    if as_json:
        found = {} if ranked.lists is None else documents.test_values(ranked.lists, scores, metric)
        common.print_json({"rows": len(ranked.data), "output": output, "test": found})
    elif ranked.lists is not None:
        documents.print_test(ranked, scores, metric)
    else:
        common.print_facts([("ranked", str(ranked))])
