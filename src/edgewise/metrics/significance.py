"""Whether two rankers differ by more than chance: the paired randomisation test."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer, numbers
from edgewise.common.dtypes import Reals

# Signs are drawn in blocks of at most this many, so that memory doesn't grow with the draws.
_BLOCK = 1 << 20

# Sums that are equal in exact arithmetic differ by rounding; relative to the sum of all sizes.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class RandomisationResult:
    """What a paired randomisation test found.

    Attributes
    ----------
    mean_difference : float
        The mean of a - b over the queries.
    p_value : float
        How often random signs give a mean at least as far from zero.
    n_queries : int
        How many pairs were compared.
    exact : bool
        Whether all assignments of signs were gone through, rather than some drawn.
    """

    mean_difference: float
    p_value: float
    n_queries: int
    exact: bool


def randomisation_test(
    a: ArrayLike, b: ArrayLike, n_draws: int = 10_000, random_state: Any = None
) -> RandomisationResult:
    """Test whether two rankers have the same mean, by a paired two-sided randomisation test.

    If the rankers were alike, each query's two values could as well have been swapped, which
    changes the sign of its difference. The p-value is the share of all assignments of signs whose
    mean is at least as far from zero as the one observed. All are gone through where there are no
    more than `n_draws`; otherwise `n_draws` are drawn, and the observed one counts as one more:
    p = (1 + count) / (1 + n_draws).

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        The values of the two rankers for the same queries in the same order, such as a metric
        returns with ``per_query=True``. A query that is NaN for both is left out.
    n_draws : int, default 10_000
        How many assignments to draw, or to go through at most.
    random_state : int, RandomState, Generator or None, default None
        Where draws come from.

    Returns
    -------
    RandomisationResult
        The mean difference, the p-value, the number of queries, and whether it is exact.

    Raises
    ------
    TypeError, ValueError
        If the arrays differ in length, if a query is NaN for one of them only, if a value is
        infinite, or if no query is left.

    Examples
    --------
    >>> from edgewise.metrics import randomisation_test
    >>> randomisation_test([0.9, 0.8, 0.7], [0.5, 0.6, 0.6])  # 2 of the 8 assignments
    RandomisationResult(mean_difference=0.2333..., p_value=0.25, n_queries=3, exact=True)
    """
    n_draws = integer("n_draws", n_draws, 1)
    differences = _differences(_values("a", a), _values("b", b))
    rng = _generator(random_state)
    # A difference of zero has no sign to change.
    sizes = np.abs(differences[differences != 0])
    least = abs(differences.sum()) - _ROUNDING * sizes.sum()
    exact = len(sizes) < n_draws.bit_length() and 1 << len(sizes) <= n_draws
    count, total = 0, 1 << len(sizes) if exact else n_draws
    block = max(1, _BLOCK // max(1, len(sizes)))
    for first in range(0, total, block):
        n = min(block, total - first)
        if exact:
            flips = (np.arange(first, first + n)[:, None] >> np.arange(len(sizes))) & 1
        else:
            flips = rng.integers(0, 2, size=(n, len(sizes)), dtype=np.int8)
        sums = sizes.sum() - 2.0 * (flips @ sizes)
        count += int((np.abs(sums) >= least).sum())
    p_value = count / total if exact else (1 + count) / (1 + total)
    return RandomisationResult(float(differences.mean()), p_value, len(differences), exact)


def _values(name: str, values: ArrayLike) -> Reals:
    """Return `values` as a 1-D float64 array without infinities, or raise."""
    array = numbers(name, values)
    if np.isinf(array).any():
        raise ValueError(f"{name} must not hold infinities")
    return array


def _differences(a: Reals, b: Reals) -> Reals:
    """Return a - b over the queries that both have, or raise."""
    if len(a) != len(b):
        raise ValueError(f"b must have one value for each of a's {len(a)} queries, got {len(b)}")
    skipped = np.isnan(a)
    if (skipped != np.isnan(b)).any():
        raise ValueError("a and b must skip the same queries: one is NaN where the other is not")
    if skipped.all():
        raise ValueError("a and b must have a query in common, got none that is not NaN")
    return a[~skipped] - b[~skipped]


def _generator(random_state: Any) -> np.random.Generator:
    """Return the source of random signs, or raise."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    # Imported late: scikit-learn is slow to load, and no metric needs it.
    from sklearn.utils import check_random_state

    try:
        return np.random.default_rng(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ValueError(
            f"random_state must be an int, a RandomState, a Generator or None: {error}"
        ) from None
