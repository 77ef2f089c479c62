"""The summary of a fitted model in notebooks, below scikit-learn's diagram.

It has facts, the learning curve, and the strongest rules or terms. The text takes the notebook's
color, and the lines show on light and on dark. Names from the data are escaped.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from edgewise.common.text import pluralize
from edgewise.report.blocks import format_number, format_percent, shorten
from edgewise.report.boosted import rounds_reason
from edgewise.report.curves import LearningCurve, LearningCurves, learning_curves, log_floor
from edgewise.report.terms import term_rows

_MAX_RULES, _MAX_TERMS, _MAX_ITEMS, _MAX_CLASSES, _MAX_POINTS = 5, 8, 5, 6, 200
# The curve in pixels: its width and height, the room around the axes, and that for a loss of 0.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP, _STRIP = 340, 170, 44, 332, 136, 8, 12
_BLUE, _ORANGE, _GRAY = "#2b8cc4", "#d9730d", "#8a8a8a"

_STYLE = """
.edgewise-model {font-size: 0.9em; margin: 0.4em 0;}
.edgewise-model .parts {display: flex; flex-wrap: wrap; gap: 0.6em 2em; align-items: flex-start;}
.edgewise-model table {border-collapse: collapse; margin: 0;}
.edgewise-model table tr, .edgewise-model table tr:hover {background: none;}
.edgewise-model table td, .edgewise-model table th {text-align: left; padding: 0.15em 1em 0.15em 0;
  border: none; vertical-align: top; white-space: normal; max-width: 28em;}
.edgewise-model table th {font-weight: normal; opacity: 0.75;}
.edgewise-model .terms td {font: 0.85em monospace;}
.edgewise-model p {margin: 0.5em 0 0.2em 0; font-weight: bold;}
.edgewise-model ol {margin: 0; padding-left: 1.6em;}
.edgewise-model pre {margin: 0; padding: 0; background: none; color: inherit; overflow-x: auto;
  font-size: 0.95em; white-space: pre-wrap;}
