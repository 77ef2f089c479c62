"""The stump that is found is the best there is (seed 001, appendix C)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.data import as_table, encode, fit_bins
from edgewise.kernels import State, Step, TwinKernels
from edgewise.kernels.twins import unpacked
from edgewise.learners import CONSTANT, Stump, learner_named
from edgewise.search import Exhaustive

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(2, 12),
        "d": st.integers(1, 4),
        "n_scores": st.integers(1, 3),
        "levels": st.integers(1, 4),
        "missing": st.booleans(),
        "weight_levels": st.sampled_from([2, 3, None]),
    }
)


def everything(binned):
    return Exhaustive().start(binned.splittable, np.random.default_rng(0))


def outputs(X, column, threshold, missing):
    return np.where(np.isnan(X[:, column]), missing, np.where(X[:, column] >= threshold, 1, -1))


def all_stumps(X, bins, constant):
    """Yield (column, first bin, missing side, phi) in the order in which ties are broken."""
    for j in range(X.shape[1]):
        present = X[~np.isnan(X[:, j]), j]
        if len(np.unique(present)) + (len(present) < len(X)) < 2:
            continue
        for first in range(len(bins[j].thresholds) + 1):
            threshold = bins[j].thresholds[first - 1] if first else -np.inf
            for missing in (1, -1) if len(present) < len(X) else (1,):
                phi = outputs(X, j, threshold, missing)
                if constant or len(set(phi.tolist())) > 1:
                    yield j, first, missing, phi


def best_stump(problem, signed, constant):
    best, found = 0, None
    for j, first, missing, phi in all_stumps(problem.X, problem.binned.bins, constant):
        edge = np.abs(phi @ signed).sum()
        if edge > best:
            best, found = edge, (j, first, missing, phi)
    return best, found


def assert_is(cut, expected, score=0):
    """Compare a cut with (column, first, missing, phi), the constant by its name."""
    j, first, missing, phi = expected
    if (phi == 1).all():
        assert cut.columns[score] == CONSTANT
    else:
        assert (cut.columns[score], cut.first[score], cut.missing[score]) == (j, first, missing)


@given(shapes, st.booleans())
def test_the_stump_found_is_the_best_of_all(make_problem, shape, constant):
    problem = make_problem(kind="multilabel", **shape)
    state = problem.state()
    cut = Stump(constant).find(TwinKernels(problem.binned), state, everything(problem.binned), None)
    _, expected = best_stump(problem, unpacked(state), constant)
    if expected is not None:
        assert_is(cut, expected)
    elif len(problem.binned.splittable):
        assert cut is None


@given(shapes, st.booleans())
def test_the_stump_of_each_score_is_the_best_of_all(make_problem, shape, constant):
    problem = make_problem(kind="multilabel", **shape)
    state = problem.state()
    search = everything(problem.binned)
    cut = Stump(constant).find_per_score(TwinKernels(problem.binned), state, search)
    signed = unpacked(state)
    for score in range(state.n_scores):
        best, expected = best_stump(problem, signed[:, [score]], constant)
        if best > 0:
            assert_is(cut, expected, score)


def state_of(binned, labels):
    """Return a state of equal weights."""
    labels = np.array(labels, dtype=np.int8)
    n_scores, n = labels.shape
    mass = np.full(n, 2**62 // n)
    state = State(labels, np.full(n, -1, np.int32), mass, np.full(labels.shape, 2.0**-8))
    everywhere = np.ones((1, n), np.int8)
    TwinKernels(binned).advance(state, everywhere, Step.none(n_scores))
    return state


def find(X, labels, constant=True):
    table = as_table(X)
    binned = encode(table, fit_bins(table, None, 256))
    state = state_of(binned, labels)
    return Stump(constant).find(TwinKernels(binned), state, everything(binned), None)


def test_equal_columns_go_to_the_lowest():
    cut = find([[7.0, 1.0, 1.0], [7.0, 2.0, 2.0]], [[-1, 1]])
    assert (cut.columns, cut.first) == ([1], [1])


def test_equal_thresholds_go_to_the_lowest():
    # Both x >= 1.5 and x >= 3.5 have an edge of 2; the constant has 0.
    cut = find([[1.0], [2.0], [3.0], [4.0]], [[-1, 1, -1, 1]])
    assert (cut.columns, cut.first) == ([0], [1])


def test_missing_values_go_to_the_side_where_the_edge_is_larger():
    X = [[1.0], [2.0], [np.nan]]
    cut = find(X, [[-1, 1, 1]])
    assert (cut.columns, cut.first, cut.missing) == ([0], [1], [1])
    cut = find(X, [[-1, 1, -1]])
    assert (cut.columns, cut.first, cut.missing) == ([0], [1], [-1])


def test_missing_values_without_weight_go_to_the_positive_side():
    table = as_table([[1.0], [2.0], [np.nan]])
    binned = encode(table, fit_bins(table, None, 256))
    state = State(
        np.array([[-1, 1, 1]], np.int8), np.full(3, -1, np.int32), np.full(3, 2**60),
        np.array([[0.5, 0.5, 0.0]]),
    )  # fmt: skip
    kernels = TwinKernels(binned)
    kernels.advance(state, np.ones((1, 3), np.int8), Step.none(1))
    cut = Stump().find(kernels, state, everything(binned), None)
    assert (cut.columns, cut.first, cut.missing) == ([0], [1], [1])


def test_being_missing_can_be_the_whole_cut():
    X = [[1.0], [2.0], [np.nan], [np.nan]]
    for constant in (True, False):
        cut = find(X, [[1, 1, -1, -1]], constant)
        assert (cut.columns, cut.first, cut.missing) == ([0], [0], [-1])


def test_the_constant_is_named_as_such_and_can_be_refused():
    X = [[1.0], [2.0], [3.0], [4.0]]
    assert find(X, [[1, 1, 1, 1]]).columns == [CONSTANT]
    # Without it, cutting one row off leaves an edge of 2 of 4: the lowest of two.
    cut = find(X, [[1, 1, 1, 1]], constant=False)
    assert (cut.columns, cut.first) == ([0], [1])


def test_there_is_no_stump_where_every_edge_is_zero():
    assert find([[1.0], [1.0], [2.0], [2.0]], [[1, -1, 1, -1]]) is None


def test_a_column_without_any_value_is_not_a_constant_in_disguise():
    X = [[np.nan, 1.0], [np.nan, 2.0], [np.nan, 2.0]]
    cut = find(X, [[1, 1, 1]], constant=False)
    assert (cut.columns, cut.first) == ([1], [1])


def test_where_no_column_can_be_cut_the_constant_is_left():
    X, labels = [[5.0], [5.0], [5.0]], [[1, 1, -1]]
    assert find(X, labels).columns == [CONSTANT]
    assert find(X, labels, constant=False) is None


def test_where_no_column_can_be_cut_each_score_has_its_constant():
    table = as_table([[5.0], [5.0], [5.0]])
    binned = encode(table, fit_bins(table, None, 256))
    state = state_of(binned, [[1, 1, -1], [-1, -1, -1], [1, -1, 1]])
    cut = Stump().find_per_score(TwinKernels(binned), state, everything(binned))
    assert cut.columns == [CONSTANT] * 3
    assert (cut.first, cut.missing) == ([0] * 3, [1] * 3)


@given(st.integers(0, 10**6))
def test_with_energies_columns_are_compared_by_the_energy_of_their_best_cut(make_problem, seed):
    problem = make_problem(seed, n=12, d=4, n_scores=3, missing=False, levels=4)
    state = problem.state()
    signed = unpacked(state)

    def energies(score_edges):
        # Any rule that prefers a sure score column to several unsure ones.
        return -np.abs(score_edges).max(axis=1).astype(float)

    kernels = TwinKernels(problem.binned)
    cut = Stump().find(kernels, state, everything(problem.binned), energies)
    chosen, least = None, np.inf
    for j in problem.binned.splittable.tolist():
        best = (0, None)
        for column, first, missing, phi in all_stumps(problem.X, problem.binned.bins, True):
            edge = np.abs(phi @ signed).sum()
            if column == j and edge > best[0]:
                best = (edge, (j, first, missing, phi))
        if best[1] is not None and energies((best[1][3] @ signed)[None])[0] < least:
            chosen, least = best[1], energies((best[1][3] @ signed)[None])[0]
    assert_is(cut, chosen)


def test_learners_have_names():
    assert learner_named("stump").constant is True
    assert learner_named(Stump(constant=False)).constant is False


@pytest.mark.parametrize(("learner", "error"), [("twig", ValueError), (None, TypeError)])
def test_an_unknown_learner_is_an_error_that_lists_the_known_ones(learner, error):
    with pytest.raises(error, match="learner must be one of 'stump'"):
        learner_named(learner)


@pytest.mark.parametrize("constant", ["yes", 1, None])
def test_a_wrong_constant_is_an_error_that_names_it(constant):
    with pytest.raises(TypeError, match="constant must be True or False"):
        learner_named(Stump(constant))
