"""A blend of recommenders."""

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from edgewise.common.checks import integer, one_of, positive, verbosity
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Array, Arrays, Count, Field, Json, ListOf, OrNone, Sizes, Value
from edgewise.common.progress import mute_logging
from edgewise.metrics import nearest_level
from edgewise.model.file import pack_model, unpack_model
from edgewise.online import Hedge, WeightedMajority, tuned_beta
from edgewise.ratings import Ratings, Split
from edgewise.ratings.splits import mask_held_out, mask_n_per_user
from edgewise.recommend.arrays import weights_of
from edgewise.recommend.base import Recommender
from edgewise.recommend.model import NUMBER, Approximation, parameter

# Draws of an item that a user did not rate; a user who rated nearly all may find none.
_DRAWS = 20

# The relative rounding error of scores computed for many users together.
_ROUNDING = 1e-9


class BlendWeights(NamedTuple):
    """Weights of models; the losses of their mixture and of each while learning, and the bound."""

    weights: Reals
    loss: float | None = None
    losses: Reals | None = None
    bound: float | None = None


class _ModelField(Field):
    """A fitted model without the ratings that all models of a blend share."""

    def pack(self, value: Recommender, name: str, arrays: Arrays) -> Json:
        return pack_model(value, f"{name}.", arrays, leave_out=("ratings_",))

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        known = {axis: sizes[axis] for axis in ("users", "items", "ratings")}
        model = unpack_model(saved, f"{name}.", arrays, known, leave_out=("ratings_",))
        if not isinstance(model, Recommender):
            raise TypeError(f"{name} must be a recommender")
        return model


