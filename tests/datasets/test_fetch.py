import dataclasses
import gzip
import io
import logging
import socket
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

from edgewise import datasets
from edgewise.datasets import registry
from edgewise.datasets.fetch import File, Source, Store, values_sha256

pytestmark = pytest.mark.usefixtures("cache")


def content_of(file: File) -> bytes:
    return Store().content(file, download=True)


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# Where a copy is looked for


def test_the_data_folder_comes_before_the_cache(toy, cache, tmp_path, monkeypatch, publisher):
    (train,) = toy.train
    folder = tmp_path / "data"
    monkeypatch.setenv("EDGEWISE_DATA", str(folder))
    in_cache = put(cache, "toy/train.data", gzip.decompress(publisher.pages["/train.gz"]))
    assert Store().find(train) == in_cache
    in_folder = put(folder, "toy/train.data.gz", publisher.pages["/train.gz"])
    assert Store().find(train) == in_folder
    assert content_of(train) == in_cache.read_bytes()
    assert publisher.requests == []


def test_data_home_replaces_both_folders(toy, cache, tmp_path):
    (test,) = toy.test
    put(cache, "toy/test.data", b"6.5,7.5,0\n8.5,9.5,1\n")
    store = Store(tmp_path / "elsewhere")
    assert list(store.folders()) == [tmp_path / "elsewhere"]
    assert store.find(test) is None


def test_data_home_must_not_be_a_file(tmp_path):
    path = put(tmp_path, "file", b"")
    with pytest.raises(NotADirectoryError, match="data_home"):
        datasets.load("letter", data_home=path)


def test_without_pooch_the_data_folder_still_serves(toy, tmp_path, monkeypatch, publisher):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("EDGEWISE_DATA", str(tmp_path))
    put(tmp_path, "toy/train.data.gz", publisher.pages["/train.gz"])
    put(tmp_path, "toy/test.data", publisher.pages["/test"])
    assert datasets.available("toy")
    assert datasets.load("toy").X_test.tolist() == [[6.5, 7.5], [8.5, 9.5]]


