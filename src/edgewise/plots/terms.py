"""The terms of additive models, and the error of models of different sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.plots.drawing import (
    BLUE,
    COLORS,
    GRAY,
    Display,
    count_labels,
    escape_label,
    short_label,
    unwrap_fitted,
)
from edgewise.report.curves import evenly_spaced
from edgewise.report.terms import (
    INTERVAL,
    MAX_LEVELS,
    MAX_LINES,
    CellScale,
    are_known,
    coarsen,
    select_classes,
    sort_levels,
    widest_classes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.estimators.term_path import TermPath
    from edgewise.model.shapes import Axis, ShapeFunction

# The share of the height below the curves, for the histogram.
_STRIP = 0.18
# Labels of ticks per inch: characters beside each other, and lines.
_CHARACTERS, _LINES = 9, 6


@dataclass(eq=False, repr=False)
class TermDisplay(Display):
    """One term of an additive model: a curve, the levels of a category, or a table of a pair.

    A numeric column has a curve with its 95% interval, where the model has standard errors, above
    the histogram of the training rows. Missing values are at the right. The axis is logarithmic, or
    its cells are equally wide, where few values would squash the others. Of a categorical column,
    the 30 most frequent levels are sorted by score. A pair is a map, striped where there are no
    rows. Of more than six classes, the six that the term changes most are drawn.

    Parameters
    ----------
    function : ShapeFunction
        One of ``model.terms_``.
    classes : sequence
        The class labels; two classes share one score.
    label : object, default None
        The only class to draw; None is up to six classes, and for a pair the class that it changes
        most.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import TermDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdaBoostMH("additive", random_state=0).fit(X, y)
    >>> TermDisplay.from_estimator(model, "petal width (cm)").ax_.get_xlabel()
    'petal width (cm)'
    """

    function: "ShapeFunction"
    classes: Sequence[Any] = ()
    label: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, term: Any = None, *, label: Any = None, ax: "Axes | None" = None
    ) -> Self:
        """Draw a term of a model.

        Parameters
        ----------
        estimator : AdaBoostMH or RankBoost
            A trained additive model, or a pipeline or search that ends with one.
        term : str, int or pair of them, default None
            The term: a column, or two columns, by name or number; None is the most important.
        label : object, default None
            The only class to draw.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        shapes, classes = _shapes_of(estimator)
        function = shapes.functions[0] if term is None else shapes.find(term)
        return cls(function, classes, label).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        function, scores = self.function, self._drawn_scores()
        if len(function.axes) == 2:
            self._draw_pair(axes, scores[0])
            return
        names = [escape_label(self.classes[k]) if self._has_classes else None for k in scores]
        axes.axhline(0.0, color=GRAY, linewidth=0.8, zorder=0.8)
        if function.axes[0].categories is None:
            _draw_curve(axes, function, scores, names)
        else:
            _draw_levels(axes, function, scores, names)
        axes.set(xlabel=escape_label(function.name), ylabel=self._score_label())
        if len(scores) > 1:
            self._add_legend(axes, "class")

    @property
    def _has_classes(self) -> bool:
        return self.function.scores.shape[-1] > 1

    def _drawn_scores(self) -> list[int]:
        """Return the numbers of the scores to draw."""
        if self.label is not None and self._has_classes:
            labels = [*self.classes]
            if self.label not in labels:
                raise ValueError(f"label must be one of the classes {labels}, got {self.label!r}")
            return [labels.index(self.label)]
        return widest_classes([self.function], 1 if len(self.function.axes) == 2 else MAX_LINES)

    def _score_label(self) -> str:
        if len(self.classes) == 2 and not self._has_classes:
            low, high = (short_label(name, 20) for name in self.classes)
            return f"score: above 0 for {high}, below for {low}"
        return "added to the score"

    def _draw_pair(self, axes: "Axes", k: int) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        function = coarsen(self.function, MAX_LEVELS)
        table = np.where(function.has_rows, function.scores[..., k], np.nan)
        # Cells of missing values are left out if there are none.
        used = [axis.counts > 0 for axis in function.axes]
        table = table[np.ix_(*used)]
        colors = LinearSegmentedColormap.from_list("terms", [COLORS[1], "white", BLUE])
        most = float(np.nanmax(np.abs(table))) or 1.0
        mesh = axes.pcolormesh(
            np.ma.masked_invalid(table.T), cmap=colors, vmin=-most, vmax=most, rasterized=True
        )
        axes.patch.set(hatch="////", edgecolor=GRAY, alpha=0.5)
        axes.grid(False)
        for axis, cells, side in zip(function.axes, used, (axes.xaxis, axes.yaxis), strict=True):
            _label_cells(side, axis, cells)
        first, second = (escape_label(axis.name) for axis in function.axes)
        axes.set(xlabel=first, ylabel=second)
        bar = axes.figure.colorbar(mesh, ax=axes)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8)
        whose = f", {short_label(self.classes[k], 20)}" if self._has_classes else ""
        # The bars of a grid have no room for more than the class.
        text = f"{self._score_label()}{whose}" if self._has_own_figure else whose[2:]
        bar.set_label(text, fontsize=9)


