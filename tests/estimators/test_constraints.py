"""Columns with directions, columns that go together, and columns that no rule may use."""

import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import (
    AdaBoostMH,
    Additive,
    Best,
    Chunks,
    Haar,
    Indicator,
    Lazy,
    Product,
    RankBoost,
    Stump,
    Tree,
    load,
)  # fmt: skip
from edgewise.data import as_table, fit_encode
from edgewise.model.rules import TreeRule

DIRECTIONS = {"x0": 1, "x1": -1}

GAIN = Tree([Stump(), Indicator()], 8, "free", "gain")

CLASSIFIERS = {
    "default": {},
    "stumps": {"learner": "stump"},
    "additive": {"learner": "additive"},
    "heavy rows": {"trim": 0.8},
    "rows by weight": {"sampling": "weight", "subsample": 0.5},
    "some columns": {"search": Lazy(2)},
    "four models": {"n_bags": 4},
    "exponential": {"loss": "exponential"},
    "discrete stumps": {"learner": "stump", "preset": "paper"},
    "real stumps": {"learner": "stump", "preset": "paper", "votes": "real"},
    "abstaining votes": {"learner": "stump", "preset": "paper", "votes": "abstain"},
    "abstaining stumps": {"learner": Best([Stump(missing="abstain"), "tree"]), "preset": "paper"},
    "discrete trees": {"learner": "tree", "preset": "paper"},
    "discrete leaves": {"learner": GAIN, "preset": "paper"},
    "real trees": {"learner": GAIN, "preset": "paper", "votes": "real"},
    "trees of abstaining stumps": {
        "learner": Tree([Stump(missing="abstain"), Indicator()], 6, "free"),
        "preset": "paper",
        "votes": "real",
    },
}

RANKERS = {
    "stumps": {"learner": "stump"},
    "trees": {"learner": "tree"},
    "trees by NDCG": {"learner": "tree", "objective": "ndcg", "subsample": 0.5},
    "stumps by MAP": {"learner": "stump", "objective": "map"},
    "additive": {"learner": "additive", "objective": "ndcg"},
    "both": {"learner": Best([Stump(), Tree("stump", 4, "free", "gain")])},
    "energy": {"learner": "stump", "criterion": "energy"},
}


