"""The decision stump: one threshold on one numeric column (Kégl 2014b, appendix C)."""

from dataclasses import dataclass, replace

import numpy as np

from edgewise.backend.base import MISSING_AUTO, Bounds
from edgewise.common.checks import flag, one_of
from edgewise.common.dtypes import Columns
from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, FoundRule, Round
from edgewise.model import EVERYWHERE, Cut, PerScore, Rule, Test

MISSING_SIDES = {"learn": MISSING_AUTO, "abstain": 0, "low": -1, "high": 1}
"""Where missing values go: the side of a cut, or MISSING_AUTO."""


@dataclass(eq=False, repr=False)
class Stump(ColumnLearner):
    """A decision stump: +1 where a column is at or above a threshold, -1 below.

    A column without missing values in training abstains (outputs 0) on missing values.

    Parameters
    ----------
    constant : bool, default True
        Whether the stump may be the constant classifier (a threshold of minus infinity), which
        outputs +1 everywhere and whose votes follow the weight of each class.
    missing : {"learn", "abstain", "low", "high"}, default "learn"
        Missing values go to the side with the larger edge; or the stump abstains on them (the
        three-leaf stump of Iyer 1999 section 3.3.1; columns are compared by edge, which ignores the
        weight of the rows it abstains on); or they always count as below, or above, every
        threshold, even in columns without any in training.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Stump
    >>> model = AdaBoostMH(Stump(constant=False), preset="paper", n_rounds=1)
    >>> model.fit([[1.0], [2.0], [3.0]], ["a", "b", "b"]).predict([[1.2], [2.9]])
    array(['a', 'b'], dtype='<U1')
    """

    kind = "numeric"
    makes_cuts = True
    allows_monotonic_cst = True

    constant: bool = True
    missing: str = "learn"

    def validate(self) -> None:
        flag("constant", self.constant)
        one_of("missing", self.missing, MISSING_SIDES)

    def find(self, round: Round) -> FoundRule | None:
        """Return the stump with the largest edge, or the lowest energy across columns."""
        columns = self._pull(round)
        if len(columns) == 0:
            return self._fallback(round)
        constant = self.constant and not round.compare.splits
        cuts = round.cuts(columns, constant, MISSING_SIDES[self.missing])
        self._learn(round, columns, cuts.edges)
        losses = round.losses(cuts.edges, cuts.score_edges)
        best = int(losses.argmin())
        if constant and self.missing in ("abstain", "low"):
            # Where every column has missing values, the constant is not among their cuts.
            constant_rule = find_constant(round)
            if constant_rule is not None and not losses[best] <= constant_rule.loss:
                return constant_rule
        if cuts.edges[best] <= 0:
            return None
        position = (int(columns[best]), int(cuts.first[best]), int(cuts.missing[best]))
        return FoundRule(
            self.cut(round.table, *position),
            int(cuts.edges[best]),
            float(losses[best]),
            None if cuts.score_edges is None else cuts.score_edges[best],
        )

    def find_per_score(self, round: Round) -> Rule | None:
        """Return the stump with the largest edge for each score column (Kégl 2014b remark 2)."""
        columns = self._pull(round)
        n_scores = round.problem.n_scores
        if len(columns) == 0:
            return PerScore((EVERYWHERE,) * n_scores) if self._fallback(round) else None
        question = round.question(columns, self.constant, MISSING_SIDES[self.missing])
        cuts_of_columns = round.backend.scan(
            round.backend.histogram(columns, round.problem),
            question._replace(
                criterion="score",
                score_edges=False,
                bounds=None if question.directions is None else Bounds.of(question.directions),
                directions=None,
            ),
        )
        self._learn(round, columns, cuts_of_columns.edges.sum(axis=1))
        best = cuts_of_columns.edges.argmax(axis=0)
        scores = np.arange(n_scores)
        edges = cuts_of_columns.edges[best, scores]
        is_constant = np.zeros(n_scores, dtype=bool)
        if self.constant and self.missing in ("abstain", "low"):
            is_constant = np.abs(round.problem.signed_totals) > edges
        if not (is_constant | (edges > 0)).any():
            return None
        positions = zip(
            columns[best].tolist(),
            cuts_of_columns.first[best, scores].tolist(),
            cuts_of_columns.missing[best, scores].tolist(),
            strict=True,
        )
        cuts = [self.cut(round.table, *position) for position in positions]
        return PerScore(
            tuple(
                EVERYWHERE if constant else cut
                for cut, constant in zip(cuts, is_constant, strict=True)
            )
        )

    def product_search(self) -> tuple[Columns, int] | None:
        # A stump is a product of one term. The backend searches all columns and the constant.
        plain = self.constant and self.missing == "learn" and self.searches_all
        return (self.columns_, 1) if plain and not self.search_.learns else None

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        columns = [j for j in self.columns_.tolist() if len(table.thresholds(j))]
        if not columns:
            return None
        j = columns[int(rng.integers(len(columns)))]
        first = 1 + int(rng.integers(len(table.thresholds(j))))
        return self.cut(table, j, first, 1 if self.missing == "learn" else 0)

    def cut(self, table: BinnedTable, j: int, first: int, missing: int) -> Cut:
        """Return the cut before a bin; a fixed side of missing values replaces `missing`."""
        cut = cut_at(table, j, first, missing)
        if self.missing == "learn" or cut is EVERYWHERE:
            return cut
        return replace(cut, missing=MISSING_SIDES[self.missing])

    def _fallback(self, round: Round) -> FoundRule | None:
        """Return the constant where no column can be cut."""
        return find_constant(round) if self.constant else None


def find_constant(round: Round) -> FoundRule | None:
    """Return the constant, or None if it has no edge or only splits count."""
    totals, edge = round.problem.signed_totals, round.problem.edge
    if edge <= 0 or round.compare.splits:
        return None
    loss = float(round.losses(np.array([edge]), totals[None])[0])
    return FoundRule(EVERYWHERE, edge, loss, totals)


def cut_at(table: BinnedTable, j: int, first: int, missing: int) -> Cut:
    """Return the cut before a bin as a real threshold; the constant is named as such.

    A column that had no missing values in training abstains on them.
    """
    if first == 0 and missing > 0:
        return EVERYWHERE
    threshold = float(table.thresholds(j)[first - 1]) if first > 0 else -np.inf
    return Cut(j, threshold, missing if table.bins[j].has_missing else 0)
