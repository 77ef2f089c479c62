"""Ids: integers or strings, from any container, never mixed and never converted."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.common import ids
from edgewise.common.ids import as_ids
from edgewise.ratings import Ids

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
IDS = st.lists(NUMBERS, min_size=1) | st.lists(WORDS, min_size=1)

INTEGERS = {
    "list": lambda ids: ids,
    "tuple": tuple,
    "int64": np.array,
    "int8": lambda ids: np.array(ids, np.int8),
    "uint64": lambda ids: np.array(ids, np.uint64),
    "objects": lambda ids: np.array(ids, dtype=object),
    "numpy scalars": lambda ids: [np.int32(item) for item in ids],
    "pandas": pd.Series,
    "pandas Int64": lambda ids: pd.Series(ids, dtype="Int64"),
    "pandas categories": lambda ids: pd.Series(ids, dtype="category"),
    "pandas index": pd.Index,
    "pandas, rows named otherwise": lambda ids: pd.Series(ids, index=[7, 8, 9]),
    "polars": pl.Series,
    "arrow": pa.array,
}
STRINGS = {
    "list": lambda ids: ids,
    "array": np.array,
    "objects": lambda ids: np.array(ids, dtype=object),
    "numpy scalars": lambda ids: [np.str_(item) for item in ids],
    "pandas": pd.Series,
    "pandas string": lambda ids: pd.Series(ids, dtype="string"),
    "pandas objects": lambda ids: pd.Series(ids, dtype=object),
    "pandas categories": lambda ids: pd.Series(ids, dtype="category"),
    "polars": pl.Series,
    "polars categories": lambda ids: pl.Series(ids, dtype=pl.Categorical),
    "polars enum": lambda ids: pl.Series(ids, dtype=pl.Enum(sorted(set(ids)))),
    "arrow": pa.array,
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_from_any_container(kind):
    ids = as_ids("users", INTEGERS[kind]([3, 1, 3]))
    assert ids.dtype == np.int64
    assert ids.tolist() == [3, 1, 3]


@pytest.mark.parametrize("kind", STRINGS)
def test_strings_from_any_container(kind):
    ids = as_ids("users", STRINGS[kind](["3", "ä b", "3"]))
    assert ids.dtype.kind == "U"
    assert ids.tolist() == ["3", "ä b", "3"]


def test_one_id_is_an_array_of_one():
    assert as_ids("users", "ann").tolist() == ["ann"]
    assert as_ids("users", 7).tolist() == [7]
    assert as_ids("users", np.int64(7)).tolist() == [7]


@pytest.mark.parametrize(
    "ids",
    [
        [1, "1"],
        np.array([1, "1"], dtype=object),
        pd.Series([1, "1"]),
        [1.0, 2.0],
        [1.5],
        np.array([1.0]),
        pd.Series([1.0, 2.0]),
        [True, False],
        np.array([True]),
        [1, True],
        [b"ann"],
        np.array([b"ann"]),
        [(1, 2)],
        {1, 2},
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        [1j],
        3.0,
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
def test_other_kinds_are_refused(ids):
    with pytest.raises((TypeError, ValueError), match="users must be"):
        as_ids("users", ids)


@pytest.mark.parametrize(
    "ids",
    [
        [1, None],
        ["a", None],
        ["a", np.nan],
        ["a", pd.NA],
        [None],
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"),
        pd.Series([1, None], dtype="Int64"),
        pl.Series([1, None]),
        pl.Series(["a", None]),
    ],
    ids=repr,
)
def test_missing_ids_are_refused(ids):
    with pytest.raises(ValueError, match="users must not be missing, but entry"):
        as_ids("users", ids)


@pytest.mark.parametrize("id", [2**63, 2**64, -(2**63) - 1, np.uint64(2**63)])
def test_integers_of_more_than_64_bits_are_refused(id):
    with pytest.raises(ValueError, match="users must fit in 64 bits"):
        as_ids("users", [id])


@pytest.mark.parametrize("id", [2**63 - 1, -(2**63), 2**53 + 1])
def test_large_integers_are_kept_exactly(id):
    assert Ids.of("users", [id, 0]).find("users", id).tolist() == [int(id > 0)]
    assert as_ids("users", [id]).tolist() == [id]


def test_two_dimensions_are_refused():
    with pytest.raises(ValueError, match=r"users must be one-dimensional, got shape \(1, 2\)"):
        as_ids("users", [[1, 2]])


def test_no_ids_are_no_error():
    for nothing in ([], np.zeros(0), pd.Series([], dtype=object)):
        assert len(as_ids("users", nothing)) == 0


@given(IDS)
def test_indices_are_in_ascending_order(ids):
    result = Ids.of("items", ids)
    assert result.values.tolist() == sorted(set(ids))
    assert len(result) == len(set(ids))


@given(IDS, st.data())
def test_every_id_is_found_in_its_place(ids, data):
    order = data.draw(st.permutations(sorted(set(ids))))
    known = Ids(as_ids("items", order))
    assert known.find("items", ids).tolist() == [order.index(item) for item in ids]


@given(st.sets(NUMBERS, min_size=2) | st.sets(WORDS, min_size=2))
def test_other_ids_are_not_found(ids):
    item, *others = ids
    assert Ids.of("items", others).find("items", item).tolist() == [-1]


def test_prefixes_and_cases_are_other_ids():
    known = Ids.of("items", ["Heat", "heat ", ""])
    assert known.find("items", ["Heat", "heat", "Hea", "Heats", ""]).tolist() == [1, -1, -1, -1, 0]


@pytest.mark.parametrize(("known", "wanted"), [([196], ["196"]), (["196"], [196]), (["196"], 196)])
def test_196_and_its_string_are_different_things(known, wanted):
    with pytest.raises(TypeError, match=r"users must be (strings|integers).*got '?196'?"):
        Ids.of("users", known).find("users", wanted)


def test_required_ids_must_be_there():
    known = Ids.of("items", ["a", "b"])
    assert known.require("items", ["b", "b"]).tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"items must be .*got 'p', 'q', 'r' and 1 more$"):
        known.require("items", ["p", "a", "q", "p", "r", "s"])


def test_further_ids_come_last():
    known = Ids.of("users", ["b", "d"]).append("users", Ids.of("users", ["a", "long name"]))
    assert known.values.tolist() == ["b", "d", "a", "long name"]
    assert known.find("users", ["long name", "b"]).tolist() == [3, 0]
    with pytest.raises(ValueError, match="users must be new, but 'd' is known already"):
        known.append("users", Ids.of("users", ["c", "d"]))
    with pytest.raises(TypeError, match="users must be strings"):
        known.append("users", Ids.of("users", [1]))


def test_unions_are_in_ascending_order():
    both = Ids.union("users", [Ids.of("users", [5, 1]), Ids.of("users", [3, 5])])
    assert both.values.tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="users must be integers everywhere or strings everywhere"):
        Ids.union("users", [Ids.of("users", [5]), Ids.of("users", ["5"])])


def test_what_ids_say_of_themselves():
    assert repr(Ids.of("users", [5, 1])) == "Ids(2 integers)"
    assert Ids.of("users", ["a"]).kind == "strings"


@pytest.mark.parametrize("known", [[3, 5, 4, 7], [-(2**63), 0, 2**63 - 1], [10**12, 10**12 + 2]])
def test_integers_are_found_close_together_and_far_apart(known):
    edges = [-(2**63), -1, 0, 3, 6, 7, 8, 10**12 + 1, 2**63 - 1]
    asked = np.array([*known, *edges] * 3)
    places = {item: place for place, item in enumerate(sorted(known))}
    ids = Ids.of("users", np.array(known * 2))
    assert ids.values.tolist() == sorted(known)
    result = ids.find("users", asked, np.int32)
    assert result.dtype == np.int32
    assert result.tolist() == [places.get(item, -1) for item in asked.tolist()]
    assert ids.find("users", asked[:1]).tolist() == result[:1].tolist()


@pytest.mark.parametrize("factor", [ids._ODD, np.uint64(0), np.uint64(1)])
@given(words=st.lists(WORDS, min_size=1))
def test_many_strings_are_told_apart_as_numbers(factor, words):
    # Factors of 0 and 1 give different strings the same keys.
    given_words = np.array(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "_MANY", 1)
        patch.setattr(ids, "_ODD", factor)
        firsts, codes = ids.factorize(given_words)
    np.testing.assert_array_equal(given_words[firsts][codes], given_words)
    assert len(firsts) == len(set(given_words.tolist()))


@pytest.mark.parametrize("make", STRINGS.values(), ids=STRINGS)
def test_many_strings_are_the_same_ids_in_any_container(make, monkeypatch):
    monkeypatch.setattr(ids, "_MANY", 1)
    words = ["b", "a", "b", "ccc"]
    assert as_ids("ids", make(words)).tolist() == words
    result = Ids.of("ids", make(words))
    assert result.values.tolist() == ["a", "b", "ccc"]
    assert result.find("ids", make([*words, "d"])).tolist() == [1, 0, 1, 2, -1]


@pytest.mark.parametrize("wrong", [["a", 1], [True, 1], ["a", None]])
def test_many_ids_of_a_series_are_still_of_one_kind(wrong, monkeypatch):
    monkeypatch.setattr(ids, "_MANY", 1)
    with pytest.raises((TypeError, ValueError), match="ids must"):
        as_ids("ids", pd.Series(wrong, dtype=object))
