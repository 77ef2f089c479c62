import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.data import as_table
from edgewise.data.columns import CategoricalColumn
from edgewise.io import read_table, write_table

CSV = b"""\
query,doc,grade,color,price,stock
007,d1,2,red,9.5,3
007,d2,0,blue,,4
8,d3,1,NULL,0.1,5
"""

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
both = pytest.mark.parametrize("library", ["pandas", "polars"])


def put(folder: Path, content: bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@both
@pytest.mark.parametrize(("name", "pack"), [("t.csv", bytes), ("t.csv.gz", gzip.compress)])
def test_a_csv_file(tmp_path, library, name, pack):
    path = put(tmp_path, pack(CSV), name)
    data = read_table(path, target="grade", query="query", doc="doc", library=library)
    assert type(data.X).__module__.startswith(library)
    assert list(data.X.columns) == ["color", "price", "stock"]
    assert data.y.tolist() == [2, 0, 1]
    assert data.qid.tolist() == ["007", "007", "8"]
    assert data.docs.tolist() == ["d1", "d2", "d3"]
    table = as_table(data.X)
    color, price, stock = table.columns()
    assert isinstance(color, CategoricalColumn)
    assert color.categories == ("blue", "red")
    assert np.array_equal(price.values, [9.5, np.nan, 0.1], equal_nan=True)
    assert stock.values.tolist() == [3, 4, 5]


@both
def test_without_roles_every_column_is_a_feature(tmp_path, library):
    data = read_table(put(tmp_path, CSV), library=library)
    assert data.X.shape == (3, 6)
    assert (data.y, data.qid, data.docs) == (None, None, None)


@both
def test_a_parquet_file_keeps_its_kinds(tmp_path, library):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = pandas.DataFrame(
        {
            "query": [7, 7, 8],
            "kind": pandas.Categorical(["b", "a", None], categories=["a", "b", "c"]),
            "price": [0.1, np.nan, 2],
            "sold": [True, False, True],
        }
    )
    write_table(path, frame)
    data = read_table(path, query="query", library=library)
    assert data.qid.tolist() == ["7", "7", "8"]
    kind, price, sold = as_table(data.X).columns()
    assert isinstance(kind, CategoricalColumn)
    assert np.array_equal(price.values, [0.1, np.nan, 2], equal_nan=True)
    assert sold.reals().tolist() == [1, 0, 1]


def test_an_index_with_a_name_is_a_column(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"query": ["a", "b"], "x": [1, 2]}, index=[5, 6])
    frame.set_index("query").to_parquet(tmp_path / "named.parquet")
    frame.to_parquet(tmp_path / "plain.parquet")
    for name in ("named.parquet", "plain.parquet"):
        data = read_table(tmp_path / name, query="query", library="pandas")
        assert data.qid.tolist() == ["a", "b"]
        assert data.X.columns.tolist() == ["x"]
        assert data.X.index.tolist() == [0, 1]


@settings(max_examples=30)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    library=st.sampled_from(["pandas", "polars"]),
    suffix=st.sampled_from([".csv", ".csv.gz", ".parquet"]),
)
def test_numbers_come_back_as_they_were(tmp_path_factory, values, library, suffix):
    path = tmp_path_factory.getbasetemp() / f"round{suffix}"
    for frames in (pandas, polars):
        write_table(path, frames.DataFrame({"x": values, "w": ["word"] * len(values)}))
        data = read_table(path, library=library)
        assert data.X["x"].to_list() == values
        assert data.X["w"].to_list() == ["word"] * len(values)


@both
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n", "is empty"),
        (b"a,b,a\n1,2,3\n", "has several columns of the same name: 'a'"),
        (b"a,b\n1,2,3\n4,5,6\n", "is not a readable table"),
        (b"a,b\n1,2\n4,5,6\n", "is not a readable table"),
        (b'a,b\n1,"x\n', "is not a readable table"),
        (b"a,b\n\xff,\xfe\n", "is not a readable table"),
        (gzip.compress(CSV, mtime=0)[:-12], "is damaged or cut short"),
    ],
)
def test_files_that_are_no_tables_are_named(tmp_path, library, content, message):
    with pytest.raises(ValueError, match=r"table\.csv " + message):
        read_table(put(tmp_path, content), library=library)


