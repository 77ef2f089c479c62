import numpy as np
import pytest
from tests.recommend.boosted.conftest import drawn

import edgewise
from edgewise import (
    AdaBoostMH,
    BiasBaseline,
    BoostedFactorization,
    Indicator,
    ItemKNN,
    MatrixFactorization,
    Product,
    Ratings,
)

# Products begin after 30 rounds.
FAST = {"n_rounds": 45, "regularization": 5.0, "bias_regularization": 2.0, "random_state": 0}


def scores_of(model):
    """The scores of all pairs as the sum over rounds of user times item times votes."""
    return np.einsum("ut,it,tl->uil", model.user_values_, model.item_values_, model.round_votes_)


def all_pairs(ratings):
    users = np.repeat(ratings.user_ids.values, ratings.n_items)
    return users, np.tile(ratings.item_ids.values, ratings.n_users)


@pytest.mark.parametrize("target", ["ordered", "one_hot", "binary"])
@pytest.mark.parametrize("factors", ["real", "signs"])
@pytest.mark.parametrize("votes", ["real", "discrete"])
def test_the_score_is_the_sum_of_user_times_item_times_votes(ratings, target, factors, votes):
    model = BoostedFactorization(target=target, factors=factors, votes=votes, **FAST).fit(ratings)
    folded = np.einsum("ut,it,tl->uil", model.user_factors_, model.item_factors_, model.votes_)
    assert folded == pytest.approx(scores_of(model), abs=1e-10)
    scores = model.predict(*all_pairs(ratings), output="score")
    assert scores.reshape(folded.shape) == pytest.approx(folded, abs=1e-10)


def test_of_one_score_column_the_votes_are_folded_into_the_factors(ratings):
    model = BoostedFactorization(target="binary", factors="signs", **FAST).fit(ratings)
    assert (model.votes_ == 1).all()
    scores = model.predict(*all_pairs(ratings), output="score")
    product = model.user_factors_ @ model.item_factors_.T
    assert scores == pytest.approx(product.ravel(), abs=1e-10)
    # Each term is the root of its coefficient times a sign, at both sides.
    sizes = np.abs(model.user_factors_[:, -1])
    assert sizes == pytest.approx(np.full(len(sizes), sizes[0]))
    assert np.abs(model.item_factors_[:, -1]) == pytest.approx(np.full(ratings.n_items, sizes[0]))


def test_rounds_that_repeat_each_other_are_one_term(ratings):
    model = BoostedFactorization(factors="signs", loss="exponential", votes="discrete",
                                 learning_rate=0.1, n_rounds=60, random_state=0)  # fmt: skip
    model.fit(ratings)
    products = [
        (u * (1 if u[0] > 0 else -1), z * (1 if z[0] > 0 else -1))
        for u, z, kind in zip(model.user_values_.T, model.item_values_.T, model.kinds_, strict=True)
        if kind == 2
    ]
    different = len({(u.tobytes(), z.tobytes()) for u, z in products})
    width = model.votes_.shape[1]
    n_single = width * len({0, 1} & set(model.kinds_.tolist()))
    assert different < len(products)
    assert model.votes_.shape[0] == different + n_single


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("votes", ["real", "discrete"])
def test_signs_are_adaboost_mh_with_products_of_indicators(ratings, loss, votes):
    settings = {"n_rounds": 15, "loss": loss, "votes": votes, "learning_rate": 0.5}
    model = BoostedFactorization(factors="signs", random_state=3, **settings).fit(ratings)
    rows = np.column_stack([ratings.users, ratings.items]).astype(float)
    levels = (ratings.values[:, None] > ratings.levels[:-1]).astype(int)
    papers = {"preset": "paper", "init_weights": "uniform", "random_state": 3}
    peer = AdaBoostMH(Product(Indicator()), categorical_features=[0, 1], **papers, **settings)
    peer.fit(rows, levels)
    users, items = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    scores = model.predict(users, items, output="score")
    assert scores == pytest.approx(peer.decision_function(rows), abs=1e-9)


