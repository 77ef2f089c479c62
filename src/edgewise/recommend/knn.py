"""k nearest neighbors among users or items, with similarities that count common ratings only."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.checks import flag, integer, not_negative, one_of
from edgewise.common.dtypes import ROW, Indices, Reals
from edgewise.common.fields import Array
from edgewise.model.explain import Contribution
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.arrays import view_means, weights_of
from edgewise.recommend.base import ExplainedRecommender
from edgewise.recommend.baselines import BiasedRecommender
from edgewise.recommend.kernels import load_kernels, map_spans
from edgewise.recommend.kernels.neighbors import Entries, Neighbors
from edgewise.recommend.model import MAX_INTEGER, Approximation, Threaded, parameter

SIMILARITIES = ("cosine", "pearson", "adjusted", "residual")

# Ten epochs bring biases within a thousandth of their limit on ml-100k.
_BIAS_EPOCHS = 10

# The time of SciPy for a product of two entries, and of NumPy for the similarity of two rows or for
# looking up a neighbor, in entries of an array visited.
_VISITS_PER_PRODUCT, _VISITS_PER_PAIR = 6, 20


class NeighborSearch(NamedTuple):
    """How similarities from few common columns are damped, and how many neighbors are searched."""

    n_neighbors: int
    shrinkage: float
    min_support: int
    limit: int
    """Only rows below it are neighbors."""
    n_threads: int = 1


def nearest_rows(
    rows: Grouped, columns: Grouped, values: Reals, targets: Indices, search: NeighborSearch
) -> Neighbors:
    """Return the most similar rows of some rows, by the cosines of their values.

    `rows` and `columns` are the ratings by either side, and `values` has a number for each rating
    in their original order. A similarity from m common columns is multiplied by
    ``m / (m + shrinkage)``, and is 0 if m is below min_support. Memory grows with the neighbors,
    not with the pairs of rows.
    """
    by_row, by_column = (
        Entries(view.starts, view.others, values[view.rows], np.zeros(0))
        for view in (rows, columns)
    )
    norms = np.sqrt(np.bincount(rows.row_numbers, by_row.values**2, rows.n_rows))
    shape = len(targets), search.n_neighbors
    near = Neighbors(np.full(shape, -1, ROW), np.zeros(shape))
    damping = float(search.shrinkage), search.min_support
    kernels = load_kernels("neighbors", _search_visits(rows, columns, len(targets)))

    def search_span(span: slice) -> None:
        span_near = Neighbors(near.others[span], near.similarities[span])
        kernels.nearest(by_row, by_column, norms, targets[span], damping, search.limit, span_near)

    map_spans(kernels, search.n_threads, search_span, len(targets))
    return near


def neighbor_sums(
    near: Neighbors,
    view: Grouped,
    values: Reals,
    pairs: tuple[Indices, Indices],
    k: int,
    n_threads: int = 1,
    visits: float = 0.0,
) -> tuple[Reals, Reals]:
    """Return sums over the `k` nearest neighbors of a row that have a value in a column.

    `view` has the ratings by column, `values` a number for each of them. The first sum is of
    similarity times weight times value, the second of similarity times weight, for each of the
    `pairs` of rows and columns. `visits` is the work that the kernels have done before.
    """
    # By column: its values are looked up in a table of all rows, filled once for each.
    rows, columns = pairs
    order = np.argsort(columns, kind="stable")
    present, number = np.unique(columns, return_inverse=True)
    targets, numbers = rows[order], number[order]
    positions = view.entries(present)
    starts = np.concatenate([[0], np.cumsum(view.sizes[present])])
    weights = weights_of(view)[positions]
    entries = Entries(starts, view.others[positions], values[positions], weights)
    totals, masses = np.empty((2, len(order)))
    tables = float(len(near.others)) * np.count_nonzero(np.diff(numbers, prepend=-1))
    visits += float(_VISITS_PER_PAIR) * len(order) * near.others.shape[1] + tables
    kernels = load_kernels("neighbors", visits)

    def sum_span(span: slice) -> None:
        sums = totals[span], masses[span]
        kernels.averages(near, entries, targets[span], numbers[span], k, *sums)

    map_spans(kernels, n_threads, sum_span, len(order))
    sums = np.empty((2, len(order)))
    sums[:, order] = totals, masses
    return sums[0], sums[1]


def _search_visits(rows: Grouped, columns: Grouped, n_targets: int) -> float:
    fraction = n_targets / max(1, rows.n_rows)
    products = float((columns.sizes.astype(np.float64) ** 2).sum())
    pairs = n_targets * float(rows.n_rows)
    return _VISITS_PER_PRODUCT * fraction * products + _VISITS_PER_PAIR * pairs


@dataclass(eq=False, repr=False)
class KNNRecommender(BiasedRecommender, ExplainedRecommender, Threaded):
    """Base of user and item neighborhoods.

    Rows are the compared side, users or items; columns are the other side.
    """

    adds_items = True
    stored: ClassVar = {"deviations_": None}

    _side: ClassVar[str]
    _default_similarity: ClassVar[str]
    _default_damping: ClassVar[float]

    # The work of the fit, after which the kernels may be loaded.
    _fit_visits = 0.0

    n_neighbors: int = parameter(40, integer, 1)
    _: KW_ONLY
    similarity: str | None = parameter(None, one_of, SIMILARITIES)
    shrinkage: float = parameter(25.0, not_negative)
    min_support: int = parameter(1, integer, 1)
    n_candidates: int = parameter(200, integer, 1)
    damping: float | None = parameter(None, not_negative)
    bias_damping: float = parameter(5.0, not_negative)
    implicit: bool = parameter(False, flag)

    @property
    def predicts(self) -> str:
        """The kind of predictions: ratings, or scores for implicit feedback."""
        return "score" if self.implicit else "rating"

    def _fit(self, ratings: Ratings) -> None:
        self.intercept_ = 0.0 if self.implicit else ratings.mean
        n_epochs = 0 if self.implicit else _BIAS_EPOCHS
        self._fit_biases(ratings, self.bias_damping, self.bias_damping, n_epochs)
        rows, columns = self._views(ratings)
        near = self._nearest(ratings, np.arange(rows.n_rows), rows.n_rows, ratings.n_users)
        self.neighbors_, self.similarities_ = near.others, near.similarities
        self._fit_visits = _search_visits(rows, columns, rows.n_rows)

    def _nearest(self, ratings: Ratings, targets: Indices, limit: int, n_users: int) -> Neighbors:
        """Return the nearest rows of some rows, among those below a limit."""
        n = self.n_neighbors if self.implicit else max(self.n_neighbors, self.n_candidates)
        search = NeighborSearch(
            min(n, max(1, limit)), self.shrinkage, self.min_support, limit, self._threads()
        )
        values = self._compared_values(ratings, n_users)
        return nearest_rows(*self._views(ratings), values, targets, search)

    def _compared_values(self, ratings: Ratings, n_users: int) -> Reals:
        """Return the numbers whose cosines are the similarities; only old users enter means."""
        default = "cosine" if self.implicit else self._default_similarity
        similarity = self.similarity or default
        if similarity == "cosine":
            return ratings.values
        if similarity == "residual":
            return ratings.values - self._baseline(ratings.users, ratings.items)
        if (similarity == "pearson") == (self._side == "users"):
            return ratings.values - ratings.by_user.means[ratings.users]
        old = ratings.take(ratings.users < n_users)
        return ratings.values - old.by_item.means[ratings.items]

    def _views(self, ratings: Ratings) -> tuple[Grouped, Grouped]:
        """Return the ratings by the side that is compared, and by the other side."""
        views = ratings.by_user, ratings.by_item
        return views if self._side == "users" else views[::-1]

    def _damping(self) -> float:
        return self._default_damping if self.damping is None else self.damping

    @cached_property
    def deviations_(self) -> Reals:
        """The numbers to average: ratings minus the baseline, by column."""
        ratings = self.ratings_
        deviations = ratings.values - self._baseline(ratings.users, ratings.items)
        return deviations[self._views(ratings)[1].rows]

    @abstractmethod
    def _source_entries(self) -> Entries:
        """Return what each source, a rated item or a neighbor, adds to the scores of items."""

    @abstractmethod
    def _sources(self, users: Indices) -> Entries:
        """Return the sources of some users, with amounts and shares."""

    def _user_scores(self, users: Indices) -> Reals:
        entries: Entries = self._build_once("sources", self._source_entries)
        sources = self._sources(users)
        totals = np.zeros((len(users), self.n_items_))
        # Implicit feedback takes all neighbors that the fit kept, and no average.
        takes_all = self.implicit and self.neighbors_.shape[1] <= self.n_neighbors
        shape = (len(users), 0) if takes_all else totals.shape
        masses, counts = np.zeros(shape), np.zeros(shape, dtype=ROW)
        # Rated items are not ordered by similarity: where they are too many, sums are redone below.
        limit = self.n_neighbors if self._side == "users" else MAX_INTEGER
        n_entries = float(np.diff(entries.starts)[sources.others].sum())
        kernels = load_kernels("neighbors", _VISITS_PER_PAIR * n_entries + self._fit_visits)
        kernels.spread(sources, entries, limit, totals, masses, counts)
        scores = totals
        if not self.implicit:
            masses += self._damping()
            np.divide(totals, masses, out=scores, where=masses > 0)
            scores += self.intercept_ + self.user_biases_[users, None] + self.item_biases_
        if self._side == "items" and not takes_all:
            rows, items = np.nonzero(counts > self.n_neighbors)
            if len(rows):
                scores[rows, items] = self._pair_scores(users[rows], items)
        return scores

    def _approximate_scores(self, users: Indices) -> Approximation:
        # Sums are in another order than for single pairs.
        return self._user_scores(users), np.full(len(users), self._build_once("error", self._error))

    def _error(self) -> float:
        """Return a bound of the rounding error of a score."""
        view = self.ratings_.by_user
        max_terms = max(int(view.sizes.max()), self.neighbors_.shape[1])
        size = float(np.abs(self.deviations_).max(initial=0.0))
        if self.implicit:
            size *= max_terms * float(weights_of(view).max())
        for biases in (self.user_biases_, self.item_biases_, np.array([self.intercept_])):
            size += float(np.abs(biases).max(initial=0.0))
        return float(8 * (max_terms + 8) * np.finfo(float).eps * size)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        pairs = (users, items) if self._side == "users" else (items, users)
        near, view = Neighbors(self.neighbors_, self.similarities_), self._views(self.ratings_)[1]
        totals, masses = neighbor_sums(
            near, view, self.deviations_, pairs, self.n_neighbors, self._threads(),
            self._fit_visits,
        )  # fmt: skip
        if self.implicit:
            return totals
        masses += self._damping()
        shares = np.divide(totals, masses, out=np.zeros_like(totals), where=masses > 0)
        return self._baseline(users, items) + shares

    def _similarities(self, side: str, indices: Indices) -> Reals:
        if side != self._side:
            return super()._similarities(side, indices)
        size = len(self.neighbors_)
        similar = np.full((len(indices), size + 1), -np.inf)
        # Neighbor -1, for none, is the extra column, which is cut off.
        rows = np.arange(len(indices))[:, None]
        similar[rows, self.neighbors_[indices]] = self.similarities_[indices]
        return similar[:, :size]

    def _vectors(self, side: str) -> Any:
        # Implicit feedback has no deviations from a mean.
        return self._rating_rows(side) if self.implicit else super()._vectors(side)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.__dict__.pop("deviations_", None)
        self._add_biases(ratings, users, None if self.implicit else self.bias_damping)

    def _fold_in_items(self, before: Ratings, now: Ratings, items: Indices) -> None:
        self.item_biases_ = np.append(self.item_biases_, np.zeros(now.n_items - before.n_items))
        if not self.implicit:
            view = now.by_item
            errors = view.values - self.intercept_ - self.user_biases_[view.others]
            self.item_biases_[items] = view_means(errors, view, self.bias_damping)[items]

    def _replace_neighbors(self, ratings: Ratings, rows: Indices) -> None:
        """Search the neighbors of some rows again, among all rows."""
        n_rows = self._views(ratings)[0].n_rows
        near = self._nearest(ratings, rows, n_rows, ratings.n_users)
        width = near.others.shape[1]
        n_added = n_rows - len(self.neighbors_)
        self.neighbors_ = _stack_tables(self.neighbors_, np.full((n_added, width), -1, ROW), -1)
        self.similarities_ = _stack_tables(self.similarities_, np.zeros((n_added, width)), 0)
        self.neighbors_[rows], self.similarities_[rows] = -1, 0.0
        self.neighbors_[rows, :width] = near.others
        self.similarities_[rows, :width] = near.similarities

    def _check_restored(self) -> None:
        super()._check_restored()
        if self.neighbors_.shape[1] == 0:
            raise ValueError("neighbors_ must have at least one column")

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        row, column = (user, item) if self._side == "users" else (item, user)
        ids, view = self._catalog(self._side)[0].values, self._views(self.ratings_)[1]
        near, similarities, span = self.neighbors_[row], self.similarities_[row], view.span(column)
        _, ranks, positions = np.intersect1d(near, view.others[span], return_indices=True)
        nearest = np.argsort(ranks)[: self.n_neighbors]
        ranks, entries = ranks[nearest], span.start + positions[nearest]
        weights = similarities[ranks] * weights_of(view)[entries]
        mass = 1.0 if self.implicit else float(weights.sum()) + self._damping()
        amounts = weights * self.deviations_[entries] / (mass or 1.0)
        contributions = [
            Contribution(str(name), amount, f"similarity {similarity:.2f}, rated {value:g}")
            for name, amount, similarity, value in zip(
                ids[near[ranks]].tolist(), amounts.tolist(), similarities[ranks],
                view.values[entries], strict=True,
            )
        ]  # fmt: skip
        pair = np.array([user]), np.array([item])
        if not self.implicit:
            contributions.append(Contribution("baseline", float(self._baseline(*pair)[0])))
        return float(self._pair_scores(*pair)[0]), contributions


class ItemKNN(KNNRecommender):
    r"""Item neighborhoods: predicts a rating from the user's ratings of the most similar items.

    The prediction is a baseline, mean plus biases, plus the average of the user's deviations from
    it on the `n_neighbors` nearest items that the user rated:
    :math:`b_{ui} + \sum_j s_{ij} (r_{uj} - b_{uj}) / (\delta + \sum_j s_{ij})`.

    Fitted: `neighbors_` and `similarities_`, shape (items, n_candidates): the nearest items of
    each, most similar first (-1 and 0 past the last); `user_biases_` and `item_biases_`.

    Parameters
    ----------
    n_neighbors : int, default 40
        The maximum number of neighbors that a prediction averages.
    similarity : {"cosine", "pearson", "adjusted", "residual"} or None, default None
        The cosine of the ratings; of their deviations from the item's mean; from the user's mean
        (the adjusted cosine); or from the baseline. Missing ratings count as 0. None is
        "adjusted", or "cosine" for implicit feedback.
    shrinkage : float, default 25
        A similarity from m common users is multiplied by m / (m + shrinkage).
    min_support : int, default 1
        The minimum number of common users.
    n_candidates : int, default 200
        Number of neighbors to store per item; a prediction takes the first `n_neighbors` that the
        user rated.
    damping : float or None, default None
        delta: pulls predictions from few or weak similarities toward the baseline. None is 0.1.
    bias_damping : float, default 5
        Pseudo-ratings at the mean that pull the biases of the baseline toward 0.
    implicit : bool, default False
        For implicit feedback: scores are sums of similarities times ratings over the nearest
        items, without a baseline.
    n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import ItemKNN, Ratings
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 5, "Fargo": 1, "Jaws": 5}, "bob": {"Heat": 1, "Fargo": 5},
    ...     "cat": {"Heat": 5, "Fargo": 2, "Jaws": 4}, "dan": {"Fargo": 4, "Jaws": 2}})
    >>> ItemKNN(n_neighbors=2, similarity="pearson").fit(ratings).similar_items("Heat").ids
    array(['Jaws'], dtype='<U5')
    """

    _side = "items"
    _default_similarity = "adjusted"
    _default_damping = 0.1

    stored: ClassVar = {
        "neighbors_": (Array("items candidates", ROW, below="items", min_index=-1)),
        "similarities_": "items candidates",
    }

    def _finish_update(self, ratings: Ratings, users: Indices) -> None:
        added = vars(self).get("added_items_")
        if added is not None:
            self._replace_neighbors(ratings, added)

    def _source_entries(self) -> Entries:
        # An item adds to those that it is a neighbor of.
        starts, others, similarities = Neighbors(self.neighbors_, self.similarities_).entries()
        shape = len(self.neighbors_), self.n_items_
        turned = sparse.csr_array((similarities, others, starts), shape=shape).tocsc()
        items, values = turned.indices.astype(ROW, copy=False), turned.data
        return Entries(turned.indptr.astype(np.int64), items, values, values)

    def _sources(self, users: Indices) -> Entries:
        view = self.ratings_.by_user
        entries = view.entries(users)
        starts = np.concatenate([[0], np.cumsum(view.sizes[users])])
        shares = weights_of(view)[entries]
        return Entries(starts, view.others[entries], self.deviations_[entries] * shares, shares)


class UserKNN(KNNRecommender):
    """User neighborhoods: predicts a rating from the ratings of the most similar users.

    The prediction is the baseline plus the average deviation from it of the `n_neighbors` nearest
    users who rated the item. Parameters and attributes are as for :class:`ItemKNN` with the roles
    of users and items exchanged, except that a `damping` of None is 0.2 and a `similarity` of None
    "residual", or "cosine" for implicit feedback.

    Examples
    --------
    >>> from edgewise import Ratings, UserKNN
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 5, "Fargo": 1, "Jaws": 5}, "bob": {"Heat": 1, "Fargo": 5},
    ...     "cat": {"Heat": 5, "Fargo": 2, "Jaws": 4}, "dan": {"Fargo": 5, "Jaws": 2}})
    >>> UserKNN(n_neighbors=2, similarity="pearson").fit(ratings).similar_users("bob").ids
    array(['dan'], dtype='<U3')
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 4}, "bob": {"Heat": 2, "Fargo": 5}})
    >>> print(UserKNN(similarity="cosine", shrinkage=1).fit(ratings).explain("ann", "Fargo"))
    Fargo for ann: 4.54
      +3.99  baseline
      +0.56  bob: similarity 0.19, rated 5
    """

    _side = "users"
    _default_similarity = "residual"
    _default_damping = 0.2
    stored: ClassVar = {
        "neighbors_": (Array("users candidates", ROW, below="users", min_index=-1)),
        "similarities_": "users candidates",
    }

    def _source_entries(self) -> Entries:
        view = self.ratings_.by_user
        weights = weights_of(view)
        deviations = view.values - self._baseline(view.row_numbers, view.others)
        return Entries(view.starts, view.others, deviations * weights, weights)

    def _sources(self, users: Indices) -> Entries:
        near = Neighbors(self.neighbors_[users], self.similarities_[users])
        starts, others, similarities = near.entries()
        return Entries(starts, others, similarities, similarities)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        super()._fold_in(ratings, users)
        limit = len(self.neighbors_)
        near = self._nearest(ratings, users, limit, limit)
        self.neighbors_ = _stack_tables(self.neighbors_, near.others, -1)
        self.similarities_ = _stack_tables(self.similarities_, near.similarities, 0)

    def _finish_update(self, ratings: Ratings, users: Indices) -> None:
        # Folding in known users again made their former selves their neighbors.
        self._replace_neighbors(ratings, users)


def _stack_tables(upper: NDArray, lower: NDArray, fill: int) -> NDArray:
    """Return two tables, one above the other, the narrower one padded with `fill`."""
    shape = (len(upper) + len(lower), max(upper.shape[1], lower.shape[1]))
    table = np.full(shape, fill, dtype=upper.dtype)
    table[: len(upper), : upper.shape[1]] = upper
    table[len(upper) :, : lower.shape[1]] = lower
    return table
