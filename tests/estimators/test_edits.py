"""Edits of additive models."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Additive, RankBoost, load
from edgewise.metrics.classification import log_loss

RNG = np.random.default_rng(2)
N = 300
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)).round(1), columns=["age", "income", "debt"])
FRAME["town"] = RNG.choice(["Ulm", "Bonn", "Jena"], N)
SCORE = 2 * FRAME["age"] + np.sign(FRAME["income"] * FRAME["debt"]) + (FRAME["town"] == "Ulm")
Y = np.where(SCORE + RNG.logistic(size=N) > 0, "yes", "no")
TRAIN, TEST = slice(0, 200), slice(200, N)
MODEL = AdaBoostMH(Additive(terms=["age", "income", "town", ("income", "debt")]), random_state=0)
MODEL.fit(FRAME[TRAIN], Y[TRAIN])
HELD_OUT = FRAME[TEST].reset_index(drop=True), Y[TEST]


def along(model, column, values):
    """Return the scores of rows that differ in one column only."""
    rows = pd.concat([FRAME[:1]] * len(values), ignore_index=True)
    return model.decision_function(rows.assign(**{column: values}))


GRID = np.linspace(-3, 3, 61)


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone(sign):
    edited = MODEL.edit("age", monotone=sign)
    assert (sign * np.diff(along(edited, "age", GRID)) >= -1e-12).all()
    assert not (sign * np.diff(along(MODEL, "income", GRID)) >= -1e-12).all()


def test_flatten():
    edited = MODEL.edit("age", flatten=(0, None))
    assert np.ptp(along(edited, "age", GRID[GRID >= 0.2])) < 1e-12
    assert np.ptp(along(edited, "age", GRID[GRID < 0])) > 0.1


def test_merge():
    edited = MODEL.edit("town", merge=["Ulm", "Bonn"])
    ulm, bonn, jena = along(edited, "town", ["Ulm", "Bonn", "Jena"])
    assert ulm == pytest.approx(bonn, abs=1e-12)
    assert abs(ulm - jena) > 1e-3


def test_clip():
    edited = MODEL.edit("age", clip=(-0.5, 0.5))
    assert np.ptp(along(edited, "age", GRID)) <= 1 + 1e-12
    term = MODEL.fitted_.shapes.find("age")
    assert np.ptp(term.scores) > 1.5


def test_a_dropped_term_is_not_read_any_more(tmp_path):
    edited = MODEL.edit("town", drop=True)
    assert 3 not in edited.fitted_.terms.columns
    changed = HELD_OUT[0].assign(town="Rome")
    assert (edited.decision_function(changed) == edited.decision_function(HELD_OUT[0])).all()
    assert edited.feature_importances_[3] == 0
    assert "town" not in [term.name for term in edited.terms_]


def test_the_effect_is_measured_and_recorded(tmp_path):
    edited = MODEL.edit("age", flatten=(0, None), eval_set=HELD_OUT)
    (edit,) = edited.edits_
    codes = (HELD_OUT[1] == "yes").astype(int)
    assert edit.before == log_loss(codes, MODEL.predict_proba(HELD_OUT[0]))
    assert edit.after == log_loss(codes, edited.predict_proba(HELD_OUT[0]))
    assert str(edit).startswith("age: flattened from 0 to inf (log loss 0.")
    edited = edited.edit("town", merge=["Ulm", "Bonn"])
    edited.save(tmp_path / "edited.edgewise")
    loaded = load(tmp_path / "edited.edgewise")
    assert [*map(str, loaded.edits_)] == [*map(str, edited.edits_)]
    assert [edit.change for edit in loaded.edits_] == [
        "flattened from 0 to inf",
        "merged Ulm, Bonn",
    ]
    np.testing.assert_array_equal(
        loaded.predict_proba(HELD_OUT[0]), edited.predict_proba(HELD_OUT[0])
    )
    for ours, theirs in zip(edited.terms_, loaded.terms_, strict=True):
        np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert MODEL.edits_ == ()


def test_other_terms_stay():
    edited = MODEL.edit(("income", "debt"), drop=True)
    for name in ("age", "town"):
        old, new = MODEL.fitted_.shapes.find(name), edited.fitted_.shapes.find(name)
        np.testing.assert_allclose(new.scores, old.scores, atol=1e-12)


@pytest.mark.parametrize(
    ("term", "change", "problem"),
    [
        ("size", {"drop": True}, "no term 'size'"),
        ("age", {}, "give one of drop, clip"),
        ("age", {"drop": True, "clip": (0, 1)}, "give one of"),
        ("age", {"clip": (1, 0)}, r"clip must be \(low, high\)"),
        ("age", {"clip": 1}, r"clip must be \(low, high\)"),
        ("age", {"clip": (0, "x")}, "clip must be"),
        ("age", {"merge": ["a", "b"]}, "merge needs a categorical column"),
        ("age", {"monotone": 2}, "monotone must be 1"),
        ("town", {"monotone": 1}, "monotone needs a numeric column"),
        ("town", {"flatten": (0, 1)}, "flatten needs a numeric column"),
        ("town", {"merge": ["Ulm", "Rome"]}, "merge must be two or more levels"),
        ("town", {"merge": ["Ulm"]}, "merge must be two or more levels"),
        (("income", "debt"), {"monotone": 1}, "monotone needs a term of one column"),
        ("age", {"drop": True, "eval_set": 3}, "eval_set must be a tuple"),
    ],
)
def test_what_is_wrong(term, change, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        MODEL.edit(term, **change)


def test_an_edited_model_cannot_be_trained_further():
    edited = MODEL.edit("age", drop=True).set_params(warm_start=True, n_rounds=500)
    with pytest.raises(ValueError, match="edited cannot be trained further"):
        edited.fit(FRAME[TRAIN], Y[TRAIN])


def test_rankers_are_edited_too():
    qid = np.repeat(np.arange(30), 10)
    X = FRAME[["age", "income", "debt"]]
    ranker = RankBoost(Additive(max_pairs=0), n_rounds=30, random_state=0).fit(
        X, Y == "yes", qid=qid
    )
    edited = ranker.edit("age", monotone=1, eval_set=(X, Y == "yes", qid))
    rows = pd.concat([X[:1]] * len(GRID), ignore_index=True).assign(age=GRID)
    assert (np.diff(edited.predict(rows)) >= -1e-12).all()
    assert edited.edits_[0].metric == ranker.eval_metric_


def test_onnx_scores_edited_models_and_scorecards(tmp_path):
    programs = pytest.importorskip("tests.export.programs")
    X = FRAME[["age", "income", "debt"]]
    model = AdaBoostMH("additive", n_rounds=60, random_state=0).fit(X, Y)
    for changed in (model.edit("age", monotone=1), model.scorecard(10).model):
        changed.export(tmp_path / "model.onnx")
        result = programs.run_onnx(tmp_path / "model.onnx", changed, X)
        expected = changed.decision_function(X)
        np.testing.assert_allclose(result.scores.ravel(), expected, atol=1e-9)


@pytest.mark.parametrize("suffix", [".py", ".sql"])
def test_exports_have_the_edited_terms(tmp_path, suffix):
    edited = MODEL.edit("age", monotone=1).edit("town", drop=True)
    path = tmp_path / f"model{suffix}"
    edited.export(path)
    text = path.read_text()
    assert "town" not in text.split("SELECT")[-1] if suffix == ".sql" else True
    if suffix == ".py":
        names = {}
        exec(text, names)
        row = HELD_OUT[0].iloc[0].to_dict()
        expected = edited.decision_function(HELD_OUT[0][:1])[0]
        assert names["scores"](row) == pytest.approx(expected, abs=1e-9)


def test_importances_of_an_edited_model_are_those_of_its_terms():
    y = np.digitize(SCORE, [-1, 1])
    model = AdaBoostMH("additive", n_rounds=60, random_state=0).fit(FRAME, y)
    edited = model.edit("age", clip=(-9, 9))
    expected = np.zeros(4)
    for term in edited.terms_:
        expected[list(term.columns)] += term.importance / len(term.columns)
    np.testing.assert_allclose(edited.feature_importances_, expected)


def test_a_function_measures_the_effect_on_a_ranker():
    qid, X = np.repeat(np.arange(30), 10), FRAME[["age", "income", "debt"]]

    def top(grades, scores, queries):
        return float(grades[scores.argmax()])

    ranker = RankBoost("additive", n_rounds=20, eval_metric=top, random_state=0)
    ranker.fit(X, Y == "yes", qid=qid)
    (edit,) = ranker.edit("age", drop=True, eval_set=(X, Y == "yes", qid)).edits_
    assert edit.metric == "top"
    assert edit.before in (0.0, 1.0)


def test_rates_of_categories_are_no_terms():
    with pytest.raises(ValueError, match="category_rates=True cannot be combined with additive"):
        AdaBoostMH("additive", category_rates=True).fit(FRAME, Y)