@pytest.mark.parametrize("target", ["ordered", "one_hot", "binary"])
def test_the_bound_holds_for_signs_at_every_round(ratings, target):
    settings = {"learning_rate": 1.0, "votes": "discrete", "n_rounds": 30, "random_state": 0}
    model = BoostedFactorization(factors="signs", loss="exponential", target=target, **settings)
    history = model.fit(ratings).history_
    assert (history["hamming_loss"] <= history["bound"] + 1e-12).all()
    assert history["bound"] == pytest.approx(np.cumprod(history["energy"]))
    assert (history["energy"] < 1).all()


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("votes", ["real", "discrete"])
def test_the_ratings_of_a_user_under_a_new_name_give_the_same_values(weights, votes):
    ratings = drawn(weights=weights)
    model = BoostedFactorization(votes=votes, **FAST).fit(ratings)
    rows = ratings.users == 4
    again = Ratings.from_arrays(
        np.full(rows.sum(), 999), ratings.item_ids.values[ratings.items[rows]],
        ratings.values[rows], weights=None if not weights else ratings.weights[rows],
    )  # fmt: skip
    more = model.fold_in(again)
    assert more.user_values_[-1] == pytest.approx(model.user_values_[4], abs=1e-6)
    items = ratings.item_ids.values
    assert more.predict(999, items) == pytest.approx(model.predict(4, items), abs=1e-6)


def test_features_of_a_new_user_count_too():
    ratings = drawn(40, 20, features=True)
    model = BoostedFactorization(**FAST).fit(ratings)
    rows = ratings.users == 4
    features = ratings.user_features
    row = [[features.column(j).reals()[4] for j in range(2)]]
    again = Ratings.from_arrays(
        np.full(rows.sum(), 999), ratings.item_ids.values[ratings.items[rows]],
        ratings.values[rows], user_features=([999], np.array(row)),
    )  # fmt: skip
    more = model.fold_in(again)
    assert more.user_values_[-1] == pytest.approx(model.user_values_[4], abs=1e-6)


def test_users_and_items_without_ratings_are_known_by_their_features():
    ratings = drawn(60, 30, features=True)
    kinds = ratings.item_features.column(0).reals()
    cold = 7
    train = ratings.take(ratings.items != cold)
    model = BoostedFactorization(n_rounds=100, regularization=50, random_state=0).fit(train)
    users = ratings.user_ids.values
    predicted = model.predict(users, cold)
    like = model.predict(users, ratings.item_ids.values[kinds == kinds[cold]][0])
    unlike = model.predict(users, ratings.item_ids.values[kinds != kinds[cold]][0])
    assert np.corrcoef(predicted, like)[0, 1] > 0.5
    assert np.corrcoef(predicted, unlike)[0, 1] < -0.5
    plain = BoostedFactorization(side_features=False, **FAST).fit(train)
    with pytest.raises(ValueError, match="unknown items"):
        plain.predict(users, cold)


def test_products_of_users_and_features_of_items_predict_new_items():
    ratings = drawn(60, 30, features=True)
    kinds = ratings.item_features.column(0).reals()
    cold = 7
    train = ratings.take(ratings.items != cold)
    model = BoostedFactorization(factors="signs", features=["user", "x0"], n_rounds=40,
                                 learning_rate=0.3, random_state=0).fit(train)  # fmt: skip
    same = ratings.item_ids.values[kinds == kinds[cold]]
    users = ratings.user_ids.values
    assert model.predict(users, cold) == pytest.approx(model.predict(users, same[0]))


