"""Where the draws of online learners come from."""

from numbers import Integral
from typing import Any

import numpy as np


def generator(random_state: Any) -> np.random.Generator:
    """Return the source of random draws that `random_state` stands for, or raise.

    Examples
    --------
    >>> generator(7).random() == generator(7).random()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    seed = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if random_state is not None and not (seed and random_state >= 0):
        raise ValueError(
            "random_state must be None, an integer of at least 0, a RandomState or a Generator, "
            f"got {random_state!r}"
        )
    return np.random.default_rng(None if random_state is None else int(random_state))
