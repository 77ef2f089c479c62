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
from edgewise.estimators.base import BoostedModel
from edgewise.estimators.fitted import Fitted, FittedClassifier, FittedRanker
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


def _of_ranker(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"has_queries": bool(model.fitted_.has_queries)}, {}


def _one_score(header: dict[str, Any]) -> int:
    return 1


def _ranker(header: dict[str, Any], _: dict[str, NDArray]) -> dict[str, Any]:
    return {"has_queries": boolean(header["has_queries"])}


@dataclass(frozen=True)
class _Kind:
    """How an estimator is stored: its class and record, and what a file holds of it alone."""

    estimator: type
    fitted: type[Fitted]
    fields: tuple[str, ...]
    own_parts: Callable[[Any], tuple[dict[str, Any], dict[str, Any]]]
    width_of: Callable[[dict[str, Any]], int]
    own_fields: Callable[[dict[str, Any], dict[str, NDArray]], dict[str, Any]]


_KINDS = {
    "AdaBoostMH": _Kind(
        AdaBoostMH,
        FittedClassifier,
        CLASSIFYING,
        classifier_files.own_parts,
        classifier_files.width_of,
        classifier_files.own_fields,
    ),
    "RankBoost": _Kind(RankBoost, FittedRanker, RANKING, _of_ranker, _one_score, _ranker),
    "RankFusion": _Kind(RankFusion, FittedRanker, RANKING, _of_ranker, _one_score, _ranker),
}


def save(model: BoostedModel, path: str | os.PathLike[str]) -> None:
    """Write a trained model to a file."""
    name = type(model).__name__
    if name not in _KINDS or _KINDS[name].estimator is not type(model):
        raise TypeError(f"a model file cannot hold a {name}, a class of your own")
    fitted: Fitted = model.fitted_
    parameters = parameters_of(model)
    own, own_arrays = _KINDS[name].own_parts(model)
    searches, search_arrays = search_parts(list(fitted.search_states))
    header = {
        "estimator": name,
        "parameters": parameters,
        "n_features": int(fitted.n_features),
        "feature_names": None if fitted.feature_names is None else list(fitted.feature_names),
        "best_iteration": int(fitted.best_iteration),
        "stop_reason": fitted.stop_reason,
        "seed": int(fitted.seed),
        "trained": part_of(LEARNERS, fitted.learner),
        "categories": {str(j): list(values) for j, values in fitted.categories.items()},
        "filters": _filter_settings(fitted.filters),
        "categorical": list(fitted.categorical),
        "terms": kind_of(fitted.terms),
        "history": list(fitted.history.fields),
        "searches": searches,
        **own,
    }
    arrays = {field.name: getattr(fitted.terms, field.name) for field in fields(fitted.terms)}
    arrays |= {"history": fitted.history.to_array(), **own_arrays, **search_arrays}
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
    columns = _columns(header)
    own = kind.own_fields(header, arrays)
    if "init_weights" in arrays and isinstance(model, AdaBoostMH):
        model.init_weights = arrays["init_weights"]
    # None where the learner is of the user's own making, which a file cannot hold.
    trained = header["trained"]
    filters = columns["filters"]
    terms = read_terms(
        header["terms"],
        arrays,
        kind.width_of(header),
        columns["n_features"],
        len(filters) if filters is not None else 0,
        columns["categories"],
    )
    if tuple(strings(header["history"])) != kind.fields:
        raise ValueError("the history does not record what it should")
    records = checked_array(arrays["history"], np.float64, (None, len(kind.fields)), finite=False)
    history = History.from_array(records, kind.fields)
    if history.n_rounds < len(terms):
        raise ValueError("the history is shorter than the model")
    if not np.isfinite(terms.total_vote):
        raise ValueError("the coefficients are larger than any model's")
    unsaved = [name for name in strings(header["unsaved"]) if name not in FOR_ONE_FIT]
    fitted = kind.fitted(
        terms=terms,
        history=history,
        learner=None if trained is None else learner_named(rebuilt_part(LEARNERS, trained)),
        best_iteration=count(header["best_iteration"]),
        stop_reason=str(header["stop_reason"]),
        seed=count(header["seed"]),
        search_states=tuple(read_searches(header["searches"], arrays)),
        unsaved=tuple(unsaved),
        **columns,
        **own,
    )
    return model._with(fitted)


def _columns(header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that describe the columns."""
    n_features = count(header["n_features"])
    if n_features > _MOST_FEATURES:
        raise ValueError(f"{n_features} features are more than a model can have")
    names = header["feature_names"]
    if names is not None and len(strings(names)) != n_features:
        raise ValueError("feature names do not match the number of features")
    return {
        "n_features": n_features,
        "feature_names": None if names is None else tuple(names),
        "categories": _categories(header["categories"], n_features),
        "filters": _filters(header["filters"], n_features),
        "categorical": tuple(count(column) for column in header["categorical"]),
    }


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
