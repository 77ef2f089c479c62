"""``python -m experiments NAME``: run one experiment, and see the paper's figures beside ours."""

import os
import sys

if __name__ == "__main__":  # an import changes nothing
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if "--quick" not in sys.argv:
        os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import argparse
import logging
import signal
from pathlib import Path
from textwrap import indent

from edgewise.backend.choose import need_gpu
from edgewise.common.text import text_table
from experiments.runner import Experiment, Options, experiments, format_results, publish, run


class StoppedError(BaseException):
    """Ctrl-C ends the run; KeyboardInterrupt would end one training, and keep what it has."""


def stop(*_: object) -> None:
    """Stop at once: what was kept is there."""
    raise StoppedError


def count(word: str) -> int:
    """Return a whole number of at least one."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is not a whole number of 1 or more")
    return int(word)


def minutes(word: str) -> float:
    """Return a time above zero."""
    try:
        found = float(word)
    except ValueError:
        found = 0.0
    if not found > 0:
        raise argparse.ArgumentTypeError(f"{word} is not a number of minutes above 0")
    return found


def command_line(known: dict[str, Experiment]) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    listed = text_table([[one.name, one.title] for one in known.values()], left=(0, 1))
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run one experiment, and see the paper's figures beside ours.",
        epilog=f"experiments:\n{indent(listed, '  ')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*known, "all", "publish"]
    help = "one of those below, all, or publish: put finished reports into experiments/reports"
    parser.add_argument("name", choices=names, metavar="NAME", help=help)
    parser.add_argument("--quick", action="store_true", help="small data and few rounds: seconds")
    parser.add_argument("--resume", action="store_true", help="go on with an earlier run")
    parser.add_argument(
        "--budget", type=minutes, metavar="MINUTES", help="stop after this time; --resume goes on"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="where products train (%(default)s)",
    )
    parser.add_argument(
        "--threads", type=count, metavar="N", default=1, help="number of threads (%(default)s)"
    )
    parser.add_argument(
        "--rounds", type=count, metavar="N", help="in place of the experiment's own number"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD",
        help="only cells with WORD in their row or column; several narrow it down",
    )  # fmt: skip
    parser.add_argument(
        "--folder", type=Path, default=Path("results"), help="of the results (%(default)s)"
    )
    return parser


def run_one(experiment: Experiment, options: Options) -> int:
    """Run an experiment, print its figures and return the exit code."""
    name = experiment.name
    before = signal.signal(signal.SIGINT, stop)
    try:
        report = run(experiment, options, lambda line: print(line, flush=True))
    except StoppedError:
        print(f"\nstopped: {name} goes on with --resume", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        print(f"error: {name} needs {error.name}: pip install {error.name}", file=sys.stderr)
        return 2
    except (OSError, ImportError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGINT, before)
    print("\n" + format_results(experiment, report.parent))
    print(f"\nthe report: {report}\n", flush=True)
    return 0


def main() -> int:
    """Run what the command line names."""
    # Queries without pairs are no news in a table of results.
    logging.getLogger("edgewise").setLevel(logging.ERROR)
    known = experiments()
    parser = command_line(known)
    given = parser.parse_args()
    if given.device == "cuda":
        try:
            need_gpu()
        except RuntimeError as error:
            parser.error(str(error))
    if given.name == "publish":
        print(publish(given.folder, Path("experiments/reports"), Path("docs/results/papers.md")))
        return 0
    options = Options(
        given.quick, given.resume, given.budget, given.seed, given.device, given.threads,
        given.rounds, given.folder, tuple(given.only),
    )  # fmt: skip
    for name in known if given.name == "all" else [given.name]:
        if code := run_one(known[name], options):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
