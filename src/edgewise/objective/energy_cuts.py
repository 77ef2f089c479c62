"""The search for cuts by the energy itself (Iyer 1999, the second method)."""

from typing import Any

import numpy as np

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import LEARN, Backend, Bounds, Candidates, Question
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.objective.feedback import SIDE_SCALE, Feedback, Sides

# Decreases of the energy are compared as integers at this scale: rounding decides no ties.
_DECREASE_SCALE = 2.0**40


def best_cuts(
    backend: Backend, feedback: Feedback, weights: Any, columns: Columns, question: Question
) -> Candidates:
    """Return the cut of each column with the least Z = W0 + 2 sqrt(W- W+).

    In place of an edge a candidate has the decrease of the energy, 1 - Z, in fixed point. `weights`
    are the pairs' as `Feedback.integers` gives them; the question's bounds say which signs the
    steps may have.
    """
    table, bounds, absent = backend.table, question.bounds, question.missing
    if question.criterion != "edge" or question.score_edges or question.masses is not None:
        raise ValueError("criterion='energy' compares single cuts by their energy alone")

    def search(q: int) -> tuple[int, int, int]:
        j = int(columns[q])
        bins = table.bins[j]
        n_values = bins.missing_code
        codes = table.codes(j)[feedback.rows].astype(np.int64)
        sides = (1, -1) if absent == LEARN else (absent,)
        best = (-1, 0, 1)
        for side in sides if bins.has_missing else (1,):
            placed = codes
            if bins.has_missing and side < 0:
                placed = np.where(codes == n_values, -1, codes)
            found = feedback.cut_sides(weights, placed, n_values)
            direction = 0 if bounds is None else int(bounds.directions[q])
            decreases = _decreases(found, direction, _odds(bounds, q, side, n_values))
            if side == 1 and not question.constant:
                decreases[0] = -1
            first = int(decreases.argmax())
            # Ties go to the lowest threshold, then to missing values on the positive side.
            if (decreases[first], -first) > (best[0], -best[1]):
                best = (int(decreases[first]), first, side)
        return best

    found = backend.spread(search, range(len(columns)))
    edges, firsts, missing = (list(part) for part in zip(*found, strict=True))
    return Candidates(
        columns,
        np.array(edges, dtype=np.int64),
        np.array(firsts, dtype=np.intp),
        np.array(missing, dtype=np.int8),
    )


def _odds(bounds: Bounds | None, q: int, side: int, n_values: int) -> Reals | None:
    """Return how large the odds against a column's direction may be at each of its cuts.

    A step is half the logarithm of the odds. The bounds are made for steps by |r|, whose odds are
    (1 + r) / (1 - r).
    """
    if bounds is None or bounds.directions[q] == 0:
        return None
    mine = slice(int(bounds.starts[q]), int(bounds.starts[q + 1]))
    same = bounds.sides[mine] == side
    edges = bounds.limits[mine][same] / SEARCH_SCALE
    odds = np.ones(n_values)
    odds[bounds.firsts[mine][same]] = (1 + edges) / np.maximum(1 - edges, 1e-9)
    return odds


def _decreases(found: Sides, direction: int, odds: Reals | None) -> Exacts:
    """Return the decrease of the energy at each cut, -1 where its sign is not allowed."""
    right, wrong = found.right.astype(np.float64), found.wrong.astype(np.float64)
    decreases = (np.sqrt(right) - np.sqrt(wrong)) ** 2 * (_DECREASE_SCALE / SIDE_SCALE)
    whole = np.rint(decreases).astype(np.int64)
    if odds is None:
        return whole
    ahead, behind = (right, wrong) if direction > 0 else (wrong, right)
    allowed = behind <= ahead * odds
    # At the first bin a cut tells present from missing values, which is no direction.
    allowed[0] = True
    return np.where(allowed, whole, -1)
