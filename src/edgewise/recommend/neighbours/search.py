"""The nearest rows of a sparse matrix, and sums over them: in NumPy or compiled, on threads."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.choose import use_compiled
from edgewise.common.dtypes import ROW, Reals, Rows
from edgewise.recommend.neighbours import twins
from edgewise.recommend.neighbours.matrix import Criteria, Matrix, Nearest

# SciPy takes as long for a product of two entries as NumPy for so many entries of a plain array,
# and NumPy for the similarity of two rows or for a neighbour looked up.
_VISITS_A_PRODUCT, _VISITS_A_PAIR = 6, 20


# Once the compiled kernels are loaded, as after a large fit, they are worth so much less work.
_WHEN_LOADED = 100.0


def _worth_compiling(visits: float) -> bool:
    loaded = "edgewise.recommend.neighbours.compiled" in sys.modules
    return use_compiled(visits * _WHEN_LOADED if loaded else visits)


def nearest(
    matrix: Matrix, targets: NDArray[np.intp], criteria: Criteria, n_jobs: int = 1
) -> Nearest:
    """Return the most similar rows of some rows, in memory for n of them each."""
    share = len(targets) / max(1, matrix.n_rows)
    pairs = len(targets) * float(matrix.n_rows)
    visits = _VISITS_A_PRODUCT * share * matrix.visits + _VISITS_A_PAIR * pairs
    if not _worth_compiling(visits):
        return twins.nearest(matrix, targets, criteria)
    from edgewise.recommend.neighbours import compiled

    found = np.full((len(targets), criteria.n), -1, dtype=ROW)
    similarities = np.zeros((len(targets), criteria.n))

    def run(part: slice) -> None:
        compiled.nearest(
            matrix.starts, matrix.others, matrix.values,
            matrix.column_starts, matrix.column_others, matrix.column_values, matrix.norms,
            targets[part], float(criteria.shrinkage), criteria.min_support, criteria.limit,
            found[part], similarities[part],
        )  # fmt: skip

    spread(run, len(targets), n_jobs)
    return Nearest(found, similarities)


def averages(
    near: Nearest,
    starts: NDArray[np.int64],
    others: Rows,
    values: Reals,
    weights: Reals,
    targets: NDArray[np.intp],
    columns: NDArray[np.intp],
    k: int,
    n_jobs: int = 1,
) -> tuple[Reals, Reals]:
    """Return the sums over neighbours that predictions are made of; see `twins.averages`."""
    # By column: its values are looked up in a table of all rows, which is filled once for each.
    order = np.argsort(columns, kind="stable")
    ones, twos = targets[order], columns[order]
    totals, masses = np.empty(len(order)), np.empty(len(order))
    tables = float(len(near.others)) * np.count_nonzero(np.diff(twos, prepend=-1))
    if _worth_compiling(float(_VISITS_A_PAIR) * len(order) * near.others.shape[1] + tables):
        from edgewise.recommend.neighbours import compiled

        def run(part: slice) -> None:
            compiled.averages(
                near.others, near.similarities, starts, others, values, weights,
                ones[part], twos[part], k, totals[part], masses[part],
            )  # fmt: skip

        spread(run, len(order), n_jobs)
    else:
        totals, masses = twins.averages(near, starts, others, values, weights, ones, twos, k)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return totals[back], masses[back]


def spread(run: Callable[[slice], None], n: int, n_jobs: int) -> None:
    """Run over all of n places, in as many parts as keep some threads busy."""
    if n_jobs == 1 or n < 2:
        run(slice(0, n))
        return
    edges = np.linspace(0, n, min(n, 8 * n_jobs) + 1).astype(int).tolist()
    parts = [slice(low, high) for low, high in pairwise(edges)]
    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(run, parts))
