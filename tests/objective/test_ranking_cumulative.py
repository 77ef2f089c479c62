"""Positive cumulative weights (Iyer 1999 section 4.3): what a rule's steps add up to keeps its
sign.

A rule is a column, a threshold and what it says of missing values.
"""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from edgewise import RankBoost, Stump
from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.data import as_table, fit_encode
from edgewise.model import Cut, Subset
from edgewise.objective import Cumulative, edge_limit


def documents(seed, n=40, missing=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    y[:2] = 0, 2
    X = rng.integers(6, size=(n, 3)) + y[:, None] * [1.0, -1.0, 0.5]
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def steps_of(model):
    """Yield (column, threshold, missing side) and the step of every round, of rules of 0 and 1."""
    terms = model.fitted_.terms
    for t in range(len(terms)):
        yield terms.rule(t), 2 * float(terms.coefficients[t, 0])


def potentials(H, y):
    """Return pi of every document of one query, each pair weighing exp(H0 - H1)."""
    weights = np.exp(H[:, None] - H) * (y[:, None] < y)
    weights /= weights.sum()
    return weights.sum(axis=0) - weights.sum(axis=1), weights


def all_rules(X, thresholds):
    """Yield (column, threshold, side) and h of every document, as rules with a learned side."""
    for j, column in enumerate(X.T):
        gone = np.isnan(column)
        for threshold in (-np.inf, *thresholds[j]):
            for side in (1, -1) if gone.any() else (0,):
                yield Cut(j, float(threshold), side), np.where(gone, side > 0, column >= threshold)


class Allowed:
    """Which steps rules may take, given those so far."""

    def __init__(self, directions):
        self.directions = directions
        self.weights = defaultdict(float)

    def room(self, rule, step):
        """Return by how much the cumulative weight stays on its side."""
        direction = self.direction(rule)
        return direction * (self.weights[rule] + step) if direction * step < 0 else math.inf

    def direction(self, rule):
        """Return the direction of the rule's column; whether a value is there has none."""
        return self.directions[rule.column] if rule.threshold > -math.inf else 0

    def add(self, rule, step):
        self.weights[rule] += step
        assert self.direction(rule) * self.weights[rule] >= -1e-12


def full_step(rate, pi, weights, h, criterion):
    """Return what the rule is compared by, and its thesis's alpha before anything is cut."""
    r = pi @ h
    if criterion == "edge":
        return abs(r), 0.5 * rate * math.log((1 + r) / (1 - r))
    minus = weights[~h][:, h].sum()
    plus = weights[h][:, ~h].sum()
    minimum = 1e-3 * max(minus, plus)
    odds = max(minus, minimum) / max(plus, minimum) if minimum > 0 else 1.0
    return minus + plus - 2 * math.sqrt(minus * plus), 0.5 * rate * math.log(odds)


def assert_best_of_the_allowed(X, y, directions, criterion, rate=1.0, n_rounds=60):
    """Follow the training and return all steps."""
    model = RankBoost(
        n_rounds=n_rounds, learning_rate=rate, monotonic_cst=directions, criterion=criterion,
        pair_weight="equal",
    ).fit(X, y)  # fmt: skip
    table = as_table(X)
    thresholds = [bins.thresholds for bins in fit_encode(table, None, 65535).bins]
    allowed, H, taken = Allowed(directions), np.zeros(len(X)), []
    room = 1e-6 if criterion == "edge" else 1e-4
    for rule, step in steps_of(model):
        pi, weights = potentials(H, y)
        sizes = {}
        for other, h in all_rules(X, thresholds):
            size, full = full_step(rate, pi, weights, h.astype(bool), criterion)
            # Limits are in the search's fixed point: on the very edge either may be.
            if allowed.room(other, full) > 1e-6:
                sizes[other] = size
        mine = next(h for other, h in all_rules(X, thresholds) if other == rule).astype(bool)
        size, full = full_step(rate, pi, weights, mine, criterion)
        assert allowed.room(rule, full) > -1e-6
        assert size >= max(sizes.values(), default=0.0) - room
        assert step == pytest.approx(full, abs=1e-6)
        allowed.add(rule, step)
        H = H + step * mine
        taken.append(step)
    assert len(taken) == model.n_rounds_ > 0
    return taken


@pytest.mark.parametrize("criterion", ["edge", "energy"])
@pytest.mark.parametrize("directions", [[1, 1, 1], [-1, 1, -1], [0, 1, -1]], ids=str)
def test_the_best_of_the_rules_whose_cumulative_weight_keeps_its_sign(directions, criterion):
    back = 0
    for seed in (0, 1, 11):
        X, y = documents(seed)
        steps = assert_best_of_the_allowed(X, y, directions, criterion)
        back += sum(step < 0 for step in steps) if directions == [1, 1, 1] else 0
    # Some steps take back what others gave.
    assert directions != [1, 1, 1] or back > 0


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("options", [
    {}, {"missing": "low"}, {"missing": "high"}, {"criterion": "energy"}, {"step": "exact"},
    {"learning_rate": 1.0}, {"subsample": 0.5, "random_state": 0},
    {"learner": Stump(missing="abstain", constant=False)},
], ids=str)  # fmt: skip
def test_increasing(monkeypatch, backend, options):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y = documents(1, n=60)
    qid = np.arange(60) % 4
    model = RankBoost(**{"n_rounds": 60, "monotonic_cst": "increasing", **options}).fit(X, y, qid)
    allowed = Allowed([1, 1, 1])
    for rule, step in steps_of(model):
        allowed.add(rule, step)
    assert_curves(model, X, [1, 1, 1])


def curve(model, X, j):
    """Return the scores of documents that differ in one column only, by its rising values."""
    values = np.unique(X[:, j][~np.isnan(X[:, j])])
    rows = np.zeros((len(values), X.shape[1]))
    rows[:, j] = values
    names = getattr(model, "feature_names_in_", None)
    return model.predict(rows if names is None else pd.DataFrame(rows, columns=names))


def assert_curves(model, X, directions):
    """Each column's contribution never falls, never rises, or may do both (0)."""
    for j, direction in enumerate(directions):
        assert (direction * np.diff(curve(model, X, j)) >= -1e-12).all(), j


@pytest.mark.parametrize("seed", range(3))
def test_learned_directions_are_those_of_the_first_rules(seed):
    X, y = documents(seed, n=60)
    model = RankBoost(n_rounds=80).fit(X, y)
    first = {}
    for rule, step in steps_of(model):
        if rule.threshold > -math.inf:
            first.setdefault(rule.column, np.sign(step))
    directions = [first.get(j, 0) for j in range(3)]
    assert directions[:2] == [1, -1]
    assert_curves(model, X, directions)
    allowed = Allowed(directions)
    for rule, step in steps_of(model):
        allowed.add(rule, step)


def test_a_free_column_may_run_both_ways():
    X, y = documents(0, n=60)
    free = RankBoost(n_rounds=80, monotonic_cst="none").fit(X, y)
    runs = [np.sign(np.diff(curve(free, X, j))) for j in range(3)]
    assert any({1.0, -1.0} <= set(run.tolist()) for run in runs)


def test_directions_by_column_or_by_name():
    X, y = documents(0, n=60)
    frame = pd.DataFrame(X, columns=["up", "down", "any"])
    listed = RankBoost(n_rounds=40, monotonic_cst=[1, -1, 0]).fit(frame, y)
    named = RankBoost(n_rounds=40, monotonic_cst={"up": 1, "down": -1, "any": 0}).fit(frame, y)
    array = RankBoost(n_rounds=40, monotonic_cst=np.array([1, -1, 0])).fit(frame, y)
    assert_curves(listed, X, [1, -1, 0])
    for other in (named, array):
        np.testing.assert_array_equal(other.predict(frame), listed.predict(frame))
    plain = RankBoost(n_rounds=40, monotonic_cst={"x0": 1, "x1": -1, "x2": 0}).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), listed.predict(frame))
    free = RankBoost(n_rounds=40, monotonic_cst=[0, 0, 0]).fit(X, y)
    none = RankBoost(n_rounds=40, monotonic_cst="none").fit(X, y)
    np.testing.assert_array_equal(free.predict(X), none.predict(X))