@dataclass(eq=False, repr=False)
class TermGridDisplay(Display):
    """The most important terms of an additive model, each in a small picture of its own.

    Parameters
    ----------
    functions : sequence of ShapeFunction
        Terms of ``model.terms_``.
    classes : sequence
        The class labels; two classes share one score.
    n_columns : int, default 3
        The number of pictures side by side.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import TermGridDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdaBoostMH("additive", random_state=0).fit(X, y)
    >>> len(TermGridDisplay.from_estimator(model, n_terms=4).displays_)
    4
    """

    functions: Sequence["ShapeFunction"]
    classes: Sequence[Any] = ()
    n_columns: int = 3

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_terms: int = 12, ax: "Axes | None" = None) -> Self:
        """Draw the most important terms of a model.

        Parameters
        ----------
        estimator : AdaBoostMH or RankBoost
            A trained additive model, or a pipeline or search that ends with one.
        n_terms : int, default 12
            The maximum number of terms.
        ax : matplotlib Axes, default None
            Whose place the pictures take; None makes a new figure.
        """
        integer("n_terms", n_terms, 1)
        shapes, classes = _shapes_of(estimator)
        return cls(shapes.functions[:n_terms], classes).plot(ax=ax)

    @property
    def _shape(self) -> tuple[int, int]:
        return -(-len(self.functions) // self.n_columns), min(self.n_columns, len(self.functions))

    def _figure_size(self) -> tuple[float, float]:
        n_rows, n_columns = self._shape
        return 4.0 * n_columns, 2.9 * n_rows

    def _draw(self, axes: "Axes") -> None:
        place = axes.get_subplotspec()
        if place is None:
            raise ValueError("ax must be a subplot of its figure")
        axes.set_axis_off()
        grid = place.subgridspec(*self._shape)
        # The same classes everywhere, so that each has one color.
        functions, shown = select_classes(self.functions, MAX_LINES)
        classes = [self.classes[k] for k in shown] if len(shown) > 1 else self.classes
        self.displays_ = []
        for k, function in enumerate(functions):
            small = axes.figure.add_subplot(grid[divmod(k, self.n_columns)])
            display = TermDisplay(function, classes).plot(ax=small)
            small.set_ylabel(small.get_ylabel() if len(function.axes) == 2 else "")
            small.set_title(f"{short_label(function.name)}, {function.importance:.1%}", fontsize=9)
            small.tick_params(labelsize=8)
            if (legend := small.get_legend()) is not None:
                legend.remove()
            self.displays_.append(display)
        lines = next((d.ax_ for d in self.displays_ if count_labels(d.ax_)), None)
        if lines is not None and self._has_own_figure:
            handles = lines.get_legend_handles_labels()
            self.figure_.legend(*handles, loc="outside upper center", ncols=3, frameon=False)
        elif lines is not None:
            lines.legend(fontsize=8)


def _shapes_of(estimator: Any) -> tuple[Any, Sequence[Any]]:
    """Return the shape functions of a model, and its classes."""
    (model,) = unwrap_fitted(estimator, "edits_")
    shapes = model._shapes("terms_")
    if not shapes.functions:
        raise ValueError("estimator has no terms")
    return shapes, model._score_names()


def _draw_curve(
    axes: "Axes", function: "ShapeFunction", scores: Sequence[int], names: Sequence[str | None]
) -> None:
    axis = function.axes[0]
    scale = CellScale.of(axis)
    edges = scale.values
    for rank, (k, name) in enumerate(zip(scores, names, strict=True)):
        values, color = function.scores[:, k], COLORS[rank]
        room = None if function.errors is None else INTERVAL * function.errors[:, k]
        if room is not None:
            low, high = values - room, values + room
            band: dict[str, Any] = {"color": color, "alpha": 0.18, "linewidth": 0, "zorder": 1}
            axes.stairs(high[:-1], edges, baseline=low[:-1], fill=True, **band)
        axes.stairs(values[:-1], edges, baseline=None, color=color, linewidth=1.8, label=name)
        if scale.missing_value is not None:
            error = None if room is None else room[-1:]
            axes.errorbar([scale.missing_value], values[-1:], error, fmt="o", color=color, ms=4)
    if scale.kind == "log":
        axes.set_xscale("log")
    elif scale.kind == "cells":
        _label_cells(axes.xaxis, axis, np.arange(axis.n_cells) < axis.n_cells - 1)
    end = edges[-1]
    axes.set_xlim(edges[0], end)
    if scale.missing is not None:
        last = 2 * scale.missing - scale.edges[-1]
        last = 10.0**last if scale.kind == "log" else last
        ticks = [tick for tick in axes.get_xticks() if edges[0] <= tick <= end]
        if scale.kind == "linear":
            axes.set_xticks(ticks)
        axes.axvspan(end, last, color=GRAY, alpha=0.08, linewidth=0, zorder=0)
        axes.set_xlim(edges[0], last)
        axes.annotate(
            "missing", (scale.missing_value, 1.0), xycoords=("data", "axes fraction"),
            xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8, color=GRAY,
        )  # fmt: skip
    rows = scale.histogram(axis.counts)
    if rows is not None:
        _draw_rows(axes, rows[0][:-1], rows[1], np.diff(rows[0]))


def _draw_levels(
    axes: "Axes", function: "ShapeFunction", scores: Sequence[int], names: Sequence[str | None]
) -> None:
    axis, order = function.axes[0], sort_levels(function, scores[0])
    places = np.arange(len(order), dtype=np.float64)
    for rank, (k, name) in enumerate(zip(scores, names, strict=True)):
        room = None if function.errors is None else INTERVAL * function.errors[order, k]
        shift = 0.1 * (rank - (len(scores) - 1) / 2)
        axes.errorbar(
            places + shift, function.scores[order, k], room, fmt="o", ms=4, color=COLORS[rank],
            elinewidth=1.2, label=name,
        )  # fmt: skip
    _set_ticks(axes.xaxis, places, [axis.labels[cell] for cell in order])
    axes.set_xlim(-0.6, len(order) - 0.4)
    if are_known(axis.counts):
        _draw_rows(axes, places - 0.4, axis.counts[order], 0.8)


def _draw_rows(axes: "Axes", left: Any, rows: Reals, widths: Any) -> None:
    """Draw the training rows as bars below the curves."""
    low, high = axes.get_ylim()
    axes.set_ylim(low - _STRIP * (high - low), high)
    heights = 0.8 * _STRIP * rows / max(float(rows.max()), 1.0)
    place: dict[str, Any] = {
        "transform": axes.get_xaxis_transform(),
        "align": "edge",
        "zorder": 0.7,
    }
    axes.bar(left, heights, widths, color=GRAY, alpha=0.45, linewidth=0, **place)


def _label_cells(side: Any, axis: "Axis", cells: Any) -> None:
    """Label equally wide cells: categories, or some of the cut points between cells."""
    n_cells = int(cells.sum())
    if axis.categories is not None:
        labels = [axis.labels[cell] for cell in np.flatnonzero(cells).tolist()]
        _set_ticks(side, np.arange(n_cells) + 0.5, labels)
        return
    n_cuts = len(axis.thresholds)
    shown = evenly_spaced(n_cuts, 6)
    places, labels = shown + 1.0, [f"{axis.thresholds[cut]:.4g}" for cut in shown.tolist()]
    if cells[-1]:
        is_free = places < n_cells - 0.1 * n_cells
        labels = [label for label, free in zip(labels, is_free, strict=True) if free]
        places, labels = np.append(places[is_free], n_cells - 0.5), [*labels, "missing"]
    _set_ticks(side, places, labels)


def _set_ticks(side: Any, places: Any, labels: Sequence[str]) -> None:
    """Label as many places as there is room for, upright on a horizontal axis that is full."""
    is_x = side.axis_name == "x"
    box = side.axes.get_window_extent()
    inches = (box.width if is_x else box.height) / side.axes.figure.figure.dpi
    names = [short_label(label, 14) for label in labels]
    is_full = is_x and len("".join(names)) > _CHARACTERS * inches
    shown = np.arange(len(names))
    if is_full or not is_x:
        shown = evenly_spaced(len(names), max(2, int(_LINES * inches)))
    side.set_ticks(places[shown], [names[k] for k in shown.tolist()])
    side.set_tick_params(rotation=90 if is_full else 0)


@dataclass(eq=False, repr=False)
class TermPathDisplay(Display):
    """The held-out loss of additive models against their number of terms.

    Parameters
    ----------
    path : TermPath
        The result of ``term_path`` of an additive model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import TermPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMH("additive", random_state=0).fit(X, y)
    >>> TermPathDisplay.from_estimator(model, X, y).ax_.get_xlabel()
    'number of terms'
    """

    path: "TermPath"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: "Axes | None" = None, **settings: Any
    ) -> Self:
        """Train additive models of different sizes, and draw their losses.

        Parameters
        ----------
        estimator : AdaBoostMH or RankBoost
            A trained additive model.
        X, y : array-like
            The training rows and their targets.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        **settings
            Other arguments of ``term_path``: the queries `qid`, and the `sizes`.
        """
        return cls(estimator.term_path(X, y, **settings)).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        sizes = [step.n_terms for step in self.path.steps]
        losses = [step.value for step in self.path.steps]
        axes.plot(sizes, losses, "o-", color=BLUE, markersize=4)
        axes.set(xlabel="number of terms", ylabel=f"held-out {escape_label(self.path.metric)}")
