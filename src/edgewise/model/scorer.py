"""A trained model ready to predict, which files hold: terms, columns, scores and probabilities.

NumPy is all that it needs, so a model has the same probabilities wherever it predicts.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common import fields
from edgewise.common.checks import one_of
from edgewise.common.choices import LOSSES
from edgewise.common.dtypes import CATEGORY_CODE, Reals
from edgewise.common.ids import text_array
from edgewise.data import BinnedTable, RawRows, Table
from edgewise.data.filters import HaarFilters
from edgewise.data.partition import Partition
from edgewise.data.rates import CategoryRates
from edgewise.data.raw_rows import DerivedColumns
from edgewise.metrics.classification import predict_targets
from edgewise.model.forest import Forest
from edgewise.model.leaf_paths import Paths, unroll
from edgewise.model.rules import KINDS, Categories, Cut, Linear, Rule, Subset, require
from edgewise.model.tables import ScoreTables, collapse
from edgewise.model.terms import TERMS, Terms

CLASS_KINDS: Final = "iufbUO"
"""The kinds of arrays that class labels can be in."""

_MAX_FEATURES: Final = 20_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Scorer:
    """The terms of a trained model and the columns that they test, ready to score rows."""

    terms: Terms
    n_features: int
    feature_names: tuple[str, ...] | None = None
    categorical: tuple[int, ...] = ()  # the columns that the user declared so
    categories: Categories = field(default_factory=dict)
    filters: HaarFilters | None = None  # of images, numbered after the columns
    rates: CategoryRates | None = None  # of classes by category, numbered likewise

    @property
    def derived_columns(self) -> DerivedColumns | None:
        """The columns that are computed from those of a table, and numbered after them."""
        return self.filters or self.rates

    def feature_name(self, j: int) -> str:
        """Return the name of a column of the table, or of a derived one."""
        if j >= self.n_features and self.derived_columns is not None:
            return self.derived_columns.name(j - self.n_features)
        return f"x{j}" if self.feature_names is None else self.feature_names[j]

    # Scores

    def scores(self, table: Table, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        chunks = [self._score_chunk(chunk, n_jobs) for chunk in table.chunks()]
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)

    def _score_chunk(self, table: Table, n_jobs: int) -> Reals:
        if self.terms.has_tables:
            return self.tables.scores(table, n_jobs)
        if self.forest is not None:
            return self.forest.scores(RawRows(table, self.categories, self.derived_columns), n_jobs)
        scores = deque(self.staged_scores(table), maxlen=1).pop()
        return np.ascontiguousarray(scores.T)

    def staged_scores(self, table: Table) -> Iterator[Reals]:
        """Yield the scores of every row, shape (K, n), after each term."""
        rows = RawRows(table, self.categories, self.derived_columns)
        rows.read(np.unique(self.terms.columns).tolist())
        return self.terms.staged_scores(rows)

    @cached_property
    def tables(self) -> ScoreTables:
        """The terms that cut one numeric column, collapsed to one table for each column."""
        if self.terms.is_additive:
            return collapse(self.terms.stumps)
        cuts = [t for t, rule in enumerate(self.terms.rules) if self.is_curve(rule)]
        return collapse(self.terms.select(cuts).stumps)

    @cached_property
    def forest(self) -> Forest | None:
        """The terms as trees to walk through, if they can be."""
        return Forest.of(self.terms)

    # What explanations need

    @cached_property
    def paths_forest(self) -> Forest | None:
        """The terms as trees that share no nodes or leaves, if they can be."""
        forest = Forest.of(self.terms.split_scores())
        return None if forest is None else unroll(forest)

    def with_covers(
        self, rows: RawRows | BinnedTable, partition: Partition, n_jobs: int = 1
    ) -> Self:
        """Return the model with the number of training rows in each leaf, at all processes."""
        tests = self.in_subsets.tests_and_columns[0]
        forest = tests.paths_forest
        if forest is None:
            return self
        covers = partition.sum(forest.count_rows(rows, n_jobs))
        sizes = np.zeros(len(self.terms), dtype=np.int64)
        bounds = np.concatenate([[0], np.cumsum(tests.terms.n_split)])
        sizes[self.terms.kinds != KINDS.index(Linear)] = np.diff(forest.leaf_starts[bounds])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return replace(self, terms=replace(self.terms, covers=covers, cover_starts=starts))

    @property
    def has_covers(self) -> bool:
        """Whether the number of training rows in each leaf of `paths_forest` is known."""
        forest = self.paths_forest
        return forest is not None and len(self.terms.covers) == len(forest.leaves)

    @cached_property
    def paths(self) -> Paths:
        """The paths of `paths_forest`, with the shares of training rows where they are known."""
        assert self.paths_forest is not None
        return Paths.of(self.paths_forest, self.terms.covers if self.has_covers else None)

    def is_curve(self, rule: Rule) -> bool:
        """Return whether a rule cuts one numeric column, or none."""
        return isinstance(rule, Cut) and rule.column < self.n_features

    @cached_property
    def tests_and_columns(self) -> tuple["Scorer", dict[Linear, Reals]]:
        """The model without its rules that are columns, and these with their coefficients.

        The coefficients of equal rules, of shape (K,), are added up.
        """
        terms, linear = self.terms, dict[Linear, Reals]()
        is_linear = terms.kinds == KINDS.index(Linear)
        if not is_linear.any():
            return self, {}
        for t in np.flatnonzero(is_linear).tolist():
            rule, moves = terms.rule(t), terms.coefficients[t]
            assert isinstance(rule, Linear)
            linear[rule] = linear.get(rule, np.zeros(len(moves))) + moves
        tests = np.flatnonzero(~is_linear).tolist()
        n_cuts = int(all(self.is_curve(terms.rule(t)) for t in tests))
        scorer = Scorer(
            terms=self.terms.select(tests, n_cuts),
            n_features=self.n_features,
            categories=self.categories,
            filters=self.filters,
            rates=self.rates,
        )
        return scorer, linear

    @cached_property
    def in_subsets(self) -> Self:
        """The same model with subsets of categories: see `with_subsets`."""
        return self.with_subsets()

    def with_subsets(self, max_categories: float = np.inf) -> Self:
        """Return the same model with subsets of categories for cuts of the rates of one column.

        Rates by two columns stay, and those of more than `max_categories`.
        """
        rates = self.rates
        if rates is None:
            return self

        subsets, n_kept = {}, 0
        for f in np.flatnonzero(self.terms.columns >= self.n_features).tolist():
            r = int(self.terms.columns[f]) - self.n_features
            sources = rates.sources(r)
            if len(sources) > 1 or len(self.categories[int(sources[0])]) > max_categories:
                n_kept += 1
                continue
            signs = np.where(rates.table(r) >= self.terms.thresholds[f], 1, -1).astype(np.int8)
            subsets[f] = Subset(int(sources[0]), signs)
        kept = rates if n_kept else None
        return replace(self, terms=self.terms.with_subsets(subsets), rates=kept)

    def sources(self, j: int) -> tuple[int, ...]:
        """Return the columns of the table that rates are made of; other columns are their own."""
        if self.rates is None or j < self.n_features:
            return (j,)
        return tuple(self.rates.sources(j - self.n_features).tolist())

    @property
    def slopes(self) -> Reals:
        """The change of the scores per unit of each column, by rules that are the column itself."""
        slopes = np.zeros((self.n_features, self.terms.n_scores))
        for rule, moves in self.tests_and_columns[1].items():
            slopes[rule.column] += moves
        return slopes

    def importances(self, decreases: Reals) -> Reals:
        """Return each column's share in the decrease of the loss, given the decrease by each term.

        The share of a derived column goes to those that it is made of.
        """
        columns, shares = self.terms.columns, self.terms.shares(decreases)
        importances = np.zeros(self.n_features)
        direct = columns < self.n_features
        np.add.at(importances, columns[direct], shares[direct])
        for j, share in zip(columns[~direct].tolist(), shares[~direct].tolist(), strict=True):
            assert self.derived_columns is not None
            sources = self.derived_columns.sources(j - self.n_features)
            importances[sources] += share / len(sources)
        total = importances.sum()
        return importances / total if total > 0 else importances

    def check(self) -> None:
        """Raise unless the attributes match each other; a file may hold anything."""
        n_features, names, filters = self.n_features, self.feature_names, self.filters
        check_n_features(n_features)
        is_named = names is None or len(names) == n_features
        require(is_named, "feature names do not match the number of features")
        are_columns = all(column < n_features for column in self.categories)
        require(are_columns, "the categories name a column that does not exist")
        fits = filters is None or filters.shape[0] * filters.shape[1] == n_features
        require(fits, "the image filters do not match the number of features")
        fits = self.rates is None or self.rates.fits(self.categories)
        require(fits, "the rates do not match the categories")
        require(not (self.filters and self.rates), "a model has either filters or rates")
        n_derived = 0 if self.derived_columns is None else len(self.derived_columns)
        self.terms.check(n_features, n_derived, self.categories)
        require(np.isfinite(self.terms.total_vote), "the coefficients are too large")


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassScorer(Scorer):
    """A trained classifier, ready to predict."""

    classes: NDArray  # the label names of a multi-label problem
    multilabel: bool
    offsets: Reals  # the log-odds that the initial weights add to each score column
    loss: str

    @property
    def temperature(self) -> float:
        """The number that the log-odds of probabilities are divided by."""
        return 1.0

    def decisions(self, scores: Reals) -> Reals:
        """Return scores of shape (n, K) in the shape of a decision function."""
        return scores[:, 0] if scores.shape[1] == 1 and not self.multilabel else scores

    def predictions(self, scores: Reals) -> NDArray:
        """Return the classes of scores, or the 0/1 matrix of labels."""
        codes = predict_targets(scores, self.multilabel)
        return codes if self.multilabel else self.classes[codes]

    @property
    def normalizes(self) -> bool:
        """Whether the probabilities of classes are logistic functions, divided by their sum.

        Else classes have the softmax of their log-odds.
        """
        several = self.terms.n_scores > 1 and not self.multilabel
        return several and self.loss != "softmax" and self.temperature == 1.0

    @property
    def log_odds_scale(self) -> float:
        """The change of the log-odds per unit of the score."""
        unit, zeros = np.ones((1, self.terms.n_scores)), np.zeros_like(self.offsets)
        if self.normalizes:
            return 2.0 if self.loss == "exponential" else 1.0
        return float(log_odds(unit, zeros, self.multilabel, self.loss)[0, 0]) / self.temperature

    def log_odds(self, scores: Reals) -> Reals:
        """Return the log-odds, shape (n, K), that probabilities are computed from."""
        if self.normalizes:
            return self.log_odds_scale * scores - self.offsets
        return log_odds(scores, self.offsets, self.multilabel, self.loss) / self.temperature

    def probabilities(self, scores: Reals) -> Reals:
        """Return the probabilities of scores, of shape (n, classes)."""
        return probabilities(scores, self.offsets, self.multilabel, self.loss, self.temperature)

    def check(self) -> None:
        """Raise unless the attributes match each other."""
        super().check()
        expected = n_scores(len(self.classes), self.multilabel)
        require(self.terms.n_scores == expected, "the votes do not match the classes")


@dataclass(frozen=True, eq=False, kw_only=True)
class RankScorer(Scorer):
    """A trained ranker, ready to predict."""

    @cached_property
    def score_offsets(self) -> Reals:
        """The offset, after each number of rounds, from rules of -1 and +1 to rules of 0 and 1."""
        moves = self.terms.coefficients[:, 0]
        return np.concatenate(([0.0], np.cumsum(np.where(self.terms.real, 0.0, moves))))

    def check(self) -> None:
        """Raise unless the attributes match each other."""
        super().check()
        require(self.terms.n_scores == 1, "a ranker has one score")


def check_n_features(n_features: int) -> None:
    """Raise if there are more columns than a model can have."""
    if n_features > _MAX_FEATURES:
        raise ValueError(f"X has {n_features:,} features, a model at most {_MAX_FEATURES:,}")


def n_scores(n_classes: int, multilabel: bool) -> int:
    """Return the number of score columns: two classes share one."""
    return 1 if n_classes == 2 and not multilabel else n_classes


# Links


def log_odds(scores: Reals, offsets: Reals, multilabel: bool, loss: str) -> Reals:
    """Return the log-odds whose softmax, or logistic function, are probabilities.

    Labels and two classes have the logistic function of each column. Two classes with a column each
    would have log-odds z and -z, which are 2z apart: hence the factor (K - 1) / K of several.
    """
    n_scores = scores.shape[1]
    several = n_scores > 1 and not multilabel
    if loss == "softmax" and several:
        return scores
    z: Reals = (2.0 if loss == "exponential" else 1.0) * scores - offsets
    return z * ((n_scores - 1) / n_scores) if several else z


def probabilities(
    scores: Reals,
    offsets: Reals,
    multilabel: bool,
    loss: str = "exponential",
    temperature: float = 1.0,
) -> Reals:
    """Return probabilities for scores of shape (n, K).

    `offsets` are the log-odds that the initial weights add to each column; the log-odds without
    them are divided by the temperature. Classes sum to 1, labels do not. Several classes have the
    softmax of the log-odds, but with a loss other than softmax and a temperature of 1 the logistic
    functions of the columns, normalized (Iyer 1999, eq. 3.6).

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([[0.0], [1.0]]), np.zeros(1), False).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """
    several = scores.shape[1] > 1 and not multilabel
    normalizes = several and loss != "softmax" and temperature == 1.0
    z = (2.0 if loss == "exponential" else 1.0) * scores - offsets
    if not normalizes:
        z = log_odds(scores, offsets, multilabel, loss) / temperature
    shares = probabilities_of_log_odds(z, multilabel, normalizes)
    return shares if several or multilabel else np.hstack([1 - shares, shares])


def probabilities_of_log_odds(z: Reals, multilabel: bool, normalizes: bool) -> Reals:
    """Return the probabilities of log-odds of shape (n, K), of the second of two classes.

    If it `normalizes`, several classes have logistic functions divided by their sum.
    """
    if multilabel or z.shape[1] == 1:
        return _logistic(z)
    if not normalizes:
        return _softmax(z)
    # In logarithms, so that rows far from every class still have probabilities.
    return _softmax(np.minimum(z, 0.0) - np.log1p(np.exp(-np.abs(z))))


def _logistic(z: Reals) -> Reals:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-z))


def _softmax(z: Reals) -> Reals:
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


# Fields of files


class _ClassLabels(fields.Field):
    """Class labels of any type that JSON can hold."""

    def pack(self, value: NDArray, name: str, arrays: fields.Arrays) -> fields.Json:
        return {"dtype": value.dtype.str, "values": value.tolist()}

    def unpack(
        self, saved: fields.Json, name: str, arrays: fields.Arrays, sizes: fields.Sizes
    ) -> NDArray:
        dtype, values = np.dtype(str(saved["dtype"])), saved["values"]
        is_small = dtype.kind not in "iuf" or dtype.itemsize <= 8
        is_known = dtype.kind in CLASS_KINDS and is_small
        require(is_known, f"classes of type {dtype} are not allowed")
        are_several = isinstance(values, list) and len(values) >= 2
        require(are_several, "a classifier needs at least two classes")
        are_plain = all(isinstance(value, (str, int, float, bool)) for value in values)
        require(are_plain, "classes must be numbers or strings")
        require(len({*values}) == len(values), "classes must all be different")
        if dtype.kind == "U":
            return text_array("classes", [str(value) for value in values])
        classes = np.array(values, dtype=dtype)
        require(classes.tolist() == values, f"classes do not fit their type, {dtype}")
        return classes


def _category(value: object) -> object:
    if not isinstance(value, (str, float)):
        raise TypeError(f"a category must be a string or a number, got {value!r}")
    return value


def _filters_from(saved: list[int]) -> HaarFilters:
    rows, columns, smallest = saved
    return HaarFilters((rows, columns), smallest)


SCORING: Final[dict[str, fields.Field]] = {
    "terms": TERMS,
    "n_features": fields.Count(),
    "feature_names": fields.OrNone(fields.Converted(fields.ListOf(fields.Value(str)), list, tuple)),
    "categorical": fields.Converted(fields.ListOf(fields.Count()), list, tuple),
    "categories": fields.DictOf(
        fields.Converted(fields.ListOf(fields.Plain(_category)), list, tuple), int
    ),
    "filters": fields.OrNone(
        fields.Converted(
            fields.ListOf(fields.Count()), lambda f: [*f.shape, f.smallest], _filters_from
        )
    ),
    "rates": fields.OrNone(
        fields.Record(
            {
                "columns": fields.Array("rates 2", np.intp),
                "names": fields.Converted(fields.ListOf(fields.Value(str)), list, tuple),
                "starts": fields.Array("*", np.intp),
                "rates": fields.Array("*", np.float64),
                "combination_starts": fields.Array("*", np.intp),
                "combinations": fields.Array("* 2", CATEGORY_CODE),
            },
            CategoryRates,
        )
    ),
}
"""The fields of a scorer."""

SCORING_CLASSES: Final[dict[str, fields.Field]] = {
    **SCORING,
    "classes": _ClassLabels(),
    "multilabel": fields.Value(bool),
    "offsets": fields.Array("scores", np.float64),
    "loss": fields.Value(str, lambda loss: one_of("loss", loss, LOSSES)),
}
"""The fields of a scorer of classes."""
