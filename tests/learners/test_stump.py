"""The stump that is found is the best there is (Kégl 2014b, appendix C)."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import Best, Exhaustive, Indicator, Product, Stump, Tree
from edgewise.backend.base import Step
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.learners import Comparison, Round, resolve_learner
from edgewise.model import EVERYWHERE, Cut, PerScore

from ..helpers import Given, all_signed, state_of

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


SIDES = {"abstain": 0, "low": -1, "high": 1}
choices = st.sampled_from(["learn", *SIDES])


def ready(learner, binned):
    started = learner.ready(binned, Exhaustive(), seed=0)
    started.begin(0)
    return started


def round_of(binned, state, **settings):
    compare = Comparison("edge", **settings)
    return Round(ReferenceBackend(binned), state.whole, lambda: np.random.default_rng(0), compare)


def outputs(X, column, threshold, missing):
    return np.where(np.isnan(X[:, column]), missing, np.where(X[:, column] >= threshold, 1, -1))


def all_stumps(X, bins, constant, choice="learn"):
    """Yield (cut, phi) in the order in which ties are broken; the constant by its name.

    A column without missing values abstains on them.
    """
    for j in range(X.shape[1]):
        present = X[~np.isnan(X[:, j]), j]
        holed = len(present) < len(X)
        if len(np.unique(present)) + holed < 2:
            continue
        sides = (0,) if not holed else (1, -1)
        if choice != "learn":
            sides = (SIDES[choice],)
        for threshold in (-np.inf, *bins[j].thresholds.tolist()):
            for missing in sides:
                phi = outputs(X, j, threshold, missing)
                everywhere = bool((phi == 1).all())
                if constant or not everywhere:
                    yield EVERYWHERE if everywhere else Cut(j, threshold, missing), phi
    if constant and choice in ("abstain", "low"):
        # Where every column has missing values the constant is none of their cuts.
        yield EVERYWHERE, np.ones(len(X), dtype=int)


def best_stump(problem, signed, constant, choice="learn"):
    best, best_cut, score_edges = 0, None, None
    for cut, phi in all_stumps(problem.X, problem.binned.bins, constant, choice):
        edge = np.abs(phi @ signed).sum()
        if edge > best:
            best, best_cut, score_edges = edge, cut, phi @ signed
    return best, best_cut, score_edges


@given(shapes, st.booleans(), choices)
def test_the_stump_found_is_the_best_of_all(make_problem, shape, constant, choice):
    problem = make_problem(kind="multilabel", **shape)
    state = problem.state()
    learner = ready(Stump(constant, choice), problem.binned)
    result = learner.find(round_of(problem.binned, state, score_edges=True))
    signed = all_signed(state.whole)
    best, expected, score_edges = best_stump(problem, signed, constant, choice)
    if expected is not None:
        assert result.rule == expected
        assert (result.edge, result.loss) == (best, -best)
        assert np.array_equal(result.score_edges, score_edges)
    elif len(problem.binned.splittable):
        assert result is None


@given(shapes, st.booleans(), choices)
def test_the_stump_of_each_score_is_the_best_of_all(make_problem, shape, constant, choice):
    problem = make_problem(kind="multilabel", **shape)
    state = problem.state()
    learner = ready(Stump(constant, choice), problem.binned)
    rule = learner.find_per_score(round_of(problem.binned, state))
    signed = all_signed(state.whole)
    for score in range(state.n_scores):
        best, expected, _ = best_stump(problem, signed[:, [score]], constant, choice)
        if best > 0:
            assert rule.cuts[score] == expected


def equal_weights(binned, labels):
    """Return a state of equal weights."""
    labels = np.array(labels, dtype=np.int8)
    n = labels.shape[1]
    mass = np.full(n, 2**62 // n)
    state = state_of(labels, np.full(n, -1, np.int32), mass, np.full(labels.shape, 2.0**-8))
    ReferenceBackend(binned).advance(state, None, Step.scaling(state.n_scores))
    return state


def find(X, labels, constant=True, missing="learn"):
    """Return the rule that a stump finds, or None."""
    table = as_table(X)
    binned = fit_encode(table, None, 256)
    learner = ready(Stump(constant, missing), binned)
    best = learner.find(round_of(binned, equal_weights(binned, labels)))
    return best.rule if best is not None else None


def test_equal_columns_go_to_the_lowest():
    assert find([[7.0, 1.0, 1.0], [7.0, 2.0, 2.0]], [[-1, 1]]) == Cut(1, 1.5, 0)


def test_equal_thresholds_go_to_the_lowest():
    # Both x >= 1.5 and x >= 3.5 have an edge of 2; the constant has 0.
    assert find([[1.0], [2.0], [3.0], [4.0]], [[-1, 1, -1, 1]]) == Cut(0, 1.5, 0)


def test_missing_values_go_to_the_side_where_the_edge_is_larger():
    X = [[1.0], [2.0], [np.nan]]
    assert find(X, [[-1, 1, 1]]) == Cut(0, 1.5, 1)
    assert find(X, [[-1, 1, -1]]) == Cut(0, 1.5, -1)


def test_missing_values_can_be_left_out():
    # Iyer 1999 section 3.3.1: on either side they would raise the edge from 2 to 3.
    X = [[1.0], [2.0], [np.nan]]
    assert find(X, [[-1, 1, 1]], missing="abstain") == Cut(0, 1.5, 0)
    assert find(X, [[-1, 1, -1]], missing="abstain") == Cut(0, 1.5, 0)


def test_being_there_can_be_the_whole_cut_where_missing_values_are_left_out():
    # It says nothing of missing values, so it is not the constant and not refused with it.
    X = [[1.0], [2.0], [np.nan]]
    for constant in (True, False):
        assert find(X, [[1, 1, -1]], constant, missing="abstain") == Cut(0, -np.inf, 0)


def test_missing_values_without_weight_go_to_the_positive_side():
    table = as_table([[1.0], [2.0], [np.nan]])
    binned = fit_encode(table, None, 256)
    state = state_of(
        np.array([[-1, 1, 1]], np.int8), np.full(3, -1, np.int32), np.full(3, 2**60),
        np.array([[0.5, 0.5, 0.0]]),
    )  # fmt: skip
    backend = ReferenceBackend(binned)
    backend.advance(state, Given(np.ones((1, 3), np.int8)), Step.scaling(1))
    best = ready(Stump(), binned).find(round_of(binned, state))
    assert best.rule == Cut(0, 1.5, 1)


def test_being_missing_can_be_the_whole_cut():
    X = [[1.0], [2.0], [np.nan], [np.nan]]
    for constant in (True, False):
        assert find(X, [[1, 1, -1, -1]], constant) == Cut(0, -np.inf, -1)


def test_the_constant_is_named_as_such_and_can_be_refused():
    X = [[1.0], [2.0], [3.0], [4.0]]
    assert find(X, [[1, 1, 1, 1]]) == EVERYWHERE
    # Without it, cutting one row off leaves an edge of 2 of 4: the lowest of two.
    assert find(X, [[1, 1, 1, 1]], constant=False) == Cut(0, 1.5, 0)


def test_there_is_no_stump_where_every_edge_is_zero():
    assert find([[1.0], [1.0], [2.0], [2.0]], [[1, -1, 1, -1]]) is None


def test_a_column_without_any_value_is_not_a_constant_in_disguise():
    X = [[np.nan, 1.0], [np.nan, 2.0], [np.nan, 2.0]]
    assert find(X, [[1, 1, 1]], constant=False) == Cut(1, 1.5, 0)


def test_where_no_column_can_be_cut_the_constant_is_left():
    X, labels = [[5.0], [5.0], [5.0]], [[1, 1, -1]]
    assert find(X, labels) == EVERYWHERE
    assert find(X, labels, constant=False) is None


def test_where_no_column_can_be_cut_each_score_has_its_constant():
    table = as_table([[5.0], [5.0], [5.0]])
    binned = fit_encode(table, None, 256)
    state = equal_weights(binned, [[1, 1, -1], [-1, -1, -1], [1, -1, 1]])
    rule = ready(Stump(), binned).find_per_score(round_of(binned, state))
    assert rule == PerScore((EVERYWHERE,) * 3)


@given(st.integers(0, 10**6))
def test_with_energies_columns_are_compared_by_the_energy_of_their_best_cut(make_problem, seed):
    problem = make_problem(seed, n=12, d=4, n_scores=3, missing=False, levels=4)
    state = problem.state()
    signed = all_signed(state.whole)
    masses = np.abs(signed).sum(axis=0)

    def energies(score_edges, given):
        # Any rule that prefers a sure score column to several unsure ones.
        assert np.array_equal(given, masses)
        return -np.abs(score_edges).max(axis=1).astype(float)

    winner = ready(Stump(), problem.binned).find(round_of(problem.binned, state, energies=energies))
    chosen, lowest = None, np.inf
    for j in problem.binned.splittable.tolist():
        best, cut, phi = 0, None, None
        column = problem.X[:, [j]]
        for candidate, signs in all_stumps(column, [problem.binned.bins[j]], True):
            edge = np.abs(signs @ signed).sum()
            if edge > best:
                best, cut, phi = edge, candidate, signs
        if cut is not None and energies((phi @ signed)[None], masses)[0] < lowest:
            moved = EVERYWHERE if cut == EVERYWHERE else Cut(j, cut.threshold, cut.missing)
            chosen, lowest = moved, energies((phi @ signed)[None], masses)[0]
    assert winner.rule == chosen
    assert winner.loss == lowest


def test_a_random_stump_is_one_of_all(make_problem):
    problem = make_problem(3, n=30, d=5)
    rng = np.random.default_rng(0)
    for missing in ("learn", "abstain"):
        learner = ready(Stump(missing=missing), problem.binned)
        drawn = {learner.draw(problem.binned, rng) for _ in range(500)}
        assert {cut.column for cut in drawn} == set(range(5))
        for cut in drawn:
            bins = problem.binned.bins[cut.column]
            assert cut.threshold in bins.thresholds
            assert cut.missing == (1 if missing == "learn" and bins.has_missing else 0)


def test_there_is_nothing_to_draw_without_a_threshold():
    table = as_table([[5.0, np.nan], [5.0, 1.0]])
    binned = fit_encode(table, None, 256)
    assert ready(Stump(), binned).draw(binned, np.random.default_rng(0)) is None


def test_a_learner_that_is_ready_leaves_its_settings_alone(make_problem):
    learner = Stump(constant=False)
    started = ready(learner, make_problem(0).binned)
    assert started is not learner
    assert vars(learner) == {"constant": False, "missing": "learn"}


def test_learners_have_names(make_problem):
    binned = make_problem(0).binned
    stump = resolve_learner("stump", binned)
    assert isinstance(stump, Stump)
    assert stump.constant is True
    assert resolve_learner(Stump(constant=False)).constant is False
    product, tree = resolve_learner("product", binned), resolve_learner("tree", binned)
    assert (type(product), type(product.base), product.n_terms) == (Product, Stump, 3)
    assert (type(tree), type(tree.base), tree.max_leaf_nodes) == (Tree, Stump, 8)


def test_what_stump_stands_for_follows_from_the_kinds_of_columns():
    def named(frame):
        table = as_table(frame)
        return resolve_learner("stump", fit_encode(table, None, 256))

    numbers, strings = [1.0, 2.0, 3.0], ["red", "blue", "red"]
    assert isinstance(named(pl.DataFrame({"size": numbers})), Stump)
    assert isinstance(named(pl.DataFrame({"color": strings})), Indicator)
    both = named(pl.DataFrame({"size": numbers, "color": strings}))
    assert isinstance(both, Best)
    assert [type(learner) for learner in both.learners] == [Stump, Indicator]


def test_a_list_of_learners_is_the_best_of_them():
    best = resolve_learner([Stump(), Indicator()])
    assert isinstance(best, Best)
    assert [type(learner) for learner in best.learners] == [Stump, Indicator]
    with pytest.raises(ValueError, match="learner must be a list of at least one learner"):
        resolve_learner([])


@pytest.mark.parametrize(("learner", "error"), [("twig", ValueError), (None, TypeError)])
def test_an_unknown_learner_is_an_error_that_lists_the_known_ones(learner, error):
    with pytest.raises(error, match="learner must be one of 'auto', 'stump', 'product', 'tree'"):
        resolve_learner(learner)


@pytest.mark.parametrize("constant", ["yes", 1, None])
def test_a_wrong_constant_is_an_error_that_names_it(constant):
    with pytest.raises(TypeError, match="constant must be True or False"):
        resolve_learner(Stump(constant))


@pytest.mark.parametrize("missing", ["drop", None, 0])
def test_a_wrong_choice_for_missing_values_is_an_error_that_names_it(missing):
    with pytest.raises(ValueError, match="missing must be one of 'learn', 'abstain'"):
        resolve_learner(Stump(missing=missing))
