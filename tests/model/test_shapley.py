"""Contributions of a row are Shapley values, add up, and agree with a sum over all coalitions."""

import math
from contextlib import contextmanager
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.data import RawRows
from edgewise.model import Cut, Node, Scorer, Subset, Terms, TreeRule
from edgewise.model.forest import Forest
from edgewise.model.leaf_paths import Paths, unroll
from edgewise.model.shapley import Shares, path_shares

seeds = st.integers(0, 10**6)


@contextmanager
def using(backend):
    """Compute in NumPy or compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEWISE_BACKEND", backend)
        yield


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


def path_worths(forest, covers, row):
    """Return the score with each set of columns of the row; others follow the training rows."""

    def follow(node, chosen):
        """Return the mean output from a node on, and how many training rows reach it."""
        if node < 0:
            return forest.leaves[-1 - node], covers[-1 - node]
        taken = forest.find_children(np.array([node]), row[forest.node_columns[node]])[0]
        first, last = forest.category_starts[node : node + 2]
        children = (
            forest.category_children[first:last] if last > first else forest.children[:, node]
        )
        ends = {child: follow(child, chosen) for child in set(children.tolist())}
        n_rows = sum(n for _, n in ends.values())
        if forest.node_columns[node] in chosen:
            return ends[taken][0], n_rows
        shares = [n / n_rows if n_rows else 1 / len(ends) for _, n in ends.values()]
        outputs = [output for output, _ in ends.values()]
        return sum(share * output for share, output in zip(shares, outputs, strict=True)), n_rows

    columns, results = range(len(row)), {}
    for size in range(len(row) + 1):
        for chosen in map(frozenset, combinations(columns, size)):
            results[chosen] = sum(follow(root, chosen)[0] for root in forest.roots.tolist())
    return results


def assert_shares(shares, worth, n_columns, score):
    n_scores = len(shares.base)
    np.testing.assert_allclose(shares.base, worth[frozenset()], atol=1e-12)
    for i in range(n_columns):
        np.testing.assert_allclose(shares.values[0, i], shapley(worth, n_columns, i), atol=1e-12)
    pairs = dict(zip(map(tuple, shares.pairs.tolist()), shares.interactions[0], strict=True))
    for i, j in combinations(range(n_columns), 2):
        actual = pairs.get((i, j), np.zeros(n_scores))
        np.testing.assert_allclose(actual, interaction(worth, n_columns, i, j), atol=1e-12)
    total = shares.base + shares.alone[0].sum(axis=0) + shares.interactions[0].sum(axis=0)
    np.testing.assert_allclose(total, score, atol=1e-12)
    np.testing.assert_allclose(shares.matrix[0].sum(axis=1), shares.values[0], atol=1e-12)


kinds_of_rules = st.sampled_from(["cspte", "csptex", "t", "p", "x"])
backends = pytest.mark.parametrize("backend", ["numpy", "numba"])


def random_forest(make_rule_terms, rule_rows, seed, kinds, n_scores):
    """Return the forest of random rules, unrolled, and rows of its columns."""
    terms, _ = make_rule_terms(seed, n_scores=n_scores, kinds=kinds, votes="real")
    forest = unroll(Forest.of(terms))
    return forest, rule_rows(seed, n=61).block(forest.columns, slice(None))


@backends
@settings(max_examples=20)
@given(seeds, kinds_of_rules, st.sampled_from([1, 3]))
def test_shares_are_those_of_all_coalitions(
    make_rule_terms, rule_rows, backend, seed, kinds, n_scores
):
    forest, values = random_forest(make_rule_terms, rule_rows, seed, kinds, n_scores)
    row, background = values[:, :1], values[:, 1:21]
    with using(backend):
        shares = path_shares(Paths.of(forest), forest.columns, row, background)
    assert_shares(shares, worths(forest, row, background), len(row), forest.walk(row)[0])


@backends
@settings(max_examples=20)
@given(seeds, kinds_of_rules, st.sampled_from([1, 3]))
def test_path_dependent_shares_are_those_of_all_coalitions(
    make_rule_terms, rule_rows, backend, seed, kinds, n_scores
):
    forest, values = random_forest(make_rule_terms, rule_rows, seed, kinds, n_scores)
    row, training = values[:, :1], np.ascontiguousarray(values[:, 1:])
    leaves = forest.find_leaves(training)
    covers = np.bincount(leaves.ravel(), minlength=len(forest.leaves))
    with using(backend):
        shares = path_shares(Paths.of(forest, covers), forest.columns, row)
    worth = path_worths(forest, covers, row)
    np.testing.assert_allclose(shares.base, forest.walk(training).mean(axis=0), atol=1e-12)
    assert_shares(shares, worth, len(row), forest.walk(row)[0])


@settings(max_examples=20)
@given(seeds, kinds_of_rules, st.booleans())
def test_rows_have_the_same_shares_together_and_alone(
    make_rule_terms, rule_rows, seed, kinds, compared
):
    forest, values = random_forest(make_rule_terms, rule_rows, seed, kinds, 2)
    covers = np.bincount(forest.find_leaves(values).ravel(), minlength=len(forest.leaves))
    paths, background = Paths.of(forest, covers), values[:, :20] if compared else None
    arguments = paths, forest.columns
    with using("numpy"):
        plain = path_shares(*arguments, values, background)
    with using("numba"):
        together = path_shares(*arguments, values, background)
        on_threads = path_shares(*arguments, values, background, n_jobs=3)
        alone = [path_shares(*arguments, row[:, None], background) for row in values.T]
    for name in ("values", "interactions", "base"):
        expected = getattr(together, name)
        np.testing.assert_allclose(getattr(plain, name), expected, atol=1e-12)
        assert np.array_equal(getattr(on_threads, name), expected)
        one_by_one = [getattr(shares, name) for shares in alone]
        assert np.array_equal(
            one_by_one[0] if name == "base" else np.concatenate(one_by_one), expected
        )


@settings(max_examples=20)
@given(seeds, st.sampled_from(["cspte", "p", "x"]))
def test_an_unrolled_forest_scores_the_same(make_rule_terms, rule_rows, seed, kinds):
    terms, _ = make_rule_terms(seed, kinds=kinds)
    forest = Forest.of(terms)
    values = rule_rows(seed).block(forest.columns, slice(None))
    unrolled = unroll(forest)
    assert np.array_equal(unrolled.walk(values), forest.walk(values))
    # Every node and every leaf follows on one test.
    parents = np.arange(len(unrolled.node_columns))
    sizes = np.diff(unrolled.category_starts)
    sources = [np.tile(parents[sizes == 0], 3), np.repeat(parents, sizes)]
    targets = [unrolled.children[:, sizes == 0].ravel(), unrolled.category_children]
    edges = {*zip(np.concatenate(sources).tolist(), np.concatenate(targets).tolist(), strict=True)}
    assert len({target for _, target in edges}) == len(edges)


@backends
@settings(max_examples=20)
@given(seeds, st.sampled_from(["cspte", "c", "t", "p"]))
def test_rows_are_counted_in_the_leaves_that_they_reach(
    make_rule_terms, rule_rows, backend, seed, kinds
):
    forest = unroll(Forest.of(make_rule_terms(seed, kinds=kinds)[0]))
    rows = rule_rows(seed, n=300)
    leaves = forest.find_leaves(rows.block(forest.columns, slice(None)))
    with using(backend):
        counts = forest.count_rows(rows, n_jobs=2)
    assert np.array_equal(counts, np.bincount(leaves.ravel(), minlength=len(forest.leaves)))


@backends
def test_what_follows_on_no_category_does_not_count(backend):
    everything = Subset(3, np.ones(4, dtype=np.int8))
    nodes = (
        Node(Cut(0, 0.5, -1), 1, 2, -6),
        Node(everything, 3, -1, -7),
        Node(Cut(1, 0.5, -1), -2, -3, -8),
        Node(Cut(2, 0.5, -1), -4, -5, -9),
    )
    leaves = np.random.default_rng(0).normal(size=(9, 1))
    forest = unroll(Forest.of(Terms.pack([TreeRule(nodes, leaves)], [1.0], np.ones((1, 1)))))
    row, background = np.array([[1.0], [0.0], [1.0], [0.0]]), np.array([[0.0, 1.0]] * 4)
    with using(backend):
        shares = path_shares(Paths.of(forest), forest.columns, row, background)
    assert_shares(shares, worths(forest, row, background), 4, forest.walk(row)[0])
    assert shares.values[0, 2, 0] == 0.0


def test_long_paths_are_exact():
    # A path of many columns, all of which the row passes: every column has the same share.
    n = 70
    nodes = [Node(Cut(j, 0.5, -1), -1 - j, j + 1, -2 - n - j) for j in range(n - 1)]
    nodes.append(Node(Cut(n - 1, 0.5, -1), -n, -1 - n, -1 - 2 * n))
    leaves = np.zeros((2 * n + 1, 1))
    leaves[n] = 1.0
    forest = Forest.of(Terms.pack([TreeRule(tuple(nodes), leaves)], [1.0], np.ones((1, 1))))
    paths, row = Paths.of(forest), np.ones((n, 1))
    for backend in ("numpy", "numba"):
        with using(backend):
            shares = path_shares(paths, forest.columns, row, np.zeros((n, 3)), interactions=False)
        np.testing.assert_allclose(shares.values[0, :, 0], 1 / n, atol=1e-12)


def test_a_column_that_two_are_made_of_divides_its_shares():
    # The game v(S) of u, made of a and b, and of a and c: players u, a, c.
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 3, 2))
    pairs, interactions = np.array([[0, 1], [0, 2], [1, 2]]), rng.normal(size=(1, 3, 2))
    shares = Shares(np.array([9, 4, 7]), values, pairs, interactions, np.ones(2))
    divided = shares.divide([(4, 5), (4,), (7,)])
    assert divided.columns.tolist() == [4, 5, 7]
    u, a, c = values[0]
    np.testing.assert_allclose(divided.values[0], [a + u / 2, u / 2, c])
    by_pair = dict(zip(map(tuple, divided.pairs.tolist()), divided.interactions[0], strict=True))
    ua, uc, ac = interactions[0]
    np.testing.assert_allclose(by_pair[0, 1], shares.alone[0, 0] + ua / 2)
    np.testing.assert_allclose(by_pair[0, 2], ac + uc / 2)
    np.testing.assert_allclose(by_pair[1, 2], uc / 2)
    total = divided.alone[0].sum(axis=0) + divided.interactions[0].sum(axis=0)
    np.testing.assert_allclose(total, values[0].sum(axis=0))


def test_rows_are_aligned_as_for_prediction(make_rule_terms, rule_rows, rule_columns):
    n_columns, categories = rule_columns
    terms, _ = make_rule_terms(5, kinds="cspt")
    rows = rule_rows(5, n=10)
    scorer = Scorer(terms=terms, n_features=n_columns, categories=categories)
    values = RawRows(rows.table, categories).block(scorer.forest.columns, slice(None))
    assert np.array_equal(scorer.forest.walk(values), scorer.scores(rows.table))


def test_a_constant_model_has_no_shares(make_rule_terms):
    forest = Forest.of(make_rule_terms(1, kinds="e")[0])
    for backend in ("numpy", "numba"):
        with using(backend):
            shares = path_shares(
                Paths.of(forest), forest.columns, np.empty((0, 1)), np.empty((0, 4))
            )
        assert shares.values.shape == shares.interactions.shape == (1, 0, 3)
        assert shares.base == pytest.approx(forest.walk(np.empty((0, 1)))[0])
