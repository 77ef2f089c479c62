# ruff: isort: skip_file

from edgewise.estimators.adaboost_mh import AdaBoostMH as AdaBoostMH
from edgewise.estimators.cross_validation import (
    CrossValidation as CrossValidation,
    QueryKFold as QueryKFold,
    cross_validate as cross_validate,
)
from edgewise.estimators.rank_boost import RankBoost as RankBoost
from edgewise.estimators.rank_fusion import RankFusion as RankFusion

__all__: list[str]
