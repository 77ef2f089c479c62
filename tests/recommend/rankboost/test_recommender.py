"""The recommender: whose ratings vote, and how."""

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import RankBoostRecommender, Ratings
from edgewise.recommend.rankboost.training import uses_compiled_loop

from .worlds import world

THESIS = {"init": "zero", "learning_rate": 1.0, "max_features": 1.0}


def reference_users_of(model, user):
    """Return the ids of the users that a user's rules are about."""
    texts = [rule.text for rule in model.rules(user, None) if "user " in rule.text]
    return {text.split("user ")[1].split()[0] for text in texts}


def without(ratings, users):
    return ratings.take(~np.isin(ratings.users, users))


# Whose ratings vote.


@pytest.mark.parametrize("init", ["zero", "mean"])
def test_ones_own_ratings_are_never_features(init):
    model = RankBoostRecommender(30, init=init, learning_rate=0.5, monotonic_cst="none").fit(
        world(0)
    )
    for user in range(14):
        assert str(user) not in reference_users_of(model, user)
        assert len(reference_users_of(model, user)) > 1


def test_a_ranker_depends_on_ones_own_ratings_only_as_grades():
    # Another user with the same ratings, who is no reference user, has the same ranker.
    ratings = world(1)
    mine = ratings.users == 3
    users = np.concatenate([ratings.users, np.full(mine.sum(), 99)])
    items = np.concatenate([ratings.items, ratings.items[mine]])
    values = np.concatenate([ratings.values, ratings.values[mine]])
    both = Ratings.from_arrays(users, items, values)
    some = [user for user in range(14) if user != 3]
    model = RankBoostRecommender(20, reference_users=some, init="mean").fit(both)
    np.testing.assert_array_equal(
        model.predict(3, ratings.item_ids.values), model.predict(99, ratings.item_ids.values)
    )


def test_a_new_user_gets_the_ranker_that_training_would_have_given():
    ratings = world(2)
    whole = RankBoostRecommender(20, **THESIS).fit(ratings)
    new = ratings.users == 13
    newcomer = Ratings.from_arrays(["new"] * new.sum(), ratings.items[new], ratings.values[new])
    rest = [str(user) for user in ratings.users[~new]]
    others = Ratings.from_arrays(rest, ratings.items[~new], ratings.values[~new])
    model = RankBoostRecommender(20, **THESIS).fit(others).fold_in(newcomer)
    items = ratings.item_ids.values
    np.testing.assert_allclose(model.predict("new", items), whole.predict(13, items), rtol=1e-12)
    assert sorted(rule.text for rule in model.rules("new", None)) == sorted(
        rule.text for rule in whole.rules(13, None)
    )


def test_two_models_may_know_different_users_by_one_index():
    ratings = world(2)
    model = RankBoostRecommender(10, **THESIS).fit(ratings)
    liked = {51: {0: 5.0, 1: 1.0, 2: 4.0}}
    disliked = {52: {0: 1.0, 1: 5.0, 2: 2.0}}
    one, two = model.fold_in(liked), model.fold_in(disliked)
    assert one.predict(51, 0) > one.predict(51, 1)
    assert two.predict(52, 0) < two.predict(52, 1)


@pytest.mark.parametrize("references", [5, [3, 8, 11]])
def test_viewers_may_be_some_users(references):
    model = RankBoostRecommender(20, reference_users=references, random_state=1).fit(world(3))
    voices = set().union(*(reference_users_of(model, user) for user in range(14)))
    assert voices == {str(user) for user in model.reference_users_}
    assert len(model.reference_users_) == (5 if references == 5 else 3)
    if references == 5:
        again = RankBoostRecommender(20, reference_users=5, random_state=1).fit(world(3))
        np.testing.assert_array_equal(again.reference_users_, model.reference_users_)


def test_the_mean_is_that_of_viewers_only():
    ratings = world(3)
    model = RankBoostRecommender(reference_users=[3, 8, 11]).fit(ratings)
    some = without(ratings, [u for u in range(14) if u not in (3, 8, 11)])
    np.testing.assert_array_equal(
        model.item_counts_, np.bincount(some.items, minlength=ratings.n_items)
    )
    alone = RankBoostRecommender().fit(some)
    assert model.start_weight_ == alone.start_weight_


# What the rules say.


def test_the_side_of_missing_ratings_is_learned():
    # Ann likes what Bob did not rate, and Cat dislikes what Bob did not rate.
    ratings = Ratings.from_dict({
        "ann": {"a": 5, "b": 5, "c": 1, "d": 1},
        "bob": {"c": 4, "d": 2, "e": 3},
        "cat": {"a": 1, "b": 1, "c": 5, "d": 5},
    })  # fmt: skip
    model = RankBoostRecommender(1, reference_users=["bob"], **THESIS).fit(ratings)
    assert model.rules("ann")[0].text == "-3.45 where (user bob rated it)"
    assert model.rules("cat")[0].text == "+3.45 where (user bob rated it)"
    assert model.predict("ann", "a") > model.predict("ann", "e")
    assert model.predict("cat", "a") < model.predict("cat", "e")


