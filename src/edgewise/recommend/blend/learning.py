"""How weights of models are learned from what they said of ratings that were set aside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.common.log import muted
from edgewise.metrics import nearest_level
from edgewise.online import Hedge, WeightedMajority, tuned_beta
from edgewise.recommend.blend.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Learned:
    """Weights of models; the loss while they were learned, that of each model, and the bound."""

    weights: Reals
    loss: float | None = None
    losses: Reals | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Settings:
    """What a learner may be told: beta of the online ones, rounds of RankBoost."""

    beta: float | str
    n_rounds: int


def uniform(evidence: Evidence, settings: Settings) -> Learned:
    """Return equal weights."""
    return Learned(_equal(evidence))


def hedge(evidence: Evidence, settings: Settings) -> Learned:
    """Return the weights of Hedge, where a round's losses are |prediction - rating| / span."""
    if not len(evidence.pairs):
        return Learned(_equal(evidence))
    losses = np.abs(evidence.said - evidence.pairs.values[:, None]) / evidence.span
    if evidence.pairs.weights is not None:
        losses *= (evidence.pairs.weights / evidence.pairs.weights.max())[:, None]
    learner = Hedge(horizon=len(losses)) if settings.beta == "auto" else Hedge(settings.beta)
    learner.run(np.clip(losses, 0.0, 1.0))
    return Learned(learner.weights_, learner.loss_, learner.expert_losses_, learner.bound())


def majority(evidence: Evidence, settings: Settings) -> Learned:
    """Return the weights of weighted majority, where each model votes for a level."""
    if not len(evidence.pairs) or len(evidence.levels) < 2:
        return Learned(_equal(evidence))
    said = np.column_stack([nearest_level(column, evidence.levels) for column in evidence.said.T])
    beta: Any = settings.beta
    if beta == "auto":
        beta = tuned_beta(max(2, evidence.n_models), len(said))
    learner = WeightedMajority(beta, labels=evidence.levels, random_state=evidence.seed)
    learner.run(said, evidence.pairs.values)
    losses = learner.expert_mistakes_.astype(np.float64)
    return Learned(learner.weights_, float(learner.mistakes_), losses, learner.bound())


def least_squares(evidence: Evidence, settings: Settings) -> Learned:
    """Return the weights, of any sign, whose sum of predictions has the least squared error."""
    if not len(evidence.pairs):
        return Learned(_equal(evidence))
    weights = evidence.pairs.weights
    root = np.ones(len(evidence.said)) if weights is None else np.sqrt(weights)
    found = np.linalg.lstsq(evidence.said * root[:, None], evidence.pairs.values * root, rcond=None)
    return Learned(np.asarray(found[0], dtype=np.float64))


def rank_boost(evidence: Evidence, settings: Settings) -> Learned:
    """Return RankBoost's coefficients of the models' scores, with users as queries.

    The weak rankers are the scores themselves (Iyer 1999 section 4.2.2, the first method), so that
    the final ranking is a sum of scores with weights.
    """
    from edgewise.estimators.rank_boost import RankBoost

    spread = evidence.said.std(axis=0) if len(evidence.said) else np.zeros(evidence.n_models)
    scale = np.where(spread > 0, spread, 1.0)
    rows = _with_pairs(evidence)
    moving = np.flatnonzero(np.ptp(evidence.said[rows], axis=0) > 0) if rows.any() else rows
    if not len(moving) or not rows.any():
        return Learned(_equal(evidence) / scale)
    pairs = evidence.pairs
    model = RankBoost("feature", n_rounds=settings.n_rounds, learning_rate=1.0)
    # RankBoost warns if there is nothing to learn; then weights are equal.
    with muted():
        model.fit(
            evidence.said[rows][:, moving] / scale[moving],
            pairs.values[rows],
            qid=pairs.users[rows],
            sample_weight=None if pairs.weights is None else pairs.weights[rows],
        )
    alphas = model.terms_.coefficients[:, 0]
    weights = np.zeros(evidence.n_models)
    np.add.at(weights, moving[model.terms_.columns], alphas)
    if not weights.any():
        return Learned(_equal(evidence) / scale)
    history = model.history_
    return Learned(weights / scale, history.last("ranking_loss"), None, history.last("bound"))


def _with_pairs(evidence: Evidence) -> np.ndarray:
    """Return which rows are of users who rated two items differently."""
    users, values = evidence.pairs.users, evidence.pairs.values
    size = int(users.max(initial=-1)) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, users, values)
    np.maximum.at(high, users, values)
    return (low < high)[users]


def _equal(evidence: Evidence) -> Reals:
    return np.full(evidence.n_models, 1.0 / evidence.n_models)


LEARNERS: dict[str, Callable[[Evidence, Settings], Learned]] = {
    "hedge": hedge,
    "majority": majority,
    "rankboost": rank_boost,
    "least_squares": least_squares,
    "uniform": uniform,
}
"""The ways to learn weights, by name."""
