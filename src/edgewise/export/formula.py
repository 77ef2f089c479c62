"""A trained model in closed form, which all formats of export are written from.

The score of a row is a sum. All terms on a single column add up to one function of it: steps along
a number, a vote for each category, or a straight line. Products and trees stay as they are; equal
products are added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgewise.common.dtypes import Codes, Reals
from edgewise.common.text import pluralize
from edgewise.model.rules import (
    EVERYWHERE,
    Categories,
    Cut,
    Linear,
    PerScore,
    Scores,
    Subset,
    Test,
    TreeRule,
)
from edgewise.model.tables import collapse
from edgewise.model.terms import Terms
from edgewise.model.wording import Wording

# Every column has a name in a file.
_MOST_COLUMNS = 1_000_000

# The rules that an export lists in words.
_N_RULES = 10


class StepFunction(NamedTuple):
    """The contribution of a numeric column to each score, as a step function."""

    column: int
    thresholds: Reals  # (S,), ascending
    values: Reals  # (S + 1, K), below the first threshold, between thresholds, from the last on
    missing: Reals  # (K,)


class CategoryVotes(NamedTuple):
    """The contribution of each category; the last row is for missing and unseen values."""

    column: int
    values: Reals  # (C + 1, K)


class LinearTerm(NamedTuple):
    """The contribution per unit of a numeric column."""

    column: int
    slope: Reals  # (K,)
    missing: Reals  # (K,)


class SignedTest(NamedTuple):
    """A product of tests, -1, 0 or +1, times its coefficients."""

    test: Test
    moves: Reals  # (K,)


class VotingTree(NamedTuple):
    """A tree, and what each of its leaves adds."""

    tree: TreeRule
    leaves: Reals  # (L, K), outputs times coefficients


class PairRates(NamedTuple):
    """A numeric column: a rate for each combination of the categories of two columns."""

    column: int
    name: str
    sources: tuple[int, int]
    combinations: (
        Codes  # (C, 2), codes; one beyond the categories is for missing and unknown values
    )
    rates: Reals  # (C + 1,), the last for other combinations


class Link(NamedTuple):
    """How scores become probabilities: `kind` of ``scale * scores + shifts``.

    "softmax" and "logistic" are these functions; "share" is the logistic function of each class,
    divided by the sum over all of them; a ranker has "none".
    """

    kind: str
    scale: float
    shifts: Reals  # (K,)


@dataclass(frozen=True, eq=False)
class Formula:
    """A trained model in closed form, with all names that it needs."""

    title: str
    columns: list[str]
    categories: Categories
    infinite: str  # what infinite numbers are, as `handle_infinite`
    classes: list[Any]  # none for a ranker
    multilabel: bool
    link: Link
    bias: Reals  # (K,)
    steps: list[StepFunction]
    levels: list[CategoryVotes]
    lines: list[LinearTerm]
    products: list[SignedTest]
    trees: list[VotingTree]
    pairs: list[PairRates]  # the derived columns, numbered after the others
    wording: Wording
    rules: list[str]  # the strongest, in words
    derivation: list[str]  # how the columns are made of a table's, line by line

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return len(self.bias)

    @property
    def is_binary(self) -> bool:
        """Whether two classes share one score."""
        return len(self.classes) == 2 and not self.multilabel and self.n_scores == 1

    @property
    def used(self) -> list[int]:
        """The columns in use, ascending, and those that derived ones are made of."""
        tests = [term.test for term in self.products]
        tests += [node.test for term in self.trees for node in term.tree.nodes]
        single = [term.column for terms in (self.steps, self.levels, self.lines) for term in terms]
        used = {*single, *(j for test in tests for j in test.columns)}
        sources = {j for pair in self.pairs for j in pair.sources}
        return sorted({j for j in used if j < len(self.columns)} | sources)

    @property
    def reach(self) -> float:
        """The largest size that a score can have; infinite if a column adds its own value."""
        if self.lines:
            return np.inf
        largest = [self.bias[None]]
        largest += [np.vstack([term.values, term.missing]) for term in self.steps]
        largest += [term.values for term in self.levels]
        largest += [term.moves[None] for term in self.products]
        largest += [term.leaves for term in self.trees]
        return float(np.sum([np.abs(values).max(axis=0) for values in largest], axis=0).max())

    def name(self, j: int) -> str:
        """Return the name of a column, or of a derived one."""
        derived = {pair.column: pair.name for pair in self.pairs}
        return derived[j] if j in derived else self.columns[j]

    def is_text(self, j: int) -> bool:
        """Return whether a column holds categories that are strings."""
        return any(isinstance(value, str) for value in self.categories.get(j, ()))

    def describe(self, product: SignedTest) -> str:
        """Return a product in words."""
        return product.test.sentence(self.wording, product.moves)


def formula_of(model: Any) -> Formula:
    """Return a fitted classifier or ranker in closed form, with its strongest rules in words."""
    fitted = model.fitted_.in_subsets
    if fitted.filters is not None:
        raise ValueError(
            "a model of Haar filters cannot be exported: save it, and load it with "
            "edgewise.predictor, which needs NumPy alone"
        )
    if fitted.n_features > _MOST_COLUMNS:
        raise ValueError(
            f"models of up to {_MOST_COLUMNS:,} columns can be exported, this one has "
            f"{fitted.n_features:,}"
        )
    columns = [fitted.feature_name(j) for j in range(fitted.n_features)]
    classes = fitted.classes.tolist() if hasattr(fitted, "classes") else []
    wording = model._wording(fitted.feature_name, fitted.categories, model._score_names())
    terms: Terms = fitted.terms
    n_categories = {j: len(values) for j, values in fitted.categories.items()}
    return Formula(
        title=f"{type(model).__name__} of {pluralize(fitted.n_rounds, 'rounds')}",
        columns=columns,
        categories=fitted.categories,
        infinite=getattr(model, "handle_infinite", "raise"),
        classes=classes,
        multilabel=bool(classes) and fitted.multilabel,
        link=_link(fitted) if classes else Link("none", 1.0, np.zeros(terms.n_scores)),
        wording=wording,
        rules=list(dict.fromkeys(rule.text for rule in model.rules(_N_RULES))),
        derivation=_derivation(model),
        pairs=_pairs(fitted),
        **_collect_terms(terms, n_categories, model._score_offset),
    )


def _collect_terms(terms: Terms, n_categories: dict[int, int], offset: float) -> dict[str, Any]:
    nothing = np.zeros(terms.n_scores)
    cuts: list[tuple[Cut, Reals]] = []
    levels: dict[int, Reals] = {}
    lines: dict[int, LinearTerm] = {}
    products: dict[object, SignedTest] = {}
    trees: list[VotingTree] = []
    for rule, move in zip(terms.rules, terms.coefficients, strict=True):
        if isinstance(rule, Cut):
            cuts.append((rule, move))
        elif isinstance(rule, PerScore):
            cuts += zip(rule.cuts, np.diag(move), strict=True)
        elif isinstance(rule, (Subset, Scores)):
            j = rule.column
            votes = levels.setdefault(j, np.zeros((n_categories[j] + 1, terms.n_scores)))
            votes += rule.values[:, None] * move
        elif isinstance(rule, Linear):
            line = lines.get(rule.column, LinearTerm(rule.column, nothing, nothing))
            slope, missing = line.slope + move, line.missing + move * rule.fill
            lines[rule.column] = LinearTerm(rule.column, slope, missing)
        elif isinstance(rule, Test):
            known = products.get(rule.key, SignedTest(rule, nothing))
            products[rule.key] = SignedTest(rule, known.moves + move)
        elif isinstance(rule, TreeRule):
            leaves, root = rule.leaves * move, rule.skip_constant_nodes(0)
            if root >= 0:
                trees.append(VotingTree(rule, leaves))
            else:
                cuts.append((EVERYWHERE, leaves[-1 - root]))
        else:
            raise TypeError(f"a model of {type(rule).__name__} rules cannot be exported")
    votes = np.array([move for _, move in cuts]).reshape(-1, terms.n_scores)
    tables = collapse(Terms.pack([cut for cut, _ in cuts], np.ones(len(cuts)), votes, 1).stumps)
    steps = []
    for f, j in enumerate(tables.columns.tolist()):
        thresholds, values = tables.of_column(f)
        steps.append(StepFunction(j, thresholds, values[:-1], values[-1]))
    return {
        "bias": tables.bias + offset,
        "steps": steps,
        "levels": [CategoryVotes(j, levels[j]) for j in sorted(levels)],
        "lines": [lines[j] for j in sorted(lines)],
        "products": list(products.values()),
        "trees": trees,
    }


def _pairs(fitted: Any) -> list[PairRates]:
    """Return the rates by two columns that the terms test."""
    tested = np.unique(fitted.terms.columns[fitted.terms.columns >= fitted.n_features]).tolist()
    numbers = [(j, j - fitted.n_features) for j in tested]
    return [
        PairRates(
            j,
            fitted.feature_name(j),
            fitted.sources(j),
            fitted.rates.combinations_of(r),
            fitted.rates.table(r),
        )
        for j, r in numbers
    ]


def _link(fitted: Any) -> Link:
    """Return the link that :meth:`edgewise.AdaBoostMH.predict_proba` has."""
    width = fitted.terms.n_scores
    several = width > 1 and not fitted.multilabel
    if several and fitted.loss == "softmax":
        return Link("softmax", 1.0 / fitted.temperature, np.zeros(width))
    scale, shifts = 2.0 if fitted.loss == "exponential" else 1.0, -fitted.offsets
    if several and fitted.temperature == 1.0:
        return Link("share", scale, shifts)
    factor = ((width - 1) / width if several else 1.0) / fitted.temperature
    return Link("softmax" if several else "logistic", scale * factor, shifts * factor)


def _derivation(model: Any) -> list[str]:
    """Return what the columns hold, where they are made of others, line by line."""
    if hasattr(model, "list_names_"):
        return [
            "Each column is a ranked list: minus the position of a document, missing where the",
            "list does not return it.",
        ]
    schema = getattr(model, "schema_", None)
    lines = []
    for column in () if schema is None else schema.columns:
        if column.kind == "date":
            named = zip(column.features, column.parts, strict=True)
            lines += [f"{name}: {_DATES[part]} of the date {column.name}" for name, part in named]
        elif column.features:
            lines.append(f"{column.name}: {column.kind}")
    return lines


_DATES = {
    "year": "the year",
    "month": "the month, 1 to 12,",
    "weekday": "the weekday, 0 for Monday,",
    "hour": "the hour, 0 to 23,",
    "days": "the days from 1 January 1970 on, with fractions,",
}


# Text


def format_comments(sign: str, heading: str, texts: Sequence[str]) -> list[str]:
    """Return texts as lines of comments, safe for any content; none for no texts."""
    if not texts:
        return []
    lines = [line for text in texts for line in (text.splitlines() or [""])]
    if heading:
        lines = [heading, "", *(f"  {line}" for line in lines)]
    clean = ("".join(c if c.isprintable() else "?" for c in line) for line in lines)
    return [f"{sign} {line}".rstrip() for line in clean] + ([""] if heading else [])


def within_limit(text: str, max_size: int, name: str, formula: Formula) -> str:
    """Return the text, or raise if it is longer than `max_size` characters."""
    if len(text) > max_size:
        raise ValueError(
            f"{name} would have {len(text):,} characters, more than max_size={max_size:,}: export "
            f"{formula.title} to .onnx instead, train fewer rounds, or raise max_size"
        )
    return text
