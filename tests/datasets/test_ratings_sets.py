"""Sets of ratings, on a toy one in the format of ml-100k."""

import dataclasses
import gzip
import hashlib
import pickle

import numpy as np
import pytest

from edgewise import datasets
from edgewise.datasets import DatasetInfo, DatasetMismatchError, catalog
from edgewise.datasets.catalog import DataFile, Entry

# Three users and four movies, of which number 30 has no rating; six ratings in two folds.
CONTENTS = {
    "u.data": b"2\t10\t4\t105\n1\t10\t5\t100\n1\t20\t3\t101\n"
    b"3\t40\t1\t99\n2\t20\t3\t104\n1\t40\t2\t102\n",
    "u.user": b"1|24|M|writer|1\n2|53|F|artist|2\n3|30|F|writer|3\n",
    "u.item": b"".join(
        b"%d|%s (%d)||||0|%d%s\n" % (number, title, 1970 + number, number == 20, 17 * b"|0")
        for number, title in ((10, b"Alien"), (20, b"Brazil"), (40, b"Diva"), (30, b"Casablanca"))
    ),
    "u1.test": b"1\t10\t5\t100\n2\t20\t3\t104\n3\t40\t1\t99\n",
    "u2.test": b"1\t20\t3\t101\n1\t40\t2\t102\n2\t10\t4\t105\n",
    "ua.test": b"1\t40\t2\t102\n2\t10\t4\t105\n",
}
INFO = DatasetInfo(
    name="toy",
    kind="ratings",
    title="Toy",
    n_users=3,
    n_items=4,
    n_rated=3,
    n_ratings=6,
    levels=(1.0, 2.0, 3.0, 4.0, 5.0),
    license="CC0",
    citation="A. Nonymous.",
    source="http://x",
    description="Six ratings.",
    splits=("u1", "u2", "ua"),
    n_held_out=(3, 3, 2),
    n_folds=2,
)


def entry_of(contents, info=INFO):
    roles = ("ratings", "users", "items", "tests", "tests", "tests")
    files = {}
    for role, (name, content) in zip(roles, contents.items(), strict=True):
        digest = hashlib.sha256(content).hexdigest()
        files[role] = (*files.get(role, ()), DataFile(f"toy/{name}", digest))
    return Entry(info, files, "ml-100k")


@pytest.fixture
def register(tmp_path, monkeypatch):
    """Register a set 'toy' and lay its files, gzipped, in the data folder."""

    def registered(changed=None, **facts):
        contents = CONTENTS | (changed or {})
        entry = entry_of(contents, dataclasses.replace(INFO, **facts))
        monkeypatch.setitem(catalog.entries(), "toy", entry)
        monkeypatch.setenv("EDGEWISE_DATA", str(tmp_path))
        (tmp_path / "toy").mkdir()
        for name, content in contents.items():
            (tmp_path / "toy" / f"{name}.gz").write_bytes(gzip.compress(content))
        return entry

    return registered


def listed(ratings):
    users, items = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    return list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True))


