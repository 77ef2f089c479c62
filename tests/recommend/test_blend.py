"""Blends of recommenders: weights go to the better models, bounds hold, files hold all parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import edgewise
from edgewise import (
    BiasBaseline,
    Blend,
    ContentRecommender,
    ItemKNN,
    MatrixFactorization,
    Popularity,
    Ratings,
    Recommender,
    UserKNN,
)
from edgewise.recommend.blend import (
    METHODS,
    Evidence,
    add_negatives,
    hold_out,
    shuffle_pairs,
)

from .common import RecommenderTests

WAYS = ("hedge", "majority", "least_squares", "uniform", "rankboost")


class Shifted(Recommender):
    """Knows the right answer, and says it with an error."""

    def __init__(self, shift=0.0, sign=1.0):
        self.shift = shift
        self.sign = sign

    def _fit(self, ratings):
        self.fitted_on_ = len(ratings)

    def _pair_scores(self, users, items):
        return self.sign * truth(users, items) + self.shift


def truth(users, items):
    return 1.0 + (np.asarray(users) * 3 + np.asarray(items)) % 5


def ratings_of(n_users=12, n_items=15):
    users, items = np.divmod(np.arange(n_users * n_items), n_items)
    return Ratings.from_arrays(users, items, truth(users, items))


def knn_blend(weights, **settings):
    parts = [
        ("item", ItemKNN(n_neighbors=3, shrinkage=0.0)),
        ("user", UserKNN(n_neighbors=3, shrinkage=0.0)),
    ]
    return Blend(parts, weights, random_state=0, **settings)


class TestRankBoostBlend(RecommenderTests):
    asks_others = True

    def make(self):
        return knn_blend("rankboost", n_rounds=5)


class TestBlendOfBlends(RecommenderTests):
    asks_others = True

    def make(self):
        return Blend([("two", knn_blend("hedge")), ("one", ItemKNN(n_neighbors=2))], "uniform")


@pytest.mark.parametrize("weights", ["hedge", "majority"])
def test_weights_move_to_the_better_model(weights):
    blend = Blend(
        [("bad", Shifted(1.2)), ("good", Shifted(0.1)), ("middle", Shifted(-0.6))],
        weights,
        random_state=0,
    ).fit(ratings_of())
    bad, good, middle = blend.weights_
    assert good > middle > bad or (weights == "majority" and good > max(middle, bad))
    assert blend.weights_.sum() == pytest.approx(1.0)
    assert blend.loss_ <= blend.bound_
    assert blend.losses_.argmin() == 1


def test_hedge_by_hand():
    # Two of each user's 15 ratings are set aside. The errors, 0.4 and 2, are divided by the span
    # of 4; they are less near the top, where predictions are cut off at 5.
    ratings = ratings_of()
    blend = Blend([("a", Shifted(0.4)), ("b", Shifted(2.0))], beta=0.5, random_state=3).fit(ratings)
    _, aside = hold_out(ratings, 0.1, blend._seed())
    assert blend.n_validation_ == len(aside) == 24
    losses = [
        float(np.abs(np.minimum(aside.values + shift, 5.0) - aside.values).sum()) / 4.0
        for shift in (0.4, 2.0)
    ]
    np.testing.assert_allclose(blend.losses_, losses, rtol=1e-12)
    raw = 0.5 ** np.array(losses)
    np.testing.assert_allclose(blend.weights_, raw / raw.sum(), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(-4, 4), min_size=1, max_size=5),
    st.integers(0, 5),
    st.sampled_from(["auto", 0.2, 0.9]),
    st.sampled_from(["hedge", "majority"]),
)
def test_the_bounds_hold_whatever_the_models_say(shifts, seed, beta, weights):
    parts = [(f"m{place}", Shifted(shift)) for place, shift in enumerate(shifts)]
    blend = Blend(parts, weights, beta=beta, random_state=seed).fit(ratings_of())
    assert blend.loss_ <= blend.bound_ + 1e-9
    assert blend.weights_.shape == (len(shifts),)
    assert (blend.weights_ >= 0).all()


def test_uniform_is_the_mean():
    ratings = ratings_of()
    parts = [
        ("bias", BiasBaseline()),
        ("knn", ItemKNN(n_neighbors=4)),
        ("mf", MatrixFactorization(n_factors=2, random_state=0)),
    ]
    blend = Blend(parts, "uniform").fit(ratings)
    pairs = ratings.users, ratings.items
    said = [clone(model).fit(ratings).predict(*pairs) for _, model in parts]
    np.testing.assert_allclose(blend.predict(*pairs), np.mean(said, axis=0), rtol=1e-12)
    assert blend.loss_ is None
    assert blend.bound_ is None
    assert blend.n_validation_ == 0


def test_least_squares_finds_the_combination_that_is_right():
    # The rating is half of the sum of two predictions, and a third one says nothing.
    ratings = ratings_of()
    parts = [("low", Shifted(-0.5)), ("high", Shifted(0.5)), ("none", Shifted(3.0, sign=0.0))]
    blend = Blend(parts, "least_squares", random_state=0, validation_fraction=0.5).fit(ratings)
    inner = (ratings.values > 1) & (ratings.values < 5)
    users, items = ratings.users[inner], ratings.items[inner]
    errors = blend.predict(users, items) - ratings.values[inner]
    single = np.abs(clone(parts[0][1]).fit(ratings).predict(users, items) - ratings.values[inner])
    assert np.abs(errors).max() < single.mean() / 2


def test_least_squares_against_the_normal_equations():
    ratings = ratings_of()
    blend = knn_blend("least_squares").fit(ratings)
    rest, aside = hold_out(ratings, 0.1, blend._seed())
    said = np.column_stack(
        [clone(model).fit(rest).predict(aside.users, aside.items) for _, model in blend.models]
    )
    gradient = said.T @ (said @ blend.weights_ - aside.values)
    np.testing.assert_allclose(gradient, 0, atol=1e-8)


def test_rankboost_orders_by_the_model_that_is_right():
    ratings = ratings_of()
    parts = [("wrong", Shifted(sign=-1.0)), ("noise", Popularity()), ("right", Shifted(0.3))]
    blend = Blend(parts, "rankboost", random_state=0, validation_fraction=0.4).fit(ratings)
    assert blend.predicts == "score"
    assert blend.weights_[2] - blend.weights_[0] > 0
    assert blend.loss_ <= blend.bound_
    scores = blend.predict(0, ratings.item_ids.values)
    order = np.argsort(truth(0, ratings.item_ids.values), kind="stable")
    assert (np.diff(scores[order]) >= -1e-9).all()


def test_where_rankboost_finds_no_edge_weights_are_equal_and_nothing_is_logged(caplog):
    users, items = np.divmod(np.arange(40), 10)
    pairs = shuffle_pairs(Ratings.from_arrays(users, items, items + 1.0), seed=0)
    # Right for two of the users, and just as wrong for the two others.
    says = np.where(pairs.users % 2 == 0, 1.0, -1.0) * pairs.items
    evidence = Evidence(pairs, np.column_stack([says, says]), np.arange(1.0, 11.0), n_rounds=5)
    learned = METHODS["rankboost"](evidence)
    assert learned.weights[0] == learned.weights[1] > 0
    assert learned.loss is None
    assert not caplog.records


def test_rankboost_learns_from_choices_alone():
    rng = np.random.default_rng(0)
    rows = [(u, i) for u in range(30) for i in range(40) if rng.random() < 0.8 / (1 + i / 3)]
    ratings = Ratings.from_arrays(*zip(*rows, strict=True))
    parts = [("by count", Popularity()), ("shuffled", Shifted())]
    blend = Blend(parts, "rankboost", random_state=0).fit(ratings)
    spread = [np.std(model.predict(0, ratings.item_ids.values)) for model in blend.models_]
    strength = np.abs(blend.weights_) * spread
    assert blend.weights_[0] > 0
    assert strength[0] > strength[1]


def test_choices_are_set_against_what_was_not_chosen():
    ratings = Ratings.from_arrays([1, 1, 1, 2, 2, 3], [1, 2, 3, 1, 2, 3])
    pairs = shuffle_pairs(ratings, 0)
    both = add_negatives(pairs, ratings, 0)
    others = both.values == 0
    taken = set(zip(ratings.users.tolist(), ratings.items.tolist(), strict=True))
    assert others.sum() == 3  # the first user chose everything
    drawn = zip(both.users[others].tolist(), both.items[others].tolist(), strict=True)
    assert not taken & set(drawn)


def test_all_models_are_fitted_on_everything():
    ratings = ratings_of()
    blend = Blend([("a", Shifted()), ("b", Shifted(1.0))]).fit(ratings)
    assert [model.fitted_on_ for model in blend.models_] == [len(ratings)] * 2
    assert not hasattr(blend.models[0][1], "fitted_on_")


def test_parameters_of_the_models_are_reached():
    blend = Blend([("mf", MatrixFactorization()), ("knn", ItemKNN())])
    assert "mf__n_factors" in blend.get_params()
    blend.set_params(mf__n_factors=3, method="uniform")
    assert blend.models[0][1].n_factors == 3
    cloned = clone(blend)
    assert cloned.get_params()["mf__n_factors"] == 3
    assert cloned.models[0][1] is not blend.models[0][1]
    blend.set_params(knn=BiasBaseline())
    assert isinstance(blend.models[1][1], BiasBaseline)
    with pytest.raises(ValueError, match="Invalid parameter"):
        blend.set_params(mf__no_such_thing=1)


def test_a_model_that_knows_more_items_speaks_for_them():
    rows = [("ann", "x", 5), ("ann", "y", 1), ("bob", "x", 4), ("bob", "z", 2), ("cat", "y", 2)]
    features = ["x", "y", "z", "new"], [[1.0], [0.0], [0.0], [1.0]]
    ratings = Ratings.from_arrays(*zip(*rows, strict=True), item_features=features)
    blend = Blend([("content", ContentRecommender()), ("bias", BiasBaseline())], "uniform")
    blend.fit(ratings)
    content, bias = blend.models_
    assert np.isnan(bias.predict("ann", "new", unknown="nan"))
    expected = (content.predict("ann", "new") + bias.predict("ann", "new", unknown="mean")) / 2
    assert blend.predict("ann", "new") == pytest.approx(expected)
    assert "new" in blend.recommend("ann").ids
    more = blend.fold_in({"dan": {"new": 5.0, "y": 1.0}})
    assert np.isfinite(more.predict("dan", ["x", "z"])).all()


def test_files_hold_the_ratings_once(tmp_path):
    ratings = ratings_of(40, 50)
    blend = knn_blend("hedge").fit(ratings)
    blend.save(tmp_path / "blend.edgewise")
    blend.models_[0].save(tmp_path / "one.edgewise")
    loaded = edgewise.load(tmp_path / "blend.edgewise")
    assert loaded.models_[0].ratings_ is loaded.models_[1].ratings_ is loaded.ratings_
    assert (loaded.loss_, loaded.bound_, loaded.names_) == (
        blend.loss_,
        blend.bound_,
        ["item", "user"],
    )
    np.testing.assert_array_equal(loaded.losses_, blend.losses_)


def test_a_model_of_your_own_is_not_saved(tmp_path):
    blend = Blend([("own", Shifted())]).fit(ratings_of())
    with pytest.raises(TypeError, match="cannot hold a Shifted"):
        blend.save(tmp_path / "blend.edgewise")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"models": []}, "models"),
        ({"models": None}, "models"),
        ({"models": [ItemKNN()]}, "models"),
        ({"models": [("a", ItemKNN()), ("a", ItemKNN())]}, "different names"),
        ({"models": [("a__b", ItemKNN())]}, "models"),
        ({"models": [("beta", ItemKNN())]}, "models"),
        ({"models": [("a", 3)]}, "models"),
        ({"models": [("a", Popularity())]}, "models must predict ratings"),
        ({"models": [("a", ItemKNN(n_neighbors=0))]}, "n_neighbors"),
        ({"method": "votes"}, "method"),
        ({"beta": "high"}, "beta"),
    ],
)
def test_wrong_parameters(parameters, message):
    blend = Blend([("a", ItemKNN())]).set_params(**parameters)
    with pytest.raises((TypeError, ValueError), match=message):
        blend.fit(ratings_of(3, 3))
