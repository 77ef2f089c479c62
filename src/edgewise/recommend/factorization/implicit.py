"""Factorisation of implicit feedback: what was chosen, and how sure that says something."""

from typing import Any, ClassVar

import numpy as np

from edgewise.common.checks import integer, not_negative, one_of
from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.recommend.answers import Indices
from edgewise.recommend.base import Recommender
from edgewise.recommend.factorization.alternating import visits_of_rows
from edgewise.recommend.factorization.checks import check_common
from edgewise.recommend.factorization.choice import worth_compiling
from edgewise.recommend.factorization.confidence import Confident, padded
from edgewise.recommend.factorization.entries import rows_from
from edgewise.recommend.factorization.objective import pair_products
from edgewise.recommend.factorization.threads import Team

SOLVERS = ("cg", "exact")

# The first was chosen on a tenth of the training ratings of MovieLens 100K; the second holds where
# there are few choices, which the first would leave nothing of.
_MOST_PENALTY, _SHARE_OF_LARGEST = 30.0, 0.4
_POWER_STEPS = 20


class ImplicitFactorization(Recommender):
    """Alternating least squares over all pairs, weighted by confidence.

    Everything counts: the preference p of a pair is 1 where its rating r is positive and 0 where
    it is not, or where there is none; the confidence is ``c = 1 + alpha |r|``, 1 where there is no
    rating (Hu, Koren and Volinsky 2008). The factors minimise::

        1/2 sum over all pairs of c_ij (p_ij - X_i Y_j')^2 + lambda / 2 (|X|^2 + |Y|^2)

    Time is linear in the number of ratings, as the gaps enter through one small matrix only.

    Parameters
    ----------
    n_factors : int, default 50
        Number of factors k.
    n_epochs : int, default 15
        How often all users, then all items are solved for.
    regularization : float or None, default None
        The lambda of the factors. None is 30, or less where there are few choices: two fifths of
        the largest singular value of the confidences.
    alpha : float, default 1.0
        How much a rating adds to the confidence. Weights of ratings multiply it.
    solver : {"cg", "exact"}, default "cg"
        A few steps of conjugate gradients from the factors of the last epoch, in single precision
        (Takács, Pilászy and Tikk 2011), or the exact solution.
    cg_steps : int, default 3
        The number of those steps.
    random_state : int, RandomState or None, default None
        Where the factors start.
    n_jobs : int, default 1
        Threads that share rows; -1 for all cores. The result is the same for any number.
    verbose : int, default 0
        1 shows progress.

    Attributes
    ----------
    user_factors_, item_factors_ : arrays of shape (users, k) and (items, k)
        X and Y.
    penalty_ : float
        Lambda, as it was given or chosen.
    loss_history_ : array of shape (n_epochs + 1,)
        The function at the start and after each epoch.

    Notes
    -----
    The defaults did well on a tenth of the training ratings of the first split of MovieLens 100K,
    held out for the purpose.

    Predictions are scores, not ratings. A new user is folded in exactly, with the items as they
    are.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import ImplicitFactorization
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 9])
    >>> model = ImplicitFactorization(n_factors=2, regularization=0.1, random_state=0)
    >>> model.fit(ratings).fold_in({4: {7: 1}}).recommend(4, n=1).ids
    array([8])
    """

    predicts: ClassVar[str] = "score"
    stored: ClassVar = {
        "user_factors_": "users k",
        "item_factors_": "items k",
        "loss_history_": "epochs",
    }

    user_factors_: Reals
    item_factors_: Reals
    loss_history_: Reals
    penalty_: float

    def __init__(
        self,
        n_factors: int = 50,
        n_epochs: int = 15,
        regularization: float | None = None,
        alpha: float = 1.0,
        solver: str = "cg",
        cg_steps: int = 3,
        random_state: Any = None,
        n_jobs: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.n_epochs = n_epochs
        self.regularization = regularization
        self.alpha = alpha
        self.solver = solver
        self.cg_steps = cg_steps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_common(self)
        if self.regularization is not None:
            not_negative("regularization", self.regularization)
        not_negative("alpha", self.alpha)
        one_of("solver", self.solver, SOLVERS)
        integer("cg_steps", self.cg_steps, 1)

    def _fit(self, ratings: Ratings) -> None:
        rng = np.random.default_rng(self._seed())
        self.penalty_ = self._penalty(ratings)
        X = rng.normal(0.0, 0.01, (ratings.n_users, self.n_factors))
        Y = rng.normal(0.0, 0.01, (ratings.n_items, self.n_factors))
        with self._progress(self.n_epochs, "epochs") as step, Team(self._threads()) as team:
            X, Y, losses = self._alternate(ratings, X, Y, team, step)
        k = self.n_factors
        self.user_factors_, self.item_factors_ = X[:, :k].astype(float), Y[:, :k].astype(float)
        self.loss_history_ = np.array(losses)

    def _penalty(self, ratings: Ratings) -> float:
        if self.regularization is not None:
            return float(self.regularization)
        matrix = ratings.csr()
        matrix.data = 1.0 + float(self.alpha) * np.abs(matrix.data)
        # The largest singular value, by power iteration. Past it the factors are 0.
        along = np.ones(ratings.n_items)
        for _ in range(_POWER_STEPS):
            along = matrix.T @ (matrix @ along)
            along /= np.linalg.norm(along)
        return min(_MOST_PENALTY, _SHARE_OF_LARGEST * float(np.linalg.norm(matrix @ along)))

    def _alternate(
        self, ratings: Ratings, X: Any, Y: Any, team: Team, step: Any
    ) -> tuple[Any, Any, list[float]]:
        penalty, alpha = self.penalty_, float(self.alpha)
        users = Confident.of(ratings.by_user, alpha, penalty)
        items = Confident.of(ratings.by_item, alpha, penalty)
        compiled = worth_compiling(self._visits(ratings))
        if self.solver == "cg":
            X, Y = padded(X), padded(Y)
        losses = [users.loss(X, Y, compiled)]
        for _ in range(self.n_epochs):
            if self.solver == "cg":
                users.improve(X, Y, self.cg_steps, compiled, team)
                items.improve(Y, X, self.cg_steps, compiled, team)
            else:
                X = users.exact(Y, compiled, team)
                Y = items.exact(X, compiled, team)
            losses.append(users.loss(X, Y, compiled))
            step(losses[-1])
        return X, Y, losses

    def _visits(self, ratings: Ratings) -> float:
        """Return how long a fit takes in NumPy, in entries that it visits."""
        rows, k = ratings.n_users + ratings.n_items, self.n_factors
        if self.solver == "exact":
            return self.n_epochs * visits_of_rows(rows, 2 * len(ratings), k)
        products = len(ratings) * (25 + 1.3 * k) + 0.1 * rows * k * k
        return self.n_epochs * (self.cg_steps + 1) * products

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return pair_products(self.user_factors_, self.item_factors_, users, items)

    def _user_scores(self, users: Indices) -> Reals:
        return self.user_factors_[users] @ self.item_factors_.T

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        side = rows_from(ratings.by_user, ratings.n_users - len(users))
        equations = Confident.of(side, float(self.alpha), self.penalty_)
        work = visits_of_rows(len(users), len(side.values), self.n_factors)
        with Team(self._threads()) as team:
            factors = equations.exact(self.item_factors_, worth_compiling(work), team)
        self.user_factors_ = np.vstack([self.user_factors_, factors])

    def _item_vectors(self) -> Reals:
        return self.item_factors_

    def _user_vectors(self) -> Reals:
        return self.user_factors_
