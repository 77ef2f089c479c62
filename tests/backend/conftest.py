"""The definitions that backends are held to, in plain loops, and both backends side by side."""

import math
from contextlib import closing, contextmanager
from itertools import product

import numpy as np
import pytest

from edgewise.backend.base import MISSING_AUTO
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

from ..helpers import all_signed, search


def all_cuts(values, thresholds, constant, absent):
    """Yield (first bin, missing side, phi of every row) of a column's cuts, first come first."""
    holed = any(math.isnan(value) for value in values)
    sides = ((1, -1) if absent == MISSING_AUTO else (absent,)) if holed else (1,)
    for first in range(len(thresholds) + 1):
        low = thresholds[first - 1] if first else -math.inf
        for side in sides:
            if constant or first > 0 or side < 1:
                phi = [side if math.isnan(x) else (1 if x >= low else -1) for x in values]
                yield first, side, phi


def best_cut(signed, values, thresholds, constant=True, scores=None, absent=MISSING_AUTO):
    """Return (edge, first bin, missing side, edges of the score columns) of the best cut.

    The edge is the sum over the score columns l of | sum over i of S[i, l] phi(x_i) |; of equal
    ones the first wins.
    """
    best = (-1, 0, 1, None)
    scores = range(len(signed[0])) if scores is None else scores
    for first, side, phi in all_cuts(values, thresholds, constant, absent):
        edges = [sum(row[k] * sign for row, sign in zip(signed, phi, strict=True)) for k in scores]
        size = sum(abs(edge) for edge in edges)
        if size > best[0]:
            best = (size, first, side, edges)
    return best


def best_cuts(problem, state, constant=True, scores=None, absent=MISSING_AUTO):
    """Return the best cut of each column."""
    signed = all_signed(state.whole).tolist()
    return [
        best_cut(signed, problem.X[:, j].tolist(), b.thresholds.tolist(), constant, scores, absent)
        for j, b in enumerate(problem.binned.bins)
    ]


# Every way to ask for candidates.
OPTIONS = [
    {"constant": constant, "absent": absent, **more}
    for constant, absent, more in product(
        (True, False), (MISSING_AUTO, -1, 0, 1), ({}, {"score_edges": True}, {"per_score": True})
    )
]


def assert_equal_candidates(a, b):
    for name in ("columns", "edges", "first", "missing", "score_edges"):
        ours, theirs = getattr(a, name), getattr(b, name)
        assert (ours is None) == (theirs is None), name
        assert ours is None or np.array_equal(ours, theirs), name


def assert_same_candidates(reference, compiled, problem, other, options=OPTIONS):
    """Search two problems with each option; other columns of the table are left out."""
    columns = reference.table.splittable
    for chosen in options:
        assert_equal_candidates(
            search(reference, columns, problem, **chosen),
            search(compiled, columns, other, **chosen),
        )


def assert_same_problem(a, b):
    """Compare what two problems sum, whatever stands in the rows that do not count."""
    assert a.signed.dtype == b.signed.dtype
    assert np.array_equal(all_signed(a), all_signed(b))
    assert np.array_equal(a.signed_totals, b.signed_totals)
    assert np.array_equal(a.signed_masses, b.signed_masses)
    # The sums are those of the rows that count.
    assert np.array_equal(a.signed_totals, all_signed(a).sum(axis=0))
    assert np.array_equal(a.signed_masses, np.abs(all_signed(a)).sum(axis=0))


@contextmanager
def both_backends(table, n_jobs=1):
    with closing(NumbaBackend(table, n_jobs)) as compiled:
        yield ReferenceBackend(table), compiled


@pytest.fixture(scope="session")
def brute_force():
    return best_cuts


@pytest.fixture(scope="session")
def equal_candidates():
    return assert_equal_candidates


@pytest.fixture(scope="session")
def same_candidates():
    return assert_same_candidates


@pytest.fixture(scope="session")
def same_problem():
    return assert_same_problem


@pytest.fixture(scope="session")
def both():
    return both_backends
