"""Sections of both classifiers and rankers: columns, training, effects and rules."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, Reals
from edgewise.common.text import pluralize
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import Table
from edgewise.metrics.registry import metric_title
from edgewise.model.explain import mean_outputs, most_frequent
from edgewise.model.wording import category_name
from edgewise.report import blocks
from edgewise.report.blocks import format_day, format_number, format_percent, round_digits, shorten
from edgewise.report.curves import evenly_spaced, learning_curves
from edgewise.report.page import Block, Report
from edgewise.report.terms import are_known, wall

# The maximum number of rows that costly sections are computed on.
MAX_ROWS = 200_000
_SUMMARY_ROWS, _EFFECT_ROWS = 20_000, 100

_MAX_COLUMNS, _MAX_BARS, _MAX_CONTRIBUTIONS = 200, 20, 9
_MAX_EFFECTS, _MAX_STEPS, _MAX_VALUES, _MAX_LINES, _GRID = 12, 60, 15, 6, 25
# Stands between the values of two rows that are compared.
_AND = " against "
# Rules with a cut for each class take many lines: rules end at the first of these.
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
        return f" ({settings._explain_rounds()})"
    return "" if reason == "n_rounds" else f" (ended by {reason})"


def describe_sample(n: int, total: int, unit: str = "rows") -> str:
    """Return how many rows were used; nothing if all were."""
    return "" if n >= total else f"On {n:,} of the {total:,} {unit}, drawn at random."


class BoostedSections:
    """The sections of a fitted classifier or ranker and a table of rows.

    `score` returns the scores of rows, shape (n, K), of which `names` are the columns; `unit` is
    what an effect on them is measured in. `worded` is the model that words the rules, if it is
    another one; `indices` are the rows to use, by default a sample.
    """

    def __init__(
        self,
        model: Any,
        rows: Table,
        score: Callable[[Table], Reals],
        names: Sequence[str],
        unit: str = "Added to the score",
        worded: Any = None,
        indices: NDArray[np.intp] | None = None,
    ) -> None:
        self.model, self.score, self.names, self.unit = model, score, names, unit
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
        """Return tables of the columns, the most important first, and of those left out."""
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
        search = "Find a column"
        content = [blocks.table(title, names, cells, search=search, shown=12, detail=detail)]
        columns = [] if self.schema is None else self.schema.columns
        left_out = [[shorten(c.name), c.kind, c.note] for c in columns if not c.features]
        if left_out:
            content.append(blocks.table("Columns left out", ["column", "kind", "why"], left_out))
        return content

    def training(self) -> tuple[str, list[Block]]:
        """Return the learning curves with the bound, and the validation metrics."""
        model, history = self.model, self.model.history_
        if history.n_rounds == 0:
            return "", [blocks.note("The model has no rounds: no rule was better than chance.")]
        curves = learning_curves(model)
        charts = blocks.learning_charts(curves)
        if len(charts) == 1 and curves.edges:
            edge = blocks.curve_line(curves.edges[0], "dots")
            x = blocks.axis(curves.unit, integer=True)
            charts.append(blocks.chart("Edge of each round's rule", x, blocks.axis("edge"), [edge]))
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
        return lead, [blocks.side_by_side(*charts)]

    def add_terms(self, page: Report) -> None:
        """Add the section of the terms of an additive model; other models have none."""
        fitted = self.model.fitted_
        if not fitted.shows_terms:
            return
        terms = fitted.shapes.functions
        if not terms:
            page.add("terms", "Terms", "", [blocks.note("The model has no terms.")])
            return
        lead = [
            f"A score is the sum of {pluralize(len(terms), 'terms')} and a constant.",
            "Behind each name is its share in the mean absolute scores.",
        ]
        if ": " in self.unit:
            lead.append(f"Scores above 0 favor {self.names[0]}.")
        if terms[0].errors is not None:
            lead.append("Bands, thin lines and \N{PLUS-MINUS SIGN} are 95% intervals.")
        if are_known(terms[0].counts):
            lead.append("Gray bars are the training rows.")
        if any(len(term.axes) == 2 for term in terms):
            lead.append(
                "In tables of pairs, blue raises and orange lowers the score beyond what the two "
                "curves add; striped cells have no rows."
            )
        content = [wall(terms, self.names, self._is_date), *self._edits()]
        page.add("terms", "Terms", " ".join(lead), content)

    def _edits(self) -> list[Block]:
        edits = self.model.fitted_.edits
        if not edits:
            return []
        cells = []
        for edit in edits:
            effect = ["", "", "", ""]
            if edit.metric:
                before, after = format_number(edit.before), format_number(edit.after)
                effect = [edit.metric, before, after, f"{edit.n_rows:,}"]
            cells.append([shorten(edit.term), shorten(edit.change), *effect])
        columns = ["term", "change", "metric", "before", "after", "rows"]
        return [blocks.table("Changed by hand", columns, cells)]

    def add_model_sections(self, page: Report) -> None:
        """Add the sections on the importances, effects and rules of the model.

        An additive model has its terms instead of effects and rules.
        """
        lead = "Share of the decrease of the training loss by column."
        page.add("importance", "Importance", lead, self._importances())
        if self.model.fitted_.shows_terms:
            return
        page.add("effects", "Effects", *self._effects())
        page.add("rules", "Rules", *self._rules())

    def _importances(self) -> list[Block]:
        used = [j for j in self.order.tolist() if self.importances[j] > 0]
        if not used:
            return [blocks.note("The model uses no column.")]
        items = [blocks.bar(self._name(j), self.importances[j]) for j in used[:_MAX_BARS]]
        detail = ""
        if others := used[_MAX_BARS:]:
            share = format_percent(float(self.importances[others].sum()))
            detail = f"{pluralize(len(others), 'columns')} more: {share} together. "
        if n_unused := len(self.order) - len(used):
            detail += f"Not used: {pluralize(n_unused, 'columns')}."
        return [blocks.bars("Importance of columns", items, percent=True, detail=detail.strip())]

    def _effects(self) -> tuple[str, list[Block]]:
        used = [j for j in self.order[:_MAX_EFFECTS].tolist() if self.importances[j] > 0]
        if not used:
            return "", []
        sample = self.rows.take(draw_sample(self.rows.n_rows, _EFFECT_ROWS))
        columns = list(sample.columns())

        def mean_scores(j: int, values: Column) -> Reals:
            scores = mean_outputs(self.score, sample, columns, j, values)
            return scores - scores.mean(axis=0)

        effects = {
            j: (self._name(j), self._effect(j, column, mean_scores))
            for j, column in self.summary_rows.select_columns(sorted(used))
        }
        lead = "The contribution of each value of a column to the scores, centered at 0."
        if not self.model.fitted_.terms.is_additive:
            lead = (
                f"Partial dependence: the mean score of {pluralize(sample.n_rows, 'rows')} with "
                "each value in the column, centered at 0."
            )
        return lead, [blocks.choice("Column", [effects[j] for j in used])]

    def _effect(
        self, j: int, column: Column, mean_scores: Callable[[int, Column], Reals]
    ) -> list[Block]:
        """Return the effect of a column: bars of frequent values, or lines over a grid."""
        categories = self.model.fitted_.categories.get(j)
        values: Column
        if categories is None:
            points = _finite_values(column)
            grid, style = self._grid(j, points)
            values = NumericColumn(grid)
        else:
            frequent = np.empty(0, dtype=np.intp)
            if isinstance(column, CategoricalColumn):
                codes = column.recode(categories).codes
                frequent = most_frequent(codes, len(categories), _MAX_VALUES)
            values = CategoricalColumn(frequent.astype(CATEGORY_CODE), tuple(categories))
        if len(values) == 0:
            return [blocks.note("The column has no values here.")]
        scores = mean_scores(j, values)
        shown = np.argsort(-np.ptp(scores, axis=0), kind="stable")[:_MAX_LINES].tolist()
        if categories is not None:
            names = [shorten(category_name(categories[code]), 40) for code in frequent]
            by_class = [
                (
                    self.names[k],
                    [blocks.bars(self.unit, map(blocks.bar, names, votes), signed=True)],
                )
                for k, votes in zip(shown, scores.T[shown], strict=True)
            ]
            return [blocks.choice("Class", by_class)]
        lines = [blocks.series(self.names[k], grid, scores[:, k], style) for k in shown]
        detail = "Ticks on the axis mark the deciles of the rows."
        if len(self.names) > len(shown):
            detail = f"The {len(shown)} of {len(self.names)} classes that change most. {detail}"
        deciles = round_digits(np.quantile(points, np.linspace(0.1, 0.9, 9)))
        x, y = blocks.axis(self._name(j), date=self._is_date(j)), blocks.axis("score", zero=True)
        return [blocks.chart(self.unit, x, y, lines, detail=detail, rug=deciles)]

    def _grid(self, j: int, values: Reals) -> tuple[Reals, str]:
        """Return values of a numeric column, and the style of a line through their scores."""
        if len(values) == 0:
            return values, "line"
        low, high = float(values.min()), float(values.max())
        terms = self.model.fitted_.terms
        cuts = np.unique(terms.thresholds[terms.columns == j])
        cuts = cuts[(cuts > low) & (cuts < high)]
        if 0 < len(cuts) <= _MAX_STEPS:
            return np.unique([low, *cuts.tolist(), high]), "steps"
        quantiles = np.quantile(values, np.linspace(0.0, 1.0, _GRID)).tolist()
        return np.unique([*quantiles, *cuts[evenly_spaced(len(cuts), _GRID)].tolist()]), "line"

    def _rules(self) -> tuple[str, list[Block]]:
        items: list[Block] = []
        room, total = _MAX_CHARACTERS, len(self.model.fitted_.terms)
        for rule in self.worded.rules(_MAX_RULES) if total else []:
            room -= len(rule.text)
            if room < 0 and items:
                break
            items.append({"text": rule.text, "strength": float(rule.alpha), "round": rule.round})
        if not items:
            return "", []
        rules = {"kind": "rules", "items": items, "search": "Find in the rules"}
        if n_trees := self.model.fitted_.terms.n_trees:
            lead = (
                f"The {pluralize(len(items), 'strongest paths')} through "
                f"{pluralize(n_trees, 'trees')}. A row's score is the sum of the votes of all "
                "paths that it meets. Equal paths are added up, under the first of their rounds."
            )
            return lead, [rules]
        which = "All" if len(items) == total else f"The {len(items)} strongest of {total:,}"
        return f"{which} rules, by decreasing strength.", [rules]

    def contributions(self, rows: Sequence[tuple[str, str, float]]) -> list[Block]:
        """Return contributions by column, value and amount; values that count days are dates."""
        return blocks.contribution_bars(
            [(name, self._format_value(name, value), amount) for name, value, amount in rows],
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
    values = column.reals() if not isinstance(column, CategoricalColumn) else np.empty(0)
    return values[np.isfinite(values)]
