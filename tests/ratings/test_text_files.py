"""Ratings from files: text of any separator, gzipped or not, and Parquet."""

import gzip
import pathlib

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import Ratings
from edgewise.io import text as reader

EXPECTED = [(22, 377, 1.0), (196, 242, 3.0), (196, 377, 4.0)]
ROWS = [(196, 242, 3), (22, 377, 1), (196, 377, 4)]


def triples(ratings):
    users = ratings.user_ids.values[ratings.users].tolist()
    items = ratings.item_ids.values[ratings.items].tolist()
    return list(zip(users, items, ratings.values.tolist(), strict=True))


@pytest.fixture
def written(tmp_path):
    """Return a function that writes text or bytes to a file."""

    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def text(separator, header=True, end="\n"):
    rows = [("user", "item", "rating"), *ROWS] if header else ROWS
    return end.join(separator.join(map(str, row)) for row in rows) + end


@pytest.mark.parametrize("separator", [",", "\t", "::", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_are_found(written, separator, end):
    assert triples(Ratings.from_file(written(text(separator, end=end)))) == EXPECTED
    bare = written(text(separator, header=False, end=end))
    found = Ratings.from_file(bare, columns=["user", "item", "rating"])
    assert triples(found) == EXPECTED


@pytest.mark.parametrize("separator", [" ", "|", "--"])
def test_other_separators_are_named(written, separator):
    found = Ratings.from_file(written(text(separator)), separator=separator)
    assert triples(found) == EXPECTED


def test_a_name_of_the_path_and_a_path_are_the_same(written):
    path = written(text(","))
    assert triples(Ratings.from_file(str(path))) == triples(Ratings.from_file(path))


def test_gzipped_files_are_told_by_their_content(written):
    assert triples(Ratings.from_file(written(gzip.compress(text(",").encode())))) == EXPECTED


def test_a_file_that_lacks_its_last_newline(written):
    assert triples(Ratings.from_file(written(text(",").rstrip()))) == EXPECTED


def test_empty_lines_are_no_rows(written):
    content = "\n" + text(",").replace("\n", "\n\n")
    assert triples(Ratings.from_file(written(content))) == EXPECTED


def test_a_byte_order_mark_is_no_part_of_the_first_name(written):
    assert triples(Ratings.from_file(written(b"\xef\xbb\xbf" + text(",").encode()))) == EXPECTED


def test_spaces_around_cells_are_no_part_of_them(written):
    assert triples(Ratings.from_file(written(text(", ")))) == EXPECTED


def test_quoted_cells(written):
    content = 'user,item,rating\n1,"Good, the Bad","3"\n1,"""Heat""",4\n1,"two\nlines",5\n'
    ids = Ratings.from_file(written(content)).item_ids.values.tolist()
    assert ids == ['"Heat"', "Good, the Bad", "two\nlines"]


def test_columns_in_any_order_among_others(written):
    content = "time,rating,title,movie,w,who\n9,3,Heat,242,2,196\n8,1,Fargo,377,1,22\n"
    ratings = Ratings.from_file(written(content), "who", "movie", weight="w", time="time")
    assert triples(ratings) == [(22, 377, 1.0), (196, 242, 3.0)]
    assert ratings.weights.tolist() == [1, 2]
    assert ratings.times.tolist() == [8, 9]
    assert Ratings.from_file(written(content), "who", "movie", None).values.tolist() == [1, 1]


def test_names_for_the_first_columns_are_enough(written):
    found = Ratings.from_file(
        written("196\t242\t3\t881250949\n"), columns=["user", "item", "rating"]
    )
    assert triples(found) == [(196, 242, 3.0)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-5", "0"], [-5, 0, 1]),
        (["007", "7"], ["007", "7"]),
        (["1", "x"], ["1", "x"]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["+1", "2"], ["+1", "2"]),
        (["1_0", "2"], ["1_0", "2"]),
        (["999999999999999999", "1"], [1, 999999999999999999]),
        (["99999999999999999999", "1"], ["1", "99999999999999999999"]),
        (["\u0663", "1"], ["1", "\u0663"]),
        (["käse", "brot"], ["brot", "käse"]),
    ],
)
def test_ids_are_integers_where_all_are_written_so(written, cells, expected):
    content = "user,item,rating\n" + "".join(f"{cell},1,1\n" for cell in cells)
    assert Ratings.from_file(written(content)).user_ids.values.tolist() == expected


def test_duplicates(written):
    content = "user,item,rating\n1,2,3\n1,2,5\n"
    assert Ratings.from_file(written(content), duplicates="mean").values.tolist() == [4]
    with pytest.raises(ValueError, match="more than once"):
        Ratings.from_file(written(content))


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_parquet(tmp_path, engine):
    frame = pd.DataFrame(ROWS, columns=["user", "item", "rating"])
    path = tmp_path / "ratings.parquet"
    if engine == "pandas":
        frame.to_parquet(path)
    else:
        import polars as pl

        pl.from_pandas(frame).write_parquet(path)
    assert triples(Ratings.from_file(path)) == EXPECTED
    with pytest.raises(ValueError, match="user='who' must be"):
        Ratings.from_file(path, user="who")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("user,item,rating\n", "at least one rating"),
        ("user\n1\n", "item='item' must be"),
        ("who,item,rating\n1,2,3\n", "user='user' must be .*'who', 'item', 'rating'"),
        ("user,item\n1,2\n", "rating='rating' must be"),
        ("user,item,rating\n1,2,3\n1,2\n", "3 columns, got 2"),
        ("user,item,rating\n1,2,3\n1,2,3,4\n", "3 columns, got 4"),
        ("user,item,rating\n1,2,good\n", "ratings.csv must hold numbers.*'good'"),
        ("user,item,rating\n1,2,\n", "ratings must be finite"),
        ("user,item,rating\n1,2,nan\n", "ratings must be finite"),
        ("user,item,rating\n1,2,3\n,2,4\n", "no user in row 2"),
        ("user,item,rating\n1,2,3\n1, ,4\n", "no item in row 2"),
        ('user,item,rating\n1,"2,3\n' + "1,3,4\n" * 40_000, "ratings.csv is not"),
        ("user,item,rating,rating\n1,2,3,4\n", "rating"),
        (b"user,item,rating\n1,\xe9,3\n", "UTF-8"),
        # Without the time of day, which would give the test another name in every process.
        (gzip.compress(b"user,item,rating\n" + b"1,2,3\n" * 100, mtime=0)[:-12], "cut short"),
    ],
)
def test_files_that_are_not_as_they_should_be(written, content, words):
    with pytest.raises(ValueError, match=words):
        Ratings.from_file(written(content))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"separator": ""}, (TypeError, ValueError), "separator must be"),
        ({"separator": 3}, TypeError, "separator must be"),
        ({"columns": "user"}, TypeError, "columns must be"),
        ({"columns": [1, 2, 3]}, TypeError, "columns must be"),
        ({"columns": ["user", "item"]}, ValueError, "rating='rating' must be"),
        ({"duplicates": "no"}, ValueError, "duplicates must be one of"),
        ({"time": "t"}, ValueError, "time='t' must be"),
    ],
)
def test_errors_name_the_argument(written, arguments, error, words):
    with pytest.raises(error, match=words):
        Ratings.from_file(written(text(",")), **arguments)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Ratings.from_file(tmp_path / "nothing.csv")


