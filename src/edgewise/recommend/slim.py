"""SLIM: few weights of each item for others, none negative (Ning and Karypis 2011)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, not_negative
from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.ease import EASE
from edgewise.recommend.kernels import kernel_threads, load_kernels
from edgewise.recommend.parameters import NUMBER, Threaded, parameter

# The penalty on absolute weights as a fraction of the one on squares; and the latter as a fraction
# of that of EASE, which has to shrink all weights. Chosen on interactions held out of training
# parts of ml-100k and ml-1m.
_SPARSITY, _PENALTY_FRACTION = 0.004, 0.5

# A sweep that moves no weight by more than this is the last.
_TOLERANCE = 1e-4


@dataclass(eq=False, repr=False, kw_only=True)
class SLIM(EASE, Threaded):
    """Sparse least squares of each item on others, with weights of at least 0.

    The score of an item is the sum of its weights for the user's items (Ning and Karypis 2011). The
    weights w of an item, whose interactions are the column x of X, minimize::

        1/2 |D (x - X w)|^2 + lambda / 2 |w|^2 + mu |w|_1, with w >= 0 and 0 for the item itself

    by coordinate descent. Few weights are left: a score is explained by few items. :class:`EASE`
    has no such bounds, and a closed form.

    Fitted: `item_weights_`, in single precision, the `penalty_` lambda and the `sparsity_` mu.

    Parameters
    ----------
    regularization : float or None, default None
        The penalty lambda on squares. None is half of that of :class:`EASE`.
    sparsity : float or None, default None
        The penalty mu on absolute weights: the larger, the fewer weights. None is 0.004 lambda.
    n_sweeps : int, default 20
        The maximum number of passes over the weights of an item.
    user_power, precision, max_items
        See :class:`EASE`; the precision is of the products of items.
    n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import SLIM, Ratings
    >>> liked = Ratings.from_arrays([1, 1, 2, 2, 3, 3, 3], [7, 8, 7, 8, 7, 8, 9])
    >>> model = SLIM(regularization=1.0, sparsity=0.1).fit(liked)
    >>> print(model.fold_in({4: {7: 1}}).explain(4, 8))
    8 for 4: 0.62
      +0.62  7
    """

    stored: ClassVar = {"sparsity_": NUMBER}

    sparsity: float | None = parameter(None, not_negative)
    n_sweeps: int = parameter(20, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        self.sparsity_ = 0.0
        super()._fit(ratings)

    def _weights(self, gram: NDArray[Any], factors: Any) -> NDArray[Any]:
        if self.regularization is None:
            self.penalty_ *= _PENALTY_FRACTION
        default = _SPARSITY * self.penalty_
        self.sparsity_ = default if self.sparsity is None else float(self.sparsity)
        n_items, weights = len(gram), np.zeros_like(gram)
        kernels = load_kernels("factorization", float(n_items) ** 2 * self.n_sweeps * 100)
        settings = self.penalty_, self.sparsity_, self.n_sweeps, _TOLERANCE
        with kernel_threads(kernels, self._threads()) as pool:
            spans = pool.shares(np.arange(n_items + 1))
            pool.map(lambda span: kernels.sparse_rows(*span, gram, *settings, weights), spans)
        return weights.T

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return the means of the weights of items for each other; cosines of users."""
        if side == "users":
            return super()._similarities(side, indices)
        both = self.item_weights_[:, indices].T + self.item_weights_[indices]
        return np.asarray(0.5 * both, dtype=float)
