"""Explanations: of a model column by column, of one row, and of the score of one user and item.

Every ``explain`` of the library returns an `Explanation`: a list of contributions with one way to
print, to plot and to turn into a frame.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.data import Column, RawRows, Table
from edgewise.data.table import repeat_for_values
from edgewise.model.rules import TreeRule
from edgewise.model.scorer import ClassScorer, Scorer, probabilities_of_log_odds
from edgewise.model.shapes import ShapeFunction, Shapes
from edgewise.model.shapley import (
    Shares,
    add_linear_rules,
    additive_shares,
    curve_means,
    path_shares,
    quadrature,
    training_means,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.plots import ContributionDisplay

MAX_BACKGROUND_ROWS = 10_000
"""The maximum number of background rows if rules test several columns."""

OUTPUTS = ("score", "log_odds", "probability")
"""What contributions can add up to."""

# The steps of a sum from one probability to another, and the nodes in each.
_PROBABILITY_STEPS, _PROBABILITY_NODES = 16, 8

_MAX_EXPONENT = 700.0


@dataclass(frozen=True)
class Contribution:
    """One line of an explanation."""

    name: str
    """The source: a column, a feature, a user, an item."""
    amount: float
    """Its contribution to the score, or its share of the model."""
    detail: str = ""
    """A remark, such as "rated it 4"."""

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}" if self.detail else self.name


class Explanation(ABC):
    """Contributions, the largest first, that print, plot and become a frame in one way."""

    contributions: Sequence[Contribution]

    unit: ClassVar[str] = "contribution"
    """The meaning of the amounts."""
    amount_format: ClassVar[str] = "+.2f"
    shown: int = 10
    """The number of contributions that ``str`` and :meth:`plot` show."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The subject of the explanation, in one line."""

    def __str__(self) -> str:
        shown, others = self.contributions[: self.shown], self.contributions[self.shown :]
        sizes = [format(c.amount, self.amount_format) for c in shown]
        width = max(map(len, sizes), default=0)
        lines = [f"  {size:>{width}}  {c}" for size, c in zip(sizes, shown, strict=True)]
        if others:
            total = format(math.fsum(c.amount for c in others), self.amount_format)
            lines.append(f"  {total:>{width}}  {pluralize(len(others), 'others')}")
        return "\n".join([self.title, *lines])

    def to_frame(self, library: str | None = None) -> Any:
        """Return the contributions as a frame of `library`, "pandas" or "polars", one row each."""
        from edgewise.io.frames import frame_library

        listed = self.contributions
        columns: dict[str, Any] = {"name": [c.name for c in listed]}
        columns[self.unit] = [c.amount for c in listed]
        columns["detail"] = [c.detail for c in listed]
        return frame_library(library).DataFrame(columns)

    def plot(self, *, ax: "Axes | None" = None) -> "ContributionDisplay":
        """Draw the largest contributions as bars, on `ax` or a new figure."""
        return import_module("edgewise.plots").ContributionDisplay(self).plot(ax=ax)


@dataclass(frozen=True)
class PairExplanation(Explanation):
    """The score of a user and an item, as contributions that add up to it."""

    user: Any
    item: Any
    score: float
    contributions: tuple[Contribution, ...]
    shown: int = 10

    @property
    def title(self) -> str:
        """The item, the user and the score."""
        return f"{self.item} for {self.user}: {self.score:.2f}"


