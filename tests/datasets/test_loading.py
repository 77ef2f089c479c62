import dataclasses
import re
import subprocess
import sys

import pytest

from edgewise import datasets
from edgewise.datasets import catalog, formats, loading


def test_unknown_names_list_the_known_ones():
    for call in (datasets.load, datasets.info, datasets.available):
        with pytest.raises(ValueError, match=r"name must be one of 'letter', 'pen.*got 'leter'"):
            call("leter")
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.load(["letter"])


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_is_complete(name):
    facts, entry = datasets.info(name), catalog.find_entry(name)
    assert facts.name == name
    assert all((facts.title, facts.license, facts.citation, facts.description))
    assert facts.source.startswith("http")
    for file in entry.all_files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.addresses or "https://" in file.by_hand or facts.kind == "classification"
        assert all(address.startswith("https://") for address in file.addresses)
    if facts.kind == "classification":
        assert min(facts.n_train, facts.n_features, facts.n_classes) > 0
        assert 0 <= facts.n_categorical <= facts.n_features
        if not facts.multilabel:
            assert len(entry.classes) == facts.n_classes
    if facts.kind == "ranking":
        assert len(entry.all_files) == len(facts.n_rows) == len(facts.n_queries) == 5
    if facts.kind == "ratings":
        assert len(entry.files.get("tests", ())) == len(facts.splits) == len(facts.n_held_out)
        assert facts.n_folds == 0 or sum(facts.n_held_out[: facts.n_folds]) == facts.n_ratings
    elif not facts.multilabel:
        assert len(entry.columns) == len(set(entry.columns)) == facts.n_features


@pytest.mark.parametrize("name", datasets.names())
def test_a_missing_file_is_named(name, tmp_path):
    if datasets.info(name).n_categorical:
        pytest.importorskip("pandas")
    file = catalog.find_entry(name).all_files[0]
    with pytest.raises(datasets.DatasetNotFoundError) as caught:
        datasets.load(name, data_home=tmp_path, download=False)
    source = file.by_hand or file.addresses[0].partition("#")[0]
    for hint in (file.path, source, str(tmp_path), "EDGEWISE_DATA"):
        assert hint in str(caught.value)


def test_a_loaded_set_carries_its_facts(toy, cache):
    loaded = datasets.load("toy")
    assert repr(loaded) == "Dataset('toy', train=(3, 2), test=(2, 2), classes=2)"
    assert loaded.feature_names == ("a", "b")
    assert loaded.target_names == ("no", "yes")
    assert loaded.info is toy.info
    assert (loaded.info.license, loaded.info.citation) == ("CC0", "A. Nonymous.")
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.info = None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_train": 4}, "toy, train: expected 4 rows, found 3"),
        ({"n_test": 1}, "toy, test: expected 1 rows, found 2"),
        ({"n_features": 3}, "toy, train: expected 3 columns, found 2"),
        ({"n_classes": 3}, "toy, train: expected 3 classes, found 2"),
        ({"n_categorical": 1}, "toy, train: expected 1 categorical columns, found 0"),
    ],
)
def test_wrong_counts_are_refused(toy, cache, monkeypatch, wrong, message):
    entry = dataclasses.replace(toy, info=dataclasses.replace(toy.info, **wrong))
    monkeypatch.setitem(catalog.entries(), "toy", entry)
    with pytest.raises(datasets.DatasetMismatchError, match=message):
        datasets.load("toy")


def test_one_file_is_cut_at_the_standard_split(toy, cache, monkeypatch):
    info = dataclasses.replace(toy.info, n_train=2, n_test=1, n_classes=1)
    entry = dataclasses.replace(toy, info=info, files=train_only(toy))
    monkeypatch.setattr(loading, "read_numbers", constant_class)
    monkeypatch.setitem(catalog.entries(), "toy", entry)
    loaded = datasets.load("toy")
    assert loaded.X_train.tolist() == [[0.5, 1.5], [2.5, 3.5]]
    assert loaded.X_test.tolist() == [[4.5, 5.5]]


def test_without_a_split_all_rows_train(toy, cache, monkeypatch):
    info = dataclasses.replace(toy.info, n_test=0)
    monkeypatch.setitem(
        catalog.entries(), "toy", dataclasses.replace(toy, info=info, files=train_only(toy))
    )
    loaded = datasets.load("toy")
    assert loaded.X_train.tolist() == [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]
    assert loaded.y_train.tolist() == [0, 1, 1]
    assert loaded.X_test is None
    assert loaded.y_test is None
    assert repr(loaded) == "Dataset('toy', train=(3, 2), test=None, classes=2)"


def test_without_a_split_every_row_must_be_there(toy, cache, monkeypatch):
    info = dataclasses.replace(toy.info, n_train=2, n_test=0)
    monkeypatch.setitem(
        catalog.entries(), "toy", dataclasses.replace(toy, info=info, files=train_only(toy))
    )
    with pytest.raises(datasets.DatasetMismatchError, match="expected 2 rows, found 3"):
        datasets.load("toy")


def test_without_pandas_a_set_with_categorical_columns_says_how_to_go_on(
    toy, monkeypatch, publisher
):
    info = dataclasses.replace(toy.info, n_categorical=1)
    monkeypatch.setitem(catalog.entries(), "toy", dataclasses.replace(toy, info=info))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"toy has categorical columns.*edgewise\[frames\]"):
        datasets.load("toy")
    assert publisher.requests == []


def train_only(toy: catalog.Entry) -> dict:
    return {"train": toy.files["train"]}


def constant_class(content: bytes, **options) -> formats.LabeledTable:
    rows = formats.read_numbers(content, **options)
    return formats.LabeledTable(rows.X, rows.y * 0)


def test_sides_with_different_columns_are_refused(toy, cache, monkeypatch):
    def read(content: bytes, **options) -> formats.LabeledTable:
        rows = formats.read_numbers(content, **options)
        return formats.LabeledTable(rows.X, rows.y, (f"first of {len(rows.y)}", "second"))

    monkeypatch.setattr(loading, "read_numbers", read)
    with pytest.raises(datasets.DatasetMismatchError, match="different columns"):
        datasets.load("toy")


def test_kinds_divide_the_names():
    kinds = [datasets.names(kind) for kind in ("classification", "ranking", "ratings")]
    assert sum(kinds, ()) == datasets.names()
    assert all(datasets.info(name).kind == "ratings" for name in kinds[2])
    with pytest.raises(ValueError, match="kind must be one of 'classification'"):
        datasets.names("regression")


def test_importing_stays_light():
    heavy = "{'numba', 'pooch', 'pandas', 'polars', 'pyarrow', 'sklearn', 'narwhals', 'requests'}"
    code = f"import sys, edgewise.datasets; sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
