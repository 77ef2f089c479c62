"""Numbers and names at the edge of what NumPy can hold: used as they are meant, or refused."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import AdaBoostMH, RankBoost, RankFusion, Ratings
from edgewise.fusion import RankedLists
from edgewise.model import ModelFileError, read, write

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
STUMPS = {"learner": "stump", "n_rounds": 3}
HUGE = 10**400


def test_masked_values_are_missing():
    masked = np.ma.masked_array(X, mask=rng.random(X.shape) < 0.3)
    gaps = masked.filled(np.nan)
    ours, theirs = (AdaBoostMH(**STUMPS).fit(rows, Y) for rows in (masked, gaps))
    np.testing.assert_array_equal(ours.decision_function(masked), theirs.decision_function(gaps))
    assert len(Ratings.from_matrix(np.ma.masked_array(np.ones((3, 3)), mask=np.eye(3)))) == 6
    with pytest.raises(ValueError, match="y must not be masked"):
        AdaBoostMH(**STUMPS).fit(X, np.ma.masked_array(Y, mask=Y == 1))


def test_numbers_that_came_as_objects():
    model = AdaBoostMH(**STUMPS).fit(X, Y.astype(object))
    assert model.score(X, Y.astype(object)) == model.score(X, Y) == (model.predict(X) == Y).mean()


@pytest.mark.parametrize(
    ("y", "match"),
    [
        ([0, ""] * 20, "y mixes classes of different types: int, str"),
        ([HUGE, 1] * 20, "y must hold numbers of at most 64 bits"),
        (["a", "a\0"] * 20, "y must not end in a NUL"),
        (np.array([Decimal("sNaN"), Decimal(1)] * 20), "y must hold numbers or strings"),
    ],
)
def test_odd_targets(y, match):
    with pytest.raises((TypeError, ValueError), match=match):
        AdaBoostMH(**STUMPS).fit(X, y)


@pytest.mark.parametrize("y", [Y.astype(object), Y.astype(str).astype(object)])
def test_validation_rows_with_classes_of_another_type(y):
    other = Y if isinstance(y[0], str) else Y.astype(str)
    with pytest.raises(ValueError, match="where training had classes of another type"):
        AdaBoostMH(**STUMPS).fit(X, y, eval_set=(X, other))


def test_numbers_beyond_all_floats():
    with pytest.raises(ValueError, match="X has column 'x0' with a number too large"):
        AdaBoostMH(**STUMPS).fit([[HUGE], [1]] * 20, Y)
    with pytest.raises(ValueError, match=r"sample_weight.*too large"):
        AdaBoostMH(**STUMPS).fit(X, Y, sample_weight=[HUGE, 1] * 20)
    with pytest.raises(TypeError, match=r"sample_weight.*complex"):
        AdaBoostMH(**STUMPS).fit(X, Y, sample_weight=np.full(40, 1j))
    with pytest.raises(ValueError, match=r"y.*too large"):
        RankBoost(n_rounds=2).fit(X, [HUGE, 1] * 20)
    with pytest.raises(ValueError, match="too far apart for learner='feature'"):
        RankBoost("feature", n_rounds=2).fit(np.where(X > 0, 1.7e308, -1.7e308), Y)
    with pytest.raises(ValueError, match=r"ratings must be at most 1e\+100"):
        Ratings.from_arrays([1, 2], [1, 1], [1e308, 1e308])


def test_columns_of_other_types_are_named():
    with pytest.raises(ValueError, match=r"'when' of type period\[D\]"):
        AdaBoostMH(**STUMPS).fit(pd.DataFrame({"when": pd.period_range("2020", periods=40)}), Y)


def test_ids_that_would_become_one():
    with pytest.raises(ValueError, match="users must not end in a NUL"):
        Ratings.from_arrays(["a", "a\0"], [1, 1], [1, 2])


def test_positions_below_one_are_refused(tmp_path):
    lists = RankedLists(np.array([[1.0, 3.0], [2.0, 1.0]]), [1, 1], docs=["a", "b"])
    RankFusion(n_rounds=2).fit(lists, [1, 0]).save(tmp_path / "model")
    header, arrays = read(tmp_path / "model")
    header["state"]["fitted_"]["additive"] = None
    (name,) = (name for name in arrays if name.endswith("thresholds"))
    write(tmp_path / "model", header, {**arrays, name: np.full_like(arrays[name], np.inf)})
    with pytest.raises(ModelFileError, match="positions count from 1"):
        edgewise.load(tmp_path / "model")
