from edgewise import datasets as datasets
from edgewise import fusion as fusion
from edgewise import io as io
from edgewise import metrics as metrics
from edgewise import online as online
from edgewise import plots as plots
from edgewise import recommend as recommend
from edgewise import theory as theory
from edgewise.backend.base import Backend as Backend
from edgewise.boosting import (
    Callback as Callback,
)
from edgewise.boosting import (
    Checkpoint as Checkpoint,
)
from edgewise.boosting import (
    EarlyStopping as EarlyStopping,
)
from edgewise.boosting import (
    ProgressBar as ProgressBar,
)
from edgewise.boosting import (
    TimeLimit as TimeLimit,
)
from edgewise.data import Chunks as Chunks
from edgewise.estimators import (
    AdaBoostMH as AdaBoostMH,
)
from edgewise.estimators import (
    RankBoost as RankBoost,
)
from edgewise.estimators import (
    RankFusion as RankFusion,
)
from edgewise.learners import (
    Best as Best,
)
from edgewise.learners import (
    ColumnLearner as ColumnLearner,
)
from edgewise.learners import (
    Feature as Feature,
)
from edgewise.learners import (
    Haar as Haar,
)
from edgewise.learners import (
    Indicator as Indicator,
)
from edgewise.learners import (
    Learner as Learner,
)
from edgewise.learners import (
    Product as Product,
)
from edgewise.learners import (
    Selector as Selector,
)
from edgewise.learners import (
    Stump as Stump,
)
from edgewise.learners import (
    Tree as Tree,
)
from edgewise.loading import load as load
from edgewise.model import ModelFileError as ModelFileError
from edgewise.ratings import Ratings as Ratings
from edgewise.recommend import (
    BiasBaseline as BiasBaseline,
)
from edgewise.recommend import (
    Blend as Blend,
)
from edgewise.recommend import (
    BoostedFactorization as BoostedFactorization,
)
from edgewise.recommend import (
    ContentRecommender as ContentRecommender,
)
from edgewise.recommend import (
    ImplicitFactorization as ImplicitFactorization,
)
from edgewise.recommend import (
    ItemKNN as ItemKNN,
)
from edgewise.recommend import (
    MatrixFactorization as MatrixFactorization,
)
from edgewise.recommend import (
    NonNegativeFactorization as NonNegativeFactorization,
)
from edgewise.recommend import (
    Popularity as Popularity,
)
from edgewise.recommend import (
    RandomRecommender as RandomRecommender,
)
from edgewise.recommend import (
    RankBoostRecommender as RankBoostRecommender,
)
from edgewise.recommend import (
    RankingNeighbor as RankingNeighbor,
)
from edgewise.recommend import (
    Recommender as Recommender,
)
from edgewise.recommend import (
    SVDRecommender as SVDRecommender,
)
from edgewise.recommend import (
    UserKNN as UserKNN,
)
from edgewise.recommend import (
    UserRegression as UserRegression,
)
from edgewise.search import (
    UCB as UCB,
)
from edgewise.search import (
    Auto as Auto,
)
from edgewise.search import (
    Bandit as Bandit,
)
from edgewise.search import (
    Exhaustive as Exhaustive,
)
from edgewise.search import (
    Exp3P as Exp3P,
)
from edgewise.search import (
    Lazy as Lazy,
)
from edgewise.search import (
    Search as Search,
)
from edgewise.search import (
    ThompsonSampling as ThompsonSampling,
)

__version__: str
__all__: list[str]