@dataclass(frozen=True, eq=False)
class RowExplanation(Explanation):
    """The scores of a row, as contributions of columns and pairs of columns that add up to them.

    `contributions`, ``str`` and ``plot`` show one class, by default the predicted one.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", preset="paper", n_rounds=1)
    >>> model = model.fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> print(model.explain([[1.5]]))
    'a': score +3.45
      +2.30  x0: 1.5
      +1.15  bias
    """

    names: tuple[str, ...]
    """The bias, then columns, then pairs of columns."""
    details: tuple[str, ...]
    """The values of the row in them."""
    amounts: Reals
    """The contribution of each to each score, shape (names, K)."""
    scores: Reals
    """The scores, shape (K,): the sums of the amounts."""
    shapley_values: Reals
    """The Shapley values of all columns, shape (n_features, K): the two of a pair share it."""
    classes: list[object]
    explained: object
    """The class whose score is explained."""
    shown: int = 10

    def of(self, name: object) -> "RowExplanation":
        """Return the explanation of the score of another class."""
        if name not in self.classes:
            raise ValueError(f"name must be one of the classes {self.classes}, got {name!r}")
        return replace(self, explained=name)

    @property
    def title(self) -> str:
        """The class and its score."""
        k, sign = self._score_column
        score = sign * float(self.scores[k])
        label = "score" if len(self.classes) == 1 else f"{self.explained!r}: score"
        return f"{label} {score:+.2f}"

    @property
    def contributions(self) -> list[Contribution]:  # type: ignore[override]
        """The contributions to the score other than 0, and the bias; the largest first."""
        k, sign = self._score_column
        values = (sign * self.amounts[:, k] + 0.0).tolist()
        bias, *others = map(Contribution, self.names, values, self.details)
        return _sort_by_size([*(c for c in others if c.amount), bias])

    def to_frame(self, library: str | None = None) -> Any:
        """Return all contributions as a frame of `library`, with a column for each score.

        Two classes share the score of the second one.
        """
        from edgewise.io.frames import frame_library

        scored = zip(self.classes[-self.amounts.shape[1] :], self.amounts.T, strict=True)
        columns: dict[str, Any] = {"name": self.names, "value": self.details}
        return frame_library(library).DataFrame({**columns, **{str(c): s for c, s in scored}})

    @property
    def bias(self) -> float:
        """The mean score of the background, to which the contributions are added."""
        k, sign = self._score_column
        return sign * float(self.amounts[0, k])

    @property
    def _score_column(self) -> tuple[int, int]:
        """The score column of the class, and its sign: two classes share one."""
        k = self.classes.index(self.explained)
        return (k, 1) if len(self.scores) == len(self.classes) else (0, 2 * k - 1)


@dataclass(frozen=True, eq=False)
class TableExplanation(Explanation):
    """The scores of many rows, as contributions of columns that add up to them.

    `contributions`, ``str`` and ``plot`` show the mean size of each column's contributions;
    `to_shap` passes all of them to the plots of the package shap.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> X, y = [[1, 5], [2, 3], [3, 5], [4, 3], [5, 3]], [0, 1, 0, 1, 0]
    >>> model = AdaBoostMH("stump", preset="paper", n_rounds=2).fit(X, y)
    >>> explanation = model.explain_rows(X)
    >>> print(explanation)
    Contributions to 5 scores
      0.67  x1
    >>> (explanation.base_values + explanation.values.sum(axis=1)).round(2)
    array([-1.24,  0.14, -1.24,  0.14,  0.14])
    >>> model.decision_function(X).round(2)
    array([-1.24,  0.14, -1.24,  0.14,  0.14])
    """

    feature_names: list[str]
    """The names of all columns."""
    values: Reals
    """The Shapley values, (n_rows, n_features), or (n_rows, n_features, K) of several classes."""
    base_values: Any
    """What the values are added to: a number, or one for each class."""
    classes: list[object]
    output: str
    """What the values are parts of: "score", "log_odds" or "probability"."""
    interaction_values: Reals | None
    """The contributions of pairs, half on either side, and of single columns, on the diagonal.

    Shape (n_rows, n_features, n_features), with one more axis for several classes; None unless
    asked for.
    """
    _rows: RawRows = field(repr=False)
    unit: ClassVar[str] = "mean size of contributions"
    amount_format: ClassVar[str] = ".2f"
    shown: int = 10

    @property
    def title(self) -> str:
        """The number of rows."""
        nouns = {"score": "scores", "log_odds": "log-odds", "probability": "probabilities"}
        return f"Contributions to {len(self.values):,} {nouns[self.output]}"

    @property
    def contributions(self) -> list[Contribution]:  # type: ignore[override]
        """The mean size of each column's contributions, other than 0, the largest first."""
        sizes = np.abs(self.values).reshape(*self.values.shape[:2], -1).mean(axis=(0, 2)).tolist()
        listed = map(Contribution, self.feature_names, sizes)
        return _sort_by_size([contribution for contribution in listed if contribution.amount])

    def to_shap(self, name: object = None) -> Any:
        """Return a ``shap.Explanation``, for plots such as ``shap.plots.beeswarm``.

        Its `data` are numbers, for categories their codes; `display_data` has their names.

        Parameters
        ----------
        name : object, default None
            One of several classes; None keeps all.

        Raises
        ------
        ImportError
            If the package shap is not installed.
        """
        try:
            shap = import_module("shap")
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap") from error
        values, base, names = self.values, self.base_values, None
        if values.ndim == 3:
            names = [str(label) for label in self.classes]
        if name is not None:
            k, base = self._class_number(name), np.asarray(base)
            values, base, names = values[..., k], base[k], None
        columns = np.arange(len(self.feature_names))
        data = self._rows.block(columns, slice(None)).T
        display = data.astype(object)
        for j, categories in self._rows.categories.items():
            display[:, j] = np.array([*categories, "missing"], object)[data[:, j].astype(np.intp)]
        return shap.Explanation(
            values,
            np.broadcast_to(base, (len(values), *np.shape(base))).copy(),
            data,
            display_data=display,
            feature_names=self.feature_names,
            output_names=names,
        )

    def _class_number(self, name: object) -> int:
        if self.values.ndim == 2 or name not in self.classes:
            expected = self.classes if self.values.ndim == 3 else "None, as there is one score"
            raise ValueError(f"name must be one of {expected}, got {name!r}")
        return self.classes.index(name)


