"""A generated task of many columns, in the shape of the large set of the KDD Cup 2009."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from edgewise.common.checks import integer, positive
from edgewise.common.dtypes import CATEGORY_CODE, Reals
from edgewise.data.chunks import Chunks
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable, Table

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


@dataclass(frozen=True, eq=False)
class WideTask:
    """A binary task of many columns: training and test rows of the same distribution.

    Attributes
    ----------
    X_train, X_test : WideTable
        The rows, made a block of columns at a time; `fit` and `predict` take them.
    y_train, y_test : int64 arrays of 0 and 1
        The classes.
    p_train, p_test : float64 arrays
        The probability of class 1 that each row's class was drawn with: what no model can beat.
    informative : tuple of int
        The numbers of the columns that the class depends on.
    """

    X_train: "WideTable"
    y_train: NDArray[np.int64]
    X_test: "WideTable"
    y_test: NDArray[np.int64]
    p_train: Reals
    p_test: Reals
    informative: tuple[int, ...]


class WideTable(Chunks):
    """Columns generated on demand, each from a random seed of its own."""

    def __init__(self, recipe: Recipe, part: int, n_rows: int, width: int = 64) -> None:
        self._recipe, self._part = recipe, part
        whole, rest = divmod(recipe.n_columns, width)
        names = [f"Var{j + 1}" for j in range(recipe.n_columns)]
        super().__init__(n_rows, [width] * whole + [rest] * (rest > 0), names)

    def array(self, start: int = 0, stop: int | None = None) -> NDArray[np.float32]:
        """Return some columns as an array, categorical ones as the numbers of their values.

        Parameters
        ----------
        start, stop : int, default 0 and None
            The first column, and the one after the last; None for the number of columns.
        """
        integer("start", start, 0, self.n_columns)
        stop = self.n_columns if stop is None else integer("stop", stop, start, self.n_columns)
        made = np.empty((self.n_rows, stop - start), dtype=np.float32, order="F")
        for j in range(start, stop):
            column = self._made(j)
            if isinstance(column, CategoricalColumn):
                gone = column.codes == column.missing_code
                made[:, j - start] = np.where(gone, np.nan, column.codes)
            else:
                made[:, j - start] = column.reals()
        return made

    def _made(self, j: int) -> Column:
        recipe, n_values = self._recipe, self._recipe.n_values(j)
        values = recipe.values(j, self._part, self.n_rows)
        if n_values is None:
            return NumericColumn(values)
        codes = np.where(np.isnan(values), n_values, values).astype(CATEGORY_CODE)
        # Codes are those of the sorted values, as of any categorical column.
        digits = len(str(n_values - 1))
        return CategoricalColumn(codes, tuple(f"v{code:0{digits}}" for code in range(n_values)))

    def _raw(self, j: int) -> Column:
        return self._made(j)

    def _load(self, block: int) -> Table:
        span = range(int(self._starts[block]), int(self._starts[block + 1]))
        return ColumnTable([self._made(j) for j in span], None, "value")


def make_wide(
    n_rows: int = 50_000,
    n_test: int = 10_000,
    *,
    n_numeric: int = 14_740,
    n_categorical: int = 260,
    informative: int = 300,
    redundant: int = 300,
    missing: float = 0.02,
    positives: float = 0.1,
    signal: float = 2.5,
    random_state: int = 0,
) -> WideTask:
    """Make a binary task with many columns of many kinds, of which a few hundred matter.

    By default it has the shape of the large set of the KDD Cup 2009: 50,000 rows, 14,740 numeric
    and 260 categorical columns, few positives. Numeric columns are normal, heavy-tailed, counts
    with many zeros, or small integers; some are constant. The log odds are a sum of effects of
    single columns (steps, slopes, bumps, values of categorical ones), a few strong and many weak,
    and of products of two columns.

    Every column has a random seed of its own and is generated on demand, so only a few are in
    memory at a time and any of them can be generated alone.

    Parameters
    ----------
    n_rows, n_test : int, default 50,000 and 10,000
        Rows to train and to test on. Training rows do not depend on `n_test`.
    n_numeric, n_categorical : int, default 14,740 and 260
        Columns of each kind; the numeric ones come first.
    informative : int, default 300
        Columns that the class depends on, a tenth of them categorical where there are so many.
    redundant : int, default 300
        Numeric columns that go with an informative one, up to noise.
    missing : float, default 0.02
        The share of missing values in every column.
    positives : float, default 0.1
        The share of class 1.
    signal : float, default 2.5
        The standard deviation of the logarithm of the odds.
    random_state : int, default 0
        The seed.

    Returns
    -------
    WideTask
        Rows, classes, their true probabilities and the informative columns.

    """
    integer("n_rows", n_rows, 1)
    integer("n_test", n_test, 0)
    integer("n_numeric", n_numeric, 0)
    integer("n_categorical", n_categorical, 0)
    integer("informative", informative, 1, max(1, n_numeric + n_categorical))
    integer("redundant", redundant, 0)
    integer("random_state", random_state, 0)
    positive("positives", positives, below=1.0)
    positive("signal", signal)
    if missing != 0:
        positive("missing", missing, below=1.0)
    recipe = Recipe(
        n_numeric, n_categorical, informative, redundant, missing, positives, signal, random_state
    )
    y_train, p_train = recipe.classes(TRAIN, n_rows)
    y_test, p_test = recipe.classes(TEST, n_test)
    return WideTask(
        WideTable(recipe, TRAIN, n_rows),
        y_train,
        WideTable(recipe, TEST, n_test),
        y_test,
        p_train,
        p_test,
        tuple(recipe.informative_columns),
    )
