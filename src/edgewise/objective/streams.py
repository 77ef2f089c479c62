"""The random streams of a run: each depends on the seed and the round alone."""

import numpy as np


class Stream:
    """The random stream of round `t`, made when first called: most rounds draw nothing."""

    __slots__ = ("_key", "_rng")

    def __init__(self, seed: int, t: int) -> None:
        self._key = (seed, t, 2)
        self._rng: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        """Return the generator."""
        if self._rng is None:
            self._rng = np.random.default_rng(self._key)
        return self._rng
