"""Non-negative factorisation by multiplicative updates (Shi 2025; Lee and Seung 2001)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from edgewise.common.checks import not_negative, one_of
from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.ratings.rows import Grouped
from edgewise.recommend.answers import Indices
from edgewise.recommend.base import Recommender
from edgewise.recommend.factorization.checks import check_common
from edgewise.recommend.factorization.choice import worth_compiling
from edgewise.recommend.factorization.entries import row_mass, row_numbers, rows_from
from edgewise.recommend.factorization.objective import pair_products
from edgewise.recommend.factorization.threads import Team

ENTRIES = ("observed", "all")

# What NumPy does with an entry, and with each factor of it, takes as long as so many entries that
# it visits otherwise.
_VISITS_AN_ENTRY, _VISITS_A_FACTOR = 60.0, 5.0


@dataclass(frozen=True, eq=False)
class Side:
    """The entries of the rows of one side, and how one multiplicative update is made of them.

    A row u with the entries R, their weights w and the rows y of the other side becomes
    ``u * (sum of w R y) / (sum of w (u y) y + penalty mass u)``, entry by entry. With `everything`
    the gaps are entries of 0 with the weight 1.
    """

    entries: Grouped
    penalty: float
    everything: bool
    compiled: bool

    def mass(self, n_others: int) -> Reals:
        """Return the sum of the weights of each row, gaps included where they count."""
        mass = row_mass(self.entries)
        return mass + n_others - self.entries.sizes if self.everything else mass

    def update(self, factors: Reals, others: Reals, team: Team) -> None:
        """Make one update of the factors, where they are."""
        if self.compiled and not self.everything:
            self._update_compiled(factors, others, team)
            return
        entries, weights = self.entries, self.entries.weights
        wanted = entries.values if weights is None else weights * entries.values
        above = self._matrix(wanted, len(others)) @ others
        below = self.penalty * self.mass(len(others))[:, None] * factors
        if self.everything:
            below += factors @ (others.T @ others)
        if not self.everything or weights is not None:
            had = pair_products(factors, others, row_numbers(entries), entries.others)
            if weights is not None:
                had *= weights - 1.0 if self.everything else weights
            below += self._matrix(had, len(others)) @ others
        factors *= np.divide(above, below, out=np.ones_like(below), where=below > 0)

    def _matrix(self, data: Reals, n_others: int) -> Any:
        shape = (len(self.entries.starts) - 1, n_others)
        return sparse.csr_array((data, self.entries.others, self.entries.starts), shape=shape)

    def _update_compiled(self, factors: Reals, others: Reals, team: Team) -> None:
        from edgewise.recommend.factorization.compiled import multiply_rows

        entries = self.entries
        weights = np.zeros(0) if entries.weights is None else entries.weights
        mass = self.mass(len(others))

        def run(start: int, stop: int) -> None:
            multiply_rows(
                start, stop, entries.starts, entries.others, entries.values, weights, others,
                mass, self.penalty, factors,
            )  # fmt: skip

        team.spread(run, entries.starts)

    def loss(self, factors: Reals, others: Reals, other_mass: Reals) -> float:
        """Return the function that updates of both sides make smaller."""
        total = self._squared_error(factors, others)
        if self.everything:
            total += float(np.vdot(factors.T @ factors, others.T @ others))
        for rows, mass in ((factors, self.mass(len(others))), (others, other_mass)):
            total += self.penalty * float(mass @ np.einsum("ij,ij->i", rows, rows))
        return 0.5 * total

    def _squared_error(self, factors: Reals, others: Reals) -> float:
        entries, rows = self.entries, row_numbers(self.entries).astype(np.int32)
        if self.compiled and not self.everything:
            from edgewise.recommend.factorization.compiled import squared_error

            weights = np.zeros(0) if entries.weights is None else entries.weights
            return squared_error(
                rows, entries.others, entries.values, weights, 0.0, factors, others,
                np.zeros(len(factors)), np.zeros(len(others)),
            )  # fmt: skip
        products = pair_products(factors, others, rows, entries.others)
        squares = (entries.values - products) ** 2
        if entries.weights is not None:
            squares *= entries.weights
        if self.everything:
            # The gaps' squares are summed over all pairs at once.
            squares -= products**2
        return float(squares.sum())


class NonNegativeFactorization(Recommender):
    """Factors that only add: users and items have none below 0 (Shi 2025).

    A rating is predicted as ``U_i V_j'``. Multiplicative updates minimise, over U >= 0 and V >= 0,
    the sum over the entries that count::

        1/2 sum of w_ij ((R_ij - U_i V_j')^2 + lambda (|U_i|^2 + |V_j|^2))

    and no update makes it larger.

    Parameters
    ----------
    n_factors : int, default 15
        Number of factors k.
    n_epochs : int, default 100
        How often all users, then all items are updated.
    entries : {"observed", "all"}, default "observed"
        What counts: what was rated, or everything, with 0 for what was not; then predictions are
        scores and no ratings.
    regularization : float, default 0.1
        The lambda of the factors, counted once for each entry of a row.
    random_state : int, RandomState or None, default None
        Where the factors start.
    n_jobs : int, default 1
        Threads that share rows, where `entries` is "observed". The result is the same for any
        number.
    verbose : int, default 0
        1 shows progress.

    Attributes
    ----------
    user_factors_, item_factors_ : arrays of shape (users, k) and (items, k)
        U and V, without a negative entry.
    loss_history_ : array of shape (n_epochs + 1,)
        The function at the start and after each epoch.

    Notes
    -----
    Ratings must not be negative. A new user is folded in by as many updates with the items as they
    are.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import NonNegativeFactorization
    >>> ratings = Ratings.from_matrix([[2.0, 4.0], [3.0, 6.0]])
    >>> model = NonNegativeFactorization(n_factors=1, regularization=0.0, random_state=0)
    >>> model.fit(ratings).predict([0, 1], [1, 0]).round(3)
    array([4., 3.])
    """

    stored: ClassVar = {
        "user_factors_": "users k",
        "item_factors_": "items k",
        "loss_history_": "epochs",
    }

    user_factors_: Reals
    item_factors_: Reals
    loss_history_: Reals

    def __init__(
        self,
        n_factors: int = 15,
        n_epochs: int = 100,
        entries: str = "observed",
        regularization: float = 0.1,
        random_state: Any = None,
        n_jobs: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.n_epochs = n_epochs
        self.entries = entries
        self.regularization = regularization
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def predicts(self) -> str:  # type: ignore[override]
        """What predictions are: ratings, or scores where the gaps count as 0."""
        return "rating" if self.entries == "observed" else "score"

    def _check_parameters(self) -> None:
        check_common(self)
        one_of("entries", self.entries, ENTRIES)
        not_negative("regularization", self.regularization)

    def _fit(self, ratings: Ratings) -> None:
        if ratings.low < 0:
            raise ValueError(f"ratings must not be negative here, got {ratings.low:g}")
        users, items = (self._side(side, self.n_epochs) for side in _sides(ratings))
        start = self._start(ratings, users)
        rng = np.random.default_rng(self._seed())
        U = start * rng.uniform(0.5, 1.5, (ratings.n_users, self.n_factors))
        V = start * rng.uniform(0.5, 1.5, (ratings.n_items, self.n_factors))
        item_mass = items.mass(ratings.n_users)
        losses = [users.loss(U, V, item_mass)]
        with self._progress(self.n_epochs, "epochs") as step, Team(self._threads()) as team:
            for _ in range(self.n_epochs):
                users.update(U, V, team)
                items.update(V, U, team)
                losses.append(users.loss(U, V, item_mass))
                step(losses[-1])
        self.user_factors_, self.item_factors_ = U, V
        self.loss_history_ = np.array(losses)

    def _side(self, entries: Grouped, n_updates: int) -> Side:
        work = _VISITS_AN_ENTRY + _VISITS_A_FACTOR * self.n_factors
        work *= len(entries.values) * n_updates
        everything = self.entries == "all"
        return Side(entries, float(self.regularization), everything, worth_compiling(work))

    def _start(self, ratings: Ratings, users: Side) -> float:
        """Return the factor that makes all products the mean of what counts."""
        weights = 1.0 if ratings.weights is None else ratings.weights
        mean = float((weights * ratings.values).sum() / users.mass(ratings.n_items).sum())
        return (mean / self.n_factors) ** 0.5

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return pair_products(self.user_factors_, self.item_factors_, users, items)

    def _user_scores(self, users: Indices) -> Reals:
        return self.user_factors_[users] @ self.item_factors_.T

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        side = self._side(rows_from(ratings.by_user, ratings.n_users - len(users)), self.n_epochs)
        factors = np.full((len(users), self.n_factors), self._start(ratings, side))
        with Team(self._threads()) as team:
            for _ in range(self.n_epochs):
                side.update(factors, self.item_factors_, team)
        self.user_factors_ = np.vstack([self.user_factors_, factors])

    def _item_vectors(self) -> Reals:
        return self.item_factors_

    def _user_vectors(self) -> Reals:
        return self.user_factors_


def _sides(ratings: Ratings) -> tuple[Grouped, Grouped]:
    return ratings.by_user, ratings.by_item