class TestToy:
    def test_it_carries_its_facts(self, register):
        register()
        loaded = datasets.load("toy")
        assert repr(loaded) == (
            "RatingsDataset('toy', 3 users, 4 items, 6 ratings, splits: u1, u2, ua)"
        )
        assert loaded.info == INFO
        assert loaded.item_titles[30] == "Casablanca (2000)"
        assert datasets.available("toy")
        with pytest.raises(dataclasses.FrozenInstanceError):
            loaded.info = None

    def test_ratings_have_ids_times_and_the_whole_catalog(self, register):
        register()
        ratings = datasets.load("toy").ratings
        assert ratings.user_ids.values.tolist() == [1, 2, 3]
        assert ratings.item_ids.values.tolist() == [10, 20, 30, 40]
        assert listed(ratings) == [
            (1, 10, 5), (1, 20, 3), (1, 40, 2), (2, 10, 4), (2, 20, 3), (3, 40, 1),
        ]  # fmt: skip
        assert ratings.times.tolist() == [100, 101, 102, 105, 104, 99]
        assert ratings.users.dtype == ratings.items.dtype == np.int32
        assert ratings.values.dtype == ratings.times.dtype == np.float64

    def test_side_features_stand_in_the_order_of_the_ids(self, register):
        register()
        ratings = datasets.load("toy").ratings
        assert ratings.user_features.column(0).values.tolist() == [24, 53, 30]
        assert ratings.user_features.column(1).codes.tolist() == [1, 0, 0]
        assert ratings.item_features.column(0).values.tolist() == [1980, 1990, 2000, 2010]
        action = ratings.item_features.names.index("Action")
        assert ratings.item_features.column(action).values.tolist() == [0, 1, 0, 0]
        assert not any("itle" in name for name in ratings.item_features.names)

    def test_folds_and_splits_share_the_catalog(self, register):
        register()
        loaded = datasets.load("toy")
        assert loaded.n_folds == 2
        assert loaded.splits == ("u1", "u2", "ua")
        train, test = loaded.fold(1)
        assert listed(test) == [(1, 10, 5), (2, 20, 3), (3, 40, 1)]
        assert listed(train) == [(1, 20, 3), (1, 40, 2), (2, 10, 4)]
        assert test.times.tolist() == [100, 104, 99]
        assert train.item_ids is test.item_ids is loaded.ratings.item_ids
        assert train.item_features is loaded.ratings.item_features
        assert listed(loaded.split("u2").test) == listed(loaded.fold(2).test) == listed(train)
        assert listed(loaded.split("ua").test) == [(1, 40, 2), (2, 10, 4)]
        assert len(loaded.split("ua").train) == 4

    @pytest.mark.parametrize("k", [0, 3, -1])
    def test_other_folds_are_refused(self, register, k):
        register()
        with pytest.raises(ValueError, match="k must be an integer from 1 to 2"):
            datasets.load("toy").fold(k)

    @pytest.mark.parametrize("name", ["u3", 1, None])
    def test_other_splits_are_refused(self, register, name):
        register()
        with pytest.raises(ValueError, match="name must be one of 'u1', 'u2', 'ua', got"):
            datasets.load("toy").split(name)

    def test_without_splits_it_says_how_to_make_one(self, register, monkeypatch):
        entry = register()
        facts = dataclasses.replace(INFO, splits=(), n_held_out=(), n_folds=0)
        files = {role: some for role, some in entry.files.items() if role != "tests"}
        bare = dataclasses.replace(entry, info=facts, files=files)
        monkeypatch.setitem(catalog.entries(), "toy", bare)
        loaded = datasets.load("toy")
        assert repr(loaded).endswith("splits: none)")
        with pytest.raises(ValueError, match=r"toy has no published folds.*ratings\.folds"):
            loaded.fold(1)
        with pytest.raises(ValueError, match=r"toy has no published splits.*ratings\.split"):
            loaded.split("ua")

    def test_it_can_be_pickled(self, register):
        register()
        again = pickle.loads(pickle.dumps(datasets.load("toy")))
        assert listed(again.fold(2).test) == [(1, 20, 3), (1, 40, 2), (2, 10, 4)]


class TestChecks:
    def test_another_content_is_refused(self, register, tmp_path):
        register()
        path = tmp_path / "toy/u2.test.gz"
        path.write_bytes(gzip.compress(CONTENTS["u1.test"]))
        with pytest.raises(DatasetMismatchError, match=r"u2\.test\.gz: expected toy/u2\.test"):
            datasets.load("toy")

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"n_users": 4}, "toy: expected 4 users, found 3"),
            ({"n_items": 3}, "toy: expected 3 items, found 4"),
            ({"n_rated": 4}, "toy: expected 4 rated items, found 3"),
            ({"n_ratings": 7}, "toy: expected 7 ratings, found 6"),
            ({"levels": (1.0, 2.0)}, r"toy: expected ratings \[1.0, 2.0\], found \[1.0, 2.0, 3.0"),
            ({"n_held_out": (3, 3, 3)}, "toy, ua: expected 3 test ratings, found 2"),
            ({"n_folds": 3}, "toy: expected every rating in the test part of one fold"),
        ],
    )
    def test_wrong_counts_are_refused(self, register, wrong, message):
        register(**wrong)
        with pytest.raises(DatasetMismatchError, match=message):
            datasets.load("toy")

    @pytest.mark.parametrize(
        "line",
        [
            b"1\t30\t2\t102\n",  # a pair that was not rated
            b"9\t40\t2\t102\n",  # no such user
            b"1\t99\t2\t102\n",  # no such movie
            b"1\t40\t5\t102\n",  # another rating
            b"1\t40\t2\t999\n",  # another time
            b"2\t10\t4\t105\n",  # the same one twice
        ],
    )
    def test_a_split_that_is_not_of_the_ratings_is_refused(self, register, line):
        register({"ua.test": line + b"2\t10\t4\t105\n"})
        with pytest.raises(DatasetMismatchError, match="toy, ua: expected test ratings that are"):
            datasets.load("toy")

    def test_folds_that_overlap_are_refused(self, register):
        register({"u2.test": CONTENTS["u1.test"]})
        with pytest.raises(DatasetMismatchError, match="every rating in the test part of one fold"):
            datasets.load("toy")

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (b"9\t10\t4\t105\n", "toy: users of ratings must be ids that are known, got 9"),
            (b"1\t11\t4\t105\n", "toy: items of ratings must be ids that are known, got 11"),
            (b"1\t10\t4\t105\n", "toy: .*user 1 rated item 10 more than once"),
            (b"1\t10\t4\n", r"toy/u\.data: 7 lines must have 4 integers each, got 27"),
        ],
    )
    def test_ratings_that_make_no_sense_are_refused(self, register, line, message):
        register({"u.data": CONTENTS["u.data"] + line})
        with pytest.raises(DatasetMismatchError, match=message):
            datasets.load("toy")
