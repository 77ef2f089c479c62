# ruff: isort: skip_file

from edgewise import (
    datasets as datasets,
    fusion as fusion,
    io as io,
    metrics as metrics,
    online as online,
    plots as plots,
    predictor as predictor,
    recommend as recommend,
    theory as theory,
)
from edgewise.backend.base import Backend as Backend
from edgewise.boosting import (
    Callback as Callback,
    Checkpoint as Checkpoint,
    EarlyStopping as EarlyStopping,
    ProgressBar as ProgressBar,
    TimeLimit as TimeLimit,
    TrainingRun as TrainingRun,
)
from edgewise.data import Chunks as Chunks
from edgewise.estimators import (
    AdaBoostMH as AdaBoostMH,
    CrossValidation as CrossValidation,
    QueryKFold as QueryKFold,
    RankBoost as RankBoost,
    RankFusion as RankFusion,
    cross_validate as cross_validate,
)
from edgewise.fusion.queries import normalize_by_query as normalize_by_query
from edgewise.learners import (
    Additive as Additive,
    Best as Best,
    ColumnLearner as ColumnLearner,
    Feature as Feature,
    Haar as Haar,
    Indicator as Indicator,
    Learner as Learner,
    Product as Product,
    Selector as Selector,
    Stump as Stump,
    Tree as Tree,
)
from edgewise.model import ModelFileError as ModelFileError, load as load
from edgewise.ratings import Ratings as Ratings
from edgewise.recommend import (
    BiasBaseline as BiasBaseline,
    Blend as Blend,
    BoostedFactorization as BoostedFactorization,
    BoostedLists as BoostedLists,
    ContentRecommender as ContentRecommender,
    EASE as EASE,
    ImplicitFactorization as ImplicitFactorization,
    ItemKNN as ItemKNN,
    MatrixFactorization as MatrixFactorization,
    NonNegativeFactorization as NonNegativeFactorization,
    PairwiseFactorization as PairwiseFactorization,
    Popularity as Popularity,
    RandomRecommender as RandomRecommender,
    RankBoostRecommender as RankBoostRecommender,
    RankingNeighbor as RankingNeighbor,
    Recommender as Recommender,
    SLIM as SLIM,
    SVDRecommender as SVDRecommender,
    UserKNN as UserKNN,
    UserRegression as UserRegression,
)
from edgewise.search import (
    Auto as Auto,
    Bandit as Bandit,
    Exhaustive as Exhaustive,
    Exp3P as Exp3P,
    Lazy as Lazy,
    Search as Search,
    ThompsonSampling as ThompsonSampling,
    UCB as UCB,
)

__version__: str
__all__: list[str]
