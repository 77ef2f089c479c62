"""Recommendations from item features: ridge in closed form, rankers, and items nobody rated."""

import numpy as np
import pandas
import pytest

from edgewise import ContentRecommender, Ratings
from edgewise.data import as_table
from edgewise.recommend.content import _CONSTANT, solve_ridge
from edgewise.recommend.features import encode_features, has_features

FILMS = pandas.DataFrame(
    {
        "item": ["Heat", "Ronin", "Fargo", "Clue", "Jaws"],
        "year": [1995.0, 1998.0, 1996.0, 1985.0, np.nan],
        "kind": ["crime", "crime", "crime", "comedy", None],
    }
)
TABLE = {
    "ann": {"Heat": 5, "Ronin": 4, "Fargo": 2},
    "bob": {"Heat": 1, "Fargo": 5},
}


def example(weights=None, films=FILMS):
    rows = [(u, i, float(r)) for u, row in TABLE.items() for i, r in row.items()]
    users, items, values = zip(*rows, strict=True)
    return Ratings.from_arrays(users, items, values, weights=weights, item_features=films)


class TestFeatures:
    def test_numbers_categories_and_gaps(self):
        features, names = encode_features(as_table(FILMS.drop(columns="item")))
        assert names == ["year", "kind=comedy", "kind=crime"]
        years = np.array([1995, 1998, 1996, 1985])
        np.testing.assert_allclose(features[:4, 0], (years - years.mean()) / years.std())
        np.testing.assert_allclose(features[:4, 2], [1 / 4, 1 / 4, 1 / 4, -3 / 4])
        assert features[4].tolist() == [0, 0, 0]

    def test_two_numbers_are_as_two_categories(self):
        numbers = encode_features(as_table([[2.0], [2.0], [7.0]]))[0][:, 0]
        words = encode_features(as_table(pandas.DataFrame({"x": ["a", "a", "b"]})))[0][:, 1]
        np.testing.assert_allclose(numbers, words)

    def test_a_constant_column_says_nothing(self):
        assert encode_features(as_table([[4.0], [4.0]]))[0].tolist() == [[0], [0]]

    def test_rows_with_any_value(self):
        table = as_table(FILMS.drop(columns="item"))
        assert has_features(table).tolist() == [True, True, True, True, False]


class TestRidge:
    @pytest.mark.parametrize("shape", [(9, 4), (4, 9)])
    def test_normal_equations(self, shape):
        rng = np.random.default_rng(0)
        X, y, m = rng.normal(size=shape), rng.normal(size=shape[0]), rng.uniform(0, 2, shape[0])
        m[0] = 0.0
        w = solve_ridge(X, m, m * y, 0.7)
        np.testing.assert_allclose(X.T @ (m * (y - X @ w)), 0.7 * w, atol=1e-10)

    def test_a_user_is_drawn_to_all_users(self):
        model = ContentRecommender(regularization=2.0).fit(example())
        X = model.features_
        ratings = model.ratings_
        # What all users share: the levels of users are taken off first.
        rest = ratings.values - ratings.mean
        levels = np.bincount(ratings.users, rest) / (np.bincount(ratings.users) + 2.0)
        rest = rest - levels[ratings.users]
        A = X[ratings.items]
        shared = np.linalg.solve(A.T @ A + 2.0 * np.eye(3), A.T @ rest)
        np.testing.assert_allclose(model.weights_, shared)
        # What is ann's own: her level, of which the penalty is a quarter, and her weights.
        mine = np.flatnonzero(ratings.users == 0)
        Z = np.hstack([np.ones((3, 1)), X[ratings.items[mine]]])
        penalty = 2.0 * np.diag([1 / _CONSTANT**2, 1, 1, 1])
        y = ratings.values[mine] - ratings.mean - Z[:, 1:] @ shared
        own = np.linalg.solve(Z.T @ Z + penalty, Z.T @ y)
        expected = ratings.mean + own[0] + X @ (shared + own[1:])
        known = np.flatnonzero(model.known_items_)
        found = model.predict("ann", ratings.item_ids.values[known])
        np.testing.assert_allclose(found, np.clip(expected[known], 1, 5))

    def test_a_strong_prior_leaves_the_shared_model(self):
        model = ContentRecommender(regularization=1e12).fit(example())
        assert model.predict("ann", "Heat") == pytest.approx(model.predict("bob", "Heat"))

    def test_weights_count_as_repeated_ratings(self):
        weights = np.array([2.0, 1.0, 1.0, 1.0, 3.0])
        one = ContentRecommender(regularization=2.0).fit(example(weights))
        Z = np.hstack([np.full((3, 1), _CONSTANT), one.features_[one.ratings_.by_user.others[:3]]])
        # Ann's second rating, of the three in the order of items, counts as many as its weight.
        view = one.ratings_.by_user
        times = view.weights[:3].astype(int)
        y = view.values[:3] - one.mean_ - Z[:, 1:] @ one.weights_
        long = solve_ridge(
            np.repeat(Z, times, axis=0), np.ones(times.sum()), np.repeat(y, times), 2.0
        )
        np.testing.assert_allclose(one._user_model(0), long * [_CONSTANT, 1, 1, 1])


@pytest.mark.parametrize("learner", ["ridge", "boosted"])
class TestUnratedItems:
    def test_they_are_predicted_and_recommended(self, learner):
        model = ContentRecommender(learner).fit(example())
        assert np.isfinite(model.predict("ann", "Clue"))
        assert "Clue" in model.recommend("ann").ids

    def test_items_without_features_are_unknown(self, learner):
        model = ContentRecommender(learner).fit(example())
        with pytest.raises(ValueError, match=r"items.* 'Jaws'"):
            model.predict("ann", "Jaws")
        assert "Jaws" not in model.recommend("ann").ids

    def test_new_users(self, learner):
        films = (["Heat", "Ronin", "Fargo", "Clue"], [[1], [1], [0], [0]])
        model = ContentRecommender(learner, regularization=0.1).fit(example(films=films))
        more = model.fold_in({"cat": {"Heat": 1, "Fargo": 5}, "dan": {"Heat": 5, "Fargo": 1}})
        assert more.recommend("cat", n=1).ids.tolist() == ["Clue"]
        assert more.recommend("dan", n=1).ids.tolist() == ["Ronin"]
        np.testing.assert_array_equal(more.predict("ann", "Clue"), model.predict("ann", "Clue"))


def test_similar_items_have_similar_features():
    films = (["Heat", "Ronin", "Fargo", "Clue"], [[1, 0], [1, 1], [0, 9], [0, 8]])
    for learner in ("ridge", "boosted"):
        model = ContentRecommender(learner).fit(example(films=films))
        assert model.similar_items("Heat", n=1).ids.tolist() == ["Ronin"]


def test_contributions_are_of_features():
    model = ContentRecommender(regularization=2.0).fit(example())
    why = model.explain("ann", "Clue", n=10)
    names = {part.name for part in why.contributions}
    assert names == {"average item", "year", "kind=comedy", "kind=crime"}


@pytest.mark.parametrize("learner", ["ridge", "boosted"])
def test_ratings_without_features_are_refused(learner):
    with pytest.raises(ValueError, match="ratings must have item_features"):
        ContentRecommender(learner).fit(Ratings.from_dict(TABLE))


def test_boosted_models_are_not_explained_by_features():
    with pytest.raises(ValueError, match="learner must be 'ridge' for this, got 'boosted'"):
        ContentRecommender("boosted").fit(example()).explain("ann", "Clue")
