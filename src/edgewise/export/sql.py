"""A model as a SQL query: scores, predictions and probabilities beside every row of a table."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.export.formula import (
    Formula,
    PairRates,
    StepFunction,
    VotingTree,
    format_comments,
    within_limit,
)
from edgewise.model.rules import Cut, Subset, Test

# A sum is a tree of additions, and databases limit its depth: sums of this many are in brackets.
_GROUP = 100

# No exponential overflows or vanishes between these; some databases take either for an error.
_FARTHEST = 600

_LARGEST = float(np.finfo(np.float64).max)


def sql_query(formula: Formula, table: str | Sequence[str], max_size: int) -> str:
    """Return a query that adds scores and predictions to the rows of a table."""
    names = [table] if isinstance(table, str) else list(table)
    writer = _Writer(formula)
    # Computed columns come first: where a table has a column of the same name, most databases take
    # the first of the two, and others refuse the query.
    several = len(formula.classes) > 2 and not formula.multilabel
    # Each probability of several classes depends on all scores. A database that inlines the scores
    # computes them for each probability again, in time and memory quadratic in the classes.
    scored, notes = ("AS MATERIALIZED", _SEVERAL_NOTES) if several else ("AS", _NOTES)
    source = ".".join(map(quote, names))
    if formula.pairs:
        rates = ",\n".join([*writer.pair_rates(), "  d.*"])
        source = f"(\nSELECT\n{rates}\nFROM {source} AS d\n)"
        notes = (*notes, "The rates by two columns are columns of the result, too.")
    lines = [
        *format_comments("--", "", [f"{formula.title}, as SQL. Made by edgewise.", *notes, ""]),
        *format_comments("--", "The strongest rules:", formula.rules),
        *format_comments("--", "How the columns are made:", formula.derivation),
        f"WITH scored {scored} (\nSELECT\n" + ",\n".join([*writer.scores(), "  t.*"]),
        f"FROM {source} AS t\n)",
        "SELECT\n" + ",\n".join([*writer.predictions(), "  s.*"]),
        "FROM scored AS s;\n",
    ]
    return within_limit("\n".join(lines), max_size, "the query", formula)


_NOTES = ("NULL is a missing value, and so is a category that is not in the training data.",)
_SEVERAL_NOTES = (
    *_NOTES,
    "MATERIALIZED is for PostgreSQL, SQLite and DuckDB; remove it for other databases.",
)


class _Writer:
    """The expressions of a query."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        taken = {name.casefold() for name in formula.columns}

        def free(name: str) -> str:
            while name.casefold() in taken:
                name += "_"
            taken.add(name.casefold())
            return quote(name)

        self._name_of = {pair.column: free(pair.name) for pair in formula.pairs}
        classes = formula.classes
        if not classes or formula.is_binary:
            self.score_names = [free("predicted score")]
        else:
            self.score_names = [free(f"score of {label}") for label in classes]
        if classes:
            self.shares = [free(f"probability of {label}") for label in classes]
            labels = [f"has {label}" for label in classes] if formula.multilabel else ["prediction"]
            self.labels = [free(label) for label in labels]
            farthest = formula.link.scale * formula.reach + np.abs(formula.link.shifts).max()
            self.is_small = 2 * farthest < _FARTHEST

    # Scores

    def scores(self) -> list[str]:
        """Return one expression for each score column, with its name."""
        return [
            f"{self._sum([_number(bias), *self._terms(k)])} AS {name}"
            for k, (bias, name) in enumerate(
                zip(self.formula.bias.tolist(), self.score_names, strict=True)
            )
        ]

    def _sum(self, terms: list[str]) -> str:
        """Return a sum, one term per line."""
        while len(terms) > _GROUP:
            groups = [terms[at : at + _GROUP] for at in range(0, len(terms), _GROUP)]
            terms = [f"({_plus(group)}\n  )" for group in groups]
        return "  " + _plus(terms)

    def _terms(self, k: int) -> Iterator[str]:
        """Yield what each term of the model adds to a score column, where it adds anything."""
        formula = self.formula
        for steps in formula.steps:
            if steps.values[:, k].any() or steps.missing[k]:
                yield self._steps(steps, k)
        for levels in formula.levels:
            if levels.values[:, k].any():
                yield self._levels(levels.column, levels.values[:, k])
        for line in formula.lines:
            x = self._column(line.column)
            slope, missing = _number(line.slope[k]), _number(line.missing[k])
            yield f"CASE WHEN {x} IS NULL THEN {missing} ELSE {slope} * {x} END"
        for product in formula.products:
            if product.moves[k]:
                yield f"{_number(product.moves[k])} * {self._sign(product.test)}"
        for voting in formula.trees:
            if voting.leaves[:, k].any():
                yield self._tree(voting, voting.leaves[:, k])

    def _steps(self, steps: StepFunction, k: int) -> str:
        x, values = self._column(steps.column), steps.values[:, k].tolist()
        cases = [f"WHEN {x} IS NULL THEN {_number(steps.missing[k])}"]
        for threshold, value in zip(steps.thresholds.tolist(), values, strict=False):
            if threshold > -np.inf:
                cases.append(f"WHEN {_below(x, threshold)} THEN {_number(value)}")
        return _case("", [*cases, f"ELSE {_number(values[-1])}"])

    def _levels(self, j: int, values: Reals) -> str:
        last = float(values[-1])
        cases = [
            f"WHEN {_literal(category)} THEN {_number(value)}"
            for category, value in zip(self.formula.categories[j], values.tolist(), strict=False)
            if value != last
        ]
        if not cases:
            return _number(last)
        return _case(self._column(j), [*cases, f"ELSE {_number(last)}"])

    def _sign(self, test: Test) -> str:
        """Return a test as a number: -1, 0 or +1."""
        signs = []
        for factor in test.factors:
            cases = [f"WHEN {condition} THEN {sign}" for sign, condition in self._sides(factor)]
            signs.append(f"CASE {' '.join(cases)} ELSE -1 END" if cases else "-1")
        return " * ".join(signs) or "1"

    def _sides(self, factor: Cut | Subset) -> list[tuple[int, str]]:
        """Return when a factor is +1 and when it is 0; else it is -1."""
        x = self._column(factor.column)
        if isinstance(factor, Subset):
            conditions = [(sign, self._among(factor, sign)) for sign in (1, 0)]
            return [(sign, condition) for sign, condition in conditions if condition]
        above = _from(x, factor.threshold) if factor.threshold > -np.inf else f"{x} IS NOT NULL"
        if factor.missing > 0:
            return [(1, f"({above} OR {x} IS NULL)")]
        return [(1, above), *([(0, f"{x} IS NULL")] if factor.missing == 0 else [])]

    def _among(self, factor: Subset, sign: int) -> str:
        """Return the condition that a subset has a sign; empty where it never has."""
        x, categories = self._column(factor.column), self.formula.categories[factor.column]
        signs = factor.values.tolist()
        sides: dict[bool, list[str]] = {True: [], False: []}
        for category, side in zip(categories, signs, strict=False):
            sides[side == sign].append(_literal(category))
        inside, outside = ", ".join(sides[True]), ", ".join(sides[False])
        if signs[-1] != sign:
            return f"{x} IN ({inside})" if inside else ""
        return f"({x} IS NULL OR {x} NOT IN ({outside}))" if outside else "1 = 1"

    def _tree(self, part: VotingTree, leaves: Reals) -> str:
        """Return a tree as a flat list of cases.

        Cases are taken in order, and what follows on +1 comes before what follows on 0 and -1. So a
        leaf needs only the conditions of the nodes that it follows on +1 or 0.
        """
        nodes = part.tree.nodes
        cases: list[tuple[tuple[str, ...], float]] = []
        open_ends: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        while open_ends:
            node_index, conditions = open_ends.pop()
            node_index = part.tree.skip_constant_nodes(node_index)
            if node_index < 0:
                cases.append((conditions, float(leaves[-1 - node_index])))
                continue
            node = nodes[node_index]
            # The last to be pushed is the first to be written.
            open_ends.append((node.low, conditions))
            ends = {1: node.high, 0: node.abstain}
            for sign, condition in reversed(self._when(node.test)):
                open_ends.append((ends[sign], (*conditions, condition)))
        last = next(i for i, (conditions, _) in enumerate(cases) if not conditions)
        other = cases[last][1]
        while last and cases[last - 1][1] == other:
            last -= 1
        written = [
            f"WHEN {' AND '.join(conditions)} THEN {_number(value)}"
            for conditions, value in cases[:last]
        ]
        return _case("", [*written, f"ELSE {_number(other)}"]) if written else _number(other)

    def _when(self, test: Test) -> list[tuple[int, str]]:
        """Return when a test is +1 and when it is 0."""
        if len(test.factors) == 1:
            return self._sides(test.factors[0])
        sign = self._sign(test)
        zero = any(side == 0 for factor in test.factors for side, _ in self._sides(factor))
        return [(1, f"{sign} > 0"), *([(0, f"{sign} = 0")] if zero else [])]

    def _column(self, j: int) -> str:
        if j in self._name_of:
            return f"t.{self._name_of[j]}"
        name = f"t.{quote(self.formula.columns[j])}"
        if self.formula.infinite == "missing" and j not in self.formula.categories:
            return f"(CASE WHEN ABS({name}) <= {_LARGEST!r} THEN {name} END)"
        return name

    # Rates by two columns

    def pair_rates(self) -> list[str]:
        """Return the expressions of rates by two columns, with their names."""
        return [
            f"  {self._pair(pair)} AS {self._name_of[pair.column]}" for pair in self.formula.pairs
        ]

    def _pair(self, pair: PairRates) -> str:
        """Return a case for each category of the first column, with cases of the second.

        Values that training did not see are missing, unlike known ones in a new combination.
        """
        rates: dict[int, dict[int, str]] = {}
        *values, other = map(_number, pair.rates.tolist())
        for (first, second), rate in zip(pair.combinations.tolist(), values, strict=True):
            rates.setdefault(first, {})[second] = rate
        x, y = (f"d.{quote(self.formula.columns[j])}" for j in pair.sources)
        firsts, seconds = (
            [_literal(category) for category in self.formula.categories[j]] for j in pair.sources
        )
        missing = len(seconds)

        def by_second(rates: dict[int, str]) -> str:
            cases = [f"WHEN {seconds[c]} THEN {rate}" for c, rate in rates.items() if c < missing]
            return f"CASE {y} {' '.join(cases)} ELSE {other} END" if cases else other

        def by_first(expression: Callable[[dict[int, str]], str]) -> str:
            *known, otherwise = (expression(rates.get(c, {})) for c in range(len(firsts) + 1))
            cases = [f"WHEN {name} THEN {rate}" for name, rate in zip(firsts, known, strict=True)]
            return _case(x, [*cases, f"ELSE {otherwise}"])

        known = by_first(by_second)
        if not any(missing in by_code for by_code in rates.values()):
            return known
        is_missing = f"{y} IS NULL OR {y} NOT IN ({', '.join(seconds)})"
        absent = by_first(lambda rates: rates.get(missing, other))
        return f"CASE WHEN {is_missing} THEN {absent} ELSE {known} END"

    # Predictions

    def predictions(self) -> list[str]:
        """Return the expressions of predictions and probabilities, with their names."""
        classes, link = self.formula.classes, self.formula.link
        if not classes:
            return []
        scores = [f"s.{name}" for name in self.score_names]
        z = [
            f"({_number(link.scale)} * {score}{f' + {_number(shift)}' if shift else ''})"
            for score, shift in zip(scores, link.shifts.tolist(), strict=True)
        ]
        if self.formula.multilabel:
            labels = [f"CASE WHEN {score} > 0 THEN 1 ELSE 0 END" for score in scores]
            shares = [self._logistic(logit) for logit in z]
        elif self.formula.is_binary:
            low, high = map(_literal, classes)
            labels = [f"CASE WHEN {scores[0]} > 0 THEN {high} ELSE {low} END"]
            shares = [f"1.0E0 - {self._logistic(z[0])}", self._logistic(z[0])]
        else:
            labels = [_argmax(scores, [_literal(logit) for logit in classes])]
            shares = [self._share(z, k) for k in range(len(z))]
        named = chain(zip(labels, self.labels, strict=True), zip(shares, self.shares, strict=True))
        return [f"  {expression} AS {name}" for expression, name in named]

    def _share(self, z: list[str], k: int) -> str:
        if self.formula.link.kind == "softmax":
            others = [self._exponential(f"{logit} - {z[k]}") for j, logit in enumerate(z) if j != k]
            return f"1.0E0 / (1.0E0 + {' + '.join(others)})"
        return f"{self._logistic(z[k])} / ({' + '.join(map(self._logistic, z))})"

    def _logistic(self, z: str) -> str:
        return f"1.0E0 / (1.0E0 + {self._exponential(f'-{z}')})"

    def _exponential(self, z: str) -> str:
        """Return the exponential of an expression, kept in the range of numbers."""
        if self.is_small:
            return f"EXP({z})"
        return (
            f"EXP(CASE WHEN {z} > {_FARTHEST} THEN {_FARTHEST} "
            f"WHEN {z} < -{_FARTHEST} THEN -{_FARTHEST} ELSE {z} END)"
        )


