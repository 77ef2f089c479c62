"""Weighted majority: follow the experts that have been right (Littlestone and Warmuth)."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import generator, integer, one_of, positive
from edgewise.common.dtypes import REAL, Exacts, Reals
from edgewise.online.bounds import halving
from edgewise.online.labels import Codes, checked_labels, coded
from edgewise.online.pool import Pool

_PENALISE = ("mistakes", "always")
_BOUNDS = ("best", "each", "total", "weights")


class WeightedMajority(Pool):
    """Predicts what the weighted majority of a pool of experts says, and learns the weights.

    All experts start with the weight 1. Each round they give their advice, the label with the most
    weight is predicted, and the outcome is told; where the majority was wrong, the weight of every
    expert that was wrong with it is multiplied by beta (Shi 2025 algorithm 1). However the outcomes
    come about, the mistakes stay below :meth:`bound`: about as many as the best experts', and a
    logarithm of their number.

    With more than two labels the prediction is the one with the most weight, a plurality. The
    bounds hold all the same: where it is wrong, at least half of the weight was.

    Parameters
    ----------
    beta : float, default 0.5
        What the weight of an expert that was wrong is multiplied by, above 0 and below 1. Near 0
        an expert is all but dropped by its first mistake.
    labels : sequence, default (-1, 1)
        What experts may say: two or more different numbers, or strings.
    penalise : {"mistakes", "always"}, default "mistakes"
        When experts that were wrong lose weight: in the rounds where the majority was wrong too, or
        in all. The bounds hold for both.
    random_state : int, RandomState, Generator or None, default None
        Where the draws that split ties come from. There is one for each round, so that `predict`
        and the `update` that follows agree.

    Attributes
    ----------
    weights_ : ndarray of shape (n_experts,)
        The weights of the next round, divided by their sum.
    log_weights_ : ndarray of shape (n_experts,)
        The logarithms of the weights that start at 1; they never underflow.
    mistakes_ : int
        How often the majority was wrong.
    expert_mistakes_ : ndarray of shape (n_experts,)
        How often each expert was wrong, in all rounds.
    penalties_ : ndarray of shape (n_experts,)
        How often the weight of each was multiplied by beta.
    n_rounds_, n_experts_ : int
        How many rounds there have been, and how many experts there are.
    beta_, labels_ :
        The parameters that the weights were learned with.

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

    mistakes_: int
    expert_mistakes_: Exacts
    penalties_: Exacts
    beta_: float
    labels_: NDArray[Any]

    def __init__(
        self,
        beta: float = 0.5,
        *,
        labels: Any = (-1, 1),
        penalise: str = "mistakes",
        random_state: Any = None,
    ) -> None:
        self.beta = beta
        self.labels = labels
        self.penalise = penalise
        self.random_state = random_state

    def start(self, n_experts: int) -> Self:
        """Begin anew with `n_experts` experts of equal weight; the first round does it by itself.

        Parameters
        ----------
        n_experts : int
            How many experts there are.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If a parameter is not as described.

        Examples
        --------
        >>> from edgewise.online import WeightedMajority
        >>> WeightedMajority().start(4).weights_
        array([0.25, 0.25, 0.25, 0.25])
        """
        n_experts = integer("n_experts", n_experts, 1)
        beta = positive("beta", self.beta, below=1.0)
        labels = checked_labels(self.labels)
        always = one_of("penalise", self.penalise, _PENALISE) == "always"
        self._rng = generator(self.random_state)
        self._draw, self._always = self._rng.random(), always
        self.beta_, self.labels_, self.n_experts_ = beta, labels, n_experts
        self.n_rounds_ = self.mistakes_ = 0
        # Whole numbers, not products of floats: equal counts are equal weights, so ties are exact.
        self.expert_mistakes_ = np.zeros(n_experts, dtype=np.int64)
        self.penalties_ = np.zeros(n_experts, dtype=np.int64)
        self._scaled, self._powers = np.ones(n_experts), np.ones(1)
        return self

    def predict(self, advice: ArrayLike) -> Any:
        """Return the label that has the most weight, for one round; nothing is learned.

        Parameters
        ----------
        advice : array-like of shape (n_experts,)
            What each expert says.

        Returns
        -------
        label
            One of `labels`.

        Raises
        ------
        TypeError, ValueError
            If `advice` is not as described, or a parameter is wrong.

        Examples
        --------
        >>> from edgewise.online import WeightedMajority
        >>> WeightedMajority().predict([1, 1, -1])
        1
        >>> WeightedMajority(labels=["cat", "dog", "cow"]).predict(["cow", "cat", "cow", "dog"])
        'cow'
        """
        codes = self._advice(advice, ndim=1)
        self._begin(len(codes))
        return self.labels_[self._vote(codes)].item()

    def update(self, advice: ArrayLike, outcome: Any) -> Self:
        """Learn from one round.

        Parameters
        ----------
        advice : array-like of shape (n_experts,)
            What each expert said.
        outcome : label
            What was right.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If an argument is not as described, or a parameter is wrong.

        Examples
        --------
        >>> from edgewise.online import WeightedMajority
        >>> WeightedMajority().update([1, 1, -1], -1).weights_
        array([0.25, 0.25, 0.5 ])
        """
        codes = self._advice(advice, ndim=1)
        right = int(coded("outcome", [outcome], self._allowed(), ndim=1)[0])
        self._begin(len(codes))
        self._round(codes, right)
        return self

    def run(self, advice: ArrayLike, outcomes: ArrayLike) -> NDArray[Any]:
        """Go through many rounds: predict and learn in each. It goes on from where it stands.

        Parameters
        ----------
        advice : array-like of shape (n_rounds, n_experts)
            What each expert says in each round.
        outcomes : array-like of shape (n_rounds,)
            What is right in each round.

        Returns
        -------
        ndarray of shape (n_rounds,)
            The predictions, each made before the outcome of its round is looked at.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as described, or a parameter is wrong.

        Examples
        --------
        >>> from edgewise.online import WeightedMajority
        >>> WeightedMajority().run([[1, 1, -1], [1, 1, -1]], [-1, -1]).shape
        (2,)
        """
        codes = self._advice(advice, ndim=2)
        right = coded("outcomes", outcomes, self._allowed(), ndim=1)
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
        """The logarithms of the weights, which start at 1."""
        self._require_start()
        return np.asarray(self.penalties_ * math.log(self.beta_), dtype=REAL)

    def bound(self, kind: str = "best", k: int | None = None) -> float:
        """Bound on the mistakes so far, from those of the experts: see :func:`mistake_bound`.

        Parameters
        ----------
        kind : {"best", "each", "total", "weights"}, default "best"
            What it follows from: the mistakes of the best expert; the most that any of the best k
            has made; the sum of what the best k have made; or the weights as they are, from which
            the others follow. Each is at most the one before.
        k : int or None, default None
            The size of the subpool of "each" and "total"; None takes the one with the least bound.

        Returns
        -------
        float
            The bound on `mistakes_`.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as described; a NotFittedError if there are no experts yet.

        Examples
        --------
        >>> from edgewise.online import WeightedMajority
        >>> learner = WeightedMajority().update([1, 1, 1, -1], -1).update([1, 1, 1, -1], -1)
        >>> learner.mistakes_, round(learner.bound(), 2), round(learner.bound("weights"), 2)
        (2, 4.82, 2.87)
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
        least = bounds.min() if k is None else bounds[integer("k", k, 1, self.n_experts_) - 1]
        return float(least) / halving(self.beta_)

    def _allowed(self) -> NDArray[Any]:
        return self.labels_ if self._started else checked_labels(self.labels)

    def _advice(self, advice: ArrayLike, ndim: int) -> Codes:
        """Return the codes of advice, checked against the labels and the pool, or raise."""
        codes = coded("advice", advice, self._allowed(), ndim)
        self._check_width("advice", codes.shape[-1])
        return codes

    def _vote(self, codes: Codes) -> int:
        """Return the code of the prediction; sums are exact, so they don't depend on the order."""
        sums = [
            math.fsum(self._scaled[codes == code].tolist()) for code in range(len(self.labels_))
        ]
        most = max(sums)
        tied = [code for code, value in enumerate(sums) if value == most]
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
        """Return weights relative to the largest, which is 1 after any number of rounds.

        They are read from a table, as the same power may round differently elsewhere in an array.
        """
        most = int(behind.max())
        if most >= len(self._powers):
            self._powers = np.power(self.beta_, np.arange(2 * most + 1))
        return self._powers[behind]
