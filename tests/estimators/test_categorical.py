"""Categorical columns from fit to file: learned, declared, unseen, missing, and gone on with."""

from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import edgewise
from edgewise import AdaBoostMH, Chunks, Indicator, Product, Selector, Stump, Tree

LEARNERS = {
    "stump": "stump",
    "product": "product",
    "tree": "tree",
    "auto": "auto",
    "both": [Stump(), Indicator()],
    "selectors": [Stump(), Selector()],
    "tree of products": Tree(Product(n_terms=2), max_leaf_nodes=3),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
COLORS = ["blue", "green", "pink", "red"]


def rows(n=120, seed=0, missing=True):
    """Return a frame with a column of each kind, and three classes that follow from both."""
    rng = np.random.default_rng(seed)
    color = rng.choice(COLORS, n).astype(object)
    size, code = rng.normal(size=n).round(1), rng.integers(0, 7, n) * 10
    warm = np.isin(color, ["pink", "red"]).astype(int)
    y = warm + (np.isin(code, [10, 40, 60]) ^ (rng.random(n) < 0.1))
    if missing:
        color[rng.random(n) < 0.1] = None
    return pd.DataFrame({"color": color, "size": size, "code": code}), np.array(list("abc"))[y]


@every_learner
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_columns_of_both_kinds_are_learned(monkeypatch, learner, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y = rows()
    model = AdaBoostMH(learner, learning_rate=1.0, n_rounds=60, categorical_features=["code"])
    model.fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.feature_importances_[[0, 2]].min() > 0.15
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, model.decision_function(X), atol=1e-12)


@every_learner
def test_the_model_is_the_same_on_every_backend_and_in_any_order(monkeypatch, same_terms, learner):
    X, y = rows()
    order = np.random.default_rng(1).permutation(len(y))
    models = []
    for backend, chosen in (("numpy", slice(None)), ("numba", slice(None)), ("numba", order)):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        settings = {
            "n_rounds": 15,
            "categorical_features": ["code"],
            "random_state": 0,
            "n_jobs": 2,
            "subsample": 1.0,  # samples depend on the order
        }
        models.append(AdaBoostMH(learner, **settings).fit(X.iloc[chosen], y[chosen]))
    for other in models[1:]:
        same_terms(models[0], other)
        np.testing.assert_array_equal(models[0].decision_function(X), other.decision_function(X))


FRAMES = {
    "pandas objects": lambda X: X,
    "pandas strings": lambda X: X.astype({"color": "string"}),
    "pandas categories": lambda X: X.astype({"color": "category"}),
    "polars": pl.from_pandas,
    "polars categories": lambda X: pl.from_pandas(X).cast({"color": pl.Categorical}),
    "arrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind_give_the_same_model(same_terms, kind):
    X, y = rows()
    model = AdaBoostMH("tree", preset="paper", n_rounds=10, categorical_features=["code"]).fit(X, y)
    other = AdaBoostMH("tree", preset="paper", n_rounds=10, categorical_features=["code"]).fit(
        FRAMES[kind](X), y
    )
    same_terms(model, other)
    np.testing.assert_array_equal(
        other.decision_function(FRAMES[kind](X)), model.decision_function(X)
    )


# Declared columns


def test_columns_are_declared_by_name_number_or_mask(same_terms):
    X, y = rows()
    by_name = AdaBoostMH("stump", preset="paper", n_rounds=12, categorical_features=["code"]).fit(
        X, y
    )
    for categorical in (
        [2],
        np.array([2]),
        ("code",),
        ["code", 2],
        ["color", "code"],
        [False, False, True],
        np.array([0, 0, 1]) > 0,
    ):
        model = AdaBoostMH(
            "stump", preset="paper", n_rounds=12, categorical_features=categorical
        ).fit(X, y)
        same_terms(by_name, model)


def test_a_declared_column_is_that_of_the_same_values_as_words(same_terms):
    X, y = rows()
    strings = X.assign(code=X["code"].map("{:02d}".format))
    model = AdaBoostMH("stump", preset="paper", n_rounds=12, categorical_features=["code"]).fit(
        X, y
    )
    other = AdaBoostMH("stump", preset="paper", n_rounds=12).fit(strings, y)
    same_terms(model, other)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(strings))


def test_columns_of_an_array_can_be_declared():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (100, 2)).astype(float)
    y = np.isin(X[:, 1], [0, 3, 4, 8]).astype(int)
    plain = AdaBoostMH("stump", preset="paper", n_rounds=1).fit(X, y)
    named = AdaBoostMH("stump", preset="paper", n_rounds=1, categorical_features=[1]).fit(X, y)
    # One subset says it all; one threshold cannot.
    assert plain.score(X, y) < 1.0
    assert named.score(X, y) == 1.0
    assert "x1 in {0, 3, 4, 8}" in str(named.rules()[0]) or "x1 not in" in str(named.rules()[0])


