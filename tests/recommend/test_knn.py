"""User and item neighborhoods, on a 4 x 4 example worked by hand and on real ratings."""

from math import sqrt

import numpy as np
import pytest

import edgewise
from edgewise import ItemKNN, Ratings, UserKNN

# The example of several textbooks' kind:
#         p  q  r  s
#    a    5  3  -  1
#    b    4  -  -  1
#    c    1  1  -  5
#    d    1  -  5  4
TABLE = {
    "a": {"p": 5, "q": 3, "s": 1},
    "b": {"p": 4, "s": 1},
    "c": {"p": 1, "q": 1, "s": 5},
    "d": {"p": 1, "r": 5, "s": 4},
}
MEAN = 31 / 11
# So strong that biases are 0, and without any damping: predictions are plain averages.
PLAIN = {"bias_damping": 1e15, "damping": 0.0, "shrinkage": 0.0}


def example():
    return Ratings.from_dict(TABLE)


def similar(model, one):
    ask = model.similar_items if isinstance(model, ItemKNN) else model.similar_users
    found = ask(one)
    return dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))


class TestSimilarities:
    def test_cosines_of_items(self):
        model = ItemKNN(similarity="cosine", shrinkage=0.0).fit(example())
        assert similar(model, "p") == pytest.approx(
            {"q": 16 / sqrt(430), "s": 18 / 43, "r": 1 / sqrt(43)}
        )
        assert similar(model, "r") == pytest.approx({"s": 4 / sqrt(43), "p": 1 / sqrt(43)})

    def test_shrinkage_counts_what_is_common(self):
        model = ItemKNN(similarity="cosine", shrinkage=2.0).fit(example())
        assert similar(model, "p") == pytest.approx(
            {"q": 16 / sqrt(430) * 2 / 4, "s": 18 / 43 * 4 / 6, "r": 1 / sqrt(43) * 1 / 3}
        )

    def test_correlations_of_items(self):
        # Item means: p 11/4, q 2, r 5, s 11/4. r has no deviations, p and s are opposed.
        model = ItemKNN(similarity="pearson", shrinkage=0.0).fit(example())
        assert similar(model, "p") == pytest.approx({"q": 4 / sqrt(204 / 16 * 2)})
        assert similar(model, "r") == {}

    def test_adjusted_cosines_of_items(self):
        # User means: a 3, b 5/2, c 7/3, d 10/3.
        p = sqrt(4 + 9 / 4 + 16 / 9 + 49 / 9)
        s = sqrt(4 + 9 / 4 + 64 / 9 + 4 / 9)
        model = ItemKNN(similarity="adjusted", shrinkage=0.0).fit(example())
        assert similar(model, "p") == pytest.approx({"q": (4 / 3) / p})
        assert similar(model, "r") == pytest.approx({"s": (2 / 3) / s})

    def test_residual_cosines_are_of_deviations_from_the_baseline(self):
        model = ItemKNN(similarity="residual", shrinkage=0.0, bias_damping=1e15).fit(example())
        p, q = np.array([5, 4, 1, 1]) - MEAN, np.array([3, 1]) - MEAN
        expected = (p[[0, 2]] @ q) / np.linalg.norm(p) / np.linalg.norm(q)
        assert similar(model, "p")["q"] == pytest.approx(expected)

    def test_cosines_of_users(self):
        model = UserKNN(similarity="cosine", shrinkage=0.0).fit(example())
        assert similar(model, "b") == pytest.approx(
            {"a": 21 / sqrt(17 * 35), "c": 9 / sqrt(17 * 27), "d": 8 / sqrt(17 * 42)}
        )

    def test_correlations_of_users(self):
        # Deviations from own means: a (2, 0, -2), b (3/2, -3/2), both high on p and low on s.
        model = UserKNN(similarity="pearson", shrinkage=0.0).fit(example())
        assert similar(model, "a") == pytest.approx({"b": 6 / sqrt(8 * 4.5)})

    def test_adjusted_cosines_of_users(self):
        # Deviations from the items' means: a (9/4, 1, -7/4), b (5/4, -7/4).
        model = UserKNN(similarity="adjusted", shrinkage=0.0).fit(example())
        a, b = (81 + 16 + 49) / 16, (25 + 49) / 16
        assert similar(model, "a")["b"] == pytest.approx((45 + 49) / 16 / sqrt(a * b))

    def test_usual_similarities(self):
        for kind, usual in ((ItemKNN, "adjusted"), (UserKNN, "residual")):
            one, two = kind().fit(example()), kind(similarity=usual).fit(example())
            np.testing.assert_array_equal(one.similarities_, two.similarities_)
            one, two = (kind(implicit=True, similarity=s).fit(example()) for s in (None, "cosine"))
            np.testing.assert_array_equal(one.similarities_, two.similarities_)

    def test_support(self):
        model = ItemKNN(similarity="cosine", min_support=3).fit(example())
        assert list(similar(model, "p")) == ["s"]
        assert similar(model, "q") == {}


