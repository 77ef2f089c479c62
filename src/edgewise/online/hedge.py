"""Hedge: weights on experts that decrease exponentially in their losses (Freund and Schapire)."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import generator, integer, numbers, one_of, positive
from edgewise.common.dtypes import Reals
from edgewise.online.pool import Pool

# Rounds are processed in blocks of at most this many losses, to bound memory.
_BLOCK = 1 << 20


@dataclass(eq=False, repr=False, kw_only=True)
class Hedge(Pool):
    """Weights a pool of experts so as to lose little more than the best of them.

    In each round every expert has a loss from 0 to 1. The learner suffers their weighted mean, then
    multiplies each weight by beta^loss (Freund and Schapire 1997, figure 1). For any sequence of
    losses the total stays below :meth:`bound`. For a convex loss, the mixture of the experts'
    predictions loses at most the weighted mean.

    Give at most one of `beta`, `learning_rate` and `horizon`.

    Parameters
    ----------
    beta : float or "auto", default "auto"
        The factor for the weight of an expert with a loss of 1, above 0 and below 1. "auto" derives
        it from `learning_rate` or `horizon`, and is 0.5 without them.
    learning_rate : float or None, default None
        The rate eta with beta = exp(-eta), above 0 and below 700.
    horizon : float or None, default None
        An upper bound on the best expert's total loss, such as the number of rounds. It sets
        beta = 1 / (1 + sqrt(2 ln N / horizon)) for N experts; with a `prior`, the largest
        ln(1 / prior) replaces ln N.
    prior : array-like of shape (n_experts,) or None, default None
        Positive initial weights, in any scale; None for equal weights.
    random_state : int, RandomState, Generator or None, default None
        Randomness of `choose`.

    Attributes
    ----------
    weights_, log_weights_ : ndarray of shape (n_experts,)
        The weights of the next round, which sum to 1, and their logarithms, not normalized.
    loss_, expert_losses_ : float, and ndarray of shape (n_experts,)
        The total loss of the mixture, and of each expert.
    n_rounds_, n_experts_ : int
        Number of rounds so far, and of experts.
    beta_, learning_rate_, prior_ :
        The settings in use; the prior is divided by its sum.

    Examples
    --------
    >>> from edgewise.online import Hedge
    >>> learner = Hedge(beta=0.5)
    >>> learner.run([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    array([0.66666667, 0.25      ])
    >>> learner.weights_.round(4).tolist(), learner.expert_losses_.tolist()
    ([0.5714, 0.1429, 0.2857], [0.0, 2.0, 1.0])
    >>> round(learner.loss_, 4), round(learner.bound(), 4)
    (0.9167, 2.1972)
    >>> learner.mix([4.0, 1.0, 3.0])
    3.2857142857142856
    """

    beta: float | str = field(default="auto", kw_only=False)
    learning_rate: float | None = None
    horizon: float | None = None
    prior: Any = None
    random_state: Any = None

    def start(self, n_experts: int) -> Self:
        """Start over with `n_experts` experts; the first round does so implicitly."""
        n_experts = integer("n_experts", n_experts, 1)
        prior = _normalize_prior(self.prior, n_experts)
        self.learning_rate_ = self._resolve_rate(spread=-math.log(prior.min()))
        self._rng = generator(self.random_state)
        self.prior_, self.beta_ = prior, math.exp(-self.learning_rate_)
        self._horizon = self.horizon
        self.n_experts_, self.n_rounds_ = n_experts, 0
        self.loss_, self.expert_losses_ = 0.0, np.zeros(n_experts)
        return self

    def update(self, losses: ArrayLike) -> Self:
        """Learn from one round: the loss of each expert, from 0 to 1."""
        self._learn(losses, ndim=1)
        return self

    def run(self, losses: ArrayLike) -> Reals:
        """Learn from many rounds, shape (n_rounds, n_experts), continuing from the current weights.

        Returns the loss of the mixture in each round, under the weights before it.
        """
        return self._learn(losses, ndim=2)

    def _learn(self, losses: ArrayLike, ndim: int) -> Reals:
        """Learn from rounds of losses, and return the mixture's losses."""
        values = np.atleast_2d(numbers("losses", losses, ndim=ndim))
        n_experts = values.shape[1]
        self._check_n_experts("losses", n_experts)
        outside = ~((values >= 0.0) & (values <= 1.0))
        if outside.any():
            raise ValueError(f"losses must lie from 0 to 1, got {values[outside][0]:g}")
        self._start_if_needed(n_experts)
        mixed = np.empty(len(values))
        block = max(1, _BLOCK // n_experts)
        for first in range(0, len(values), block):
            rows = values[first : first + block]
            totals = np.cumsum(np.vstack([self.expert_losses_, rows]), axis=0)
            mixed[first : first + block] = (self._weights(totals[:-1]) * rows).sum(axis=1)
            self.expert_losses_ = totals[-1].copy()
        self.loss_ += float(mixed.sum())
        self.n_rounds_ += len(values)
        return mixed

    def mix(self, predictions: ArrayLike) -> Any:
        """Return the weighted mean of the experts' predictions.

        Parameters
        ----------
        predictions : array-like of shape (n_experts, ...)
            The prediction of each expert: a number, or an array of the same shape for all.
        """
        values = numbers("predictions", predictions, ndim=None)
        if values.ndim == 0:
            raise ValueError("predictions must have an entry for each expert, got one number")
        self._check_n_experts("predictions", len(values))
        self._start_if_needed(len(values))
        mixed = np.tensordot(self.weights_, values, axes=1)
        return float(mixed) if mixed.ndim == 0 else mixed

    def choose(self) -> int:
        """Draw an expert by the weights: its expected loss is the loss of the mixture."""
        weights = self.weights_
        return int(self._rng.choice(self.n_experts_, p=weights))

    @property
    def weights_(self) -> Reals:
        """The weights of the next round; they sum to 1."""
        self._require_start()
        return self._weights(self.expert_losses_[None])[0]

    @property
    def log_weights_(self) -> Reals:
        """The logarithms of prior times beta^loss, not normalized; they never underflow."""
        self._require_start()
        return np.log(self.prior_) - self.learning_rate_ * self.expert_losses_

    def bound(self, kind: str = "best") -> float:
        """Bound on the loss so far, from the losses of the experts: see :func:`loss_bound`.

        Parameters
        ----------
        kind : {"best", "pool", "weights", "horizon"}, default "best"
            "best": (L ln(1 / beta) + ln(1 / prior)) / (1 - beta), minimized over the experts.
            "pool": the same with the largest loss and the prior of a subpool, minimized over
            subpools. "weights": -ln(sum of prior beta^loss) / (1 - beta), which implies the others.
            "horizon": L + sqrt(2 horizon R) + R with R = ln N, only with a `horizon` that the best
            expert's loss has not exceeded. Each of the first three is at most the one before, and
            "best" is at most "horizon".
        """
        one_of("kind", kind, ("best", "pool", "weights", "horizon"))
        self._require_start()
        if kind == "horizon":
            return self._horizon_bound()
        if kind == "weights":
            top = self.log_weights_.max()
            spent = -(top + math.log(np.exp(self.log_weights_ - top).sum()))
        elif kind == "pool":
            order = np.argsort(self.expert_losses_)
            shares = np.minimum(np.cumsum(self.prior_[order]), 1.0)
            spent = (self.learning_rate_ * self.expert_losses_[order] - np.log(shares)).min()
        else:
            spent = (-self.log_weights_).min()
        return float(spent) / -math.expm1(-self.learning_rate_)

    def _horizon_bound(self) -> float:
        best, spread = float(self.expert_losses_.min()), -math.log(self.prior_.min())
        if self._horizon is None or best > self._horizon:
            raise ValueError(
                "kind 'horizon' needs a horizon that the best expert's loss has not exceeded: "
                f"horizon is {self._horizon!r}, the smallest loss {best:g}"
            )
        return best + math.sqrt(2.0 * self._horizon * spread) + spread

    def _resolve_rate(self, spread: float) -> float:
        """Return eta = ln(1 / beta) from the parameter that is set."""
        defaults = {"beta": "auto", "learning_rate": None, "horizon": None}
        names = [name for name, default in defaults.items() if getattr(self, name) != default]
        if len(names) > 1:
            raise ValueError(f"give one of beta, learning_rate and horizon, got {names}")
        if self.beta != "auto":
            return -math.log(positive("beta", self.beta, below=1.0))
        if self.learning_rate is not None:
            # Beyond this, beta would round to 0.
            return positive("learning_rate", self.learning_rate, below=700.0)
        # For a single expert the formula would give 0; any rate is as good.
        if self.horizon is None or (positive("horizon", self.horizon) and spread == 0.0):
            return math.log(2.0)
        return math.log1p(math.sqrt(2.0 * spread) / math.sqrt(self.horizon))

    def _weights(self, totals: Reals) -> Reals:
        """Return the weights for total losses of shape (n, n_experts), each row summing to 1."""
        behind = totals - totals.min(axis=1, keepdims=True)
        logs = np.log(self.prior_) - self.learning_rate_ * behind
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def _normalize_prior(prior: Any, n_experts: int) -> Reals:
    """Return initial weights that sum to 1."""
    if prior is None:
        return np.full(n_experts, 1.0 / n_experts)
    values = numbers("prior", prior, n_experts, "experts")
    is_valid = np.isfinite(values).all() and (values > 0.0).all()
    # A weight that underflows relative to the largest would have no logarithm.
    if not is_valid or (values / values.max()).min() == 0.0:
        raise ValueError("prior must hold positive, finite weights, none 0 relative to the largest")
    share = values / values.max()
    return share / share.sum()
