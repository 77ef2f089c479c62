"""Products of base functions (Kégl and Busa-Fekete 2009a section 2.3 and figure 3)."""

import itertools
import math
from contextlib import closing

import numpy as np
import pandas
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import AdaBoostMH, Indicator, Product, Selector, Stump, Tree
from edgewise.backend.base import MISSING_AUTO
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.learners import resolve_learner
from edgewise.model import ProductRule

from ..helpers import Given, search

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(3, 16),
        "numeric": st.integers(1, 3),
        "n_scores": st.integers(1, 3),
        "levels": st.integers(2, 4),
        "missing": st.booleans(),
        "heaviest": st.sampled_from([1, 8, 300]),
    }
)


class Recording(Stump):
    """A stump that records its problems and its answers."""

    log: list = []  # noqa: RUF012

    def find(self, round):
        best = super().find(round)
        Recording.log.append((round.problem, best))
        return best


@pytest.fixture(autouse=True)
def _empty_log():
    Recording.log.clear()


# --- What products can say -------------------------------------------------------------------


def test_a_product_of_two_stumps_solves_xor():
    for seed in range(3):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(300, 2))
        y = X[:, 0] * X[:, 1] > 0
        assert (
            AdaBoostMH(Product(Stump(), n_terms=2), preset="paper", n_rounds=5)
            .fit(X, y)
            .score(X, y)
            == 1.0
        )
        assert AdaBoostMH(Stump(), preset="paper", n_rounds=30).fit(X, y).score(X, y) < 0.9


def test_a_product_of_three_stumps_solves_the_parity_of_three():
    for seed in range(3):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(400, 3))
        y = X.prod(axis=1) > 0
        product = Product(Stump(), n_terms=3, restarts=8)
        model = AdaBoostMH(product, preset="paper", n_rounds=5, random_state=0).fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.history_["edge"][0] > 0.9


@pytest.mark.parametrize("d", [2, 3, 4])
def test_parity_on_the_corners_of_a_cube_is_one_product(small, d):
    """No stump has an edge there, nor the constant: the first terms must be drawn at random."""
    X = np.array(list(itertools.product([0, 1], repeat=d)))
    y = X.sum(axis=1) % 2
    corners = small(X, 2 * y[:, None] - 1, np.ones((2**d, 1)))
    assert corners.find(Stump()) is None
    model = AdaBoostMH(Product(Stump(), n_terms=d), preset="paper", n_rounds=1, random_state=0).fit(
        X, y
    )
    assert model.score(X, y) == 1.0
    assert sorted(model.fitted_.terms.rule(0).columns) == list(range(d))


def test_sums_of_products_of_two_stumps_say_anything_on_the_square():
    """Kégl and Busa-Fekete 2009a remark 1, all 16 labelings; the second label is the opposite
    of the first.
    """
    X = np.array(list(itertools.product([0, 1], repeat=2)))
    for code in range(16):
        y = (code >> np.arange(4)) & 1
        Y = np.column_stack([y, 1 - y])
        model = AdaBoostMH(
            Product(Stump(), n_terms=2), preset="paper", n_rounds=10, random_state=0
        ).fit(X, Y)
        assert np.array_equal(model.predict(X), Y)


def test_sums_of_products_of_three_stumps_say_anything_on_the_cube():
    X = np.array(list(itertools.product([0, 1], repeat=3)))
    learner = Product(Stump(), n_terms=3, restarts=4)
    for code in range(3, 255, 12):
        y = (code >> np.arange(8)) & 1
        model = AdaBoostMH(learner, preset="paper", n_rounds=15, random_state=0).fit(X, y)
        assert model.score(X, y) == 1.0


def test_sums_of_products_of_fewer_stumps_do_not_say_everything():
    """Kégl and Busa-Fekete 2009a remark 1: a universal approximator if and only if the space has
    d dimensions.
    """
    X = np.array(list(itertools.product([0, 1], repeat=3)))
    y = X.sum(axis=1) % 2
    model = AdaBoostMH(
        Product(Stump(), n_terms=2, restarts=4), preset="paper", n_rounds=15, random_state=0
    )
    assert model.fit(X, y).n_rounds_ == 0
    assert model.stop_reason_ == "no edge"


