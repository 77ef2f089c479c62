"""``edgewise train``: from a table to a model that is tested, explained and saved."""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import common, fitting, tables
from edgewise.cli.explain import Learned, learned, print_learned
from edgewise.cli.tables import Rows
from edgewise.common.choices import RANK_LEARNERS, TASKS
from edgewise.common.text import one_line, pluralize

if TYPE_CHECKING:
    from edgewise.io import RawTable, Schema

_FORMATS = ".csv, .tsv, .parquet, .feather, .arrow, .arff, or SVMlight (.txt, .svm, .svmlight, ...)"
_SVMLIGHT = (".txt", ".svm", ".svmlight", ".libsvm", ".letor", ".dat")
_TOP_RULES, _TREE_LINES, _MOST_COLUMNS = 5, 16, 60

logger = logging.getLogger("edgewise")

files, training = common.heading("Files"), common.heading("Training")


@common.command("train")
@click.argument("data", type=common.FILE, help="Table to train on.")
@files(
    "--model",
    type=common.OutputFile(common.MODEL),
    metavar="FILE",
    help="Save the model here.  [default: the name of DATA with .edgewise]",
)
@files("--force", is_flag=True, help="Replace a model of that name.")
@files("--test", type=common.FILE, help="Table to test on, instead of held-out rows.")
@tables.target_option("Column to learn; several columns of 0 and 1 are labels.")
@tables.query_option
@tables.weight_option
@tables.doc_option
@tables.kinds
@training(
    "--task",
    type=click.Choice(TASKS),
    metavar="NAME",
    help="One of classes, labels (of 0 and 1) or grades (to rank by).  "
    "[default: found from the target]",
)
@training(
    "--hold-out",
    type=common.Real(0, 1, max_open=True),
    default=fitting.SHARE,
    help="Share of the rows to test on; 0 trains on all.",
)
@common.time_limit(training)
@training("--tune", is_flag=True, help="Try a few settings on a part of the training rows.")
@training(
    "--learner",
    type=click.Choice(RANK_LEARNERS),
    metavar="NAME",
    help=f"Weak rules to boost, one of {', '.join(RANK_LEARNERS)}.  "
    "[default: auto; to rank: stump]",
)
@training(
    "--rounds",
    type=common.COUNT,
    help="Number of boosting rounds.  [default: chosen on held-out rows]",
)
@training(
    "--device",
    type=click.Choice(["cpu", "cuda", "auto"]),
    default="cpu",
    metavar="NAME",
    help="Where to train: cpu, cuda (an NVIDIA GPU) or auto. The model is the same.",
)
@common.seed(training)
@common.threads(training)
@common.json_option(training)
def train(**given: Any) -> None:
    """Train a model on a table, say how good it is and what it learned, and save it.

      edgewise train people.csv --target income
          learns to tell the classes in the column income apart
      edgewise train pages.parquet --target grade --query query
          learns to rank the rows of each query
      edgewise train songs.arff --target happy --target sad --time-limit 60
          learns several labels, in a minute

    DATA is a .csv, .tsv or .arff file, plain or gzipped, a .parquet, .feather or
    .arrow file, or SVMlight/LETOR (.txt, .svm, ...), whose target comes first in
    each line. Numbers, categories and dates are told apart; empty cells, NA, ?
    and null are missing values. Ids and columns that never vary are left out.

    A fifth of the rows is held out to test the model, unless --test names a table
    to test on. Ctrl-C ends the training: the rounds so far are tested and saved,
    and the exit code is 130.
    """
    args = SimpleNamespace(**given)
    args.model = args.model or f"{_stem(args.data)}{common.MODEL}"
    _check(args)
    if tables.is_table(args.data):
        raw = tables.read_raw(args.data, (*args.categorical, *_named(args)))
        schema: Schema | None = _schema(args, raw)
        assert schema is not None
        rows, columns = tables.rows_of(args.data, raw, schema), list(raw.columns)
        del raw
    else:
        schema, rows, columns = None, tables.read_svmlight(args.data, args.task), []
    task = _task(schema, rows)
    _check_targets(args, task, rows)
    if task == "grades" and rows.qid is None:
        tables.warn_of_one_list(args.data, len(rows))
    if not args.as_json:
        with common.though_unread():
            _print_understood(args, task, schema, rows, columns)
    kept, test = fitting.split(args, task, schema, rows)
    del rows
    if not args.as_json:
        with common.though_unread():
            _print_plan(task, kept, test, args)
    began = time.perf_counter()
    fit = fitting.fit(args, task, kept)
    seconds, model = time.perf_counter() - began, fit.model
    if fit.interrupted and not model.n_rounds_:
        raise KeyboardInterrupt
    model.schema_ = schema
    model.save(args.model)
    measured = None if test is None else tables.measured(model, test)
    outcome = Outcome(
        args,
        task,
        schema,
        fit,
        seconds,
        len(kept),
        measured,
        learned(model, kept.X if test is None else test.X),
    )
    if args.as_json:
        common.print_json(outcome.as_json())
    else:
        outcome.print()
    if fit.interrupted:
        raise KeyboardInterrupt


def _stem(path: str) -> str:
    """Return the name of a file without its folder and endings."""
    name = Path(path).name
    stem = Path(name[:-3] if name.lower().endswith(".gz") else name).stem
    return stem or name


def _named(args: SimpleNamespace) -> tuple[str, ...]:
    """Return the columns of ids, which stay as they are written."""
    return tuple(name for name in (args.query, args.doc) if name is not None)


def _check(args: SimpleNamespace) -> None:
    """Raise if options do not go together, or the model cannot be saved."""
    if not common.given("model") and Path(args.model).exists() and not args.force:
        raise click.UsageError(
            f"{args.model} exists: --force replaces it, --model NAME{common.MODEL} saves elsewhere"
        )
    common.OutputFile(common.MODEL).convert(args.model, None, None)
    if args.task == "labels" and len(args.target) < 2:
        raise click.UsageError("--task labels needs a --target for each of the labels")
    if args.test is not None and common.given("hold_out"):
        raise click.UsageError("--test and --hold-out are two ways to test: use one of them")
    if args.tune and (extra := common.given("learner", "rounds")):
        raise click.UsageError(f"--tune chooses the settings: remove {extra[0]}")
    if tables.is_table(args.data):
        return
    if not args.data.lower().removesuffix(".gz").endswith(_SVMLIGHT):
        raise click.UsageError(f"{args.data} must be one of {_FORMATS}")
    for name in ("target", "query", "weight", "doc", "drop", "categorical", "numeric"):
        if getattr(args, name):
            raise click.UsageError(
                f"--{name} names a column of a table, and {args.data} is SVMlight"
            )


def _schema(args: SimpleNamespace, raw: "RawTable") -> "Schema":
    """Find out what the columns are."""
    from edgewise.io import Schema

    if not args.target:
        listed = ", ".join(map(one_line, raw.columns))
        raise click.UsageError(f"--target must name the column of {args.data} to learn: {listed}")
    roles = {name: getattr(args, name) for name in ("query", "doc", "weight", "task")}
    kinds = {name: getattr(args, name) for name in ("drop", "categorical", "numeric")}
    if args.query is None:
        others = [name for name in raw.columns if name not in args.target]
        if said := tables.forgotten_queries(args.data, others):
            logger.warning(said)
    with common.one_line_errors(args.data, tables.OPTIONS):
        return Schema.fit(raw, args.target, **roles, **kinds)


def _task(schema: "Schema | None", rows: Rows) -> str:
    if schema is not None:
        return schema.task
    return "grades" if rows.classes is None else "classes"


def _check_targets(args: SimpleNamespace, task: str, rows: Rows) -> None:
    """Raise if there is nothing to learn, or the learner does not go with the task."""
    import numpy as np

    target = " ".join(args.target) or "the target"
    if task != "labels":
        values = np.unique(rows.y)
        if len(values) < 2:
            what = "class" if task == "classes" else "grade"
            one = values[0] if rows.classes is None else rows.classes[values[0]]
            raise click.ClickException(
                f"{args.data}: {target!r} has a single {what}, {one}: there is nothing to learn"
            )
    else:
        for name, column in zip(args.target, rows.y.T, strict=True):
            if column.min() == column.max():
                raise click.ClickException(f"{args.data}: {name!r} is {column[0]} in every row")
    if args.learner == "feature" and task != "grades":
        raise click.UsageError("--learner feature is for grades")


