"""Trees of base functions: grown best first, compared with a plain grower."""

import itertools
import math
from contextlib import closing
from functools import partial

import numpy as np
import pandas
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import AdaBoostMH, Best, Indicator, Product, Selector, Stump, Tree
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.data import RawRows, as_table
from edgewise.learners import resolve_learner
from edgewise.model import ProductRule, Subset, TreeRule

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(3, 24),
        "numeric": st.integers(1, 3),
        "n_scores": st.integers(1, 3),
        "levels": st.integers(2, 5),
        "missing": st.booleans(),
        "heaviest": st.sampled_from([1, 8, 300]),
    }
)


def votes_on(sums):
    """Return the votes of Kégl and Busa-Fekete 2009a eq. 4."""
    return np.where(sums > 0, 1, -1)


def best_cut(cuts, signed, rows):
    """Return phi of the cut with the largest edge on some rows, and the edge."""
    edges = [int(np.abs(phi[rows] @ signed[rows]).sum()) for *_, phi in cuts]
    return cuts[edges.index(max(edges))][-1], max(edges)


def grown(split, signed, leaves, free=False, alone=None):
    """Return the outputs, (n, K), of a tree that is grown best first.

    `split` gives phi of all rows and its edge for the rows of a leaf, `alone` the edge of the
    constant there. The leaf with the largest improvement over it is split next, the earlier of
    equal ones. A leaf
    says the last cut times its votes, or if `free` what is best for its own rows; where the cut
    abstains, what was said before it stands.
    """
    alone = alone or (lambda rows: int(np.abs(signed[rows].sum(axis=0)).sum()))
    outputs = np.zeros_like(signed)
    phi, edge = split(np.arange(len(signed)))
    if edge == 0:
        return None
    leaves_rows = [np.arange(len(signed))]
    while True:
        rows = leaves_rows[0]
        votes = votes_on(phi[rows] @ signed[rows])
        for side in (-1, 1):
            rows_of_leaf = rows[phi[rows] == side]
            outputs[rows_of_leaf] = (
                votes_on(signed[rows_of_leaf].sum(axis=0)) if free else side * votes
            )
            leaves_rows.append(rows_of_leaf)
        del leaves_rows[0]
        gains = []
        for rows_of_leaf in leaves_rows:
            best_split = split(rows_of_leaf) if len(rows_of_leaf) else (None, 0)
            gains.append((best_split[1] - alone(rows_of_leaf), best_split[0]))
        best = max(range(len(leaves_rows)), key=lambda place: gains[place][0])
        if len(leaves_rows) == leaves or gains[best][0] <= 0:
            return outputs
        leaves_rows.insert(0, leaves_rows.pop(best))
        phi = gains[best][1]


def edge_of_outputs(outputs, signed):
    """Return the sum of w * y * output."""
    return int((outputs * signed).sum())


def outputs_of(found, problem):
    return found.rule.outputs(problem.binned).T.astype(np.int64)


# --- How a tree grows ------------------------------------------------------------------------


