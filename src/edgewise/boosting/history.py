"""The record of a training run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals

CLASSIFIER_FIELDS = (
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
"""The quantities of a classifier's rounds."""

RANKER_FIELDS = (
    "edge",
    "alpha",
    "energy",
    "bound",
    "ranking_loss",
    "validation",
    "columns",
    "saved",
)
"""The quantities of a ranker's rounds."""

# Listed only where they were recorded, as are the metrics of named validation rows.
_OPTIONAL = ("validation", "weight", "roc_auc", "balanced_accuracy", "columns", "saved")


def evaluation(name: str, metric: str) -> str:
    """Return the name of the record of a metric on a set of validation rows."""
    return f"{name}:{metric}"


def average_rounds(rounds: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the quantities of a round of several bags: means, and bounds of the mean model.

    Energies are averaged such that the bound is the mean of the bags' bounds, or their geometric
    mean with the exponential loss: losses are convex, and the exponential loss satisfies Hölder's
    inequality. Softmax bounds count errors, and add up: the mean errs only where some bag does.
    Top-of-list bounds weight pairs by the order of one model, so a mean has the trivial bound 1.
    """
    if len(rounds) == 1:
        return rounds[0]
    n_bags = len(rounds)
    means = {name: sum(values[name] for values in rounds) / n_bags for name in rounds[0]}
    if "bound" in means:
        means["bound"] = 1.0 if "ranking_loss" in means else n_bags * means["bound"]
    if "energy" in means:
        weight = means.get("weight", math.nan)
        if weight > 0:
            decreases = [values["weight"] * (values["energy"] - 1.0) for values in rounds]
            means["energy"] = 1.0 + sum(decreases) / n_bags / weight
        else:
            means["energy"] = math.prod(max(values["energy"], 0.0) for values in rounds) ** (
                1.0 / n_bags
            )
    return means


class History(Mapping[str, Reals]):
    """The record of every round: one array for each quantity.

    Quantities that were not recorded are NaN; those that are NaN in every round are not listed. For
    a mean of models, training quantities other than `energy` and `bound` are averaged.

    - `edge`: the edge as a share of the weight (r of Iyer 1999, eq. 4.5, for rankers);
    - `alpha`: the base coefficient; of a ranker, half of Iyer's, because rules output -1 or +1;
    - `energy`: Z, the factor on the exponential loss;
    - `bound`: an upper bound on the Hamming or ranking loss. With the exponential loss it is the
      running product of Z. The logistic loss decreases by at least ``weight * (1 - energy)`` in a
      round, and the bound is what remains of it in units of ln 2. With the softmax loss it is twice
      the mean probability of the wrong classes, which bounds the training error; of a mean of
      models, the sum of their bounds. With objectives for the top of the list it bounds 1 minus
      the metric, and is 1 for a mean of models;
    - `validation`: the eval metric of the validation rows; of several, the first metric on the last
      set. Each metric of each set has a record of its own, such as `test:log_loss`;
    - `columns`: the number of columns searched, summed over the decisions of the round;
    - `saved`: the share of the work of searching all columns and rows that was saved, 0 to 1;
    - `ranking_loss` (rankers): the weighted share of misordered pairs, ties counted by half;
    - `train_error` (this and all below: classifiers): the share of training rows predicted wrongly;
    - `hamming_loss`: R_H(f, W1);
    - `pseudo_weight`: w'_Sigma of Kégl 2014b, where all classes share a cut;
    - `weight`: the sum of the weights before the step, with the logistic or softmax loss;
    - `roc_auc`, `balanced_accuracy`: for two classes, of the validation rows (counted equally) or,
      without any, of the training rows with their weights. ROC AUC takes a sort, and is left out
      for more than 4,096 training rows, or 1,024 with unequal weights.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> AdaBoostMH("stump", n_rounds=2).fit([[0.0], [1.0], [2.0]], [0, 1, 0]).history_
    History(2 rounds: edge, alpha, energy, bound, train_error, hamming_loss, pseudo_weight, ...
    """

    def __init__(self, fields: tuple[str, ...] = CLASSIFIER_FIELDS) -> None:
        self.fields = fields
        self._rows: list[tuple[float, ...]] = []
        self._log_bound = 0.0
        self._left = 1.0

    def append(self, **values: float) -> None:
        """Add the quantities of the next round; a missing `bound` follows from the others."""
        weight = values.get("weight", math.nan)
        self._lower(values.get("energy", 1.0), weight)
        if math.isnan(values.get("bound", math.nan)):
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

    def evaluations(self) -> dict[str, dict[str, Reals]]:
        """Return the metrics of every round, by the names of validation rows and metric."""
        evaluations: dict[str, dict[str, Reals]] = {}
        for field in self:
            name, colon, metric = field.rpartition(":")
            if colon:
                evaluations.setdefault(name, {})[metric] = self[field]
        return evaluations

    def with_fields(self, fields: tuple[str, ...]) -> "History":
        """Return the record with more quantities, NaN in all rounds so far."""
        new = tuple(name for name in fields if name not in self.fields)
        unknown = np.full((self.n_rounds, len(new)), np.nan)
        return History.from_array(np.hstack([self.to_array(), unknown]), self.fields + new)

    def __copy__(self) -> "History":
        return History.from_array(self.to_array(), self.fields)

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self._rows)

    def __getitem__(self, name: str) -> Reals:
        if name not in self.fields:
            raise KeyError(f"no quantity {name!r}; there are {', '.join(self)}")
        index = self.fields.index(name)
        return np.array([row[index] for row in self._rows], dtype=np.float64)

    def __contains__(self, name: object) -> bool:
        optional = name in _OPTIONAL or ":" in str(name)
        return name in self.fields and not (optional and np.isnan(self[str(name)]).all())

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.fields if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"History({self.n_rounds} rounds: {', '.join(self)})"

    def to_frame(self, library: str | None = None) -> Any:
        """Return all rounds as a frame of `library`, "pandas" or "polars": a row for each, from 1.

        pandas has their numbers in its index, polars in the column "round".

        Examples
        --------
        >>> from edgewise import AdaBoostMH
        >>> model = AdaBoostMH("stump", preset="paper", n_rounds=2)
        >>> model = model.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
        >>> model.history_.to_frame()[["train_error", "bound"]].round(3)
               train_error  bound
        round
        1            0.333  0.943
        2            0.333  0.816
        """
        from edgewise.io.frames import frame_library

        frames = frame_library(library)
        frame = frames.DataFrame({"round": range(1, self.n_rounds + 1), **self})
        return frame.set_index("round") if frames.__name__ == "pandas" else frame

    def to_array(self) -> Reals:
        """Return all rounds as an array of shape (rounds, quantities)."""
        return np.array(self._rows, dtype=np.float64).reshape(len(self._rows), len(self.fields))

    @staticmethod
    def from_array(rows: Reals, fields: tuple[str, ...] = CLASSIFIER_FIELDS) -> "History":
        """Return the history that `to_array` gave."""
        history = History(fields)
        history._rows = [tuple(row) for row in rows.tolist()]
        history.truncate(len(rows))
        return history
