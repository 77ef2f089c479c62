"""What training leaves: the source of prediction, files, warm starts and checkpoints."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import History
from edgewise.common.dtypes import Reals
from edgewise.data.filters import Filters
from edgewise.learners import Learner
from edgewise.model import Predictor, Terms


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """A trained model.

    Attributes
    ----------
    terms : Terms
        The terms, packed into arrays.
    history : History
        All rounds, including those after the best one that early stopping cuts off.
    learner : Learner or None
        The learner that made the terms; None after loading, where a file cannot hold it.
    n_features : int
        The number of columns of X.
    feature_names : tuple of str or None
        Their names, where X had any.
    categorical : tuple of int
        The columns that the user declared categorical.
    categories : dict from int to tuple
        The values of each categorical column.
    filters : Filters or None
        The image filters, numbered after the columns.
    best_iteration : int
        The round with the best validation metric; without validation, the last one.
    stop_reason : str
        Why training ended.
    seed : int
        The seed of all random draws.
    search_states : tuple of dicts of arrays
        What the search of each simple learner has learned.
    unsaved : tuple of str
        Settings that the model's file could not hold.
    """

    terms: Terms
    history: History
    learner: Learner | None
    n_features: int
    feature_names: tuple[str, ...] | None
    categorical: tuple[int, ...]
    categories: dict[int, tuple[object, ...]]
    filters: Filters | None
    best_iteration: int
    stop_reason: str
    seed: int
    search_states: tuple[dict[str, NDArray], ...] = ()
    unsaved: tuple[str, ...] = ()

    @cached_property
    def predictor(self) -> Predictor:
        """The terms, ready to score rows."""
        return Predictor(self.terms, self.n_features, self.categories, self.filters)

    @property
    def decreases(self) -> Reals:
        """The decrease of the logarithm of the loss by each term: -ln Z."""
        energies = self.history["energy"][: len(self.terms)]
        return -np.log(np.maximum(energies, 1e-300))

    def check_follows(self, before: "Fitted") -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        if self.categories != before.categories:
            raise ValueError(
                "warm_start: X has categorical columns with other values than in the last fit"
            )
        if self.filters != before.filters:
            raise ValueError("warm_start: learner must have the image filters of the last fit")
        if type(self.terms) is not type(before.terms):
            raise ValueError("warm_start: learner must be as in the last fit")

    def feature_name(self, j: int) -> str:
        """Return the name of a column or of an image filter."""
        if j >= self.n_features and self.filters is not None:
            return self.filters.name(j - self.n_features)
        return f"x{j}" if self.feature_names is None else self.feature_names[j]


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedClassifier(Fitted):
    """A trained classifier.

    Attributes
    ----------
    classes : array
        The class labels; the label names of a multi-label problem.
    multilabel : bool
        Whether a row can have several labels.
    offsets : float64 array of shape (K,)
        The log-odds that the initial weights add to each score column.
    votes, loss : str
        The kind of votes, and the loss.
    learning_rate : float
        The factor on every step.
    """

    classes: NDArray
    multilabel: bool
    offsets: Reals
    votes: str
    loss: str
    learning_rate: float

    def check_follows(self, before: Fitted) -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        assert isinstance(before, FittedClassifier)
        if (self.votes, self.loss) != (before.votes, before.loss):
            raise ValueError(
                f"warm_start: votes and loss must be as in the last fit, {before.votes!r} and "
                f"{before.loss!r}; got {self.votes!r} and {self.loss!r}"
            )
        same = self.multilabel == before.multilabel
        if not same or not np.array_equal(self.classes, before.classes):
            raise ValueError("warm_start: y does not have the same classes as in the last fit")
        super().check_follows(before)
        if self.terms.columns.shape[1:] != before.terms.columns.shape[1:]:
            raise ValueError("warm_start: factorized must be as in the last fit")

    @property
    def link(self) -> float:
        """The factor from scores to log-odds."""
        return link_of(self.loss)


def link_of(loss: str) -> float:
    """Return the factor from scores to log-odds: 1 for the logistic loss, 2 for the exponential."""
    return 1.0 if loss == "logistic" else 2.0


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedRanker(Fitted):
    """A trained ranker.

    Attributes
    ----------
    has_queries : bool
        Whether it was trained on more than one query.
    """

    has_queries: bool

    @cached_property
    def score_offsets(self) -> Reals:
        """What turns sums of rules that say -1 or +1 into 0 or 1, after each number of rounds."""
        moves = self.terms.coefficients[:, 0]
        tests = np.array([self._is_test(t) for t in range(len(moves))], dtype=bool)
        return np.concatenate(([0.0], np.cumsum(np.where(tests, moves, 0.0))))

    def _is_test(self, t: int) -> bool:
        real = getattr(self.terms, "real", None)
        if real is not None:
            return not bool(real[t])
        return not hasattr(self.terms, "fills")
