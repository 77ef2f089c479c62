"""Products of base functions (Kégl and Busa-Fekete 2009a, section 2.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgewise.common.checks import integer
from edgewise.common.dtypes import Columns
from edgewise.learners.base import FoundRule, Round, Wrapper
from edgewise.learners.stump import Stump
from edgewise.model import EVERYWHERE, ProductRule, Test

# Random starts before giving up: where no single rule has an edge, as on the corners of a cube, a
# product may still have one.
_RESCUES = 16


@dataclass(eq=False, repr=False)
class Product(Wrapper):
    """The product of several base functions: +1 where an even number of them is -1.

    All terms start at 1. Each in turn is refitted to virtual labels, the labels times the product
    of the other terms, until a step does not lower the energy (Kégl and Busa-Fekete 2009a figure
    3).

    Parameters
    ----------
    base : Learner, str or list, default "stump"
        The learner of the terms, or a list of learners; each step takes the best. "stump"
        is stumps for numeric columns and subset indicators for categorical ones.
    n_terms : int, default 2
        m, the number of terms.
    restarts : int, default 0
        Additional starts from random first terms; the best product wins. Random first terms are
        tried in any case if no base function has an edge by itself.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Product, Stump
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = AdaBoostMH(Product(Stump(), n_terms=2), preset="paper", n_rounds=1)
    >>> print(model.fit(X, y).rules()[0])
    +3.45 * (x0 >= 0.5) * (x1 >= 0.5) -> votes for same, against other
    """

    base: Any = "stump"
    n_terms: int = 2
    restarts: int = 0

    def validate(self) -> None:
        integer("n_terms", self.n_terms, 1)
        integer("restarts", self.restarts, 0)
        super().validate()

    def find(self, round: Round) -> FoundRule | None:
        best = self._climb(round, [])
        if self.n_terms == 1:
            return best
        for _ in range(self.restarts if best is not None else max(self.restarts, _RESCUES)):
            candidate = self._climb(round, self._first_terms(round))
            if candidate is not None and (best is None or candidate.loss < best.loss):
                best = candidate
        return best

    def _first_terms(self, round: Round) -> list[Test]:
        terms: list[Test] = []
        path = round.path
        for _ in range(self.n_terms - 1):
            rule = self.base_.draw(round.table, round.rng())
            if rule is not None and round.column_constraints.allow((*path, *rule.columns)):
                terms.append(rule)
                path = (*path, *rule.columns)
        return terms

    def _climb(self, round: Round, first: Sequence[Test]) -> FoundRule | None:
        """Refit the terms in turn while the energy decreases, starting from `first`."""
        terms: list[Test] = [*first, *[EVERYWHERE] * (self.n_terms - len(first))]
        best: FoundRule | None = None
        j = len(first)
        while True:
            # Searching the term's own column too keeps the edge from decreasing.
            term_columns = tuple(factor.column for factor in terms[j].factors)
            baseline = 0 if best is None else best.edge
            step = round._replace(extra_columns=term_columns, baseline=baseline)
            candidate = self._fit_term(step, terms[:j] + terms[j + 1 :])
            if candidate is None or (best is not None and candidate.loss >= best.loss):
                break
            assert isinstance(candidate.rule, Test)
            best = candidate
            terms[j] = candidate.rule
            if self.n_terms == 1:
                break
            j = (j + 1) % self.n_terms
        if best is None:
            return None
        return best._replace(rule=multiply_tests(terms))

    def _fit_term(self, round: Round, others: list[Test]) -> FoundRule | None:
        """Return the best term, given the others."""
        present = [term for term in others if term.factors]
        if not present:
            return self.base_.find(round)
        path = (*round.path, *(factor.column for term in present for factor in term.factors))
        return self.base_.find(round.on(round.backend.flip(round.problem, present), path=path))

    def product_search(self) -> tuple[Columns, int] | None:
        """Return the columns to search and the number of terms, if a backend may find products."""
        single = self.base_.product_search() if isinstance(self.base_, Stump) else None
        return None if single is None or self.restarts else (single[0], self.n_terms)

    @property
    def cost(self) -> int:
        return (self.n_terms + 2) * self._base().cost if self.n_terms > 1 else self._base().cost


def multiply_tests(terms: Sequence[Test]) -> Test:
    """Return the product of some tests; constants are left out."""
    # The order does not matter; this one is easier to read.
    factors = tuple(sorted((f for term in terms for f in term.factors), key=lambda f: f.column))
    if len(factors) == 1:
        return factors[0]
    return ProductRule(factors) if factors else EVERYWHERE
