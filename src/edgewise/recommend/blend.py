"""A blend of recommenders."""

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from edgewise.common.checks import integer, one_of, positive, verbosity
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import (
    Array,
    Arrays,
    Count,
    Field,
    Json,
    ListOf,
    OrNone,
    Plain,
    Sizes,
    Value,
    finite,
)
from edgewise.common.progress import mute_logging
from edgewise.metrics import nearest_level
from edgewise.model.file import packed, unpacked
from edgewise.online import Hedge, WeightedMajority, tuned_beta
from edgewise.ratings import Ratings, Split
from edgewise.ratings.splits import mask_held_out, mask_n_per_user
from edgewise.recommend.base import Recommender
from edgewise.recommend.model import Approximation
from edgewise.recommend.parameters import parameter

# Draws of an item that a user did not rate; a user who rated nearly all may find none.
_DRAWS = 20

# By how much, in parts of the largest, scores of users together differ from those of pairs.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BlendWeights:
    """Weights of models; the loss while learning them, each model's own, and the bound."""

    weights: Reals
    loss: float | None = None
    losses: Reals | None = None
    bound: float | None = None


def _number_or_none(value: Any) -> float | None:
    return None if value is None else finite(value)


class _PartField(Field):
    """A fitted model without the ratings that all models of a blend share."""

    def pack(self, value: Recommender, name: str, arrays: Arrays) -> Json:
        return packed(value, f"{name}.", arrays, leave_out=("ratings_",))

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        known = {axis: sizes[axis] for axis in ("users", "items", "ratings")}
        model = unpacked(saved, f"{name}.", arrays, known, leave_out=("ratings_",))
        if not isinstance(model, Recommender):
            raise TypeError(f"{name} must be a recommender")
        return model


