"""Settings, learners and plain values as JSON can hold them, and back."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from edgewise.learners import LEARNERS
from edgewise.search import SEARCHES

_PARTS = {"learner": LEARNERS, "search": SEARCHES}
# Settings that belong to one fit only.
FOR_ONE_FIT = ("callbacks", "random_state", "verbose", "n_jobs")


def parameters_of(model: BaseEstimator) -> dict[str, Any]:
    """Return the settings as JSON can hold them; what it cannot is left at its default."""
    settings: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "callbacks" or callable(value):
            continue
        if name in _PARTS and not isinstance(value, str):
            value = part_of(_PARTS[name], value)
            if value is None:
                continue
        elif name == "categorical_features" and value is not None:
            value = [_plain(column) for column in value]
        elif name == "monotonic_cst" and isinstance(value, (np.ndarray, list, tuple)):
            value = [int(direction) for direction in value]
        elif name == "class_weight" and isinstance(value, (dict, list)):
            value = _class_weight_pairs(value)
        value = _plain(value)
        if value is None or isinstance(value, (str, int, float, bool, dict, list)):
            settings[name] = value
    return settings


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as the Python number that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def part_of(known: dict[str, Any], value: Any) -> Any:
    """Return a learner or search, or a list of them, as JSON can hold it; None if it cannot."""
    try:
        return _stored(known, value)
    except _UnknownPartError:
        return None


class _UnknownPartError(Exception):
    """A file cannot hold it. No value says so, since a setting may be None."""


def _stored(known: dict[str, Any], value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_stored(known, one) for one in value]
    if not isinstance(value, BaseEstimator):
        plain = _plain(value)
        if plain is None or isinstance(plain, (str, int, float, bool)):
            return plain
        raise _UnknownPartError
    for name, kind in known.items():
        if type(value) is kind:
            chosen = value.get_params(deep=False).items()
            return {"name": name, "parameters": {key: _stored(known, one) for key, one in chosen}}
    raise _UnknownPartError


def settings_from(saved: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of an estimator as it takes them."""
    settings = dict(saved)
    if "class_weight" in settings:
        settings["class_weight"] = _class_weight(settings["class_weight"])
    for part, known in _PARTS.items():
        if part in settings:
            settings[part] = rebuilt_part(known, settings[part])
    return settings


def rebuilt_part(known: dict[str, Any], saved: Any) -> Any:
    """Return the learner or search that `part_of` gave."""
    if isinstance(saved, list):
        return [rebuilt_part(known, one) for one in saved]
    if not isinstance(saved, dict):
        return saved
    settings = {key: rebuilt_part(known, value) for key, value in saved["parameters"].items()}
    return known[saved["name"]](**settings)


def _class_weight_pairs(weights: Any) -> list[Any]:
    """Return class weights as lists of pairs, since the keys of JSON are strings only."""
    if isinstance(weights, list):
        return [_class_weight_pairs(one) for one in weights]
    return [{"class": _plain(label), "weight": _plain(weight)} for label, weight in weights.items()]


def _class_weight(saved: Any) -> Any:
    if not isinstance(saved, list):
        return saved
    if saved and isinstance(saved[0], list):
        return [_class_weight(one) for one in saved]
    return {pair["class"]: pair["weight"] for pair in saved}


def strings(values: Any) -> list[str]:
    """Return a list of strings, or raise."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("feature names and settings must be lists of strings")
    return values


def count(value: Any) -> int:
    """Return a whole number of at least 0, or raise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def boolean(value: Any) -> bool:
    """Return true or false, or raise."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    return value
