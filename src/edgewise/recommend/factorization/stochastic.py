"""Stochastic gradient descent, one rating after the other (Shi 2025, "Regularized SGD")."""

import math

import numpy as np
from numpy.typing import NDArray

from edgewise.common.progress import Step
from edgewise.recommend.factorization.objective import Factors, Objective

# One step in NumPy takes about 9 us: as long as so many entries that NumPy visits.
VISITS_A_STEP = 3000

_WORD = (1 << 64) - 1

Places = NDArray[np.int32]


def descend(
    objective: Objective,
    factors: Factors,
    n_epochs: int,
    rate: float,
    rng: np.random.Generator,
    step: Step,
) -> list[float]:
    """Improve the factors where they are; return the losses, the first before all epochs.

    An epoch takes all ratings, in a new order. Steps follow each other on one thread, as each
    starts from where the one before it ended.
    """
    # The curvature along a factor is about the products' size and the penalty, that along a bias
    # is the same for all ratings.
    shortened = (1.0 + objective.penalty) / (objective.spread + objective.penalty)
    rates = rate * shortened, rate if objective.biases else 0.0
    order = np.arange(len(objective.values), dtype=np.int32)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    losses = [objective.loss(factors)]
    for _ in range(n_epochs):
        if objective.compiled:
            _compiled_epoch(objective, factors, rates, order, state)
        else:
            shuffle(order, state)
            with np.errstate(over="ignore", invalid="ignore"):
                one_by_one(objective, factors, rates, order)
        with np.errstate(over="ignore", invalid="ignore"):
            losses.append(objective.loss(factors))
        if not math.isfinite(losses[-1]):
            raise ValueError(
                f"learning_rate is too large, the loss is no longer finite: try {rate / 10:g}, "
                f"got {rate:g}"
            )
        step(losses[-1])
    return losses


def _compiled_epoch(
    objective: Objective,
    factors: Factors,
    rates: tuple[float, float],
    order: Places,
    state: NDArray[np.uint64],
) -> None:
    from edgewise.recommend.factorization import compiled

    compiled.shuffle(order, state)
    compiled.descend(
        order, objective.users, objective.items, objective.values, objective.all_weights,
        objective.mean, *rates, objective.penalty,
        factors.users, factors.items, factors.user_biases, factors.item_biases,
    )  # fmt: skip


def shuffle(order: Places, state: NDArray[np.uint64]) -> None:
    """Put the places in another order (Fisher and Yates), with Marsaglia's xorshift generator.

    The same order as the compiled twin's.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.arange(5, dtype=np.int32)
    >>> shuffle(places, np.array([1], dtype=np.uint64))
    >>> sorted(places.tolist())
    [0, 1, 2, 3, 4]
    """
    x, places = int(state[0]), order.tolist()
    for last in range(len(places) - 1, 0, -1):
        x ^= x << 13 & _WORD
        x ^= x >> 7
        x ^= x << 17 & _WORD
        place = (x >> 32) * (last + 1) >> 32
        places[last], places[place] = places[place], places[last]
    order[:] = places
    state[0] = x


def one_by_one(
    objective: Objective, factors: Factors, rates: tuple[float, float], order: Places
) -> None:
    """Take a gradient step for every rating, in this order: the twin of the compiled kernel.

    `rates` are the lengths of the steps of factors and of biases.
    """
    weights = objective.weights
    penalty = objective.penalty
    b, c = factors.user_biases, factors.item_biases
    for place in order.tolist():
        i, j = int(objective.users[place]), int(objective.items[place])
        u, v = factors.users[i], factors.items[j]
        error = objective.values[place] - objective.mean - b[i] - c[j] - u @ v
        weight = 1.0 if weights is None else weights[place]
        length, bias_length = rates[0] * weight, rates[1] * weight
        b[i] += bias_length * (error - penalty * b[i])
        c[j] += bias_length * (error - penalty * c[j])
        moved = u + length * (error * v - penalty * u)
        v += length * (error * u - penalty * v)
        u[:] = moved
