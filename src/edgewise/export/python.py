"""A model as a Python module that needs the standard library alone."""

import math
from collections.abc import Iterable, Iterator
from pkgutil import get_data
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.export.formula import Formula
from edgewise.export.text import commented, within_limit
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
    source = get_data(__package__, "standalone.py")
    assert source is not None
    head, functions = source.decode().split("# functions\n\n\n")
    imports = head[head.index("import math") : head.index("# model")].rstrip()
    functions, classifier = functions.split("# classifier\n\n\n")
    calls = _CALLS_OF_RANKS if formula.classes is None else _CALLS_OF_CLASSES
    if formula.multilabel:
        calls = _CALLS_OF_LABELS
    lines = [
        _DOC.format(title=formula.title, calls=calls),
        *commented("#", "The strongest rules:", formula.rules),
        *commented("#", "How the columns are made:", formula.derivation),
        imports,
        "",
        *_values(formula),
        "",
        "",
        functions.rstrip(),
        "",
        "",
        "predict = scores" if formula.classes is None else classifier.rstrip(),
        "",
    ]
    return within_limit("\n".join(lines), max_size, "the Python module", formula)


def _values(formula: Formula) -> Iterator[str]:
    """Yield the lines of the model's own values."""
    yield "COLUMNS = ("
    for name in formula.columns:
        yield f"    {name!r},"
    yield ")"
    categorical = [j for j in formula.used if j in formula.categories]
    kinds = {j: "text" if formula.is_text(j) else "number" for j in categorical}
    yield f"USED = {_row(formula.used)}"
    yield f"CATEGORICAL = {kinds!r}"
    yield f"INFINITE = {formula.infinite!r}"
    yield f"MULTILABEL = {formula.multilabel!r}"
    if formula.classes is not None and formula.link is not None:
        yield f"CLASSES = {_row(formula.classes)}"
        kind, scale, shifts = formula.link
        yield "# Probabilities are this function of scale * scores + shifts."
        yield f"LINK = ({kind!r}, {_literal(float(scale))}, {_votes(shifts)})"
    yield f"BIAS = {_votes(formula.bias)}"
    for name, about, lines in (
        ("STEPS", _ABOUT_STEPS, _steps(formula)),
        ("LEVELS", _ABOUT_LEVELS, _levels(formula)),
        ("LINES", _ABOUT_LINES, _lines(formula)),
        ("PRODUCTS", _ABOUT_PRODUCTS, _products(formula)),
        ("TREES", _ABOUT_TREES, _trees(formula)),
    ):
        written = list(lines)
        yield ""
        if written:
            yield from commented("#", "", about)
            yield f"{name} = ("
            yield from written
            yield ")"
        else:
            yield f"{name} = ()"


_ABOUT_STEPS = ["What a column adds to the scores where it is missing, and from each value on."]
_ABOUT_LEVELS = ["What a column adds where it is missing or unknown, and for each category."]
_ABOUT_LINES = ["What a column adds where it is missing, and for each unit of its value."]
_ABOUT_PRODUCTS = [
    "Tests that are -1, 0 or +1, and what their product multiplies. A test has a column, a",
    "threshold (+1 from there on, -1 below) or categories, and its sign where it is missing.",
]
_ABOUT_TREES = [
    "Nodes: tests, and what follows on +1, -1 and 0, a node or -1 minus the number of a leaf.",
    "Then what each leaf adds.",
]


def _steps(formula: Formula) -> Iterator[str]:
    for steps in formula.steps:
        yield from _comment(formula.columns[steps.column])
        yield f"    ({steps.column}, {_votes(steps.missing)}, ("
        starts = [-np.inf, *steps.thresholds.tolist()]
        for start, votes in zip(starts, steps.values, strict=True):
            yield f"        ({_literal(start)}, {_votes(votes)}),"
        yield "    )),"


def _levels(formula: Formula) -> Iterator[str]:
    for levels in formula.levels:
        yield from _comment(formula.columns[levels.column])
        yield f"    ({levels.column}, {_votes(levels.values[-1])}, {{"
        categories = formula.categories[levels.column]
        for value, votes in zip(categories, levels.values, strict=False):
            yield f"        {_literal(value)}: {_votes(votes)},"
        yield "    }),"


def _lines(formula: Formula) -> Iterator[str]:
    for line in formula.lines:
        yield from _comment(formula.columns[line.column])
        yield f"    ({line.column}, {_votes(line.missing)}, {_votes(line.slope)}),"


def _products(formula: Formula) -> Iterator[str]:
    for product in formula.products:
        yield from _comment(formula.words(product))
        yield f"    ({_tests(formula, product.test)}, {_votes(product.moves)}),"


def _trees(formula: Formula) -> Iterator[str]:
    for voting in formula.trees:
        yield from _comment(formula.words(voting))
        yield "    (("
        for node in voting.tree.nodes:
            ends = f"{node.high}, {node.low}, {node.rest}"
            yield f"        ({_tests(formula, node.test)}, {ends}),"
        yield "    ), ("
        for leaf in voting.leaves:
            yield f"        {_votes(leaf)},"
        yield "    )),"


def _tests(formula: Formula, test: Test) -> str:
    """Return the factors of a test as a tuple."""
    factors = []
    for factor in test.factors:
        if isinstance(factor, Cut):
            inner = f"{_literal(float(factor.threshold))}, {factor.missing}"
        else:
            signs = factor.values.tolist()
            pairs = zip(formula.categories[factor.column], signs, strict=False)
            listed = ", ".join(f"{_literal(value)}: {sign}" for value, sign in pairs)
            inner = f"{{{listed}}}, {signs[-1]}"
        factors.append(f"({factor.column}, {inner})")
    return _joined(factors)


def _comment(text: str) -> Iterable[str]:
    return [f"    {line}" for line in commented("#", "", [text]) if line]


def _votes(votes: Reals) -> str:
    return _row(votes.tolist())


def _row(values: Iterable[Any]) -> str:
    return _joined([_literal(value) for value in values])


def _joined(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _literal(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(value)
