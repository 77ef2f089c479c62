"""Haar filters: stumps on differences of rectangles of an image."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from edgewise.backend.base import MISSING_AUTO
from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import Columns, Exacts
from edgewise.data import BinnedTable
from edgewise.data.binned import dense_table
from edgewise.data.filters import HaarFilters
from edgewise.learners.base import ColumnLearner, FoundRule, Round
from edgewise.learners.stump import find_constant
from edgewise.model import EVERYWHERE, Cut, Test
from edgewise.search import Search

_MAX_BINS = 256

# HaarFilters computed at a time; an exhaustive search goes through all of them in turn.
_BLOCK = 128


@dataclass(eq=False, repr=False)
class Haar(ColumnLearner):
    """A threshold on the response of a Haar filter (Kégl and Busa-Fekete 2009a, footnote 5).

    A filter adds the pixels of some rectangles and subtracts the pixels of others: two or three
    stripes, or four fields like a checkerboard, at any place and of any size. Small images have
    some 10**5 filters, so ``search=Lazy(100)``, which tries 100 random ones, is the natural search.
    A search that learns chooses among scales (the kind of filter with the height and width of its
    fields) and tries one filter of each at a random place. Responses are computed on demand, with
    up to 256 evenly spaced thresholds, whatever `max_bins` is.

    Parameters
    ----------
    shape : tuple (rows, columns)
        The shape of the images; X holds their pixels row after row.
    smallest : int, default 1
        The minimum height and width of a rectangle, in pixels.
    constant : bool, default True
        Whether the constant classifier is among the rules.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from edgewise import AdaBoostMH, Haar, Lazy
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdaBoostMH(learner=Haar(shape=(8, 8)), search=Lazy(20), n_rounds=5, random_state=0)
    >>> len(model.fit(X, y).rules())
    5
    """

    kind = "numeric"

    shape: tuple[int, int]
    smallest: int = 1
    constant: bool = True

    def validate(self) -> None:
        flag("constant", self.constant)
        integer("smallest", self.smallest, 1)
        if not isinstance(self.shape, (tuple, list)) or len(self.shape) != 2:
            raise ValueError(f"shape must be a pair (rows, columns), got {self.shape!r}")
        _ = self.filters

    @property
    def filters(self) -> HaarFilters:
        """All filters on images of this shape."""
        rows, columns = (integer("shape", side, 1) for side in self.shape)
        return HaarFilters((rows, columns), self.smallest)

    def _columns(self, table: BinnedTable) -> Columns:
        rows, columns = self.shape
        if rows * columns != table.n_columns:
            raise ValueError(
                f"shape={self.shape!r} is {rows * columns} pixels, but X has {table.n_columns} "
                "columns"
            )
        return np.arange(len(self.filters))

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = super().ready(table, search, seed)
        n_filters = len(started.columns_)
        started.scales_ = None
        if search.learns and not search.searches_all(n_filters):
            started.scales_ = started.filters
            started.search_ = clone(search).start(np.arange(started.scales_.n_scales), seed)
        return started

    def find(self, round: Round) -> FoundRule | None:
        pulled = self.search_.pull()
        drawn = pulled if self.scales_ is None else self.scales_.draw(pulled, self.search_.rng_)
        numbers = self._add_current(round, drawn)
        self.count_searches(len(numbers))
        best = find_constant(round) if self.constant else None
        edges = np.empty(len(numbers), dtype=np.int64)
        for start in range(0, len(numbers), _BLOCK):
            block = slice(start, start + _BLOCK)
            candidate, edges[block] = self._find_in(round, numbers[block])
            if candidate is not None and (best is None or candidate.loss < best.loss):
                best = candidate
        self._learn(round, pulled, edges[np.searchsorted(numbers, drawn)])
        return best

    def _add_current(self, round: Round, drawn: Columns) -> Columns:
        """Return the filters drawn and the filter of the term being refitted, ascending."""
        if len(drawn) == len(self.columns_):
            return drawn
        current = np.array(round.extra_columns, dtype=np.intp) - round.table.n_columns
        return np.union1d(drawn, current[current >= 0])

    def _find_in(self, round: Round, numbers: Columns) -> tuple[FoundRule | None, Exacts]:
        """Return the best threshold on some filters, and the edge of each filter."""
        assert round.table.raw_rows is not None
        bins, codes = round.table.raw_rows.images.encode(numbers, _MAX_BINS)
        columns = np.arange(len(numbers))
        backend = round.backend.with_columns(dense_table(bins, codes))
        question = round.question(columns, False, MISSING_AUTO, backend)
        cuts = backend.scan(backend.histogram(columns, round.problem), question)
        losses = round.losses(cuts.edges, cuts.score_edges)
        best = int(losses.argmin())
        if cuts.edges[best] <= 0:
            return None, cuts.edges
        threshold = float(bins[best].thresholds[int(cuts.first[best]) - 1])
        rule = Cut(round.table.n_columns + int(numbers[best]), threshold, 0)
        score_edges = None if cuts.score_edges is None else cuts.score_edges[best]
        winner = FoundRule(rule, int(cuts.edges[best]), float(losses[best]), score_edges)
        return winner, cuts.edges

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        assert table.raw_rows is not None
        number = int(rng.integers(len(self.columns_)))
        (bins,), _ = table.raw_rows.images.encode([number], _MAX_BINS)
        if len(bins.thresholds) == 0:
            return EVERYWHERE
        threshold = float(bins.thresholds[int(rng.integers(len(bins.thresholds)))])
        return Cut(table.n_columns + number, threshold, 0)
