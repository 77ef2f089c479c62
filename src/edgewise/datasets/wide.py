"""A generated task of many columns, in the shape of the large set of the KDD Cup 2009."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, positive
from edgewise.common.dtypes import CATEGORY_CODE, Reals
from edgewise.data.chunks import Chunks
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable, Table
from edgewise.datasets.wide_recipe import TEST, TRAIN, Recipe


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
    """Columns that are made when they are asked for, each from a seed of its own."""

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

        Raises
        ------
        ValueError
            If there are no such columns.
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

    The shape is that of the large set of the KDD Cup 2009: 50,000 rows, 14,740 numeric and 260
    categorical columns, few positives. Numeric columns are normal, heavy-tailed, counts with many
    zeros, or small whole numbers; some are constant. The logarithm of the odds is a sum of effects
    of single columns (steps, slopes, bumps, values of categorical ones), of a few strong and many
    weak ones, and of products of two.

    Every column is made from a seed of its own when it is asked for, so that no more than a few are
    in memory, and any of them can be made alone.

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

    Raises
    ------
    ValueError
        If a number is out of range, or there are more informative and redundant columns than
        columns.

    Examples
    --------
    >>> from sklearn.metrics import roc_auc_score
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.datasets import make_wide
    >>> task = make_wide(2000, 1000, n_numeric=190, n_categorical=10, informative=20, redundant=10)
    >>> task.X_train.shape, len(task.informative), task.X_train.array(3, 5).shape
    ((2000, 200), 20, (2000, 2))
    >>> model = AdaBoostMH("stump", n_rounds=50).fit(task.X_train, task.y_train)
    >>> auc = roc_auc_score(task.y_test, model.decision_function(task.X_test))
    >>> bool(0.7 < auc < roc_auc_score(task.y_test, task.p_test))
    True
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
