"""Rankers of single users: the same as RankBoost's, in NumPy and compiled."""

import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import RankBoost, Ratings, Stump
from edgewise.recommend.rankboost.matrix import item_matrix
from edgewise.recommend.rankboost.recommender import item_scores, merge_terms
from edgewise.recommend.rankboost.training import (
    RankerSettings,
    draw_columns,
    find_cuts,
    user_problem,
)

from .worlds import dense, world

TRAINERS = {"numpy": False, "numba": True}


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.ERROR, logger="edgewise")


def problem_of(ratings, user, pair_weight="equal", start=None):
    matrix = item_matrix(ratings, np.arange(ratings.n_users), side_features=True)
    rated = ratings.by_user.row(user)
    return user_problem(matrix, rated, start, matrix.column_of(user), pair_weight), matrix


def trained(train, ratings, user, how, pair_weight="equal", start=None):
    """Return the rules of a user's rounds, as found and as terms, and the matrix."""
    problem, matrix = problem_of(ratings, user, pair_weight, start)
    cuts = find_cuts(problem, how, train)
    return cuts, merge_terms(cuts, problem.matrix, matrix, how.missing), matrix


def estimator(ratings, user, how, pair_weight):
    """Return RankBoost trained on the matrix of the user's items, without the user's column."""
    table = dense(ratings)
    grades = table[:, user].copy()
    table[:, user] = np.nan
    mine = np.flatnonzero(~np.isnan(grades))
    abstains = how.missing == "abstain"
    model = RankBoost(
        Stump(constant=False, missing="abstain") if abstains else "stump",
        n_rounds=how.n_rounds, learning_rate=how.learning_rate, monotonic_cst=how.monotonic_cst,
        missing="learn" if abstains else how.missing,
        pair_weight=pair_weight, query_weight="pairs",
    )  # fmt: skip
    return model.fit(table[mine], grades[mine]), table


@pytest.mark.parametrize("train", TRAINERS.values(), ids=TRAINERS)
@pytest.mark.parametrize("monotonic_cst", ["increasing", "learn", "none"])
@pytest.mark.parametrize("missing", ["learn", "low", "abstain", "high"])
@pytest.mark.parametrize(("rate", "pair_weight"), [(1.0, "equal"), (0.3, "difference")])
def test_they_are_those_of_rank_boost(train, monotonic_cst, missing, rate, pair_weight):
    how = RankerSettings(25, rate, monotonic_cst, missing)
    for seed, user in ((0, 0), (1, 5)):
        ratings = world(seed)
        cuts, terms, matrix = trained(train, ratings, user, how, pair_weight)
        model, table = estimator(ratings, user, how, pair_weight)
        part = problem_of(ratings, user)[0].matrix
        np.testing.assert_array_equal(part.columns[cuts.columns], model.fitted_.terms.columns)
        np.testing.assert_array_equal(cuts.steps, model.fitted_.terms.coefficients[:, 0])
        assert len(cuts.steps) > 3
        ours = item_scores(terms, matrix)
        np.testing.assert_allclose(ours, model.predict(table), rtol=1e-10, atol=1e-12)
        assert len(terms) == len(model.rules(1000))


