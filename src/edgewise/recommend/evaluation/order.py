"""Measures of Iyer 1999 section 5.2.4, on the order of each user's test items."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from edgewise.metrics import Lists, coverage, disagreement, mean_average_precision, prot
from edgewise.recommend.evaluation.tested import Tested

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "disagreement": disagreement,
    "ap": partial(mean_average_precision, relevant="top"),
    "prot": prot,
    "coverage": coverage,
}


def order_values(tested: Tested, names: list[str]) -> dict[str, float]:
    """Return measures of how each user's test items are ordered by the model, by name.

    Good items are those with the user's highest test rating. Users whose test ratings are all the
    same are left out; where there are no others the value is NaN.
    """
    kept = tested.kept
    if not kept.any():
        return dict.fromkeys(names, float("nan"))
    lists = Lists(tested.test.values[kept], tested.test.users[kept])
    scores = tested.scores[kept]
    found = {}
    for name in names:
        values = _FUNCTIONS[name](lists, scores, empty="skip", per_query=True)
        defined = ~np.isnan(values)
        found[name] = float(values[defined].mean()) if defined.any() else float("nan")
    return found