def test_restarts_find_products_at_least_as_good(random_small):
    for seed in range(5):
        problem = random_small(seed, n=40, numeric=4, n_scores=2)
        plain = problem.find(Product(Stump(), n_terms=3))
        more = problem.find(Product(Stump(), n_terms=3, restarts=6))
        assert more.edge >= plain.edge


# --- How they are found ----------------------------------------------------------------------


@given(shapes, st.integers(1, 4))
def test_a_product_is_what_figure_3_gives(random_small, all_cuts, figure_3, shape, terms):
    problem = random_small(**shape)
    cuts = all_cuts(problem)
    assume(cuts)
    chosen, best = figure_3(cuts, problem.signed, terms)
    assume(best > 0)  # else first terms are drawn at random
    result = problem.find(Product(Stump(), terms))
    assert problem.units(result.edge) == best
    expected = [cuts[index][:3] for index in chosen if (cuts[index][3] != 1).any()]
    # A column without missing values abstains on those that it meets later.
    factors = [(f.column, f.threshold, f.missing or 1) for f in result.rule.factors]
    assert sorted(factors) == sorted(expected)
    phi = np.prod([cuts[index][3] for index in chosen], axis=0)
    assert result.rule.outputs(problem.binned).tolist() == [phi.tolist()]
    assert result.rule.signs(problem.binned).tolist() == phi.tolist()


@given(shapes, st.integers(2, 3))
def test_the_energy_falls_at_every_step_but_the_last(random_small, edge_of, shape, terms):
    problem = random_small(**shape)
    Recording.log.clear()
    best = problem.find(Product(Recording(), terms))
    edges = [0 if step is None else step.edge for _, step in Recording.log]
    assume(edges[0] > 0)
    *falling, last = edges
    assert all(a < b for a, b in itertools.pairwise(falling))
    assert last <= falling[-1] == best.edge
    # What a term says of the virtual labels, the product so far says of the real ones.
    phis = [np.ones(len(problem.X), dtype=np.int64)] * terms
    for step, (_, entry) in enumerate(Recording.log[:-1]):
        phis[step % terms] = entry.rule.signs(problem.binned).astype(np.int64)
        assert problem.units(entry.edge) == edge_of(np.prod(phis, axis=0), problem.signed)


@given(shapes)
def test_each_term_sees_the_labels_times_the_other_terms(random_small, shape):
    problem = random_small(**shape)
    Recording.log.clear()
    problem.find(Product(Recording(), n_terms=2))
    assume(Recording.log[0][1] is not None)
    (first, earlier), (second, _), *_ = Recording.log
    relabeled = problem.labels * earlier.rule.signs(problem.binned)
    assert first.signed_totals.tolist() == problem.state().whole.signed_totals.tolist()
    assert second.signed_totals.tolist() == problem.state(relabeled).whole.signed_totals.tolist()


def assert_same_search(backend, columns, ours, theirs, **settings):
    """Compare two problems by what they sum to and what a search finds in them."""
    assert ours.signed_totals.tolist() == theirs.signed_totals.tolist()
    assert ours.signed_masses.tolist() == theirs.signed_masses.tolist()
    results = []
    for problem in (ours, theirs):
        expected = search(backend, columns, problem, score_edges=True, **settings)
        arrays = (expected.edges, expected.first, expected.missing, expected.score_edges)
        results.append([array.tolist() for array in arrays])
    assert results[0] == results[1]


@given(shapes, st.sampled_from([MISSING_AUTO, -1, 0, 1]))
def test_virtual_labels_are_the_labels_times_signs(random_small, shape, absent):
    problem = random_small(**shape)
    backend, columns = ReferenceBackend(problem.binned), problem.binned.splittable
    assume(len(columns))
    signs = np.random.default_rng(0).choice([-1, 1], size=len(problem.X)).astype(np.int8)
    flipped = backend.flip(problem.state().whole, [Given(signs)])
    relabeled = problem.state(problem.labels * signs).whole
    assert_same_search(backend, columns, flipped, relabeled, absent=absent)


