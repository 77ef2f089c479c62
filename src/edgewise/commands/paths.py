"""The files of a command, looked at before any work is done."""

import os
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from edgewise.commands.errors import CommandError

MODEL = ".edgewise"
"""How the names of models end."""

RUN = (".run", ".run.gz")
"""How the names of TREC runs end, where a name says what to write."""

Named = tuple[str, str | None]
"""A file by what the command calls it, such as ``--test``, and its path; None if not given."""


def check_inputs(files: Iterable[Named]) -> None:
    """Raise unless all files are there, and no two of them are the same.

    Raises
    ------
    CommandError
        If a file is missing, is a folder or no plain file, or is named twice.

    Examples
    --------
    >>> check_inputs([("TRAIN", "nowhere.txt")])
    Traceback (most recent call last):
        ...
    edgewise.commands.errors.CommandError: nowhere.txt: No such file or directory
    """
    given = [(name, Path(path)) for name, path in files if path is not None]
    for _, path in given:
        if not path.exists():
            raise CommandError(f"{path}: No such file or directory")
        if not path.is_file():
            raise CommandError(f"{path} is not a file that can be read")
    _refuse_twice(given)


def check_outputs(outputs: Sequence[Named], inputs: Iterable[Named], models: Sequence[str]) -> None:
    """Raise unless all files can be written, under names of their own.

    Parameters
    ----------
    outputs, inputs : sequences of (name, path)
        What the command writes and reads.
    models : sequence of str
        The names of those outputs that are models: they end in ``.edgewise``, and others don't.

    Raises
    ------
    CommandError
        If a folder is missing or closed, something else is in the way, an ending is wrong, or the
        file is read or written by the same command.

    Examples
    --------
    >>> check_outputs([("--model", "ranker.txt")], [], models=["--model"])
    Traceback (most recent call last):
        ...
    edgewise.commands.errors.CommandError: --model must end in .edgewise, got 'ranker.txt'
    """
    given = [(name, Path(path)) for name, path in outputs if path is not None]
    for name, path in given:
        if (path.suffix == MODEL) != (name in models):
            verb = "must" if name in models else "must not"
            raise CommandError(f"{name} {verb} end in {MODEL}, got {str(path)!r}")
        folder = path.resolve().parent
        if not folder.is_dir():
            raise CommandError(f"{name}: the folder of {str(path)!r} does not exist")
        if path.exists() and not path.is_file():
            raise CommandError(f"{name} must be the name of a file, got {str(path)!r}")
        if not os.access(folder, os.W_OK):
            raise CommandError(f"{name}: the folder of {str(path)!r} cannot be written to")
    _refuse_twice([*((name, Path(path)) for name, path in inputs if path is not None), *given])


def _refuse_twice(files: list[tuple[str, Path]]) -> None:
    for (one, first), (other, second) in combinations(files, 2):
        if first.resolve() == second.resolve():
            whose = f"{other} twice" if one == other else f"{one} and {other}"
            raise CommandError(f"{second} is given as {whose}")


def stem(path: str) -> str:
    """Return the name of a file without its folder and the usual endings.

    Examples
    --------
    >>> stem("runs/bm25.run.gz"), stem("input.bm25")
    ('bm25', 'input.bm25')
    """
    name = Path(path).name.removesuffix(".gz")
    for ending in (".run", ".txt", ".trec", ".res"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name