# What is said


def _print_understood(
    args: SimpleNamespace, task: str, schema: "Schema | None", rows: Rows, columns: Sequence[str]
) -> None:
    """Print what the columns are and what is to be learned."""
    n_columns = len(columns) or rows.X.shape[1]
    size = f"{pluralize(len(rows), 'rows')}, {pluralize(n_columns, 'columns')}"
    click.secho(f"{one_line(args.data)}: {size}", bold=True)
    if schema is not None:
        known = {column.name: column for column in schema.columns}
        roles = {schema.query: "query", schema.doc: "document", schema.weight: "weight"}
        lines = [["column", "kind", "distinct", "missing", "what is done with it"]]
        for name in columns:
            if name in known:
                one = known[name]
                missing = f"{one.n_missing:,}" if one.n_missing else ""
                lines.append([name, one.kind, f"{one.n_distinct:,}", missing, one.use])
            elif name in schema.target:
                lines.append([name, "target", f"{_n_values(task, rows)}", "", "learned"])
            else:
                lines.append([name, roles[name], "", "", f"the {roles[name]} of a row"])
        rest = [line for line in lines[_MOST_COLUMNS + 1 :] if line[0] in known]
        shown = [line for line in lines[_MOST_COLUMNS + 1 :] if line[0] not in known]
        common.print_table([*lines[: _MOST_COLUMNS + 1], *shown], left=(0, 1, 4))
        if rest:
            kinds = Counter(line[1] for line in rest).most_common()
            listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds)
            click.echo(f" ... and {pluralize(len(rest), 'columns')} more ({listed})")
    click.echo()
    click.echo(f"Task: {one_line(_said_task(args, task, rows))}")


def _n_values(task: str, rows: Rows) -> int:
    import numpy as np

    return 2 if task == "labels" else len(np.unique(rows.y))


def _said_task(args: SimpleNamespace, task: str, rows: Rows) -> str:
    import numpy as np

    target = repr(args.target[0]) if args.target else "the target"
    if task == "labels":
        return f"{len(args.target)} labels, each 0 or 1 in a row: {', '.join(args.target)}"
    if task == "grades":
        n_queries = 1 if rows.qid is None else len(np.unique(rows.qid))
        span = f"grades from {rows.y.min():g} to {rows.y.max():g} in {target}"
        return f"to rank the rows of {pluralize(n_queries, 'queries')} by {span}"
    counts = np.bincount(rows.y, minlength=len(rows.classes))
    order = np.argsort(-counts, kind="stable")[:6].tolist()
    listed = ", ".join(f"{rows.classes[k]} {counts[k] / len(rows):.0%}" for k in order)
    more = ", ..." if len(counts) > len(order) else ""
    return f"{len(counts)} classes, in {target} ({listed}{more})"


def _print_plan(task: str, kept: Rows, test: Rows | None, args: SimpleNamespace) -> None:
    name = "RankBoost" if task == "grades" else "AdaBoost.MH"
    rows = pluralize(len(kept), "rows")
    if test is None:
        why = "too few to hold any out" if args.hold_out else "none is held out"
        said = f"Training {name} on all {rows}; {why}."
    elif args.test is not None:
        size = pluralize(len(test), "rows")
        said = f"Training {name} on all {rows}; {size} of {args.test} test it."
    else:
        said = f"Training {name} on {rows}; {len(test):,} are held out to test it."
    click.echo(one_line(said))


