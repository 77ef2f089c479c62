"""A model as a Python module that needs the standard library alone."""

from collections.abc import Iterator, Sequence
from pkgutil import get_data
from typing import Any

import numpy as np

from edgewise.export.formula import Formula, format_comments, within_limit
from edgewise.model.rules import Cut, Test

_DOC = '''"""{title}, as plain Python.

{calls}

A row is a dict, by the names of columns, or a list of all columns in order: see COLUMNS. None and
NaN are missing values, and so is a category that training did not know. Made by edgewise; needs the
standard library alone.
"""
'''

_CALLS_OF_CLASSES = """\
    predict(row)          the class
    predict_proba(row)    the probability of each class, in the order of CLASSES
    scores(row)           the score of each class; of two classes, one for the second"""

_CALLS_OF_LABELS = """\
    predict(row)          1 for each label that the row has, else 0, in the order of CLASSES
    predict_proba(row)    the probability of each label
    scores(row)           the score of each label"""

_CALLS_OF_RANKS = """\
    predict(row)    the score: larger ones are ranked higher within a query
    scores(row)     the same"""


def python_module(formula: Formula, max_size: int) -> str:
    """Return the source of a module with the functions ``predict`` and ``scores``.

    A classifier's has ``predict_proba`` too.
    """
    source = (get_data(__package__, "standalone.py") or b"").decode()
    head, functions = source.split("# functions\n\n\n")
    imports = head[head.index("import math") : head.index("# model")].rstrip()
    functions, classifier = functions.split("# classifier\n\n\n")
    calls = _CALLS_OF_CLASSES if formula.classes else _CALLS_OF_RANKS
    if formula.multilabel:
        calls = _CALLS_OF_LABELS
    lines = [
        _DOC.format(title=formula.title, calls=calls),
        *format_comments("#", "The strongest rules:", formula.rules),
        *format_comments("#", "How the columns are made:", formula.derivation),
        imports,
        "",
        *_constants(formula),
        "",
        "",
        functions.rstrip(),
        "",
        "",
        classifier.rstrip() if formula.classes else "predict = scores",
        "",
    ]
    return within_limit("\n".join(lines), max_size, "the Python module", formula)


def _constants(formula: Formula) -> Iterator[str]:
    """Yield the lines that assign the model's own values."""
    yield f"COLUMNS = {_literal(formula.columns, indent='    ', end='')}"
    categorical = [j for j in formula.used if j in formula.categories]
    yield f"USED = {tuple(formula.used)!r}"
    kinds = {j: "text" if formula.is_text(j) else "number" for j in categorical}
    yield f"CATEGORICAL = {kinds!r}"
    yield f"INFINITE = {formula.infinite!r}"
    yield f"MULTILABEL = {formula.multilabel!r}"
    if formula.classes:
        yield f"CLASSES = {tuple(formula.classes)!r}"
        kind, scale, shifts = formula.link
        yield "# Probabilities are this function of scale * scores + shifts."
        yield f"LINK = {(kind, float(scale), _tuple(shifts))!r}"
    yield f"BIAS = {_tuple(formula.bias)!r}"
    sources = sorted({j for pair in formula.pairs for j in pair.sources})
    if sources:
        yield "# The categories of training; others count as missing."
    yield f"KNOWN = { ({j: dict.fromkeys(formula.categories[j]) for j in sources})!r}"
    for name, about, entries in (
        ("PAIRS", _ABOUT_PAIRS, _pairs(formula)),
        ("STEPS", _ABOUT_STEPS, _steps(formula)),
        ("LEVELS", _ABOUT_LEVELS, _levels(formula)),
        ("LINES", _ABOUT_LINES, _lines(formula)),
        ("PRODUCTS", _ABOUT_PRODUCTS, _products(formula)),
        ("TREES", _ABOUT_TREES, _trees(formula)),
    ):
        lines = [line for comment, values in entries for line in _write_entry(comment, values)]
        yield ""
        if lines:
            yield from [*format_comments("#", "", about), f"{name} = (", *lines, ")"]
        else:
            yield f"{name} = ()"