@given(shapes, st.integers(2, 7), st.sampled_from(["inherit", "free"]))
def test_a_tree_is_grown_best_first(random_small, all_cuts, shape, leaves, leaf_votes):
    problem = random_small(**shape)
    cuts = all_cuts(problem)
    assume(cuts)
    signed = problem.signed
    expected = grown(partial(best_cut, cuts, signed), signed, leaves, leaf_votes == "free")
    best = problem.find(Tree(Stump(), leaves, leaf_votes))
    if expected is None:
        assert best is None
        return
    assert np.array_equal(outputs_of(best, problem), expected)
    assert problem.units(best.edge) == edge_of_outputs(expected, signed)
    sums = [problem.units(edge) for edge in best.score_edges]
    assert sums == (expected * signed).sum(axis=0).tolist()


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_a_tree_of_numbers_and_names_takes_the_best_of_both(
    random_small, all_cuts, all_selectors, seed, leaves
):
    problem = random_small(seed, n=24, numeric=2, categorical=2, n_scores=2, missing=True)
    cuts = [*all_cuts(problem), *all_selectors(problem)]
    expected = grown(partial(best_cut, cuts, problem.signed), problem.signed, leaves)
    best = problem.find(Tree([Stump(), Selector()], leaves))
    assert np.array_equal(outputs_of(best, problem), expected)


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_a_tree_of_products_tests_a_product_at_every_node(
    random_small, all_cuts, figure_3, seed, leaves
):
    problem = random_small(seed, n=20, numeric=3, n_scores=2, heaviest=300)
    cuts, signed = all_cuts(problem), problem.signed

    def split(rows):
        here = np.zeros_like(signed)
        here[rows] = signed[rows]
        chosen, edge = figure_3(cuts, here, 2)
        assume(edge > 0)  # else first terms are drawn at random
        return np.prod([cuts[index][-1] for index in chosen], axis=0), edge

    expected = grown(split, signed, leaves)
    best = problem.find(Tree(Product(Stump(), n_terms=2), leaves))
    assert np.array_equal(outputs_of(best, problem), expected)
    assert all(len(node.test.factors) <= 2 for node in best.rule.nodes)


@pytest.mark.parametrize("base", [Stump(), Stump(missing="abstain"), Product(Stump()), "mixed"])
@pytest.mark.parametrize("n_scores", [1, 3, 20])
def test_compiled_kernels_grow_the_same_tree(random_small, base, n_scores):
    """Siblings' histograms are subtracted there."""
    base = [Stump(), Indicator()] if base == "mixed" else base
    for seed in range(3):
        categorical = 2 if isinstance(base, list) else 0
        problem = random_small(
            seed, n=60, numeric=3, categorical=categorical, n_scores=n_scores, missing=True
        )
        learner = Tree(base, max_leaf_nodes=8)
        plain = problem.find(learner)
        with closing(NumbaBackend(problem.binned)) as backend:
            best = problem.find(learner, backend=backend)
        assert best.edge == plain.edge
        assert np.array_equal(outputs_of(best, problem), outputs_of(plain, problem))


@settings(max_examples=50)
@given(shapes)
def test_more_leaves_never_lower_the_edge(random_small, shape):
    problem = random_small(**shape)
    edges = [problem.find(Stump()), *(problem.find(Tree(Stump(), n)) for n in (2, 3, 5, 8))]
    assume(edges[0] is not None)
    assert all(a.edge <= b.edge for a, b in itertools.pairwise(edges))
    assert edges[0].edge == edges[1].edge


@given(shapes)
def test_free_votes_never_lower_the_edge(random_small, shape):
    problem = random_small(**shape)
    best = problem.find(Tree(Stump(), 4))
    assume(best is not None)
    assert problem.find(Tree(Stump(), 4, "free")).edge >= best.edge


def test_a_tree_has_no_more_leaves_than_asked_for(random_small):
    problem = random_small(0, n=60, numeric=3, levels=20)
    for leaves in (2, 3, 7, 20):
        rule = problem.find(Tree(Stump(), leaves)).rule
        assert len(rule.nodes) <= leaves - 1
        assert len(set(rule.leaf_of(problem.binned).tolist())) <= leaves


def test_a_worked_example(small):
    """Three rows in a line with the labels +, -, +, of weights 1, 3 and 1.

    The constant is wrong on a weight of 3 or right on it: its edge is |1 - 3 + 1| = 1. x >= 0.5
    has the edge |-1 - 3 + 1| = 3, x >= 1.5 has |-1 + 3 + 1| = 3: the lower is first, with the vote
    -1 (it says + below 0.5 and - above). On the rows above, x >= 1.5 has the edge 3 + 1 = 4 and
    the constant 2: the tree says +, -, + and has the edge 5.
    """
    problem = small([[0], [1], [2]], [[1], [-1], [1]], [[1], [3], [1]])
    best = problem.find(Tree(Stump(), max_leaf_nodes=3))
    assert [node.test.threshold for node in best.rule.nodes] == [0.5, 1.5]
    assert outputs_of(best, problem)[:, 0].tolist() == [1, -1, 1]
    assert problem.units(best.edge) == 5


