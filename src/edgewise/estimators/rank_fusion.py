"""Meta-search: RankBoost on ranked lists."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from edgewise.common.dtypes import Reals
from edgewise.data import ArrayTable
from edgewise.data.table import is_frame
from edgewise.estimators.fitting import EvalSet, named_sets
from edgewise.estimators.parameters import RankingParameters, documented
from edgewise.estimators.rank_boost import RankBoost, Ranker
from edgewise.fusion import RankedLists, grades_of
from edgewise.io import Run, read_qrels, read_run
from edgewise.model import FusionWording

if TYPE_CHECKING:
    from edgewise.report import Report


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class RankFusion(RankingParameters, Ranker):
    """Fuses ranked lists into one, learning from judged documents which lists to believe.

    Each list is a ranking feature: its j-th document has the value -j, and a document that it does
    not return is unranked (Iyer 1999 section 5.1). A `RankBoost` learns thresholds on these: a
    document earns a weight for being among the first ten of one list, another for the first three
    of a second, and is ranked by the sum.

    Lists may be `edgewise.fusion.RankedLists`, a mapping from names to TREC runs (or their paths)
    or data frames, or one data frame with the columns query, doc, list and rank or score.
    Judgements may be TREC qrels (or a path), a data frame with the columns query, doc and grade,
    or, with `RankedLists`, an array with a grade for each row. Documents without a judgement have
    grade 0, as in trec_eval; judged documents that no list returns are not ranked or counted.

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

    _wording = FusionWording

    def fit(
        self,
        lists: Any,
        judgements: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
    ) -> Self:
        """Learn from lists and the judgements of their documents, and return the model.

        Parameters
        ----------
        lists : RankedLists, mapping of names to runs or frames, or data frame
            The lists of the training queries.
        judgements : array of shape (n_rows,), Qrels or data frame
            The grades of the documents.
        sample_weight : array of shape (n_rows,) or (n_queries,), dict or None
            Weights of the documents or of the queries.
        eval_set : tuple (lists, judgements), list of such tuples, or None
            Validation queries. Of several sets the last decides, by the first `eval_metric`, when
            to stop early; `evals_result_` has all.
        eval_names : list of str or None
            The names of the sets; by default "validation_0", "validation_1" and so on.
        """
        sets = named_sets(eval_set, eval_names)
        read = ranked_lists(lists)
        grades = grades_in(read, judgements)
        ranker = RankBoost(**self.get_params(deep=False))
        if self.warm_start and self.__sklearn_is_fitted__():
            ranker.fitted_ = self.fitted_
            read = _with_names(read, self.list_names_, "lists")
        held_out = [one._replace(given=_documents(one, read.names)) for one in sets]
        self.fitted_ = ranker._trained(
            _features(read), grades, read.qid, sample_weight, held_out, owner=self
        )
        return self

    def predict(self, lists: Any, n_rounds: int | None = None) -> Reals:
        """Return the scores of the documents of lists: larger is ranked higher within a query.

        There is one for each row of `RankedLists`; other forms of lists are sorted by query and
        document first (`fuse` returns the documents too). With `n_rounds`, the scores are those of
        the model's first rounds.
        """
        features = _features(self._read(lists))
        return self.ranker_.predict(features, n_rounds)

    def staged_predict(self, lists: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        features = _features(self._read(lists))
        yield from self.ranker_.staged_predict(features)

    def rank(self, lists: Any) -> NDArray[np.int64]:
        """Return the ranks of the documents of lists, 1 for the best of each query."""
        read = self._read(lists)
        return self._ranks(self.predict(read), read.qid)

    def score(self, lists: Any, judgements: Any) -> float:
        """Return `eval_metric` of the fused lists."""
        read = self._read(lists)
        return self._measured(self.predict(read), grades_in(read, judgements), read.qid)

    def fuse(self, lists: Any, tag: str = "edgewise") -> Run:
        """Return the fused lists as a TREC run, the best document of each query first.

        Documents with equal scores are in the order of trec_eval, by descending name. The lists
        must name their documents.
        """
        read = self._read(lists)
        if read.docs is None:
            raise ValueError("lists must have docs to be fused into a run")
        scores = self.predict(read)
        queries, docs = read.qid.astype(str), read.docs.astype(str)
        tags = np.full(len(docs), tag)
        run = Run(queries, docs, np.zeros(len(docs), dtype=np.int64), scores, tags)
        ranks = run.positions()
        order = np.lexsort((ranks, read.queries.codes))
        return Run(queries[order], docs[order], ranks[order], scores[order], tags)

    def report(
        self, lists: Any, judgements: Any = None, path: Any = None, *, title: str | None = None
    ) -> "Report":
        """Make a page that shows what the model learned and how well it fuses lists.

        Parameters
        ----------
        lists : RankedLists, mapping of names to runs or frames, or data frame
            The lists, best of queries that training has not seen.
        judgements : array of shape (n_rows,), Qrels, data frame or None
            The grades of their documents; None leaves out what needs them.
        path : str or path-like, default None
            Write the page here.
        title : str, default None
            The heading.
        """
        from edgewise.report import ranker_report, reported

        read = self._read(lists)
        grades = None if judgements is None else grades_in(read, judgements)
        given = _features(read), grades, read.qid, title or "Rank fusion report", self, read.docs
        return reported(path, lambda: ranker_report(self.ranker_, *given))

    @property
    def ranker_(self) -> RankBoost:
        """The ranker of the lists' positions."""
        return RankBoost(**self.get_params(deep=False))._with(self.fitted_)

    @property
    def list_names_(self) -> tuple[str, ...]:
        """The names of the lists."""
        names = self.fitted_.feature_names
        assert names is not None
        return names

    def _restored(self) -> None:
        super()._restored()
        if self.fitted_.feature_names is None:
            raise ValueError("the lists must have names")
        if (self.fitted_.terms.thresholds >= 0).any():
            raise ValueError("positions count from 1")

    def _read(self, lists: Any) -> RankedLists:
        check_is_fitted(self)
        return _with_names(ranked_lists(lists), self.list_names_, "lists")


def _features(lists: RankedLists) -> ArrayTable:
    """Return the lists as columns, named after them."""
    return ArrayTable(lists.features, lists.names)


def _documents(eval_set: EvalSet, names: tuple[str, ...]) -> tuple[ArrayTable, Reals, NDArray]:
    """Return lists and judgements to validate on as documents with grades and query ids."""
    _, given, argument = eval_set
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(f"{argument} must be a tuple (lists, judgements)")
    aside = _with_names(ranked_lists(given[0]), names, argument)
    return _features(aside), grades_in(aside, given[1]), aside.qid


def grades_in(lists: RankedLists, judgements: Any) -> Reals:
    """Return the grades of the rows of lists; judgements may be the path of qrels."""
    if isinstance(judgements, (str, PathLike)):
        judgements = read_qrels(judgements)
    return grades_of(lists, judgements)


def _with_names(lists: RankedLists, names: tuple[str, ...], argument: str) -> RankedLists:
    """Return the lists in the order of `names`; one that is absent returns no document."""
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
    """Return lists, in any form that users give them in, as `RankedLists`."""
    if isinstance(lists, RankedLists):
        return lists
    if isinstance(lists, Mapping):
        lists = {
            name: read_run(run) if isinstance(run, (str, PathLike)) else run
            for name, run in lists.items()
        }
        runs = lists.values()
        if runs and all(hasattr(run, "queries") and hasattr(run, "scores") for run in runs):
            return RankedLists.from_runs(lists)
    elif not is_frame(lists):
        kind = type(lists).__name__
        raise TypeError(f"lists must be RankedLists, runs or data frames, got {kind}")
    return RankedLists.from_frames(lists)
