"""Compiled sums over pairs equal their NumPy references: integers, and weights bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.numba.ranking import _SHORT
from edgewise.data import as_table, fit_encode
from edgewise.estimators.judgments import graded_layout
from edgewise.objective.feedback import GradedLists

GRADES = {
    "two": lambda rng, n: rng.integers(2, size=n) * 1.0,
    "few": lambda rng, n: rng.choice([-2.5, 0.0, 1.0, 4.0], size=n),
    "many": lambda rng, n: rng.integers(40, size=n) * 0.25,
    "continuous": lambda rng, n: rng.normal(size=n),
}


class Lists:
    """Graded lists of given sizes, with and without compiled backend."""

    def __init__(self, seed, sizes, grades, pair_weight, weighted, n_jobs=1):
        self.rng = rng = np.random.default_rng(seed)
        query = np.repeat(np.arange(len(sizes)), sizes)
        self.n = len(query)
        values = GRADES[grades](rng, self.n)
        values[:2], query[:2] = (0.0, 1.0), 0  # one pair at least
        query = np.unique(query, return_inverse=True)[1]
        weights = rng.exponential(size=self.n) + 0.01 if weighted else None
        table = as_table(np.zeros((self.n, 1)))
        self.backend = NumbaBackend(fit_encode(table, None, 256), n_jobs)
        layout = graded_layout(np.arange(self.n), values, query, pair_weight, weights)
        self.reference, self.compiled = (
            GradedLists(layout, backend, 0.5) for backend in (None, self.backend)
        )
        assert self.compiled.pairs is self.backend.pairs

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.backend.close()

    def scores(self, kind):
        """Return scores: all the same, few different ones, or any."""
        if kind == "zero":
            return np.zeros(self.n)
        if kind == "ties":
            return self.rng.integers(-3, 4, size=self.n) / 4.0
        return self.rng.normal(size=self.n) * (100.0 if kind == "far" else 1.0)


def assert_same_weights(lists, scores):
    ours, theirs = lists.reference.weigh(scores), lists.compiled.weigh(scores)
    assert ours.energy == theirs.energy
    np.testing.assert_array_equal(ours.potentials, theirs.potentials)


def assert_same_loss(lists, scores, moved=None, exact=False):
    ours, theirs = lists.reference.ranking_loss(scores), lists.compiled.ranking_loss(scores, moved)
    assert theirs == (ours if exact else pytest.approx(ours, rel=1e-12, abs=1e-15))


def assert_same_sides(lists, scores, codes, n_values, rows=None):
    weights = lists.reference.quantize(scores, rows)
    for ours, theirs in zip(weights, lists.compiled.quantize(scores, rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    ours = lists.reference.cut_sides(weights, codes, n_values)
    theirs = lists.compiled.cut_sides(weights, codes, n_values)
    np.testing.assert_array_equal(ours.right, theirs.right)
    np.testing.assert_array_equal(ours.wrong, theirs.wrong)


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        # Lists of one document among them.
        "sizes": st.lists(st.sampled_from([1, 2, 3, 5, 17]), min_size=1, max_size=6).map(
            lambda sizes: [2, *sizes]
        ),
        "grades": st.sampled_from(list(GRADES)),
        "pair_weight": st.sampled_from(["equal", "difference"]),
        "weighted": st.booleans(),
    }
)
kinds = st.sampled_from(["zero", "ties", "any", "far"])


@given(shapes, kinds)
def test_weights_are_equal_to_the_last_bit(shape, kind):
    with Lists(**shape) as lists:
        assert_same_weights(lists, lists.scores(kind))


@given(shapes, st.sampled_from(["zero", "ties", "any"]), st.floats(-1.0, 1.0))
def test_the_energy_along_a_direction(shape, kind, step):
    with Lists(**shape) as lists:
        scores, outputs = lists.scores(kind), lists.rng.normal(size=lists.n)
        ours, theirs = (f.moments(scores, outputs, step) for f in (lists.reference, lists.compiled))
        assert ours == theirs


@given(shapes, kinds)
def test_the_ranking_loss_of_short_lists(shape, kind):
    exact = not shape["weighted"] and shape["pair_weight"] == "equal"
    with Lists(**shape) as lists:
        assert_same_loss(lists, lists.scores(kind), exact=exact)


@given(shapes, st.sampled_from(["zero", "ties", "any"]), st.integers(1, 6))
def test_the_pairs_on_either_side_of_every_cut(shape, kind, n_values):
    with Lists(**shape) as lists:
        codes = lists.rng.integers(-1, n_values + 1, size=lists.n)
        assert_same_sides(lists, lists.scores(kind), codes, n_values)


@pytest.fixture(params=["equal", "difference"])
def pair_weight(request):
    return request.param


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grades", list(GRADES))
def test_long_lists(grades, pair_weight, weighted):
    # On either side of where the loss of a list is summed another way; one document is a list too.
    sizes = [_SHORT - 1, 1, _SHORT, _SHORT + 1, 2 * _SHORT + 3]
    exact = not weighted and pair_weight == "equal"
    for seed, kind in enumerate(["zero", "ties", "any"]):
        with Lists(seed, sizes, grades, pair_weight, weighted) as lists:
            assert (len(lists.reference.layout.levels) > 8) == (grades in ("many", "continuous"))
            scores = lists.scores(kind)
            assert_same_weights(lists, scores)
            assert_same_loss(lists, scores, exact=exact)
            codes = lists.rng.integers(-1, 10, size=lists.n)
            assert_same_sides(lists, scores, codes, 9)


@pytest.mark.parametrize("grades", ["few", "many"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_ranking_loss_round_by_round(grades, pair_weight, weighted):
    # A step moves some documents up and the others down, and long lists are merged, not sorted.
    exact = not weighted and pair_weight == "equal"
    with Lists(3, [_SHORT + 40, 20, 3 * _SHORT], grades, pair_weight, weighted) as lists:
        scores = lists.scores("zero")
        for t in range(24):
            moved = lists.rng.random(lists.n) < lists.rng.random()
            if t % 8 == 5:  # a step of another kind
                scores = scores + lists.rng.integers(-2, 3, size=lists.n) / 8
                assert_same_loss(lists, scores, None, exact)
            else:
                scores = scores + lists.rng.integers(-8, 9) / 8 * np.where(moved, 1, -1)
                assert_same_loss(lists, scores, moved, exact)


@pytest.mark.parametrize("grades", list(GRADES))
def test_threads_change_nothing(grades, pair_weight):
    # More than twice 4,096 documents, so that two threads share them.
    sizes = np.random.default_rng(1).choice([1, 2, 30, 100, 400], size=100).tolist()
    found = []
    for n_jobs in (1, 2):
        with Lists(5, sizes, grades, pair_weight, True, n_jobs) as lists:
            assert lists.n > 8192
            assert len(lists.backend.pairs._query_spans(lists.compiled.layout)) == n_jobs
            scores, codes = lists.scores("ties"), lists.rng.integers(0, 20, size=lists.n)
            weighed = lists.compiled.weigh(scores)
            sides = lists.compiled.cut_sides(lists.compiled.quantize(scores), codes, 20)
            loss = lists.compiled.ranking_loss(scores)
            moved = lists.rng.random(lists.n) < 0.5
            later = lists.compiled.ranking_loss(scores + np.where(moved, 0.25, -0.25), moved)
            found.append((weighed.energy, loss, later, weighed.potentials, *sides))
            assert_same_weights(lists, scores)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_list_that_no_two_threads_can_share():
    with Lists(5, [9000], "few", "difference", False, 2) as lists:
        assert len(lists.backend.pairs._query_spans(lists.compiled.layout)) == 1
        assert_same_weights(lists, lists.scores("any"))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["ties", "any"]))
def test_samples_of_queries(seed, kind):
    with Lists(seed, [4, 5, 6, 7], "few", "equal", False) as lists:
        inside = np.flatnonzero(lists.rng.random(lists.n) < 0.8).astype(np.int32)
        layout = lists.reference.layout
        if len(set(np.searchsorted(layout.query_starts, inside, "right"))) < layout.n_queries:
            return
        codes = lists.rng.integers(-1, 5, size=lists.n)
        assert_same_sides(lists, lists.scores(kind), codes, 4, inside)
