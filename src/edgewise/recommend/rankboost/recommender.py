"""RankBoost for each user, on one matrix of all users' ratings (Iyer 1999 section 5.2)."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from edgewise.common.checks import flag, integer, one_of, up_to_one
from edgewise.common.choices import PAIR_WEIGHTS
from edgewise.common.dtypes import Columns, Indices, Mask, Reals
from edgewise.common.fields import Array, Converted, Record
from edgewise.common.threads import Threads
from edgewise.model import Contribution, RankWording, ReadableRule
from edgewise.model.terms import StumpTerms, Terms
from edgewise.ratings import Ratings
from edgewise.ratings.rows import entry_positions
from edgewise.recommend.base import ExplainedRecommender
from edgewise.recommend.model import NUMBER, SEED, Threaded, Verbose, parameter
from edgewise.recommend.per_user import MAX_ROUNDS, ReferenceUsers, group_by_user
from edgewise.recommend.rankboost import training
from edgewise.recommend.rankboost.matrix import ItemMatrix, UserMatrix, item_matrix

INITS = ("mean", "zero")
MONOTONIC_CHOICES = ("increasing", "learn", "none")

NO_TERMS = Terms.empty(1, n_cuts=1).stumps
"""The rules of a user without pairs."""

_RULES = {
    "columns": Array("rules 1", np.int32),
    "thresholds": Array("rules 1", np.float64, finite=False),
    "missing": Array("rules 1", np.int8),
    "alphas": Array("rules", np.float64),
    "votes": Array("rules 1", np.float64),
}
_JOINED_RULES = Record(
    {
        "users": Array("rankers", np.int64, below="users"),
        "ends": Array("rankers", np.int64),
        **_RULES,
    },
    take=dict.__getitem__,
)


def _join_rankers(rankers: dict[int, StumpTerms]) -> dict[str, Any]:
    """Return the users, where the rules of each end, and all rules."""
    users = sorted(rankers)
    ends = np.cumsum([len(rankers[user]) for user in users], dtype=np.int64)
    terms = [NO_TERMS, *(rankers[user] for user in users)]
    rules = {name: np.concatenate([getattr(term, name) for term in terms]) for name in _RULES}
    return {"users": np.array(users, dtype=np.int64), "ends": ends, **rules}


def _split_rankers(arrays: dict[str, Any]) -> dict[int, StumpTerms]:
    users, ends = arrays["users"], arrays["ends"]
    terms = StumpTerms(**{name: arrays[name] for name in _RULES})
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


RANKERS = Converted(_JOINED_RULES, _join_rankers, _split_rankers)
"""How a file holds a dict from users to the rules of their rankers."""


@dataclass(eq=False, repr=False)
class RankBoostRecommender(ReferenceUsers, ExplainedRecommender, Threaded, Verbose):
    """Orders items for each user by the votes of other users, learned by RankBoost.

    The other users are the ranking features, each ordering the items that it rated; item features
    are further ones (Iyer 1999 section 5.2). A user's ranker is a short list of rules such as
    "user 405 rated it at least 4": see `rules` and `explain`. It is trained on first use, or by
    `fit_users` for many users at once. Scores of different users cannot be compared. A user without
    differently rated items gets the reference users' mean ratings, damped by five ratings of the
    overall mean.

    Parameters
    ----------
    n_rounds : int, default 100
        Rounds for each user.
    learning_rate : float, default 0.05
        The factor on every step, above 0 and at most 1.
    max_features : float, default 0.05
        The fraction of the reference users and item features drawn per round, at least about ten.
    init : {"mean", "zero"}, default "mean"
        The scores before the first round: the reference users' mean rating of each item, times a
        weight learned from all reference users; or 0.
    reference_users : int, sequence of ids or None, default None
        The users whose ratings are ranking features, the thesis's viewers: a number of users drawn
        at random, the users with these ids, or all users (None). Time grows with their ratings.
    side_features : bool, default True
        Whether item features are ranking features; a categorical one counts as one feature for each
        category.
    monotonic_cst : {"increasing", "learn", "none"}, default "increasing"
        Whether a reference user's higher rating may lower the score: never (WeakLearn.3.cum of the
        thesis); only if the user's first rule does; or freely. Item features learn their
        direction, unless it is "none".
    missing : {"learn", "low", "high", "abstain"}, default "learn"
        A rule's output for unrated items, the q_def of the thesis: the better of 0 and 1; always 0
        ("low") or 1 ("high"); or 1/2, which abstains. Item features always learn it.
    pair_weight : {"equal", "difference"}, default "difference"
        The weight of a pair of items: 1, or the difference of the user's ratings.
    random_state, n_jobs, verbose
        See :class:`Recommender`.

    Attributes
    ----------
    reference_users_ : intp array
        The indices of the users whose ratings are features.
    start_weight_ : float
        The weight of the mean rating; 0 with ``init="zero"``.
    seed_ : int
        The seed drawn from `random_state`.
    item_sums_, item_counts_ : float64 arrays of shape (items,)
        The sum of the reference users' ratings of each item, and their weight.

    Notes
    -----
    The rules are those of :class:`edgewise.RankBoost` with the same settings on the matrix of the
    user's items. The defaults were chosen on MovieLens 100K; the thesis has ``init="zero",
    learning_rate=1, max_features=1, pair_weight="equal"``.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import RankBoostRecommender
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Alien": 5, "Brazil": 4, "Cabaret": 1, "Diva": 2},
    ...     "bob": {"Alien": 4, "Brazil": 5, "Cabaret": 2, "Eraser": 5, "Fargo": 1},
    ...     "cat": {"Alien": 1, "Cabaret": 5, "Diva": 4, "Eraser": 2, "Fargo": 4}})
    >>> model = RankBoostRecommender(20, init="zero", learning_rate=1, max_features=1).fit(ratings)
    >>> model.recommend("ann").ids
    array(['Eraser', 'Fargo'], dtype='<U7')
    >>> print(model.rules("ann")[0])
    +4.82 where (user bob rated it >= 3)
    """

    predicts = "score"
    refits_on_update = True
    stored: ClassVar = {
        "item_sums_": "items",
        "item_counts_": "items",
        "start_weight_": NUMBER,
        "seed_": SEED,
        "_rankers": RANKERS,
    }

    n_rounds: int = parameter(100, integer, 1, MAX_ROUNDS)
    _: KW_ONLY
    learning_rate: float = parameter(0.05, up_to_one)
    max_features: float = parameter(0.05, up_to_one)
    init: str = parameter("mean", one_of, INITS)
    side_features: bool = parameter(True, flag)
    monotonic_cst: str = parameter("increasing", one_of, MONOTONIC_CHOICES)
    missing: str = parameter("learn", one_of, training.MISSING_SIDES)
    pair_weight: str = parameter("difference", one_of, PAIR_WEIGHTS)

    def fit_users(self, users: Any = None) -> Self:
        """Train the rankers of users, None for all known ones, now rather than on first use."""
        ratings = self._fitted_ratings()
        if users is None:
            users = ratings.user_ids.values[self.known_users_]
        self._rankers_of(self._known_indices("users", users).tolist())
        return self

    def rules(self, user: Any, n: int | None = 10) -> list[ReadableRule]:
        """Return the `n` strongest rules of a user's ranker in words, None for all.

        They are numbered in the order of discovery, from 1; the mean rating is number 0.
        """
        if n is not None:
            integer("n", n, 1)
        terms = self._rankers_of([int(self._known_indices("users", user)[0])])[0]
        listed = self._wording().rules(terms)
        weight = self.start_weight_
        if weight > 0 and len(terms):
            listed.append(ReadableRule(0, weight, f"{weight:+.2f} * (mean rating of others)"))
        return sorted(listed, key=lambda rule: (-rule.alpha, rule.round))[:n]

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        terms = self._rankers_of([user])[0]
        votes = self._wording().votes_for(terms, item)
        start = self._start_scores(user, terms)
        if start is not None:
            mean = start[item] / (self.start_weight_ if len(terms) else 1.0)
            votes.append(Contribution("mean of others", float(start[item]), f"{mean:.2f}"))
        return float(self._score_items(user, terms)[item]), votes

    def _fit(self, ratings: Ratings) -> None:
        self.seed_ = self._seed()
        self.reference_users_ = self._resolve_reference_users(ratings, self.seed_)
        reference_ratings = self._reference_ratings(ratings)
        means = training.ItemMeans.of(reference_ratings)
        self.item_sums_, self.item_counts_ = means
        self.start_weight_ = 0.0
        if self.init == "mean":
            self.start_weight_ = means.start_weight(reference_ratings, self.pair_weight)
        self._build_matrix(ratings)

    def _reference_ratings(self, ratings: Ratings) -> Ratings:
        """Return the ratings by reference users."""
        return ratings.take(np.isin(ratings.users, self.reference_users_))

    def _build_matrix(self, ratings: Ratings) -> None:
        """Build the matrix that all rankers share; none is trained yet."""
        self._matrix = item_matrix(ratings, self.reference_users_, bool(self.side_features))
        self._rankers: dict[int, StumpTerms] = {}

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        # Two models may know different users by one index: rankers are not shared from here on.
        self._rankers = dict(self._rankers)

    def _knows_items(self, ratings: Ratings) -> Mask:
        rated = super()._knows_items(ratings)
        described = self.side_features and ratings.item_features is not None
        return np.ones_like(rated) if described else rated

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        groups = group_by_user(users)
        rankers = self._rankers_of([user for user, _ in groups])
        scores = np.empty(len(users))
        for (user, rows), terms in zip(groups, rankers, strict=False):
            scores[rows] = self._score_items(user, terms)[items[rows]]
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        rankers = self._rankers_of(users.tolist())
        rows = [self._score_items(*ranker) for ranker in zip(users.tolist(), rankers, strict=True)]
        return np.array(rows).reshape(len(users), self.n_items_)

    def _mean_scores(self, users: Indices, items: Indices) -> Reals:
        """Return scores of unknown pairs: an item's mean rating, a user's score of no item."""
        scores = np.full(len(users), self.mean_)
        known = self._are_known(None, items) & ~self._are_known(users, None)
        means = training.ItemMeans(self.item_sums_, self.item_counts_).without(training.NOBODY)
        scores[known] = means[items[known]]
        for at in np.flatnonzero(self._are_known(users, None)):
            user = int(users[at])
            terms = self._rankers_of([user])[0]
            start = self._start_scores(user, terms)
            scores[at] = missing_scores(terms).sum() + (0.0 if start is None else start.mean())
        return scores

    def _check_restored(self) -> None:
        super()._check_restored()
        means = training.ItemMeans.of(self._reference_ratings(self.ratings_))
        if not np.array_equal(means.counts, self.item_counts_):
            raise ValueError("item_counts_ must be the counts of the ratings of reference_users_")
        rankers = self._rankers
        self._build_matrix(self.ratings_)
        for terms in rankers.values():
            low, high = terms.columns.min(initial=0), terms.columns.max(initial=-1)
            if low < 0 or high >= self._matrix.n_columns:
                raise ValueError("rules must be about columns that exist")
        self._rankers = rankers

    def _wording(self) -> "ReferenceWording":
        names = self.ratings_.user_ids.values
        return ReferenceWording(self._matrix, lambda user: str(names[user]))

    def _start_scores(self, user: int, terms: StumpTerms | None) -> Reals | None:
        """Return the scores of items that rounds start with, or their means without rules."""
        if terms is not None and not len(terms):
            scale = 1.0
        elif self.start_weight_ > 0:
            scale = self.start_weight_
        else:
            return None
        is_reference = self._matrix.column_of(user) >= 0
        user_ratings = self.ratings_.by_user.row(user) if is_reference else training.NOBODY
        return scale * training.ItemMeans(self.item_sums_, self.item_counts_).without(user_ratings)

    def _score_items(self, user: int, terms: StumpTerms) -> Reals:
        """Return the scores of all items."""
        start = self._start_scores(user, terms)
        scores = item_scores(terms, self._matrix)
        return scores if start is None else scores + start

    def _rankers_of(self, users: Sequence[int]) -> list[StumpTerms]:
        """Return the rankers of users, training those that are not there yet."""
        new = sorted({user for user in users if user not in self._rankers})
        if new:
            compiled = training.uses_compiled_loop(new, self.ratings_, self._matrix, self.n_rounds)
            with (
                self._progress(len(new), "users") as step,
                Threads(min(self._threads(), len(new))) as pool,
            ):

                def run(user: int) -> None:
                    self._rankers[user] = self._train(user, compiled)
                    step()

                pool.map(run, new)
        return [self._rankers[user] for user in users]

    def _train(self, user: int, compiled: bool) -> StumpTerms:
        rated = self.ratings_.by_user.row(user)
        if len(np.unique(rated.values)) < 2:
            return NO_TERMS
        matrix = self._matrix
        settings = training.RankerSettings(
            self.n_rounds, self.learning_rate, self.monotonic_cst, self.missing, self.max_features,
            self.seed_,
        )  # fmt: skip
        user_column, start = matrix.column_of(user), self._start_scores(user, None)
        problem = training.user_problem(matrix, rated, start, user_column, self.pair_weight)
        cuts = training.find_cuts(problem, settings, compiled)
        return merge_terms(cuts, problem.matrix, matrix, self.missing)


def merge_terms(
    cuts: training.Cuts, part: UserMatrix, matrix: ItemMatrix, missing: str
) -> StumpTerms:
    """Return each rule once, in the order of discovery, with the total of its steps."""
    bins = part.table.first_bins[cuts.columns] + cuts.firsts
    _, firsts, numbers = np.unique(
        2 * bins + (cuts.sides < 1), return_index=True, return_inverse=True
    )
    steps = np.bincount(numbers, 2.0 * cuts.steps, len(firsts))
    order = np.argsort(firsts)
    order = order[steps[order] != 0.0]
    at, bins = firsts[order], bins[firsts[order]]
    local = cuts.columns[at]
    columns = part.columns[local]
    # A column without missing values in training abstains on them, unless `missing` names a side.
    side = 0 if missing == "learn" else training.MISSING_SIDES[missing]
    default_sides = np.where(columns < matrix.n_references, side, 0)
    sides = np.where(part.table.has_missing[local], cuts.sides[at], default_sides)
    thresholds = np.full(len(columns), -np.inf)
    for values, rules in matrix.by_values(columns):
        rules = rules[cuts.firsts[at[rules]] > 0]
        below, above = part.codes[bins[rules] - 1], part.codes[bins[rules]]
        thresholds[rules] = values.thresholds(below, above)
    return StumpTerms(
        columns.astype(np.int32)[:, None],
        thresholds[:, None],
        sides.astype(np.int8)[:, None],
        np.abs(steps[order]) / 2,
        np.sign(steps[order])[:, None],
    )


def _weights_of(terms: StumpTerms) -> Reals:
    """Return twice the coefficients: the thesis's alpha, for rules with outputs 0 and 1."""
    return 2.0 * terms.coefficients[:, 0]


