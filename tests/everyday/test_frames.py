"""Frames, labels and weights of every type that a week of work brings."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.class_weight import compute_sample_weight

from .conftest import NUMBERS, boost

FRAMES = {
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow-backed": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "objects": lambda frame: frame.astype(object),
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pl.from_pandas(frame).to_arrow(),
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_transformer_hands_over_frames_of_either_library(people, income, library):
    X = people if library == "pandas" else pl.from_pandas(people)
    prepare = make_column_transformer(
        (SimpleImputer(), NUMBERS),
        (OneHotEncoder(sparse_output=False), ["city"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=library)
    piped = make_pipeline(prepare, boost()).fit(X[:120], income[:120])
    names = [*NUMBERS, "city_Bonn", "city_Lyon", "city_Oslo", "job", "member"]
    assert piped[-1].feature_names_in_.tolist() == names
    assert piped[:-1].get_feature_names_out().tolist() == names
    # The column of words went through as it was, and is worth a rule.
    assert any("(job" in str(rule) for rule in piped[-1].rules(None))
    assert piped.score(X[120:], income[120:]) > 0.7


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_any_kind_gives_the_same_model(people, income, model, kind):
    frame = FRAMES[kind](people)
    own = boost(n_rounds=8).fit(frame, income)
    np.testing.assert_array_equal(own.decision_function(frame), model.decision_function(people))
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(people))
    assert own.feature_names_in_.tolist() == people.columns.tolist()


def test_rows_of_objects_predict_as_the_frame_they_were(people, model):
    # Several of scikit-learn's tools turn a frame into such an array on the way.
    scores = model.decision_function(people)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        array = people.astype(object).to_numpy()
        np.testing.assert_array_equal(model.decision_function(array), scores)
        np.testing.assert_array_equal(model.decision_function(array[:3].tolist()), scores[:3])


def test_a_list_of_rows_may_hold_words():
    fruit = [["red", 3.0], ["blue", None], ["red", 1.0], ["green", 2.0]]
    model = boost(n_rounds=2).fit(fruit, ["yes", "no", "yes", "no"])
    assert model.predict([["red", 2.0], ["green", 2.0]]).tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match=r"column 'x1' of mixed types \(float, str\)"):
        boost().fit([["red", 3.0], ["blue", "many"]], [0, 1])
    with pytest.raises(ValueError, match="X holds strings; put them into a data frame"):
        boost().fit(np.array([["red", "3"], ["blue", "4"]]), [0, 1])


def test_a_category_that_training_did_not_have_counts_as_missing(people, model):
    new, gaps = people[:20].copy(), people[:20].copy()
    new["city"] = new["city"].cat.add_categories("Rome")
    new.loc[:9, ["city", "job"]] = "Rome", "astronaut"
    gaps.loc[:9, ["city", "job"]] = None
    np.testing.assert_array_equal(model.decision_function(new), model.decision_function(gaps))


def test_columns_in_another_order_are_refused(people, model):
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(people[people.columns[::-1]])


YES = {
    "strings": lambda yes: np.where(yes, "yes", "no"),
    "objects": lambda yes: np.where(yes, "yes", "no").astype(object),
    "truth": lambda yes: yes,
    "0 and 1": lambda yes: yes.astype(int),
    "-1 and +1": lambda yes: 2 * yes - 1,
    "reals": lambda yes: yes.astype(float),
    "list": lambda yes: np.where(yes, "yes", "no").tolist(),
    "pandas": lambda yes: pd.Series(np.where(yes, "yes", "no")),
    "pandas categories": lambda yes: pd.Series(np.where(yes, "yes", "no"), dtype="category"),
    "pandas boolean": lambda yes: pd.Series(yes, dtype="boolean"),
    "pandas Int64": lambda yes: pd.Series(yes.astype(int), dtype="Int64"),
    "pandas string": lambda yes: pd.Series(np.where(yes, "yes", "no"), dtype="string"),
    "Arrow-backed": lambda yes: pd.Series(yes.astype(int), dtype="int64[pyarrow]"),
    "polars": lambda yes: pl.Series(np.where(yes, "yes", "no")),
    "polars categories": lambda yes: pl.Series(np.where(yes, "yes", "no")).cast(pl.Categorical),
}


@pytest.mark.parametrize("kind", YES)
def test_labels_of_every_type_come_back_as_they_went_in(people, income, model, kind):
    yes = income == "rich"
    y = YES[kind](yes)
    own = boost(n_rounds=8).fit(people, y, eval_set=(people, y))
    np.testing.assert_array_equal(own.decision_function(people), model.decision_function(people))
    assert own.score(people, y) == pytest.approx(model.score(people, income))
    assert own.history_["validation"][-1] == pytest.approx(1 - own.score(people, y))
    expected = [YES[kind](np.array([side]))[0] for side in (False, True)]
    assert own.classes_.tolist() == [*expected]
    assert set(own.predict(people).tolist()) == {*expected}


@pytest.mark.parametrize(
    "y", [[None, "a"] * 5, pd.Series([None, "a"] * 5, dtype="string"), [np.nan, 1.0] * 5]
)
def test_missing_labels_are_refused(y):
    with pytest.raises(ValueError, match=r"[Ii]nput y contains NaN"):
        boost().fit(np.arange(10.0)[:, None], y)


def test_rows_of_weight_0_count_as_absent(people, income):
    weight = np.tile([0.0, 1.0, 2.0], 60)
    kept = weight > 0
    without = boost().fit(people[kept], income[kept], sample_weight=weight[kept])
    for given in (weight, pd.Series(weight), pl.Series(weight), weight.tolist()):
        weighted = boost().fit(people, income, sample_weight=given)
        np.testing.assert_array_equal(
            weighted.decision_function(people), without.decision_function(people)
        )


@pytest.mark.parametrize("class_weight", ["balanced", {"rich": 3.0}])
def test_class_weight_is_a_weight_of_rows(people, income, class_weight):
    weighted = boost(class_weight=class_weight).fit(people, income)
    rows = compute_sample_weight(class_weight, income)
    expected = boost().fit(people, income, sample_weight=rows)
    np.testing.assert_allclose(
        weighted.decision_function(people), expected.decision_function(people)
    )


def test_what_a_fitted_model_tells_about_its_columns(people, model):
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == people.columns.tolist()
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert sorted(shares, key=shares.get)[-2:] == ["job", "age"]
    assert not hasattr(boost().fit(people[NUMBERS].to_numpy(), people.member), "feature_names_in_")


def test_the_stages_end_at_the_model(people, model):
    for staged, whole in (
        (model.staged_predict, model.predict),
        (model.staged_predict_proba, model.predict_proba),
        (model.staged_decision_function, model.decision_function),
    ):
        stages = list(staged(people))
        assert len(stages) == model.n_rounds_
        np.testing.assert_allclose(*map(_numeric, (stages[-1], whole(people))))


def _numeric(values):
    return values if values.dtype.kind == "f" else (values == "rich").astype(float)


def test_dummies_may_be_sparse(people, income):
    dense = pd.get_dummies(people[["job", "city"]])
    sparse = pd.get_dummies(people[["job", "city"]], sparse=True)
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in sparse.dtypes)
    expected = boost().fit(dense, income).decision_function(dense)
    np.testing.assert_array_equal(boost().fit(sparse, income).decision_function(sparse), expected)
    # pandas can leave out any value, most often NaN.
    gaps = people[NUMBERS].astype(pd.SparseDtype(float, np.nan))
    np.testing.assert_array_equal(
        boost().fit(gaps, income).decision_function(gaps),
        boost().fit(people[NUMBERS], income).decision_function(people[NUMBERS]),
    )


def test_what_no_column_can_hold_is_named(people, income, model):
    dated = people.assign(born=pd.date_range("1990", periods=len(people)))
    with pytest.raises(ValueError, match=r"'born' of type Datetime.*Schema"):
        boost().fit(dated, income)
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array.* frame of one row"):
        model.predict(people.iloc[0])
    assert model.predict(people.iloc[[0]]).shape == (1,)
