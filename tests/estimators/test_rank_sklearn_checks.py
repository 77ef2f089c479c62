"""scikit-learn's own checks of a ranker, with all rows as one query."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from edgewise import RankBoost


@parametrize_with_checks([RankBoost(n_rounds=5)])
def test_scikit_learn_check(estimator, check):
    check(estimator)
