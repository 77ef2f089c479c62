"""What notebooks show of a fitted model, below scikit-learn's diagram: facts, curve and rules.

The text takes the notebook's color, and the lines show on light and on dark. Names from the data
are escaped.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.metrics.registry import metric_title
from edgewise.report.blocks import number, percent, short, spaced
from edgewise.report.boosted import why_rounds

_RULES, _ITEMS, _CLASSES = 5, 5, 6
# The curve in pixels: its width and height, and the room around the axes.
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 340, 170, 44, 34, 8
_MOST_POINTS = 200
# Ratio of the largest to the smallest loss from which the axis is logarithmic.
_LOG_SPAN = 30
_BLUE, _ORANGE, _GRAY = "#2b8cc4", "#d9730d", "#8a8a8a"

_STYLE = """
.edgewise-model {font-size: 0.9em; margin: 0.4em 0;}
.edgewise-model .parts {display: flex; flex-wrap: wrap; gap: 0.6em 2em; align-items: flex-start;}
.edgewise-model table {border-collapse: collapse; margin: 0;}
.edgewise-model table tr, .edgewise-model table tr:hover {background: none;}
.edgewise-model table td, .edgewise-model table th {text-align: left; padding: 0.15em 1em 0.15em 0;
  border: none; vertical-align: top; white-space: normal; max-width: 28em;}
.edgewise-model table th {font-weight: normal; opacity: 0.75;}
.edgewise-model p {margin: 0.5em 0 0.2em 0; font-weight: bold;}
.edgewise-model ol {margin: 0; padding-left: 1.6em;}
.edgewise-model pre {margin: 0; padding: 0; background: none; color: inherit; overflow-x: auto;
  font-size: 0.95em; white-space: pre-wrap;}
