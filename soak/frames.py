"""Random data frames against a slow, plain account of what the answers should be."""

import contextlib
import math
import random
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH
from edgewise.model import Cut, ProductRule, Subset, TreeRule
from soak.driver import Part

EXAMPLES = 50

_FLOATS = st.floats(allow_infinity=False, width=64) | st.sampled_from(
    [0.0, -0.0, 5e-324, 1e308, -1e308, math.nan, 0.1, 0.1 + 2**-55]
)
_STRINGS = st.sampled_from(["", "a", "b", "A", "ä", " ", "nan", "None", "1", "a" * 40]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3
)
# How a column is made in each library, and how its plain values come.
_KINDS = {
    "float64": (_FLOATS, "float64", pl.Float64),
    "float32": (st.floats(allow_infinity=False, width=32), "float32", pl.Float32),
    "int64": (st.integers(-(2**53), 2**53), "int64", pl.Int64),
    "int8": (st.integers(-128, 127), "int8", pl.Int8),
    "uint16": (st.integers(0, 65535), "uint16", pl.UInt16),
    "bool": (st.booleans(), "bool", pl.Boolean),
    "Int32": (st.integers(-5, 5) | st.none(), "Int32", pl.Int32),
    "Float64": (st.floats(-10, 10) | st.none(), "Float64", pl.Float64),
    "boolean": (st.booleans() | st.none(), "boolean", pl.Boolean),
    "object": (_STRINGS | st.none(), "object", pl.String),
    "string": (_STRINGS | st.none(), "string", pl.String),
    "category": (_STRINGS | st.none(), "category", pl.Categorical),
}


@st.composite
def columns(draw: Any) -> dict[str, tuple[str, list[Any]]]:
    """Return columns by name: a kind and its values; few distinct ones, so that they repeat."""
    n_rows = draw(st.integers(2, 14))
    named_columns = {}
    for j in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(sorted(_KINDS)))
        values, _dtype, _ = _KINDS[kind]
        few = draw(st.lists(values, min_size=1, max_size=5))
        named_columns[f"c{j}"] = (
            kind,
            draw(st.lists(st.sampled_from(few), min_size=n_rows, max_size=n_rows)),
        )
    return named_columns


def pandas_frame(named: dict[str, tuple[str, list[Any]]]) -> pd.DataFrame:
    """Return the columns as pandas has them."""
    return pd.DataFrame(
        {name: pd.Series(values, dtype=_KINDS[kind][1]) for name, (kind, values) in named.items()}
    )


def polars_frame(named: dict[str, tuple[str, list[Any]]]) -> pl.DataFrame:
    """Return the columns as polars has them."""
    return pl.DataFrame(
        {
            name: pl.Series(values, dtype=_KINDS[kind][2], strict=False)
            for name, (kind, values) in named.items()
        }
    )


def plain(kind: str, values: list[Any]) -> list[Any]:
    """Return the values of a column as numbers or strings, None where missing."""
    if kind in ("object", "string", "category"):
        return values
    numbers = [None if value is None else float(value) for value in values]
    return [None if number is None or number != number else number for number in numbers]


def output(rule: Any, row: list[Any], categories: dict[int, tuple[Any, ...]]) -> Any:
    """Return what a rule says about a row, as the papers define it; a leaf may be a list."""
    if isinstance(rule, Cut):
        if rule.column < 0:
            return 1
        value = row[rule.column]
        return rule.missing if value is None else (1 if value >= rule.threshold else -1)
    if isinstance(rule, Subset):
        known = list(categories[rule.column])
        value = row[rule.column]
        code = known.index(value) if value in known else len(known)
        return int(rule.values[code])
    if isinstance(rule, ProductRule):
        return math.prod(output(factor, row, categories) for factor in rule.factors)
    assert isinstance(rule, TreeRule)
    at = 0
    while at >= 0:
        node = rule.nodes[at]
        side = output(node.test, row, categories)
        at = node.high if side > 0 else node.low if side < 0 else node.rest
    return rule.leaves[-1 - at]


def expected(model: AdaBoostMH, rows: list[list[Any]]) -> np.ndarray:
    """Return the scores of rows, term by term and row by row."""
    terms, categories = model.fitted_.terms, model.fitted_.categories
    moves = [(terms.rule(t), terms.coefficients[t]) for t in range(len(terms))]
    return np.array(
        [
            np.sum([move * output(rule, row, categories) for rule, move in moves], axis=0)
            if moves
            else np.zeros(terms.n_scores)
            for row in rows
        ]
    ).reshape(len(rows), -1)


def best_edge(columns_: list[list[Any]], labels: np.ndarray) -> float:
    """Return the largest edge of a stump under uniform weights, by trying every one.

    Missing values go to the better side, in columns that have some.
    """
    weights = labels / len(labels)
    best = abs(math.fsum(weights))
    for values in columns_:
        present = [value for value in values if value is not None]
        gone = math.fsum(w for w, value in zip(weights, values, strict=True) if value is None)
        for threshold in sorted(set(present)):
            sides = [
                w if value >= threshold else -w
                for w, value in zip(weights, values, strict=True)
                if value is not None
            ]
            best = max(best, abs(math.fsum(sides)) + abs(gone))
    return best


def check(named: dict[str, tuple[str, list[Any]]], learner: str) -> None:
    """Compare the answers for a frame with the plain account, and between libraries."""
    frame = pandas_frame(named)
    values = [plain(*column) for column in named.values()]
    rows = [list(row) for row in zip(*values, strict=True)]
    y = np.arange(len(rows)) % 2
    numeric = all(kind not in ("object", "string", "category") for kind, _ in named.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = learner if numeric or learner == "tree" else "tree"
        # The first edge of the paper's boosting is the largest under equal weights.
        preset = "paper" if chosen == "stump" else "auto"
        model = AdaBoostMH(chosen, n_rounds=4, preset=preset).fit(frame, y)
        scores = model.decision_function(frame).reshape(len(rows), -1)
        np.testing.assert_allclose(scores, expected(model, rows), rtol=1e-9, atol=1e-9)
        if chosen == "stump" and model.n_rounds_:
            edge = best_edge(values, np.where(y > 0, 1.0, -1.0))
            np.testing.assert_allclose(model.history_["edge"][0], edge, atol=1e-6)
        for other in (polars_frame(named), pa.Table.from_pandas(frame, preserve_index=False)):
            np.testing.assert_array_equal(model.decision_function(other).ravel(), scores.ravel())
        again = AdaBoostMH(chosen, n_rounds=4, preset=preset).fit(polars_frame(named), y)
        assert again.fitted_.terms.votes.tobytes() == model.fitted_.terms.votes.tobytes()
        with contextlib.suppress(ValueError):
            model.decision_function(frame.iloc[:0])
            raise AssertionError("a frame without rows is refused")


class Frames(Part):
    """Random frames of all types."""

    name = "frames"
    about = "random frames of all types, in three libraries, against a slow account of the answers"
    counted = "frames"
    wanted = 10_000
    share = 10.0
    seconds = 300.0
    gigabytes = 4.0

    def case(self, rng: random.Random) -> Counter[str]:
        """Try some frames."""

        @seed(rng.getrandbits(64))
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(columns(), st.sampled_from(["stump", "tree"]))
        def run(named: dict[str, tuple[str, list[Any]]], learner: str) -> None:
            check(named, learner)
            tried.append(1)

        tried: list[int] = []
        run()
        return Counter({"as expected": len(tried)})