def test_declared_columns_hold_for_prediction_and_validation():
    X, y = rows(200)
    model = AdaBoostMH("stump", preset="paper", n_rounds=10, categorical_features=["code"])
    model.fit(X[:120], y[:120], eval_set=(X[120:], y[120:]))
    expected = [(stage != y[120:]).mean() for stage in model.staged_predict(X[120:])]
    np.testing.assert_allclose(model.history_["validation"], expected)
    # 35 lies between codes, and is none.
    odd = X[:1].assign(code=35)
    missing = X[:1].assign(code=np.nan)
    np.testing.assert_array_equal(model.decision_function(odd), model.decision_function(missing))


# Missing and unseen values


@every_learner
def test_an_unseen_value_counts_as_missing(learner):
    X, y = rows()
    model = AdaBoostMH(learner, n_rounds=15, categorical_features=["code"], random_state=0).fit(
        X, y
    )
    unseen = X.assign(color="purple")
    missing = X.assign(color=pd.Series([None] * len(X), dtype="string"))
    np.testing.assert_array_equal(model.decision_function(unseen), model.decision_function(missing))


def test_a_column_without_missing_values_abstains_on_unseen_ones():
    X, y = rows(missing=False)
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=20).fit(X[["color"]], y)
    scores = model.decision_function(pd.DataFrame({"color": ["purple", "teal"]}))
    constants = [t for t in range(20) if not model.fitted_.terms.rule(t).columns]
    expected = model.fitted_.terms.coefficients[constants].sum(axis=0)
    np.testing.assert_allclose(scores, np.tile(expected, (2, 1)), atol=1e-12)


@pytest.mark.parametrize(
    "gone",
    [
        pd.DataFrame({"color": pd.Series([None, None], dtype=object)}),
        pd.DataFrame({"color": [np.nan, np.nan]}),
        pd.DataFrame({"color": pd.Categorical([None, None])}),
        pd.DataFrame({"color": pd.Series([None, None], dtype="string")}),
        pl.DataFrame({"color": [None, None]}),
        pl.DataFrame({"color": pl.Series([None, None], dtype=pl.String)}),
        pa.table({"color": pa.array([None, None], pa.string())}),
        pa.table({"color": pa.nulls(2)}),
    ],
    ids=["objects", "NaN", "categories", "strings", "polars nulls", "polars strings", "arrow",
         "arrow nulls"],
)  # fmt: skip
def test_rows_may_all_lack_a_categorical_column(gone):
    # Whatever type a library gives to a column of which no value is known.
    X, y = rows()
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=10).fit(X[["color"]], y)
    one_of_each = model.decision_function(pd.DataFrame({"color": ["red", None]}))
    np.testing.assert_array_equal(model.decision_function(gone), one_of_each[[1, 1]])


def test_unseen_values_in_validation_rows():
    X, y = rows(200)
    new = X[120:].assign(color=["purple", *X["color"][121:]])
    model = AdaBoostMH("stump", preset="paper", n_rounds=10).fit(
        X[:120], y[:120], eval_set=(new, y[120:])
    )
    expected = [(stage != y[120:]).mean() for stage in model.staged_predict(new)]
    np.testing.assert_allclose(model.history_["validation"], expected)


def test_a_value_of_weight_0_is_as_if_absent(same_terms):
    X, y = rows()
    weights = np.where(X["color"] == "pink", 0.0, 1.0)
    kept = weights > 0
    model = AdaBoostMH("stump", preset="paper", n_rounds=10).fit(X, y, sample_weight=weights)
    other = AdaBoostMH("stump", preset="paper", n_rounds=10).fit(X[kept], y[kept])
    same_terms(model, other)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_rows_set_aside_for_validation_may_hold_a_value_alone():
    X, y = rows(60)
    X.loc[:5, "color"] = [f"rare {i}" for i in range(6)]
    model = AdaBoostMH(
        "stump", preset="paper", n_rounds=5, validation_fraction=0.5, random_state=0
    ).fit(X, y)
    assert model.predict(X).shape == (60,)


def test_kinds_that_change_after_training_are_errors_that_name_the_column():
    X, y = rows()
    model = AdaBoostMH("stump", preset="paper", n_rounds=20).fit(X, y)
    with pytest.raises(ValueError, match="'color'"):
        model.predict(X.assign(color=1.0))
    with pytest.raises(ValueError, match="'code'"):
        model.predict(X.assign(code="many"))
    with pytest.raises(ValueError, match="'color'"):
        AdaBoostMH("stump", preset="paper", n_rounds=2).fit(X, y, eval_set=(X.assign(color=1.0), y))


# Files and going on


