"""Classifiers to files and back."""

import os
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from edgewise.boosting import History
from edgewise.boosting.history import FIELDS
from edgewise.data.filters import Filters
from edgewise.estimators.adaboost_mh import AdaBoostMH
from edgewise.estimators.targets import n_scores
from edgewise.learners import LEARNERS, learner_named
from edgewise.model import ModelFileError, StumpTerms, read, write
from edgewise.model.stored import checked_array, read_rules
from edgewise.objective import LOSSES, VOTE_RULES
from edgewise.search import SEARCHES
from edgewise.validation import one_of, positive

_PARTS = {"learner": LEARNERS, "search": SEARCHES}
# Settings that belong to one fit only.
_FOR_ONE_FIT = ("callbacks", "random_state", "verbose", "n_jobs")

# What a file may ask for. Prediction tables hold a row of K numbers for each threshold, which for a
# hostile file can be far more than the file itself; real models stay well below.
_MOST_FEATURES = 20_000_000
_MOST_TABLE_BYTES = 1 << 28


def save(model: AdaBoostMH, path: str | os.PathLike[str]) -> None:
    """Write a trained classifier to a file."""
    names = getattr(model, "feature_names_in_", None)
    parameters = _parameters(model)
    header = {
        "estimator": "AdaBoostMH",
        "parameters": parameters,
        "classes": _plain_classes(model.classes_),
        "multilabel": bool(model._multilabel),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "best_iteration": int(model.best_iteration_),
        "stop_reason": model.stop_reason_,
        "seed": int(model._seed),
        "settings": {
            "votes": model.votes_,
            "loss": model.loss_,
            "learning_rate": float(model.learning_rate_),
        },
        "trained": _part(LEARNERS, model.learner_),
        "categories": {str(j): list(values) for j, values in model._categories.items()},
        "filters": _filter_settings(model._filters),
        "nominal": model._nominal,
        "terms": "stumps" if isinstance(model.terms_, StumpTerms) else "rules",
    }
    unsaved = set(model.get_params(deep=False)) - set(parameters)
    arrays = {field.name: getattr(model.terms_, field.name) for field in fields(model.terms_)}
    arrays |= {"history": model.history_.to_array(), "offsets": model._offsets}
    if not isinstance(model.init_weights, str):
        arrays["init_weights"] = np.array(model.init_weights, dtype=np.float64)
        unsaved.remove("init_weights")
    write(path, {**header, "unsaved": sorted(unsaved)}, arrays)


