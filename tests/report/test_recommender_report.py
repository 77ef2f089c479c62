"""The numbers on the page of a recommender are those of the library's own functions."""

from dataclasses import replace

import numpy as np
import pytest

from edgewise import ItemKNN, MatrixFactorization, Popularity
from edgewise.metrics import mae, rmse
from edgewise.recommend import evaluate, exposure

from .conftest import NASTY
from .test_classifier_report import block, ids, tiles


def test_the_page_has_every_section_that_the_model_has_data_for(ratings_page, stars):
    after = ["errors", "calibration", "map", "exposure", "lists", "cases"]
    assert ids(ratings_page) == ["overview", "data", *after]
    factors = MatrixFactorization(n_factors=2, n_epochs=3, random_state=0).fit(stars.train)
    page = factors.report(stars.test)
    assert ids(page) == ["overview", "data", "training", *after]
    losses = block(page, "training", "chart")["series"][0]["y"]
    assert losses == pytest.approx(factors.loss_history_.tolist(), rel=1e-4)


def test_headline_figures_are_those_of_evaluate(recommender, stars, ratings_page):
    expected, shown = evaluate(recommender, stars.test), tiles(ratings_page)
    assert shown["RMSE"] == f"{expected['rmse']:.4f}"
    assert shown["NDCG@10"] == f"{expected['ndcg@10']:.4f}"
    assert shown["Wrong levels"] == f"{expected['one_zero_best']:.1%}"


def test_errors_by_level_are_the_metrics(recommender, stars, ratings_page):
    test = stars.test
    predictions = recommender.predict(
        test.user_ids.values[test.users], test.item_ids.values[test.items], unknown="mean"
    )
    for item in block(ratings_page, "errors", "bars")["items"]:
        level = test.values == float(item["name"].removeprefix("rated "))
        assert item["value"] == pytest.approx(mae(test.values[level], predictions[level]))
    counts = np.array(block(ratings_page, "errors", "matrix")["counts"])
    assert counts.sum() == len(test)
    assert rmse(test.values, predictions) > 0


def test_lists_are_those_of_recommend_and_reasons_add_up(recommender, ratings_page):
    first = block(ratings_page, "lists", "choice")["options"][0]
    user = int(first["name"].split()[0])
    listed = recommender.recommend(user)
    cases = first["blocks"][1]["items"]
    names = {7: NASTY, 8: "Heat"}
    assert [case["title"] for case in cases] == [
        f"{k + 1}. {names.get(item, item)}" for k, item in enumerate(listed.ids.tolist())
    ]
    for case, score in zip(cases, listed.scores, strict=True):
        assert sum(part["amount"] for part in case["contributions"]) == pytest.approx(score)


def test_intervals_are_those_over_users(recommender, stars, ratings_page):
    each = evaluate(recommender, stars.test, ["mae", "recall"], per_user=True)
    shown = {
        item["name"]: item["detail"] for item in block(ratings_page, "overview", "tiles")["items"]
    }
    for name, words in (("mae", "MAE"), ("recall@10", "Recall@10")):
        _, low, high = each.interval(name)
        assert shown[words] == f"95% interval {low:.3f} to {high:.3f}, over users"


def test_sessions_of_a_user(stars):
    begin = 900_000_000.0  # in July 1998
    times = begin + np.arange(len(stars.train)) * 700.0
    later = begin + 1e7 + np.arange(len(stars.test)) * 4000.0
    train, test = replace(stars.train, times=times), replace(stars.test, times=later)
    model = ItemKNN().fit(train)
    page = model.report(test)
    first = block(page, "lists", "choice")["options"][0]
    user = int(first["name"].split()[0])
    tables = [entry for entry in first["blocks"] if entry["kind"] == "table"]
    mine = train.users == user
    before, after = tables
    assert before["columns"] == ["session", "item", "rating"]
    # Sorted by user, the training ratings of one are 700 seconds apart: one session.
    assert [row[0] for row in before["rows"]][1:] == [""] * (len(before["rows"]) - 1)
    assert before["rows"][0][0].startswith("1998-07-")
    assert [row[1] for row in before["rows"]] == [str(i) for i in train.items[mine]][-20:]
    # Those of the test are more than an hour apart: a session each.
    tested = test.users == user
    assert all(row[0].startswith("1998-") for row in after["rows"])
    assert [row[1] for row in after["rows"]] == [str(item) for item in test.items[tested]]
    listed = model.recommend(user, n=100).ids.tolist()
    place = listed.index(int(after["rows"][0][1])) + 1
    assert after["rows"][0][-1] == f"{place} of {len(listed)}"


def test_exposure_is_that_of_the_library(recommender, stars, ratings_page):
    users = np.unique(stars.test.user_ids.values[stars.test.users])
    result = exposure(recommender, users=users)
    shown = block(ratings_page, "exposure", "side_by_side")["blocks"]
    assert [item["value"] for item in shown[-1]["items"]] == pytest.approx(result.lists.tolist())


def test_ratings_of_training_are_noticed(recommender, stars):
    notes = [b.get("text", "") for b in recommender.report(stars.train).section("overview").blocks]
    assert any(note.startswith("100.0%") for note in notes)


def test_a_model_that_only_orders_items_has_lists_but_no_errors(stars):
    page = Popularity().fit(stars.train).report(stars.test)
    assert ids(page) == ["overview", "data", "map", "exposure", "lists"]
    assert block(page, "lists", "table")["rows"]


def test_ratings_must_be_ratings(recommender):
    with pytest.raises(TypeError, match="ratings must be Ratings, got list"):
        recommender.report([1, 2])
