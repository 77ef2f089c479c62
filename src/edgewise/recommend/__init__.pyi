from edgewise.recommend.base import Recommender as Recommender
from edgewise.recommend.baselines import (
    BiasBaseline as BiasBaseline,
)
from edgewise.recommend.baselines import (
    Popularity as Popularity,
)
from edgewise.recommend.baselines import (
    RandomRecommender as RandomRecommender,
)
from edgewise.recommend.blend import Blend as Blend
from edgewise.recommend.boosted import (
    BoostedFactorization as BoostedFactorization,
)
from edgewise.recommend.boosted import (
    Reasons as Reasons,
)
from edgewise.recommend.content import ContentRecommender as ContentRecommender
from edgewise.recommend.evaluation import (
    Comparison as Comparison,
)
from edgewise.recommend.evaluation import (
    compare as compare,
)
from edgewise.recommend.evaluation import (
    evaluate as evaluate,
)
from edgewise.recommend.factorization import (
    ImplicitFactorization as ImplicitFactorization,
)
from edgewise.recommend.factorization import (
    MatrixFactorization as MatrixFactorization,
)
from edgewise.recommend.factorization import (
    NonNegativeFactorization as NonNegativeFactorization,
)
from edgewise.recommend.factorization import (
    SVDRecommender as SVDRecommender,
)
from edgewise.recommend.knn import (
    ItemKNN as ItemKNN,
)
from edgewise.recommend.knn import (
    UserKNN as UserKNN,
)
from edgewise.recommend.lists import (
    RecommendedList as RecommendedList,
)
from edgewise.recommend.lists import (
    RecommendedLists as RecommendedLists,
)
from edgewise.recommend.rankboost import RankBoostRecommender as RankBoostRecommender
from edgewise.recommend.ranking_neighbor import RankingNeighbor as RankingNeighbor
from edgewise.recommend.regression import UserRegression as UserRegression
from edgewise.recommend.tuning import RecommenderSearch as RecommenderSearch

__all__: list[str]
