"""A map of the items of a recommender, where items liked by the same users are close."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.plots.drawing import BLUE, GRAY, PALE, Display, short_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FONT_SIZE = 8.0
# Where to try to write a name beside its dot: offsets of its center in widths and heights.
_OFFSETS = (
    *((0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)),
    *((0.5, 0.5), (-0.5, 0.5), (0.5, -0.5), (-0.5, -0.5)),
)
# Space between a dot and its name, and between two names, in points.
_GAP, _ROOM = 5.0, 1.5


@dataclass(eq=False, repr=False)
class ItemMapDisplay(Display):
    """The most rated items along the first two principal components.

    Items that are close are liked by the same users. Names are written where there is room,
    farthest items first; the other items are gray dots.

    Parameters
    ----------
    ids : array of shape (n,)
        The items, the most rated first.
    positions : float64 array of shape (n, 2)
        The position of each item.
    shares : float64 array of shape (2,)
        The share of the variance along each component.
    names : mapping of ids to str, default None
        Names of the items; an item without one shows its id.

    Examples
    --------
    >>> from edgewise import Ratings, SVDRecommender
    >>> from edgewise.plots import ItemMapDisplay
    >>> ratings = Ratings.from_matrix([[5, 4, 1, 2], [4, 5, 2, 1], [1, 1, 5, 4]])
    >>> model = SVDRecommender(n_factors=2).fit(ratings)
    >>> names = {0: "Alien", 1: "Brazil", 2: "Clue", 3: "Diva"}
    >>> shown = ItemMapDisplay.from_estimator(model, names=names)
    >>> sorted(text.get_text() for text in shown.ax_.texts)
    ['Alien', 'Brazil', 'Clue', 'Diva']
    >>> shown.positions[:, 0] > 0
    array([False, False,  True,  True])
    """

    ids: NDArray[Any]
    positions: Reals
    shares: Reals
    names: Mapping[Any, str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: Mapping[Any, str] | None = None,
        n: int = 100,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the items of a recommender.

        The components are those of the model's item factors without biases, or of the ratings of
        the items if it has no factors. The item farthest out is on the positive side of each.

        Parameters
        ----------
        estimator : Recommender
            A fitted recommender.
        names : mapping of ids to str, default None
            Names of the items; an item without one shows its id.
        n : int, default 100
            Number of items, the most rated first.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        if names is not None and not isinstance(names, Mapping):
            raise TypeError(f"names must map ids to names, got {type(names).__name__}")
        from edgewise.recommend.base import Recommender
        from edgewise.recommend.evaluation.diagnostics import map_items

        integer("n", n, 3)
        if not isinstance(estimator, Recommender):
            raise TypeError(f"estimator must be a recommender, got {type(estimator).__name__}")
        ratings = estimator._fitted_ratings()
        chosen, positions, shares = map_items(estimator, n)
        return cls(ratings.item_ids.values[chosen], positions, shares, names).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        names = self.names or {}
        labels = [short_label(names.get(item, item)) for item in self.ids.tolist()]
        self._draw_frame(axes)
        # The layout decides where points are.
        self.figure_.draw_without_rendering()
        has_name = _write_names(axes, self.positions, labels)
        for mask, color, size in ((has_name, BLUE, 14), (~has_name, PALE, 9)):
            x, y = self.positions[mask].T
            axes.scatter(x, y, s=size, color=color, linewidths=0, zorder=2)

    def _figure_size(self) -> tuple[float, float]:
        return 9.0, 7.0

    def _draw_frame(self, axes: "Axes") -> None:
        """Set limits and labels, and draw a cross at the average item."""
        axes.axhline(0.0, color=GRAY, alpha=0.25, linewidth=0.8, zorder=0)
        axes.axvline(0.0, color=GRAY, alpha=0.25, linewidth=0.8, zorder=0)
        # Room for names, which are wide.
        low, high = self.positions.min(axis=0), self.positions.max(axis=0)
        room = np.array([0.12, 0.05]) * (high - low)
        room[room == 0] = 1.0
        (left, bottom), (right, top) = low - room, high + room
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.set_xlabel(f"first component ({self.shares[0]:.0%} of the variance)", fontsize=9)
        axes.set_ylabel(f"second component ({self.shares[1]:.0%} of the variance)", fontsize=9)
        # Positions have no unit.
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set(color=PALE, visible=True)


def _write_names(axes: "Axes", positions: Reals, labels: list[str]) -> NDArray[np.bool_]:
    """Write names where they cover no dot and no other name; return which were written."""
    from matplotlib.textpath import TextPath

    points = axes.transData.transform(positions) * (72.0 / axes.figure.dpi)
    frame = np.array(axes.bbox.extents) * (72.0 / axes.figure.dpi)
    boxes = np.concatenate([points - 1.0, points + 1.0], axis=1)
    has_name = np.zeros(len(points), dtype=bool)
    distances = ((positions / np.maximum(positions.std(axis=0), 1e-300)) ** 2).sum(axis=1)
    for i in np.argsort(-distances, kind="stable").tolist():
        width = float(TextPath((0, 0), labels[i], size=_FONT_SIZE).get_extents().width)
        others = np.delete(boxes, i, axis=0)
        for x, y, box in _iter_boxes(points[i], width):
            is_inside = (box[:2] >= frame[:2]).all() and (box[2:] <= frame[2:]).all()
            is_apart = (others[:, :2] >= box[2:]) | (others[:, 2:] <= box[:2])
            if is_inside and is_apart.any(axis=1).all():
                axes.annotate(
                    labels[i], positions[i], xytext=(x, y), textcoords="offset points",
                    ha="center", va="center", fontsize=_FONT_SIZE, zorder=3,
                )  # fmt: skip
                boxes, has_name[i] = np.vstack([boxes, box]), True
                break
    return has_name


def _iter_boxes(point: Reals, width: float) -> Iterator[tuple[float, float, Reals]]:
    """Yield the offset of a name from its dot, and the box that it would fill."""
    half = np.array([width / 2.0, _FONT_SIZE / 2.0])
    for right, up in _OFFSETS:
        x = right * width + np.sign(right) * _GAP
        y = up * _FONT_SIZE + np.sign(up) * _GAP
        middle = point + np.array([x, y])
        yield x, y, np.concatenate([middle - half - _ROOM, middle + half + _ROOM])
