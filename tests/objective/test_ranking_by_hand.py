"""RankBoost on six documents, worked by hand."""

import math
from contextlib import closing

import numpy as np
import pytest

from edgewise import Exhaustive, RankBoost, Stump
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.estimators.judgments import graded_layout
from edgewise.model import Cut
from edgewise.objective import Ranking, RankSettings
from edgewise.objective.feedback import GradedLists, PairList

# Two queries of three documents. A pair counts by the weights of both documents and the difference
# of their grades.
#
#   document   a   b   c       d   e   f
#   query      1   1   1       2   2   2
#   grade      0   1   2       0   1   1
#   weight     2   1   2       1   1   2
#   h1         0   0   1       1   0   1      (the first column)
#   h2         0   1   0       0   1   1      (the second column)
#
# D in fifteenths: (a,b) 2*1*1 = 2, (a,c) 2*2*2 = 8, (b,c) 1*2*1 = 2, (d,e) 1, (d,f) 2.
X = np.array([[0, 0], [0, 1], [1, 0], [1, 0], [0, 1], [1, 1]], dtype=float)
GRADES = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0])
QUERY = np.array([0, 0, 0, 1, 1, 1])
WEIGHTS = np.array([2.0, 1.0, 2.0, 1.0, 1.0, 2.0])
PAIRS = [(0, 1, 2), (0, 2, 8), (1, 2, 2), (3, 4, 1), (3, 5, 2)]

# A potential is what the pairs with a document as the better one weigh less the others.
PI_1 = np.array([-10, 0, 10, -3, 1, 2]) / 15

# r(h1) = 10 - 3 + 2 = 9 fifteenths, r(h2) = 0 + 1 + 2 = 3. By the third method, with r = 3/5,
# alpha = 1/2 ln((1 + r) / (1 - r)) = ln 2.
# W- = 8 + 2 (c above a and b), W+ = 1 (d above e), W0 = 2 + 2: Z = (10/2 + 4 + 1 * 2) / 15 = 11/15.
ALPHA_1, Z_1 = math.log(2), 11 / 15

# D in elevenths: (a,b) 2, (a,c) 4, (b,c) 1, (d,e) 2, (d,f) 2.
D_2 = np.array([2, 4, 1, 2, 2]) / 11
PI_2 = np.array([-6, 1, 5, -4, 2, 2]) / 11

# r(h1) = 5 - 4 + 2 = 3 elevenths, r(h2) = 1 + 2 + 2 = 5: alpha = 1/2 ln((16/11) / (6/11)).
# W- = 2 + 2 + 2, W+ = 1 (b above c), W0 = 4. With s = exp(alpha) = sqrt(8/3) it is
# Z = (6/s + 4 + s) / 11.
S = math.sqrt(8 / 3)
ALPHA_2, N = math.log(S), 6 / S + 4 + S
Z_2 = N / 11
D_3 = np.array([2 / S, 4, S, 2 / S, 2 / S]) / N
PI_3 = np.array([-2 / S - 4, 2 / S - S, 4 + S, -4 / S, 2 / S, 2 / S]) / N


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    table = as_table(X)
    binned = fit_encode(table, None, 256)
    if request.param == "numpy":
        yield ReferenceBackend(binned)
    else:
        with closing(NumbaBackend(binned)) as compiled:
            yield compiled


@pytest.fixture(params=["lists", "pairs"])
def take(request, backend):
    """Return a function that makes an objective, and one that takes a round of it."""
    if request.param == "lists":
        layout = graded_layout(np.arange(6), GRADES, QUERY, "difference", WEIGHTS)
        feedback = GradedLists(layout, backend)
    else:
        worse, better, weights = (np.array(column) for column in zip(*PAIRS, strict=True))
        feedback = PairList(np.arange(6, dtype=np.int32), worse, better, weights / 3.0)
    learner = Stump(constant=False).ready(backend.table, Exhaustive(), seed=0)

    def start(*settings):
        objective = Ranking(backend, feedback, RankSettings(*settings))

        def round():
            best = objective.find(learner, 0)
            vote = objective.vote(best)
            return best.rule, vote, objective.advance(best.rule, vote)

        return objective, round

    return start


def potentials(objective):
    """Return pi of every document."""
    values = np.empty(6)
    weighed = objective.pairs
    values[objective.feedback.rows] = 2 * weighed.potentials / weighed.energy
    return values


def pair_weights(objective):
    """Return D of every pair, from the scores."""
    H = np.empty(6)
    H[objective.feedback.rows] = objective.scores
    grown = np.array([d / 15 * math.exp(H[i] - H[j]) for i, j, d in PAIRS])
    return grown / objective.pairs.energy


def close(value):
    return pytest.approx(value, rel=1e-14, abs=1e-15)