def test_leaves_say_the_last_cut_times_its_votes(random_small):
    for seed in range(6):
        problem = random_small(seed, n=40, numeric=3, n_scores=3, levels=9)
        rule = problem.find(Tree(Stump(), max_leaf_nodes=6)).rule
        for node in rule.nodes:
            if node.low < 0 and node.high < 0:
                low, high = rule.leaves[-1 - node.low], rule.leaves[-1 - node.high]
                assert (low == -high).all()


# --- By gain ---------------------------------------------------------------------------------


def by_gain(problem, phis, gain_of, split_gain):
    """Return what `grown` needs to split by gain: the split of some rows, and their own gain."""

    def split(rows):
        gains = [split_gain(phi[rows], problem.signed[rows]) for phi in phis]
        best = max(gains, default=-1)
        return (phis[gains.index(best)], best) if best > 0 else (None, 0)

    return split, partial(gain_of, signed=problem.signed)


@given(shapes, st.integers(2, 6), st.sampled_from(["inherit", "free"]))
def test_by_gain_a_tree_is_grown_best_first(
    random_small, all_cuts, gain_of, split_gain, shape, leaves, leaf_votes
):
    problem = random_small(**shape)
    phis = [phi for *_, phi in all_cuts(problem)]
    assume(phis)
    signed = problem.signed
    split, alone = by_gain(problem, phis, gain_of, split_gain)
    expected = grown(split, signed, leaves, leaf_votes == "free", alone)
    best = problem.find(Tree(Stump(), leaves, leaf_votes, "gain"))
    if expected is None:
        # After a random first test a tree may still have an edge.
        assert best is None or problem.units(best.edge) > 0
        return
    assert np.array_equal(outputs_of(best, problem), expected)
    assert problem.units(best.edge) == edge_of_outputs(expected, signed)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3))
def test_by_gain_a_tree_of_numbers_and_names_takes_the_best_of_both(
    random_small, all_cuts, all_selectors, gain_of, split_gain, seed, leaves, n_scores
):
    problem = random_small(seed, n=20, numeric=2, categorical=2, n_scores=n_scores, missing=True)
    phis = [phi for *_, phi in [*all_cuts(problem), *all_selectors(problem)]]
    split, alone = by_gain(problem, phis, gain_of, split_gain)
    expected = grown(split, problem.signed, leaves, True, alone)
    best = problem.find(Tree([Stump(), Selector()], leaves, "free", "gain"))
    assume(expected is not None)
    assert np.array_equal(outputs_of(best, problem), expected)


@settings(max_examples=40)
@given(shapes, st.integers(2, 5))
def test_by_gain_the_loss_falls_to_second_order_by_the_gains_of_the_leaves(
    random_small, gain_of, shape, leaves
):
    """The best vote on a leaf is half the logarithm of the odds, which lowers the loss most."""
    problem = random_small(**shape)
    assume(len(problem.binned.splittable))
    fewer = problem.find(Tree(Stump(), leaves, "free", "gain"), real_votes=True)
    more = problem.find(Tree(Stump(), leaves + 1, "free", "gain"), real_votes=True)
    assume(fewer is not None)
    gains, n_scores = [], problem.signed.shape[1]
    for tree in (fewer, more):
        leaf_of = tree.rule.leaf_of(problem.binned)
        rows_of_leaves = [np.flatnonzero(leaf_of == leaf) for leaf in np.unique(leaf_of)]
        gains.append(sum(gain_of(rows, problem.signed) for rows in rows_of_leaves))
        for rows in rows_of_leaves:
            masses = np.abs(problem.signed[rows]).sum(axis=0)
            sums = problem.signed[rows].sum(axis=0)
            floor = 2**14 * 1e-3 / n_scores
            odds = ((masses + sums) / 2 + floor) / ((masses - sums) / 2 + floor)
            votes = tree.rule.leaves[leaf_of[rows[0]]]
            np.testing.assert_allclose(votes, np.log(odds) / 2, rtol=1e-12, atol=1e-15)
    # Up to the rounding of a gain to a whole number.
    assert gains[1] >= gains[0] - leaves


