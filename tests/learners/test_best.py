"""The best of several learners: what a list of learners stands for."""

import re

import numpy as np
import pandas
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import AdaBoostMH, Best, Indicator, Lazy, Product, Selector, Stump, Tree
from edgewise.learners import resolve_learner
from edgewise.model import Cut, ProductRule, Subset, TreeRule


def frame(n=120, seed=0):
    """Return numbers and names, and what depends on both."""
    rng = np.random.default_rng(seed)
    X = pandas.DataFrame({"x": rng.uniform(size=n), "color": rng.choice(list("rgby"), n)})
    return X, ((X["x"] > 0.4) ^ X["color"].isin(["r", "b"])).astype(int).to_numpy()


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_best_of_all_learners_is_taken(random_small, seed, n_scores):
    problem = random_small(seed, n=14, numeric=2, categorical=2, n_scores=n_scores, missing=True)
    learners = [Stump(constant=False), Selector(), Product(Selector(), 2)]
    alone = [problem.find(learner) for learner in learners]
    edges = [0 if rule is None else rule.edge for rule in alone]
    together = problem.find(Best(learners))
    assume(max(edges) > 0)
    assert together.edge == max(edges)
    first = alone[edges.index(max(edges))]
    assert np.array_equal(together.rule.outputs(problem.binned), first.rule.outputs(problem.binned))


def test_of_equally_good_rules_the_first_learners_is_taken(small):
    X = [[0, 0], [1, 1], [0, 0], [1, 1]]
    problem = small(X, [[-1], [1], [-1], [1]], [[1]] * 4, categorical=[1])
    assert isinstance(problem.find(Best([Stump(), Indicator()])).rule, Cut)
    assert isinstance(problem.find(Best([Indicator(), Stump()])).rule, Subset)


@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
def test_a_tree_that_is_no_better_than_the_first_learner_is_not_taken(votes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 4)), rng.integers(3, size=100)
    learner = [Stump(), Tree(Stump(), max_leaf_nodes=2)]
    model = AdaBoostMH(learner, preset="paper", votes=votes, n_rounds=5).fit(X, y)
    stump = AdaBoostMH(Stump(), preset="paper", votes=votes, n_rounds=5).fit(X, y)
    assert not any(isinstance(model.fitted_.terms.rule(t), TreeRule) for t in range(5))
    assert np.array_equal(model.history_["energy"], stump.history_["energy"])


def test_a_list_is_the_best_of_its_learners():
    X, y = frame()
    listed = AdaBoostMH([Stump(), Indicator()], preset="paper", n_rounds=6).fit(X, y)
    named = AdaBoostMH(Best([Stump(), Indicator()]), preset="paper", n_rounds=6).fit(X, y)
    assert np.array_equal(listed.decision_function(X), named.decision_function(X))
    kinds = {type(listed.fitted_.terms.rule(t)) for t in range(6)}
    assert kinds <= {Cut, Subset}


def test_stump_on_columns_of_both_kinds_is_a_stump_or_an_indicator():
    X, y = frame()
    named = AdaBoostMH("stump", preset="paper", n_rounds=6).fit(X, y)
    listed = AdaBoostMH([Stump(), Indicator()], preset="paper", n_rounds=6).fit(X, y)
    assert np.array_equal(named.history_["energy"], listed.history_["energy"])


def test_a_mixed_product_prints_its_factors():
    X, y = frame()
    model = AdaBoostMH(
        Product([Stump(), Indicator()], n_terms=2), preset="paper", n_rounds=1, random_state=0
    )
    rule = model.fit(X, y).rules()[0]
    product = model.fitted_.terms.rule(0)
    assert isinstance(product, ProductRule)
    assert model.score(X, y) > 0.9
    cut, subset = r"\(x >= 0\.\d+\)", r"\(color (not )?in \{\w, \w\}\)"
    pattern = (
        rf"\+\d+\.\d\d \* ({cut} \* {subset}|{subset} \* {cut}) -> votes for [01], against [01]"
    )
    assert re.fullmatch(pattern, str(rule))


