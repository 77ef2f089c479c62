"""Scores of lists brought to a common scale, within each query and list."""

from collections.abc import Callable

import numpy as np

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Reals
from edgewise.fusion.lists import RankedLists


def normalised_scores(lists: RankedLists, norm: str | None = "min-max") -> Reals:
    """Scores of each list on the scale of a norm, taken over what it returns for a query.

    Lists that carry no scores are given those of the norm "rank" to begin with.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    norm : {"min-max", "max", "sum", "zmuv", "rank"} or None, default "min-max"
        The scale; s is a score, the others are over the documents that the list returns.

        - "min-max": (s - min) / (max - min), or 1 where all are equal: the top of a list is at 1.
        - "max": s / max, for scores that are not negative.
        - "sum": (s - min) / sum of (s - min), or equal shares where all are equal: a list gives
          out 1 in all.
        - "zmuv": (s - mean) / standard deviation, or 0 where all are equal. A document that is
          not returned then counts like an average one.
        - "rank": 1 - (position - 1) / length of the list (:meth:`RankedLists.lengths`), whatever
          the scores are.
        - None: s.

    Returns
    -------
    ndarray of shape (n_rows, n_lists)
        The scores, 0 where a list does not return a document.

    Raises
    ------
    ValueError
        If `norm` is none of these, or it is "max" and a list has no positive score.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, normalised_scores
    >>> lists = RankedLists.from_scores([[8.0], [6.0], [4.0], [None]], qid=[1, 1, 1, 1])
    >>> normalised_scores(lists).T
    array([[1. , 0.5, 0. , 0. ]])
    >>> normalised_scores(lists, "rank").round(2).T
    array([[1.  , 0.67, 0.33, 0.  ]])
    """
    if norm is not None:
        one_of("norm", norm, (*_SCALES, "rank"))
    scores = _rank_scores(lists) if lists.scores is None or norm == "rank" else lists.scores
    if norm is not None and norm in _SCALES:
        scores = _SCALES[norm](lists, scores)
    return np.where(lists.returned, scores, 0.0)


def _rank_scores(lists: RankedLists) -> Reals:
    lengths = np.maximum(lists.lengths(), 1.0)[lists.queries.codes]
    return 1.0 - (lists.positions - 1.0) / lengths


def _min_max(lists: RankedLists, scores: Reals) -> Reals:
    low, high = _extremes(lists, scores)
    return _ratio(scores - low, high - low, otherwise=1.0)


def _max(lists: RankedLists, scores: Reals) -> Reals:
    low, high = _extremes(lists, scores)
    wrong = np.argwhere(lists.returned & (high <= 0) & (low < 0))
    if len(wrong):
        row, j = wrong[0]
        raise ValueError(
            f"norm='max' needs a positive score, but list {lists.names[j]!r} has none above "
            f"{high[row, j]:g} for query {lists.qid[row]}; norm='min-max' takes any scores"
        )
    return _ratio(scores, high, otherwise=0.0)


def _sum(lists: RankedLists, scores: Reals) -> Reals:
    low, _ = _extremes(lists, scores)
    codes = lists.queries.codes
    totals = lists.queries.sums(scores - low)[codes]
    return _ratio(scores - low, totals, otherwise=1.0 / np.maximum(lists.n_returned(), 1)[codes])


def _zmuv(lists: RankedLists, scores: Reals) -> Reals:
    codes = lists.queries.codes
    low, high = _extremes(lists, scores)
    counts = np.maximum(lists.n_returned(), 1)
    centred = scores - (lists.queries.sums(scores) / counts)[codes]
    deviation = np.sqrt(lists.queries.sums(centred**2) / counts)[codes]
    # A mean of equal numbers can be off in the last digit, so it is not asked whether they are.
    return _ratio(centred, np.where(high > low, deviation, 0.0), otherwise=0.0)


_SCALES: dict[str, Callable[[RankedLists, Reals], Reals]] = {
    "min-max": _min_max,
    "max": _max,
    "sum": _sum,
    "zmuv": _zmuv,
}


def _extremes(lists: RankedLists, scores: Reals) -> tuple[Reals, Reals]:
    """Return the least and the largest score of each list and query, spread over the rows."""
    codes = lists.queries.codes
    low = lists.queries.reduce(np.fmin, scores)
    high = lists.queries.reduce(np.fmax, scores)
    return low[codes], high[codes]


def _ratio(top: Reals, bottom: Reals, otherwise: float | Reals) -> Reals:
    """Return top / bottom, or something else where bottom is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom == 0, otherwise, top / bottom)
