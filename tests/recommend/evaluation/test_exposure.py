"""How often groups of items are recommended."""

import numpy as np
import pytest

from edgewise import Popularity, Ratings
from edgewise.recommend import exposure


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 30)) < np.linspace(0.9, 0.05, 30))
    kinds = np.array(["old", "new", None], dtype=object)[np.arange(30) % 3]
    about = (np.arange(30), [[kind] for kind in kinds])
    return Popularity().fit(Ratings.from_arrays(users, items, item_features=about))


@pytest.mark.parametrize("groups", ["popularity", "x0", {0: "a", 1: "a", 2: "b"}])
def test_shares_are_those_of_the_lists(model, groups):
    found = exposure(model, groups, k=4)
    for shares in (found.items, found.ratings, found.lists):
        assert shares.sum() == pytest.approx(1.0)
    ids = np.concatenate([one.ids for one in model.recommend(n=4)])
    if groups == "popularity":
        assert found.groups == ("head", "middle", "tail")
        assert found.ratings == pytest.approx(1 / 3, abs=0.05)
        assert found.items[0] < found.items[1] < found.items[2]
    elif groups == "x0":
        assert found.groups == ("new", "old", "other")
        counts = [(ids % 3 == place).mean() for place in (1, 0, 2)]
        assert found.lists == pytest.approx(counts)
    else:
        assert found.groups == ("a", "b", "other")
        assert found.lists[0] == pytest.approx(np.isin(ids, [0, 1]).mean())
    assert list(found.to_frame("pandas")["group"]) == list(found.groups)


def test_some_users_are_counted(model):
    (one,) = model.recommend([3], n=5)
    found = exposure(model, dict.fromkeys(one.ids.tolist(), "there"), users=[3], k=5)
    assert dict(zip(found.groups, found.lists, strict=True)) == {"other": 0.0, "there": 1.0}


def test_groups_must_be_known(model):
    with pytest.raises(ValueError, match=r"groups must be 'popularity'.*\('x0'\), got 'year'"):
        exposure(model, "year")
