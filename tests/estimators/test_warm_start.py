"""What a warm start refuses, and what a model takes at predict time."""

import logging

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Haar, Product, Stump, Tree, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = RNG.integers(3, size=60)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"votes": "real"}, {"votes": "discrete"}),
        ({"loss": "exponential"}, {"loss": "logistic"}),
        ({"preset": "auto"}, {"preset": "paper"}),
    ],
)
def test_another_loss_or_kind_of_votes_cannot_follow(before, after):
    model = AdaBoostMH(**{"learner": Product(), **before}, n_rounds=5, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start: votes and loss must be as in the last fit"):
        model.set_params(n_rounds=9, **after).fit(X, Y)


def test_a_model_of_filters_goes_on_with_filters_only():
    model = AdaBoostMH(Haar((2, 2)), preset="paper", n_rounds=5, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start: learner must have the image filters"):
        model.set_params(learner=Product(), n_rounds=8).fit(X, Y)


@pytest.mark.parametrize("name", ["list", "product", "tree"])
def test_auto_stands_alone(name):
    learner = {"list": [Stump(), "auto"], "product": Product("auto"), "tree": Tree("auto")}[name]
    with pytest.raises(ValueError, match="'auto' is not allowed here; pass a Tree"):
        AdaBoostMH(learner).fit(X, Y)


def test_whole_numbers_as_categories_stay_the_same_where_one_is_missing():
    # pandas turns the categories into floats then.
    y = np.tile([0, 1, 1, 0], 10)
    model = AdaBoostMH(n_rounds=10).fit(pd.DataFrame({"c": pd.Categorical([0, 1, 2, 3] * 10)}), y)
    later = pd.DataFrame({"c": pd.Categorical(pd.Series([0, 1, 2, None]))})
    assert model.predict(later)[:3].tolist() == [0, 1, 1]


def test_a_column_without_any_value_is_missing_whatever_its_type():
    frame = pd.DataFrame({"a": X[:, 0], "c": np.array(list("xyz"))[Y]})
    model = AdaBoostMH(n_rounds=5).fit(frame, Y)
    plain = frame.assign(a=np.nan)
    for empty in (pd.Categorical([None] * 60), pd.array([None] * 60, dtype="string")):
        assert np.array_equal(model.predict(frame.assign(a=empty)), model.predict(plain))


def test_columns_declared_by_name_are_known_in_arrays_later(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "code": Y * 7})
    model = AdaBoostMH(n_rounds=5, categorical_features=["code"]).fit(frame, Y)
    expected = model.decision_function(frame)
    model.save(tmp_path / "model.edgewise")
    for fitted in (model, load(tmp_path / "model.edgewise")):
        with pytest.warns(UserWarning, match="feature names"):
            assert np.array_equal(fitted.decision_function(frame.to_numpy()), expected)


@pytest.mark.parametrize("learner", ["auto", "tree", "product"])
def test_the_corners_of_a_square(learner):
    corners, labels = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    model = AdaBoostMH(learner, n_rounds=20, random_state=0).fit(corners, labels)
    assert model.score(corners, labels) == 1.0


def test_a_model_without_rounds_is_said_to_be_one(caplog):
    with caplog.at_level(logging.WARNING, logger="edgewise"):
        model = AdaBoostMH("stump", preset="paper").fit([[1.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1])
    assert model.n_rounds_ == 0
    assert "no rule has an edge" in caplog.text


def test_images_have_a_largest_side():
    with pytest.raises(ValueError, match="shape must have sides of at most 1024"):
        AdaBoostMH(Haar((2000, 1)), preset="paper").fit(np.zeros((4, 2000)), [0, 1, 0, 1])
