"""The command group: finds a command, runs it, and turns every failure into one line.

A command's module is imported when the command runs, so ``edgewise --help`` answers at once.
"""

import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

import click
from click.exceptions import Exit

from edgewise import __version__
from edgewise.cli.common import discard_output
from edgewise.cli.params import SETTINGS, Option, PlainHelp, write_section
from edgewise.common.text import one_line

_SECTIONS = {
    "Tables": {
        "train": "Train a classifier or ranker on a table, test it and save it.",
        "predict": "Predict classes, labels or ranks with a saved model.",
        "evaluate": "Evaluate a saved model on a table, or TREC runs against qrels.",
        "show": "Show what a model learned: columns, effects and rules or terms.",
        "explain": "Explain the prediction for one row.",
        "report": "Write an HTML report on a model.",
        "scorecard": "Print an additive model as points to add up by hand.",
        "export": "Write a model as ONNX, Python or SQL.",
    },
    "Ranked lists": {"fuse": "Fuse TREC runs, with or without training."},
    "Ratings": {
        "recommend": "Train a recommender on ratings and list items for users.",
        "compare": "Compare recommenders by cross-validation.",
    },
    "More": {
        "datasets": "List the standard data sets.",
        "demo": "Train on handwritten digits and show what the model learned.",
    },
}
COMMANDS = {name: about for section in _SECTIONS.values() for name, about in section.items()}
"""Every command with its line in ``edgewise --help``; its module and function have its name."""

_EXAMPLES = """\
Examples:
  edgewise train people.csv --target income
  edgewise train train.txt --validate vali.txt --test test.txt
  edgewise predict people.edgewise new.csv -o predicted.csv
  edgewise evaluate people.edgewise test.csv
  edgewise show people.edgewise -n 20
  edgewise explain people.edgewise new.csv --row 1
  edgewise report people.edgewise --data test.csv -o people.html
  edgewise scorecard people.edgewise --points 10
  edgewise export people.edgewise -o people.onnx
  edgewise fuse bm25.run lm.run --method rrf --output fused.run
  edgewise recommend ratings.csv --user 196 --model films.edgewise
  edgewise compare ratings.csv --algorithms bias,item-knn,sgd
  edgewise datasets
  edgewise demo

Run `edgewise COMMAND --help` for the options of a command. For completion in
bash, run eval "$(_EDGEWISE_COMPLETE=bash_source edgewise)"; zsh and fish have
zsh_source and fish_source."""
_FAILED = 2


class _Commands(PlainHelp, click.Group):
    """Commands that are imported when they run."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        for name, about in COMMANDS.items():
            self.add_command(click.Command(name, help=about))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections, and the options."""
        for title, commands in _SECTIONS.items():
            write_section(formatter, title, list(commands.items()))
        records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
        write_section(formatter, "Options", [record for record in records if record])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the arguments name, with its own options."""
        name, command, remaining = super().resolve_command(ctx, args)
        if name is not None:
            command = getattr(import_module(f"edgewise.cli.{name}"), name)
        return name, command, remaining


@click.group(cls=_Commands, context_settings=SETTINGS, epilog=_EXAMPLES)
@click.version_option(__version__, prog_name="edgewise", message="%(prog)s %(version)s")
@click.option(
    "--debug",
    cls=Option,
    is_flag=True,
    expose_value=False,
    help="Show the traceback of an error; EDGEWISE_DEBUG=1 does the same.",
)
def edgewise() -> None:
    """Boosted weak rules for classifying, ranking and recommending."""


def run(argv: Sequence[str] | None) -> int:
    """Run a command and return its exit code; see :func:`edgewise.cli.main`."""
    if "_EDGEWISE_COMPLETE" in os.environ:
        edgewise.main(prog_name="edgewise")
    args = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in args or bool(os.environ.get("EDGEWISE_DEBUG"))
    args = [arg for arg in args if arg != "--debug"]
    # A shell may have closed the streams, with `>&-`.
    sys.stdout, sys.stderr = sys.stdout or _open_null(), sys.stderr or _open_null()
    if not args:
        context = edgewise.make_context("edgewise", [], resilient_parsing=True)
        click.echo(context.get_help(), err=True)
        return _FAILED
    logger, handler = logging.getLogger("edgewise"), _Warnings()
    logger.addHandler(handler)
    try:
        return _invoke(args)
    except BrokenPipeError:
        discard_output()
        return 0
    except (click.ClickException, OSError, UnicodeEncodeError) as error:
        if debug:
            import traceback

            traceback.print_exc()
        sys.stderr.write(f"edgewise: error: {one_line(_message(error))}\n")
        return _FAILED
    finally:
        logger.removeHandler(handler)


def _invoke(args: list[str]) -> int:
    try:
        with edgewise.make_context("edgewise", args) as context:
            edgewise.invoke(context)
    except Exit as exit_:
        return exit_.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _open_null() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123


def _message(error: click.ClickException | OSError | UnicodeEncodeError) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start : error.start + 1]
        return (
            f"standard output is {error.encoding}, which cannot encode {character!a}: "
            "set PYTHONUTF8=1, or write a file"
        )
    if error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


class _Warnings(logging.Handler):
    """Writes each warning once, on one line of standard error."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._written: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line = f"edgewise: {record.levelname.lower()}: {one_line(record.getMessage())}"
        if line not in self._written:
            self._written.add(line)
            # A progress bar may occupy this line of a terminal.
            sys.stderr.write(f"\r\x1b[K{line}\n" if sys.stderr.isatty() else f"{line}\n")
            sys.stderr.flush()
