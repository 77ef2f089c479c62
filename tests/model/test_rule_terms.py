"""Rules packed into arrays are the rules that were packed, and score like them."""

from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.data import RawRows, as_table
from edgewise.model import (
    EVERYWHERE,
    Cut,
    Node,
    ProductRule,
    Scorer,
    Scores,
    Subset,
    Terms,
    TreeRule,
)
from edgewise.model.forest import Forest

seeds = st.integers(0, 10**6)
# Cuts, subsets, products, trees, numbers for values (x) and the constant (e), together or alone.
mixtures = st.sampled_from(["cspte", "csptex", "csp", "t", "x", "c", "e", "tx", "ct"])
widths = st.sampled_from([1, 3])


def same_terms(a, b):
    for field in fields(a):
        ours, theirs = getattr(a, field.name), getattr(b, field.name)
        kinds = np.asarray(ours).dtype, np.asarray(theirs).dtype
        assert kinds[0] == kinds[1], field.name
        assert np.array_equal(ours, theirs, equal_nan=kinds[0].kind == "f"), field.name


def term_scores(terms, rows, n_jobs=1):
    """Return the scores of the forest of terms."""
    return Forest.of(terms).scores(rows, n_jobs)


def by_hand(rules, coefficients, rows):
    """Return the scores term by term, in the order of the terms."""
    scores = np.zeros((coefficients.shape[1], rows.n_rows))
    for rule, moves in zip(rules, coefficients, strict=True):
        scores += rule.outputs(rows) * moves[:, None]
    return scores.T


# Packing


@given(seeds, mixtures, widths)
def test_packed_rules_come_back(make_rule_terms, same_rule, seed, kinds, n_scores):
    terms, rules = make_rule_terms(seed, n_scores=n_scores, kinds=kinds)
    assert (len(terms), terms.n_scores) == (12, n_scores)
    for t, rule in enumerate(rules):
        same_rule(rule, terms.rule(t))


@given(seeds, mixtures, widths, st.integers(0, 12), st.integers(0, 12))
def test_slices_hold_their_rules(make_rule_terms, same_rule, seed, kinds, n_scores, start, stop):
    terms, rules = make_rule_terms(seed, n_scores=n_scores, kinds=kinds)
    subset = terms[start:stop]
    assert len(subset) == len(rules[start:stop])
    for t, rule in enumerate(rules[start:stop]):
        same_rule(rule, subset.rule(t))
    assert np.array_equal(subset.coefficients, terms.coefficients[start:stop])


@given(seeds, mixtures, mixtures, widths, st.integers(0, 5), st.integers(0, 5))
def test_sums_hold_the_rules_of_both(
    make_rule_terms, same_rule, seed, kinds, others, n_scores, n_first, n_second
):
    first, rules = make_rule_terms(seed, n_first, n_scores, kinds)
    second, more = make_rule_terms(seed + 1, n_second, n_scores, others)
    joined = first + second
    assert len(joined) == n_first + n_second
    for t, rule in enumerate([*rules, *more]):
        same_rule(rule, joined.rule(t))
    both = np.concatenate([first.coefficients, second.coefficients])
    assert np.array_equal(joined.coefficients, both)


def test_no_terms(rule_rows):
    terms, rows = Terms.empty(3), rule_rows(0)
    assert (len(terms), terms.n_scores, terms.total_vote) == (0, 3, 0.0)
    assert list(terms.outputs(rows)) == list(terms.staged_scores(rows)) == []
    assert np.array_equal(term_scores(terms, rows), np.zeros((80, 3)))
    same_terms(terms + terms, terms)
    same_terms(terms[:0], terms)


def test_the_constant_comes_back_as_the_constant():
    terms = Terms.pack([EVERYWHERE, Cut(0, 1.0, 0)], [0.5, 1.0], np.ones((2, 1)))
    assert terms.rule(0) == EVERYWHERE


# Outputs and scores


@given(seeds, mixtures, widths)
def test_outputs_are_those_of_the_rules(make_rule_terms, rule_rows, seed, kinds, n_scores):
    terms, rules = make_rule_terms(seed, n_scores=n_scores, kinds=kinds)
    rows = rule_rows(seed)
    for rule, outputs in zip(rules, terms.outputs(rows), strict=True):
        expected = rule.outputs(rows)
        assert outputs.dtype == expected.dtype
        assert np.array_equal(outputs, expected)


