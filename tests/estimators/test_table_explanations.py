"""Shapley values of many rows: exact, and the same as those of the package shap."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import AdaBoostMH, RankBoost
from edgewise.learners import Haar, Product, Tree

MODELS = {
    "stumps": AdaBoostMH("stump", n_rounds=30),
    "stumps of each class": AdaBoostMH("stump", n_rounds=20, factorized=False),
    "products": AdaBoostMH("product", n_rounds=10),
    "products of three": AdaBoostMH(Product("stump", 3), n_rounds=6),
    "trees": AdaBoostMH("tree", n_rounds=12),
    "trees of products": AdaBoostMH(Tree(Product("stump", 2), 4), n_rounds=6),
    "a mean of trees": AdaBoostMH("tree", n_rounds=6, n_bags=2, subsample=0.5),
    "ranking trees": RankBoost(Tree("stump", 4), n_rounds=8),
}


def rows(n=150, seed=0, missing=0.05):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def mixed_rows(n=200, seed=0):
    """Return a frame of numbers and categories, many of which missing."""
    X, y = rows(n, seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["color"] = rng.choice(["red", "green", "blue", None], n)
    frame["shop"] = rng.choice([f"s{i}" for i in range(40)], n)
    return frame, np.where(frame["color"].eq("red") ^ (y > 0), "yes", "no")


def scores(model, X):
    if isinstance(model, RankBoost):
        return model.predict(X)
    return model.decision_function(X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("compared", [False, True])
def test_values_and_interactions_add_up(name, n_classes, compared):
    X, y = rows()
    model = MODELS[name].fit(X, np.minimum(y, n_classes - 1))
    background = X[100:140] if compared else None
    explanation = model.explain_rows(X[:40], background, interactions=True)
    values, matrix = explanation.values, explanation.interaction_values
    total = explanation.base_values + values.sum(axis=1)
    np.testing.assert_allclose(total, scores(model, X[:40]), atol=1e-12)
    mean = scores(model, X if background is None else background).mean(axis=0)
    np.testing.assert_allclose(explanation.base_values, mean, atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=2), values, atol=1e-12)
    np.testing.assert_allclose(matrix, matrix.swapaxes(1, 2), atol=1e-12)
    assert np.array_equal(model.shap_values(X[:40], background), values)
    assert np.array_equal(model.shap_values(X[:40], background, interactions=True), matrix)
    for i in (0, 7):
        single = model.explain(X[i : i + 1], background)
        expected = values[i].reshape(4, -1)
        np.testing.assert_allclose(single.shapley_values, expected, atol=1e-12)


@pytest.mark.parametrize("category_rates", [False, True])
@pytest.mark.parametrize("learner", ["tree", "product"])
def test_categories_and_their_rates(learner, category_rates):
    X, y = mixed_rows()
    model = AdaBoostMH(learner, n_rounds=8, category_rates=category_rates).fit(X, y)
    for background in (None, X[50:90]):
        explanation = model.explain_rows(X[:30], background, interactions=True)
        assert explanation.values.shape == (30, 6)
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, scores(model, X[:30]), atol=1e-12)
        mean = scores(model, X if background is None else background).mean()
        assert explanation.base_values == pytest.approx(mean, abs=1e-12)
        matrix = explanation.interaction_values
        np.testing.assert_allclose(matrix.sum(axis=2), explanation.values, atol=1e-12)


def test_filters_go_to_their_pixels():
    rng = np.random.default_rng(4)
    images = rng.integers(0, 256, size=(60, 36)).astype(np.uint8)
    y = images[:, :18].mean(axis=1) > images[:, 18:].mean(axis=1)
    model = AdaBoostMH(Tree(Haar((6, 6)), 4), n_rounds=4).fit(images, y)
    for background in (None, images[10:20]):
        explanation = model.explain_rows(images[:5], background)
        assert explanation.values.shape == (5, 36)
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, scores(model, images[:5]), atol=1e-12)
    with pytest.raises(ValueError, match=r"interactions .* image filters"):
        model.explain_rows(images[:5], interactions=True)


@pytest.mark.parametrize("interactions", [False, True])
def test_all_numbers_of_threads_give_the_same_bits(monkeypatch, interactions):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    X, y = rows(700)
    model = AdaBoostMH("tree", n_rounds=12, n_jobs=1).fit(X, y)
    for background in (None, X[:300]):
        expected = model.shap_values(X, background, interactions=interactions)
        for n_jobs in (2, 3):
            model.set_params(n_jobs=n_jobs)
            actual = model.shap_values(X, background, interactions=interactions)
            assert np.array_equal(actual, expected)
        model.set_params(n_jobs=1)


# Log-odds and probabilities


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "settings",
    [{}, {"loss": "logistic"}, {"loss": "softmax"}, {"preset": "paper"}, {"n_rounds": 5}],
)
def test_log_odds_and_probabilities_add_up(n_classes, settings):
    X, y = rows()
    model = AdaBoostMH("tree", **{"n_rounds": None, "time_limit": None, **settings})
    model.fit(X, np.minimum(y, n_classes - 1))
    expected = model.predict_proba(X)
    if n_classes == 2:
        expected = expected[:, 1]
    for background in (None, X[100:140]):
        explanation = model.explain_rows(X, background, output="probability")
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, expected, atol=1e-12)
        log_odds = model.explain_rows(X, background, output="log_odds")
        total = log_odds.base_values + log_odds.values.sum(axis=1)
        if n_classes == 2:
            np.testing.assert_allclose(1 / (1 + np.exp(-total)), expected, atol=1e-12)
            # Columns that raise the log-odds raise the probability.
            assert (explanation.values * log_odds.values >= 0).all()


def test_probabilities_of_labels_add_up():
    X, y = rows()
    Y = np.stack([y > 0, y > 1], axis=1).astype(int)
    model = AdaBoostMH("tree", n_rounds=10).fit(X, Y)
    explanation = model.explain_rows(X[:20], output="probability")
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:20]), atol=1e-12)


def test_several_classes_share_what_the_others_lose():
    X, y = rows()
    model = AdaBoostMH("tree", n_rounds=10, loss="softmax").fit(X, y)
    values = model.shap_values(X, output="probability")
    np.testing.assert_allclose(values.sum(axis=2), 0.0, atol=1e-12)


# Files, checks and text


def test_files_keep_the_training_rows_of_leaves(tmp_path):
    X, y = rows()
    model = AdaBoostMH("product", n_rounds=8).fit(X, y)
    model.save(tmp_path / "model")
    loaded = edgewise.load(tmp_path / "model")
    assert np.array_equal(loaded.shap_values(X), model.shap_values(X))
    loaded.fitted_ = replace(loaded.fitted_, terms=loaded.fitted_.terms[:3])
    total = loaded.explain_rows(X).base_values
    np.testing.assert_allclose(total, loaded.decision_function(X).mean(axis=0), atol=1e-12)


def test_what_needs_a_background():
    X, y = rows()
    model = AdaBoostMH("tree", n_rounds=3).fit(X, y)
    terms = model.fitted_.terms
    unknown = replace(terms, covers=terms.covers[:0], cover_starts=terms.covers[:0])
    model.fitted_ = replace(model.fitted_, terms=unknown)
    with pytest.raises(ValueError, match=r"background must be given.*earlier version"):
        model.explain(X[:1])
    with pytest.raises(ValueError, match=r"background must be given.*earlier version"):
        model.shap_values(X)
    assert model.shap_values(X, X).shape == (150, 4, 3)


@pytest.mark.parametrize("learner", ["feature", "auto"])
def test_columns_themselves(learner):
    X, y = rows()
    ranker = RankBoost(learner, n_rounds=10).fit(X, y)
    for background in (None, X[:50]):
        explanation = ranker.explain_rows(X, background)
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, ranker.predict(X), atol=1e-12)


def test_arguments_are_checked():
    X, y = rows()
    model = AdaBoostMH("tree", n_rounds=3).fit(X, y)
    with pytest.raises(ValueError, match="output must be one of"):
        model.explain_rows(X, output="odds")
    with pytest.raises(ValueError, match="output must be one of 'score'"):
        RankBoost(n_rounds=3).fit(X, y).explain_rows(X, output="probability")
    with pytest.raises(ValueError, match="background: X has 3 features"):
        model.explain_rows(X, X[:, :3])
    with pytest.raises(ValueError, match="interactions need output="):
        model.explain_rows(X, output="probability", interactions=True)


def test_text_and_frames_have_the_mean_sizes():
    X, y = mixed_rows()
    model = AdaBoostMH("tree", n_rounds=8).fit(X, y)
    explanation = model.explain_rows(X)
    sizes = np.abs(explanation.values).mean(axis=0)
    first = explanation.contributions[0]
    assert first.name == explanation.feature_names[sizes.argmax()]
    assert first.amount == pytest.approx(sizes.max())
    assert str(explanation).startswith("Contributions to 200 scores\n")
    assert explanation.to_frame()["name"].tolist() == [c.name for c in explanation.contributions]


def test_to_shap_without_shap(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    X, y = rows()
    explanation = AdaBoostMH("stump", n_rounds=3).fit(X, y).explain_rows(X[:2])
    with pytest.raises(ImportError, match="to_shap needs the package shap: pip install shap"):
        explanation.to_shap()


# Beside shap


def shap_trees(model):
    """Return the trees of a model of cuts as TreeExplainer takes them: a smaller value is left."""
    forest, covers = model.fitted_.paths_forest, model.fitted_.terms.covers
    trees = []
    for root in forest.roots.tolist():
        nodes = [root]
        for node in nodes:
            if node >= 0:
                nodes += forest.children[:2, node].tolist()
        places = {node: place for place, node in enumerate(nodes)}
        low, high = (
            np.array([places[side[n]] if n >= 0 else -1 for n in nodes])
            for side in forest.children[:2]
        )
        rows_of = {n: covers[-1 - n] for n in nodes if n < 0}
        for node in reversed(nodes):
            if node >= 0:
                rows_of[node] = sum(rows_of[end] for end in forest.children[:2, node].tolist())
        at = np.array([max(n, 0) for n in nodes])
        values = [
            forest.leaves[-1 - n] if n < 0 else np.zeros_like(forest.leaves[0]) for n in nodes
        ]
        trees.append(
            {
                "children_left": low,
                "children_right": high,
                "children_default": low,
                "features": np.where(low < 0, -2, forest.columns[forest.node_columns[at]]),
                "thresholds": np.nextafter(forest.thresholds[at], -np.inf),
                "values": np.array(values),
                "node_sample_weight": np.array([float(rows_of[n]) for n in nodes]),
            }
        )
    return {"trees": trees}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", ["tree", Tree("stump", 4), Tree(Product("stump", 2), 3)])
def test_values_are_those_of_shap(n_classes, learner):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, y = rows(300, missing=0.0)
    model = AdaBoostMH(learner, n_rounds=10).fit(X, np.minimum(y, n_classes - 1))
    trees = shap_trees(model)
    # It refuses trees with a leaf that no training row reaches, as products of a column may have.
    if all(tree["node_sample_weight"].all() for tree in trees["trees"]):
        explainer = shap.TreeExplainer(trees, feature_perturbation="tree_path_dependent")
        expected = np.asarray(explainer.shap_values(X[:50], check_additivity=False))
        np.testing.assert_allclose(model.shap_values(X[:50]), expected, rtol=0, atol=1e-9)
        if n_classes == 2:
            pairs = np.asarray(explainer.shap_interaction_values(X[:50]))
            actual = model.shap_values(X[:50], interactions=True)
            np.testing.assert_allclose(actual, pairs.reshape(actual.shape), rtol=0, atol=1e-9)
    else:
        assert not isinstance(learner, str)
    background = X[100:180]
    explainer = shap.TreeExplainer(trees, background, feature_perturbation="interventional")
    expected = np.asarray(explainer.shap_values(X[:50], check_additivity=False))
    # Its weights of interventional values are single precision.
    actual = model.shap_values(X[:50], background)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7)


def test_plots_of_shap_take_explanations():
    shap = pytest.importorskip("shap", reason="shap is not installed")
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = mixed_rows()
    explanation = AdaBoostMH("tree", n_rounds=5).fit(X, y).explain_rows(X)
    converted = explanation.to_shap()
    assert converted.feature_names == [*X.columns]
    assert converted.display_data[0, 4] in ("red", "green", "blue", "missing")
    shap.plots.beeswarm(converted, show=False)
    shap.plots.waterfall(converted[0], show=False)
    shap.plots.scatter(converted[:, "a"], show=False)
    plt.close("all")
    X, y = rows()
    explanation = AdaBoostMH("tree", n_rounds=5).fit(X, y).explain_rows(X)
    assert explanation.to_shap().values.shape == (150, 4, 3)
    shap.plots.bar(explanation.to_shap(2), show=False)
    plt.close("all")
    with pytest.raises(ValueError, match="name must be one of"):
        explanation.to_shap("red")
