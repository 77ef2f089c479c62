"""What happened in every round."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from edgewise.common.dtypes import Reals

CLASSIFYING = (
    "edge",
    "alpha",
    "energy",
    "bound",
    "train_error",
    "hamming_loss",
    "pseudo_weight",
    "validation",
    "weight",
    "roc_auc",
    "balanced_accuracy",
    "columns",
    "saved",
)
"""What is recorded of a classifier's rounds."""

RANKING = ("edge", "alpha", "energy", "bound", "ranking_loss", "validation", "columns", "saved")
"""What is recorded of a ranker's rounds."""

# Shown only where there is something to show.
_OPTIONAL = ("validation", "weight", "roc_auc", "balanced_accuracy", "columns", "saved")


class History(Mapping[str, Reals]):
    """A record of every round, as one array for each quantity.

    The quantities are: `edge`, the edge as a share of the total weight; `alpha`, the base
    coefficient; `energy`, Z; `bound`, which the Hamming loss never exceeds; `train_error`, the
    share of training rows predicted wrongly; `hamming_loss`, R_H(f, W1); `pseudo_weight`, w'_Sigma
    of Kégl 2014b, where all classes share a cut; `validation`, the eval metric, where there are
    validation rows; and `weight`, the sum of the logistic weights before the step, with that loss.

    Of a classifier of two classes also `roc_auc` and `balanced_accuracy`: of the validation rows
    where there are any, which count alike, else of the training rows with their weights. The area
    under the ROC curve takes a sort, so that of training rows is left out where they are more than
    65,536, or more than 16,384 with unequal weights.

    Of a ranker: `edge`, r of Iyer 1999 eq. 4.5; `alpha`, the coefficient of the rule, which says -1
    or +1 (half the thesis's alpha, whose rules say 0 or 1); `energy`; `bound`, which the ranking
    loss never exceeds; `ranking_loss`, the weighted share of misordered pairs, ties counted by
    half; and `validation`.

    Of both: `columns`, how many columns the round looked at, those of all its decisions added up;
    and `saved`, the share of the work of looking at every column and every row that was saved,
    from 0 to 1.

    What was not recorded is NaN, and not listed where it is so in every round.

    With the exponential loss `bound` is the running product of Z. The logistic loss falls by at
    least ``weight * (1 - energy)`` in a round, and `bound` is what is left of it in units of ln 2.

    Examples
    --------
    >>> history = History()
    >>> history.append(edge=0.6, alpha=0.69, energy=0.8, train_error=0.2, hamming_loss=0.2)
    >>> history.append(edge=0.0, alpha=0.0, energy=0.5, train_error=0.1, hamming_loss=0.1)
    >>> history["bound"]
    array([0.8, 0.4])
    >>> history
    History(2 rounds: edge, alpha, energy, bound, train_error, hamming_loss, pseudo_weight)
    """

    def __init__(self, fields: tuple[str, ...] = CLASSIFYING) -> None:
        self.fields = fields
        self._rows: list[tuple[float, ...]] = []
        self._log_bound = 0.0
        self._left = 1.0

    def append(self, **values: float) -> None:
        """Add a round; `bound` follows from `energy`, and from `weight` where there is one."""
        weight = values.get("weight", math.nan)
        self._lower(values["energy"], weight)
        values["bound"] = math.exp(self._log_bound) if math.isnan(weight) else self._left
        self._rows.append(tuple([values.get(name, math.nan) for name in self.fields]))

    def _lower(self, energy: float, weight: float) -> None:
        # One by one: a sum that rounds otherwise would make a resumed run differ in the last bit.
        if math.isnan(weight):
            self._log_bound += math.log(energy) if energy > 0 else -math.inf
        else:
            self._left += weight * (energy - 1.0) / math.log(2.0)

    def last(self, name: str) -> float:
        """Return a quantity of the last round."""
        return self._rows[-1][self.fields.index(name)]

    def truncate(self, n_rounds: int) -> None:
        """Forget the rounds after the first `n_rounds`."""
        del self._rows[n_rounds:]
        self._log_bound, self._left = 0.0, 1.0
        weights = self["weight"] if "weight" in self.fields else np.full(self.n_rounds, np.nan)
        for energy, weight in zip(self["energy"].tolist(), weights.tolist(), strict=True):
            self._lower(energy, weight)

    def __copy__(self) -> "History":
        return History.from_array(self.to_array(), self.fields)

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self._rows)

    def __getitem__(self, name: str) -> Reals:
        if name not in self.fields:
            raise KeyError(f"no quantity {name!r}; there are {', '.join(self)}")
        place = self.fields.index(name)
        return np.array([row[place] for row in self._rows], dtype=np.float64)

    def __contains__(self, name: object) -> bool:
        # Without validation rows there is nothing to show under that name; nor under "weight" with
        # the exponential loss, nor under "roc_auc" with many classes.
        if name in self.fields and name in _OPTIONAL:
            return not np.isnan(self[str(name)]).all()
        return name in self.fields

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.fields if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"History({self.n_rounds} rounds: {', '.join(self)})"

    def to_array(self) -> Reals:
        """Return all rounds as an array of shape (rounds, quantities)."""
        return np.array(self._rows, dtype=np.float64).reshape(len(self._rows), len(self.fields))

    @staticmethod
    def from_array(rows: Reals, fields: tuple[str, ...] = CLASSIFYING) -> "History":
        """Return the history that `to_array` gave."""
        history = History(fields)
        history._rows = [tuple(row) for row in rows.tolist()]
        history.truncate(len(rows))
        return history
