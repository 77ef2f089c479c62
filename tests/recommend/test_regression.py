"""Regression on references' ratings, against the normal equations and the pseudo-inverse."""

import numpy as np
import pytest

from edgewise import Ratings, UserRegression


def random_table(seed, n_users=12, n_items=9, density=0.6):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 6, (n_users, n_items)).astype(float)
    table[rng.random(table.shape) > density] = np.nan
    # No user without a rating.
    table[np.arange(n_users), np.arange(n_users) % n_items] = 3.0
    return table


def by_hand(table, target, normalize=False):
    """Return a user's predictions: Iyer 1999, section 5.2.3, with a dense pseudo-inverse."""
    rated = np.flatnonzero(~np.isnan(table[target]))
    means = np.nanmean(table, axis=1)
    scales = np.ones(len(table))
    if normalize:
        spread = np.nanstd(table, axis=1)
        scales = np.where(spread > 0, spread, 1.0)
        table = (table - means[:, None]) / scales[:, None]
    fills = np.zeros(len(table)) if normalize else means
    C = np.where(np.isnan(table), fills[:, None], table)
    C = np.delete(C, target, axis=0)
    w = table[target, rated] @ np.linalg.pinv(C[:, rated])
    scores = w @ C
    return means[target] + scales[target] * scores if normalize else scores


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("shape", [(12, 9), (4, 30), (30, 6)])
def test_against_the_pseudo_inverse(shape, normalize):
    table = random_table(sum(shape), *shape)
    model = UserRegression(normalize=normalize).fit(Ratings.from_matrix(table))
    for user in range(shape[0]):
        expected = np.clip(by_hand(table, user, normalize), np.nanmin(table), np.nanmax(table))
        np.testing.assert_allclose(model.predict(user, np.arange(shape[1])), expected, atol=1e-8)


def test_with_more_viewers_than_ratings_the_ratings_are_met():
    table = random_table(1, 40, 8)
    model = UserRegression().fit(Ratings.from_matrix(table))
    rated = np.flatnonzero(~np.isnan(table[0]))
    np.testing.assert_allclose(model.predict(0, rated), table[0, rated], atol=1e-8)


def test_scales_do_not_matter_when_normalized():
    # A reference user who says the same on another scale is the same reference user.
    table = random_table(2)
    stretched = table.copy()
    stretched[5] = 10 * table[5] - 7
    one, two = (
        UserRegression(normalize=True).fit(Ratings.from_matrix(values)).predict(0, np.arange(9))
        for values in (table, stretched)
    )
    np.testing.assert_allclose(one, np.clip(two, 1, 5), atol=1e-8)


def test_viewers_can_be_chosen():
    table = random_table(3)
    model = UserRegression(reference_users=[2, 4, 5]).fit(Ratings.from_matrix(table))
    expected = by_hand(table[[0, 2, 4, 5]], 0)
    np.testing.assert_allclose(model.predict(0, np.arange(9)), np.clip(expected, 1, 5), atol=1e-8)


def test_weights_of_ratings():
    # One reference user, whom nothing can follow exactly: weighted least squares in one unknown.
    ratings = Ratings.from_arrays(
        ["a", "a", "v", "v"], [1, 2, 1, 2], [4, 1, 1, 2], weights=[3.0, 1.0, 1.0, 1.0]
    )
    model = UserRegression(reference_users=["v"]).fit(ratings)
    w = (3 * 4 * 1 + 1 * 1 * 2) / (3 * 1 * 1 + 1 * 2 * 2)
    np.testing.assert_allclose(model.predict("a", [1, 2]), [w, 2 * w])


def test_new_users_change_nothing_for_others():
    table = random_table(4)
    model = UserRegression().fit(Ratings.from_matrix(table))
    more = model.fold_in({100: {0: 5.0, 3: 1.0, 4: 2.0}})
    whole = np.vstack([table, np.full(9, np.nan)])
    whole[-1, [0, 3, 4]] = 5, 1, 2
    expected = np.clip(by_hand(whole, 12), 1, 5)
    np.testing.assert_allclose(more.predict(100, np.arange(9)), expected, atol=1e-8)
    np.testing.assert_array_equal(more.predict(1, np.arange(9)), model.predict(1, np.arange(9)))


def test_only_so_much_is_kept(monkeypatch):
    from edgewise.recommend import per_user

    table = random_table(5, 40, 8)
    expected = UserRegression().fit(Ratings.from_matrix(table)).recommend(n=3).scores
    monkeypatch.setattr(per_user, "_CACHED_NUMBERS", 1)
    model = UserRegression().fit(Ratings.from_matrix(table))
    np.testing.assert_array_equal(model.recommend(n=3).scores, expected)
    assert len(model.user_models_) == 16


@pytest.mark.parametrize("normalize", [False, True])
def test_pairs_in_any_order_have_the_scores_of_the_lists(normalize):
    table = random_table(7, 30, 12)
    model = UserRegression(normalize=normalize, reference_users=20, random_state=0)
    model.fit(Ratings.from_matrix(table))
    rows = model._user_scores(np.arange(30))
    users, items = np.divmod(np.random.default_rng(0).permutation(360), 12)
    np.testing.assert_array_equal(model._pair_scores(users, items), rows[users, items])
