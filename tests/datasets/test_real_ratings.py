"""The real sets of ratings where they are found: what their README files and papers state."""

import os
from pathlib import Path

import numpy as np
import pytest
from tests.datasets.conftest import one

from edgewise import datasets
from edgewise.datasets.files import decompress
from edgewise.datasets.movielens import triples

pytestmark = pytest.mark.real_data


def genres(real, item):
    features = real.ratings.item_features
    (row,) = real.ratings.item_ids.find("item", [item])
    flags = range(1, features.n_columns)
    return {features.name(j) for j in flags if features.column(j).values[row]}


def keys(ratings):
    return ratings.users.astype(np.int64) * ratings.n_items + ratings.items


@pytest.mark.parametrize("real", datasets.names("ratings"), indirect=True)
def test_counts_and_columns(real):
    facts, ratings = datasets.info(real.name), real.ratings
    assert (ratings.n_users, ratings.n_items, len(ratings)) == (
        facts.n_users,
        facts.n_items,
        facts.n_ratings,
    )
    assert ratings.levels.tolist() == [1, 2, 3, 4, 5]
    # Each user has rated at least 20 movies, both README files say.
    assert np.bincount(ratings.users).min() == 20
    assert list(real.item_titles) == ratings.item_ids.values.tolist()
    people, movies = ratings.user_features, ratings.item_features
    assert people.names == ["age", "gender", "occupation"]
    assert people.n_rows == facts.n_users
    assert people.column(1).categories == ("F", "M")
    assert len(people.column(2).categories) == 21
    assert movies.n_rows == facts.n_items
    for j in range(1, movies.n_columns):
        assert set(np.unique(movies.column(j).values)) == {0, 1}
    years = movies.column(0).values
    assert np.nanmin(years) >= 1919
    assert np.nanmax(years) <= 2000


@pytest.mark.parametrize("real", datasets.names("ratings"), indirect=True)
def test_toy_story(real):
    assert real.item_titles[1] == "Toy Story (1995)"
    assert genres(real, 1) == {"Animation", "Children's", "Comedy"}
    assert real.ratings.item_features.column(0).values[0] == 1995


@one("ml-100k")
class TestMl100k:
    def test_counts(self, real):
        ratings = real.ratings
        assert (ratings.n_users, ratings.n_items, len(ratings)) == (943, 1682, 100_000)
        assert len(np.unique(ratings.items)) == 1682
        # The distribution of ratings that papers give for this set.
        assert np.bincount(ratings.values.astype(int))[1:].tolist() == [
            6_110, 11_370, 27_145, 34_174, 21_201,
        ]  # fmt: skip
        assert ratings.item_features.n_columns == 1 + 19
        # Collected from September 19th, 1997 through April 22nd, 1998.
        days = ratings.times.astype("datetime64[s]").astype("datetime64[D]")
        assert (str(days.min()), str(days.max())) == ("1997-09-20", "1998-04-22")

    def test_the_first_line_of_the_file(self, real):
        ratings = real.ratings
        (user,), (item,) = (
            ratings.user_ids.find("user", [196]),
            ratings.item_ids.find("item", [242]),
        )
        (row,) = np.flatnonzero((ratings.users == user) & (ratings.items == item))
        assert (ratings.values[row], ratings.times[row]) == (3, 881250949)
        assert real.item_titles[242] == "Kolya (1996)"

    def test_side_columns(self, real):
        people = real.ratings.user_features
        assert people.column(0).values[:3].tolist() == [24, 53, 23]
        occupation = people.column(2)
        assert [occupation.categories[code] for code in occupation.codes[:3]] == [
            "technician", "other", "writer",
        ]  # fmt: skip
        assert real.item_titles[543] == "Misérables, Les (1995)"
        # Number 267, a movie of no name, is the only one without a year.
        years = real.ratings.item_features.column(0).values
        lost = real.ratings.item_ids.values[np.isnan(years)].tolist()
        assert [real.item_titles[item] for item in lost] == ["unknown"]
        assert genres(real, 267) == {"unknown"}

    def test_folds_are_a_partition(self, real):
        assert real.n_folds == 5
        every = keys(real.ratings)
        tests = []
        for k in range(1, 6):
            train, test = real.fold(k)
            assert (len(train), len(test)) == (80_000, 20_000)
            assert np.array_equal(np.sort(np.r_[keys(train), keys(test)]), every)
            tests.append(keys(test))
        assert np.array_equal(np.sort(np.concatenate(tests)), every)

    def test_ua_and_ub_test_ten_ratings_of_each_user_and_are_disjoint(self, real):
        tests = []
        for name in ("ua", "ub"):
            train, test = real.split(name)
            assert (len(train), len(test)) == (90_570, 9_430)
            assert (np.bincount(test.users) == 10).all()
            tests.append(keys(test))
        assert len(np.intersect1d(*tests)) == 0

    @pytest.mark.parametrize("split", ["u1", "u2", "u3", "u4", "u5", "ua", "ub"])
    def test_what_trains_is_what_the_base_files_hold(self, real, split):
        folder = Path(os.environ.get("EDGEWISE_DATA", "")) / "ml-100k"
        path = next((path for path in folder.glob(f"{split}.base*")), None)
        if path is None:
            pytest.skip(f"no copy of {split}.base, which loading does not need")
        base, train = triples(decompress(path.read_bytes())), real.split(split).train
        order = np.lexsort((base.items, base.users))
        assert np.array_equal(base.users[order], train.user_ids.values[train.users])
        assert np.array_equal(base.items[order], train.item_ids.values[train.items])
        assert np.array_equal(base.ratings[order], train.values)
        assert np.array_equal(base.times[order], train.times)


@one("ml-1m")
class TestMl1m:
    def test_counts(self, real):
        ratings = real.ratings
        assert (ratings.n_users, ratings.n_items, len(ratings)) == (6040, 3883, 1_000_209)
        assert len(np.unique(ratings.items)) == 3706
        assert ratings.user_ids.values[[0, -1]].tolist() == [1, 6040]
        assert ratings.item_ids.values[[0, -1]].tolist() == [1, 3952]
        assert ratings.item_features.n_columns == 1 + 18
        assert real.n_folds == 0
        assert real.splits == ()

    def test_side_columns(self, real):
        people = real.ratings.user_features
        assert np.unique(people.column(0).values).tolist() == [1, 18, 25, 35, 45, 50, 56]
        occupation = people.column(2)
        assert occupation.categories[occupation.codes[0]] == "K-12 student"
        assert np.isfinite(real.ratings.item_features.column(0).values).all()
        assert real.item_titles[73] == "Misérables, Les (1995)"

    def test_the_first_line_of_the_file(self, real):
        ratings = real.ratings
        (item,) = ratings.item_ids.find("item", [1193])
        (row,) = np.flatnonzero((ratings.users == 0) & (ratings.items == item))
        assert (ratings.values[row], ratings.times[row]) == (5, 978300760)
        assert real.item_titles[1193] == "One Flew Over the Cuckoo's Nest (1975)"
