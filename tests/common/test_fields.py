"""Fields give back what they took, and refuse everything else."""

import json

import numpy as np
import pytest
from scipy import sparse

from edgewise.common.fields import (
    Array,
    Converted,
    Count,
    DictOf,
    ListOf,
    OrNone,
    Plain,
    Record,
    Sparse,
    Value,
    finite,
)


def back(field, value, sizes=None):
    """Return a value after the way to a file and back."""
    arrays = {}
    saved = json.loads(json.dumps(field.pack(value, "it", arrays)))
    return field.unpack(saved, "it", arrays, {} if sizes is None else sizes)


def read(field, saved=None, sizes=None, **arrays):
    named = {name.replace("_", "."): array for name, array in arrays.items()}
    return field.unpack(saved, "it", named, {} if sizes is None else sizes)


# Arrays


def test_an_array_that_is_as_declared_comes_back():
    array = np.arange(6.0).reshape(2, 3)
    assert read(Array("2 3", np.float64), it=array) is array
    assert read(Array("* 3"), it=array) is array
    assert read(Array("users k"), it=array, sizes={"users": 2}) is array
    infinite = np.array([np.inf, np.nan])
    assert read(Array("2", finite=False), it=infinite) is infinite


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (np.float32, "2 3"),
        (np.float64, "3 3"),
        (np.float64, "6"),
        ((np.int8, np.int64), "2 3"),
        (None, "n n"),
        (None, "users k"),
        (None, "2 3 1"),
    ],
    ids=str,
)
def test_an_array_of_another_type_or_shape_is_refused(dtype, shape):
    with pytest.raises(ValueError, match="it must"):
        read(Array(shape, dtype), it=np.zeros((2, 3)), sizes={"users": 3})


def test_the_same_word_is_the_same_length():
    sizes = {}
    read(Array("users k"), it=np.ones((2, 3)), sizes=sizes)
    assert sizes == {"users": 2, "k": 3}
    with pytest.raises(ValueError, match=r"\(k\)"):
        read(Array("k"), it=np.ones(2), sizes=sizes)


@pytest.mark.parametrize("wrong", [[np.nan], [np.inf], [-np.inf]])
def test_numbers_that_are_not_finite_are_refused(wrong):
    with pytest.raises(ValueError, match="finite"):
        read(Array("*"), it=np.array(wrong))


@pytest.mark.parametrize("wrong", [[-1, 0], [0, 3], [0.0, 1.0], [True, False], [-(2**62), 0]])
def test_indices_out_of_range_are_refused(wrong):
    field = Array("*", below="users")
    assert read(field, it=np.array([0, 2]), sizes={"users": 3}).tolist() == [0, 2]
    assert read(field, it=np.empty(0, np.int64), sizes={"users": 0}).size == 0
    with pytest.raises(ValueError, match="indices"):
        read(field, it=np.array(wrong), sizes={"users": 3})


def test_indices_may_begin_below_zero():
    field = Array("*", below="users", min_index=-1)
    assert read(field, it=np.array([-1, 2]), sizes={"users": 3}).tolist() == [-1, 2]
    with pytest.raises(ValueError, match="indices"):
        read(field, it=np.array([-2, 2]), sizes={"users": 3})


def test_an_array_that_is_not_there_or_is_json_is_refused():
    with pytest.raises(KeyError, match="it"):
        read(Array("*"))
    with pytest.raises(TypeError, match="array"):
        read(Array("*"), saved=[1, 2], it=np.ones(2))


@pytest.mark.parametrize("wrong", [["a"], [None], [1j], [object()]])
def test_arrays_of_anything_but_numbers_are_not_written(wrong):
    with pytest.raises(TypeError, match="model file"):
        Array("*").pack(np.array(wrong), "it", {})


def test_sparse_matrices():
    matrix = sparse.csr_array(np.array([[0.0, 1.5], [0.0, 0.0]]))
    np.testing.assert_array_equal(back(Sparse(), matrix).toarray(), matrix.toarray())
    parts = {"it_data": np.ones(1), "it_indices": np.array([2]), "it_indptr": np.array([0, 1, 1])}
    for shape in ([2, 2], [-1, 2], [2.0, 2], [2], None):
        with pytest.raises((ValueError, TypeError)):
            read(Sparse(), saved=shape, **parts)


# JSON


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Value(str), "käse"),
        (Value(int), -3),
        (Value(float), 0.1),
        (Value(bool), True),
        (Count(), 0),
        (Plain(), ["a", None, [2.5, True]]),
        (OrNone(Value(int)), None),
        (OrNone(Value(int)), 3),
        (ListOf(Value(int)), [1, 2]),
        (DictOf(Value(int)), {"a": 1, "": 2}),
        (DictOf(ListOf(Value(str)), int), {0: ["a"], 7: []}),
        (Record({"a": Value(int)}, take=dict.__getitem__), {"a": 1}),
        (Converted(ListOf(Value(int)), list, tuple), (1, 2)),
    ],
    ids=lambda item: type(item).__name__,
)
def test_values_come_back(field, value):
    result = back(field, value)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        (Value(str), 3),
        (Value(str), None),
        (Value(int), True),
        (Value(int), 1.0),
        (Value(int), "1"),
        (Value(float), "0.5"),
        (Value(float), None),
        (Value(float, finite), float("nan")),
        (Value(bool), 0),
        (Count(), -1),
        (Count(), True),
        (Plain(), {"a": 1}),
        (Plain(), [{"a": 1}]),
        (OrNone(Value(int)), 3),
        (OrNone(Value(int)), []),
        (OrNone(Value(int)), [1, 2]),
        (ListOf(Value(int)), {"0": 1}),
        (ListOf(Value(int)), "12"),
        (ListOf(Value(int)), [1, "2"]),
        (DictOf(Value(int)), [1]),
        (DictOf(Value(int)), {"a": "b"}),
        (DictOf(Value(int), int), {"a": 1}),
        (DictOf(Value(int), int), {"-1": 1}),
        (DictOf(Value(int), int), {"²": 1}),
        (Record({"a": Value(int)}), {}),
        (Record({"a": Value(int)}), {"a": "1"}),
        (Record({"a": Value(int)}), [1]),
        (Record({"a": Value(int)}), None),
    ],
    ids=lambda item: type(item).__name__,
)
def test_other_values_are_refused(field, wrong):
    with pytest.raises((ValueError, TypeError, KeyError)):
        read(field, saved=wrong)


@pytest.mark.parametrize("value", [object(), {1: 2}, [object()], b"bytes"])
def test_what_is_not_plain_is_not_written(value):
    with pytest.raises(TypeError, match="it is a"):
        Plain().pack(value, "it", {})


def test_lists_of_arrays_have_words_of_their_own():
    field = ListOf(Record({"a": Array("n"), "b": Array("n")}, take=dict.__getitem__))
    values = [{"a": np.ones(n), "b": np.zeros(n)} for n in (2, 3)]
    result = back(field, values)
    assert [len(item["a"]) for item in result] == [2, 3]
    arrays = {}
    saved = field.pack(values, "it", arrays)
    arrays["it.1.b"] = np.ones(2)
    with pytest.raises(ValueError, match=r"it\.1\.b"):
        field.unpack(saved, "it", arrays, {})
