"""``edgewise predict``: classes, labels or ranks from a saved model."""

from collections import Counter
from typing import Any

import click

from edgewise.cli import common, params, tables
from edgewise.cli.evaluate import evaluate_ranking, predict_classes, print_evaluation
from edgewise.cli.params import RUN, TABLE
from edgewise.cli.ratings import check_output_table
from edgewise.cli.tables import Rows
from edgewise.common.text import pluralize

# More classes have no column of probabilities each.
_MAX_CLASSES = 50


@params.command("predict")
@params.argument("model", "Saved classifier or ranker.", type=params.FILE)
@params.argument("data", "Rows to predict.", type=params.FILE)
@params.output(
    "Write the predictions here: .csv, .csv.gz or .parquet; for rankers also .run or .run.gz (a "
    "TREC run), and any other ending gets one score per line.  [default: print them]",
    params.OutputFile(),
)
@params.escape_formulas
@tables.target_option("Column with grades, to evaluate a ranker.")
@tables.query_option
@tables.doc_option
@params.json
def predict(
    model: str,
    data: str,
    output: str | None,
    escape_formulas: bool,
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
          evaluates a ranker on judged documents

    DATA has the format of the training table. Its columns are found by name, in
    any order; unknown columns are ignored, with a notice, and unseen categories
    are missing values. Columns of ids come first in the output. In LETOR and
    SVMlight files, features that a line leaves out are 0.
    """
    loaded = common.load_model(model, common.TABLE_MODELS, "predict rows")
    ranks = tables.task_of(loaded) == "grades"
    if target and not ranks:
        use = f"use `edgewise evaluate {model} {data}`"
        raise click.UsageError(f"--target is for rankers; to evaluate a classifier, {use}")
    if output is not None and not ranks and not output.lower().endswith(TABLE):
        raise click.UsageError(f"--output must end in {' or '.join(TABLE)}, got {output!r}")
    is_judged = ranks and (bool(target) or not tables.is_table(data))
    rows = tables.read_for_model(data, loaded, model, target, is_judged, query=query, doc=doc)
    _check_output(output, rows)
    with common.one_line_errors(data):
        columns = predict_columns(loaded, rows)
        metrics = evaluate_ranking(loaded, rows, columns["score"]) if is_judged else None
    if output is not None:
        _write(output, rows, columns, escape_formulas)
    if as_json:
        is_result = output is None and metrics is None
        result = {"rows": len(rows), "output": output, "test": metrics}
        common.print_json(columns if is_result else result)
    elif metrics is not None:
        size = tables.describe_queries(rows)
        print_evaluation(metrics, f"{model} on {size} of {data}, expected over ties")
    elif output is None:
        from edgewise.io import iter_csv

        for text in iter_csv(columns, escape_formulas):
            click.echo(text, nl=False)
    elif ranks:
        common.print_facts([("ranked", f"{tables.describe_queries(rows)}, {output}")])
    else:
        counts = f", {_class_shares(columns['predicted'])}" if "predicted" in columns else ""
        common.print_facts([("predicted", f"{pluralize(len(rows), 'rows')}, {output}{counts}")])


def predict_columns(model: Any, rows: Rows) -> dict[str, Any]:
    """Return the predictions for rows as columns of a table, ids first."""
    columns = _predict(model, rows)
    # A column of ids may be named like a prediction.
    ids = {f"id {name}" if name in columns else name: column for name, column in rows.ids.items()}
    return {**ids, **columns}


def _predict(model: Any, rows: Rows) -> dict[str, Any]:
    task = tables.task_of(model)
    if task == "grades":
        scores = model.predict(rows.X)
        ids = {"query": rows.qid, "doc": rows.docs}
        columns = {name: column for name, column in ids.items() if column is not None}
        return {**columns, "score": scores, "rank": model._ranks(scores, rows.qid)}
    probabilities, predicted = predict_classes(model, rows.X)
    classes = [str(name) for name in model.classes_.tolist()]
    if task == "labels":
        columns = {name: predicted[:, k] for k, name in enumerate(classes)}
    else:
        columns = {
            "predicted": model.classes_[predicted],
            "probability": probabilities[range(len(predicted)), predicted],
        }
    if task == "labels" or len(classes) <= _MAX_CLASSES:
        for k, name in enumerate(classes):
            columns[f"probability of {name}"] = probabilities[:, k]
    return columns


def _class_shares(predicted: Any) -> str:
    """Return how often each class is predicted, the most frequent first."""
    counts = Counter(predicted.tolist()).most_common(6)
    listed = ", ".join(f"{name} {count / len(predicted):.0%}" for name, count in counts)
    return listed + (", ..." if sum(n for _, n in counts) < len(predicted) else "")


def _check_output(path: str | None, rows: Rows) -> None:
    """Raise, before any work starts, if predictions for these rows cannot be written."""
    if path is None:
        return
    if not path.lower().endswith(RUN):
        check_output_table(path)
        if rows.n_dropped:
            raise click.UsageError(
                f"--output {path}: {pluralize(rows.n_dropped, 'rows')} of {rows.path} without a "
                "grade would have no score; give them a grade, or write a run (.run)"
            )
        return
    from edgewise.io import check_run

    ids = {"query": rows.qid, "document": rows.docs}
    if missing := [name for name, column in ids.items() if column is None]:
        hint = "add --query and --doc, or " if tables.is_table(rows.path) else ""
        raise click.UsageError(
            f"--output {path}: a run needs {' and '.join(missing)} ids, which {rows.path} lacks: "
            f"{hint}write one score per line, to a name without .run"
        )
    with common.one_line_errors(f"{rows.path} is not a run"):
        check_run(rows.qid, rows.docs)


def _write(path: str, rows: Rows, columns: dict[str, Any], escape_formulas: bool) -> None:
    """Write predictions as a table or a run, by the name of the file, or the scores alone."""
    from edgewise.common.files import replace_file
    from edgewise.io import write_run, write_table

    if path.lower().endswith(TABLE):
        write_table(path, columns, escape_formulas=escape_formulas)
    elif path.lower().endswith(RUN):
        write_run(path, rows.qid, rows.docs, columns["score"])
    else:
        with replace_file(path) as stream:
            stream.writelines(f"{score!r}\n".encode() for score in columns["score"].tolist())
