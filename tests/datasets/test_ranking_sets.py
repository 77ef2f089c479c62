"""Ranking sets: a toy one in five parts, and the real ones where they are found."""

import dataclasses
import gzip
import hashlib
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.datasets.conftest import one

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


class TestNames:
    @pytest.mark.parametrize("name", datasets.names("ranking"))
    def test_every_entry_is_complete(self, name):
        facts, entry = datasets.info(name), catalog.find_entry(name)
        assert facts.name == name
        assert facts.license
        assert facts.citation
        assert facts.description
        assert facts.source.startswith("https://")
        assert len(entry.all_files) == len(facts.n_rows) == len(facts.n_queries) == 5
        assert len(entry.columns) == len(set(entry.columns)) == facts.n_features
        for file in entry.all_files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert "https://" in file.by_hand

    @pytest.mark.parametrize("name", datasets.names("ranking"))
    def test_a_missing_file_says_where_to_get_it(self, name, tmp_path):
        first = catalog.find_entry(name).all_files[0]
        with pytest.raises(datasets.DatasetNotFoundError) as caught:
            datasets.load(name, data_home=tmp_path)
        for part in (first.path, first.by_hand, str(tmp_path), "EDGEWISE_DATA"):
            assert part in str(caught.value)


def test_importing_io_stays_light():
    heavy = "{'numba', 'pooch', 'pandas', 'polars', 'sklearn', 'narwhals', 'pyarrow'}"
    code = f"import sys, edgewise.io; sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def rows(real):
    return RankingData.concatenate(real.parts)


@pytest.mark.real_data
class TestReal:
    @pytest.mark.parametrize("real", datasets.names("ranking"), indirect=True)
    def test_parts(self, real):
        facts = datasets.info(real.name)
        assert real.n_folds == 5
        for part, n_rows, n_queries in zip(real.parts, facts.n_rows, facts.n_queries, strict=True):
            assert part.X.shape == (n_rows, facts.n_features)
            assert part.X.dtype == part.y.dtype == np.float64
            assert part.n_queries == n_queries
            assert np.unique(part.y).tolist() == [0, 1, 2]
            # The rows of a query follow each other.
            assert (part.qid[1:] != part.qid[:-1]).sum() == n_queries - 1
            assert (part.docs != "").all()
        whole = rows(real)
        assert whole.n_queries == sum(facts.n_queries)
        assert len(set(zip(whole.qid, whole.docs, strict=True))) == len(whole)

    @pytest.mark.parametrize("real", datasets.names("ranking"), indirect=True)
    def test_folds_are_those_of_the_publisher(self, real):
        # Parts of the folds as the readme files of LETOR state them, from 1.
        published = {
            "ohsumed": ["234 5 1", "345 1 2", "451 2 3", "512 3 4", "123 4 5"],
        }.get(real.name, ["123 4 5", "234 5 1", "345 1 2", "451 2 3", "512 3 4"])
        for k, line in enumerate(published, start=1):
            for side, numbers in zip(real.fold(k), line.split(), strict=True):
                parts = [real.parts[int(number) - 1] for number in numbers]
                assert len(side) == sum(len(part) for part in parts)
                assert np.array_equal(side.docs, np.concatenate([part.docs for part in parts]))
                assert np.array_equal(side.qid, np.concatenate([part.qid for part in parts]))

    @one("mq2008")
    def test_mq2008(self, real):
        whole = rows(real)
        assert (len(whole), whole.n_queries) == (15_211, 784)
        assert np.bincount(whole.y.astype(int)).tolist() == [12_279, 2_001, 931]
        assert (whole.X.min(), whole.X.max()) == (0, 1)
        assert [len(side) for side in real.fold(1)] == [9_630, 2_707, 2_874]
        first = real.parts[0]
        assert (first.qid[0], first.docs[0]) == ("10002", "GX008-86-4444840")
        assert first.X[0, :5].tolist() == [0.007477, 0, 1, 0, 0.00747]
        constant = [real.feature_names[j] for j in np.flatnonzero(whole.X.max(axis=0) == 0)]
        fields = ("body", "anchor", "title", "url", "document")
        assert constant == [*(f"IDF {field}" for field in fields), "outlinks"]

    @pytest.mark.parametrize(
        ("real", "largest"), [("mq2008-agg", 530), ("mq2007-agg", 573)], indirect=["real"]
    )
    def test_places_start_at_1_and_come_once_in_a_list(self, real, largest):
        whole = rows(real)
        given = ~np.isnan(whole.X)
        assert np.nanmin(whole.X) == 1
        assert np.nanmax(whole.X) == largest
        assert (whole.X[given] % 1 == 0).all()
        for query in whole.queries[:50]:
            for places in whole.take(whole.qid == query).X.T:
                places = places[~np.isnan(places)]
                assert len(np.unique(places)) == len(places)

    @pytest.mark.parametrize("real", ["mq2008-agg", "mq2007-agg"], indirect=True)
    def test_a_smaller_place_is_a_better_one(self, real):
        # Of two documents of a query in the same list, the more relevant one is placed before.
        before = after = 0
        for part in real.parts:
            for query in part.queries[::5]:
                data = part.take(part.qid == query)
                better = data.y[:, None] > data.y[None, :]
                for places in data.X.T:
                    before += (better & (places[:, None] < places[None, :])).sum()
                    after += (better & (places[:, None] > places[None, :])).sum()
        assert before > 1.3 * after

    @one("mq2008-agg")
    def test_mq2008_agg_has_the_rows_of_mq2008(self, real):
        if not datasets.available("mq2008"):
            pytest.skip("no copy of mq2008")
        for ours, theirs in zip(real.parts, datasets.load("mq2008").parts, strict=True):
            for name in ("y", "qid", "docs"):
                assert np.array_equal(getattr(ours, name), getattr(theirs, name))
        assert np.isnan(rows(real).X).mean() == pytest.approx(0.6504, abs=1e-4)

    @one("mq2007-agg")
    def test_mq2007_agg(self, real):
        whole = rows(real)
        assert (len(whole), whole.n_queries) == (69_623, 1_692)
        assert np.bincount(whole.y.astype(int)).tolist() == [51_632, 14_128, 3_863]
        assert np.isnan(whole.X).all(axis=1).sum() == 968

    @one("ohsumed")
    def test_ohsumed(self, real):
        whole = rows(real)
        # The 16,140 judged pairs and 106 queries that the LETOR papers state.
        assert (len(whole), whole.n_queries) == (16_140, 106)
        assert np.bincount(whole.y.astype(int)).tolist() == [11_303, 2_585, 2_252]
        assert np.isfinite(whole.X).all()
        columns = dict(zip(real.feature_names, whole.X.T, strict=True))
        assert np.allclose(columns["log BM25"], np.log(columns["BM25"]), rtol=0, atol=1e-8)
        # L2 is the sum of log(count + 1) over the words of a query, L1 that of the counts.
        for field in ("title", "abstract"):
            assert np.array_equal(columns[f"{field} L1"] == 0, columns[f"{field} L2"] == 0)
