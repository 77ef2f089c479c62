"""Exact steps along real-valued functions: the first method of Iyer 1999 section 4.2.2."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from edgewise import RankBoost
from edgewise.model import Linear
from edgewise.objective import Ranking
from edgewise.objective.feedback import Moments, best_step

LARGEST = 0.5 * math.log(1000)
"""The largest step that training takes along a function whose values are 1 apart at most."""


class Sum:
    """Z(c) = sum of a exp(c d), with its derivatives; counts its evaluations."""

    def __init__(self, a, d):
        self.a, self.d, self.calls = np.asarray(a, float), np.asarray(d, float), 0

    def __call__(self, c):
        self.calls += 1
        with np.errstate(over="ignore", invalid="ignore"):
            terms = self.a * np.exp(c * self.d)
            return Moments(*(float((terms * self.d**p).sum()) for p in range(3)))

    def energy(self, c):
        with np.errstate(over="ignore"):
            return float((self.a * np.exp(c * self.d)).sum())


weights = st.floats(1e-6, 1.0)
sums = st.lists(st.tuples(weights, st.floats(-1.0, 1.0)), min_size=1, max_size=12).map(
    lambda terms: Sum(*zip(*terms, strict=True))
)


@given(sums, st.sampled_from([1e-200, 1e-10, 1.0, 1e10, 1e200]))
def test_no_other_step_leaves_less(given_sum, scale):
    Z = Sum(given_sum.a * scale, given_sum.d)
    c = best_step(Z, LARGEST)
    assert -LARGEST <= c <= LARGEST
    others = minimize_scalar(Z.energy, bounds=(-LARGEST, LARGEST), method="bounded").x
    for other in (others, -LARGEST, LARGEST, 0.0, c - 1e-3, c + 1e-3):
        if abs(other) <= LARGEST:
            assert Z.energy(c) <= Z.energy(other) * (1 + 1e-9)
    assert Z.calls <= 60


@given(sums)
def test_the_slope_is_0_at_a_step_inside(Z):
    c = best_step(Z, LARGEST)
    _, slope, curvature = Z(c)
    if abs(c) < LARGEST * (1 - 1e-6):
        assert abs(slope) <= 1e-8 * curvature + 1e-300
    else:
        assert slope * c <= 1e-8 * curvature


@pytest.mark.parametrize("terms", [[(1.0, 0.0)], [(0.2, 0.0), (0.8, 0.0)]])
def test_flat(terms):
    assert best_step(Sum(*zip(*terms, strict=True)), LARGEST) == 0.0


@pytest.mark.parametrize("d", [1.0, 0.5, 1e-3, 1e-9])
@pytest.mark.parametrize("sign", [-1, 1])
def test_where_the_loss_falls_all_the_way_the_step_is_the_largest(d, sign):
    Z = Sum([0.3, 0.7], [sign * d, sign * d / 3])
    assert best_step(Z, LARGEST) == pytest.approx(-sign * LARGEST, rel=1e-8)


def test_two_terms_have_the_minimum_of_equation_4_2():
    for minus, plus in ((0.6, 0.2), (0.01, 0.9), (0.5, 0.5), (0.123, 0.456)):
        c = best_step(Sum([minus, plus, 0.1], [-1, 1, 0]), 10.0)
        assert c == pytest.approx(0.5 * math.log(minus / plus), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e2, 1e4])
def test_functions_of_any_scale(scale):
    rng = np.random.default_rng(0)
    for _ in range(20):
        Z = Sum(rng.exponential(size=9), scale * rng.normal(size=9))
        c = best_step(Z, 5 / scale)
        minimum = minimize_scalar(
            Z.energy, bounds=(-5 / scale, 5 / scale), method="bounded", options={"xatol": 1e-12}
        )
        assert Z.energy(c) <= minimum.fun * (1 + 1e-6)


def test_terms_that_leave_the_range_of_a_double():
    # At either end of the interval Z is infinite.
    Z = Sum([1.0, 2.0], [-700.0, 900.0])
    c = best_step(Z, LARGEST)
    assert c == pytest.approx(math.log(700 / 1800) / 1600, abs=1e-9)


def documents(seed, n=40, missing=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    y[:2] = 0, 1
    X = rng.normal(size=(n, 3)) + y[:, None] * [0.5, -0.3, 0.1]
    X *= [1.0, 30.0, 0.01]
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y, rng.integers(3, size=n)


def pairs_of(y, qid):
    worse, better = np.nonzero((y[:, None] < y) & (qid[:, None] == qid))
    return worse, better, np.full(len(worse), 1 / len(worse))


def energy(D, apart):
    return math.fsum(D * np.exp(apart))


SETTINGS = {"learning_rate": 1.0, "pair_weight": "equal", "query_weight": "pairs"}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_round_takes_the_step_of_the_least_energy(seed, missing):
    X, y, qid = documents(seed, missing=missing)
    model = RankBoost("feature", n_rounds=8, **SETTINGS).fit(X, y, qid)
    worse, better, D = pairs_of(y, qid)
    H = np.zeros(len(X))
    for t in range(model.n_rounds_):
        rule, alpha = model.fitted_.terms.rule(t), float(model.fitted_.terms.coefficients[t, 0])
        h = np.where(np.isnan(X[:, rule.column]), rule.fill, X[:, rule.column])
        before, along = H[worse] - H[better], h[worse] - h[better]
        Z = energy(D, before + alpha * along)
        minimum = minimize_scalar(lambda a, b=before, d=along: energy(D, b + a * d)).fun
        assert pytest.approx(minimum, rel=1e-9) == Z
        for factor in (0.0, 0.5, 0.9, 1.1, 2.0):
            assert energy(D, before + factor * alpha * along) >= Z
        assert model.history_["bound"][t] == pytest.approx(Z, rel=1e-10)
        H = H + alpha * h
    np.testing.assert_allclose(model.predict(X), H, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_column_and_what_missing_values_count_as_lower_the_loss_most_to_second_order(seed):
    X, y, qid = documents(seed)
    model = RankBoost("feature", n_rounds=6, **SETTINGS).fit(X, y, qid)
    worse, better, D = pairs_of(y, qid)
    H = np.zeros(len(X))
    for t in range(model.n_rounds_):
        weights = D * np.exp(H[worse] - H[better])
        decreases = {}
        for j, column in enumerate(X.T):
            low, high = np.nanmin(column), np.nanmax(column)
            for fill in (low, (low + high) / 2, high):
                h = np.where(np.isnan(column), fill, column)
                d = h[worse] - h[better]
                decreases[j, fill] = (weights @ d) ** 2 / (weights @ d**2)
        rule = model.fitted_.terms.rule(t)
        column, fill = max(decreases, key=decreases.get)
        assert rule.column == column
        assert rule.fill == pytest.approx(fill, rel=1e-12)
        H = model.fitted_.terms.coefficients[t, 0] * rule.outputs(_Source(X))[0] + H


class _Source:
    """Rows as a rule reads them."""

    def __init__(self, X):
        self.X, self.n_rows = X, len(X)

    def numbers(self, j):
        return self.X[:, j]


def test_missing_values_count_as_one_of_three_values():
    X, y, qid = documents(4)
    model = RankBoost("feature", n_rounds=20).fit(X, y, qid)
    for t in range(model.n_rounds_):
        rule = model.fitted_.terms.rule(t)
        assert isinstance(rule, Linear)
        column = X[:, rule.column]
        low, high = np.nanmin(column), np.nanmax(column)
        choices = [low, (low + high) / 2, high]
        assert any(rule.fill == pytest.approx(value) for value in choices)


def test_a_column_times_a_number_gives_the_same_ranking():
    X, y, qid = documents(5)
    model = RankBoost("feature", n_rounds=15).fit(X, y, qid)
    for scale in (1e-9, 1e-3, 1e6, -1.0):
        other = RankBoost("feature", n_rounds=15).fit(X * scale, y, qid)
        np.testing.assert_allclose(other.predict(X * scale), model.predict(X), rtol=1e-6)


def differences(model, X):
    scores = model.predict(X)
    return scores - scores[0]


@pytest.mark.parametrize("shift", [10.0, 1e4, 1e9])
def test_a_number_added_to_all_columns_gives_the_same_ranking(shift):
    # Only differences of values count. Eighths, so that nothing is rounded as it is added.
    X, y, qid = documents(6)
    X = np.round(X * 8) / 8
    model = RankBoost("feature", n_rounds=10).fit(X, y, qid)
    other = RankBoost("feature", n_rounds=10).fit(X + shift, y, qid)
    np.testing.assert_allclose(
        differences(other, X + shift), differences(model, X), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_values_whose_squares_leave_the_range_of_a_double(scale):
    X, y, qid = documents(7)
    model = RankBoost("feature", n_rounds=5).fit(X, y, qid)
    other = RankBoost("feature", n_rounds=5).fit(X * scale, y, qid)
    np.testing.assert_allclose(other.predict(X * scale), model.predict(X), rtol=1e-6)


def test_a_column_that_ranks_all_pairs_gets_a_finite_step():
    y = np.arange(10)
    model = RankBoost("feature", n_rounds=1, learning_rate=1.0).fit(y[:, None] * 2.0, y)
    # Values up to 18 apart.
    assert model.predict([[18.0]])[0] - model.predict([[0.0]])[0] == pytest.approx(LARGEST)


@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
def test_the_best_column_is_that_of_the_exact_sums(pair_weight, monkeypatch):
    # Equal columns tie, constant ones and columns of the query alone have no slope.
    rng = np.random.default_rng(3)
    X, qid = rng.normal(size=(300, 9)), np.repeat(np.arange(20), 15)
    X[:, 5], X[:, 6], X[:, 7] = X[:, 2], 1.0, qid
    y = np.clip(np.rint(X[:, 2] + X[:, 4] + rng.normal(size=300)), 0, 3)
    decreases, numbers = Ranking.decreases, []

    def compared(self, rules, only_best=False):
        exact, quick = decreases(self, rules), decreases(self, rules, only_best=True)
        assert only_best
        assert np.argmax(quick) == np.argmax(exact)
        assert all(x in (0.0, other) for x, other in zip(quick, exact, strict=True))
        numbers.append(sum(x > 0 for x in quick))
        return quick

    monkeypatch.setattr(Ranking, "decreases", compared)
    model = RankBoost("feature", objective="pairs", n_rounds=6, pair_weight=pair_weight)
    model.fit(X, y, qid=qid)
    assert len(numbers) == 6
    assert max(numbers) == 2
