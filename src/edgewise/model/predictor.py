"""What a trained model needs to score rows: its terms, and how training read its columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.data import Aligned, Table
from edgewise.data.filters import Filters
from edgewise.model.feature_terms import FeatureTerms
from edgewise.model.rule_terms import RuleTerms
from edgewise.model.rules import Cut, Rule
from edgewise.model.tables import ScoreTables, collapse
from edgewise.model.terms import StumpTerms

Terms = StumpTerms | RuleTerms | FeatureTerms


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained model, ready to score rows.

    Attributes
    ----------
    terms : StumpTerms, RuleTerms or FeatureTerms
        The terms.
    n_columns : int
        The number of columns of the table; filters are numbered after them.
    categories : dict from int to tuple
        The values of each categorical column in training.
    filters : Filters or None
        Image filters.
    """

    terms: Terms
    n_columns: int
    categories: dict[int, tuple[object, ...]]
    filters: Filters | None = None

    @cached_property
    def tables(self) -> ScoreTables:
        """The terms that cut one numeric column, collapsed to one table for each column."""
        if isinstance(self.terms, StumpTerms):
            return collapse(self.terms)
        rules = [self.terms.rule(t) for t in range(len(self.terms))]
        single = [t for t, rule in enumerate(rules) if self._is_curve(rule)]
        if not single:
            return collapse(StumpTerms.empty(1, self.terms.n_scores))
        chosen = [rules[t] for t in single]
        alphas = self.terms.alphas[single].tolist()
        return collapse(StumpTerms.pack(chosen, alphas, self.terms.votes[single]))

    def _is_curve(self, rule: Rule) -> bool:
        return isinstance(rule, Cut) and rule.column < self.n_columns

    def scores(self, table: Table, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        parts = [self._part_scores(part, n_jobs) for part in table.parts()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _part_scores(self, table: Table, n_jobs: int) -> Reals:
        if isinstance(self.terms, StumpTerms):
            return self.tables.scores(table, n_jobs)
        return self.terms.scores(self.rows(table), n_jobs)

    def staged_scores(self, table: Table) -> Iterator[Reals]:
        """Yield the scores of every row, shape (K, n), after each term."""
        return self.terms.staged_scores(self.rows(table))

    def rows(self, table: Table) -> Aligned:
        """Return rows as training read its own."""
        rows = Aligned(table, self.categories, self.filters)
        rows.read(np.unique(self.terms.columns).tolist())
        return rows

    def importances(self, falls: Reals) -> Reals:
        """Return each column's share in the fall of the loss, shape (n_columns,).

        Parameters
        ----------
        falls : float64 array of shape (T,)
            How much the loss fell with each term. Within a term the tests share it equally; a
            filter's share goes to its pixels.
        """
        shares = np.zeros(self.n_columns)
        if isinstance(self.terms, StumpTerms):
            _share_cuts(self.terms, falls, shares)
        else:
            for t, fall in enumerate(falls.tolist()):
                used = [j for j in self.terms.rule(t).columns if j >= 0]
                for j in used:
                    self._share(j, fall / len(used), shares)
        total = shares.sum()
        return shares / total if total > 0 else shares

    def _share(self, j: int, fall: float, shares: Reals) -> None:
        if j < self.n_columns:
            shares[j] += fall
            return
        assert self.filters is not None
        pixels = self.filters.pixels(j - self.n_columns)
        shares[pixels] += fall / len(pixels)


def _share_cuts(terms: StumpTerms, falls: Reals, shares: Reals) -> None:
    sizes = np.abs(terms.votes) if terms.columns.shape[1] > 1 else np.ones((len(terms), 1))
    per_cut = falls[:, None] * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    used = terms.columns >= 0
    np.add.at(shares, terms.columns[used], per_cut[used])
