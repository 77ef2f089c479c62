"""The rounds of small rankers: those of RankBoost, in NumPy and compiled."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import RankBoost, Ratings, Stump
from edgewise.recommend.rank_boosted import compiled, rounds
from edgewise.recommend.rank_boosted.matrix import Matrix
from edgewise.recommend.rank_boosted.problem import Rated, Settings, target_of
from edgewise.recommend.rank_boosted.terms import item_scores, terms_of

from .worlds import dense, world

TWINS = {"numpy": rounds.boost, "numba": compiled.boost}


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.ERROR, logger="edgewise")


def trained(boost, ratings, user, how, start=None):
    """Return the rules of a user's rounds, as found and as terms, and the matrix."""
    matrix = Matrix.of(ratings, np.arange(ratings.n_users), side_features=True)
    rated = Rated.of(ratings, user)
    target = target_of(matrix, rated, start, matrix.column_of(user), how.pair_weight)
    cuts = boost(target, how, matrix.n_viewers)
    return cuts, terms_of(cuts, target.part, matrix, how.q_def), matrix


def engine(ratings, user, how):
    """Return RankBoost trained on the matrix of the user's items, without the user's column."""
    table = dense(ratings)
    grades = table[:, user].copy()
    table[:, user] = np.nan
    mine = np.flatnonzero(~np.isnan(grades))
    abstains = how.q_def == 0.5
    model = RankBoost(
        Stump(constant=False, missing="abstain") if abstains else "stump",
        n_rounds=how.n_rounds, learning_rate=how.learning_rate, monotonic_cst=how.monotonic_cst,
        q_def=None if abstains else how.q_def, pair_weight=how.pair_weight, query_weight="pairs",
    )  # fmt: skip
    return model.fit(table[mine], grades[mine]), table


@pytest.mark.parametrize("boost", TWINS.values(), ids=TWINS)
@pytest.mark.parametrize("monotonic_cst", ["increasing", "learn", "none"])
@pytest.mark.parametrize("q_def", [None, 0, 0.5, 1])
@pytest.mark.parametrize(("rate", "pair_weight"), [(1.0, "equal"), (0.3, "difference")])
def test_they_are_those_of_rank_boost(boost, monotonic_cst, q_def, rate, pair_weight):
    how = Settings(25, rate, monotonic_cst, q_def, pair_weight)
    for seed in range(3):
        ratings = world(seed)
        for user in (0, 5):
            cuts, terms, matrix = trained(boost, ratings, user, how)
            model, table = engine(ratings, user, how)
            np.testing.assert_array_equal(
                matrix_columns(cuts, ratings, user), model.terms_.columns[:, 0]
            )
            np.testing.assert_array_equal(cuts.steps, model.terms_.coefficients[:, 0])
            assert len(cuts.steps) > 3
            ours = item_scores(terms, matrix)
            np.testing.assert_allclose(ours, model.predict(table), rtol=1e-10, atol=1e-12)
            assert len(terms.columns) == len(model.rules(1000))


def matrix_columns(cuts, ratings, user):
    matrix = Matrix.of(ratings, np.arange(ratings.n_users), side_features=True)
    rated = Rated.of(ratings, user)
    part = target_of(matrix, rated, None, matrix.column_of(user), "equal").part
    return part.columns[cuts.columns]


