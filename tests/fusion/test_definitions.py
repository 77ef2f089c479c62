"""Fusion methods against their definitions in plain loops, and what must not matter to them."""

import math
import statistics
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.fusion import FUSIONS, RankedLists, borda, condorcet, fuse

few = settings(max_examples=20)
NORMS = ["min-max", "sum", "zmuv", "rank", None]  # "max" asks for positive scores
VARIANTS = [
    *((name, {}) for name in FUSIONS),
    *((name, {"norm": norm}) for name in ("comb_sum", "comb_mnz") for norm in NORMS),
    *(
        (name, {"unranked": unranked})
        for name in ("minimum_rank", "maximum_rank", "median_rank", "rank_sum")
        for unranked in ("ignore", 31)
    ),
]


@st.composite
def ranked_lists(draw, carry_scores=None):
    """Lists with ties, gaps, documents on no list and lists that return nothing."""
    n_rows, n_lists = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    qid = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    cell = st.one_of(st.none(), st.integers(1, 9))
    row = st.lists(cell, min_size=n_lists, max_size=n_lists)
    X = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    with_scores = draw(st.booleans()) if carry_scores is None else carry_scores
    if with_scores:
        values = [[None if x is None else x / 4 - 1 for x in row] for row in X]
        return RankedLists.from_scores(values, qid)
    return RankedLists(X, qid)


def per_query(lists, rule):
    """Apply a rule to the rows of each query: positions, and scores or None."""
    result = [0.0] * len(lists)
    for q in set(lists.qid.tolist()):
        rows = [i for i in range(len(lists)) if lists.qid[i] == q]
        positions = [[_none(x) for x in lists.positions[i]] for i in rows]
        scores = None
        if lists.scores is not None:
            scores = [[_none(x) for x in lists.scores[i]] for i in rows]
        for i, value in zip(rows, rule(positions, scores), strict=True):
            result[i] = value
    return result


def _none(x):
    return None if math.isnan(x) else float(x)


def _returned(positions, j):
    return [row[j] for row in positions if row[j] is not None]


def _length(positions, j):
    there = _returned(positions, j)
    return max([len(there), *there])


def naive_borda(positions, scores):
    c, totals = len(positions), [0.0] * len(positions)
    for j in range(len(positions[0])):
        # Hand out c, c - 1, ..., 1: to the returned in order, then to the rest; ties share.
        key = [math.inf if row[j] is None else row[j] for row in positions]
        order = sorted(range(c), key=lambda i: key[i])
        for i in range(c):
            shared = [c - place for place, other in enumerate(order) if key[other] == key[i]]
            totals[i] += sum(shared) / len(shared)
    return totals


def naive_kantor(rule, unranked):
    def apply(positions, scores):
        n_lists, values = len(positions[0]), []
        for row in positions:
            ranks = []
            for j, rank in enumerate(row):
                if rank is not None:
                    ranks.append(rank)
                elif unranked == "after" and _returned(positions, j):
                    ranks.append(_length(positions, j) + 1)
                elif not isinstance(unranked, str):
                    ranks.append(unranked)
            if not ranks:
                values.append(None)
            elif rule is sum:
                values.append(sum(ranks) * n_lists / len(ranks))
            else:
                values.append(rule(ranks))
        last = max([0, *(value for value in values if value is not None)])
        return [-(last + 1) if value is None else -value for value in values]

    return apply


def naive_rrf(positions, scores):
    return [sum(1 / (60 + p) for p in row if p is not None) for row in positions]


def naive_condorcet(positions, scores):
    totals = [0] * len(positions)
    for a, b in combinations(range(len(positions)), 2):
        votes = 0
        for x, y in zip(positions[a], positions[b], strict=True):
            x, y = (math.inf if z is None else z for z in (x, y))
            votes += (x < y) - (x > y)
        totals[a] += (votes > 0) - (votes < 0)
        totals[b] -= (votes > 0) - (votes < 0)
    return totals


def naive_norm(norm, values):
    """Scale the scores of one list and query."""
    low, high, n = min(values), max(values), len(values)
    if norm == "min-max":
        return [(v - low) / (high - low) if high > low else 1 for v in values]
    if norm == "sum":
        total = sum(v - low for v in values)
        return [(v - low) / total if high > low else 1 / n for v in values]
    if norm == "zmuv":
        deviation = statistics.pstdev(values)
        return [(v - sum(values) / n) / deviation if high > low else 0 for v in values]
    return values


def naive_comb(norm, mnz):
    def apply(positions, scores):
        totals = [0.0] * len(positions)
        for j in range(len(positions[0])):
            rows = [i for i, row in enumerate(positions) if row[j] is not None]
            if not rows:
                continue
            if scores is None or norm == "rank":
                values = [1 - (positions[i][j] - 1) / _length(positions, j) for i in rows]
            else:
                values = [scores[i][j] for i in rows]
            for i, value in zip(rows, naive_norm(norm, values), strict=True):
                totals[i] += value
        counts = [sum(x is not None for x in row) for row in positions]
        return [t * n if mnz else t for t, n in zip(totals, counts, strict=True)]

    return apply


def naive(method, options):
    rules = {
        "minimum_rank": min,
        "maximum_rank": max,
        "median_rank": statistics.median,
        "rank_sum": sum,
    }
    if method in rules:
        return naive_kantor(rules[method], options.get("unranked", "after"))
    if method.startswith("comb"):
        return naive_comb(options.get("norm", "min-max"), method == "comb_mnz")
    return {"borda": naive_borda, "rrf": naive_rrf, "condorcet": naive_condorcet}[method]


@pytest.mark.parametrize(("method", "options"), VARIANTS)
@few
@given(lists=ranked_lists())
def test_methods_do_what_their_definitions_say(method, options, lists):
    expected = per_query(lists, naive(method, options))
    np.testing.assert_allclose(fuse(lists, method, **options), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("method", "options"), VARIANTS)
@few
@given(lists=ranked_lists(), data=st.data())
def test_order_of_rows_and_of_lists_does_not_matter_to_the_last_bit(method, options, lists, data):
    rows = np.array(data.draw(st.permutations(range(len(lists)))))
    columns = np.array(data.draw(st.permutations(range(lists.n_lists))))
    scores = None if lists.scores is None else lists.scores[rows][:, columns]
    shuffled = RankedLists(lists.positions[rows][:, columns], lists.qid[rows], scores)
    ours = fuse(lists, method, **options)
    np.testing.assert_array_equal(fuse(shuffled, method, **options), ours[rows])


@pytest.mark.parametrize("method", sorted(FUSIONS))
@given(data=st.data())
def test_one_list_keeps_its_order(method, data):
    X = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=2, max_size=10))
    lists = RankedLists.from_scores([[x] for x in X], qid=[1] * len(X))
    fused = fuse(lists, method)
    for a, b in combinations(range(len(X)), 2):
        if X[a] is not None and X[b] is not None:
            assert np.sign(fused[a] - fused[b]) == np.sign(X[a] - X[b])
    there = [x is not None for x in X]
    if any(there) and not all(there):
        assert fused[there].min() >= fused[np.logical_not(there)].max()


@given(lists=ranked_lists())
def test_borda_gives_out_all_points(lists):
    sizes = lists.queries.sizes()
    total = lists.n_lists * sizes * (sizes + 1) / 2
    np.testing.assert_array_equal(lists.queries.reduce(np.add, borda(lists)), total)


@given(lists=ranked_lists())
def test_copeland_scores_cancel(lists):
    assert not lists.queries.reduce(np.add, condorcet(lists)).any()
