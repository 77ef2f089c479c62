"""Errors on MovieLens 100K, where it is found, near published ones."""

import numpy as np
import pytest

from edgewise import (
    BiasBaseline,
    Blend,
    BoostedFactorization,
    ImplicitFactorization,
    ItemKNN,
    MatrixFactorization,
    NonNegativeFactorization,
    Popularity,
    RankBoostRecommender,
    SVDRecommender,
    UserKNN,
    datasets,
)
from edgewise.recommend import evaluate

pytestmark = [pytest.mark.slow, pytest.mark.real_data]


@pytest.fixture(scope="module")
def movielens():
    if not datasets.available("ml-100k"):
        pytest.skip("no copy of ml-100k: set EDGEWISE_DATA to a folder that has it")
    return datasets.load("ml-100k", download=False)


@pytest.mark.parametrize(
    ("model", "split", "largest"),
    [
        (BiasBaseline(), "u1", 0.96),
        (SVDRecommender(), "u1", 0.945),
        (NonNegativeFactorization(random_state=0), "u1", 0.94),
        # A tuned biased factorization is known to reach 0.928 on this split.
        (MatrixFactorization(random_state=0), "u1", 0.925),
        # The best tuned biased factorization has 0.916 here.
        (BoostedFactorization(500, random_state=0), "u1", 0.9),
        (ItemKNN(), 1, 0.926),
        (UserKNN(), 1, 0.933),
    ],
)
def test_errors_of_predicted_ratings(movielens, model, split, largest):
    train, test = movielens.split(split) if split == "u1" else movielens.fold(split)
    assert evaluate(model.fit(train), test, "rmse")["rmse"] < largest


def test_implicit_factorization_hits_more_than_popularity(movielens):
    train, test = movielens.split("u1")
    popular, factored = (
        evaluate(model.fit(train), test, "recall", k=10)["recall@10"]
        for model in (Popularity(), ImplicitFactorization(random_state=0))
    )
    assert factored > 1.5 * popular


def test_bounds_and_gains_of_blends(movielens):
    train, test = movielens.fold(1)
    models = [("bias", BiasBaseline()), ("knn", ItemKNN())]
    errors = {}
    for method in ("hedge", "least_squares"):
        blend = Blend(models, method, random_state=0).fit(train)
        if blend.bound_ is not None:
            assert blend.loss_ <= blend.bound_
        errors[method] = evaluate(blend, test, "rmse")["rmse"]
    single = [evaluate(model, test, "rmse")["rmse"] for model in blend.models_]
    assert errors["least_squares"] < min(single)
    assert errors["hedge"] < max(single)


def test_rankboost_orders_movies_better_than_chance_and_than_the_thesis(movielens):
    ratings = movielens.ratings
    users = np.random.default_rng(0).permutation(ratings.n_users)
    references, targets = users[:100], users[100:160]
    rated = ratings.take(np.isin(ratings.users, users[:160]))
    is_test = np.isin(rated.users, targets) & (np.arange(len(rated)) % 2 == 0)
    train, test = rated.take(~is_test), rated.take(is_test)
    thesis = {"init": "zero", "learning_rate": 1.0, "max_features": 1.0}
    losses = []
    for settings in ({}, thesis):
        model = RankBoostRecommender(
            reference_users=ratings.user_ids.values[references].tolist(),
            side_features=False, random_state=0, **settings,
        )  # fmt: skip
        losses.append(evaluate(model.fit(train), test, "disagreement")["disagreement"])
    assert losses[0] < losses[1] < 0.42
