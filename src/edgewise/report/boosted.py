"""What the pages of all boosted models share: columns, training, importances, effects and rules."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, Reals
from edgewise.common.text import pluralize
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import Table, repeat_for_values
from edgewise.metrics.registry import metric_title
from edgewise.model.words import category_name
from edgewise.report.blocks import (
    axis,
    bars,
    beside,
    chart,
    choice,
    day,
    note,
    number,
    percent,
    rounded,
    series,
    short,
    spaced,
    table,
)
from edgewise.report.page import Block, Report

# The most rows that costly parts are computed on.
MOST_ROWS = 200_000
SUMMARY_ROWS = 20_000
EFFECT_ROWS = 100
BACKGROUND_ROWS = 32

_MOST_ROUNDS = 300
_MOST_COLUMNS = 200
_MOST_BARS = 20
_MOST_EFFECTS = 12
_MOST_STEPS = 60
_GRID = 25
_MOST_VALUES = 15
_MOST_LINES = 6
_MOST_PARTS = 8
# Trees take many lines: rules end at the first of these.
_MOST_RULES, _MOST_LETTERS = 100, 60_000
# The losses of a chart, and the styles of their lines.
_LOSSES = {"bound": "dash", "train_error": "line", "hamming_loss": "line", "ranking_loss": "line"}


def sample(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return all row numbers, or `most` of them at random, the same in every call, ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def why_rounds(model: Any) -> str:
    """Return what chose the number of rounds, as words to follow it."""
    settings, ended = getattr(model, "settings_", None), model.stop_reason_
    if settings is not None:
        return f" ({settings._why_rounds()})"
    return "" if ended == "n_rounds" else f" (ended by {ended})"


def sampled_note(n: int, total: int, what: str = "rows") -> str:
    """Return how many rows were used, in words; nothing if all were."""
    return "" if n >= total else f"On {n:,} of the {total:,} {what}, drawn at random."


class BoostedReport:
    """The sections of a fitted classifier or ranker and a table of rows."""

    def __init__(
        self,
        model: Any,
        rows: Table,
        worded: Any = None,
        chosen: NDArray[np.intp] | None = None,
    ) -> None:
        self.model = model
        self.worded = model if worded is None else worded  # what words the rules
        self.n_given = rows.n_rows
        self.chosen = sample(rows.n_rows, MOST_ROWS) if chosen is None else chosen
        self.rows = rows if len(self.chosen) == rows.n_rows else rows.take(self.chosen)
        self.importances: Reals = model.feature_importances_
        self.schema = getattr(self.worded, "schema_", None)  # of the file, if it came from one
        # Rows of a file are numbered as the commands do, rows of an array as Python does.
        self.first_row = 0 if self.schema is None else 1
        # The columns that count days.
        self.dates = {
            name
            for column in (() if self.schema is None else self.schema.columns)
            for name, part in zip(column.features, column.parts, strict=False)
            if part == "days"
        }
        # The largest first.
        self.order = np.argsort(-self.importances, kind="stable")

    @cached_property
    def some_rows(self) -> Table:
        """The rows that describe the columns."""
        return self.rows.take(sample(self.rows.n_rows, SUMMARY_ROWS))

    def _is_date(self, j: int) -> bool:
        return self.model.fitted_.feature_name(j) in self.dates

    def target(self) -> str:
        """Return the names of the target columns, if the model knows them."""
        return "" if self.schema is None else ", ".join(map(short, self.schema.target))

    def left_out(self) -> list[Block]:
        """Return the columns of the file that the model does not have, and why."""
        columns = [] if self.schema is None else self.schema.columns
        rows = [[short(one.name), one.kind, one.note] for one in columns if not one.features]
        return [table("Columns left out", ["column", "kind", "why"], rows)] if rows else []

    def name(self, j: int) -> str:
        """Return the name of a column."""
        return short(self.model.fitted_.feature_name(j))

    # Data

    def columns(self) -> Block:
        """Return a table of the columns, the most important first."""
        rows = self.some_rows
        shown = sorted(self.order[:_MOST_COLUMNS].tolist())
        described = {
            j: _described(column, day if self._is_date(j) else number)
            for j, column in rows.select_columns(shown)
        }
        title = "Columns"
        if len(self.order) > len(shown):
            title = f"The {len(shown)} most important of {len(self.order):,} columns"
        return table(
            title,
            ["column", "importance", "values", "kind", "missing"],
            [
                [self.name(j), percent(self.importances[j]), *described[j]]
                for j in self.order[:_MOST_COLUMNS].tolist()
            ],
            search="Find a column",
            shown=12,
            detail=sampled_note(rows.n_rows, self.n_given),
        )

    # Training

    def training(self) -> list[Block]:
        """Return the learning curves with the bound, and the validation metric."""
        history, model = self.model.history_, self.model
        n_rounds = history.n_rounds
        if n_rounds == 0:
            return [note("The model has no rounds: no rule was better than chance.")]
        at = spaced(n_rounds, _MOST_ROUNDS)
        x = axis("boosting round", integer=True, log=n_rounds >= 3000)
        marks = []
        if 0 < model.n_rounds_ < n_rounds:
            marks = [(float(model.n_rounds_), f"{pluralize(model.n_rounds_, 'rounds')} kept")]
        lines = [
            series(metric_title(key), at + 1, history[key][at], style)
            for key, style in _LOSSES.items()
            if key in history and not np.isnan(history[key]).all()
        ]
        if len(lines) == 3 and lines[1]["y"] == lines[2]["y"]:
            del lines[2]  # for two classes the error is the Hamming loss
        metrics = self._validation(at)
        shared = [one for name, one in metrics.items() if name in ("error", "hamming_loss")]
        lines += [line for one in shared for line in one]
        charts = [chart("Loss by round", x, axis("loss", low=0, scales=True), lines, marks)]
        for name, found in metrics.items():
            if found not in shared:
                word = metric_title(name)
                where = marks or [
                    (float(model.best_iteration_), f"best: {model.best_iteration_:,}")
                ]
                title = f"Validation {word} by round"
                charts.append(chart(title, x, axis(word), found, where))
        if not metrics:
            charts += self._held_out(x)
        if len(charts) == 1 and "edge" in history:
            edges = series("edge", at + 1, history["edge"][at], "dots")
            charts.append(chart("Edge of each round's rule", x, axis("edge"), [edges]))
        return [beside(*charts)]

    def _validation(self, at: NDArray[np.intp]) -> dict[str, list[Block]]:
        """Return the lines of each validation metric: of each set of rows that has a name."""
        history, metric = self.model.history_, self.model.eval_metric_
        found: dict[str, list[Block]] = {}
        for name, values in history.evaluations().items():
            for one, record in values.items():
                line = series(f"{short(name, 40)} {metric_title(one)}", at + 1, record[at])
                found.setdefault(one, []).append(line)
        if not found and "validation" in history:
            word = f"validation {metric_title(metric)}"
            found[metric] = [series(word, at + 1, history["validation"][at])]
        return found

    def _held_out(self, x: Block) -> list[Block]:
        """Return the metric of the rows that chose the number of rounds, if any did."""
        held_out = getattr(self.model.fitted_, "held_out", None)
        if held_out is None or len(held_out.values) < 2:
            return []
        word, at = metric_title(self.model.eval_metric_), spaced(len(held_out.values), _MOST_ROUNDS)
        line = series(f"held-out {word}", held_out.stride * (at + 1), held_out.values[at])
        where = [(float(held_out.n_rounds), f"{pluralize(held_out.n_rounds, 'rounds')} chosen")]
        return [chart(f"Held-out {word} by round", x, axis(word), [line], where)]

    def training_lead(self) -> str:
        """Return what the curves show."""
        history = self.model.history_
        if history.n_rounds == 0:
            return ""
        last = self.model.n_rounds_ - 1
        error = "ranking_loss" if "ranking_loss" in history else "hamming_loss"
        words = "ranking loss" if error == "ranking_loss" else "Hamming loss"
        fitted = self.model.fitted_
        if getattr(fitted, "loss", None) == "softmax" and not fitted.multilabel:
            error, words = "train_error", "error"
        return (
            f"{pluralize(last + 1, 'rounds')}{why_rounds(self.model)}. "
            f"On the training rows the {words} is {number(float(history[error][last]))}; "
            f"the bound, which it cannot exceed, is {number(float(history['bound'][last]))}."
        )

    # What the model uses

    def add_learned(self, page: Report) -> None:
        """Add the sections on what the model uses."""
        lead = "Each column's share of what training gained."
        page.add("importance", "Importance", lead, self._importances())
        page.add("effects", "Votes by column", self._effects_lead(), self._effects())
        page.add("rules", "Rules", *self._rules())

    def _importances(self) -> list[Block]:
        """Return the importances as bars."""
        used = [j for j in self.order.tolist() if self.importances[j] > 0]
        if not used:
            return [note("The model uses no column.")]
        items = [
            {"name": self.name(j), "value": float(self.importances[j])} for j in used[:_MOST_BARS]
        ]
        words = []
        if rest := used[_MOST_BARS:]:
            share = percent(float(self.importances[rest].sum()))
            words.append(f"{pluralize(len(rest), 'columns')} more: {share} together.")
        if unused := len(self.order) - len(used):
            words.append(f"Not used: {pluralize(unused, 'columns')}.")
        return [bars("Importance of columns", items, percent=True, detail=" ".join(words))]

    def _effects(self) -> list[Block]:
        """Return how the most important columns move the scores, one chart for each."""
        used = [j for j in self.order[:_MOST_EFFECTS].tolist() if self.importances[j] > 0]
        if not used:
            return []
        rows = self.rows.take(sample(self.rows.n_rows, EFFECT_ROWS))
        columns = list(rows.columns())
        found = {
            j: (self.name(j), self._effect(j, column, columns))
            for j, column in self.some_rows.select_columns(sorted(used))
        }
        return [choice("Column", [found[j] for j in used])]

    def _effect(self, j: int, spread: Column, columns: list[Column]) -> list[Block]:
        categories = self.model.fitted_.categories.get(j)
        names: list[str] = []
        style = ""
        if categories is not None:
            codes = _codes(spread, categories)
            counts = np.bincount(codes, minlength=len(categories) + 1)
            common = np.argsort(-counts[:-1], kind="stable")[:_MOST_VALUES]
            common = common[counts[common] > 0]
            grid: Reals = common.astype(np.float64)
            names = [short(category_name(categories[c]), 40) for c in common]
        else:
            grid, style = self._grid(j, spread)
        if len(grid) == 0:
            return [note("The column has no values here.")]
        scores = self._mean_scores(j, grid, categories, columns)
        moved = np.ptp(scores, axis=0)
        shown = np.argsort(-moved, kind="stable")[:_MOST_LINES].tolist()
        labels = self.score_names()
        if categories is not None:
            options = []
            for k in shown:
                pairs = zip(names, scores[:, k].tolist(), strict=True)
                items = [{"name": name, "value": score} for name, score in pairs]
                options.append((labels[k], [bars(self.effect_unit(), items, signed=True)]))
            return [choice("Class", options)]
        lines = [series(labels[k], grid, scores[:, k], style) for k in shown]
        detail = "Ticks along the axis mark tenths of the rows."
        if len(labels) > len(shown):
            most = f"The {len(shown)} classes that the column moves most, of {len(labels)}."
            detail = f"{most} {detail}"
        tenths = np.quantile(_finite(spread), np.linspace(0.1, 0.9, 9))
        x, y = axis(self.name(j), date=self._is_date(j)), axis("score", zero=True)
        made = chart(self.effect_unit(), x, y, lines, detail=detail)
        return [{**made, "rug": rounded(tenths)}]

    def _grid(self, j: int, spread: Column) -> tuple[Reals, str]:
        """Return values of a numeric column, and the style of a line through their scores."""
        values = _finite(spread)
        if len(values) == 0:
            return values, "line"
        low, high = float(values.min()), float(values.max())
        terms = self.model.terms_
        cuts = np.unique(terms.thresholds[terms.columns == j])
        cuts = cuts[(cuts > low) & (cuts < high)]
        if 0 < len(cuts) <= _MOST_STEPS:
            return np.unique([low, *cuts.tolist(), high]), "steps"
        between = np.quantile(values, np.linspace(0.0, 1.0, _GRID)).tolist()
        return np.unique([*between, *cuts[spaced(len(cuts), _GRID)].tolist()]), "line"

    def _mean_scores(self, j: int, grid: Reals, categories: Any, columns: list[Column]) -> Reals:
        """Return the sample's mean score with each value in column `j`, less the mean of these."""
        values: Column = NumericColumn(grid)
        if categories is not None:
            values = CategoricalColumn(grid.astype(CATEGORY_CODE), tuple(categories))
        made = repeat_for_values(columns, j, values, self.rows.names, self.rows.infinite)
        scores = self.scores(made).reshape(len(grid), len(columns[0]), -1).mean(axis=1)
        return scores - scores.mean(axis=0)

    def scores(self, rows: Table) -> Reals:
        """Return the scores of rows, shape (n, K)."""
        raise NotImplementedError

    def score_names(self) -> list[str]:
        """Return what the score columns are called."""
        raise NotImplementedError

    def effect_unit(self) -> str:
        """Return what an effect is measured in."""
        return "Added to the score"

    def _rules(self) -> tuple[str, list[Block]]:
        """Return the strongest rules in words."""
        items: list[Block] = []
        left = _MOST_LETTERS
        for rule in self.worded.rules(_MOST_RULES) if self.model.n_rounds_ else []:
            left -= len(rule.text)
            if left < 0 and items:
                break
            items.append({"text": rule.text, "strength": float(rule.alpha), "round": rule.round})
        if not items:
            return "", []
        total = self.model.n_rounds_
        lead = f"The {len(items)} strongest of {total:,} rules, the largest votes first."
        if len(items) == total:
            lead = "All rules, the largest votes first."
        return lead, [{"kind": "rules", "items": items, "search": "Find in the rules"}]

    def _effects_lead(self) -> str:
        """Return how to read the effects."""
        if self.model.terms_.is_additive:
            return "What each value of a column adds to the scores, shifted to a mean of 0."
        return (
            f"The mean score of {pluralize(min(self.rows.n_rows, EFFECT_ROWS), 'rows')} if all had "
            "this value in the column, shifted to a mean of 0."
        )

    # Why

    def details(self, explained: Any) -> list[str]:
        """Return the values of an explained row, days as dates."""
        return [
            day(float(value)) if name in self.dates and value != "missing" else value
            for name, value in zip(explained.names, explained.details, strict=True)
        ]

    def parts(self, amounts: Reals, names: Sequence[str], details: Sequence[str]) -> list[Block]:
        """Return contributions, the bias first, then the largest, then the sum of the others."""
        order = 1 + np.argsort(-np.abs(amounts[1:]), kind="stable")
        order = order[amounts[order] != 0]
        found: list[Block] = [{"name": "bias", "detail": "", "amount": float(amounts[0])}]
        for place in order[:_MOST_PARTS].tolist():
            name, detail = short(names[place], 60), short(details[place], 60)
            found.append({"name": name, "detail": detail, "amount": float(amounts[place])})
        if len(rest := order[_MOST_PARTS:]):
            total = float(amounts[rest].sum())
            found.append({"name": pluralize(len(rest), "others"), "detail": "", "amount": total})
        return found


