"""The recommenders by short name, for the command line; their classes load when one is built."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from edgewise import recommend

if TYPE_CHECKING:
    from edgewise.recommend import Recommender


class Algorithm(NamedTuple):
    """A recommender: its class, what it does, and the parameters that its name fixes."""

    kind: str
    about: str
    settings: Mapping[str, Any] = {}


ALGORITHMS = {
    "boosted": Algorithm("BoostedFactorization", "boosted products of user and item rules"),
    "rankboost": Algorithm("RankBoostRecommender", "RankBoost for each user, on others' ratings"),
    "item-knn": Algorithm("ItemKNN", "nearest neighbors among items"),
    "user-knn": Algorithm("UserKNN", "nearest neighbors among users"),
    "nearest": Algorithm("RankingNeighbor", "the user who orders items most alike"),
    "regression": Algorithm("UserRegression", "least squares for each user, on others' ratings"),
    "sgd": Algorithm("MatrixFactorization", "matrix factorization by SGD", {"solver": "sgd"}),
    "als": Algorithm("MatrixFactorization", "matrix factorization by ALS", {"solver": "als"}),
    "svd": Algorithm("SVDRecommender", "truncated singular value decomposition"),
    "nmf": Algorithm("NonNegativeFactorization", "non-negative matrix factorization"),
    "implicit": Algorithm("ImplicitFactorization", "matrix factorization for implicit feedback"),
    "boosted-lists": Algorithm("BoostedLists", "boosted factors and regression, for lists"),
    "ease": Algorithm("EASE", "least squares of each item on all others, for lists"),
    "slim": Algorithm("SLIM", "few weights of other items, none negative, for lists"),
    "bpr": Algorithm("PairwiseFactorization", "factors that place choices above other items"),
    "bias": Algorithm("BiasBaseline", "mean with user and item biases"),
    "popularity": Algorithm("Popularity", "most rated items"),
    "random": Algorithm("RandomRecommender", "random items, as a baseline"),
}


def build(name: str, settings: Mapping[str, Any], shared: Mapping[str, Any]) -> "Recommender":
    """Return an untrained recommender, its parameters checked; `shared` are set where it has them.

    Examples
    --------
    >>> build("item-knn", {"n_neighbors": 7}, {"verbose": 0})
    ItemKNN(n_neighbors=7)
    """
    algorithm = ALGORITHMS[name]
    kind = getattr(recommend, algorithm.kind)
    known = kind._get_param_names()
    for key in settings:
        if key not in known:
            raise ValueError(
                f"{name} has no parameter {key!r}; it has {', '.join(known) or 'none'}"
            )
    fitting = {key: value for key, value in shared.items() if key in known}
    model: Recommender = kind(**{**fitting, **algorithm.settings, **settings})
    model._check_parameters()
    return model
