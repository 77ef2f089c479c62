"""Scorecards, and additive models of few terms."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Additive, RankBoost, load
from edgewise.estimators import train
from edgewise.estimators.term_path import default_sizes, most_important

RNG = np.random.default_rng(4)
N = 400
FRAME = pd.DataFrame(RNG.normal(size=(N, 5)).round(1), columns=list("abcde"))
FRAME["town"] = RNG.choice(["Ulm", "Bonn", "Jena"], N)
FRAME.loc[:20, "b"] = np.nan
SCORE = 2 * FRAME["a"] + FRAME["b"].fillna(0) + 2 * np.sign(FRAME["c"] * FRAME["d"])
Y = (SCORE + RNG.logistic(size=N) > 0).astype(int).to_numpy()
MODEL = AdaBoostMH(Additive(max_terms=4), random_state=0).fit(FRAME, Y)


@pytest.mark.parametrize("points", [1, 5, 20, 1000])
def test_the_score_is_the_sum_of_the_points(points):
    card = MODEL.scorecard(points)
    total = np.full(N, card.base)
    values = {name: FRAME[name] for name in FRAME}
    for term in card.model.terms_:
        cells = []
        for axis in term.axes:
            column = values[axis.name]
            if axis.categories is None:
                cells.append(axis.cells(column.to_numpy()))
            else:
                codes = pd.Categorical(column, categories=axis.categories).codes
                cells.append(np.where(codes < 0, axis.n_cells - 1, codes))
        total += term.scores[(*cells, 0)]
    total += card.model.intercept_[0] - card.base
    np.testing.assert_allclose(total, card.model.decision_function(FRAME), atol=1e-9)
    sums = (card.model.decision_function(FRAME) - card.base) / card.unit
    np.testing.assert_allclose(sums, np.rint(sums), atol=1e-6)
    assert max(term.points.max() for term in card.terms) == points
    assert min(term.points.min() for term in card.terms) >= 0
    assert sums.min() > -1e-6
    assert sums.max() <= card.max_points + 1e-6


def test_the_probabilities_of_sums_are_those_of_the_model():
    card = MODEL.scorecard(10)
    sums = np.rint((card.model.decision_function(FRAME) - card.base) / card.unit).astype(int)
    np.testing.assert_allclose(card.probabilities(sums), card.model.predict_proba(FRAME)[:, 1])


def test_many_points_cost_nothing_and_few_cost_more():
    losses = [MODEL.scorecard(points, eval_set=(FRAME, Y)).cost.after for points in (1, 5, 10_000)]
    before = MODEL.scorecard(5, eval_set=(FRAME, Y)).cost.before
    assert losses[2] == pytest.approx(before, abs=1e-3)
    assert losses[0] > losses[2]


def test_the_card_and_its_model_are_saved(tmp_path):
    card = MODEL.scorecard(5)
    card.model.save(tmp_path / "card.edgewise")
    loaded = load(tmp_path / "card.edgewise")
    np.testing.assert_array_equal(loaded.predict(FRAME), card.model.predict(FRAME))
    assert "rounded to points" in str(loaded.edits_[0])


def test_what_is_printed():
    card = MODEL.scorecard(5)
    text = str(card)
    assert "sum of points" in text
    assert "probability of 1" in text
    frame = card.to_frame("pandas")
    assert len(frame) == sum(len(term.labels) for term in card.terms)
    assert frame["points"].max() == 5


def test_what_has_no_card():
    three = AdaBoostMH("additive", n_rounds=10).fit(FRAME, np.arange(N) % 3)
    with pytest.raises(ValueError, match="scorecard needs a model of two classes"):
        three.scorecard()
    with pytest.raises(ValueError, match="points must be an integer of at least 1"):
        MODEL.scorecard(0)
    trees = AdaBoostMH("tree", n_rounds=10, max_leaf_nodes=16).fit(FRAME, Y)
    with pytest.raises(AttributeError, match="scorecard: this model is not a sum of curves"):
        trees.scorecard()


def test_rankers_have_cards():
    qid = np.repeat(np.arange(40), 10)
    X = FRAME[["a", "b", "c"]]
    ranker = RankBoost(Additive(max_terms=2, max_pairs=0), n_rounds=20, random_state=0)
    card = ranker.fit(X, Y, qid=qid).scorecard(5)
    assert "sum of points" not in str(card)
    sums = (card.model.predict(X) - card.base) / card.unit
    np.testing.assert_allclose(sums - sums.min(), np.rint(sums - sums.min()), atol=1e-6)


def test_few_terms():
    assert len(MODEL.terms_) <= 4
    for term in MODEL.terms_:
        for j in term.columns:
            assert any(other.columns == (j,) for other in MODEL.terms_)
    assert isinstance(MODEL.learner_, Additive)
    again = AdaBoostMH(Additive(terms=MODEL.learner_.terms), random_state=0).fit(FRAME, Y)
    np.testing.assert_array_equal(again.decision_function(FRAME), MODEL.decision_function(FRAME))


def test_a_warm_start_keeps_the_terms():
    model = AdaBoostMH(Additive(max_terms=3), n_rounds=30, random_state=0, warm_start=True)
    first = model.fit(FRAME, Y).learner_.terms
    model.set_params(n_rounds=50).fit(FRAME, Y)
    assert model.learner_.terms == first
    assert model.n_rounds_ == 50


def test_the_path_from_one_term_to_all():
    model = AdaBoostMH("additive", random_state=0).fit(FRAME, Y)
    path = model.term_path(FRAME, Y, sizes=[1, 3, 6])
    assert path[0].n_terms == 1
    assert path[0].terms == (model.terms_[0].name,)
    assert path[-1].value < path[0].value
    assert len(path.to_frame("pandas")) == len(path)
    assert "added" in str(path)
    with pytest.raises(ValueError, match="sizes must be an integer of at least 1"):
        model.term_path(FRAME, Y, sizes=[0])


def test_pairs_come_with_their_curves():
    shapes = AdaBoostMH("additive", random_state=0).fit(FRAME, Y).fitted_.shapes
    for n in range(1, len(shapes.functions) + 1):
        chosen = most_important(shapes, n)
        assert len(chosen) <= n
        assert len(set(chosen)) == len(chosen)
        assert all((j,) in chosen for columns in chosen for j in columns)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 100])
def test_sizes_end_with_all_terms(n):
    sizes = default_sizes(n)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == n


def test_a_path_keeps_the_settings_of_the_learner_and_weights_count():
    model = AdaBoostMH(Additive(max_leaf_nodes=2, max_pairs=0), random_state=0).fit(FRAME, Y)
    weights = np.where(FRAME["a"] > 0, 5.0, 0.2)
    plain, weighted = (
        model.term_path(FRAME, Y, sample_weight=w, sizes=[2])[0] for w in (None, weights)
    )
    direct = AdaBoostMH(
        Additive(max_leaf_nodes=2, max_pairs=0, terms=list(plain.terms)), random_state=0
    ).fit(FRAME, Y)
    assert plain.value == direct.fitted_.held_out.best
    assert weighted.value != plain.value


def test_a_time_limit_is_for_both_fits(monkeypatch):
    limits = []
    model = AdaBoostMH(Additive(max_terms=1), n_rounds=40, time_limit=60.0, random_state=0)
    fit = train.fit
    monkeypatch.setattr(train, "fit", lambda m, *a: limits.append(m.time_limit) or fit(m, *a))
    model.fit(FRAME, Y)
    assert limits == [30.0, 30.0]
    assert model.time_limit == 60.0
