"""Haar filters: which there are, what they respond, and that a cut of codes is a cut of values."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.data import MAX_BINS, NumericColumn
from edgewise.data.filters import _BLOCK, KINDS, HaarFilter, HaarFilters, Images, even_bins

from ..helpers import FIELDS

SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 7)).filter(lambda shape: max(shape) > 1)


def brute_filters(shape, smallest):
    """Every rectangle of the image that divides evenly into the fields of a kind."""
    rows, columns = shape
    for kind, fields in FIELDS.items():
        down, across = len(fields), len(fields[0])
        for top, bottom in product(range(rows), range(1, rows + 1)):
            for left, right in product(range(columns), range(1, columns + 1)):
                height, width = (bottom - top) / down, (right - left) / across
                if min(height, width) >= smallest and height % 1 == width % 1 == 0:
                    yield HaarFilter(kind, top, left, int(height), int(width))


def brute_response(pixels, one):
    """Sum up the pixels of every field, one by one."""
    total = 0
    for (y, row), (dy, dx) in product(
        enumerate(FIELDS[one.kind]), product(range(one.height), range(one.width))
    ):
        for x, weight in enumerate(row):
            total += (
                weight * pixels[one.top + y * one.height + dy, one.left + x * one.width + dx].item()
            )
    return total


def responses_are_sums_of_pixels(X, shape, equal):
    filters = HaarFilters(shape)
    images = Images(X, filters)
    for j in range(len(filters)):
        sums = [brute_response(x.reshape(shape), filters[j]) for x in X]
        assert equal(images.responses(j), sums), filters.name(j)


# Which filters there are


@pytest.mark.parametrize("smallest", [1, 2, 3])
@pytest.mark.parametrize("shape", [(5, 6), (6, 5), (4, 4), (9, 7), (1, 8), (8, 1), (2, 3)])
def test_the_filters_are_all_that_fit_each_once(shape, smallest):
    expected = list(brute_filters(shape, smallest))
    if not expected:
        with pytest.raises(ValueError, match="no Haar filter"):
            HaarFilters(shape, smallest)
        return
    filters = HaarFilters(shape, smallest)
    listed = list(filters)
    assert len(filters) == len(listed) == len(expected)
    assert set(listed) == set(expected)


def test_the_count_of_filters_on_24_x_24_pixels_is_the_textbooks():
    # Viola and Jones' detector window: 43,200 + 43,200 + 27,600 + 27,600 + 20,736.
    filters = HaarFilters((24, 24))
    assert len(filters) == 162_336
    ends = np.cumsum([43_200, 43_200, 27_600, 27_600, 20_736])
    assert [filters[end - 1].kind for end in ends] == list(KINDS)


def test_equal_filters_have_equal_numbers_and_types():
    first, second = HaarFilters((28, 28), 2), HaarFilters([28, 28], np.int64(2))
    assert first == second
    assert hash(first) == hash(second)
    numbers = np.random.default_rng(0).integers(0, len(first), 50)
    assert [first[j] for j in numbers] == [second[int(j)] for j in numbers]
    assert all(type(part) is int for part in first[numbers[0]][1:])


def test_names_tell_every_filter_apart_and_say_which_pixels_it_covers():
    filters = HaarFilters((5, 6))
    assert len({filters.name(j) for j in range(len(filters))}) == len(filters)
    numbers = {item: j for j, item in enumerate(filters)}
    names = {
        HaarFilter("two stripes across", 3, 0, 2, 3): "two stripes across at rows 3-4, columns 0-5",
        HaarFilter("three stripes down", 1, 4, 1, 1): "three stripes down at rows 1-3, column 4",
        HaarFilter("two stripes across", 4, 2, 1, 1): "two stripes across at row 4, columns 2-3",
        HaarFilter("checkerboard", 0, 1, 2, 2): "checkerboard at rows 0-3, columns 1-4",
    }
    for item, name in names.items():
        assert filters.name(numbers[item]) == name


def test_numbers_out_of_range_are_index_errors():
    filters = HaarFilters((4, 3))
    for number in (-1, len(filters), 10**9):
        with pytest.raises(IndexError, match=f"from 0 to {len(filters) - 1}"):
            filters[number]


@pytest.mark.parametrize(
    "shape", [(28,), (28, 28, 3), 28, (0, 5), (5, -1), (2.5, 2), ("a", "b"), None, (True, 8)]
)
def test_a_bad_shape_is_named(shape):
    with pytest.raises(ValueError, match="shape must be"):
        HaarFilters(shape)


def test_a_bad_smallest_is_named():
    with pytest.raises(ValueError, match="smallest"):
        HaarFilters((5, 6), 0)
    with pytest.raises(TypeError, match="smallest"):
        HaarFilters((5, 6), 1.5)
    with pytest.raises(ValueError, match=r"shape=\(1, 1\)"):
        HaarFilters((1, 1))


# What they respond


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.uint32, np.bool_, ">i2"]
)
def test_responses_to_whole_pixels_are_exactly_the_sums_of_pixels(dtype):
    limits = (0, 1) if np.dtype(dtype).kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    rng = np.random.default_rng(1)
    X = rng.integers(limits[0], limits[1], (4, 30), endpoint=True).astype(dtype)
    X[0] = limits[1]
    X[1] = np.where(np.arange(30) % 2, *limits)
    responses_are_sums_of_pixels(X, (5, 6), lambda got, sums: got.tolist() == sums)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_responses_to_real_pixels_are_the_sums_of_pixels(dtype):
    X = np.random.default_rng(2).normal(size=(4, 30)).astype(dtype)
    responses_are_sums_of_pixels(X, (5, 6), lambda got, sums: np.allclose(got, sums, atol=1e-10))


def test_responses_to_integers_past_the_exact_ones_are_close():
    X = np.random.default_rng(3).integers(0, 2**64, (4, 30), dtype=np.uint64)
    responses_are_sums_of_pixels(
        X, (5, 6), lambda got, sums: np.allclose(got, np.array(sums, float), rtol=0, atol=2e9)
    )


@pytest.mark.parametrize("order", ["C", "F"])
def test_more_images_than_a_block_and_any_memory_order(order):
    shape = (2, 3)
    rng = np.random.default_rng(4)
    X = np.array(rng.integers(0, 256, (_BLOCK + 100, 6), dtype=np.uint8), order=order)
    images = Images(X, HaarFilters(shape))
    for j, item in enumerate(images.filters):
        weight = np.zeros(shape, dtype=int)
        for y, x in np.ndindex(*shape):
            weight[y, x] = brute_response(np.eye(6, dtype=int)[3 * y + x].reshape(shape), item)
        assert np.array_equal(images.responses(j), X @ weight.ravel())


@given(SHAPES, st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e9, 1e9)))
@settings(max_examples=40, deadline=None)
def test_an_image_of_one_color_responds_with_0_everywhere(shape, color):
    images = Images(np.full((1, math.prod(shape)), color), HaarFilters(shape))
    assert all(images.responses(j)[0] == 0 for j in range(len(images.filters)))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_an_empty_corner_of_a_real_image_responds_with_0(data):
    # Plain sums would leave rounding errors there, and bins would be made of them.
    pixels = np.zeros((4, 6))
    pixels[:, :3] = np.reshape(
        data.draw(st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=12)), (4, 3)
    )
    images = Images(pixels.reshape(1, -1), HaarFilters((4, 6)))
    for j, item in enumerate(images.filters):
        if item.left >= 3:
            assert images.responses(j)[0] == 0


@given(st.lists(st.floats(-1e150, 1e150), min_size=12, max_size=12))
@settings(max_examples=40, deadline=None)
def test_an_image_has_the_same_responses_whatever_stands_beside_it(pixels):
    filters = HaarFilters((2, 3))
    both, single = Images(np.reshape(pixels, (2, 6)), filters), Images([pixels[6:]], filters)
    for j in range(len(filters)):
        assert both.responses(j)[1] == single.responses(j)[0]


def test_whole_numbers_respond_the_same_in_every_type():
    X = np.random.default_rng(5).integers(0, 256, (20, 30))
    filters = HaarFilters((5, 6))
    typed = [Images(X.astype(dtype), filters) for dtype in (np.uint8, np.int64, np.float32, float)]
    for j in range(len(filters)):
        first, *others = (images.responses(j) for images in typed)
        assert first.dtype == np.float64
        assert all(np.array_equal(first, other) for other in others)


def test_asking_does_not_change_the_images_or_the_pixels():
    X = np.random.default_rng(6).normal(size=(5, 30))
    before = X.copy()
    images = Images(X, HaarFilters((5, 6)))
    sums = images.integral.copy()
    once, _ = images.responses(7), images.encode(range(10), 16)
    assert np.array_equal(images.responses(7), once)
    assert np.array_equal(images.integral, sums)
    assert np.array_equal(X, before)


# Bins


VALUES = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30).map(np.array),
    st.lists(
        st.floats(-1e100, 1e100).map(lambda v: 0.0 if abs(v) < 1e-100 else v),
        min_size=1,
        max_size=30,
    ).map(np.array),
)


@given(VALUES, st.integers(2, 400))
def test_the_grid_is_the_finest_of_at_most_so_many_bins(values, max_bins):
    exponent, first, n_bins = even_bins(values, max_bins)
    width = math.ldexp(1.0, exponent)
    low, high = values.min().item(), values.max().item()

    def count(width):
        return math.floor(high / width) - math.floor(low / width) + 1

    assert math.floor(low / width) == first
    assert count(width) == n_bins <= max_bins
    narrowest = (
        1 if values.dtype.kind == "i" else math.ldexp(1, math.frexp(max(-low, high))[1]) / 2**53
    )
    assert width >= narrowest
    if low < high and width > narrowest:
        assert count(width / 2) > max_bins


@given(VALUES, st.integers(2, 400))
def test_a_cut_of_the_grid_is_a_cut_of_the_values(values, max_bins):
    exponent, first, _ = even_bins(values, max_bins)
    width = math.ldexp(1.0, exponent)
    codes = np.floor(values / width) - first
    for c in np.unique(codes):
        assert np.array_equal(codes >= c, values >= (first + int(c)) * width)


def codes_are_those_of_the_bins(X, shape, max_bins):
    images = Images(X, HaarFilters(shape))
    numbers = np.arange(len(images.filters))
    bins, codes = images.encode(numbers, max_bins)
    assert codes.shape == (len(images.filters), len(X))
    assert codes.dtype == (np.uint8 if max_bins <= 256 else np.uint16)
    for j, (item, row) in enumerate(zip(bins, codes, strict=True)):
        responses = images.responses(j)
        assert item.name == images.filters.name(j)
        assert item.n_codes <= max_bins
        assert not item.has_missing
        assert (np.diff(item.thresholds) > 0).all()
        assert np.array_equal(item.encode(NumericColumn(responses)), row)
        assert row.min() == 0
        assert row.max() == len(item.thresholds)
        # The cuts on either side of every code that occurs; the others repeat one of them.
        cuts = np.unique([row.astype(int), row.astype(int) + 1])
        for c in cuts[(cuts >= 1) & (cuts <= len(item.thresholds))]:
            assert np.array_equal(row >= c, responses >= item.thresholds[c - 1])


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255, 256, 257, 1_000, MAX_BINS])
@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "int64", "float"])
def test_codes_of_images_are_those_of_their_bins(kind, max_bins):
    rng = np.random.default_rng(7)
    if kind == "float":
        X = rng.normal(size=(12, 6))
    else:
        # 2**40 is too large for 32 bits and small enough for exact sums.
        low, high = (
            (-(2**40), 2**40) if kind == "int64" else (np.iinfo(kind).min, np.iinfo(kind).max)
        )
        X = rng.integers(low, high, (12, 6), endpoint=True).astype(kind)
    codes_are_those_of_the_bins(X, (2, 3), max_bins)


@given(
    st.lists(
        st.lists(
            st.floats(allow_nan=False, min_value=-1e150, max_value=1e150), min_size=4, max_size=4
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([2, 5, 256, 300]),
)
@settings(max_examples=60, deadline=None)
def test_codes_of_real_images_of_any_size_are_those_of_their_bins(rows, max_bins):
    codes_are_those_of_the_bins(np.array(rows), (2, 2), max_bins)


def test_a_constant_response_has_one_bin():
    images = Images(np.full((5, 12), 0.1), HaarFilters((3, 4)))
    bins, codes = images.encode(range(len(images.filters)), 256)
    assert not codes.any()
    assert not any(item.can_split or len(item.thresholds) for item in bins)


def test_bins_of_whole_pixels_are_no_narrower_than_1():
    images = Images(np.array([[0, 0], [3, 0], [1, 0]], dtype=np.uint8), HaarFilters((1, 2)))
    bins, codes = images.encode([0], 256)
    assert bins[0].thresholds.tolist() == [1, 2, 3]
    assert codes.tolist() == [[0, 3, 1]]


def test_filters_are_coded_in_the_order_asked_for():
    images = Images(np.random.default_rng(8).normal(size=(9, 30)), HaarFilters((5, 6)))
    bins, codes = images.encode([20, 3, 20], 32)
    assert [item.name for item in bins] == [images.filters.name(j) for j in (20, 3, 20)]
    assert np.array_equal(codes[0], codes[2])
    assert images.encode([], 32)[1].shape == (0, 9)


# Errors


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_incomplete_images_are_named(bad):
    X = np.zeros((3, 4))
    X[1, 2] = bad
    with pytest.raises(ValueError, match="Haar filters need complete images: X has"):
        Images(X, HaarFilters((2, 2)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 5)), r"shape=\(2, 2\) is 2 x 2 = 4 pixels, but X has 5 columns"),
        (np.zeros((3, 2, 2)), "X must be a two-dimensional"),
        (np.array([["a", "b", "c", "d"]]), "X must be a two-dimensional array of numbers"),
        (np.zeros((0, 4)), "X has 0 sample"),
        (np.full((1, 4), 1e200), "X must have pixels below"),
    ],
)
def test_what_are_not_images_is_named(X, message):
    with pytest.raises(ValueError, match=message):
        Images(X, HaarFilters((2, 2)))


@pytest.mark.parametrize("max_bins", [1, 0, MAX_BINS + 1])
def test_a_bad_number_of_bins_is_named(max_bins):
    images = Images(np.zeros((1, 4)), HaarFilters((2, 2)))
    with pytest.raises(ValueError, match="max_bins"):
        images.encode([0], max_bins)


def test_a_filter_that_there_is_not_is_an_index_error():
    images = Images(np.zeros((1, 4)), HaarFilters((2, 2)))
    with pytest.raises(IndexError):
        images.responses(len(images.filters))
    with pytest.raises(IndexError):
        images.encode([len(images.filters)], 16)
