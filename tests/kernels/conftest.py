"""The definitions that kernels are held to, in plain loops."""

import math

import pytest

from edgewise.kernels.twins import unpacked


def all_cuts(values, thresholds, constant):
    """Yield (first bin, missing side, phi of every row) of a column's cuts, first come first."""
    sides = (1, -1) if any(math.isnan(value) for value in values) else (1,)
    for first in range(len(thresholds) + 1):
        low = thresholds[first - 1] if first else -math.inf
        for side in sides:
            if constant or first > 0 or side < 0:
                phi = [side if math.isnan(x) else (1 if x >= low else -1) for x in values]
                yield first, side, phi


def best_cut(signed, values, thresholds, constant=True, scores=None):
    """Return (edge, first bin, missing side, edges of the score columns) of the best cut.

    The edge is the sum over the score columns l of | sum over i of S[i, l] phi(x_i) |; of equal
    ones the first wins.
    """
    best = (-1, 0, 1, None)
    scores = range(len(signed[0])) if scores is None else scores
    for first, side, phi in all_cuts(values, thresholds, constant):
        edges = [sum(row[k] * sign for row, sign in zip(signed, phi, strict=True)) for k in scores]
        size = sum(abs(edge) for edge in edges)
        if size > best[0]:
            best = (size, first, side, edges)
    return best


def best_cuts(problem, state, constant=True, scores=None):
    """Return the best cut of each column."""
    signed = unpacked(state).tolist()
    return [
        best_cut(signed, problem.X[:, j].tolist(), b.thresholds.tolist(), constant, scores)
        for j, b in enumerate(problem.binned.bins)
    ]


@pytest.fixture(scope="session")
def brute_force():
    return best_cuts
