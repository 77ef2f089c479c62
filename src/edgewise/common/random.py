"""Random numbers that depend on nothing but their own number."""

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]


def splitmix64(seed: Bits, n: Bits | int = 1) -> Bits:
    """Return the n-th output of the generator splitmix64 for each seed (Steele et al. 2014)."""
    z = seed + np.asarray(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
