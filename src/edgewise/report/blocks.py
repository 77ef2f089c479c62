"""The blocks of a page as plain data: figures, charts, bars, tables, menus and explained cases."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.metrics.significance import mean_interval
from edgewise.report.curves import (
    LOG_ROUNDS,
    LearningCurve,
    LearningCurves,
    evenly_spaced,
    log_floor,
)
from edgewise.report.page import Block

_DIGITS = 5
_MAX_POINTS = 300
_UNDEFINED = "\N{EN DASH}"
# Longer names are cut: nobody reads them on a chart.
_MAX_LENGTH = 120


def tiles(items: Iterable[tuple[str, str, str]]) -> Block:
    """Return headline figures side by side: name, value and detail of each."""
    keys = ("name", "value", "detail")
    return {"kind": "tiles", "items": [dict(zip(keys, item, strict=True)) for item in items]}


def note(text: str) -> Block:
    """Return a sentence."""
    return {"kind": "note", "text": text}


def facts(rows: Iterable[tuple[str, str]]) -> Block:
    """Return names and values in two columns."""
    return {"kind": "facts", "rows": list(rows)}


def side_by_side(*blocks: Block) -> Block:
    """Return blocks that stand side by side where there is room."""
    return {"kind": "side_by_side", "blocks": list(blocks)}


def choice(name: str, options: Iterable[tuple[str, Sequence[Block]]]) -> Block:
    """Return blocks behind a menu that shows one option at a time; a single one needs no menu."""
    listed = [{"name": shorten(option), "blocks": list(blocks)} for option, blocks in options]
    return {"kind": "choice", "name": name, "options": listed}


def axis(name: str, **settings: Any) -> Block:
    """Return an axis; `settings` are low, high, log, percent, integer, date, zero and scales.

    `zero` includes 0; `scales` offers a logarithmic axis, which begins at `floor` and is the
    default if that is not 0.
    """
    return {"name": name, **settings}


def series(name: str, x: ArrayLike, y: ArrayLike, style: str = "line", **more: Any) -> Block:
    """Return a series of a chart; styles: line, dash, guide, steps, dots, area, interval."""
    return {"name": name, "x": round_digits(x), "y": round_digits(y), "style": style, **more}


def chart(
    title: str,
    x: Block,
    y: Block,
    lines: Sequence[Block],
    marks: Sequence[tuple[float, str]] = (),
    **more: Any,
) -> Block:
    """Return a chart of series over a common axis; `marks` are vertical lines with names."""
    axes = {"x": x, "y": y, "series": list(lines)}
    named = [{"at": at, "name": name} for at, name in marks]
    return {"kind": "chart", "title": title, **axes, "marks": named, **more}


def bar(name: str, value: float, **more: Any) -> Block:
    """Return a bar; `more` are text, detail, low and high."""
    return {"name": name, "value": float(value), **more}


def bars(title: str, items: Iterable[Block], **settings: Any) -> Block:
    """Return horizontal bars; `settings` are percent, signed, min, max, shown and detail."""
    return {"kind": "bars", "title": title, "items": list(items), **settings}


def frequency_bars(
    title: str, names: Sequence[str], counts: NDArray[np.intp], unit: str, max_count: int
) -> Block:
    """Return the share of each value in `unit`; of many values, the most frequent."""
    order = np.arange(len(counts))
    if len(counts) > max_count:
        title += f", the {max_count} most frequent"
        order = np.argsort(-counts, kind="stable")[:max_count]
    items = [
        bar(names[k], counts[k] / counts.sum(), detail=pluralize(int(counts[k]), unit))
        for k in order.tolist()
    ]
    return bars(title, items, percent=True, shown=15)


def format_settings(source: Any, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names and values of some attributes, to be shown as facts."""
    rows = []
    for name in names:
        value = getattr(source, name)
        title = name.removeprefix("n_").replace("_cst", "").replace("_", " ").capitalize()
        rows.append((title, format_number(value) if isinstance(value, float) else shorten(value)))
    return rows


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], **settings: Any
) -> Block:
    """Return a table; `settings` are search (a prompt), shown (rows at first) and detail."""
    cells = [list(row) for row in rows]
    return {"kind": "table", "title": title, "columns": list(columns), "rows": cells, **settings}


def confusion_matrix(
    title: str, names: Sequence[str], counts: NDArray[np.intp], **settings: Any
) -> Block:
    """Return counts of pairs of the same names, the true ones in rows."""
    return {"kind": "matrix", "title": title, "names": list(names), "counts": counts, **settings}


def case(title: str, contributions: Sequence[Block], question: str = "", **more: Any) -> Block:
    """Return one case and the contributions that explain it.

    `more` are true and predicted (classes), detail, tags to filter by, blocks, and the name of the
    total.
    """
    return {"title": title, "question": question, "contributions": list(contributions), **more}


def cases(items: Iterable[Block], **settings: Any) -> Block:
    """Return explained cases; `settings` are search (a prompt) and tag (the name of the filter)."""
    return {"kind": "cases", "items": list(items), **settings}


