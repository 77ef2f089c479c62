"""What is rare, and must not go wrong: one-sided columns, late newcomers, interrupts."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.recommend.boosted.conftest import drawn

from edgewise import AdaBoostMH, BoostedFactorization, Ratings
from edgewise.recommend.boosted.levels import levels_of
from edgewise.recommend.boosted.rounds import FactorRounds, RoundFactors

FAST = {"n_rounds": 45, "regularization": 5.0, "bias_regularization": 2.0, "random_state": 0}


def newcomers(first, weight=None, seed=1):
    """Ratings of 20 new users, with features far from those in training."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((20, 20)) < 0.4)
    features = np.column_stack([np.ones(20), 100 * first + rng.normal(size=20)])
    weights = None if weight is None else np.full(len(users), weight)
    values = rng.integers(1, 6, len(users))
    about = (np.arange(first, first + 20), features)
    return Ratings.from_arrays(users + first, items, values, weights=weights, user_features=about)


@pytest.mark.parametrize("weighted", [False, True])
def test_new_users_are_the_same_after_other_new_users(weighted):
    ratings = drawn(40, 20, weights=weighted, features=True)
    model = BoostedFactorization(**FAST).fit(ratings)
    assert (model.kinds_ == 2).any()
    ones = newcomers(100, 50.0 if weighted else None)
    others = newcomers(200, 1.0 if weighted else None, seed=2)
    late, early = model.fold_in(ones).fold_in(others), model.fold_in(others)
    assert np.array_equal(late.user_values_[-20:], early.user_values_[-20:])


def test_a_new_user_is_known_by_features_alone():
    model = BoostedFactorization(**FAST).fit(drawn(features=True))
    about = (np.array([100, 101]), np.array([[1.0, 0.5], [1.0, 0.5]]))
    more = model.fold_in(Ratings.from_arrays([100], [0], [5], user_features=about))
    assert np.isfinite(more.predict(101, 0))


def test_signs_of_users_themselves_say_nothing_of_users_without_ratings():
    ratings = drawn(features=True)
    kept = ratings.take(ratings.users > 0)
    model = BoostedFactorization(factors="signs", **FAST).fit(kept)
    assert not model.known_users_[0]


@pytest.mark.parametrize("target", ["ordered", "one_hot", "binary"])
def test_weights_that_leave_one_side_next_to_nothing(target):
    plain = drawn()
    weights = np.where(plain.values == 5, 1.0, 1e-18)
    ratings = Ratings.from_arrays(plain.users, plain.items, plain.values, weights=weights)
    model = BoostedFactorization(target=target, **FAST).fit(ratings)
    found = model.predict(ratings.users, ratings.items)
    top = model.levels_[-1]
    assert found[ratings.values == 5] == pytest.approx(top, abs=1e-3)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("threshold", [0.0, 5.0, 9.0])
@pytest.mark.parametrize("factors", ["real", "signs"])
def test_a_threshold_has_ratings_on_both_sides(ratings, threshold, factors):
    model = BoostedFactorization(target="binary", factors=factors, threshold=threshold, **FAST)
    with pytest.raises(ValueError, match="threshold must have ratings on both sides"):
        model.fit(ratings)


def test_the_mean_of_equal_ratings_is_no_threshold_between_them():
    # The mean of these comes out below them in floating point.
    values = next(
        ratings
        for ratings in (np.full(n, x / 10) for n in range(2, 40) for x in range(1, 30))
        if ratings.mean() < ratings[0]
    )
    assert len(levels_of(values, "binary", None).starts) == 0


@pytest.mark.parametrize("votes", ["real", "discrete"])
def test_two_one_hot_levels_learn_as_one_column_does(votes):
    plain = drawn(60, 40)
    ratings = Ratings.from_arrays(plain.users, plain.items, (plain.values > 3) * 1.0)
    errors = {
        target: BoostedFactorization(target=target, votes=votes, **FAST)
        .fit(ratings)
        .history_["train_rmse"][-1]
        for target in ("one_hot", "ordered")
    }
    # Two columns that mirror each other take steps of the same length, on twice the slopes.
    assert errors["one_hot"] < errors["ordered"] + 0.02


def test_newcomers_without_ratings_have_no_margins(ratings):
    model = BoostedFactorization(factors="signs", loss="exponential", **FAST).fit(ratings)
    nobody = Ratings.from_arrays([100], [0], [5]).take([])
    assert model.fold_in(nobody).n_users_ == ratings.n_users + 1


def test_an_interrupt_leaves_the_model_as_it_was(ratings, monkeypatch):
    model = BoostedFactorization(factors="signs", **FAST).fit(ratings)
    before = model.predict(ratings.users, ratings.items)

    monkeypatch.setattr(AdaBoostMH, "fit", _stopped)
    with pytest.raises(KeyboardInterrupt):
        model.fit(drawn(seed=3))
    assert np.array_equal(model.predict(ratings.users, ratings.items), before)


def _stopped(self, *_):
    """A fit that Ctrl-C ended: the boosted model keeps its rounds."""
    self.fitted_ = SimpleNamespace(stop_reason="interrupted")
    return self


def test_terms_that_differ_in_the_sign_of_zero_are_one():
    rounds = FactorRounds.empty((2, 2, 0), 2, 1)
    rounds.kinds[:], rounds.votes[:] = 2, [[2.0], [0.5]]
    rounds.user_values[:] = [[1.0, -1.0], [0.0, 0.0]]
    rounds.item_values[:] = [[1.0, 1.0], [-1.0, -1.0]]
    rounds.user_values[1, 1] = -0.0
    assert RoundFactors.of(rounds, merge=True).votes.tolist() == [[1.5]]


def test_an_unfitted_model_says_so():
    model = BoostedFactorization()
    for ask in (lambda: model.n_rounds_, lambda: model.staged_predict([1], [1])):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