def _case(operand: str, lines: list[str]) -> str:
    return "\n      ".join([f"CASE {operand}".rstrip(), *lines]) + " END"


def _plus(terms: list[str]) -> str:
    return "\n  + ".join(terms)


def _from(x: str, threshold: float) -> str:
    return f"{x} > {_LARGEST!r}" if threshold == np.inf else f"{x} >= {_number(threshold)}"


def _below(x: str, threshold: float) -> str:
    return f"{x} <= {_LARGEST!r}" if threshold == np.inf else f"{x} < {_number(threshold)}"


def _argmax(scores: list[str], names: list[str]) -> str:
    cases = []
    for k, score in enumerate(scores[:-1]):
        wins = " AND ".join(f"{score} >= {other}" for other in scores[k + 1 :])
        cases.append(f"WHEN {wins} THEN {names[k]}")
    return f"CASE {' '.join(cases)} ELSE {names[-1]} END"


def quote(name: str) -> str:
    """Return a name as an identifier."""
    _check_text(name)
    return '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    if isinstance(value, str):
        _check_text(value)
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if not isinstance(value, float):
        return str(value)
    if np.isinf(value):
        raise ValueError("SQL cannot hold an infinite category")
    return _number(value)


def _check_text(text: str) -> None:
    if "\0" in text or text.encode("utf-8", "ignore").decode() != text:
        raise ValueError(f"SQL cannot hold the name {text!r}")


def _number(value: float) -> str:
    """Return a number as an approximate literal, in brackets if it is negative."""
    text = repr(float(value))
    text = text.upper() if "e" in text else f"{text}E0"
    return f"({text})" if value < 0 else text
