"""What a trained ranker can do."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.estimators.trained import TrainedModel
from edgewise.metrics import Lists, ranking_metric
from edgewise.metrics.registry import larger_is_better
from edgewise.model import RankWording, Rule, Wording


class TrainedRanker(TrainedModel):
    """The part of a ranker that works on what training has left."""

    eval_metric: Any
    _tests_sum: Reals
    _has_queries: bool

    def predict(self, X: Any) -> Reals:
        """Return the scores of documents: larger is ranked higher within a query."""
        table = self._table(X)
        scores = self._predictor.scores(table, self._n_threads())[:, 0]
        return scores + self._offset(len(self.terms_))

    def staged_predict(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        table = self._table(X)
        for t, scores in enumerate(self._predictor.staged_scores(table)):
            yield scores[0] + self._offset(t + 1)

    def _offset(self, n_rounds: int) -> float:
        """Return what turns rules of -1 and +1 into rules of 0 and 1, with half the difference.

        Real-valued rules are as they are.
        """
        return float(self._tests_sum[n_rounds])

    def rank(self, X: Any, qid: Any = None) -> NDArray[np.int64]:
        """Return the ranks of documents, 1 for the best of each query.

        Documents with equal scores are ranked in the order of their rows.
        """
        return self._ranks(self.predict(X), qid)

    def _ranks(self, scores: Reals, qid: Any) -> NDArray[np.int64]:
        lists = Lists(np.zeros(len(scores)), qid)
        order = np.lexsort((np.arange(len(scores)), -scores, lists.row_query))
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[order] = lists.position
        return ranks

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Return `eval_metric` of the model's ranking of documents with known grades.

        Larger is better: of "disagreement" it is the negative.
        """
        if qid is None and self._has_queries:
            raise ValueError("qid must be given: the model was trained on several queries")
        return self._measured(self.predict(X), y, qid)

    def _measured(self, scores: Reals, y: Any, qid: Any) -> float:
        lists, metric = Lists(y, qid), self.eval_metric
        if callable(metric):
            value = float(metric(lists.grades, scores, lists.queries[lists.row_query]))
        else:
            metric = ranking_metric(metric)
            value = metric(lists, scores)
        return value if larger_is_better(metric, default=True) else -value

    def _prepare(self) -> None:
        super()._prepare()
        moves = self.terms_.coefficients[:, 0]
        tests = np.array([self._says_signs(t) for t in range(len(moves))], dtype=bool)
        self._tests_sum = np.concatenate(([0.0], np.cumsum(np.where(tests, moves, 0.0))))

    def _says_signs(self, t: int) -> bool:
        real = getattr(self.terms_, "real", None)
        if real is not None:
            return not bool(real[t])
        return not hasattr(self.terms_, "fills")

    def _listed_rules(self) -> list[tuple[int, Rule, Reals]]:
        listed: dict[object, tuple[int, Rule, Reals]] = {}
        for t, rule, moves in super()._listed_rules():
            key = rule.key or t
            first, _, held = listed.get(key, (t, rule, np.zeros(1)))
            listed[key] = (first, rule, held + moves)
        return list(listed.values())

    def _score_names(self) -> list[object]:
        return ["score"]

    def _wording(self) -> type[Wording]:
        return RankWording
