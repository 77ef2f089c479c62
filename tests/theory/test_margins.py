"""Margins: their range, their sign, and their distribution (Iyer 1999 section 3.4.2)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgewise.theory import margin_cdf, margin_distribution, margins

some_margins = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5))
def test_margins_of_a_vote_are_positive_where_it_is_right(boosted, seed, n_classes):
    run = boosted(seed, 20, 3, n_classes, 15)
    y = run.signs.argmax(axis=1)
    for scores, total in zip(run.scores, np.cumsum(run.alphas), strict=True):
        multiclass = margins(scores, y, total)
        best = scores == scores.max(axis=1, keepdims=True)
        wins = (best == (run.signs > 0)).all(axis=1)
        assert ((multiclass > 0) == wins).all()
        multilabel = margins(scores, run.signs, total)
        assert ((multilabel > 0) == (scores * run.signs > 0)).all()
        for result in (multiclass, multilabel):
            assert (np.abs(result) <= 1).all()


def test_one_round_gives_margins_of_one(boosted):
    run = boosted(seed=0, n=20, d=3, n_classes=1, rounds=1)
    result = margins(run.scores[0][:, 0], run.signs[:, 0], run.alphas[0])
    assert set(result.tolist()) == {-1.0, 1.0}
    assert (result > 0).mean() == pytest.approx((1 + run.edges[0]) / 2)


def test_two_columns_give_the_two_class_margin():
    f = np.array([0.9, -0.3, 0.0])
    signs = np.array([1, 1, -1])
    two_class = margins(f, signs, 1.5)
    multiclass = margins(np.column_stack([-f, f]), (signs > 0).astype(int), 1.5)
    np.testing.assert_allclose(two_class, [0.6, -0.2, 0.0])
    np.testing.assert_allclose(multiclass, two_class)


def test_multiclass_margin_by_hand():
    scores = [[2.0, -1.0, 1.0], [0.5, 0.5, -2.0], [-2.0, 2.0, 0.0]]
    np.testing.assert_allclose(margins(scores, [0, 1, 0], 2.0), [0.25, 0.0, -1.0])


def test_rounding_above_the_total_is_forgiven():
    assert margins([1.0 + 1e-12], [1], 1.0).tolist() == [1.0]


@given(values=some_margins, thetas=hnp.arrays(np.float64, 5, elements=st.floats(-1, 1)))
def test_cdf_counts_the_margins_at_or_below(values, thetas):
    expected = [(values <= theta).mean() for theta in thetas]
    np.testing.assert_allclose(margin_cdf(values, thetas), expected)
    assert margin_cdf(values, float(thetas[0])) == pytest.approx(expected[0])


@given(values=some_margins)
def test_distribution_is_the_cdf_at_the_sorted_margins(values):
    points, cumulative = margin_distribution(values)
    assert points.tolist() == sorted(values.tolist())
    np.testing.assert_array_equal(cumulative, margin_cdf(values, points))
    assert cumulative[-1] == 1.0


def test_cdf_keeps_the_shape_of_theta():
    values = np.array([[0.1, 0.2], [0.3, 0.4]])
    shares = margin_cdf(values, np.array([[0.1], [0.35]]))
    np.testing.assert_array_equal(shares, [[0.25], [0.75]])


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: margins([0.5], [0], 1.0), ValueError, "y must hold only"),
        (lambda: margins([0.5, 0.5], [1], 1.0), ValueError, "y must have the shape"),
        (lambda: margins([np.inf], [1], 1.0), ValueError, "scores"),
        (lambda: margins([2.0], [1], 1.0), ValueError, "total_vote"),
        (lambda: margins([0.0], [1], 0.0), ValueError, "total_vote"),
        (lambda: margins([[0.5, 0.1]], [2], 1.0), ValueError, "y must hold class indices"),
        (lambda: margins([[0.5, 0.1]], [-1], 1.0), ValueError, "y must hold class indices"),
        (lambda: margins([[0.5, 0.1]], [0.0], 1.0), TypeError, "y must hold integer"),
        (lambda: margins([[0.5, 0.1]], [0, 1], 1.0), ValueError, "y must have one class"),
        (lambda: margins([[0.5]], [0], 1.0), ValueError, "scores"),
        (lambda: margins([[0.5, 0.1]], [[1, 0]], 1.0), ValueError, "y must hold only"),
        (lambda: margin_cdf([], 0.0), ValueError, "margins"),
        (lambda: margin_cdf([0.1], np.nan), ValueError, "theta"),
        (lambda: margin_distribution([1.5]), ValueError, "margins"),
    ],
)
def test_bad_input_is_named(call, error, name):
    with pytest.raises(error, match=name):
        call()
