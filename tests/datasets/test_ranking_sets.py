"""Ranking sets, on a toy one in five parts."""

import dataclasses
import gzip
import hashlib
import sys

import numpy as np
import pytest

from edgewise import datasets
from edgewise.datasets import DatasetMismatchError, catalog
from edgewise.io import RankingData

PARTS = [
    b"2 qid:%d 1:0.5 2:NULL #docid = a%d\n0 qid:%d 1:1 2:3 #docid = b%d\n" % (k, k, k, k)
    for k in range(1, 6)
]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Register a ranking set 'toy' of five parts with a query each; its files lie in a folder."""
    hashes = "\n".join(
        f'"toy/P{k}.txt" = "{hashlib.sha256(part).hexdigest()}"' for k, part in enumerate(PARTS, 1)
    )
    text = f"""
        [toy]
        kind = "ranking"
        title = "Toy"
        description = "Toy."
        citation = "A. Nonymous."
        license = "CC0"
        source = "http://x"
        by_hand = "ask A. Nonymous"
        hash = "lines"
        n_rows = [2, 2, 2, 2, 2]
        n_queries = [1, 1, 1, 1, 1]
        n_features = 2
        n_grades = 2
        columns = ["x", "y"]
        [toy.files.parts]
        {hashes}
    """
    entry = catalog.parse(text)["toy"]
    monkeypatch.setitem(catalog.entries(), "toy", entry)
    monkeypatch.setenv("EDGEWISE_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    for k, part in enumerate(PARTS, start=1):
        (tmp_path / f"toy/P{k}.txt.gz").write_bytes(gzip.compress(part))
    return entry


def queries(fold):
    return ["".join(side.queries) for side in fold]


class TestToy:
    def test_it_carries_its_facts(self, toy):
        loaded = datasets.load("toy")
        assert repr(loaded) == "RankingDataset('toy', 10 rows, 2 columns, 5 queries, 5 folds)"
        assert loaded.feature_names == ("x", "y")
        info = loaded.info
        assert (info.license, info.citation, info.source) == ("CC0", "A. Nonymous.", "http://x")
        assert info.n_folds == loaded.n_folds == 5
        assert np.array_equal(loaded.parts[0].X, [[0.5, np.nan], [1, 3]], equal_nan=True)
        assert loaded.parts[4].docs.tolist() == ["a5", "b5"]
        assert datasets.available("toy")
        with pytest.raises(dataclasses.FrozenInstanceError):
            loaded.info = None

    def test_folds_go_round(self, toy):
        loaded = datasets.load("toy")
        assert [queries(loaded.fold(k)) for k in range(1, 6)] == [
            ["123", "4", "5"],
            ["234", "5", "1"],
            ["345", "1", "2"],
            ["451", "2", "3"],
            ["512", "3", "4"],
        ]
        assert loaded.fold(1).train.docs.tolist() == ["a1", "b1", "a2", "b2", "a3", "b3"]
        assert isinstance(loaded.fold(1).valid, RankingData)

    def test_folds_may_begin_elsewhere(self, toy, monkeypatch):
        monkeypatch.setitem(catalog.entries(), "toy", dataclasses.replace(toy, first=1))
        loaded = datasets.load("toy")
        assert queries(loaded.fold(1)) == ["234", "5", "1"]
        assert queries(loaded.fold(5)) == ["123", "4", "5"]

    @pytest.mark.parametrize("k", [0, 6, -1])
    def test_other_folds_are_refused(self, toy, k):
        with pytest.raises(ValueError, match="k must be an integer from 1 to 5"):
            datasets.load("toy").fold(k)

    def test_line_ends_do_not_matter(self, toy, tmp_path):
        path = tmp_path / "toy/P1.txt.gz"
        path.write_bytes(gzip.compress(PARTS[0].replace(b"\n", b"\r\n")))
        assert datasets.load("toy").parts[0].docs.tolist() == ["a1", "b1"]

    def test_another_content_is_refused(self, toy, tmp_path):
        path = tmp_path / "toy/P2.txt.gz"
        path.write_bytes(gzip.compress(PARTS[1].replace(b"0.5", b"0.6")))
        with pytest.raises(DatasetMismatchError, match=r"P2\.txt\.gz: expected toy/P2\.txt"):
            datasets.load("toy")

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"n_rows": (2, 2, 3, 2, 2)}, "toy, part 3: expected 3 rows, found 2"),
            ({"n_queries": (1, 2, 1, 1, 1)}, "toy, part 2: expected 2 queries, found 1"),
            ({"n_features": 3}, "toy, part 1: expected 3 columns, found 2"),
            ({"n_grades": 3}, "toy, part 1: expected 3 grades, found 2"),
        ],
    )
    def test_wrong_counts_are_refused(self, toy, monkeypatch, wrong, message):
        entry = dataclasses.replace(toy, info=dataclasses.replace(toy.info, **wrong))
        monkeypatch.setitem(catalog.entries(), "toy", entry)
        with pytest.raises(DatasetMismatchError, match=message):
            datasets.load("toy")

    @pytest.mark.parametrize("download", [True, False])
    def test_a_missing_file_says_where_to_get_it_and_where_to_put_it(
        self, toy, tmp_path, download, monkeypatch
    ):
        # There is nothing to download, so pooch is not asked for.
        monkeypatch.setitem(sys.modules, "pooch", None)
        (tmp_path / "toy/P3.txt.gz").unlink()
        assert not datasets.available("toy")
        message = r"toy/P3\.txt is missing.*By hand: ask A\. Nonymous, put it at toy/P3\.txt"
        with pytest.raises(datasets.DatasetNotFoundError, match=message):
            datasets.load("toy", download=download)