@dataclass(frozen=True)
class OrderExplanation(Explanation):
    """The difference between the scores of two documents, as contributions that add up to it.

    Examples
    --------
    >>> from edgewise import RankBoost
    >>> X, y = [[1.0, 5.0], [2.0, 7.0], [3.0, 6.0], [3.0, 7.0]], [0, 1, 1, 2]
    >>> print(RankBoost(n_rounds=20).fit(X, y).explain_pair([[3.0, 7.0]], [[1.0, 5.0]]))
    score 2.88 against 0.00
      +1.56  x0: 3 against 1
      +1.31  x1: 7 against 5
    """

    scores: tuple[float, float]
    """The scores of the two documents."""
    contributions: tuple[Contribution, ...]
    shown: int = 10

    @property
    def difference(self) -> float:
        """The sum of the contributions."""
        return self.scores[0] - self.scores[1]

    @property
    def title(self) -> str:
        """The two scores."""
        return f"score {self.scores[0]:.2f} against {self.scores[1]:.2f}"


@dataclass(frozen=True)
class Curve:
    """The scores as a function of one column."""

    name: str
    column: int
    importance: float
    """The column's share of the model; all shares sum to 1."""
    thresholds: Reals
    """The values at which the scores jump, shape (m,)."""
    scores: Reals
    """The scores, shape (m + 1, K): row b holds from ``thresholds[b - 1]`` on."""
    missing: Reals
    """The scores of a missing value, shape (K,)."""

    def __call__(self, values: Reals) -> Reals:
        """Return the scores that values of this column add, shape (n, K)."""
        values = np.asarray(values, dtype=np.float64)
        step = np.searchsorted(self.thresholds, values, side="right")
        return np.where(np.isnan(values)[..., None], self.missing, self.scores[step])


@dataclass(frozen=True)
class Group:
    """Columns that rules test together, a categorical column, or a column in trees."""

    names: tuple[str, ...]
    importance: float
    """The group's share of the model."""
    n_rules: int
    """The number of rules that test exactly these columns; trees may test others, too."""
    slope: float = 0.0
    """The sum of the coefficients of a ranker's rules that are the column itself."""
    detail: str = ""
    """The table of an additive model in words."""


