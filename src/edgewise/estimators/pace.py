"""How a fit makes do with a time limit: without folds, in larger steps, on fewer rows."""

from typing import NamedTuple

# The usual choice of rounds and the fit after it are begun if they have time for so many rounds.
_PLENTY = 400

# Steps grow, up to this rate, so that fewer rounds go as far as so many usual ones.
_ENOUGH, _LARGEST_RATE = 200, 0.4

# Below so many rounds, rows are left out instead; but not below so many rows.
_FEWEST, _FEWEST_ROWS = 40, 2_000

# The values to bin for each second of the limit; a core bins a few times as many.
_VALUES_PER_SECOND = 3_000_000


class Pace(NamedTuple):
    """What a fit has time for."""

    folds: bool = True  # the usual choice of rounds, and the fit after it
    factor: float = 1.0  # on the learning rate
    share: float = 1.0  # of the rows to train on


def rows_for(seconds: float, n_columns: int) -> int:
    """Return the number of rows that can be binned in a part of the time.

    Examples
    --------
    >>> rows_for(10.0, 30)
    1000000
    """
    return max(_FEWEST_ROWS, int(_VALUES_PER_SECOND * seconds / max(n_columns, 1)))


def pace_for(n_rounds: float, cost: float, n_rows: int, learning_rate: float | None) -> Pace:
    """Return the pace for a number of rounds that there is time for, on all training rows.

    A round of the usual choice and of the fit after it takes `cost` as long. The learning rate is
    None where it must stay.

    Examples
    --------
    >>> pace_for(5_000, 5.0, 900, 0.2)
    Pace(folds=True, factor=1.0, share=1.0)
    >>> pace_for(50, 1.8, 20_000, 0.2)
    Pace(folds=False, factor=2.0, share=1.0)
    >>> pace_for(10, 1.8, 20_000, 0.2)
    Pace(folds=False, factor=2.0, share=0.25)
    """
    if n_rounds >= _PLENTY * cost:
        return Pace()
    share = min(1.0, max(n_rounds / _FEWEST, _FEWEST_ROWS / n_rows))
    factor = 1.0
    if learning_rate is not None:
        wanted = _ENOUGH / max(n_rounds / share, 1.0)
        factor = max(1.0, min(wanted, _LARGEST_RATE / learning_rate))
    return Pace(False, factor, share)
