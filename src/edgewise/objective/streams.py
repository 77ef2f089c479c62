"""The random streams of a run: each depends on the seed and the round alone."""

from collections.abc import Callable
from functools import cache

import numpy as np


def stream(seed: int, t: int) -> Callable[[], np.random.Generator]:
    """Return a function that gives the random stream of round `t`, made when first asked for."""

    @cache
    def made() -> np.random.Generator:
        return np.random.default_rng([seed, t, 2])

    return made
