"""The baselines: by hand, and against the linear equations that they solve."""

import numpy as np
import pytest

from edgewise import BiasBaseline, Popularity, RandomRecommender, Ratings

TOLD = {
    "ann": {"Alien": 5, "Brazil": 3, "Casino": 4},
    "bob": {"Alien": 4, "Brazil": 2},
    "cid": {"Alien": 3, "Dogma": 5},
}


@pytest.fixture
def ratings():
    return Ratings.from_dict(TOLD)


def random_ratings(seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    rated = rng.random((9, 7)) < 0.5
    rated[0] = rated[:, 0] = True
    users, items = np.nonzero(rated)
    weights = rng.uniform(0.5, 2.0, len(users)) if weighted else None
    values = rng.integers(1, 6, len(users)).astype(float)
    return Ratings.from_arrays(users, items, values, weights=weights)


def test_popularity_counts(ratings):
    model = Popularity().fit(ratings)
    np.testing.assert_array_equal(model.item_scores_, [3, 2, 1, 1])
    assert model.recommend("cid").ids.tolist() == ["Brazil", "Casino"]


def test_popularity_sums_weights():
    ratings = Ratings.from_arrays([1, 2, 3], [7, 7, 8], weights=[1.0, 0.5, 4.0])
    np.testing.assert_array_equal(Popularity().fit(ratings).item_scores_, [1.5, 4.0])


def test_popularity_by_damped_mean(ratings):
    mean = 26 / 7
    model = Popularity(by="mean", damping=2.0).fit(ratings)
    by_hand = [(12 + 2 * mean) / 5, (5 + 2 * mean) / 4, (4 + 2 * mean) / 3, (5 + 2 * mean) / 3]
    np.testing.assert_allclose(model.item_scores_, by_hand)
    plain = Popularity(by="mean", damping=0.0).fit(ratings)
    np.testing.assert_allclose(plain.item_scores_, [4, 2.5, 4, 5])


@pytest.mark.parametrize("weighted", [False, True])
def test_offsets_solve_their_equations(weighted):
    ratings = random_ratings(weighted=weighted)
    model = BiasBaseline(user_damping=3.0, item_damping=2.0, n_epochs=200).fit(ratings)
    W = np.zeros((ratings.n_users, ratings.n_items))
    W[ratings.users, ratings.items] = 1.0 if ratings.weights is None else ratings.weights
    left = np.zeros_like(W)
    left[ratings.users, ratings.items] = ratings.values - ratings.mean
    A = np.block([[np.diag(W.sum(axis=1) + 3.0), W], [W.T, np.diag(W.sum(axis=0) + 2.0)]])
    right = np.concatenate([(W * left).sum(axis=1), (W * left).sum(axis=0)])
    solution = np.linalg.solve(A, right)
    np.testing.assert_allclose(
        np.concatenate([model.user_biases_, model.item_biases_]), solution, atol=1e-10
    )


def test_offsets_of_a_sum_are_found_without_damping():
    R = 3.0 + np.array([[-1.0], [0.0], [1.0]]) + np.array([0.5, -0.5, 0.25, -0.25])
    model = BiasBaseline(user_damping=0.0, item_damping=0.0).fit(Ratings.from_matrix(R))
    assert model.intercept_ == pytest.approx(3.0)
    np.testing.assert_allclose(model._user_scores(np.arange(3)), R)


def test_damping_shrinks_what_few_ratings_say():
    few = Ratings.from_arrays([1, 2, 2, 2], [7, 8, 9, 10], [5.0, 1, 1, 1])
    model = BiasBaseline(user_damping=5.0, item_damping=1e9).fit(few)
    assert model.user_biases_ == pytest.approx([3.0 / 6, -3.0 / 8])


def test_a_user_folded_in_again_has_the_same_offset():
    ratings = random_ratings()
    model = BiasBaseline().fit(ratings)
    mine = ratings.users == 2
    again = Ratings.from_arrays(
        np.full(mine.sum(), 99), ratings.items[mine], ratings.values[mine],
        weights=ratings.weights[mine],
    )  # fmt: skip
    assert model.fold_in(again).user_biases_[-1] == pytest.approx(model.user_biases_[2])


def test_random_scores_depend_on_nothing_but_the_pair():
    ratings = random_ratings()
    model = RandomRecommender(random_state=0).fit(ratings)
    scores = model._user_scores(np.arange(9))
    assert scores[3, 4] == model.predict(3, 4)
    np.testing.assert_array_equal(model.predict([5, 3], [1, 4]), [scores[5, 1], scores[3, 4]])
    again = RandomRecommender(random_state=0).fit(ratings)._user_scores(np.arange(9))
    np.testing.assert_array_equal(scores, again)
    other = RandomRecommender(random_state=1).fit(ratings)._user_scores(np.arange(9))
    assert (scores != other).all()


def test_random_scores_are_uniform():
    n = 300
    users, items = np.arange(n), np.arange(n)
    model = RandomRecommender(random_state=2).fit(Ratings.from_arrays(users, items))
    scores = model._user_scores(np.arange(n))
    assert 0 <= scores.min() < scores.max() < 1
    counts, _ = np.histogram(scores, bins=10, range=(0, 1))
    # Each bin has 9,000 on average, with a standard deviation of 90.
    assert np.abs(counts - n * n / 10).max() < 500
    assert abs(np.corrcoef(scores[:-1].ravel(), scores[1:].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(scores[:, :-1].ravel(), scores[:, 1:].ravel())[0, 1]) < 0.02
