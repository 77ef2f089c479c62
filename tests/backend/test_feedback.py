"""Sums over pairs, against the definitions of Iyer 1999 chapter 4 in plain loops over the pairs."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgewise.estimators.judgments import graded_layout
from edgewise.objective.feedback import SIDE_SCALE, GradedLists, PairList, group_sums

POWERS = {"pairs": 0.0, "root": 0.5, "equal": 1.0}


class Judged:
    """Random graded documents of a few queries, in any order; some queries have one grade only."""

    def __init__(self, seed, n, n_queries, levels, pair_weight, query_weight, weighted):
        rng = np.random.default_rng(seed)
        self.n = n
        self.query = rng.integers(n_queries, size=n)
        self.query = np.unique(self.query, return_inverse=True)[1]
        self.grades = rng.integers(levels, size=n) / 2.0 if levels else rng.normal(size=n)
        if np.ptp(self.grades[self.query == 0]) == 0:
            self.grades = np.append(self.grades, self.grades[self.query == 0][0] + 1.0)
            self.query, self.n = np.append(self.query, 0), n + 1
        self.weights = rng.exponential(size=self.n) + 0.1 if weighted else None
        self.factors = rng.exponential(size=self.query.max() + 1) + 0.1 if weighted else None
        self.settings = (pair_weight, query_weight)
        self.scores = rng.integers(-4, 5, size=self.n) / 2.0
        self.rng = rng

    def feedback(self, backend=None):
        """Return the feedback as lists."""
        order = self.rng.permutation(self.n)
        pair_weight, query_weight = self.settings
        own = None if self.weights is None else self.weights[order]
        layout = graded_layout(order, self.grades[order], self.query[order], pair_weight, own)
        return GradedLists(layout, backend, POWERS[query_weight], self.factors)

    def pairs(self):
        """Return (worse row, better row, D) of every pair; all D sum to 1."""
        pair_weight, query_weight = self.settings
        own = np.ones(self.n) if self.weights is None else self.weights
        listed = []
        for q in range(self.query.max() + 1):
            mine = np.flatnonzero(self.query == q).tolist()
            found = [
                (i, j, own[i] * own[j] * self._size(i, j, pair_weight))
                for i in mine
                for j in mine
                if self.grades[i] < self.grades[j]
            ]
            total = math.fsum(weight for _, _, weight in found)
            factor = 1.0 if self.factors is None else self.factors[q]
            listed += [(i, j, factor * w / total ** POWERS[query_weight]) for i, j, w in found]
        total = math.fsum(weight for _, _, weight in listed)
        return [(i, j, weight / total) for i, j, weight in listed]

    def _size(self, i, j, pair_weight):
        return self.grades[j] - self.grades[i] if pair_weight == "difference" else 1.0

    def pair_list(self):
        """Return the same feedback as a list of pairs."""
        worse, better, weights = zip(*self.pairs(), strict=True)
        rows, places = np.unique(np.array([*worse, *better]), return_inverse=True)
        worse, better = np.split(places.astype(np.intp), 2)
        return PairList(rows.astype(np.int32), worse, better, np.array(weights))

    def grown(self):
        """Return (worse row, better row, D exp(H0 - H1)) of every pair."""
        H = self.scores.tolist()
        return [(i, j, d * math.exp(H[i] - H[j])) for i, j, d in self.pairs()]

    def both(self):
        """Return the feedback in both forms."""
        return self.feedback(), self.pair_list()


judged = st.builds(
    Judged,
    seed=st.integers(0, 10**6),
    n=st.integers(2, 30),
    n_queries=st.integers(1, 5),
    levels=st.sampled_from([2, 3, 6, 0]),
    pair_weight=st.sampled_from(["equal", "difference"]),
    query_weight=st.sampled_from(list(POWERS)),
    weighted=st.booleans(),
)


def by_row(feedback, values, n):
    """Return what is said of the feedback's rows at the table's rows, 0 for the others."""
    full = np.zeros(n)
    full[feedback.rows] = values
    return full


@given(judged)
def test_at_scores_of_zero_all_pairs_weigh_1(case):
    lists, pairs = case.both()
    assert lists.layout.n_pairs == len(pairs.worse) == len(case.pairs())
    for feedback in (lists, pairs):
        start = feedback.weigh(np.zeros(feedback.n_rows))
        assert start.energy == pytest.approx(1.0, abs=1e-15)


@given(judged)
def test_energy_and_potentials(case):
    # pi(x) is what the pairs with x as the better one weigh less those with x as the worse one.
    grown, pi = case.grown(), np.zeros(case.n)
    for i, j, weight in grown:
        pi[j] += weight
        pi[i] -= weight
    energy = math.fsum(weight for _, _, weight in grown)
    for feedback in case.both():
        weighed = feedback.weigh(case.scores[feedback.rows])
        assert weighed.energy == pytest.approx(energy, rel=1e-13)
        potentials = by_row(feedback, weighed.potentials, case.n)
        np.testing.assert_allclose(potentials / energy, pi / (2 * energy), rtol=0, atol=1e-14)
        # Each pair adds as much to one as it takes from another.
        assert abs(potentials.sum()) <= 1e-14 * energy
        assert np.abs(potentials).sum() <= energy * (1 + 1e-14)


@given(judged, st.floats(-1.0, 1.0))
def test_the_energy_along_a_direction_and_its_derivatives(case, step):
    outputs = case.rng.normal(size=case.n)
    terms = [
        (weight * math.exp(step * (outputs[i] - outputs[j])), outputs[i], outputs[j])
        for i, j, weight in case.grown()
    ]
    expected = [math.fsum(weight * (a - b) ** p for weight, a, b in terms) for p in range(3)]
    # Sums over documents are of their outputs, and not of differences.
    sizes = [math.fsum(w * (abs(a) + abs(b)) ** p for w, a, b in terms) for p in range(3)]
    for feedback in case.both():
        found = feedback.moments(case.scores[feedback.rows], outputs[feedback.rows], step)
        for ours, theirs, size in zip(found, expected, sizes, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-13 * size)


@given(judged)
def test_pairs_on_either_side_of_a_set(case):
    high = case.rng.random(case.n) < 0.5
    minus = math.fsum(w for i, j, w in case.grown() if high[j] and not high[i])
    plus = math.fsum(w for i, j, w in case.grown() if high[i] and not high[j])
    for feedback in case.both():
        found = feedback.sides(case.scores[feedback.rows], high[feedback.rows])
        assert found == pytest.approx((minus, plus), rel=1e-12, abs=1e-15)


@given(judged, st.integers(1, 6), st.booleans())
def test_pairs_on_either_side_of_every_cut(case, n_values, some):
    # -1 is below every cut, `n_values` above.
    codes = case.rng.integers(-1, n_values + 1, size=case.n)
    inside = case.rng.random(case.n) < 0.7 if some else np.ones(case.n, dtype=bool)
    grown = [(i, j, w) for i, j, w in case.grown() if inside[i] and inside[j]]
    assume(set(case.query[inside]) == set(case.query) and grown)
    total = math.fsum(w for _, _, w in grown)
    for feedback in case.both():
        rows = np.flatnonzero(inside).astype(np.int32) if some else None
        weights = feedback.quantize(case.scores[feedback.rows], rows)
        found = feedback.cut_sides(weights, codes[feedback.rows], n_values)
        for b in range(n_values):
            right = math.fsum(w for i, j, w in grown if codes[i] < b <= codes[j])
            wrong = math.fsum(w for i, j, w in grown if codes[j] < b <= codes[i])
            # Factors are rounded to 2**-31 of their query's sum.
            assert found.right[b] / SIDE_SCALE == pytest.approx(right / total, abs=1e-7)
            assert found.wrong[b] / SIDE_SCALE == pytest.approx(wrong / total, abs=1e-7)


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [0, 1], [0, 2, 4, 6], []], ids=str)
@pytest.mark.filterwarnings("error")
def test_a_sample_may_leave_out_queries_and_all_pairs(rows):
    # Pairs (0, 1), (2, 3) of the first query and (4, 5), (6, 7) of the second.
    grades, query = np.array([0.0, 1.0] * 4), np.repeat([0, 1], 4)
    lists = GradedLists(graded_layout(np.arange(8), grades, query))
    pairs = PairList(lists.rows, np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7]), np.ones(4))
    codes = np.tile([0, 1], 4)
    for feedback in (lists, pairs):
        weights = feedback.quantize(np.zeros(8), np.array(rows, dtype=np.int32))
        found = feedback.cut_sides(weights, codes[feedback.rows], 2)
        right = 1.0 if {0, 1} <= set(rows) else 0.0
        assert found.right[1] / SIDE_SCALE == pytest.approx(right, abs=1e-7)
        assert found.wrong.tolist() == [0, 0]


@given(judged)
def test_misordered_pairs_count_in_full_and_those_of_equal_score_by_half(case):
    H = case.scores
    loss = math.fsum(d * ((H[i] > H[j]) + 0.5 * (H[i] == H[j])) for i, j, d in case.pairs())
    for feedback in case.both():
        assert feedback.ranking_loss(H[feedback.rows]) == pytest.approx(loss, abs=1e-14)
        assert feedback.ranking_loss(np.zeros(feedback.n_rows)) == pytest.approx(0.5, abs=1e-14)


@given(judged, st.sampled_from([0.01, 0.3, 0.5, 0.9]))
def test_a_share_of_the_queries(case, share):
    feedback = case.feedback()
    chosen = feedback.sample_rows(share, np.random.default_rng(0))
    assert np.array_equal(chosen, np.unique(chosen))
    paired = {int(case.query[i]) for i, _, _ in case.pairs()}
    if case.query.max() == 0:
        assert len(chosen) == min(case.n, max(2, round(share * case.n)))
        return
    # Whole queries, of those that have pairs.
    queries = set(case.query[chosen].tolist())
    assert queries <= paired
    assert len(queries) == max(1, round(share * len(paired)))
    assert chosen.tolist() == np.flatnonzero(np.isin(case.query, list(queries))).tolist()


@given(judged, st.sampled_from([0.01, 0.5, 0.9]))
def test_a_share_of_the_rows_of_pairs(case, share):
    pairs = case.pair_list()
    chosen = pairs.sample_rows(share, np.random.default_rng(0))
    assert np.array_equal(chosen, np.unique(chosen))
    assert set(chosen.tolist()) <= set(pairs.rows.tolist())
    assert len(chosen) == min(pairs.n_rows, max(2, round(share * pairs.n_rows)))


@given(judged)
def test_the_order_of_the_rows_changes_no_bit(case):
    one, other = case.feedback(), case.feedback()
    high = case.rng.random(case.n) < 0.5
    first, second = one.weigh(case.scores[one.rows]), other.weigh(case.scores[other.rows])
    assert first.energy == second.energy
    np.testing.assert_array_equal(
        by_row(one, first.potentials, case.n), by_row(other, second.potentials, case.n)
    )
    assert one.sides(case.scores[one.rows], high[one.rows]) == other.sides(
        case.scores[other.rows], high[other.rows]
    )
    outputs = case.rng.normal(size=case.n)
    assert one.moments(case.scores[one.rows], outputs[one.rows], 0.3) == other.moments(
        case.scores[other.rows], outputs[other.rows], 0.3
    )


numbers = st.floats(-1e9, 1e9).map(lambda x: x if abs(x) > 1e-200 else 0.0)


@given(
    st.lists(st.lists(numbers, min_size=1, max_size=9), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_group_sums_are_exact_to_the_last_digit_and_do_not_depend_on_the_order(groups, random):
    starts = np.cumsum([0, *map(len, groups)])
    sums = group_sums(np.array([x for group in groups for x in group]), starts)
    for group, found in zip(groups, sums.tolist(), strict=True):
        room = 1e-16 * max(map(abs, group))
        assert found == pytest.approx(math.fsum(group), rel=4e-16, abs=room)
        random.shuffle(group)
    again = group_sums(np.array([x for group in groups for x in group]), starts)
    assert np.array_equal(sums, again)


@pytest.mark.parametrize("largest", [1e-298, 1e-303])
def test_group_sums_of_very_small_numbers(largest):
    # As small as the factors of documents whose scores are 1,400 apart.
    values = largest * np.array([1.0, 0.3, 0.2, 0.7])
    sums = group_sums(values, np.array([0, 1, 4]))
    np.testing.assert_allclose(sums, largest * np.array([1.0, 1.2]), rtol=1e-14)


@pytest.mark.parametrize("spread", [1.0, 100.0, 1000.0])
def test_scores_far_from_zero_weigh_as_their_differences_do(spread):
    case = Judged(0, 20, 3, 3, "equal", "pairs", False)
    feedback = case.feedback()
    scores = case.scores[feedback.rows]
    near, far = feedback.weigh(scores), feedback.weigh(scores + spread)
    assert far.energy == pytest.approx(near.energy, rel=1e-12)
    np.testing.assert_allclose(far.potentials, near.potentials, rtol=1e-9, atol=1e-14)
