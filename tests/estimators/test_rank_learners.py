"""Rankers of every learner: what they predict is what they were trained to, and reads as it is."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from edgewise import Best, Feature, Indicator, Lazy, Product, RankBoost, Selector, Stump, Tree
from edgewise.model import Cut, Linear, ProductRule, Subset, TreeRule

N = 90


def documents(seed=0):
    """Return numbers and words, grades and queries."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=N)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=N) + 0.7 * y,
            "b": np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N) - y),
            "c": rng.integers(4, size=N).astype(float),
            "kind": pd.Categorical(np.array(list("uvwx"))[(y + rng.integers(3, size=N)) % 4]),
        }
    )
    return frame, y, rng.choice(["q1", "q2", "q3"], size=N)


NUMBERS = ["a", "b", "c"]
CASES = {
    "stump": ({"learner": "stump"}, NUMBERS),
    "stump and indicator": ({"learner": "stump"}, [*NUMBERS, "kind"]),
    "indicator": ({"learner": "stump"}, ["kind"]),
    "product": ({"learner": "product"}, NUMBERS),
    "product of both": ({"learner": "product"}, [*NUMBERS, "kind"]),
    "tree": ({"learner": "tree"}, NUMBERS),
    "tree of both": ({"learner": "tree"}, [*NUMBERS, "kind"]),
    "feature": ({"learner": "feature"}, NUMBERS),
    "Stump": ({"learner": Stump(missing="abstain")}, NUMBERS),
    "Product of three": ({"learner": Product(Stump(), n_terms=3)}, NUMBERS),
    "Tree of four": ({"learner": Tree(Stump(), 4)}, NUMBERS),
    "list": ({"learner": [Stump(), Indicator()]}, [*NUMBERS, "kind"]),
    "Best": ({"learner": Best([Stump(), Selector()])}, [*NUMBERS, "kind"]),
    "mixed list": ({"learner": [Stump(), Product(Stump())]}, NUMBERS),
    "lazy": ({"search": Lazy(1), "random_state": 0}, NUMBERS),
    "sampled": ({"subsample": 0.4, "random_state": 0}, NUMBERS),
    "energy": ({"criterion": "energy"}, NUMBERS),
}
every_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture(scope="module")
def trained():
    """Return a function that trains a case once."""
    kept = {}

    def fit(case):
        if case not in kept:
            options, columns = CASES[case]
            frame, y, qid = documents()
            X = frame[columns]
            kept[case] = (RankBoost(**{"n_rounds": 20, **options}).fit(X, y, qid), X, y, qid)
        return kept[case]

    return fit


def loss_of(scores, y, qid):
    """Return the share of misordered pairs, each by its difference of grades, by default weights.

    Queries count by the root of what their pairs total to.
    """
    wrong = total = 0.0
    scores = np.round(scores, 10)  # equal scores are sums of the same numbers in another order
    for q in np.unique(qid):
        mine = qid == q
        H, grades = scores[mine], y[mine]
        D = np.maximum(grades - grades[:, None], 0)
        apart = H[:, None] - H
        share = (apart > 0) + 0.5 * (apart == 0)
        wrong += (D * share).sum() / np.sqrt(D.sum())
        total += np.sqrt(D.sum())
    return wrong / total


@every_case
def test_scores_of_the_training_rows_have_the_loss_of_the_last_round(trained, case):
    model, X, y, qid = trained(case)
    assert model.n_rounds_ == 20
    loss = model.history_["ranking_loss"]
    assert loss[-1] == pytest.approx(loss_of(model.predict(X), y, qid), abs=1e-12)
    assert loss[-1] < 0.5


@every_case
def test_stages(trained, case):
    model, X, y, qid = trained(case)
    stages = list(model.staged_predict(X))
    assert len(stages) == 20
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-12, atol=1e-12)
    for scores, loss in zip(stages, model.history_["ranking_loss"], strict=True):
        assert loss == pytest.approx(loss_of(scores, y, qid), abs=1e-12)


class Rows:
    """A data frame as rules read it."""

    def __init__(self, frame):
        self.frame, self.n_rows = frame, len(frame)

    def numbers(self, j):
        return self.frame.iloc[:, j].to_numpy()

    def threshold_signs(self, j, threshold, missing):
        if j < 0:
            return np.ones(self.n_rows)
        column = self.numbers(j)
        return np.where(np.isnan(column), missing, np.where(column >= threshold, 1, -1))

    def subset_values(self, j, values):
        return values[self.frame.iloc[:, j].cat.codes.to_numpy()]


