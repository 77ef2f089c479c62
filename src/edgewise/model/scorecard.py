"""Scorecards: additive models in whole points, to be added up by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.text import text_table
from edgewise.model.shapes import Axis, ShapeFunction, Shapes


@dataclass(frozen=True, eq=False)
class ScorecardTerm:
    """The points of a column, or of a pair of columns; ranges with equal points are joined."""

    name: str
    """The names of the columns."""
    labels: tuple[str, ...]
    """The ranges or categories; for pairs, of both columns."""
    points: NDArray[np.int64]
    """The points of each, 0 or more."""


class Scorecard:
    """Points for the values of each column, whose sum is the score.

    Attributes
    ----------
    terms : tuple of ScorecardTerm
        The points, the most important term first.
    unit : float
        The score of one point.
    base : float
        The score of no points.
    model : AdaBoostMH or RankBoost
        The model whose scores are these points, to predict with, save and export.
    cost : Edit or None
        What rounding costs on the rows that were given.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from edgewise import AdaBoostMH, Additive
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> learner = Additive(max_terms=3, max_pairs=0)
    >>> card = AdaBoostMH(learner, random_state=0).fit(X[::2], y[::2]).scorecard(points=10)
    >>> max(term.points.max() for term in card.terms)
    np.int64(10)
    """

    def __init__(self, shapes: Shapes, unit: float, model: Any, cost: Any = None) -> None:
        self.unit, self.base = unit, float(shapes.intercept[0])
        self.terms = tuple(_make_term(function, unit) for function in shapes.functions)
        self.model, self.cost = model, cost

    def probabilities(self, points: Sequence[int]) -> Any:
        """Return the probability of the second class for some sums of points."""
        scores = self.base + self.unit * np.asarray(points, dtype=np.float64)
        return self.model.fitted_.probabilities(scores[:, None])[:, 1]

    @property
    def max_points(self) -> int:
        """The largest sum of points."""
        return int(sum(term.points.max() for term in self.terms))

    def __str__(self) -> str:
        rows = [("", "", "points")]
        for term in self.terms:
            for i, (label, points) in enumerate(
                zip(term.labels, term.points.tolist(), strict=True)
            ):
                rows.append((term.name if i == 0 else "", label, str(points)))
        lines = [text_table(rows, left=(0, 1))]
        if hasattr(self.model, "classes_"):
            steps = np.unique(np.linspace(0, self.max_points, 6).round().astype(int)).tolist()
            shares = [f"{100 * share:.0f} %" for share in self.probabilities(steps).tolist()]
            name = str(self.model.classes_[1])
            table = [("sum of points", *map(str, steps)), (f"probability of {name}", *shares)]
            lines.append(text_table(table))
        if self.cost is not None:
            lines.append(str(self.cost))
        return "\n\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def to_frame(self, library: str | None = None) -> Any:
        """Return the points as a frame of `library`, "pandas" or "polars"."""
        from edgewise.io.frames import frame_library

        rows = [
            (term.name, label, points)
            for term in self.terms
            for label, points in zip(term.labels, term.points.tolist(), strict=True)
        ]
        names, labels, points = zip(*rows, strict=True) if rows else ((), (), ())
        columns = {"term": names, "value": labels, "points": points}
        return frame_library(library).DataFrame({name: [*v] for name, v in columns.items()})


def round_to_points(shapes: Shapes, points: int) -> tuple[Shapes, float]:
    """Return an additive model of one score in whole points, and the score of a point.

    The term with the widest range has `points` points; terms that round to none are left out.
    """
    ranges = [float(function.ranges[0]) for function in shapes.functions]
    unit = max(ranges, default=0.0) / points
    functions, base = [], shapes.intercept.copy()
    for function in shapes.functions:
        low = function.scores[function.has_rows].min(axis=0)
        base += low
        scores = np.maximum(np.rint((function.scores - low) / (unit or 1.0)), 0) * unit
        scores = np.minimum(scores, points * unit)
        if scores.any():
            functions.append(replace(function, scores=scores, errors=None))
    return replace(shapes, intercept=base).with_functions(functions), unit


def _make_term(function: ShapeFunction, unit: float) -> ScorecardTerm:
    points = np.rint(function.scores[..., 0] / (unit or 1.0)).astype(np.int64)
    if len(function.axes) == 1:
        labels, cells = _join(function.axes[0], points)
        return ScorecardTerm(function.name, tuple(labels), points[cells])
    first, second = function.axes
    labels_of_pair, rows = [], []
    outer, cells = _join(first, points)
    for label, cell in zip(outer, cells, strict=True):
        inner, inner_cells = _join(second, points[cell])
        labels_of_pair += [f"{label}; {other}" for other in inner]
        rows.append(points[cell, inner_cells])
    return ScorecardTerm(function.name, tuple(labels_of_pair), np.concatenate(rows))


def _join(axis: Axis, points: NDArray[np.int64]) -> tuple[list[str], list[int]]:
    """Return labels for runs of cells with equal points, and a cell of each run."""
    last = axis.n_cells - 1
    has_missing = axis.counts[last] > 0
    labels, cells = [], []
    if axis.categories is not None:
        by_points: dict[bytes, list[int]] = {}
        for cell in range(last + has_missing):
            by_points.setdefault(points[cell].tobytes(), []).append(cell)
        for alike in sorted(by_points.values(), key=lambda cells: points[cells[0]].max()):
            labels.append(", ".join(axis.labels[cell] for cell in alike))
            cells.append(alike[0])
        return labels, cells
    edges = [*(f"{threshold:.6g}" for threshold in axis.thresholds)]
    for _, run in groupby(range(last), key=lambda cell: points[cell].tobytes()):
        alike = [*run]
        low = edges[alike[0] - 1] if alike[0] else ""
        high = edges[alike[-1]] if alike[-1] < len(edges) else ""
        between = f"{low} to {high}" if low and high else ""
        labels.append(between or (f"< {high}" if high else f">= {low}" if low else "any"))
        cells.append(alike[0])
    if has_missing:
        labels.append("missing")
        cells.append(last)
    return labels, cells
