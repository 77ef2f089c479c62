"""The rules of one user's ranker: scores of items, words, and the arrays of files."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.common.dtypes import Columns, Reals
from edgewise.common.fields import Array, Converted, Record
from edgewise.model import Contribution, RankWording, ReadableRule, StumpTerms, Terms
from edgewise.ratings.rows import entries_of
from edgewise.recommend.rankboost.matrix import ItemMatrix, UserMatrix
from edgewise.recommend.rankboost.training import MISSING_SIDES, Cuts

NO_TERMS = Terms.empty(1, n_cuts=1).stumps
"""The rules of a user without pairs."""


def merged_terms(cuts: Cuts, part: UserMatrix, matrix: ItemMatrix, missing: str) -> StumpTerms:
    """Return each rule once, in the order of discovery, with the total of its steps."""
    bins = part.first_bins[cuts.columns] + cuts.firsts
    _, found, place = np.unique(2 * bins + (cuts.sides < 1), return_index=True, return_inverse=True)
    steps = np.bincount(place, 2.0 * cuts.steps, len(found))
    order = np.argsort(found)
    order = order[steps[order] != 0.0]
    at, bins = found[order], bins[found[order]]
    local = cuts.columns[at]
    columns = part.columns[local]
    # A column without gaps in training abstains on missing values, unless the user chose a side.
    side = 0 if missing == "learn" else MISSING_SIDES[missing]
    without_gaps = np.where(columns < matrix.n_viewers, side, 0)
    sides = np.where(part.gaps[local], cuts.sides[at], without_gaps)
    thresholds = np.full(len(columns), -np.inf)
    for values, mine in matrix.by_values(columns):
        mine = mine[cuts.firsts[at[mine]] > 0]
        below, above = part.codes[bins[mine] - 1], part.codes[bins[mine]]
        thresholds[mine] = values.thresholds(below, above)
    return StumpTerms(
        columns.astype(np.int32)[:, None],
        thresholds[:, None],
        sides.astype(np.int8)[:, None],
        np.abs(steps[order]) / 2,
        np.sign(steps[order])[:, None],
    )


def weights_of(terms: StumpTerms) -> Reals:
    """Return the weights of rules that say 0 or 1: the thesis's alpha, twice the coefficient."""
    return 2.0 * terms.coefficients[:, 0]


def missing_scores(terms: StumpTerms) -> Reals:
    """Return what each rule adds to the score of an item without a value in its column."""
    return weights_of(terms) * (0.5 + 0.5 * terms.missing[:, 0])


def item_scores(terms: StumpTerms, matrix: ItemMatrix) -> Reals:
    """Return the scores of all items: the weights of the rules that say 1."""
    columns, weights, absent = terms.columns[:, 0], weights_of(terms), missing_scores(terms)
    # The scores of missing values are a constant; only items with values differ from it.
    entries = matrix.by_column
    sizes = entries.indptr[columns + 1] - entries.indptr[columns]
    places = entries_of(entries.indptr, columns)
    says = entries.data[places] >= np.repeat(_first_codes(terms, matrix), sizes)
    moves = np.repeat(weights, sizes) * says - np.repeat(absent, sizes)
    return absent.sum() + np.bincount(entries.indices[places], moves, matrix.n_items)


def _first_codes(terms: StumpTerms, matrix: ItemMatrix) -> Columns:
    """Return the first code on the positive side of each rule."""
    first = np.zeros(len(terms), dtype=np.intp)
    for values, mine in matrix.by_values(terms.columns[:, 0]):
        first[mine] = np.searchsorted(values.values, terms.thresholds[mine, 0], side="left")
    return first


