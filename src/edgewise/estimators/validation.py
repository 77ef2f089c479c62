"""Validation rows: given by the user, held out, or in a fold."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from edgewise.boosting import Callback, Monitor, TrainingRun
from edgewise.common.dtypes import Reals
from edgewise.data import BinnedTable, Table

DEFAULT_NAME = "validation"
"""The name of a single validation set."""

EVAL_SET = "eval_set"
"""The source of validation rows that the user gave."""


class EvalSet(NamedTuple):
    """A validation set as the user gave it, its name, and its argument in errors."""

    name: str
    value: Any
    argument: str = "eval_set"


def named_eval_sets(eval_set: Any, eval_names: Any) -> list[EvalSet]:
    """Return the validation sets: one, or a list of them, with or without names."""
    if eval_set is None:
        if eval_names is not None:
            raise ValueError("eval_names must be None where eval_set is None")
        return []
    values = eval_set if isinstance(eval_set, list) else [eval_set]
    if not values:
        raise ValueError("eval_set must be None or at least one tuple, got an empty list")
    names = [DEFAULT_NAME]
    if len(values) > 1:
        names = [f"{DEFAULT_NAME}_{i}" for i in range(len(values))]
    if eval_names is not None:
        names = list(eval_names) if isinstance(eval_names, (list, tuple)) else []
        if len(names) != len(values) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(
                f"eval_names must be a list of {len(values)} strings, one for each eval_set, got "
                f"{eval_names!r}"
            )
        if len({*names}) != len(names):
            raise ValueError(f"eval_names must differ from each other, got {eval_names!r}")
    if len(values) == 1:
        return [EvalSet(names[0], values[0])]
    return [
        EvalSet(name, value, f"eval_set[{i}]")
        for i, (name, value) in enumerate(zip(names, values, strict=True))
    ]


class ValidationSet(NamedTuple):
    """Validation rows, with targets as the metrics take them.

    Rows that the user set aside count equally, whatever their weights. The rows of a fold have no
    table of their own: they are among the training rows.
    """

    targets: Any
    table: Table | None = None
    weights: Reals | None = None
    name: str = DEFAULT_NAME
    binned: BinnedTable | None = None

    @property
    def rows(self) -> BinnedTable:
        """The rows in the bins of the training rows."""
        assert self.binned is not None
        return self.binned


class BestScores(Callback):
    """Keeps the scores of validation rows after the best round."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self._monitors = monitors
        self._scores: list[Reals] = []

    def on_round(self, run: TrainingRun) -> str | None:
        """Keep the scores if this round is the best."""
        if run.best_round == run.history.n_rounds:
            self._scores = [monitor.all_scores().copy() for monitor in self._monitors]
        return None

    def of(self, run: TrainingRun) -> list[Reals]:
        """Return the scores after the best round; after the last if none is the best."""
        if run.best_round is None:
            return [monitor.all_scores() for monitor in self._monitors]
        return self._scores
