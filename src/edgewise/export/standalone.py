"""The functions of an exported Python module, which needs the standard library alone.

:mod:`edgewise.export.python` writes a model's own values in place of the empty ones here.
"""

import math
from bisect import bisect_right
from math import inf
from typing import Any

# model

COLUMNS: Any = ()
USED: Any = ()
CATEGORICAL: Any = {}
INFINITE: Any = "raise"
CLASSES: Any = ()
MULTILABEL: Any = False
LINK: Any = ("logistic", 1.0, (0.0,))
BIAS: Any = (0.0,)
KNOWN: Any = {}
PAIRS: Any = ()
STEPS: Any = ()
LEVELS: Any = ()
LINES: Any = ()
PRODUCTS: Any = ()
TREES: Any = ()

# functions


def scores(row: Any) -> Any:
    """Return the score of each class; one number for two classes or for a ranker."""
    x = _values(row)
    for column, sources, other, rates in PAIRS:
        combination = tuple(x[j] if x[j] in KNOWN[j] else None for j in sources)
        x[column] = rates.get(combination, other)
    total = list(BIAS)

    def add(votes: Any, times: float = 1) -> None:
        for k, vote in enumerate(votes):
            total[k] += vote * times

    for column, missing, steps in STEPS:
        value = x[column]
        if value is None:
            add(missing)
        else:
            add(steps[bisect_right(steps, value, key=lambda step: step[0]) - 1][1])
    for column, missing, levels in LEVELS:
        add(levels.get(x[column], missing))
    for column, missing, slope in LINES:
        value = x[column]
        if value is None:
            add(missing)
        else:
            add(slope, value)
    for tests, votes in PRODUCTS:
        add(votes, _sign(tests, x))
    for nodes, leaves in TREES:
        node = 0
        while node >= 0:
            tests, high, low, zero = nodes[node]
            sign = _sign(tests, x)
            node = high if sign > 0 else low if sign < 0 else zero
        add(leaves[-1 - node])
    return total if len(total) > 1 or MULTILABEL else total[0]


def _sign(tests: Any, x: dict[int, Any]) -> Any:
    """Return the product of some tests: each is -1, 0 or +1."""
    sign = 1
    for column, test, missing in tests:
        value = x[column]
        if isinstance(test, dict):
            sign *= test.get(value, missing)
        elif value is None:
            sign *= missing
        elif value < test:
            sign = -sign
    return sign


def _values(row: Any) -> dict[int, Any]:
    """Return the values of the columns in use, None where missing."""
    if not hasattr(row, "keys") and len(row) != len(COLUMNS):
        raise ValueError(f"row must have {len(COLUMNS)} values, got {len(row)}")
    values = {}
    for column in USED:
        name = COLUMNS[column]
        key = name if hasattr(row, "keys") else column
        try:
            value = row[key]
        except KeyError:
            raise ValueError(f"row has no column {name!r}") from None
        values[column] = _value(name, value, CATEGORICAL.get(column))
    return values


def _value(name: str, value: Any, kind: str | None) -> Any:
    if value is None or value != value:
        return None
    if kind == "text":
        is_whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if is_whole else str(value)
    number = float(value)
    if number != number:
        return None
    if abs(number) == inf and INFINITE != "value":
        if INFINITE == "raise":
            raise ValueError(f"row has an infinite value in column {name!r}")
        return None
    return number


# classifier


def predict(row: Any) -> Any:
    """Return the class of a row; of several labels, 1 for those that it has and 0 for others."""
    totals = scores(row)
    if MULTILABEL:
        return [int(score > 0) for score in totals]
    if not isinstance(totals, list):
        return CLASSES[totals > 0]
    return CLASSES[totals.index(max(totals))]


def predict_proba(row: Any) -> list[float]:
    """Return the probability of each class, or of each label."""
    totals = scores(row)
    kind, scale, shifts = LINK
    if not isinstance(totals, list):
        probability = _logistic(scale * totals + shifts[0])
        return [1.0 - probability, probability]
    z = [scale * score + shift for score, shift in zip(totals, shifts, strict=True)]
    if kind == "logistic":
        return [_logistic(logit) for logit in z]
    if kind == "share":
        # Logarithms of the logistic function: a row far from every class has probabilities too.
        z = [min(logit, 0.0) - math.log1p(math.exp(-abs(logit))) for logit in z]
    largest = max(z)
    shares = [math.exp(logit - largest) for logit in z]
    return [share / sum(shares) for share in shares]


def _logistic(z: float) -> float:
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    return math.exp(z) / (1.0 + math.exp(z))
