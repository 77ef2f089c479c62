"""Gradient descent on all ratings at once (Shi 2025, "Comparison of Optimization Algorithms")."""

import numpy as np

from edgewise.common.progress import Step
from edgewise.recommend.factorization.objective import Factors, Objective

# Armijo's rule: a step must gain this share of what the gradient promises.
_SHARE = 0.1
_GROWTH, _CUT, _MOST_CUTS = 1.5, 0.5, 60


def descend_together(
    objective: Objective, factors: Factors, n_epochs: int, rate: float, step: Step
) -> tuple[Factors, list[float]]:
    """Return better factors and the losses, the first before all epochs.

    The step is cut until the loss falls, and grows again after it fell: the loss never rises.
    """
    losses, length = [objective.loss(factors)], rate
    for _ in range(n_epochs):
        gradient = objective.gradient(factors)
        promised = _SHARE * gradient.squared_length
        for _ in range(_MOST_CUTS):
            with np.errstate(over="ignore", invalid="ignore"):
                moved = factors.moved(gradient, -length)
                loss = objective.loss(moved)
            if loss <= losses[-1] - promised * length:
                factors, length = moved, length * _GROWTH
                break
            length *= _CUT
        else:
            # No step helps any more: this is the minimum, as far as numbers can tell.
            loss = losses[-1]
        losses.append(loss)
        step(loss)
    return factors, losses
