"""Meta-search: RankBoost on ranked lists."""

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from edgewise.common.dtypes import Reals
from edgewise.estimators.rank_boost import RankBoost
from edgewise.fusion import RankedLists, grades_of
from edgewise.io import Run, read_qrels, read_run
from edgewise.model import FusionWording, Wording


class RankFusion(RankBoost):
    """Fuses ranked lists into one, learning from judged documents which lists to believe.

    Each list is a ranking feature: its j-th document has the value -j, and a document that it does
    not return is unranked (Iyer 1999 section 5.1). `RankBoost` learns thresholds on these: a
    document gets a weight for being among the first ten of one list, another for the first three of
    a second, and is ranked by the sum.

    Lists may be given as `edgewise.fusion.RankedLists`; as a mapping from names to TREC runs
    (paths of their files, or ``io.read_run``) or data frames; or as one long data frame with the
    columns query, doc, list and rank or score. A list that is absent later returns no documents.
    Judgements may be TREC qrels (a path, or ``io.read_qrels``), a data frame with the columns
    query, doc and grade, or, with `RankedLists`, an array with a grade for each row. Documents
    without a judgement count as grade 0, as in trec_eval; judged documents that no list returns are
    not ranked, and no metric here counts them (`edgewise evaluate` does).

    Parameters
    ----------
    n_rounds : int, default 500
        The number of rounds.
    learning_rate : float, default 0.2
        What every step is multiplied by, above 0 and at most 1.
    monotonic_cst : {"learn", "increasing", "none"}, dict or array, default "learn"
        How the contribution of a list may run. "increasing": the higher on a list the better, the
        positive cumulative weights of the thesis; "learn": as the list's first rule says; "none":
        anyhow.
    q_def : {None, 0, 1}, default None
        What a rule says of a document that its list does not return: whichever is better, or
        always 0 (as if below all that it returns) or 1.
    criterion : {"edge", "energy"}, default "edge"
        What rules are chosen by; see `RankBoost`.
    step : {"bound", "exact"} or None, default None
        How long the step is; see `RankBoost`.
    pair_weight : {"equal", "difference"}, default "difference"
        What a pair counts: 1, or the difference of its grades.
    query_weight : {"pairs", "root", "equal"}, default "root"
        What the pairs of a query count together: their number, its square root, or 1.
    validation_fraction : float or None, default None
        The share of the queries to set aside and validate on.
    early_stopping_rounds : int or None, default None
        Stop when the validation metric has not improved for so many rounds.
    eval_metric : str or callable, default "map"
        What is measured on validation queries, and by `score`.
    time_limit : float or None, default None
        Seconds after which training stops.
    n_jobs : int or None, default None
        Threads: None is 1, -1 all cores.
    random_state : int, RandomState or None, default None
        The seed of validation splits.
    verbose : int, default 0
        1 shows a progress bar.
    callbacks : list of Callback or None, default None
        Watch the training, or stop it.
    warm_start : bool, default False
        Go on from the rounds of the last fit instead of starting anew.

    Attributes
    ----------
    list_names_ : tuple of str
        The names of the lists.
    n_rounds_, best_iteration_, history_, stop_reason_, terms_, feature_importances_ :
        As in `RankBoost`.

    Examples
    --------
    >>> from edgewise import RankFusion
    >>> from edgewise.fusion import RankedLists
    >>> lists = RankedLists(
    ...     [[1, 3], [2, None], [3, 1], [1, 2], [2, 1]], qid=[1, 1, 1, 2, 2], names=["bm25", "url"]
    ... )
    >>> model = RankFusion(n_rounds=10).fit(lists, [0, 0, 1, 0, 1])
    >>> model.rank(lists)
    array([2, 3, 1, 2, 1])
    >>> print(model.rules()[0])
    +6.91 where (url: top 1)
    """

    def __init__(
        self,
        *,
        n_rounds: int = 500,
        learning_rate: float = 0.2,
        monotonic_cst: Any = "learn",
        q_def: int | None = None,
        criterion: str = "edge",
        step: str | None = None,
        pair_weight: str = "difference",
        query_weight: str = "root",
        validation_fraction: float | None = None,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = "map",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.monotonic_cst = monotonic_cst
        self.q_def = q_def
        self.criterion = criterion
        self.step = step
        self.pair_weight = pair_weight
        self.query_weight = query_weight
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    # What is not for a user of lists to choose.
    learner = "stump"
    search = "exhaustive"
    subsample = 1.0
    max_bins = None
    infinite = "raise"
    categorical_features = None

    def fit(  # type: ignore[override]
        self, lists: Any, judgements: Any, sample_weight: Any = None, eval_set: Any = None
    ) -> Self:
        """Learn from lists and the judgements of their documents.

        Parameters
        ----------
        lists : RankedLists, mapping of names to runs or frames, or data frame
            The lists of the training queries.
        judgements : array of shape (n_rows,), Qrels or data frame
            The grades of the documents.
        sample_weight : array of shape (n_rows,) or (n_queries,), dict or None
            Weights of the documents or of the queries.
        eval_set : tuple (lists, judgements) or None
            Validation queries.

        Returns
        -------
        self : RankFusion
            The trained model.
        """
        read = ranked_lists(lists)
        grades = _grades(read, judgements)
        held_out = None
        if eval_set is not None:
            if not isinstance(eval_set, tuple) or len(eval_set) != 2:
                raise ValueError("eval_set must be a tuple (lists, judgements)")
            aside = _with_names(ranked_lists(eval_set[0]), read.names, "eval_set")
            held_out = (aside.features, _grades(aside, eval_set[1]), aside.qid)

        def train(draft: "RankFusion") -> None:
            known = draft.list_names_ if draft._going_on() else read.names
            features = _with_names(read, known, "lists").features
            draft.list_names_ = known
            draft._fit_grades(features, grades, read.qid, sample_weight, held_out)

        return self._taken_over(train)

    def predict(self, lists: Any) -> Reals:
        """Return the scores of the documents of lists: larger is ranked higher within a query.

        One for each row of `RankedLists`; other forms of lists are sorted by query and document
        first (`fuse` returns the documents too).
        """
        return super().predict(self._read(lists).features)

    def staged_predict(self, lists: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        yield from super().staged_predict(self._read(lists).features)

    def rank(self, lists: Any) -> NDArray[np.int64]:  # type: ignore[override]
        """Return the ranks of the documents of lists, 1 for the best of each query."""
        read = self._read(lists)
        return self._ranks(super().predict(read.features), read.qid)

    def score(self, lists: Any, judgements: Any) -> float:  # type: ignore[override]
        """Return `eval_metric` of the fused lists."""
        read = self._read(lists)
        return self._measured(super().predict(read.features), _grades(read, judgements), read.qid)

    def fuse(self, lists: Any, tag: str = "edgewise") -> Run:
        """Return the fused lists as a TREC run, the best document of each query first.

        Documents with equal scores are in the order of trec_eval, by descending name.

        Raises
        ------
        ValueError
            If the lists do not say which documents they are of.
        """
        read = self._read(lists)
        if read.docs is None:
            raise ValueError("lists must have docs to be fused into a run")
        scores = super().predict(read.features)
        queries, docs = read.qid.astype(str), read.docs.astype(str)
        run = Run(
            queries, docs, np.zeros(len(docs), dtype=np.int64), scores, np.full(len(docs), tag)
        )
        ranks = run.positions()
        order = np.lexsort((ranks, read.queries.codes))
        return Run(
            queries[order], docs[order], ranks[order], scores[order], np.full(len(docs), tag)
        )

    def fit_pairs(self, *_: Any, **__: Any) -> Self:
        """Refuse: lists are judged by grades."""
        raise TypeError("RankFusion learns from judged lists; for pairs use RankBoost")

    def _read(self, lists: Any) -> RankedLists:
        check_is_fitted(self)
        return _with_names(ranked_lists(lists), self.list_names_, "lists")

    def _name(self, j: int) -> str:
        return self.list_names_[j]

    def _wording(self) -> type[Wording]:
        return FusionWording


def _grades(lists: RankedLists, judgements: Any) -> Reals:
    if isinstance(judgements, (str, PathLike)):
        judgements = read_qrels(judgements)
    return grades_of(lists, judgements)


def _with_names(lists: RankedLists, names: tuple[str, ...], argument: str) -> RankedLists:
    """Return the lists in the order of `names`; one that is absent returns no document.

    Raises
    ------
    ValueError
        If there is a list that is none of these.
    """
    if lists.names == names:
        return lists
    unknown = [name for name in lists.names if name not in names]
    if unknown:
        raise ValueError(f"{argument} has the list {unknown[0]!r}, which training did not have")
    positions = np.full((len(lists), len(names)), np.nan)
    for j, name in enumerate(lists.names):
        positions[:, names.index(name)] = lists.positions[:, j]
    return RankedLists(positions, lists.qid, docs=lists.docs, names=names)


def ranked_lists(lists: Any) -> RankedLists:
    """Return lists in whatever form they come as `RankedLists`.

    Raises
    ------
    TypeError
        If they are none of the forms.
    """
    if isinstance(lists, RankedLists):
        return lists
    if isinstance(lists, Mapping):
        lists = {
            name: read_run(run) if isinstance(run, (str, PathLike)) else run
            for name, run in lists.items()
        }
        values = list(lists.values())
        if values and all(hasattr(run, "queries") and hasattr(run, "scores") for run in values):
            return RankedLists.from_runs(lists)
        return RankedLists.from_frames(lists)
    return RankedLists.from_frames(lists)
