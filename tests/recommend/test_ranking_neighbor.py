"""Iyer's nearest neighbor: whose ratings order a user's items best."""

import numpy as np
import pytest

from edgewise import RankingNeighbor, Ratings

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
