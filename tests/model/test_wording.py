"""Rules in words."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Indicator, Product, Stump, Tree
from edgewise.model import (
    EVERYWHERE,
    Cut,
    Node,
    PerScore,
    ProductRule,
    Scores,
    Subset,
    TreeRule,
    Wording,
)

NAMES = ["size", "weight", "color", "digit"]
CATEGORIES = {2: ("blue", "green", "pink", "red"), 3: tuple(float(d) for d in range(12))}


@pytest.fixture
def words():
    return Wording(NAMES.__getitem__, CATEGORIES, ["a", "b", "c"])


def subset(column, inside, missing=0):
    values = np.full(len(CATEGORIES[column]) + 1, -1, dtype=np.int8)
    values[inside] = 1
    values[-1] = missing
    return Subset(column, values)


# What is tested


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        (Cut(0, 3.5, 0), "(size >= 3.5)"),
        (Cut(0, 3.5, -1), "(size >= 3.5)"),
        (Cut(1, 3.5, 1), "(weight >= 3.5 or missing)"),
        (Cut(0, 1234567.0, 0), "(size >= 1,234,567)"),
        (Cut(0, 2008.5, 0), "(size >= 2008.5)"),
        (Cut(0, -0.25, 0), "(size >= -0.25)"),
        (Cut(0, -np.inf, -1), "(size is present)"),
        (Cut(0, -np.inf, 0), "(size is present)"),
        (EVERYWHERE, "(always)"),
    ],
)
def test_cuts(words, cut, text):
    assert cut.words(words) == text


@pytest.mark.parametrize(
    ("inside", "missing", "text"),
    [
        ([3], 0, "(color is red)"),
        ([3], -1, "(color is red)"),
        ([3], 1, "(color in {red, missing})"),
        ([1, 3], 0, "(color in {green, red})"),
        # The shorter list is named.
        ([0, 1, 3], 0, "(color is not pink)"),
        ([0, 1, 3], 1, "(color is not pink)"),
        ([0, 1, 3], -1, "(color not in {pink, missing})"),
        ([], 1, "(color is missing)"),
        ([0, 1, 2, 3], -1, "(color is not missing)"),
    ],
)
def test_subsets(words, inside, missing, text):
    assert subset(2, inside, missing).words(words) == text


def test_long_lists_are_cut_short():
    names = {0: tuple(f"v{i:02d}" for i in range(40))}
    values = np.full(41, -1, dtype=np.int8)
    values[:12] = 1
    text = Subset(0, values).words(Wording(lambda j: "x", names, ["a", "b"]))
    assert text == "(x in {v00, v01, v02, v03, v04, v05, v06, v07 and 4 more})"


@pytest.mark.parametrize("value", ["in Berlin", "this is it", "is in ", "not in {}"])
def test_values_keep_their_own_words(value):
    wording = Wording(lambda j: "town", {0: (value, "u", "v", "w")}, ["a", "b"])
    assert Subset(0, np.array([-1, 1, 1, 1, 0], np.int8)).words(wording) == f"(town is not {value})"
    assert Subset(0, np.array([1, -1, -1, -1, 0], np.int8)).words(wording) == f"(town is {value})"
    both = Subset(0, np.array([-1, -1, 1, 1, 1], np.int8)).words(wording)
    assert both == "(town in {v, w, missing})"


def test_products(words):
    rule = ProductRule((Cut(0, 3.5, 0), subset(2, [3]), Cut(1, 1.0, 1)))
    assert rule.words(words) == "(size >= 3.5) * (color is red) * (weight >= 1 or missing)"


def test_numbers_for_values(words):
    rule = Scores(2, np.array([0.25, -1.0, 0.0, 0.5, 0.0]))
    assert rule.words(words) == (
        "(color by value {green: -1.00, red: +0.50, blue: +0.25, pink: +0.00})"
    )


# Whom it votes for


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ([0.5, -0.5, 0.5], "votes for a, c, against b"),
        ([0.1, -0.2, 0.9], "votes for c (0.90), a (0.10), against b (0.20)"),
        ([-0.1, -0.2, -0.9], "votes against c (0.90), b (0.20), a (0.10)"),
        ([0.0, 0.0, 0.3], "votes for c"),
        ([0.0, 0.0, 0.0], "no votes"),
    ],
)
def test_votes(words, moves, text):
    assert words.votes(np.array(moves)) == text


def test_votes_of_two_classes():
    wording = Wording(NAMES.__getitem__, {}, ["no", "yes"])
    assert wording.votes(np.array([0.7])) == "votes for yes, against no"
    assert wording.votes(np.array([-0.7])) == "votes for no, against yes"


def test_votes_of_many_classes_are_cut_short():
    wording = Wording(NAMES.__getitem__, {}, list(range(30)))
    text = wording.votes(np.where(np.arange(30) < 12, 1.0, -1.0))
    assert text == (
        "votes for 0, 1, 2, 3, 4, 5, 6, 7 and 4 more, "
        "against 12, 13, 14, 15, 16, 17, 18, 19 and 10 more"
    )


# Whole terms


def test_a_term(words):
    rule = words.rule(7, Cut(0, 3.5, 0), np.array([0.5, -0.5, 0.5]))
    assert str(rule) == "+0.50 * (size >= 3.5) -> votes for a, c, against b"
    assert (rule.round, rule.alpha, rule.text) == (7, 0.5, str(rule))


def test_a_term_with_real_votes_has_the_largest_of_them(words):
    rule = words.rule(1, EVERYWHERE, np.array([0.1, -0.7, 0.2]))
    assert rule.alpha == pytest.approx(0.7)
    assert str(rule) == "(always) -> -0.70 for b, +0.20 for c, +0.10 for a"


def test_a_cut_for_each_class(words):
    rule = PerScore((Cut(0, 1.0, 0), EVERYWHERE, Cut(1, 2.0, 1)))
    assert str(words.rule(1, rule, np.array([0.5, -0.25, 0.5]))).splitlines() == [
        "+0.50 * (size >= 1) -> votes for a",
        "-0.25 * (always) -> votes for b",
        "+0.50 * (weight >= 2 or missing) -> votes for c",
    ]


def test_a_tree_is_read_as_its_paths(words):
    nodes = (Node(Cut(0, 3.5, 0), 1, -1, -4), Node(subset(2, [3]), -2, -3, -5))
    leaves = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [0, 0, 0], [0, 0, 0]], np.int8)
    tree, moves = TreeRule(nodes, leaves), np.array([0.5, 0.5, 0.5])
    assert str(words.rule(1, tree, moves)).splitlines() == [
        "size >= 3.5 -> +0.50 for a, -0.50 for b, -0.50 for c",
        "size < 3.5, color is red -> +0.50 for c, -0.50 for a, -0.50 for b",
        "size < 3.5, color is not red -> +0.50 for b, -0.50 for a, -0.50 for c",
    ]


def test_the_strength_of_a_path_is_its_largest_vote(words):
    nodes = (Node(Cut(0, 3.5, 0), -1, -2, -3),)
    leaves = np.array([[0.5, -1.5, 0.0], [-0.5, 2.0, 0.1], [0.0, 0.0, 0.0]])
    high, low = TreeRule(nodes, leaves).split_paths(np.full(3, 0.2))
    rule = words.rule(1, *high)
    assert rule.alpha == pytest.approx(0.4)
    assert str(rule) == "size >= 3.5 -> +0.40 for b, -0.10 for a, +0.02 for c"
    assert str(words.rule(1, *low)) == "size < 3.5 -> -0.30 for b, +0.10 for a"


# The rules of a model


@pytest.mark.parametrize(
    "learner",
    [Stump(), Product(Stump()), "stump", "auto"],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_strongest_rules_come_first(blobs, learner, n_classes):
    model = AdaBoostMH(learner, preset="paper", n_rounds=25).fit(*blobs(n_classes=n_classes))
    rules = model.rules(None)
    assert sorted(rule.round for rule in rules) == list(range(1, 26))
    order = [(-rule.alpha, rule.round) for rule in rules]
    assert order == sorted(order)
    assert model.rules() == rules[:10]
    assert model.rules(3) == rules[:3]


def test_the_strongest_paths_come_first(blobs):
    X, y = blobs(n_classes=3)
    model = AdaBoostMH(Tree(Stump(), max_leaf_nodes=4), preset="paper", n_rounds=25).fit(X, y)
    rules = model.rules(None)
    assert len({rule.text for rule in rules}) == len(rules)
    # Columns without missing values in training: tests abstain on these.
    abstains = ["missing" in rule.text for rule in rules]
    assert abstains == sorted(abstains)
    order = [(-rule.alpha, rule.round) for rule in rules if "missing" not in rule.text]
    assert order == sorted(order)
    assert model.rules(3) == rules[:3]


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (2.5, TypeError), ("all", TypeError)])
def test_a_wrong_number_of_rules_is_an_error_that_names_it(blobs, n, error):
    model = AdaBoostMH("stump", preset="paper", n_rounds=3).fit(*blobs())
    with pytest.raises(error, match=r"\bn must be an integer"):
        model.rules(n)


def test_rules_use_the_names_of_columns_classes_and_values():
    frame = pd.DataFrame({"color": ["red", "blue", "green", "pink"] * 5})
    y = np.where(frame["color"].isin(["red", "pink"]), "warm", "cold")
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(frame, y)
    assert str(model.rules()[0]).endswith("(color in {pink, red}) -> votes for warm, against cold")


def test_a_constant_is_told_as_such_by_every_learner():
    X, y = np.zeros((10, 1)), [0] * 7 + [1] * 3
    for learner in ("stump", "product", [Stump(), Stump()]):
        (rule,) = AdaBoostMH(learner, preset="paper", n_rounds=1).fit(X, y).rules()
        assert str(rule) == "(always) -> +0.42 for 0"
