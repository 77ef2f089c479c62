# ruff: isort: skip_file

from edgewise.metrics.significance import Difference as Difference
from edgewise.recommend.base import Recommender as Recommender
from edgewise.recommend.baselines import (
    BiasBaseline as BiasBaseline,
    Popularity as Popularity,
    RandomRecommender as RandomRecommender,
)
from edgewise.recommend.blend import Blend as Blend
from edgewise.recommend.boosted.model import BoostedFactorization as BoostedFactorization
from edgewise.recommend.content import ContentRecommender as ContentRecommender
from edgewise.recommend.ease import EASE as EASE, SLIM as SLIM, BoostedLists as BoostedLists
from edgewise.recommend.evaluation.comparison import (
    RecommenderComparison as RecommenderComparison,
    compare as compare,
)
from edgewise.recommend.evaluation.diagnostics import (
    GroupExposure as GroupExposure,
    LevelCalibration as LevelCalibration,
    calibration as calibration,
    exposure as exposure,
)
from edgewise.recommend.evaluation.evaluator import UserValues as UserValues, evaluate as evaluate
from edgewise.recommend.factorization.base import Vectors as Vectors
from edgewise.recommend.factorization.decomposition import (
    NonNegativeFactorization as NonNegativeFactorization,
    SVDRecommender as SVDRecommender,
)
from edgewise.recommend.factorization.implicit import (
    ImplicitFactorization as ImplicitFactorization,
    PairwiseFactorization as PairwiseFactorization,
)
from edgewise.recommend.factorization.matrix import MatrixFactorization as MatrixFactorization
from edgewise.recommend.knn import ItemKNN as ItemKNN, UserKNN as UserKNN
from edgewise.recommend.lists import (
    RecommendedList as RecommendedList,
    RecommendedLists as RecommendedLists,
)
from edgewise.recommend.per_user import (
    RankingNeighbor as RankingNeighbor,
    UserRegression as UserRegression,
)
from edgewise.recommend.rankboost.recommender import (
    RankBoostRecommender as RankBoostRecommender,
)
from edgewise.recommend.tuning import RecommenderSearch as RecommenderSearch

__all__: list[str]
