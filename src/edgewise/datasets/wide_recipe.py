"""How the columns and the classes of the wide task are made, each from a seed of its own."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from edgewise.common.dtypes import Reals

TRAIN, TEST = 0, 1
# Rows on which the odds are scaled: of neither part, so that no part depends on the other's size.
_SCALE, _SCALE_ROWS = 2, 20_000
# What else is drawn from seeds of its own.
_CHOICES, _KIND, _EFFECT, _CLASSES = 3, 4, 5, 6

_KINDS = ("normal", "rounded", "heavy", "counts", "whole", "constant")
_SHARES = (0.25, 0.10, 0.20, 0.34, 0.10, 0.01)
_SHAPES = ("step", "slope", "bump")
# What a redundant column has in common with the informative one that it follows.
_COMMON = 0.8
# Effects fall with this power of their rank: a few are strong, most are weak.
_FALL = 0.6
_MOST_VALUES = 3000
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a wide task is made of; `make_wide` says what the settings mean."""

    n_numeric: int
    n_categorical: int
    informative: int
    redundant: int
    missing: float
    positives: float
    signal: float
    seed: int

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.n_numeric + self.n_categorical

    @cached_property
    def informative_columns(self) -> list[int]:
        """The columns that the class depends on, ascending."""
        return sorted(self._chosen[0])

    @cached_property
    def _chosen(self) -> tuple[list[int], dict[int, int]]:
        """Informative columns in order of strength, and what each redundant one follows."""
        rng = self._rng(_CHOICES)
        numeric = [int(j) for j in rng.permutation(self.n_numeric) if self._kind(j) != "constant"]
        categorical = (self.n_numeric + rng.permutation(self.n_categorical)).tolist()
        n_categorical = min(
            max(self.informative // 10, self.informative - len(numeric)), len(categorical)
        )
        n_numeric = self.informative - n_categorical
        rest = numeric[n_numeric:]
        if n_numeric > len(numeric) or self.redundant > len(rest):
            raise ValueError(
                f"informative + redundant must be at most the columns that can be so, "
                f"{len(numeric) + len(categorical)}; got {self.informative} + {self.redundant}"
            )
        chosen = [
            int(j) for j in rng.permutation(numeric[:n_numeric] + categorical[:n_categorical])
        ]
        led = [j for j in chosen if j < self.n_numeric]
        follows = {j: led[int(rng.integers(len(led)))] for j in rest[: self.redundant] if led}
        return chosen, follows

    def n_values(self, j: int) -> int | None:
        """Return how many values categorical column `j` may have; None for a numeric one."""
        if j < self.n_numeric:
            return None
        size = np.exp(self._rng(_KIND, j).normal(2.5, 1.5))
        return int(np.clip(2 + size, 2, _MOST_VALUES))

    def values(self, j: int, part: int, n_rows: int) -> Floats:
        """Return column `j`, the numbers of the values of a categorical one; NaN where missing."""
        made = self._shown(j, self._latent(j, part, n_rows))
        if self.missing:
            gone = self._rng(part, j, 1).random(n_rows, dtype=np.float32)
            made[gone < self.missing] = np.nan
        return made

    def classes(self, part: int, n_rows: int) -> tuple[NDArray[np.int64], Reals]:
        """Return the classes of the rows of a part, and their probabilities of class 1."""
        mean, spread, offset = self._scaling
        p = expit(self.signal * (self._effects(part, n_rows) - mean) / spread + offset)
        drawn = self._rng(_CLASSES, part).random(n_rows)
        return (drawn < p).astype(np.int64), p

    @cached_property
    def _scaling(self) -> tuple[float, float, float]:
        effects = self._effects(_SCALE, _SCALE_ROWS)
        mean, spread = float(effects.mean()), float(effects.std())
        odds = self.signal * (effects - mean) / max(spread, 1e-12)
        low, high = -50.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            if expit(odds + middle).mean() < self.positives:
                low = middle
            else:
                high = middle
        return mean, max(spread, 1e-12), low

    def _effects(self, part: int, n_rows: int) -> Reals:
        """Return the sum of all effects: of single columns, and of products of two."""
        total = np.zeros(n_rows)
        previous: Floats | None = None
        for rank, j in enumerate(self._chosen[0]):
            effect = self._effect(j, self._latent(j, part, n_rows))
            strength = 1.0 / (1 + rank) ** _FALL
            total += strength * effect
            if rank % 2 and previous is not None:
                total += strength * effect * previous
            previous = effect
        return total

    def _effect(self, j: int, latent: Floats) -> Floats:
        rng = self._rng(_EFFECT, j)
        sign = np.float32(rng.choice((-1.0, 1.0)))
        if j >= self.n_numeric:
            table = rng.standard_normal(self.n_values(j), dtype=np.float32)
            return table[self._shown(j, latent).astype(np.intp)]
        shape, where = rng.choice(_SHAPES), np.float32(rng.uniform(-0.8, 0.8))
        # What a column does not show has no effect: all zeros of a count are alike.
        zeros = self._zeros(j)
        seen = np.maximum(latent, zeros)
        if shape == "step":
            return np.where(seen > max(where, zeros), sign, -sign)
        if shape == "slope":
            return sign * seen
        return sign * (2 * np.exp(-((seen - where) ** 2)) - 1)

    def _latent(self, j: int, part: int, n_rows: int) -> Floats:
        """Return the normal numbers that column `j` shows in its own way."""
        own = self._rng(part, j).standard_normal(n_rows, dtype=np.float32)
        led_by = self._chosen[1].get(j)
        if led_by is None:
            return own
        rest = np.float32(np.sqrt(1 - _COMMON**2))
        return np.float32(_COMMON) * self._latent(led_by, part, n_rows) + rest * own

    def _kind(self, j: int) -> str:
        return str(self._rng(_KIND, j).choice(_KINDS, p=_SHARES))

    def _zeros(self, j: int) -> np.float32:
        """Return the normal number up to which a count is 0; minus infinity for other columns."""
        share = self._rng(_KIND, j, 1).uniform(0.3, 0.98) if self._kind(j) == "counts" else 0.0
        return np.float32(ndtri(share))

    def _shown(self, j: int, latent: Floats) -> Floats:
        """Return what a column shows of its normal numbers, ascending in them."""
        rng = self._rng(_KIND, j)
        n_values = self.n_values(j)
        if n_values is not None:
            frequencies = 1.0 / np.arange(1, n_values + 1)
            bounds = ndtri(np.cumsum(frequencies / frequencies.sum())[:-1]).astype(np.float32)
            return np.searchsorted(bounds, latent).astype(np.float32)
        kind = rng.choice(_KINDS, p=_SHARES)
        size, place = (np.float32(value) for value in (np.exp(rng.normal(0, 2)), rng.normal(0, 3)))
        if kind == "constant":
            return np.full(len(latent), place)
        if kind == "normal":
            return size * (latent + place)
        if kind == "rounded":
            return np.rint(100 * (latent + place)) / np.float32(100)
        spread = np.float32(rng.uniform(0.7, 2.0))
        if kind == "heavy":
            return size * np.exp(spread * latent)
        if kind == "whole":
            return np.maximum(np.floor(np.float32(rng.uniform(1, 6)) * (latent + 2)), np.float32(0))
        return np.floor(np.exp(spread * (latent - self._zeros(j))))

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *(int(number) for number in key)])
