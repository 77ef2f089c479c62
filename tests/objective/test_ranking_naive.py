"""Figures 4-1, 4-2 and 4-3 of Iyer 1999 written out, and what is made of them side by side."""

import math
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import Exhaustive, Stump
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.estimators.judgments import graded_layout
from edgewise.objective import Ranking, RankSettings
from edgewise.objective.feedback import GradedLists, PairList

POWERS = {"pairs": 0.0, "root": 0.5, "equal": 1.0}


class General:
    """Figure 4-1: a weight for each pair."""

    def __init__(self, pairs):
        total = math.fsum(weight for _, _, weight in pairs)
        self.D = {(i, j): weight / total for i, j, weight in pairs}

    def potentials(self, n):
        """Return pi, eq. 4.10."""
        pi = np.zeros(n)
        for (i, j), weight in self.D.items():
            pi[j] += weight
            pi[i] -= weight
        return pi

    def sides(self, h):
        """Return W- and W+."""
        minus = math.fsum(weight for (i, j), weight in self.D.items() if h[i] < h[j])
        plus = math.fsum(weight for (i, j), weight in self.D.items() if h[i] > h[j])
        return minus, plus

    def step(self, alpha, h):
        """Take a step and return Z."""
        grown = {(i, j): d * math.exp(alpha * (h[i] - h[j])) for (i, j), d in self.D.items()}
        Z = math.fsum(grown.values())
        self.D = {pair: weight / Z for pair, weight in grown.items()}
        return Z


class Bipartite:
    """Figure 4-2: a weight for each document, of two grades."""

    def __init__(self, grades):
        self.s = np.where(grades > grades.min(), 1, -1)
        self.v = np.where(self.s > 0, 1 / (self.s > 0).sum(), 1 / (self.s < 0).sum())

    def potentials(self, n):
        """Return d(x) s(x), eq. 4.8."""
        others = [math.fsum(self.v[self.s != side]) for side in self.s]
        return self.v * others * self.s

    def step(self, alpha, h):
        """Take a step and return Z."""
        self.v = self.v * np.exp(-alpha * self.s * h)
        Z0, Z1 = math.fsum(self.v[self.s < 0]), math.fsum(self.v[self.s > 0])
        self.v = self.v / np.where(self.s > 0, Z1, Z0)
        return Z0 * Z1


def listed_pairs(grades, query, pair_weight, query_weight, weights, factors):
    """Return (worse, better, weight) of the pairs of every query."""
    results = []
    for q in np.unique(query).tolist():
        mine = np.flatnonzero(query == q).tolist()
        pairs = [(i, j) for i in mine for j in mine if grades[i] < grades[j]]
        sizes = [grades[j] - grades[i] if pair_weight == "difference" else 1.0 for i, j in pairs]
        sizes = [d * weights[i] * weights[j] for d, (i, j) in zip(sizes, pairs, strict=True)]
        scale = factors[q] / math.fsum(sizes) ** POWERS[query_weight] if pairs else 1.0
        results += [(i, j, scale * d) for d, (i, j) in zip(sizes, pairs, strict=True)]
    return results