def missing_scores(terms: StumpTerms) -> Reals:
    """Return what each rule adds to the score of an item without a value in its column."""
    return _weights_of(terms) * (0.5 + 0.5 * terms.missing[:, 0])


def item_scores(terms: StumpTerms, matrix: ItemMatrix) -> Reals:
    """Return the scores of all items: the weights of the rules with output 1."""
    columns, weights, absent = terms.columns[:, 0], _weights_of(terms), missing_scores(terms)
    # The scores of missing values are a constant; only items with values differ from it.
    entries = matrix.by_column
    sizes = entries.indptr[columns + 1] - entries.indptr[columns]
    positions = entry_positions(entries.indptr, columns)
    outputs = entries.data[positions] >= np.repeat(_first_codes(terms, matrix), sizes)
    moves = np.repeat(weights, sizes) * outputs - np.repeat(absent, sizes)
    return absent.sum() + np.bincount(entries.indices[positions], moves, matrix.n_items)


def _first_codes(terms: StumpTerms, matrix: ItemMatrix) -> Columns:
    """Return the first code on the positive side of each rule."""
    first = np.zeros(len(terms), dtype=np.intp)
    for values, rules in matrix.by_values(terms.columns[:, 0]):
        first[rules] = np.searchsorted(values.values, terms.thresholds[rules, 0], side="left")
    return first


