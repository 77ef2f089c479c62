"""The terms of additive models to look at: cells along an axis, blocks of a page, lines of text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.model.explain import describe_extremes
from edgewise.model.shapes import Axis, ShapeFunction
from edgewise.report import blocks
from edgewise.report.blocks import format_day, format_percent, round_digits, shorten
from edgewise.report.curves import evenly_spaced
from edgewise.report.page import Block

MAX_LINES = 6
"""The maximum number of classes in one picture."""

INTERVAL = 1.96
"""The standard errors on each side of a 95% interval."""

MAX_LEVELS = 30
"""The maximum number of levels of a categorical column in a picture."""

_SCORE = blocks.axis("score", zero=True, tight=True)
_BARS, _MAX_STEPS, _MAX_CELLS, _MAX_BARS = 30, 80, 20, 8
_MAX_TERMS = 300  # more would make the page large
_SHIFT = 4  # pixels between the points of two classes
_SPARKS, _WIDTH = ("▁▂▃▄▅▆▇█", "_.-:=+*#"), 24

# An axis is skewed if the middle half of its cut points takes less than this share of it, or half
# of them are as close to an end.
_SKEWED = 0.1
# The least and the most space for the cells at the ends, and that before missing values.
_ROOM, _MAX_ROOM, _GAP = 0.08, 0.3, 0.06


@dataclass(frozen=True, eq=False)
class CellScale:
    """Where the cells of a numeric column lie on an axis that outliers do not squash.

    The axis is logarithmic where this makes the cut points even. Otherwise, if they are uneven, all
    cells are equally wide; as cut points are quantiles, so is the axis.
    """

    kind: Literal["linear", "log", "cells"]
    edges: Reals
    """The edges of the cells: values, their logarithms to the base of 10, or 0, 1, 2, ..."""
    missing: float | None
    """The place of missing values; None if no training row has any."""

    @classmethod
    def of(cls, axis: Axis) -> "CellScale":
        """Choose the scale of a numeric column."""
        kind: Literal["linear", "log", "cells"] = "linear"
        places = axis.thresholds
        if len(places) == 0 or _is_skewed(places):
            kind = "cells"
            if len(places) and places[0] > 0 and not _is_skewed(np.log10(places)):
                kind, places = "log", np.log10(places)
        if kind == "cells":
            edges = np.arange(axis.n_cells, dtype=np.float64)
        else:
            low, high = _end_widths(places, axis.counts[:-1])
            edges = np.concatenate([[places[0] - low], places, [places[-1] + high]])
            if kind == "linear" and places[0] > 0:
                edges[0] = max(edges[0], 0.0)
        has_missing = axis.counts[-1] > 0
        beyond = edges[-1] + _GAP * np.ptp(edges)
        return cls(kind, edges, float(beyond) if has_missing else None)

    @property
    def values(self) -> Reals:
        """The edges as values, or numbers of cells."""
        return 10.0**self.edges if self.kind == "log" else self.edges

    @property
    def missing_value(self) -> float | None:
        """The place of missing values, as `values`."""
        return self.missing if self.kind != "log" or self.missing is None else 10.0**self.missing

    def histogram(self, counts: Reals) -> tuple[Reals, Reals] | None:
        """Return the edges of bars and the rows in each, spread evenly over their cells.

        None if it is not known how many rows are in each cell.
        """
        if not are_known(counts):
            return None
        n_bars = len(self.edges) - 1 if self.kind == "cells" else _BARS
        bars = np.linspace(self.edges[0], self.edges[-1], n_bars + 1)
        below = np.append(0.0, np.cumsum(counts[:-1]))
        rows = np.diff(np.interp(bars, self.edges, below))
        return (10.0**bars if self.kind == "log" else bars), rows


def are_known(counts: Reals) -> bool:
    """Return whether the training rows in each cell are known; models without them have ones."""
    return bool((counts != 1).any())


def _is_skewed(places: Reals) -> bool:
    low, a, middle, b, high = np.quantile(places, np.linspace(0.0, 1.0, 5))
    return len(places) > 2 and min(b - a, middle - low, high - middle) < _SKEWED * (high - low)


def _end_widths(places: Reals, counts: Reals) -> Reals:
    """Return the widths of the first and the last cell, which are as dense as the others."""
    span, inner = float(np.ptp(places)), float(counts[1:-1].sum())
    if span == 0:
        return np.full(2, 0.5 * max(abs(float(places[0])), 1.0))
    return span * np.clip(counts[[0, -1]] / max(inner, 1e-9), _ROOM, _MAX_ROOM)


def frequent_levels(axis: Axis, max_count: int) -> list[int]:
    """Return the cells of the most frequent categories, and of missing values if there are any."""
    used = np.flatnonzero(axis.counts > 0)
    return used[np.argsort(-axis.counts[used], kind="stable")][:max_count].tolist()


def sort_levels(function: ShapeFunction, k: int) -> list[int]:
    """Return the most frequent cells of a categorical column, ascending by the k-th score."""
    cells = frequent_levels(function.axes[0], MAX_LEVELS)
    return sorted(cells, key=lambda cell: float(function.scores[cell, k]))


def coarsen(function: ShapeFunction, max_cells: int) -> ShapeFunction:
    """Return a function with fewer cells, each the mean of some, weighted by training rows.

    Of a numeric column, cut points are left out; of categories, those with the fewest rows.
    """
    axes, tables = [], [function.scores, function.errors]
    for a, axis in enumerate(function.axes):
        if axis.categories is not None:
            kept = sorted(frequent_levels(replace(axis, counts=axis.counts[:-1]), max_cells))
            cells = np.full(axis.n_cells, -1)
            cells[[*kept, axis.n_cells - 1]] = np.arange(len(kept) + 1)
            names = tuple(axis.categories[k] for k in kept)
            axes.append(replace(axis, categories=names, counts=axis.counts[cells >= 0]))
        else:
            chosen = evenly_spaced(len(axis.thresholds), max_cells - 1)
            coarse, cells = axis.coarsen(axis.thresholds[chosen])
            axes.append(coarse)
        weights = (cells == np.arange(axes[-1].n_cells)[:, None]) * np.maximum(axis.counts, 1e-9)
        weights /= weights.sum(axis=1, keepdims=True)
        tables = [
            t if t is None else np.moveaxis(np.tensordot(weights, t, (1, a)), 0, a) for t in tables
        ]
    scores, errors = tables
    assert scores is not None
    return replace(function, axes=tuple(axes), scores=scores, errors=errors)


def select_classes(
    functions: Sequence[ShapeFunction], max_count: int
) -> tuple[list[ShapeFunction], list[int]]:
    """Return the functions of the scores that change most, and which these are."""
    shown = widest_classes(functions, max_count)
    kept = [
        replace(
            f,
            scores=f.scores[..., shown],
            errors=None if f.errors is None else f.errors[..., shown],
        )
        for f in functions
    ]
    return kept, shown


def widest_classes(functions: Sequence[ShapeFunction], max_count: int) -> list[int]:
    """Return the scores that change most over all functions, ascending."""
    ranges = np.sum([function.ranges for function in functions], axis=0)
    return sorted(np.argsort(-ranges, kind="stable")[:max_count].tolist())


# Blocks of a page


def wall(
    functions: Sequence[ShapeFunction], names: Sequence[str], is_date: Callable[[int], bool]
) -> Block:
    """Return the block that shows all functions; `names` are those of the scores."""
    shown = widest_classes(functions, MAX_LINES)
    items = []
    for function in functions[:_MAX_TERMS]:
        title = f"{shorten(function.name, 60)}, {format_percent(function.importance)}"
        if len(function.axes) == 2:
            block = _heat_map(title, function, names, is_date)
        elif function.axes[0].categories is not None:
            block = _levels(title, function, [(k, names[k]) for k in shown])
        else:
            lines = [(k, names[k]) for k in shown]
            block = _curve(title, function, lines, is_date(function.columns[0]))
        items.append({"name": function.name, "block": block})
    legend = [names[k] for k in shown] if len(names) > 1 else []
    detail = ""
    if len(items) < len(functions):
        detail = f"The {len(items)} most important of {len(functions):,} terms."
    settings = {"legend": legend, "search": "Find a term", "shown": 12, "detail": detail}
    return {"kind": "terms", "items": items, **settings}


def _curve(
    title: str, function: ShapeFunction, lines: Sequence[tuple[int, str]], date: bool
) -> Block:
    function = coarsen(function, _MAX_STEPS)
    axis = function.axes[0]
    scale = CellScale.of(axis)
    x = blocks.axis(shorten(axis.name, 40), date=date, log=scale.kind == "log")
    if scale.kind == "cells":
        form = format_day if date else blocks.format_number
        x["labels"] = ["", *map(form, axis.thresholds.tolist())]
    series = []
    for tone, (k, name) in enumerate(lines):
        scores = function.scores[:, k]
        ends = _interval(function, k)
        line = [*scores[:-1], scores[-2]]
        sides = {side: round_digits(end[:-1]) for side, end in ends.items()}
        series.append(blocks.series(name, scale.values, line, "steps", tone=tone, **sides))
        if scale.missing_value is not None:
            sides = {side: round_digits(end[-1:]) for side, end in ends.items()}
            at = [scale.missing_value]
            series.append(blocks.series(name, at, scores[-1:], "points", tone=tone, **sides))
    rows = scale.histogram(axis.counts)
    if rows is not None:
        x["rows"] = {"edges": round_digits(rows[0]), "rows": round_digits(rows[1])}
    return blocks.chart(title, x, _SCORE, series, cells=True, small=True)


def _interval(function: ShapeFunction, k: int) -> dict[str, Reals]:
    """Return the ends of the 95% intervals of the k-th scores; none without errors."""
    if function.errors is None:
        return {}
    scores, room = function.scores[..., k], INTERVAL * function.errors[..., k]
    return {"low": scores - room, "high": scores + room}


def _levels(title: str, function: ShapeFunction, lines: Sequence[tuple[int, str]]) -> Block:
    """Return bars of a few levels, or points of many, sorted by score."""
    axis, order = function.axes[0], sort_levels(function, lines[0][0])
    labels = [shorten(axis.labels[cell], 40) for cell in order]
    shares = axis.counts[order] / max(axis.counts.sum(), 1.0)
    n_used = int((axis.counts > 0).sum())
    detail = "" if len(order) == n_used else f"The {len(order)} most frequent of {n_used:,} levels."
    if len(lines) == 1 and len(order) <= _MAX_BARS:
        ends = [end[order] for end in _interval(function, lines[0][0]).values()]
        columns = [labels, function.scores[order, lines[0][0]].tolist(), *ends]
        items = [
            blocks.bar(label, score, **dict(zip(("low", "high"), end, strict=False)))
            for label, score, *end in zip(*columns, strict=True)
        ]
        if are_known(axis.counts):
            for item, share in zip(items, shares.tolist(), strict=True):
                item["detail"] = f"{format_percent(share)} of rows"
        return blocks.bars(title, items, signed=True)
    series = []
    for tone, (k, name) in enumerate(lines):
        sides = {side: round_digits(end[order]) for side, end in _interval(function, k).items()}
        shift = _SHIFT * (tone - (len(lines) - 1) / 2)
        scores, look = function.scores[order, k], {"tone": tone, "shift": shift}
        series.append(blocks.series(name, range(len(order)), scores, "points", **look, **sides))
    x = blocks.axis(shorten(axis.name, 40), labels=labels, low=-0.5, high=len(order) - 0.5)
    if are_known(axis.counts):
        x["rows"] = {"edges": np.arange(len(order) + 1) - 0.5, "rows": axis.counts[order]}
    return blocks.chart(title, x, _SCORE, series, small=True, detail=detail)


def _heat_map(
    title: str, function: ShapeFunction, names: Sequence[str], is_date: Callable[[int], bool]
) -> Block:
    """Return the table of a pair, for the class that it changes most."""
    k = int(function.ranges.argmax())
    details = [f"For {names[k]}."] if len(names) > 1 else []
    details += [
        f"The {_MAX_CELLS} most frequent levels of {shorten(axis.name, 40)}."
        for axis in function.axes
        if axis.categories is not None and len(axis.categories) > _MAX_CELLS
    ]
    function = coarsen(function, _MAX_CELLS)
    axes = []
    for axis in function.axes:
        form = format_day if is_date(axis.column) else blocks.format_number
        cuts = None if axis.categories is not None else [*map(form, axis.thresholds.tolist())]
        labels = [shorten(label, 30) for label in axis.format_labels(form)]
        axes.append({"name": shorten(axis.name, 40), "cells": labels, "cuts": cuts})
    scores = np.where(function.has_rows, function.scores[..., k], np.nan)
    block: Block = {"kind": "heat", "title": title, "x": axes[0], "y": axes[1]}
    block |= {"scores": [round_digits(row) for row in scores], "detail": " ".join(details)}
    if function.errors is not None:
        block["rooms"] = np.round(INTERVAL * function.errors[..., k], 3)
    return block


# Lines of text


def term_rows(
    functions: Sequence[ShapeFunction], classes: Sequence[Any], encoding: str = "utf-8"
) -> list[list[str]]:
    """Return a heading and a row of text for each function: its share, its course, its extremes.

    Of several classes, the one that the function changes most is named. Curves are drawn with
    block characters, or with punctuation where an encoding has none.
    """
    n_scores = len(functions[0].ranges) if functions else 1
    heading = ["term", "share", *["class"] * (n_scores > 1), "curve", "lowest to highest score"]
    rows = [heading]
    for function in functions:
        k = int(function.ranges.argmax())
        named = [shorten(classes[k], 30)] if n_scores > 1 else []
        name, share = shorten(function.name, 40), format_percent(function.importance)
        ends = shorten(describe_extremes(function, k), 100)
        rows.append([name, share, *named, _spark(function, k, encoding), ends])
    return rows


def _spark(function: ShapeFunction, k: int, encoding: str) -> str:
    """Return a curve in characters, from the lowest to the highest value of its column."""
    axis = function.axes[0]
    if len(function.axes) == 2 or axis.categories is not None:
        return ""
    edges = CellScale.of(axis).edges
    places = edges[0] + np.ptp(edges) * (np.arange(_WIDTH) + 0.5) / _WIDTH
    scores = function.scores[np.searchsorted(edges, places, side="right") - 1, k]
    heights = (scores - scores.min()) / (np.ptp(scores) or 1.0)
    marks = next(marks for marks in _SPARKS if _can_encode(marks, encoding))
    return "".join(marks[round(7 * height)] for height in heights.tolist())


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
