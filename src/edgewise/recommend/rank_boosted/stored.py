"""The rankers of all users in model files."""

from typing import Any

import numpy as np

from edgewise.common.fields import Array, Converted, Record
from edgewise.recommend.rank_boosted.terms import NO_TERMS, Terms

_RULES = {
    "columns": Array("rules", np.int32),
    "thresholds": Array("rules", np.float64, finite=False),
    "sides": Array("rules", np.int8),
    "weights": Array("rules", np.float64),
}
_ALL = Record(
    {
        "users": Array("rankers", np.int64, below="users"),
        "ends": Array("rankers", np.int64),
        **_RULES,
    },
    take=dict.__getitem__,
)


def _joined(rankers: dict[int, Terms]) -> dict[str, Any]:
    """Return the users, where the rules of each end, and all rules."""
    users = sorted(rankers)
    ends = np.cumsum([len(rankers[user].columns) for user in users], dtype=np.int64)
    parts = [NO_TERMS, *(rankers[user] for user in users)]
    rules = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _RULES}
    return {"users": np.array(users, dtype=np.int64), "ends": ends, **rules}


def _split(parts: dict[str, Any]) -> dict[int, Terms]:
    users, ends = parts["users"], parts["ends"]
    starts = ends - np.diff(ends, prepend=0)
    if (np.diff(users) <= 0).any() or (ends < starts).any():
        raise ValueError("rules must be in the order of their users")
    if len(parts["columns"]) != (ends[-1] if len(ends) else 0):
        raise ValueError("rules do not match the users")
    if np.isnan(parts["thresholds"]).any() or (abs(parts["sides"]) > 1).any():
        raise ValueError("a rule is damaged")
    return {
        user: Terms(*(parts[name][low:high] for name in _RULES))
        for user, low, high in zip(users.tolist(), starts.tolist(), ends.tolist(), strict=True)
    }


RANKERS = Converted(_ALL, _joined, _split)
"""A dict from users to the rules of their rankers."""
