"""Where a prediction comes from."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.data import CategoricalColumn
from edgewise.recommend.boosted.climb import BOTH, ITEMS, USERS
from edgewise.recommend.boosted.training import user_marks

if TYPE_CHECKING:
    from edgewise.recommend.boosted.factorized import Factorized


@dataclass(frozen=True)
class Reasons:
    """The parts of an expected rating, in points, which add up to it.

    Attributes
    ----------
    user, item : id
        Whose rating of what it is.
    rating : float
        The expected rating.
    mean : float
        What would be expected of anyone and anything.
    user_offset, item_offset : float
        What the user gives more than others, and what the item gets more than others.
    own : float
        What comes from how the user rated, as far as that is a matter of taste.
    rated : list of (id, float)
        What it says that the user rated each of these items, well or badly, the strongest first:
        who rates something tells of a taste. How well is in the offset and in `own`.
    features : list of (str, float)
        What each feature of the user says, the strongest first.

    Examples
    --------
    >>> print(Reasons("ann", "Heat", 4.25, 3.5, 0.25, 0.25, 0.0, [("Ran", 0.25)], [], 5))
    ann and Heat: 4.25
      +3.50  anyone, anything
      +0.25  the user's offset
      +0.25  the item's offset
      +0.25  rated: Ran
    """

    user: Any
    item: Any
    rating: float
    mean: float
    user_offset: float
    item_offset: float
    own: float
    rated: list[tuple[Any, float]]
    features: list[tuple[str, float]]
    shown: int = 5

    def __str__(self) -> str:
        lines = [f"{self.user} and {self.item}: {self.rating:.2f}"]
        parts: list[tuple[str, float]] = [
            ("anyone, anything", self.mean),
            ("the user's offset", self.user_offset),
            ("the item's offset", self.item_offset),
            ("the user's own tastes", self.own),
        ]
        named = [(f"rated: {item}", points) for item, points in self.rated]
        named += [(f"feature: {name}", points) for name, points in self.features]
        named.sort(key=lambda part: -abs(part[1]))
        parts += named[: self.shown]
        rest = sum(points for _, points in named[self.shown :])
        if len(named) > self.shown:
            parts.append((f"{len(named) - self.shown} others", rest))
        lines += [f"  {points:+.2f}  {name}" for name, points in parts if points != 0.0]
        return "\n".join(lines)


def reasons(model: "Factorized", user: int, item: int, shown: int) -> Reasons:
    """Return the parts of a prediction, by indices.

    The scores of the columns are sums, and so their parts are plain. The expected rating is a sum
    of chances, each of which depends on its own score alone: a part of that score's way from the
    constant to its end has the same part in the change of the chance.
    """
    levels, ratings = model._levels, model.ratings_
    votes, kinds = model.round_votes_, model.kinds_
    products = (model.user_values_[:, user] * model.item_values_[:, item])[:, None] * votes
    constant = products[0] if len(products) else np.zeros(levels.n_columns)
    moved = products[1:].sum(axis=0)
    logistic = model.loss == "logistic"
    start, end = levels.chances(constant, logistic), levels.chances(constant + moved, logistic)
    # Where parts cancel each other the quotient is noise, and the derivative there takes its place.
    moves = np.abs(moved) > 1e-6
    slope = start * (1.0 - start) * (1.0 if logistic else 2.0)
    slope = levels.gaps() * np.divide(end - start, moved, out=slope, where=moves)

    def points(scores: Reals) -> Reals:
        return (scores * slope).sum(axis=-1)

    later, after = kinds[1:], products[1:]
    user_offset = float(points(after[later == USERS].sum(axis=0)))
    item_offset = float(points(after[later == ITEMS].sum(axis=0)))
    marked, names = _marked(model, user, item)
    said = points(marked)
    own = float(points(after[later == BOTH].sum(axis=0)) - said.sum())
    found = sorted(zip(names, said.tolist(), strict=True), key=lambda part: -abs(part[1]))
    rated = [(name[1], value) for name, value in found if name[0] == "item"]
    features = [(name[1], value) for name, value in found if name[0] == "feature"]
    return Reasons(
        ratings.user_ids.values[user].item(),
        ratings.item_ids.values[item].item(),
        float(levels.expected(constant + moved, logistic)),
        float(levels.expected(constant, logistic)),
        user_offset,
        item_offset,
        own,
        rated,
        features,
        shown,
    )


def _marked(model: "Factorized", user: int, item: int) -> tuple[Reals, list[Any]]:
    """Return what each mark of a user adds to the scores, and what the marks are."""
    width = model._levels.n_columns
    if model.marks_.shape[1] == 0:
        return np.zeros((0, width)), []
    marks = user_marks(model.ratings_, model._settings(), model.n_trained_)
    row = marks[[user]]
    along = model.item_values_[:, item, None] * model.round_votes_
    added = np.einsum("tm,tl->ml", model.marks_[:, row.indices], along) * row.data[:, None]
    return added, [_name(model, int(mark)) for mark in row.indices]


def _name(model: "Factorized", mark: int) -> tuple[str, Any]:
    """Return what a mark is: an item that was rated, or a feature."""
    ratings = model.ratings_
    n_rated = ratings.n_items if model.share else 0
    if mark < n_rated:
        return "item", ratings.item_ids.values[mark].item()
    return "feature", _feature_names(model)[mark - n_rated]


def _feature_names(model: "Factorized") -> list[str]:
    from edgewise.recommend.boosted.sides import coded

    table = model.ratings_.user_features
    assert table is not None
    names = []
    for j, column in enumerate(table.columns()):
        if isinstance(column, CategoricalColumn):
            names += [f"{table.name(j)} = {value}" for value in column.categories]
            continue
        *_, cuts = coded(column, model.n_trained_)
        if cuts is None:
            names.append(table.name(j))
        else:
            ends = [None, *cuts.tolist(), None]
            names += [_span(table.name(j), low, high) for low, high in pairwise(ends)]
    return names


def _span(name: str, low: float | None, high: float | None) -> str:
    if low is None:
        return name if high is None else f"{name} < {high:g}"
    return f"{name} >= {low:g}" if high is None else f"{low:g} <= {name} < {high:g}"
