"""scikit-learn's own checks of an estimator, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from edgewise import AdaBoostMH, Lazy, Stump

ESTIMATORS = [
    AdaBoostMH(n_rounds=10),
    AdaBoostMH(n_rounds=10, votes="real"),
    AdaBoostMH(n_rounds=10, votes="abstain"),
    AdaBoostMH("stump", n_rounds=10, factorized=False),
    AdaBoostMH(Stump(), search=Lazy(2), n_rounds=10, init_weights="uniform"),
    AdaBoostMH("product", n_rounds=8, loss="logistic"),
    AdaBoostMH("tree", n_rounds=8, learning_rate=0.5, votes="real"),
]


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