@every_learner
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_saved_model_comes_back(tmp_path, same_terms, learner, loss):
    X, y = rows()
    settings = {"n_rounds": 8, "categorical_features": ["code"], "random_state": 0, "loss": loss}
    model = AdaBoostMH(learner, **settings).fit(X, y)
    model.save(tmp_path / "m")
    loaded = edgewise.load(tmp_path / "m")
    same_terms(model, loaded)
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), loaded.predict_proba(X))
    np.testing.assert_array_equal(model.feature_importances_, loaded.feature_importances_)
    assert [str(rule) for rule in model.rules()] == [str(rule) for rule in loaded.rules()]
    assert repr(model.explain()) == repr(loaded.explain())
    assert repr(loaded.learner) == repr(model.learner)
    assert loaded.categorical_features == ["code"]
    full = AdaBoostMH(learner, **{**settings, "n_rounds": 13}).fit(X, y)
    same_terms(full, loaded.set_params(warm_start=True, n_rounds=13).fit(X, y))


def test_numbers_for_values_are_saved_and_gone_on_with(tmp_path, same_terms):
    X, y = rows()
    settings = {"votes": "real", "random_state": 0}
    for loss in ("exponential", "logistic"):
        learner = [Stump(), Indicator(values="real")]
        model = AdaBoostMH(learner, n_rounds=6, loss=loss, **settings).fit(X, y)
        model.save(tmp_path / "m")
        loaded = edgewise.load(tmp_path / "m")
        np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
        full = AdaBoostMH(learner, n_rounds=12, loss=loss, **settings).fit(X, y)
        same_terms(full, loaded.set_params(warm_start=True, n_rounds=12).fit(X, y))


@every_learner
def test_going_on_with_other_values_keeps_what_was_learned(learner):
    # The first rounds say of every value what they said before, or the fit is refused.
    X, y = rows(missing=False)
    first, second = X["color"] != "blue", X["color"] != "red"
    model = AdaBoostMH(learner, n_rounds=6, warm_start=True, random_state=0)
    model.fit(X[first], y[first])
    before = list(model.staged_decision_function(X[first]))
    with suppress(ValueError):
        model.set_params(n_rounds=9).fit(X[second], y[second])
    after = list(model.staged_decision_function(X[first]))
    np.testing.assert_allclose(after[5], before[5], atol=1e-12)


def test_values_of_any_kind_are_saved(tmp_path):
    odd = ["käse", "a\nb", "", '"', "\x00", "🌲"]
    X = pd.DataFrame({"word": odd * 10, "number": np.tile([1e300, -0.5, 0.0], 20)})
    y = np.isin(X["word"], odd[::2]).astype(int)
    model = AdaBoostMH("stump", preset="paper", n_rounds=5, categorical_features=["number"]).fit(
        X, y
    )
    model.save(tmp_path / "m")
    loaded = edgewise.load(tmp_path / "m")
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
    assert loaded.fitted_.categories == model.fitted_.categories


# Explanations


def test_categorical_columns_are_groups_of_the_explanation():
    X, y = rows()
    model = AdaBoostMH("stump", preset="paper", n_rounds=30, categorical_features=["code"]).fit(
        X, y
    )
    explanation = model.explain()
    shares = {group.names: group.importance for group in explanation.groups}
    assert set(shares) == {("color",), ("code",)}
    sizes = {term.name: term.importance for term in model.terms_}
    assert shares["color",] == pytest.approx(sizes["color"])
    total = sum(shares.values()) + sum(curve.importance for curve in explanation)
    assert total == pytest.approx(1.0)
    assert "color" in repr(explanation)
    assert explanation.curve("size").column == 1
    assert sum(group.n_rules for group in explanation.groups) <= 30


def test_curves_and_groups_of_products():
    X, y = rows()
    model = AdaBoostMH("product", preset="paper", n_rounds=20, categorical_features=["code"]).fit(
        X, y
    )
    for group in model.explain().groups:
        assert set(group.names) <= {"color", "size", "code"}
        assert list(group.names) == sorted(group.names, key=list(X.columns).index)


@pytest.mark.parametrize("held_out", [False, True])
def test_chunks_drop_the_categories_that_memory_drops(held_out, same_terms):
    rng = np.random.default_rng(0)
    towns = rng.choice([f"town {i}" for i in range(30)], 60).astype(object)
    X = pd.DataFrame({"x": rng.normal(size=60), "town": towns})
    y, weights = (X.x > rng.normal(size=60)).astype(int), np.ones(60)
    X.loc[5, "town"], weights[5] = "rare", 0.0
    settings = {"validation_fraction": 0.3} if held_out else {}
    models = [
        AdaBoostMH("stump", preset="paper", n_rounds=20, **settings).fit(
            rows, y, sample_weight=weights
        )
        for rows in (X, Chunks.rows_of([X[:30], X[30:]]))
    ]
    assert models[0].fitted_.categories == models[1].fitted_.categories
    assert "rare" not in models[1].fitted_.categories[1]
    same_terms(*models)
