"""A blend of recommenders."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from edgewise.common.checks import integer, one_of, positive
from edgewise.common.dtypes import Reals
from edgewise.common.fields import ListOf
from edgewise.ratings import Ratings
from edgewise.recommend.base import Indices, Recommender
from edgewise.recommend.blend.evidence import (
    Evidence,
    against_others,
    set_aside,
    streamed,
)
from edgewise.recommend.blend.learning import LEARNERS, Learned, Settings
from edgewise.recommend.blend.parts import PART, pair_scores, user_scores, with_users


class Blend(Recommender, _BaseComposition):
    """Several recommenders as one, with weights learned on ratings that are set aside.

    A share of each user's ratings is set aside, the models are fitted on the rest, and weights are
    learned from what they say of the ratings set aside; then all models are fitted anew on all
    ratings. The blend predicts the mean of their predictions under the weights, where a model that
    does not know a user or an item says the mean.

    Parameters
    ----------
    models : list of (str, Recommender)
        Names and models; they are copied. Their parameters can be reached as "name__parameter".
    weights : str, default "hedge"
        How weights are learned:

        - "hedge": by :class:`edgewise.online.Hedge`, where the ratings set aside come one after
          the other and the loss of a model is |prediction - rating| / (high - low);
        - "majority": by :class:`edgewise.online.WeightedMajority`, where each model votes for the
          level nearest to its prediction;
        - "rankboost": by RankBoost with the models' scores as ranking features and users as
          queries. It also takes models that predict scores, and predicts scores itself. Where all
          ratings are the same, what users chose is set against as many items that they did not;
        - "least_squares": the weights, of any sign, with the least squared error;
        - "uniform": equal ones; nothing is set aside.
    validation_fraction : float, default 0.1
        The share of each user's ratings to set aside.
    beta : float or "auto", default "auto"
        What a weight is multiplied by for a loss of 1 ("hedge") or for being wrong together with
        the majority ("majority"), above 0 and below 1; "auto" suits the number of ratings set
        aside.
    n_rounds : int, default 50
        Rounds of RankBoost.
    random_state : int, Generator, RandomState or None, default None
        What is set aside, and in which order it comes.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    models_ : list of Recommender
        The models, fitted on all ratings.
    names_ : list of str
        Their names.
    weights_ : array of shape (models,)
        Their weights; they sum to 1 but for "rankboost" and "least_squares". Equal ones where there
        is nothing to set aside.
    loss_ : float or None
        What was lost while weights were learned: the total loss of Hedge's mixture, the mistakes of
        the majority, or RankBoost's ranking loss.
    bound_ : float or None
        What theory allows it to be: the loss bound of Hedge, the mistake bound of weighted
        majority, or the product of RankBoost's normalisers.
    losses_ : array of shape (models,) or None
        The total losses, or the mistakes, of each model.
    n_validation_ : int
        How many ratings weights were learned from.

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

    stored: ClassVar = {"weights_": "models", "losses_": "models", "models_": ListOf(PART)}

    models_: list[Recommender]
    names_: list[str]
    weights_: Reals
    loss_: float | None
    bound_: float | None
    losses_: Reals | None
    n_validation_: int

    def __init__(
        self,
        models: Any,
        weights: str = "hedge",
        *,
        validation_fraction: float = 0.1,
        beta: float | str = "auto",
        n_rounds: int = 50,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.models = models
        self.weights = weights
        self.validation_fraction = validation_fraction
        self.beta = beta
        self.n_rounds = n_rounds
        self.random_state = random_state
        self.verbose = verbose

    @property
    def predicts(self) -> str:  # type: ignore[override]
        """Whether scores are on the scale of the ratings: not those of RankBoost."""
        return "score" if self.weights == "rankboost" else "rating"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with `deep` also the models by name and their parameters."""
        params: dict[str, Any] = self._get_params("models", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the models as "name__parameter"."""
        self._set_params("models", **params)
        return self

    def _check_parameters(self) -> None:
        one_of("weights", self.weights, LEARNERS)
        positive("validation_fraction", self.validation_fraction, below=1.0)
        integer("n_rounds", self.n_rounds, 1)
        if self.beta != "auto":
            positive("beta", self.beta, below=1.0)
        # A file stores the models as fitted ones, and has no others.
        if self.models is not None:
            self._check_models()

    def _check_models(self) -> None:
        listed = isinstance(self.models, (list, tuple)) and len(self.models) > 0
        if not listed or not all(isinstance(one, tuple) and len(one) == 2 for one in self.models):
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
                    f"models must predict ratings for weights={self.weights!r}, but {name!r} "
                    "predicts scores: weights='rankboost' takes such models"
                )
            model._check_parameters()
        names = [name for name, _ in self.models]
        if len(set(names)) < len(names):
            raise ValueError(f"models must have different names, got {names}")

    def _fit(self, ratings: Ratings) -> None:
        if self.models is None:
            raise TypeError("models must be a list of (name, recommender), got None")
        learns = self.weights != "uniform"
        with self._progress(len(self.models) * (1 + learns), "fits") as step:

            def fitted(part: Ratings) -> list[Recommender]:
                models = []
                for _, model in self.models:
                    models.append(clone(model).fit(part))
                    step()
                return models

            learned = self._learned(ratings, fitted)
            self.models_ = fitted(ratings)
        self.names_ = [name for name, _ in self.models]
        self.weights_, self.losses_ = learned.weights, learned.losses
        self.loss_, self.bound_ = learned.loss, learned.bound
        self.known_users_ = np.logical_or.reduce([one.known_users_ for one in self.models_])
        self.known_items_ = np.logical_or.reduce([one.known_items_ for one in self.models_])

    def _learned(self, ratings: Ratings, fitted: Any) -> Learned:
        """Return the weights that ratings set aside speak for."""
        seed = self._seed()
        learn, settings = LEARNERS[self.weights], Settings(self.beta, int(self.n_rounds))
        rest, aside = set_aside(ratings, float(self.validation_fraction), seed)
        pairs = streamed(aside, seed)
        self.n_validation_ = len(pairs) if self.weights != "uniform" else 0
        if not self.n_validation_:
            nothing = streamed(aside.take(np.zeros(len(aside), dtype=bool)), seed)
            said = np.zeros((0, len(self.models)))
            return learn(Evidence(nothing, said, ratings.levels, seed), settings)
        if self.predicts == "score" and ratings.low == ratings.high:
            pairs = against_others(pairs, ratings, seed)
        models = fitted(rest)
        said = np.column_stack(
            [pair_scores(one, pairs.users, pairs.items, self._on_scale) for one in models]
        )
        return learn(Evidence(pairs, said, ratings.levels, seed), settings)

    @property
    def _on_scale(self) -> bool:
        return self.predicts == "rating"

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        scores = np.zeros(len(users))
        for weight, model in zip(self.weights_, self.models_, strict=True):
            scores += weight * pair_scores(model, users, items, self._on_scale)
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.zeros((len(users), self.n_items_))
        for weight, model in zip(self.weights_, self.models_, strict=True):
            scores += weight * user_scores(model, users, self._on_scale)
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.models_ = [with_users(one, ratings, users) for one in self.models_]

    def _similarities(self, side: str, places: Indices) -> Reals:
        """Return the mean of the models' similarities, by the sizes of the weights."""
        size = self.n_items_ if side == "items" else self.n_users_
        sizes = np.abs(self.weights_)
        shares = sizes / sizes.sum() if sizes.any() else np.full(len(sizes), 1.0 / len(sizes))
        total = np.zeros((len(places), size))
        told = np.zeros(total.shape, dtype=bool)
        for share, model in zip(shares, self.models_, strict=True):
            known = model.known_items_ if side == "items" else model.known_users_
            mine = known[places]
            if mine.any():
                found = np.where(known, model._similarities(side, places[mine]), -np.inf)
                there = found > -np.inf
                total[mine] += share * np.where(there, found, 0.0)
                told[mine] |= there
        return np.where(told, total, -np.inf)

    def _restored(self) -> None:
        super()._restored()
        if len(self.models_) != len(self.weights_):
            raise ValueError("there must be a weight for each model")
        for model in self.models_:
            model.ratings_ = self.ratings_
            model._restored()
        self._check_models()
