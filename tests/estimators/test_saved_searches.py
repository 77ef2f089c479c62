"""What searches have learned, and their settings, in model files."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import edgewise
from edgewise import AdaBoostMH, ModelFileError, RankBoost, Search, load
from edgewise.model import read, write
from edgewise.model.file import SettingOrNone
from edgewise.search import SEARCHES

X = np.random.default_rng(0).normal(size=(30, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)

STATES = [
    {"sums": np.array([0.5, 0.25, 0.0]), "counts": np.array([1, 2, 3])},
    {},
    {"rounds": np.array([7])},
]


def with_states(model, states):
    return model._with(replace(model.fitted_, search_states=states))


@pytest.fixture(params=[AdaBoostMH, RankBoost], ids=lambda kind: kind.__name__)
def model(request):
    learned = request.param(n_rounds=3).fit(X, Y)
    return with_states(learned, tuple(dict(state) for state in STATES))


def test_what_searches_learned_comes_back(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert [list(state) for state in loaded.fitted_.search_states] == [
        ["counts", "sums"],
        [],
        ["rounds"],
    ]
    for state, saved in zip(loaded.fitted_.search_states, STATES, strict=True):
        for name, values in state.items():
            assert values.dtype == saved[name].dtype
            np.testing.assert_array_equal(values, saved[name])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_model_without_states(model, tmp_path):
    with_states(model, ()).save(tmp_path / "none")
    assert load(tmp_path / "none").fitted_.search_states == ()


def test_other_numbers_are_stored_as_the_widest_of_their_kind(model, tmp_path):
    states = ({"a": np.array([1, 0], dtype=bool), "b": np.float32(0.5), "c": 3},)
    with_states(model, states).save(tmp_path / "model")
    state = load(tmp_path / "model").fitted_.search_states[0]
    assert [state[name].dtype for name in "abc"] == [np.int64, np.float64, np.int64]
    assert [state[name].tolist() for name in "abc"] == [[1, 0], [0.5], [3]]


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.5, np.nan]),
        np.array([np.inf]),
        np.ones((2, 2)),
        np.array(1.0),
        np.ones(3, dtype=np.float32),
        np.ones(3, dtype=np.int32),
        np.ones(3, dtype=bool),
    ],
    ids=["nan", "infinite", "matrix", "scalar", "float32", "int32", "bool"],
)
def test_a_damaged_state(model, tmp_path, values):
    model.save(tmp_path / "model")
    header, arrays = read(tmp_path / "model")
    write(tmp_path / "bad", header, {**arrays, "fitted_.search_states.0.sums": values})
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad")


@pytest.mark.parametrize(
    "searches",
    [
        None,
        3,
        "sums",
        {"0": ["sums"]},
        [None],
        [3],
        ["sums"],
        [[3]],
        [{"../x": None}],
        [{}, {"sums": None}],
    ],
    ids=str,
)
def test_a_damaged_list_of_states(model, tmp_path, searches):
    model.save(tmp_path / "model")
    header, arrays = read(tmp_path / "model")
    fitted = {**header["state"]["fitted_"], "search_states": searches}
    write(tmp_path / "bad", {**header, "state": {"fitted_": fitted}}, arrays)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad")


def test_a_missing_state(model, tmp_path):
    model.save(tmp_path / "model")
    header, arrays = read(tmp_path / "model")
    for name in [name for name in arrays if ".search_states." in name]:
        others = {other: array for other, array in arrays.items() if other != name}
        write(tmp_path / "bad", header, others)
        with pytest.raises(ModelFileError):
            load(tmp_path / "bad")
    del header["state"]["fitted_"]["search_states"]
    write(tmp_path / "bad", header, arrays)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad")


# Settings.


class Picky(Search):
    def __init__(self, k=2, horizon=None, rates=(0.1, None)):
        self.k = k
        self.horizon = horizon
        self.rates = rates

    def pull(self, n=None):
        return self.columns_[: self.k]


@pytest.fixture
def picky(monkeypatch):
    """Let files name the class as if it were the library's."""
    monkeypatch.setattr(edgewise, "__all__", [*edgewise.__all__, "Picky"])
    monkeypatch.setattr(edgewise, "Picky", Picky, raising=False)


def test_a_setting_that_is_none_is_stored(picky):
    stored = SettingOrNone().pack(Picky(k=3), "search", {})
    assert stored == {
        "class": "Picky",
        "parameters": {"k": 3, "horizon": None, "rates": {"tuple": [0.1, None]}},
    }
    again = SettingOrNone().unpack(json.loads(json.dumps(stored)), "search", {}, {})
    assert (type(again), again.k, again.horizon) == (Picky, 3, None)
    assert again.rates == (0.1, None)


def test_what_no_file_can_hold_is_none():
    assert SettingOrNone().pack(Picky(), "search", {}) is None


def test_settings_that_no_file_can_hold_are_none(picky):
    assert SettingOrNone().pack(Picky(horizon=len), "search", {}) is None
    assert SettingOrNone().pack([Picky(), Picky(horizon=object())], "search", {}) is None


def test_arrays_and_dicts_come_back(picky):
    arrays = {}
    setting = Picky(horizon=np.arange(3), rates={1: [0.5], "a": (None, "b")})
    stored = SettingOrNone().pack(setting, "search", arrays)
    again = SettingOrNone().unpack(json.loads(json.dumps(stored)), "search", arrays, {})
    np.testing.assert_array_equal(again.horizon, np.arange(3))
    assert again.rates == setting.rates


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_every_search_comes_back_with_its_settings(name, tmp_path):
    search = SEARCHES[name]()
    AdaBoostMH("stump", preset="paper", search=search, n_rounds=3, random_state=0).fit(X, Y).save(
        tmp_path / "m"
    )
    loaded = load(tmp_path / "m")
    assert type(loaded.search) is type(search)
    assert loaded.search.get_params() == search.get_params()
    with zipfile.ZipFile(tmp_path / "m") as archive:
        saved = json.loads(archive.read("model.json"))
    assert "search" not in saved["unsaved"]