@every_case
def test_a_score_is_the_sum_of_what_the_rules_add(trained, case):
    # A test adds alpha where it says 1 and nothing where it says 0; the coefficients that are
    # stored are of the same test as -1 and +1.
    model, X, _, _ = trained(case)
    scores = np.zeros(len(X))
    for t in range(model.n_rounds_):
        rule, move = model.fitted_.terms.rule(t), float(model.fitted_.terms.coefficients[t, 0])
        outputs = np.ravel(rule.outputs(Rows(X))).astype(float)
        if isinstance(rule, (Cut, Subset, ProductRule)):
            scores += 2 * move * (outputs + 1) / 2
        else:
            assert isinstance(rule, (TreeRule, Linear))
            scores += move * outputs
    np.testing.assert_allclose(model.predict(X), scores, rtol=1e-10, atol=1e-10)


@every_case
def test_ranks_follow_the_scores_within_each_query(trained, case):
    model, X, _, qid = trained(case)
    ranks, scores = model.rank(X, qid), model.predict(X)
    for q in np.unique(qid):
        mine = np.flatnonzero(qid == q)
        order = mine[np.argsort(-scores[mine], kind="stable")]
        assert ranks[order].tolist() == list(range(1, len(mine) + 1))
    alone = model.rank(X)
    assert sorted(alone.tolist()) == list(range(1, N + 1))


