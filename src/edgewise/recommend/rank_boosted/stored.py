"""Trained rankers as arrays, and back."""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.recommend.rank_boosted.terms import KINDS, NO_TERMS, Terms

_NAMES = ("columns", "thresholds", "sides", "weights")


def packed(rankers: dict[int, Terms]) -> dict[str, NDArray]:
    """Return rankers as arrays: the users, where the rules of each end, and all rules."""
    users = sorted(rankers)
    ends = np.cumsum([len(rankers[user].columns) for user in users], dtype=np.int64)
    arrays: dict[str, NDArray] = {"own.users": np.array(users, dtype=np.int64), "own.ends": ends}
    for k, name in enumerate(_NAMES):
        parts = [NO_TERMS[k], *(rankers[user][k] for user in users)]
        arrays[f"own.{name}"] = np.concatenate(parts)
    return arrays


def check_fitted(viewers: NDArray, n_users: int, seed: int, start_weight: float) -> None:
    """Raise if fitted attributes of a file are not what a model can have."""
    integer("seed_", seed, 0)
    if not np.isfinite(start_weight):
        raise ValueError("start_weight_ must be finite")
    if not (np.array_equal(viewers, np.unique(viewers)) and _within(viewers, n_users)):
        raise ValueError("viewers_ must be users, ascending")


def unpacked(arrays: dict[str, NDArray], n_columns: int, n_users: int) -> dict[int, Terms]:
    """Return the rankers of arrays.

    Raises
    ------
    ValueError
        If they are not what rankers of so many users on so many columns can be.
    """
    users, ends = arrays["own.users"], arrays["own.ends"]
    fields = [arrays[f"own.{name}"] for name in _NAMES]
    for array, kind in zip((users, ends, *fields), (np.int64, np.int64, *KINDS), strict=True):
        if array.ndim != 1 or array.dtype != kind:
            raise ValueError("rules are not of the right types")
    n_rules = int(ends[-1]) if len(ends) else 0
    if len(users) != len(ends) or any(len(field) != n_rules for field in fields):
        raise ValueError("rules do not match the users")
    starts = ends - np.diff(ends, prepend=0)
    if (np.diff(users) <= 0).any() or (ends < starts).any():
        raise ValueError("rules must be in the order of their users")
    columns, thresholds, sides, weights = fields
    if not (_within(users, n_users) and _within(columns, n_columns)):
        raise ValueError("rules must be about users and columns that are there")
    if np.isnan(thresholds).any() or not np.isfinite(weights).all() or (abs(sides) > 1).any():
        raise ValueError("rules must have thresholds, sides and weights that are numbers")
    return {
        user: Terms(*(field[low:high] for field in fields))
        for user, low, high in zip(users.tolist(), starts.tolist(), ends.tolist(), strict=True)
    }


def _within(places: NDArray, n: int) -> bool:
    return len(places) == 0 or bool(places.min() >= 0 and places.max() < n)
