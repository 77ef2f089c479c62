"""The parts that all commands share: options and their types, one-line errors, and output."""

import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from itertools import combinations, zip_longest
from pathlib import Path
from textwrap import indent
from typing import Any

import click
from click.core import ParameterSource

from edgewise.common.text import one_line, pluralize, text_table, to_json_value

MODEL = ".edgewise"
RUN = (".run", ".run.gz")
TABLE = (".csv", ".csv.gz", ".parquet")
"""Endings of the names of models, TREC runs and tables."""

PATIENCE = 100
"""Rounds without improvement on validation rows after which training stops."""

SETTINGS: dict[str, Any] = {
    "show_default": True,
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}

# The longest list of choices that help shows beside the option.
_MAX_CHOICES_WIDTH = 8

Decorator = Callable[[Any], Any]


# Commands and their help


class Argument(click.Argument):
    """An argument with a description."""

    def __init__(self, *args: Any, about: str = "", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.about = about


class Option(click.Option):
    """An option that help lists under the heading of its group."""

    def __init__(self, *args: Any, group: str = "Options", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return notes for the help; an error shows the valid range."""
        return {key: note for key, note in super().get_help_extra(ctx).items() if key != "range"}


class PlainHelp(click.Command):
    """A command whose help texts keep their line breaks."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help text."""
        _write_text(self.help, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text below the options."""
        _write_text(self.epilog, formatter)


def _write_text(text: str | None, formatter: click.HelpFormatter) -> None:
    if text:
        formatter.write(f"\n{indent(cleandoc(text), '  ')}\n")


def write_section(
    formatter: click.HelpFormatter, title: str, records: Sequence[tuple[str, str]]
) -> None:
    """Write a section of help: names on the left, descriptions on the right."""
    with formatter.section(click.style(title, bold=True)):
        formatter.write_dl(records)


class Command(PlainHelp):
    """A command whose help lists arguments and groups of options.

    An option that may be repeated also takes several values at once, ``--user 7 8``. No two files
    of a command may be the same.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for param in self.get_params(ctx):
            if isinstance(param, Argument):
                sections["Arguments"].append((param.human_readable_name, param.about))
            elif record := param.get_help_record(ctx):
                sections.setdefault(getattr(param, "group", "Options"), []).append(record)
        sections["Options"] = sections.pop("Options")
        for title, records in sections.items():
            if records:
                write_section(formatter, title, records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        remaining = super().parse_args(ctx, self._repeat_options(args))
        if not ctx.resilient_parsing:
            self._check_files(ctx)
        return remaining

    def _repeat_options(self, args: list[str]) -> list[str]:
        """Return ``--user 7 --user 8`` for ``--user 7 8``, but leave required arguments a word."""
        options = [option for option in self.params if isinstance(option, click.Option)]
        names = {name for option in options for name in option.opts}
        flags = {name for option in options if option.is_flag for name in option.opts}
        repeatable = {name for option in options if option.multiple for name in option.opts}
        expanded: list[str] = []
        extra_values: list[int] = []  # positions in words
        n_arguments, option = 0, ""
        for arg, following in zip_longest(args, args[1:]):
            if arg in names - flags and following in names:
                raise click.BadOptionUsage(arg, f"Option {arg!r} requires an argument.")
            is_value = bool(expanded) and expanded[-1] in names - flags
            if not is_value:
                is_option = arg.startswith("-") and not arg[1:].isdigit()
                if option and not is_option:
                    extra_values.append(len(expanded) + 1)
                    expanded.append(option)
                else:
                    option = arg if arg in repeatable else ""
                    n_arguments += not is_option
            expanded.append(arg)
        arguments = [param for param in self.params if isinstance(param, click.Argument)]
        n_missing = max(sum(argument.required for argument in arguments) - n_arguments, 0)
        # Files first: in `--target income people.csv --drop age sex` the table is people.csv.
        extra_values.sort(key=lambda i: (Path(expanded[i]).is_file(), i), reverse=True)
        for i in sorted(extra_values[:n_missing], reverse=True):
            del expanded[i - 1]
        return expanded

    def _check_files(self, ctx: click.Context) -> None:
        files = []
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(param.type, (click.Path, OutputFile)) and value is not None:
                paths = value if isinstance(value, tuple) else (value,)
                is_option = isinstance(param, click.Option)
                label = param.opts[0] if is_option else str(param.name).upper()
                files += [(label, Path(path)) for path in paths]
        for (first, path), (second, other) in combinations(files, 2):
            if path.resolve() == other.resolve():
                both = f"{first} twice" if first == second else f"{first} and {second}"
                raise click.UsageError(f"{other} is given as {both}")


def command(name: str, **attrs: Any) -> Decorator:
    """Make a function a command; its docstring is the help text."""
    return click.command(name, cls=Command, context_settings=SETTINGS, **attrs)


def argument(name: str, about: str, **attrs: Any) -> Decorator:
    """Add an argument."""
    return click.argument(name, cls=Argument, about=about, **attrs)


def option_group(title: str) -> Callable[..., Decorator]:
    """Return a function that adds options under a heading; the first choice is the default."""

    def option(*names: str, choices: Iterable[str] | None = None, **attrs: Any) -> Decorator:
        if choices is not None:
            attrs = {"type": click.Choice(tuple(choices)), "default": next(iter(choices)), **attrs}
            if "metavar" not in attrs and len("|".join(choices)) > _MAX_CHOICES_WIDTH:
                attrs["metavar"] = "NAME"
                attrs["help"] += f" One of {', '.join(choices)}."
        kind = attrs.get("type")
        if isinstance(kind, click.IntRange):
            attrs.setdefault("metavar", "N")
        elif isinstance(kind, click.FloatRange):
            attrs.setdefault("metavar", "X")
        elif kind is FILE or isinstance(kind, OutputFile):
            attrs.setdefault("metavar", "FILE")
        return click.option(*names, cls=Option, group=title, **attrs)

    return option


def options(*decorators: Decorator) -> Decorator:
    """Add several options, in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


# Types of options


class OutputFile(click.ParamType):
    """A file that can be written, with one of these endings; without endings, not a model."""

    name = "file"

    def __init__(self, *endings: str) -> None:
        self.endings = endings

    def convert(
        self, value: "str | os.PathLike[str]", param: click.Parameter | None, ctx: Any
    ) -> str:
        """Return the path, or fail."""
        path, text = Path(value), str(value)
        if self.endings and not text.lower().endswith(self.endings):
            self.fail(f"must end in {' or '.join(self.endings)}, got {text!r}", param, ctx)
        if not self.endings and path.suffix == MODEL:
            self.fail(f"must not end in {MODEL}, got {text!r}", param, ctx)
        folder = path.resolve().parent
        if not folder.is_dir():
            self.fail(f"the folder of {text!r} does not exist", param, ctx)
        if path.exists() and not path.is_file():
            self.fail(f"must be the name of a file, got {text!r}", param, ctx)
        click.Path(writable=True).convert(str(folder), param, ctx)
        return text


class Real(click.FloatRange):
    """A number within bounds, neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> float:
        """Return the number, or fail."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid float.", param, ctx)
        return number


COUNT = click.IntRange(min=1)
FILE = click.Path(exists=True, dir_okay=False, readable=True)
TABLE_FILE = OutputFile(*TABLE)


# Options of several commands


def seed(option: Callable[..., Decorator]) -> Decorator:
    """Add the option ``--seed``."""
    kind = click.IntRange(0, 2**32 - 1)
    return option("--seed", "random_state", type=kind, default=0, help="Random seed.")


def threads(option: Callable[..., Decorator]) -> Decorator:
    """Add the option ``--threads``."""
    about = "Number of threads; -1 uses all cores."
    kind = click.IntRange(min=-1)
    return option("--threads", "n_jobs", type=kind, default=1, callback=_threads, help=about)


def _threads(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("use 1 for one thread, -1 for all cores", ctx, param)
    return value


def json_option(option: Callable[..., Decorator]) -> Decorator:
    """Add the option ``--json``."""
    return option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def model_file(option: Callable[..., Decorator]) -> Decorator:
    """Add the option ``--model``."""
    about = f"Save the model here; the name must end in {MODEL}."
    return option("--model", type=OutputFile(MODEL), help=about)


def set_option(
    option: Callable[..., Decorator],
    about: str = "Parameters of the model, named as in Python.",
    metavar: str = "NAME=VALUE",
) -> Decorator:
    """Add the option ``--set``."""
    return option("--set", "settings", metavar=metavar, multiple=True, help=about)


_CONSTANTS = {"true": True, "false": False, "none": None}


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return parameters from texts of the form name=value; commas separate the values of a list."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = (text_part.strip() for text_part in pair.partition("="))
        if not sign or not name:
            raise click.UsageError(f"--set must have the form name=value, got {pair!r}")
        if name in settings:
            raise click.UsageError(f"--set gives {name} twice")
        values = [_parse_value(value.strip()) for value in text.split(",")]
        settings[name] = values if len(values) > 1 else values[0]
    return settings


def _parse_value(text: str) -> Any:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def build_estimator(kind: type, settings: Mapping[str, Any], **defaults: Any) -> Any:
    """Return an estimator with the parameters of --set."""
    valid = kind().get_params(deep=False)
    for name in settings:
        if name not in valid:
            listed = ", ".join(valid)
            raise click.UsageError(
                f"--set: unknown parameter {name!r} of {kind.__name__}; valid: {listed}"
            )
    return kind(**{**defaults, **settings})


def explicit_options(*names: str) -> list[str]:
    """Return the options, out of these parameters, that are on the command line."""
    ctx, source = click.get_current_context(), ParameterSource.COMMANDLINE
    return [
        param.opts[0]
        for param in ctx.command.params
        if param.name in names and ctx.get_parameter_source(str(param.name)) is source
    ]


def require_options(names: Iterable[str], *others: str) -> None:
    """Raise if one of these parameters is on the command line and none of the others is."""
    extra = explicit_options(*names)
    if extra and not explicit_options(*others):
        wanted = " or ".join(f"--{name.replace('_', '-')}" for name in others)
        raise click.UsageError(f"{extra[0]} needs {wanted}")


# Errors


@contextmanager
def one_line_errors(where: object = None, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn the library's errors into errors of the command, prefixed with a file or an option.

    `names` maps arguments of the library to options.
    """
    try:
        yield
    except (ValueError, TypeError, ImportError, MemoryError) as error:
        from edgewise.common.checks import ArgumentError

        message = str(error) or "not enough memory"
        if isinstance(error, ArgumentError) and names and error.argument in names:
            message = f"{names[error.argument]} {error.value!r} {error.problem}"
        repeats = where is None or message.startswith(str(where))
        raise click.ClickException(message if repeats else f"{where}: {message}") from error


_USES = {
    "AdaBoostMH": "predict {path} DATA",
    "RankBoost": "predict {path} DATA",
    "RankFusion": "fuse {path} RUN RUN -o FUSED.run",
    "Recommender": "recommend {path} --user ID",
}
TABLE_MODELS = ("AdaBoostMH", "RankBoost")
"""Models of the rows of a table."""


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


def stem(path: str, endings: Iterable[str] = ()) -> str:
    """Return the name of a file without its folder, ``.gz`` and its ending, if it is one of these.

    >>> stem("data/people.csv.gz"), stem("runs/bm25.title.run", [".run"]), stem("a.b", [".run"])
    ('people', 'bm25.title', 'a.b')
    """
    name = Path(path).name
    name = (name[:-3] if name.lower().endswith(".gz") else name) or name
    ending = Path(name).suffix
    return name.removesuffix(ending) if not endings or ending in endings else name


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


_LOSSES = ("train_error", "hamming_loss", "ranking_loss", "bound")


def final_losses(model: Any) -> dict[str, float]:
    """Return the training losses of a model after its last round, and the bound, by field."""
    last, history = model.n_rounds_ - 1, model.history_
    names = [name for name in _LOSSES if name in history.fields and last >= 0]
    return {name: float(history[name][last]) for name in names}


def describe_training(model: Any) -> str:
    """Return the rounds of a model, why they ended, its training losses and their bound."""
    from edgewise.metrics.registry import metric_title

    rounds, trained = model.n_rounds_, model.history_.n_rounds
    text = pluralize(rounds, "rounds")
    if rounds < trained:
        text += f", the best of {trained:,}"
    if model.stop_reason_ != "n_rounds":
        text += f", ended by: {model.stop_reason_}"
    losses = final_losses(model)
    if "hamming_loss" in losses and len(model.classes_) == 2 and not model.fitted_.multilabel:
        del losses["hamming_loss"]  # the training error
    for name, loss in losses.items():
        text += f" (bound {loss:.1%})" if name == "bound" else f"; {metric_title(name)} {loss:.1%}"
    return text


def print_rules(model: Any, n: int, max_lines: int = 16) -> None:
    """Print the strongest rules of a model, as many as fit on some lines, at least the first."""
    # Rounds may repeat a rule, and a constant is not worth showing.
    texts = dict.fromkeys(str(rule) for rule in model.rules(2 * n))
    rules = [text for text in texts if "(always)" not in text][:n]
    if not rules:
        return
    lines = rules[0].split("\n")
    for rule in rules[1:]:
        lines += rule.split("\n") if len(lines) + rule.count("\n") < max_lines else []
    print_heading("Strongest rules")
    for line in lines[:max_lines]:
        click.echo(f" {one_line(line)}")
    if len(lines) > max_lines:
        click.echo(f" ... and {len(lines) - max_lines} more lines")
