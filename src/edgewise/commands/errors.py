"""What went wrong, told in one line."""

from collections.abc import Iterator
from contextlib import contextmanager


class CommandError(Exception):
    """What to tell the user in one line.

    Examples
    --------
    >>> raise CommandError("--test is the same file as TRAIN")
    Traceback (most recent call last):
        ...
    edgewise.commands.errors.CommandError: --test is the same file as TRAIN
    """


@contextmanager
def in_one_line(where: object = None) -> Iterator[None]:
    """Turn what the library says of wrong input into a `CommandError`, which may say where.

    Examples
    --------
    >>> with in_one_line("train.txt"):
    ...     raise ValueError("there are no pairs")
    Traceback (most recent call last):
        ...
    edgewise.commands.errors.CommandError: train.txt: there are no pairs
    """
    try:
        yield
    except (ValueError, TypeError, ImportError, MemoryError) as error:
        told = str(error) or "there is not enough memory"
        raise CommandError(told if where is None else f"{where}: {told}") from error


def message(error: Exception) -> str:
    """Return what an error says, and of which file.

    Examples
    --------
    >>> message(FileNotFoundError(2, "No such file or directory", "a.run"))
    'a.run: No such file or directory'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
