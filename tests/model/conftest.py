"""Random rules of every kind, on three numeric and two categorical columns."""

import numpy as np
import pandas as pd
import pytest

from edgewise.data import RawRows, as_table
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

CATEGORIES = {3: ("blue", "green", "red"), 4: tuple("abcde")}
N_COLUMNS = 5


def _cut(rng):
    threshold = -np.inf if rng.random() < 0.1 else float(rng.integers(-4, 5)) / 2
    return Cut(int(rng.integers(3)), threshold, int(rng.integers(-1, 2)))


def _subset(rng):
    column = int(rng.choice(list(CATEGORIES)))
    values = rng.choice([-1, 1], size=len(CATEGORIES[column]) + 1)
    values[-1] = rng.integers(-1, 2)
    return Subset(column, values.astype(np.int8))


def _simple(rng):
    return _cut(rng) if rng.random() < 0.5 else _subset(rng)


def _product(rng):
    return ProductRule(tuple(_simple(rng) for _ in range(int(rng.integers(2, 5)))))


def _scores(rng):
    column = int(rng.choice(list(CATEGORIES)))
    size = len(CATEGORIES[column]) + 1
    # Whole numbers are numbers too, and no subset.
    values = (
        rng.normal(size=size) if rng.random() < 0.7 else rng.integers(-1, 2, size).astype(float)
    )
    return Scores(column, values)


def _tree(rng, n_scores, real=None):
    """Return a tree grown as the learner does: any leaf is split, and each node has a rest."""
    real = rng.random() < 0.5 if real is None else real
    n_nodes = int(rng.integers(1, 6))
    tests = [_product(rng) if rng.random() < 0.2 else _simple(rng) for _ in range(n_nodes)]
    ends = [{}]
    free = [(0, "low"), (0, "high")]
    for node in range(1, n_nodes):
        above, side = free.pop(int(rng.integers(len(free))))
        ends[above][side] = node
        ends.append({})
        free += [(node, "low"), (node, "high")]
    for number, (node, side) in enumerate(free):
        ends[node][side] = -1 - number
    nodes = [
        Node(test, end["low"], end["high"], -1 - len(free) - index)
        for index, (test, end) in enumerate(zip(tests, ends, strict=True))
    ]
    shape = (len(free) + n_nodes, n_scores)
    signs = rng.integers(-1, 2, size=shape).astype(np.int8)
    numbers = rng.normal(size=shape) if rng.random() < 0.7 else signs.astype(float)
    return TreeRule(tuple(nodes), numbers if real else signs)


def _make_rules(seed, n_rules=12, n_scores=3, kinds="cspte"):
    """Return random rules: cuts, subsets, products, trees, scores (x) and the constant (e)."""
    rng = np.random.default_rng(seed)
    make = {
        "c": _cut,
        "s": _subset,
        "p": _product,
        "t": lambda rng: _tree(rng, n_scores),
        "x": _scores,
        "e": lambda rng: EVERYWHERE,
    }
    return [make[kind](rng) for kind in rng.choice(list(kinds), size=n_rules)]


def _make_rule_terms(seed, n_rules=12, n_scores=3, kinds="cspte", votes="discrete"):
    """Return (terms, the rules that they were made of)."""
    rng = np.random.default_rng([seed, 1])
    rules = _make_rules(seed, n_rules, n_scores, kinds)
    alphas = rng.exponential(size=n_rules)
    outputs = rng.choice([-1.0, 1.0], size=(n_rules, n_scores))
    if votes == "real":
        outputs = rng.normal(size=(n_rules, n_scores))
    return Terms.pack(rules, alphas.tolist(), outputs), rules


def _rule_rows(seed, n=80):
    """Return rows that the rules can be evaluated on; some values are missing or unseen."""
    rng = np.random.default_rng(seed)
    frame = {f"x{j}": rng.integers(-12, 13, size=n) / 4.0 for j in range(3)}
    for j, names in CATEGORIES.items():
        frame[f"x{j}"] = pd.Series(rng.choice([*names, "unseen"], size=n), dtype="string")
    frame = pd.DataFrame(frame)
    return RawRows(as_table(frame.mask(rng.random(frame.shape) < 0.1)), CATEGORIES)


def _same_rule(a, b):
    """Assert that two rules are the same, arrays and all; the constant is an empty product."""
    if isinstance(a, Cut | ProductRule | Subset):
        assert isinstance(b, Cut | ProductRule | Subset)
        assert len(a.factors) == len(b.factors)
        for left, other in zip(a.factors, b.factors, strict=True):
            assert type(left) is type(other)
            if isinstance(left, Cut):
                assert left == other
            else:
                _same_values(left, other)
    elif isinstance(a, Scores):
        assert isinstance(b, Scores)
        _same_values(a, b)
    else:
        assert isinstance(b, TreeRule)
        assert len(a.nodes) == len(b.nodes)
        for left, other in zip(a.nodes, b.nodes, strict=True):
            _same_rule(left.test, other.test)
            assert (left.low, left.high, left.abstain) == (other.low, other.high, other.abstain)
        assert a.leaves.dtype == b.leaves.dtype
        assert np.array_equal(a.leaves, b.leaves)


def _same_values(a, b):
    assert a.column == b.column
    assert a.values.dtype == b.values.dtype
    assert np.array_equal(a.values, b.values)


@pytest.fixture(scope="session")
def make_rule_terms():
    return _make_rule_terms


@pytest.fixture(scope="session")
def rule_rows():
    return _rule_rows


@pytest.fixture(scope="session")
def same_rule():
    return _same_rule


@pytest.fixture(scope="session")
def rule_columns():
    """Return the number of columns and the values of the categorical ones."""
    return N_COLUMNS, CATEGORIES