@pytest.mark.parametrize("criterion", ["edge", "energy"])
def test_a_column_whose_low_values_are_good(criterion):
    y = np.arange(8)
    X = np.column_stack([-y, y // 4])  # the first one ranks all pairs, the wrong way round
    free = RankBoost(n_rounds=5, monotonic_cst="none", criterion=criterion).fit(X, y)
    assert free.fitted_.terms.columns[0] == 0
    assert free.fitted_.terms.votes[0, 0] == -1.0
    rising = RankBoost(n_rounds=5, monotonic_cst="increasing", criterion=criterion).fit(X, y)
    assert set(rising.fitted_.terms.columns.tolist()) == {1}
    assert (rising.fitted_.terms.votes == 1.0).all()
    alone = RankBoost(n_rounds=5, monotonic_cst="increasing", criterion=criterion).fit(X[:, :1], y)
    assert alone.n_rounds_ == 0
    assert alone.stop_reason_ == "no edge"


def test_categorical_columns_are_free():
    X, y = documents(2, n=60, missing=False)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = pd.Categorical(np.array(list("uvw"))[np.random.default_rng(0).permutation(y)])
    model = RankBoost(n_rounds=60, monotonic_cst="increasing").fit(frame, y)
    rules = [model.fitted_.terms.rule(t) for t in range(model.n_rounds_)]
    assert any(isinstance(rule, Subset) for rule in rules)
    allowed = Allowed([1, 1, 1])
    for rule, step in steps_of(model):
        if isinstance(rule, Cut):
            allowed.add(rule, step)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_the_limit_of_an_edge_is_where_its_step_takes_back_all(rate):
    # The step of a rule of -1 and +1 is rate / 4 ln((1 + r) / (1 - r)).
    for r in (0.0, 0.1, 0.5, 0.9):
        step = rate / 4 * math.log((1 + r) / (1 - r))
        assert edge_limit(step, rate) == pytest.approx(r * SEARCH_SCALE, abs=2)


def test_steps_are_cut_where_the_weight_would_change_its_sign():
    table = as_table([[1.0], [2.0], [3.0], [np.nan]])
    binned = fit_encode(table, None, 256)
    kept = Cumulative(binned, np.array([1], np.int8), learn=np.array([False]))
    low, high = Cut(0, 1.5, -1), Cut(0, 1.5, 1)
    assert kept.clip(low, 0.5) == 0.5
    assert kept.clip(low, -0.5) == 0.0
    kept.add(low, 0.3)
    assert kept.clip(low, -0.2) == -0.2
    assert kept.clip(low, -0.5) == -0.3
    # With missing values on the other side it is another rule.
    assert kept.clip(high, -0.5) == 0.0
    kept.add(low, -0.3)
    assert kept.clip(low, -0.1) == 0.0
    # Nothing is left of the weight, and nothing owed.
    kept.add(low, 0.1)
    assert kept.clip(low, -0.5) == -0.1


def test_a_column_learns_its_direction_from_its_first_step():
    table = as_table(np.arange(8.0).reshape(4, 2))
    binned = fit_encode(table, None, 256)
    kept = Cumulative(binned, np.zeros(2, np.int8), learn=np.array([True, True]))
    kept.add(Cut(1, 2.0, 0), -0.4)
    assert kept.directions.tolist() == [0, -1]
    assert kept.clip(Cut(1, 4.0, 0), 0.1) == 0.0
    assert kept.clip(Cut(0, 1.0, 0), 0.1) == 0.1