class Case:
    """Random documents, in any order, with their pairs."""

    def __init__(
        self, seed, n=14, n_queries=2, grades=3, pair_weight="equal", query_weight="pairs",
        weighted=False, missing=True, n_columns=3,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        self.query = np.unique(rng.integers(n_queries, size=n), return_inverse=True)[1]
        self.grades = rng.integers(grades, size=n) / 2
        self.grades[:2], self.query[:2] = (0, 0.5), 0
        self.query = np.unique(self.query, return_inverse=True)[1]
        self.X = rng.integers(5, size=(n, n_columns)) / 2 + 0.5 * self.grades[:, None]
        if missing:
            self.X[rng.random(self.X.shape) < 0.2] = np.nan
            self.X[0] = 1.0  # every column has some value
        ones = np.ones(n), np.ones(self.query.max() + 1)
        some = tuple(rng.integers(1, 4, size=len(ones_of)).astype(float) for ones_of in ones)
        self.weights, self.factors = some if weighted else ones
        self.pairs = listed_pairs(
            self.grades, self.query, pair_weight, query_weight, self.weights, self.factors
        )
        self.settings = (pair_weight, query_weight)
        table = as_table(self.X)
        self.binned = fit_encode(table, None, 256)

    @property
    def n(self):
        return len(self.X)

    def feedback(self, form, backend):
        """Return the pairs as lists or as pairs."""
        if form == "lists":
            pair_weight, query_weight = self.settings
            rows = np.arange(self.n)
            layout = graded_layout(rows, self.grades, self.query, pair_weight, self.weights)
            return GradedLists(layout, backend, POWERS[query_weight], self.factors)
        worse, better, weights = (np.array(column) for column in zip(*self.pairs, strict=True))
        rows, indices = np.unique([worse, better], return_inverse=True)
        worse, better = indices.reshape(2, -1)
        return PairList(rows.astype(np.int32), worse, better, weights)

    def cuts(self, missing):
        """Yield (column, threshold, h of a missing value) and h of every document, eq. 4.9."""
        sides = {"learn": (1, 0), "low": (0,), "high": (1,)}[missing]
        for j in self.binned.splittable.tolist():
            gone = np.isnan(self.X[:, j])
            for threshold in (-np.inf, *self.binned.bins[j].thresholds.tolist()):
                for side in sides if gone.any() else (1,):
                    h = np.where(gone, side, self.X[:, j] >= threshold).astype(int)
                    yield (j, threshold, side), h


def rounds(case, backend, form, n_rounds, missing="learn", **options):
    """Yield the objective before each round, the rule, h of every document, vote and progress."""
    objective = Ranking(backend, case.feedback(form, backend), RankSettings(**options))
    learner = Stump(constant=False, missing=missing).ready(case.binned, Exhaustive(), seed=0)
    for t in range(n_rounds):
        best = objective.find(learner, t)
        if best is None:
            return
        outputs = best.rule.outputs(case.binned)
        vote = objective.vote(best)
        if vote is None:
            return
        yield objective, best.rule, (outputs[0] + 1) // 2, vote
        objective.advance(best.rule, vote)


def pi_of(objective, n):
    """Return the potentials that the search was given, by document."""
    pi = np.zeros(n)
    weighed = objective.pairs
    pi[objective.feedback.rows] = 2 * weighed.potentials / weighed.energy
    return pi


def name_of(rule, case):
    """Return a cut as `Case.cuts` names it."""
    holed = np.isnan(case.X[:, rule.column]).any()
    return rule.column, rule.threshold, (rule.missing + 1) // 2 if holed else 1


cases = st.builds(
    Case,
    seed=st.integers(0, 10**6),
    n=st.integers(3, 16),
    n_queries=st.integers(1, 3),
    grades=st.integers(2, 4),
    pair_weight=st.sampled_from(["equal", "difference"]),
    query_weight=st.sampled_from(list(POWERS)),
    weighted=st.booleans(),
    missing=st.booleans(),
)
forms = st.sampled_from(["lists", "pairs"])
sides = st.sampled_from(["learn", "low", "high"])


def assert_figure(naive, case, backend, form, **options):
    for objective, _, h, vote in rounds(case, backend, form, 8, learning_rate=0.8, **options):
        pi = naive.potentials(case.n)
        np.testing.assert_allclose(pi_of(objective, case.n), pi, rtol=0, atol=1e-12)
        assert vote.edge == pytest.approx(pi @ h, abs=1e-12)
        alpha = 2 * vote.coefficients[0]  # that of h
        assert naive.step(alpha, h) == pytest.approx(vote.energy, rel=1e-12)


@given(cases, forms)
def test_figure_4_1(case, form):
    assert_figure(General(case.pairs), case, ReferenceBackend(case.binned), form)


@given(st.integers(0, 10**6), st.integers(3, 20))
def test_figure_4_2(seed, n):
    case = Case(seed, n, n_queries=1, grades=2)
    for form in ("lists", "pairs"):
        assert_figure(Bipartite(case.grades), case, ReferenceBackend(case.binned), form)


@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
@pytest.mark.parametrize("query_weight", list(POWERS))
def test_figure_4_1_compiled(pair_weight, query_weight):
    for seed in range(5):
        case = Case(seed, 30, 3, 4, pair_weight, query_weight, seed % 2 == 1)
        with closing(NumbaBackend(case.binned)) as backend:
            for form in ("lists", "pairs"):
                assert_figure(General(case.pairs), case, backend, form)


@pytest.mark.parametrize("criterion", ["edge", "energy"])
def test_exact_steps(criterion):
    # alpha = 1/2 ln(W- / W+), Z = W0 + 2 sqrt(W- W+); the odds count as a thousand at most.
    plain = 0
    for seed in range(5):
        case = Case(seed, 40, 3, 3, "difference", "root", True)
        naive = General(case.pairs)
        options = {"criterion": criterion, "step": "exact"}
        for _, _, h, vote in rounds(case, ReferenceBackend(case.binned), "lists", 8, **options):
            minus, plus = naive.sides(h)
            minimum = 1e-3 * max(minus, plus)
            alpha = 0.5 * math.log(max(minus, minimum) / max(plus, minimum))
            assert 2 * vote.coefficients[0] == pytest.approx(alpha, rel=1e-10)
            if min(minus, plus) > minimum:
                plain += 1
                exact = 1 - minus - plus + 2 * math.sqrt(minus * plus)
                assert vote.energy == pytest.approx(exact, rel=1e-12)
            naive.step(alpha, h)
    assert plain > 20


def assert_largest(scores, chosen, room):
    """Assert that what was chosen has the largest score, and is it where there is no tie."""
    best = max(scores.values())
    assert scores[chosen] >= best - room
    ranked = sorted(scores, key=scores.get)
    if len(ranked) > 1 and scores[ranked[-2]] < best - room:
        assert chosen == ranked[-1]


def assert_largest_edges(case, backend, form, missing):
    """Figure 4-3: the weak learner maximizes |r|."""
    naive = General(case.pairs)
    for _, rule, h, vote in rounds(case, backend, form, 5, missing):
        pi = naive.potentials(case.n)
        sizes = {name: abs(pi @ outputs) for name, outputs in case.cuts(missing)}
        # Potentials are rounded to 2**-30 for the search.
        assert_largest(sizes, name_of(rule, case), case.n * 2.0**-29)
        naive.step(2 * vote.coefficients[0], h)


def assert_least_energies(case, backend, form, missing, n_rounds=5):
    naive = General(case.pairs)
    options = {"criterion": "energy", "step": "exact"}
    for _, rule, h, vote in rounds(case, backend, form, n_rounds, missing, **options):
        decreases = {}
        for name, outputs in case.cuts(missing):
            minus, plus = naive.sides(outputs)
            decreases[name] = minus + plus - 2 * math.sqrt(minus * plus)
        # Sums are rounded to 2**-31 or so, and the root of one near 0 to the root of that.
        assert_largest(decreases, name_of(rule, case), 1e-4)
        naive.step(2 * vote.coefficients[0], h)


@given(cases, forms, sides)
def test_figure_4_3(case, form, missing):
    assert_largest_edges(case, ReferenceBackend(case.binned), form, missing)


@settings(max_examples=50)
@given(cases, forms, sides)
def test_the_second_method_finds_the_least_energy(case, form, missing):
    assert_least_energies(case, ReferenceBackend(case.binned), form, missing)


@pytest.mark.parametrize("missing", ["learn", "low", "high"])
@pytest.mark.parametrize("form", ["lists", "pairs"])
@pytest.mark.parametrize("check", [assert_largest_edges, assert_least_energies])
def test_both_methods_compiled(check, form, missing):
    for seed in range(4):
        case = Case(seed, 30, 3, 3, "difference", "root", seed % 2 == 1)
        with closing(NumbaBackend(case.binned, n_jobs=2)) as backend:
            check(case, backend, form, missing)


def test_the_second_method_where_scores_are_far_apart():
    # The heavy pairs of a list of many grades are neighbors, wherever in the list they are.
    case = Case(0, 12, 1)
    case.grades, case.query = np.arange(12.0), np.zeros(12, dtype=int)
    case.pairs = listed_pairs(case.grades, case.query, "equal", "pairs", np.ones(12), np.ones(1))
    case.X = np.arange(12.0)[:, None]
    table = as_table(case.X)
    case.binned = fit_encode(table, None, 256)
    assert_least_energies(case, ReferenceBackend(case.binned), "pairs", "learn", 25)
    assert_least_energies(case, ReferenceBackend(case.binned), "lists", "learn", 25)


def test_no_rule_without_an_edge():
    # Both grades have the same values.
    X = np.array([[1.0], [2.0], [1.0], [2.0]])
    table = as_table(X)
    binned = fit_encode(table, None, 256)
    backend = ReferenceBackend(binned)
    layout = graded_layout(np.arange(4), np.array([0.0, 0, 1, 1]), np.zeros(4, int))
    feedback = GradedLists(layout, backend)
    learner = Stump(constant=False).ready(binned, Exhaustive(), seed=0)
    for criterion in ("edge", "energy"):
        assert Ranking(backend, feedback, RankSettings(criterion)).find(learner, 0) is None


@settings(max_examples=50)
@given(cases)
def test_the_energy_only_falls(case):
    for options in ({}, {"criterion": "energy", "step": "exact"}):
        taken = rounds(case, ReferenceBackend(case.binned), "lists", 8, **options)
        seen = [objective.pairs.energy for objective, *_ in taken]
        assert all(later < earlier for earlier, later in pairwise(seen))
