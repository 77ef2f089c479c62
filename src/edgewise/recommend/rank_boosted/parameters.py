"""Checks of the settings of rankers."""

from edgewise.common.checks import integer, one_of
from edgewise.estimators.judgements import PAIR_WEIGHTS
from edgewise.estimators.parameters import up_to_one
from edgewise.recommend.rank_boosted.problem import Settings
from edgewise.recommend.rank_boosted.rounds import SIDES

STARTS = ("mean", "zero")
MONOTONE = ("increasing", "learn", "none")


def check_settings(settings: Settings, start: str) -> None:
    """Raise if a setting is wrong; the error names it."""
    integer("n_rounds", settings.n_rounds, 1)
    up_to_one("learning_rate", settings.learning_rate)
    up_to_one("max_features", settings.max_features)
    one_of("start", start, STARTS)
    one_of("monotonic_cst", settings.monotonic_cst, MONOTONE)
    one_of("pair_weight", settings.pair_weight, PAIR_WEIGHTS)
    if isinstance(settings.q_def, (bool, list)) or settings.q_def not in SIDES:
        raise ValueError(f"q_def must be None, 0, 0.5 or 1, got {settings.q_def!r}")