def test_without_pooch_a_download_says_how_to_go_on(toy, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert not datasets.available("toy")
    with pytest.raises(ImportError, match=r"edgewise\[data\].*EDGEWISE_DATA"):
        datasets.load("toy")
    with pytest.raises(ImportError, match=r"edgewise\[data\]"):
        datasets.load("toy", data_home=tmp_path)


# What a copy must hold


@pytest.mark.parametrize("name", ["toy/train.data", "toy/train.data.gz", "toy/train.data.Z"])
@pytest.mark.parametrize(
    "content",
    [b"0.5,1.5,0\n", b"", gzip.compress(b"0.5", mtime=0)[:-4], b"\x1f\x9d"],
    ids=["rows lost", "empty", "cut gzip", "cut Z"],
)
def test_a_corrupted_copy_is_named_with_both_checksums(toy, cache, name, content, publisher):
    path = put(cache, name, content)
    with pytest.raises(datasets.DatasetMismatchError) as caught:
        datasets.load("toy")
    assert str(path) in str(caught.value)
    assert toy.train[0].sha256 in str(caught.value)
    assert "found" in str(caught.value)
    assert publisher.requests == []


def test_values_are_hashed_whatever_their_order_and_format():
    one = b"-0.4394, 0.0000, 1.\n0.5000, 1.0000, 26.\n"
    two = b"0.5,1,26\r\n-4.394e-1,-0.0,1\r\n"
    digest = partial(values_sha256, delimiter=",", decimals=4)
    assert digest(one) == digest(two)
    assert digest(one) != digest(one.replace(b"0.4394", b"0.4395"))
    assert digest(one) != digest(one + b"0.5000, 1.0000, 26.\n")


def test_values_that_cannot_be_parsed_are_a_mismatch(cache):
    file = File("a", (), "0" * 64, partial(values_sha256, delimiter=",", decimals=1))
    put(cache, "a", b"<html>not found</html>")
    with pytest.raises(datasets.DatasetMismatchError, match="cannot be read"):
        content_of(file)


# Downloads


def test_a_download_is_verified_cached_and_not_repeated(toy, cache, publisher):
    assert not datasets.available("toy")
    first = datasets.load("toy")
    assert publisher.requests == ["/train.gz", "/test"]
    assert files_below(cache) == ["toy/test.data.gz", "toy/train.data.gz"]
    assert gzip.decompress((cache / "toy/test.data.gz").read_bytes()) == publisher.pages["/test"]
    assert datasets.available("toy")
    second = datasets.load("toy", download=False)
    assert len(publisher.requests) == 2
    assert second.X_train.tolist() == first.X_train.tolist() == [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]


def test_a_download_goes_to_data_home(toy, cache, tmp_path):
    datasets.load("toy", data_home=tmp_path / "new" / "folder")
    assert files_below(tmp_path / "new/folder") == ["toy/test.data.gz", "toy/train.data.gz"]
    assert not cache.exists()


def test_a_download_logs_licence_and_citation_once(toy, caplog):
    with caplog.at_level(logging.INFO, logger="edgewise.datasets"):
        datasets.load("toy")
    notices = [record.message for record in caplog.records if "Licence" in record.message]
    assert notices == ["Downloading toy. Licence: CC0. Please cite: A. Nonymous."]


def test_a_wrong_download_is_refused_and_leaves_nothing(toy, cache, publisher):
    publisher.pages["/train.gz"] = gzip.compress(b"1,2,0\n")
    with pytest.raises(datasets.DatasetMismatchError, match=r"train\.gz.*expected.*found"):
        datasets.load("toy")
    assert not cache.exists() or files_below(cache) == []


def test_a_download_cut_short_is_refused_and_leaves_nothing(toy, cache, publisher):
    publisher.cut_short = True
    with pytest.raises((datasets.DatasetMismatchError, datasets.DatasetNotFoundError)):
        datasets.load("toy")
    assert not cache.exists() or files_below(cache) == []


def test_the_next_address_is_tried(toy, publisher):
    (train,) = toy.train
    publisher.pages["/broken"] = b"something else"
    sources = tuple(Source(f"{publisher.address}/{page}") for page in ("gone", "broken"))
    file = dataclasses.replace(train, sources=sources + train.sources)
    assert content_of(file).startswith(b"0.5,1.5,0")
    assert publisher.requests == ["/gone", "/broken", "/train.gz"]


def test_offline_says_what_to_get_and_where_to_put_it(toy, cache, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/train.gz"
    train = (dataclasses.replace(toy.train[0], sources=(Source(url),)),)
    monkeypatch.setitem(registry.ENTRIES, "toy", dataclasses.replace(toy, train=train))
    with pytest.raises(datasets.DatasetNotFoundError) as caught:
        datasets.load("toy")
    message = str(caught.value)
    for part in (str(cache), url, "toy/train.data", "EDGEWISE_DATA", "data_home"):
        assert part in message
    assert not cache.exists() or files_below(cache) == []


def test_download_false_never_asks_the_publisher(toy, publisher):
    with pytest.raises(datasets.DatasetNotFoundError, match="download=False"):
        datasets.load("toy", download=False)
    assert publisher.requests == []


def test_members_of_one_archive_are_downloaded_once(toy, publisher, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.data", gzip.decompress(publisher.pages["/train.gz"]))
        archive.writestr("test.data", publisher.pages["/test"])
    publisher.pages["/toy.zip"] = packed.getvalue()
    sides = {
        side: (
            dataclasses.replace(
                getattr(toy, side)[0],
                sources=(Source(f"{publisher.address}/toy.zip", f"{side}.data"),),
            ),
        )
        for side in ("train", "test")
    }
    monkeypatch.setitem(registry.ENTRIES, "toy", dataclasses.replace(toy, **sides))
    assert datasets.load("toy").y_train.tolist() == [0, 1, 1]
    assert publisher.requests == ["/toy.zip"]


@pytest.mark.parametrize("page", ["/test", "/empty.zip"])
def test_an_archive_without_the_member_is_a_mismatch(toy, publisher, page):
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    publisher.pages["/empty.zip"] = packed.getvalue()
    source = Source(f"{publisher.address}{page}", "train.data")
    with pytest.raises(datasets.DatasetMismatchError, match="zip archive"):
        content_of(dataclasses.replace(toy.train[0], sources=(source,)))
