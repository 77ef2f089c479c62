"""What files hold of recommenders, and what they refuse."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import edgewise
from edgewise import ModelFileError, Ratings

from .toys import OneFactor, make_public


class Odd(OneFactor):
    """A model with attributes of all kinds that files hold."""

    def _fit(self, ratings):
        super()._fit(ratings)
        self.nothing_ = None
        self.word_ = "käse"
        self.number_ = 0.1
        self.size_ = np.int64(3)
        self.ready_ = np.bool_(True)
        self.words_ = ["a", None, 2.5]
        self.pair_ = (1, 2)
        self.bytes_ = np.arange(3, dtype=np.uint8)
        self.flags_ = np.array([True, False])
        self.table_ = sparse.csr_array(np.array([[0.0, 1.5], [0.0, 0.0]]))
        self.cache = object()
        self._cache = object()


@pytest.fixture(autouse=True)
def known_to_files(monkeypatch):
    make_public(monkeypatch, OneFactor, Odd)


@pytest.fixture
def ratings():
    return Ratings.from_dict({"ann": {"x": 5, "y": 1}, "bob": {"x": 1, "y": 5, "z": 2}})


def members(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json")), archive.namelist()


def rewrite(path, change):
    """Write a file again with its header, or one array, changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts.pop("model.json"))
    arrays = {name: np.load(io.BytesIO(data)) for name, data in parts.items()}
    change(header, arrays)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(name, buffer.getvalue())


def test_fitted_attributes_of_all_kinds(ratings, tmp_path):
    model = Odd(shrink=0.5, random_state=7).fit(ratings)
    model.save(tmp_path / "odd")
    loaded = edgewise.load(tmp_path / "odd")
    assert type(loaded) is Odd
    assert loaded.get_params() == model.get_params()
    assert loaded.nothing_ is None
    assert (loaded.word_, loaded.number_, loaded.size_, loaded.ready_) == ("käse", 0.1, 3, True)
    assert loaded.words_ == ["a", None, 2.5]
    assert list(loaded.pair_) == [1, 2]
    assert loaded.bytes_.dtype == np.uint8
    assert loaded.flags_.tolist() == [True, False]
    assert sparse.issparse(loaded.table_)
    np.testing.assert_array_equal(loaded.table_.toarray(), model.table_.toarray())
    assert not hasattr(loaded, "cache")
    assert not hasattr(loaded, "_cache")


