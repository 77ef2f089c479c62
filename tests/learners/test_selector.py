"""The selector: +1 on one value of one categorical column (Kégl and Busa-Fekete 2009a eq. 8)."""

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import AdaBoostMH, Selector, Stump

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(2, 16),
        "numeric": st.just(0),
        "categorical": st.integers(1, 3),
        "n_scores": st.integers(1, 3),
        "values": st.integers(1, 5),
        "missing": st.booleans(),
        "heaviest": st.sampled_from([1, 8]),
    }
)


def test_a_selector_says_one_on_its_value_and_minus_one_on_the_others(small):
    problem = small([[0], [1], [2], [1]], [[-1], [1], [-1], [1]], [[1]] * 4, categorical=[0])
    best = problem.find(Selector())
    assert best.rule.signs(problem.binned).tolist() == [-1, 1, -1, 1]
    assert problem.units(best.edge) == 4


@given(shapes)
def test_the_selector_found_is_the_best_of_all_columns_and_values(
    random_small, all_selectors, edge_of, shape
):
    problem = random_small(**shape)
    best, expected = 0, None
    for j, _, phi in all_selectors(problem):
        if edge_of(phi, problem.signed) > best:
            best, expected = edge_of(phi, problem.signed), (j, phi)
    result = problem.find(Selector())
    if expected is not None:
        assert problem.units(result.edge) == best
        assert result.rule.column == expected[0]
        assert result.rule.signs(problem.binned).tolist() == expected[1].tolist()
    elif all_selectors(problem):
        assert result is None


@given(shapes)
def test_with_energies_the_selector_has_the_least_energy(
    random_small, all_selectors, edge_of, shape
):
    problem = random_small(**shape)

    def energies(score_edges, masses):
        # Any rule that prefers a sure score column to several unsure ones.
        return -np.abs(score_edges).max(axis=1).astype(float)

    tried = [phi for _, _, phi in all_selectors(problem) if edge_of(phi, problem.signed)]
    best = problem.find(Selector(), energies=energies, score_edges=True)
    if tried:
        maximum = max(int(np.abs(phi @ problem.signed).max()) for phi in tried)
        phi = best.rule.signs(problem.binned).astype(np.int64)
        assert int(np.abs(phi @ problem.signed).max()) == maximum
        assert [problem.units(e) for e in best.score_edges] == (phi @ problem.signed).tolist()


@given(shapes)
def test_by_gain_the_selector_is_the_best_of_all_columns_and_values(
    random_small, all_selectors, split_gain, shape
):
    problem = random_small(**shape)
    best, expected = 0, None
    for j, _, phi in all_selectors(problem):
        if split_gain(phi, problem.signed) > best:
            best, expected = split_gain(phi, problem.signed), (j, phi)
    result = problem.find(Selector(), gain=True, score_edges=True)
    if expected is not None:
        assert result.edge == -result.loss == best
        assert result.rule.column == expected[0]
        assert result.rule.signs(problem.binned).tolist() == expected[1].tolist()
        sums = (expected[1] @ problem.signed).tolist()
        assert [problem.units(edge) for edge in result.score_edges] == sums
    elif all_selectors(problem):
        assert result is None


def test_equal_values_go_to_the_first_and_equal_columns_to_the_lowest(small):
    problem = small([[0, 0], [1, 1]], [[1], [-1]], [[1], [1]], categorical=[0, 1])
    rule = problem.find(Selector()).rule
    assert rule.column == 0
    assert rule.signs(problem.binned).tolist() == [1, -1]


def test_missing_is_one_more_value(small):
    X = [[0], [1], [np.nan], [np.nan]]
    problem = small(X, [[-1], [-1], [1], [1]], [[1]] * 4, categorical=[0])
    best = problem.find(Selector())
    assert best.rule.signs(problem.binned).tolist() == [-1, -1, 1, 1]
    assert problem.units(best.edge) == 4


def test_unseen_values_count_as_missing_where_training_had_missing_ones():
    X = pandas.DataFrame({"color": ["red", "blue", None, "red"]})
    model = AdaBoostMH(Selector(), preset="paper", n_rounds=1).fit(X, [0, 0, 1, 0])
    assert str(model.rules()[0]).split("*")[1].split("->")[0].strip() == "(color is missing)"
    later = pandas.DataFrame({"color": ["red", "pink", None]})
    scores = model.decision_function(later)
    assert scores[0] < 0 < scores[1] == scores[2]


def test_a_column_without_missing_values_abstains_on_unseen_ones():
    X = pandas.DataFrame({"color": ["red", "blue", "green", "red"]})
    model = AdaBoostMH(Selector(), preset="paper", n_rounds=1).fit(X, [1, 0, 0, 1])
    later = pandas.DataFrame({"color": ["red", "pink", None]})
    scores = model.decision_function(later)
    assert scores[0] > 0
    assert scores[1:].tolist() == [0.0, 0.0]


def test_the_order_of_the_values_at_prediction_does_not_matter():
    X = pandas.DataFrame({"color": pandas.Categorical(["red", "blue", "green", "red"])})
    model = AdaBoostMH(Selector(), preset="paper", n_rounds=1).fit(X, [1, 0, 0, 1])
    later = pandas.Categorical(["red", "blue"], categories=["zebra", "red", "blue"])
    assert model.predict(pandas.DataFrame({"color": later})).tolist() == [1, 0]


def test_numbers_can_be_names():
    X = np.array([[7.0], [3.0], [5.0], [7.0], [np.nan]])
    model = AdaBoostMH(Selector(), preset="paper", n_rounds=1, categorical_features=[0]).fit(
        X, [1, 0, 0, 1, 0]
    )
    assert str(model.rules()[0]).endswith("* (x0 is 7) -> votes for 1, against 0")
    assert model.predict(X).tolist() == [1, 0, 0, 1, 0]


def test_selectors_boost_to_what_stumps_on_one_hot_columns_give():
    """Kégl and Busa-Fekete 2009a section 2.2: the selector is the stump on one-hot encoded
    columns.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(80, 3)).astype(float)
    y = (rng.random(80) < 0.2 + 0.2 * X[:, 0]).astype(int)
    one_hot = np.hstack([(value == X).astype(float) for value in range(4)])
    ours = AdaBoostMH(Selector(), preset="paper", n_rounds=8, categorical_features=[0, 1, 2]).fit(
        X, y
    )
    theirs = AdaBoostMH(Stump(constant=False), preset="paper", n_rounds=8).fit(one_hot, y)
    np.testing.assert_allclose(ours.history_["edge"], theirs.history_["edge"], rtol=1e-12)


def test_a_column_of_one_value_leaves_the_constant(small):
    problem = small([[4], [4], [4]], [[1], [1], [-1]], [[1]] * 3, categorical=[0])
    assert problem.find(Selector()).rule.signs(problem.binned).tolist() == [1, 1, 1]


def test_there_is_no_selector_where_every_edge_is_zero(small):
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    problem = small(X, [[1], [-1], [-1], [1]], [[1]] * 4, categorical=[0, 1])
    assert problem.find(Selector()) is None


def test_a_selector_can_be_cloned():
    assert isinstance(clone(Selector()), Selector)


def test_numeric_columns_are_an_error_that_names_one():
    X = pandas.DataFrame({"size": [1.0, 2.0], "color": ["a", "b"]})
    with pytest.raises(ValueError, match="'size'"):
        AdaBoostMH(Selector(), preset="paper").fit(X, [0, 1])
