"""ARFF files, dense and sparse, well and badly formed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.io import read_columns
from edgewise.io.arff import parse_arff

HEAD = """% a comment
@RELATION 'a set'
@attribute\tsize real
@attribute 'the kind' {small, "very large", 'it\\'s'}
@attribute note STRING
@attribute day date "yyyy-MM-dd"
@data
"""


def rows_of(text):
    return parse_arff(text.encode()).rows


def test_attributes_have_names_and_kinds():
    data = parse_arff(HEAD.encode())
    assert data.names == ["size", "the kind", "note", "day"]
    assert data.kinds == ["numeric", ("small", "very large", "it's"), "string", "date"]
    assert data.rows == []


def test_dense_rows():
    rows = rows_of(HEAD + "1e-3, small, 'a, \\'b\\'', 2021-03-01\n\n% note\n?,'it\\'s',x y,?\r\n")
    assert rows == [[0.001, "small", "a, 'b'", "2021-03-01"], [None, "it's", "x y", None]]


def test_what_sparse_rows_leave_out_is_zero_or_the_first_value():
    data = parse_arff((HEAD + "{0 2.5, 2 'two words'}\n{}\n{ 1 \"very large\" ,0 ?}\n").encode())
    assert data.is_sparse
    assert data.column(0) == [2.5, 0.0, None]
    assert data.column(1) == ["small", "small", "very large"]
    assert data.column(2) == ["two words", None, None]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@relation r\n",
        "@relation r\n@data\n1\n",
        "@relation r\n@attribute a real\n",
        "@relation r\n@attribute a\n@data\n",
        "@relation r\n@attribute a relational\n@data\n",
        "@relation r\n@attribute a {x,y\n@data\n",
        "@relation r\n@attribute a {}\n@data\nx\n",
        "@relation r\n1,2\n@data\n",
        HEAD + "1,small,x\n",
        HEAD + "1,small,x,d,5\n",
        HEAD + "one,small,x,d\n",
        HEAD + "1,medium,x,d\n",
        HEAD + "1,small,'x,d\n",
        HEAD + "1,small,'x'y,d\n",
        HEAD + "5%s,small,6%d,\n",
        HEAD + "{4 1}\n",
        HEAD + "{0 1, 0 2}\n",
        HEAD + "{1}\n",
        HEAD + "{0 1\n",
        HEAD + "{-1 1}\n",
        HEAD + "{99999999999999999999 1}\n",
        HEAD + "{0 1}\n1,small,x,d\n",
    ],
)
def test_a_damaged_file_is_refused(text):
    with pytest.raises(ValueError, match=r"line \d|it has no"):
        parse_arff(text.encode())


def test_a_line_of_a_million_blanks_takes_no_time():
    for cell in (" " * 1_000_000 + '"', "'" + "a" * 1_000_000, "1" * 1_000_000 + "x'"):
        for row in (f"1,small,'x'{cell}", f"{cell},small,'x',d", f"{{0 {cell}}}", f"{{{cell}}}"):
            with pytest.raises(ValueError, match="line"):
                parse_arff((HEAD + row).encode())


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_read_or_refused(content, with_head):
    try:
        data = parse_arff((HEAD.encode() if with_head else b"") + content)
    except ValueError:
        return
    assert all(len(row) <= len(data.names) for row in data.rows)


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.text()), max_size=5))
def test_quoted_text_comes_back(rows):
    def quote(word):
        for letter, name in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
            word = word.replace(letter, name)
        return f"'{word}'"

    text = "@relation r\n@attribute x real\n@attribute w string\n@data\n"
    text += "".join(f"{number!r},{quote(word)}\n" for number, word in rows)
    assert [tuple(row) for row in parse_arff(text.encode()).rows] == rows


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "odd.arff"
    path.write_text("@relation r\n@attribute a {x,y}\n@data\n")
    with pytest.raises(ValueError, match=r"odd\.arff is empty"):
        read_columns(path)
    path.write_bytes(b"@relation \xff\n")
    with pytest.raises(ValueError, match=r"odd\.arff is not a readable ARFF file"):
        read_columns(path)
    path.write_text("@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n")
    with pytest.raises(ValueError, match="same name: 'a'"):
        read_columns(path)
    path.write_text("@relation r\n@attribute a integer\n@data\n007\n8\n")
    assert read_columns(path, ["a"]).columns["a"].categories == ("7", "8")
    np.testing.assert_array_equal(read_columns(path).columns["a"].values, [7, 8])
