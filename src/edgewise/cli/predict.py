"""``edgewise predict``: classes, labels or ranks from a saved model."""

from collections import Counter
from typing import Any

import rich_click as click

from edgewise.cli import common, documents, tables
from edgewise.cli.ratings import check_libraries, csv_text, write_columns
from edgewise.common.text import pluralize

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
    help="Write the predictions here: .csv, .csv.gz or .parquet; for rankers also .run or .run.gz "
    "(a TREC run), and any other ending gets one score per line.  [default: print them]",
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
    if tables.task_of(loaded) == "grades":
        roles = {"target": target[0] if target else None, "query": query, "doc": doc}
        if len(target) > 1:
            raise click.UsageError("--target names one column with grades")
        _rank(loaded, model, data, output, as_json, roles)
        return
    if target:
        raise click.UsageError(
            f"--target is for rankers; to test a classifier, use `edgewise evaluate {model} {data}`"
        )
    if output is not None and output.lower().endswith(common.RUN):
        raise click.UsageError(f"--output {output}: {model} does not rank, and makes no run")
    if output is not None and not output.lower().endswith(common.TABLE):
        endings = " or ".join(common.TABLE)
        raise click.UsageError(f"--output must end in {endings}, got {output!r}")
    check_libraries(output)
    rows = tables.read_for(data, loaded, model, judged=False, query=query, doc=doc)
    with common.one_line_errors(data):
        found = predictions(loaded, rows)
    if output is not None:
        write_columns(output, found)
    if as_json:
        common.print_json({"rows": len(rows), "output": output} if output else found)
    elif output is None:
        _print_columns(found)
    else:
        what = f", {_shares(found['predicted'])}" if "predicted" in found else ""
        common.print_facts([("predicted", f"{pluralize(len(rows), 'rows')}, {output}{what}")])


def _print_columns(found: dict[str, Any]) -> None:
    for text in csv_text(found):
        click.echo(text, nl=False)


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


def _rank(
    ranker: Any,
    model: str,
    data: str,
    output: str | None,
    as_json: bool,
    roles: documents.Roles,
) -> None:
    """Rank documents, and say how well where their grades are known."""
    documents.check_roles(roles, data)
    metric = tables.metric_of(ranker)
    ranked = documents.read_for_model(data, roles, ranker, model)
    rows = ranked.rows
    documents.check_output(output, rows)
    with common.one_line_errors(data):
        found = predictions(ranker, rows)
    scores = found["score"]
    if output is not None:
        documents.write_scores(output, rows, found)
    if as_json and (output is not None or ranked.lists is not None):
        test = None if ranked.lists is None else tables.test_values(ranked.lists, scores, metric)
        common.print_json({"rows": len(rows), "output": output, "test": test})
    elif as_json:
        common.print_json(found)
    elif ranked.lists is not None:
        documents.print_test(ranked, scores, metric)
    elif output is None:
        _print_columns(found)
    else:
        common.print_facts([("ranked", f"{ranked}, {output}")])