def load(path: str | os.PathLike[str]) -> AdaBoostMH:
    """Read a model from a file that ``save`` wrote.

    A model file holds numbers and names only: reading one never runs code from it, and a damaged or
    hostile file gives a ModelFileError.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : AdaBoostMH
        The trained model, which predicts as the saved one did, bit for bit.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
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
        return _rebuilt(header, arrays)
    except Exception as error:
        # What a hostile header holds can go wrong in any way; nothing of it is used then.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error


def _rebuilt(header: dict[str, Any], arrays: dict[str, NDArray]) -> AdaBoostMH:
    if header["estimator"] != "AdaBoostMH":
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    model = AdaBoostMH(**_settings(header["parameters"]))
    if "init_weights" in arrays:
        model.init_weights = arrays["init_weights"]
    model._unsaved = [name for name in _strings(header["unsaved"]) if name not in _FOR_ONE_FIT]
    model._seed = _count(header["seed"])
    model.classes_ = _classes(header["classes"])
    model._multilabel = _boolean(header["multilabel"])
    model.n_features_in_ = _count(header["n_features"])
    if model.n_features_in_ > _MOST_FEATURES:
        raise ValueError(f"{model.n_features_in_} features are more than a model can have")
    names = header["feature_names"]
    if names is not None:
        if len(_strings(names)) != model.n_features_in_:
            raise ValueError("feature names do not match the number of features")
        model.feature_names_in_ = np.array(names, dtype=object)
    width = n_scores(len(model.classes_), model._multilabel)
    _read_settings(model, header)
    model._categories = _categories(header["categories"], model.n_features_in_)
    model._filters = _filters(header["filters"], model.n_features_in_)
    model._nominal = [_count(column) for column in header["nominal"]]
    if header["terms"] == "stumps":
        model.terms_ = _stumps(arrays, width, model.n_features_in_)
        _check_table_size(model.terms_)
    else:
        n_filters = len(model._filters) if model._filters is not None else 0
        n_columns = model.n_features_in_ + n_filters
        model.terms_ = read_rules(arrays, width, n_columns, model._categories)
    model.n_rounds_ = len(model.terms_)
    model.history_ = History.from_array(
        checked_array(arrays["history"], np.float64, (None, len(FIELDS)), finite=False)
    )
    if model.history_.n_rounds < model.n_rounds_:
        raise ValueError("the history is shorter than the model")
    model._offsets = checked_array(arrays["offsets"], np.float64, (width,))
    model.best_iteration_ = _count(header["best_iteration"])
    model.stop_reason_ = str(header["stop_reason"])
    if not np.isfinite(model.terms_.total_vote):
        raise ValueError("the coefficients are larger than any model's")
    model._prepare()
    return model


def _stumps(arrays: dict[str, NDArray], width: int, n_features: int) -> StumpTerms:
    columns = arrays["columns"]
    if columns.ndim != 2 or columns.shape[1] not in (1, width):
        raise ValueError("the terms have the wrong shape")
    shape = columns.shape
    terms = StumpTerms(
        checked_array(columns, np.int32, shape),
        checked_array(arrays["thresholds"], np.float64, shape, finite=False),
        checked_array(arrays["missing"], np.int8, shape),
        checked_array(arrays["alphas"], np.float64, shape[:1]),
        checked_array(arrays["votes"], np.float64, (shape[0], width)),
    )
    if len(terms) and (columns.min() < -1 or columns.max() >= n_features):
        raise ValueError("a term names a column that does not exist")
    if np.isnan(terms.thresholds).any() or not np.isin(terms.missing, (-1, 0, 1)).all():
        raise ValueError("a term is damaged")
    return terms


def _parameters(model: AdaBoostMH) -> dict[str, Any]:
    """Return the settings as JSON can hold them; what it cannot is left at its default."""
    settings: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "callbacks" or callable(value):
            continue
        if name in _PARTS and not isinstance(value, str):
            value = _part(_PARTS[name], value)
            if value is None:
                continue
        elif name == "nominal" and value is not None:
            value = [_plain(column) for column in value]
        elif name == "class_weight" and isinstance(value, (dict, list)):
            value = _class_weight_pairs(value)
        value = _plain(value)
        if value is None or isinstance(value, (str, int, float, bool, dict, list)):
            settings[name] = value
    return settings


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as the Python number that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def _part(known: dict[str, Any], value: Any) -> Any:
    """Return a learner or search, or a list of them, as JSON can hold it; None if it cannot."""
    if isinstance(value, (list, tuple)):
        parts = [_part(known, one) for one in value]
        return None if any(part is None for part in parts) else parts
    if not isinstance(value, BaseEstimator):
        plain = _plain(value)
        return plain if isinstance(plain, (str, int, float, bool)) else None
    for name, kind in known.items():
        if type(value) is kind:
            chosen = value.get_params(deep=False)
            settings = {key: _part(known, setting) for key, setting in chosen.items()}
            return None if None in settings.values() else {"name": name, "parameters": settings}
    return None


def _settings(saved: dict[str, Any]) -> dict[str, Any]:
    settings = dict(saved)
    settings["class_weight"] = _class_weight(settings.get("class_weight"))
    for part, known in _PARTS.items():
        if part in settings:
            settings[part] = _rebuilt_part(known, settings[part])
    return settings


def _rebuilt_part(known: dict[str, Any], saved: Any) -> Any:
    if isinstance(saved, list):
        return [_rebuilt_part(known, one) for one in saved]
    if not isinstance(saved, dict):
        return saved
    settings = {key: _rebuilt_part(known, value) for key, value in saved["parameters"].items()}
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


def _check_table_size(terms: StumpTerms) -> None:
    """Raise if the model's prediction tables would take more memory than any real model's."""
    row_bytes = 8 * terms.n_scores
    if terms.columns.size * row_bytes <= _MOST_TABLE_BYTES:
        return
    cuts = np.stack([terms.columns.ravel().astype(np.float64), terms.thresholds.ravel()])
    distinct = np.unique(cuts, axis=1).shape[1]
    if distinct * row_bytes > _MOST_TABLE_BYTES:
        raise ValueError(f"its tables of {distinct} thresholds are larger than any model's")


def _filter_settings(filters: Filters | None) -> list[int] | None:
    return None if filters is None else [*filters.shape, filters.smallest]


def _filters(saved: Any, n_features: int) -> Filters | None:
    if saved is None:
        return None
    rows, columns, smallest = (_count(number) for number in saved)
    if rows * columns != n_features:
        raise ValueError("the image filters do not match the number of features")
    return Filters((rows, columns), smallest)


def _categories(saved: Any, n_features: int) -> dict[int, tuple[object, ...]]:
    found = {}
    for name, values in saved.items():
        column = int(name)
        if not 0 <= column < n_features or not isinstance(values, list):
            raise ValueError("the categories are damaged")
        if not all(isinstance(value, (str, float)) for value in values):
            raise ValueError("categories must be strings or numbers")
        found[column] = tuple(values)
    return found


def _read_settings(model: AdaBoostMH, header: dict[str, Any]) -> None:
    settings = header["settings"]
    model.votes_ = one_of("votes", settings["votes"], VOTE_RULES)
    model.loss_ = one_of("loss", settings["loss"], LOSSES)
    model.learning_rate_ = positive("learning_rate", settings["learning_rate"])
    model._link = 1.0 if model.loss_ == "logistic" else 2.0
    # None where the learner is of the user's own making, which a file cannot hold.
    trained = header["trained"]
    if trained is not None:
        trained = learner_named(_rebuilt_part(LEARNERS, trained))
    model.learner_ = trained


def _strings(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("feature names and settings must be lists of strings")
    return values


def _plain_classes(classes: NDArray) -> dict[str, Any]:
    if classes.dtype.kind not in "iufbUO":
        raise TypeError(f"a model file cannot hold classes of type {classes.dtype}")
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _classes(saved: dict[str, Any]) -> NDArray:
    dtype = np.dtype(str(saved["dtype"]))
    if dtype.kind not in "iufbUO" or dtype.itemsize > 100_000:
        raise ValueError(f"classes of type {dtype} are not allowed")
    values = saved["values"]
    if not isinstance(values, list) or len(values) < 2:
        raise ValueError("a classifier needs at least two classes")
    if not all(isinstance(value, (str, int, float, bool)) for value in values):
        raise ValueError("classes must be numbers or strings")
    if dtype.kind == "U":
        return np.array([str(value) for value in values])
    classes = np.array(values, dtype=dtype)
    if classes.tolist() != values:
        raise ValueError(f"classes do not fit their type, {dtype}")
    return classes


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    return value
