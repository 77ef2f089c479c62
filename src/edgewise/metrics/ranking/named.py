"""Ranking metrics by name: what an estimator or a table of results asks for by a word."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from edgewise.common.dtypes import Reals
from edgewise.metrics.ranking.area import auc
from edgewise.metrics.ranking.gain import ndcg
from edgewise.metrics.ranking.lists import Lists
from edgewise.metrics.ranking.order import disagreement
from edgewise.metrics.ranking.precision import average_precision, precision_at, recall_at
from edgewise.metrics.ranking.reciprocal import coverage, prot, reciprocal_rank


@dataclass(frozen=True)
class RankingMetric:
    """A ranking metric with its name, called as ``metric(y, scores, qid)``.

    Attributes
    ----------
    name : str
        The name it was asked for by, such as "ndcg@10".
    larger_is_better : bool
        Whether a larger value means better lists.
    function : callable
        The function of grades (or Lists), scores and query ids.

    Examples
    --------
    >>> from edgewise.metrics import ranking_metric
    >>> metric = ranking_metric("precision@1")
    >>> metric([0, 1], [0.2, 0.7]), metric.larger_is_better
    (1.0, True)
    """

    name: str
    larger_is_better: bool
    function: Callable[..., float | Reals]

    def __call__(
        self, y: ArrayLike | Lists, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> float:
        """Return the mean over queries."""
        return float(self.function(y, scores, qid))


@dataclass(frozen=True)
class _Entry:
    """A function, which way is better, and whether its name may have, or must have, an @k."""

    function: Callable[..., Any]
    larger_is_better: bool = True
    at: str = "never"


RANKING_METRICS: dict[str, _Entry] = {
    "map": _Entry(average_precision),
    "mrr": _Entry(reciprocal_rank),
    "ndcg": _Entry(ndcg, at="maybe"),
    "precision": _Entry(precision_at, at="always"),
    "recall": _Entry(recall_at, at="always"),
    "auc": _Entry(auc),
    "disagreement": _Entry(disagreement, larger_is_better=False),
    "prot": _Entry(prot),
    "coverage": _Entry(coverage),
}
"""What may be asked for by name, before an "@k"."""


def ranking_metric(name: str) -> RankingMetric:
    """Return the ranking metric called `name`.

    Parameters
    ----------
    name : str
        "map", "mrr", "ndcg", "ndcg@k", "precision@k", "recall@k", "auc", "disagreement",
        "prot" or "coverage", with a number of 1 or more in place of k.

    Returns
    -------
    RankingMetric
        The metric with the defaults of its function.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> from edgewise.metrics import ranking_metric
    >>> round(ranking_metric("ndcg@2")([0, 2, 1], [3.0, 2.0, 1.0]), 4)
    0.5213
    >>> ranking_metric("disagreement").larger_is_better
    False
    """
    base, at, k = name.partition("@") if isinstance(name, str) else ("", "", "")
    entry = RANKING_METRICS.get(base)
    if entry is not None and not at and entry.at != "always":
        return RankingMetric(name, entry.larger_is_better, entry.function)
    if entry is not None and entry.at != "never" and k.isascii() and k.isdigit() and int(k) > 0:
        return RankingMetric(name, entry.larger_is_better, partial(entry.function, k=int(k)))
    raise ValueError(f"name must be one of {_spelt()}, with k a number from 1, got {name!r}")


def _spelt() -> str:
    """Return how the names are spelt, as a list in words."""
    spelt = []
    for base, entry in RANKING_METRICS.items():
        if entry.at != "always":
            spelt.append(repr(base))
        if entry.at != "never":
            spelt.append(repr(f"{base}@k"))
    return ", ".join(spelt)