def test_rules_on_features_of_users_judge_new_users(tmp_path):
    ratings = drawn(60, 30, features=True)
    model = BoostedFactorization(factors="signs", features=["x0", "x1", "item"], n_rounds=30,
                                 learning_rate=0.3, random_state=0).fit(ratings)  # fmt: skip
    table = ratings.user_features
    row = [[table.column(j).reals()[4] for j in range(2)]]
    new = Ratings.from_arrays([999], [0], [3], user_features=([999], np.array(row)))
    model.save(tmp_path / "model")
    items = ratings.item_ids.values
    for known in (model, edgewise.load(tmp_path / "model")):
        more = known.fold_in(new)
        assert np.array_equal(more.user_values_[-1], model.user_values_[4])
        assert more.predict(999, items) == pytest.approx(model.predict(4, items))


def test_unknown_features_are_named(ratings):
    model = BoostedFactorization(factors="signs", features=["user", "color"], n_rounds=1)
    with pytest.raises(ValueError, match=r"features must be among 'user', 'item', got 'color'"):
        model.fit(ratings)


def test_the_parts_of_an_explanation_add_up(ratings):
    ratings = drawn(40, 20, features=True)
    model = BoostedFactorization(**FAST).fit(ratings)
    for user, item in [(0, 0), (3, 7), (11, 2)]:
        why = model.explain(user, item)
        assert sum(part.amount for part in why.contributions) == pytest.approx(why.score)
        assert why.score == pytest.approx(model.predict(user, item))
        mine = ratings.items[ratings.users == user]
        rated = {part.detail for part in why.contributions if part.name == "rated"}
        assert rated == {str(item) for item in ratings.item_ids.values[mine]}
        assert {part.name for part in why.contributions} <= {
            "mean", "user offset", "item offset", "user taste", "rated", "feature",
        }  # fmt: skip
        assert str(why).startswith(f"{item} for {user}: {why.score:.2f}")


def test_the_training_error_falls_and_is_recorded(ratings):
    model = BoostedFactorization(**FAST).fit(ratings)
    errors = model.history_["train_rmse"]
    assert (np.diff(errors) < 1e-3).all()
    users, items = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    wrong = model.predict(users, items) - ratings.values
    assert errors[-1] == pytest.approx(np.sqrt((wrong**2).mean()))


def test_stages_end_in_the_model(ratings):
    model = BoostedFactorization(**FAST).fit(ratings)
    users, items = [0, 1, 2], [3, 4, 5]
    stages = list(model.staged_predict(users, items))
    assert len(stages) == model.n_rounds_ + 1
    assert stages[-1] == pytest.approx(model.predict(users, items))


@pytest.mark.parametrize("factors", ["real", "signs"])
def test_validation_chooses_the_number_of_rounds(factors):
    ratings = drawn(60, 40, 0.3, seed=5)
    model = BoostedFactorization(80, factors=factors, regularization=0.5, learning_rate=1.0,
                                 validation_fraction=0.2, random_state=0).fit(ratings)  # fmt: skip
    errors = model.history_["validation_rmse"]
    assert model.n_rounds_ == len(errors) < 80
    assert errors.argmin() == len(errors) - 1
    patient = BoostedFactorization(80, factors=factors, regularization=0.5, learning_rate=1.0,
                                   validation_fraction=0.2, early_stopping_rounds=3,
                                   random_state=0)  # fmt: skip
    assert patient.fit(ratings).n_rounds_ <= model.n_rounds_


@pytest.mark.parametrize("factors", ["real", "signs"])
def test_the_model_is_the_same_for_any_number_of_threads(monkeypatch, factors):
    monkeypatch.setattr("edgewise.recommend.boosted.products._PART_RATINGS", 60)
    ratings = drawn()
    one, two = (
        BoostedFactorization(factors=factors, n_jobs=n, **FAST).fit(ratings) for n in (1, 2)
    )
    assert np.array_equal(one.user_values_, two.user_values_)
    assert np.array_equal(one.round_votes_, two.round_votes_)


