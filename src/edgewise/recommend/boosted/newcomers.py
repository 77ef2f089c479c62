"""The values of new users, as if they had been there in training."""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.climb import BOTH, ITEMS, along
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.passes import Passes
from edgewise.recommend.boosted.sides import step
from edgewise.recommend.boosted.training import Rounds, Settings, user_marks


def replayed(
    ratings: Ratings,
    users: NDArray[np.intp],
    levels: Levels,
    settings: Settings,
    rounds: Rounds,
    n_trained: int,
) -> Reals:
    """Return the values of new users in each round, shape (rounds, users).

    Item values and votes are as training left them. In each round the values of new users follow
    from their scores so far, as those of the old ones did: the ratings of an old user, given again
    under a new name, give the same values.

    Parameters
    ----------
    ratings : Ratings
        All ratings; those of new users come last.
    users : intp array
        The indices of the new users.
    levels, settings, rounds
        As in training.
    n_trained : int
        How many users there were in training: those that came later change nothing for others.
    """
    n_old = ratings.n_users - len(users)
    new = np.flatnonzero(ratings.users >= n_old)
    weights = np.ones(len(new))
    if ratings.weights is not None:
        weights = ratings.weights[new] / ratings.weights[ratings.users < n_trained].mean()
    passes = Passes(
        (ratings.users[new] - n_old).astype(np.int32), ratings.items[new], ratings.values[new],
        weights, levels, (len(users), ratings.n_items), len(rounds.kinds), 1,
    )  # fmt: skip
    marks = user_marks(ratings, settings, n_trained)
    own_marks = None if marks is None else marks[users]
    values = np.ones((len(rounds.kinds), len(users)))
    for t, kind in enumerate(rounds.kinds):
        if kind != ITEMS:
            product = kind == BOTH
            rate = settings.learning_rate if product else settings.bias_learning_rate
            own = settings.regularization if product else settings.bias_regularization
            slopes = along(*passes.sums("users", rounds.item_values[t]), rounds.votes[t] / rate)
            prior = None
            if product and own_marks is not None:
                prior = own_marks @ rounds.marks[t]
            values[t] = step(*slopes, own, prior)
        passes.advance(values[t], rounds.item_values[t], rounds.votes[t])
    passes.close()
    return values
