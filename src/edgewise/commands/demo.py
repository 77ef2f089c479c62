"""``edgewise demo``: a first look."""

import argparse
from typing import Any

from edgewise.commands.options import count


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="train on handwritten digits and show what was learned",
        description="Train on scikit-learn's digits, print what was learned, save the model.",
    )
    parser.add_argument("--folder", metavar="F", help="where to write (default: edgewise-demo)")
    parser.add_argument(
        "--rounds", metavar="N", type=count, help="rounds of boosting (default: 150)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the demo."""
    from edgewise import demo

    given = {"folder": options.folder, "rounds": options.rounds}
    demo.run(**{name: value for name, value in given.items() if value is not None})
