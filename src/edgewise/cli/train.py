"""``edgewise train``: from a table to a model that is tested, explained and saved."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import common, tables
from edgewise.cli.explain import learned, print_learned
from edgewise.cli.tables import Rows
from edgewise.common.choices import RANK_LEARNERS
from edgewise.common.text import counted, one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.io import RawTable, Schema

TASKS = ("classes", "labels", "grades")
LEARNERS = ("auto", *RANK_LEARNERS)

# The share of the rows to hold out, the most of them, and how many there must be to hold any out.
_SHARE, _MOST, _LEAST = 0.2, 50_000, 50
# The share of the training rows that settings are compared on.
_TUNING = 0.25
_PATIENCE = 100
_TOP_RULES, _TREE_LINES = 5, 16

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
    default=_SHARE,
    help="Share of the rows to test on; 0 trains on all.",
)
@training(
    "--time-limit",
    type=common.Real(0, min_open=True),
    metavar="SECONDS",
    help="Stop training after so long.",
)
@training("--tune", is_flag=True, help="Try a few settings on a part of the training rows.")
@training(
    "--learner",
    type=click.Choice(LEARNERS),
    metavar="NAME",
    help=f"Weak rules to boost, one of {', '.join(LEARNERS)}.  [default: auto; to rank: stump]",
)
@training(
    "--rounds",
    type=common.COUNT,
    help="Number of boosting rounds.  [default: chosen on held-out rows; to rank: 500]",
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
    .arrow file, or SVMlight/LETOR (.txt, .svm, ...), whose target comes first in each
    line. Numbers, categories and dates are told apart; empty cells, NA, ? and null
    are missing values. Ids and columns that never vary are left out.

    A fifth of the rows is held out to test the model, unless --test names a table
    to test on. Ctrl-C ends the training: the rounds so far are tested and saved, and
    the exit code is 130.
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
        schema, rows, columns = None, tables.read_svmlight(args.data), []
    task = _task(args, schema, rows)
    _check_targets(args, task, rows)
    if not args.as_json:
        _print_understood(args, task, schema, rows, columns)
    kept, test = _split(args, task, schema, rows)
    del rows
    if not args.as_json:
        _print_plan(task, kept, test, args)
    began = time.perf_counter()
    model, tried = _fit(args, task, kept)
    seconds = time.perf_counter() - began
    if not model.n_rounds_:
        common.raise_if_interrupted(model)
    model.schema_ = schema
    model.save(args.model)
    found = None if test is None else tables.measured(model, test)
    columns_learned = learned(model, kept.X if test is None else test.X)
    if args.as_json:
        common.print_json(
            _result(args, task, schema, kept, test, found, model, tried, seconds, columns_learned)
        )
    else:
        _print_trained(model, seconds, tried)
        if found is not None and test is not None:
            where = args.test or "held-out rows"
            size = counted(found["rows"], "rows")
            what = f"{size} of {where}" if args.test else f"{size} that it has not seen"
            tables.print_measured(found, f"How good it is, on {what}")
        print_learned(columns_learned)
        _print_rules(model)
        _print_next(args, task, schema)
    common.raise_if_interrupted(model)


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
    with common.one_line_errors(args.data, tables.OPTIONS):
        return Schema.fit(raw, args.target, **roles, **kinds)


def _task(args: SimpleNamespace, schema: "Schema | None", rows: Rows) -> str:
    if schema is not None:
        return schema.task
    return args.task or ("classes" if rows.qid is None else "grades")


def _check_targets(args: SimpleNamespace, task: str, rows: Rows) -> None:
    """Raise if there is nothing to learn, or it cannot be learned so."""
    import numpy as np

    target = " ".join(args.target) or "the target"
    if task != "labels":
        values = np.unique(rows.y)
        if len(values) < 2:
            what = "class" if task == "classes" else "grade"
            raise click.ClickException(
                f"{args.data}: {target!r} has a single {what}, {values[0]}: there is nothing to "
                "learn"
            )
    else:
        for name, column in zip(args.target, rows.y.T, strict=True):
            if column.min() == column.max():
                raise click.ClickException(f"{args.data}: {name!r} is {column[0]} in every row")
    if args.learner == "feature" and task != "grades":
        raise click.UsageError("--learner feature is for grades")
    if args.learner == "auto" and task == "grades":
        raise click.UsageError(f"--learner must be one of {', '.join(RANK_LEARNERS)} to rank")


# Rows to train on, and rows to test on


def _split(
    args: SimpleNamespace, task: str, schema: "Schema | None", rows: Rows
) -> tuple[Rows, Rows | None]:
    """Return the rows to train on and those to test on, if there are enough."""
    import numpy as np

    if args.test is not None:
        if schema is None:
            width = rows.X.shape[1]
            test = tables.read_svmlight(args.test, width)
        else:
            raw = tables.read_raw(args.test, schema.words)
            tables.note(args.test, raw, schema)
            test = tables.rows_of(args.test, raw, schema)
        return rows, test
    share = min(args.hold_out, _MOST / len(rows))
    if not share or len(rows) < _LEAST:
        return rows, None
    aside = _held_out(rows, task, share, args.random_state)
    if not aside.any():
        return rows, None
    return rows.take(np.flatnonzero(~aside)), rows.take(np.flatnonzero(aside))


def _held_out(rows: Rows, task: str, share: float, seed: int) -> "NDArray[Any]":
    """Return which rows to hold out: of each class or, to rank, whole queries."""
    import numpy as np

    rng = np.random.default_rng(seed)
    aside = np.zeros(len(rows), dtype=bool)
    groups = rows.qid if task == "grades" else rows.y if task == "classes" else None
    if task == "grades" and groups is None:
        return aside
    if groups is None:
        aside[rng.permutation(len(rows))[: round(share * len(rows))]] = True
        return aside
    values, codes = np.unique(groups, return_inverse=True)
    if task == "grades":
        chosen = rng.permutation(len(values))[: round(share * len(values))]
        return np.isin(codes, chosen)
    for code in range(len(values)):
        members = rng.permutation(np.flatnonzero(codes == code))
        # At least one row of a class trains.
        aside[members[: min(round(share * len(members)), len(members) - 1)]] = True
    return aside


# Training


def _fit(args: SimpleNamespace, task: str, rows: Rows) -> tuple[Any, list[dict[str, Any]]]:
    """Train, and return the model and what --tune tried."""
    limit = args.time_limit
    settings: dict[str, Any] = {}
    if args.learner is not None:
        settings["learner"] = args.learner
    if args.rounds is not None:
        settings["n_rounds"] = args.rounds
    tried: list[dict[str, Any]] = []
    if args.tune:
        model, settings, tried, limit = _tuned(args, task, rows)
        if model is not None:
            return model, tried
    return _trained(args, task, rows, limit, settings), tried


def _trained(
    args: SimpleNamespace,
    task: str,
    rows: Rows,
    limit: float | None,
    settings: dict[str, Any],
    held_out: Rows | None = None,
) -> Any:
    """Return a trained model."""
    from edgewise import AdaBoostMH, RankBoost
    from edgewise.cli.progress import progress

    shared = {
        "random_state": args.random_state,
        "n_jobs": args.n_jobs,
        "time_limit": limit,
        "handle_infinite": "missing",
    }
    kind: Any = RankBoost if task == "grades" else AdaBoostMH
    model = kind(**shared, **settings)
    names = {"sample_weight": "--weight", "n_rounds": "--rounds", "learner": "--learner"}
    with common.one_line_errors(rows.path, names), progress() as shown:
        model.set_params(callbacks=shown)
        if task == "grades":
            watched = None if held_out is None else (held_out.X, held_out.y, held_out.qid)
            model.fit(rows.X, rows.y, qid=rows.qid, sample_weight=rows.weight, eval_set=watched)
        else:
            model.fit(rows.X, rows.y, sample_weight=rows.weight)
    if task == "labels":
        import numpy as np

        model.fitted_ = replace(model.fitted_, classes=np.array(args.target))
    return model.set_params(callbacks=None)


def _candidates(task: str) -> dict[str, dict[str, Any]]:
    """Return the settings that --tune tries."""
    from edgewise import Indicator, Stump, Tree

    base = [Stump(), Indicator()]
    if task == "grades":
        patience = {"early_stopping_rounds": _PATIENCE, "n_rounds": 1000}
        return {
            "stumps": patience,
            "trees of 8 leaves": {"learner": "tree", **patience},
            "trees of 16 leaves, free votes": {
                "learner": Tree(Stump(constant=True), 16, "free", "gain"),
                **patience,
            },
            "stumps in small steps": {"learning_rate": 0.1, **patience},
        }
    usual: dict[str, Any] = {
        "votes": "real",
        "loss": "softmax",
        "n_rounds": "auto",
        "learning_rate": 0.1,
        "subsample": 0.7,
        "damping": 0.5,
    }
    return {
        "default": {},
        "default in small steps": {"learning_rate": 0.05},
        "trees of 6 leaves": {"learner": Tree(base, 6, "free", "gain"), **usual},
        "stumps": {"learner": "stump", **usual},
    }


def _tuned(
    args: SimpleNamespace, task: str, rows: Rows
) -> tuple[Any, dict[str, Any], list[dict[str, Any]], float | None]:
    """Compare settings on a part of the training rows.

    Return the best of them, all that were tried, and the time left; before them a model, if an
    interrupt ended the search.
    """
    import numpy as np

    began = time.perf_counter()
    aside = _held_out(rows, task, _TUNING, args.random_state + 1)
    if len(rows) < _LEAST or not aside.any():
        raise click.UsageError(f"--tune: {args.data} has too few rows to try settings on")
    kept, held_out = rows.take(np.flatnonzero(~aside)), rows.take(np.flatnonzero(aside))
    candidates = _candidates(task)
    tried: list[dict[str, Any]] = []
    metric = {"classes": "log_loss", "labels": "hamming_loss", "grades": "map"}[task]
    best: dict[str, Any] = {}
    for name, settings in candidates.items():
        # The final fit has its share of the time.
        limit = None if args.time_limit is None else args.time_limit / (len(candidates) + 1)
        model = _trained(args, task, kept, limit, settings, held_out)
        value = tables.measured(model, held_out)[metric]
        tried.append({"settings": name, metric: value, "rounds": model.n_rounds_})
        if model.stop_reason_ == "interrupted":
            return model, settings, tried, None
        loss = -value if task == "grades" else value
        if not best or loss < best["loss"]:
            best = {"name": name, "loss": loss, "settings": settings, "rounds": model.n_rounds_}
    for one in tried:
        one["chosen"] = one["settings"] == best["name"]
    settings = dict(best["settings"])
    if task == "grades":
        settings = {**settings, "n_rounds": max(1, best["rounds"]), "early_stopping_rounds": None}
    left = args.time_limit and max(1.0, args.time_limit - (time.perf_counter() - began))
    return None, settings, tried, left


# What is said


def _print_understood(
    args: SimpleNamespace, task: str, schema: "Schema | None", rows: Rows, columns: Sequence[str]
) -> None:
    """Print what the columns are and what is to be learned."""
    n_columns = len(columns) or rows.X.shape[1]
    size = f"{counted(len(rows), 'rows')}, {counted(n_columns, 'columns')}"
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
        common.print_table(lines, left=(0, 1, 4))
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
        return f"to rank the rows of {counted(n_queries, 'queries')} by {span}"
    values, counts = np.unique(rows.y, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:6].tolist()
    listed = ", ".join(f"{values[k]} {counts[k] / len(rows.y):.0%}" for k in order)
    more = ", ..." if len(values) > len(order) else ""
    return f"{len(values)} classes, in {target} ({listed}{more})"


def _print_plan(task: str, kept: Rows, test: Rows | None, args: SimpleNamespace) -> None:
    name = "RankBoost" if task == "grades" else "AdaBoost.MH"
    rows = counted(len(kept), "rows")
    if test is None:
        why = "too few to hold any out" if args.hold_out else "none is held out"
        said = f"Training {name} on all {rows}; {why}."
    elif args.test is not None:
        size = counted(len(test), "rows")
        said = (
            f"Training {name} on all {counted(len(kept), 'rows')}; {size} of {args.test} test it."
        )
    else:
        said = f"Training {name} on {rows}; {len(test):,} are held out to test it."
    click.echo(one_line(said))


def _print_trained(model: Any, seconds: float, tried: list[dict[str, Any]]) -> None:
    """Print what --tune tried, and how training went."""
    if tried:
        metric = next(key for key in tried[0] if key not in ("settings", "rounds", "chosen"))
        common.heading_line("What --tune tried, on a quarter of the training rows")
        lines = [["settings", metric.replace("_", " "), "rounds", ""]]
        for one in tried:
            mark = "chosen" if one.get("chosen") else ""
            lines.append([one["settings"], f"{one[metric]:.4f}", str(one["rounds"]), mark])
        common.print_table(lines, left=(0, 3))
    rounds, history = model.n_rounds_, model.history_
    said = f"{counted(rounds, 'rounds')} in {seconds:.1f} s"
    if model.stop_reason_ in ("interrupted", "time limit", "no edge", "fitted"):
        said += f", ended by: {model.stop_reason_}"
    if rounds:
        for name, key in (("training error", "train_error"), ("misordered pairs", "ranking_loss")):
            if key in history.fields:
                said += f"; {name} {history[key][rounds - 1]:.1%}"
        bound = history["bound"][rounds - 1]
        said += f" (bound {bound:.1%})" if bound < 1 else ""
    click.echo()
    click.echo(said)


def _print_rules(model: Any) -> None:
    rules = [rule for rule in model.rules(_TOP_RULES + 1) if "(always)" not in str(rule)]
    if not rules:
        return
    is_tree = "\n" in str(rules[0])
    common.heading_line("Its strongest rule" if is_tree else "Its strongest rules")
    lines = [
        line for rule in rules[: 1 if is_tree else _TOP_RULES] for line in str(rule).split("\n")
    ]
    for line in lines[:_TREE_LINES]:
        click.echo(f" {one_line(line)}")
    if len(lines) > _TREE_LINES:
        click.echo(f" ... and {len(lines) - _TREE_LINES} more lines")


def _print_next(args: SimpleNamespace, task: str, schema: "Schema | None") -> None:
    ending = Path(args.data).suffix if schema is not None else ".txt"
    common.heading_line(f"Saved {args.model}. What you can do next:")
    new, page = f"NEW{ending}", f"{_stem(args.data)}.html"
    out = "ranked.run" if task == "grades" and args.doc else "predicted.csv"
    for line in (
        f"edgewise predict {args.model} {new} -o {out}",
        f"edgewise explain {args.model} {args.data} --row 1",
        f"edgewise rules {args.model}",
        f"edgewise report {args.model} --data {args.test or new} -o {page}",
    ):
        click.echo(f" {one_line(line)}")


def _result(
    args: SimpleNamespace,
    task: str,
    schema: "Schema | None",
    kept: Rows,
    test: Rows | None,
    found: dict[str, Any] | None,
    model: Any,
    tried: list[dict[str, Any]],
    seconds: float,
    columns: Sequence[Any],
) -> dict[str, Any]:
    """Return all of it for programs."""
    from edgewise import __version__

    rounds, history = model.n_rounds_, model.history_
    losses = [
        key
        for key in ("train_error", "hamming_loss", "ranking_loss", "bound")
        if rounds and key in history.fields
    ]
    described = (
        []
        if schema is None
        else [
            {
                "name": one.name,
                "kind": one.kind,
                "distinct": one.n_distinct,
                "missing": one.n_missing,
                "use": one.use,
            }
            for one in schema.columns
        ]
    )
    return {
        "edgewise": __version__,
        "model": args.model,
        "data": args.data,
        "task": task,
        "target": list(args.target),
        "columns": described,
        "training": {
            "rows": len(kept),
            "rounds": rounds,
            "seconds": round(seconds, 3),
            "ended_by": model.stop_reason_,
            **{key: float(history[key][rounds - 1]) for key in losses},
        },
        "tuning": tried,
        "test": None if test is None else {"source": args.test or "held out", **(found or {})},
        "importances": {one.column: one.share for one in columns},
        "rules": [str(rule) for rule in model.rules(_TOP_RULES)] if rounds else [],
    }
