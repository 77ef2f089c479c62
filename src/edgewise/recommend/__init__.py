"""Recommenders: ratings in, ranked lists out, with one small API for all.

>>> from edgewise import Ratings
>>> from edgewise.recommend import BiasBaseline
>>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
>>> model = BiasBaseline().fit(ratings)
>>> model.recommend("bob").ids
array(['Heat'], dtype='<U5')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewise.recommend.base import Recommender
    from edgewise.recommend.baselines import BiasBaseline, Popularity, RandomRecommender
    from edgewise.recommend.blend import Blend
    from edgewise.recommend.boosted import BoostedFactorization, Reasons
    from edgewise.recommend.content import ContentRecommender
    from edgewise.recommend.evaluation import Comparison, compare, evaluate
    from edgewise.recommend.factorization import (
        ImplicitFactorization,
        MatrixFactorization,
        NonNegativeFactorization,
        SVDRecommender,
    )
    from edgewise.recommend.lists import Ranked, RankedLists
    from edgewise.recommend.neighbours import ItemKNN, RankingNeighbour, UserKNN
    from edgewise.recommend.rankboost import RankBoostRecommender
    from edgewise.recommend.regression import UserRegression
    from edgewise.recommend.tuning import RecommenderSearch

# One line for each public name: where it lives.
_HOMES = {
    "BiasBaseline": "baselines",
    "Blend": "blend",
    "BoostedFactorization": "boosted",
    "Comparison": "evaluation",
    "ContentRecommender": "content",
    "ImplicitFactorization": "factorization",
    "ItemKNN": "neighbours",
    "MatrixFactorization": "factorization",
    "NonNegativeFactorization": "factorization",
    "Popularity": "baselines",
    "RandomRecommender": "baselines",
    "RankBoostRecommender": "rankboost",
    "Ranked": "lists",
    "RankedLists": "lists",
    "RankingNeighbour": "neighbours",
    "Reasons": "boosted",
    "Recommender": "base",
    "RecommenderSearch": "tuning",
    "SVDRecommender": "factorization",
    "UserKNN": "neighbours",
    "UserRegression": "regression",
    "compare": "evaluation",
    "evaluate": "evaluation",
}

__all__ = [
    "BiasBaseline",
    "Blend",
    "BoostedFactorization",
    "Comparison",
    "ContentRecommender",
    "ImplicitFactorization",
    "ItemKNN",
    "MatrixFactorization",
    "NonNegativeFactorization",
    "Popularity",
    "RandomRecommender",
    "RankBoostRecommender",
    "Ranked",
    "RankedLists",
    "RankingNeighbour",
    "Reasons",
    "Recommender",
    "RecommenderSearch",
    "SVDRecommender",
    "UserKNN",
    "UserRegression",
    "compare",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'edgewise.recommend' has no attribute {name!r}")
    value = getattr(import_module(f"edgewise.recommend.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
