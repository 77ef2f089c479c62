"""What a model has learned, column by column: curves that a person can read."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.model.predictor import Predictor
from edgewise.model.rules import Cut
from edgewise.model.terms import StumpTerms


@dataclass(frozen=True)
class Curve:
    """How one column moves the scores.

    Attributes
    ----------
    name : str
        The column's name.
    column : int
        Its number.
    importance : float
        Its share of the model, of 1 in all.
    thresholds : float64 array of shape (m,)
        Where the scores jump.
    scores : float64 array of shape (m + 1, K)
        The scores below, between and above the thresholds: row b holds from ``thresholds[b - 1]``
        on.
    missing : float64 array of shape (K,)
        The scores of a missing value.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", n_rounds=1).fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> curve = model.explain().curve("x0")
    >>> curve.thresholds, curve([4.0]).round(2)
    (array([3.5]), array([[3.45]]))
    """

    name: str
    column: int
    importance: float
    thresholds: Reals
    scores: Reals
    missing: Reals

    def __call__(self, values: Reals) -> Reals:
        """Return the scores that values of this column add, shape (n, K)."""
        values = np.asarray(values, dtype=np.float64)
        place = np.searchsorted(self.thresholds, values, side="right")
        return np.where(np.isnan(values)[..., None], self.missing, self.scores[place])


@dataclass(frozen=True)
class Group:
    """Columns that rules look at together, or a categorical column.

    Attributes
    ----------
    names : tuple of str
        The columns.
    importance : float
        The group's share of the model.
    n_rules : int
        How many rules look at just these columns.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Product
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> AdaBoostMH(learner=Product(), n_rounds=1).fit(X, y).explain().groups
    [Group(names=('x0', 'x1'), importance=1.0, n_rules=1)]
    """

    names: tuple[str, ...]
    importance: float
    n_rules: int


class Explanation(Sequence[Curve]):
    """A model as a sum of curves, the most important first, and of groups of columns.

    With stumps the score of a row is `bias` plus, for each curve, its value at the row's column.
    Rules that look at several columns, or at a categorical one, are summed up as `groups`.

    Attributes
    ----------
    classes : list
        What each score column stands for.
    bias : float64 array of shape (K,)
        The part that depends on no column.
    groups : list of Group
        What is not in the curves, the most important first.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", n_rounds=1).fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> model.explain()
    Explanation: 1 columns in use, 2 classes
      100.0%  x0: 1 thresholds, low values favour 'a', high values favour 'b'
    """

    def __init__(
        self, curves: list[Curve], bias: Reals, classes: list, groups: Sequence[Group] = ()
    ) -> None:
        self.groups = sorted(groups, key=lambda group: (-group.importance, group.names))
        self._curves = sorted(curves, key=lambda curve: (-curve.importance, curve.column))
        self.bias = bias
        self.classes = classes

    def __len__(self) -> int:
        return len(self._curves)

    def __getitem__(self, which: int | slice) -> Curve | list[Curve]:  # type: ignore[override]
        return self._curves[which]

    def __iter__(self) -> Iterator[Curve]:
        return iter(self._curves)

    def curve(self, name: str | int) -> Curve:
        """Return the curve of a column, by its name or number."""
        for curve in self._curves:
            if name in (curve.name, curve.column):
                return curve
        known = ", ".join(repr(curve.name) for curve in self._curves[:20])
        raise KeyError(f"the model does not use a column {name!r}; it uses {known}")

    def _favoured(self, scores: Reals) -> str:
        """Return what scores speak for: the highest class, or for or against a single one."""
        if len(scores) == 1 and len(self.classes) == 2:
            return repr(self.classes[int(scores[0] > 0)])
        return repr(self.classes[int(scores.argmax())])

    def _sides(self, curve: Curve) -> str:
        low, high = (self._favoured(curve.scores[end]) for end in (0, -1))
        return f"low values favour {low}, high values favour {high}"

    def __repr__(self) -> str:
        used = len({curve.name for curve in self} | {n for g in self.groups for n in g.names})
        ranks = len(self.classes) == 1
        classes = "" if ranks else f", {len(self.classes)} classes"
        lines = [f"Explanation: {used} columns in use{classes}"]
        for curve in self._curves[:10]:
            says = _course(curve) if ranks else self._sides(curve)
            cuts = f"{len(curve.thresholds)} thresholds"
            lines.append(f"  {curve.importance:6.1%}  {curve.name}: {cuts}, {says}")
        if len(self) > 10:
            lines.append(f"  ... and {len(self) - 10} more")
        for group in self.groups[:10]:
            names = " * ".join(group.names)
            lines.append(f"  {group.importance:6.1%}  {names}: {group.n_rules} rules")
        if len(self.groups) > 10:
            lines.append(f"  ... and {len(self.groups) - 10} more groups of columns")
        return "\n".join(lines)


def _course(curve: Curve) -> str:
    """Return how a ranker's score runs with a column."""
    steps = np.diff(curve.scores[:, 0])
    span = float(np.ptp(curve.scores[:, 0]))
    way = "up and down" if (steps < 0).any() and (steps > 0).any() else None
    rising = "rises" if (steps >= 0).all() else "falls"
    return f"score {way or rising} by {span:.2f} in all"


def explain(
    predictor: Predictor, falls: Reals, name: Callable[[int], str], classes: list
) -> Explanation:
    """Return the curves and groups of a model.

    Parameters
    ----------
    predictor : Predictor
        The model.
    falls : float64 array of shape (T,)
        How much the loss fell with each term.
    name : function from int to str
        The name of a column.
    classes : list
        What each score column stands for.
    """
    tables = predictor.tables
    groups: list[Group] = []
    if isinstance(predictor.terms, StumpTerms):
        importances = predictor.importances(falls)
    else:
        importances, groups = _shares(predictor, falls, name)
    curves = []
    for f, j in enumerate(tables.columns.tolist()):
        thresholds, table = tables.of(f)
        curves.append(Curve(name(j), j, float(importances[j]), thresholds, table[:-1], table[-1]))
    return Explanation(curves, tables.bias, classes, groups)


def _shares(
    predictor: Predictor, falls: Reals, name: Callable[[int], str]
) -> tuple[Reals, list[Group]]:
    """Return the importance of each curve, and the groups."""
    rules = [predictor.terms.rule(t) for t in range(len(falls))]
    used = [tuple(sorted({j for j in rule.columns if j >= 0})) for rule in rules]
    total = math.fsum(fall for fall, columns in zip(falls, used, strict=True) if columns) or 1.0
    curves = np.zeros(predictor.n_columns)
    groups: dict[tuple[int, ...], list[float]] = {}
    for rule, columns, fall in zip(rules, used, falls.tolist(), strict=True):
        if isinstance(rule, Cut) and columns and columns[0] < predictor.n_columns:
            curves[columns[0]] += fall / total
        elif columns:
            groups.setdefault(columns, []).append(fall / total)
    return curves, [
        Group(tuple(name(j) for j in columns), math.fsum(shares), len(shares))
        for columns, shares in groups.items()
    ]
