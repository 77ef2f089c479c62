"""The size of additive models: the most important terms, and the error of models of each size."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from edgewise.common.checks import integer
from edgewise.common.text import text_table
from edgewise.estimators.fitted import Fitted
from edgewise.learners import Additive, Learner
from edgewise.metrics.registry import metric_title
from edgewise.model.shapes import Shapes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.plots import TermPathDisplay

F = TypeVar("F", bound=Fitted)
M = TypeVar("M", bound=Any)


def train_on_terms(train: Callable[[M, Learner | str], F], model: M, learner: Learner | str) -> F:
    """Train a model; with `max_terms`, train again on the terms that mattered most.

    Each of the two has half of the time limit. A warm start continues with the terms of the fit
    before.
    """
    if not isinstance(learner, Additive) or learner.max_terms is None:
        return train(model, learner)
    before = model.fitted_.learner if model.warm_start and hasattr(model, "fitted_") else None
    if isinstance(before, Additive):
        return train(model, before)
    model = copy(model)
    if model.time_limit is not None:
        model.time_limit /= 2
    fitted = train(model, replace(learner, max_terms=None))
    shapes = fitted.shapes
    if shapes is None or len(shapes.functions) <= learner.max_terms:
        return fitted
    terms = name_terms(fitted, most_important(shapes, learner.max_terms))
    return train(model, replace(learner, max_terms=None, terms=terms))


def train_path(
    model: Any, shapes: Shapes, sizes: Sequence[int] | None, X: Any, y: Any, **data: Any
) -> "TermPath":
    """Train models of the most important terms of an additive model."""
    learner = model.learner if isinstance(model.learner, Additive) else Additive()
    if sizes is None:
        sizes = default_sizes(len(shapes.functions))
    steps: list[PathStep] = []
    metric = ""
    for size in sorted({integer("sizes", size, 1) for size in sizes}):
        terms = name_terms(model.fitted_, most_important(shapes, size))
        if steps and len(terms) == steps[-1].n_terms:
            continue
        smaller = clone(model).set_params(warm_start=False, callbacks=None, n_rounds="auto")
        smaller.learner = replace(learner, max_terms=None, terms=terms)
        record = smaller.fit(X, y, **data).fitted_.held_out
        if record is None or not record.chosen:
            raise ValueError("term_path needs rows enough to hold some out")
        metric = smaller.eval_metric_
        steps.append(PathStep(len(terms), tuple(terms), record.best, record.error))
    return TermPath(steps, metric)


def most_important(shapes: Shapes, n_terms: int) -> list[tuple[int, ...]]:
    """Return the columns of the most important terms; a pair comes with its two curves."""
    chosen: list[tuple[int, ...]] = []
    for function in shapes.functions:
        needed = [*((j,) for j in function.columns), function.columns]
        new = [columns for columns in dict.fromkeys(needed) if columns not in chosen]
        if len(chosen) + len(new) <= n_terms:
            chosen += new
    return chosen


def name_terms(fitted: Fitted, terms: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return terms as `Additive` takes them: names, or numbers where columns have none."""
    named = fitted.feature_names is not None
    listed = [tuple(fitted.feature_name(j) if named else j for j in columns) for columns in terms]
    return [columns[0] if len(columns) == 1 else columns for columns in listed]


@dataclass(frozen=True)
class PathStep:
    """An additive model of some size."""

    n_terms: int
    """The number of terms."""
    terms: tuple[Any, ...]
    """The terms, as ``Additive(terms=...)`` takes them."""
    value: float
    """The metric that decides, on held-out rows."""
    error: float
    """The error on held-out rows; NaN for rankers."""


class TermPath:
    """Additive models from one term to all, each trained anew and measured on held-out rows.

    Attributes
    ----------
    steps : tuple of PathStep
        The models, the smallest first.
    metric : str
        The name of the metric that decides.
    """

    def __init__(self, steps: Sequence[PathStep], metric: str) -> None:
        self.steps, self.metric = tuple(steps), metric

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, which: int) -> PathStep:
        return self.steps[which]

    def __str__(self) -> str:
        rows = [("terms", metric_title(self.metric), "error", "added")]
        before: set[Any] = set()
        for step in self.steps:
            names = [
                " * ".join(map(str, t)) if isinstance(t, tuple) else str(t) for t in step.terms
            ]
            added = ", ".join(name for name in names if name not in before)
            before |= {*names}
            error = "" if np.isnan(step.error) else f"{100 * step.error:.1f} %"
            rows.append((str(step.n_terms), f"{step.value:.4f}", error, added))
        return text_table(rows, left=(3,))

    def __repr__(self) -> str:
        return str(self)

    def to_frame(self, library: str | None = None) -> Any:
        """Return the path as a frame of `library`, "pandas" or "polars": a row for each model."""
        from edgewise.io.frames import frame_library

        columns = {
            "n_terms": [step.n_terms for step in self.steps],
            self.metric: [step.value for step in self.steps],
            "error": [step.error for step in self.steps],
        }
        return frame_library(library).DataFrame(columns)

    def plot(self, *, ax: "Axes | None" = None) -> "TermPathDisplay":
        """Draw the metric against the number of terms, on `ax` or a new figure."""
        from edgewise.plots import TermPathDisplay

        return TermPathDisplay(self).plot(ax=ax)


def default_sizes(n_terms: int) -> list[int]:
    """Return the sizes of the models on a path.

    Examples
    --------
    >>> default_sizes(30)
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 30]
    """
    sizes = [1, 2, 3]
    while sizes[-1] < n_terms:
        sizes.append(sizes[-2] * 2)
    return [size for size in sizes if size < n_terms] + [n_terms]