@given(shapes)
def test_a_sign_of_zero_takes_a_row_out(random_small, shape):
    problem = random_small(**shape)
    backend, columns = ReferenceBackend(problem.binned), problem.binned.splittable
    assume(len(columns))
    signs = np.random.default_rng(1).choice([-1, 0, 1], size=len(problem.X)).astype(np.int8)
    flipped = backend.flip(problem.state().whole, [Given(signs)])
    labels = problem.labels * np.where(signs == 0, 1, signs)
    without = problem.state(labels, problem.weights * np.abs(signs)).whole
    assert_same_search(backend, columns, flipped, without)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("n_scores", [1, 3, 20])
def test_virtual_labels_compiled(random_small, n_scores, zeros):
    for seed in range(3):
        problem = random_small(seed, n=25, numeric=4, n_scores=n_scores, missing=True)
        choices = [-1, 0, 1] if zeros else [-1, 1]
        signs = np.random.default_rng(seed).choice(choices, size=25).astype(np.int8)
        labels = problem.labels * np.where(signs == 0, 1, signs)
        relabeled = problem.state(labels, problem.weights * np.abs(signs)).whole
        with closing(NumbaBackend(problem.binned)) as backend:
            flipped = backend.flip(problem.state().whole, [Given(signs)])
            assert_same_search(backend, problem.binned.splittable, flipped, relabeled)


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_on_some_of_the_rows_the_product_is_that_of_those_rows(random_small, small, kind):
    """What subsampling does: a product found on some rows knows nothing of the others."""
    for seed in range(5):
        categorical = 3 if kind == "categorical" else 0
        problem = random_small(
            seed, n=30, numeric=3 - categorical, categorical=categorical, n_scores=2
        )
        rows = np.sort(np.random.default_rng(seed).choice(30, 18, replace=False)).astype(np.int32)
        subset = ReferenceBackend(problem.binned).within(problem.state().whole, rows)
        weights = np.zeros_like(problem.weights)
        weights[:, rows] = problem.weights[:, rows]
        learner = Product(Selector() if kind == "categorical" else Stump(), n_terms=2)
        ours = problem.find(learner, problem=subset)
        theirs = problem.find(learner, problem=problem.state(weights=weights).whole)
        assert ours.edge == theirs.edge
        assert ours.rule.key == theirs.rule.key


# --- One term --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["two classes", "three classes", "labels"])
def test_a_product_of_one_term_is_the_stump(target):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4))
    X[rng.random(X.shape) < 0.15] = np.nan
    y = {
        "two classes": rng.integers(2, size=90),
        "three classes": rng.integers(3, size=90),
        "labels": rng.integers(2, size=(90, 3)),
    }[target]
    stump = AdaBoostMH(Stump(), preset="paper", n_rounds=25).fit(X, y)
    product = AdaBoostMH(Product(Stump(), n_terms=1), preset="paper", n_rounds=25).fit(X, y)
    assert np.array_equal(stump.history_.to_array(), product.history_.to_array(), equal_nan=True)
    assert np.array_equal(stump.fitted_.terms.alphas, product.fitted_.terms.alphas)
    assert np.array_equal(stump.fitted_.terms.votes, product.fitted_.terms.votes)
    assert [stump.fitted_.terms.rule(t) for t in range(25)] == [
        product.fitted_.terms.rule(t)
        if product.fitted_.terms.rule(t).columns
        else stump.fitted_.terms.rule(t)
        for t in range(25)
    ]
    rows = rng.normal(size=(200, 4))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    assert np.array_equal(stump.predict(rows), product.predict(rows))
    np.testing.assert_allclose(
        stump.decision_function(rows), product.decision_function(rows), rtol=1e-12, atol=1e-12
    )


@given(shapes)
def test_terms_that_say_nothing_are_left_out(random_small, shape):
    problem = random_small(**shape)
    best = problem.find(Product(Stump(), n_terms=4))
    if best is not None:
        assert all(column >= 0 for column in best.rule.columns)
        if isinstance(best.rule, ProductRule):
            assert len(best.rule.terms) >= 2


# --- Mixed columns ---------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_a_product_of_selectors_is_what_figure_3_gives(
    random_small, all_selectors, figure_3, seed, terms
):
    problem = random_small(seed, n=20, numeric=0, categorical=2, n_scores=2, missing=True)
    cuts = [(j, value, 0, phi) for j, value, phi in all_selectors(problem)]
    chosen, best = figure_3(cuts, problem.signed, terms)
    assume(best > 0)
    result = problem.find(Product(Selector(), terms))
    assert problem.units(result.edge) == best
    assert sorted(result.rule.columns) == sorted(cuts[index][0] for index in chosen)