@dataclass(eq=False, repr=False)
class Blend(Recommender, _BaseComposition):
    """A weighted mean of several recommenders, with weights learned on held-out ratings.

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
        - "uniform": equal weights; nothing is held out.
    validation_fraction : float, default 0.1
        The fraction of each user's ratings to hold out.
    beta : float or "auto", default "auto"
        The factor on a weight for a loss of 1 ("hedge"), or for a mistake of the majority
        ("majority"), above 0 and below 1; "auto" suits the number of held-out ratings.
    n_rounds : int, default 50
        Rounds of RankBoost.
    random_state, verbose
        See :class:`Recommender`.

    Attributes
    ----------
    models_, names_ : list of Recommender, list of str
        The models, fitted on all ratings, and their names.
    weights_ : array of shape (models,)
        Their weights; they sum to 1 except with "rankboost" and "least_squares". Equal if no rating
        can be held out.
    loss_, bound_ : float or None
        The total loss of Hedge's mixture, the mistakes of the majority, or RankBoost's ranking
        loss while learning; and its bound.
    losses_ : array of shape (models,) or None
        The total loss, or the mistakes, of each model.
    n_validation_ : int
        The number of held-out ratings.

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
        "loss_": OrNone(NUMBER),
        "bound_": OrNone(NUMBER),
        "n_validation_": Count(),
        "names_": ListOf(Value(str)),
        "models_": ListOf(_ModelField()),
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
        """Set parameters; "name__parameter" sets one of a model."""
        self._set_params("models", **params)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("method", self.method, (*METHODS, "uniform"))
        if self.beta != "auto":
            positive("beta", self.beta, below=1.0)
        # A file stores fitted models only.
        if self.models is not None:
            self._check_models()

    def _check_models(self) -> None:
        is_list = isinstance(self.models, (list, tuple)) and len(self.models) > 0
        if not is_list or not all(
            isinstance(entry, tuple) and len(entry) == 2 for entry in self.models
        ):
            raise TypeError(f"models must be a list of (name, recommender), got {self.models!r}")
        names = [name for name, _ in self.models]
        reserved = super().get_params(deep=False)
        for name, model in self.models:
            if not isinstance(name, str) or "__" in name or name in reserved:
                raise ValueError(
                    "models must have names that are strings without '__', and no parameters of "
                    f"the blend, got {name!r}"
                )
            if names.count(name) > 1:
                raise ValueError(f"models must have different names, got {names}")
            if not isinstance(model, Recommender):
                raise TypeError(f"models must be recommenders, got {type(model).__name__}")
            if self.predicts == "rating" and model.predicts != "rating":
                raise ValueError(
                    f"models must predict ratings for method={self.method!r}, but {name!r} "
                    "predicts scores: method='rankboost' takes such models"
                )
            model._check_parameters()

    def _fit(self, ratings: Ratings) -> None:
        if self.models is None:
            raise TypeError("models must be a list of (name, recommender), got None")
        n_fits = len(self.models) * (1 if self.method == "uniform" else 2)
        with self._progress(n_fits, "fits") as step:

            def fit_models(ratings: Ratings) -> list[Recommender]:
                models = []
                for _, model in self.models:
                    models.append(clone(model).fit(ratings))
                    step()
                return models

            learned = self._learn_weights(ratings, fit_models)
            self.models_ = fit_models(ratings)
        self.names_ = [name for name, _ in self.models]
        self.weights_, self.loss_, self.losses_, self.bound_ = learned
        self._combine_known()

    def _learn_weights(
        self, ratings: Ratings, fit_models: Callable[[Ratings], list[Recommender]]
    ) -> BlendWeights:
        """Return the weights learned from held-out ratings."""
        seed = self._seed()
        train, held_out = hold_out(ratings, float(self.validation_fraction), seed)
        self.n_validation_ = len(held_out) if self.method != "uniform" else 0
        if not self.n_validation_:
            return BlendWeights(equal_weights(len(self.models)))
        pairs = shuffle_pairs(held_out, seed)
        if self.predicts == "score" and ratings.low == ratings.high:
            pairs = add_negatives(pairs, ratings, seed)
        columns = [
            self._model_scores(model, pairs.users, pairs.items) for model in fit_models(train)
        ]
        evidence = Evidence(
            pairs, np.column_stack(columns), ratings.levels, seed, self.beta, int(self.n_rounds)
        )
        return METHODS[self.method](evidence)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        scores = np.zeros(len(users))
        for weight, model in zip(self.weights_, self.models_, strict=True):
            scores += weight * self._model_scores(model, users, items)
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.zeros((len(users), self.n_items_))
        for weight, model in zip(self.weights_, self.models_, strict=True):
            scores += weight * self._model_table(model, users)
        return scores

    def _approximate_scores(self, users: Indices) -> Approximation:
        # Products of matrices may differ in the last digits with the users in the block.
        scores = self._user_scores(users)
        sizes = np.where(np.isfinite(scores), np.abs(scores), 0.0)
        return scores, _ROUNDING * sizes.max(axis=1, initial=0.0)

    def _model_scores(self, model: Recommender, users: Indices, items: Indices) -> Reals:
        """Return a model's scores of pairs; means if it does not know the user or the item."""
        known = model._are_known(users, items)
        scores = np.zeros(len(users))
        if known.any():
            scores[known] = model._pair_scores(users[known], items[known])
        if self.predicts == "rating":
            np.clip(scores, model.low_, model.high_, out=scores)
        if not known.all():
            scores[~known] = model._mean_scores(users[~known], items[~known])
        return scores

    def _model_table(self, model: Recommender, users: Indices) -> Reals:
        """Return the `_model_scores` of all items for some users."""
        scores = np.zeros((len(users), model.n_items_))
        known_users = model.known_users_[users]
        if known_users.any():
            scores[known_users] = model._user_scores(users[known_users])
        if self.predicts == "rating":
            np.clip(scores, model.low_, model.high_, out=scores)
        rows, items = np.nonzero(~(known_users[:, None] & model.known_items_))
        if len(rows):
            scores[rows, items] = model._mean_scores(users[rows], items)
        return scores

    def _update(self, ratings: Ratings, users: Indices) -> "Blend":
        draft = copy(self)
        draft.ratings_ = ratings
        draft.models_ = [model._update(ratings, users) for model in self.models_]
        draft._combine_known()
        return draft

    def _combine_known(self) -> None:
        """Mark the users and items that at least one of the models knows."""
        self.known_users_ = np.logical_or.reduce([model.known_users_ for model in self.models_])
        self.known_items_ = np.logical_or.reduce([model.known_items_ for model in self.models_])

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.models_ = [_fold_in_users(model, ratings, users) for model in self.models_]

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return the mean of the models' similarities, weighted by the sizes of the weights."""
        sizes = np.abs(self.weights_)
        shares = sizes / sizes.sum() if sizes.any() else equal_weights(len(sizes))
        total = np.zeros((len(indices), len(self._catalog(side)[1])))
        is_compared = np.zeros(total.shape, dtype=bool)
        for share, model in zip(shares, self.models_, strict=True):
            known = model._catalog(side)[1]
            rows = known[indices]
            if rows.any():
                similar = np.where(known, model._similarities(side, indices[rows]), -np.inf)
                finite = similar > -np.inf
                total[rows] += share * np.where(finite, similar, 0.0)
                is_compared[rows] |= finite
        return np.where(is_compared, total, -np.inf)

    def _check_restored(self) -> None:
        super()._check_restored()
        if not len(self.models_) == len(self.names_) == len(self.weights_):
            raise ValueError("there must be a weight and a name for each model")
        for model in self.models_:
            model.ratings_ = self.ratings_
            model._check_restored()
        self._check_models()