class ModelExplanation(Explanation, Sequence[Curve]):
    """A model as a sum of curves and of groups of columns, the most important first.

    With stumps the score of a row is `bias` plus, for each curve, its value at the row's column.
    Rules that test several columns, or a categorical one, are summarized as `groups`; trees by
    column, each with its share in ``feature_importances_``.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", preset="paper", n_rounds=1)
    >>> model = model.fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> model.explain()
    Explanation: 1 column in use, 2 classes
      100.0%  x0: 1 threshold, low values favor 'a', high values favor 'b'
    >>> model.explain().to_frame()[["name", "importance"]]
      name  importance
    0   x0         1.0
    """

    unit = "importance"
    amount_format = "6.1%"
    shown = 20

    def __init__(
        self, curves: list[Curve], bias: Reals, classes: list, groups: Sequence[Group] = ()
    ) -> None:
        self.groups = sorted(groups, key=lambda group: (-group.importance, group.names))
        self._curves = sorted(curves, key=lambda curve: (-curve.importance, curve.column))
        self.bias = bias
        self.classes = classes

    def __len__(self) -> int:
        return len(self._curves)

    @overload
    def __getitem__(self, which: int) -> Curve: ...
    @overload
    def __getitem__(self, which: slice) -> list[Curve]: ...
    def __getitem__(self, which: int | slice) -> Curve | list[Curve]:
        return self._curves[which]

    def curve(self, name: str | int) -> Curve:
        """Return the curve of a column, by its name or number."""
        for curve in self._curves:
            if name in (curve.name, curve.column):
                return curve
        used = ", ".join(repr(curve.name) for curve in self._curves[:20])
        raise KeyError(f"the model has no curve of a column {name!r}; it has {used}")

    @property
    def title(self) -> str:
        """The number of columns in use, and of classes."""
        used = len({curve.name for curve in self} | {n for g in self.groups for n in g.names})
        classes = "" if len(self.classes) == 1 else f", {len(self.classes)} classes"
        return f"Explanation: {pluralize(used, 'columns')} in use{classes}"

    @property
    def contributions(self) -> list[Contribution]:  # type: ignore[override]
        """The curves and groups, the most important first."""
        listed = [
            Contribution(curve.name, curve.importance, self._describe(curve)) for curve in self
        ]
        for group in self.groups:
            rules = group.detail or pluralize(group.n_rules, "rules")
            if group.slope:
                rules += f", slope {group.slope:+.4g}"
            listed.append(Contribution(" * ".join(group.names), group.importance, rules))
        return _sort_by_size(listed)

    def __repr__(self) -> str:
        return str(self)

    def _describe(self, curve: Curve) -> str:
        if len(self.classes) == 1:
            steps = np.diff(curve.scores[:, 0])
            falls = "falls" if (steps <= 0).all() else "up and down"
            course = "rises" if (steps >= 0).all() else falls
            course = f"score {course} by {np.ptp(curve.scores[:, 0]):.2f} in all"
        else:
            low, high = (repr(self.classes[self._best(curve.scores[end])]) for end in (0, -1))
            course = f"low values favor {low}, high values favor {high}"
        return f"{pluralize(len(curve.thresholds), 'thresholds')}, {course}"

    def _best(self, scores: Reals) -> int:
        if len(scores) == 1 and len(self.classes) == 2:
            return int(scores[0] > 0)
        return int(scores.argmax())


def _sort_by_size(contributions: Sequence[Contribution]) -> list[Contribution]:
    return sorted(contributions, key=lambda c: -abs(c.amount))


def explain_model(
    scorer: Scorer, decreases: Reals, classes: list, offset: float = 0.0
) -> ModelExplanation:
    """Return the curves and groups of a model, given how much each term decreased the loss.

    Predictions add an offset to the scores of the model.
    """
    tables = scorer.tables
    groups: list[Group] = []
    if scorer.terms.is_additive:
        importances = scorer.importances(decreases)
    else:
        importances, groups = _curves_and_groups(scorer, decreases)
    curves = []
    for u, j in enumerate(tables.columns.tolist()):
        thresholds, table = tables.of_column(u)
        name, importance = scorer.feature_name(j), float(importances[j])
        curves.append(Curve(name, j, importance, thresholds, table[:-1], table[-1]))
    return ModelExplanation(curves, tables.bias + offset, classes, groups)


