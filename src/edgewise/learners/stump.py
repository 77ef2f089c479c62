"""The decision stump: one threshold on one numeric column (seed 001, appendix C)."""

import numpy as np

from edgewise.kernels import Kernels, State
from edgewise.learners.base import Cut, Energies, Learner
from edgewise.search import Search
from edgewise.validation import flag

CONSTANT = -1
"""The column number of the constant classifier."""


class Stump(Learner):
    """A decision stump: +1 where a column is at or above a threshold, -1 below.

    Missing values go to the side where the edge is larger. A column that had none in training
    abstains (outputs 0) on those it meets later.

    Parameters
    ----------
    constant : bool, default True
        Whether the stump may be the constant classifier (a threshold of minus infinity), which
        outputs +1 everywhere and whose votes follow the weight of each class.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Stump
    >>> model = AdaBoostMH(learner=Stump(constant=False), n_rounds=1)
    >>> model.fit([[1.0], [2.0], [3.0]], ["a", "b", "b"]).predict([[1.2], [2.9]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, constant: bool = True) -> None:
        self.constant = constant

    def validate(self) -> None:
        """Raise if a setting is wrong."""
        flag("constant", self.constant)

    def find(
        self, kernels: Kernels, state: State, search: Search, energies: Energies | None
    ) -> Cut | None:
        """Return the stump with the largest edge, or the least energy across columns."""
        columns = search.pull()
        if len(columns) == 0:
            return self._fallback(state, 1)
        found = kernels.search(
            columns, state, score_edges=energies is not None, constant=self.constant
        )
        if energies is None:
            best = int(found.edges.argmax())
        else:
            assert found.score_edges is not None
            best = int(np.where(found.edges > 0, energies(found.score_edges), np.inf).argmin())
        if found.edges[best] <= 0:
            return None
        return _cut([int(columns[best])], [int(found.first[best])], [int(found.missing[best])])

    def find_per_score(self, kernels: Kernels, state: State, search: Search) -> Cut | None:
        """Return the stump with the largest edge for each score column (seed 001 remark 2)."""
        columns = search.pull()
        if len(columns) == 0:
            return self._fallback(state, state.n_scores)
        found = kernels.search(columns, state, per_score=True, constant=self.constant)
        best = found.edges.argmax(axis=0)
        scores = np.arange(state.n_scores)
        if not (found.edges[best, scores] > 0).any():
            return None
        first, missing = found.first[best, scores], found.missing[best, scores]
        return _cut(columns[best].tolist(), first.tolist(), missing.tolist())

    def _fallback(self, state: State, n_cuts: int) -> Cut | None:
        """Return the constant where no column can be cut."""
        if not self.constant or not np.abs(state.signed_totals).sum() > 0:
            return None
        return Cut([CONSTANT] * n_cuts, [0] * n_cuts, [1] * n_cuts)


def _cut(columns: list[int], first: list[int], missing: list[int]) -> Cut:
    """Return the cut, naming the constant classifier as such."""
    places = zip(columns, first, missing, strict=True)
    return Cut([CONSTANT if t == 0 and side > 0 else j for j, t, side in places], first, missing)
