"""Measures on matrices small enough to work out by hand."""

import numpy as np
import pytest

from edgewise import Ratings, Recommender
from edgewise.recommend import evaluate

USERS, ITEMS = list("abcd"), list("wxyz")

# What is known in training (0: not rated), and what the model says of everything.
TRAIN = [
    [5, 1, 0, 0],
    [0, 4, 2, 0],
    [0, 0, 3, 1],
    [5, 0, 0, 2],
]
SAID = [
    [4.0, 2.0, 4.4, 1.6],
    [4.6, 4.0, 2.0, 3.0],
    [3.4, 4.2, 3.0, 6.0],
    [5.0, 3.5, 2.5, 2.0],
]
TEST = {"a": {"y": 4, "z": 2}, "b": {"w": 3, "z": 5}, "c": {"w": 4, "x": 4}, "d": {"x": 3, "y": 3}}


class Told(Recommender):
    """Returns given scores, a number for each user and item."""

    predicts = "rating"

    def __init__(self, table=None):
        self.table = table

    def _fit(self, ratings):
        self.said_ = np.array(self.table, dtype=float)

    def _pair_scores(self, users, items):
        return self.said_[users, items]


class Scored(Told):
    predicts = "score"


class Leveled(Told):
    """Has levels of its own."""

    predicts_levels = True

    def predict(self, users, items, unknown="raise", output="expected"):
        said = super().predict(users, items, unknown)
        return np.full(len(said), 3.0) if output == "level" else said


def training():
    return Ratings.from_matrix(TRAIN, USERS, ITEMS)


def held_out(table=TEST):
    return Ratings.from_dict(table)


def model(kind=Told, table=SAID):
    return kind(table).fit(training())


def test_errors_of_predicted_ratings():
    found = evaluate(model(), held_out(), ["rmse", "mae", "nmae", "one_zero", "mae_level"])
    # said: a 4.4 1.6, b 4.6 3.0, c 3.4 4.2, d 3.5 2.5; right: 4 2, 3 5, 4 4, 3 3.
    errors = np.array([0.4, 0.4, 1.6, 2.0, 0.6, 0.2, 0.5, 0.5])
    assert found["rmse"] == pytest.approx(np.sqrt((errors**2).mean()))
    assert found["mae"] == pytest.approx(errors.mean())
    assert found["nmae"] == pytest.approx(errors.mean() / 1.6)
    # Rounded, and up where it is halfway: 4 2, 5 3, 3 4, 4 3: wrong are b, b, c's w and d's x.
    assert found["one_zero"] == pytest.approx(4 / 8)
    assert found["mae_level"] == pytest.approx((2 + 2 + 1 + 1) / 8)


def test_the_best_of_level_and_expectation():
    names = [stem + end for stem in ("mae", "nmae", "one_zero") for end in ("", "_level", "_best")]
    for kind in (Told, Leveled):
        found = evaluate(model(kind), held_out(), names)
        for stem in ("mae", "nmae", "one_zero"):
            assert found[f"{stem}_best"] == min(found[stem], found[f"{stem}_level"])
    # All levels of the second are 3: its errors are 1 1, 0 2, 1 1, 0 0.
    assert found["mae_level"] == pytest.approx(6 / 8)
    assert found["one_zero_level"] == pytest.approx(5 / 8)


def test_predictions_are_cut_off_at_the_scale_but_orders_are_not():
    table = [[0, 0, 7, 6], [0] * 4, [0] * 4, [0] * 4]
    found = evaluate(model(table=table), held_out({"a": {"y": 5, "z": 4}}), ["mae", "disagreement"])
    assert found["mae"] == pytest.approx(0.5)  # both are predicted 5
    assert found["disagreement"] == 0.0


def test_the_order_of_test_items():
    found = evaluate(
        model(), held_out(), ["disagreement", "map_top", "prot", "precision_at_full_recall"]
    )
    # a is right; b is the wrong way round; c and d rated all the same and are left out.
    assert found["disagreement"] == pytest.approx(1 / 2)
    assert found["map_top"] == pytest.approx((1 + 1 / 2) / 2)
    assert found["prot"] == pytest.approx((1 + 1 / 2) / 2)
    assert found["precision_at_full_recall"] == pytest.approx((1 + 1 / 2) / 2)


