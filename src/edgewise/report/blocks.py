"""The blocks of a page: tiles, facts, charts, tables and choices, as plain data."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.dtypes import Reals
from edgewise.metrics.significance import mean_interval
from edgewise.report.page import Block

_DIGITS = 5
_UNDEFINED, _ELLIPSIS = "\N{EN DASH}", "\N{HORIZONTAL ELLIPSIS}"
# Longer names are cut: nobody reads them on a chart.
_LONGEST = 120


def tile(name: str, value: str, detail: str = "") -> dict[str, str]:
    """Return a headline figure."""
    return {"name": name[:1].upper() + name[1:], "value": value, "detail": detail}


def tiles(items: Iterable[dict[str, str]]) -> Block:
    """Return headline figures side by side."""
    return {"kind": "tiles", "items": list(items)}


def note(text: str) -> Block:
    """Return a sentence."""
    return {"kind": "note", "text": text}


def facts(rows: Iterable[tuple[str, str]]) -> Block:
    """Return names and values in two columns."""
    return {"kind": "facts", "rows": list(rows)}


def beside(*blocks: Block) -> Block:
    """Return blocks that stand side by side where there is room."""
    return {"kind": "beside", "blocks": list(blocks)}


def choice(name: str, options: Iterable[tuple[str, Sequence[Block]]]) -> Block:
    """Return blocks behind a control that shows one option at a time; a single one needs none."""
    given = [{"name": short(one), "blocks": list(blocks)} for one, blocks in options]
    return {"kind": "choice", "name": name, "options": given}


def axis(name: str, **settings: Any) -> dict[str, Any]:
    """Return an axis; `settings` are low, high, log, percent, integer, date, zero and scales.

    Whether the axis shows 0 is `zero`; `scales` lets people choose a logarithmic one.
    """
    return {"name": name, **settings}


def series(name: str, x: ArrayLike, y: ArrayLike, style: str = "line", **more: Any) -> Block:
    """Return a series of a chart; styles: line, dash, guide, steps, dots, area, interval."""
    return {"name": name, "x": rounded(x), "y": rounded(y), "style": style, **more}


def chart(
    title: str,
    x: dict[str, Any],
    y: dict[str, Any],
    lines: Sequence[Block],
    marks: Sequence[tuple[float, str]] = (),
    detail: str = "",
) -> Block:
    """Return a chart of series over a common axis; `marks` are vertical lines with names."""
    named = [{"at": at, "name": name} for at, name in marks]
    return {
        "kind": "chart", "title": title, "x": x, "y": y, "series": list(lines), "marks": named,
        "detail": detail,
    }  # fmt: skip


def bars(title: str, items: Iterable[dict[str, Any]], **settings: Any) -> Block:
    """Return horizontal bars; items have name, value and perhaps text, detail, low and high."""
    return {"kind": "bars", "title": title, "items": list(items), **settings}


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], **settings: Any
) -> Block:
    """Return a table; `settings` are search (a prompt) and shown (rows at first)."""
    return {
        "kind": "table", "title": title, "columns": list(columns), "rows": [list(r) for r in rows],
        **settings,
    }  # fmt: skip


def rounded(values: ArrayLike) -> list[Any]:
    """Return numbers with a few significant digits, which keep the file small; NaN is None."""
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [float(f"{one:.{_DIGITS}g}") if abs(one) < np.inf else None for one in flat]


def short(name: object, longest: int = _LONGEST) -> str:
    """Return a name on one line, cut if it is long."""
    text = " ".join(str(name).split()) or "(blank)"
    return (
        text if len(text) <= longest else text[: longest - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    )


def number(value: float) -> str:
    """Return a number as people write it."""
    if value != value:
        return _UNDEFINED
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else f"{int(value)}"
    return f"{value:.4g}"


def day(days: float) -> str:
    """Return the date of a number of days since 1 January 1970."""
    return str(np.datetime64(int(days // 1), "D"))


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent."""
    return _UNDEFINED if share != share else f"{share:.{digits}%}"


def spaced(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` evenly spaced indices of `n` things, with the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def histogram(values: ArrayLike, bins: int | Reals = 40) -> tuple[Reals, Reals]:
    """Return the edges of bins and the share of values from each edge on, for a step series.

    `bins` is their number, or their edges.
    """
    counts, edges = np.histogram(np.asarray(values, dtype=np.float64), bins)
    shares = counts / max(counts.sum(), 1)
    return edges, np.append(shares, shares[-1])


def binned(name: str, x: Reals, y: Reals, bins: int) -> Block | None:
    """Return the mean of `y`, with its 95% interval, in bins of `x` of about equal size.

    None where there are fewer than two bins.
    """
    cuts = np.unique(np.quantile(x, np.linspace(0.0, 1.0, bins + 1)))
    place = np.searchsorted(cuts[1:-1], x, side="right")
    counts = np.bincount(place)
    kept = np.flatnonzero(counts > 1)
    if len(kept) < 2:
        return None
    spans = np.array([mean_interval(y[place == b]) for b in kept.tolist()])
    at = [float(x[place == b].mean()) for b in kept.tolist()]
    mean, low, high = spans.T
    ends = {"low": rounded(low), "high": rounded(high), "n": counts[kept].tolist()}
    return series(name, at, mean, "interval", **ends)
