"""Tables as columns: every format gives the same, and large or odd files are read as small ones."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from edgewise.io import Schema, read_columns, read_table, tables, text
from edgewise.io.lines import LineError, as_number
from edgewise.io.tables import DateColumn, HighCardinalityColumn, raw_table
from edgewise.io.text import parse_number

TEXT = """\
age,pay,city,joined,note
31,1.5, Rome ,2021-03-01,
?,2.25,"Oslo, Norway",2021-04-01,NA
40,,NULL,2022-01-31,n/a
"""


def plain(table):
    """Return columns as lists; missing values are None."""
    result = {}
    for name, column in table.columns.items():
        if hasattr(column, "codes"):
            words = [*column.categories, None]
            result[name] = [words[code] for code in column.codes]
        else:
            values = column.values.tolist()
            result[name] = [None if value != value else value for value in values]
    return result


EXPECTED = {
    "age": [31, None, 40],
    "pay": [1.5, 2.25, None],
    "city": ["Rome", "Oslo, Norway", None],
    "joined": ["2021-03-01", "2021-04-01", "2022-01-31"],
    "note": [None, None, "n/a"],
}


@pytest.fixture
def without_arrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)


class TestText:
    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.CSV"])
    def test_cells_become_numbers_and_words(self, name, tmp_path):
        text = TEXT.replace(",", "\t").replace("Oslo\t", "Oslo,") if "tsv" in name else TEXT
        data = text.encode("utf-8-sig")
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        assert plain(read_columns(tmp_path / name)) == EXPECTED

    def test_without_arrow_it_is_the_same(self, tmp_path, without_arrow):
        (tmp_path / "t.csv").write_text(TEXT)
        assert plain(read_columns(tmp_path / "t.csv")) == EXPECTED
        (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
        with pytest.raises(ValueError, match=r"bad\.csv is not a readable table: expected 2 col"):
            read_columns(tmp_path / "bad.csv")

    @pytest.mark.parametrize("arrow", [True, False])
    def test_semicolons_and_decimal_commas(self, arrow, tmp_path, request):
        if not arrow:
            request.getfixturevalue("without_arrow")
        (tmp_path / "t.csv").write_text("a;b\n1,5;x,y\n2,25;z\n")
        assert plain(read_columns(tmp_path / "t.csv")) == {"a": [1.5, 2.25], "b": ["x,y", "z"]}

    def test_words_stay_as_they_are_written(self, tmp_path):
        (tmp_path / "t.csv").write_text("zip,n\n00501,1\n10115,2\n")
        result = plain(read_columns(tmp_path / "t.csv", ["zip"]))
        assert result == {"zip": ["00501", "10115"], "n": [1, 2]}

    def test_a_name_of_no_letters_has_a_number(self, tmp_path):
        (tmp_path / "t.csv").write_text(",a\n0,1\n1,2\n")
        assert list(read_columns(tmp_path / "t.csv").columns) == ["column 1", "a"]

    @pytest.mark.parametrize("arrow", [True, False])
    def test_a_word_after_many_numbers_makes_all_words(self, arrow, tmp_path, monkeypatch, request):
        if not arrow:
            request.getfixturevalue("without_arrow")
        monkeypatch.setattr(text, "_CHUNK_BYTES", 100)
        monkeypatch.setattr(text, "_CHUNK_ROWS", 20)
        cells = [f"{i:03}" for i in range(99)] + ["many"]
        (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
        assert plain(read_columns(tmp_path / "t.csv"))["a"] == cells

    def test_columns_of_too_many_words(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tables, "MAX_CATEGORIES", 50)
        rows = [(f"u{i}", f"2021-01-01 00:{i // 60:02}:{i % 60:02}", f"{i}") for i in range(99)]
        rows[7] = ("", "", "about 7")
        text = "id,time,number\n" + "".join(",".join(row) + "\n" for row in rows)
        (tmp_path / "t.csv").write_text(text)
        result = read_columns(tmp_path / "t.csv").columns
        assert isinstance(result["id"], HighCardinalityColumn)
        assert (len(result["id"]), result["id"].n_missing) == (99, 1)
        assert isinstance(result["time"], DateColumn)
        assert np.isnat(result["time"].values).sum() == 1
        assert result["time"].values[61] == np.datetime64("2021-01-01T00:01:01")
        assert np.isnan(result["number"].values[7])
        assert result["number"].values[98] == 98


class TestOtherFormats:
    @pytest.fixture
    def frame(self):
        return pd.DataFrame({
            "n": [1.5, None, 3.0], "i": [1, 2, 3], "b": [True, False, True],
            "w": pd.Categorical(["x", None, "y"]), "s": ["1", "2", "?"],
            "d": pd.to_datetime(["2021-03-01 00:00", None, "2022-01-31 14:30"]),
        })  # fmt: skip

    @pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "frame"])
    def test_types_are_kept(self, name, frame, tmp_path):
        if name == "t.parquet":
            frame.to_parquet(tmp_path / name)
        elif name != "frame":
            frame.to_feather(tmp_path / name)
        table = raw_table(frame) if name == "frame" else read_columns(tmp_path / name)
        result = plain(table)
        assert result["n"] == [1.5, None, 3.0]
        assert result["i"] == [1, 2, 3]
        assert result["b"] == [1, 0, 1]
        assert result["w"] == ["x", None, "y"]
        assert [None if item is None else float(item) for item in result["s"]] == [1, 2, None]
        times = table.columns["d"].values
        assert times[2] == np.datetime64("2022-01-31T14:30:00")
        assert np.isnat(times[1])

    @pytest.mark.parametrize("sparse", [False, True])
    def test_arff(self, sparse, tmp_path):
        rows = "{0 1.5, 1 b}\n{2 'two words'}\n" if sparse else "1.5,b,?\n0,a,'two words'\n"
        head = "@relation r\n@attribute n numeric\n@attribute c {a,b}\n@attribute s string\n"
        (tmp_path / "t.arff").write_text(f"{head}@data\n{rows}")
        result = plain(read_columns(tmp_path / "t.arff"))
        assert result["n"] == [1.5, 0.0]
        assert result["c"] == ["b", "a"]
        assert result["s"][1] == "two words"

    def test_a_missing_library_is_named(self, tmp_path, monkeypatch):
        (tmp_path / "t.parquet").write_text("")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(ImportError, match="pyarrow"):
            read_columns(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("word", "number"),
    [
        *(("12", 12), ("-1.5e3", -1500), (".5", 0.5), ("$1,200.50", 1200.5), ("45%", 45)),
        *(("-$3", -3), ("€ 7", 7), ("1,234,567", 1234567), ("inf", np.inf)),
        *(("1,23", None), ("12a", None), ("", None), ("1_000", None), ("--3", None), ("nan", None)),
        ("0,123", None),  # a decimal comma
    ],
)  # fmt: skip
def test_numbers_in_cells(word, number):
    assert parse_number(word) == number


def test_a_file_without_rows_is_empty_whatever_its_columns(tmp_path):
    path = tmp_path / "header.csv"
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match="is empty: it has column names and no rows"):
        read_columns(path, words=["b"])


def test_an_arrow_file_whose_strings_lie_elsewhere_is_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "bad.arrow"
    with arrow.ipc.new_file(path, arrow.schema([("word", arrow.string())])) as writer:
        writer.write_table(arrow.table({"word": ["one", "three", "seven"]}))
    ends = np.array([0, 3, 8, 13], dtype=np.int32)
    data = path.read_bytes()
    assert data.count(ends.tobytes()) == 1
    ends[2] = 2**30
    path.write_bytes(
        data.replace(np.array([0, 3, 8, 13], dtype=np.int32).tobytes(), ends.tobytes())
    )
    with pytest.raises(ValueError, match=r"bad\.arrow is not a readable Arrow file"):
        read_columns(path)


@pytest.mark.parametrize("arrow", [True, False])
def test_a_decimal_comma_stays_one_beside_a_word(arrow, tmp_path, request):
    if not arrow:
        request.getfixturevalue("without_arrow")
    cells = [f"0,{i:03}" for i in range(100, 140)] + ["?", "unknown", "1.234,5"]
    (tmp_path / "t.csv").write_text("a;b\n" + "".join(f"{cell};1\n" for cell in cells))
    raw = read_columns(tmp_path / "t.csv")
    result = Schema.fit(raw, numeric=["a"]).transform(raw).column(0).reals()
    np.testing.assert_array_equal(result[:40], np.arange(100, 140) / 1000)
    np.testing.assert_array_equal(result[40:], [np.nan, np.nan, 1234.5])


def test_numbers_of_many_digits_take_no_time():
    # A pattern that tries each split of the digits would take hours.
    digits = "1" * 1_000_000
    assert parse_number(digits + "x") is None
    assert parse_number(f"1.{digits}x") is None
    assert text.with_decimal_point(f"{digits},x") == f"{digits},x"
    with pytest.raises(LineError):
        as_number(1, "value", f"{digits}x".encode())


@pytest.mark.parametrize("missing", sorted(text.NA_VALUES))
def test_missing_values_are_the_same_for_all_readers(missing, tmp_path):
    (tmp_path / "t.csv").write_text(f"n,w,g\n1,x,1\n{missing},{missing},1\n2,y,0\n")
    raw = read_columns(tmp_path / "t.csv")
    assert plain(raw) == {"n": [1, None, 2], "w": ["x", None, "y"], "g": [1, 1, 0]}
    frame = read_table(tmp_path / "t.csv", target="g").X
    assert frame["n"].isna().tolist() == frame["w"].isna().tolist() == [False, True, False]
    assert plain(raw_table(pd.DataFrame({"w": ["x", missing]})))["w"] == ["x", None]


@pytest.mark.parametrize(
    ("line", "separators"),
    [
        ("a,b", [","]),
        ("a;b,c;d", [";", ","]),
        ("1::Up, or down::A|B|C|D", ["::", "|", ","]),
        ("1\tTwo; three\t4", ["\t", ";"]),
        ('"a,b";"c,d";e', [";"]),
        ("a b", []),
    ],
)
def test_separators_are_ranked(line, separators):
    assert text.rank_separators(line) == separators
