"""scikit-learn estimators."""

from edgewise.estimators.adaboost_mh import AdaBoostMH
from edgewise.estimators.rank_boost import RankBoost
from edgewise.estimators.rank_fusion import RankFusion

__all__ = ["AdaBoostMH", "RankBoost", "RankFusion"]
