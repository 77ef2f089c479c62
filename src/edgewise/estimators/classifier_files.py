"""What a file holds of a classifier beyond what it holds of every model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of, positive
from edgewise.estimators.adaboost_mh import AdaBoostMH
from edgewise.estimators.stored_parts import boolean
from edgewise.estimators.targets import n_scores
from edgewise.model.stored import checked_array
from edgewise.objective import LOSSES, VOTE_RULES


def own_parts(model: AdaBoostMH) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header entries and arrays of a classifier."""
    header = {
        "classes": _plain_classes(model.classes_),
        "multilabel": bool(model.fitted_.multilabel),
        "settings": {
            "votes": model.votes_,
            "loss": model.loss_,
            "learning_rate": float(model.learning_rate_),
        },
    }
    arrays = {"offsets": model.fitted_.offsets}
    if not isinstance(model.init_weights, str):
        arrays["init_weights"] = np.array(model.init_weights, dtype=np.float64)
    return header, arrays


def width_of(header: dict[str, Any]) -> int:
    """Return the number of score columns."""
    return n_scores(len(_classes(header["classes"])), boolean(header["multilabel"]))


def own_fields(header: dict[str, Any], arrays: dict[str, NDArray]) -> dict[str, Any]:
    """Return the fields of a classifier's record that `own_parts` took."""
    settings = header["settings"]
    return {
        "classes": _classes(header["classes"]),
        "multilabel": boolean(header["multilabel"]),
        "offsets": checked_array(arrays["offsets"], np.float64, (width_of(header),)),
        "votes": one_of("votes", settings["votes"], VOTE_RULES),
        "loss": one_of("loss", settings["loss"], LOSSES),
        "learning_rate": positive("learning_rate", settings["learning_rate"]),
    }


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
