"""What user and item neighbourhoods share: similarities, averages over neighbours, reasons."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import flag, integer, not_negative, one_of, threads
from edgewise.common.dtypes import Reals, Rows
from edgewise.ratings import Ratings
from edgewise.ratings.rows import Grouped
from edgewise.recommend.answers import Indices
from edgewise.recommend.base import Recommender
from edgewise.recommend.factorization.offsets import new_offsets, offsets
from edgewise.recommend.neighbours.matrix import Criteria, Nearest, matrix_of, row_means
from edgewise.recommend.neighbours.search import averages, nearest

# Ten turns bring biases within a thousandth of where they end on ml-100k.
_SWEEPS = 10

SIMILARITIES = ("cosine", "pearson", "adjusted", "residual")


class Reason(NamedTuple):
    """A neighbour that a prediction is made of.

    Attributes
    ----------
    id : int or str
        The similar item, which the user rated, or the similar user, who rated the item.
    similarity : float
        How similar it is.
    rating : float
        That rating.

    Examples
    --------
    >>> Reason("Heat", 0.5, 4.0).rating
    4.0
    """

    id: Any
    similarity: float
    rating: float


class Neighbourhood(Recommender):
    """Base of user and item neighbourhoods: rows are compared, columns have the ratings."""

    stored: ClassVar = {"deviations_": None}

    _side: ClassVar[str]
    _usual: ClassVar[str]

    neighbours_: Rows
    similarities_: Reals
    user_biases_: Reals
    item_biases_: Reals
    deviations_: Reals

    k: int
    similarity: str | None
    shrinkage: float
    min_support: int
    n_neighbours: int
    damping: float
    regularization: float
    implicit: bool
    n_jobs: int | None

    @property
    def predicts(self) -> str:  # type: ignore[override]
        """Whether scores are ratings: "score" for implicit feedback."""
        return "score" if self.implicit else "rating"

    def _check_parameters(self) -> None:
        integer("k", self.k, 1)
        if self.similarity is not None:
            one_of("similarity", self.similarity, SIMILARITIES)
        not_negative("shrinkage", self.shrinkage)
        integer("min_support", self.min_support, 1)
        integer("n_neighbours", self.n_neighbours, 1)
        not_negative("damping", self.damping)
        not_negative("regularization", self.regularization)
        flag("implicit", self.implicit)
        threads("n_jobs", self.n_jobs)

    def _fit(self, ratings: Ratings) -> None:
        biases = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
        if not self.implicit:
            biases = offsets(ratings, self.regularization, self.regularization, _SWEEPS)
        self.user_biases_, self.item_biases_ = biases
        n_rows = self._views(ratings)[0].starts.size - 1
        near = self._nearest(ratings, np.arange(n_rows), n_rows, ratings.n_users)
        self.neighbours_, self.similarities_ = near.others, near.similarities

    def _nearest(self, ratings: Ratings, targets: Indices, limit: int, n_users: int) -> Nearest:
        """Return the nearest rows of some rows, among those below a limit."""
        rows, columns = self._views(ratings)
        matrix = matrix_of(rows, columns, self._compared(ratings, n_users))
        kept = self.k if self.implicit else max(self.k, self.n_neighbours)
        criteria = Criteria(min(kept, max(1, limit)), self.shrinkage, self.min_support, limit)
        return nearest(matrix, targets, criteria, self._threads())

    def _compared(self, ratings: Ratings, n_users: int) -> Reals:
        """Return the numbers that similarities are the cosines of; only old users' make means."""
        usual = "cosine" if self.implicit else self._usual
        chosen = usual if self.similarity is None else self.similarity
        if chosen == "cosine":
            return ratings.values
        if chosen == "residual":
            return ratings.values - self._baseline(ratings.users, ratings.items)
        if (chosen == "pearson") == (self._side == "users"):
            return ratings.values - row_means(ratings.by_user)[ratings.users]
        old = ratings.take(ratings.users < n_users)
        return ratings.values - row_means(old.by_item)[ratings.items]

    def _views(self, ratings: Ratings) -> tuple[Grouped, Grouped]:
        """Return the ratings by what is compared, and by the other side."""
        views = ratings.by_user, ratings.by_item
        return views if self._side == "users" else views[::-1]

    def _baseline(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> Reals:
        """Return what is predicted without neighbours."""
        mean = 0.0 if self.implicit else self.mean_
        return mean + self.user_biases_[users] + self.item_biases_[items]

    @property
    def _near(self) -> Nearest:
        return Nearest(self.neighbours_, self.similarities_)

    def _kept_deviations(self) -> Reals:
        """Return what is averaged, in the order of the columns' view; made when first needed."""
        kept: Reals | None = vars(self).get("deviations_")
        if kept is None:
            ratings = self.ratings_
            rest = ratings.values - self._baseline(ratings.users, ratings.items)
            kept = self.deviations_ = rest[self._views(ratings)[1].rows]
        return kept

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        targets, columns = (users, items) if self._side == "users" else (items, users)
        view = self._views(self.ratings_)[1]
        values = self._kept_deviations()
        weights = np.ones(len(values)) if view.weights is None else view.weights
        totals, masses = averages(
            self._near, view.starts, view.others, values, weights, targets, columns, self.k,
            self._threads(),
        )  # fmt: skip
        if self.implicit:
            return totals
        masses += self.damping
        shares = np.divide(totals, masses, out=np.zeros_like(totals), where=masses > 0)
        return self._baseline(users, items) + shares

    def _user_scores(self, users: Indices) -> Reals:
        known = np.flatnonzero(self.known_items_)
        scores = np.full((len(users), self.n_items_), -np.inf)
        if self._side == "items":
            found = self._pair_scores(np.repeat(users, len(known)), np.tile(known, len(users)))
            scores[:, known] = found.reshape(len(users), len(known))
        else:
            # All users of an item follow each other, so that its ratings are looked up once.
            found = self._pair_scores(np.tile(users, len(known)), np.repeat(known, len(users)))
            scores[:, known] = found.reshape(len(known), len(users)).T
        return scores

    def _similarities(self, side: str, places: Indices) -> Reals:
        if side != self._side:
            return super()._similarities(side, places)
        size = len(self.neighbours_)
        similar = np.full((len(places), size + 1), -np.inf)
        # Neighbour -1, none, falls into the column that is cut off.
        similar[np.arange(len(places))[:, None], self.neighbours_[places]] = self.similarities_[
            places
        ]
        return similar[:, :size]

    def _item_vectors(self) -> Any:
        # Choices say nothing by their deviation from a mean.
        return self.ratings_.csr().T.tocsr() if self.implicit else super()._item_vectors()

    def _user_vectors(self) -> Any:
        return self.ratings_.csr() if self.implicit else super()._user_vectors()

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.deviations_ = None  # type: ignore[assignment]
        new = np.zeros(len(users))
        if not self.implicit:
            new = new_offsets(
                ratings, len(users), self.mean_, self.item_biases_, self.regularization
            )
        self.user_biases_ = np.concatenate([self.user_biases_, new])

    def _restored(self) -> None:
        super()._restored()
        size = len(self.neighbours_)
        if self.neighbours_.dtype.kind != "i" or self.neighbours_.shape[1] == 0:
            raise ValueError("neighbours_ must be row numbers")
        if self.neighbours_.min(initial=-1) < -1 or self.neighbours_.max(initial=-1) >= size:
            raise ValueError(f"neighbours_ must be row numbers below {size}")

    def explain(self, user: Any, item: Any, n: int = 5) -> list[Reason]:
        """Return the neighbours that a prediction is made of, the most similar first.

        Parameters
        ----------
        user, item : id
            The pair.
        n : int, default 5
            How many of the neighbours at most.

        Returns
        -------
        list of Reason
            Similar items that the user rated, or similar users who rated the item.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> from edgewise.recommend import UserKNN
        >>> ratings = Ratings.from_dict({"ann": {"Heat": 4}, "bob": {"Heat": 2, "Fargo": 5}})
        >>> model = UserKNN(similarity="cosine", shrinkage=1).fit(ratings)
        >>> [(reason.id, reason.rating) for reason in model.explain("ann", "Fargo")]
        [('bob', 5.0)]
        """
        integer("n", n, 1)
        ratings = self._trained()
        u = int(ratings.user_ids.require("users", [user])[0])
        i = int(ratings.item_ids.require("items", [item])[0])
        row, column = (u, i) if self._side == "users" else (i, u)
        ids = ratings.user_ids.values if self._side == "users" else ratings.item_ids.values
        view = self._views(ratings)[1]
        span = view.span(column)
        rated = dict(zip(view.others[span].tolist(), view.values[span].tolist(), strict=True))
        near = zip(self.neighbours_[row].tolist(), self.similarities_[row].tolist(), strict=True)
        found = [Reason(ids[v].item(), s, rated[v]) for v, s in near if v in rated]
        return found[: min(n, self.k)]