def contribution_bars(
    contributions: Sequence[tuple[str, str, float]], max_count: int, max_length: int = 60
) -> list[Block]:
    """Return contributions by name, detail and amount, and the sum of those after `max_count`."""
    shown = [
        (shorten(name, max_length), detail and shorten(detail, max_length), float(amount))
        for name, detail, amount in contributions[:max_count]
    ]
    if others := contributions[max_count:]:
        total = float(sum(amount for *_, amount in others))
        shown.append((pluralize(len(others), "others"), "", total))
    return [{"name": name, "detail": detail, "amount": amount} for name, detail, amount in shown]


# Charts of one kind of numbers


def learning_charts(curves: LearningCurves) -> list[Block]:
    """Return a chart of the losses, and one for each other validation metric."""
    step = curves.unit.rpartition(" ")[2]
    x = axis(curves.unit, integer=True, log=curves.n_rounds >= LOG_ROUNDS)
    marks = [(float(curves.kept), f"kept: {curves.kept:,}")] if curves.kept else []
    best = marks or [(float(curves.best[1]), f"best: {curves.best[1]:,}")]
    y = axis("loss", low=0, scales=True, floor=log_floor(curves.losses) if curves.losses else 0.0)
    charts = [chart(f"Loss by {step}", x, y, [curve_line(c) for c in curves.losses], marks)]
    for metric, lines in curves.metrics.items():
        name = lines[0].name if len(lines) == 1 else f"validation {metric}"
        title = f"{capitalize(name)} by {step}"
        charts.append(chart(title, x, axis(metric), [curve_line(c) for c in lines], best))
    return charts


def curve_line(curve: LearningCurve, style: str = "line") -> Block:
    """Return a learning curve as a series of a chart."""
    curve = curve.thin_out(_MAX_POINTS)
    style = "dash" if curve.is_bound else style
    return series(shorten(curve.name), curve.rounds, curve.values, style)


def histogram_chart(
    title: str, x: Block, values: ArrayLike, unit: str, bins: int | Reals = 40, **more: Any
) -> Block:
    """Return the distribution of values over bins; `unit` is what has a value, such as "rows"."""
    edges, shares = histogram_shares(values, bins)
    y = axis(f"share of {unit}", percent=True, low=0)
    return chart(title, x, y, [series(y["name"], edges, shares, "area")], **more)


def cumulative_chart(title: str, x: Block, values: ArrayLike, unit: str, **more: Any) -> Block:
    """Return the share of `unit` with at most each value."""
    points = np.sort(np.asarray(values, dtype=np.float64), axis=None)
    indices = evenly_spaced(len(points), _MAX_POINTS)
    shares = np.searchsorted(points, points[indices], side="right") / len(points)
    y = axis(f"share of {unit} with at most", percent=True, low=0, high=1)
    # From 0, so that values that are all equal show as a step.
    x_values, y_values = [points[0], *points[indices]], [0.0, *shares]
    line = series(f"share of {unit}", x_values, y_values, "steps")
    return chart(title, x, y, [line], **more)


def calibration_chart(
    title: str, x: Block, y: Block, points: Block, ends: tuple[float, float]
) -> Block:
    """Return points that should lie on the diagonal between two ends."""
    return chart(title, x, y, [series("ideal", ends, ends, "guide"), points])


def histogram_shares(values: ArrayLike, bins: int | Reals) -> tuple[Reals, Reals]:
    """Return the edges of bins and the share of values from each edge on, for a step series."""
    counts, edges = np.histogram(np.asarray(values, dtype=np.float64), bins)
    shares = counts / max(counts.sum(), 1)
    return edges, np.append(shares, shares[-1])


def bin_means(name: str, x: Reals, y: Reals, n_bins: int) -> Block | None:
    """Return the mean of `y`, with its 95% interval, in bins of `x` of about equal size.

    None where there are fewer than two bins.
    """
    cuts = np.unique(np.quantile(x, np.linspace(0.0, 1.0, n_bins + 1)))
    bins = np.searchsorted(cuts[1:-1], x, side="right")
    counts = np.bincount(bins)
    used = np.flatnonzero(counts > 1).tolist()
    if len(used) < 2:
        return None
    mean, low, high = np.array([mean_interval(y[bins == b]) for b in used]).T
    ends = {"low": round_digits(low), "high": round_digits(high), "n": counts[used].tolist()}
    return series(name, [x[bins == b].mean() for b in used], mean, "interval", **ends)


# Numbers and names


def round_digits(values: ArrayLike) -> list[Any]:
    """Return numbers with a few significant digits, which keep the file small; NaN is None."""
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [float(f"{value:.{_DIGITS}g}") if abs(value) < np.inf else None for value in flat]


def shorten(name: object, max_length: int = _MAX_LENGTH) -> str:
    """Return a name on one line, cut if it is long."""
    text = " ".join(str(name).split()) or "(blank)"
    if len(text) <= max_length:
        return text
    return text[: max_length - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def capitalize(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def format_number(value: float) -> str:
    """Return a number as people write it."""
    if value != value:
        return _UNDEFINED
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else f"{int(value)}"
    return f"{value:.4g}"


def format_percent(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage."""
    return _UNDEFINED if fraction != fraction else f"{fraction:.{digits}%}"


def format_day(days: float) -> str:
    """Return the date of a number of days since 1 January 1970."""
    return str(np.datetime64(int(days // 1), "D"))
