"""AdaBoost.MH on three points, worked by hand."""

import numpy as np
import pytest

from edgewise import Exhaustive, Stump
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.model import Cut
from edgewise.objective import Hamming, HammingSettings, Targets

# x = 1, 2, 3 with the classes a, b, c. Balanced weights (Kégl 2014b eq. 2): 1/6 for the right class
# and 1/12 for each other one. In twelfths the signed weights w y are
#            a   b   c
#   x = 1    2  -1  -1
#   x = 2   -1   2  -1
#   x = 3   -1  -1   2
LABELS = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=np.int8)


@pytest.fixture
def points():
    table = as_table([[1.0], [2.0], [3.0]])
    binned = fit_encode(table, None, 256)
    targets = Targets(
        LABELS, np.array([0, 1, 2], np.int32), np.full(3, 1 / 3), np.array([[0.25] * 3, [0.5] * 3])
    )
    objective = Hamming(ReferenceBackend(binned), targets, HammingSettings("discrete"))
    learner = Stump().ready(binned, Exhaustive(), seed=0)

    def take_round():
        best = objective.find(learner, 0)
        signs = best.rule.outputs(binned)
        vote = objective.vote(best)
        return best, signs, vote, objective.advance(best.rule, vote)

    return objective, take_round


def test_initial_weights(points):
    objective, _ = points
    expected = np.where(LABELS > 0, 1 / 6, 1 / 12)
    np.testing.assert_allclose(objective.state.weights, expected, rtol=1e-14)


def test_first_round(points):
    objective, take_round = points
    # Edges in twelfths. The constant: 0 + 0 + 0. x >= 1.5, phi = (-, +, +): -4, 2, 2, in all 8.
    # x >= 2.5, phi = (-, -, +): -2, -2, 4, in all 8 as well; the lower threshold wins the tie.
    best, signs, vote, progress = take_round()
    assert best.rule == Cut(0, 1.5, 0)
    assert best.edge == pytest.approx(2 / 3 * 2**30, abs=4.5)  # nine entries are rounded
    assert signs.tolist() == [[-1, 1, 1]]
    # v = (-, +, +), edge 8/12 = 2/3, alpha = 1/2 ln((5/3) / (1/3)), Z = sqrt(1 - 4/9).
    assert vote.votes.tolist() == [-1.0, 1.0, 1.0]
    assert vote.edge == pytest.approx(2 / 3, rel=1e-14)
    assert vote.alpha == pytest.approx(0.5 * np.log(5), rel=1e-14)
    assert vote.energy == pytest.approx(np.sqrt(5) / 3, rel=1e-14)
    # Entries that agree shrink by exp(-alpha) / Z = 3/5, the others grow by exp(alpha) / Z = 3:
    # these are class c at x = 2 and class b at x = 3.
    expected = np.array([[0.10, 0.05, 0.05], [0.05, 0.10, 0.25], [0.05, 0.25, 0.10]])
    np.testing.assert_allclose(objective.state.weights, expected, rtol=1e-14)
    # w'_Sigma = |-2 - 1 - 1| + |1 + 2 - 1| + |1 - 1 + 2| = 8 twelfths.
    assert progress.pseudo_weight == pytest.approx(2 / 3, rel=1e-14)
    # At x = 2 and x = 3 b and c tie and b comes first: one row of three is wrong, and two entries
    # of 1/12 have the wrong sign.
    assert progress.train_error == pytest.approx(1 / 3, rel=1e-14)
    assert progress.hamming_loss == pytest.approx(1 / 6, rel=1e-14)


def test_second_round(points):
    objective, take_round = points
    take_round()
    # The signed weights are (0.1, -0.05, -0.05), (-0.05, 0.1, -0.25), (-0.05, -0.25, 0.1).
    # Edges: the constant 0, -0.2, -0.2; x >= 1.5: -0.2, -0.1, -0.1; x >= 2.5: -0.1, -0.3, 0.4.
    best, _, vote, progress = take_round()
    assert best.rule == Cut(0, 2.5, 0)
    assert vote.votes.tolist() == [-1.0, -1.0, 1.0]
    assert vote.edge == pytest.approx(0.8, rel=1e-13)
    # Right is 0.9 and wrong 0.1: alpha = 1/2 ln 9 and Z = 2 sqrt(0.9 * 0.1) = 0.6.
    assert vote.alpha == pytest.approx(0.5 * np.log(9), rel=1e-13)
    assert vote.energy == pytest.approx(0.6, rel=1e-13)
    # h1 = 0.805 v1 phi1 and h2 = 1.099 v2 phi2:
    #   x = 1: (0.805 + 1.099, -0.805 + 1.099, -0.805 - 1.099): class a
    #   x = 2: (-0.805 + 1.099, 0.805 + 1.099, 0.805 - 1.099): class b
    #   x = 3: (-0.805 - 1.099, 0.805 - 1.099, 0.805 + 1.099): class c
    assert progress.train_error == 0.0
    # Two signs are wrong: b at x = 1 and a at x = 2.
    assert progress.hamming_loss == pytest.approx(1 / 6, rel=1e-13)
    a1, a2 = 0.5 * np.log(5), 0.5 * np.log(9)
    expected = [
        [a1 + a2, a2 - a1, -a1 - a2],
        [a2 - a1, a1 + a2, a1 - a2],
        [-a1 - a2, a1 - a2, a1 + a2],
    ]
    np.testing.assert_allclose(objective.state.scores, np.array(expected).T, rtol=1e-13)


def test_the_loss_after_two_rounds_is_the_product_of_the_energies(points):
    objective, take_round = points
    take_round()
    take_round()
    first = np.where(LABELS > 0, 1 / 6, 1 / 12)
    loss = (first * np.exp(-objective.state.scores * LABELS)).sum()
    assert loss == pytest.approx(np.sqrt(5) / 3 * 0.6, rel=1e-13)
