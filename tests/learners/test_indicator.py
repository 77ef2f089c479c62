"""The subset indicator: an output for every value of one categorical column.

Kégl and Busa-Fekete 2009a figure 2.
"""

import itertools
import math

import numpy as np
import pandas
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import AdaBoostMH, Indicator, Product, Selector, Tree
from edgewise.learners import resolve_learner
from edgewise.model import EVERYWHERE, Scores, Subset, Wording

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(2, 24),
        "numeric": st.just(0),
        "categorical": st.integers(1, 3),
        "n_scores": st.integers(1, 4),
        "values": st.integers(1, 7),
        "missing": st.booleans(),
        "heaviest": st.sampled_from([1, 8]),
    }
)


def value_matrix(problem, j):
    """Return the sums of w * y of each value and score column; missing is the last value."""
    x = problem.X[:, j]
    values = [*np.unique(x[~np.isnan(x)]).tolist(), *([math.nan] if np.isnan(x).any() else [])]
    groups = [np.isnan(x) if math.isnan(value) else x == value for value in values]
    return np.array([problem.signed[group].sum(axis=0) for group in groups])


def best_subset(problem, edge_of):
    """Return the largest edge of any subset of the values of any column."""
    best = 0
    for j in problem.categorical:
        sums = value_matrix(problem, j)
        for u in itertools.product([1, -1], repeat=len(sums)):
            best = max(best, edge_of(np.array(u), sums))
    return best


class Given:
    """In place of a random stream: gives the signs that figure 2 is to start from."""

    def __init__(self, u):
        self.u = np.asarray(u)

    def integers(self, low, size):
        assert (low, size) == (2, len(self.u))
        return (self.u + 1) // 2


def figure_2(sums, u):
    """Return the u that BestIndicator ends with, and the edge after every half-step.

    For discrete votes the energy is sqrt(1 - edge**2), so it decreases where the edge grows.
    """
    v = np.zeros(sums.shape[1], dtype=int)
    edges = [0]
    while True:
        v_new = np.where(u @ sums > 0, 1, -1)
        if (edge := int((u @ sums * v_new).sum())) <= edges[-1]:
            return u, edges
        v, edges = v_new, [*edges, edge]
        u_new = np.where(sums @ v > 0, 1, -1)
        if (edge := int((sums @ v * u_new).sum())) <= edges[-1]:
            return u, edges
        u, edges = u_new, [*edges, edge]


@given(shapes, st.sampled_from(["auto", "exact", "informed"]))
def test_the_edge_is_at_least_that_of_the_best_selector_and_of_the_constant(
    random_small, shape, start
):
    problem = random_small(**shape)
    best, selected = problem.find(Indicator(start)), problem.find(Selector())
    edge = 0 if best is None else problem.units(best.edge)
    assert edge >= np.abs(problem.signed.sum(axis=0)).sum()
    assert edge >= (0 if selected is None else problem.units(selected.edge))


@given(shapes, st.integers(0, 3), st.sampled_from(["exact", "informed", "random"]))
def test_the_edges_that_are_told_are_those_of_the_rule(
    random_small, edge_of, shape, restarts, start
):
    problem = random_small(**shape)
    best = problem.find(Indicator(start, restarts), score_edges=True)
    if best is not None:
        phi = best.rule.signs(problem.binned).astype(np.int64)
        assert problem.units(best.edge) == edge_of(phi, problem.signed)
        assert [problem.units(e) for e in best.score_edges] == (phi @ problem.signed).tolist()
        assert best.loss == -best.edge


@given(shapes, st.sampled_from([1, 2, 3, 5]), st.sampled_from(["auto", "exact"]))
def test_of_all_votes_the_subset_is_the_best_of_all(random_small, edge_of, shape, n_scores, start):
    problem = random_small(**{**shape, "n_scores": n_scores})
    best = problem.find(Indicator(start))
    edge = 0 if best is None else problem.units(best.edge)
    constant = int(np.abs(problem.signed.sum(axis=0)).sum())
    assert edge == max(best_subset(problem, edge_of), constant)


@given(shapes)
def test_from_an_informed_start_the_subset_is_the_best_of_all_with_one_score_column(
    random_small, edge_of, shape
):
    problem = random_small(**{**shape, "n_scores": 1})
    best = problem.find(Indicator("informed"))
    edge = 0 if best is None else problem.units(best.edge)
    assert edge == max(best_subset(problem, edge_of), abs(int(problem.signed.sum())))