_ABOUT_PAIRS = [
    "A column by the values of two others: its number, theirs, and its value for combinations that",
    "are not in the list, which follows.",
]
_ABOUT_STEPS = ["The contribution of a column where missing, and from each value on."]
_ABOUT_LEVELS = ["The contribution of a column where missing or unknown, and of each category."]
_ABOUT_LINES = ["The contribution of a column where missing, and per unit of its value."]
_ABOUT_PRODUCTS = [
    "Tests that are -1, 0 or +1, and what their product multiplies. A test has a column, a",
    "threshold (+1 from there on, -1 below) or categories, and its sign where it is missing.",
]
_ABOUT_TREES = [
    "Nodes: tests, and what follows on +1, -1 and 0, a node or -1 minus the number of a leaf.",
    "Then what each leaf adds.",
]

_Entries = Iterator[tuple[str, tuple[Any, ...]]]
"""Comments and values; lists and dicts among the values are written item by item."""


def _pairs(formula: Formula) -> _Entries:
    for pair in formula.pairs:
        values = [[*formula.categories[j], None] for j in pair.sources]
        names = [
            tuple(names[code] for names, code in zip(values, codes, strict=True))
            for codes in pair.combinations.tolist()
        ]
        *rates, other = pair.rates.tolist()
        yield pair.name, (pair.column, pair.sources, other, dict(zip(names, rates, strict=True)))


def _steps(formula: Formula) -> _Entries:
    for column, thresholds, values, missing in formula.steps:
        rows = zip([-np.inf, *thresholds.tolist()], map(_tuple, values), strict=True)
        yield formula.name(column), (column, _tuple(missing), [*rows])


def _levels(formula: Formula) -> _Entries:
    for column, values in formula.levels:
        *votes, missing = map(_tuple, values)
        by_category = dict(zip(formula.categories[column], votes, strict=True))
        yield formula.columns[column], (column, missing, by_category)


def _lines(formula: Formula) -> _Entries:
    for column, slope, missing in formula.lines:
        yield formula.columns[column], (column, _tuple(missing), _tuple(slope))


def _products(formula: Formula) -> _Entries:
    for product in formula.products:
        yield formula.describe(product), (_tests(formula, product.test), _tuple(product.moves))


def _trees(formula: Formula) -> _Entries:
    for number, voting in enumerate(formula.trees, start=1):
        nodes = [
            (_tests(formula, node.test), node.high, node.low, node.abstain)
            for node in voting.tree.nodes
        ]
        yield f"tree {number}", (nodes, [*map(_tuple, voting.leaves)])


def _tests(formula: Formula, test: Test) -> tuple[Any, ...]:
    """Return the factors of a test: column, threshold or signs of categories, sign if missing."""
    factors: list[tuple[Any, ...]] = []
    for factor in test.factors:
        if isinstance(factor, Cut):
            factors.append((factor.column, float(factor.threshold), factor.missing))
        else:
            *signs, missing = factor.values.tolist()
            by_category = dict(zip(formula.categories[factor.column], signs, strict=True))
            factors.append((factor.column, by_category, missing))
    return tuple(factors)


def _write_entry(comment: str, values: Sequence[Any]) -> Iterator[str]:
    for line in format_comments("#", "", [comment]):
        yield f"    {line}"
    yield f"    ({', '.join(map(_literal, values))}),"


def _literal(value: Any, indent: str = "        ", end: str = "    ") -> str:
    """Return a value as Python, lists and dicts with a line for each item."""
    if isinstance(value, dict):
        lines = [f"{indent}{key!r}: {item!r},\n" for key, item in value.items()]
        return f"{{\n{''.join(lines)}{end}}}"
    if isinstance(value, list):
        lines = [f"{indent}{item!r},\n" for item in value]
        return f"(\n{''.join(lines)}{end})"
    return repr(value)


def _tuple(votes: np.ndarray) -> tuple[float, ...]:
    return tuple(votes.tolist())