@pytest.mark.parametrize("separator", [",", "::", " "])
def test_files_are_read_a_few_rows_at_a_time(written, separator, monkeypatch):
    monkeypatch.setattr(reader, "_CHUNK_ROWS", 10)
    monkeypatch.setattr(reader, "_CHUNK_BYTES", 100)
    users = [*range(99), "x9"]  # only the last row shows that they are strings
    lines = [separator.join(["user", "item", "rating"])]
    lines += [separator.join([str(user), str(row % 7), "2.5"]) for row, user in enumerate(users)]
    ratings = Ratings.from_file(written("\n".join(lines), "ratings.dat"))
    assert ratings.user_ids.values.tolist() == sorted(map(str, users))
    assert ratings.item_ids.values.tolist() == list(range(7))
    assert len(ratings) == 100
    file = reader.DelimitedText.open(written("\n".join(lines), "ratings.dat"), separator)
    assert max(len(chunk[0]) for chunk in file.chunks([0])) <= 20


def test_an_item_may_have_the_name_of_a_missing_value(written):
    content = "user,item,rating\nann,None,3\nann,NA,4\n"
    assert Ratings.from_file(written(content)).item_ids.values.tolist() == ["NA", "None"]


@pytest.mark.parametrize("name", ["r.feather", "r.arrow"])
def test_other_tables(tmp_path, name):
    frame = pd.DataFrame(ROWS, columns=["user", "item", "rating"])
    frame.to_feather(tmp_path / name)
    assert triples(Ratings.from_file(tmp_path / name)) == EXPECTED


@given(
    st.dictionaries(
        st.tuples(
            st.integers(-(10**9), 10**9),
            st.text(st.characters(categories=["L", "P", "N"]), min_size=1).filter(str.strip),
        ),
        st.floats(-100, 100),
        min_size=1,
    )
)
def test_what_pandas_writes_is_read_again(tmp_path_factory, table):
    rows = [(user, item, rating) for (user, item), rating in table.items()]
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    path = pathlib.Path(tmp_path_factory.mktemp("files")) / "ratings.csv"
    frame.to_csv(path, index=False, sep="\t")
    ratings = Ratings.from_file(path, separator="\t")
    assert [(u, str(i), r) for u, i, r in triples(ratings)] == sorted(
        rows,
        key=lambda row: (row[0], int(row[1])) if ratings.item_ids.kind == "integers" else row[:2],
    )
