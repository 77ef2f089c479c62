import dataclasses
import gzip
import io
import logging
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from edgewise import datasets
from edgewise.datasets import catalog, files
from edgewise.datasets.catalog import DataFile
from edgewise.datasets.files import DataFolders, decompress, sha256_of

pytestmark = pytest.mark.usefixtures("cache")


def content_of(file: DataFile) -> bytes:
    return DataFolders().content(file, download=True)


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# Where a copy is looked for


def test_the_data_folder_comes_before_the_cache(toy, cache, tmp_path, monkeypatch, publisher):
    (train,) = toy.files["train"]
    folder = tmp_path / "data"
    monkeypatch.setenv("EDGEWISE_DATA", str(folder))
    in_cache = put(cache, "toy/train.data", gzip.decompress(publisher.pages["/train.data.gz"]))
    assert DataFolders().find(train) == in_cache
    in_folder = put(folder, "toy/train.data.gz", publisher.pages["/train.data.gz"])
    assert DataFolders().find(train) == in_folder
    assert content_of(train) == in_cache.read_bytes()
    assert publisher.requests == []


def test_data_home_replaces_both_folders(toy, cache, tmp_path):
    (test,) = toy.files["test"]
    put(cache, "toy/test.data", b"6.5,7.5,0\n8.5,9.5,1\n")
    store = DataFolders(tmp_path / "elsewhere")
    assert list(store.folders()) == [tmp_path / "elsewhere"]
    assert store.find(test) is None


def test_data_home_must_not_be_a_file(tmp_path):
    path = put(tmp_path, "file", b"")
    with pytest.raises(NotADirectoryError, match="data_home"):
        datasets.load("letter", data_home=path)


def test_without_pooch_the_data_folder_still_serves(toy, tmp_path, monkeypatch, publisher):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("EDGEWISE_DATA", str(tmp_path))
    put(tmp_path, "toy/train.data.gz", publisher.pages["/train.data.gz"])
    put(tmp_path, "toy/test.data", publisher.pages["/test.data.gz"])
    assert datasets.available("toy")
    assert datasets.load("toy").X_test.tolist() == [[6.5, 7.5], [8.5, 9.5]]


def test_without_a_home_folder_a_download_needs_data_home(toy, tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda project: Path("~/.cache") / project)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    assert not datasets.available("toy")
    with pytest.raises(datasets.DatasetNotFoundError, match=r"no home folder .* data_home"):
        datasets.load("toy")
    assert len(datasets.load("toy", data_home=tmp_path).X_train) == 3


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
    assert toy.files["train"][0].sha256 in str(caught.value)
    assert "found" in str(caught.value)
    assert publisher.requests == []


def test_values_are_hashed_whatever_their_order_and_format():
    item = b"-0.4394, 0.0000, 1.\n0.5000, 1.0000, 26.\n"
    two = b"0.5,1,26\r\n-4.394e-1,-0.0,1\r\n"
    file = DataFile("a", "", hash="values", decimals=4)

    def digest(content: bytes) -> str:
        return sha256_of(file, content)

    assert digest(item) == digest(two)
    assert digest(item) != digest(item.replace(b"0.4394", b"0.4395"))
    assert digest(item) != digest(item + b"0.5000, 1.0000, 26.\n")


def test_values_that_cannot_be_parsed_are_a_mismatch(cache):
    file = DataFile("a", "0" * 64, hash="values", decimals=1)
    put(cache, "a", b"<html>not found</html>")
    with pytest.raises(datasets.DatasetMismatchError, match="cannot be read"):
        content_of(file)


# Downloads


def test_a_download_is_verified_cached_and_not_repeated(toy, cache, publisher):
    assert not datasets.available("toy")
    first = datasets.load("toy")
    assert publisher.requests == ["/train.data.gz", "/test.data.gz"]
    assert files_below(cache) == ["toy/test.data.gz", "toy/train.data.gz"]
    assert (
        gzip.decompress((cache / "toy/test.data.gz").read_bytes())
        == publisher.pages["/test.data.gz"]
    )
    assert datasets.available("toy")
    second = datasets.load("toy", download=False)
    assert len(publisher.requests) == 2
    assert second.X_train.tolist() == first.X_train.tolist() == [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]


def test_a_download_goes_to_data_home(toy, cache, tmp_path):
    datasets.load("toy", data_home=tmp_path / "new" / "folder")
    assert files_below(tmp_path / "new/folder") == ["toy/test.data.gz", "toy/train.data.gz"]
    assert not cache.exists()


def test_a_download_logs_license_and_citation_once(toy, caplog):
    with caplog.at_level(logging.INFO, logger="edgewise.datasets"):
        datasets.load("toy")
    notices = [record.message for record in caplog.records if "License" in record.message]
    assert notices == ["Downloading toy. License: CC0. Please cite: A. Nonymous."]


def test_a_wrong_download_is_refused_and_leaves_nothing(toy, cache, publisher):
    publisher.pages["/train.data.gz"] = gzip.compress(b"1,2,0\n")
    with pytest.raises(datasets.DatasetMismatchError, match=r"train\.data\.gz.*expected.*found"):
        datasets.load("toy")
    assert not cache.exists() or files_below(cache) == []


def test_a_download_cut_short_is_refused_and_leaves_nothing(toy, cache, publisher):
    publisher.cut_short = True
    with pytest.raises((datasets.DatasetMismatchError, datasets.DatasetNotFoundError)):
        datasets.load("toy")
    assert not cache.exists() or files_below(cache) == []