@pytest.mark.parametrize(("n_scores", "like"), [(6, "exact"), (7, "informed")])
def test_auto_tries_all_votes_of_few_classes(random_small, n_scores, like):
    edges = {"auto": [], "exact": [], "informed": []}
    for seed in range(20):
        problem = random_small(seed, n=60, numeric=0, categorical=1, n_scores=n_scores, values=12)
        for start, edge in edges.items():
            edge.append(problem.find(Indicator(start)).edge)
    assert edges["auto"] == edges[like]
    assert edges["informed"] != edges["exact"]
    assert all(a <= b for a, b in zip(edges["informed"], edges["exact"], strict=True))


def test_all_votes_of_more_than_twelve_classes_are_an_error(random_small):
    max_classes = random_small(0, n=40, numeric=0, categorical=1, n_scores=12)
    assert max_classes.find(Indicator("exact")).edge >= max_classes.find(Indicator("informed")).edge
    X = pandas.DataFrame({"c": list("abcdefghijklm") * 2})
    with pytest.raises(ValueError, match=r"start='exact'.*at most 12 classes.* 13: use 'informed'"):
        AdaBoostMH(Indicator("exact"), preset="paper", n_rounds=1).fit(X, X["c"])
    assert AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(X, X["c"]).n_rounds_ == 1


def test_a_subset_of_all_values_is_the_constant(small):
    problem = small([[0], [1], [2]], [[1], [1], [1]], [[1]] * 3, categorical=[0])
    for start in ("exact", "informed", "random"):
        assert problem.find(Indicator(start)).rule == EVERYWHERE


@pytest.mark.parametrize("values", [2, 5, 10])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_scores", [1, 3])
def test_with_restarts_the_subset_is_the_best_of_all(
    random_small, edge_of, values, missing, n_scores
):
    values -= missing
    for seed in range(4):
        problem = random_small(
            seed, n=60, numeric=0, categorical=2, n_scores=n_scores, values=values, missing=missing
        )
        best = problem.find(Indicator("informed", restarts=40))
        assert problem.units(best.edge) == best_subset(problem, edge_of)


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 4))
def test_from_a_random_start_it_climbs_as_figure_2_does(random_small, seed, values, n_scores):
    # Weights of many sizes, so that two subsets hardly ever have the same edge.
    problem = random_small(
        seed, n=10, numeric=0, categorical=1, n_scores=n_scores, values=values, heaviest=1500
    )
    sums = value_matrix(problem, 0)
    u = np.random.default_rng(seed).choice([-1, 1], size=len(sums))
    assume(len(sums) > 1)
    subsets = np.array(list(itertools.product([-1, 1], repeat=len(sums))))
    edges = np.abs(subsets @ sums).sum(axis=1)
    assume(len(np.unique(edges)) == len(subsets) // 2)  # a subset and its complement are one
    # Nor is any class undecided, which votes could settle either way.
    assume((subsets @ sums != 0).all())
    end, edges = figure_2(sums, u)
    assert all(a < b for a, b in itertools.pairwise(edges))
    best = problem.find(Indicator("random"), rng=Given(u))
    assert problem.units(best.edge) == edges[-1]
    assert edges[-1] >= np.abs(u @ sums).sum()
    _, codes = np.unique(problem.X[:, 0], return_inverse=True)
    assert abs(int((best.rule.signs(problem.binned) * end[codes]).sum())) == len(problem.X)


def test_restarts_go_on_until_the_best_of_them(random_small):
    problem = random_small(3, n=40, numeric=0, categorical=1, n_scores=4, values=9)
    edges = [problem.find(Indicator("random", restarts)).edge for restarts in (0, 1, 5, 20)]
    assert edges == sorted(edges)


# --- By gain ---------------------------------------------------------------------------------


@given(shapes, st.integers(1, 8), st.integers(0, 1))
def test_by_gain_with_one_score_column_the_subset_is_the_best_of_all(
    random_small, split_gain, shape, values, missing
):
    problem = random_small(
        **{**shape, "n_scores": 1, "values": max(1, values - missing), "missing": bool(missing)}
    )
    best = -1
    for j in problem.categorical:
        x = problem.X[:, j]
        names, codes = np.unique(x, return_inverse=True)
        for u in itertools.product([1, -1], repeat=len(names) - 1):
            best = max(best, split_gain(np.array([1, *u])[codes], problem.signed))
    assume(best >= 0)
    result = problem.find(Indicator(), gain=True, score_edges=True)
    if best == 0:
        assert result is None
        return
    # Two subsets that are equally good may be rounded in different ways.
    assert abs(result.edge - best) <= 2


@given(shapes)
def test_the_gain_that_is_told_is_that_of_the_rule(random_small, split_gain, shape):
    problem = random_small(**shape)
    assume(len(problem.binned.splittable_categorical))
    best = problem.find(Indicator(), gain=True, score_edges=True)
    assume(best is not None)
    phi = best.rule.signs(problem.binned).astype(np.int64)
    assert best.edge == -best.loss == split_gain(phi, problem.signed)
    assert [problem.units(e) for e in best.score_edges] == (phi @ problem.signed).tolist()
    selector = problem.find(Selector(), gain=True)
    if problem.signed.shape[1] == 1 and selector is not None:
        assert best.edge >= selector.edge - 2


# --- Whole models ----------------------------------------------------------------------------


def test_a_worked_example():
    """Three values and two labels, by hand.

    The weights are 3 and 1 on a row with the value a and the labels + and -, 2 and 2 on one with b
    and - +, 1 and 2 on one with c and + +: 11 in all. The sums of w * y are::

        a  +3 -1
        b  -2 +2
        c  +1 +2

    The constant has the edge |3 - 2 + 1| + |-1 + 2 + 2| = 5; {a} against {b, c} has
    |3 + 2 - 1| + |-1 - 2 - 2| = 9; {b} has |-3 - 2 - 1| + |1 + 2 - 2| = 7; {c} has
    |-3 + 2 + 1| + |1 - 2 + 2| = 1. So u = (+, -, -) with v = (+, -), right on a weight of 10 and
    wrong on 1 (c's first label): alpha = 1/2 ln(10 / 1), Z = 2 sqrt(10 * 1) / 11.
    """
    X = pandas.DataFrame({"letter": ["a", "b", "c"]})
    Y = np.array([[1, 0], [0, 1], [1, 1]])
    weights = [[3.0, 1.0], [2.0, 2.0], [1.0, 2.0]]
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=1, init_weights=weights).fit(X, Y)
    assert model.history_["edge"][0] == pytest.approx(9 / 11)
    assert model.history_["alpha"][0] == pytest.approx(math.log(10) / 2)
    assert model.history_["energy"][0] == pytest.approx(2 * math.sqrt(10) / 11)
    expected = math.log(10) / 2 * np.array([[1, -1], [-1, 1], [-1, 1]])
    np.testing.assert_allclose(model.decision_function(X), expected)


