"""`min_weight_fraction_leaf`: each side of a threshold keeps a share of the rows' weight."""

import numpy as np
import pytest

from edgewise import AdaBoostMH

X = np.arange(20.0)[:, None]
Y = (np.arange(20) >= 1).astype(int)  # only the first row is of class 0


def thresholds(**settings):
    return (
        AdaBoostMH("stump", preset="paper", n_rounds=10, **settings)
        .fit(X, Y)
        .fitted_.terms.thresholds
    )


def test_without_it_the_best_threshold_is_taken():
    assert 0.5 in thresholds()


def test_each_side_of_every_threshold_keeps_the_share():
    actual = thresholds(min_weight_fraction_leaf=0.2)
    assert len(actual)
    below = np.array([(X[:, 0] < threshold).mean() for threshold in actual])
    assert (below >= 0.2).all()
    assert (below <= 0.8).all()


def test_weights_of_rows_and_classes_count():
    # Class 0 weighs as much as all others together: the cut beside it keeps half on each side.
    settings = {"n_rounds": 5, "min_weight_fraction_leaf": 0.4}
    heavy = AdaBoostMH("stump", preset="paper", class_weight="balanced", **settings).fit(X, Y)
    assert heavy.fitted_.terms.thresholds[0] == 0.5
    weights = np.where(Y == 0, 19.0, 1.0)
    model = AdaBoostMH("stump", preset="paper", **settings).fit(X, Y, sample_weight=weights)
    assert model.fitted_.terms.thresholds[0] == 0.5


@pytest.mark.parametrize("wrong", [-0.1, 0.5, 1.0, "much", np.nan])
def test_bad_shares_are_errors(wrong):
    with pytest.raises((ValueError, TypeError), match="min_weight_fraction_leaf"):
        AdaBoostMH(min_weight_fraction_leaf=wrong).fit(X, Y)
