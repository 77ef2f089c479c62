"""RankBoost for each user, on one matrix of all users' ratings (Iyer 1999 section 5.2)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from edgewise.common.checks import flag, integer, threads
from edgewise.common.dtypes import Reals
from edgewise.common.fields import Array, Count, Value, finite
from edgewise.model.readable import ReadableRule
from edgewise.ratings import Ratings
from edgewise.recommend.answers import Indices, Mask
from edgewise.recommend.base import Recommender
from edgewise.recommend.neighbours.targets import check_viewers, chosen_viewers
from edgewise.recommend.rank_boosted.matrix import Matrix
from edgewise.recommend.rank_boosted.parameters import check_settings
from edgewise.recommend.rank_boosted.problem import Rated, Settings, target_of
from edgewise.recommend.rank_boosted.start import Averages, start_weight
from edgewise.recommend.rank_boosted.stored import RANKERS
from edgewise.recommend.rank_boosted.terms import NO_TERMS, Terms, item_scores, terms_of
from edgewise.recommend.rank_boosted.training import Trainer, trainer_for
from edgewise.recommend.rank_boosted.wording import AVERAGE, ItemVotes, Vote, rule_text, votes_of


class RankBoostRecommender(Recommender):
    """Orders items for each user by votes of others, learned by RankBoost (Iyer 1999 section 5.2).

    The other users are the ranking features, of which each orders the items that it rated; item
    features are further ones. A user's own ratings say which items should be ranked above which.
    Boosting looks for the rule, such as "user 405 rated it at least 4", that orders the user's
    items best, gives it a weight, and goes on with the pairs that are still in the wrong order. A
    user's ranker is a short list of such rules: see `rules` and `explain`.

    Rankers are trained when they are first asked for, or with `fit_users` for many users at once.
    All share one matrix that holds nothing for missing ratings: `fit` takes time and memory in
    proportion to the number of ratings.

    Parameters
    ----------
    n_rounds : int, default 100
        The number of rounds for each user.
    learning_rate : float, default 0.05
        What every step is multiplied by, above 0 and at most 1.
    max_features : float, default 0.05
        The share of the viewers and item features that a round looks at, drawn anew in every round:
        so more of them have a say. About ten are drawn at least. 1 is all, as in the thesis.
    start : {"mean", "zero"}, default "mean"
        What rounds begin with: the mean rating of items by the viewers, the user itself left out,
        times a weight that is learned from all viewers; or with nothing, as in the thesis.
    viewers : int, sequence of ids or None, default None
        Whose ratings are ranking features: all users', those of so many drawn at random, or those
        of the users named. Time is in proportion to how many ratings these have.
    side_features : bool, default True
        Whether item features of the ratings are ranking features too. A categorical one is a
        feature for each of its values.
    monotonic_cst : {"increasing", "learn", "none"}, default "increasing"
        Whether a viewer's higher rating may lower the score: never (WeakLearn.3.cum of the thesis),
        if the first rule on that viewer says so, or anyhow. Item features learn their direction,
        unless it is "none".
    q_def : {None, 0, 0.5, 1}, default None
        What a rule says of an item that the viewer did not rate: 0 or 1, whichever is better; or
        always 0, 1, or 1/2, which is to abstain. Item features learn theirs.
    pair_weight : {"equal", "difference"}, default "difference"
        What a pair of items counts: 1, or the difference of the user's ratings.
    random_state : int, RandomState or None, default None
        The seed of what is drawn: viewers, and what a round looks at.
    n_jobs : int or None, default 1
        Threads, which train users side by side; -1 takes all cores. The rules are the same.
    verbose : int, default 0
        1 shows a progress bar while many users are trained.

    Attributes
    ----------
    viewers_ : intp array
        The indices of the users whose ratings are features.
    start_weight_ : float
        The weight of the mean rating; 0 with ``start="zero"``.
    seed_ : int
        The seed that was drawn from `random_state`.
    item_sums_, item_counts_ : float64 arrays of shape (items,)
        The viewers' ratings of each item, added up, and their weight.

    Notes
    -----
    The defaults were chosen on MovieLens 100k. The thesis has ``start="zero", learning_rate=1,
    max_features=1, pair_weight="equal"``.

    The rules are those of `edgewise.RankBoost` with the same settings on the matrix of the user's
    items, where the user's own column is left out. Scores order the items of one user, and say
    nothing across users. A user whose ratings are all equal, or who has one rating only, has no
    pairs to learn from: its items are ordered by the mean ratings of the viewers, each of which
    counts as five ratings more that are the overall mean.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import RankBoostRecommender
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Alien": 5, "Brazil": 4, "Cabaret": 1, "Diva": 2},
    ...     "bob": {"Alien": 4, "Brazil": 5, "Cabaret": 2, "Eraser": 5, "Fargo": 1},
    ...     "cat": {"Alien": 1, "Cabaret": 5, "Diva": 4, "Eraser": 2, "Fargo": 4}})
    >>> model = RankBoostRecommender(20, start="zero", learning_rate=1, max_features=1).fit(ratings)
    >>> model.recommend("ann").ids
    array(['Eraser', 'Fargo'], dtype='<U7')
    >>> print(model.rules("ann")[0])
    +4.82 where (user bob rated it >= 3)
    """

    predicts = "score"
    stored: ClassVar = {
        "viewers_": Array("viewers", np.intp, below="users"),
        "item_sums_": "items",
        "item_counts_": "items",
        "start_weight_": Value(float, finite),
        "seed_": Count(),
        "_rankers": RANKERS,
    }

    viewers_: Indices
    start_weight_: float
    seed_: int
    item_sums_: Reals
    item_counts_: Reals

    def __init__(
        self,
        n_rounds: int = 100,
        *,
        learning_rate: float = 0.05,
        max_features: float = 0.05,
        start: str = "mean",
        viewers: Any = None,
        side_features: bool = True,
        monotonic_cst: str = "increasing",
        q_def: float | None = None,
        pair_weight: str = "difference",
        random_state: Any = None,
        n_jobs: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_features = max_features
        self.start = start
        self.viewers = viewers
        self.side_features = side_features
        self.monotonic_cst = monotonic_cst
        self.q_def = q_def
        self.pair_weight = pair_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit_users(self, users: Any = None) -> Self:
        """Train the rankers of users now rather than when they are asked for.

        Parameters
        ----------
        users : array-like of ids, one id, or None
            Whose; None for all users that are known.

        Returns
        -------
        self

        Examples
        --------
        >>> from edgewise import Ratings
        >>> from edgewise.recommend import RankBoostRecommender
        >>> ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 3, 4, 2])
        >>> len(RankBoostRecommender().fit(ratings).fit_users([1]).rules(1))
        2
        """
        ratings = self._trained()
        if users is None:
            users = ratings.user_ids.values[self.known_users_]
        self._rankers_of(self._require(users).tolist())
        return self

    def rules(self, user: Any, n: int | None = 10) -> list[ReadableRule]:
        """Return the strongest rules of a user's ranker in words, the largest weights first.

        Parameters
        ----------
        user : id
            Whose.
        n : int or None, default 10
            How many; None for all.

        Returns
        -------
        list of ReadableRule
            Numbered in the order in which they were found, from 1; the mean rating has the number
            0. Empty for a user without pairs.
        """
        if n is not None:
            integer("n", n, 1)
        place = int(self._require(user)[0])
        terms, names = self._rankers_of([place])[0], self.ratings_.user_ids.values
        listed = [
            ReadableRule(t + 1, abs(weight), rule_text(terms, t, self._matrix, names))
            for t, weight in enumerate(terms.weights.tolist())
        ]
        weight = self.start_weight_
        if weight > 0 and terms:
            listed.append(ReadableRule(0, weight, f"{weight:+.2f} * (mean rating of others)"))
        return sorted(listed, key=lambda rule: (-rule.alpha, rule.round))[:n]

    def explain(self, user: Any, item: Any) -> ItemVotes:
        """Return why an item has its score: who votes for it, and who against.

        Parameters
        ----------
        user, item : ids
            Whose score of what.

        Returns
        -------
        ItemVotes
            The votes, the rules about one viewer added up; they sum to the score.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> from edgewise.recommend import RankBoostRecommender
        >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 2], [7, 8, 7, 8, 9], [5, 3, 4, 2, 4])
        >>> model = RankBoostRecommender(n_rounds=1, start="zero", learning_rate=1).fit(ratings)
        >>> print(model.explain(1, 9))
        9 for 1: score 3.45
          +3.45  user 2: rated it 4
        """
        place = int(self._require(user)[0])
        row = int(self.ratings_.item_ids.require("items", item)[0])
        terms = self._rankers_of([place])[0]
        votes = votes_of(terms, self._matrix, row, self.ratings_.user_ids.values)
        begin = self._begin(place, terms)
        if begin is not None:
            mean = begin[row] / (self.start_weight_ if terms else 1.0)
            votes.append(Vote(AVERAGE, f"rated it {mean:.2f}", float(begin[row])))
        votes.sort(key=lambda vote: -abs(vote.amount))
        score = float(self._row(place, terms)[row])
        names = self.ratings_.user_ids.values[place], self.ratings_.item_ids.values[row]
        return ItemVotes(names[0].item(), names[1].item(), score, tuple(votes))

    # What the base asks for.

    def _check_parameters(self) -> None:
        check_settings(self._settings(), self.start)
        check_viewers(self.viewers)
        flag("side_features", self.side_features)
        threads("n_jobs", self.n_jobs)

    def _settings(self) -> Settings:
        return Settings(
            self.n_rounds, self.learning_rate, self.monotonic_cst, self.q_def, self.pair_weight,
            self.max_features, vars(self).get("seed_", 0),
        )  # fmt: skip

    def _fit(self, ratings: Ratings) -> None:
        self.seed_ = self._seed()
        self.viewers_ = chosen_viewers(self.viewers, ratings, self.seed_)
        theirs = ratings.take(np.isin(ratings.users, self.viewers_))
        averages = Averages.of(theirs)
        self.item_sums_, self.item_counts_ = averages
        self.start_weight_ = 0.0
        if self.start == "mean":
            self.start_weight_ = start_weight(averages, theirs, self.pair_weight)
        self._share(ratings)

    def _share(self, ratings: Ratings) -> None:
        """Make the matrix that rankers share, of which none is trained yet."""
        self._matrix = Matrix.of(ratings, self.viewers_, bool(self.side_features))
        self._rankers: dict[int, Terms] = {}

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        # Those of known users stay as they are; two models may know different users by one index.
        self._rankers = dict(self._rankers)

    def _knows_items(self, ratings: Ratings) -> Mask:
        rated = super()._knows_items(ratings)
        described = self.side_features and ratings.item_features is not None
        return np.ones_like(rated) if described else rated

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        different, place = np.unique(users, return_inverse=True)
        rankers = self._rankers_of(different.tolist())
        order = np.argsort(place, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(place))[:-1])
        scores = np.empty(len(users))
        for user, terms, part in zip(different.tolist(), rankers, parts, strict=True):
            scores[part] = self._row(user, terms)[items[part]]
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        rankers = self._rankers_of(users.tolist())
        rows = [self._row(*ranker) for ranker in zip(users.tolist(), rankers, strict=True)]
        return np.array(rows).reshape(len(users), self.n_items_)

    def _means(self, users: Indices, items: Indices) -> Reals:
        """Return scores where a side is unknown: the mean rating, or a user's score of no item."""
        found = np.full(len(users), self.mean_)
        known = self._known(None, items) & ~self._known(users, None)
        found[known] = self._item_means()[items[known]]
        for at in np.flatnonzero(self._known(users, None)):
            user = int(users[at])
            terms = self._rankers_of([user])[0]
            begin = self._begin(user, terms)
            nothing = (terms.weights * (0.5 + 0.5 * terms.sides)).sum()
            found[at] = nothing + (0.0 if begin is None else begin.mean())
        return found

    def _item_means(self) -> Reals:
        nothing = np.empty(0, dtype=np.intp)
        return self._averages().without(nothing, np.empty(0), None)

    def _restored(self) -> None:
        super()._restored()
        if not np.array_equal(self.viewers_, np.unique(self.viewers_)):
            raise ValueError("viewers_ must be ascending")
        rankers = self._rankers
        self._share(self.ratings_)
        for terms in rankers.values():
            if terms.columns.min(initial=0) < 0:
                raise ValueError("rules must be about columns that are there")
            if terms.columns.max(initial=-1) >= self._matrix.n_columns:
                raise ValueError("rules must be about columns that are there")
        self._rankers = rankers

    # How it is done.

    def _require(self, users: Any) -> Indices:
        """Return the indices of users that are known, or raise."""
        places = self._places("users", users)
        if not self._known(places, None).all():
            self._raise_unknown(users, places, (), np.zeros(0, dtype=np.intp))
        return places

    def _averages(self) -> Averages:
        return Averages(self.item_sums_, self.item_counts_)

    def _begin(self, user: int, terms: Terms | None) -> Reals | None:
        """Return the scores of all items that a user's rounds begin with; None is 0.

        With no rules they are the mean ratings of others.
        """
        if terms is not None and not terms:
            scale = 1.0
        elif self.start_weight_ > 0:
            scale = self.start_weight_
        else:
            return None
        own = Rated.of(self.ratings_, user)
        if self._matrix.column_of(user) < 0:
            own = Rated(own.items[:0], own.values[:0], None)
        return scale * self._averages().without(*own)

    def _row(self, user: int, terms: Terms) -> Reals:
        """Return the scores of all items."""
        begin = self._begin(user, terms)
        scores = item_scores(terms, self._matrix)
        return scores if begin is None else scores + begin

    def _rankers_of(self, users: Sequence[int]) -> list[Terms]:
        """Return the rankers of users; those that are not there yet are trained."""
        new = sorted({user for user in users if user not in self._rankers})
        if new:
            train = trainer_for(new, self.ratings_, self._matrix, self.n_rounds)
            threads = min(self._threads(), len(new))
            with self._progress(len(new), "users") as step:

                def run(user: int) -> None:
                    self._rankers[user] = self._train(user, train)
                    step()

                # One thread alone makes no pool.
                with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
                    list((map if pool is None else pool.map)(run, new))
        return [self._rankers[user] for user in users]

    def _train(self, user: int, train: Trainer) -> Terms:
        rated = Rated.of(self.ratings_, user)
        if not rated.has_pairs:
            return NO_TERMS
        matrix, settings = self._matrix, self._settings()
        own, begin = matrix.column_of(user), self._begin(user, None)
        target = target_of(matrix, rated, begin, own, self.pair_weight)
        cuts = train(target, settings, matrix.n_viewers)
        return terms_of(cuts, target.part, matrix, self.q_def)
