"""RMSE, MAE, NMAE and one-zero error: by hand, by their definitions, and beside scikit-learn."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from edgewise.metrics import mae, nearest_level, nmae, one_zero_error, rmse
from edgewise.metrics.registry import larger_is_better

STARS = [1, 2, 3, 4, 5]
ON_SCALE = (nmae, one_zero_error)


def problem(seed, n=30, levels=STARS):
    rng = np.random.default_rng(seed)
    y = rng.choice(levels, n)
    return y, y + rng.normal(size=n), rng.integers(0, 4, n) + (np.arange(n) == 0)


@given(st.integers(0, 2**32 - 1))
def test_those_of_scikit_learn(seed):
    y, guess, weights = problem(seed)
    assert mae(y, guess) == pytest.approx(sklearn.metrics.mean_absolute_error(y, guess))
    assert rmse(y, guess) == pytest.approx(sklearn.metrics.root_mean_squared_error(y, guess))
    assert mae(y, guess, sample_weight=weights) == pytest.approx(
        sklearn.metrics.mean_absolute_error(y, guess, sample_weight=weights)
    )
    assert rmse(y, guess, sample_weight=weights) == pytest.approx(
        sklearn.metrics.root_mean_squared_error(y, guess, sample_weight=weights)
    )
    level = nearest_level(guess, STARS)
    assert one_zero_error(y, guess, levels=STARS, sample_weight=weights) == pytest.approx(
        1 - sklearn.metrics.accuracy_score(y, level.astype(int), sample_weight=weights)
    )


def test_four_ratings_by_hand():
    y, guess = [5, 3, 4, 1], [3.0, 3.4, 4.5, 1.0]
    assert mae(y, guess) == pytest.approx((2 + 0.4 + 0.5 + 0) / 4)
    assert rmse(y, guess) == pytest.approx(((4 + 0.16 + 0.25) / 4) ** 0.5)
    assert nmae(y, guess, levels=STARS) == pytest.approx((2 + 0.4 + 0.5) / 4 / 1.6)
    # 3 is not 5, and 4.5 rounds to 5
    assert one_zero_error(y, guess, levels=STARS) == 0.5
    assert one_zero_error(y, guess, levels=STARS, sample_weight=[3, 1, 0, 0]) == 0.75


def test_many_levels_take_no_matrix_of_all_pairs():
    n = 1_000_000
    levels = np.arange(1.0, n + 1.0)
    assert 1 / nmae([2], [1], levels=levels) == pytest.approx((n**2 - 1) / (3 * n))


@pytest.mark.parametrize("k", range(2, 12))
def test_the_normalizer_is_the_error_of_blind_guesses(k):
    levels = range(1, k + 1)
    pairs = [Fraction(abs(a - b)) for a, b in itertools.product(levels, levels)]
    expected = sum(pairs) / len(pairs)
    assert expected == Fraction(k * k - 1, 3 * k)
    # one prediction that is off by 1
    assert 1 / nmae([2], [1], levels=levels) == pytest.approx(float(expected))


def test_the_normalizers_of_the_papers():
    assert 1 / nmae([2], [1], levels=range(1, 6)) == pytest.approx(1.6)
    assert 1 / nmae([2], [1], levels=range(6)) == pytest.approx(35 / 18)


def test_all_blind_guesses_have_an_error_of_one():
    y, guess = np.array(list(itertools.product(STARS, STARS))).T
    assert nmae(y, guess, levels=STARS) == pytest.approx(1.0)
    assert one_zero_error(y, guess, levels=STARS) == pytest.approx(0.8)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10), st.integers(-5, 5))
def test_the_scale_does_not_matter_once_normalized(seed, size, shift):
    y, guess, _ = problem(seed)
    levels = np.array(STARS) * size + shift
    moved = nmae(levels[y - 1], guess * size + shift, levels=levels)
    assert moved == pytest.approx(nmae(y, guess, levels=STARS))


def test_levels_that_are_not_evenly_spaced():
    # 0, 1 and 4: |differences| 1, 4, 3, each twice of nine
    assert nmae([4], [0], levels=[4, 0, 1]) == pytest.approx(4 / (16 / 9))
    np.testing.assert_array_equal(
        nearest_level([-9, 0.4, 0.5, 2.4, 2.5, 9], [4, 0, 1]), [0, 0, 1, 1, 4, 4]
    )


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.sets(st.integers(-9, 9), min_size=2)
)
def test_no_level_is_nearer(guesses, levels):
    result = nearest_level(guesses, sorted(levels))
    distances = np.abs(np.subtract.outer(guesses, sorted(levels)))
    np.testing.assert_allclose(np.abs(result - guesses), distances.min(axis=1))


def test_weights_count_as_repetitions():
    y, guess, weights = problem(3)
    again = np.repeat(np.arange(len(y)), weights)
    for metric in (rmse, mae):
        weighted = metric(y, guess, sample_weight=weights)
        assert weighted == pytest.approx(metric(y[again], guess[again]))
    for metric in ON_SCALE:
        weighted = metric(y, guess, levels=STARS, sample_weight=weights)
        assert weighted == pytest.approx(metric(y[again], guess[again], levels=STARS))


def test_lower_is_better():
    assert not any(larger_is_better(m) for m in (rmse, mae, *ON_SCALE))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": []}, "y must hold at least one number"),
        ({"y": ["a", "b"]}, "y must hold real numbers"),
        ({"y": [[1, 2]]}, "y must be 1-D"),
        ({"y": [1, np.nan]}, "y must hold finite numbers"),
        ({"predictions": [1.0]}, "predictions must have a value for each of the 2 ratings, got 1"),
        ({"predictions": [1.0, np.nan]}, "predictions must hold finite numbers, got NaN"),
        ({"sample_weight": [1.0]}, "sample_weight must have a value for each of the 2 ratings"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight must not be negative"),
        ({"sample_weight": [0, 0]}, "sample_weight must not be negative, nor 0 everywhere"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    arguments = {"y": [1, 2], "predictions": [1.5, 2.0], **arguments}
    for metric in (rmse, mae):
        with pytest.raises((TypeError, ValueError), match=message):
            metric(**arguments)
    for metric in ON_SCALE:
        with pytest.raises((TypeError, ValueError), match=message):
            metric(**arguments, levels=STARS)


@pytest.mark.parametrize("metric", ON_SCALE)
def test_wrong_levels_are_named(metric):
    with pytest.raises(ValueError, match=r"y must hold only the levels \[1.0, 2.0\], got 3.0"):
        metric([1, 3], [1, 2], levels=[1, 2])
    with pytest.raises(ValueError, match="levels must hold two or more different ratings"):
        metric([1, 1], [1, 2], levels=[1, 1])
    with pytest.raises(ValueError, match="levels must be 1-D"):
        metric([1, 1], [1, 2], levels=5)