def test_the_model_is_the_same_compiled_or_not(monkeypatch, ratings):
    models = []
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        models.append(BoostedFactorization(**FAST).fit(ratings))
    assert np.array_equal(models[0].user_values_, models[1].user_values_)
    assert np.array_equal(models[0].item_values_, models[1].item_values_)


def test_a_weight_of_two_for_all_changes_nothing(ratings):
    doubled = Ratings.from_arrays(
        ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items],
        ratings.values, weights=np.full(len(ratings), 2.0),
    )  # fmt: skip
    one, two = (BoostedFactorization(**FAST).fit(data) for data in (ratings, doubled))
    assert np.array_equal(one.user_values_, two.user_values_)


def test_predictions_as_level_mode_and_expectation(ratings):
    model = BoostedFactorization(**FAST).fit(ratings)
    users, items = all_pairs(ratings)
    assert set(model.predict(users, items, output="level")) <= set(ratings.levels)
    assert set(model.predict(users, items, output="mode")) <= set(ratings.levels)
    expected = model.predict(users, items)
    assert expected.min() >= 1
    assert expected.max() <= 5
    with pytest.raises(ValueError, match="output must be one of"):
        model.predict(users, items, output="rank")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_terms": 3}, "n_terms must be"),
        ({"loss": "exponential"}, "loss='exponential' needs factors='signs'"),
        ({"early_stopping_rounds": 5}, "early_stopping_rounds needs"),
        ({"features": ["user"]}, "features must be a list of names, with factors='signs'"),
    ],
)
def test_wrong_settings_are_named(ratings, settings, words):
    with pytest.raises(ValueError, match=words):
        BoostedFactorization(**settings).fit(ratings)


def test_tastes_are_found_where_users_and_items_have_no_offsets():
    users, items = (place.ravel() for place in np.indices((8, 8)))
    values = np.where(users % 2 == items % 2, 5.0, 1.0)
    model = BoostedFactorization(100, tuned=False, regularization=1.0, random_state=0)
    model.fit(Ratings.from_arrays(users, items, values))
    assert model.predict(users, items) == pytest.approx(values, abs=0.2)


@pytest.mark.slow
def test_few_ratings_are_regularized_less():
    train, test = drawn(60, 40, 0.5, seed=2).split(0.2, random_state=0)
    users, items = test.user_ids.values[test.users], test.item_ids.values[test.items]

    def error(model):
        wrong = model.fit(train).predict(users, items, unknown="mean") - test.values
        return np.sqrt((wrong**2).mean())

    usual = error(BoostedFactorization(400, tuned=False, random_state=0))
    for tuned in ("auto", True):
        model = BoostedFactorization(400, tuned=tuned, random_state=0)
        assert error(model) < 0.9 * usual
        assert model.regularization_scale_ < 1
        assert model.n_rounds_ < 400
    # A strength that is given is taken as it is.
    given = BoostedFactorization(20, regularization=5.0, random_state=0).fit(train)
    assert given.regularization_scale_ == 1
    assert given.penalties_[0] == 5
    assert given.n_rounds_ == 20


