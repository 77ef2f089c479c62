"""A map of the items of a recommender, where items liked by the same users are close."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.plots.drawing import BLUE, GREY, INK, PALE, empty_figure, escaped, finished
from edgewise.report.recommender import principal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgewise.recommend import Recommender

_FONT_SIZE = 8.0
# Places to try for a name beside its dot: offsets of its centre in widths and heights.
_PLACES = (
    *((0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)),
    *((0.5, 0.5), (-0.5, 0.5), (0.5, -0.5), (-0.5, -0.5)),
)
# Space between a dot and its name, and between two names, in points.
_GAP, _ROOM = 5.0, 1.5
# Longer names are cut.
_LONGEST = 32


class Directions(NamedTuple):
    """Positions of items along the two directions in which they differ most.

    Attributes
    ----------
    ids : array of shape (n,)
        The items, the most rated first.
    positions : float64 array of shape (n, 2)
        The position of each item.
    shares : float64 array of shape (2,)
        The share of the variance along each direction.
    """

    ids: NDArray[Any]
    positions: Reals
    shares: Reals


def item_directions(model: "Recommender", n: int = 100) -> Directions:
    """Return the positions of the most rated items along their first two principal components.

    The vectors are the model's item factors without biases, or the ratings of the items if the
    model has no factors. The item farthest out is on the positive side of each direction.

    Parameters
    ----------
    model : Recommender
        A fitted recommender.
    n : int, default 100
        Number of items, the most rated first.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.plots import item_directions
    >>> from edgewise.recommend import SVDRecommender
    >>> ratings = Ratings.from_matrix([[5, 4, 1, 2], [4, 5, 2, 1], [1, 1, 5, 4]])
    >>> found = item_directions(SVDRecommender(n_factors=2).fit(ratings))
    >>> found.positions[:, 0] > 0
    array([False, False,  True,  True])
    """
    from edgewise.recommend.base import Recommender

    integer("n", n, 3)
    if not isinstance(model, Recommender):
        raise TypeError(f"model must be a recommender, got {type(model).__name__}")
    ratings = model._trained()
    sizes = np.where(model.known_items_, ratings.by_item.sizes, -1)
    chosen = np.argsort(-sizes, kind="stable")[:n]
    chosen = chosen[sizes[chosen] >= 0]
    if len(chosen) < 3:
        raise ValueError(f"model must know at least 3 items to draw, it knows {len(chosen)}")
    vectors = model._vectors("items")[chosen]
    positions, shares = principal(vectors)
    return Directions(ratings.item_ids.values[chosen], positions, shares)


def item_factors(
    model: "Recommender",
    names: Mapping[Any, str] | None = None,
    n: int = 100,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
) -> "Figure":
    """Draw the most rated items along the two directions in which they differ most.

    Items that are close are liked by the same users. Names are written where there is room,
    farthest items first; the other items are grey dots.

    Parameters
    ----------
    model : Recommender
        A fitted recommender; see :func:`item_directions`.
    names : mapping of ids to str, default None
        Names of the items; an item without one shows its id.
    n : int, default 100
        Number of items, the most rated first.
    path : str or path-like, default None
        Write the picture here; the suffix is the format, ``.png`` by default.
    title : str, default None
        A heading.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.plots import item_factors
    >>> from edgewise.recommend import SVDRecommender
    >>> ratings = Ratings.from_matrix([[5, 4, 1, 2], [4, 5, 2, 1], [1, 1, 5, 4]])
    >>> model = SVDRecommender(n_factors=2).fit(ratings)
    >>> figure = item_factors(model, {0: "Alien", 1: "Brazil", 2: "Clue", 3: "Diva"})
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['Alien', 'Brazil', 'Clue', 'Diva']
    """
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(f"names must map ids to names, got {type(names).__name__}")
    found = item_directions(model, n)
    figure = empty_figure(9.0, 7.0)
    axes = figure.subplots()
    named = {} if names is None else names
    words = [_short(named.get(one, one)) for one in found.ids.tolist()]
    _frame(axes, found)
    if title is not None:
        axes.set_title(title, loc="left", color=INK)
    # The layout decides where points are.
    figure.draw_without_rendering()
    written = _write_names(axes, found.positions, words)
    for mask, colour, size in ((written, BLUE, 14), (~written, PALE, 9)):
        x, y = found.positions[mask].T
        axes.scatter(x, y, s=size, color=colour, linewidths=0, zorder=2)
    return finished(figure, path)


def _frame(axes: "Axes", found: Directions) -> None:
    """Set limits and labels, and draw a cross at the average item."""
    axes.axhline(0.0, color="#E6E6E6", linewidth=0.8, zorder=0)
    axes.axvline(0.0, color="#E6E6E6", linewidth=0.8, zorder=0)
    # Room for names, which are wide.
    low, high = found.positions.min(axis=0), found.positions.max(axis=0)
    room = np.array([0.12, 0.05]) * (high - low)
    room[room == 0] = 1.0
    axes.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))
    words = [f"direction ({share:.0%} of how the items differ)" for share in found.shares]
    axes.set_xlabel(f"first {words[0]}", color=GREY, fontsize=9)
    axes.set_ylabel(f"second {words[1]}", color=GREY, fontsize=9)
    # Positions have no unit.
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color(PALE)


def _write_names(axes: "Axes", positions: Reals, words: list[str]) -> NDArray[np.bool_]:
    """Write names where they cover no dot and no other name; return which were written."""
    from matplotlib.textpath import TextPath

    points = axes.transData.transform(positions) * (72.0 / axes.figure.dpi)
    frame = np.array(axes.bbox.extents) * (72.0 / axes.figure.dpi)
    taken = np.concatenate([points - 1.0, points + 1.0], axis=1)
    written = np.zeros(len(points), dtype=bool)
    spread = positions / np.maximum(positions.std(axis=0), 1e-300)
    for at in np.argsort(-(spread**2).sum(axis=1), kind="stable").tolist():
        width = float(TextPath((0, 0), words[at], size=_FONT_SIZE).get_extents().width)
        others = np.delete(taken, at, axis=0)
        for x, y, box in _boxes(points[at], width):
            inside = (box[:2] >= frame[:2]).all() and (box[2:] <= frame[2:]).all()
            if inside and not _overlaps(box, others):
                axes.annotate(
                    words[at], positions[at], xytext=(x, y), textcoords="offset points",
                    ha="center", va="center", fontsize=_FONT_SIZE, color=INK, zorder=3,
                )  # fmt: skip
                taken, written[at] = np.vstack([taken, box]), True
                break
    return written


def _boxes(point: Reals, width: float) -> Iterator[tuple[float, float, Reals]]:
    """Yield the offset of a name from its dot, and the box that it would fill."""
    half = np.array([width / 2.0, _FONT_SIZE / 2.0])
    for right, up in _PLACES:
        x = right * width + np.sign(right) * _GAP
        y = up * _FONT_SIZE + np.sign(up) * _GAP
        middle = point + np.array([x, y])
        yield x, y, np.concatenate([middle - half - _ROOM, middle + half + _ROOM])


def _overlaps(box: Reals, others: Reals) -> bool:
    apart = (others[:, :2] >= box[2:]) | (others[:, 2:] <= box[:2])
    return bool((~apart.any(axis=1)).any())


def _short(name: Any) -> str:
    """Return a name that is not too long."""
    word = str(name)
    return escaped(word if len(word) <= _LONGEST else word[: _LONGEST - 1].rstrip() + "…")