@pytest.mark.parametrize(
    ("base", "n_scores"), [(Selector(), 15), ("mixed", 16), (Selector(), 33)], ids=str
)
def test_by_gain_compiled_kernels_grow_the_same_tree(random_small, base, n_scores):
    """The mass has a column of its own, which may be the first of another chunk of lanes."""
    numeric = 0 if isinstance(base, (Selector, Indicator)) else 3
    categorical = 0 if isinstance(base, Stump) else 2
    learner = Tree([Stump(), Indicator()] if base == "mixed" else base, 6, "free", "gain")
    for seed in range(2):
        problem = random_small(
            seed, n=60, numeric=numeric, categorical=categorical, n_scores=n_scores, missing=True
        )
        plain = problem.find(learner, real_votes=True)
        for n_jobs in (1, 2):
            with closing(NumbaBackend(problem.binned, n_jobs)) as backend:
                best = problem.find(learner, backend=backend, real_votes=True)
                # What the backend remembers of the leaves is what the rule says of the rows.
                outputs = backend.outputs(best.rule)
            assert best.edge == plain.edge
            assert np.array_equal(outputs, plain.rule.outputs(problem.binned))
            assert np.array_equal(best.rule.leaves, plain.rule.leaves)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_by_gain_the_first_split_of_a_model_is_the_best(n_labels):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(6, size=(40, 2)).astype(float)
        Y = rng.integers(2, size=(40, max(2, n_labels)))
        weights = rng.uniform(0.5, 2, size=Y.shape)
        if n_labels == 1:
            weights[:, 1] = 0.0
        learner = Tree(Stump(), 2, leaf_votes="free", criterion="gain")
        model = AdaBoostMH(
            learner, preset="paper", votes="real", n_rounds=1, init_weights=weights
        ).fit(X, Y)
        signed = weights * np.where(Y > 0, 1, -1)

        def gain(inside, signed=signed):
            sides = signed[inside], signed[~inside]
            return sum((side.sum(axis=0) ** 2).sum() / np.abs(side).sum() for side in sides)

        tried = [gain(x >= threshold) for x in X.T for threshold in np.unique(x)[1:]]
        leaf_of = model.fitted_.terms.rule(0).leaf_of(RawRows(as_table(X)))
        assert gain(leaf_of == leaf_of[0]) == pytest.approx(max(tried))


def test_gain_sees_where_a_class_is_only_more_likely():
    """With nine rows of ten in one class everywhere, no vote changes sign and no edge grows."""
    x = np.repeat([0.0, 1.0], 100)
    y = np.ones(200, dtype=int)
    y[:40] = 0
    y[100:105] = 0
    make = partial(AdaBoostMH, preset="paper", votes="real", n_rounds=1, init_weights="uniform")
    by_edge = make(Tree(Stump(), 2, "free")).fit(x[:, None], y)
    by_gain = make(Tree(Stump(), 2, "free", "gain")).fit(x[:, None], y)
    assert len(set(by_edge.decision_function(x[:, None]).tolist())) == 1
    assert len(set(by_gain.decision_function(x[:, None]).tolist())) == 2
    assert by_gain.history_["energy"][0] < by_edge.history_["energy"][0]


@pytest.mark.parametrize(
    "base",
    [
        Product(Stump()),
        "product",
        [Stump(), Product(Stump())],
        Stump(missing="abstain"),
        [Stump(missing="abstain"), Indicator()],
    ],
    ids=str,
)
def test_gain_wants_tests_of_single_columns(base):
    with pytest.raises(ValueError, match="criterion='gain'"):
        resolve_learner(Tree(base, criterion="gain"))


# --- Rows on which a node abstains -----------------------------------------------------------


