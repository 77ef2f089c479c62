"""Real outputs for the values of a categorical column.

The real-valued alternative in Kégl and Busa-Fekete 2009a, figure 2.

The figure sets u and v in turn to half logarithms of odds, each as if the other were signs. Taken
to the letter the product of two such numbers is far too small a step, and the second half-step
never lowers the energy. Here each half-step minimises the energy itself,
sum over values and classes of g+ exp(-u v) + g- exp(u v), which is convex in u and in v.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Columns, Reals, Signs
from edgewise.model import Scores

if TYPE_CHECKING:
    from edgewise.learners.base import Found, Round

_ROUNDS, _NEWTON_STEPS = 4, 6
_LARGEST = 4.0

# Both sides of every cell count as having this share of the average cell's weight more, so that a
# value that was seen once does not get a huge number.
_SMOOTHING = 0.1


def real_values(
    round: "Round", column: int, signed: Reals, signs: Signs, group: Columns
) -> "Found":
    """Return numbers for the values of a column, starting from the best signs.

    Parameters
    ----------
    round : Round
        The round.
    column : int
        The column.
    signed : float64 array of shape (values, K)
        The sums of S.
    signs : int8 array of shape (values,)
        The best subset.
    group : intp array of shape (values,)
        The value that each counts as: rare ones count as one, which has the sums of all.
    """
    from edgewise.learners.base import Found

    sizes = round.backend.absolute(round.problem)
    sums = round.backend.histogram(np.array([column], dtype=np.intp), sizes).values
    masses = pooled(sums[:, : signed.shape[1]].astype(np.float64), group)
    right, wrong = (masses + signed) / 2, (masses - signed) / 2
    floor = _SMOOTHING * masses.sum() / masses.size
    u = signs.astype(np.float64)
    v = _best(np.zeros(signed.shape[1]), u, (right + floor).T, (wrong + floor).T)
    least = _energy(u, v, right, wrong)
    for _ in range(_ROUNDS):
        new_u = _best(u, v, right + floor, wrong + floor)
        new_v = _best(v, new_u, (right + floor).T, (wrong + floor).T)
        energy = _energy(new_u, new_v, right, wrong)
        if energy >= least:
            break
        u, v, least = new_u, new_v, energy
    # The votes carry the size of the step; u is scaled to have a largest size of 1.
    scale = float(np.abs(u).max()) or 1.0
    values = (u / scale)[group]
    if not round.table.bins[column].has_missing:
        values = np.append(values, 0.0)
    score_edges = (signed * u[:, None]).sum(axis=0)
    edge = int(np.abs(score_edges).sum())
    return Found(Scores(column, values), edge, least, score_edges.astype(np.int64), v * scale)


def pooled(sums: NDArray[Any], group: Columns) -> NDArray[Any]:
    """Return the sums of the values with those of each group in the place of its first."""
    together = np.zeros_like(sums)
    np.add.at(together, group, sums)
    return together


def _best(start: Reals, others: Reals, right: Reals, wrong: Reals) -> Reals:
    """Return for each row the x that minimises sum of right exp(-x o) + wrong exp(x o).

    The function is convex; a Newton step that is too long is cut to size 1, and x to size 4.
    """
    x = start
    for _ in range(_NEWTON_STEPS):
        lose, gain = right * np.exp(-x[:, None] * others), wrong * np.exp(x[:, None] * others)
        slope = ((gain - lose) * others).sum(axis=1)
        curve = ((gain + lose) * others**2).sum(axis=1)
        step = slope / np.where(curve > 0, curve, 1.0)
        x = np.clip(x - np.clip(step, -1.0, 1.0), -_LARGEST, _LARGEST)
    return x


def _energy(u: Reals, v: Reals, right: Reals, wrong: Reals) -> float:
    h = u[:, None] * v
    return float((right * np.exp(-h) + wrong * np.exp(h)).sum())
