import struct

import numpy as np
import pytest

from edgewise.datasets import formats

HEADER = b"""% a comment
@relation toy

@attribute 'first one' numeric
@ATTRIBUTE second REAL
@attribute beach {0,1}
@attribute "sun set" {0, 1}
@data
"""

NUMERIC = b"@relation r\n@attribute a numeric\n@attribute l numeric\n@data\n"
TEXT = b"@relation r\n@attribute name string\n@attribute l {0,1}\n@data\n"
WORDS = b"@relation r\n@attribute c {red,blue}\n@attribute l {0,1}\n@data\n"


def idx_bytes(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + bytes(array)
    )


def test_class_last_keeps_values_and_integer_classes():
    table = formats.read_numbers(b" 47,100, 8\n  0, 89, 2\n")
    assert table.X.tolist() == [[47.0, 100.0], [0.0, 89.0]]
    assert table.y.tolist() == [8, 2]
    assert table.X.dtype == np.float64
    assert table.y.dtype == np.int64


def test_class_last_takes_the_dotted_classes_of_isolet():
    assert formats.read_numbers(b"-0.4394, -0.0930, 1.\n0.5000, 1.0000, 26.\n").y.tolist() == [
        1,
        26,
    ]


def test_class_first_reads_white_space():
    table = formats.read_numbers(
        b"6.0000 -1.0000 -0.631 \n5 1 -0\n", delimiter=None, class_first=True
    )
    assert table.X.tolist() == [[-1.0, -0.631], [1.0, 0.0]]
    assert table.y.tolist() == [6, 5]


def test_a_fractional_class_is_refused():
    with pytest.raises(ValueError, match="not integers"):
        formats.read_numbers(b"1,2.5\n")


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="columns"):
        formats.read_numbers(b"1,2,0\n3,1\n")


def test_letter_first():
    table = formats.read_numbers(b"T,2,8\nI,5,12\n", class_first=True)
    assert table.y.tolist() == ["T", "I"]
    assert table.X.tolist() == [[2.0, 8.0], [5.0, 12.0]]


def test_word_last():
    table = formats.read_numbers(b"0.0200,1,R\r\n-0.5,0,M\n\n")
    assert table.X.tolist() == [[0.02, 1.0], [-0.5, 0.0]]
    assert table.y.tolist() == ["R", "M"]


def test_a_part_of_a_table_keeps_its_names():
    table = formats.LabeledTable(
        np.arange(6.0).reshape(3, 2), np.array([0, 1, 0]), ("a", "b"), ("c",)
    )
    part = table.take(slice(1, None))
    assert part.X.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert part.y.tolist() == [1, 0]
    assert (part.feature_names, part.label_names) == (("a", "b"), ("c",))


def test_idx_pair_flattens_images_row_by_row():
    images = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    table = formats.read_idx_pair(idx_bytes(images), idx_bytes(np.array([7, 3], dtype=np.uint8)))
    assert table.X.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert table.X.dtype == np.uint8
    assert table.y.tolist() == [7, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "two zero bytes"),
        (b"\x01\0\x08\x01\0\0\0\x01\x05", "two zero bytes"),
        (b"\0\0\x0d\x01\0\0\0\x01\x05", "0x0d"),
        (b"\0\0\x08\x01\0\0\0\x02\x05", "1 bytes follow"),
        (b"\0\0\x08\x01\0\0\0\x01\x05\x06", "2 bytes follow"),
    ],
)
def test_a_damaged_idx_file_is_refused(content: bytes, message: str):
    with pytest.raises(ValueError, match=message):
        formats.read_idx(content)


def test_dense_arff():
    table = formats.read_arff(HEADER + b"0.5,-1e-3,0,1\n% note\n\n2,?,1,1\n", n_labels=2)
    np.testing.assert_array_equal(table.X, [[0.5, -0.001], [2.0, np.nan]])
    assert table.y.tolist() == [[0, 1], [1, 1]]
    assert table.y.dtype == np.int8
    assert table.feature_names == ("first one", "second")
    assert table.label_names == ("beach", "sun set")


def test_sparse_arff_equals_the_dense_one():
    sparse = formats.read_arff(HEADER + b"{1 2.5,3 1}\n{}\n{ 0 0, 2 1 }\n{0 4}\n", n_labels=2)
    dense = formats.read_arff(HEADER + b"0,2.5,0,1\n0,0,0,0\n0,0,1,0\n4,0,0,0\n", n_labels=2)
    assert sparse.X.format == "csr"
    assert sparse.X.nnz == 2
    np.testing.assert_array_equal(sparse.X.toarray(), dense.X)
    np.testing.assert_array_equal(sparse.y, dense.y)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"@relation toy\n", "not an ARFF file"),
        (HEADER + b"1,2,0\n", "line 9"),
        (HEADER + b"1,2,0,2\n", "line 9"),
        (NUMERIC + b"1,2\n", "0 or 1"),
        (HEADER + b"{9 1}\n", "line 9"),
        (HEADER + b"{1}\n", "line 9"),
        (TEXT + b"x,1\n", "not an ARFF file of numbers.*'x'"),
        (WORDS + b"red,1\n", "not an ARFF file of numbers.*'red'"),
        (b"@relation r\n@attribute l {0,1}\n@data\n1\n", "n_labels=1 with 1 attributes"),
    ],
)
def test_arff_that_cannot_be_read_says_why(content: bytes, message: str):
    with pytest.raises(ValueError, match=message):
        formats.read_arff(content, n_labels=1)
