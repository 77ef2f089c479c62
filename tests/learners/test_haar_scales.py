"""Searches that learn which scales of Haar filters pay off."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import UCB, AdaBoostMH, Exhaustive, Exp3P, Haar, Product, ThompsonSampling, Tree
from edgewise.data import as_table, fit_encode
from edgewise.data.filters import HaarFilters
from edgewise.model import Cut

SHAPE = (4, 5)


def scale_of(one):
    return one.kind, one.height, one.width


def scale(filters, s):
    """Return the kind, height and width of scale number `s`."""
    return scale_of(filters[int(filters._scales.firsts[s])])


@pytest.fixture(scope="module")
def problem(random_small):
    """Random small images with random labels and weights."""
    images = np.random.default_rng(3).integers(8, size=(20, SHAPE[0] * SHAPE[1]))
    small = random_small(3, n=20, n_scores=2)
    table = as_table(images)
    binned = fit_encode(table, None, 256, filters=HaarFilters(SHAPE))
    return type(small)(table.values, (), binned, small.labels, small.weights)


# Scales of filters


@given(st.integers(1, 9), st.integers(2, 9), st.integers(1, 3))
def test_the_scales_are_all_that_filters_have_in_the_order_of_kind_height_and_width(
    rows, columns, smallest
):
    if columns < 2 * smallest or rows < smallest:
        return
    filters = HaarFilters((rows, columns), smallest)
    all_scales = list(dict.fromkeys(scale_of(filters[j]) for j in range(len(filters))))
    kinds = list(dict.fromkeys(kind for kind, _, _ in all_scales))
    ordered = sorted(all_scales, key=lambda scale: (kinds.index(scale[0]), *scale[1:]))
    assert [scale(filters, s) for s in range(filters.n_scales)] == ordered


@given(st.integers(0, 10**6))
def test_a_filter_is_drawn_of_each_scale(seed):
    filters = HaarFilters((7, 6))
    rng = np.random.default_rng(seed)
    scales = np.sort(rng.choice(filters.n_scales, size=20, replace=False))
    numbers = filters.draw(scales, rng)
    assert [scale_of(filters[j]) for j in numbers] == [scale(filters, s) for s in scales.tolist()]


def test_every_place_is_drawn_about_as_often_as_any_other():
    filters = HaarFilters((4, 5))
    s = [scale(filters, s) for s in range(filters.n_scales)].index(("checkerboard", 1, 2))
    drawn = filters.draw(np.full(6000, s), np.random.default_rng(0))
    positions = Counter((filters[j].top, filters[j].left) for j in drawn)
    assert set(positions) == {(top, left) for top in range(3) for left in range(2)}
    # Five standard deviations of 6,000 draws from six places.
    assert all(abs(count - 1000) < 150 for count in positions.values())


# Searches


def expected_shares(learner, problem, numbers):
    """Return the edges, as shares of the weight, of filters looked at one at a time."""
    ready = learner.ready(problem.binned, Exhaustive(), 0)
    round = problem.round()
    mass = int(round.problem.signed_masses.sum())
    edges = [int(ready._find_in(round, np.array([j]))[1][0]) for j in numbers]
    return np.maximum(edges, 0) / mass


def test_rewards_go_to_the_scales_whose_filters_were_looked_at(problem):
    learner, k = Haar(SHAPE), 7
    ready = learner.ready(problem.binned, UCB(k), 5)
    scales = HaarFilters(SHAPE)
    plain = UCB(k).start(np.arange(scales.n_scales), 5)
    for t in range(8):
        ready.begin(t)
        plain.begin(t)
        pulled = plain.pull()
        numbers = scales.draw(pulled, plain.rng_)
        best = ready.find(problem.round())
        rewards = plain.rewards(expected_shares(learner, problem, numbers))
        plain.update(pulled, rewards)
        assert best.rule is not None
        if best.rule.columns:
            assert best.rule.column - problem.binned.n_columns in numbers
        state = ready.search_.state(t + 1)
        assert all(np.array_equal(state[key], kept) for key, kept in plain.state(t + 1).items())
        assert ready.n_searched_ == k
        assert ready.n_offered_ == len(scales)


@pytest.mark.parametrize("policy", [UCB, Exp3P, ThompsonSampling])
@pytest.mark.parametrize(
    "learner", [Haar(SHAPE), Product(Haar(SHAPE), 2), Tree(Haar(SHAPE), 3)],
    ids=["alone", "product", "tree"],
)  # fmt: skip
def test_a_pull_of_all_filters_is_an_exhaustive_search(learner, policy):
    rng = np.random.default_rng(0)
    X, y = rng.integers(16, size=(50, 20)), rng.integers(3, size=50)
    every = AdaBoostMH(
        learner, preset="paper", search=Exhaustive(), n_rounds=4, random_state=0
    ).fit(X, y)
    learned = AdaBoostMH(
        learner, preset="paper", search=policy(len(HaarFilters(SHAPE))), n_rounds=4, random_state=0
    ).fit(X, y)
    assert [str(rule) for rule in learned.rules()] == [str(rule) for rule in every.rules()]
    assert np.array_equal(learned.decision_function(X), every.decision_function(X))


@pytest.mark.parametrize("policy", [UCB, Exp3P, ThompsonSampling])
@pytest.mark.parametrize(
    "learner",
    [
        Haar(SHAPE),
        Product(Haar(SHAPE), 2),
        Tree(Haar(SHAPE), 3),
        Tree(Haar(SHAPE), 3, "free", "gain"),
    ],
    ids=["alone", "product", "tree", "tree by gain"],
)
def test_the_same_seed_gives_the_same_model(learner, policy):
    rng = np.random.default_rng(0)
    X, y = rng.integers(16, size=(50, 20)), rng.integers(3, size=50)
    models = [
        AdaBoostMH(learner, preset="paper", search=policy(5), n_rounds=6, random_state=seed).fit(
            X, y
        )
        for seed in (1, 1, 2)
    ]
    scores = [model.decision_function(X) for model in models]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_auto_draws_from_posteriors_over_many_scales():
    shape = (10, 30)
    assert HaarFilters(shape).n_scales >= 500
    rng = np.random.default_rng(0)
    X, y = rng.integers(16, size=(40, 300)), rng.integers(2, size=40)
    scores = [
        AdaBoostMH(Haar(shape), preset="paper", search=search, n_rounds=4, random_state=0)
        .fit(X, y)
        .decision_function(X)
        for search in ("auto", ThompsonSampling(50, exploration=1.5, per_round=True))
    ]
    assert np.array_equal(*scores)


def test_a_scale_that_tells_classes_apart_is_looked_at_more_often():
    """A bright half of the image, left or right: wide and high stripes see it best."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    images = rng.integers(12, size=(120, 6, 6))
    images[y == 0, :, :3] += 3
    images[y == 1, :, 3:] += 3
    model = AdaBoostMH(Haar((6, 6)), preset="paper", search=UCB(4), n_rounds=60, random_state=0)
    counts = Counter()
    draw = HaarFilters.draw

    def counted(self, scales, stream):
        counts.update(scale(self, s) for s in scales.tolist())
        return draw(self, scales, stream)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HaarFilters, "draw", counted)
        model.fit(images.reshape(120, -1), y)
    assert counts["two stripes across", 6, 3] > counts["two stripes down", 1, 6]


@settings(max_examples=10)
@given(st.integers(0, 200))
def test_a_term_that_is_fitted_again_looks_at_its_own_filter(problem, own):
    filters = HaarFilters(SHAPE)
    own %= len(filters)
    ready = Haar(SHAPE, constant=False).ready(problem.binned, UCB(1), 0)
    column = problem.binned.n_columns + own
    alone = problem.round(extra_columns=(column,))
    best = ready.find(alone)
    own_edge = int(ready._find_in(alone, np.array([own]))[1][0])
    assert best.edge >= own_edge
    assert isinstance(best.rule, Cut)
    # The search learns of the filter that it pulled, and of no other.
    assert ready.search_.state(1)["counts"].sum() == 1
