"""Weighted majority: trust experts less after every mistake (Littlestone and Warmuth)."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import generator, integer, one_of, positive
from edgewise.common.dtypes import REAL, Reals
from edgewise.online.bounds import log_decrease
from edgewise.online.pool import Pool

Codes = NDArray[np.intp]


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedMajority(Pool):
    """Predicts by the weighted majority of a pool of experts, and learns the weights.

    All experts start with weight 1. In each round they give their advice, the label with the most
    weight is predicted, and the outcome is revealed. If the prediction was wrong, the weight of
    every expert that was wrong is multiplied by beta (Shi 2025 algorithm 1). For any sequence of
    outcomes the mistakes stay below :meth:`bound`, also with more than two labels: if the plurality
    is wrong, so is at least half of the weight.

    Parameters
    ----------
    beta : float, default 0.5
        The factor for the weight of an expert that was wrong, above 0 and below 1.
    labels : sequence, default (-1, 1)
        The labels: two or more different numbers, or strings.
    penalize : {"mistakes", "always"}, default "mistakes"
        When experts that were wrong lose weight: only in rounds where the majority was wrong too,
        or in all rounds. The bounds hold for both.
    random_state : int, RandomState, Generator or None, default None
        Randomness of ties, drawn once per round: `predict` and the following `update` agree.

    Attributes
    ----------
    weights_, log_weights_ : ndarray of shape (n_experts,)
        The weights of the next round, divided by their sum, and their logarithms, not normalized.
    mistakes_, expert_mistakes_ : int, and ndarray of shape (n_experts,)
        Mistakes of the majority, and of each expert.
    penalties_ : ndarray of shape (n_experts,)
        Number of times that the weight of each expert was multiplied by beta.
    n_rounds_, n_experts_ : int
        Number of rounds so far, and of experts.
    beta_, labels_ :
        The settings in use.

    Examples
    --------
    >>> from edgewise.online import WeightedMajority
    >>> learner = WeightedMajority(beta=0.5, random_state=0)
    >>> advice = [[1, 1, -1], [1, -1, -1], [1, -1, -1], [1, -1, -1]]
    >>> learner.run(advice, outcomes=[-1, 1, 1, 1]).tolist()
    [1, -1, -1, 1]
    >>> learner.weights_.round(3).tolist(), learner.mistakes_
    ([0.571, 0.143, 0.286], 3)
    >>> learner.expert_mistakes_.tolist(), round(learner.bound(), 2)
    ([1, 4, 3], 6.23)
    """

    beta: float = field(default=0.5, kw_only=False)
    labels: Any = (-1, 1)
    penalize: str = "mistakes"
    random_state: Any = None

    def start(self, n_experts: int) -> Self:
        """Start over with `n_experts` equal experts; the first round does so implicitly."""
        n_experts = integer("n_experts", n_experts, 1)
        self.beta_ = positive("beta", self.beta, below=1.0)
        self.labels_ = _check_labels(self.labels)
        one_of("penalize", self.penalize, ("mistakes", "always"))
        self._rng = generator(self.random_state)
        self._draw = self._rng.random()
        self.n_experts_, self.n_rounds_, self.mistakes_ = n_experts, 0, 0
        # Counts, not products of floats: equal counts give equal weights, so ties are exact.
        self.expert_mistakes_ = np.zeros(n_experts, dtype=np.int64)
        self.penalties_ = np.zeros(n_experts, dtype=np.int64)
        self._scaled = np.ones(n_experts)
        return self

    def predict(self, advice: ArrayLike) -> Any:
        """Return the label with the most weight, given the label that each expert advises."""
        codes = self._encode_advice(advice, ndim=1)
        self._start_if_needed(len(codes))
        return self.labels_[self._vote(codes)].item()

    def update(self, advice: ArrayLike, outcome: Any) -> Self:
        """Learn from one round: the label that each expert advised, and the true label."""
        self._learn(advice, [outcome], "outcome", ndim=1)
        return self

    def run(self, advice: ArrayLike, outcomes: ArrayLike) -> NDArray[Any]:
        """Predict and learn in many rounds, continuing from the current weights.

        Parameters
        ----------
        advice : array-like of shape (n_rounds, n_experts)
            The label that each expert advises in each round.
        outcomes : array-like of shape (n_rounds,)
            The true label of each round. Each prediction is made before its outcome is known.
        """
        predicted = self._learn(advice, outcomes, "outcomes", ndim=2)
        return self.labels_[predicted]

    @property
    def weights_(self) -> Reals:
        """The weights of the next round, divided by their sum."""
        self._require_start()
        return self._scaled / math.fsum(self._scaled)

    @property
    def log_weights_(self) -> Reals:
        """The logarithms of the weights, which start at 1, not normalized; they never underflow."""
        self._require_start()
        return np.asarray(self.penalties_ * math.log(self.beta_), dtype=REAL)

    def bound(self, kind: str = "best", k: int | None = None) -> float:
        """Bound on the mistakes so far, from the experts' mistakes: see :func:`mistake_bound`.

        Parameters
        ----------
        kind : {"best", "each", "total", "weights"}, default "best"
            Derived from the mistakes of the best expert; from the most mistakes of any of the best
            k; from the sum over the best k; or from the weights, which implies the others. Each is
            at most the one before.
        k : int or None, default None
            The size of the subpool of "each" and "total"; None for the smallest bound.
        """
        one_of("kind", kind, ("best", "each", "total", "weights"))
        self._require_start()
        if k is not None and kind not in ("each", "total"):
            raise ValueError(f"k must be None for the bound {kind!r}, got {k!r}")
        if kind == "weights":
            spent = -float(self.log_weights_.max()) - math.log(math.fsum(self._scaled))
            return (math.log(self.n_experts_) + spent) / log_decrease(self.beta_)
        if kind == "best":
            k = 1
        sizes = np.arange(1, self.n_experts_ + 1)
        mistakes = np.sort(self.expert_mistakes_).astype(np.float64)
        if kind == "total":
            mistakes = np.cumsum(mistakes) / sizes
        bounds = np.log(self.n_experts_ / sizes) - mistakes * math.log(self.beta_)
        smallest = bounds.min() if k is None else bounds[integer("k", k, 1, self.n_experts_) - 1]
        return float(smallest) / log_decrease(self.beta_)

    def _valid_labels(self) -> NDArray[Any]:
        return self.labels_ if self._is_started else _check_labels(self.labels)

    def _encode_advice(self, advice: ArrayLike, ndim: int) -> Codes:
        """Return the codes of advice, checked against the labels and the pool."""
        codes = _encode("advice", advice, self._valid_labels(), ndim)
        self._check_n_experts("advice", codes.shape[-1])
        return codes

    def _learn(self, advice: ArrayLike, outcomes: Any, name: str, ndim: int) -> Codes:
        """Predict and learn in each round, and return the codes of the predictions."""
        rows = np.atleast_2d(self._encode_advice(advice, ndim))
        correct = _encode(name, outcomes, self._valid_labels(), ndim=1)
        if len(correct) != len(rows):
            raise ValueError(
                f"{name} must have a label for each of the {len(rows)} rounds, got {len(correct)}"
            )
        self._start_if_needed(rows.shape[1])
        predicted = np.empty(len(rows), dtype=np.intp)
        for t, (codes, label) in enumerate(zip(rows, correct, strict=True)):
            predicted[t] = self._vote(codes)
            self._learn_round(codes != label, bool(predicted[t] != label))
        return predicted

    def _vote(self, codes: Codes) -> int:
        """Return the code of the prediction; the sums are exact and so independent of order."""
        sums = [
            math.fsum(self._scaled[codes == code].tolist()) for code in range(len(self.labels_))
        ]
        tied = np.flatnonzero(np.array(sums) == max(sums))
        return int(tied[int(self._draw * len(tied))])

    def _learn_round(self, is_wrong: NDArray[np.bool_], is_mistake: bool) -> None:
        self.n_rounds_ += 1
        self.mistakes_ += is_mistake
        self.expert_mistakes_ += is_wrong
        if is_mistake or self.penalize == "always":
            self.penalties_ += is_wrong
            behind = self.penalties_ - self.penalties_.min()
            # Each power once, as its rounding may depend on its position in the array.
            distinct, index = np.unique(behind, return_inverse=True)
            self._scaled = np.power(self.beta_, distinct)[index]
        self._draw = self._rng.random()


def _check_labels(labels: Any) -> NDArray[Any]:
    """Return two or more different labels, all numbers or all strings, as an array."""
    values = list(labels) if np.iterable(labels) and not isinstance(labels, str) else []
    array = np.array(values)
    is_mixed = len({isinstance(value, str) for value in values}) > 1
    n_distinct = len(np.unique(array))
    if is_mixed or array.ndim != 1 or array.dtype.kind not in "iufU" or n_distinct < 2:
        raise ValueError(f"labels must be two or more numbers or strings, got {labels!r}")
    if n_distinct < len(array):
        raise ValueError(f"labels must be different, got {labels!r}")
    return array


def _encode(name: str, values: Any, labels: NDArray[Any], ndim: int) -> Codes:
    """Return the index of each value among `labels`."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of shape {array.shape}")
    matches = array[..., None] == labels
    is_unknown = ~matches.any(axis=-1)
    if is_unknown.any():
        valid, unknown = ", ".join(map(repr, labels.tolist())), array[is_unknown].tolist()[0]
        raise ValueError(f"{name} must hold only {valid}, got {unknown!r}")
    return matches.argmax(axis=-1)
