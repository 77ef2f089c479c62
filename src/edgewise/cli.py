"""The command ``edgewise``: a demo, the data sets, and what a model file holds.

Nothing heavy is imported before a command needs it, so that ``edgewise --help`` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgewise import __version__

if TYPE_CHECKING:
    from edgewise.estimators import AdaBoostMH

_DESCRIPTION = "Boosting with readable votes, and proofs as it trains."
_EXAMPLES = """\
examples:
  edgewise demo                            train on handwritten digits, in a few seconds
  edgewise info edgewise-demo/digits.edgewise
                                           what a model file holds
  edgewise datasets                        the standard data sets, and which are here
"""
_FAILED, _INTERRUPTED = 2, 130
_TOP_FEATURES = 10
_TOP_RULES = 3
_MOST_CLASSES = 20


class _CommandError(Exception):
    """What to tell the user in one line."""


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
        options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (_CommandError, OSError) as error:
        print(f"edgewise: error: {_one_line(_message(error))}", file=sys.stderr)
        return _FAILED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="edgewise",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"edgewise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="train on handwritten digits and show what was learned",
        description="Train on scikit-learn's digits, print what was learned, save the model.",
    )
    demo.add_argument("--folder", metavar="F", help="where to write (default: edgewise-demo)")
    demo.add_argument(
        "--rounds", metavar="N", type=_count, help="rounds of boosting (default: 150)"
    )
    demo.set_defaults(run=_demo)

    datasets = commands.add_parser(
        "datasets",
        help="list the standard data sets",
        description="List the standard data sets, their sizes and terms, and which are here.",
    )
    datasets.set_defaults(run=_datasets)

    info = commands.add_parser(
        "info",
        help="tell what a model file holds",
        description="Tell what a model file holds, without running any code from it.",
    )
    info.add_argument("model", metavar="MODEL", help="a file that model.save(path) wrote")
    info.set_defaults(run=_info)
    return parser


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def _demo(options: argparse.Namespace) -> None:
    from edgewise import demo

    given = {"folder": options.folder, "rounds": options.rounds}
    demo.run(**{name: value for name, value in given.items() if value is not None})


def _datasets(options: argparse.Namespace) -> None:
    from edgewise import datasets

    print(f"{'name':<10} {'train':>6} {'test':>7} {'columns':>8} {'classes':>8}  here  licence")
    for name in datasets.names():
        facts = datasets.info(name)
        # The first words name the terms; the rest says who states them.
        licence = facts.licence.replace(";", ",").split(",")[0]
        print(
            f"{name:<10} {facts.n_train:>6} {facts.n_test:>7} {facts.n_features:>8} "
            f"{facts.n_classes:>8}  {'yes' if datasets.available(name) else 'no':<4}  {licence}"
        )
    print()
    print("What is not here is downloaded when edgewise.datasets.load(name) first asks for it.")
    print("Full terms and citation: edgewise.datasets.info(name)")


def _info(options: argparse.Namespace) -> None:
    from edgewise.estimators import load
    from edgewise.model import ModelFileError

    try:
        model = load(options.model)
    except ModelFileError as error:
        raise _CommandError(str(error)) from error
    for name, value in _facts(model):
        print(f"{name:<16} {_one_line(value)}")
    _print_features(model)


def _facts(model: "AdaBoostMH") -> list[tuple[str, str]]:
    names = [str(name) for name in model.classes_.tolist()]
    listed = ", ".join(names[:_MOST_CLASSES]) + (", ..." if len(names) > _MOST_CLASSES else "")
    kind = "labels" if model._multilabel else "classes"
    n_used = (model.feature_importances_ > 0).sum()
    facts = [
        ("estimator", f"{type(model).__name__}, {model.votes_} votes, {model.loss_} loss"),
        ("learner", f"{'of its own' if model.learner_ is None else model.learner_!r}"),
        (kind, f"{len(names)}: {listed}"),
        ("features", f"{model.n_features_in_}, of which {n_used} are used"),
        ("rounds", f"{model.n_rounds_} (training ended by: {model.stop_reason_})"),
    ]
    if model.n_rounds_:
        last = {name: values[model.n_rounds_ - 1] for name, values in model.history_.items()}
        facts += [
            ("training error", f"{last['train_error']:.4g}"),
            ("Hamming loss", f"{last['hamming_loss']:.4g}"),
            ("bound on it", f"{last['bound']:.4g}"),
        ]
        if "validation" in last:
            metric = model.eval_metric if isinstance(model.eval_metric, str) else "own metric"
            facts.append(("validation", f"{last['validation']:.4g} ({metric})"))
    return facts


def _print_features(model: "AdaBoostMH") -> None:
    shares = model.feature_importances_.tolist()
    used = sorted((j for j, share in enumerate(shares) if share > 0), key=lambda j: -shares[j])
    if not used:
        return
    print("top features     share of the fall in loss")
    for j in used[:_TOP_FEATURES]:
        print(f"  {shares[j]:6.1%}  {_one_line(model._name(j))}")
    if len(used) > _TOP_FEATURES:
        print(f"  ... and {len(used) - _TOP_FEATURES} more")
    print("strongest rules")
    for rule in model.rules(_TOP_RULES):
        for line in str(rule).split("\n"):
            print(f"  {_one_line(line)}")


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _one_line(text: str) -> str:
    """Return the text in one line that the terminal can show, whatever a file put into it."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in str(text))
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)