def test_a_product_of_a_number_and_a_color():
    rng = np.random.default_rng(3)
    X = pandas.DataFrame({"x": rng.uniform(-1, 1, 200), "color": rng.choice(list("rgby"), 200)})
    y = (X["x"] > 0.25) ^ X["color"].isin(["r", "b"])
    model = AdaBoostMH(
        Product([Stump(), Indicator()], n_terms=2), preset="paper", n_rounds=3, random_state=0
    )
    assert model.fit(X, y).score(X, y) == 1.0


# --- Terms that abstain ----------------------------------------------------------------------


def abstaining_phis(problem, all_cuts, constant):
    """Return phi of every stump that abstains on missing values; the constant comes last.

    A column with missing values has a cut below all others, which says +1 on what is present.
    """
    phis = [phi for *_, phi in all_cuts(problem, constant, missing="abstain")]
    return [*phis, np.ones(len(problem.X), dtype=int)] if constant else phis


@given(shapes, st.booleans())
def test_a_stump_that_abstains_is_the_best_of_all(random_small, all_cuts, edge_of, shape, constant):
    problem = random_small(**{**shape, "missing": True})
    assume(len(problem.binned.splittable))
    phis = abstaining_phis(problem, all_cuts, constant)
    edges = [edge_of(phi, problem.signed) for phi in phis]
    best = problem.find(Stump(constant, missing="abstain"), score_edges=True)
    if max(edges, default=0) == 0:
        assert best is None
        return
    phi = phis[edges.index(max(edges))]
    assert problem.units(best.edge) == max(edges)
    assert best.rule.signs(problem.binned).tolist() == phi.tolist()
    assert [problem.units(e) for e in best.score_edges] == (phi @ problem.signed).tolist()


@pytest.mark.parametrize("n_scores", [1, 3, 20])
def test_a_stump_that_abstains_is_the_best_of_all_compiled(
    random_small, all_cuts, edge_of, n_scores
):
    for seed in range(4):
        problem = random_small(seed, n=20, numeric=4, n_scores=n_scores, missing=True)
        for constant in (False, True):
            phis = abstaining_phis(problem, all_cuts, constant)
            with closing(NumbaBackend(problem.binned)) as backend:
                best = problem.find(Stump(constant, missing="abstain"), backend=backend)
            assert problem.units(best.edge) == max(edge_of(phi, problem.signed) for phi in phis)


@pytest.mark.parametrize(
    "learner",
    [
        Stump(constant=False, missing="abstain"),
        Product(Stump(constant=False, missing="abstain"), n_terms=2),
    ],
    ids=["stump", "product"],
)
@pytest.mark.parametrize("votes", ["discrete", "real"])
def test_where_a_term_abstains_no_score_changes_and_the_weight_stays(learner, votes):
    rng = np.random.default_rng(2)
    X = rng.integers(4, size=(60, 3)).astype(float)
    X[rng.random(X.shape) < 0.4] = np.nan
    y = rng.integers(2, size=60)
    model = AdaBoostMH(
        learner, preset="paper", votes=votes, n_rounds=4, init_weights="uniform"
    ).fit(X, y)
    labels, weights = np.where(y > 0, 1, -1), np.full(60, 1 / 60)
    stages = [np.zeros(60), *model.staged_decision_function(X)]
    for t, (before, after) in enumerate(itertools.pairwise(stages)):
        gone = np.isnan(X[:, model.fitted_.terms.rule(t).columns]).any(axis=1)
        assert gone.any()
        assert (after[gone] == before[gone]).all()
        right = weights[(after - before) * labels > 0].sum()
        wrong = weights[(after - before) * labels < 0].sum()
        idle = weights[gone].sum()
        assert idle + right + wrong == pytest.approx(1.0)
        energy = idle + 2 * math.sqrt(right * wrong)
        assert model.history_["energy"][t] == pytest.approx(energy)
        weights = weights * np.exp(-(after - before) * labels) / energy