def explain_shapes(shapes: Shapes, classes: list, offset: float = 0.0) -> ModelExplanation:
    """Return the curves of an additive model, and as groups its other tables."""
    curves, groups = [], []
    for function in shapes.functions:
        axis, scores = function.axes[0], function.scores
        if len(function.axes) == 1 and axis.categories is None:
            curve = Curve(
                axis.name,
                axis.column,
                function.importance,
                axis.thresholds,
                scores[:-1],
                scores[-1],
            )
            curves.append(curve)
            continue
        names = tuple(axis.name for axis in function.axes)
        groups.append(
            Group(names, function.importance, 0, detail=_describe_table(function, classes))
        )
    return ModelExplanation(curves, shapes.intercept + offset, classes, groups)


def describe_extremes(function: ShapeFunction, k: int) -> str:
    """Return the lowest and the highest of the k-th scores of a function, in words."""
    low, high = (f"{score:+.2f} ({label})" for score, label in function.extremes(k))
    return f"{low} to {high}"


def _describe_table(function: ShapeFunction, classes: list) -> str:
    """Return the size of a table, and its extremes: of several classes, for the one they move."""
    size = " x ".join(str(axis.n_cells - 1) for axis in function.axes)
    kind = "levels" if len(function.axes) == 1 else "cells"
    k = int(function.ranges.argmax())
    whose = f"{classes[k]!r} " if len(function.ranges) > 1 else ""
    return f"{size} {kind}, {whose}from {describe_extremes(function, k)}"


def _curves_and_groups(scorer: Scorer, decreases: Reals) -> tuple[Reals, list[Group]]:
    """Return the importance of each curve, and the groups."""
    terms = scorer.terms
    shares_of_term: list[dict[int, float]] = [{} for _ in range(len(terms))]
    factors = (terms.term_of_factor.tolist(), terms.columns.tolist(), terms.shares(decreases))
    for t, j, share in zip(*factors, strict=True):
        shares_of_term[t][j] = shares_of_term[t].get(j, 0.0) + float(share)
    total = math.fsum(decreases[[*map(bool, shares_of_term)]]) or 1.0
    curves = np.zeros(scorer.n_features)
    groups: dict[tuple[int, ...], list[float]] = {}
    slopes = scorer.slopes.sum(axis=1) if terms.n_scores == 1 else curves
    for rule, decrease, columns in zip(terms.rules, decreases, shares_of_term, strict=True):
        if len(columns) == 1 and scorer.is_curve(rule):
            curves[[*columns]] += float(decrease) / total
        elif isinstance(rule, TreeRule):
            # Trees of several columns would be as many groups as trees.
            for j, share in columns.items():
                groups.setdefault(scorer.sources(j), []).append(share / total)
        elif columns:
            tested = {source for j in columns for source in scorer.sources(j)}
            groups.setdefault(tuple(sorted(tested)), []).append(float(decrease) / total)
    return curves, [
        Group(
            tuple(map(scorer.feature_name, columns)),
            math.fsum(shares),
            len(shares),
            # Image filters, numbered after the columns, have no slopes.
            float(slopes[columns[0]]) if len(columns) == 1 and columns[0] < len(slopes) else 0.0,
        )
        for columns, shares in groups.items()
    ]


def explain_row(
    scorer: Scorer,
    row: Table,
    background: Table | None,
    offset: float,
    classes: list,
    n_jobs: int = 1,
) -> RowExplanation:
    """Return the contributions to the scores of a row: see `_find_shares`.

    Predictions add an offset to the scores of the model.
    """
    scores = scorer.scores(row)[0] + offset
    shares, values = _find_shares(scorer, row, background, True, n_jobs)
    columns, categories = shares.columns, scorer.categories
    names = [scorer.feature_name(j) for j in columns.tolist()]
    details = [_format_value(values[u, 0], categories.get(j)) for u, j in enumerate(columns)]
    for i, j in shares.pairs.tolist():
        names.append(f"{names[i]} * {names[j]}")
        details.append(f"{details[i]}, {details[j]}")
    by_name = np.vstack([shares.base + offset, shares.alone[0], shares.interactions[0]])
    for column, score in zip(by_name.T, scores.tolist(), strict=True):
        _add_rounding_error(column, score)
    # Image filters are numbered after the columns.
    shapley_values = np.zeros((max(scorer.n_features, columns.max(initial=0) + 1), len(scores)))
    shapley_values[columns] = shares.values[0]
    best = scores.argmax() if len(scores) == len(classes) else scores[0] > 0
    labels = (("bias", *names), ("", *details))
    return RowExplanation(*labels, by_name, scores, shapley_values, classes, classes[int(best)])