@every_case
def test_words_and_importances(trained, case):
    model, X, _, _ = trained(case)
    worded = model.rules(None)
    assert [str(rule) for rule in model.rules(3)] == [str(rule) for rule in worded[:3]]
    # Paths on which a test abstains, on missing values, come last.
    sizes = [rule.alpha for rule in worded if "missing" not in str(rule)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(any(name in str(rule) for name in X.columns) for rule in worded)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert (importances >= 0).all()
    assert " in use" in repr(model.explain())


@pytest.mark.parametrize("case", ["stump", "lazy", "energy", "Stump"])
def test_the_words_of_a_threshold_say_what_its_rounds_add_together(trained, case):
    model, X, _, _ = trained(case)
    added = defaultdict(float)
    for t in range(model.n_rounds_):
        added[model.fitted_.terms.rule(t)] += 2 * float(model.fitted_.terms.coefficients[t, 0])
    worded = model.rules(None)
    assert len(worded) == len(added) < 20
    for readable in worded:
        rule = model.fitted_.terms.rule(readable.round - 1)
        assert str(readable).startswith(f"{added[rule]:+.2f} where ")
        assert f"({X.columns[rule.column]} >= {rule.threshold:g}" in str(readable)
        assert readable.alpha == pytest.approx(abs(added[rule]))


@pytest.mark.parametrize("name", ["product", "tree"])
def test_products_and_trees_see_what_thresholds_cannot(name):
    # The better documents are those with values of the same sign.
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    flat = RankBoost(n_rounds=40, learning_rate=1.0).fit(X, y)
    model = RankBoost(name, n_rounds=40, learning_rate=1.0).fit(X, y)
    assert flat.history_["ranking_loss"][-1] > 0.3
    assert model.history_["ranking_loss"][-1] < 0.05


def test_categories_are_told_apart_by_subsets():
    kinds = np.array(list("abcd") * 10)
    y = np.isin(kinds, ["a", "c"]).astype(int)
    frame = pd.DataFrame({"kind": pd.Categorical(kinds)})
    model = RankBoost(n_rounds=3).fit(frame, y)
    assert model.history_["ranking_loss"][0] == 0.0
    rule = model.fitted_.terms.rule(0)
    assert isinstance(rule, Subset)
    assert len({*rule.values[[0, 2]].tolist()}) == 1
    assert rule.values[0] == -rule.values[1]
    declared = RankBoost(n_rounds=3, categorical_features=[0]).fit(
        (kinds > "b")[:, None] * 7.0, kinds > "b"
    )
    assert isinstance(declared.fitted_.terms.rule(0), Subset)


def test_a_list_takes_the_best_of_what_its_learners_find():
    frame, y, qid = documents(3)
    X = frame[NUMBERS]
    stump = RankBoost(Stump(), n_rounds=1, monotonic_cst="none").fit(X, y, qid)
    product = RankBoost(Product(Stump()), n_rounds=1, monotonic_cst="none").fit(X, y, qid)
    both = RankBoost([Stump(), Product(Stump())], n_rounds=1, monotonic_cst="none").fit(X, y, qid)
    sizes = [abs(model.history_["edge"][0]) for model in (stump, product, both)]
    assert sizes[2] == pytest.approx(max(sizes[:2]), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_lazy_search_that_draws_no_edge_looks_at_all_columns(seed):
    # The second column says nothing about the grades.
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]
    model = RankBoost(n_rounds=20, search=Lazy(1), random_state=seed).fit(X, y)
    assert model.n_rounds_ == 20
    assert set(model.fitted_.terms.columns.ravel().tolist()) == {0}


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_in_which_nothing_has_an_edge_gives_way_to_all_queries(seed):
    # In three of four queries the column says nothing.
    X = np.array([0.0, 1.0] * 6 + [0.0, 0.0, 1.0, 1.0])[:, None]
    y = np.array([0, 0, 1, 1] * 3 + [0, 0, 1, 1])
    qid = np.repeat(np.arange(4), 4)
    model = RankBoost(n_rounds=20, subsample=0.25, random_state=seed).fit(X, y, qid)
    assert model.n_rounds_ == 20


def test_feature_is_a_learner_of_its_own():
    frame, y, qid = documents()
    named = RankBoost("feature", n_rounds=5).fit(frame[NUMBERS], y, qid)
    explicit = RankBoost(Feature(), n_rounds=5).fit(frame[NUMBERS], y, qid)
    np.testing.assert_array_equal(named.fitted_.terms.alphas, explicit.fitted_.terms.alphas)
    np.testing.assert_array_equal(named.fitted_.terms.columns, explicit.fitted_.terms.columns)


def test_feature_in_a_list_of_one():
    frame, y, qid = documents()
    alone = RankBoost(Feature(), n_rounds=5).fit(frame[NUMBERS], y, qid)
    listed = RankBoost([Feature()], n_rounds=5).fit(frame[NUMBERS], y, qid)
    np.testing.assert_array_equal(listed.predict(frame[NUMBERS]), alone.predict(frame[NUMBERS]))


@pytest.mark.parametrize("objective", ["pairs", "ndcg"])
def test_stumps_and_columns_in_one_list(objective):
    # What a document is worth is a line in the first column and a step in the second.
    rng = np.random.default_rng(0)
    X, qid = rng.uniform(size=(400, 3)), np.repeat(np.arange(20), 20)
    worth = 2.0 * X[:, 0] + (X[:, 1] > 0.7)
    y = np.searchsorted(np.quantile(worth, np.arange(0.1, 1.0, 0.1)), worth)
    settings = {"objective": objective, "n_rounds": 8, "learning_rate": 0.5}
    both = RankBoost(["stump", "feature"], **settings).fit(X, y, qid)
    assert 0 < both.fitted_.terms.real.sum() < both.n_rounds_
    assert both.coef_[0] > 0
    losses = [
        RankBoost(learner, **settings).fit(X, y, qid).history_["ranking_loss"][-1]
        for learner in ("stump", "feature")
    ]
    assert both.history_["ranking_loss"][-1] < min(losses)


@pytest.mark.parametrize("missing", ["low", "high"])
def test_a_missing_feature_counts_as_its_least_or_its_largest_value(missing):
    frame, y, qid = documents()
    model = RankBoost("feature", n_rounds=20, missing=missing).fit(frame[["b"]], y, qid)
    fill = frame["b"].min() if missing == "low" else frame["b"].max()
    assert all(model.fitted_.terms.rule(t).fill == fill for t in range(20))


@pytest.mark.parametrize(("missing", "says"), [("low", -1), ("high", 1)])
@pytest.mark.parametrize("learner", ["stump", "product", "tree"])
def test_rules_say_of_missing_values_what_they_are_asked_to(learner, missing, says):
    frame, y, qid = documents()
    model = RankBoost(learner, n_rounds=15, missing=missing).fit(frame[NUMBERS], y, qid)
    for t in range(model.n_rounds_):
        rule = model.fitted_.terms.rule(t)
        tests = [node.test for node in rule.nodes] if isinstance(rule, TreeRule) else [rule]
        assert all(cut.missing == says for test in tests for cut in test.factors)


def test_unranked_documents_below_all_others_or_above():
    # Only that the column ranks a document says that it is good.
    X, y = [[np.nan], [np.nan], [5.0], [1.0]], [0, 0, 1, 1]
    low = RankBoost(n_rounds=3, missing="low").fit(X, y)
    assert low.history_["ranking_loss"][-1] == 0.0
    assert low.predict([[-100.0]])[0] > low.predict([[np.nan]])[0]
    learned = RankBoost(n_rounds=3).fit(X, y)
    np.testing.assert_array_equal(learned.predict(X), low.predict(X))
    high = RankBoost(n_rounds=3, missing="high").fit(X, y)
    assert high.history_["ranking_loss"][-1] > 0.0