def make_rows(seed, n=160, missing=0.15, n_labels=1, categorical=True):
    """Return rows, targets that oppose the directions in part, and weights."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 4)).round(1)
    score = values[:, 0] + 1.5 * np.sin(3 * values[:, 0]) - values[:, 1] * values[:, 2]
    labels = [score + rng.normal(size=n) > 0, rng.normal(size=n) > values[:, 0], score > 0.5]
    values[rng.random(values.shape) < missing] = np.nan
    X = pd.DataFrame(values).add_prefix("x")
    if categorical:
        X["c"] = pd.Categorical(rng.choice(list("abcdef"), n))
    y = np.stack(labels[:n_labels], axis=1).astype(int)
    return X, y[:, 0] if n_labels == 1 else y, rng.integers(1, 4, n).astype(float)


def largest_fall(model, X, directions, n_rows=12):
    """Return how far scores go against the directions after any round, 0 if never."""
    is_classifier = hasattr(model, "decision_function")
    staged = model.staged_decision_function if is_classifier else model.staged_predict
    predict = model.decision_function if is_classifier else model.predict
    rows, worst = X.iloc[:n_rows], 0.0
    for name, direction in directions.items():
        values = np.unique(X[name].dropna())
        grid = np.concatenate([[values[0] - 1], values, (values[1:] + values[:-1]) / 2])
        grid = np.sort(np.append(grid, values[-1] + 1))
        varied = rows.loc[rows.index.repeat(len(grid))].copy()
        varied[name] = np.tile(grid, len(rows))
        for scores in (*staged(varied), predict(varied)):
            by_row = np.reshape(scores, (len(rows), len(grid), -1))
            worst = min(worst, float((direction * np.diff(by_row, axis=1)).min()))
    return worst


def paths_of(model):
    """Return the sets of columns that are tested on one path of a tree, or by one rule."""
    paths = set()
    for t in range(len(model.fitted_.terms)):
        rule = model.fitted_.terms.rule(t)
        if not isinstance(rule, TreeRule):
            paths.add(frozenset(getattr(rule, "columns", ())))
            continue
        above = {0: frozenset()}
        for number, node in enumerate(rule.nodes):
            columns = above[number] | {*node.test.columns}
            paths.add(columns)
            above |= {child: columns for child in (node.low, node.high) if child >= 0}
    return paths


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("n_labels", [1, 3])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.2]))
def test_a_classifier_never_goes_against_a_direction(name, n_labels, seed, missing):
    X, y, weights = make_rows(seed, missing=missing, n_labels=n_labels)
    model = AdaBoostMH(n_rounds=12, random_state=seed, **CLASSIFIERS[name])
    model.set_params(monotonic_cst=DIRECTIONS).fit(X, y, sample_weight=weights)
    assert largest_fall(model, X, DIRECTIONS) == 0
    assert model.n_rounds_ == 12 or model.stop_reason_ == "no edge"


@pytest.mark.parametrize("votes", ["discrete", "real"])
def test_with_a_stump_for_each_label_too(votes):
    X, y, _ = make_rows(1, n_labels=3, categorical=False)
    settings = {"factorized": False, "votes": votes, "n_rounds": 20, "preset": "paper"}
    model = AdaBoostMH("stump", monotonic_cst=DIRECTIONS, **settings).fit(X, y)
    assert largest_fall(model, X, DIRECTIONS) == 0


def test_without_constraints_scores_do_fall():
    X, y, weights = make_rows(0)
    for name in ("default", "discrete trees", "real stumps"):
        model = AdaBoostMH(n_rounds=30, **CLASSIFIERS[name]).fit(X, y, sample_weight=weights)
        assert largest_fall(model, X, DIRECTIONS) < -0.01


@pytest.mark.parametrize("name", RANKERS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.2]))
def test_a_ranker_never_goes_against_a_direction(name, seed, missing):
    X, y, weights = make_rows(seed, missing=missing, categorical=False)
    qid = np.arange(len(X)) // 16
    model = RankBoost(n_rounds=12, random_state=seed, **RANKERS[name])
    model.set_params(monotonic_cst={**DIRECTIONS, "x2": 0, "x3": 0})
    model.fit(X, y, qid, sample_weight=weights)
    assert largest_fall(model, X, DIRECTIONS) > -1e-9
    rises = RankBoost(n_rounds=12, monotonic_cst="increasing", **RANKERS[name]).fit(X, y, qid)
    assert largest_fall(rises, X, {"x0": 1, "x3": 1}) > -1e-9


def test_held_out_queries_choose_among_rankers_that_keep_to_directions():
    X, y, _ = make_rows(5, n=480, categorical=False)
    model = RankBoost(n_rounds=10, monotonic_cst=[1, -1, 0, 0]).fit(X, y, np.arange(480) // 16)
    assert largest_fall(model, X, DIRECTIONS) > -1e-9
    assert any("trees" in name for name in model.settings_.compared)
    assert not any("columns" in name for name in model.settings_.compared)


def test_the_default_with_held_out_rows_keeps_to_directions_and_learns():
    X, y, _ = make_rows(3, n=1200)
    model = AdaBoostMH(monotonic_cst=DIRECTIONS).fit(X[:800], y[:800])
    assert largest_fall(model, X, DIRECTIONS) == 0
    assert model.score(X[800:], y[800:]) > 0.65
    assert "x0 +1, x1 -1" in str(model.settings_)


def test_an_array_has_a_direction_for_each_column():
    X, y, _ = make_rows(0, categorical=False)
    named = AdaBoostMH(n_rounds=10, monotonic_cst=DIRECTIONS).fit(X, y)
    listed = AdaBoostMH(n_rounds=10, monotonic_cst=[1, -1, 0, 0]).fit(X, y)
    assert np.array_equal(named.decision_function(X), listed.decision_function(X))
    free = AdaBoostMH(n_rounds=10, monotonic_cst=np.zeros(4)).fit(X, y)
    none = AdaBoostMH(n_rounds=10).fit(X, y)
    assert np.array_equal(free.decision_function(X), none.decision_function(X))


def test_the_score_is_that_of_the_second_class_and_so_is_its_probability():
    X, y, _ = make_rows(2, missing=0.0)
    model = AdaBoostMH(n_rounds=30, monotonic_cst={"x0": 1}).fit(X, np.where(y, "yes", "no"))
    grid = X.iloc[[0] * 50].assign(x0=np.linspace(-3, 3, 50))
    assert (np.diff(model.predict_proba(grid)[:, 1]) >= 0).all()


@pytest.mark.parametrize("learner", ["auto", "tree", "additive", "product", GAIN])
@pytest.mark.parametrize(
    ("constraint", "allowed"),
    [
        ("no_interactions", [{0}, {1}, {2}, {3}, {4}]),
        ("pairwise", [{a, b} for a in range(5) for b in range(a)]),
        ([["x0", "x1"], [1, 2]], [{0, 1}, {1, 2}, {3, 4}]),
        ([{"x0", "c"}], [{0, 4}, {1, 2, 3}]),
    ],
)
def test_no_path_leaves_the_sets_of_columns(learner, constraint, allowed):
    X, y, weights = make_rows(0)
    votes = None if learner == "product" else "real"
    model = AdaBoostMH(learner, n_rounds=30, interaction_cst=constraint, votes=votes)
    paths = paths_of(model.fit(X, y, sample_weight=weights))
    assert all(any(path <= columns for columns in allowed) for path in paths)
    assert max(map(len, paths)) >= min(max(map(len, allowed)), 2)
    if (learner, constraint) != ("additive", "pairwise"):
        free = AdaBoostMH(learner, n_rounds=30, votes=votes).fit(X, y, sample_weight=weights)
        assert not all(any(path <= columns for columns in allowed) for path in paths_of(free))


def test_random_first_terms_keep_to_the_sets_too():
    # The corners of a cube: no column tells anything by itself, random first tests begin.
    X = np.array([[a, b, c, 0.0] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 3)
    y = X[:, :3].sum(axis=1) % 2
    for learner in (Product(Stump(), 3, restarts=5), Tree(Stump(), 4), Tree(Product(), 4)):
        for constraint in ("pairwise", [[0, 1], [2, 3]]):
            model = AdaBoostMH(
                learner, preset="paper", n_rounds=5, interaction_cst=constraint, random_state=3
            )
            sets = [{0, 1}, {2, 3}]
            for path in paths_of(model.fit(X, y)):
                assert len(path) <= 2 if constraint == "pairwise" else any(path <= s for s in sets)


def test_terms_of_an_additive_model_and_sets_must_both_hold():
    X, y, _ = make_rows(0)
    learner = Additive(terms=["x0", ("x0", "x1"), ("x2", "x3")])
    model = AdaBoostMH(learner, n_rounds=40, interaction_cst=[["x0", "x2"], ["x1", "x3"]])
    assert max(map(len, paths_of(model.fit(X, y)))) == 1


@pytest.mark.parametrize("objective", ["pairs", "ndcg"])
def test_rankers_keep_to_the_sets(objective):
    X, y, _ = make_rows(0)
    model = RankBoost("tree", objective=objective, n_rounds=20, interaction_cst="no_interactions")
    assert max(map(len, paths_of(model.fit(X, y, np.arange(len(X)) // 16)))) == 1


def test_rates_of_categories_go_with_their_columns():
    rng = np.random.default_rng(0)
    n = 3000
    a, b, x = rng.integers(12, size=n), rng.integers(12, size=n), rng.normal(size=n)
    y = (np.sin(a * 5.0 + b * 3.0) + 0.5 * np.cos(a) + x * (a % 2) > 0).astype(int)
    X = pd.DataFrame({"a": pd.Categorical(a), "b": pd.Categorical(b), "x": x, "z": x})
    free = AdaBoostMH(n_rounds=20).fit(X, y)
    rates = free.fitted_.rates
    sources = [{*rates.sources(r).tolist()} for r in range(len(rates))]
    assert {0, 1} in sources
    for constraint, sets in (
        ("no_interactions", [{0}, {1}, {2}, {3}]),
        ([["a", "b"]], [{0, 1}, {2, 3}]),
    ):
        model = AdaBoostMH(n_rounds=20, interaction_cst=constraint).fit(X, y)
        used = set()
        for path in paths_of(model):
            of_table = set().union(*({j} if j < 4 else sources[j - 4] for j in path))
            assert any(of_table <= columns for columns in sets)
            used |= path
        assert used & {*range(4, 4 + len(sources))}
        assert ({0, 1} in [sources[j - 4] for j in used if j >= 4]) == (len(sets) == 2)
    # Without the column, no rate is made of it.
    model = AdaBoostMH(n_rounds=20, ignored_features=["a"]).fit(X, y)
    rates = model.fitted_.rates
    assert rates is None or all(0 not in rates.sources(r) for r in range(len(rates)))


@pytest.mark.parametrize("settings", [{}, {"learner": "stump"}, {"learner": "product"}])
@pytest.mark.parametrize("ignored", [["x0", "c"], [0, 4], [True, False, False, False, True]])
def test_predictions_do_not_depend_on_ignored_columns(settings, ignored, tmp_path):
    X, y, weights = make_rows(0)
    model = AdaBoostMH(n_rounds=20, ignored_features=ignored, **settings)
    model.fit(X, y, sample_weight=weights)
    assert set().union(*paths_of(model)) <= {1, 2, 3}
    assert (model.feature_importances_[[0, 4]] == 0).all()
    assert model.feature_names_in_.tolist() == list(X.columns)
    other = X.assign(x0=1e9, c="new")
    assert np.array_equal(model.predict_proba(X), model.predict_proba(other))
    # Nor does the model.
    again = AdaBoostMH(n_rounds=20, ignored_features=ignored, **settings)
    again.fit(other, y, sample_weight=weights)
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    without = AdaBoostMH(n_rounds=20, **settings).fit(X[["x1", "x2", "x3"]], y, weights)
    assert np.array_equal(model.decision_function(X), without.decision_function(X.iloc[:, 1:4]))
    assert "x0, c" in str(model.settings_)
    model.save(tmp_path / "model.edgewise")
    loaded = load(tmp_path / "model.edgewise")
    assert np.array_equal(loaded.predict_proba(other), model.predict_proba(X))
    assert loaded.settings_.constraints == {"ignored_features": "x0, c"}


def test_ids_that_are_ignored_cause_no_warning(caplog):
    X, y, _ = make_rows(0, n=300)
    X["id"] = [f"row {i}" for i in range(300)]
    with caplog.at_level(logging.WARNING, "edgewise"):
        AdaBoostMH(n_rounds=5, ignored_features=["id"]).fit(X, y)
    assert not caplog.records
    AdaBoostMH(n_rounds=5).fit(X, y)
    assert "id" in caplog.text


def test_tables_in_other_forms_ignore_the_same_columns():
    X, y, _ = make_rows(0, categorical=False)
    values = X.to_numpy()
    settings = {"n_rounds": 10, "ignored_features": [0], "n_bags": 1}
    expected = AdaBoostMH(**settings).fit(values, y).decision_function(values)
    binned = fit_encode(as_table(values), None, 32)
    pieces = Chunks.rows_of([values[:50], values[50:]])
    for form in (binned, pieces, Chunks.columns_of([values[:, :1], values[:, 1:]])):
        model = AdaBoostMH(max_bins=32, **settings).fit(form, y)
        assert model.feature_importances_[0] == 0
        assert np.array_equal(model.decision_function(values), expected)


def test_a_warm_start_keeps_to_the_constraints():
    X, y, _ = make_rows(0)
    given = {"monotonic_cst": DIRECTIONS, "ignored_features": ["x3"]}
    given["interaction_cst"] = "no_interactions"
    model = AdaBoostMH(n_rounds=10, warm_start=True, **given).fit(X, y)
    model.set_params(n_rounds=25).fit(X, y)
    whole = AdaBoostMH(n_rounds=25, **given).fit(X, y)
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))
    assert largest_fall(model, X, DIRECTIONS) == 0
    assert max(map(len, paths_of(model))) == 1
    for name in given:
        other = AdaBoostMH(n_rounds=10, warm_start=True, **{**given, name: None}).fit(X, y)
        with pytest.raises(ValueError, match="warm_start: monotonic_cst, interaction_cst and"):
            other.set_params(n_rounds=12, **given).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"monotonic_cst": {"y": 1}}, "monotonic_cst: X does not have the column 'y'"),
        ({"monotonic_cst": {"c": 1}}, "monotonic_cst: the column 'c' is categorical"),
        ({"monotonic_cst": {"x0": 2}}, "monotonic_cst must be -1, 0 or 1 for each of the 5"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst must be -1, 0 or 1 for each of the 5"),
        ({"monotonic_cst": "increasing"}, "monotonic_cst must be -1, 0 or 1 for each of the 5"),
        (
            {"monotonic_cst": {"x0": 1}, "learner": "product"},
            "monotonic_cst=.* needs rules that are thresholds or trees of them",
        ),
        (
            {"monotonic_cst": {"x0": 1}, "learner": Tree(Product())},
            "monotonic_cst=.* needs rules that are thresholds or trees of them",
        ),
        ({"interaction_cst": "none"}, "interaction_cst must be one of 'pairwise', 'no_inter"),
        ({"interaction_cst": 3}, "interaction_cst must be one of 'pairwise', 'no_interactions'"),
        ({"interaction_cst": [["x0", "y"]]}, "interaction_cst: X does not have the column 'y'"),
        ({"interaction_cst": ["x0"]}, "interaction_cst must be a list of columns"),
        ({"interaction_cst": [[0, 5]]}, "a column of interaction_cst must be .*0 to 4"),
        ({"ignored_features": ["y"]}, "ignored_features: X does not have the column 'y'"),
        ({"ignored_features": "x0"}, "ignored_features must be a list of columns"),
        ({"ignored_features": range(5)}, "ignored_features must leave at least one column"),
    ],
)
def test_wrong_constraints_are_refused(settings, message):
    X, y, _ = make_rows(0)
    with pytest.raises((TypeError, ValueError), match=message):
        AdaBoostMH(n_rounds=2, **settings).fit(X, y)


def test_several_classes_have_no_directions():
    X, _, _ = make_rows(0)
    with pytest.raises(ValueError, match="not supported for multiclass classification"):
        AdaBoostMH(monotonic_cst={"x0": 1}).fit(X, np.arange(len(X)) % 3)


def test_image_filters_use_all_pixels():
    X, y = np.random.default_rng(0).normal(size=(40, 16)), np.arange(40) % 2
    for given_settings in ({"ignored_features": [0]}, {"interaction_cst": "pairwise"}):
        with pytest.raises(ValueError, match="cannot be combined with filters of all pixels"):
            AdaBoostMH(Haar((4, 4)), n_rounds=2, **given_settings).fit(X, y)


def test_pairs_of_very_many_columns_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 501))
    with pytest.raises(ValueError, match="interaction_cst='pairwise' needs at most 500 columns"):
        AdaBoostMH(interaction_cst="pairwise").fit(X, np.arange(20) % 2)