def test_a_subset_of_several_values_is_found_in_one_round():
    """A selector needs a round for each value; the indicator shares its votes among them."""
    X = pandas.DataFrame({"c": list("abcdefgh") * 3})
    y = X["c"].isin(list("aceh")).to_numpy()
    assert AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(X, y).score(X, y) == 1.0
    assert AdaBoostMH(Selector(), preset="paper", n_rounds=1).fit(X, y).score(X, y) < 1.0


def test_the_rule_reads_as_a_list_of_values():
    X = pandas.DataFrame({"color": ["red", "blue", "green", "pink"]})
    text = str(AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(X, [1, 0, 0, 1]).rules()[0])
    assert text.endswith("(color in {pink, red}) -> votes for 1, against 0")


@pytest.mark.parametrize(
    ("values", "outside", "expected"),
    [
        (("a", "b", "c"), ["b"], "(c is not b)"),
        (("a", "b", "c", "d", "e"), ["b", "e"], "(c not in {b, e})"),
        (("a", "spain red", "z"), ["spain red"], "(c is not spain red)"),
        (("a", "b", "c", "paris blue", "z"), ["paris blue", "z"], "(c not in {paris blue, z})"),
    ],
)
def test_the_values_outside_are_listed_where_they_are_fewer(values, outside, expected):
    signs = [-1 if value in outside else 1 for value in values]
    wording = Wording(lambda j: "c", {0: values}, ["no", "yes"])
    assert Subset(0, np.array([*signs, 0], dtype=np.int8)).words(wording) == expected


def test_missing_values_are_one_more_value():
    X = pandas.DataFrame({"color": ["red", "blue", "green", None, None]})
    y = [1, 0, 0, 1, 1]
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(X, y)
    assert model.predict(X).tolist() == y
    later = pandas.DataFrame({"color": ["unseen", None]})
    assert model.predict(later).tolist() == [1, 1]


def test_unseen_values_get_no_score_where_training_had_none_missing():
    X = pandas.DataFrame({"color": ["red", "blue", "green", "pink"]})
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=3).fit(X, [1, 0, 0, 1])
    later = pandas.DataFrame({"color": ["unseen", None]})
    assert model.decision_function(later).tolist() == [0.0, 0.0]


