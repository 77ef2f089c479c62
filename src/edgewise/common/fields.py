"""Fields of fitted objects: how a file holds each of them, and how it is checked when read.

A field turns a value into JSON and sets arrays aside under its name; reading, it checks type,
shape and range before it gives the value back, since a file may be damaged or hostile. Objects
declare their fields; :mod:`edgewise.model.file` writes and reads them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer

Json = Any
Arrays = dict[str, NDArray]
Sizes = dict[str, int]
"""The known lengths of the symbols in shapes."""

NUMBER_KINDS: Final = "fiub"
"""The kinds of NumPy arrays that files hold."""


class Field(ABC):
    """A way to hold values of one type in a file."""

    @abstractmethod
    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        """Return a value as JSON, and put its arrays into `arrays`, under `name`."""

    @abstractmethod
    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        """Return the value that :meth:`pack` took, or raise."""


@dataclass(frozen=True)
class Array(Field):
    """An array of numbers.

    A shape has a word for each axis, such as "users k": the same word is the same length in all
    arrays of an object. A number is that length, and ``*`` any length.
    """

    shape: str
    dtype: Any = None
    """The exact type, or a tuple of types; None for any numbers."""
    finite: bool = True
    """Whether real numbers must be finite."""
    below: str | None = None
    """For indices: the symbol of the length that they must stay below."""
    min_index: int = 0
    """The smallest index."""

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        array = np.asarray(value)
        if array.dtype.kind not in NUMBER_KINDS:
            raise TypeError(f"{name} is an array of {array.dtype}, which no model file can hold")
        arrays[name] = array

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> NDArray:
        array, symbols = arrays[name], self.shape.split()
        if saved is not None:
            raise TypeError(f"{name} must be an array, got {saved!r}")
        dtypes = self.dtype if isinstance(self.dtype, tuple) else (self.dtype,)
        if self.dtype is not None and array.dtype not in dtypes:
            listed = " or ".join(str(np.dtype(dtype)) for dtype in dtypes)
            raise ValueError(f"the array {name} must be of type {listed}, got {array.dtype}")
        if array.ndim != len(symbols) or any(
            not _fits(symbol, length, sizes)
            for symbol, length in zip(symbols, array.shape, strict=True)
        ):
            raise ValueError(f"the array {name} must have the shape ({', '.join(symbols)})")
        if self.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"the array {name} must be finite")
        if self.below is not None and array.size:
            end = sizes[self.below]
            if array.dtype.kind not in "iu" or array.min() < self.min_index or array.max() >= end:
                raise ValueError(f"the array {name} must hold indices below {end}")
        return array


def _fits(symbol: str, length: int, sizes: Sizes) -> bool:
    if symbol == "*":
        return True
    if symbol.isdigit():
        return int(symbol) == length
    return sizes.setdefault(symbol, length) == length


class Sparse(Field):
    """A sparse matrix, as the three arrays of its rows."""

    _attributes = ("data", "indices", "indptr")

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        from scipy import sparse

        matrix = sparse.csr_array(value)
        for attribute in self._attributes:
            arrays[f"{name}.{attribute}"] = getattr(matrix, attribute)
        return list(matrix.shape)

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        from scipy import sparse

        components = tuple(arrays[f"{name}.{attribute}"] for attribute in self._attributes)
        rows, columns = (integer(f"{name} shape", length, 0) for length in saved)
        matrix = sparse.csr_array(components, shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix


@dataclass(frozen=True)
class Value(Field):
    """A str, int, float or bool; `check` takes the value and returns it, or raises."""

    kind: type
    check: Callable[[Any], Any] = lambda value: value

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        return self.kind(value)

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        if self.kind is float and type(saved) is int:
            saved = float(saved)
        if type(saved) is not self.kind:
            raise TypeError(f"{name} must be of type {self.kind.__name__}, got {saved!r}")
        return self.check(saved)


class Count(Value):
    """An integer of at least 0."""

    def __init__(self) -> None:
        super().__init__(int, lambda value: integer("a count", value, 0))


def finite(value: float) -> float:
    """Return a number, or raise if it is not finite: a check of a :class:`Value`."""
    if not np.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return value


@dataclass(frozen=True)
class Plain(Field):
    """A string, number, flag or None, or lists of them; `check` returns the value or raises."""

    check: Callable[[Any], Any] = lambda value: value

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, (str, int, float, bool)):
            return value
        if isinstance(value, (list, tuple)):
            return [self.pack(item, name, arrays) for item in value]
        raise TypeError(f"{name} is a {type(value).__name__}, which a model file cannot hold")

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        return self.check(self.pack(saved, name, arrays))


@dataclass(frozen=True)
class OrNone(Field):
    """None, or a value of another field."""

    field: Field

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        return None if value is None else [self.field.pack(value, name, arrays)]

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        if saved is None:
            return None
        (inner,) = saved
        return self.field.unpack(inner, name, arrays, sizes)


class Required(OrNone):
    """A value of another field, in the form of :class:`OrNone`, and never None."""

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        if saved is None:
            raise TypeError(f"{name} must not be None")
        return super().unpack(saved, name, arrays, sizes)


@dataclass(frozen=True)
class ListOf(Field):
    """A list of values of one field; words of shapes are their own in each."""

    field: Field

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        return [self.field.pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> list[Any]:
        if not isinstance(saved, list):
            raise TypeError(f"{name} must be a list, got {saved!r}")
        unpack = self.field.unpack
        return [unpack(item, f"{name}.{i}", arrays, {**sizes}) for i, item in enumerate(saved)]


@dataclass(frozen=True)
class DictOf(Field):
    """A dict from strings, or from integers of at least 0, to values of one field."""

    field: Field
    key: type = str

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        pack = self.field.pack
        return {str(key): pack(item, f"{name}.{key}", arrays) for key, item in value.items()}

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> dict[Any, Any]:
        if not isinstance(saved, dict):
            raise TypeError(f"{name} must be a dict, got {saved!r}")
        if self.key is int and not all(key.isdecimal() and key.isascii() for key in saved):
            raise ValueError(f"the keys of {name} must be integers of at least 0")
        return {
            self.key(key): self.field.unpack(item, f"{name}.{key}", arrays, dict(sizes))
            for key, item in saved.items()
        }


@dataclass(frozen=True)
class Record(Field):
    """An object that `make` builds of declared fields, and `take` returns the values of."""

    fields: Mapping[str, Field]
    make: Callable[..., Any] = dict
    take: Callable[[Any, str], Any] = getattr

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        return {
            key: field.pack(self.take(value, key), f"{name}.{key}", arrays)
            for key, field in self.fields.items()
        }

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        if not isinstance(saved, dict):
            raise TypeError(f"{name} must be a dict, got {saved!r}")
        values = {
            key: field.unpack(saved[key], f"{name}.{key}", arrays, sizes)
            for key, field in self.fields.items()
        }
        return self.make(**values)


@dataclass(frozen=True)
class Converted(Field):
    """A value that `field` holds in another form; `decode` undoes `encode`, or raises."""

    field: Field
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        return self.field.pack(self.encode(value), name, arrays)

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        return self.decode(self.field.unpack(saved, name, arrays, sizes))
