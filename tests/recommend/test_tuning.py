"""Search over folds: the right parameters are found, wrong ones are refused before any work."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from edgewise import (
    BiasBaseline,
    Blend,
    BoostedFactorization,
    ItemKNN,
    Popularity,
    Ratings,
    Recommender,
)
from edgewise.recommend import RecommenderSearch, evaluate, tuning

ROWS = [(user, item, 1 + (user + item) % 5) for user in range(12) for item in range(10)]


class Constant(Recommender):
    """Predicts one number, or fails."""

    def __init__(self, number=3.0, other=None):
        self.number = number
        self.other = other

    def _fit(self, ratings):
        if self.number is None:
            raise ZeroDivisionError("no number")
        self.fitted_on_ = len(ratings)

    def _pair_scores(self, users, items):
        return np.full(len(users), float(self.number))


def ratings():
    return Ratings.from_arrays(*zip(*ROWS, strict=True))


def test_the_best_of_a_grid():
    grid = {"number": [1.0, 3.0, 5.0]}
    search = RecommenderSearch(Constant(), grid, cv=4, metric="mae", random_state=0)
    search.fit(ratings())
    assert search.best_params_ == {"number": 3.0}
    # Levels are equally frequent: the mean distance to 3 is 6/5, to 1 and to 5 it is 2.
    assert search.best_score_ == pytest.approx(6 / 5)
    assert [row["params"]["number"] for row in search.results_] == [1.0, 3.0, 5.0]
    assert [row["score"] for row in search.results_] == pytest.approx([2.0, 6 / 5, 2.0])
    assert [row["rank"] for row in search.results_][1] == 1
    assert all(len(row["folds"]) == 4 for row in search.results_)
    assert search.best_estimator_.fitted_on_ == len(ROWS)
    assert search.predict(0, 0) == 3.0
    assert len(search.recommend([0, 1], n=3)) == 2


def test_larger_is_better_where_it_is():
    # All choices count the same, so that means say nothing; counts do.
    rows = [(user, item) for user in range(20) for item in range(30) if (user * item) % 7 < 3]
    data = Ratings.from_arrays(*zip(*rows, strict=True))
    grid = {"by": ["mean", "count"]}
    search = RecommenderSearch(Popularity(), grid, metric="auc", random_state=0).fit(data)
    scores = {row["params"]["by"]: row["score"] for row in search.results_}
    assert scores["count"] > scores["mean"]
    assert search.best_params_ == {"by": "count"}
    assert search.best_score_ == max(scores.values())


def test_scores_are_those_of_evaluate():
    folds = list(ratings().folds(3, random_state=5))
    grid = {"item_damping": [0.0, 20.0]}
    search = RecommenderSearch(BiasBaseline(), grid, cv=folds).fit(ratings())
    for row in search.results_:
        expected = [
            evaluate(BiasBaseline(**row["params"]).fit(train), test, "rmse")["rmse"]
            for train, test in folds
        ]
        assert row["folds"] == expected
        assert row["std"] == pytest.approx(np.std(expected))


def test_a_random_search_draws_from_distributions():
    grid = {"number": uniform(1, 4), "other": ["a", "b"]}
    ours, theirs = (
        RecommenderSearch(Constant(), grid, n_iter=6, cv=2, random_state=3).fit(ratings())
        for _ in range(2)
    )
    assert len(ours.results_) == 6
    assert ours.best_params_ == theirs.best_params_
    numbers = [row["params"]["number"] for row in ours.results_]
    assert len(set(numbers)) == 6
    assert abs(ours.best_params_["number"] - 3) == min(abs(number - 3) for number in numbers)


def test_several_grids():
    grid = [{"number": [1.0]}, {"number": [3.0], "other": ["x"]}]
    search = RecommenderSearch(Constant(), grid, cv=2).fit(ratings())
    assert search.best_params_ == {"number": 3.0, "other": "x"}


def test_the_models_of_a_blend_are_tuned():
    blend = Blend([("a", Constant()), ("b", Constant())], "uniform")
    search = RecommenderSearch(blend, {"a__number": [1.0, 3.0], "b__number": [3.0, 4.5]}, cv=2)
    assert search.fit(ratings()).best_params_ == {"a__number": 3.0, "b__number": 3.0}
    # Candidates do not share models with each other, nor with what was given.
    assert blend.models[0][1].number == 3.0
    assert not hasattr(blend.models[0][1], "fitted_on_")


def test_equal_candidates_the_first_wins():
    search = RecommenderSearch(Constant(), {"other": [1, 2]}, cv=2, random_state=0)
    assert search.fit(ratings()).best_params_ == {"other": 1}


def test_without_refit_there_is_no_model():
    search = RecommenderSearch(Constant(), {"number": [2.0]}, cv=2).fit(ratings())
    assert search.predict(0, 0) == 2.0
    search.set_params(refit=False).fit(ratings())
    with pytest.raises(NotFittedError, match="refit=True"):
        search.predict(0, 0)
    with pytest.raises(NotFittedError, match="call fit"):
        clone(search).recommend(0)


def test_a_wrong_value_is_named_before_anything_is_fitted():
    search = RecommenderSearch(ItemKNN(), {"n_neighbors": [5, 0]}, cv=2)
    words = (
        r"grid: model with \{'n_neighbors': 0\} cannot be fitted: n_neighbors must be an integer"
    )
    with pytest.raises(ValueError, match=words):
        search.fit(ratings())


def test_settings_of_predict_reach_the_best_model():
    grid = {"n_rounds": [5, 10]}
    search = RecommenderSearch(BoostedFactorization(random_state=0), grid, cv=2, random_state=0)
    levels = search.fit(ratings()).predict([0, 1], [0, 0], output="level")
    assert np.isin(levels, ratings().levels).all()


@pytest.mark.filterwarnings("error")
def test_more_draws_than_combinations_try_all():
    search = RecommenderSearch(Constant(), {"number": [2.0, 3.0]}, cv=2, n_iter=9)
    assert len(search.fit(ratings()).results_) == 2


def test_a_candidate_that_fails_is_named():
    search = RecommenderSearch(Constant(), {"number": [2.0, None]}, cv=2)
    with pytest.raises(RuntimeError, match=r"\{'number': None\} failed on fold 1: ZeroDivision"):
        search.fit(ratings())
    assert not hasattr(search, "results_")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"param_grid": {"size": [1]}},
            "param_grid: Invalid parameter 'size' for estimator Constant.* \\['number'",
        ),
        ({"param_grid": [{"number": [1]}, {"size": [1]}]}, "Invalid parameter 'size'"),
        ({"param_grid": "number"}, "param_grid: .* is not a dict"),
        ({"param_grid": []}, "param_grid must hold"),
        ({"estimator": "bias"}, "estimator must be a recommender, got str"),
        ({"metric": "speed"}, "unknown metric"),
        ({"metric": ["rmse", "mae"]}, "metric must be the name"),
        (
            {"estimator": Popularity(), "param_grid": {"by": ["mean"]}},
            "predicts scores, not ratings",
        ),
        ({"cv": 1}, "cv must be"),
        ({"n_iter": 0}, "n_iter must be"),
        ({"unknown": "skip"}, "unknown must be"),
        ({"relevant": "most"}, "relevant must be"),
        ({"refit": 2}, "refit must be"),
    ],
)
def test_wrong_arguments_are_told_before_any_work(monkeypatch, arguments, message):
    def fails(*_):
        pytest.fail("a model was fitted")

    monkeypatch.setattr(Recommender, "fit", fails)
    settings = {"estimator": Constant(), "param_grid": {"number": [1.0]}} | arguments
    with pytest.raises((TypeError, ValueError), match=message):
        RecommenderSearch(**settings).fit(ratings())


def test_only_ratings_are_taken():
    with pytest.raises(TypeError, match="ratings must be Ratings, got list"):
        RecommenderSearch(Constant(), {"number": [1.0]}).fit(ROWS)


class TestTimeLimit:
    GRID: ClassVar = {"number": [1.0, 2.0, 3.0, 4.0, 5.0, 2.5, 3.5, 4.5]}

    def clock(self, monkeypatch, seconds):
        """Let every fit take so many seconds of a clock that stands still otherwise."""
        now = [0.0]
        fit = Constant._fit

        def slow(model, given):
            now[0] += seconds
            fit(model, given)

        monkeypatch.setattr(Constant, "_fit", slow)
        monkeypatch.setattr(tuning.time, "monotonic", lambda: now[0])
        return now

    @pytest.mark.parametrize("limit", [1.0, 10.0, 100.0])
    def test_the_search_ends_in_time(self, monkeypatch, limit):
        now = self.clock(monkeypatch, 1.0)
        search = RecommenderSearch(
            Constant(), self.GRID, cv=3, metric="mae", time_limit=limit, random_state=0
        ).fit(ratings())
        n_tried = {1.0: 1, 10.0: 3, 100.0: 8}[limit]
        assert len(search.results_) == n_tried
        assert search.n_skipped_ == 8 - n_tried
        assert now[0] == 3 * n_tried + 1
        tried = [row["params"]["number"] for row in search.results_]
        assert search.best_params_["number"] == min(tried, key=lambda one: abs(one - 3.0))
        assert search.best_estimator_.fitted_on_ == len(ROWS)

    def test_what_is_tried_is_drawn(self, monkeypatch):
        self.clock(monkeypatch, 1.0)
        drawn = set()
        for seed in range(12):
            search = RecommenderSearch(
                Constant(), self.GRID, cv=3, refit=False, time_limit=1, random_state=seed
            )
            drawn.add(search.fit(ratings()).best_params_["number"])
        assert len(drawn) > 3

    def test_wrong_parameters_are_refused_before_any_fit(self, monkeypatch):
        now = self.clock(monkeypatch, 1.0)
        grid = {"n_neighbors": [3, 0]}
        with pytest.raises(ValueError, match=r"param_grid: .*n_neighbors must be"):
            RecommenderSearch(ItemKNN(), grid, time_limit=1).fit(ratings())
        with pytest.raises(ValueError, match="time_limit must be"):
            RecommenderSearch(Constant(), self.GRID, time_limit=0).fit(ratings())
        assert now == [0.0]