def explain_rows(
    scorer: Scorer,
    rows: Table,
    background: Table | None,
    offset: float,
    classes: list,
    interactions: bool,
    output: str,
    n_jobs: int = 1,
) -> TableExplanation:
    """Return the contributions of columns to the scores of rows: see `_find_shares`.

    Predictions add an offset to the scores of the model.
    """
    filters = scorer.filters
    if interactions and filters is not None:
        raise ValueError("interactions are of columns, and this model has image filters")
    if interactions and output == "probability":
        raise ValueError("interactions need output='score' or 'log_odds'")
    shares, _ = _find_shares(scorer, rows, background, interactions, n_jobs)
    values, base, columns = shares.values, shares.base + offset, shares.columns
    together = shares.matrix if interactions else None
    if filters is not None:
        division = np.zeros((len(columns), scorer.n_features))
        for u, j in enumerate(columns.tolist()):
            pixels = filters.sources(j - scorer.n_features) if j >= scorer.n_features else [j]
            division[u, pixels] = 1.0 / len(pixels)
        values, columns = division.T @ values, np.arange(scorer.n_features)
    if output != "score":
        assert isinstance(scorer, ClassScorer)
        values, base = scorer.log_odds_scale * values, scorer.log_odds(base[None])[0]
        together = None if together is None else scorer.log_odds_scale * together
        if output == "probability":
            values, base = _share_probabilities(scorer, values, base)
    n_features = scorer.n_features
    shapley_values = np.zeros((len(values), n_features, len(base)))
    shapley_values[:, columns] = values
    matrix = None
    if together is not None:
        matrix = np.zeros((len(values), n_features, n_features, len(base)))
        matrix[:, columns[:, None], columns] = together
    if len(base) == 1 and len(classes) < 3:
        shapley_values, base = shapley_values[..., 0], base[0]
        matrix = None if matrix is None else matrix[..., 0]
    names = [scorer.feature_name(j) for j in range(n_features)]
    raw = RawRows(rows, scorer.categories)
    return TableExplanation(names, shapley_values, base, classes, output, matrix, raw)


def _find_shares(
    scorer: Scorer, rows: Table, background: Table | None, interactions: bool, n_jobs: int
) -> tuple[Shares, Reals]:
    """Return the shares of columns in the scores of rows, and the values of these columns.

    Rows are compared with background rows, of which a sample replaces very many unless the model
    is additive. None compares them with the training rows, path by path, and the values of rules
    that are columns themselves with those that stand for missing ones.
    """
    tests, linear = scorer.tests_and_columns
    is_additive, forest = tests.terms.is_additive, None
    if background is None or not is_additive:
        forest = tests.paths_forest
        if forest is None:
            raise ValueError("explain: the rules have too many leaves to explain rows")
    if background is None and not tests.has_covers:
        raise ValueError(
            "background must be given to compare with: the number of training rows in each leaf is "
            "unknown, as the model was saved by an earlier version or before training ended"
        )
    used = forest.columns if forest is not None else tests.tables.columns
    columns = np.union1d(used, [rule.column for rule in linear]).astype(np.intp)

    def read_values(table: Table) -> Reals:
        raw = RawRows(table, scorer.categories, scorer.derived_columns)
        return raw.block(columns, slice(None))

    values, others, tested = read_values(rows), None, np.searchsorted(columns, used)
    if background is not None:
        n_rows = background.n_rows
        if not is_additive and n_rows > MAX_BACKGROUND_ROWS:
            sample = np.random.default_rng(0).choice(n_rows, MAX_BACKGROUND_ROWS, replace=False)
            background = background.take(np.sort(sample))
        others = read_values(background)
    compared = None if others is None else others[tested]
    if is_additive:
        means = (
            training_means(tests.paths, len(used))
            if compared is None
            else curve_means(tests.tables, compared)
        )
        shares = additive_shares(tests.tables, values[tested], means)
    else:
        shares = path_shares(tests.paths, used, values[tested], compared, interactions, n_jobs)
    if linear:
        shares = add_linear_rules(shares.extend_to(columns), linear, values, others)
    if scorer.rates is not None:
        shares = shares.divide([scorer.sources(j) for j in columns.tolist()])
        columns = shares.columns
        values = read_values(rows)
    return shares, values


