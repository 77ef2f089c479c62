"""What the commands that train have in common: options, Ctrl-C, and what is said of a model."""

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from edgewise.commands.options import count, jobs, rate

if TYPE_CHECKING:
    from edgewise.estimators import RankBoost

Ranker = TypeVar("Ranker", bound="RankBoost")


def add_training(group: Any) -> None:
    """Add the options that all training has."""
    group.add_argument(
        "--rounds", metavar="N", type=count, default=500, help="rounds (default: 500)"
    )
    group.add_argument(
        "--rate",
        metavar="R",
        type=rate,
        default=0.2,
        help="what every step is multiplied by (default: 0.2)",
    )
    group.add_argument(
        "--jobs", metavar="N", type=jobs, help="threads, -1 for all cores (default: 1)"
    )


def on_a_terminal() -> int:
    """Tell whether progress can be seen, as the `verbose` of an estimator."""
    return int(sys.stderr.isatty())


def finished(model: Ranker) -> Ranker:
    """Return a trained model, unless Ctrl-C came before its first round."""
    if not model.n_rounds_:
        raise_if_interrupted(model)
    return model


def raise_if_interrupted(model: "RankBoost") -> None:
    """Raise KeyboardInterrupt if that is what ended the training."""
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt


def rounds_of(model: "RankBoost") -> tuple[str, str]:
    """Return how many rounds a model has, and why."""
    done, kept = model.history_.n_rounds, model.n_rounds_
    if kept < done:
        return "rounds", f"{kept}, the best of {done} (training ended by: {model.stop_reason_})"
    return "rounds", f"{kept} (training ended by: {model.stop_reason_})"


def losses_of(model: "RankBoost") -> list[tuple[str, str]]:
    """Return the share of misordered training pairs and its bound, after the rounds kept."""
    if not model.n_rounds_:
        return []
    last = model.n_rounds_ - 1
    return [
        ("ranking loss", f"{model.history_['ranking_loss'][last]:.4f}"),
        ("bound on it", f"{model.history_['bound'][last]:.4f}"),
    ]
