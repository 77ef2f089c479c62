"""The numbers on the page of a recommender are those of the library's own functions."""

import numpy as np
import pytest

from edgewise import MatrixFactorization, Popularity
from edgewise.metrics import mae, rmse
from edgewise.recommend import evaluate

from .conftest import NASTY
from .test_classifier_report import block, ids, tiles


def test_the_page_has_every_section_that_the_model_has_data_for(ratings_page, stars):
    after = ["errors", "calibration", "map", "lists", "cases"]
    assert ids(ratings_page) == ["overview", "data", *after]
    factors = MatrixFactorization(n_factors=2, n_epochs=3, random_state=0).fit(stars.train)
    page = factors.report(stars.test)
    assert ids(page) == ["overview", "data", "training", *after]
    losses = block(page, "training", "chart")["series"][0]["y"]
    assert losses == pytest.approx(factors.loss_history_.tolist(), rel=1e-4)


def test_headline_figures_are_those_of_evaluate(recommender, stars, ratings_page):
    expected, shown = evaluate(recommender, stars.test), tiles(ratings_page)
    assert shown["RMSE"] == f"{expected['rmse']:.4f}"
    assert shown["NDCG at 10"] == f"{expected['ndcg@10']:.4f}"
    assert shown["Wrong levels"] == f"{expected['one_zero_best']:.1%}"


def test_errors_by_level_are_the_metrics(recommender, stars, ratings_page):
    test = stars.test
    predictions = recommender.predict(
        test.user_ids.values[test.users], test.item_ids.values[test.items], unknown="mean"
    )
    for one in block(ratings_page, "errors", "bars")["items"]:
        level = test.values == float(one["name"].removeprefix("rated "))
        assert one["value"] == pytest.approx(mae(test.values[level], predictions[level]))
    counts = np.array(block(ratings_page, "errors", "matrix")["counts"])
    assert counts.sum() == len(test)
    assert rmse(test.values, predictions) > 0


def test_lists_are_those_of_recommend_and_reasons_add_up(recommender, ratings_page):
    first = block(ratings_page, "lists", "choice")["options"][0]
    user = int(first["name"].split()[0])
    listed = recommender.recommend(user)
    cases = first["blocks"][1]["items"]
    named = {7: NASTY, 8: "Heat"}
    assert [one["title"] for one in cases] == [
        f"{k + 1}. {named.get(item, item)}" for k, item in enumerate(listed.ids.tolist())
    ]
    for one, score in zip(cases, listed.scores, strict=True):
        assert sum(part["amount"] for part in one["parts"]) == pytest.approx(score)


def test_ratings_of_training_are_noticed(recommender, stars):
    notes = [b.get("text", "") for b in recommender.report(stars.train).section("overview").blocks]
    assert any(note.startswith("100.0% of these ratings were in training") for note in notes)


def test_a_model_that_only_orders_items_has_lists_but_no_errors(stars):
    page = Popularity().fit(stars.train).report(stars.test)
    assert ids(page) == ["overview", "data", "map", "lists"]
    assert block(page, "lists", "table")["rows"]


def test_ratings_must_be_ratings(recommender):
    with pytest.raises(TypeError, match="ratings must be Ratings, got list"):
        recommender.report([1, 2])
