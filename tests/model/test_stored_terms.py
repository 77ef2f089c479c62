"""Arrays from a file become rules only if every reference in them leads somewhere."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.model import (
    EVERYWHERE,
    Cut,
    Node,
    ProductRule,
    Scores,
    Subset,
    Terms,
    TreeRule,
)
from edgewise.model.forest import Forest
from edgewise.model.terms import TERMS

CATEGORIES = {3: ("blue", "green", "red"), 4: tuple("abcde")}

# Term 0 has node 0 with two factors, term 1 nodes 1 and 2 with a factor each, term 2 node 3 and
# term 3 node 4 with a subset each, term 4 node 5 without any factor. Of the 18 children the first
# six follow on -1, the next on +1, the last on 0.
COLOR = Subset(3, np.array([1, -1, 1, 0], np.int8))
TREE = TreeRule(
    (Node(Cut(0, 0.5, 1), 1, -1, -3), Node(COLOR, -2, -4, -5)),
    np.array([[1, -1], [-1, 1], [1, 1], [-1, -1], [0, 0]], np.int8),
)
RULES = [
    ProductRule((Cut(1, 2.0, 0), Cut(2, -np.inf, -1))),
    TREE,
    Subset(4, np.array([1, -1, 1, -1, 1, 0], np.int8)),
    Subset(3, np.array([-1, -1, 1, 0], np.int8)),
    EVERYWHERE,
]


def arrays_of(terms):
    arrays = {}
    TERMS.pack(terms, "", arrays)
    return {name[1:]: array.copy() for name, array in arrays.items()}


def packed(rules, n_scores=2):
    terms = Terms.pack(rules, [1.0] * len(rules), np.ones((len(rules), n_scores)))
    n_leaves = 3 * np.arange(len(rules) + 1)
    return replace(terms, covers=np.arange(n_leaves[-1]), cover_starts=n_leaves)


ARRAYS = [name for name in TERMS.fields if name != "n_cuts"]


@pytest.fixture
def arrays():
    return arrays_of(packed(RULES))


def read(arrays, n_scores=2, n_columns=5, categories=CATEGORIES, n_cuts=0):
    header = {**dict.fromkeys(TERMS.fields), "n_cuts": n_cuts}
    named = {f".{name}": array for name, array in arrays.items()}
    terms = TERMS.unpack(header, "", named, {"scores": n_scores})
    terms.check(n_columns, 0, categories)
    return terms


def same_arrays(a, b):
    assert a.keys() == b.keys()
    for name, array in a.items():
        assert array.dtype == b[name].dtype
        assert np.array_equal(array, b[name], equal_nan=array.dtype.kind == "f")


@given(st.integers(0, 10**6), st.sampled_from([1, 3]), st.sampled_from(["cspte", "csptex", "x"]))
def test_sound_arrays_are_read_as_they_are(make_rule_terms, rule_columns, seed, n_scores, kinds):
    terms, _ = make_rule_terms(seed, n_scores=n_scores, kinds=kinds)
    n_columns, categories = rule_columns
    actual = read(arrays_of(terms), n_scores, n_columns, categories)
    same_arrays(arrays_of(actual), arrays_of(terms))


@pytest.mark.parametrize("n_scores", [1, 3])
def test_no_terms_are_read(n_scores):
    terms = Terms.empty(n_scores)
    assert len(read(arrays_of(terms), n_scores, 4, {})) == 0


def test_the_example_is_sound(arrays):
    assert len(read(arrays)) == 5
    assert arrays["children"][0].tolist() == [-1, 2, -5, -1, -1, -1]
    assert arrays["starts"].tolist() == [0, 2, 3, 4, 5, 6, 6]
    assert arrays["firsts"].tolist() == [0, 1, 3, 4, 5, 6]


# One number is wrong


DAMAGE = {
    "a tree that leads to itself": ("children", 1, 1),
    "a tree that leads back": ("children", 2, 1),
    "a tree that leads into the next term": ("children", 7, 3),
    "a tree that leads past all nodes": ("children", 13, 6),
    "a tree that leads far past all nodes": ("children", 13, 2**31 - 1),
    "a leaf that does not exist": ("children", 8, -9),
    "a leaf far past the last": ("children", 8, -(2**31)),
    "a tree that ends where products do, high": ("children", 8, -2),
    "a tree that ends where products do, rest": ("children", 14, -3),
    "a tree whose root is a product": ("children", 1, -1),
    "a tree whose second node is a product": ("children", 2, -1),
    "a product with another high side": ("children", 6, -3),
    "a product with another rest": ("children", 12, -1),
    "a product that leads on": ("children", 12, 1),
    "a column below the first": ("columns", 0, -1),
    "a column past the last": ("columns", 0, 5),
    "a cut of a categorical column": ("columns", 0, 3),
    "a subset of a numeric column": ("columns", 4, 0),
    "a subset of a column with other values": ("columns", 4, 3),
    "an output for missing values": ("missing", 0, 2),
    "a threshold that is no number": ("thresholds", 0, np.nan),
    "an output for a value": ("values", 0, 2),
    "the smallest output for a value": ("values", 1, -128),
    "a side of products": ("leaves", 0, 1.0),
    "the middle of products": ("leaves", 4, 0.5),
    "a leaf that is no number": ("leaves", 7, np.nan),
    "a leaf that is infinite": ("leaves", 7, np.inf),
    "a step that is no number": ("alphas", 0, np.nan),
    "a step that is infinite": ("alphas", 0, -np.inf),
    "a vote that is no number": ("votes", 3, np.nan),
    "terms that do not begin": ("firsts", 0, 1),
    "terms that do not end": ("firsts", -1, 5),
    "terms that end too late": ("firsts", -1, 7),
    "a term without a node": ("firsts", 1, 0),
    "terms in another order": ("firsts", 1, 4),
    "factors that do not begin": ("starts", 0, -1),
    "factors that do not end": ("starts", -1, 5),
    "factors in another order": ("starts", 1, 5),
    "values that do not begin": ("value_starts", 0, 1),
    "values that do not end": ("value_starts", -1, 3),
    "values in another order": ("value_starts", 3, 11),
    "values of a huge number": ("value_starts", 3, 2**62),
    "leaves that do not begin": ("cover_starts", 0, 1),
    "leaves that do not end": ("cover_starts", -1, 14),
    "leaves in another order": ("cover_starts", 1, 7),
    "a leaf with a negative number of rows": ("covers", 0, -1),
    "a product that is said to be of numbers": ("real", 0, True),
    "a constant that is said to be of numbers": ("real", 4, True),
    "a product that is said to be a tree": ("kinds", 0, 1),
    "a product that is said to be a cut for each score column": ("kinds", 0, 2),
    "a subset that is said to be numbers for values": ("kinds", 2, 3),
    "a product that is said to be a column": ("kinds", 0, 4),
    "a tree that is said to be a test": ("kinds", 1, 0),
    "a tree that is said to be a cut for each score column": ("kinds", 1, 2),
    "a kind that does not exist": ("kinds", 0, 5),
    "a kind below the first": ("kinds", 0, -1),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_one_wrong_number_is_refused(arrays, case):
    name, index, value = DAMAGE[case]
    assert arrays[name].flat[index] != value
    arrays[name].flat[index] = value
    with pytest.raises(ValueError) as caught:
        read(arrays)
    # In words, and not by what NumPy says of an index.
    assert not any(
        phrase in str(caught.value) for phrase in ("out of bounds", "index", "broadcast")
    )


def test_a_cut_that_is_said_to_be_of_numbers():
    arrays = arrays_of(packed([Cut(0, 1.0, 0)]))
    arrays["real"][0] = True
    with pytest.raises(ValueError, match="real values"):
        read(arrays)


# Wrong types and shapes


CHANGES = {
    "shorter": lambda a: a[:-1],
    "deeper": lambda a: a[None],
    "another type": lambda a: a.astype(np.float16 if a.dtype.kind == "f" else np.int16),
    "complex": lambda a: a.astype(np.complex128),
    "strings": lambda a: a.astype(str),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_an_array_of_another_type_or_shape_is_refused(arrays, name, change):
    arrays[name] = CHANGES[change](arrays[name])
    with pytest.raises((ValueError, TypeError)):
        read(arrays)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_missing_array_is_refused(arrays, name):
    del arrays[name]
    with pytest.raises(KeyError, match=name):
        read(arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_scores": 3}, "shape"),
        ({"n_scores": 1}, "shape"),
        ({"n_columns": 4}, "column"),
        ({"categories": {3: CATEGORIES[3]}}, "kind"),
        ({"categories": {**CATEGORIES, 0: ("u", "v")}}, "kind"),
        ({"categories": {**CATEGORIES, 4: tuple("abcd")}}, "values of its column"),
    ],
)
def test_arrays_of_another_model_are_refused(arrays, change, message):
    with pytest.raises(ValueError, match=message):
        read(arrays, **change)


def test_leaves_of_another_width_are_refused(arrays):
    arrays["leaves"] = np.hstack([arrays["leaves"], arrays["leaves"]])
    with pytest.raises(ValueError, match="leaves"):
        read(arrays)
    arrays["leaves"] = arrays["leaves"][:2, :2]
    with pytest.raises(ValueError, match="leaves"):
        read(arrays)


def test_numbers_for_values_are_read():
    rules = [Scores(3, np.array([0.5, -0.25, 1.0, 0.0])), Cut(0, 1.0, 0), *RULES]
    actual = read(arrays_of(packed(rules)))
    assert actual.rule(0).values.tolist() == [0.5, -0.25, 1.0, 0.0]
    arrays = arrays_of(packed(rules))
    arrays["values"][0] = np.inf
    with pytest.raises(ValueError, match="finite"):
        read(arrays)


@given(st.data())
def test_whatever_is_read_can_be_evaluated(rule_rows, data):
    arrays = arrays_of(packed(RULES))
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    index = data.draw(st.integers(0, array.size - 1))
    if array.dtype.kind == "f":
        value = data.draw(st.floats())
    elif array.dtype.kind == "b":
        value = data.draw(st.booleans())
    else:
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        value = data.draw(st.integers(-9, 9) | st.integers(low, high))
    array.flat[index] = value
    try:
        terms = read(arrays)
    except ValueError:
        return
    rows = rule_rows(0, n=10)
    assert Forest.of(terms).scores(rows).shape == (10, 2)
    assert len([terms.rule(t) for t in range(len(terms))]) == 5
