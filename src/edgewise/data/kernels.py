"""The two loops of binning that NumPy has no fast form of, compiled.

Each gives the integers of its reference in `data.bins`; large tables take these.
"""

import numpy as np
from numba import njit

from edgewise.common.compiled import compile_cached

_compiled = compile_cached(nogil=True, error_model="numpy")


@njit(error_model="numpy", no_cpython_wrapper=True)
def _encode_values(values, padded, n_thresholds, n_steps, codes):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        value, bin_, step = values[i], 0, 1 << (n_steps - 1)
        for _ in range(n_steps):
            bin_ += step * (padded[bin_ + step - 1] <= value)
            step >>= 1
        codes[i] = min(bin_, n_thresholds) if value == value else n_thresholds + 1


@_compiled
def encode_values(values, padded, n_thresholds, codes, counts):  # type: ignore[no-untyped-def]
    """Find the bin of every value, the number of thresholds at or below it, without branches.

    IN values; padded, the thresholds followed by infinities up to 255, or to 65,535. OUT codes,
    with the code after the last bin for NaN; counts, the number of rows of each.
    """
    # With constant steps, and nothing else in the loop, the compiler takes many values at once.
    if len(padded) == 255:
        _encode_values(values, padded, n_thresholds, 8, codes)
    else:
        _encode_values(values, padded, n_thresholds, 16, codes)
    for i in range(len(codes)):
        counts[codes[i]] += 1


@_compiled
def cut_evenly(running, start, n_bins, lasts):  # type: ignore[no-untyped-def]
    """Cut values into bins of about equal mass, as `bins._cut_evenly` does; return their count.

    IN running, the running sums of the masses. OUT lasts, the last value of every bin but the last.
    """
    total, done, first, n_lasts = running[-1], np.int64(0), 0, 0
    for left in range(n_bins, 1, -1):
        target = done + (total - done + left - 1) // left
        last, stop = first, len(running)
        while last < stop:
            middle = (last + stop) // 2
            if running[middle] < target:
                last = middle + 1
            else:
                stop = middle
        around = running[last] + running[last - 1]
        if last > first and around * left > 2 * (done * left + total - done):
            last -= 1
        if last >= len(running) - 1:
            break
        lasts[n_lasts] = start + last
        n_lasts += 1
        first, done = last + 1, running[last]
    return n_lasts
