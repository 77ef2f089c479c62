"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from edgewise import AdaBoostMH, Lazy, Stump
from edgewise.estimators import classification

ESTIMATORS = [
    AdaBoostMH(),
    AdaBoostMH("tree", preset="paper", n_rounds=10),
    AdaBoostMH("tree", preset="paper", n_rounds=10, votes="abstain"),
    AdaBoostMH("stump", preset="paper", n_rounds=10, factorized=False),
    AdaBoostMH(Stump(), preset="paper", search=Lazy(2), n_rounds=10, init_weights="uniform"),
    AdaBoostMH("product", preset="paper", n_rounds=8, loss="logistic"),
    AdaBoostMH("tree", preset="paper", n_rounds=8, learning_rate=0.5, votes="real"),
]


def expected_failures(estimator):
    """Return the checks that the default cannot pass: folds and samples count rows, not weights."""
    if estimator.preset == "paper":
        return {}
    names = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{name}_data": "counts rows" for name in names}


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check, monkeypatch):
    # A dozen rows that can be told apart would take hundreds of rounds, in every fold.
    monkeypatch.setattr(classification, "MAX_ROUNDS", 40)
    check(estimator)