def _fold_in_users(model: Recommender, ratings: Ratings, users: Indices) -> Recommender:
    """Return a model that also knows the new users who rated items that it knows."""
    known = model.known_items_[ratings.items] | (ratings.users < users[0])
    usable = ratings if known.all() else ratings.take(known)
    folded = copy(model)
    folded.ratings_ = ratings
    is_known = usable.by_user.sizes[users] > 0
    folded.known_users_ = np.concatenate([model.known_users_, is_known])
    folded._fold_in(usable, users)
    return folded


class ValidationPairs(NamedTuple):
    """Pairs of users and items, by index, with ratings and weights, in some order."""

    users: Indices
    items: Indices
    values: Reals
    weights: Reals | None


class Evidence(NamedTuple):
    """Rated pairs with the models' predictions, shape (pairs, models), and the rating levels."""

    pairs: ValidationPairs
    predictions: Reals
    levels: Reals
    seed: int = 0
    beta: float | str = "auto"
    n_rounds: int = 50


def hold_out(ratings: Ratings, fraction: float, seed: int) -> Split:
    """Split off a fraction of each user's ratings; if all are 0, one of each user with two."""
    rng = np.random.default_rng(seed)
    is_held_out = mask_held_out("user", fraction, ratings.by_user, None, rng)
    if not is_held_out.any():
        is_held_out = mask_n_per_user(1, ratings.by_user, None, rng)
    return Split(ratings.take(~is_held_out), ratings.take(is_held_out))


