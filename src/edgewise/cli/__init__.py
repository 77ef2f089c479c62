"""The command ``edgewise``: one module for each command, imported when it runs.

>>> from edgewise.cli import main
>>> main(["--version"])
edgewise ...
0
"""

from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 after an error, 130 after Ctrl-C.

    Parameters
    ----------
    argv : sequence of str, default None
        The arguments; the process's own if None.
    """
    try:
        from edgewise.cli.app import run

        return run(argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