@given(shapes, st.integers(2, 6), st.booleans())
def test_where_a_test_abstains_the_output_before_it_stands(
    random_small, all_cuts, shape, leaves, constant
):
    problem = random_small(**{**shape, "missing": True})
    cuts = all_cuts(problem, constant, missing="abstain")
    assume(cuts)
    if constant:
        cuts.append((-1, -math.inf, 1, np.ones(len(problem.X), dtype=int)))
    expected = grown(partial(best_cut, cuts, problem.signed), problem.signed, leaves)
    best = problem.find(Tree(Stump(constant, missing="abstain"), leaves))
    assert (best is None) == (expected is None)
    if best is not None:
        assert np.array_equal(outputs_of(best, problem), expected)


@pytest.mark.parametrize("constant", [False, True])
def test_the_edge_counts_the_rows_on_which_a_node_abstains(random_small, constant):
    for seed in range(20):
        problem = random_small(seed, n=24, numeric=3, missing=True)
        best = problem.find(Tree(Stump(constant, missing="abstain"), 4))
        outputs = outputs_of(best, problem)
        assert problem.units(best.edge) == edge_of_outputs(outputs, problem.signed)
        sums = [problem.units(edge) for edge in best.score_edges]
        assert sums == (outputs * problem.signed).sum(axis=0).tolist()


def test_later_missing_values_stop_at_the_node_that_meets_them(small):
    """Training had none, so a test abstains on them; at the root nothing has been said yet."""
    X = np.array(list(itertools.product([0.0, 1.0], repeat=2)))
    problem = small(X, [[-1], [-1], [-1], [1]], [[3], [2], [1], [2]])
    rule = problem.find(Tree(Stump(), max_leaf_nodes=3)).rule
    root, below = rule.nodes
    assert root.test.column != below.test.column
    rows = np.zeros((4, 2))
    rows[:, root.test.column] = [0.0, 1.0, np.nan, np.nan]
    rows[:, below.test.column] = [np.nan, np.nan, 0.0, 1.0]
    later = RawRows(as_table(rows))
    assert rule.outputs(later)[0].tolist()[2:] == [0, 0]
    stub = problem.find(Tree(Stump(), max_leaf_nodes=2)).rule
    assert rule.outputs(later)[0].tolist()[:2] == stub.outputs(later)[0].tolist()[:2]


# --- Real votes ------------------------------------------------------------------------------


def test_free_real_leaves_say_half_the_log_odds_of_their_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(400, 2)).astype(float)
    y = (rng.random(400) < 0.2 + 0.15 * X[:, 0] + 0.05 * X[:, 1]).astype(int)
    learner = Tree(Stump(), max_leaf_nodes=4, leaf_votes="free")
    model = AdaBoostMH(
        learner, preset="paper", votes="real", n_rounds=1, init_weights="uniform"
    ).fit(X, y)
    scores = model.decision_function(X)
    assert 2 < len(set(scores.tolist())) <= 4
    for score in set(scores.tolist()):
        inside = scores == score
        plus, minus = (y[inside] == 1).sum(), (y[inside] == 0).sum()
        assert score == pytest.approx(math.log(plus / minus) / 2, abs=0.02)


def test_inherited_real_leaves_say_half_the_log_odds_of_the_last_cut():
    rng = np.random.default_rng(1)
    X = rng.integers(4, size=(400, 2)).astype(float)
    Y = (rng.random((400, 2)) < 0.2 + 0.15 * X).astype(int)
    model = AdaBoostMH(
        Tree(Stump(), max_leaf_nodes=2), preset="paper", votes="real", n_rounds=1
    ).fit(X, Y)
    (node,) = model.fitted_.terms.rule(0).nodes
    phi = np.where(X[:, node.test.column] >= node.test.threshold, 1, -1)
    right = np.array([(phi == np.where(label, 1, -1)).sum() for label in Y.T])
    votes = np.log(right / (400 - right)) / 2
    np.testing.assert_allclose(model.decision_function(X), phi[:, None] * votes, atol=0.02)


