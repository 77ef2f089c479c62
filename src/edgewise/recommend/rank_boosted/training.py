"""What trains rankers: NumPy for a few users, compiled code for many."""

from collections.abc import Callable

import numpy as np

from edgewise.backend.choose import use_compiled
from edgewise.ratings import Ratings
from edgewise.recommend.rank_boosted import rounds
from edgewise.recommend.rank_boosted.matrix import Matrix
from edgewise.recommend.rank_boosted.problem import Settings, Target

# What NumPy does in a round with an entry of the matrix, and in a round whatever there is to do in
# it, takes as long as so many visits of a histogram.
_VISITS_AN_ENTRY, _VISITS_A_ROUND = 20, 40_000

Trainer = Callable[[Target, Settings, int], rounds.Cuts]


def trainer_for(users: list[int], ratings: Ratings, matrix: Matrix, n_rounds: int) -> Trainer:
    """Return what trains the rankers of users: compiled where there is enough to do."""
    view, sizes = ratings.by_user, np.diff(matrix.starts)
    entries = sum(int(sizes[view.others[view.span(user)]].sum()) for user in users)
    work = float(_VISITS_AN_ENTRY) * entries + _VISITS_A_ROUND * len(users)
    if use_compiled(work * n_rounds):
        from edgewise.recommend.rank_boosted.compiled import boost

        return boost
    return rounds.boost
