"""Pairs of categorical columns whose combinations tell more than the two columns alone."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Reals
from edgewise.data.partition import Partition

# The maximum number of pairs per table, and of rates by pair: each is a column to train on.
_MAX_PAIRS, _MAX_RATES = 8, 32

# The evidence that combinations tell more, in standard deviations. Of 300 tables with permuted
# classes and about 30 pairs each, four had a pair with more.
_MIN_EVIDENCE = 3.0

# The least variance of the effects of combinations, in log-odds. Trees that test both columns find
# weaker effects as well: rates of them made the log loss on adult a little worse.
_MIN_VARIANCE = 0.1

# The maximum number of tests, each of a pair and a class, and of rows in all of them: a second.
_MAX_TESTS, _MAX_TESTED_ROWS = 200, 4_000_000

# Up to this many possible combinations for each row, those that occur are found without a sort.
_MAX_CELLS_PER_ROW = 16

# How often the effects of the two columns are fitted in turn, and the longest step, in log-odds.
_N_FITS, _MAX_STEP = 4, 3.0


class Interaction(NamedTuple):
    """The interaction of two columns with respect to a class."""

    evidence: float  # that they tell more than both columns, in standard deviations
    gain: float  # in log-likelihood, expected of the rates by combination over those by column
    variance: float  # of their effects, in log-odds
    strength: float  # the number of rows that the rate of all rows counts for


class Pair(NamedTuple):
    """Two columns, and the strength of the prior for each class; infinite without evidence."""

    first: int
    second: int
    strengths: list[float]


_NOTHING = Interaction(0.0, 0.0, 0.0, math.inf)


def choose_pairs(
    codes: Sequence[NDArray[np.integer]],
    sizes: Sequence[int],
    targets: Sequence[NDArray[np.bool_]],
    max_subset_values: int,
    hashes: NDArray[np.uint64],
    partition: Partition,
) -> list[Pair]:
    """Return the pairs of categorical columns with the largest expected gains.

    `codes` are the categories of each row in each column, below the column's size, and `targets`
    which rows are of each class. One column of a pair has more than `max_subset_values` categories.
    On large tables a random sample of rows is tested, drawn by the hashes of their numbers.
    """
    pairs = _pairs_to_test(sizes, len(targets), max_subset_values)
    if not pairs:
        return []
    # Processes share the sample, and the first of them decides.
    fraction = _MAX_TESTED_ROWS / (len(pairs) * len(targets) * partition.n_rows)
    sample = np.flatnonzero(hashes >> np.uint64(32) < fraction * 2.0**32)
    sampled = [[values[sample] for values in arrays] for arrays in (codes, targets)]
    shared = partition.collective.gather(sampled)
    chosen: list[Pair] = []
    if partition.is_root:
        all_codes, all_targets = (
            [np.concatenate(parts) for parts in zip(*arrays, strict=True)]
            for arrays in zip(*shared, strict=True)
        )
        results = [_test_pair(i, j, all_codes, sizes, all_targets) for i, j in pairs]
        useful = sorted((result for result in results if result[0] > 0), key=lambda r: -r[0])
        n_pairs = max(1, min(_MAX_PAIRS, _MAX_RATES // len(targets)))
        chosen = [pair for _, pair in useful[:n_pairs]]
    return partition.collective.broadcast(chosen)


def _pairs_to_test(
    sizes: Sequence[int], n_targets: int, max_subset_values: int
) -> list[tuple[int, int]]:
    """Return pairs with a column of many categories; of many columns, those with the most."""
    n_columns = len(sizes)
    while n_columns > 2 and math.comb(n_columns, 2) * n_targets > _MAX_TESTS:
        n_columns -= 1
    largest = sorted(range(len(sizes)), key=lambda j: -sizes[j])[:n_columns]
    # One more code than categories is for missing values.
    return [
        (i, j)
        for i, j in combinations(sorted(largest), 2)
        if max(sizes[i], sizes[j]) > max_subset_values + 1
    ]


def _test_pair(
    i: int,
    j: int,
    codes: Sequence[NDArray[np.integer]],
    sizes: Sequence[int],
    targets: Sequence[NDArray[np.bool_]],
) -> tuple[float, Pair]:
    """Return the expected gain of the rates by two columns, and the strengths of their priors."""
    both = codes[i].astype(np.int64) * sizes[j] + codes[j]
    occurring, number = number_values(both, sizes[i] * sizes[j])
    n_rows = np.bincount(number).astype(np.float64)
    first, second = np.divmod(occurring, sizes[j])
    gain, strengths = 0.0, []
    for is_class in targets:
        n_hits = np.bincount(number[is_class], minlength=len(n_rows)).astype(np.float64)
        interaction = measure_interaction(first, second, n_hits, n_rows)
        if interaction.evidence <= _MIN_EVIDENCE or interaction.variance < _MIN_VARIANCE:
            interaction = _NOTHING
        gain += interaction.gain
        strengths.append(interaction.strength)
    return gain, Pair(i, j, strengths)


def number_values(values: Exacts, limit: int) -> tuple[Exacts, Exacts]:
    """Return the distinct whole numbers below a limit, and the position of each value among them.

    As ``np.unique``, but without a sort where most numbers occur.

    Examples
    --------
    >>> import numpy as np
    >>> number_values(np.array([7, 3, 7]), 10)
    (array([3, 7]), array([1, 0, 1]))
    """
    if limit > _MAX_CELLS_PER_ROW * len(values):
        distinct, positions = np.unique(values, return_inverse=True)
        return distinct, positions
    occurs = np.zeros(limit, dtype=bool)
    occurs[values] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]


def measure_interaction(first: Exacts, second: Exacts, n_hits: Reals, n_rows: Reals) -> Interaction:
    """Return what combinations of categories tell beyond a log-odds for each category.

    Each combination that occurs has its two categories, its number of rows, and of hits. The
    residuals of two rows of a combination, from the rates that the two categories add up to, have
    the same sign more often than not if the combination has an effect of its own. So the evidence
    is a sum of products of residuals, in which a combination of one row does not count.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = np.divmod(np.arange(4), 2)
    >>> same = measure_interaction(first, second, np.array([80.0, 20, 20, 80]), np.full(4, 100.0))
    >>> round(same.evidence, 1), round(same.variance, 2), round(same.strength, 2)
    (50.8, 1.44, 2.83)
    >>> each = measure_interaction(first, second, np.array([80.0, 50, 50, 20]), np.full(4, 100.0))
    >>> each.evidence
    0.0
    """
    total = float(n_rows.sum())
    prior = float(n_hits.sum()) / total
    has_several = n_rows > 1
    if not (0 < prior < 1 and has_several.any()):
        return _NOTHING
    log_odds = np.full(len(n_rows), math.log(prior / (1 - prior)))
    for _ in range(_N_FITS):
        for category in (first, second):
            rate = 1 / (1 + np.exp(-log_odds))
            slope = np.bincount(category, n_hits - n_rows * rate)
            curvature = np.bincount(category, n_rows * rate * (1 - rate)) + 1
            log_odds += np.clip(slope / curvature, -_MAX_STEP, _MAX_STEP)[category]
    rate = 1 / (1 + np.exp(-log_odds))
    within = rate * (1 - rate)
    # What the products lose in expectation, since the rates were fitted to these residuals.
    lost = 1 / np.bincount(first, n_rows)[first] + 1 / np.bincount(second, n_rows)[second]
    lost = np.minimum(lost - 1 / total, 1 / n_rows) * n_rows * (n_rows - 1) * within
    excess = math.fsum((_products(n_hits, n_rows, rate) + lost).tolist())
    scale = math.fsum((np.square(within) * n_rows * (n_rows - 1)).tolist())
    all_products = math.fsum(_products(n_hits, n_rows, np.full(len(n_rows), prior)).tolist())
    if excess <= 0 or all_products <= 0:
        return _NOTHING
    variance = excess / scale
    signal = n_rows * within * variance
    gain = 0.5 * math.fsum((np.square(signal) / (1 + signal)).tolist())
    # The variance within combinations, over that between them.
    strength = prior * (1 - prior) * math.fsum((n_rows * (n_rows - 1)).tolist()) / all_products
    return Interaction(excess / math.sqrt(2 * scale), gain, variance, strength)


def _products(n_hits: Reals, n_rows: Reals, rate: Reals) -> Reals:
    """Return the sum, over ordered pairs of rows of a combination, of products of residuals."""
    squares: Reals = n_hits * np.square(1 - rate) + (n_rows - n_hits) * np.square(rate)
    return np.square(n_hits - n_rows * rate) - squares