@both
def test_a_file_that_is_no_parquet_is_named(tmp_path, library):
    pytest.importorskip("pyarrow")
    path = put(tmp_path, b"PAR1 is not enough", "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet is not a readable Parquet file"):
        read_table(path, library=library)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "rating"}, r"target='rating' must be a column of .*table\.csv: 'query', 'doc'"),
        ({"query": "qid"}, "query='qid' must be a column"),
        ({"doc": "docid"}, "doc='docid' must be a column"),
        ({"query": "doc", "doc": "doc"}, "target, query and doc must be different columns"),
        ({"library": "numpy"}, "library must be one of 'pandas', 'polars', got 'numpy'"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(put(tmp_path, CSV), **options)


@both
def test_every_row_needs_its_query_and_document(tmp_path, library):
    path = put(tmp_path, b"q,d,x\na,d1,1\n,d2,2\nb,,3\n")
    with pytest.raises(ValueError, match=r"query='q' has no value in row 2 of .*table\.csv"):
        read_table(path, query="q", library=library)
    with pytest.raises(ValueError, match=r"doc='d' has no value in row 3 of"):
        read_table(path, doc="d", library=library)


def test_a_column_must_be_left(tmp_path):
    with pytest.raises(ValueError, match="has no column left for X"):
        read_table(put(tmp_path, b"q,y\na,1\n"), query="q", target="y")


def test_a_missing_file_is_named(tmp_path):
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(FileNotFoundError, match=name):
            read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["t.txt", "t.csv.zip", "csv", "t.parquet.gz"])
def test_other_kinds_of_files_are_refused(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(ValueError, match="path must end in"):
        read_table(path)
    with pytest.raises(ValueError, match="path must end in"):
        write_table(path, pandas.DataFrame({"x": [1]}))


def test_the_first_library_that_is_there_is_taken(tmp_path, monkeypatch):
    path = put(tmp_path, CSV)
    assert isinstance(read_table(path).X, pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(read_table(path).X, polars.DataFrame)
    with pytest.raises(ImportError, match=r"needs pandas: pip install \"edgewise\[frames\]\""):
        read_table(path, library="pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"needs pandas or polars: pip install"):
        read_table(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"need pyarrow: pip install \"edgewise\[frames\]\""):
        read_table(put(tmp_path, b"", "t.parquet"), library="pandas")
    with pytest.raises(ImportError, match="need pyarrow"):
        write_table(tmp_path / "new.parquet", pandas.DataFrame({"x": [1]}))
    assert names_in(tmp_path) == ["t.parquet"]


def test_only_frames_are_written(tmp_path):
    with pytest.raises(TypeError, match="frame must be a data frame, got ndarray"):
        write_table(tmp_path / "new.csv", np.eye(2))
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["new.csv", "new.csv.gz", "new.parquet"])
def test_a_failing_write_leaves_nothing(tmp_path, full_disk, name):
    with pytest.raises(OSError, match="no space left"):
        write_table(tmp_path / name, polars.DataFrame({"x": [1]}))
    assert names_in(tmp_path) == []


@both
def test_a_word_among_numbers_is_named(tmp_path, library):
    lines = [f"{row % 2},{row}.5,{'ab'[row % 2]}" for row in range(30)]
    lines[20] = "1,2o.5,b"
    path = put(tmp_path, "\n".join(["grade,price,color", *lines]).encode())
    with pytest.raises(ValueError, match=r"column 'price' holds numbers, but '2o.5' in row 21"):
        read_table(path, target="grade", library=library)
    lines[20] = "1,,b"
    path = put(tmp_path, "\n".join(["grade,price,color", *lines]).encode())
    assert read_table(path, target="grade", library=library).X.shape == (30, 2)


@pytest.mark.parametrize("kind", [dict, "pandas", "polars"])
def test_text_that_spreadsheets_take_for_formulas_is_escaped_on_request(tmp_path, kind):
    path = tmp_path / "t.csv"
    columns = {"=A1": ["@x", "b=1", None], "n": [-1.5, 2.0, 3.0]}
    table = columns if kind is dict else pytest.importorskip(kind).DataFrame(columns)
    write_table(path, table)
    assert path.read_text() == "=A1,n\n@x,-1.5\nb=1,2.0\n,3.0\n"
    write_table(path, table, escape_formulas=True)
    assert path.read_text() == "'=A1,n\n'@x,-1.5\nb=1,2.0\n,3.0\n"
