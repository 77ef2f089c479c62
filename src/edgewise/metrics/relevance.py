"""Which documents count as relevant, and the value of a query that has none."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from edgewise.common.checks import flag
from edgewise.common.dtypes import Reals
from edgewise.metrics.lists import Lists

RelevantOption: TypeAlias = float | Literal["top"] | None
EmptyOption: TypeAlias = float | Literal["skip"]


@dataclass(frozen=True, eq=False)
class Relevance:
    """An indicator of relevant documents, by row, and their number in each list."""

    flags: Reals
    counts: Reals

    @property
    def defined(self) -> np.ndarray:
        """The lists with a relevant document."""
        return self.counts > 0


def relevance(lists: Lists, relevant: Any) -> Relevance:
    """Return the relevant documents of `lists`.

    Examples
    --------
    >>> lists = Lists([0, 1, 3, 2, 2], qid=[0, 0, 0, 1, 1])
    >>> relevance(lists, None).flags
    array([0., 1., 1., 1., 1.])
    >>> relevance(lists, 2).counts
    array([1., 2.])
    >>> relevance(lists, "top").flags
    array([0., 0., 1., 0., 0.])
    """
    option: RelevantOption
    if relevant is None or (isinstance(relevant, str) and relevant == "top"):
        option = None if relevant is None else "top"
    elif isinstance(relevant, bool) or not isinstance(relevant, Real) or math.isnan(relevant):
        raise ValueError(f"relevant must be None, 'top' or a least grade, got {relevant!r}")
    else:
        option = float(relevant)
    return lists.prepared(("relevance", option), lambda: _relevance(lists, option))


def _relevance(lists: Lists, option: RelevantOption) -> Relevance:
    if option is None:
        chosen = lists.grades > 0
    elif option == "top":
        by_grade = lists.ideal()
        best = by_grade.scores[lists.starts]
        # A list of one grade prefers nothing, so none of its documents is relevant.
        best[best == by_grade.scores[lists.starts + lists.sizes - 1]] = np.inf
        chosen = np.empty(lists.n_rows, dtype=bool)
        chosen[by_grade.order] = by_grade.scores == best[lists.query]
    else:
        chosen = lists.grades >= option
    flags = chosen.astype(np.float64)
    counts: Reals = np.zeros(lists.n_queries)
    np.add.at(counts, lists.row_query, flags)
    return Relevance(flags, counts)


def empty_value(empty: Any) -> float:
    """Return the value of a query for which the metric is undefined; NaN for "skip"."""
    if isinstance(empty, str) and empty == "skip":
        return math.nan
    if isinstance(empty, bool) or not isinstance(empty, Real) or math.isnan(empty):
        raise ValueError(f"empty must be a number or 'skip', got {empty!r}")
    return float(empty)


def over_queries(values: Reals, defined: np.ndarray, fill: float, per_query: bool) -> float | Reals:
    """Return the values per query or their mean, with `fill` where they are undefined.

    Examples
    --------
    >>> import numpy as np
    >>> over_queries(np.array([0.5, 0.0]), np.array([True, False]), 0.0, False)
    0.25
    >>> over_queries(np.array([0.5, 0.0]), np.array([True, False]), math.nan, False)
    0.5
    """
    per_query = flag("per_query", per_query)
    if not defined.all():
        values = np.where(defined, values, fill)
        if math.isnan(fill) and not per_query:
            values = values[defined]
            if len(values) == 0:
                raise ValueError(
                    "empty='skip' leaves no query: the metric is undefined for all of them"
                )
    return values if per_query else float(values.mean())
