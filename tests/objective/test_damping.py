"""`damping`: real votes and gains add the weight of some rows to either side."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from edgewise import AdaBoostMH, Stump, Tree
from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import ScanQuery
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.objective import Hamming, HammingSettings

TREE = Tree(Stump(constant=False), 2, "free", "gain")

# The damped leaves of trees are rounded to half precision.
HALF = 2.0**-11

# Twenty rows on either side of one cut, of which 15 and 8 are of class 1.
X = np.repeat([[0.0], [1.0]], 20, axis=0)
Y = np.array([1] * 15 + [0] * 5 + [1] * 8 + [0] * 12)


def expected(counts, slope, damping):
    right, wrong = counts * slope
    return 0.5 * np.log((right + damping) / (wrong + damping))


@pytest.mark.parametrize("learner", [TREE, Stump(constant=False)], ids=["tree", "stump"])
@pytest.mark.parametrize(("loss", "slope"), [("exponential", 1.0), ("logistic", 0.5)])
@pytest.mark.parametrize("damping", [0.01, 0.5, 3.0])
def test_a_hand_worked_round(learner, loss, slope, damping):
    y = Y if learner is TREE else np.array([0] * 18 + [1] * 2 + [1] * 15 + [0] * 5)
    model = AdaBoostMH(
        learner, preset="paper", n_rounds=1, votes="real", loss=loss, damping=damping
    ).fit(X, y)
    low, high = model.decision_function([[0.0], [1.0]])
    if learner is TREE:
        assert low == pytest.approx(expected(np.array([15, 5]), slope, damping), rel=HALF)
        assert high == pytest.approx(expected(np.array([8, 12]), slope, damping), rel=HALF)
    else:
        assert -low == high == pytest.approx(expected(np.array([33, 7]), slope, damping), rel=1e-6)


def test_weights_count_in_units_of_the_average_row():
    weights = np.where(Y == 1, 2.0, 1.0)
    model = AdaBoostMH(TREE, preset="paper", n_rounds=1, votes="real", loss="logistic", damping=0.5)
    score = model.fit(X, Y, sample_weight=weights).decision_function([[0.0]])
    votes = expected(np.array([30, 5]) / weights.mean(), 0.5, 0.5)
    assert score == pytest.approx(votes, rel=HALF)
    again = model.fit(X, Y, sample_weight=weights * 7).decision_function([[0.0]])
    assert again == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "softmax"])
@pytest.mark.parametrize("learner", [Stump(), Tree(Stump(), 4, "free"), TREE], ids=str)
def test_votes_of_every_round(make_problem, make_targets, boost, loss, learner):
    """Whatever the loss has come to, a row is worth the same."""
    damping, n, k = 0.7, 80, 3
    problem = make_problem(2, n=n, n_scores=k, kind="multiclass")
    targets = make_targets(0, problem, "uniform")
    settings = HammingSettings("real", loss=loss, damping=damping, learning_rate=0.5)
    backend = ReferenceBackend(problem.binned)
    objective = Hamming(backend, targets, settings, learner.needs_mass)
    labels, n_rounds = objective.state.labels, 0
    scores = np.zeros((k, n))
    for step in boost(objective, 8, learner):
        p = softmax(scores, axis=0)
        plain = {
            "exponential": np.exp(-labels * scores),
            "logistic": 1 / (1 + np.exp(labels * scores)),
            "softmax": np.abs((labels > 0) - p),
        }[loss]
        moved = step.vote.coefficients[:, None] * step.signs
        scores = scores + moved
        if (step.signs == 1).all():
            continue
        for w, y, row in zip(plain, labels, np.round(moved, 12), strict=True):
            if learner.makes_tests:
                # A vote for both sides: where it is right, and where it is wrong.
                agree = y * row > 0
                votes = [(np.abs(row[0]), w[agree].sum(), w[~agree].sum())]
            else:
                leaves = [row == value for value in np.unique(row)]
                votes = [
                    (row[at][0], w[at & (y > 0)].sum(), w[at & (y < 0)].sum()) for at in leaves
                ]
            for value, right, wrong in votes:
                odds = (right + damping) / (wrong + damping)
                close = {"abs": 1e-6, "rel": 1e-6 if learner.makes_tests else HALF}
                assert value == pytest.approx(0.5 * 0.5 * np.log(odds), **close)
        n_rounds += 1
    assert n_rounds >= 5


def test_more_damping_takes_smaller_steps():
    settings = {"n_rounds": 1, "votes": "real", "loss": "logistic"}
    sizes = [
        np.abs(
            AdaBoostMH(TREE, preset="paper", damping=d, **settings).fit(X, Y).decision_function(X)
        ).max()
        for d in (None, 0.1, 1.0, 10.0)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_a_row_alone_gets_a_vote_of_bounded_size():
    """Without damping a pure leaf of one row votes as one of a hundred."""
    X, y = np.arange(101.0)[:, None], np.array([1] + [0] * 50 + [1] * 50)
    settings = {"n_rounds": 1, "votes": "real", "loss": "logistic", "min_samples_leaf": 1}
    tree = Tree(Stump(), 3, "free", "gain")
    alone, _, many = (
        AdaBoostMH(tree, preset="paper", damping=0.5, **settings)
        .fit(X, y)
        .decision_function([[0], [30], [90]])
    )
    assert alone == pytest.approx(0.5 * np.log((0.5 + 0.5) / 0.5), rel=HALF)
    assert many == pytest.approx(0.5 * np.log((25 + 0.5) / 0.5), rel=HALF)


def test_backends_agree(make_problem, make_targets, make_objective, boost):
    problem = make_problem(4, n=90, n_scores=3, kind="multiclass")
    targets = make_targets(0, problem, "uniform")
    settings = {"loss": "softmax", "damping": 0.5, "min_leaf_rows": 4, "subsample": 0.7}
    runs = [
        make_objective(problem, targets, "real", **settings),
        make_objective(problem, targets, "real", backend=NumbaBackend, **settings),
    ]
    learner = Tree(Stump(), 6, "free")
    for a, b in zip(*(boost(run, 12, learner) for run in runs), strict=True):
        assert np.array_equal(a.signs, b.signs)
        assert np.array_equal(a.weights, b.weights)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 4.0]), st.integers(1, 3))
def test_gains_are_of_the_weight_and_the_damping(make_problem, seed, damping, n_scores):
    """Both backends find the cut that a trial of every cut finds."""
    case = make_problem(seed, n=30, d=3, n_scores=n_scores, kind="multilabel")
    problem = case.state(mass_column=True).whole
    signed = problem.signed.transpose(1, 0, 2).reshape(30, -1)[:, :n_scores].astype(np.int64)
    columns, row = case.binned.splittable, SEARCH_SCALE / 30
    with closing(NumbaBackend(case.binned)) as compiled:
        cuts = [
            backend.scan(
                backend.histogram(columns, problem),
                ScanQuery("gain", False, damping=damping * row),
            )
            for backend in (ReferenceBackend(case.binned), compiled)
        ]
    for name in ("edges", "first", "missing"):
        np.testing.assert_array_equal(getattr(cuts[0], name), getattr(cuts[1], name))
    for q, j in enumerate(columns.tolist()):
        best, bins = -1, case.binned.bins[j]
        for first in range(bins.missing_code):
            for side in (1, -1) if bins.has_missing else (1,):
                phi = case.binned.cut(j, first, side)
                sides = [signed[phi < 0], signed[phi > 0]]
                masses = [int(np.abs(edges).sum()) for edges in sides]
                if min(masses) > 0:
                    gains = [
                        round(int((edges.sum(axis=0) ** 2).sum()) / (mass + damping * row) * 2**20)
                        for edges, mass in zip(sides, masses, strict=True)
                    ]
                    best = max(best, sum(gains))
        assert cuts[0].edges[q] == best


def test_damping_is_positive_and_for_real_votes():
    with pytest.raises(ValueError, match="damping must be"):
        AdaBoostMH(damping=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="damping"):
        AdaBoostMH("stump", preset="paper", damping=0.5).fit(X, Y)
