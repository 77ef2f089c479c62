"""The command ``edgewise``: reads the command line and runs one of the commands.

Nothing heavy is imported before a command needs it, so that ``edgewise --help`` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from edgewise import __version__
from edgewise.commands import (
    apply,
    compare,
    datasets,
    demo,
    evaluate,
    fuse,
    info,
    rank,
    recommend,
)
from edgewise.commands.errors import CommandError, message
from edgewise.commands.notices import shown_warnings
from edgewise.common.text import one_line

_DESCRIPTION = "Boosting with readable votes, and proofs as it trains."
_EXAMPLES = """\
examples:
  edgewise demo                            train on handwritten digits, in a few seconds
  edgewise rank train.txt --validate vali.txt --test test.txt --model ranker.edgewise
                                           learn to rank from LETOR files, or tables
  edgewise apply ranker.edgewise new.txt --scores new.run
                                           rank other documents with the model
  edgewise evaluate qrels.txt bm25.run mine.run
                                           compare TREC runs
  edgewise fuse bm25.run lm.run --method rrf --out fused.run
                                           fuse TREC runs
  edgewise recommend ratings.csv --user 196 --model films.edgewise
                                           learn from ratings what users may like
  edgewise compare ratings.csv --algorithms bias,item-knn,sgd
                                           compare recommenders over folds, in one table
  edgewise info ranker.edgewise            what a model file holds
  edgewise datasets                        the standard data sets, and which are here

`edgewise COMMAND --help` tells the rest.
"""
_COMMANDS = (demo, rank, apply, evaluate, fuse, recommend, compare, info, datasets)
_FAILED, _INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 after an error, 130 after Ctrl-C.

    Parameters
    ----------
    argv : sequence of str, default None
        The arguments; those of the process if None.

    Examples
    --------
    >>> from edgewise.cli import main
    >>> main(["datasets"])
    name        train    test  columns  classes  here  licence
    letter      16000    4000       16       26  ...
    0
    """
    try:
        options = _parser().parse_args(argv)
        with shown_warnings():
            options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CommandError, OSError) as error:
        sys.stderr.write(f"edgewise: error: {one_line(message(error))}\n")
        return _FAILED
    return 0


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with room for the longest command, whose indent argparse does not count."""

    def format_help(self) -> str:
        """Return the help."""
        self._action_max_length += 2
        return super().format_help()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="edgewise",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"edgewise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser
