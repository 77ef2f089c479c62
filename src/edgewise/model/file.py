"""Model files: one format for every model.

A model declares the fields of its fitted state (:mod:`edgewise.common.fields`); its class and
parameters are added here, and :mod:`edgewise.model.archive` writes and reads all of it.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from edgewise.common.fields import (
    NUMBER_KINDS,
    Array,
    Arrays,
    Field,
    Json,
    Plain,
    Required,
    Sizes,
    Sparse,
)
from edgewise.common.files import PathLike
from edgewise.model.archive import Header, ModelFileError, read, write

if TYPE_CHECKING:
    from edgewise.io.schema import Schema

# Settings of a single fit, which nobody misses in a file.
_FOR_ONE_FIT = ("callbacks", "random_state", "verbose", "n_jobs")


class Storable(BaseEstimator):
    """A model that files can hold.

    Its class must be a public name of the library. Parameters are stored as ``get_params`` gives
    them, fitted attributes as `stored` declares them.
    """

    stored: ClassVar[Mapping[str, str | Field | None]] = {}
    """Fitted attributes and their fields; base classes may have more.

    A string such as "users k" is an array of float64 of that shape; the field None is an attribute
    that files leave out.
    """

    stores_undeclared: ClassVar[bool] = False
    """Whether files also hold attributes that end in an underscore and are not declared."""

    schema_: "Schema | None" = None
    """The schema of the training table, if `edgewise train` or the user set it; files hold it."""

    _unsaved: list[str]

    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong that may be used without a new fit."""

    def _setting(self, name: str, value: Any) -> Any:
        """Return a parameter as a file is to hold it."""
        return value

    def _check_restored(self) -> None:
        """Check that the fitted attributes from a file match each other, and prepare for use."""

    def save(self, path: PathLike) -> None:
        """Write the model to a file that :func:`edgewise.load` reads: arrays and names, no code.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        check_is_fitted(self, msg="This %(name)s is not fitted yet: call fit first.")
        self._check_parameters()
        arrays: Arrays = {}
        header = pack_model(self, "", arrays)
        if self.schema_ is not None:
            header["schema"] = self.schema_.to_json()
        write(path, header, arrays)

    # scikit-learn's diagram for notebooks, and what a fitted model learned below it.

    def _notebook_summary(self) -> str:
        """Return what the model learned, in HTML; nothing before it is fitted."""
        return ""

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{self._notebook_summary()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def load(path: PathLike) -> Any:
    """Read a model from a file that ``save`` wrote; it predicts as the saved one did, bit for bit.

    A model file holds numbers and names only: reading one never runs code from it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged, or comes from a newer edgewise.

    Examples
    --------
    >>> import os, tempfile
    >>> import edgewise
    >>> model = edgewise.AdaBoostMH(n_rounds=3).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "small.edgewise")
    >>> model.save(path)
    >>> edgewise.load(path).predict([[1.7]])
    array(['b'], dtype='<U1')
    """
    header, arrays = read(path)
    try:
        model = unpack_model(header, "", arrays, {})
        model._check_restored()
        if header.get("schema") is not None:
            from edgewise.io.schema import Schema

            model.schema_ = Schema.from_json(header["schema"])
    except Exception as error:
        # A hostile header can make anything go wrong; nothing of it is used then.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error
    return model


# Models


def pack_model(
    model: Storable, prefix: str, arrays: Arrays, leave_out: Collection[str] = ()
) -> Header:
    """Return the header of a model, and add its arrays to `arrays`, with a prefix to their names.

    Fitted attributes in `leave_out` are left out.
    """
    name = type(model).__name__
    if _class_named(name) is not type(model):
        raise TypeError(f"a model file cannot hold a {name}, a class of your own")
    parameters: Header = {}
    unsaved: list[str] = []
    for key, value in sorted(model.get_params(deep=False).items()):
        try:
            kept = model._setting(key, value)
            parameters[key] = _SETTING.pack(kept, f"{prefix}parameters.{key}", arrays)
        except _UnstorableError:
            unsaved.append(key)
    fields = stored_fields(type(model))
    names = {key for key, field in fields.items() if field is not None}
    if model.stores_undeclared:
        names |= {key for key in vars(model) if key.endswith("_")} - {*fields, "schema_"}
    state = {
        key: (fields.get(key) or _UNDECLARED).pack(getattr(model, key), f"{prefix}{key}", arrays)
        for key in sorted(names - {*leave_out})
    }
    return {"estimator": name, "parameters": parameters, "unsaved": unsaved, "state": state}


def unpack_model(
    header: Header, prefix: str, arrays: Arrays, sizes: Sizes, leave_out: Collection[str] = ()
) -> Any:
    """Return the model of a header and arrays, before :meth:`Storable._check_restored` is called.

    `prefix` and `leave_out` are as in :func:`pack_model`; `sizes` holds the lengths that are known.
    """
    kind = _class_named(header["estimator"])
    if kind is None or not issubclass(kind, Storable):
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    unsaved = header["unsaved"]
    if not isinstance(unsaved, list) or not all(isinstance(name, str) for name in unsaved):
        raise TypeError("unsaved must be a list of names")
    parameters = {
        key: _SETTING.unpack(value, f"{prefix}parameters.{key}", arrays, {})
        for key, value in header["parameters"].items()
    }
    model = kind(**parameters)
    model._unsaved = [name for name in unsaved if name not in _FOR_ONE_FIT]
    fields, state = stored_fields(kind), header["state"]
    for key, field in fields.items():
        if field is not None and key not in leave_out:
            setattr(model, key, field.unpack(state[key], f"{prefix}{key}", arrays, sizes))
    for key in state.keys() - fields.keys():
        fitted = key.isidentifier() and key.endswith("_") and not key.startswith("_")
        if not kind.stores_undeclared or not fitted:
            raise ValueError(f"{key!r} is not a fitted attribute")
        setattr(model, key, _UNDECLARED.unpack(state[key], f"{prefix}{key}", arrays, sizes))
    return model


def stored_fields(kind: type[Storable]) -> dict[str, Field | None]:
    """Return the declared fields of a class and its bases, the bases first."""
    fields: dict[str, Field | None] = {}
    for base in reversed(kind.__mro__):
        for key, field in vars(base).get("stored", {}).items():
            fields[key] = Required(Array(field, np.float64)) if isinstance(field, str) else field
    return fields


def _class_named(name: Any) -> Any:
    """Return the public class with parameters of this name, or None: files name no others."""
    library = import_module("edgewise")
    if not isinstance(name, str) or name not in library.__all__:
        return None
    candidate = getattr(library, name)
    is_estimator = isinstance(candidate, type) and issubclass(candidate, BaseEstimator)
    return candidate if is_estimator else None


class _Undeclared(Field):
    """A fitted attribute that is not declared: an array, a sparse matrix, or a plain value."""

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        if isinstance(value, np.ndarray):
            return {"array": Array("*").pack(value, name, arrays)}
        if hasattr(value, "tocsr"):
            return {"sparse": Sparse().pack(value, name, arrays)}
        return {"value": Plain().pack(value, name, arrays)}

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        ((kind, inner),) = saved.items()
        if kind == "array":
            return arrays[name]
        field = {"sparse": Sparse(), "value": Plain()}[kind]
        return field.unpack(inner, name, arrays, sizes)


class _UnstorableError(TypeError):
    """A file cannot hold a setting."""


class _Setting(Field):
    """A parameter: a plain value, a list, tuple or dict, an array, a learner, search or model."""

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        if isinstance(value, np.ndarray) and value.dtype.kind in NUMBER_KINDS:
            arrays[name] = value
            return {"array": None}
        if hasattr(value, "tolist"):
            value = value.tolist()
        if value is None or isinstance(value, (str, int, float, bool)):
            return value
        if isinstance(value, BaseEstimator) and _class_named(type(value).__name__) is type(value):
            parameters = {
                key: self.pack(element, f"{name}.{key}", arrays)
                for key, element in sorted(value.get_params(deep=False).items())
            }
            return {"class": type(value).__name__, "parameters": parameters}
        if isinstance(value, dict):
            return {"dict": self.pack(list(value.items()), name, arrays)}
        if isinstance(value, (set, frozenset, range)):
            value = sorted(value, key=str)
        if isinstance(value, (list, tuple)):
            elements = [self.pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
            return elements if isinstance(value, list) else {"tuple": elements}
        raise _UnstorableError(f"a model file cannot hold {name}")

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        if isinstance(saved, list):
            return [self.unpack(v, f"{name}.{i}", arrays, sizes) for i, v in enumerate(saved)]
        if not isinstance(saved, dict):
            return saved
        if "class" in saved:
            kind = _class_named(saved["class"])
            if kind is None:
                raise ValueError(f"unknown class {saved['class']!r}")
            parameters = {
                key: self.unpack(element, f"{name}.{key}", arrays, sizes)
                for key, element in saved["parameters"].items()
            }
            return kind(**parameters)
        ((kind_of, inner),) = saved.items()
        if kind_of == "array":
            return arrays[name]
        elements = self.unpack(inner, name, arrays, sizes)
        return {"tuple": tuple, "dict": dict}[kind_of](elements)


class SettingOrNone(_Setting):
    """A learner or another setting; None where a file cannot hold it."""

    def pack(self, value: Any, name: str, arrays: Arrays) -> Json:
        """Return the setting as JSON, or null."""
        try:
            return _SETTING.pack(value, name, arrays)
        except _UnstorableError:
            return None


_UNDECLARED = _Undeclared()
_SETTING = _Setting()