@pytest.mark.parametrize("wrong", [object(), {"a": 1}, [object()], np.array([None])])
def test_attributes_that_files_cannot_hold(ratings, tmp_path, wrong):
    model = OneFactor().fit(ratings)
    model.odd_ = wrong
    with pytest.raises((TypeError, ValueError)):
        model.save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_arrays_of_strings_cannot_be_held(ratings, tmp_path):
    model = OneFactor().fit(ratings)
    model.odd_ = np.array(["a"])
    with pytest.raises(TypeError, match="odd_"):
        model.save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_classes_of_your_own_cannot_be_saved(ratings, tmp_path):
    class Popularity(OneFactor):
        pass

    for kind in (Popularity, type("Mine", (OneFactor,), {})):
        with pytest.raises(TypeError, match="a class of your own"):
            kind().fit(ratings).save(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_a_folder(ratings, tmp_path):
    with pytest.raises(ValueError, match="path must be a file"):
        OneFactor().fit(ratings).save(tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        edgewise.load(tmp_path / "nothing")


def test_other_models_are_loaded_as_before(tmp_path):
    model = edgewise.AdaBoostMH(n_rounds=2).fit([[0.0], [1.0]], ["a", "b"])
    model.save(tmp_path / "model")
    assert type(edgewise.load(tmp_path / "model")) is edgewise.AdaBoostMH


def test_ratings_with_features_weights_and_times(tmp_path):
    about = pd.DataFrame({"item": [1, 2, 3], "year": [1, None, 3], "genre": ["a", "b", None]})
    ratings = Ratings.from_arrays(
        ["u", "u", "v"], [1, 2, 1], [5, 1, 2], weights=[1, 2, 3], times=[3, 2, 1],
        item_features=about,
    )  # fmt: skip
    OneFactor().fit(ratings).save(tmp_path / "model")
    loaded = edgewise.load(tmp_path / "model").ratings_
    assert loaded.weights.tolist() == ratings.weights.tolist()
    assert loaded.times.tolist() == ratings.times.tolist()
    assert loaded.item_features.names == ["year", "genre"]
    assert loaded.item_ids.values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("ids", [["käse", "a\n\"b'"], ["", " "], ["\u2028", "𝄞"]])
def test_ids_of_any_signs(tmp_path, ids):
    OneFactor().fit(Ratings.from_arrays(ids, ids, [1, 2])).save(tmp_path / "model")
    assert set(edgewise.load(tmp_path / "model").ratings_.user_ids.values) == set(ids)


def test_files_hold_names_and_numbers_only(ratings, tmp_path):
    OneFactor().fit(ratings).save(tmp_path / "model")
    header, names = members(tmp_path / "model")
    assert header["estimator"] == "OneFactor"
    assert header["parameters"] == {"shrink": 0.0, "random_state": None, "verbose": 0}
    assert all(name == "model.json" or name.endswith(".npy") for name in names)


def put(name, value):
    return lambda header, arrays: arrays.__setitem__(f"{name}.npy", value)


HOSTILE = {
    "a kind that is not there": lambda header, arrays: header.update(estimator="Nothing"),
    "a module": lambda header, arrays: header.update(estimator="os"),
    "a kind that is no name": lambda header, arrays: header.update(estimator=["OneFactor"]),
    "a parameter too many": lambda header, arrays: header["parameters"].update(more=1),
    "a parameter out of range": lambda header, arrays: header["parameters"].update(shrink=-1),
    "a private attribute": lambda header, arrays: header["state"].update(_x_=1),
    "a method": lambda header, arrays: header["state"].update(predict=1),
    "a property": lambda header, arrays: header["state"].update(n_users_=1),
    "a private array": lambda header, arrays: put("_x_", np.ones(2))(
        header["state"].update(_x_={"array": None}), arrays
    ),
    "a mask that is none": put("known_users_", np.ones(2)),
    "a mask of another size": put("known_items_", np.ones(2, dtype=bool)),
    "numbers of another size": put("user_numbers_", np.ones(5)),
    "numbers of another shape": put("user_numbers_", np.ones((2, 1))),
    "an array of words for a number": lambda header, arrays: header["state"].update(low_="1"),
    "no numbers": put("item_numbers_", np.full(3, np.nan)),
    "ratings of users that are not there": put("ratings_.users", np.full(5, 2, np.int32)),
    "ratings of items that are not there": put("ratings_.items", np.full(5, -1, np.int32)),
    "a sparse matrix without parts": lambda header, arrays: header["state"].update(
        table_={"sparse": [2, 2]}
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(ratings, tmp_path, name):
    path = tmp_path / "model"
    OneFactor().fit(ratings).save(path)
    rewrite(path, HOSTILE[name])
    with pytest.raises(ModelFileError):
        edgewise.load(path)


def test_a_sparse_matrix_with_places_out_of_range_is_refused(ratings, tmp_path):
    path = tmp_path / "model"
    Odd().fit(ratings).save(path)
    rewrite(path, put("table_.indices", np.array([7], dtype=np.int32)))
    with pytest.raises(ModelFileError):
        edgewise.load(path)


def settings(**values):
    return lambda header, arrays: header["parameters"].update(values)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (edgewise.ItemKNN(), settings(n_neighbors=10**30)),
        (edgewise.ItemKNN(), settings(n_jobs="2")),
        (edgewise.RandomRecommender(), lambda h, _: h["state"].update(seed_={"value": -5})),
        (edgewise.RankBoostRecommender(), lambda h, _: h["state"].update(seed_=2**64)),
        (edgewise.BiasBaseline(), lambda h, _: h["state"].update(intercept_={"value": "x"})),
        (edgewise.RankBoostRecommender(), settings(n_rounds=2 * 10**9)),
        (edgewise.NonNegativeFactorization(), settings(n_epochs=2 * 10**9)),
    ],
)
def test_settings_that_no_call_can_use_are_refused(ratings, tmp_path, model, change):
    path = tmp_path / "model"
    model.fit(ratings).save(path)
    rewrite(path, change)
    with pytest.raises(ModelFileError):
        edgewise.load(path)


def test_new_users_take_the_factors_of_a_model_whatever_its_settings(ratings, tmp_path):
    model = edgewise.NonNegativeFactorization(2, n_epochs=3, random_state=0).fit(ratings)
    model.save(tmp_path / "model")
    rewrite(tmp_path / "model", settings(n_factors=2**31 - 1))
    new = {"new": {"x": 5}}
    ours, theirs = (one.fold_in(new) for one in (model, edgewise.load(tmp_path / "model")))
    np.testing.assert_array_equal(ours.user_factors_, theirs.user_factors_)


def test_settings_that_no_file_can_hold_are_not_saved(ratings, tmp_path):
    model = edgewise.ItemKNN().fit(ratings).set_params(n_neighbors=0)
    with pytest.raises(ValueError, match="n_neighbors"):
        model.save(tmp_path / "model")


def test_one_long_id_does_not_take_its_length_for_every_user(tmp_path):
    users = [str(user) for user in range(600)]
    edgewise.BiasBaseline().fit(Ratings.from_arrays(users, [1] * 600)).save(tmp_path / "model")
    users[0] = "x" * 500_000
    rewrite(tmp_path / "model", lambda h, _: h["state"]["ratings_"].update(user_ids=users))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="similar lengths"):
            edgewise.load(tmp_path / "model")
        with pytest.raises(ValueError, match="users must be of similar lengths: 'xxxx"):
            Ratings.from_arrays(users, [1] * 600)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