@dataclass(eq=False, repr=False)
class Blend(Recommender, _BaseComposition):
    """A weighted mean of several recommenders, with weights learned on ratings set aside.

    Then all models are fitted again on all ratings. A model that does not know a user or an item
    contributes the mean.

    Parameters
    ----------
    models : list of (str, Recommender)
        Names and models; they are copied. Their parameters are reached as "name__parameter".
    method : str, default "hedge"
        How to learn the weights:

        - "hedge": by :class:`edgewise.online.Hedge`, losing
          ``|prediction - rating| / (high - low)``;
        - "majority": by :class:`edgewise.online.WeightedMajority`, voting for the nearest level;
        - "rankboost": by RankBoost with the models' scores as ranking features and users as
          queries; takes models that predict scores, and predicts scores itself;
        - "least_squares": the weights, of any sign, with the least squared error;
        - "uniform": equal weights; nothing is set aside.
    validation_fraction : float, default 0.1
        The share of each user's ratings to set aside.
    beta : float or "auto", default "auto"
        The factor on a weight for a loss of 1 ("hedge"), or for a mistake of the majority
        ("majority"), above 0 and below 1; "auto" suits the number of ratings set aside.
    n_rounds : int, default 50
        Rounds of RankBoost.
    random_state : int, Generator, RandomState or None, default None
        Seed of the ratings set aside and of their order.
    verbose : int, default 0
        1 shows a progress line.

    Attributes
    ----------
    models_, names_ : list of Recommender, list of str
        The models, fitted on all ratings, and their names.
    weights_ : array of shape (models,)
        Their weights; they sum to 1 except with "rankboost" and "least_squares". Equal if there is
        nothing to set aside.
    loss_, bound_ : float or None
        The total loss of Hedge's mixture, the mistakes of the majority, or RankBoost's ranking
        loss while learning; and its bound.
    losses_ : array of shape (models,) or None
        The total loss, or the mistakes, of each model.
    n_validation_ : int
        The number of ratings that the weights were learned from.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, Blend, ItemKNN
    >>> rows = [(user, item, 1 + user * item % 5) for user in range(8) for item in range(9)]
    >>> ratings = Ratings.from_arrays(*zip(*rows))
    >>> blend = Blend([("bias", BiasBaseline()), ("knn", ItemKNN())], random_state=0).fit(ratings)
    >>> float(blend.weights_.sum().round(6)), bool(blend.loss_ <= blend.bound_)
    (1.0, True)
    >>> blend.set_params(knn__n_neighbors=3).models[1]
    ('knn', ItemKNN(n_neighbors=3))
    """

    stored: ClassVar = {
        "weights_": "models",
        "losses_": OrNone(Array("models", np.float64)),
        "loss_": Plain(_number_or_none),
        "bound_": Plain(_number_or_none),
        "n_validation_": Count(),
        "names_": ListOf(Value(str)),
        "models_": ListOf(_PartField()),
    }

    models: Any
    method: str = "hedge"
    _: KW_ONLY
    validation_fraction: float = parameter(0.1, positive, 1.0)
    beta: float | str = "auto"
    n_rounds: int = parameter(50, integer, 1)
    random_state: Any = None
    verbose: int = parameter(0, verbosity)

    @property
    def predicts(self) -> str:
        """Whether scores are on the scale of the ratings: RankBoost's are not."""
        return "score" if self.method == "rankboost" else "rating"

    @property
    def adds_items(self) -> bool:
        """Whether ``partial_fit`` learns new items: if all models do."""
        return all(model.adds_items or model.refits_on_update for model in self.models_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with `deep` also the models by name and their parameters."""
        return dict(self._get_params("models", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the models as "name__parameter"."""
        self._set_params("models", **params)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("method", self.method, (*METHODS, "uniform"))
        if self.beta != "auto":
            positive("beta", self.beta, below=1.0)
        # A file stores the models as fitted ones, and has no others.
        if self.models is not None:
            self._check_models()

    def _check_models(self) -> None:
        listed = isinstance(self.models, (list, tuple)) and len(self.models) > 0
        if not listed or not all(
            isinstance(entry, tuple) and len(entry) == 2 for entry in self.models
        ):
            raise TypeError(f"models must be a list of (name, recommender), got {self.models!r}")
        for name, model in self.models:
            if not isinstance(name, str) or "__" in name or name in super().get_params(deep=False):
                raise ValueError(
                    "models must have names that are strings without '__', and no parameters of "
                    f"the blend, got {name!r}"
                )
            if not isinstance(model, Recommender):
                raise TypeError(f"models must be recommenders, got {type(model).__name__}")
            if self.predicts == "rating" and model.predicts != "rating":
                raise ValueError(
                    f"models must predict ratings for method={self.method!r}, but {name!r} "
                    "predicts scores: method='rankboost' takes such models"
                )
            model._check_parameters()
        names = [name for name, _ in self.models]
        if len(set(names)) < len(names):
            raise ValueError(f"models must have different names, got {names}")

    def _fit(self, ratings: Ratings) -> None:
        if self.models is None:
            raise TypeError("models must be a list of (name, recommender), got None")
        learns = self.method != "uniform"
        with self._progress(len(self.models) * (1 + learns), "fits") as step:

            def fitted(part: Ratings) -> list[Recommender]:
                models = []
                for _, model in self.models:
                    models.append(clone(model).fit(part))
                    step()
                return models

            learned = self._learn_weights(ratings, fitted)
            self.models_ = fitted(ratings)
        self.names_ = [name for name, _ in self.models]
        self.weights_, self.losses_ = learned.weights, learned.losses
        self.loss_, self.bound_ = learned.loss, learned.bound
        self._know()

    def _learn_weights(self, ratings: Ratings, fitted: Any) -> BlendWeights:
        """Return the weights learned from ratings set aside."""
        seed = self._seed()
        train, aside = set_aside(ratings, float(self.validation_fraction), seed)
        self.n_validation_ = len(aside) if self.method != "uniform" else 0
        if not self.n_validation_:
            return BlendWeights(uniform(len(self.models)))
        pairs = shuffled_pairs(aside, seed)
        if self.predicts == "score" and ratings.low == ratings.high:
            pairs = with_negatives(pairs, ratings, seed)
        columns = [self._scores_of(model, pairs.users, pairs.items) for model in fitted(train)]
        evidence = Evidence(
            pairs, np.column_stack(columns), ratings.levels, seed, self.beta, int(self.n_rounds)
        )
        return METHODS[self.method](evidence)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        scores = np.zeros(len(users))
        for weight, model in zip(self.weights_, self.models_, strict=True):
            scores += weight * self._scores_of(model, users, items)
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.zeros((len(users), self.n_items_))
        for weight, model in zip(self.weights_, self.models_, strict=True):
            scores += weight * self._table_of(model, users)
        return scores

    def _approximate_scores(self, users: Indices) -> Approximation:
        # The models' products may come out a little different for other users.
        scores = self._user_scores(users)
        sizes = np.where(np.isfinite(scores), np.abs(scores), 0.0)
        return scores, _ROUNDING * sizes.max(axis=1, initial=0.0)

    def _scores_of(self, part: Recommender, users: Indices, items: Indices) -> Reals:
        """Return a model's scores of pairs, means if it does not know the user or the item."""
        known = part._are_known(users, items)
        scores = np.zeros(len(users))
        if known.any():
            scores[known] = part._pair_scores(users[known], items[known])
        if self.predicts == "rating":
            np.clip(scores, part.low_, part.high_, out=scores)
        if not known.all():
            scores[~known] = part._mean_scores(users[~known], items[~known])
        return scores

    def _table_of(self, part: Recommender, users: Indices) -> Reals:
        """Return a model's scores of all items for some users, as `_scores_of` does."""
        scores = np.zeros((len(users), part.n_items_))
        known = part.known_users_[users]
        if known.any():
            scores[known] = part._user_scores(users[known])
        if self.predicts == "rating":
            np.clip(scores, part.low_, part.high_, out=scores)
        if not (known.all() and part.known_items_.all()):
            row, item = np.nonzero(~(known[:, None] & part.known_items_))
            scores[row, item] = part._mean_scores(users[row], item)
        return scores

    def _update(self, ratings: Ratings, users: Indices) -> "Blend":
        draft = copy(self)
        draft.ratings_ = ratings
        draft.models_ = [model._update(ratings, users) for model in self.models_]
        draft._know()
        return draft

    def _know(self) -> None:
        """Know what at least one of the models knows."""
        self.known_users_ = np.logical_or.reduce([model.known_users_ for model in self.models_])
        self.known_items_ = np.logical_or.reduce([model.known_items_ for model in self.models_])

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.models_ = [_with_users(model, ratings, users) for model in self.models_]

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return the models' similarities, averaged by the sizes of the weights."""
        size = self.n_items_ if side == "items" else self.n_users_
        sizes = np.abs(self.weights_)
        shares = sizes / sizes.sum() if sizes.any() else np.full(len(sizes), 1.0 / len(sizes))
        total = np.zeros((len(indices), size))
        found_any = np.zeros(total.shape, dtype=bool)
        for share, model in zip(shares, self.models_, strict=True):
            known = model.known_items_ if side == "items" else model.known_users_
            mine = known[indices]
            if mine.any():
                similar = np.where(known, model._similarities(side, indices[mine]), -np.inf)
                there = similar > -np.inf
                total[mine] += share * np.where(there, similar, 0.0)
                found_any[mine] |= there
        return np.where(found_any, total, -np.inf)

    def _restored(self) -> None:
        super()._restored()
        if not len(self.models_) == len(self.names_) == len(self.weights_):
            raise ValueError("there must be a weight and a name for each model")
        for model in self.models_:
            model.ratings_ = self.ratings_
            model._restored()
        self._check_models()


def _with_users(part: Recommender, ratings: Ratings, users: Indices) -> Recommender:
    """Return a model that also knows new users who rated items that it knows."""
    known = part.known_items_[ratings.items] | (ratings.users < users[0])
    usable = ratings if known.all() else ratings.take(known)
    more = copy(part)
    more.ratings_ = ratings
    new = usable.by_user.sizes[users] > 0
    more.known_users_ = np.concatenate([part.known_users_, new])
    more._fold_in(usable, users)
    return more


@dataclass(frozen=True, eq=False)
class ValidationPairs:
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

    pairs: ValidationPairs
    predictions: Reals
    levels: Reals
    seed: int = 0
    beta: float | str = "auto"
    n_rounds: int = 50


def set_aside(ratings: Ratings, share: float, seed: int) -> Split:
    """Split off a share of each user's ratings; if that is nothing, one of each user with two."""
    rng = np.random.default_rng(seed)
    chosen = mask_held_out("user", share, ratings.by_user, None, rng)
    if not chosen.any():
        chosen = mask_n_per_user(1, ratings.by_user, None, rng)
    return Split(ratings.take(~chosen), ratings.take(chosen))


def shuffled_pairs(ratings: Ratings, seed: int) -> ValidationPairs:
    """Return ratings in an order that depends on the seed alone."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    weights = None if ratings.weights is None else ratings.weights[order]
    users, items = ratings.users[order].astype(np.intp), ratings.items[order].astype(np.intp)
    return ValidationPairs(users, items, ratings.values[order], weights)


def with_negatives(pairs: ValidationPairs, ratings: Ratings, seed: int) -> ValidationPairs:
    """Return pairs rated 1, and for each an item that its user did not rate, rated 0."""
    rng = np.random.default_rng([seed, 1])
    taken = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
    items = np.zeros(len(pairs), dtype=np.intp)
    left = np.arange(len(pairs))
    for _ in range(_DRAWS):
        items[left] = rng.integers(ratings.n_items, size=len(left))
        left = left[np.isin(pairs.users[left] * ratings.n_items + items[left], taken)]
    drawn = np.setdiff1d(np.arange(len(pairs)), left)
    return ValidationPairs(
        np.concatenate([pairs.users, pairs.users[drawn]]),
        np.concatenate([pairs.items, items[drawn]]),
        np.repeat([1.0, 0.0], [len(pairs), len(drawn)]),
        None if pairs.weights is None else np.concatenate([pairs.weights, pairs.weights[drawn]]),
    )


def uniform(n_models: int) -> Reals:
    """Return equal weights."""
    return np.full(n_models, 1.0 / n_models)


def hedge(evidence: Evidence) -> BlendWeights:
    """Return the weights of Hedge; the losses of a round are |prediction - rating| / span."""
    # All ratings may be the same.
    span = float(np.ptp(evidence.levels)) or 1.0
    losses = np.abs(evidence.predictions - evidence.pairs.values[:, None]) / span
    if evidence.pairs.weights is not None:
        losses *= (evidence.pairs.weights / evidence.pairs.weights.max())[:, None]
    beta = evidence.beta
    learner = Hedge(horizon=len(losses)) if beta == "auto" else Hedge(beta)
    learner.run(np.clip(losses, 0.0, 1.0))
    return BlendWeights(learner.weights_, learner.loss_, learner.expert_losses_, learner.bound())


def majority(evidence: Evidence) -> BlendWeights:
    """Return the weights of weighted majority; each model votes for a level."""
    n_models = evidence.predictions.shape[1]
    if len(evidence.levels) < 2:
        return BlendWeights(uniform(n_models))
    votes = [nearest_level(column, evidence.levels) for column in evidence.predictions.T]
    beta: Any = evidence.beta
    if beta == "auto":
        beta = tuned_beta(max(2, n_models), len(evidence.pairs))
    learner = WeightedMajority(beta, labels=evidence.levels, random_state=evidence.seed)
    learner.run(np.column_stack(votes), evidence.pairs.values)
    losses = learner.expert_mistakes_.astype(np.float64)
    return BlendWeights(learner.weights_, float(learner.mistakes_), losses, learner.bound())


def least_squares(evidence: Evidence) -> BlendWeights:
    """Return the weights, of any sign, with the least squared error."""
    weights, rows = evidence.pairs.weights, evidence.predictions
    root = np.ones(len(rows)) if weights is None else np.sqrt(weights)
    solution = np.linalg.lstsq(rows * root[:, None], evidence.pairs.values * root, rcond=None)
    return BlendWeights(np.asarray(solution[0], dtype=np.float64))


def rank_boost(evidence: Evidence) -> BlendWeights:
    """Return RankBoost's coefficients of the models' scores, with users as queries.

    The weak rankers are the scores themselves (Iyer 1999 section 4.2.2, the first method).
    """
    from edgewise.estimators.rank_boost import RankBoost

    pairs, scores = evidence.pairs, evidence.predictions
    spread = scores.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    equal = BlendWeights(uniform(len(scale)) / scale)
    rows = _with_pairs(pairs)
    if not rows.any():
        return equal
    moving = np.flatnonzero(np.ptp(scores[rows], axis=0) > 0)
    if not len(moving):
        return equal
    model = RankBoost("feature", n_rounds=evidence.n_rounds, learning_rate=1.0)
    # RankBoost warns if there is nothing to learn; then weights are equal.
    with mute_logging():
        model.fit(
            scores[rows][:, moving] / scale[moving],
            pairs.values[rows],
            qid=pairs.users[rows],
            sample_weight=None if pairs.weights is None else pairs.weights[rows],
        )
    weights = np.zeros(len(scale))
    np.add.at(weights, moving[model.terms_.columns], model.terms_.coefficients[:, 0])
    if not weights.any():
        return equal
    history = model.history_
    return BlendWeights(weights / scale, history.last("ranking_loss"), None, history.last("bound"))


def _with_pairs(pairs: ValidationPairs) -> NDArray[np.bool_]:
    """Return which rows belong to users who rated two items differently."""
    size = int(pairs.users.max()) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, pairs.users, pairs.values)
    np.maximum.at(high, pairs.users, pairs.values)
    return (low < high)[pairs.users]


METHODS: dict[str, Callable[[Evidence], BlendWeights]] = {
    "hedge": hedge,
    "majority": majority,
    "rankboost": rank_boost,
    "least_squares": least_squares,
}
"""The ways to learn weights, by name."""
