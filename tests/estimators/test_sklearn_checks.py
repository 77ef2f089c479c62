"""scikit-learn's own checks of an estimator, none of them expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from edgewise import AdaBoostMH, Lazy, Stump

ESTIMATORS = [
    AdaBoostMH(n_rounds=30),
    AdaBoostMH(n_rounds=30, votes="real"),
    AdaBoostMH(n_rounds=30, votes="abstain"),
    AdaBoostMH(n_rounds=30, factorized=False),
    AdaBoostMH(Stump(), search=Lazy(2), n_rounds=30, init_weights="uniform"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