@given(seeds, mixtures, widths, st.sampled_from(["discrete", "real"]))
def test_stages_are_sums_of_the_first_terms(
    make_rule_terms, rule_rows, seed, kinds, n_scores, votes
):
    terms, rules = make_rule_terms(seed, n_scores=n_scores, kinds=kinds, votes=votes)
    rows = rule_rows(seed, n=20)
    for t, scores in enumerate(terms.staged_scores(rows), start=1):
        assert np.array_equal(scores.T, by_hand(rules[:t], terms.coefficients[:t], rows))


@pytest.mark.parametrize("kinds", ["cspte", "csptex", "csp", "t", "x", "e", "tx"])
@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("n", [1, 511, 5_000])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_backends_score_term_by_term_to_the_last_bit(
    make_rule_terms, rule_rows, monkeypatch, kinds, n_scores, n, n_jobs
):
    terms, rules = make_rule_terms(7, 40, n_scores, kinds, votes="real")
    rows = rule_rows(7, n)
    expected = by_hand(rules, terms.coefficients, rows)
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        actual = term_scores(terms, rows, n_jobs)
        assert actual.shape == (n, n_scores)
        assert np.array_equal(actual, expected), backend


@given(seeds, mixtures, widths)
def test_compiled_scores_of_any_rules(make_rule_terms, rule_rows, seed, kinds, n_scores):
    terms, rules = make_rule_terms(seed, n_scores=n_scores, kinds=kinds, votes="real")
    rows = rule_rows(seed, n=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEWISE_BACKEND", "numba")
        actual = term_scores(terms, rows)
    assert np.array_equal(actual, by_hand(rules, terms.coefficients, rows))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_slices_and_sums_score_alike(make_rule_terms, rule_rows, monkeypatch, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    terms, rules = make_rule_terms(3, 30, 3, "cspt", votes="real")
    rows = rule_rows(3)
    for at in (1, 13, 29):
        first, second = terms[:at], terms[at:]
        assert np.array_equal(
            term_scores(first, rows), by_hand(rules[:at], first.coefficients, rows)
        )
        assert np.array_equal(term_scores(first + second, rows), term_scores(terms, rows))


def test_a_node_without_test_goes_to_the_high_side(rule_rows, monkeypatch):
    nodes = (Node(EVERYWHERE, -1, 1, -3), Node(Cut(0, 0.0, 0), -2, -4, -5))
    leaves = np.array([[9, 9], [1, -1], [9, 9], [-1, 1], [0, 0]], dtype=np.int8)
    rows = rule_rows(1)
    terms = Terms.pack([TreeRule(nodes, leaves)], [0.5], np.ones((1, 2)))
    cut = Cut(0, 0.0, 0).signs(rows)[:, None] * np.array([-1, 1]) * 0.5
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        assert np.array_equal(term_scores(terms, rows), cut)


def test_missing_and_unseen_values_take_the_way_of_the_rest(monkeypatch):
    # What a test says nothing of ends in the node's own leaf, wherever the node hangs.
    color = Subset(1, np.array([1, -1, 1, 0], np.int8))
    nodes = (Node(Cut(0, 0.0, 0), 1, -2, -4), Node(color, -1, -3, -5))
    leaves = np.array([[1.5], [2.5], [3.5], [4.5], [5.5]])
    colors = ["red", "red", "red", "green", "pink"]
    frame = pl.DataFrame({"x0": [None, 1.0, -1.0, -1.0, -1.0], "x1": colors})
    rows = RawRows(as_table(frame), {1: ("blue", "green", "red")})
    terms = Terms.pack([TreeRule(nodes, leaves)], [1.0], np.ones((1, 1)))
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        assert term_scores(terms, rows)[:, 0].tolist() == [4.5, 2.5, 3.5, 1.5, 5.5]


@given(seeds, mixtures, widths)
def test_total_vote_bounds_every_score(make_rule_terms, rule_rows, seed, kinds, n_scores):
    terms, _ = make_rule_terms(seed, n_scores=n_scores, kinds=kinds, votes="real")
    scores = term_scores(terms, rule_rows(seed))
    assert np.abs(scores).max() <= terms.total_vote * (1 + 1e-12)


def test_total_vote_of_signs_is_the_sum_of_the_steps(make_rule_terms):
    terms, _ = make_rule_terms(5, kinds="csp")
    assert terms.total_vote == pytest.approx(terms.alphas.sum(), rel=1e-12)


# A model of rules


@given(seeds, widths)
def test_a_scorer_scores_like_its_terms(make_rule_terms, rule_rows, seed, n_scores):
    terms, rules = make_rule_terms(seed, n_scores=n_scores, kinds="csptex")
    rows = rule_rows(seed, n=20)
    scorer = Scorer(terms=terms, n_features=5, categories=rows.categories)
    expected = by_hand(rules, terms.coefficients, rows)
    assert np.array_equal(scorer.scores(rows.table), expected)
    *_, last = scorer.staged_scores(rows.table)
    assert np.array_equal(last.T, expected)


def test_importances_are_shared_by_the_tests_of_a_term():
    red = Subset(3, np.array([-1, -1, 1, 0], np.int8))
    tree = TreeRule(
        (Node(Cut(1, 0.0, 0), -1, 1, -3), Node(red, -2, -4, -5)), np.ones((5, 1), np.int8)
    )
    rules = [Cut(0, 1.0, 0), ProductRule((Cut(0, 1.0, 0), Cut(2, 1.0, 0))), tree, EVERYWHERE]
    terms = Terms.pack(rules, [1.0] * 4, np.ones((4, 1)))
    decreases = np.array([0.1, 0.4, 0.5, 3.0])
    actual = Scorer(
        terms=terms, n_features=5, categories={3: ("blue", "green", "red")}
    ).importances(decreases)
    np.testing.assert_allclose(actual, [0.3, 0.25, 0.2, 0.25, 0.0], rtol=1e-12)


def test_the_tests_of_a_tree_share_by_their_gains():
    split = (Node(Cut(1, 0.0, 0), -1, 2, -4, 6.0), Node(Cut(2, 0.0, 0), -2, -3, -5, 2.0))
    # The root tests nothing and leads to the first split.
    tree = TreeRule(
        (Node(EVERYWHERE, -1, 1, -1), *split), np.array([[-1.0], [0.5], [1.5], [9.0], [9.0]])
    )
    terms = Terms.pack([tree], [0.1], np.array([[3.0]]))
    actual = Scorer(terms=terms, n_features=3).importances(np.array([0.2]))
    np.testing.assert_allclose(actual, [0.0, 3 / 4, 1 / 4], rtol=1e-12)
    assert terms.rule(0).nodes == tree.nodes


def test_the_curves_of_a_model_are_its_cuts_of_one_column(make_rule_terms, rule_rows):
    terms, rules = make_rule_terms(9, 40, 3, "cspte", votes="real")
    rows = rule_rows(9)
    tables = Scorer(terms=terms, n_features=5, categories=rows.categories).tables
    single = [t for t, rule in enumerate(rules) if isinstance(rule, Cut)]
    expected = by_hand([rules[t] for t in single], terms.coefficients[single], rows)
    np.testing.assert_allclose(tables.scores(rows.table), expected, rtol=0, atol=1e-12)
    # The constants are what depends on no column.
    constants = [t for t, rule in enumerate(rules) if rule == EVERYWHERE]
    assert constants
    np.testing.assert_allclose(
        tables.bias, terms.coefficients[constants].sum(axis=0), rtol=0, atol=1e-12
    )


def test_numbers_that_happen_to_be_whole_stay_numbers():
    # Training takes other steps with numbers than with signs, also where it is replayed.
    signs = np.array([1, -1, 1, 0], np.int8)
    nodes = (Node(Cut(0, 0.0, 0), -1, -2, -3),)
    rules = [
        Scores(3, signs.astype(float)),
        Subset(3, signs),
        TreeRule(nodes, signs[:3, None].astype(float)),
        TreeRule(nodes, signs[:3, None]),
    ]
    terms = Terms.pack(rules, [1.0] * 4, np.ones((4, 1)))
    kinds = [type(terms.rule(t)) for t in range(4)]
    assert kinds == [Scores, Subset, TreeRule, TreeRule]
    arrays = [
        terms.rule(0).values,
        terms.rule(1).values,
        terms.rule(2).leaves,
        terms.rule(3).leaves,
    ]
    assert [array.dtype for array in arrays] == [np.float64, np.int8, np.float64, np.int8]