@pytest.mark.parametrize("search", ["exhaustive", Lazy(1)])
def test_each_learner_searches_its_own_kind_of_columns(search):
    X, y = frame()
    X = X.assign(z=np.random.default_rng(1).uniform(size=len(X)))
    model = AdaBoostMH(
        [Stump(constant=False), Selector()], preset="paper", search=search, n_rounds=20
    )
    model.set_params(random_state=0).fit(X, y)
    names = list(X.columns)
    for t in range(model.n_rounds_):
        rule = model.fitted_.terms.rule(t)
        (name,) = (names[j] for j in rule.columns)
        assert isinstance(rule, Subset if name == "color" else Cut)


def test_learners_inside_of_a_list_can_be_lists_and_names():
    X, y = frame()
    model = AdaBoostMH(
        [[Stump(), Indicator()], "product"], preset="paper", n_rounds=4, random_state=0
    )
    assert model.fit(X, y).n_rounds_ == 4


def test_it_can_be_cloned():
    cloned = clone(Best([Stump(constant=False), Product(Stump(), 3)]))
    assert [type(learner) for learner in cloned.learners] == [Stump, Product]
    assert cloned.learners[0].constant is False


@pytest.mark.parametrize("learners", [[], "stump", None, 3])
def test_what_is_no_list_is_an_error_that_names_it(learners):
    with pytest.raises(ValueError, match="learners must be a list"):
        resolve_learner(Best(learners))


def test_an_empty_list_is_an_error():
    with pytest.raises(ValueError, match="list of at least one learner"):
        AdaBoostMH([], preset="paper").fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("learner", "error", "name"),
    [
        ([Stump(), "twig"], ValueError, "learner must be one of"),
        ([Stump(), 3], TypeError, "learner must be one of"),
        ([Stump(), Product(n_terms=0)], ValueError, "terms must be"),
        ([Stump(), Indicator(start="here")], ValueError, "start must be"),
    ],
)
def test_a_wrong_part_is_an_error_that_names_what_is_wrong(learner, error, name):
    with pytest.raises(error, match=name):
        AdaBoostMH(learner, preset="paper").fit([[1.0], [2.0]], [0, 1])


def test_categorical_columns_without_a_learner_for_them_are_an_error_that_names_one():
    X, y = frame()
    with pytest.raises(ValueError, match="'color'"):
        AdaBoostMH(Stump(), preset="paper").fit(X, y)
    with pytest.raises(ValueError, match="'color'"):
        AdaBoostMH([Stump(), Product(Stump())], preset="paper").fit(X, y)


def test_numeric_columns_without_a_learner_for_them_are_an_error_that_names_one():
    X, y = frame()
    with pytest.raises(ValueError, match="'x'"):
        AdaBoostMH([Selector(), Indicator()], preset="paper").fit(X, y)


@pytest.mark.parametrize(
    "learner",
    [[Stump()], [Stump(), Product(Stump())], Best([Stump()]), "product", "tree", Indicator()],
    ids=str,
)
def test_for_each_class_only_a_stump_will_do(learner):
    """Said before any work is done: there are no rows to read here."""
    with pytest.raises(ValueError, match="learner.*factorized=False.*" + re.escape(repr(learner))):
        AdaBoostMH(learner, preset="paper", factorized=False).fit(None, None)


@pytest.mark.parametrize("learner", ["auto", "stump"])
def test_for_each_class_the_names_stand_for_a_stump(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    named = AdaBoostMH(learner, preset="paper", factorized=False, n_rounds=5).fit(X, y)
    plain = AdaBoostMH(Stump(), preset="paper", factorized=False, n_rounds=5).fit(X, y)
    assert np.array_equal(named.decision_function(X), plain.decision_function(X))
    assert (named.votes_, named.loss_, named.learning_rate_) == ("discrete", "exponential", 1.0)