"""

Line = tuple[str, Reals, str, bool]
"""The name, values and color of a line, and whether it is dashed."""


def boosted_summary(model: Any) -> str:
    """Return the facts, learning curve and strongest rules of a classifier or ranker."""
    history, last = model.history_, model.n_rounds_ - 1
    if last < 0:
        return _summary(["<p>The model has no rounds: no rule was better than chance.</p>"])
    facts = [("rounds", f"{model.n_rounds_:,}{why_rounds(model)}")]
    if model.learner_ is not None:
        facts.append(("learner", repr(model.learner_)))
    if (classes := getattr(model, "classes_", None)) is not None:
        more = len(classes) - _CLASSES
        named = ", ".join(short(one, 30) for one in classes[:_CLASSES].tolist())
        facts.append(("classes", named + (f" and {more:,} more" if more > 0 else "")))
    used = int((model.feature_importances_ > 0).sum())
    facts.append(("columns", f"{used:,} in use, of {model.n_features_in_:,}"))
    ranks = "ranking_loss" in history
    name, key = ("ranking loss", "ranking_loss") if ranks else ("training error", "train_error")
    facts.append((name, percent(float(history[key][last]), 2)))
    # With the softmax loss the bound is on the error, else on the Hamming or ranking loss.
    facts.append(("bound", number(float(history["bound"][last]))))
    lines: list[Line] = [
        ("bound", history["bound"], _GRAY, True),
        (name, history[key], _BLUE, False),
    ]
    for rows, metrics in model.evals_result_.items():
        for metric, values in metrics.items():
            title, is_share = f"{rows} {metric}", metric in ("error", "hamming_loss")
            value = float(values[last])
            facts.append((title, percent(value, 2) if is_share else number(value)))
            if is_share:
                lines.append((title, values, _ORANGE, False))
    held_out = getattr(model.fitted_, "held_out", None)
    if not model.evals_result_ and held_out is not None and held_out.error == held_out.error:
        facts.append(("held-out error", percent(held_out.error, 2)))
    rules = [_rule(rule, opened=place == 0) for place, rule in enumerate(model.rules(_RULES))]
    parts = [
        f'<div class="parts">{_table(facts)}{_curve(lines, "boosting round", kept=last + 1)}</div>',
        f"<p>Strongest rules</p><ol>{''.join(rules)}</ol>",
    ]
    return _summary(parts)


def recommender_summary(model: Any) -> str:
    """Return what a recommender learned from, and how its training went."""
    ratings = model.ratings_
    sizes = ((len(ratings), "ratings"), (ratings.n_users, "users"), (ratings.n_items, "items"))
    facts = [("learned from", ", ".join(pluralize(*one) for one in sizes))]
    if model.low_ < model.high_:
        span = f"{number(model.low_)} to {number(model.high_)}, {model.mean_:.2f} on average"
        facts.append(("ratings", span))
    facts.append(("predicts", "ratings" if model.predicts == "rating" else "scores"))
    lines, step = _losses(vars(model))
    facts += [(name, number(float(values[-1]))) for name, values, *_ in lines]
    view = ratings.by_item
    best = np.argsort(-view.sizes, kind="stable")[:_ITEMS]
    items = [
        (short(name, 60), pluralize(int(size), "ratings"))
        for name, size in zip(ratings.item_ids.values[best], view.sizes[best], strict=True)
    ]
    parts = [f'<div class="parts">{_table(facts)}{_curve(lines, step)}</div>']
    parts.append(f"<p>Most rated items</p>{_table(items)}")
    return _summary(parts)


def _losses(fitted: Mapping[str, Any]) -> tuple[list[Line], str]:
    """Return the losses that a recommender recorded, and the name of a step."""
    epochs = fitted.get("loss_history_")
    if epochs is not None and len(epochs):
        return [("loss", np.asarray(epochs), _BLUE, False)], "epoch"
    history = fitted.get("history_", {})
    kinds = (
        ("bound", _GRAY, True),
        ("train_error", _BLUE, False),
        ("train_rmse", _BLUE, False),
        ("validation_rmse", _ORANGE, False),
    )
    found = [
        (metric_title(name), np.asarray(history[name]), color, dashed)
        for name, color, dashed in kinds
        if name in history and len(history[name])
    ]
    return found, "boosting round"


def _summary(parts: Iterable[str]) -> str:
    return f'<div class="edgewise-model"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table><tbody>{''.join(cells)}</tbody></table>"


def _rule(rule: Any, opened: bool) -> str:
    """Return a rule; the branches of a tree can be opened."""
    head, *branches = escape(rule.text).split("\n")
    if not branches:
        return f"<li><pre>{head}</pre></li>"
    rest, attribute = "\n".join(branches), " open" if opened else ""
    return (
        f"<li><details{attribute}><summary>{head} (round {rule.round:,})</summary>"
        f"<pre>{rest}</pre></details></li>"
    )


class _Scale:
    """Places on the vertical axis: linear, or logarithmic above a strip for 0."""

    _strip = 12

    def __init__(self, lines: Sequence[Line]) -> None:
        # The bound keeps decreasing long after the losses stop.
        seen = np.concatenate([values for _, values, _, dashed in lines if not dashed])
        every = np.concatenate([values for _, values, *_ in lines])
        self.high = float(np.nanmax(every, initial=0.0)) or 1.0
        least = float(np.nanmin(seen[seen > 0], initial=self.high))
        self.is_log = least < self.high / _LOG_SPAN
        self.low = 10.0 ** math.floor(math.log10(max(least, self.high * 1e-6)))
        if not self.is_log:
            lowest = float(np.nanmin(every, initial=self.high))
            self.low = lowest if lowest > self.high / 2 else 0.0
        self.bottom = _HEIGHT - _BOTTOM

    def place(self, value: float) -> float:
        if not self.is_log:
            share = (value - self.low) / ((self.high - self.low) or 1.0)
            return self.bottom - (self.bottom - _TOP) * share
        if value < self.low:
            return self.bottom
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.bottom - self._strip - (self.bottom - self._strip - _TOP) * share

    def ticks(self) -> list[float]:
        if not self.is_log:
            return [self.low, self.high]
        first, last = round(math.log10(self.low)), math.floor(math.log10(self.high))
        every = max(1, math.ceil((last - first) / 4))
        decades = [10.0**power for power in range(last, first - 1, -every)]
        return [0.0, *decades, *([self.high] if self.high > 2 * decades[0] else [])]


def _curve(lines: Sequence[Line], step: str, kept: int = 0) -> str:
    """Return a picture of values by step, with its legend."""
    n = max((len(values) for _, values, *_ in lines), default=0)
    if n < 2:
        return ""
    at, scale = spaced(n, _MOST_POINTS), _Scale(lines)
    right, bottom = _WIDTH - 8, scale.bottom

    def x(place: float) -> float:
        return _LEFT + (right - _LEFT) * (place - 1) / (n - 1)

    drawn = []
    for _, values, color, dashed in lines:
        points = " ".join(
            f"{x(place + 1):.1f},{scale.place(float(values[place])):.1f}"
            for place in at.tolist()
            if place < len(values) and np.isfinite(values[place])
        )
        style = ' stroke-dasharray="5 3"' if dashed else ""
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8"{style}/>'
        )
    if 0 < kept < n:
        drawn.append(
            f'<line x1="{x(kept):.1f}" y1="{_TOP}" x2="{x(kept):.1f}" y2="{bottom}" '
            f'stroke="{_GRAY}" stroke-dasharray="2 3"/>'
        )
    ticks = "".join(
        f'<text x="{_LEFT - 6}" y="{scale.place(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>'
        for tick in scale.ticks()
    )
    axes = (
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="{_GRAY}"/>'
        f'<g fill="currentColor" font-size="11">{ticks}'
        f'<text x="{_LEFT}" y="{bottom + 14}" text-anchor="middle">1</text>'
        f'<text x="{right}" y="{bottom + 14}" text-anchor="end">{n:,}</text>'
        f'<text x="{(_LEFT + right) / 2}" y="{bottom + 28}" text-anchor="middle">{step}</text></g>'
    )
    told = ", ".join(f"{name} {number(float(values[-1]))}" for name, values, *_ in lines)
    legend = " ".join(
        f'<span style="white-space: nowrap"><span style="color: {color}">'
        f"{'╌╌' if dashed else '━━'}</span> {escape(name)}</span>"
        for name, _, color, dashed in lines
    )
    return (
        f'<div style="max-width: {_WIDTH}px"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" style="max-width: 100%" role="img" '
        f'aria-label="{escape(f"By {step}, at the end: {told}")}">{axes}{"".join(drawn)}</svg>'
        f"<div>{legend}</div></div>"
    )