def test_potentials_before_the_first_round(take):
    objective, _ = take()
    assert objective.pairs.energy == 1.0
    assert potentials(objective) == close(PI_1)
    assert pair_weights(objective) == close(np.array([2, 8, 2, 1, 2]) / 15)


def test_the_first_round_by_the_third_method(take):
    objective, round = take("edge", "bound")
    rule, vote, progress = round()
    assert rule == Cut(0, 0.5, 0)
    assert vote.edge == close(3 / 5)
    # The coefficient of a rule of -1 and +1 is half that of the same rule as 0 and 1.
    assert vote.alpha == close(ALPHA_1 / 2)
    assert vote.votes.tolist() == [1.0]
    assert vote.energy == close(Z_1)
    assert vote.energy <= math.sqrt(1 - 9 / 25)
    assert potentials(objective) == close(PI_2)
    assert pair_weights(objective) == close(D_2)
    # H is ln 2 for c, d, f and 0 for the others: (a,b) and (d,f) tie, (d,e) is misordered.
    assert progress.ranking_loss == close((2 / 2 + 2 / 2 + 1) / 15)


def test_the_second_round_by_the_third_method(take):
    objective, round = take("edge", "bound")
    round()
    rule, vote, progress = round()
    assert rule == Cut(1, 0.5, 0)
    assert vote.edge == close(5 / 11)
    assert vote.alpha == close(ALPHA_2 / 2)
    assert vote.energy == close(Z_2)
    assert potentials(objective) == close(PI_3)
    assert pair_weights(objective) == close(D_3)
    assert objective.pairs.energy == close(Z_1 * Z_2)
    # H: a 0, b 0.49, c 0.69; d 0.69, e 0.49, f 1.18. Only (d,e) is misordered.
    assert progress.ranking_loss == close(1 / 15)


def test_the_first_round_by_the_second_method(take):
    # Z(h1) = (4 + 2 sqrt(10 * 1)) / 15; of h2, with W- = 2 + 3, W+ = 2, W0 = 8, it is
    # (8 + 2 sqrt(5 * 2)) / 15.
    objective, round = take("energy", "exact")
    rule, vote, _ = round()
    assert rule == Cut(0, 0.5, 0)
    assert vote.alpha == close(math.log(10 / 1) / 4)
    assert vote.energy == close((4 + 2 * math.sqrt(10)) / 15)
    # In units of that: (a,b) 2, (a,c) 8/s, (b,c) 2/s, (d,e) s, (d,f) 2, with s = sqrt(10).
    s = math.sqrt(10)
    grown = np.array([2, 8 / s, 2 / s, s, 2])
    assert pair_weights(objective) == close(grown / grown.sum())


def test_an_exact_step_along_the_rule_of_the_largest_edge(take):
    _, round = take("edge", "exact")
    rule, vote, _ = round()
    assert rule == Cut(0, 0.5, 0)
    assert vote.edge == close(3 / 5)
    assert vote.alpha == close(math.log(10) / 4)


def test_a_step_of_half_the_length(take):
    # exp(alpha) is sqrt(2): Z = (10 / sqrt(2) + 4 + sqrt(2)) / 15.
    _, round = take("edge", "bound", 0.5)
    _, vote, _ = round()
    assert vote.alpha == close(ALPHA_1 / 4)
    assert vote.energy == close((10 / math.sqrt(2) + 4 + math.sqrt(2)) / 15)


SETTINGS = {"n_rounds": 2, "learning_rate": 1.0, "monotonic_cst": "none"}


def test_the_model_adds_alpha_where_a_rule_says_1():
    model = RankBoost(query_weight="pairs", **SETTINGS).fit(X, GRADES, QUERY, WEIGHTS)
    assert model.predict(X) == close(ALPHA_1 * X[:, 0] + ALPHA_2 * X[:, 1])
    assert model.history_["edge"] == close(np.array([3 / 5, 5 / 11]))
    assert model.history_["energy"] == close(np.array([Z_1, Z_2]))
    assert model.history_["bound"] == close(np.array([Z_1, Z_1 * Z_2]))
    assert model.history_["ranking_loss"] == close(np.array([3 / 15, 1 / 15]))
    worded = [str(rule) for rule in model.rules()]
    assert worded == ["+0.69 where (x0 >= 0.5)", "+0.49 where (x1 >= 0.5)"]


def test_the_model_of_the_pairs_is_the_same():
    # Weights need not sum to 1, and a negative one is the opposite order.
    pairs = [[0, 1], [0, 2], [2, 1], [3, 4], [3, 5]]
    model = RankBoost(**SETTINGS).fit_pairs(X, pairs, weights=[20, 80, -20, 10, 20])
    assert model.predict(X) == close(ALPHA_1 * X[:, 0] + ALPHA_2 * X[:, 1])
    assert model.history_["bound"] == close(np.array([Z_1, Z_1 * Z_2]))