def _described(column: Column, say: Callable[[float], str]) -> tuple[str, str, str]:
    """Return the values of a column in words, its kind, and the share of missing values."""
    if isinstance(column, CategoricalColumn):
        counts = np.bincount(column.codes, minlength=len(column.categories) + 1)
        common = [c for c in np.argsort(-counts[:-1], kind="stable")[:3].tolist() if counts[c]]
        named = ", ".join(short(category_name(column.categories[c]), 24) for c in common)
        seen = int((counts[:-1] > 0).sum())
        words = f"{named} and {seen - len(common):,} more" if seen > len(common) else named
        return words, "categorical", percent(float(counts[-1] / max(len(column), 1)))
    values = column.reals()
    known = values[np.isfinite(values)]
    missing = percent(float(np.isnan(values).mean()))
    if len(known) == 0:
        return "none", "number", missing
    low, middle, high = np.quantile(known, [0.0, 0.5, 1.0]).tolist()
    if low == high:
        return f"always {say(low)}", "number", missing
    return f"{say(low)} to {say(high)}, median {say(middle)}", "number", missing


def _finite(column: Column) -> Reals:
    """Return the finite numbers of a column."""
    values = column.reals() if not isinstance(column, CategoricalColumn) else np.empty(0)
    return values[np.isfinite(values)]


def _codes(column: Column, categories: tuple[object, ...]) -> NDArray[Any]:
    """Return the codes of a column that training took as categorical."""
    if isinstance(column, CategoricalColumn):
        return column.recode(categories).codes
    return np.full(len(column), len(categories))
