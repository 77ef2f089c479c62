"""Training rows and validation rows: given by the user, held out, or in a fold."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Reals
from edgewise.data import BinnedTable, Table
from edgewise.data.partition import Partition
from edgewise.estimators.columns import read_validation_table

DEFAULT_NAME = "validation"
"""The name of a single validation set."""

EVAL_SET = "eval_set"
"""The source of validation rows that the user gave."""

Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows outside and inside a fold, by their numbers among all rows."""


class EvalSet(NamedTuple):
    """A validation set as the user gave it, its name, and its argument in errors."""

    name: str
    value: Any
    argument: str = "eval_set"


def name_eval_sets(eval_set: Any, eval_names: Any) -> list[EvalSet]:
    """Return the validation sets: one, or a list of them, with or without names."""
    if eval_set is None:
        if eval_names is not None:
            raise ValueError("eval_names must be None where eval_set is None")
        return []
    values = eval_set if isinstance(eval_set, list) else [eval_set]
    if not values:
        raise ValueError("eval_set must be None or at least one tuple, got an empty list")
    if eval_names is not None:
        names = list(eval_names) if isinstance(eval_names, (list, tuple)) else []
        if not all(isinstance(name, str) and name for name in names) or not (
            len({*names}) == len(names) == len(values)
        ):
            raise ValueError(
                f"eval_names must be {len(values)} different strings, one for each eval_set, got "
                f"{eval_names!r}"
            )
    elif len(values) == 1:
        names = [DEFAULT_NAME]
    else:
        names = [f"{DEFAULT_NAME}_{i}" for i in range(len(values))]
    arguments = ["eval_set"] if len(values) == 1 else [f"eval_set[{i}]" for i in range(len(values))]
    return [EvalSet(*fields) for fields in zip(names, values, arguments, strict=True)]


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


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows with targets, which may be shared by several processes."""

    table: Table

    @property
    def partition(self) -> Partition:
        """The rows of this process among all."""
        return self.table.partition

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows, by their numbers among all."""
        raise NotImplementedError

    def bin_mass(self, weighted: bool) -> Exacts | None:
        """Return integer weights of the rows for binning; `weighted` by class weights too."""
        raise NotImplementedError

    def hold_out(self, fraction: float, seed: int) -> tuple[Self, ValidationSet]:
        """Split off a random fraction: of each class, or of the queries."""
        raise NotImplementedError

    def folds(self, seed: int) -> list[Fold]:
        """Return the folds that choose rounds."""
        raise NotImplementedError

    def fold_targets(self, rows: NDArray[np.intp]) -> ValidationSet:
        """Return the targets and weights of the rows in a fold, wherever they are."""
        raise NotImplementedError

    def read_eval_set(self, eval_set: EvalSet) -> ValidationSet:
        """Return validation rows that the user gave."""
        raise NotImplementedError

    def read_validation_rows(self, eval_set: EvalSet, *forms: str) -> tuple[Table, list[Any]]:
        """Return the table and the targets of an eval set, a tuple in one of the `forms`."""
        value, argument = eval_set.value, eval_set.argument
        lengths = [form.count(",") + 1 for form in forms]
        if not isinstance(value, tuple) or len(value) not in lengths:
            raise ValueError(f"{argument} must be a tuple {' or '.join(forms)}")
        return read_validation_table(value[0], self.table, argument), list(value[1:])
