"""Alternating least squares: one side is solved exactly while the other is held (Shi 2025)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Rows
from edgewise.common.progress import Step
from edgewise.ratings.rows import Grouped
from edgewise.recommend.factorization.entries import row_mass
from edgewise.recommend.factorization.objective import Factors, Objective
from edgewise.recommend.factorization.threads import Team

# An equation of which less than this share is left says nothing that the others do not.
_TINY = 1e-12

# NumPy solves the equations of as many rows at a time as keep their matrices below so many entries.
_ENTRIES = 1 << 20


def visits_of_rows(n_rows: int, n_entries: int, n_factors: int) -> float:
    """Return how long NumPy takes to solve so many rows, in entries that it visits otherwise."""
    return n_rows * (10_000 + 0.5 * n_factors**3) + 0.2 * n_entries * n_factors**2


@dataclass(frozen=True, eq=False)
class Equations:
    """The regularised least squares of many rows over one design.

    Row i has the matrix ``base + sum of w y y' + scales[i] diag(penalties)`` over its entries and
    the right side ``sum of targets y``, where y is the row of the design at the entry's other end.
    """

    starts: NDArray[np.int64]
    others: Rows
    weights: Reals
    targets: Reals
    design: Reals
    scales: Reals
    penalties: Reals
    base: Reals | None = None

    def solve(self, compiled: bool, team: Team | None = None) -> Reals:
        """Return the solutions, a row for each; unknowns that nothing determines are 0."""
        n_rows, k = len(self.starts) - 1, self.design.shape[1]
        base = np.zeros((k, k)) if self.base is None else self.base
        solutions = np.empty((n_rows, k))
        if compiled:
            self._solve_compiled(base, solutions, team or Team(1))
            return solutions
        size = max(1, _ENTRIES // (k * k))
        for start in range(0, n_rows, size):
            rows = range(start, min(start + size, n_rows))
            solutions[rows.start : rows.stop] = solved(*self._systems(rows, base))
        return solutions

    def _solve_compiled(self, base: Reals, solutions: Reals, team: Team) -> None:
        from edgewise.recommend.factorization.compiled import ridge_rows

        def run(start: int, stop: int) -> None:
            ridge_rows(
                start, stop, self.starts, self.others, self.weights, self.targets, self.design,
                base, self.scales, self.penalties, _TINY, solutions,
            )  # fmt: skip

        team.spread(run, self.starts)

    def _systems(self, rows: range, base: Reals) -> tuple[Reals, Reals]:
        k = self.design.shape[1]
        matrices = base + self.scales[rows.start : rows.stop, None, None] * np.diag(self.penalties)
        right = np.zeros((len(rows), k))
        for place, row in enumerate(rows):
            entries = slice(self.starts[row], self.starts[row + 1])
            near = self.design[self.others[entries]]
            matrices[place] += near.T @ (self.weights[entries, None] * near)
            right[place] = self.targets[entries] @ near
        return matrices, right


def solved(matrices: Reals, right: Reals) -> Reals:
    """Return the solutions of many symmetric systems, by Cholesky's method.

    Where nothing is left of a diagonal entry, the equations before it say all that this one does:
    its unknown is 0.

    Examples
    --------
    >>> import numpy as np
    >>> solved(np.array([[[4.0, 2.0], [2.0, 3.0]]]), np.array([[8.0, 8.0]]))
    array([[1., 2.]])
    >>> solved(np.ones((1, 2, 2)), np.ones((1, 2)))
    array([[1., 0.]])
    """
    upper, x = matrices.copy(), right.copy()
    k = x.shape[1]
    least = _TINY * np.einsum("ijj->ij", upper)
    roots = np.zeros_like(x)
    for j in range(k):
        pivot = upper[:, j, j]
        kept = pivot > least[:, j]
        roots[:, j] = np.where(kept, np.sqrt(np.where(kept, pivot, 1.0)), 0.0)
        over = np.where(kept, 1.0 / np.where(kept, roots[:, j], 1.0), 0.0)
        upper[:, j, j:] *= over[:, None]
        x[:, j] *= over
        row = upper[:, j, j + 1 :]
        upper[:, j + 1 :, j + 1 :] -= row[:, :, None] * row[:, None, :]
        x[:, j + 1 :] -= row * x[:, j, None]
    for j in range(k - 1, -1, -1):
        total = x[:, j] - np.einsum("ij,ij->i", upper[:, j, j + 1 :], x[:, j + 1 :])
        kept = roots[:, j] > 0
        x[:, j] = np.where(kept, total / np.where(kept, roots[:, j], 1.0), 0.0)
    return x


def alternate(
    objective: Objective,
    sides: tuple[Grouped, Grouped],
    factors: Factors,
    n_epochs: int,
    team: Team,
    step: Step,
) -> list[float]:
    """Improve the factors where they are; return the losses, the first before all epochs.

    `sides` are the ratings by user and by item. An epoch solves all users, then all items; as each
    is the exact minimum with the other side held, the loss never rises.
    """
    losses = [objective.loss(factors)]
    for _ in range(n_epochs):
        factors.users, factors.user_biases = solve_side(
            objective, sides[0], factors.items, factors.item_biases, team
        )
        factors.items, factors.item_biases = solve_side(
            objective, sides[1], factors.users, factors.user_biases, team
        )
        losses.append(objective.loss(factors))
        step(losses[-1])
    return losses


def solve_side(
    objective: Objective, side: Grouped, others: Reals, other_biases: Reals, team: Team
) -> tuple[Reals, Reals]:
    """Return the factors and biases of one side that are best for those of the other.

    A bias is one more factor, whose counterpart on the other side is 1 for all.
    """
    n_rows, k = len(side.starts) - 1, others.shape[1]
    weights = np.ones(len(side.values)) if side.weights is None else side.weights
    wanted = side.values - objective.mean - other_biases[side.others]
    mass = row_mass(side)
    penalties = np.full(k + objective.biases, objective.penalty)
    design = np.column_stack([others, np.ones(len(others))]) if objective.biases else others
    equations = Equations(
        side.starts, side.others, weights, weights * wanted, design, mass, penalties
    )
    solutions = equations.solve(objective.compiled, team)
    if not objective.biases:
        return solutions, np.zeros(n_rows)
    return np.ascontiguousarray(solutions[:, :k]), np.ascontiguousarray(solutions[:, k])
