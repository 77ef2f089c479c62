"""Every recommender passes the shared tests, and none is left out."""

import inspect
from dataclasses import fields

import pytest

from edgewise import Ratings, Recommender, recommend

from .common import BaseTests, RecommenderTests, StorageTests

PUBLIC = [
    name
    for name in recommend.__all__
    if isinstance(kind := getattr(recommend, name), type)
    and issubclass(kind, Recommender)
    and kind is not Recommender
]


class ChoiceTests(RecommenderTests):
    implicit = True


class TestRandomRecommender(RecommenderTests, StorageTests):
    asks_others = True
    knows_tastes = False
    knows_cold_users = True

    def make(self):
        return recommend.RandomRecommender(random_state=0)


class TestPopularity(RecommenderTests):
    knows_tastes = False
    knows_cold_users = True

    def make(self):
        return recommend.Popularity()


class TestBiasBaseline(RecommenderTests):
    knows_tastes = False

    def make(self):
        return recommend.BiasBaseline()


class TestItemKNN(RecommenderTests, StorageTests):
    def make(self):
        return recommend.ItemKNN(n_neighbors=3, shrinkage=0.0)


class TestItemKNNOfChoices(ChoiceTests):
    def make(self):
        return recommend.ItemKNN(n_neighbors=3, implicit=True)


class TestUserKNN(RecommenderTests):
    asks_others = True

    def make(self):
        return recommend.UserKNN(n_neighbors=3, shrinkage=0.0)


class TestUserKNNOfChoices(ChoiceTests):
    asks_others = True

    def make(self):
        return recommend.UserKNN(n_neighbors=3, implicit=True)


class TestRankingNeighbor(RecommenderTests, StorageTests):
    def make(self):
        return recommend.RankingNeighbor(n_neighbors=5, random_state=0)


class TestUserRegression(RecommenderTests, StorageTests):
    def make(self):
        return recommend.UserRegression(random_state=0)


class TestNormalisedUserRegression(RecommenderTests):
    def make(self):
        return recommend.UserRegression(normalize=True, random_state=0)


class TestContentRecommender(RecommenderTests, StorageTests):
    needs_features = True
    knows_cold_items = True

    def make(self):
        return recommend.ContentRecommender(regularization=0.1)


class TestBoostedContentRecommender(TestContentRecommender):
    explains = False

    def make(self):
        return recommend.ContentRecommender("boosted", n_rounds=5)


class TestStochasticFactorization(RecommenderTests):
    def make(self):
        return recommend.MatrixFactorization(
            2, solver="sgd", n_epochs=10, regularization=0.01, learning_rate=0.05, random_state=0
        )


class TestAlternatingFactorization(RecommenderTests, StorageTests):
    def make(self):
        return recommend.MatrixFactorization(
            2, solver="als", n_epochs=5, regularization=0.3, random_state=0
        )


class TestGradientFactorization(RecommenderTests):
    def make(self):
        return recommend.MatrixFactorization(
            2, solver="gd", n_epochs=10, regularization=0.01, learning_rate=0.05, random_state=0
        )


class TestSVDRecommender(RecommenderTests, StorageTests):
    def make(self):
        return recommend.SVDRecommender(2)


class TestNonNegativeFactorization(RecommenderTests):
    takes_negative = False

    def make(self):
        return recommend.NonNegativeFactorization(2, n_epochs=30, random_state=0)


class TestImplicitFactorization(ChoiceTests, BaseTests, StorageTests):
    def make(self):
        return recommend.ImplicitFactorization(2, n_epochs=5, random_state=0)


class TestEASE(ChoiceTests, StorageTests):
    def make(self):
        return recommend.EASE(1.0)


class TestSLIM(ChoiceTests):
    def make(self):
        return recommend.SLIM(regularization=1.0, sparsity=0.01)


class TestPairwiseFactorization(ChoiceTests):
    def make(self):
        return recommend.PairwiseFactorization(2, n_epochs=60, random_state=0)


class TestBoostedLists(ChoiceTests, StorageTests):
    def make(self):
        return recommend.BoostedLists(regularization=1.0, n_factors=2, random_state=0)


class TestRankBoostRecommender(RecommenderTests, BaseTests, StorageTests):
    def make(self):
        return recommend.RankBoostRecommender(10, learning_rate=0.5, missing="high", random_state=0)


class TestRankBoostFromZero(RecommenderTests):
    def make(self):
        return recommend.RankBoostRecommender(
            5, init="zero", learning_rate=1.0, missing="abstain", random_state=0
        )


class TestRankBoostWithItemFeatures(RecommenderTests):
    needs_features = True
    knows_cold_items = True

    def make(self):
        return recommend.RankBoostRecommender(
            8, learning_rate=0.4, missing="abstain", random_state=0
        )


class TestBlend(RecommenderTests, BaseTests, StorageTests):
    asks_others = True

    def make(self):
        models = [
            ("bias", recommend.BiasBaseline()),
            ("users", recommend.UserKNN(n_neighbors=3, shrinkage=0.0)),
            ("factors", recommend.SVDRecommender(1)),
        ]
        return recommend.Blend(models, validation_fraction=0.25, random_state=0)


class TestBoostedWithoutLevels(RecommenderTests, StorageTests):
    """All values of a user at once."""

    def make(self):
        return recommend.BoostedFactorization(
            60, target="value", regularization=5.0, bias_regularization=2.0, random_state=0
        )


class TestBoostedFactorization(RecommenderTests, BaseTests, StorageTests):
    def make(self):
        return recommend.BoostedFactorization(40, regularization=1.0, random_state=0)


class TestBoostedIndicators(RecommenderTests, StorageTests):
    def make(self):
        return recommend.BoostedFactorization(
            10, factors="signs", votes="discrete", learning_rate=0.5, random_state=0
        )


TESTED = [case for name, case in globals().items() if name.startswith("Test")]


def test_none_is_left_out():
    assert {type(case().make()).__name__ for case in TESTED} == set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_making_a_model_only_stores_parameters(name):
    kind = getattr(recommend, name)
    parameters = list(inspect.signature(kind).parameters.values())
    given = {one.name: object() for one in parameters}
    model = kind(**given)
    assert vars(model) == given
    assert model.get_params(deep=False) == given
    for one in parameters:
        assert one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY), one.name


@pytest.mark.parametrize("name", PUBLIC)
def test_errors_name_the_parameter(name):
    kind = getattr(recommend, name)
    ratings = Ratings.from_dict({"ann": {"x": 5, "y": 1}, "bob": {"x": 1}})
    required = {"models": [("bias", recommend.BiasBaseline())]} if name == "Blend" else {}
    checked = [item.name for item in fields(kind) if "check" in item.metadata]
    for parameter in checked:
        for wrong in (object(), -7.5):
            with pytest.raises((TypeError, ValueError), match=parameter):
                kind(**required, **{parameter: wrong}).fit(ratings)


@pytest.mark.parametrize(
    "kind",
    [recommend.RankBoostRecommender, recommend.RankingNeighbor, recommend.UserRegression],
)
@pytest.mark.parametrize("wrong", [0, "ann", ["zed"]])
def test_reference_users_are_a_number_or_known_ids(kind, wrong):
    ratings = Ratings.from_dict({"ann": {"x": 5, "y": 1}, "bob": {"x": 1}})
    with pytest.raises((TypeError, ValueError), match="reference_users"):
        kind(reference_users=wrong).fit(ratings)
