"""Rules on the features of users, kept so that new users can be judged by them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.fields import Count, ListOf, Optional, Record, Value
from edgewise.data import CategoricalColumn
from edgewise.data.table import ColumnTable
from edgewise.model.rules import Cut, Subset


@dataclass(frozen=True)
class FeatureRule:
    """A threshold on a numeric feature, or a subset of the codes of a categorical one.

    Attributes
    ----------
    name : str
        The feature.
    threshold : float or None
        Where +1 begins; None for a subset.
    inside, outside : tuple of int
        The codes that say +1, and those that say -1.
    missing : int
        What missing and unseen values say: -1, 0 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.data import NumericColumn
    >>> ages = ColumnTable([NumericColumn(np.array([20.0, 50.0, np.nan]))], ["age"])
    >>> FeatureRule("age", 30.0, (), (), 0).signs(ages, np.arange(3))
    array([-1.,  1.,  0.])
    """

    name: str
    threshold: float | None
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    missing: int

    @staticmethod
    def of(factor: Cut | Subset, name: str, categories: dict[int, tuple[object, ...]]) -> Any:
        """Return a factor of a rule, whose categorical columns hold codes."""
        if isinstance(factor, Cut):
            return FeatureRule(name, float(factor.threshold), (), (), int(factor.missing))
        codes = [int(code) for code in categories[factor.column]]  # type: ignore[call-overload]
        signs = factor.values[: len(codes)].tolist()
        inside = tuple(code for code, sign in zip(codes, signs, strict=True) if sign > 0)
        outside = tuple(code for code, sign in zip(codes, signs, strict=True) if sign < 0)
        return FeatureRule(name, None, inside, outside, int(factor.values[-1]))

    def signs(self, table: ColumnTable | None, rows: NDArray[np.intp]) -> Reals:
        """Return what the rule says of some rows of a table; as of missing values without one."""
        signs = np.full(len(rows), float(self.missing))
        names = [] if table is None or table.names is None else table.names
        if table is None or self.name not in names:
            return signs
        column = table.column(names.index(self.name))
        if isinstance(column, CategoricalColumn):
            codes = column.codes[rows]
            signs[np.isin(codes, self.inside)] = 1.0
            signs[np.isin(codes, self.outside)] = -1.0
        elif self.threshold is not None:
            values = column.reals()[rows]
            there = ~np.isnan(values)
            signs[there] = np.where(values[there] >= self.threshold, 1.0, -1.0)
        return signs


def _rule(missing: int, **parts: Any) -> FeatureRule:
    if missing not in (-1, 0, 1):
        raise ValueError("a rule on features is damaged")
    codes = {name: tuple(parts[name]) for name in ("inside", "outside")}
    return FeatureRule(parts["name"], parts["threshold"], missing=missing, **codes)


FEATURE_RULE = Record(
    {
        "name": Value(str),
        "threshold": Optional(Value(float)),
        "inside": ListOf(Count()),
        "outside": ListOf(Count()),
        "missing": Value(int),
    },
    _rule,
)
"""A rule in a model file."""
