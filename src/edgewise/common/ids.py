"""Ids of users, items, queries and documents: integers or strings, and their indices."""

from collections.abc import Sequence
from functools import cached_property
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.text import quote_names

_SOME = 3

# NumPy gives every string of an array the room of the longest. An array of this many bytes is fine
# whatever its strings; in a larger one the longest may have this many times the mean length.
_FINE, _TIMES_THE_MEAN = 1 << 28, 16

# Integers that lie close together, at most this span for each, are looked up in a table of it.
_SPAN_OF_EACH = 2

# How many to look up at once.
_AT_ONCE = 1 << 20

# The letters of this many strings stay in the cache.
_IN_CACHE = 1 << 12

# From this many strings on, their letters are compared as numbers. The factor of a letter's key is
# odd, so that no letter is lost.
_MANY, _ODD = 100_000, np.uint64(0x9E3779B97F4A7C15)

_ENDS_IN_NUL = methodcaller("endswith", "\0")


def is_missing(value: Any) -> bool:
    """Return whether an object stands for a missing value: None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def text_array(name: str, strings: Sequence[str]) -> NDArray[np.str_]:
    """Return strings as an array, or raise if it would hold mostly room for the longest one."""
    longest = max(map(len, strings), default=0)
    if 4 * longest * len(strings) > _FINE:
        mean = sum(map(len, strings)) / len(strings)
        if longest > _TIMES_THE_MEAN * mean:
            start = next(string for string in strings if len(string) == longest)[:20]
            raise ValueError(
                f"{name} must be of similar lengths: {start!r}... has {longest:,} letters, the "
                f"mean is {mean:.0f}; shorten it"
            )
    if any(map(_ENDS_IN_NUL, strings)):
        # NumPy would drop it, and two strings could become one.
        raise ValueError(f"{name} must not end in a NUL character")
    return np.array(strings, dtype=np.str_)


LONGEST_LIST = 20
"""The most documents without query ids that are likely to be meant as one list."""


def looks_like_queries(name: str) -> bool:
    """Return whether a column of this name is likely to hold query ids."""
    plain = "".join(letter for letter in str(name).lower() if letter.isalnum())
    return plain in ("qid", "query", "queryid", "queryids")


class Ids:
    """Different ids, all integers or all strings, each with an index."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    @staticmethod
    def of(name: str, ids: Any) -> "Ids":
        """Return the different ids among `ids`, in ascending order."""
        array = as_ids(name, ids)
        if array.dtype.kind == "i":
            return Ids(sorted_unique(array))
        # Sorting the few different strings is much faster than sorting all.
        return Ids(text_array(name, sorted(array[factorize(array)[0]].tolist())))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Ids({len(self)} {self.kind})"

    @property
    def kind(self) -> str:
        """The type of the ids: "integers" or "strings"."""
        return "integers" if self.values.dtype.kind == "i" else "strings"

    def find(self, name: str, ids: Any, dtype: Any = np.intp) -> NDArray[Any]:
        """Return the index of each id, -1 for ids that are not there."""
        array = as_ids(name, ids)
        if len(array) == 0:
            return np.zeros(0, dtype=dtype)
        if array.dtype.kind != self.values.dtype.kind and len(self):
            raise TypeError(
                f"{name} must be {self.kind}, as in training, got {array[0].item()!r}: "
                "an id is not converted, since 7 and '7' may be different things"
            )
        if array.dtype.kind == "i":
            return self._find_numbers(array, dtype)
        firsts, codes = factorize(array)
        index_of = self._index_of
        matches = (index_of.get(id_, -1) for id_ in array[firsts].tolist())
        return np.fromiter(matches, dtype, len(firsts))[codes]

    def _find_numbers(self, numbers: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        indices = np.full(len(numbers), -1, dtype=dtype)
        order, ascending = self._ascending
        low, span = _span(ascending)
        table = np.zeros(0, dtype=dtype)
        if 0 < span <= _SPAN_OF_EACH * len(numbers):
            table = np.full(span + 1, -1, dtype=dtype)
            table[ascending - low] = order
        for at in range(0, len(numbers) if span else 0, _AT_ONCE):
            block = numbers[at : at + _AT_ONCE]
            if len(table):
                # Unsigned, numbers below the lowest are large as well; the last entry is -1.
                positions = np.minimum((block - low).view(np.uint64), np.uint64(span)).view(
                    np.int64
                )
                table.take(positions, out=indices[at : at + _AT_ONCE], mode="clip")
            else:
                positions = np.minimum(np.searchsorted(ascending, block), len(ascending) - 1)
                is_known = ascending[positions] == block
                indices[at : at + _AT_ONCE][is_known] = order[positions[is_known]]
        return indices

    def require(self, name: str, ids: Any) -> NDArray[np.intp]:
        """Return the index of each id, or raise if one is not there."""
        indices = self.find(name, ids)
        if (indices < 0).any():
            raise ValueError(
                f"{name} must be ids that are known, got {self.format_unknown(ids, indices)}"
            )
        return indices

    def format_unknown(self, ids: Any, indices: NDArray[np.intp]) -> str:
        """Return the unknown ids as text, for an error."""
        return quote_names(dict.fromkeys(as_ids("ids", ids)[indices < 0].tolist()), _SOME)

    def append(self, name: str, ids: "Ids") -> "Ids":
        """Return these ids followed by new ones, which must differ from them."""
        indices = self.find(name, ids.values)
        if (indices >= 0).any():
            first = ids.values[int(np.argmax(indices >= 0))].item()
            raise ValueError(f"{name} must be new, but {first!r} is known already")
        both = np.concatenate([self.values, ids.values])
        return Ids(both if both.dtype.kind == "i" else text_array(name, both.tolist()))

    def merge(self, name: str, ids: "Ids") -> "tuple[Ids, NDArray[np.intp], NDArray[np.intp]]":
        """Return these ids with the new ones of others after them.

        Also where the others are among all, and which of them are new.
        """
        indices = self.find(name, ids.values)
        new = np.flatnonzero(indices < 0)
        indices[new] = len(self) + np.arange(len(new))
        both = self.append(name, Ids(ids.values[new])) if len(new) else self
        return both, indices, new

    @staticmethod
    def union(name: str, maps: Sequence["Ids"]) -> "Ids":
        """Return all ids of several maps, in ascending order."""
        kinds = {ids.values.dtype.kind for ids in maps}
        if len(kinds) > 1:
            raise TypeError(f"{name} must be integers everywhere or strings everywhere")
        return Ids.of(name, np.concatenate([ids.values for ids in maps]))

    @cached_property
    def _index_of(self) -> dict[Any, int]:
        return {id_: index for index, id_ in enumerate(self.values.tolist())}

    @cached_property
    def _ascending(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        order = np.argsort(self.values)
        return order, self.values[order]


def factorize(strings: NDArray[np.str_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index of a row per distinct string, and the number of the string of each row.

    Strings are hashed into a table. If different ones collide, the last stays, and the others are
    hashed again.

    Examples
    --------
    >>> import numpy as np
    >>> firsts, codes = factorize(np.array(["b", "a", "b"]))
    >>> np.array(["b", "a", "b"])[firsts][codes]
    array(['b', 'a', 'b'], dtype='<U1')
    """
    n = len(strings)
    if n < _MANY or strings.dtype.itemsize == 0:
        _, codes = factorize_list(strings.tolist())
        firsts = np.zeros(codes.max(initial=-1) + 1, dtype=np.intp)
        firsts[codes] = np.arange(n)
        return firsts, codes
    keys = np.zeros(n, dtype=np.uint64)
    letters = np.ascontiguousarray(strings).view(np.uint32).reshape(n, -1)
    for at in range(0, n, _IN_CACHE):
        block = keys[at : at + _IN_CACHE]
        for column in letters[at : at + _IN_CACHE].T:
            block *= _ODD
            block += column
    bits = max(10, n.bit_length() - 3)
    table = np.zeros(1 << bits, dtype=np.int32)
    first_equal, pending = np.zeros(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    turn = int(_ODD)
    while len(pending):
        pending_keys = keys[pending]
        slots = (pending_keys * np.uint64(turn)) >> np.uint64(64 - bits)
        table[slots] = pending
        occupants = table[slots]
        is_equal = keys[occupants] == pending_keys
        first_equal[pending[is_equal]] = occupants[is_equal]
        pending, turn = pending[~is_equal], (turn * turn + 2) % 2**64
    for at in range(0, n, _AT_ONCE):
        span = slice(at, at + _AT_ONCE)
        if not (strings[first_equal[span]] == strings[span]).all():
            # Different letters gave the same key, which is unlikely by chance.
            _, firsts, codes = np.unique(strings, return_index=True, return_inverse=True)
            return firsts, codes
    marks = np.zeros(n, dtype=bool)
    marks[first_equal] = True
    firsts = np.flatnonzero(marks)
    numbers_of = np.zeros(n, dtype=np.int32)
    numbers_of[firsts] = np.arange(len(firsts))
    return firsts, numbers_of[first_equal].astype(np.intp)


def factorize_list(strings: Sequence[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different strings of a list in their first order, and which each string is."""
    distinct = list(dict.fromkeys(strings))
    code_of = dict(zip(distinct, range(len(distinct)), strict=True))
    return distinct, np.fromiter(map(code_of.__getitem__, strings), np.intp, len(strings))


def sorted_unique(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different values in ascending order.

    By marks in a table where integers lie close together, else by sorting: NumPy's own way, by
    hashing, takes many times as long where most values differ.
    """
    if values.dtype.kind == "i":
        low, span = _span(values)
        if span <= _SPAN_OF_EACH * len(values):
            occurs = np.zeros(span, dtype=bool)
            for at in range(0, len(values), _AT_ONCE):
                occurs[values[at : at + _AT_ONCE] - low] = True
            return np.flatnonzero(occurs) + low
    ascending = np.sort(values)
    new = np.ones(len(ascending), dtype=bool)
    new[1:] = ascending[1:] != ascending[:-1]
    return ascending[new]


def _span(values: NDArray[np.int64]) -> tuple[int, int]:
    """Return the lowest integer and how many there are up to the highest; 0 without any."""
    if len(values) == 0:
        return 0, 0
    low, high = int(values.min()), int(values.max())
    return low, high - low + 1


def as_ids(name: str, ids: Any, n_rows: int | None = None, *, floats: bool = False) -> NDArray[Any]:
    """Return one or more ids as an int64 or str array of one dimension, or raise.

    With `floats`, floats may stand for integers, as in a column with missing values elsewhere.
    """
    if hasattr(ids, "factorize") and len(ids) >= _MANY and n_rows is None:
        codes, distinct = ids.factorize()
        if len(distinct) and codes.min() >= 0 and all(isinstance(id_, str) for id_ in distinct):
            return text_array(name, distinct.tolist())[codes]
    if hasattr(ids, "to_list") and not isinstance(ids, np.ndarray):
        # From a series, NumPy would make objects or bytes of strings.
        dtype = getattr(ids, "dtype", None)
        # Integers as NumPy has them, of which none is missing.
        is_plain = isinstance(dtype, np.dtype) and dtype.kind in "iu"
        plain = ids.to_numpy() if is_plain else np.array(ids.to_list(), dtype=object)
    else:
        # NumPy would turn a list of mixed types into strings or floats, and give every string the
        # room of the longest.
        plain = ids if isinstance(ids, np.ndarray) else np.array(ids, dtype=object)
        if plain.ndim != 1 and not isinstance(ids, np.ndarray):
            plain = np.asarray(ids)
    array = np.atleast_1d(plain)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if n_rows is not None and len(array) != n_rows:
        raise ValueError(f"{name} must have an id for each of the {n_rows} rows, got {len(array)}")
    if floats and array.dtype.kind == "f":
        array = np.array(array, dtype=object)
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and len(array) and int(array.max()) > np.iinfo(np.int64).max:
            raise ValueError(f"{name} must fit in 64 bits with a sign, got {int(array.max())}")
        return array.astype(np.int64, copy=False)
    if array.dtype.kind in "UT":
        return array.astype(np.str_, copy=False)
    if array.dtype.kind == "O" or len(array) == 0:
        return _from_objects(name, array.tolist(), floats)
    raise TypeError(f"{name} must be integers or strings, got an array of {array.dtype}")


def _from_objects(name: str, values: list[Any], floats: bool) -> NDArray[Any]:
    if floats:
        values = [_as_integer(value) for value in values]
    kinds = {type(value) for value in values}
    if not kinds:
        return np.zeros(0, dtype=np.int64)
    if all(issubclass(kind, str) for kind in kinds):
        distinct, codes = factorize_list(values)
        return text_array(name, distinct)[codes]
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError as error:
            raise ValueError(f"{name} must fit in 64 bits with a sign: {error}") from error
    position = next((i for i, value in enumerate(values) if is_missing(value)), None)
    if position is not None:
        raise ValueError(
            f"{name} must not be missing, but entry {position} is {values[position]!r}"
        )
    listed = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{name} must be all integers or all strings, got {listed}")


def _as_integer(value: Any) -> Any:
    """Return a whole float as an integer, if it is small enough to be exact."""
    if not isinstance(value, (float, np.floating)):
        return value
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else value