class TestPredictions:
    def test_the_nearest_item_decides(self):
        model = ItemKNN(1, similarity="cosine", **PLAIN).fit(example())
        assert model.predict("a", "r") == pytest.approx(1.0)

    def test_the_average_of_two_items(self):
        # r is 4 / sqrt(43) from s and 1 / sqrt(43) from p: (4 * 1 + 1 * 5) / 5.
        model = ItemKNN(2, similarity="cosine", **PLAIN).fit(example())
        assert model.predict("a", "r") == pytest.approx(9 / 5)

    def test_damping_draws_to_the_baseline(self):
        settings = PLAIN | {"damping": 1 / sqrt(43)}
        model = ItemKNN(2, similarity="cosine", **settings).fit(example())
        assert model.predict("a", "r") == pytest.approx(MEAN + (9 - 5 * MEAN) / 6)

    def test_the_average_of_two_users(self):
        model = UserKNN(2, similarity="cosine", **PLAIN).fit(example())
        near, far = 21 / sqrt(17 * 35), 9 / sqrt(17 * 27)
        assert model.predict("b", "q") == pytest.approx((3 * near + 1 * far) / (near + far))

    def test_only_users_who_rated_the_item_count(self):
        # The nearest to a is b, who did not rate r; of all only d did.
        model = UserKNN(1, similarity="cosine", **PLAIN).fit(example())
        assert similar(model, "a")["b"] == max(similar(model, "a").values())
        assert model.predict("a", "r") == pytest.approx(5.0)

    def test_only_the_neighbors_that_are_kept_count(self):
        settings = PLAIN | {"n_candidates": 1}
        model = UserKNN(1, similarity="cosine", **settings).fit(example())
        assert model.neighbors_.shape == (4, 1)
        assert model.predict("a", "r") == pytest.approx(MEAN)

    def test_without_neighbors_the_baseline_stands(self):
        ratings = example()
        model = ItemKNN(similarity="cosine", min_support=4).fit(ratings)
        base = edgewise.recommend.BiasBaseline(user_damping=5.0, item_damping=5.0, n_epochs=10).fit(
            ratings
        )
        assert model.predict("c", "r") == base.predict("c", "r")

    def test_weights_count_in_the_average(self):
        ratings = example()
        weights = np.where((ratings.users == 0) & (ratings.items == 3), 0.5, 1.0)
        rows = [(u, i, r) for u, row in TABLE.items() for i, r in row.items()]
        weighed = Ratings.from_arrays(*zip(*rows, strict=True), weights=weights)
        model = ItemKNN(2, similarity="cosine", **PLAIN).fit(weighed)
        # a's rating of s counts half: (4/2 * 1 + 1 * 5) / (4/2 + 1).
        assert model.predict("a", "r") == pytest.approx(7 / 3)

    def test_choices_add_up_similarities(self):
        model = ItemKNN(2, implicit=True, shrinkage=0.0).fit(example())
        assert model.predicts == "score"
        assert model.predict("a", "r") == pytest.approx((4 * 1 + 1 * 5) / sqrt(43))
        model = UserKNN(3, implicit=True, shrinkage=0.0).fit(example())
        near, far = 21 / sqrt(17 * 35), 9 / sqrt(17 * 27)
        assert model.predict("b", "q") == pytest.approx(3 * near + far)

    @pytest.mark.parametrize("kind", [ItemKNN, UserKNN])
    def test_against_a_dense_reference(self, kind):
        rng = np.random.default_rng(0)
        table = rng.integers(1, 6, (25, 18)).astype(float)
        table[rng.random(table.shape) < 0.5] = np.nan
        ratings = Ratings.from_matrix(table)
        model = kind(4, similarity="cosine", shrinkage=3.0, damping=0.2).fit(ratings)
        base = 0.0 + ratings.mean + model.user_biases_[:, None] + model.item_biases_
        moves, rows = table - base, table if kind is UserKNN else table.T
        filled, present = np.nan_to_num(rows), 1.0 - np.isnan(rows)
        norms, common = np.linalg.norm(filled, axis=1), present @ present.T
        near = filled @ filled.T / np.outer(norms, norms) * (common / (common + 3.0))
        np.fill_diagonal(near, 0.0)
        for user in range(25):
            for item in range(18):
                if kind is UserKNN:
                    weights, values = near[user], moves[:, item]
                else:
                    weights, values = near[item], moves[user]
                rated = np.flatnonzero(~np.isnan(values))
                best = rated[np.argsort(-weights[rated], kind="stable")[:4]]
                share = weights[best] @ values[best] / (0.2 + weights[best].sum())
                expected = np.clip(base[user, item] + share, 1, 5)
                assert model.predict(user, item) == pytest.approx(expected)


