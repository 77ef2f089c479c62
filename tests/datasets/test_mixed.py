import dataclasses

import numpy as np
import pytest

from edgewise.datasets import loading
from edgewise.datasets.catalog import DataFile, find_entry
from edgewise.datasets.files import DataFolders, sha256_of
from edgewise.datasets.formats import n_categorical, read_flights, read_mixed

ROWS = DataFile("a", "", hash="rows")

pandas = pytest.importorskip("pandas")

# Rows as in adult.data and adult.test, which have a blank line at the end; the latter also has a
# comment before its first row and a full stop after each class.
ADULT_DATA = b"""39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, \
Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K
52, ?, 209642, HS-grad, 9, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 45, ?, >50K

"""
ADULT_TEST = b"""|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, \
United-States, <=50K.
44, Private, 160323, Some-college, 10, Married-civ-spouse, Machine-op-inspct, Husband, Black, \
Male, 7688, 0, 40, United-States, >50K.

"""


def test_both_files_of_adult_are_one_table():
    table = loading._read_labeled(find_entry("adult"), [ADULT_DATA, ADULT_TEST])
    assert table.X.shape == (4, 14)
    assert table.y.tolist() == ["<=50K", ">50K", "<=50K", ">50K"]
    assert table.X["age"].tolist() == [39, 52, 25, 44]
    assert table.X["workclass"].tolist() == ["State-gov", np.nan, "Private", "Private"]
    assert table.X["native-country"].isna().tolist() == [False, True, False, False]


def test_both_sides_of_adult_have_the_same_categories():
    table = loading._read_labeled(find_entry("adult"), [ADULT_DATA, ADULT_TEST])
    train, test = table.take(slice(2)), table.take(slice(2, None))
    assert train.X["workclass"].tolist() == ["State-gov", np.nan]
    assert test.X["workclass"].tolist() == ["Private", "Private"]
    assert train.X["workclass"].dtype == test.X["workclass"].dtype
    assert list(test.X["workclass"].cat.categories) == ["Private", "State-gov"]
    assert test.X.index.tolist() == [0, 1]
    assert test.y.tolist() == ["<=50K", ">50K"]


def test_the_class_may_come_first():
    row = b"republican,n,y,n,y,y,y,n,n,n,y,?,y,y,y,n,y\n"
    table = loading._read_labeled(find_entry("votes84"), [row])
    assert table.y.tolist() == ["republican"]
    assert table.X.iloc[0, :3].tolist() == ["n", "y", "n"]
    assert table.X["synfuels-corporation-cutback"].isna().all()
    assert table.X["export-administration-act-south-africa"].tolist() == ["y"]


def test_white_space_separates_and_integer_classes_stay_integers():
    row = b"A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1 \n"
    table = loading._read_labeled(find_entry("german"), [row])
    assert table.y.tolist() == [1]
    assert table.y.dtype == np.int64
    assert n_categorical(table.X) == 13
    assert table.X["duration"].tolist() == [6.0]
    assert table.X["foreign-worker"].tolist() == ["A201"]


def test_numbers_are_float_and_may_be_missing():
    table = read_mixed([b"1,a,x\n ?,b,y\n-2.5e1, ?,x\n"], columns=["n", "c"], numeric=["n"])
    assert table.X.dtypes.astype(str).tolist() == ["float64", "category"]
    np.testing.assert_array_equal(table.X["n"], [1.0, np.nan, -25.0])
    assert table.X["c"].tolist() == ["a", "b", np.nan]


def test_words_that_look_like_numbers_stay_categories():
    table = read_mixed([b"2,x\n5more,y\n"], columns=["doors"])
    assert list(table.X["doors"].cat.categories) == ["2", "5more"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,a,x\n1,a\n", "row 2 has 2 values for 2 columns and the class"),
        (b"1,a,b,x\n", "row 1 has 4 values"),
        (b"one,a,x\n", "column 'n' must hold numbers.*'one'"),
    ],
)
def test_rows_that_cannot_be_read_say_why(content: bytes, message: str):
    with pytest.raises(ValueError, match=message):
        read_mixed([content], columns=["n", "c"], numeric=["n"])


def test_flights_that_arrive_have_a_class_and_only_what_the_schedule_says():
    content = b"""month,flight,arr_delay,tailnum,dep_delay
1,15,16,N1,0
2,9,NA,N2,0
3,9,15,N3,30
4,100,-5,,0
"""
    table = read_flights(content, columns=["month", "flight", "tailnum"], numeric=["month"])
    assert list(table.X) == ["month", "flight", "tailnum"]
    assert table.X["month"].tolist() == [1.0, 3.0, 4.0]
    assert list(table.X["flight"].cat.categories) == ["100", "15", "9"]
    assert list(table.X["tailnum"].cat.categories) == ["N1", "N3"]
    assert table.X["tailnum"].isna().tolist() == [False, False, True]
    assert table.y.tolist() == ["late", "on time", "on time"]


def test_connect4_takes_the_original_with_three_classes_too(tmp_path):
    board = b",".join([b"b"] * 40 + [b"x", b"o"])
    binary = board + b",notloss\n" + board[::-1] + b",loss\n" + board + b",notloss\n"
    original = board + b",win\r\n" + board + b",draw\r\n" + board[::-1] + b",loss\r\n"
    (file,) = find_entry("connect4").all_files
    file = dataclasses.replace(file, sha256=sha256_of(ROWS, binary))
    for content, classes in (
        (original, ["notloss", "notloss", "loss"]),
        (binary, ["notloss", "loss", "notloss"]),
    ):
        (tmp_path / "uci").mkdir(exist_ok=True)
        (tmp_path / file.path).write_bytes(content)
        result = DataFolders(tmp_path).content(file, download=False)
        table = loading._read_labeled(find_entry("connect4"), [result])
        assert table.y.tolist() == classes
        assert table.X.iloc[0, -2:].tolist() == ["x", "o"]


def test_rows_are_hashed_whatever_their_order():
    assert sha256_of(ROWS, b"a,b\nc,d\n") == sha256_of(ROWS, b"c,d\r\n\r\na,b")
    assert sha256_of(ROWS, b"a,b\nc,d\n") != sha256_of(ROWS, b"a,b\nc,d\nc,d\n")
    assert sha256_of(ROWS, b"a,b\nc,d\n") != sha256_of(ROWS, b"a,d\nc,b\n")