def test_products_of_indicators_factorize_a_matrix():
    """Kégl and Busa-Fekete 2009a remark 2: a product of two indicators is an outer product of
    sign vectors.
    """
    rng = np.random.default_rng(0)
    u, z = rng.choice([-1, 1], size=12), rng.choice([-1, 1], size=9)
    rows, columns = np.divmod(np.arange(12 * 9), 9)
    seen = rng.random(12 * 9) < 0.6
    X = pandas.DataFrame({"user": rows.astype(str), "film": columns.astype(str)})
    y = (u[rows] * z[columns] > 0).astype(int)
    model = AdaBoostMH(
        Product(Indicator(), n_terms=2, restarts=5), preset="paper", n_rounds=10, random_state=0
    )
    model.fit(X[seen], y[seen])
    assert model.score(X[~seen], y[~seen]) == 1.0


def test_a_column_of_very_many_values_trains():
    """Kégl and Busa-Fekete 2009a: the work of a round grows with the rows and the values, not
    their product.
    """
    rng = np.random.default_rng(0)
    values = rng.permutation(np.repeat(np.arange(100_000), 2)).astype(float)
    y = (values.astype(int) % 3 == 0).astype(int)
    model = AdaBoostMH(Indicator(), preset="paper", n_rounds=2, categorical_features=[0]).fit(
        values[:, None], y
    )
    assert model.history_["train_error"][0] == 0.0
    assert "more" in str(model.rules()[0])
    assert model.score(values[:100, None], y[:100]) == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_real_outputs_lower_the_loss_by_what_they_say(n_classes):
    rng = np.random.default_rng(1)
    X = pandas.DataFrame({"c": rng.choice(list("abcdef"), 90)})
    y = rng.integers(n_classes, size=90)
    real = AdaBoostMH(
        Indicator(values="real"), preset="paper", votes="real", n_rounds=5, init_weights="uniform"
    )
    real.fit(X, y)
    scores = real.decision_function(X).reshape(90, -1)
    signs = np.where(np.arange(n_classes) == y[:, None], 1, -1)[:, -scores.shape[1] :]
    np.testing.assert_allclose(real.history_["bound"][-1], np.exp(-scores * signs).mean())
    plain = AdaBoostMH(
        Indicator(), preset="paper", votes="real", n_rounds=1, init_weights="uniform"
    ).fit(X, y)
    assert real.history_["energy"][0] <= plain.history_["energy"][0] * (1 + 1e-2)
    assert all(
        isinstance(real.fitted_.terms.rule(t), (Scores, Subset)) for t in range(real.n_rounds_)
    )


def test_it_can_be_cloned():
    parameters = {"start": "random", "restarts": 3, "values": "real", "rare": 5, "max_values": 4}
    assert clone(Indicator(**parameters)).get_params() == parameters


def test_columns_of_more_values_are_left_out():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {"few": rng.choice(list("abc"), 80), "many": rng.choice(list("abcdefgh"), 80)}
    )
    y = (X["many"] < "e").astype(int)
    models = [AdaBoostMH(Indicator(max_values=n), n_rounds=5).fit(X, y) for n in (3, 8)]
    used = [
        {column for rule in model.fitted_.terms.rules for column in rule.columns}
        for model in models
    ]
    assert used[0] == {0}
    assert 1 in used[1]


@pytest.mark.parametrize(
    ("settings", "error", "name"),
    [
        ({"start": "best"}, ValueError, "start"),
        ({"restarts": -1}, ValueError, "restarts"),
        ({"restarts": 1.5}, TypeError, "restarts"),
        ({"values": "floats"}, ValueError, "values"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(settings, error, name):
    with pytest.raises(error, match=f"{name} must be"):
        resolve_learner(Indicator(**settings))


@pytest.mark.parametrize("whole", [Product, Tree])
def test_real_values_cannot_be_part_of_products_and_trees(whole):
    message = rf"base of a {whole.__name__} must make rules that output -1 or \+1.*values='real'"
    for base in (Indicator(values="real"), [Selector(), Indicator(values="real")]):
        with pytest.raises(ValueError, match=message):
            resolve_learner(whole(base))


@pytest.mark.parametrize("votes", [None, "discrete", "abstain"])
@pytest.mark.parametrize("listed", [False, True])
def test_real_values_need_real_votes(votes, listed):
    learner = Indicator(values="real")
    model = AdaBoostMH(
        [Selector(), learner] if listed else learner, preset="paper", votes=votes, n_rounds=1
    )
    X = pandas.DataFrame({"c": list("abc")})
    with pytest.raises(ValueError, match=r"votes.*Indicator\(values='real'\)"):
        model.fit(X, [0, 1, 1])
    assert model.set_params(votes="real").fit(X, [0, 1, 1]).n_rounds_ == 1


def test_numeric_columns_are_an_error_that_names_one():
    with pytest.raises(ValueError, match=r"learner=Indicator\(\).*numeric column 'x0'"):
        AdaBoostMH(Indicator(), preset="paper").fit([[1.0], [2.0]], [0, 1])
