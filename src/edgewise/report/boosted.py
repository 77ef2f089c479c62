"""Sections of both classifiers and rankers: columns, training, effects and rules."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, Reals
from edgewise.common.text import pluralize
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import Table
from edgewise.metrics.registry import metric_title
from edgewise.model.effects import mean_outputs, most_frequent
from edgewise.model.words import category_name
from edgewise.report.blocks import (
    axis,
    bar,
    bars,
    chart,
    choice,
    contribution_bars,
    curve_line,
    format_day,
    format_number,
    format_percent,
    learning_charts,
    note,
    round_digits,
    series,
    shorten,
    side_by_side,
    table,
)
from edgewise.report.curves import evenly_spaced, learning_curves
from edgewise.report.page import Block, Report

# The maximum number of rows that costly sections are computed on.
MAX_ROWS = 200_000
_SUMMARY_ROWS, _EFFECT_ROWS, BACKGROUND_ROWS = 20_000, 100, 32

_MAX_COLUMNS = 200
_MAX_BARS = 20
_MAX_EFFECTS = 12
_MAX_STEPS = 60
_GRID = 25
_MAX_VALUES = 15
_MAX_LINES = 6
_MAX_CONTRIBUTIONS = 9
# Stands between the values of two rows that are compared.
_AND = " against "
# Trees take many lines: rules end at the first of these.
_MAX_RULES, _MAX_CHARACTERS = 100, 60_000


def draw_sample(n_rows: int, max_count: int) -> NDArray[np.intp]:
    """Return the ascending indices of at most `max_count` random rows, the same in every call."""
    if n_rows <= max_count:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, max_count, replace=False))


def rounds_reason(model: Any) -> str:
    """Return what chose the number of rounds, in brackets; nothing if training ran to its end."""
    settings, reason = getattr(model, "settings_", None), model.stop_reason_
    if settings is not None:
        return f" ({settings._why_rounds()})"
    return "" if reason == "n_rounds" else f" (ended by {reason})"


def describe_sample(n: int, total: int, unit: str = "rows") -> str:
    """Return how many rows were used; nothing if all were."""
    return "" if n >= total else f"On {n:,} of the {total:,} {unit}, drawn at random."


class Outputs(NamedTuple):
    """The scores of a model, by column."""

    score: Callable[[Table], Reals]
    """Returns the scores of rows, shape (n, K)."""
    names: Sequence[str]
    unit: str = "Added to the score"
    """What an effect is measured in."""


class BoostedSections:
    """The sections of a fitted classifier or ranker and a table of rows.

    `indices` are the rows that are used, by default a sample; `worded` is the model that words the
    rules, if it is another one.
    """

    def __init__(
        self,
        model: Any,
        rows: Table,
        outputs: Outputs,
        worded: Any = None,
        indices: NDArray[np.intp] | None = None,
    ) -> None:
        self.model, self.outputs = model, outputs
        self.worded = model if worded is None else worded
        self.n_rows = rows.n_rows
        self.indices = draw_sample(rows.n_rows, MAX_ROWS) if indices is None else indices
        self.rows = rows if len(self.indices) == rows.n_rows else rows.take(self.indices)
        self.importances: Reals = model.feature_importances_
        # The largest first.
        self.order = np.argsort(-self.importances, kind="stable")
        self.schema = getattr(self.worded, "schema_", None)  # of the file, if it came from one
        # Rows of a file are numbered as the commands do, rows of an array as Python does.
        self.first_row = 0 if self.schema is None else 1
        # The columns that count days.
        self.dates = {
            feature
            for column in (() if self.schema is None else self.schema.columns)
            for feature, part in zip(column.features, column.parts, strict=False)
            if part == "days"
        }

    @cached_property
    def summary_rows(self) -> Table:
        """The rows that describe the columns."""
        return self.rows.take(draw_sample(self.rows.n_rows, _SUMMARY_ROWS))

    def _is_date(self, j: int) -> bool:
        return self.model.fitted_.feature_name(j) in self.dates

    def _name(self, j: int) -> str:
        return shorten(self.model.fitted_.feature_name(j))

    def target_names(self) -> str:
        """Return the names of the target columns, if the model knows them."""
        return "" if self.schema is None else ", ".join(map(shorten, self.schema.target))

    def columns(self) -> list[Block]:
        """Return a table of the columns, the most important first, and one of those left out."""
        rows, shown = self.summary_rows, self.order[:_MAX_COLUMNS].tolist()
        described = {
            j: _describe_column(column, format_day if self._is_date(j) else format_number)
            for j, column in rows.select_columns(sorted(shown))
        }
        title = "Columns"
        if len(self.order) > len(shown):
            title = f"The {len(shown)} most important of {len(self.order):,} columns"
        cells = [[self._name(j), format_percent(self.importances[j]), *described[j]] for j in shown]
        names = ["column", "importance", "values", "kind", "missing"]
        detail = describe_sample(rows.n_rows, self.n_rows)
        settings = {"search": "Find a column", "shown": 12, "detail": detail}
        blocks = [table(title, names, cells, **settings)]
        columns = [] if self.schema is None else self.schema.columns
        left_out = [[shorten(c.name), c.kind, c.note] for c in columns if not c.features]
        if left_out:
            blocks.append(table("Columns left out", ["column", "kind", "why"], left_out))
        return blocks

    def training(self) -> tuple[str, list[Block]]:
        """Return the learning curves with the bound, and the validation metrics."""
        model, history = self.model, self.model.history_
        if history.n_rounds == 0:
            return "", [note("The model has no rounds: no rule was better than chance.")]
        curves = learning_curves(model)
        charts = learning_charts(curves)
        if len(charts) == 1 and curves.edges:
            edge = curve_line(curves.edges[0], "dots")
            x = axis(curves.unit, integer=True)
            charts.append(chart("Edge of each round's rule", x, axis("edge"), [edge]))
        bounded = "ranking_loss" if "ranking_loss" in history else "hamming_loss"
        fitted = model.fitted_
        if getattr(fitted, "loss", None) == "softmax" and not fitted.multilabel:
            bounded = "train_error"
        loss, bound = (float(history[name][model.n_rounds_ - 1]) for name in (bounded, "bound"))
        lead = (
            f"{pluralize(model.n_rounds_, 'rounds')}{rounds_reason(model)}. The "
            f"{metric_title(bounded.removeprefix('train_'))} on the training rows is "
            f"{format_number(loss)}; its upper bound is {format_number(bound)}."
        )
        return lead, [side_by_side(*charts)]

    def add_model_sections(self, page: Report) -> None:
        """Add the sections on the importances, effects and rules of the model."""
        lead = "Share of the decrease of the training loss by column."
        page.add("importance", "Importance", lead, self._importances())
        page.add("effects", "Effects", *self._effects())
        page.add("rules", "Rules", *self._rules())

    def _importances(self) -> list[Block]:
        used = [j for j in self.order.tolist() if self.importances[j] > 0]
        if not used:
            return [note("The model uses no column.")]
        items = [bar(self._name(j), self.importances[j]) for j in used[:_MAX_BARS]]
        details = []
        if others := used[_MAX_BARS:]:
            share = format_percent(float(self.importances[others].sum()))
            details.append(f"{pluralize(len(others), 'columns')} more: {share} together.")
        if n_unused := len(self.order) - len(used):
            details.append(f"Not used: {pluralize(n_unused, 'columns')}.")
        return [bars("Importance of columns", items, percent=True, detail=" ".join(details))]

    def _effects(self) -> tuple[str, list[Block]]:
        """Return how the most important columns change the scores, one chart for each."""
        used = [j for j in self.order[:_MAX_EFFECTS].tolist() if self.importances[j] > 0]
        if not used:
            return "", []
        sample = self.rows.take(draw_sample(self.rows.n_rows, _EFFECT_ROWS))
        columns = list(sample.columns())

        def mean_scores(j: int, values: Column) -> Reals:
            scores = mean_outputs(self.outputs.score, sample, columns, j, values)
            return scores - scores.mean(axis=0)

        effects = {
            j: (self._name(j), self._effect(j, column, mean_scores))
            for j, column in self.summary_rows.select_columns(sorted(used))
        }
        lead = "What each value of a column adds to the scores, centered at 0."
        if not self.model.terms_.is_additive:
            lead = (
                f"Partial dependence: the mean score of {pluralize(sample.n_rows, 'rows')} with "
                "each value in the column, centered at 0."
            )
        return lead, [choice("Column", [effects[j] for j in used])]

    def _effect(
        self, j: int, column: Column, mean_scores: Callable[[int, Column], Reals]
    ) -> list[Block]:
        """Return the effect of a column: bars of frequent values, or lines over a grid."""
        categories = self.model.fitted_.categories.get(j)
        values: Column
        if categories is None:
            grid, style = self._grid(j, _finite_values(column))
            values = NumericColumn(grid)
        else:
            frequent = np.empty(0, dtype=np.intp)
            if isinstance(column, CategoricalColumn):
                codes = column.recode(categories).codes
                frequent = most_frequent(codes, len(categories), _MAX_VALUES)
            values = CategoricalColumn(frequent.astype(CATEGORY_CODE), tuple(categories))
        if len(values) == 0:
            return [note("The column has no values here.")]
        scores = mean_scores(j, values)
        labels, unit = self.outputs.names, self.outputs.unit
        shown = np.argsort(-np.ptp(scores, axis=0), kind="stable")[:_MAX_LINES].tolist()
        if categories is not None:
            names = [shorten(category_name(categories[code]), 40) for code in frequent]
            options = []
            for k in shown:
                items = map(bar, names, scores[:, k].tolist())
                options.append((labels[k], [bars(unit, items, signed=True)]))
            return [choice("Class", options)]
        lines = [series(labels[k], grid, scores[:, k], style) for k in shown]
        detail = "Ticks on the axis mark the deciles of the rows."
        if len(labels) > len(shown):
            detail = f"The {len(shown)} of {len(labels)} classes that change most. {detail}"
        deciles = round_digits(np.quantile(_finite_values(column), np.linspace(0.1, 0.9, 9)))
        x, y = axis(self._name(j), date=self._is_date(j)), axis("score", zero=True)
        return [chart(unit, x, y, lines, detail=detail, rug=deciles)]

    def _grid(self, j: int, values: Reals) -> tuple[Reals, str]:
        """Return values of a numeric column, and the style of a line through their scores."""
        if len(values) == 0:
            return values, "line"
        low, high = float(values.min()), float(values.max())
        terms = self.model.terms_
        cuts = np.unique(terms.thresholds[terms.columns == j])
        cuts = cuts[(cuts > low) & (cuts < high)]
        if 0 < len(cuts) <= _MAX_STEPS:
            return np.unique([low, *cuts.tolist(), high]), "steps"
        quantiles = np.quantile(values, np.linspace(0.0, 1.0, _GRID)).tolist()
        return np.unique([*quantiles, *cuts[evenly_spaced(len(cuts), _GRID)].tolist()]), "line"

    def _rules(self) -> tuple[str, list[Block]]:
        """Return the strongest rules in words."""
        items: list[Block] = []
        room = _MAX_CHARACTERS
        for rule in self.worded.rules(_MAX_RULES) if self.model.n_rounds_ else []:
            room -= len(rule.text)
            if room < 0 and items:
                break
            items.append({"text": rule.text, "strength": float(rule.alpha), "round": rule.round})
        if not items:
            return "", []
        total = self.model.n_rounds_
        which = "All" if len(items) == total else f"The {len(items)} strongest of {total:,}"
        lead = f"{which} rules, by decreasing strength."
        return lead, [{"kind": "rules", "items": items, "search": "Find in the rules"}]

    def contributions(self, parts: Sequence[tuple[str, str, float]]) -> list[Block]:
        """Return contributions by column, value and amount; values that count days are dates."""
        return contribution_bars(
            [(name, self._format_value(name, value), amount) for name, value, amount in parts],
            _MAX_CONTRIBUTIONS,
        )

    def _format_value(self, name: str, value: str) -> str:
        if name not in self.dates:
            return value
        days = value.split(_AND)
        return _AND.join(day if day == "missing" else format_day(float(day)) for day in days)


def _describe_column(column: Column, form: Callable[[float], str]) -> tuple[str, str, str]:
    """Return the values of a column in words, its kind, and the share of missing values."""
    if isinstance(column, CategoricalColumn):
        counts = np.bincount(column.codes, minlength=len(column.categories) + 1)
        frequent = most_frequent(column.codes, len(column.categories), 3).tolist()
        listed = ", ".join(shorten(category_name(column.categories[c]), 24) for c in frequent)
        n_others = int((counts[:-1] > 0).sum()) - len(frequent)
        text = f"{listed} and {n_others:,} more" if n_others else listed
        return text, "categorical", format_percent(float(counts[-1] / max(len(column), 1)))
    values = _finite_values(column)
    missing = format_percent(float(np.isnan(column.reals()).mean()))
    if len(values) == 0:
        return "none", "number", missing
    low, median, high = np.quantile(values, [0.0, 0.5, 1.0]).tolist()
    if low == high:
        return f"always {form(low)}", "number", missing
    return f"{form(low)} to {form(high)}, median {form(median)}", "number", missing


def _finite_values(column: Column) -> Reals:
    """Return the finite numbers of a column."""
    values = column.reals() if not isinstance(column, CategoricalColumn) else np.empty(0)
    return values[np.isfinite(values)]