def continuous(unit=1.0, zero=0.0):
    """Ratings with decimals, from -10 to 10, or in other units from another zero."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((300, 30)) < 0.7)
    U, V = rng.normal(size=(300, 2)), rng.normal(size=(30, 2))
    liking = 2 * rng.normal(size=300)[users] + rng.normal(size=30)[items]
    liking += 2 * (U[users] * V[items]).sum(axis=1) + 2 * rng.normal(size=len(users))
    values = np.clip(liking, -10, 10).round(2)
    return Ratings.from_arrays(users, items, unit * values + zero).split(0.2, random_state=0)


def test_ratings_without_levels_are_fitted_by_least_squares(tmp_path):
    train, test = continuous()
    settings = {"n_rounds": 200, "regularization": 5.0, "random_state": 0}
    model, binned = (
        BoostedFactorization(target=target, **settings).fit(train) for target in ("auto", "ordered")
    )
    assert model.target_ == "value"
    assert model.round_votes_.shape[1] == 1
    assert len(binned.levels_) == 20
    errors = [np.std(one.predict(test.users, test.items) - test.values) for one in (model, binned)]
    assert errors[0] < min(1.02 * errors[1], 0.8 * test.values.std())
    # The three ways to predict are one, and the parts of an explanation add up.
    for output in ("level", "mode"):
        found = model.predict(test.users, test.items, output=output)
        np.testing.assert_array_equal(found, model.predict(test.users, test.items))
    with pytest.raises(ValueError, match="predict_proba needs levels"):
        model.predict_proba(3, 4)
    told = model.explain(3, 4)
    assert sum(part.amount for part in told.contributions) == pytest.approx(told.score)
    model.save(tmp_path / "model")
    again = edgewise.load(tmp_path / "model")
    assert again.target_ == "value"
    np.testing.assert_array_equal(
        again.fold_in({999: {0: 3.0}}).predict(999, test.items),
        model.fold_in({999: {0: 3.0}}).predict(999, test.items),
    )


def test_the_units_of_ratings_without_levels_do_not_matter():
    settings = {"n_rounds": 60, "regularization": 5.0, "random_state": 0}
    found = []
    for unit, zero in ((1.0, 0.0), (40.0, 700.0)):
        train, test = continuous(unit, zero)
        model = BoostedFactorization(**settings).fit(train)
        found.append((model.predict(test.users, test.items) - zero) / unit)
    np.testing.assert_allclose(*found, atol=1e-3)


def test_all_values_of_a_user_at_once_beat_other_models_of_ratings_without_levels():
    train, test = continuous()
    models = BoostedFactorization(random_state=0), MatrixFactorization(random_state=0), ItemKNN()
    errors = [
        np.std(model.fit(train).predict(test.users, test.items) - test.values) for model in models
    ]
    assert errors[0] <= min(errors[1:])
    # One constant, offsets of items and of users, and a product for each item at most.
    kinds = models[0].kinds_
    assert len(kinds) <= 3 + train.n_items
    assert np.bincount(kinds)[:2].tolist() == [1, 2]
    assert (np.diff(models[0].history_["train_rmse"]) <= 1e-6).all()


def test_the_scale_of_ratings_without_levels_is_chosen_with_any_settings():
    train, _ = continuous()
    stops = {"validation_fraction": 0.2, "early_stopping_rounds": 5}
    model = BoostedFactorization(40, tuned=True, random_state=0, **stops).fit(train)
    assert model.regularization_scale_ in (1, 4, 16, 64)
    given = dict.fromkeys(("regularization", "bias_regularization", "share_regularization"), 9.0)
    assert BoostedFactorization(tuned=True, **given).fit(train).regularization_scale_ == 1


def test_a_few_ratings_without_levels_are_hardly_regularized():
    rng = np.random.default_rng(0)
    users, items = np.divmod(rng.permutation(56), 7)
    values = 2 * rng.normal(size=8)[users] + 2 * rng.normal(size=7)[items]
    few = Ratings.from_arrays(users[:28], items[:28], values[:28])
    model = BoostedFactorization(random_state=0).fit(few)
    errors = [
        np.sqrt(np.mean((one.predict(users[28:], items[28:], "mean") - values[28:]) ** 2))
        for one in (model, BiasBaseline().fit(few))
    ]
    assert errors[0] < errors[1]


def test_the_values_of_a_user_solve_one_system():
    train, _ = continuous()
    model = BoostedFactorization(100, regularization=20.0, random_state=0).fit(train)
    solved = np.flatnonzero(model.kinds_ != 1)
    scores = model.item_values_ * model.round_votes_[:, 0]
    design, base = scores[:, solved], scores[:, model.kinds_ == 1].sum(axis=1)
    low, high = model.levels_
    for user in (0, 7):
        mine = train.users == user
        rows = design[train.items[mine]]
        left = (train.values[mine] - low) / (high - low) - base[train.items[mine]]
        matrix = rows.T @ rows + 20 / 50 / 6 * np.eye(len(solved))
        expected = np.linalg.solve(matrix, rows.T @ left)
        np.testing.assert_allclose(model.user_values_[user, solved], expected, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_rating_without_levels_is_explained_by_the_ratings_of_the_user(weighted):
    train, _ = continuous()
    weights = 1.0 + (train.items % 3) if weighted else None
    train = Ratings.from_arrays(train.users, train.items, train.values, weights=weights)
    model = BoostedFactorization(100, regularization=20.0, random_state=0).fit(train)
    told = model.explain(3, 4)
    assert sum(part.amount for part in told.contributions) == pytest.approx(told.score, abs=1e-4)
    names = [part.name for part in told.contributions]
    assert names.count("rated") == (train.users == 3).sum()
    assert set(names) == {"mean", "item offset", "rated"}
    # Under a new name the ratings of a user give the same values.
    mine = train.users == 3
    again = Ratings.from_arrays(
        np.full(mine.sum(), 999), train.items[mine], train.values[mine],
        weights=None if weights is None else weights[mine],
    )  # fmt: skip
    items = np.arange(train.n_items)
    np.testing.assert_allclose(
        model.fold_in(again).predict(999, items), model.predict(3, items), atol=1e-4
    )


def test_users_without_ratings_have_the_tastes_of_their_features():
    train, _ = continuous()
    kind = (np.arange(302) % 2).astype(float)
    values = train.values + 4 * np.where(kind[train.users] == train.items % 2, 1, -1)
    about = (np.arange(302), kind[:, None])
    described = Ratings.from_arrays(train.users, train.items, values, user_features=about)
    model = BoostedFactorization(100, random_state=0).fit(described)
    items = np.arange(30)
    usual = np.mean([model.predict(user, items) for user in range(300)], axis=0)
    found = model.predict(301, items) - usual
    assert found[items % 2 == 1].mean() > found[items % 2 == 0].mean() + 2


def test_rounds_are_kept_once_and_in_single_precision(ratings, tmp_path):
    model = BoostedFactorization(**FAST).fit(ratings)
    for loaded in (model, edgewise.load(saved(model, tmp_path / "model"))):
        for values in (loaded.user_values_, loaded.item_values_, loaded.indicator_weights_):
            assert values.dtype == np.float32
        # Scores are made of the same memory.
        assert np.shares_memory(loaded.user_values_, loaded._factors.users)
        assert np.shares_memory(loaded.item_values_, loaded._factors.items)


def test_a_file_says_only_of_ratings_without_levels_that_values_were_found_at_once(
    ratings, tmp_path
):
    model = BoostedFactorization(**FAST).fit(ratings)
    for joint in (True, 3):
        model.joint_ = joint
        with pytest.raises(edgewise.ModelFileError, match=r"joint_|do not follow"):
            edgewise.load(saved(model, tmp_path / "model"))


def saved(model, path):
    model.save(path)
    return path


def test_products_of_a_step_follow_from_the_same_scores(ratings):
    model = BoostedFactorization(63, regularization=5.0, random_state=0).fit(ratings)
    sizes = np.bincount(model.steps_)
    # The constant, 30 offsets, and products by eights.
    assert sizes.tolist() == [1] * 31 + [8] * 4 + [1]
    alone = BoostedFactorization(45, regularization=5.0, learning_rate=1.0, random_state=0)
    assert (np.bincount(alone.fit(ratings).steps_) == 1).all()


def test_too_few_rounds_are_named():
    ratings = drawn(60, 40, 0.5)
    with pytest.warns(UserWarning, match="n_rounds=40"):
        BoostedFactorization(40, tuned=True, random_state=0).fit(ratings)
