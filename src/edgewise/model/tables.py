"""A model of stumps collapsed to one table for each column.

The sum of all stumps on a column is a step function of it, so prediction looks one row of one
table up for each column, however many rounds there were.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from edgewise.backend.choose import use_compiled
from edgewise.backend.reference.engine import score
from edgewise.common.dtypes import Columns, Reals
from edgewise.data import ArrayTable, Table
from edgewise.model.terms import StumpTerms

_ROWS_A_THREAD = 4096


@dataclass(frozen=True)
class ScoreTables:
    """One step function for each column that the model uses.

    Attributes
    ----------
    columns : intp array of shape (F,)
        The columns in use, ascending.
    starts : intp array of shape (F + 1,)
        The thresholds of column f are ``thresholds[starts[f]:starts[f + 1]]``.
    thresholds : float64 array
        Ascending within a column.
    tables : float64 array of shape (thresholds + 2 F, K)
        For each column the scores below the first threshold, between thresholds, above the last,
        and of a missing value.
    bias : float64 array of shape (K,)
        The sum of the constant terms.
    """

    columns: Columns
    starts: Columns
    thresholds: Reals
    tables: Reals
    bias: Reals

    def of(self, f: int) -> tuple[Reals, Reals]:
        """Return the thresholds and the table of the f-th column in use."""
        low, high = int(self.starts[f]), int(self.starts[f + 1])
        return self.thresholds[low:high], self.tables[low + 2 * f : high + 2 * f + 2]

    def scores(self, table: Table, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        out = np.tile(self.bias, (table.n_rows, 1))
        visits = 30.0 * table.n_rows * len(self.columns)
        if isinstance(table, ArrayTable) and use_compiled(visits) and self._uses_most(table):
            self._compiled_scores(table, out, n_jobs)
            return out
        for f, (j, column) in enumerate(table.chosen(self.columns.tolist())):
            score(table.with_numbers(j, column).reals(), *self.of(f), out)
        return out

    def _uses_most(self, table: ArrayTable) -> bool:
        """Return whether an array can be passed over as it is, without reading much in vain."""
        few = table.n_columns > 4 * len(self.columns)
        return not few and table.values.flags.c_contiguous and table.is_settled()

    def _compiled_scores(self, table: ArrayTable, out: Reals, n_jobs: int) -> None:
        from edgewise.backend.numba import score as compiled

        parts = max(1, min(n_jobs, table.n_rows // _ROWS_A_THREAD))
        bounds = np.linspace(0, table.n_rows, parts + 1).astype(int).tolist()
        values = np.ascontiguousarray(table.values)
        model = (self.columns, self.starts, self.thresholds, self.tables)

        def run(part: int) -> None:
            compiled.score(values, *model, bounds[part], bounds[part + 1], out)

        if parts == 1:
            run(0)
        else:
            with ThreadPoolExecutor(parts) as pool:
                list(pool.map(run, range(parts)))


def collapse(terms: StumpTerms) -> ScoreTables:
    """Return the sum of all terms as one table for each column.

    Examples
    --------
    >>> import numpy as np
    >>> terms = StumpTerms(
    ...     np.array([[0], [0]], np.int32), np.array([[2.0], [1.0]]), np.array([[1], [0]], np.int8),
    ...     np.array([0.5, 0.25]), np.ones((2, 1)),
    ... )
    >>> tables = collapse(terms)
    >>> tables.thresholds, tables.tables[:, 0]
    (array([1., 2.]), array([-0.75, -0.25,  0.75,  0.5 ]))
    """
    n_terms, n_cuts = terms.columns.shape
    n_scores = terms.n_scores
    # One entry for each (term, score column): a cut, its score column and its coefficient.
    spread = np.broadcast_to(np.arange(n_cuts), (n_terms, n_scores)) if n_cuts > 1 else 0
    row = np.repeat(np.arange(n_terms), n_scores)
    cut = np.broadcast_to(spread, (n_terms, n_scores)).ravel()
    k = np.tile(np.arange(n_scores), n_terms)
    column, threshold = terms.columns[row, cut], terms.thresholds[row, cut]
    missing = terms.missing[row, cut]
    coefficient = terms.coefficients.ravel()

    bias = np.zeros(n_scores)
    constant = column < 0
    np.add.at(bias, k[constant], coefficient[constant])
    order = np.argsort(column, kind="stable")
    used, first = np.unique(column[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    groups = [order[a:b] for j, a, b in zip(used, first, ends, strict=False) if j >= 0]
    starts, thresholds, tables = [0], [np.empty(0)], [np.empty((0, n_scores))]
    for mine in groups:
        cuts, place = np.unique(threshold[mine], return_inverse=True)
        # Extended precision keeps the running sums within the rounding of the final table.
        jumps = np.zeros((len(cuts) + 1, n_scores), dtype=np.longdouble)
        np.add.at(jumps, (place + 1, k[mine]), 2 * coefficient[mine].astype(np.longdouble))
        np.add.at(jumps[0], k[mine], -coefficient[mine].astype(np.longdouble))
        absent = np.zeros((1, n_scores), dtype=np.longdouble)
        np.add.at(absent[0], k[mine], missing[mine] * coefficient[mine].astype(np.longdouble))
        starts.append(starts[-1] + len(cuts))
        thresholds.append(cuts)
        tables.append(np.concatenate([np.cumsum(jumps, axis=0), absent]).astype(np.float64))
    return ScoreTables(
        used[used >= 0].astype(np.intp),
        np.array(starts, dtype=np.intp),
        np.concatenate(thresholds),
        np.ascontiguousarray(np.concatenate(tables)),
        bias,
    )