class ViewerWording(RankWording):
    """Rules on viewers and item features in words; `user_name` names a user by index."""

    def __init__(self, matrix: ItemMatrix, user_name: Callable[[int], str]) -> None:
        super().__init__(self._column_name, {}, [""])
        self._matrix, self._user_name = matrix, user_name

    def rules(self, terms: StumpTerms) -> list[ReadableRule]:
        """Return all rules, numbered from 1."""
        moves = terms.coefficients
        return [self.rule(t + 1, terms.rule(t), moves[t]) for t in range(len(terms))]

    def votes_for(self, terms: StumpTerms, item: int) -> list[Contribution]:
        """Return what each column adds to the score of an item, columns that add 0 left out."""
        matrix, row = self._matrix, self._matrix.by_item[[item]]
        codes = np.full(matrix.n_columns, -1, dtype=np.intp)
        codes[row.indices] = row.data
        mine = codes[terms.columns[:, 0]]
        missing = 0.5 + 0.5 * terms.missing[:, 0]
        says = np.where(mine >= 0, mine >= _first_codes(terms, matrix), missing)
        columns, number = np.unique(terms.columns[:, 0], return_inverse=True)
        totals = np.bincount(number, weights_of(terms) * says, len(columns))
        listed = zip(columns.tolist(), codes[columns].tolist(), totals.tolist(), strict=True)
        return [
            Contribution(self.name(column), total, self._value_of(column, code))
            for column, code, total in listed
            if total != 0.0
        ]

    def _column_name(self, column: int) -> str:
        feature = self._matrix.feature_of(column)
        if feature is None:
            return f"user {self._user_name(int(self._matrix.viewers[column]))}"
        return feature.name if feature.category is None else f"{feature.name} = {feature.category}"

    def cut(self, column: int, threshold: float, missing: int) -> str:
        """Return a cut of a viewer's ratings, or of a feature."""
        name, feature = self.name(column), self._matrix.feature_of(column)
        least = "" if threshold == -np.inf else f" >= {threshold:g}"
        if feature is None:
            also = {1: " or did not rate it", 0: "; half where unrated"}.get(missing, "")
            return f"({name} rated it{least}{also})"
        if feature.category is not None:
            return f"({name})"
        also = {1: " or is missing", 0: "; half where missing"}.get(missing, "")
        return f"({name}{least or ' is known'}{also})"

    def _value_of(self, column: int, code: int) -> str:
        """Return the value that a code stands for, -1 for missing."""
        feature, values = self._matrix.feature_of(column), self._matrix.values_of(column)
        if feature is not None and feature.category is not None:
            return "no" if code < 0 else "yes"
        if code < 0:
            return "did not rate it" if feature is None else "no"
        value = f"{'' if values.exact else 'at least '}{values.values[code]:g}"
        return f"rated it {value}" if feature is None else value


_RULES = {
    "columns": Array("rules 1", np.int32),
    "thresholds": Array("rules 1", np.float64, finite=False),
    "missing": Array("rules 1", np.int8),
    "alphas": Array("rules", np.float64),
    "votes": Array("rules 1", np.float64),
}
_JOINED = Record(
    {
        "users": Array("rankers", np.int64, below="users"),
        "ends": Array("rankers", np.int64),
        **_RULES,
    },
    take=dict.__getitem__,
)


def _joined(rankers: dict[int, StumpTerms]) -> dict[str, Any]:
    """Return the users, where the rules of each end, and all rules."""
    users = sorted(rankers)
    ends = np.cumsum([len(rankers[user]) for user in users], dtype=np.int64)
    parts = [NO_TERMS, *(rankers[user] for user in users)]
    rules = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _RULES}
    return {"users": np.array(users, dtype=np.int64), "ends": ends, **rules}


def _split(parts: dict[str, Any]) -> dict[int, StumpTerms]:
    users, ends = parts["users"], parts["ends"]
    terms = StumpTerms(**{name: parts[name] for name in _RULES})
    starts = ends - np.diff(ends, prepend=0)
    if (np.diff(users) <= 0).any() or (ends < starts).any():
        raise ValueError("rules must be in the order of their users")
    if len(terms) != (ends[-1] if len(ends) else 0):
        raise ValueError("rules do not match the users")
    if np.isnan(terms.thresholds).any() or (abs(terms.missing) > 1).any():
        raise ValueError("a rule is damaged")
    return {
        user: terms[low:high]
        for user, low, high in zip(users.tolist(), starts.tolist(), ends.tolist(), strict=True)
    }


RANKERS = Converted(_JOINED, _joined, _split)
"""How a file holds a dict from users to the rules of their rankers."""
