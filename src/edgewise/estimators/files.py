"""Models to files and back."""

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import CLASSIFYING, RANKING, History
from edgewise.data.filters import Filters
from edgewise.estimators import classifier_files
from edgewise.estimators.adaboost_mh import AdaBoostMH
from edgewise.estimators.rank_boost import RankBoost
from edgewise.estimators.rank_fusion import RankFusion
from edgewise.estimators.stored_parts import (
    FOR_ONE_FIT,
    boolean,
    count,
    parameters_of,
    part_of,
    rebuilt_part,
    settings_from,
    strings,
)
from edgewise.estimators.stored_searches import read_searches, search_parts
from edgewise.estimators.stored_terms import kind_of, read_terms
from edgewise.learners import LEARNERS, learner_named
from edgewise.model import ModelFileError, write
from edgewise.model.stored import checked_array

Model = AdaBoostMH | RankBoost | RankFusion

_MOST_FEATURES = 20_000_000


def _of_ranker(model: RankBoost) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"has_queries": bool(model._has_queries)}, {}


def _one_score(header: dict[str, Any]) -> int:
    return 1


def _restore_ranker(model: RankBoost, header: dict[str, Any], _: dict[str, NDArray]) -> None:
    model._has_queries = boolean(header["has_queries"])


def _of_fusion(model: RankFusion) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"list_names": list(model.list_names_), **_of_ranker(model)[0]}, {}


def _restore_fusion(model: RankFusion, header: dict[str, Any], arrays: dict[str, NDArray]) -> None:
    _restore_ranker(model, header, arrays)
    names = strings(header["list_names"])
    if len(names) != model.n_features_in_:
        raise ValueError("the names of the lists do not match their number")
    model.list_names_ = tuple(names)


@dataclass(frozen=True)
class _Kind:
    """How an estimator is stored.

    Attributes
    ----------
    estimator : type
        Its class.
    fields : tuple of str
        What its history records.
    own_parts, width_of, restore : functions
        What a file holds of it beyond what it holds of every model, the number of score columns,
        and the way back.
    """

    estimator: type
    fields: tuple[str, ...]
    own_parts: Callable[[Any], tuple[dict[str, Any], dict[str, Any]]]
    width_of: Callable[[dict[str, Any]], int]
    restore: Callable[[Any, dict[str, Any], dict[str, NDArray]], None]


_KINDS = {
    "AdaBoostMH": _Kind(
        AdaBoostMH,
        CLASSIFYING,
        classifier_files.own_parts,
        classifier_files.width_of,
        classifier_files.restore,
    ),
    "RankBoost": _Kind(RankBoost, RANKING, _of_ranker, _one_score, _restore_ranker),
    "RankFusion": _Kind(RankFusion, RANKING, _of_fusion, _one_score, _restore_fusion),
}


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a trained model to a file."""
    name = type(model).__name__
    if name not in _KINDS or type(model) is not _KINDS[name].estimator:
        raise TypeError(f"a model file cannot hold a {name}, a class of your own")
    names = getattr(model, "feature_names_in_", None)
    parameters = parameters_of(model)
    own, own_arrays = _KINDS[name].own_parts(model)
    searches, search_arrays = search_parts(getattr(model, "_search_states", []))
    header = {
        "estimator": name,
        "parameters": parameters,
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "best_iteration": int(model.best_iteration_),
        "stop_reason": model.stop_reason_,
        "seed": int(model._seed),
        "trained": part_of(LEARNERS, model.learner_),
        "categories": {str(j): list(values) for j, values in model._categories.items()},
        "filters": _filter_settings(model._filters),
        "categorical": model._categorical,
        "terms": kind_of(model.terms_),
        "history": list(model.history_.fields),
        "searches": searches,
        **own,
    }
    arrays = {field.name: getattr(model.terms_, field.name) for field in fields(model.terms_)}
    arrays |= {"history": model.history_.to_array(), **own_arrays, **search_arrays}
    unsaved = set(model.get_params(deep=False)) - set(parameters) - set(own_arrays)
    write(path, {**header, "unsaved": sorted(unsaved)}, arrays)


def load(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray]) -> Model:
    """Return the estimator of a file, from its header and arrays, or raise a ModelFileError."""
    try:
        return _rebuilt(header, arrays)
    except Exception as error:
        # What a hostile header holds can go wrong in any way; nothing of it is used then.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error


def _rebuilt(header: dict[str, Any], arrays: dict[str, NDArray]) -> Model:
    if header["estimator"] not in _KINDS:
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    kind = _KINDS[header["estimator"]]
    model: Model = kind.estimator(**settings_from(header["parameters"]))
    model._unsaved = [name for name in strings(header["unsaved"]) if name not in FOR_ONE_FIT]
    model._seed = count(header["seed"])
    _read_columns(model, header)
    kind.restore(model, header, arrays)
    # None where the learner is of the user's own making, which a file cannot hold.
    trained = header["trained"]
    model.learner_ = None if trained is None else learner_named(rebuilt_part(LEARNERS, trained))
    n_filters = len(model._filters) if model._filters is not None else 0
    width = kind.width_of(header)
    model.terms_ = read_terms(
        header["terms"], arrays, width, model.n_features_in_, n_filters, model._categories
    )
    model.n_rounds_ = len(model.terms_)
    if tuple(strings(header["history"])) != kind.fields:
        raise ValueError("the history does not record what it should")
    records = checked_array(arrays["history"], np.float64, (None, len(kind.fields)), finite=False)
    model.history_ = History.from_array(records, kind.fields)
    if model.history_.n_rounds < model.n_rounds_:
        raise ValueError("the history is shorter than the model")
    model._search_states = read_searches(header["searches"], arrays)
    model.best_iteration_ = count(header["best_iteration"])
    model.stop_reason_ = str(header["stop_reason"])
    if not np.isfinite(model.terms_.total_vote):
        raise ValueError("the coefficients are larger than any model's")
    model._prepare()
    return model


def _read_columns(model: Model, header: dict[str, Any]) -> None:
    """Read what is known of the columns."""
    model.n_features_in_ = count(header["n_features"])
    if model.n_features_in_ > _MOST_FEATURES:
        raise ValueError(f"{model.n_features_in_} features are more than a model can have")
    names = header["feature_names"]
    if names is not None:
        if len(strings(names)) != model.n_features_in_:
            raise ValueError("feature names do not match the number of features")
        model.feature_names_in_ = np.array(names, dtype=object)
    model._categories = _categories(header["categories"], model.n_features_in_)
    model._filters = _filters(header["filters"], model.n_features_in_)
    model._categorical = [count(column) for column in header["categorical"]]


def _filter_settings(filters: Filters | None) -> list[int] | None:
    return None if filters is None else [*filters.shape, filters.smallest]


def _filters(saved: Any, n_features: int) -> Filters | None:
    if saved is None:
        return None
    rows, columns, smallest = (count(number) for number in saved)
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