"""


def boosted_summary(model: Any) -> str:
    """Return the facts, learning curves and strongest rules of a classifier or ranker."""
    if model.n_rounds_ == 0:
        return _summary("<p>The model has no rounds: no rule was better than chance.</p>")
    facts = [("rounds", f"{model.n_rounds_:,}{rounds_reason(model)}")]
    if model.learner_ is not None:
        facts.append(("learner", repr(model.learner_)))
    if (classes := getattr(model, "classes_", None)) is not None:
        names = ", ".join(shorten(name, 30) for name in classes[:_MAX_CLASSES].tolist())
        n_others = len(classes) - _MAX_CLASSES
        facts.append(("classes", names + (f" and {n_others:,} more" if n_others > 0 else "")))
    used = int((model.feature_importances_ > 0).sum())
    facts.append(("columns", f"{used:,} in use, of {model.n_features_in_:,}"))
    curves = learning_curves(model)
    values = [(curve, curve.after(model.n_rounds_)) for curve in curves.losses]
    facts += [(c.name, format_number(v) if c.is_bound else format_percent(v, 2)) for c, v in values]
    for metric in curves.metrics.values():
        facts += [(curve.name, format_number(curve.after(model.n_rounds_))) for curve in metric]
    held_out = getattr(model.fitted_, "held_out", None)
    if not model.evals_result_ and held_out is not None and held_out.error == held_out.error:
        facts.append(("held-out error", format_percent(held_out.error, 2)))
    parts = f'<div class="parts">{_table(facts)}{_draw(curves)}</div>'
    if model.fitted_.shows_terms:
        rows = term_rows(model.terms_[:_MAX_TERMS], model._score_names())[1:]
        title = f"Most important of {pluralize(len(model.terms_), 'terms')}"
        return _summary(parts, f'<p>{title}</p><div class="terms">{_table(rows)}</div>')
    rules = [f"<li><pre>{escape(rule.text)}</pre></li>" for rule in model.rules(_MAX_RULES)]
    return _summary(parts, f"<p>Strongest rules</p><ol>{''.join(rules)}</ol>")


def recommender_summary(model: Any) -> str:
    """Return the training ratings of a recommender, its learning curves and the top items."""
    ratings = model.ratings_
    sizes = ((len(ratings), "ratings"), (ratings.n_users, "users"), (ratings.n_items, "items"))
    facts = [("trained on", ", ".join(pluralize(*size) for size in sizes))]
    if model.low_ < model.high_:
        span = f"{format_number(model.low_)} to {format_number(model.high_)}"
        facts.append(("ratings", f"{span}, {model.mean_:.2f} on average"))
    facts.append(("predicts", "ratings" if model.predicts == "rating" else "scores"))
    curves = learning_curves(model)
    facts += [(curve.name, format_number(float(curve.values[-1]))) for curve in curves.losses]
    view = ratings.by_item
    top = np.argsort(-view.sizes, kind="stable")[:_MAX_ITEMS]
    items = [
        (shorten(name, 60), pluralize(int(size), "ratings"))
        for name, size in zip(ratings.item_ids.values[top], view.sizes[top], strict=True)
    ]
    return _summary(
        f'<div class="parts">{_table(facts)}{_draw(curves)}</div>',
        f"<p>Most rated items</p>{_table(items)}",
    )


def _summary(*html: str) -> str:
    return f'<div class="edgewise-model"><style>{_STYLE}</style>{"".join(html)}</div>'


def _table(rows: Iterable[Sequence[str]]) -> str:
    lines = []
    for name, *values in rows:
        cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _scale_losses(curves: Sequence[LearningCurve]) -> tuple[Callable[[float], float], list[float]]:
    """Return the height of a loss, and the ticks: linear, or logarithmic above a strip for 0."""
    values = np.concatenate([curve.values for curve in curves])
    high, smallest, floor = (
        float(np.nanmax(values)) or 1.0,
        float(np.nanmin(values)),
        log_floor(curves),
    )
    if not floor:
        # The axis begins at 0 unless all values are far from it.
        low = smallest if smallest > high / 2 else 0.0
        span = (high - low) or 1.0
        return lambda loss: _BOTTOM - (_BOTTOM - _TOP) * ((loss - low) / span), [low, high]
    low = 10.0 ** math.floor(math.log10(floor))
    bottom = _BOTTOM - _STRIP

    def to_y(loss: float) -> float:
        if loss < low:
            return _BOTTOM
        return bottom - (bottom - _TOP) * (math.log(loss / low) / math.log(high / low))

    first, last = round(math.log10(low)), math.floor(math.log10(high))
    step = max(1, math.ceil((last - first) / 4))
    decades = [10.0**power for power in range(last, first - 1, -step)]
    return to_y, [0.0, *decades, *([high] if high > 2 * decades[0] else [])]


def _draw(curves: LearningCurves) -> str:
    """Return a picture of the losses, with its legend."""
    lines = curves.losses
    last = max((int(curve.rounds[-1]) for curve in lines), default=0)
    first = min((int(curve.rounds[0]) for curve in lines), default=0)
    if last <= first:
        return ""
    to_y, loss_ticks = _scale_losses(lines)

    def to_x(step: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (step - first) / (last - first)

    shapes, legend = [], []
    for line in lines:
        curve = line.thin_out(_MAX_POINTS)
        color = _GRAY if curve.is_bound else _ORANGE if curve.rows else _BLUE
        points = " ".join(
            f"{to_x(step):.1f},{to_y(value):.1f}"
            for step, value in zip(curve.rounds.tolist(), curve.values.tolist(), strict=True)
            if math.isfinite(value)
        )
        dashes = ' stroke-dasharray="5 3"' if curve.is_bound else ""
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8"{dashes}/>'
        )
        legend.append(
            f'<span style="white-space: nowrap"><span style="color: {color}">'
            f"{'╌╌' if curve.is_bound else '━━'}</span> {escape(curve.name)}</span>"
        )
    if curves.kept:
        x = f"{to_x(curves.kept):.1f}"
        shapes.append(
            f'<line x1="{x}" y1="{_TOP}" x2="{x}" y2="{_BOTTOM}" stroke="{_GRAY}" '
            'stroke-dasharray="2 3"/>'
        )
    ticks = "".join(
        f'<text x="{_LEFT - 6}" y="{to_y(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>'
        for tick in loss_ticks
    )
    unit = escape(curves.unit)
    frame = (
        f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="{_GRAY}"/>'
        f'<g fill="currentColor" font-size="11">{ticks}'
        f'<text x="{_LEFT}" y="{_BOTTOM + 14}" text-anchor="middle">{first}</text>'
        f'<text x="{_RIGHT}" y="{_BOTTOM + 14}" text-anchor="end">{last:,}</text>'
        f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 28}" text-anchor="middle">{unit}</text>'
        "</g>"
    )
    final = ", ".join(f"{c.name} {format_number(float(c.values[-1]))}" for c in lines)
    return (
        f'<div style="max-width: {_WIDTH}px"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" style="max-width: 100%" role="img" '
        f'aria-label="{escape(f"By {curves.unit}, at the end: {final}")}">{frame}{"".join(shapes)}'
        f"</svg><div>{' '.join(legend)}</div></div>"
    )
