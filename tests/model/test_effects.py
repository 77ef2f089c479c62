"""Partial dependence against its definition."""

import numpy as np
import pytest

from edgewise import AdaBoostMH
from edgewise.data import NumericColumn, as_table
from edgewise.model.explain import mean_outputs, most_frequent


@pytest.mark.parametrize("j", [0, 2])
def test_mean_outputs_are_means_over_the_rows_with_one_value_replaced(j):
    rng = np.random.default_rng(j)
    X = rng.normal(size=(40, 3))
    model = AdaBoostMH("tree", preset="paper", n_rounds=5).fit(
        X, (X[:, 0] * X[:, 2] > 0).astype(int)
    )
    grid = np.array([-1.0, 0.0, 0.5])
    rows = as_table(X)
    effects = mean_outputs(
        model.decision_function, rows, list(rows.columns()), j, NumericColumn(grid)
    )
    for value, effect in zip(grid, effects[:, 0], strict=True):
        replaced = X.copy()
        replaced[:, j] = value
        assert effect == pytest.approx(model.decision_function(replaced).mean())


def test_most_frequent_codes_occur_and_are_no_missing_values():
    codes = np.array([3, 1, 1, 0, 3, 3, 2, 2, 2, 2])  # 3 is the code of missing values
    assert most_frequent(codes, 3, 2).tolist() == [2, 1]
    assert most_frequent(codes[:3], 3, 5).tolist() == [1]