def test_lists_out_of_the_catalog():
    names = ["ndcg", "precision", "recall", "map", "auc"]
    found = evaluate(model(), held_out(), names, k=1)
    # Lists: a y z, b w z, c x w, d x y; relevant (4 and more): a y, b z, c w x, d none.
    assert found["precision@1"] == pytest.approx((1 + 0 + 1) / 3)
    assert found["recall@1"] == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert found["ndcg@1"] == pytest.approx((1 + 0 + 1) / 3)
    assert found["map"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    # c has nothing but relevant items, and so no pair.
    assert found["auc"] == pytest.approx((1 + 0) / 2)
    found = evaluate(model(), held_out(), ["ndcg@2", "precision", "recall"], k=2)
    assert found["ndcg@2"] == pytest.approx((1 + 1 / np.log2(3) + 1) / 3)
    assert found["precision@2"] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert found["recall@2"] == 1.0


def test_beyond_being_right():
    names = ["catalog_coverage", "novelty", "diversity"]
    found = evaluate(model(), held_out(), names, k=1)
    # The lists of one are y, w, x, x: three of four items.
    assert found["catalog_coverage@1"] == 3 / 4
    # All items were rated by two of the four users.
    assert found["novelty@1"] == pytest.approx(1.0)
    assert np.isnan(found["diversity@1"])
    found = evaluate(model(), held_out(), names, k=2)
    columns = np.array(TRAIN, dtype=float)
    units = columns / np.linalg.norm(columns, axis=0)
    pairs = [(2, 3), (0, 3), (0, 1), (1, 2)]
    expected = np.mean([1 - units[:, i] @ units[:, j] for i, j in pairs])
    assert found["diversity@2"] == pytest.approx(expected)


def test_what_is_relevant():
    one = {"a": {"y": 4, "z": 2}}
    assert evaluate(model(), held_out(one), "recall", k=1, relevant=2)["recall@1"] == 1 / 2
    assert evaluate(model(), held_out(one), "recall", k=1, relevant=4)["recall@1"] == 1.0
    # The upper quarter of 1 to 5 begins at 4.
    assert evaluate(model(), held_out({"a": {"y": 3}, "b": {"z": 4}}), "map")["map"] == 1 / 2
    # Where all ratings are the same, all are relevant.
    choices = Ratings.from_arrays(["a", "b"], ["x", "y"])
    scored = Scored([[2.0, 1.0], [1.0, 2.0]]).fit(choices)
    hidden = Ratings.from_arrays(["a", "b"], ["y", "x"])
    assert evaluate(scored, hidden, "precision", k=1)["precision@1"] == 1.0


def test_ties_count_by_expectation():
    table = [[0, 0, 3.0, 3.0]] + [[0] * 4] * 3
    found = evaluate(model(table=table), held_out({"a": {"y": 5}}), ["ndcg", "map", "auc"], k=1)
    assert found == {"ndcg@1": 0.5, "map": 0.75, "auc": 0.5}


def test_relevant_items_that_training_does_not_know_are_missed():
    test = {"a": {"y": 5, "new": 5}}
    found = evaluate(model(), held_out(test), ["recall", "map", "ndcg", "precision"], k=2)
    assert found["recall@2"] == 1 / 2
    assert found["map"] == pytest.approx(1 / 2)
    assert found["ndcg@2"] == pytest.approx(1 / (1 + 1 / np.log2(3)))
    left_out = evaluate(model(), held_out(test), ["recall", "rmse"], k=2, unknown="nan")
    assert left_out["recall@2"] == 1.0
    assert left_out["rmse"] == pytest.approx(0.6)
    with pytest.raises(ValueError, match=r"items.* 'new'"):
        evaluate(model(), held_out(test), "recall", unknown="raise")


def test_unknown_users_get_the_popular_items():
    # Sums above 1 for w x y z: 8, 3, 3, 1.
    test = held_out({"new": {"w": 5, "x": 2}, "newer": {"x": 4}})
    found = evaluate(model(), test, ["recall", "rmse"], k=1)
    assert found["recall@1"] == 1 / 2
    # Items are predicted their means with three ratings of 23 / 8 added: 3.725 and 2.725.
    assert found["rmse"] == pytest.approx(np.sqrt((1.275**2 + 0.725**2 + 1.275**2) / 3))
    assert np.isnan(evaluate(model(), test, "recall", unknown="nan")["recall@10"])


def test_pairs_of_training_are_on_no_list():
    found = evaluate(
        model(), held_out({"a": {"w": 5, "y": 5}}), ["recall", "auc", "precision"], k=1
    )
    assert found == {"recall@1": 1.0, "auc": 1.0, "precision@1": 1.0}


def test_models_that_only_score_have_no_errors():
    found = evaluate(model(Scored), held_out())
    for name in ("rmse", "mae", "mae_best", "nmae_level", "one_zero"):
        assert np.isnan(found[name])
    ours = evaluate(model(), held_out())
    for name in ("disagreement", "map", "ndcg@10", "diversity@10"):
        assert found[name] == ours[name]


def test_weights_count_in_errors():
    test = Ratings.from_arrays(["a", "a"], ["y", "z"], [4, 2], weights=[3, 1])
    table = [[0, 0, 4, 4]] + [[0] * 4] * 3
    assert evaluate(model(table=table), test, "mae")["mae"] == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": "speed"}, "unknown metrics: 'speed'"),
        ({"metrics": ["rmse@3"]}, "unknown metrics"),
        ({"metrics": ["ndcg@0"]}, "unknown metrics"),
        ({"metrics": []}, "at least one"),
        ({"metrics": 3}, "metrics must be names"),
        ({"k": 0}, "k must be"),
        ({"relevant": "all"}, "relevant must be"),
        ({"unknown": "skip"}, "unknown must be one of"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(model(), held_out(), **arguments)


def test_only_models_and_ratings_are_taken():
    with pytest.raises(TypeError, match="model must be a recommender, got str"):
        evaluate("bias", held_out())
    with pytest.raises(TypeError, match="test must be Ratings, got dict"):
        evaluate(model(), TEST)
    with pytest.raises(ValueError, match="at least one rating"):
        evaluate(model(), training().take(np.zeros(8, dtype=bool)))
    with pytest.raises(TypeError, match="must be strings"):
        evaluate(model(), Ratings.from_arrays([1], [2], [3.0]))


def test_names_are_those_of_the_registry():
    fitted, test = model(), held_out()
    values = evaluate(fitted, test, ["map@1", "mrr@1", "NDCG@2", "P@2", "AP"], relevant=4)
    same = evaluate(fitted, test, ["precision@2", "map", "hit_rate@1"], relevant=4)
    assert list(values) == ["map@1", "mrr@1", "ndcg@2", "P@2", "AP"]
    assert (values["P@2"], values["AP"]) == (same["precision@2"], same["map"])
    assert values["mrr@1"] == same["hit_rate@1"]
    with pytest.raises(ValueError, match="relevant"):
        evaluate(fitted, test, "map(rel=2)")
