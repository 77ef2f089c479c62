"""Edits of additive models: changes of a term by hand, and the record of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import between
from edgewise.common.dtypes import Reals
from edgewise.model.shapes import Axis, ShapeFunction

_LARGEST = 1e300


@dataclass(frozen=True)
class Edit:
    """One change of a term, with its effect on the rows that it was measured on."""

    term: str
    """The name of the term."""
    change: str
    """The change in words."""
    metric: str = ""
    """The metric that was measured; empty if no rows were given."""
    before: float = np.nan
    after: float = np.nan
    n_rows: int = 0

    def __str__(self) -> str:
        text = f"{self.term}: {self.change}"
        if not self.metric:
            return text
        return f"{text} ({self.metric} {self.before:.4f} -> {self.after:.4f}, {self.n_rows} rows)"


def edit_function(
    function: ShapeFunction, change: str, value: Any
) -> tuple[ShapeFunction | None, str]:
    """Return a function after a change, and the change in words; None without the function."""
    return _CHANGES[change](function, value)


def _drop(function: ShapeFunction, value: Any) -> tuple[None, str]:
    if value is not True:
        raise ValueError(f"drop must be True, got {value!r}")
    return None, "dropped"


def _clip(function: ShapeFunction, value: Any) -> tuple[ShapeFunction, str]:
    low, high = _bounds("clip", value)
    if low > high:
        raise ValueError(f"clip must be (low, high), got {value!r}")
    words = f"clipped to {low:g}, {high:g}"
    return _with_scores(function, np.clip(function.scores, low, high)), words


def _flatten(function: ShapeFunction, value: Any) -> tuple[ShapeFunction, str]:
    """Replace the scores between two values by their mean over the training rows."""
    axis, (low, high) = _single_axis("flatten", function), _bounds("flatten", value)
    if axis.categories is not None:
        raise ValueError("flatten needs a numeric column; merge the levels of a categorical one")
    lower = np.append(-np.inf, axis.thresholds)
    upper = np.append(axis.thresholds, np.inf)
    inside = np.append((upper > low) & (lower < high), False)
    return _average(function, inside), f"flattened from {low:g} to {high:g}"


def _make_monotone(function: ShapeFunction, value: Any) -> tuple[ShapeFunction, str]:
    """Replace the scores by the closest ones that rise, or fall, with the column."""
    from sklearn.isotonic import isotonic_regression

    axis = _single_axis("monotone", function)
    if value not in (-1, 1):
        raise ValueError(f"monotone must be 1 (rising) or -1 (falling), got {value!r}")
    if axis.categories is not None:
        raise ValueError("monotone needs a numeric column")
    scores, weights = function.scores.copy(), np.maximum(axis.counts[:-1], 1e-6)
    for k in range(scores.shape[1]):
        scores[:-1, k] = isotonic_regression(
            scores[:-1, k], sample_weight=weights, increasing=value > 0
        )
    return _with_scores(function, scores), "made rising" if value > 0 else "made falling"


def _merge(function: ShapeFunction, value: Any) -> tuple[ShapeFunction, str]:
    """Give some levels of a categorical column the same scores."""
    axis = _single_axis("merge", function)
    if axis.categories is None:
        raise ValueError("merge needs a categorical column; flatten a range of a numeric one")
    levels = [value] if isinstance(value, str) else list(value)
    labels = axis.labels
    unknown = [level for level in levels if level not in axis.categories and level not in labels]
    if unknown or len(levels) < 2:
        raise ValueError(f"merge must be two or more levels of {axis.name}, got {value!r}")
    names = {str(level) for level in levels}
    inside = np.array([label in names for label in labels])
    return _average(function, inside), f"merged {', '.join(map(str, levels))}"


_CHANGES: dict[str, Callable[[ShapeFunction, Any], tuple[ShapeFunction | None, str]]] = {
    "drop": _drop,
    "clip": _clip,
    "flatten": _flatten,
    "monotone": _make_monotone,
    "merge": _merge,
}


def _bounds(change: str, value: Any) -> tuple[float, float]:
    """Return two numbers; None is no bound."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{change} must be (low, high), got {value!r}")
    low, high = (
        sign * np.inf if bound is None else between(change, bound, -_LARGEST, _LARGEST)
        for bound, sign in zip(value, (-1, 1), strict=True)
    )
    return low, high


def _single_axis(change: str, function: ShapeFunction) -> Axis:
    if len(function.axes) > 1:
        raise ValueError(f"{change} needs a term of one column, got {function.name!r}")
    return function.axes[0]


def _average(function: ShapeFunction, inside: NDArray[np.bool_]) -> ShapeFunction:
    """Replace the scores of some cells by their mean over the training rows."""
    if not inside.any():
        return function
    counts = function.axes[0].counts[inside]
    weights = counts if counts.any() else np.ones(len(counts))
    scores = function.scores.copy()
    scores[inside] = np.average(scores[inside], axis=0, weights=weights)
    return _with_scores(function, scores)


def _with_scores(function: ShapeFunction, scores: Reals) -> ShapeFunction:
    return replace(function, scores=scores, errors=None)
