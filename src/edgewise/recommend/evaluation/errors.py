"""Measures of predicted ratings, on the test pairs."""

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.metrics import mae, nmae, one_zero_error, rmse
from edgewise.recommend.evaluation.measures import LEVEL, Measure
from edgewise.recommend.evaluation.tested import Tested


def rating_error(tested: Tested, measure: Measure) -> float:
    """Return the error of the predicted ratings; NaN where a model predicts none.

    Test weights count, where there are any. "mae_level" and the like are the errors of the
    predicted level, and NaN where there is only one; "mae_best" the lesser of both.
    """
    if len(measure.choices) > 1:
        return float(np.fmin.reduce([rating_error(tested, one) for one in measure.choices]))
    kept = tested.kept
    stem = measure.base.removesuffix(LEVEL)
    by_level = stem != measure.base
    levels_needed = by_level or stem in ("nmae", "one_zero")
    if tested.model.predicts != "rating" or not kept.any():
        return float("nan")
    if levels_needed and len(tested.levels) < 2:
        return float("nan")
    guess = tested.predicted_levels if by_level else tested.predictions
    return _error(stem, tested, guess[kept])


def _error(stem: str, tested: Tested, guess: Reals) -> float:
    test, kept = tested.test, tested.kept
    truth = test.values[kept]
    weights = None if test.weights is None else test.weights[kept]
    if stem == "rmse":
        return rmse(truth, guess, sample_weight=weights)
    if stem == "mae":
        return mae(truth, guess, sample_weight=weights)
    measure = nmae if stem == "nmae" else one_zero_error
    return measure(truth, guess, levels=tested.levels, sample_weight=weights)
