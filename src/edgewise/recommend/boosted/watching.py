"""What looks on while rounds are added: progress, and ratings held out to choose their number."""

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.common.progress import Step
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.climb import Found
from edgewise.recommend.boosted.levels import Levels


def best_round(errors: Reals, early_stopping_rounds: int | None) -> int:
    """Return the round of the least error, up to where early_stopping_rounds would have ended."""
    best = 0
    for t, error in enumerate(errors):
        if error < errors[best]:
            best = t
        elif early_stopping_rounds is not None and t - best >= early_stopping_rounds:
            break
    return best


class Watch:
    """A function that is called after each round, and says when to stop.

    Parameters
    ----------
    levels : Levels
        What the score columns ask.
    held_out : Ratings or None
        Ratings to validate on.
    early_stopping_rounds : int or None
        After how many rounds without a lower error to stop.
    step : function
        What tells of progress.
    """

    def __init__(
        self,
        levels: Levels,
        held_out: Ratings | None,
        early_stopping_rounds: int | None,
        step: Step,
    ) -> None:
        self.levels, self.held_out, self.early_stopping_rounds, self.step = (
            levels,
            held_out,
            early_stopping_rounds,
            step,
        )
        self.errors: list[float] = []
        self.n_seen = 0
        if held_out is not None:
            self.scores = np.zeros((len(held_out), levels.n_columns))

    @property
    def best(self) -> int:
        """The round with the least error on what was held out; else the last. The constant is 0."""
        return int(np.argmin(self.errors)) if self.errors else self.n_seen - 1

    def __call__(self, found: Found, votes: Reals, error: float) -> bool:
        """Take note of a round; return whether to stop."""
        self.n_seen += 1
        if self.n_seen > 1:
            self.step(error)
        if self.held_out is None:
            return False
        users, items = self.held_out.users, self.held_out.items
        products = found.user_values[users] * found.item_values[items]
        self.scores += products[:, None] * votes
        wrong = self.levels.expected(self.scores, True) - self.held_out.values
        self.errors.append(float(np.sqrt((wrong * wrong).mean())))
        return (
            self.early_stopping_rounds is not None
            and self.n_seen - 1 - self.best >= self.early_stopping_rounds
        )