@given(
    seed=st.integers(0, 10**6),
    n_users=st.integers(2, 25),
    n_items=st.integers(2, 30),
    levels=st.integers(2, 12),
    seen=st.floats(0.2, 1.0),
    monotonic_cst=st.sampled_from(["increasing", "learn", "none"]),
    q_def=st.sampled_from([None, 0, 0.5, 1]),
    rate=st.floats(0.05, 1.0),
    begins=st.booleans(),
    share=st.sampled_from([0.01, 0.5, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_numpy_and_numba_agree_to_the_last_bit(
    seed, n_users, n_items, levels, seen, monotonic_cst, q_def, rate, begins, share
):
    ratings = world(seed, n_users, n_items, levels, seen)
    start = np.random.default_rng(seed).normal(size=ratings.n_items) if begins else None
    user = seed % ratings.n_users
    if not Rated.of(ratings, user).has_pairs:
        return
    how = Settings(15, rate, monotonic_cst, q_def, "equal", share, seed)
    ours, theirs = (trained(boost, ratings, user, how, start)[0] for boost in TWINS.values())
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("boost", TWINS.values(), ids=TWINS)
def test_rounds_look_at_what_is_drawn(boost):
    ratings = world(4, n_users=60)
    how = Settings(40, 0.1, "increasing", None, "equal", 0.2, 7)
    matrix = Matrix.of(ratings, np.arange(60), side_features=True)
    part = target_of(matrix, Rated.of(ratings, 0), None, 0, "equal").part
    looked = rounds.looked_at(part, how)
    assert looked.shape == (40, len(part.columns))
    assert looked.mean() == pytest.approx(0.2, abs=0.03)
    assert not np.array_equal(looked, rounds.looked_at(part, how._replace(seed=8)))
    cuts, _, _ = trained(boost, ratings, 0, how)
    assert looked[np.arange(40), cuts.columns].all()
    every, _, _ = trained(boost, ratings, 0, how._replace(max_features=1.0))
    assert len(np.unique(cuts.columns)) > len(np.unique(every.columns))


def test_about_ten_columns_are_drawn_at_least():
    ratings = world(4, n_users=60)
    matrix = Matrix.of(ratings, np.arange(60), side_features=True)
    part = target_of(matrix, Rated.of(ratings, 0), None, 0, "equal").part
    how = Settings(400, 0.1, "increasing", None, "equal", 0.001, 7)
    assert rounds.looked_at(part, how).sum(axis=1).mean() == pytest.approx(10, abs=0.6)
    few = part._replace(columns=part.columns[:8])
    assert rounds.looked_at(few, how).all()


@pytest.mark.parametrize("boost", TWINS.values(), ids=TWINS)
def test_weights_are_those_of_the_pairs(boost):
    ratings = world(7)
    weights = np.random.default_rng(0).exponential(size=len(ratings))
    ratings = Ratings.from_arrays(ratings.users, ratings.items, ratings.values, weights=weights)
    how = Settings(20, 0.5, "increasing", None, "equal")
    cuts, _, _ = trained(boost, ratings, 0, how)
    table, mine = dense(ratings), ratings.by_user.span(0)
    items = ratings.by_user.others[mine]
    model = RankBoost(
        n_rounds=20, learning_rate=0.5, monotonic_cst="increasing", pair_weight="equal",
        query_weight="pairs",
    )  # fmt: skip
    grades = table[items, 0]
    table[:, 0] = np.nan
    model.fit(table[items], grades, sample_weight=weights[mine])
    np.testing.assert_allclose(cuts.steps, model.terms_.coefficients[:, 0], rtol=1e-9)


@pytest.mark.parametrize("boost", TWINS.values(), ids=TWINS)
def test_scores_to_begin_with_leave_less_to_learn(boost):
    # Where the start orders all pairs by a wide margin, no rule lowers the loss.
    ratings = world(3)
    start = np.zeros(ratings.n_items)
    span = ratings.by_user.span(0)
    start[ratings.by_user.others[span]] = 2000.0 * ratings.by_user.values[span]
    cuts, _, _ = trained(boost, ratings, 0, Settings(5, 1.0, "increasing", None, "equal"), start)
    assert len(cuts.steps) == 0


@pytest.mark.parametrize("boost", TWINS.values(), ids=TWINS)
def test_a_matrix_that_tells_nothing_apart(boost):
    ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 3, 4, 4])
    cuts, terms, matrix = trained(boost, ratings, 0, Settings(5, 1.0, "increasing", None, "equal"))
    assert len(cuts.steps) == 0
    np.testing.assert_array_equal(item_scores(terms, matrix), [0.0, 0.0])
