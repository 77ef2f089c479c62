"""Recommenders to files and back: parameters, ratings and fitted arrays, and no code."""

import os
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.estimators.stored_parts import parameters_of, settings_from
from edgewise.model import ModelFileError, write
from edgewise.ratings.stored import ratings_parts, read_ratings
from edgewise.recommend.base import Recommender

KINDS = {
    "BiasBaseline": "baselines",
    "Popularity": "baselines",
    "RandomRecommender": "baselines",
    "BoostedFactorization": "boosted",
    "ContentRecommender": "content",
    "ImplicitFactorization": "factorization",
    "MatrixFactorization": "factorization",
    "NonNegativeFactorization": "factorization",
    "SVDRecommender": "factorization",
    "ItemKNN": "neighbours",
    "RankingNeighbour": "neighbours",
    "UserKNN": "neighbours",
    "RankBoostRecommender": "rank_boosted",
    "UserRegression": "regression",
    "Blend": "blend",
}
"""The modules of the recommenders that files can hold."""

Header = dict[str, Any]
Arrays = dict[str, NDArray]


def save(model: Recommender, path: str | os.PathLike[str]) -> None:
    """Write a fitted recommender to a file."""
    header, arrays = parts_of(model)
    ratings, rating_arrays = ratings_parts(model.ratings_)
    header["ratings"] = ratings
    write(path, header, arrays | {f"ratings.{name}": one for name, one in rating_arrays.items()})


def load(path: str | os.PathLike[str], header: Header, arrays: Arrays) -> Recommender:
    """Return the recommender of a file, from its header and arrays, or raise a ModelFileError."""
    try:
        ratings = read_ratings(header["ratings"], under("ratings", arrays))
        return rebuilt(header, arrays, ratings)
    except Exception as error:
        # What a hostile header holds can go wrong in any way; nothing of it is used then.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names begin with a prefix and a point, without it."""
    start = f"{prefix}."
    return {name[len(start) :]: one for name, one in arrays.items() if name.startswith(start)}


def is_recommender(header: Header) -> bool:
    """Return whether a file's header is that of a recommender."""
    name = header.get("estimator")
    return isinstance(name, str) and name in KINDS


def parts_of(model: Recommender) -> tuple[Header, Arrays]:
    """Return what is stored of a model beside its ratings."""
    name = type(model).__name__
    if name not in KINDS or type(model) is not _kind(name):
        raise TypeError(f"a model file cannot hold a {name}, a class of your own")
    plain, arrays = state_of(model)
    header: Header = {"estimator": name, "parameters": parameters_of(model), "state": plain}
    own, own_arrays = model._own_parts()
    return header | {"own": own}, arrays | own_arrays


def rebuilt(header: Header, arrays: Arrays, ratings: Any) -> Recommender:
    """Return the model of a header, arrays and the ratings it was trained on."""
    model: Recommender = _kind(header["estimator"])(**settings_from(header["parameters"]))
    model._check_parameters()
    restore_state(model, header["state"], arrays)
    model.ratings_ = ratings
    for name, size in (("known_users_", ratings.n_users), ("known_items_", ratings.n_items)):
        mask = getattr(model, name)
        if mask.dtype != bool or mask.shape != (size,):
            raise ValueError(f"{name} does not match the ratings")
    check_scale(model)
    check_shapes(model)
    model._restore_own(header["own"], arrays)
    return model


def state_of(model: Recommender) -> tuple[Header, Arrays]:
    """Return the fitted attributes: plain values, and arrays."""
    plain: Header = {}
    arrays: Arrays = {}
    for name, value in sorted(vars(model).items()):
        if not name.endswith("_") or name == "ratings_" or name in model.own_state:
            continue
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in "fiub":
                raise TypeError(
                    f"{name} is an array of {value.dtype}, which no model file can hold"
                )
            arrays[f"state.{name}"] = value
        elif sparse.issparse(value):
            matrix = sparse.csr_array(value)
            plain[name] = {"shape": list(matrix.shape)}
            for part in ("data", "indices", "indptr"):
                arrays[f"state.{name}.{part}"] = getattr(matrix, part)
        else:
            plain[name] = _plain(name, value)
    return plain, arrays


def restore_state(model: Recommender, plain: Header, arrays: Arrays) -> None:
    """Set the fitted attributes."""
    for name, value in plain.items():
        _check_name(name)
        setattr(model, name, _sparse(name, value, arrays) if isinstance(value, dict) else value)
    for key, array in arrays.items():
        prefix, _, name = key.partition(".")
        if prefix == "state" and "." not in name:
            _check_name(name)
            setattr(model, name, array)


def check_scale(model: Recommender) -> None:
    """Raise if the least, the largest or the mean rating is none."""
    scale: list[Any] = [model.low_, model.mean_, model.high_]
    if not all(type(value) in (int, float) and np.isfinite(value) for value in scale):
        raise ValueError("the least, the largest and the mean rating must be finite numbers")
    if model.low_ > model.high_:
        raise ValueError("the least rating must not be above the largest")


def check_shapes(model: Recommender) -> None:
    """Raise if a fitted array has not the shape that its model says."""
    sizes = {"users": model.n_users_, "items": model.n_items_, "ratings": len(model.ratings_)}
    for name, words in model.shapes.items():
        array = getattr(model, name)
        if array is None:
            continue
        if array.ndim != len(words.split()):
            raise ValueError(f"{name} must have the shape ({words})")
        for word, size in zip(words.split(), array.shape, strict=True):
            if sizes.setdefault(word, size) != size:
                raise ValueError(f"{name} must have the shape ({words})")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")


def _kind(name: str) -> Any:
    return getattr(import_module(f"edgewise.recommend.{KINDS[name]}"), name)


def _check_name(name: str) -> None:
    if not name.isidentifier() or not name.endswith("_") or name.startswith("_"):
        raise ValueError(f"{name!r} is not the name of a fitted attribute")


def _plain(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(name, one) for one in value]
    raise TypeError(f"{name} is a {type(value).__name__}, which a model file cannot hold")


def _sparse(name: str, saved: Header, arrays: Arrays) -> Any:
    rows, columns = (int(size) for size in saved["shape"])
    data, indices, starts = (arrays[f"state.{name}.{p}"] for p in ("data", "indices", "indptr"))
    matrix = sparse.csr_array((data, indices, starts), shape=(rows, columns))
    matrix.check_format(full_check=True)
    return matrix
