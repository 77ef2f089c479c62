import numpy as np
import pytest

from edgewise.recommend.boosted.levels import MAX_LEVELS, levels_of


def test_ordered_columns_ask_whether_a_rating_is_above_each_level():
    levels = levels_of(np.array([1.0, 2.0, 4.0, 4.0]), "ordered", None)
    assert levels.values.tolist() == [1, 2, 4]
    assert levels.labels().tolist() == [[-1, -1], [1, -1], [1, 1]]
    assert levels.gaps().tolist() == [1, 2]


def test_the_expected_rating_adds_up_chances():
    levels = levels_of(np.array([1.0, 2.0, 4.0]), "ordered", None)
    scores = np.log(np.array([[0.8 / 0.2, 0.25 / 0.75]]))
    assert levels.mean(scores) == pytest.approx(1 + 0.8 + 2 * 0.25)
    # With the exponential loss a score is half of the log odds.
    exponential = levels_of(np.array([1.0, 2.0, 4.0]), "ordered", None, logistic=False)
    assert exponential.mean(scores / 2) == pytest.approx(1 + 0.8 + 2 * 0.25)


def test_the_median_and_the_likeliest_level_can_differ():
    levels = levels_of(np.array([1.0, 2.0, 3.0]), "ordered", None)
    # Chances of 0.4, 0.2 and 0.4.
    scores = np.log(np.array([[0.6 / 0.4, 0.4 / 0.6]]))
    assert levels.median(scores).tolist() == [2]
    assert levels.mode(scores + np.array([0.0, 0.1])).tolist() == [3]


def test_one_hot_columns_ask_for_each_level():
    levels = levels_of(np.array([1.0, 2.0, 5.0]), "one_hot", None)
    assert levels.labels().tolist() == [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    assert levels.mean(np.array([[-50.0, 0.0, 0.0]])) == pytest.approx(3.5)
    assert levels.median(np.array([[-1.0, 0.0, 2.0]])).tolist() == [5]


def test_a_binary_target_is_above_the_threshold_or_the_mean():
    ratings = np.array([1.0, 2.0, 3.0, 5.0])
    assert levels_of(ratings, "binary", 2.0).codes(ratings).tolist() == [0, 0, 1, 1]
    levels = levels_of(ratings, "binary", None)
    assert levels.starts.tolist() == [3]
    assert levels.values.tolist() == [1.5, 4]


def test_many_different_ratings_share_levels():
    ratings = np.random.default_rng(0).random(1000)
    levels = levels_of(ratings, "ordered", None)
    sizes = np.bincount(levels.codes(ratings))
    assert len(levels.values) == MAX_LEVELS
    assert sizes.min() == sizes.max() == 50
    assert levels.values[0] == pytest.approx(np.sort(ratings)[:50].mean())
