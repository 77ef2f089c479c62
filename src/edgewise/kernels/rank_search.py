"""One pass over documents in the order of a column, compiled: pairs on either side of every cut."""

import numpy as np

from edgewise.kernels.vectors import inner, kernel


@inner
def _product(  # type: ignore[no-untyped-def]
    lower, lower_units, upper, upper_units, g0, n_groups, steps, by_difference
):
    """Return the weighted sum over pairs of grades of `lower` of one and `upper` of a higher."""
    total, below, product = 0.0, 0.0, 0.0
    for g in range(g0 + 1, g0 + n_groups):
        total = total + lower[g - 1] * lower_units[g - 1]
        below = below + steps[g] * total if by_difference else total
        product = product + upper[g] * upper_units[g] * below
    return product


@kernel
def sum_sides(  # type: ignore[no-untyped-def]
    codes, query_groups, group_of, query_of_group, steps, by_difference, up, down, up_units,
    down_units, factors, right, wrong,
):  # fmt: skip
    """Sum by how much W- and W+ change as the documents of each code cross the cut, from above.

    IN codes (-1 never crosses), the layout of layout.Layout, up to factors (of
    layout.ListWeights). OUT right, wrong (int64, by code).
    """
    n, n_codes, n_groups = len(codes), len(right), len(steps)
    # Documents in the order of their codes: a counting sort.
    ends = np.zeros(n_codes + 1, dtype=np.int64)
    for i in range(n):
        if codes[i] >= 0:
            ends[codes[i] + 1] += 1
    for code in range(n_codes):
        ends[code + 1] += ends[code]
    order = np.empty(ends[n_codes], dtype=np.int64)
    at = ends.copy()
    for i in range(n):
        if codes[i] >= 0:
            order[at[codes[i]]] = i
            at[codes[i]] += 1
    up_low, down_low = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    up_high, down_high = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for i in range(n):
        up_low[group_of[i]] += up[i]
        down_low[group_of[i]] += down[i]
    held_right = np.zeros(len(factors), dtype=np.int64)
    held_wrong = np.zeros(len(factors), dtype=np.int64)
    for p in range(len(order) - 1, -1, -1):
        i = order[p]
        g = group_of[i]
        q = query_of_group[g]
        up_low[g] -= up[i]
        down_low[g] -= down[i]
        up_high[g] += up[i]
        down_high[g] += down[i]
        g0, width = query_groups[q], query_groups[q + 1] - query_groups[q]
        if width == 1:
            continue
        is_right = _product(
            up_low, up_units, down_high, down_units, g0, width, steps, by_difference
        )
        is_wrong = _product(
            up_high, up_units, down_low, down_units, g0, width, steps, by_difference
        )
        new_right = np.int64(np.rint(factors[q] * is_right))
        new_wrong = np.int64(np.rint(factors[q] * is_wrong))
        right[codes[i]] += new_right - held_right[q]
        wrong[codes[i]] += new_wrong - held_wrong[q]
        held_right[q], held_wrong[q] = new_right, new_wrong
