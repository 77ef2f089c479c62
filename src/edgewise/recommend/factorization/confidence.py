"""One side of implicit factorisation: the equations of its rows, and two ways to solve them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals
from edgewise.ratings.rows import Grouped
from edgewise.recommend.factorization.alternating import Equations
from edgewise.recommend.factorization.entries import row_numbers
from edgewise.recommend.factorization.objective import pair_products
from edgewise.recommend.factorization.threads import Team

# The compiled kernel takes rows of whole vectors.
_LANES = 8

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Confident:
    """What is known of the rows of one side: preferences p and confidences c = 1 + extra.

    The row x that minimises the loss while the rows y of the other side are held solves
    ``(Y'Y + sum of extra y y' + penalty) x = sum of c p y`` (Hu, Koren and Volinsky 2008, eq. 4).
    """

    entries: Grouped
    extra: Reals
    targets: Reals
    penalty: float

    @classmethod
    def of(cls, entries: Grouped, alpha: float, penalty: float) -> "Confident":
        """Return the equations of ratings: c = 1 + alpha |r|, p = 1 where r > 0 and else 0."""
        extra = alpha * np.abs(entries.values)
        if entries.weights is not None:
            extra *= entries.weights
        return cls(entries, extra, (1.0 + extra) * (entries.values > 0), penalty)

    def exact(self, others: Reals, compiled: bool, team: Team) -> Reals:
        """Return the solutions."""
        entries, (_, k) = self.entries, others.shape
        ones = np.ones(len(entries.starts) - 1)
        equations = Equations(
            entries.starts, entries.others, self.extra, self.targets, others, ones,
            np.full(k, self.penalty), others.T @ others,
        )  # fmt: skip
        return equations.solve(compiled, team)

    def improve(
        self, factors: Singles, others: Singles, n_steps: int, compiled: bool, team: Team
    ) -> None:
        """Take steps of conjugate gradients towards the solutions, from where the factors are."""
        gram = others.T @ others
        gram[np.diag_indices(len(gram))] += np.float32(self.penalty)
        if not compiled:
            self._improve_together(factors, others, gram, n_steps)
            return
        from edgewise.recommend.factorization.compiled import conjugate_rows

        entries = self.entries
        extra, targets = self._single

        def run(start: int, stop: int) -> None:
            conjugate_rows(
                start, stop, entries.starts, entries.others, extra, targets, others, gram,
                n_steps, factors,
            )  # fmt: skip

        team.spread(run, entries.starts)

    def _improve_together(
        self, factors: Singles, others: Singles, gram: Singles, n_steps: int
    ) -> None:
        """Take the steps for all rows at once: the twin of the compiled kernel."""
        rows, places = self._rows, self.entries.others

        def image(x: Singles) -> Any:
            products = self.extra * pair_products(x, others, rows, places)
            return x @ gram + self._matrix(products, len(others)) @ others

        residual = self._matrix(self.targets, len(others)) @ others - image(factors)
        direction, size = residual, _squares(residual)
        for _ in range(n_steps):
            seen = image(direction)
            curve = np.einsum("ij,ij->i", direction, seen)
            length = np.divide(size, curve, out=np.zeros_like(size), where=size > 1e-20)
            factors += length[:, None] * direction
            residual = residual - length[:, None] * seen
            left = _squares(residual)
            turn = np.divide(left, size, out=np.zeros_like(size), where=size > 1e-20)
            direction, size = residual + turn[:, None] * direction, left

    def _matrix(self, data: Reals, n_others: int) -> Any:
        shape = (len(self.entries.starts) - 1, n_others)
        single = data.astype(np.float32)
        return sparse.csr_array((single, self.entries.others, self.entries.starts), shape=shape)

    def loss(self, factors: NDArray, others: NDArray, compiled: bool) -> float:
        """Return 1/2 the sum of c (p - x y)^2 over all pairs and of the penalties."""
        # As p is 0 or 1, a rated pair adds extra s^2 - 2 c p s + c p to what its gap would: s^2.
        if compiled and factors.dtype == np.float32:
            from edgewise.recommend.factorization.compiled import confident_error

            errors = confident_error(
                self._rows, self.entries.others, self.extra, self.targets, factors, others
            )
        else:
            s = pair_products(factors, others, self._rows, self.entries.others).astype(float)
            errors = (self.extra * s * s - 2.0 * self.targets * s).sum()
        grams = [(rows.T @ rows).astype(float) for rows in (factors, others)]
        lengths = sum(np.trace(gram) for gram in grams)
        total = errors + self.targets.sum() + np.vdot(*grams) + self.penalty * lengths
        return 0.5 * float(total)

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return row_numbers(self.entries)

    @cached_property
    def _single(self) -> tuple[Singles, Singles]:
        return self.extra.astype(np.float32), self.targets.astype(np.float32)


def padded(factors: Reals) -> Singles:
    """Return factors in single precision, with columns of 0 up to whole vectors."""
    n_rows, k = factors.shape
    single = np.zeros((n_rows, -(-k // _LANES) * _LANES), dtype=np.float32)
    single[:, :k] = factors
    return single


def _squares(rows: Singles) -> Singles:
    return np.einsum("ij,ij->i", rows, rows)