class TestExplanations:
    def test_items_that_the_user_rated(self):
        model = ItemKNN(2, similarity="cosine", **PLAIN).fit(example())
        why = model.explain("a", "r")
        # s counts 4/5 and p 1/5, each with a's deviation from the mean.
        shares = {"baseline": MEAN, "s": 4 / 5 * (1 - MEAN), "p": 1 / 5 * (5 - MEAN)}
        assert {part.name: part.amount for part in why.contributions} == pytest.approx(shares)
        details = {part.name: part.detail for part in why.contributions}
        assert details["s"] == f"similarity {4 / sqrt(43):.2f}, rated 1"
        assert details["p"] == f"similarity {1 / sqrt(43):.2f}, rated 5"
        assert len(str(model.explain("a", "r", n=1)).split("\n")) == 3

    def test_users_who_rated_the_item(self):
        model = UserKNN(3, similarity="cosine").fit(example())
        names = {part.name for part in model.explain("b", "q").contributions}
        assert names == {"a", "c", "baseline"}


class TestNewUsers:
    def test_a_new_user_finds_the_user_who_said_the_same(self):
        model = UserKNN(1, similarity="cosine", shrinkage=0.0).fit(example())
        more = model.fold_in({"new": TABLE["d"]})
        found = more.similar_users("new", n=1)
        assert found.ids.tolist() == ["d"]
        assert found.scores[0] == pytest.approx(1.0)

    @pytest.mark.parametrize("similarity", ["cosine", "pearson"])
    def test_a_new_user_has_the_similarities_that_training_would_give(self, similarity):
        ratings = {"p": 5, "q": 2, "s": 2}
        model = UserKNN(similarity=similarity).fit(example()).fold_in({"new": ratings})
        whole = UserKNN(similarity=similarity).fit(Ratings.from_dict(TABLE | {"new": ratings}))
        assert similar(model, "new") == similar(whole, "new")

    def test_new_users_do_not_change_what_items_are_compared_with(self):
        # Adjusted cosines of users take off the items' means, which stay those of training.
        ratings = {"p": 5, "q": 2, "s": 2}
        model = UserKNN(similarity="adjusted", shrinkage=0.0).fit(example())
        more = model.fold_in({"new": ratings, "newer": {"p": 1, "q": 5, "r": 1}})
        new, a = np.array([9 / 4, 0, -3 / 4]), np.array([9 / 4, 1, -7 / 4])
        expected = new @ a / np.linalg.norm(new) / np.linalg.norm(a)
        assert similar(more, "new")["a"] == pytest.approx(expected)
        assert similar(more, "a") == similar(model, "a")

    def test_items_need_only_the_new_ratings(self):
        model = ItemKNN(2, similarity="cosine", **PLAIN).fit(example())
        more = model.fold_in({"new": {"p": 3, "s": 2}})
        assert more.predict("new", "r") == pytest.approx((4 * 2 + 1 * 3) / 5)
