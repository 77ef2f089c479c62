"""Contributions of a row are Shapley values, add up, and agree with a sum over all coalitions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.data import RawRows
from edgewise.model import Scorer
from edgewise.model.forest import Forest
from edgewise.model.shapley import Shares, forest_shares

seeds = st.integers(0, 10**6)


def worths(forest, row, background):
    """Return the mean score of the background with each set of columns taken from the row."""
    columns = range(len(row))
    results = {}
    for size in range(len(row) + 1):
        for chosen in combinations(columns, size):
            mixed = background.copy()
            mixed[list(chosen)] = row[list(chosen)]
            results[frozenset(chosen)] = forest.walk(np.ascontiguousarray(mixed)).mean(axis=0)
    return results


def shapley(worth, n, i):
    """Return the Shapley value of column i: its mean effect over all orders of the columns."""
    others = [j for j in range(n) if j != i]
    total = 0.0
    for size in range(n):
        weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
        for chosen in map(frozenset, combinations(others, size)):
            total = total + weight * (worth[chosen | {i}] - worth[chosen])
    return total


def interaction(worth, n, i, j):
    """Return the Shapley interaction index of two columns (Grabisch and Roubens 1999)."""
    others = [c for c in range(n) if c not in (i, j)]
    total = 0.0
    for size in range(n - 1):
        weight = math.factorial(size) * math.factorial(n - size - 2) / math.factorial(n - 1)
        for s in map(frozenset, combinations(others, size)):
            effect = worth[s | {i, j}] - worth[s | {i}] - worth[s | {j}] + worth[s]
            total = total + weight * effect
    return total


@settings(max_examples=30)
@given(seeds, st.sampled_from(["cspte", "csptex", "t", "p", "x"]), st.sampled_from([1, 3]))
def test_shares_are_those_of_all_coalitions(make_rule_terms, rule_rows, seed, kinds, n_scores):
    terms, _ = make_rule_terms(seed, n_scores=n_scores, kinds=kinds, votes="real")
    forest = Forest.of(terms)
    values = rule_rows(seed, n=21).block(forest.columns, slice(None))
    row, background = values[:, :1], values[:, 1:]
    shares = forest_shares(forest, row, background)
    n, worth = len(row), worths(forest, row, background)
    np.testing.assert_allclose(shares.base, worth[frozenset()], atol=1e-12)
    for i in range(n):
        np.testing.assert_allclose(shares.values[i], shapley(worth, n, i), atol=1e-12)
    pairs = dict(zip(map(tuple, shares.pairs.tolist()), shares.interactions, strict=True))
    for i, j in combinations(range(n), 2):
        actual = pairs.get((i, j), np.zeros(n_scores))
        np.testing.assert_allclose(actual, interaction(worth, n, i, j), atol=1e-12)
    total = shares.base + shares.alone.sum(axis=0) + shares.interactions.sum(axis=0)
    np.testing.assert_allclose(total, forest.walk(row)[0], atol=1e-12)


def test_a_column_that_two_are_made_of_divides_its_shares():
    # The game v(S) of u, made of a and b, and of a and c: players u, a, c.
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 2))
    pairs, interactions = np.array([[0, 1], [0, 2], [1, 2]]), rng.normal(size=(3, 2))
    shares = Shares(np.array([9, 4, 7]), values, pairs, interactions, np.ones(2))
    divided = shares.divide([(4, 5), (4,), (7,)])
    assert divided.columns.tolist() == [4, 5, 7]
    u, a, c = values
    np.testing.assert_allclose(divided.values, [a + u / 2, u / 2, c])
    by_pair = dict(zip(map(tuple, divided.pairs.tolist()), divided.interactions, strict=True))
    ua, uc, ac = interactions
    np.testing.assert_allclose(by_pair[0, 1], shares.alone[0] + ua / 2)
    np.testing.assert_allclose(by_pair[0, 2], ac + uc / 2)
    np.testing.assert_allclose(by_pair[1, 2], uc / 2)
    total = divided.alone.sum(axis=0) + divided.interactions.sum(axis=0)
    np.testing.assert_allclose(total, values.sum(axis=0))


def test_rows_are_aligned_as_for_prediction(make_rule_terms, rule_rows, rule_columns):
    n_columns, categories = rule_columns
    terms, _ = make_rule_terms(5, kinds="cspt")
    rows = rule_rows(5, n=10)
    scorer = Scorer(terms=terms, n_features=n_columns, categories=categories)
    values = RawRows(rows.table, categories).block(scorer.forest.columns, slice(None))
    assert np.array_equal(scorer.forest.walk(values), scorer.scores(rows.table))


def test_a_constant_model_has_no_shares(make_rule_terms):
    forest = Forest.of(make_rule_terms(1, kinds="e")[0])
    shares = forest_shares(forest, np.empty((0, 1)), np.empty((0, 4)))
    assert shares.values.shape == shares.interactions.shape == (0, 3)
    assert shares.base == pytest.approx(forest.walk(np.empty((0, 1)))[0])