def _share_probabilities(scorer: ClassScorer, values: Reals, base: Reals) -> tuple[Reals, Reals]:
    """Return contributions to probabilities, given those to log-odds, (n, U, K), and their base.

    The probabilities move from those of the base to those of the row as all contributions grow in
    proportion, and each column has its part of every step (Aumann and Shapley 1974). With one
    score column, all are multiplied by the same number.
    """

    def probabilities(z: Reals) -> Reals:
        return probabilities_of_log_odds(z, scorer.multilabel, scorer.normalizes)

    totals, before = values.sum(axis=1), probabilities(base[None])
    change = probabilities(base + totals) - before
    moved = np.zeros_like(values)
    nodes, weights = quadrature(_PROBABILITY_NODES)
    several = len(base) > 1 and not scorer.multilabel
    for step in range(_PROBABILITY_STEPS if several else 0):
        for node, weight in zip(nodes, weights / _PROBABILITY_STEPS, strict=True):
            z = base + (step + node) / _PROBABILITY_STEPS * totals
            p = probabilities(z)[:, None]
            slopes = values
            if scorer.normalizes:
                slopes = values / (1.0 + np.exp(np.minimum(z, _MAX_EXPONENT)))[:, None]
            moved += weight * p * (slopes - (p * slopes).sum(axis=2, keepdims=True))
    if not several:
        ratio = np.divide(change, totals, out=np.zeros_like(totals), where=totals != 0.0)
        moved = values * ratio[:, None]
    # What rounding leaves goes to the columns by the sizes of their contributions.
    sizes = np.abs(moved)
    fractions = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    moved += fractions * (change - moved.sum(axis=1))[:, None]
    return moved, before[0]


def explain_order(above: RowExplanation, below: float, others: Sequence[str]) -> OrderExplanation:
    """Return the contributions to the difference between the scores of two rows.

    The second row, with the score `below` and the values `others`, is the background of `above`.
    """
    scores = float(above.scores[0]), below
    changes = above.amounts[1:, 0].copy()
    _add_rounding_error(changes, scores[0] - scores[1])
    compared = [f"{a} against {b}" for a, b in zip(above.details[1:], others, strict=True)]
    contributions = map(Contribution, above.names[1:], changes.tolist(), compared)
    return OrderExplanation(scores, tuple(_sort_by_size([c for c in contributions if c.amount])))


def _add_rounding_error(amounts: Reals, total: float) -> None:
    """Correct the largest amounts, so that all sum to the total.

    The sum is exact, unless all amounts are larger than the total.
    """
    for i in np.argsort(-np.abs(amounts)).tolist():
        if math.fsum(amounts) == total:
            return
        amounts[i] += math.fsum([total, *-amounts])


def _format_value(value: float, categories: tuple[object, ...] | None) -> str:
    if categories is not None:
        return str(categories[int(value)]) if value < len(categories) else "missing"
    return "missing" if np.isnan(value) else f"{value:.6g}"


# Effects: the mean output as a function of one column (partial dependence)


def mean_outputs(
    output: Callable[[Table], Any], rows: Table, columns: Sequence[Column], j: int, values: Column
) -> Reals:
    """Return a model's mean output over rows, shape (V, K), with each of V values in column `j`.

    `columns` are the columns of `rows`, which are read once for all effects.
    """
    table = repeat_for_values(columns, j, values, rows.names, rows.infinite)
    outputs = np.asarray(output(table), dtype=np.float64)
    return outputs.reshape(len(values), len(columns[0]), -1).mean(axis=1)


def most_frequent(codes: NDArray[Any], n_categories: int, n: int) -> NDArray[np.intp]:
    """Return at most `n` codes below `n_categories` that occur, the most frequent first."""
    counts = np.bincount(codes, minlength=n_categories + 1)[:n_categories]
    frequent = np.argsort(-counts, kind="stable")[:n]
    return frequent[counts[frequent] > 0]