@pytest.mark.parametrize("votes", ["discrete", "real"])
def test_edges_do_not_see_how_much_weight_a_stump_abstains_on(votes):
    """Of two columns with the same edge the first is taken.

    Column 0 cuts all eight rows, six of them rightly: an edge of 6 - 2 = 4. Column 1 is missing on
    half of the rows and right on all others: an edge of 4, too. Its energy is lower, 1/2 and what
    the least weight of a side, 1/1000, adds.
    """
    x = [0, 0, 0, 0, 1, 1, 1, 1]
    y = [0, 0, 0, 1, 1, 1, 1, 0]
    sure = [0, 0, np.nan, np.nan, 1, 1, np.nan, np.nan]
    learner = Stump(constant=False, missing="abstain")
    for columns, energy in (((x, sure), math.sqrt(12) / 4), ((sure, x), 0.5 + math.sqrt(0.0005))):
        model = AdaBoostMH(learner, preset="paper", votes=votes, n_rounds=1, init_weights="uniform")
        model.fit(np.column_stack(columns), y)
        assert model.fitted_.terms.columns[0] == 0
        assert model.history_["edge"][0] == pytest.approx(0.5)
        assert model.history_["energy"][0] == pytest.approx(energy, abs=1e-3)


@given(shapes, st.integers(2, 3))
def test_the_edge_grows_at_every_step_where_terms_abstain(random_small, edge_of, shape, terms):
    problem = random_small(**{**shape, "missing": True})
    Recording.log.clear()
    best = problem.find(Product(Recording(missing="abstain"), terms))
    edges = [0 if step is None else step.edge for _, step in Recording.log]
    assume(edges[0] > 0)
    *growing, last = edges
    assert all(a < b for a, b in itertools.pairwise(growing))
    assert last <= growing[-1] == best.edge
    phi = best.rule.signs(problem.binned).astype(np.int64)
    assert best.rule.outputs(problem.binned).tolist() == [phi.tolist()]
    assert problem.units(best.edge) == edge_of(phi, problem.signed)


def test_an_abstaining_stump_may_be_the_constant():
    X = np.array([[1.0], [1.0], [2.0], [np.nan], [np.nan], [np.nan]])
    y = [1, 0, 1, 1, 1, 1]
    model = AdaBoostMH(
        Stump(missing="abstain"), preset="paper", n_rounds=1, init_weights="uniform"
    ).fit(X, y)
    assert model.history_["edge"][0] == pytest.approx(4 / 6)
    assert "(always)" in str(model.rules()[0])
    refused = clone(model).set_params(learner=Stump(constant=False, missing="abstain")).fit(X, y)
    assert refused.history_["edge"][0] == pytest.approx(1 / 6)


# --- Settings --------------------------------------------------------------------------------


def test_it_can_be_cloned():
    cloned = clone(Product(Stump(constant=False), 3, 2))
    assert (cloned.n_terms, cloned.restarts, cloned.base.constant) == (3, 2, False)


@pytest.mark.parametrize(
    ("settings", "error", "name"),
    [
        ({"n_terms": 0}, ValueError, "n_terms"),
        ({"n_terms": 2.0}, TypeError, "n_terms"),
        ({"restarts": -1}, ValueError, "restarts"),
        ({"base": "twig"}, ValueError, "learner"),
        ({"base": Stump("yes")}, TypeError, "constant"),
        ({"base": Stump(missing="drop")}, ValueError, "missing"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(settings, error, name):
    with pytest.raises(error, match=f"{name} must be"):
        resolve_learner(Product(**settings))


@pytest.mark.parametrize(
    "base",
    [
        Tree(),
        "tree",
        [Stump(), Tree(Stump())],
        [[Stump(), "tree"]],
        Product(Tree(Stump())),
    ],
    ids=["object", "name", "list", "list in a list", "product"],
)
def test_a_product_of_trees_is_an_error_that_names_the_base(base):
    message = (
        r"base of a Product must make rules that output -1 or \+1, the same for every class.*got"
    )
    with pytest.raises(ValueError, match=message):
        AdaBoostMH(Product(base), preset="paper", n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 2])


def test_a_product_for_each_class_is_an_error_that_names_the_setting():
    model = AdaBoostMH(Product(), preset="paper", factorized=False)
    with pytest.raises(ValueError, match=r"learner must be 'stump'.*factorized=False, got Product"):
        model.fit([[1.0], [2.0], [3.0]], [0, 1, 2])
