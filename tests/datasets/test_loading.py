import dataclasses
import re
import subprocess
import sys

import pytest

from edgewise import datasets
from edgewise.datasets import formats, registry


def test_unknown_names_list_the_known_ones():
    for call in (datasets.load, datasets.info, datasets.available):
        with pytest.raises(ValueError, match=r"name='leter' must be one of letter, pendigits"):
            call("leter")
    with pytest.raises(ValueError, match="name="):
        datasets.load(["letter"])


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_is_complete(name):
    facts, entry = datasets.info(name), registry.ENTRIES[name]
    assert facts.name == name
    assert facts.licence
    assert facts.citation
    assert facts.description
    assert facts.source.startswith("http")
    assert min(facts.n_train, facts.n_features, facts.n_classes) > 0
    assert facts.n_test >= 0
    assert 0 <= facts.n_categorical <= facts.n_features
    for file in entry.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert all(source.url.startswith("https://") for source in file.sources)
    if not facts.multilabel:
        assert len(entry.feature_names) == facts.n_features
        assert len(entry.target_names) == facts.n_classes


@pytest.mark.parametrize("name", datasets.names())
def test_every_set_has_its_own_function(name, tmp_path):
    if datasets.info(name).n_categorical:
        pytest.importorskip("pandas")
    path = registry.ENTRIES[name].files[0].path
    with pytest.raises(datasets.DatasetNotFoundError, match=re.escape(path)):
        getattr(datasets, f"load_{name}")(data_home=tmp_path, download=False)


def test_a_loaded_set_carries_its_facts(toy, cache):
    loaded = datasets.load("toy")
    assert repr(loaded) == "Dataset('toy', train=(3, 2), test=(2, 2), classes=2)"
    assert loaded.feature_names == ("a", "b")
    assert loaded.target_names == ("no", "yes")
    assert (loaded.licence, loaded.citation) == ("CC0", "A. Nonymous.")
    assert loaded.source == toy.info.source
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.name = "other"


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
    monkeypatch.setitem(registry.ENTRIES, "toy", entry)
    with pytest.raises(datasets.DatasetMismatchError, match=message):
        datasets.load("toy")


def test_one_file_is_cut_at_the_standard_split(toy, cache, monkeypatch):
    info = dataclasses.replace(toy.info, n_train=2, n_test=1, n_classes=1)
    entry = dataclasses.replace(toy, info=info, test=(), read=constant_class)
    monkeypatch.setitem(registry.ENTRIES, "toy", entry)
    loaded = datasets.load("toy")
    assert loaded.X_train.tolist() == [[0.5, 1.5], [2.5, 3.5]]
    assert loaded.X_test.tolist() == [[4.5, 5.5]]


def test_without_a_split_all_rows_train(toy, cache, monkeypatch):
    info = dataclasses.replace(toy.info, n_test=0)
    monkeypatch.setitem(registry.ENTRIES, "toy", dataclasses.replace(toy, info=info, test=()))
    loaded = datasets.load("toy")
    assert loaded.X_train.tolist() == [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]
    assert loaded.y_train.tolist() == [0, 1, 1]
    assert loaded.X_test is None
    assert loaded.y_test is None
    assert repr(loaded) == "Dataset('toy', train=(3, 2), test=None, classes=2)"


def test_without_a_split_every_row_must_be_there(toy, cache, monkeypatch):
    info = dataclasses.replace(toy.info, n_train=2, n_test=0)
    monkeypatch.setitem(registry.ENTRIES, "toy", dataclasses.replace(toy, info=info, test=()))
    with pytest.raises(datasets.DatasetMismatchError, match="expected 2 rows, found 3"):
        datasets.load("toy")


def test_without_pandas_a_set_with_categorical_columns_says_how_to_go_on(
    toy, monkeypatch, publisher
):
    info = dataclasses.replace(toy.info, n_categorical=1)
    monkeypatch.setitem(registry.ENTRIES, "toy", dataclasses.replace(toy, info=info))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"name='toy' has categorical columns.*edgewise\[frames\]"
    ):
        datasets.load("toy")
    assert publisher.requests == []


def constant_class(content: bytes) -> formats.Table:
    table = formats.class_last(content)
    return formats.Table(table.X, table.y * 0)


def test_sides_with_different_columns_are_refused(toy, cache, monkeypatch):
    def read(content: bytes) -> formats.Table:
        table = formats.class_last(content)
        return formats.Table(table.X, table.y, (f"first of {len(table.y)}", "second"))

    monkeypatch.setitem(registry.ENTRIES, "toy", dataclasses.replace(toy, read=read))
    with pytest.raises(datasets.DatasetMismatchError, match="different columns"):
        datasets.load("toy")


def test_importing_stays_light():
    heavy = "{'numba', 'pooch', 'pandas', 'sklearn', 'requests'}"
    code = f"import sys, edgewise.datasets; sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