def test_missing_ratings_go_with_the_better_side():
    ratings = Ratings.from_dict({
        "ann": {"a": 5, "b": 4, "c": 4, "d": 1},
        "bob": {"a": 5, "b": 5, "d": 2, "e": 1},
    })  # fmt: skip
    model = RankBoostRecommender(1, reference_users=["bob"], **THESIS).fit(ratings)
    assert model.rules("ann")[0].text.endswith(
        "where (user bob rated it >= 3.5 or did not rate it)"
    )
    low = RankBoostRecommender(1, reference_users=["bob"], missing="low", **THESIS).fit(ratings)
    assert low.rules("ann")[0].text.endswith("where (user bob rated it >= 3.5)")
    assert low.predict("ann", "c") == low.predict("ann", "d") == 0.0


def test_rules_may_abstain_on_missing_ratings():
    ratings = Ratings.from_dict({
        "ann": {"a": 5, "b": 4, "c": 4, "d": 1},
        "bob": {"a": 5, "b": 5, "d": 2, "e": 1},
    })  # fmt: skip
    model = RankBoostRecommender(1, reference_users=["bob"], missing="abstain", **THESIS).fit(
        ratings
    )
    assert model.rules("ann")[0].text.endswith("(user bob rated it >= 3.5; half where unrated)")
    high, half, low = model.predict("ann", ["a", "c", "d"])
    assert low == 0.0
    assert half == pytest.approx(high / 2)


def test_where_nothing_was_missing_a_rule_is_of_two_minds():
    ratings = Ratings.from_dict({"ann": {"a": 5, "b": 1}, "bob": {"a": 5, "b": 2}, "cat": {"c": 3}})
    model = RankBoostRecommender(1, reference_users=["bob", "cat"], **THESIS).fit(ratings)
    assert model.rules("ann")[0].text == (
        "+3.45 where (user bob rated it >= 3.5; half where unrated)"
    )
    high, half, low = model.predict("ann", ["a", "c", "b"])
    assert half == pytest.approx((high + low) / 2)


def test_higher_ratings_never_lower_the_score():
    model = RankBoostRecommender(60, **THESIS).fit(world(4))
    for user in range(14):
        thresholds = [rule for rule in model.rules(user, None) if ">=" in rule.text]
        assert thresholds
        assert all(rule.text.startswith("+") for rule in thresholds)
    free = RankBoostRecommender(60, monotonic_cst="none", **THESIS).fit(world(4))
    texts = [
        rule.text for user in range(14) for rule in free.rules(user, None) if ">=" in rule.text
    ]
    assert any(text.startswith("-") for text in texts)


def test_rules_are_the_strongest_first():
    model = RankBoostRecommender(30).fit(world(5))
    everything = model.rules(2, None)
    sizes = [rule.alpha for rule in everything]
    assert sizes == sorted(sizes, reverse=True)
    assert model.rules(2, 3) == everything[:3]
    assert {rule.round for rule in everything} == set(range(len(everything)))
    assert next(rule for rule in everything if "mean rating of others" in rule.text).round == 0


@pytest.mark.parametrize("missing", ["learn", "low", "abstain", "high"])
def test_item_features_vote(missing):
    rng = np.random.default_rng(0)
    genres = np.array(["crime", "drama", "farce"])[rng.integers(3, size=40)]
    features = pd.DataFrame({"item": range(40), "genre": genres, "year": rng.integers(60, 99, 40)})
    taste = np.where(genres == "farce", 5.0, 1.0)
    noise = rng.integers(1, 6, size=(3, 40))
    users = np.repeat(["fan", "b", "c", "d"], [30, 40, 40, 40])
    items = np.concatenate([np.arange(30), *[np.arange(40)] * 3])
    values = np.concatenate([taste[:30], *noise])
    ratings = Ratings.from_arrays(users, items, values, item_features=features)
    model = RankBoostRecommender(5, missing=missing, **THESIS).fit(ratings)
    assert "genre = farce" in model.rules("fan")[0].text
    best = set(model.recommend("fan", n=10).ids.tolist())
    farces = {int(item) for item in np.flatnonzero(genres[30:] == "farce") + 30}
    assert set(model.recommend("fan", n=len(farces)).ids.tolist()) == farces
    assert best >= farces
    assert "genre = farce: yes" in str(model.explain("fan", min(farces)))
    blind = RankBoostRecommender(5, side_features=False, **THESIS).fit(ratings)
    assert not any("genre" in rule.text for rule in blind.rules("fan", None))


