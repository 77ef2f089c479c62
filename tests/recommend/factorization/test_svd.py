"""Truncated singular value decomposition, and the theorem of Shi 2025."""

import numpy as np
import pytest

from edgewise import BiasBaseline, MatrixFactorization, Ratings, SVDRecommender


def full_matrix(seed=0, shape=(8, 6)):
    return np.random.default_rng(seed).uniform(1, 5, shape)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_least_squares_and_decomposition_give_the_same_product(k):
    # Shi 2025: with R fully observed and no regularization, the best product UV' is the same.
    R = full_matrix()
    ratings = Ratings.from_matrix(R)
    svd = SVDRecommender(k, fill="zero").fit(ratings)
    als = MatrixFactorization(
        k, solver="als", n_epochs=800, regularization=0.0, biases=False, random_state=0
    ).fit(ratings)
    product = svd.user_factors_ @ svd.item_factors_.T
    np.testing.assert_allclose(als.user_factors_ @ als.item_factors_.T, product, atol=1e-5)
    left, values, right = np.linalg.svd(R)
    np.testing.assert_allclose(product, (left[:, :k] * values[:k]) @ right[:k], atol=1e-10)
    # Half the sum of the squares of the singular values that are left out (Eckart and Young).
    assert als.loss_history_[-1] == pytest.approx(0.5 * (values[k:] ** 2).sum(), rel=1e-6)


def test_factors_are_as_the_seed_has_them():
    ratings = Ratings.from_matrix(full_matrix(1))
    model = SVDRecommender(3, fill="mean").fit(ratings)
    U, V = model.user_factors_, model.item_factors_
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(U.T @ U, np.diag(model.singular_values_**2), atol=1e-10)
    assert (np.diff(model.singular_values_) <= 0).all()
    assert (V[np.abs(V).argmax(axis=0), np.arange(3)] > 0).all()


def test_gaps_are_filled_with_the_offsets(make_ratings):
    ratings = make_ratings(weighted=True)
    model = SVDRecommender(2, user_damping=3.0, item_damping=2.0).fit(ratings)
    base = BiasBaseline(user_damping=3.0, item_damping=2.0).fit(ratings)
    everyone = np.arange(ratings.n_users)
    filled = base._user_scores(everyone)
    filled[ratings.users, ratings.items] = ratings.values
    left, values, right = np.linalg.svd(filled - base._user_scores(everyone))
    expected = base._user_scores(everyone) + (left[:, :2] * values[:2]) @ right[:2]
    np.testing.assert_allclose(model._user_scores(everyone), expected, atol=1e-8)


def test_with_all_factors_ratings_come_back(make_ratings):
    ratings = make_ratings()
    for fill in ("bias", "mean", "zero"):
        model = SVDRecommender(50, fill=fill).fit(ratings)
        predicted = model.predict(ratings.users, ratings.items)
        np.testing.assert_allclose(predicted, ratings.values, atol=1e-10)
        assert model.item_factors_.shape == (ratings.n_items, min(ratings.csr().shape))


def test_iteration_and_full_decomposition_agree(make_ratings):
    ratings = make_ratings(n_users=150, n_items=120, share=0.2)
    model = SVDRecommender(4).fit(ratings)
    again = SVDRecommender(4).fit(ratings)
    np.testing.assert_array_equal(model.user_factors_, again.user_factors_)
    whole = SVDRecommender(60).fit(ratings)
    np.testing.assert_allclose(model.singular_values_, whole.singular_values_[:4])
    np.testing.assert_allclose(model.item_factors_, whole.item_factors_[:, :4], atol=1e-7)


def test_ratings_that_are_all_the_same():
    users, items = (index.ravel() for index in np.indices((80, 70)))
    model = SVDRecommender(3, fill="mean").fit(Ratings.from_arrays(users, items, users * 0 + 4.0))
    assert not model.user_factors_.any()
    assert model.predict(5, 6) == 4.0


def test_nothing_left_of_many_choices_takes_no_memory():
    rng = np.random.default_rng(0)
    users, items = np.arange(200_000), rng.integers(0, 100_000, 200_000)
    ratings = Ratings.from_arrays(users, items)
    model = SVDRecommender(n_factors=3).fit(ratings)
    np.testing.assert_array_equal(model.singular_values_, 0.0)
    assert model.predict(0, int(items[1])) == 1.0


def test_iteration_on_a_long_matrix_is_the_full_decomposition(make_ratings, monkeypatch):
    from edgewise.recommend.factorization import decomposition

    ratings = make_ratings(seed=4)
    full = SVDRecommender(n_factors=2).fit(ratings)
    monkeypatch.setattr(decomposition, "_DENSE_ENTRIES", 0)
    iterated = SVDRecommender(n_factors=2).fit(ratings)
    np.testing.assert_allclose(iterated.singular_values_, full.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(iterated.item_factors_, full.item_factors_, atol=1e-8)