class ReferenceWording(RankWording):
    """Rules on reference users and item features in words; `user_name` names a user by index."""

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
        item_codes = codes[terms.columns[:, 0]]
        missing = 0.5 + 0.5 * terms.missing[:, 0]
        outputs = np.where(item_codes >= 0, item_codes >= _first_codes(terms, matrix), missing)
        columns, number = np.unique(terms.columns[:, 0], return_inverse=True)
        totals = np.bincount(number, _weights_of(terms) * outputs, len(columns))
        listed = zip(columns.tolist(), codes[columns].tolist(), totals.tolist(), strict=True)
        return [
            Contribution(self.name(column), total, self._value_of(column, code))
            for column, code, total in listed
            if total != 0.0
        ]

    def _column_name(self, column: int) -> str:
        feature = self._matrix.feature_of(column)
        if feature is None:
            return f"user {self._user_name(int(self._matrix.references[column]))}"
        return feature.name if feature.category is None else f"{feature.name} = {feature.category}"

    def cut(self, column: int, threshold: float, missing: int) -> str:
        """Return a cut of a reference user's ratings, or of a feature."""
        name, feature = self.name(column), self._matrix.feature_of(column)
        condition = "" if threshold == -np.inf else f" >= {threshold:g}"
        if feature is None:
            also = {1: " or did not rate it", 0: "; half where unrated"}.get(missing, "")
            return f"{name} rated it{condition}{also}"
        if feature.category is not None:
            return name
        also = {1: " or is missing", 0: "; half where missing"}.get(missing, "")
        return f"{name}{condition or ' is known'}{also}"

    def _value_of(self, column: int, code: int) -> str:
        """Return the value that a code stands for, -1 for missing."""
        feature, values = self._matrix.feature_of(column), self._matrix.values_of(column)
        if feature is not None and feature.category is not None:
            return "no" if code < 0 else "yes"
        if code < 0:
            return "did not rate it" if feature is None else "no"
        value = f"{'' if values.exact else 'at least '}{values.values[code]:g}"
        return f"rated it {value}" if feature is None else value
