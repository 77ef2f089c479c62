"""The nearest neighbor of Iyer 1999: whose ratings order a user's items best."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import RankingNeighbor, Ratings
from edgewise.recommend import arrays as blocks
from edgewise.recommend.per_user import ranking_distances

ALICE = {"p": 5, "q": 3, "r": 1}
REFERENCES = {
    # Misorders (r, q), has nothing on others: loss 1/3.
    "bob": {"p": 4, "q": 1, "r": 2, "s": 5},
    # In the right order: loss 0.
    "cat": {"p": 3, "q": 2, "r": 1, "t": 2},
    # Opposed: loss 1.
    "dan": {"p": 1, "q": 2, "r": 3, "s": 1},
}


def example():
    return Ratings.from_dict({"alice": ALICE, **REFERENCES})


def test_losses_of_the_reference_users():
    model = RankingNeighbor().fit(example())
    found = model.similar_users("alice")
    assert found.ids.tolist() == ["cat", "bob", "dan"]
    np.testing.assert_allclose(1 - found.scores, [0, 1 / 3, 1])


def test_the_nearest_says_what_it_said():
    model = RankingNeighbor().fit(example())
    assert model.predict("alice", ["p", "q", "t"]).tolist() == [3, 2, 2]


def test_a_reference_user_who_rated_all_defaults_to_its_mean():
    model = RankingNeighbor().fit(example())
    assert model.predict("alice", "s") == (3 + 2 + 1 + 2) / 4


def test_a_reference_user_with_gaps_defaults_to_the_level_of_least_loss():
    # Bob rated p 4 only. The pairs of p are right for defaults below 4, the pair of q and r is a
    # tie: loss 1/6, for levels 1 and 3, of which the lowest is taken.
    ratings = Ratings.from_dict({"alice": ALICE, "bob": {"p": 4, "s": 5}})
    model = RankingNeighbor().fit(ratings)
    assert model.predict("alice", ["p", "q", "s"]).tolist() == [4, 1, 5]
    assert 1 - model.similar_users("alice").scores[0] == pytest.approx(1 / 6)


def test_k_neighbors_are_averaged():
    model = RankingNeighbor(n_neighbors=2).fit(example())
    # Cat's and bob's scores; bob rated all of alice's items, and his mean is 3.
    assert model.predict("alice", ["p", "t"]).tolist() == [(3 + 4) / 2, (2 + 3) / 2]


def test_more_in_common_wins_a_tie():
    bob, cat = {"p": 3, "q": 2, "s": 1}, {"p": 3, "q": 2, "r": 1}
    model = RankingNeighbor().fit(Ratings.from_dict({"alice": ALICE, "bob": bob, "cat": cat}))
    # Bob's default of 1 puts r last as well: both have loss 0.
    assert model.similar_users("alice").scores.tolist() == [1, 1]
    assert model.predict("alice", "r") == 1
    assert model.predict("alice", "s") == 2


def test_the_user_itself_is_no_neighbor():
    ratings = Ratings.from_dict({"alice": ALICE, "bob": {"p": 1, "q": 3, "r": 5}})
    assert RankingNeighbor().fit(ratings).predict("alice", ["p", "r"]).tolist() == [1, 5]


def test_only_the_viewers_named_count():
    model = RankingNeighbor(reference_users=["bob", "dan"]).fit(example())
    assert model.ratings_.user_ids.values[model.reference_users_].tolist() == ["bob", "dan"]
    assert model.predict("alice", "s") == 5


def test_viewers_drawn_at_random():
    ratings = Ratings.from_matrix(np.random.default_rng(0).integers(1, 6, (30, 8)))
    one, two, other = (
        RankingNeighbor(reference_users=5, random_state=seed).fit(ratings).reference_users_
        for seed in (0, 0, 1)
    )
    assert len(one) == 5
    np.testing.assert_array_equal(one, two)
    assert one.tolist() != other.tolist()


def test_new_users_are_targets_and_no_reference_users():
    model = RankingNeighbor().fit(example()).fold_in({"new": ALICE, "newer": ALICE})
    assert model.predict("new", "p") == 5  # Alice herself is the nearest: loss 0, more in common.
    assert "newer" not in model.similar_users("new").ids


def test_a_user_alone_gets_the_mean():
    model = RankingNeighbor().fit(Ratings.from_dict({"alice": ALICE}))
    assert model.predict("alice", "p") == 3


def test_too_many_levels_are_refused():
    ratings = Ratings.from_arrays(np.zeros(300, int), np.arange(300), np.linspace(0, 1, 300))
    with pytest.raises(ValueError, match="levels, got 300"):
        RankingNeighbor().fit(ratings)


def pair_by_pair(grades, scores, weights):
    """Return the share of the pairs that scores misorder, ties counting half."""
    total = wrong = 0.0
    for one, two in combinations(range(len(grades)), 2):
        if grades[one] == grades[two]:
            continue
        worse, better = (one, two) if grades[one] < grades[two] else (two, one)
        weight = weights[one] * weights[two]
        total += weight
        wrong += weight * (scores[worse] > scores[better])
        wrong += weight * 0.5 * (scores[worse] == scores[better])
    return wrong / total if total else 0.0


def best_default(grades, rated, n_levels, weights):
    """Return the least loss of a viewer over all default levels, and the lowest such level."""
    found = [
        pair_by_pair(grades, np.where(rated < 0, level, rated), weights)
        for level in range(n_levels)
    ]
    return min(found), found


@st.composite
def problems(draw):
    n_levels, m = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    grades = draw(st.lists(st.integers(0, n_levels - 1), min_size=m, max_size=m))
    rows = st.lists(st.integers(-1, n_levels - 1), min_size=m, max_size=m)
    table = draw(st.lists(rows, min_size=1, max_size=6))
    return np.unique(grades, return_inverse=True)[1], np.array(table), n_levels


@pytest.mark.parametrize("weighed", [False, True])
@given(problems())
def test_counting_gives_the_loss_of_all_pairs(weighed, problem):
    grades, table, n_levels = problem
    weights = np.linspace(0.5, 2.0, len(grades)) if weighed else np.ones(len(grades))
    viewers, places = np.nonzero(table >= 0)
    rated_pairs, shape = (viewers, places, table[viewers, places]), (len(table), n_levels)
    distances = ranking_distances(
        grades, rated_pairs, shape, weights if weighed else np.ones(len(grades))
    )
    losses, defaults, common = distances
    for viewer, rated in enumerate(table):
        least, each = best_default(grades, rated, n_levels, weights)
        assert losses[viewer] == pytest.approx(least)
        assert common[viewer] == (rated >= 0).sum()
        if (rated >= 0).all():
            assert defaults[viewer] == -1
        else:
            assert each[defaults[viewer]] == pytest.approx(least)
            if not weighed:
                # The arithmetic is exact: of equals the lowest level.
                assert defaults[viewer] == int(np.argmin(np.round(each, 12)))


def test_viewers_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.integers(-1, 5, (40, 30))
    grades = rng.integers(0, 5, 30)
    viewers, places = np.nonzero(table >= 0)
    problem = grades, (viewers, places, table[viewers, places]), (40, 5), np.ones(30)
    whole = ranking_distances(*problem)
    monkeypatch.setattr(blocks, "_BLOCK", 75)
    for one, two in zip(whole, ranking_distances(*problem), strict=True):
        np.testing.assert_array_equal(one, two)
