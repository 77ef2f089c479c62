"""Errors in one line, saved models, and printed output, for all commands."""

import math
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import click

from edgewise.common.text import one_line, pluralize, text_table, to_json_value

# Errors


@contextmanager
def one_line_errors(prefix: object = None) -> Iterator[None]:
    """Turn the library's errors into errors of the command, prefixed with a file or an option."""
    try:
        yield
    except (ValueError, TypeError, ImportError, MemoryError) as error:
        message = _name_option(error) or str(error) or "not enough memory"
        repeats = prefix is None or message.startswith(str(prefix))
        raise click.ClickException(message if repeats else f"{prefix}: {message}") from error


def _name_option(error: Exception) -> str | None:
    """Return the error with the option that sets the wrong argument, if the command has one."""
    from edgewise.common.checks import ArgumentError

    if not isinstance(error, ArgumentError):
        return None
    names = (error.argument, f"{error.argument}_column")
    for param in click.get_current_context().command.params:
        if isinstance(param, click.Option) and param.name in names:
            return f"{param.opts[0]} {error.value!r} {error.problem}"
    return None


# Models

TABLE_MODELS = ("AdaBoostMH", "RankBoost")
"""Models of the rows of a table."""

_USES = {
    "AdaBoostMH": "predict {path} DATA",
    "RankBoost": "predict {path} DATA",
    "RankFusion": "fuse {path} RUN RUN -o FUSED.run",
    "Recommender": "recommend {path} --user ID",
}


def load_model(path: str, kinds: Sequence[str] = (), purpose: str = "") -> Any:
    """Return the model of a file, or raise if it is not of the kinds that serve a purpose."""
    import edgewise

    with one_line_errors():
        model = edgewise.load(path)
    if kinds and not isinstance(model, tuple(getattr(edgewise, kind) for kind in kinds)):
        use = next(use for kind, use in _USES.items() if isinstance(model, getattr(edgewise, kind)))
        raise click.ClickException(
            f"{path} holds {type(model).__name__}, which does not {purpose}: "
            f"use `edgewise {use.format(path=path)}`"
        )
    return model


def verbosity() -> int:
    """Return the `verbose` of an estimator: progress is for terminals."""
    return int(sys.stderr.isatty())


def raise_if_interrupted(model: Any) -> None:
    """Raise KeyboardInterrupt if Ctrl-C ended the training."""
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt


_LOSSES = ("train_error", "hamming_loss", "ranking_loss", "bound")
# Guessing has half of the pairs in the wrong order, and at most half of the entries wrong.
_LOSS_OF_GUESSING = 0.5


def final_losses(model: Any) -> dict[str, float]:
    """Return the training losses of a model after its last round, and the bound, by field."""
    last, history = model.n_rounds_ - 1, model.history_
    names = [name for name in _LOSSES if name in history.fields and last >= 0]
    return {name: float(history[name][last]) for name in names}


def describe_training(model: Any) -> str:
    """Return the rounds of a model, why they ended, its training losses and a useful bound."""
    from edgewise.metrics.registry import metric_title

    rounds, trained = model.n_rounds_, model.history_.n_rounds
    text = pluralize(rounds, "rounds")
    if rounds < trained:
        text += f", the best of {trained:,}"
    if model.stop_reason_ != "n_rounds":
        text += f", ended by: {model.stop_reason_}"
    losses = final_losses(model)
    bound = losses.pop("bound", math.inf)
    if "hamming_loss" in losses and len(model.classes_) == 2 and not model.fitted_.multilabel:
        del losses["hamming_loss"]  # the training error
    for name, loss in losses.items():
        text += f"; {metric_title(name)} {loss:.1%}"
    return text + (f" (bound {bound:.1%})" if bound < _LOSS_OF_GUESSING else "")


# Files


def stem(path: str, endings: Iterable[str] = ()) -> str:
    """Return the name of a file without its folder, ``.gz`` and its ending, if it is one of these.

    >>> stem("data/people.csv.gz"), stem("runs/bm25.title.run", [".run"]), stem("a.b", [".run"])
    ('people', 'bm25.title', 'a.b')
    """
    name = Path(path).name
    name = (name[:-3] if name.lower().endswith(".gz") else name) or name
    ending = Path(name).suffix
    return name.removesuffix(ending) if not endings or ending in endings else name


# Output


def discard_output() -> None:
    """Discard further output: the reader of standard output, such as `head`, has closed it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Let long work continue if the reader of standard output has closed it."""
    try:
        yield
    except BrokenPipeError:
        discard_output()


def print_table(
    rows: Sequence[Sequence[str]], left: Collection[int] = (0,), heading: bool = True
) -> None:
    """Print rows of cells, the first of them a heading; columns outside `left` flush right."""
    for i, line in enumerate(text_table(rows, left).split("\n")):
        click.secho(f" {line}", bold=True if heading and i == 0 else None)


def print_metrics(values: Mapping[str, float | None]) -> None:
    """Print metrics in a table of one line; a metric that is not defined is a dash."""
    cells = ["-" if v is None or math.isnan(v) else f"{v:.4f}" for v in values.values()]
    print_table([list(values), cells], left=())


def print_heading(text: str) -> None:
    """Print a heading after an empty line."""
    click.echo()
    click.secho(one_line(text), bold=True)


def print_json(value: Mapping[str, Any]) -> None:
    """Print a result for programs: one line of JSON, without NaN."""
    import json

    click.echo(json.dumps(to_json_value(value)))


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    for name, value in facts:
        click.echo(f"{name:<16} {one_line(value)}".rstrip())


def list_terms(model: Any) -> dict[str, Any]:
    """Return the terms of an additive model for programs; nothing for other models."""
    if not model.fitted_.shows_terms:
        return {}
    return {"terms": [{"name": t.name, "importance": t.importance} for t in model.terms_]}


def print_terms(model: Any, n: int) -> None:
    """Print the `n` most important terms of an additive model as small plots."""
    from edgewise.report.terms import term_rows

    names = model._score_names()
    signs = ""
    if len(names) == 2 and len(model.intercept_) == 1:
        signs = f": above 0 for {names[1]}, below for {names[0]}"
    print_heading(f"Terms, by their share in the scores{signs}")
    rows = term_rows(model.terms_[:n], names, sys.stdout.encoding or "utf-8")
    print_table(rows, left={*range(len(rows[0]))} - {1})
    if len(model.terms_) > n:
        click.echo(f" ... and {pluralize(len(model.terms_) - n, 'terms')} more")
    if model.edits_:
        print_heading("Changed by hand")
        for edit in model.edits_:
            click.echo(f" {one_line(edit)}")


def print_rules(model: Any, n: int) -> None:
    """Print the `n` strongest rules of a model, as many as fit on 5 `n` lines."""
    # Rounds may repeat a rule, and a constant is not worth showing.
    texts = dict.fromkeys(str(rule) for rule in model.rules(2 * n))
    rules = [text.split("\n") for text in texts if "(always)" not in text][:n]
    if not rules:
        return
    # Rules with a cut for each class take several lines.
    lines, max_lines = list(chain.from_iterable(rules)), 5 * n
    of_trees = (
        ": paths through the trees, whose votes add up" if model.fitted_.terms.n_trees else ""
    )
    print_heading(f"Strongest rules{of_trees}")
    for line in lines[:max_lines]:
        click.echo(f" {one_line(line)}")
    if len(lines) > max_lines:
        click.echo(f" ... and {pluralize(len(lines) - max_lines, 'lines')} more")
