"""The command group: finds a command, runs it, and turns every failure into one line.

A command's module is imported when the command runs, so ``edgewise --help`` answers at once.
"""

import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

import rich_click as click
from click.exceptions import Exit

from edgewise import __version__
from edgewise.cli.common import SETTINGS, AsWritten, silence
from edgewise.common.text import one_line

_PANELS = {
    "Tables": {
        "train": "Train a model on a table, say how good it is, and save it.",
        "predict": "Predict classes, labels or ranks with a saved model.",
        "evaluate": "Measure a saved model on a table, or TREC runs against judgments.",
        "explain": "Say what a model has learned, or why it scores a row as it does.",
        "rules": "List the strongest rules of a model.",
        "report": "Write a page about a model and how good it is.",
        "export": "Write a model as ONNX, Python or SQL.",
    },
    "Ranked lists": {
        "rank": "Train RankBoost on judged documents and test it.",
        "fuse": "Fuse TREC runs, with or without training.",
    },
    "Ratings": {
        "recommend": "Train a recommender on ratings and list items for users.",
        "compare": "Compare recommenders by cross-validation.",
    },
    "More": {
        "info": "Show what a model file holds.",
        "datasets": "List the standard data sets.",
        "demo": "Train on handwritten digits and show what the model learned.",
    },
}
COMMANDS = {name: about for panel in _PANELS.values() for name, about in panel.items()}
"""Every command with its line in ``edgewise --help``; its module and function have its name."""

_EXAMPLES = """\
Examples:
  edgewise train people.csv --target income
  edgewise predict people.edgewise new.csv -o predicted.csv
  edgewise evaluate people.edgewise test.csv
  edgewise explain people.edgewise new.csv --row 1
  edgewise rules people.edgewise -n 20
  edgewise report people.edgewise --data test.csv -o people.html
  edgewise export people.edgewise -o people.onnx
  edgewise rank train.txt --test test.txt --model ranker.edgewise
  edgewise fuse bm25.run lm.run --method rrf --output fused.run
  edgewise recommend ratings.csv --user 196 --model films.edgewise
  edgewise compare ratings.csv --algorithms bias,item-knn,sgd
  edgewise info people.edgewise
  edgewise datasets
  edgewise demo

Run `edgewise COMMAND --help` for the options of a command. For completion in
bash, run eval "$(_EDGEWISE_COMPLETE=bash_source edgewise)"; zsh and fish have
zsh_source and fish_source."""
_FAILED, _INTERRUPTED = 2, 130


class _Commands(AsWritten, click.RichGroup):  # type: ignore[misc]
    """Commands that are imported when they run."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        for panel, commands in _PANELS.items():
            for name, about in commands.items():
                self.add_command(click.RichCommand(name=name, help=about, panel=panel))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the arguments name, with its own options."""
        name, found, rest = super().resolve_command(ctx, args)
        if name is not None:
            found = getattr(import_module(f"edgewise.cli.{name}"), name)
        return name, found, rest


@click.group(cls=_Commands, context_settings=SETTINGS, epilog=_EXAMPLES)
@click.version_option(__version__, prog_name="edgewise", message="%(prog)s %(version)s")
def edgewise() -> None:
    """Boosted weak rules for classifying, ranking and recommending."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 after an error, 130 after Ctrl-C.

    Parameters
    ----------
    argv : sequence of str, default None
        The arguments; the process's own if None.
    """
    if "_EDGEWISE_COMPLETE" in os.environ:
        edgewise.main(prog_name="edgewise")
    args = list(sys.argv[1:] if argv is None else argv)
    # There is none where the shell has closed it, as `>&-` does.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    if not args:
        context = edgewise.make_context("edgewise", [], resilient_parsing=True)
        click.echo(context.get_help(), err=True)
        return _FAILED
    logger, handler = logging.getLogger("edgewise"), _Warnings()
    logger.addHandler(handler)
    code = 0
    try:
        try:
            with edgewise.make_context("edgewise", args) as context:
                edgewise.invoke(context)
        except Exit as done:
            code = done.exit_code
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        silence()
        return 0
    except UnicodeEncodeError as error:
        sign = error.object[error.start : error.start + 1]
        said = f"standard output is {error.encoding}, which cannot hold {sign!a}"
        sys.stderr.write(f"edgewise: error: {said}: set PYTHONUTF8=1, or write a file\n")
        return _FAILED
    except (click.ClickException, OSError) as error:
        sys.stderr.write(f"edgewise: error: {one_line(_message(error))}\n")
        return _FAILED
    finally:
        logger.removeHandler(handler)
    return code


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123


def _message(error: click.ClickException | OSError) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
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
            # On a terminal a progress bar may stand in this line.
            sys.stderr.write(f"\r\x1b[K{line}\n" if sys.stderr.isatty() else f"{line}\n")
            sys.stderr.flush()
