"""Commands, their arguments and options, the types of both, and the options that several share."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import cleandoc
from itertools import combinations, zip_longest
from pathlib import Path
from textwrap import indent
from typing import Any

import click
from click.core import ParameterSource

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

# Longer lists of choices are part of the description.
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

    An option that may be repeated also takes several values at once, ``--user 7 8``. All files on
    the command line must be different.
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
        """Return ``--user 7 --user 8`` for ``--user 7 8``, but leave words for the arguments."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        takes_value = {name for option in options if not option.is_flag for name in option.opts}
        repeatable = {name for option in options if option.multiple for name in option.opts}
        names = {name for option in options for name in option.opts}
        expanded: list[str] = []
        extra_values: list[int] = []  # positions in `expanded` of values after the first
        n_arguments, repeated = 0, ""
        for arg, following in zip_longest(args, args[1:]):
            if arg in takes_value and following in names:
                raise click.BadOptionUsage(arg, f"Option {arg!r} requires an argument.")
            is_first_value = bool(expanded) and expanded[-1] in takes_value
            is_option = arg.startswith("-") and not isinstance(_parse_value(arg), (int, float))
            if repeated and not is_first_value and not is_option:
                extra_values.append(len(expanded) + 1)
                expanded.append(repeated)
            elif not is_first_value:
                repeated = arg if arg in repeatable else ""
                n_arguments += not is_option
            expanded.append(arg)
        arguments = [param for param in self.params if isinstance(param, click.Argument)]
        n_missing = max(sum(param.required for param in arguments) - n_arguments, 0)
        # Files first: in `--target income people.csv --drop age sex` the table is people.csv.
        extra_values.sort(key=lambda i: (Path(expanded[i]).is_file(), i), reverse=True)
        for i in sorted(extra_values[:n_missing], reverse=True):
            del expanded[i - 1]
        return expanded

    def _check_files(self, ctx: click.Context) -> None:
        """Raise if two arguments or options name the same file."""
        files = []
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(param.type, (click.Path, OutputFile)) and value is not None:
                is_option = isinstance(param, click.Option)
                label = param.opts[0] if is_option else str(param.name).upper()
                paths = value if isinstance(value, tuple) else (value,)
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


def option(
    *names: str, group: str = "Options", choices: Iterable[str] | None = None, **attrs: Any
) -> Decorator:
    """Add an option under the heading of a group; the first choice is the default."""
    if choices is not None:
        attrs = {"type": click.Choice(tuple(choices)), "default": next(iter(choices)), **attrs}
        if "metavar" not in attrs and len("|".join(choices)) > _MAX_CHOICES_WIDTH:
            attrs["metavar"] = "NAME"
            about, mark, default = attrs["help"].partition("  [default")
            attrs["help"] = f"{about} One of {', '.join(choices)}.{mark}{default}"
    kind = attrs.get("type")
    if isinstance(kind, click.IntRange):
        attrs.setdefault("metavar", "N")
    elif isinstance(kind, click.FloatRange):
        attrs.setdefault("metavar", "X")
    elif kind is FILE or isinstance(kind, OutputFile):
        attrs.setdefault("metavar", "FILE")
    return click.option(*names, cls=Option, group=group, **attrs)


def combine(*decorators: Decorator) -> Decorator:
    """Return one decorator that adds several options, in this order."""

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


def _check_threads(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("use 1 for one thread, -1 for all cores", ctx, param)
    return value


seed = option(
    "--seed", "random_state", type=click.IntRange(0, 2**32 - 1), default=0, help="Random seed."
)
threads = option(
    "--threads",
    "n_jobs",
    type=click.IntRange(min=-1),
    default=1,
    callback=_check_threads,
    help="Number of threads; -1 uses all cores.",
)
json = option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


escape_formulas = option(
    "--escape-formulas",
    group="Files",
    is_flag=True,
    help="Put an apostrophe before text of a CSV file that a spreadsheet would run as a formula.",
)


def output(about: str, kind: OutputFile = TABLE_FILE, required: bool = False) -> Decorator:
    """Add the option ``--output``."""
    return option("--output", "-o", group="Files", type=kind, required=required, help=about)


def model(about: str = f"Save the model here; the name must end in {MODEL}.") -> Decorator:
    """Add the option ``--model``."""
    return option("--model", group="Files", type=OutputFile(MODEL), help=about)


def settings(about: str, metavar: str = "KEY=VALUE", group: str = "Training") -> Decorator:
    """Add the option ``--set``."""
    return option("--set", "settings", group=group, metavar=metavar, multiple=True, help=about)


_CONSTANTS = {"true": True, "false": False, "none": None}


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return parameters from texts of the form key=value; commas separate the values of a list."""
    parsed: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = (side.strip() for side in pair.partition("="))
        if not sign or not name:
            raise click.UsageError(f"--set must have the form key=value, got {pair!r}")
        if name in parsed:
            raise click.UsageError(f"--set gives {name} twice")
        values = [_parse_value(value.strip()) for value in text.split(",")]
        parsed[name] = values if len(values) > 1 else values[0]
    return parsed


def parse_directions(pairs: Iterable[str]) -> dict[str, int]:
    """Return the directions of columns from texts of the form column=+1 or column=-1."""
    directions: dict[str, int] = {}
    for pair in pairs:
        name, _, text = pair.rpartition("=")
        if not name or text.strip() not in ("+1", "1", "-1"):
            raise click.UsageError(
                f"--monotonic must have the form column=+1 or column=-1, got {pair!r}"
            )
        directions[name.strip()] = int(text)
    return directions


def _parse_value(text: str) -> Any:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def build_estimator(kind: type, chosen: Mapping[str, Any], **defaults: Any) -> Any:
    """Return an estimator with the parameters of --set."""
    valid = kind().get_params(deep=False)
    for name in chosen:
        if name not in valid:
            raise click.UsageError(
                f"--set: unknown parameter {name!r} of {kind.__name__}; valid: {', '.join(valid)}"
            )
    return kind(**{**defaults, **chosen})


# Which options are on the command line


def explicit_options(*names: str) -> list[str]:
    """Return the options, out of these parameters, that are on the command line."""
    ctx = click.get_current_context()
    return [
        param.opts[0]
        for param in ctx.command.params
        if param.name in names
        and ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    ]


def refuse_options(names: Iterable[str], reason: str) -> None:
    """Raise, with the reason, if one of these parameters is on the command line."""
    if extra := explicit_options(*names):
        raise click.UsageError(f"{extra[0]} {reason}")


def require_options(names: Iterable[str], *others: str) -> None:
    """Raise if one of these parameters is on the command line and none of the others is."""
    if not explicit_options(*others):
        wanted = " or ".join(f"--{name.replace('_', '-')}" for name in others)
        refuse_options(names, f"needs {wanted}")
