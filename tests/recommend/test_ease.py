"""EASE, SLIM and boosted lists against their equations."""

import numpy as np
import pytest

from edgewise import EASE, SLIM, BoostedLists, ImplicitFactorization, Ratings


def choices(seed=0, n_users=40, n_items=12, **parts):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.3)
    return Ratings.from_arrays(users, items, **parts)


def by_hand(X, sizes, penalty, target=None):
    """Solve the least squares of each item on the others, one by one."""
    weights = np.zeros((X.shape[1], X.shape[1]))
    for item in range(X.shape[1]):
        others = np.delete(np.arange(X.shape[1]), item)
        design = X[:, others] * sizes[:, None]
        gram = X[:, others].T @ design + penalty * np.eye(len(others))
        goal = X if target is None else target
        weights[others, item] = np.linalg.solve(gram, design.T @ goal[:, item])
    return weights


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("power", [0.0, 0.5])
def test_the_weights_are_least_squares_without_the_item_itself(precision, power):
    ratings = choices()
    X = ratings.csr().toarray()
    model = EASE(3.0, user_power=power, precision=precision).fit(ratings)
    expected = by_hand(X, X.sum(axis=1).clip(1) ** -power, 3.0)
    np.testing.assert_allclose(model.item_weights_, expected, atol=2e-6)
    np.testing.assert_allclose(model._user_scores(np.arange(5)), X[:5] @ expected, atol=2e-5)


def test_what_is_not_positive_is_no_choice():
    rows = [(1, 7, 2.0), (1, 8, 1.0), (2, 7, 5.0), (2, 8, 1.0), (2, 9, -1.0), (3, 9, 0.0)]
    users, items, values = zip(*rows, strict=True)
    weights = EASE(1.0).fit(Ratings.from_arrays(users, items, values)).item_weights_
    assert not weights[2].any()
    assert not weights[:, 2].any()
    chosen = EASE(1.0).fit(Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8])).item_weights_
    np.testing.assert_array_equal(weights[:2, :2], chosen)


def test_the_penalty_follows_the_choices_per_item():
    ratings = choices()
    model = EASE(user_power=0).fit(ratings)
    assert model.penalty_ == pytest.approx(75 * np.sqrt(len(ratings) / ratings.n_items))
    assert EASE(2).fit(ratings).penalty_ == 2.0


def test_too_many_items_are_refused_before_any_work():
    with pytest.raises(MemoryError, match=r"12 items need about 0 GiB"):
        EASE(max_items=11).fit(choices())


def test_similar_items_are_those_with_the_largest_partial_correlations():
    ratings = choices(1)
    model = EASE(2.0, user_power=0).fit(ratings)
    X = ratings.csr().toarray()
    P = np.linalg.inv(X.T @ X + 2.0 * np.eye(X.shape[1]))
    partial = -P[3] / np.sqrt(P[3, 3] * np.diag(P))
    found = model.similar_items(3, n=4)
    np.testing.assert_allclose(found.scores, np.sort(np.delete(partial, 3))[::-1][:4], atol=1e-5)


def test_the_second_round_is_the_regression_of_what_the_first_leaves():
    ratings = choices(2)
    X = ratings.csr().toarray()
    model = BoostedLists(regularization=3.0, n_factors=2, learning_rate=0.5, random_state=0)
    model.fit(ratings)
    first = ImplicitFactorization(2, alpha=4.0, random_state=0).fit(ratings)
    product = 0.5 * first.user_factors_ @ first.item_factors_.T
    sizes = X.sum(axis=1).clip(1) ** -0.5
    expected = by_hand(X, sizes, 3.0, X - product)
    np.testing.assert_allclose(model.item_weights_, expected, atol=1e-6)
    scores = product + X @ expected
    np.testing.assert_allclose(model._user_scores(np.arange(len(X))), scores, atol=1e-5)


def test_reasons_of_both_rounds_add_up():
    model = BoostedLists(n_factors=2, random_state=0).fit(choices())
    why = model.explain(0, 5, n=2)
    assert sum(part.amount for part in why.contributions) == pytest.approx(why.score, abs=1e-6)
    assert "user taste" in [part.name for part in why.contributions]


@pytest.mark.parametrize(("n_items", "n_factors"), [(39, 1), (100, 2), (2000, 30)])
def test_few_items_have_few_factors(n_items, n_factors):
    rng = np.random.default_rng(0)
    items = np.arange(n_items)
    users = rng.integers(0, 50, n_items)
    ratings = Ratings.from_arrays(users, items)
    model = BoostedLists(n_epochs=1, precision="single", random_state=0).fit(ratings)
    assert model.item_factors_.shape == (n_items, n_factors)
    assert model.fold_in({99: {0: 1}}).user_factors_.shape[1] == n_factors


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_weights_are_a_minimum_with_none_below_0(precision):
    ratings = choices(n_users=60)
    X = ratings.csr().toarray()
    sizes = X.sum(axis=1).clip(1) ** -0.5
    model = SLIM(regularization=2.0, sparsity=0.3, n_sweeps=500, precision=precision).fit(ratings)
    weights = model.item_weights_.astype(float)
    gram = X.T @ (sizes[:, None] * X)
    slopes = gram @ weights - gram + 2.0 * weights + 0.3
    others = ~np.eye(len(gram), dtype=bool)
    assert (weights >= 0).all()
    assert not np.diag(weights).any()
    # A weight stands where the slope is 0, or at 0 where it would fall below.
    assert (weights > 0).any()
    assert ((weights == 0) & others).any()
    np.testing.assert_allclose(slopes[weights > 0], 0, atol=2e-3)
    assert (slopes[(weights == 0) & others] > -2e-3).all()


def test_without_bounds_that_matter_it_is_ridge_regression():
    ratings = choices()
    model = SLIM(regularization=3.0, sparsity=0.0, n_sweeps=500).fit(ratings)
    free = EASE(3.0).fit(ratings).item_weights_
    items = np.flatnonzero(((free >= 0) | np.eye(len(free), dtype=bool)).all(axis=0))
    np.testing.assert_allclose(model.item_weights_[:, items], free[:, items], atol=1e-3)


def test_more_sparsity_leaves_fewer_weights():
    ratings = choices(2)
    counts = [
        (SLIM(regularization=1.0, sparsity=mu).fit(ratings).item_weights_ > 0).sum()
        for mu in (0.0, 0.5, 1.0, 100.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[-1] == 0


def test_the_sparsity_follows_the_penalty():
    model, ease = SLIM().fit(choices()), EASE().fit(choices())
    assert model.penalty_ == pytest.approx(0.5 * ease.penalty_)
    assert model.sparsity_ == pytest.approx(0.004 * model.penalty_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_both_kernels_give_the_same_weights_on_any_number_of_threads(monkeypatch, n_jobs):
    ratings = choices(3, n_items=20)
    found = []
    for name in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)
        found.append(SLIM(regularization=1.0, sparsity=0.1, n_jobs=n_jobs).fit(ratings))
    np.testing.assert_allclose(found[0].item_weights_, found[1].item_weights_, atol=1e-6)
    alone = SLIM(regularization=1.0, sparsity=0.1, n_jobs=1).fit(ratings)
    np.testing.assert_array_equal(found[1].item_weights_, alone.item_weights_)