def test_the_next_address_is_tried(toy, publisher):
    (train,) = toy.files["train"]
    publisher.pages["/broken"] = b"something else"
    addresses = tuple(f"{publisher.address}/{page}" for page in ("gone", "broken"))
    file = dataclasses.replace(train, addresses=addresses + train.addresses)
    assert content_of(file).startswith(b"0.5,1.5,0")
    assert publisher.requests == ["/gone", "/broken", "/train.data.gz"]


def test_offline_says_what_to_get_and_where_to_put_it(toy, cache, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/train.data.gz"
    train = (dataclasses.replace(toy.files["train"][0], addresses=(url,)),)
    entry = dataclasses.replace(toy, files={**toy.files, "train": train})
    monkeypatch.setitem(catalog.entries(), "toy", entry)
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
        archive.writestr("train.data", gzip.decompress(publisher.pages["/train.data.gz"]))
        archive.writestr("test.data", publisher.pages["/test.data.gz"])
    publisher.pages["/toy.zip"] = packed.getvalue()
    sides = {
        side: (dataclasses.replace(file, addresses=(f"{publisher.address}/toy.zip#{side}.data",)),)
        for side, (file,) in toy.files.items()
    }
    monkeypatch.setitem(catalog.entries(), "toy", dataclasses.replace(toy, files=sides))
    assert datasets.load("toy").y_train.tolist() == [0, 1, 1]
    assert publisher.requests == ["/toy.zip"]


def test_a_member_may_be_an_archive(toy, publisher):
    (train,) = toy.files["train"]
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("train.data", gzip.decompress(publisher.pages["/train.data.gz"]))
    with tarfile.open(fileobj=outer, mode="w:gz") as archive:
        member = tarfile.TarInfo("toy-1.0/train.zip")
        member.size = len(inner.getvalue())
        archive.addfile(member, io.BytesIO(inner.getvalue()))
    publisher.pages["/toy.tar.gz"] = outer.getvalue()
    address = f"{publisher.address}/toy.tar.gz#toy-1.0/train.zip#train.data"
    assert content_of(dataclasses.replace(train, addresses=(address,))).startswith(b"0.5,1.5,0")
    publisher.pages["/toy.tar.gz"] = outer.getvalue()[:-40]
    with pytest.raises(datasets.DatasetMismatchError, match="archive"):
        content_of(dataclasses.replace(train, path="again", addresses=(address,)))


@pytest.mark.parametrize("page", ["/test.data.gz", "/empty.zip"])
def test_an_archive_without_the_member_is_a_mismatch(toy, publisher, page):
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    publisher.pages["/empty.zip"] = packed.getvalue()
    address = f"{publisher.address}{page}#train.data"
    with pytest.raises(datasets.DatasetMismatchError, match="zip or tar archive"):
        content_of(dataclasses.replace(toy.files["train"][0], addresses=(address,)))


def test_a_failed_download_is_tried_again(toy, publisher, monkeypatch):
    monkeypatch.setattr(files, "_RETRIES", 1)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    content = publisher.pages.pop("/test.data.gz")
    with pytest.raises(datasets.DatasetNotFoundError):
        content_of(toy.files["test"][0])
    assert publisher.requests == ["/test.data.gz"] * 2
    publisher.pages["/test.data.gz"] = content
    assert content_of(toy.files["test"][0]) == content


# Compressed copies


@pytest.mark.parametrize(
    "content",
    [
        b"\x1f\x9d",
        b"\x1f\x9d\xff\x00",  # flags that no compress(1) writes
        b"\x1f\x9d\x90\xff\xff\xff",  # a code far past the table
        gzip.compress(b"1,2\n", mtime=0)[:-6],
        gzip.compress(b"1,2\n", mtime=0)[:12] + b"\xff" * 8,
    ],
    ids=["no flags", "unknown flags", "undefined code", "cut gzip", "garbled gzip"],
)
def test_damaged_content_is_refused(content: bytes):
    with pytest.raises(ValueError, match="damaged"):
        decompress(content)


def test_content_that_expands_without_end_is_a_mismatch(toy, publisher, monkeypatch):
    monkeypatch.setattr(files, "_MAX_BYTES", 1000)
    (train,) = toy.files["train"]
    publisher.pages["/train.data.gz"] = gzip.compress(bytes(10_000))
    with pytest.raises(datasets.DatasetMismatchError, match="1,000 bytes"):
        content_of(train)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("train.data", bytes(10_000))
    publisher.pages["/toy.zip"] = packed.getvalue()
    address = f"{publisher.address}/toy.zip#train.data"
    with pytest.raises(datasets.DatasetMismatchError, match="1,000 bytes"):
        content_of(dataclasses.replace(train, addresses=(address,)))


def test_decompress_goes_by_the_first_bytes():
    # Three literal codes of nine bits, as compress(1) writes "abc".
    packed = b"\x1f\x9d\x90" + (ord("a") | ord("b") << 9 | ord("c") << 18).to_bytes(4, "little")
    assert decompress(packed) == b"abc"
    assert decompress(gzip.compress(b"1,2\n")) == b"1,2\n"
    assert decompress(b"1,2\n") == b"1,2\n"
    assert decompress(b"") == b""


@pytest.mark.skipif(shutil.which("compress") is None, reason="needs compress(1)")
def test_decompress_reads_what_compress_writes():
    text = b"".join(b"%d,%d\n" % (i * i % 97, i) for i in range(20_000))
    packed = subprocess.run(["compress", "-c"], input=text, capture_output=True, check=True).stdout
    assert decompress(packed) == text


def test_without_unlzw3_it_says_how_to_go_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "unlzw3", None)
    with pytest.raises(ImportError, match=r"gzip.*edgewise\[data\]"):
        decompress(b"\x1f\x9d\x90\x61\x00")
