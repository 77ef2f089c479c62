"""What all commands share: options and their types, one-line errors, and printed facts."""

import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from itertools import combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from edgewise.common.text import one_line, to_json_value

if TYPE_CHECKING:
    from rich.console import Console

    from edgewise.estimators import RankBoost

MODEL = ".edgewise"
RUN = (".run", ".run.gz")
TABLE = (".csv", ".csv.gz", ".parquet")
"""How the names of models, TREC runs and tables end."""

PATIENCE = 100
"""Rounds without improvement on validation data after which training stops."""

SETTINGS: dict[str, Any] = {
    "show_default": True,
    "help_option_names": ["-h", "--help"],
    "rich_help_config": {
        "max_width": 100,
        "options_table_column_types": ["opt_all", "metavar", "help"],
        "options_table_help_sections": ["help", "default"],
        "range_string": "",
    },
}

# The widest list of choices that stands beside its option.
_WIDEST = 8

Decorator = Callable[[Any], Any]
Option = Callable[..., Decorator]


class AsWritten(click.RichCommand):
    """A command whose help texts keep their lines: examples stand among them."""

    def format_help_text(self, ctx: click.Context, formatter: Any) -> None:
        """Write the help text."""
        self._write(self.help, formatter)

    def format_epilog(self, ctx: click.Context, formatter: Any) -> None:
        """Write the text below the options."""
        self._write(self.epilog, formatter)

    def _write(self, text: str | None, formatter: Any) -> None:
        from rich.padding import Padding
        from rich.text import Text

        if text:
            formatter.write(Padding(Text(cleandoc(text)), (0, 1, 1, 1)))


