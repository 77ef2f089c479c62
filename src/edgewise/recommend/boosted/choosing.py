"""How strongly to shrink, and how many rounds to take, chosen on ratings held out."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from edgewise.ratings import Ratings
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.training import Rounds, Settings, train
from edgewise.recommend.boosted.watching import Watch

# Fewer ratings than these leave too few to hold out; with so few, shrinking as much as with many
# leaves nothing to learn.
FEWEST, LEAST = 30, 1 / 64

_HELD_OUT = 0.1

# What the usual strengths are multiplied by. Those that suit many ratings leave nothing to learn of
# few, and then neighbouring strengths look the same: all are tried. Many ratings cost more to try,
# and differ less in what they want.
_OF_FEW = (4.0, 1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
_OF_MANY = (4.0, 1.0, 1 / 4)
MANY = 50_000

# Products come only after the rounds of users alone and items alone, which must not end the search.
_PATIENCE = 60


class Choice(NamedTuple):
    """What was chosen.

    Attributes
    ----------
    shrinkage : float
        What the strengths of shrinking are multiplied by.
    n_rounds : int
        How many rounds to take.
    error : float
        The root mean squared error on what was held out.
    """

    shrinkage: float
    n_rounds: int
    error: float


def chosen(
    ratings: Ratings, levels: Levels, settings: Settings, scaled: Callable[[float], Settings]
) -> Choice:
    """Return the strength and the number of rounds with the least error on a tenth held out.

    Parameters
    ----------
    ratings, levels, settings
        As for training.
    scaled : function
        Gives the settings with strengths multiplied by a number.
    """
    if len(ratings) < FEWEST:
        return Choice(LEAST, settings.n_rounds, float("nan"))
    kept, held_out = ratings.split(_HELD_OUT, random_state=settings.seed)

    def tried(shrinkage: float) -> Choice:
        watch = Watch(levels, held_out, _PATIENCE, lambda *_: None)
        train(kept, levels, replace(scaled(shrinkage), n_threads=1), watch, Rounds())
        return Choice(shrinkage, max(1, watch.best), min(watch.errors))

    strengths = _OF_FEW if len(ratings) < MANY else _OF_MANY
    return min((tried(strength) for strength in strengths), key=lambda choice: choice.error)
