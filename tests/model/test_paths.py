"""Trees as paths: the paths that a row meets add up to its score."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Indicator, Product, RankBoost, Stump, Tree
from edgewise.data import RawRows, as_table
from edgewise.model import Cut, Node, Path, ProductRule, Subset, TreeRule, Wording
from edgewise.model.paths import Interval, Outcomes


def meets(path, rows):
    """Return whether each row meets all conditions of a path."""
    met = np.ones(rows.n_rows, dtype=bool)
    for condition in path.conditions.values():
        if isinstance(condition, Outcomes):
            met &= np.isin(condition.test.signs(rows), list(condition.signs))
        elif isinstance(condition, Interval):
            values = rows.numbers(condition.column)
            high = True if condition.high is None else values < condition.high
            is_missing = np.isnan(values)
            met &= np.where(is_missing, condition.missing, (values >= condition.low) & high)
        else:
            met &= condition.signs(rows) > 0
    return met


@given(seed=st.integers(0, 2**32 - 1), n_scores=st.sampled_from([1, 3]))
def test_a_row_meets_one_path_of_a_tree(make_rule_terms, rule_rows, seed, n_scores):
    rows, (terms, _) = rule_rows(seed), make_rule_terms(seed, 3, n_scores, "t")
    for tree in terms.rules:
        count, total = 0, np.zeros((n_scores, rows.n_rows))
        for path, outputs in tree.find_paths():
            met = meets(path, rows)
            count, total = count + met, total + np.outer(outputs, met)
        assert (count == 1).all()
        assert (total == tree.outputs(rows)).all()


def mixed_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "gain": np.where(rng.random(n) < 0.8, 0.0, rng.integers(0, 9999, n)),
            "city": rng.choice(["Rome", "Lima", "Oslo", "Bonn"], n),
            "job": rng.choice([f"job {i}" for i in range(14)], n),
        }
    )
    score = frame["age"] / 20 + (frame["gain"] > 4000) + frame["city"].isin(["Rome", "Oslo"])
    score += frame["job"].str[-1].astype(int) / 5 + rng.normal(0, 0.5, n)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["full"] = rng.normal(size=n).round(1)
    return frame, score


def unseen_rows():
    frame, _ = mixed_rows(seed=1)
    return frame.mask(np.random.default_rng(2).random(frame.shape) < 0.2).replace("Oslo", "Quito")


def sum_of_paths(model, X):
    fitted = model.fitted_
    rows = RawRows(as_table(X), fitted.categories, fitted.derived_columns)
    total = np.zeros((fitted.terms.n_scores, rows.n_rows))
    for _, rule, moves in model._listed_rules():
        outputs = meets(rule, rows) if isinstance(rule, Path) else rule.outputs(rows)
        total += moves[:, None] * outputs
    return total.T


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_bags": 2},
        {"learner": Tree(leaf_votes="free"), "preset": "paper"},
        {"learner": Tree(leaf_votes="inherit"), "preset": "paper"},
        {"learner": Tree([Stump(missing="abstain"), Indicator()]), "preset": "paper"},
        {"learner": Tree(Product([Stump(), Indicator()], 2), 4), "preset": "paper"},
        {"learner": Tree(leaf_votes="free"), "preset": "paper", "votes": "real"},
    ],
    ids=str,
)
def test_the_paths_of_a_model_add_up_to_its_scores(params, n_classes):
    X, score = mixed_rows()
    y = pd.qcut(score, n_classes, labels=False)
    model = AdaBoostMH(n_rounds=8, random_state=0, **params).fit(X, y)
    for rows in (X, unseen_rows()):
        scores = model.decision_function(rows).reshape(len(rows), -1)
        np.testing.assert_allclose(sum_of_paths(model, rows), scores, atol=1e-9)


def test_the_paths_of_a_ranker_add_up_to_its_scores():
    X, score = mixed_rows()
    model = RankBoost("tree", n_rounds=8).fit(X, (score > 4).astype(int), np.arange(300) // 10)
    difference = sum_of_paths(model, X)[:, 0] - model.predict(X)
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


def test_infinite_values_are_numbers():
    X = np.array([[0.0], [1.0], [np.inf], [-np.inf]] * 5)
    params = {"preset": "paper", "n_rounds": 3, "handle_infinite": "value"}
    model = AdaBoostMH(Tree(Stump(), 4), **params).fit(X, [0, 1, 2, 3] * 5)
    rows = RawRows(as_table(X, "value"), {}, None)
    scores = np.zeros((20, 4))
    for _, path, moves in model._listed_rules():
        scores += np.outer(meets(path, rows), moves)
    np.testing.assert_allclose(scores, model.decision_function(X))


# In words

NAMES = ["age", "gain", "color"]
COLORS = ("blue", "green", "pink", "red", "white")
WORDING = Wording(NAMES.__getitem__, {2: COLORS}, ["poor", "rich"])


def color(*names, missing=-1):
    return Subset(2, np.array([*(1 if c in names else -1 for c in COLORS), missing], np.int8))


def words(*steps):
    """Return the path of tests and their outputs, in words; None if no row meets it."""
    path = Path()
    for test, sign in steps:
        path = path and path.extend(test.condition(sign), sign == 0)
    return path and path.sentence(WORDING, np.array([0.5])).removesuffix(" -> +0.50 for rich")


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([], "(always)"),
        ([(Cut(0, 30.0, 0), 1)], "age >= 30"),
        ([(Cut(0, 30.0, 0), -1)], "age < 30"),
        ([(Cut(0, 30.0, 0), 0)], "age is missing"),
        ([(Cut(0, 30.0, 1), 1)], "age >= 30 or missing"),
        ([(Cut(0, 30.0, 1), -1)], "age < 30"),
        ([(Cut(0, 30.0, 1), 0)], None),
        ([(Cut(0, 30.0, 0), 1), (Cut(0, 45.0, 0), -1)], "30 <= age < 45"),
        ([(Cut(0, 30.0, 1), 1), (Cut(0, 45.0, -1), -1)], "30 <= age < 45 or missing"),
        ([(Cut(0, 30.0, 1), 1), (Cut(0, 45.0, 1), -1)], "30 <= age < 45"),
        ([(Cut(0, 30.0, -1), -1), (Cut(0, 45.0, 1), 1)], "age is missing"),
        ([(Cut(0, 30.0, 0), -1), (Cut(0, 45.0, 0), 1)], None),
        ([(Cut(0, -np.inf, -1), 1)], "age is present"),
        ([(Cut(0, -np.inf, -1), -1)], "age is missing"),
        ([(Cut(0, 30.0, 0), 1), (Cut(1, 12345.5, 0), -1)], "age >= 30, gain < 12,345.5"),
        ([(color("red", "blue"), 1), (color("red", "pink"), 1)], "color is red"),
        ([(color("red", "blue"), 1), (color("red", "pink"), -1)], "color is blue"),
        ([(color("red"), -1), (color("blue"), -1)], "color not in {blue, red}"),
        ([(color("red", missing=0), -1)], "color is not red"),
        ([(color("red", missing=0), 0)], "color is missing"),
        ([(color("red"), 1), (color("blue"), 1)], None),
    ],
)
def test_conditions_on_one_column_are_merged(steps, text):
    assert words(*steps) == text


def test_products_are_conditions_of_their_own():
    product = ProductRule((Cut(0, 30.0, 0), color("red")))
    assert words((product, 1)) == "(age >= 30) * (color is red) = +1"
    assert words((product, 0)) == "(age >= 30) * (color is red) = 0"
    assert words((product, 1), (product, -1)) is None


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ([0.31, -0.12, 0.0], "+0.31 for a, -0.12 for b"),
        ([-0.5, 0.5, -0.5], "+0.50 for b, -0.50 for a, -0.50 for c"),
        ([0.0, 0.0, 0.0031], "+0.0031 for c"),
    ],
)
def test_effects_on_several_classes(moves, text):
    assert Wording(str, {}, ["a", "b", "c"]).effect(np.array(moves)) == text


def test_of_many_classes_the_strongest_are_named():
    effect = Wording(str, {}, list(range(9))).effect(np.linspace(0.1, 0.9, 9))
    assert effect == "+0.90 for 8, +0.80 for 7, +0.70 for 6 and 6 more"


def test_an_effect_on_two_classes_is_for_the_one_that_it_favors():
    assert WORDING.effect(np.array([-0.12])) == "+0.12 for poor"
    assert WORDING.effect(np.array([0.12])) == "+0.12 for rich"


def test_equal_paths_are_added_up(monkeypatch):
    leaves = np.array([[-0.2], [0.4], [0.0]])
    tree = TreeRule((Node(Cut(0, 30.0, 0), -1, -2, -3),), leaves)
    model = AdaBoostMH("tree", preset="paper", n_rounds=1).fit([[1.0], [50.0]], ["poor", "rich"])
    terms = type(model.fitted_.terms).pack([tree, tree], [1.0, 0.5], np.ones((2, 1)))
    monkeypatch.setitem(model.fitted_.__dict__, "terms", terms)
    assert [str(rule) for rule in model.rules()] == [
        "x0 >= 30 -> +0.60 for rich",
        "x0 < 30 -> +0.30 for poor",
    ]