def shuffle_pairs(ratings: Ratings, seed: int) -> ValidationPairs:
    """Return ratings in an order that depends on the seed alone."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    weights = None if ratings.weights is None else ratings.weights[order]
    users, items = ratings.users[order].astype(np.intp), ratings.items[order].astype(np.intp)
    return ValidationPairs(users, items, ratings.values[order], weights)


def add_negatives(pairs: ValidationPairs, ratings: Ratings, seed: int) -> ValidationPairs:
    """Return pairs rated 1, and for each an item that its user did not rate, rated 0."""
    rng = np.random.default_rng([seed, 1])
    rated = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
    n_pairs = len(pairs.users)
    items = np.zeros(n_pairs, dtype=np.intp)
    missing = np.arange(n_pairs)
    for _ in range(_DRAWS):
        items[missing] = rng.integers(ratings.n_items, size=len(missing))
        drawn = pairs.users[missing] * ratings.n_items + items[missing]
        missing = missing[np.isin(drawn, rated)]
    rows = np.setdiff1d(np.arange(n_pairs), missing)
    return ValidationPairs(
        np.concatenate([pairs.users, pairs.users[rows]]),
        np.concatenate([pairs.items, items[rows]]),
        np.repeat([1.0, 0.0], [n_pairs, len(rows)]),
        None if pairs.weights is None else np.concatenate([pairs.weights, pairs.weights[rows]]),
    )


def equal_weights(n_models: int) -> Reals:
    """Return equal weights that sum to 1."""
    return np.full(n_models, 1.0 / n_models)


def hedge_weights(evidence: Evidence) -> BlendWeights:
    """Return the weights of Hedge; the loss of a model is |prediction - rating| / span."""
    # All ratings may be the same.
    span = float(np.ptp(evidence.levels)) or 1.0
    losses = np.abs(evidence.predictions - evidence.pairs.values[:, None]) / span
    weights = weights_of(evidence.pairs)
    losses *= (weights / weights.max())[:, None]
    beta = evidence.beta
    learner = Hedge(horizon=len(losses)) if beta == "auto" else Hedge(beta)
    learner.run(np.clip(losses, 0.0, 1.0))
    return BlendWeights(learner.weights_, learner.loss_, learner.expert_losses_, learner.bound())


def majority_weights(evidence: Evidence) -> BlendWeights:
    """Return the weights of weighted majority; each model votes for a level."""
    n_pairs, n_models = evidence.predictions.shape
    if len(evidence.levels) < 2:
        return BlendWeights(equal_weights(n_models))
    votes = [nearest_level(column, evidence.levels) for column in evidence.predictions.T]
    beta: Any = evidence.beta
    if beta == "auto":
        beta = tuned_beta(max(2, n_models), n_pairs)
    learner = WeightedMajority(beta, labels=evidence.levels, random_state=evidence.seed)
    learner.run(np.column_stack(votes), evidence.pairs.values)
    losses = learner.expert_mistakes_.astype(np.float64)
    return BlendWeights(learner.weights_, float(learner.mistakes_), losses, learner.bound())


def least_squares_weights(evidence: Evidence) -> BlendWeights:
    """Return the weights, of any sign, with the least squared error."""
    roots = np.sqrt(weights_of(evidence.pairs))
    rows, target = evidence.predictions * roots[:, None], evidence.pairs.values * roots
    solution = np.linalg.lstsq(rows, target, rcond=None)[0]
    return BlendWeights(np.asarray(solution, dtype=np.float64))


def rankboost_weights(evidence: Evidence) -> BlendWeights:
    """Return RankBoost's coefficients of the models' scores, with users as queries.

    The weak rankers are the scores themselves (Iyer 1999 section 4.2.2, the first method).
    """
    from edgewise.estimators.rank_boost import RankBoost

    pairs, scores = evidence.pairs, evidence.predictions
    spread = scores.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    equal = BlendWeights(equal_weights(len(scale)) / scale)
    # The users who rated two items differently.
    distinct = np.unique(np.column_stack([pairs.users, pairs.values]), axis=0)
    rows = np.bincount(distinct[:, 0].astype(np.intp))[pairs.users] > 1
    if not rows.any():
        return equal
    varying = np.flatnonzero(np.ptp(scores[rows], axis=0) > 0)
    if not len(varying):
        return equal
    n_rounds = evidence.n_rounds
    model = RankBoost("feature", n_rounds=n_rounds, learning_rate=1.0, objective="pairs")
    # RankBoost warns if there is nothing to learn; then weights are equal.
    with mute_logging():
        model.fit(
            scores[rows][:, varying] / scale[varying],
            pairs.values[rows],
            qid=pairs.users[rows],
            sample_weight=None if pairs.weights is None else pairs.weights[rows],
        )
    weights = np.zeros(len(scale))
    np.add.at(weights, varying[model.fitted_.terms.columns], model.fitted_.terms.coefficients[:, 0])
    if not weights.any():
        return equal
    history = model.history_
    return BlendWeights(weights / scale, history.last("ranking_loss"), None, history.last("bound"))


METHODS: dict[str, Callable[[Evidence], BlendWeights]] = {
    "hedge": hedge_weights,
    "majority": majority_weights,
    "rankboost": rankboost_weights,
    "least_squares": least_squares_weights,
}
"""The methods that learn weights, by name."""
