"""scikit-learn estimators."""

from edgewise.estimators.adaboost_mh import AdaBoostMH
from edgewise.estimators.files import load

__all__ = ["AdaBoostMH", "load"]
