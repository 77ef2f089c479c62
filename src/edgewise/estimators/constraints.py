"""What users allow rules to do with columns: monotonicity, interactions, and no use at all."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Interactions
from edgewise.common.dtypes import Signs
from edgewise.data import BinnedTable, Categories, Table
from edgewise.data.rates import CategoryRates
from edgewise.estimators.rows import find_columns
from edgewise.learners import Learner

INTERACTIONS = ("pairwise", "no_interactions")

_MOST_PAIRWISE = 500

# A longer list of columns is not shown.
_MOST_SHOWN = 10


def read_directions(
    monotonic_cst: Any, names: Sequence[str], texts: Sequence[str] = ()
) -> tuple[Signs, NDArray[np.bool_]]:
    """Return the direction of each column, and which of the others a ranker may learn.

    `texts` are the words that the argument may be.
    """
    directions, learn = np.zeros(len(names), dtype=np.int8), np.zeros(len(names), dtype=bool)
    if monotonic_cst is None and not texts:
        return directions, learn
    if isinstance(monotonic_cst, str) and monotonic_cst in texts:
        directions[:], learn[:] = monotonic_cst == "increasing", monotonic_cst == "learn"
        return directions, learn
    if isinstance(monotonic_cst, Mapping):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(f"monotonic_cst: X does not have the column {unknown[0]!r}")
        learn = np.array([name not in monotonic_cst for name in names])
        values = np.array([monotonic_cst.get(name, 0) for name in names])
    else:
        values = np.asarray(monotonic_cst)
    if values.shape != directions.shape or not np.isin(values, (-1, 0, 1)).all():
        words = f"one of {', '.join(map(repr, texts))}, or " if texts else ""
        raise ValueError(
            f"monotonic_cst must be {words}-1, 0 or 1 for each of the {len(names)} columns, or a "
            f"dict of them by name, got {monotonic_cst!r}"
        )
    return values.astype(np.int8), learn


def find_directions(
    monotonic_cst: Any, binned: BinnedTable, n_features: int, texts: Sequence[str] = ()
) -> tuple[Signs, NDArray[np.bool_]]:
    """Return the same for all columns of a table; those from `n_features` on have no direction."""
    names = [b.name for b in binned.bins[:n_features]]
    directions, learn = read_directions(monotonic_cst, names, texts)
    is_categorical = [isinstance(b, Categories) for b in binned.bins[:n_features]]
    if isinstance(monotonic_cst, str):
        directions[is_categorical] = 0
    for name, direction, wrong in zip(names, directions, is_categorical, strict=True):
        if direction and wrong:
            raise ValueError(f"monotonic_cst: the column {name!r} is categorical")
    more = (0, binned.n_columns - n_features)
    return np.pad(directions, more), np.pad(learn, more)


def check_monotonic_learner(monotonic_cst: Any, learner: Learner) -> None:
    """Raise unless rules of a learner can keep to directions of columns."""
    if not all(x.allows_monotonic_cst for x in learner.alternatives()):
        raise ValueError(
            f"monotonic_cst={monotonic_cst!r} needs rules that are thresholds or trees of them, "
            "learner='stump', 'tree', 'additive' or 'auto': a product, and the value of a column, "
            f"can have any slope; got learner={learner!r}"
        )


def find_interactions(
    interaction_cst: Any, table: Table, rates: CategoryRates | None = None
) -> Interactions | None:
    """Return the sets of columns that may be tested together; None where all may.

    A column of rates belongs to a set if the columns that it is made of do.
    """
    if interaction_cst is None:
        return None
    n = table.n_columns
    sets: Iterable[Sequence[int]]
    if isinstance(interaction_cst, str) and interaction_cst in INTERACTIONS:
        sets = [(j,) for j in range(n)]
        if interaction_cst == "pairwise" and n > 1:
            if n > _MOST_PAIRWISE:
                raise ValueError(
                    f"interaction_cst='pairwise' needs at most {_MOST_PAIRWISE} columns, got {n}: "
                    "use learner='additive'"
                )
            sets = list(combinations(range(n), 2))
    else:
        if isinstance(interaction_cst, str) or not hasattr(interaction_cst, "__iter__"):
            raise ValueError(
                f"interaction_cst must be one of {', '.join(map(repr, INTERACTIONS))}, or a list "
                f"of lists of columns, by name or number; got {interaction_cst!r}"
            )
        sets = [find_columns("interaction_cst", columns, table) for columns in interaction_cst]
        rest = sorted({*range(n)}.difference(*sets))
        sets = [*sets, rest] if rest else sets
    members = np.zeros((len(sets), n), dtype=bool)
    for s, columns in enumerate(sets):
        members[s, columns] = True
    if rates is not None:
        sources = [rates.sources(r) for r in range(len(rates))]
        of_rates = [members[:, columns].all(axis=1) for columns in sources]
        members = np.column_stack([members, *of_rates])
    return Interactions(members)


def describe_constraints(model: Any, table: Table) -> dict[str, str]:
    """Return the constraints that were given, in words."""
    names = [table.name(j) for j in range(table.n_columns)]
    words: dict[str, str] = {}
    monotonic, interactions = model.monotonic_cst, model.interaction_cst
    if isinstance(monotonic, str):
        words["monotonic_cst"] = monotonic if monotonic not in ("auto", "learn") else ""
    else:
        directions = read_directions(monotonic, names)[0].tolist()
        given = [f"{name} {d:+d}" for name, d in zip(names, directions, strict=True) if d]
        words["monotonic_cst"] = _join(given)
    if isinstance(interactions, str):
        words["interaction_cst"] = interactions
    elif interactions is not None:
        sets = [find_columns("interaction_cst", columns, table) for columns in interactions]
        words["interaction_cst"] = _join([f"[{_join([names[j] for j in s])}]" for s in sets])
    words["ignored_features"] = _join([names[j] for j in sorted(table.ignored)])
    return {name: text for name, text in words.items() if text}


def _join(words: Sequence[str]) -> str:
    shown = ", ".join(words[:_MOST_SHOWN])
    return shown if len(words) <= _MOST_SHOWN else f"{shown} and {len(words) - _MOST_SHOWN} more"
