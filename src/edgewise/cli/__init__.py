"""The command ``edgewise``: one module for each command, imported when it runs.

>>> from edgewise.cli import main
>>> main(["--version"])
edgewise ...
0
"""

from edgewise.cli.app import main

__all__ = ["main"]
