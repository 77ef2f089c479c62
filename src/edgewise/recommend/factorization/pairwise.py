"""Factors that place what users chose above other items, pair by pair."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from edgewise.common.checks import integer, not_negative, positive
from edgewise.common.dtypes import ROW, Indices, Reals, Rows
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.factorization.base import FactorModel
from edgewise.recommend.kernels.factorization import Interactions, pair_products
from edgewise.recommend.parameters import SEED, Seeded, Threaded, Verbose, parameter

# One step in NumPy takes as long as visiting this many entries.
_VISITS_PER_STEP = 6000

# The loss is measured on this many choices.
_SAMPLE = 2_000


@dataclass(eq=False, repr=False)
class PairwiseFactorization(FactorModel, Seeded, Threaded, Verbose):
    """Stochastic gradient steps on pairs of a chosen and another item: BPR.

    Each step takes a choice, draws an item that the user did not choose, and lowers the logistic
    loss of the difference of their scores (Rendle, Freudenthaler, Gantner and Schmidt-Thieme 2009).
    A score is a product of factors plus a bias of the item. A choice is a positive rating; sizes
    and weights do not matter. Predictions are scores, not ratings.

    Fitted: `user_factors_` and `item_factors_`, whose last column is 1 for users and the bias for
    items, and `loss_history_`, the share of choices that are not above an item drawn at random, at
    the start and after each epoch, on a sample.

    Parameters
    ----------
    n_factors : int, default 50
        Number of factors k.
    n_epochs : int, default 100
        Passes over the choices.
    learning_rate : float, default 0.05
        Step length.
    regularization : float, default 0.02
        The penalty on factors and biases, in each step. This and the two before were chosen on
        choices held out of training parts of MovieLens 100K and 1M.
    random_state, n_jobs, verbose
        See :class:`Recommender`; a fit runs on one thread.

    Examples
    --------
    >>> from edgewise import PairwiseFactorization, Ratings
    >>> chosen = Ratings.from_arrays([1, 1, 2, 2, 3, 3], [7, 8, 7, 8, 9, 6])
    >>> model = PairwiseFactorization(2, random_state=0).fit(chosen)
    >>> model.fold_in({4: {7: 1}}).recommend(4, n=1).ids
    array([8])
    """

    predicts = "score"
    stored: ClassVar = {"loss_history_": "epochs", "seed_": SEED}

    n_factors: int = parameter(50, integer, 1)
    _: KW_ONLY
    n_epochs: int = parameter(100, integer, 1)
    learning_rate: float = parameter(0.05, positive)
    regularization: float = parameter(0.02, not_negative)

    def _fit(self, ratings: Ratings) -> None:
        self.seed_ = self._seed()
        rng, k = np.random.default_rng(self.seed_), self.n_factors
        sizes = ratings.n_users, ratings.n_items
        users, items = (rng.normal(0.0, 0.1 / k**0.5, (size, k + 1)) for size in sizes)
        users[:, k], items[:, k] = 1.0, 0.0
        self._train(self._losses(ratings.by_user, users, items), self.n_epochs)
        self.user_factors_, self.item_factors_ = users, items

    def _losses(
        self, view: Grouped, users: Reals, items: Reals, moving: bool = True
    ) -> Iterator[float]:
        """Improve the factors of users, and of items if they are `moving`; yield the loss."""
        rate, penalty = float(self.learning_rate), float(self.regularization)
        chosen, rows = np.flatnonzero(view.values > 0).astype(ROW), view.row_numbers.astype(ROW)
        # What a user chose, in the order of the items; ratings of 0 and below are no choices.
        user_items = view.others[chosen]
        starts = np.searchsorted(chosen, view.starts).astype(view.starts.dtype)
        pairs = Interactions(rows, view.others, starts, user_items)
        state = np.random.default_rng([self.seed_, 1]).integers(1, 2**63, 1, dtype=np.uint64)
        kernels = self._kernels(float(_VISITS_PER_STEP) * len(chosen) * self.n_epochs)
        while True:
            yield self._wrong(view.others, rows, chosen, users, items) if moving else 0.0
            kernels.shuffle(chosen, state)
            rates = rate, rate if moving else 0.0
            kernels.descend_pairs(chosen, pairs, rates, penalty, state, users, items)

    def _wrong(self, others: Rows, rows: Rows, chosen: Rows, users: Reals, items: Reals) -> float:
        """Return the share of sampled choices that are not above an item drawn at random."""
        if not len(chosen):
            return 0.0
        rng = np.random.default_rng([self.seed_, 2])
        some = np.sort(chosen)[rng.integers(len(chosen), size=_SAMPLE)]
        drawn = rng.integers(len(items), size=_SAMPLE)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = pair_products(users, items, rows[some], others[some])
            gaps -= pair_products(users, items, rows[some], drawn)
        if not np.isfinite(gaps).all():
            raise ValueError(
                "learning_rate is too large, scores are no longer finite: try "
                f"{self.learning_rate / 10:g}"
            )
        return float((gaps <= 0).mean())

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        view = ratings.by_user.last(len(users))
        factors = np.zeros((len(users), self.n_factors + 1))
        factors[:, -1] = 1.0
        for i in range(len(users)):
            # One by one: the steps of a user do not depend on who else is new.
            row, at = factors[i : i + 1], view.span(i)
            only = Grouped(
                np.array([0, at.stop - at.start]), view.others[at], view.values[at], None,
                view.rows[at],
            )  # fmt: skip
            for _ in islice(self._losses(only, row, self.item_factors_, False), self.n_epochs + 1):
                pass
        self._add_users(factors)
