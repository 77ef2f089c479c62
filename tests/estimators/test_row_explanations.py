"""Why a row has its scores."""

import math

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, RankBoost
from edgewise.learners import Haar, Product, Tree

MODELS = {
    "auto": AdaBoostMH(n_rounds=20),
    "stumps": AdaBoostMH("stump", n_rounds=30),
    "stumps of each class": AdaBoostMH("stump", n_rounds=30, factorized=False),
    "products": AdaBoostMH("product", n_rounds=15),
    "trees of products": AdaBoostMH(Tree(Product("stump", 2), 4), n_rounds=6),
    "softmax": AdaBoostMH(loss="softmax", n_rounds=10),
    "ranker": RankBoost(n_rounds=20),
    "ranking trees": RankBoost(Tree("stump", 4), n_rounds=8),
    "columns themselves": RankBoost("feature", n_rounds=8),
}


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def scores(model, X):
    scores_of_rows = (
        model.predict(X) if isinstance(model, RankBoost) else model.decision_function(X)
    )
    return scores_of_rows.reshape(len(X), -1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("compared", [False, True])
def test_contributions_add_up_to_the_score_exactly(name, n_classes, compared):
    X, y = rows()
    model = MODELS[name].fit(X, np.minimum(y, n_classes - 1))
    background = X[40:60] if compared else None
    for i in range(0, 40, 4):
        explanation = model.explain(X[i : i + 1], background)
        score = scores(model, X[i : i + 1])[0]
        assert np.array_equal(explanation.scores, score)
        for k in range(len(score)):
            contributions = explanation.amounts[:, k]
            # Numbers that are all larger than their sum cannot always hit its last bit.
            spare = (
                math.ulp(np.abs(contributions).min())
                if np.abs(contributions).min() > abs(score[k])
                else 0
            )
            assert abs(math.fsum(contributions) - score[k]) <= spare
        # Rounding aside, the bias is the mean score of what the row is compared with.
        bias = scores(model, X if background is None else background).mean(axis=0)
        if name == "columns themselves" and not compared:
            # They are compared with missing values.
            bias = scores(model, np.full((1, 4), np.nan)).mean(axis=0)
        np.testing.assert_allclose(explanation.amounts[0], bias, atol=1e-12)
        listed = math.fsum(contribution.amount for contribution in explanation.contributions)
        predicted = (
            abs(score[0]) if isinstance(model, AdaBoostMH) and len(score) == 1 else score.max()
        )
        assert listed == pytest.approx(predicted, abs=1e-12)
        np.testing.assert_allclose(explanation.shapley_values.sum(axis=0) + bias, score, atol=1e-12)


@pytest.mark.parametrize("factorized", [True, False])
def test_stumps_have_the_interventional_values_of_an_additive_model(factorized):
    X, y = rows()
    model = AdaBoostMH("stump", n_rounds=40, factorized=factorized).fit(X, y)
    background, row = X[60:], X[:1]
    explanation = model.explain(row, background)
    assert not any("*" in name for name in explanation.names)
    for curve in model.explain():
        expected = (curve(row[:, curve.column]) - curve(background[:, curve.column])).mean(axis=0)
        actual = explanation.shapley_values[curve.column]
        np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_the_order_of_coalitions_does_not_matter():
    # The mean over all orders of what each column changes when it joins, counted by hand.
    X, y = rows()
    X = np.nan_to_num(X)
    model = AdaBoostMH(n_rounds=15).fit(X, y > 0)
    row, background = X[:1], X[50:60]
    actual = model.explain(row, background).shapley_values[:, 0]
    rng = np.random.default_rng(0)
    orders = [rng.permutation(4) for _ in range(400)]
    total = np.zeros(4)
    for order in orders:
        mixed = background.copy()
        before = model.decision_function(mixed).mean()
        for j in order:
            mixed[:, j] = row[0, j]
            after = model.decision_function(mixed).mean()
            total[j] += after - before
            before = after
    np.testing.assert_allclose(actual, total / len(orders), atol=0.1)


def test_pairs_are_what_columns_do_only_together():
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], size=(200, 3))
    model = AdaBoostMH(Product("stump", 2), preset="paper", n_rounds=1)
    model.fit(X, X[:, 0] * X[:, 1] > 0)
    corners = np.array([[a, b, 0.0] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    explanation = model.explain([[1.0, -1.0, 1.0]], corners)
    by_name = dict(zip(explanation.names, explanation.amounts[:, 0].tolist(), strict=True))
    assert by_name["x0 * x1"] == pytest.approx(float(explanation.scores[0]))
    assert [by_name[name] for name in ("bias", "x0", "x1")] == pytest.approx([0.0, 0.0, 0.0])


def test_classes_words_and_frames():
    X, y = rows()
    names = np.array(["low", "middle", "high"])[y]
    frame = pd.DataFrame(np.nan_to_num(X), columns=["a", "b", "c", "d"])
    frame["e"] = np.where(y == 2, "red", "blue")
    model = AdaBoostMH(n_rounds=20).fit(frame, names)
    row = frame[:1].assign(e="green", b=np.nan)
    explanation = model.explain(row)
    assert explanation.explained == model.predict(row)[0]
    lines = str(explanation).splitlines()
    assert lines[0].startswith(f"{explanation.explained!r}: score ")
    details = dict(zip(explanation.names, explanation.details, strict=True))
    assert (details["e"], details["b"]) == ("missing", "missing")
    assert details["a"] == f"{row['a'].iloc[0]:.6g}"
    table = explanation.to_frame()
    assert table.columns.tolist() == ["name", "value", "high", "low", "middle"]
    np.testing.assert_allclose(table[["high", "low", "middle"]].sum(), explanation.scores)
    other = explanation.of("low")
    assert other.title.startswith("'low': score ")
    assert math.fsum(contribution.amount for contribution in other.contributions) == other.scores[1]
    with pytest.raises(ValueError, match="one of the classes"):
        explanation.of("red")


def test_the_bias_is_the_mean_score_of_the_background():
    X, y = rows()
    model = AdaBoostMH(n_rounds=10).fit(X, y)
    explanation = model.explain(X[:1], X)
    for k, name in enumerate(model.classes_.tolist()):
        mean = model.decision_function(X)[:, k].mean()
        assert explanation.of(name).bias == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("learner", ["auto", "stump"])
def test_a_sample_stands_for_very_many_rows_to_compare_with(monkeypatch, learner):
    X, y = rows()
    monkeypatch.setattr("edgewise.model.explain.MAX_BACKGROUND_ROWS", len(X) // 2)
    model = AdaBoostMH(learner, n_rounds=10).fit(X, y)
    explanation, again = model.explain(X[:1], X), model.explain(X[:1], X)
    np.testing.assert_array_equal(explanation.amounts, again.amounts)
    for k, name in enumerate(model.classes_.tolist()):
        of = explanation.of(name)
        assert (
            math.fsum(contribution.amount for contribution in of.contributions)
            == explanation.scores[k]
        )
        # Stumps are compared with all rows.
        scores = model.decision_function(X)[:, k]
        close = abs(of.bias - scores.mean()) < 1e-9
        assert close == (learner == "stump")
        assert abs(of.bias - scores.mean()) < 4 * scores.std() / len(X) ** 0.5


def test_two_classes_share_a_score():
    X, y = rows()
    model = AdaBoostMH(n_rounds=10).fit(X, np.where(y > 0, "yes", "no"))
    explanation = model.explain(X[:1])
    score = model.decision_function(X[:1])[0]
    for name, sign in (("yes", 1), ("no", -1)):
        contributions = explanation.of(name).contributions
        assert math.fsum(contribution.amount for contribution in contributions) == sign * score
    assert explanation.to_frame().columns.tolist() == ["name", "value", "yes"]


def test_filters_are_named():
    rng = np.random.default_rng(4)
    images = rng.integers(0, 256, size=(60, 36)).astype(np.uint8)
    y = images[:, :18].mean(axis=1) > images[:, 18:].mean(axis=1)
    model = AdaBoostMH(Tree(Haar((6, 6)), 4), n_rounds=4).fit(images, y)
    for background in (None, images[10:20]):
        explanation = model.explain(images[:1], background)
        assert math.fsum(explanation.amounts[:, 0]) == model.decision_function(images[:1])[0]
        assert len(explanation.names) > 1


def test_what_cannot_be_explained():
    X, y = rows()
    model = AdaBoostMH(n_rounds=3).fit(X, y)
    with pytest.raises(ValueError, match="single row to explain, got 2 rows"):
        model.explain(X[:2])
    with pytest.raises(ValueError, match="background: X has 3 features"):
        model.explain(X[:1], X[:, :3])
    with pytest.raises(ValueError, match="background: X has 0 sample"):
        model.explain(X[:1], X[:0])
    ranker = RankBoost(n_rounds=3).fit(X, y)
    with pytest.raises(ValueError, match="below must be a single row, got 2 rows"):
        ranker.explain_pair(X[:1], X[:2])
    with pytest.raises(ValueError, match="single row to explain, got 2 rows"):
        ranker.explain_pair(X[:2], X[:1])


@pytest.mark.parametrize("name", ["ranker", "ranking trees", "columns themselves"])
def test_why_a_document_stands_above_another(name):
    X, y = rows()
    model = MODELS[name].fit(X, y)
    scores = model.predict(X)
    for i, j in ((0, 1), (5, 9), (7, 7)):
        explanation = model.explain_pair(X[[i]], X[[j]])
        assert explanation.scores == (scores[i], scores[j])
        assert (
            math.fsum(contribution.amount for contribution in explanation.contributions)
            == explanation.difference
        )
        back = model.explain_pair(X[[j]], X[[i]])
        assert back.difference == -explanation.difference
        for contribution in explanation.contributions:
            assert " against " in contribution.detail
    assert str(explanation).startswith(f"score {scores[7]:.2f} against {scores[7]:.2f}")
    assert explanation.contributions == ()
    if name == "columns themselves":
        above, other = np.zeros((1, 4)), np.zeros((1, 4))
        other[0, 0] = -2.0
        (contribution,) = model.explain_pair(above, other).contributions
        assert contribution.name == "x0"
        assert contribution.amount == pytest.approx(2 * model.coef_[0])
