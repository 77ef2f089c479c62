"""How a blend learns the weights of its models from ratings set aside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.log import muted
from edgewise.metrics import nearest_level
from edgewise.online import Hedge, WeightedMajority, tuned_beta
from edgewise.ratings import Ratings, Split
from edgewise.ratings.splits import held_out, one_each

# Draws of an item that a user did not rate; a user who rated nearly all may find none.
_DRAWS = 20


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs of users and items, by index, with ratings and weights, in some order."""

    users: NDArray[np.intp]
    items: NDArray[np.intp]
    values: Reals
    weights: Reals | None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rated pairs with the models' predictions, shape (pairs, models), and the rating levels."""

    pairs: RatedPairs
    predictions: Reals
    levels: Reals
    seed: int

    @property
    def n_models(self) -> int:
        """The number of models."""
        return self.predictions.shape[1]

    @property
    def span(self) -> float:
        """The width of the rating scale; 1 if all ratings are the same."""
        return float(self.levels[-1] - self.levels[0]) or 1.0


def set_aside(ratings: Ratings, share: float, seed: int) -> Split:
    """Split off a share of each user's ratings to learn weights from.

    If that is nothing, since users have few ratings, split off one of each user with two or more.
    """
    rng = np.random.default_rng(seed)
    chosen = held_out("user", share, ratings.by_user, None, rng)
    if not chosen.any():
        chosen = one_each("random", ratings.by_user, None, rng)
    return Split(ratings.take(~chosen), ratings.take(chosen))


def shuffled_pairs(ratings: Ratings, seed: int) -> RatedPairs:
    """Return ratings in an order that depends on the seed alone."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    weights = None if ratings.weights is None else ratings.weights[order]
    users, items = ratings.users[order].astype(np.intp), ratings.items[order].astype(np.intp)
    return RatedPairs(users, items, ratings.values[order], weights)


def with_negatives(pairs: RatedPairs, ratings: Ratings, seed: int) -> RatedPairs:
    """Return pairs rated 1, and for each an item that its user did not rate, rated 0."""
    rng = np.random.default_rng([seed, 1])
    taken = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
    items = np.zeros(len(pairs), dtype=np.intp)
    left = np.arange(len(pairs))
    for _ in range(_DRAWS):
        items[left] = rng.integers(ratings.n_items, size=len(left))
        left = left[np.isin(pairs.users[left] * ratings.n_items + items[left], taken)]
    found = np.setdiff1d(np.arange(len(pairs)), left)
    return RatedPairs(
        np.concatenate([pairs.users, pairs.users[found]]),
        np.concatenate([pairs.items, items[found]]),
        np.repeat([1.0, 0.0], [len(pairs), len(found)]),
        None if pairs.weights is None else np.concatenate([pairs.weights, pairs.weights[found]]),
    )


@dataclass(frozen=True, eq=False)
class BlendWeights:
    """Weights of models; the loss while learning them, each model's own, and the bound."""

    weights: Reals
    loss: float | None = None
    losses: Reals | None = None
    bound: float | None = None


def uniform(evidence: Evidence, beta: float | str, n_rounds: int) -> BlendWeights:
    """Return equal weights."""
    return BlendWeights(_equal(evidence))


def hedge(evidence: Evidence, beta: float | str, n_rounds: int) -> BlendWeights:
    """Return the weights of Hedge; the losses of a round are |prediction - rating| / span."""
    if not len(evidence.pairs):
        return BlendWeights(_equal(evidence))
    losses = np.abs(evidence.predictions - evidence.pairs.values[:, None]) / evidence.span
    if evidence.pairs.weights is not None:
        losses *= (evidence.pairs.weights / evidence.pairs.weights.max())[:, None]
    learner = Hedge(horizon=len(losses)) if beta == "auto" else Hedge(beta)
    learner.run(np.clip(losses, 0.0, 1.0))
    return BlendWeights(learner.weights_, learner.loss_, learner.expert_losses_, learner.bound())


def majority(evidence: Evidence, beta: float | str, n_rounds: int) -> BlendWeights:
    """Return the weights of weighted majority; each model votes for a level."""
    if not len(evidence.pairs) or len(evidence.levels) < 2:
        return BlendWeights(_equal(evidence))
    votes = [nearest_level(column, evidence.levels) for column in evidence.predictions.T]
    given: Any = beta
    if beta == "auto":
        given = tuned_beta(max(2, evidence.n_models), len(evidence.pairs))
    learner = WeightedMajority(given, labels=evidence.levels, random_state=evidence.seed)
    learner.run(np.column_stack(votes), evidence.pairs.values)
    losses = learner.expert_mistakes_.astype(np.float64)
    return BlendWeights(learner.weights_, float(learner.mistakes_), losses, learner.bound())


def least_squares(evidence: Evidence, beta: float | str, n_rounds: int) -> BlendWeights:
    """Return the weights, of any sign, with the least squared error."""
    if not len(evidence.pairs):
        return BlendWeights(_equal(evidence))
    weights, rows = evidence.pairs.weights, evidence.predictions
    root = np.ones(len(rows)) if weights is None else np.sqrt(weights)
    found = np.linalg.lstsq(rows * root[:, None], evidence.pairs.values * root, rcond=None)
    return BlendWeights(np.asarray(found[0], dtype=np.float64))


def rank_boost(evidence: Evidence, beta: float | str, n_rounds: int) -> BlendWeights:
    """Return RankBoost's coefficients of the models' scores, with users as queries.

    The weak rankers are the scores themselves (Iyer 1999 section 4.2.2, the first method), so the
    final ranking is a weighted sum of scores.
    """
    from edgewise.estimators.rank_boost import RankBoost

    pairs, scores = evidence.pairs, evidence.predictions
    spread = scores.std(axis=0) if len(scores) else np.zeros(evidence.n_models)
    scale = np.where(spread > 0, spread, 1.0)
    rows = _with_pairs(pairs)
    moving = np.flatnonzero(np.ptp(scores[rows], axis=0) > 0) if rows.any() else rows
    if not len(moving) or not rows.any():
        return BlendWeights(_equal(evidence) / scale)
    model = RankBoost("feature", n_rounds=n_rounds, learning_rate=1.0)
    # RankBoost warns if there is nothing to learn; then weights are equal.
    with muted():
        model.fit(
            scores[rows][:, moving] / scale[moving],
            pairs.values[rows],
            qid=pairs.users[rows],
            sample_weight=None if pairs.weights is None else pairs.weights[rows],
        )
    weights = np.zeros(evidence.n_models)
    np.add.at(weights, moving[model.terms_.columns], model.terms_.coefficients[:, 0])
    if not weights.any():
        return BlendWeights(_equal(evidence) / scale)
    history = model.history_
    return BlendWeights(weights / scale, history.last("ranking_loss"), None, history.last("bound"))


def _with_pairs(pairs: RatedPairs) -> NDArray[np.bool_]:
    """Return which rows belong to users who rated two items differently."""
    size = int(pairs.users.max(initial=-1)) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, pairs.users, pairs.values)
    np.maximum.at(high, pairs.users, pairs.values)
    return (low < high)[pairs.users]


def _equal(evidence: Evidence) -> Reals:
    return np.full(evidence.n_models, 1.0 / evidence.n_models)


METHODS: dict[str, Callable[[Evidence, float | str, int], BlendWeights]] = {
    "hedge": hedge,
    "majority": majority,
    "rankboost": rank_boost,
    "least_squares": least_squares,
    "uniform": uniform,
}
"""The ways to learn weights, by name: from the evidence, beta and the number of rounds."""
