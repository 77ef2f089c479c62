"""Many small rankers on parts of one table, which is binned once."""

from contextlib import closing
from dataclasses import fields

import numpy as np
import pytest

from edgewise import Exhaustive, RankBoost, Stump
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.boosting import RANKER_FIELDS, History, Task, TermList, TrainingRun, boost
from edgewise.data import as_table, encode, fit_encode
from edgewise.estimators.judgments import graded_layout
from edgewise.model import Terms
from edgewise.objective import Ranking, RankSettings
from edgewise.objective.feedback import GradedLists, PairList

# Movies that some of the users have rated; each user's own ratings are a ranker's grades.
rng = np.random.default_rng(0)
RATINGS = rng.integers(1, 6, size=(120, 8)) + rng.integers(0, 3, size=(120, 1))
X = np.where(rng.random(RATINGS.shape) < 0.3, np.nan, RATINGS)
USERS = [np.sort(rng.choice(120, size=size, replace=False)) for size in rng.integers(6, 40, 50)]
GRADES = [rng.integers(3, size=len(rows)) + (RATINGS[rows, 0] > 4) for rows in USERS]


def binned(table):
    return encode(table, BINS)


BINS = fit_encode(as_table(X), None, 65535).bins
WHOLE = binned(as_table(X))


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    if request.param == "numpy":
        yield ReferenceBackend(WHOLE)
    else:
        with closing(NumbaBackend(WHOLE)) as compiled:
            yield compiled


@pytest.fixture
def no_binning(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("binned again")

    monkeypatch.setattr("edgewise.data.coding.find_bins", refuse)
    monkeypatch.setattr("edgewise.data.bins.Bins.encode", refuse)
    return monkeypatch


def train(backend, feedback, settings, n_rounds=6):
    """Return the terms and the history of a ranker."""
    objective = Ranking(backend, feedback, settings)
    learner = Stump(constant=False).ready(backend.table, Exhaustive(), seed=0)
    terms, history = TermList(Terms.empty(1, n_cuts=1)), History(RANKER_FIELDS)
    run = TrainingRun(n_rounds, history, save=print)
    boost([Task(backend.table, objective, learner)], terms, {}, run, [])
    return terms.pack(), history


def assert_same(ours, theirs):
    for field in fields(Terms):
        np.testing.assert_array_equal(getattr(ours[0], field.name), getattr(theirs[0], field.name))
    np.testing.assert_array_equal(ours[1].to_array(), theirs[1].to_array())


def lists(backend, rows, grades):
    layout = graded_layout(rows, grades.astype(float), np.zeros(len(rows), int))
    return GradedLists(layout, backend)


@pytest.mark.parametrize(
    ("settings", "n_rankers"),
    [(RankSettings(), 50), (RankSettings("energy", "exact", 0.5), 12)],
    ids=["edge", "energy"],
)
def test_a_ranker_of_some_rows_is_the_one_of_these_rows_alone(
    backend, no_binning, settings, n_rankers
):
    shared = [
        train(backend, lists(backend, rows, grades), settings)
        for rows, grades in zip(USERS[:n_rankers], GRADES, strict=False)
    ]
    no_binning.undo()
    assert sum(len(terms) for terms, _ in shared) > 4 * n_rankers
    for rows, grades, ranker in zip(USERS, GRADES, shared, strict=False):
        alone = ReferenceBackend(binned(as_table(X[rows])))
        assert_same(ranker, train(alone, lists(alone, np.arange(len(rows)), grades), settings))


def test_pairs_of_some_rows(backend, no_binning):
    some = USERS[0].astype(np.int32)
    worse, better = np.arange(0, len(some) - 1, 2), np.arange(1, len(some), 2)
    weights = np.arange(1.0, len(worse) + 1)
    feedback = PairList(some, worse, better, weights)
    ranker = train(backend, feedback, RankSettings())
    no_binning.undo()
    alone = ReferenceBackend(binned(as_table(X[some])))
    rows = np.arange(len(some), dtype=np.int32)
    assert_same(ranker, train(alone, PairList(rows, worse, better, weights), RankSettings()))


def test_the_estimator_makes_the_same_rankers(backend):
    # Its thresholds are between the values of these rows, so rules are compared by what they say.
    for rows, grades in zip(USERS[:12], GRADES, strict=False):
        terms, history = train(backend, lists(backend, rows, grades), RankSettings(), 10)
        model = RankBoost(
            n_rounds=10, learning_rate=1.0, monotonic_cst="none", pair_weight="equal",
            query_weight="pairs",
        ).fit(X[rows], grades)  # fmt: skip
        np.testing.assert_array_equal(model.fitted_.terms.columns, terms.columns)
        np.testing.assert_array_equal(model.fitted_.terms.alphas, terms.alphas)
        np.testing.assert_array_equal(model.history_["ranking_loss"], history["ranking_loss"])
        for t in range(len(terms)):
            ours = model.fitted_.terms.rule(t).outputs(encode_alone(rows))
            np.testing.assert_array_equal(ours, terms.rule(t).outputs(WHOLE)[:, rows])


def encode_alone(rows):
    table = as_table(X[rows])
    return fit_encode(table, None, 65535)