def silence() -> None:
    """Write nothing more: the reader of standard output, such as `head`, has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def though_unread() -> Iterator[None]:
    """Print what stands before long work, which goes on if nobody reads it to the end."""
    try:
        yield
    except BrokenPipeError:
        silence()


class Command(AsWritten):
    """A command with its arguments above its options.

    An option that may be repeated also takes several values at once, ``--user 7 8``. No two files
    of a command may be the same.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels of arguments and options."""
        self.panels = [click.RichOptionPanel("Arguments")]
        super().format_options(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        rest = super().parse_args(ctx, self._one_value_each(args))
        if not ctx.resilient_parsing:
            self._check_files(ctx)
        return rest

    def _one_value_each(self, args: list[str]) -> list[str]:
        """Return ``--user 7 --user 8`` for ``--user 7 8``, but leave required arguments a word."""
        options = [option for option in self.params if isinstance(option, click.Option)]
        names = {name for option in options for name in option.opts}
        flags = {name for option in options if option.is_flag for name in option.opts}
        repeatable = {name for option in options if option.multiple for name in option.opts}
        words: list[str] = []
        extra_values: list[int] = []  # positions in words
        n_arguments, option = 0, ""
        for word, following in zip_longest(args, args[1:]):
            if word in names - flags and following in names:
                raise click.BadOptionUsage(word, f"Option {word!r} requires an argument.")
            is_value = bool(words) and words[-1] in names - flags
            if not is_value:
                is_option = word.startswith("-") and not word[1:].isdigit()
                if option and not is_option:
                    extra_values.append(len(words) + 1)
                    words.append(option)
                else:
                    option = word if word in repeatable else ""
                    n_arguments += not is_option
            words.append(word)
        arguments = [param for param in self.params if isinstance(param, click.Argument)]
        n_missing = max(sum(argument.required for argument in arguments) - n_arguments, 0)
        # Files first: in `--target income people.csv --drop age sex` the table is people.csv.
        extra_values.sort(key=lambda i: (Path(words[i]).is_file(), i), reverse=True)
        for i in sorted(extra_values[:n_missing], reverse=True):
            del words[i - 1]
        return words

    def _check_files(self, ctx: click.Context) -> None:
        files = []
        for one in self.params:
            value = ctx.params.get(one.name or "")
            if isinstance(one.type, (click.Path, OutputFile)) and value is not None:
                paths = value if isinstance(value, tuple) else (value,)
                label = one.opts[0] if isinstance(one, click.Option) else str(one.name).upper()
                files += [(label, Path(path)) for path in paths]
        for (first, path), (second, other) in combinations(files, 2):
            if path.resolve() == other.resolve():
                both = f"{first} twice" if first == second else f"{first} and {second}"
                raise click.UsageError(f"{other} is given as {both}")


def command(name: str, **attrs: Any) -> Decorator:
    """Make a function a command; its docstring is the help text."""
    return click.command(name, cls=Command, context_settings=SETTINGS, **attrs)


def heading(title: str) -> Option:
    """Return a function that adds options under a heading; the first choice is the default."""

    def option(*names: str, choices: Iterable[str] | None = None, **attrs: Any) -> Decorator:
        if choices is not None:
            attrs = {"type": click.Choice(tuple(choices)), "default": next(iter(choices)), **attrs}
            if "metavar" not in attrs and len("|".join(choices)) > _WIDEST:
                attrs["metavar"] = "NAME"
                attrs["help"] += f" One of {', '.join(choices)}."
        kind = attrs.get("type")
        if isinstance(kind, click.IntRange):
            attrs.setdefault("metavar", "N")
        elif isinstance(kind, click.FloatRange):
            attrs.setdefault("metavar", "X")
        return click.option(*names, panel=title, **attrs)

    return option


def options(*decorators: Decorator) -> Decorator:
    """Add several options, in this order."""

    def decorate(function: Any) -> Any:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate


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
    """A number within bounds; NaN and infinity are not numbers here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> float:
        """Return the number, or fail."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid float.", param, ctx)
        return number


COUNT = click.IntRange(min=1)
FILE = click.Path(exists=True, dir_okay=False, readable=True)
TABLE_FILE = OutputFile(*TABLE)


def _threads(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("use 1 for one thread, -1 for all cores", ctx, param)
    return value


def seed(option: Option) -> Decorator:
    """Add the option ``--seed``."""
    kind = click.IntRange(0, 2**32 - 1)
    return option("--seed", "random_state", type=kind, default=0, help="Random seed.")


def threads(option: Option) -> Decorator:
    """Add the option ``--threads``."""
    about = "Number of threads; -1 uses all cores."
    kind = click.IntRange(min=-1)
    return option("--threads", "n_jobs", type=kind, default=1, callback=_threads, help=about)


def json_option(option: Option) -> Decorator:
    """Add the option ``--json``."""
    return option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def model_file(option: Option) -> Decorator:
    """Add the option ``--model``."""
    about = f"Save the model here; the name must end in {MODEL}."
    return option("--model", type=OutputFile(MODEL), help=about)


def time_limit(option: Option) -> Decorator:
    """Add the option ``--time-limit``."""
    kind, about = Real(0, min_open=True), "Stop training after this many seconds."
    return option("--time-limit", type=kind, metavar="SECONDS", help=about)


def boosting(option: Option) -> Decorator:
    """Add the options of every boosting run, named as the estimators name them."""
    rate, about = Real(0, 1, min_open=True), "Factor that shrinks every step."
    stop = f"Stop after N rounds without improvement.  [default with --validate: {PATIENCE}]"
    return options(
        option("--rounds", "n_rounds", type=COUNT, default=500, help="Number of boosting rounds."),
        option("--learning-rate", type=rate, default=0.2, help=about),
        seed(option),
        threads(option),
        option("--early-stopping-rounds", type=COUNT, help=stop),
    )


def given(*names: str) -> list[str]:
    """Return the options, out of these parameters, that are on the command line."""
    ctx, source = get_current_context(), ParameterSource.COMMANDLINE
    return [
        one.opts[0]
        for one in ctx.command.params
        if one.name in names and ctx.get_parameter_source(str(one.name)) is source
    ]


def needs(names: Iterable[str], *others: str) -> None:
    """Raise if one of these parameters is on the command line and none of the others is."""
    extra = given(*names)
    if extra and not given(*others):
        wanted = " or ".join(f"--{name.replace('_', '-')}" for name in others)
        raise click.UsageError(f"{extra[0]} needs {wanted}")


@contextmanager
def one_line_errors(where: object = None, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn the library's errors into the command's: `where` says in which file or option.

    An argument of the library becomes the option that `names` gives for it.
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
    "AdaBoostMH": "`edgewise predict {path} DATA`",
    "RankBoost": "`edgewise predict {path} DATA`",
    "RankFusion": "`edgewise fuse {path} RUN RUN -o FUSED.run`",
    "Recommender": "`edgewise recommend {path} --user ID`",
}


def load_model(path: str, kind: str | None = None, purpose: str = "") -> Any:
    """Return the model of a file, or raise if it is not of a kind that serves a purpose."""
    import edgewise

    with one_line_errors():
        model = edgewise.load(path)
    if kind is not None and not isinstance(model, getattr(edgewise, kind)):
        found = next(name for name in _USES if isinstance(model, getattr(edgewise, name)))
        raise click.ClickException(
            f"{path} holds {type(model).__name__}, which does not {purpose}: "
            f"use {_USES[found].format(path=path)}"
        )
    return model


def verbosity() -> int:
    """Return the `verbose` of an estimator: progress is for terminals."""
    return int(sys.stderr.isatty())


def raise_if_interrupted(model: Any) -> None:
    """Raise KeyboardInterrupt if Ctrl-C ended the training."""
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt


def console() -> "Console":
    """Return what writes to standard output: as wide as a terminal, else as COLUMNS says or 100."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    return Console(width=wide, highlight=False, markup=False, emoji=False)


def print_table(
    rows: Sequence[Sequence[str]], left: Collection[int] = (0,), heading: bool = True
) -> None:
    """Print rows of cells, the first of them a heading; columns but those in `left` flush right."""
    from rich.padding import Padding
    from rich.table import Table

    table = Table(
        box=None, show_header=heading, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold"
    )
    for place, cell in enumerate(rows[0]):
        table.add_column(one_line(cell), justify="left" if place in left else "right")
    for row in rows[heading:]:
        table.add_row(*map(one_line, row))
    out = console()
    with out.capture() as captured:
        out.print(Padding(table, (0, 0, 0, 1)))
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def heading_line(text: str) -> None:
    """Print the title of what follows, after an empty line."""
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


def print_rules(model: Any, n: int) -> None:
    """Print the strongest rules of a model, if it has any."""
    rules = model.rules(n)
    if rules:
        click.echo("strongest rules")
    for rule in rules:
        for line in str(rule).split("\n"):
            click.echo(f"  {one_line(line)}")


def training_facts(model: "RankBoost") -> list[tuple[str, str]]:
    """Return the rounds of a model and why they ended, its training loss and the bound on it."""
    done, kept = model.history_.n_rounds, model.n_rounds_
    best = f", the best of {done}" if kept < done else ""
    facts = [("rounds", f"{kept}{best} (training ended by: {model.stop_reason_})")]
    if kept:
        for name, key in (("ranking loss", "ranking_loss"), ("bound", "bound")):
            facts.append((name, f"{model.history_[key][kept - 1]:.4f}"))
    return facts
