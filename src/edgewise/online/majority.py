"""Weighted majority: trust experts less after every mistake (Littlestone and Warmuth)."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import generator, integer, one_of, positive
from edgewise.common.dtypes import REAL, Exacts, Reals
from edgewise.online.bounds import halving
from edgewise.online.pool import Pool

Codes = NDArray[np.intp]

_PENALIZE = ("mistakes", "always")
_BOUNDS = ("best", "each", "total", "weights")


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedMajority(Pool):
    """Predicts by the weighted majority of a pool of experts, and learns the weights.

    All experts start with weight 1. In each round they give their advice, the label with the most
    weight is predicted, and the outcome is revealed. If the prediction was wrong, the weight of
    every expert that was wrong is multiplied by beta (Shi 2025 algorithm 1). For any sequence of
    outcomes the mistakes stay below :meth:`bound`: a constant times the mistakes of the best
    experts, plus a logarithm of the number of experts.

    With more than two labels the prediction is a plurality. The bounds still hold: if it is wrong,
    so was at least half of the weight.

    Parameters
    ----------
    beta : float, default 0.5
        The factor for the weight of an expert that was wrong, above 0 and below 1. Near 0, the
        first mistake all but removes an expert.
    labels : sequence, default (-1, 1)
        The labels: two or more different numbers, or strings.
    penalize : {"mistakes", "always"}, default "mistakes"
        When experts that were wrong lose weight: only in rounds where the majority was wrong too,
        or in all rounds. The bounds hold for both.
    random_state : int, RandomState, Generator or None, default None
        Randomness of ties. There is one draw per round, so `predict` and the `update` that follows
        agree.

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
        """Start over with `n_experts` equal experts; the first round does so by itself."""
        n_experts = integer("n_experts", n_experts, 1)
        beta = positive("beta", self.beta, below=1.0)
        labels = _check_labels(self.labels)
        always = one_of("penalize", self.penalize, _PENALIZE) == "always"
        self._rng = generator(self.random_state)
        self._draw, self._always = self._rng.random(), always
        self.beta_, self.labels_, self.n_experts_ = beta, labels, n_experts
        self.n_rounds_ = self.mistakes_ = 0
        # Counts, not products of floats: equal counts give equal weights, so ties are exact.
        self.expert_mistakes_ = np.zeros(n_experts, dtype=np.int64)
        self.penalties_ = np.zeros(n_experts, dtype=np.int64)
        self._scaled, self._powers = np.ones(n_experts), np.ones(1)
        return self

    def predict(self, advice: ArrayLike) -> Any:
        """Return the label with the most weight, given the label that each expert advises."""
        codes = self._advice(advice, ndim=1)
        self._begin(len(codes))
        return self.labels_[self._vote(codes)].item()

    def update(self, advice: ArrayLike, outcome: Any) -> Self:
        """Learn from one round: the label that each expert advised, and the true label."""
        codes = self._advice(advice, ndim=1)
        right = int(_encode("outcome", [outcome], self._valid_labels(), ndim=1)[0])
        self._begin(len(codes))
        self._round(codes, right)
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
        codes = self._advice(advice, ndim=2)
        right = _encode("outcomes", outcomes, self._valid_labels(), ndim=1)
        if len(right) != len(codes):
            raise ValueError(
                f"outcomes must have a label for each of the {len(codes)} rounds, got {len(right)}"
            )
        self._begin(codes.shape[1])
        predicted = [
            self._round(row, code) for row, code in zip(codes, right.tolist(), strict=True)
        ]
        return self.labels_[np.array(predicted, dtype=np.intp)]

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
        one_of("kind", kind, _BOUNDS)
        self._require_start()
        if k is not None and kind not in ("each", "total"):
            raise ValueError(f"k must be None for the bound {kind!r}, got {k!r}")
        if kind == "weights":
            spent = -float(self.log_weights_.max()) - math.log(math.fsum(self._scaled))
            return (math.log(self.n_experts_) + spent) / halving(self.beta_)
        if kind == "best":
            k = 1
        sizes = np.arange(1, self.n_experts_ + 1)
        made = np.sort(self.expert_mistakes_).astype(np.float64)
        if kind == "total":
            made = np.cumsum(made) / sizes
        bounds = np.log(self.n_experts_ / sizes) - made * math.log(self.beta_)
        smallest = bounds.min() if k is None else bounds[integer("k", k, 1, self.n_experts_) - 1]
        return float(smallest) / halving(self.beta_)

    def _valid_labels(self) -> NDArray[Any]:
        return self.labels_ if self._is_started else _check_labels(self.labels)

    def _advice(self, advice: ArrayLike, ndim: int) -> Codes:
        """Return the codes of advice, checked against the labels and the pool."""
        codes = _encode("advice", advice, self._valid_labels(), ndim)
        self._check_n_experts("advice", codes.shape[-1])
        return codes

    def _vote(self, codes: Codes) -> int:
        """Return the code of the prediction; the sums are exact and so independent of order."""
        sums = [
            math.fsum(self._scaled[codes == code].tolist()) for code in range(len(self.labels_))
        ]
        largest = max(sums)
        tied = [code for code, value in enumerate(sums) if value == largest]
        return tied[int(self._draw * len(tied))]

    def _round(self, codes: Codes, right: int) -> int:
        """Predict, learn, and return the code of the prediction."""
        predicted = self._vote(codes)
        wrong = codes != right
        mistake = predicted != right
        self.n_rounds_ += 1
        self.mistakes_ += mistake
        self.expert_mistakes_ += wrong
        if mistake or self._always:
            self.penalties_ += wrong
            self._scaled = self._powers_of(self.penalties_ - self.penalties_.min())
        self._draw = self._rng.random()
        return predicted

    def _powers_of(self, behind: Exacts) -> Reals:
        """Return weights relative to the largest, which is 1."""
        max_behind = int(behind.max())
        # From a table, as the same power may round differently elsewhere in an array.
        if max_behind >= len(self._powers):
            self._powers = np.power(self.beta_, np.arange(2 * max_behind + 1))
        return self._powers[behind]


def _check_labels(labels: Any) -> NDArray[Any]:
    """Return two or more different labels, all numbers or all strings, as an array."""
    valid = "labels must be two or more different numbers, or strings"
    if isinstance(labels, str):
        raise TypeError(f"{valid}, got {labels!r}")
    try:
        kinds = {isinstance(label, str) for label in labels}
        array = np.array(list(labels))
    except (TypeError, ValueError):
        raise TypeError(f"{valid}, got {labels!r}") from None
    if len(kinds) > 1 or array.dtype.kind not in "iufU":
        raise TypeError(f"{valid}, got {labels!r}")
    if array.ndim != 1 or len(array) < 2 or len(np.unique(array)) < len(array):
        raise ValueError(f"{valid}, got {labels!r}")
    return array


def _encode(name: str, values: Any, labels: NDArray[Any], ndim: int) -> Codes:
    """Return the index of each value among `labels`."""
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.flat):
        array = array.astype(np.str_)  # a column of a data frame
    valid = ", ".join(map(repr, labels.tolist()))
    if array.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of shape {array.shape}")
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.intp)
    if array.dtype.kind not in ("U" if labels.dtype.kind == "U" else "biuf"):
        raise TypeError(f"{name} must hold only {valid}, got an array of {array.dtype}")
    order = np.argsort(labels)
    codes = order[np.minimum(np.searchsorted(labels[order], array), len(labels) - 1)]
    unknown = labels[codes] != array
    if unknown.any():
        raise ValueError(f"{name} must hold only {valid}, got {array[unknown][0].item()!r}")
    return codes
