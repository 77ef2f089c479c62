"""k nearest neighbours among users or items, by similarities that count only what is common."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.ratings import Ratings
from edgewise.recommend.answers import Indices
from edgewise.recommend.neighbours.neighbourhood import Neighbourhood


class ItemKNN(Neighbourhood):
    r"""Item neighbourhoods: a user rates an item as it did the items most similar to it.

    The prediction is a baseline, mean plus biases, and the average of the user's deviations from
    it on the `k` nearest items that it rated:
    :math:`b_{ui} + \sum_j s_{ij} (r_{uj} - b_{uj}) / (\delta + \sum_j s_{ij})`. Only the nearest
    items of each are kept, never a matrix of all similarities.

    Parameters
    ----------
    k : int, default 40
        How many neighbours a prediction takes.
    similarity : {"cosine", "pearson", "adjusted", "residual"} or None, default None
        Cosines of the ratings; of their deviations from the item's mean; from the user's mean
        (the adjusted cosine); or from the baseline. What is not rated counts as 0. None is
        "adjusted", or "cosine" for implicit feedback.
    shrinkage : float, default 25
        A similarity from m common users counts m / (m + shrinkage) of itself.
    min_support : int, default 1
        The fewest common users.
    n_neighbours : int, default 200
        How many neighbours of each item are kept, of which a prediction takes the first `k` that
        the user rated. Memory grows with it.
    damping : float, default 0.1
        delta: predictions from few and weak similarities stay near the baseline.
    regularization : float, default 5
        How strongly the biases of the baseline are drawn to 0.
    implicit : bool, default False
        Scores are sums of similarities times ratings over the `k` nearest items, without baseline,
        as for chosen items that nobody rated.
    n_jobs : int or None, default 1
        Threads; the model is the same for any number. -1 takes all cores.

    Attributes
    ----------
    neighbours_, similarities_ : arrays of shape (items, n_neighbours)
        The nearest items of each, most similar first (-1 and 0 where there are fewer).
    user_biases_, item_biases_ : float64 arrays
        The baseline, with the mean rating.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import ItemKNN
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 5, "Fargo": 1, "Jaws": 5}, "bob": {"Heat": 1, "Fargo": 5},
    ...     "cat": {"Heat": 5, "Fargo": 2, "Jaws": 4}, "dan": {"Fargo": 4, "Jaws": 2}})
    >>> model = ItemKNN(k=2, similarity="pearson").fit(ratings)
    >>> model.similar_items("Heat").ids
    array(['Jaws'], dtype='<U5')
    >>> model.explain("bob", "Jaws")
    [Reason(id='Heat', similarity=..., rating=1.0)]
    """

    _side = "items"
    _usual = "adjusted"
    stored: ClassVar = {
        "neighbours_": "items kept",
        "similarities_": "items kept",
        "user_biases_": "users",
        "item_biases_": "items",
    }

    def __init__(
        self,
        k: int = 40,
        *,
        similarity: str | None = None,
        shrinkage: float = 25.0,
        min_support: int = 1,
        n_neighbours: int = 200,
        damping: float = 0.1,
        regularization: float = 5.0,
        implicit: bool = False,
        n_jobs: int | None = 1,
    ) -> None:
        self.k = k
        self.similarity = similarity
        self.shrinkage = shrinkage
        self.min_support = min_support
        self.n_neighbours = n_neighbours
        self.damping = damping
        self.regularization = regularization
        self.implicit = implicit
        self.n_jobs = n_jobs


class UserKNN(Neighbourhood):
    r"""User neighbourhoods: a user rates an item as the users most similar to it did.

    The prediction is a baseline, mean plus biases, and the average deviation from it of the `k`
    nearest users who rated the item:
    :math:`b_{ui} + \sum_v s_{uv} (r_{vi} - b_{vi}) / (\delta + \sum_v s_{uv})`. Only the nearest
    users of each are kept, never a matrix of all similarities.

    Parameters
    ----------
    k : int, default 40
        How many neighbours a prediction takes.
    similarity : {"cosine", "pearson", "adjusted", "residual"} or None, default None
        Cosines of the ratings; of their deviations from the user's mean; from the item's mean; or
        from the baseline. What is not rated counts as 0. None is "residual", or "cosine" for
        implicit feedback.
    shrinkage : float, default 25
        A similarity from m common items counts m / (m + shrinkage) of itself.
    min_support : int, default 1
        The fewest common items.
    n_neighbours : int, default 200
        How many neighbours of each user are kept, of whom a prediction takes the first `k` who
        rated the item. Memory grows with it.
    damping : float, default 0.2
        delta: predictions from few and weak similarities stay near the baseline.
    regularization : float, default 5
        How strongly the biases of the baseline are drawn to 0.
    implicit : bool, default False
        Scores are sums of similarities times ratings over the `k` nearest users, without baseline,
        as for chosen items that nobody rated.
    n_jobs : int or None, default 1
        Threads; the model is the same for any number. -1 takes all cores.

    Attributes
    ----------
    neighbours_, similarities_ : arrays of shape (users, n_neighbours)
        The nearest users of each, most similar first (-1 and 0 where there are fewer).
    user_biases_, item_biases_ : float64 arrays
        The baseline, with the mean rating.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import UserKNN
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 5, "Fargo": 1, "Jaws": 5}, "bob": {"Heat": 1, "Fargo": 5},
    ...     "cat": {"Heat": 5, "Fargo": 2, "Jaws": 4}, "dan": {"Fargo": 5, "Jaws": 2}})
    >>> model = UserKNN(k=2, similarity="pearson").fit(ratings)
    >>> model.similar_users("bob").ids
    array(['dan'], dtype='<U3')
    >>> bool(model.predict("bob", "Jaws") < model.predict("cat", "Jaws"))
    True
    """

    _side = "users"
    _usual = "residual"
    stored: ClassVar = {
        "neighbours_": "users kept",
        "similarities_": "users kept",
        "user_biases_": "users",
        "item_biases_": "items",
    }

    def __init__(
        self,
        k: int = 40,
        *,
        similarity: str | None = None,
        shrinkage: float = 25.0,
        min_support: int = 1,
        n_neighbours: int = 200,
        damping: float = 0.2,
        regularization: float = 5.0,
        implicit: bool = False,
        n_jobs: int | None = 1,
    ) -> None:
        self.k = k
        self.similarity = similarity
        self.shrinkage = shrinkage
        self.min_support = min_support
        self.n_neighbours = n_neighbours
        self.damping = damping
        self.regularization = regularization
        self.implicit = implicit
        self.n_jobs = n_jobs

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        super()._fold_in(ratings, users)
        limit = len(self.neighbours_)
        near = self._nearest(ratings, users, limit, limit)
        self.neighbours_ = _stacked(self.neighbours_, near.others, -1)
        self.similarities_ = _stacked(self.similarities_, near.similarities, 0)


def _stacked(upper: NDArray, lower: NDArray, fill: int) -> NDArray:
    """Return the rows of two tables, the narrower one filled up, in one new table."""
    shape = (len(upper) + len(lower), max(upper.shape[1], lower.shape[1]))
    table = np.full(shape, fill, dtype=upper.dtype)
    table[: len(upper), : upper.shape[1]] = upper
    table[len(upper) :, : lower.shape[1]] = lower
    return table