@given(
    seed=st.integers(0, 10**6),
    n_users=st.integers(2, 25),
    n_items=st.integers(2, 30),
    levels=st.integers(2, 12),
    seen=st.floats(0.2, 1.0),
    monotonic_cst=st.sampled_from(["increasing", "learn", "none"]),
    missing=st.sampled_from(["learn", "low", "abstain", "high"]),
    rate=st.floats(0.05, 1.0),
    pair_weight=st.sampled_from(["equal", "difference"]),
    begins=st.booleans(),
    weighted=st.booleans(),
    described=st.booleans(),
    share=st.sampled_from([0.01, 0.5, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_both_kernels_agree_to_the_last_bit(
    seed, n_users, n_items, levels, seen, monotonic_cst, missing, rate, pair_weight, begins,
    weighted, described, share,
):  # fmt: skip
    ratings = world(seed, n_users, n_items, levels, seen)
    rng = np.random.default_rng(seed)
    more = {}
    if weighted:
        more["weights"] = rng.exponential(size=len(ratings))
    if described:
        kinds = np.array(["a", "b", "c", None], dtype=object)[rng.integers(4, size=n_items)]
        numbers = np.where(rng.random(n_items) < 0.2, np.nan, rng.integers(9, size=n_items))
        more["item_features"] = pd.DataFrame({"item": range(n_items), "k": kinds, "n": numbers})
    ids = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    ratings = Ratings.from_arrays(*ids, ratings.values, **more)
    start = rng.normal(size=ratings.n_items) if begins else None
    user = seed % ratings.n_users
    if len(np.unique(ratings.by_user.row(user).values)) < 2:
        return
    how = RankerSettings(15, rate, monotonic_cst, missing, share, seed)
    ours, theirs = (
        trained(train, ratings, user, how, pair_weight, start)[0] for train in TRAINERS.values()
    )
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("train", TRAINERS.values(), ids=TRAINERS)
def test_rounds_look_at_what_is_drawn(train):
    ratings = world(4, n_users=60)
    how = RankerSettings(40, 0.1, "increasing", "learn", 0.2, 7)
    part = problem_of(ratings, 0)[0].matrix
    looked = draw_columns(part.columns, how)
    assert looked.shape == (40, len(part.columns))
    assert looked.mean() == pytest.approx(0.2, abs=0.03)
    assert not np.array_equal(looked, draw_columns(part.columns, how._replace(seed=8)))
    cuts, _, _ = trained(train, ratings, 0, how)
    assert looked[np.arange(40), cuts.columns].all()
    every, _, _ = trained(train, ratings, 0, how._replace(max_features=1.0))
    assert len(np.unique(cuts.columns)) > len(np.unique(every.columns))


def test_about_ten_columns_are_drawn_at_least():
    ratings = world(4, n_users=60)
    part = problem_of(ratings, 0)[0].matrix
    how = RankerSettings(400, 0.1, "increasing", "learn", 0.001, 7)
    assert draw_columns(part.columns, how).sum(axis=1).mean() == pytest.approx(10, abs=0.6)
    assert draw_columns(part.columns[:8], how).all()


@pytest.mark.parametrize("train", TRAINERS.values(), ids=TRAINERS)
def test_weights_are_those_of_the_pairs(train):
    ratings = world(7)
    weights = np.random.default_rng(0).exponential(size=len(ratings))
    ratings = Ratings.from_arrays(ratings.users, ratings.items, ratings.values, weights=weights)
    how = RankerSettings(20, 0.5, "increasing", "learn")
    cuts, _, _ = trained(train, ratings, 0, how)
    table, mine = dense(ratings), ratings.by_user.span(0)
    items = ratings.by_user.others[mine]
    model = RankBoost(
        n_rounds=20, learning_rate=0.5, monotonic_cst="increasing", pair_weight="equal",
        query_weight="pairs",
    )  # fmt: skip
    grades = table[items, 0]
    table[:, 0] = np.nan
    model.fit(table[items], grades, sample_weight=weights[mine])
    np.testing.assert_allclose(cuts.steps, model.fitted_.terms.coefficients[:, 0], rtol=1e-9)


@pytest.mark.parametrize("train", TRAINERS.values(), ids=TRAINERS)
def test_scores_to_begin_with_leave_less_to_learn(train):
    # Where the start orders all pairs by a wide margin, no rule lowers the loss.
    ratings = world(3)
    start = np.zeros(ratings.n_items)
    span = ratings.by_user.span(0)
    start[ratings.by_user.others[span]] = 2000.0 * ratings.by_user.values[span]
    how = RankerSettings(5, 1.0, "increasing", "learn")
    cuts, _, _ = trained(train, ratings, 0, how, start=start)
    assert len(cuts.steps) == 0


@pytest.mark.parametrize("train", TRAINERS.values(), ids=TRAINERS)
def test_a_matrix_that_tells_nothing_apart(train):
    ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 3, 4, 4])
    cuts, terms, matrix = trained(train, ratings, 0, RankerSettings(5, 1.0, "increasing", "learn"))
    assert len(cuts.steps) == 0
    np.testing.assert_array_equal(item_scores(terms, matrix), [0.0, 0.0])