# Users of whom there is little to learn.


@pytest.mark.parametrize("init", ["zero", "mean"])
@pytest.mark.parametrize("said", [{0: 4.0}, {0: 4.0, 1: 4.0, 2: 4.0}])
def test_without_pairs_items_are_ordered_by_their_means(init, said):
    ratings = world(6)
    model = RankBoostRecommender(init=init).fit(ratings).fold_in({77: said})
    assert model.rules(77) == []
    sums = np.bincount(ratings.items, ratings.values)
    counts = np.bincount(ratings.items)
    means = (sums + 5 * ratings.mean) / (counts + 5)
    np.testing.assert_allclose(model.predict(77, ratings.item_ids.values), means)
    assert "mean of others" in str(model.explain(77, 5))


def test_implicit_feedback_has_no_pairs():
    ratings = world(6)
    chosen = Ratings.from_arrays(ratings.users, ratings.items)
    model = RankBoostRecommender().fit(chosen)
    assert all(model.rules(user) == [] for user in range(14))
    assert np.isfinite(model.recommend(0, n=5).scores).all()


def test_unknown_sides_have_scores_by_mean():
    ratings = world(6)
    model = RankBoostRecommender(10).fit(ratings)
    found = model.predict([1000, 1000], [3, 5], unknown="mean")
    assert (np.abs(found - model.mean_) < np.abs(ratings.by_item.means[[3, 5]] - model.mean_)).all()
    assert np.isfinite(model.predict(0, 1000, unknown="mean"))
    assert model.predict(1000, 1000, unknown="mean") == model.mean_


# Many users at once.


def test_many_users_at_once_are_as_one_by_one(monkeypatch):
    ratings = world(8)
    lazy = RankBoostRecommender(15, random_state=0).fit(ratings)
    alone = {user: lazy.predict(user, ratings.item_ids.values) for user in (9, 2, 13, 0, 5)}
    for backend in ("numpy", "numba"):
        for n_jobs in (1, 3):
            monkeypatch.setenv("EDGEWISE_BACKEND", backend)
            model = RankBoostRecommender(15, n_jobs=n_jobs, random_state=0).fit(ratings).fit_users()
            for user, scores in alone.items():
                found = model.predict(user, ratings.item_ids.values)
                np.testing.assert_array_equal(found, scores)


def test_what_is_drawn_follows_the_random_state():
    ratings = world(8, n_users=80)
    said = [
        RankBoostRecommender(15, random_state=seed).fit(ratings).predict(0, range(40))
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(said[0], said[1])
    assert not np.array_equal(said[0], said[2])


def test_rankers_are_trained_once(monkeypatch):
    model = RankBoostRecommender(5).fit(world(8)).fit_users([0, 1])
    trained = []
    train = RankBoostRecommender._train
    monkeypatch.setattr(
        RankBoostRecommender,
        "_train",
        lambda self, user, how: trained.append(user) or train(self, user, how),
    )
    model.recommend([0, 1, 2])
    model.predict([1, 2], [3, 4])
    model.fold_in({50: {0: 5.0, 1: 1.0}}).recommend([1, 2, 50])
    assert trained == [2, 14]


def test_compiled_code_is_for_many_users_only(monkeypatch):
    monkeypatch.delenv("EDGEWISE_BACKEND", raising=False)
    model = RankBoostRecommender().fit(world(8))
    for users, expected in (([0], False), ([0] * 10**5, True)):
        assert uses_compiled_loop(users, model.ratings_, model._matrix, 100) is expected


def test_trained_rankers_are_in_the_file(tmp_path, monkeypatch):
    model = RankBoostRecommender(10).fit(world(9)).fit_users([3, 1])
    wanted = model.predict([1, 3], [5, 6])
    model.save(tmp_path / "model.edgewise")
    loaded = edgewise.load(tmp_path / "model.edgewise")
    assert loaded.rules(3) == model.rules(3)

    def refuse(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(RankBoostRecommender, "_train", refuse)
    np.testing.assert_array_equal(loaded.predict([1, 3], [5, 6]), wanted)
    with pytest.raises(AssertionError, match="trained again"):
        loaded.predict(2, 5)


def test_progress_is_shown_by_users(capsys):
    RankBoostRecommender(2, verbose=1).fit(world(9)).fit_users()
    shown = capsys.readouterr().err
    assert "14/14" in shown
    assert "users/s" in shown


# Wrong arguments.


def test_errors_name_the_argument():
    model = RankBoostRecommender(2).fit(world(0))
    for ask in (model.rules, model.fit_users, lambda user: model.explain(user, 0)):
        with pytest.raises(ValueError, match=r"users.*99"):
            ask(99)
    with pytest.raises(ValueError, match="items"):
        model.explain(0, 99)
    with pytest.raises(ValueError, match="n must be"):
        model.rules(0, 0)