@dataclass
class Outcome:
    """All that is to be said about a trained model."""

    args: SimpleNamespace
    task: str
    schema: "Schema | None"
    fit: fitting.Fit
    seconds: float
    n_rows: int
    """Trained on."""
    measured: dict[str, Any] | None
    """Metrics of the rows that it was not trained on, if there are any."""
    learned: list[Learned]

    def print(self) -> None:
        """Print it in words."""
        args, measured = self.args, self.measured
        self._print_tried()
        click.echo()
        click.echo(self._trained())
        if measured is not None:
            size = pluralize(measured["rows"], "rows")
            what = f"{size} of {args.test}" if args.test else f"{size} that it has not seen"
            tables.print_measured(measured, f"How good it is, on {what}")
        print_learned(self.learned)
        self._print_rules()
        if self.schema is None:
            click.echo(" (x0 is feature 1 of the file, x1 is feature 2, and so on)")
        self._print_next()

    def _print_tried(self) -> None:
        tried = self.fit.tried
        if tried:
            metric = next(key for key in tried[0] if key not in ("settings", "rounds", "chosen"))
            common.heading_line("What --tune tried, on a quarter of the training rows")
            lines = [["settings", metric.replace("_", " "), "rounds", ""]]
            for one in tried:
                mark = "chosen" if one["chosen"] else ""
                lines.append([one["settings"], f"{one[metric]:.4f}", str(one["rounds"]), mark])
            common.print_table(lines, left=(0, 3))

    def _trained(self) -> str:
        """Return the rounds, what ended them, and the errors that the bound is about."""
        from edgewise.metrics.registry import metric_title

        model = self.fit.model
        rounds, history = model.n_rounds_, model.history_
        said = f"{pluralize(rounds, 'rounds')} in {self.seconds:.1f} s"
        if self.fit.interrupted or model.stop_reason_ in ("time limit", "no edge", "fitted"):
            said += f", ended by: {'interrupted' if self.fit.interrupted else model.stop_reason_}"
        if not rounds:
            return said
        errors = ["train_error", "ranking_loss"]
        if self.task != "grades" and len(model.classes_) > 2:
            # What is bounded; for two classes it is the error itself.
            errors.append("hamming_loss")
        for name in errors:
            if name in history.fields:
                said += f"; {metric_title(name)} {history[name][rounds - 1]:.1%}"
        bound = history["bound"][rounds - 1]
        return f"{said} (bound {bound:.1%})" if bound < 1 else said

    def _print_rules(self) -> None:
        # Rounds may repeat a rule.
        found = dict.fromkeys(str(one) for one in self.fit.model.rules(2 * _TOP_RULES))
        rules = [rule for rule in found if "(always)" not in rule]
        if not rules:
            return
        is_tree = "\n" in rules[0]
        common.heading_line("Its strongest rule" if is_tree else "Its strongest rules")
        text = "\n".join(rules[: 1 if is_tree else _TOP_RULES])
        lines = text.split("\n")
        for line in lines[:_TREE_LINES]:
            click.echo(f" {one_line(line)}")
        if len(lines) > _TREE_LINES:
            click.echo(f" ... and {len(lines) - _TREE_LINES} more lines")

    def _print_next(self) -> None:
        args = self.args
        ending = ".txt" if self.schema is None else Path(args.data).suffix
        new, page = f"NEW{ending}", f"{_stem(args.data)}.html"
        is_run = self.task == "grades" and (args.doc or self.schema is None)
        out = "ranked.run" if is_run else "predicted.csv"
        common.heading_line(f"Saved {args.model}. What you can do next:")
        for line in (
            f"edgewise predict {args.model} {new} -o {out}",
            f"edgewise explain {args.model} {args.data} --row 1",
            f"edgewise rules {args.model}",
            f"edgewise report {args.model} --data {args.test or new} -o {page}",
        ):
            click.echo(f" {one_line(line)}")

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        from edgewise import __version__

        args, model = self.args, self.fit.model
        rounds, history = model.n_rounds_, model.history_
        training: dict[str, Any] = {
            "rows": self.n_rows,
            "rounds": rounds,
            "seconds": round(self.seconds, 3),
            "ended_by": "interrupted" if self.fit.interrupted else model.stop_reason_,
        }
        for key in ("train_error", "hamming_loss", "ranking_loss", "bound"):
            if rounds and key in history.fields:
                training[key] = float(history[key][rounds - 1])
        fields = {"kind": "kind", "distinct": "n_distinct", "missing": "n_missing", "use": "use"}
        described = () if self.schema is None else self.schema.columns
        return {
            "edgewise": __version__,
            "model": args.model,
            "data": args.data,
            "task": self.task,
            "target": list(args.target),
            "columns": [
                {"name": one.name, **{key: getattr(one, name) for key, name in fields.items()}}
                for one in described
            ],
            "training": training,
            "tuning": self.fit.tried,
            "test": self.measured and {"source": args.test or "held out", **self.measured},
            "importances": {one.column: one.share for one in self.learned},
            "rules": [str(rule) for rule in model.rules(_TOP_RULES)] if rounds else [],
        }