@pytest.mark.parametrize("leaf_votes", ["inherit", "free"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_real_votes_the_bound_is_the_loss_of_the_scores(leaf_votes, n_classes):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.integers(n_classes, size=80)
    learner = Tree(Stump(), 5, leaf_votes)
    model = AdaBoostMH(
        learner, preset="paper", votes="real", n_rounds=6, init_weights="uniform"
    ).fit(X, y)
    signs = np.where(np.arange(n_classes) == y[:, None], 1, -1)
    scores = model.decision_function(X).reshape(80, -1)
    loss = np.exp(-scores * signs[:, -scores.shape[1] :]).mean()
    assert model.history_["bound"][-1] == pytest.approx(loss)
    assert (model.history_["energy"] < 1).all()


# --- Two leaves ------------------------------------------------------------------------------


def stump_and_tree(target):
    """Return a stump and a tree of two leaves, boosted on the same rows."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 4))
    X[rng.random(X.shape) < 0.15] = np.nan
    y = {
        "two classes": rng.integers(2, size=90),
        "three classes": rng.integers(3, size=90),
        "labels": rng.integers(2, size=(90, 3)),
    }[target]
    stump = AdaBoostMH(Stump(), preset="paper", n_rounds=25).fit(X, y)
    return stump, AdaBoostMH(Tree(Stump(), max_leaf_nodes=2), preset="paper", n_rounds=25).fit(X, y)


@pytest.mark.parametrize("target", ["two classes", "three classes", "labels"])
def test_a_tree_of_two_leaves_is_the_stump(target):
    stump, tree = stump_and_tree(target)
    for t in range(25):
        rule = tree.fitted_.terms.rule(t)
        (node,) = rule.nodes
        expected = stump.fitted_.terms.rule(t)
        assert (node.test.columns or [-1]) == expected.columns
        if node.test.columns:
            assert node.test == expected
        votes = tree.fitted_.terms.votes[t] * rule.leaves[-1 - node.high]
        assert np.array_equal(votes, stump.fitted_.terms.votes[t])
    rows = np.random.default_rng(7).normal(size=(200, 4))
    rows[::3, 1] = rows[1::4, 2] = np.nan
    assert np.array_equal(stump.predict(rows), tree.predict(rows))
    np.testing.assert_allclose(
        stump.decision_function(rows), tree.decision_function(rows), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("target", ["two classes", "three classes", "labels"])
def test_a_tree_of_two_leaves_is_the_stump_to_the_last_bit(target):
    stump, tree = stump_and_tree(target)
    for name in ("edge", "alpha", "energy", "bound", "train_error", "hamming_loss"):
        assert np.array_equal(stump.history_[name], tree.history_[name])
    assert np.array_equal(stump.fitted_.terms.alphas, tree.fitted_.terms.alphas)
    # With several score columns w'_Sigma is said of a shared cut, which a tree is not.
    assert np.isnan(tree.history_["pseudo_weight"]).all() == (target != "two classes")


def test_a_tree_of_two_leaves_is_the_stump_where_a_class_has_no_edge():
    X = np.array([[0.0], [0.0], [1.0], [1.0]] * 3)
    y = np.array([0, 2, 1, 2] * 3)
    stump = AdaBoostMH(Stump(), preset="paper", n_rounds=1).fit(X, y)
    tree = AdaBoostMH(Tree(Stump(), max_leaf_nodes=2), preset="paper", n_rounds=1).fit(X, y)
    assert np.array_equal(stump.decision_function(X), tree.decision_function(X))


# --- Words, settings, errors -----------------------------------------------------------------


def test_a_tree_solves_what_no_sum_of_stumps_can():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = X[:, 0] * X[:, 1] > 0
    assert (
        AdaBoostMH(Tree(Stump(), max_leaf_nodes=4), preset="paper", n_rounds=25)
        .fit(X, y)
        .score(X, y)
        > 0.98
    )


def test_a_tree_reads_as_one_path_a_line():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "a"]
    model = AdaBoostMH(
        Tree(Stump(), max_leaf_nodes=3),
        preset="paper",
        n_rounds=1,
        init_weights=[[1.0], [3.0], [1.0]],
    )
    tests = [str(rule).split(" -> ")[0] for rule in model.fit(X, y).rules()[:3]]
    assert sorted(tests) == ["0.5 <= x0 < 1.5", "x0 < 0.5", "x0 >= 1.5"]


def test_a_mixed_frame_of_numbers_and_names():
    rng = np.random.default_rng(1)
    X = pandas.DataFrame({"x": rng.uniform(size=200), "c": rng.choice(list("abcd"), 200)})
    X.loc[rng.random(200) < 0.1, "c"] = None
    y = np.where(X["c"].isin(["a", "b"]), X["x"] > 0.3, X["x"] > 0.7)
    model = AdaBoostMH(Tree(max_leaf_nodes=4), preset="paper", n_rounds=10).fit(X, y)
    assert model.score(X, y) == 1.0
    rules = [model.fitted_.terms.rule(t) for t in range(model.n_rounds_)]
    assert all(isinstance(rule, TreeRule) for rule in rules)
    tests = [node.test for rule in rules for node in rule.nodes]
    assert any(isinstance(test, Subset) for test in tests)
    assert any(not isinstance(test, Subset) for test in tests)


def test_trees_of_products_are_stored_as_such():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(200, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.3)
    model = AdaBoostMH(Tree(Product(Stump(), 2), max_leaf_nodes=3), preset="paper", n_rounds=4).fit(
        X, y
    )
    tests = [node.test for t in range(4) for node in model.fitted_.terms.rule(t).nodes]
    assert any(isinstance(test, ProductRule) for test in tests)


def test_it_can_be_cloned():
    cloned = clone(Tree(Product(Stump(), 3), 5, "free"))
    assert (cloned.max_leaf_nodes, cloned.leaf_votes, cloned.base.n_terms) == (5, "free", 3)


@pytest.mark.parametrize(
    ("chosen", "error", "name"),
    [
        ({"max_leaf_nodes": 1}, ValueError, "max_leaf_nodes"),
        ({"max_leaf_nodes": "8"}, TypeError, "max_leaf_nodes"),
        ({"leaf_votes": "fixed"}, ValueError, "leaf_votes"),
        ({"criterion": "entropy"}, ValueError, "criterion"),
        ({"base": "twig"}, ValueError, "learner"),
        ({"base": Product(n_terms=0)}, ValueError, "n_terms"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(chosen, error, name):
    with pytest.raises(error, match=f"{name} must be"):
        resolve_learner(Tree(**chosen))


@pytest.mark.parametrize(
    "base",
    [
        Tree(),
        "tree",
        [Stump(), Tree(Stump())],
        [[Stump(), "tree"]],
        Best([Stump(), Tree(Stump())]),
    ],
    ids=["object", "name", "list", "list in a list", "best"],
)
def test_a_tree_of_trees_is_an_error_that_names_the_base(base):
    message = r"base of a Tree must make rules that output -1 or \+1, the same for every class.*got"
    with pytest.raises(ValueError, match=message):
        AdaBoostMH(Tree(base), preset="paper", n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 2])


def test_a_tree_for_each_class_is_an_error_that_names_the_setting():
    with pytest.raises(ValueError, match=r"learner must be 'stump'.*factorized=False, got Tree"):
        AdaBoostMH(Tree(), preset="paper", factorized=False).fit([[1.0], [2.0], [3.0]], [0, 1, 2])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_gains_are_those_of_the_sums_on_both_sides(backend, monkeypatch):
    """Two splits: 6 of 8 rows right at the root, then all; weights are equal at first."""
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 1]], dtype=float)
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    parameters = {"votes": "real", "n_rounds": 1, "init_weights": "uniform"}
    tree = (
        AdaBoostMH(Tree(Stump(), 4, "free", "gain"), preset="paper", **parameters)
        .fit(X, y)
        .fitted_.terms.rules[0]
    )
    # The sum of edges is -4 of 8; columns 0 and 1 split it into (-4, 0) and (-6, 2).
    (node,) = tree.nodes
    assert node.test.column == 1
    assert node.gain == pytest.approx((6**2 / 6 + 2**2 / 2 - 4**2 / 8) / 8)
