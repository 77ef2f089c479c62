"""``edgewise train``: from a table to a model that is tested, explained and saved."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import common, fitting, params, tables
from edgewise.cli.common import stem
from edgewise.cli.evaluate import evaluate_rows, print_evaluation
from edgewise.cli.tables import Rows
from edgewise.common.choices import RANK_LEARNERS, TASKS
from edgewise.common.text import one_line, pluralize

if TYPE_CHECKING:
    from edgewise import CrossValidation
    from edgewise.cli.effects import Effects
    from edgewise.io import Schema

_FORMATS = ".csv, .tsv, .parquet, .feather, .arrow, .arff, or SVMlight (.txt, .svm, .svmlight, ...)"
_SVMLIGHT = (".txt", ".svm", ".svmlight", ".libsvm", ".letor", ".dat")
_TOP_RULES, _TOP_TERMS, _MAX_COLUMNS_SHOWN, _MAX_CLASSES_SHOWN = 5, 10, 60, 6

file_option, training_option = (
    partial(params.option, group=group) for group in ("Files", "Training")
)


@params.command("train")
@params.argument("data", "Table to train on.", type=params.FILE)
@params.model("Save the model here.  [default: the name of DATA with .edgewise]")
@file_option("--force", is_flag=True, help="Replace a model of that name.")
@file_option("--validate", type=params.FILE, help="Table to choose the number of rounds on.")
@file_option("--test", type=params.FILE, help="Table to test on, instead of held-out rows.")
@tables.target_option("Target column; repeat it for multi-label (0/1 columns).")
@tables.query_option
@tables.weight_option
@tables.doc_option
@tables.kind_options
@training_option(
    "--task",
    choices=TASKS,
    default=None,
    help="Classes, labels (0/1) or grades to rank by.  [default: inferred from the target]",
)
@training_option(
    "--hold-out",
    type=params.Real(0, 1, max_open=True),
    default=fitting.TEST_FRACTION,
    help="Fraction of the rows to test on; 0 trains on all.",
)
@training_option(
    "--folds",
    type=click.IntRange(min=2),
    help="Also cross-validate a ranker, in N folds of whole queries.",
)
@training_option(
    "--time-limit",
    type=params.Real(0, min_open=True),
    metavar="SECONDS",
    help="Stop training after this many seconds.",
)
@training_option("--tune", is_flag=True, help="Compare a few settings on held-out training rows.")
@training_option(
    "--learner", choices=RANK_LEARNERS, default=None, help="Rules to boost.  [default: auto]"
)
@training_option(
    "--max-terms", type=params.COUNT, help="Maximum number of terms of --learner additive."
)
@training_option(
    "--max-pairs",
    type=click.IntRange(min=0),
    help="Maximum number of pairs among them.  [default: chosen]",
)
@training_option(
    "--rounds",
    "n_rounds",
    type=params.COUNT,
    help="Number of boosting rounds.  [default: chosen on held-out rows]",
)
@training_option(
    "--monotonic",
    multiple=True,
    metavar="COLUMN=+1",
    help="Columns that may only raise (+1) or lower (-1) the score.",
)
@training_option("--no-interactions", is_flag=True, help="Test a single column in each rule.")
@params.settings("Parameters of AdaBoostMH or RankBoost, named as in Python.")
@training_option(
    "--device",
    choices=("cpu", "cuda", "auto"),
    help="Where to train: cuda is an NVIDIA GPU. The model is the same.",
)
@params.seed
@params.threads
@params.json
def train(**options: Any) -> None:
    """Train a classifier or ranker on a table, test it and save it.

      edgewise train people.csv --target income
          learns to predict the classes in the column income
      edgewise train pages.parquet --target grade --query query
          learns to rank the rows of each query
      edgewise train train.txt --validate vali.txt --test test.txt
          learns to rank the documents of LETOR files
      edgewise train songs.arff --target happy --target sad --time-limit 60
          learns several labels, in a minute
      edgewise train people.csv --target income --learner additive --max-terms 10
          learns a sum of ten curves and tables that can be looked at
      edgewise train pages.csv --target grade --query query --set preset=paper
          trains RankBoost as published, by a parameter named as in Python

    DATA is a .csv, .tsv or .arff file, plain or gzipped, a .parquet, .feather or
    .arrow file, or SVMlight/LETOR (.txt, .svm, ...), whose target comes first in
    each line; lines with qid: are ranked. The kinds of columns are inferred;
    empty cells, NA, ? and null are missing values. Ids and constant columns are
    left out.

    A fifth of the rows is held out to test the model, unless --test names a table
    to test on. With --validate, training stops early and keeps the best number of
    rounds. Ctrl-C ends the training: the rounds so far are tested and saved, and
    the exit code is 130.
    """
    args = SimpleNamespace(**options)
    args.model = args.model or f"{stem(args.data)}{params.MODEL}"
    _check(args)
    args.parameters = fitting.read_settings(args)
    source = _read_source(args)
    task, rows, test = source.task, source.rows, source.test
    _check_targets(args, task, rows)
    if task == "grades" and rows.qid is None:
        tables.warn_of_one_list(rows)
    if test is None:
        fraction = min(args.hold_out, fitting.MAX_TEST_ROWS / len(rows))
        rows, test = fitting.hold_out(rows, task, fraction, args.random_state)
    fitting.check(args, task, rows, source.validation)
    if not args.as_json:
        with common.ignore_broken_pipe():
            _print_columns(args, source)
            _print_plan(task, rows, test, args)
    folds = None if args.folds is None else fitting.cross_validate(args, rows)
    began = time.perf_counter()
    fit = fitting.fit(args, task, rows, source.validation)
    seconds, model = time.perf_counter() - began, fit.model
    if fit.interrupted and not model.n_rounds_:
        raise KeyboardInterrupt
    model.schema_ = source.schema
    model.save(args.model)
    from edgewise.cli.effects import important_columns

    outcome = Outcome(
        args=args,
        source=source,
        fit=fit,
        seconds=seconds,
        n_rows=len(rows),
        folds=folds,
        metrics=None if test is None else evaluate_rows(model, test),
        columns=important_columns(model, rows.X if test is None else test.X),
    )
    if args.as_json:
        common.print_json(outcome.to_json())
    else:
        outcome.print()
    if fit.interrupted:
        raise KeyboardInterrupt


def _check(args: SimpleNamespace) -> None:
    """Raise if options do not go together, or the model cannot be saved."""
    if not params.explicit_options("model") and Path(args.model).exists() and not args.force:
        raise click.UsageError(
            f"{args.model} exists: --force replaces it, --model NAME{params.MODEL} saves elsewhere"
        )
    params.OutputFile(params.MODEL).convert(args.model, None, None)
    if args.task == "labels" and len(args.target) < 2:
        raise click.UsageError("--task labels needs a --target for each of the labels")
    if args.test is not None:
        params.refuse_options(["hold_out"], "cannot be combined with --test")
    if args.tune:
        tuned = ("learner", "n_rounds", "settings", "validate")
        params.refuse_options(tuned, "cannot be combined with --tune, which chooses the settings")
    is_table = tables.is_table(args.data)
    for option, path in (("--validate", args.validate), ("--test", args.test)):
        if path is not None and tables.is_table(path) != is_table:
            kinds = ("SVMlight", "a table")
            raise click.UsageError(
                f"{option} {path} is {kinds[not is_table]}, but {args.data} is {kinds[is_table]}"
            )
    if is_table:
        return
    if not args.data.lower().removesuffix(".gz").endswith(_SVMLIGHT):
        raise click.UsageError(f"{args.data} must be one of {_FORMATS}")
    names = ("target", "query", "weight", "doc", "drop", "categorical", "numeric")
    params.refuse_options(names, f"is for tables, {args.data} is SVMlight")


# Rows


@dataclass
class Source:
    """The contents of the files: schema and columns of a table, rows to train and test on."""

    rows: Rows
    validation: Rows | None
    test: Rows | None
    schema: "Schema | None" = None
    columns: Sequence[str] = ()

    @property
    def task(self) -> str:
        """The task of the model: classes, labels or grades."""
        if self.schema is not None:
            return self.schema.task
        return "grades" if self.rows.classes is None else "classes"


def _read_source(args: SimpleNamespace) -> Source:
    """Read the files; validation and test rows have the classes of the training rows."""
    paths = (args.data, args.validate, args.test)
    if tables.is_table(args.data):
        schema, columns, rows = _read_table(args)
        validation, test = (path and tables.read_like(path, schema) for path in paths[1:])
    else:
        schema, columns = None, []
        names = [path for path in paths if path is not None]
        by_path = dict(zip(names, tables.read_svmlight(names, args.task), strict=True))
        rows, validation, test = (path and by_path[path] for path in paths)
    if rows.classes is not None:
        validation, test = (
            other and tables.align_classes(rows.classes, other) for other in (validation, test)
        )
    return Source(rows, validation, test, schema, columns)


def _read_table(args: SimpleNamespace) -> "tuple[Schema, list[str], Rows]":
    """Read the training table, and infer the kinds of its columns."""
    from edgewise.io import Schema

    id_columns = [name for name in (args.query, args.doc) if name is not None]
    raw = tables.read_raw(args.data, (*args.categorical, *id_columns))
    if not args.target:
        listed = ", ".join(map(one_line, raw.columns))
        raise click.UsageError(f"--target must name the target column of {args.data}: {listed}")
    if args.query is None:
        others = [name for name in raw.columns if name not in args.target]
        tables.warn_of_query_column(args.data, others)
    names = ("query", "doc", "weight", "task", "drop", "categorical", "numeric")
    with common.one_line_errors(args.data):
        schema = Schema.fit(raw, args.target, **{name: getattr(args, name) for name in names})
    return schema, list(raw.columns), tables.rows_of_table(args.data, raw, schema)


def _check_targets(args: SimpleNamespace, task: str, rows: Rows) -> None:
    """Raise if there is nothing to learn, or the options do not go with the task."""
    import numpy as np

    target = " ".join(args.target) or "the target"
    if task == "labels":
        for name, column in zip(args.target, rows.y.T, strict=True):
            if column.min() == column.max():
                raise click.ClickException(f"{args.data}: {name!r} is {column[0]} in every row")
    else:
        values = np.unique(rows.y)
        if len(values) < 2:
            kind = "class" if task == "classes" else "grade"
            value = values[0] if rows.classes is None else rows.classes[values[0]]
            raise click.ClickException(f"{args.data}: {target!r} has a single {kind}, {value}")
    if task != "grades" and args.learner == "feature":
        raise click.UsageError("--learner feature is for ranking")
    if task != "grades":
        params.refuse_options(["folds"], "is for ranking")


# Output


def _print_columns(args: SimpleNamespace, source: Source) -> None:
    """Print the inferred kinds and roles of columns, and the task."""
    import numpy as np

    rows, schema = source.rows, source.schema
    n_columns = len(source.columns) or rows.X.shape[1]
    size = f"{pluralize(len(rows), 'rows')}, {pluralize(n_columns, 'columns')}"
    click.secho(f"{one_line(args.data)}: {size}", bold=True)
    if schema is not None:
        roles = {schema.query: "query", schema.doc: "document", schema.weight: "weight"}
        n_targets = 2 if source.task == "labels" else len(np.unique(rows.y))
        features, others = [], []
        for name in source.columns:
            column = next((column for column in schema.columns if column.name == name), None)
            if column is not None:
                missing = f"{column.n_missing:,}" if column.n_missing else ""
                features.append([name, column.kind, f"{column.n_distinct:,}", missing, column.use])
            elif name in schema.target:
                others.append([name, "target", f"{n_targets}", "", "target"])
            else:
                others.append([name, roles[name], "", "", roles[name]])
        shown, hidden = features[:_MAX_COLUMNS_SHOWN], features[_MAX_COLUMNS_SHOWN:]
        heading = ["column", "kind", "distinct", "missing", "role"]
        common.print_table([heading, *shown, *others], left=(0, 1, 4))
        if hidden:
            kinds = Counter(line[1] for line in hidden).most_common()
            listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds)
            click.echo(f" ... and {pluralize(len(hidden), 'columns')} more ({listed})")
    click.echo()
    click.echo(f"Task: {one_line(_describe_task(args, source.task, rows))}")


def _describe_task(args: SimpleNamespace, task: str, rows: Rows) -> str:
    import numpy as np

    target = repr(args.target[0]) if args.target else "the target"
    if task == "labels":
        return f"multi-label classification, {len(args.target)} labels: {', '.join(args.target)}"
    if task == "grades":
        grades = f"grades from {rows.y.min():g} to {rows.y.max():g} in {target}"
        return f"ranking, {pluralize(rows.n_queries, 'queries')}, {grades}"
    counts = np.bincount(rows.y, minlength=len(rows.classes))
    order = np.argsort(-counts, kind="stable")[:_MAX_CLASSES_SHOWN].tolist()
    listed = ", ".join(f"{rows.classes[k]} {counts[k] / len(rows):.0%}" for k in order)
    more = ", ..." if len(counts) > len(order) else ""
    return f"classification, {len(counts)} classes in {target} ({listed}{more})"


def _print_plan(task: str, rows: Rows, test: Rows | None, args: SimpleNamespace) -> None:
    name = "RankBoost" if task == "grades" else "AdaBoost.MH"
    size = pluralize(len(rows), "rows")
    if test is None:
        why = "too few rows for a hold-out set" if args.hold_out else "no hold-out set"
        text = f"Training {name} on all {size}; {why}"
    elif args.test is not None:
        text = f"Training {name} on all {size}; testing on {len(test):,} rows of {args.test}"
    else:
        text = f"Training {name} on {size}; {len(test):,} are held out for testing"
    click.echo(one_line(text))


@dataclass
class Outcome:
    """A trained model, and the results to print."""

    args: SimpleNamespace
    source: Source
    fit: fitting.Fit
    seconds: float
    n_rows: int
    """Training rows."""
    folds: "CrossValidation | None"
    metrics: dict[str, Any] | None
    """Metrics on the test rows, if there are any."""
    columns: "list[Effects]"

    def print(self) -> None:
        """Print the results for people."""
        from edgewise.cli.effects import print_effects

        model = self.fit.model
        if self.fit.candidates:
            self._print_candidates()
        click.echo()
        text = common.describe_training(model)
        if self.fit.interrupted and model.stop_reason_ != "interrupted":
            text += "; tuning was interrupted"
        click.echo(f"{text} ({self.seconds:.1f} s)")
        if self.folds is not None:
            common.print_heading("Cross-validation")
            click.echo(self.folds)
        if self.metrics is not None:
            rows = f"rows of {self.args.test}" if self.args.test else "held-out rows"
            print_evaluation(self.metrics, f"Test on {self.metrics['rows']:,} {rows}")
        print_effects(self.columns)
        if model.fitted_.shows_terms:
            common.print_terms(model, _TOP_TERMS)
        else:
            common.print_rules(model, _TOP_RULES)
        if self.source.schema is None:
            click.echo(" (x0 is feature 1 of the file, x1 is feature 2, and so on)")
        self._print_next()

    def _print_candidates(self) -> None:
        results = self.fit.candidates
        metric = next(key for key in results[0] if key not in ("settings", "rounds", "chosen"))
        common.print_heading("Settings compared by --tune, on a quarter of the training rows")
        lines = [["settings", metric.replace("_", " "), "rounds", ""]]
        for result in results:
            mark = "chosen" if result["chosen"] else ""
            lines.append([result["settings"], f"{result[metric]:.4f}", f"{result['rounds']}", mark])
        common.print_table(lines, left=(0, 3))

    def _print_next(self) -> None:
        args, is_svmlight = self.args, self.source.schema is None
        new = "NEW.txt" if is_svmlight else f"NEW{Path(args.data).suffix}"
        is_run = self.source.task == "grades" and (args.doc or is_svmlight)
        common.print_heading(f"Saved {args.model}. Next steps:")
        for line in (
            f"predict {args.model} {new} -o {'ranked.run' if is_run else 'predicted.csv'}",
            f"show {args.model}",
            f"explain {args.model} {args.data} --row 1",
            f"report {args.model} --data {args.test or new} -o {stem(args.data)}.html",
        ):
            click.echo(f" edgewise {one_line(line)}")

    def to_json(self) -> dict[str, Any]:
        """Return the results for programs."""
        from edgewise import __version__

        args, model, schema = self.args, self.fit.model, self.source.schema
        fields = ("name", "kind", "n_distinct", "n_missing", "use")
        return {
            "edgewise": __version__,
            "model": args.model,
            "data": args.data,
            "task": self.source.task,
            "target": list(args.target),
            "columns": [
                {name: getattr(column, name) for name in fields}
                for column in (() if schema is None else schema.columns)
            ],
            "training": {
                "rows": self.n_rows,
                "rounds": model.n_rounds_,
                "seconds": round(self.seconds, 3),
                "ended_by": "interrupted" if self.fit.interrupted else model.stop_reason_,
                **common.final_losses(model),
            },
            "tuning": self.fit.candidates,
            "cross_validation": self.folds and self.folds.means,
            "test": self.metrics and {"source": args.test or "held out", **self.metrics},
            "importances": {column.name: column.importance for column in self.columns},
            **common.list_terms(model),
            "rules": [str(rule) for rule in model.rules(_TOP_RULES)] if model.n_rounds_ else [],
        }
