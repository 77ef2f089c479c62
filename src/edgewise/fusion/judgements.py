"""Judgements of documents, in whatever form they come, as one grade for each row of lists."""

from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.data.table import is_frame
from edgewise.fusion.lists import RankedLists


def grades_of(lists: RankedLists, judgements: Any) -> Reals:
    """Return the grade of each row of lists.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    judgements : array-like of shape (n_rows,), Qrels or data frame
        A grade for each row; or objects with arrays queries, docs and grades (``io.read_qrels``);
        or a data frame with the columns query, doc and grade. Documents that these do not name get
        grade 0.

    Raises
    ------
    ValueError
        If there is not one grade for each row, the lists have no document ids to look up, a
        document is judged twice, or none of the documents is judged.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from edgewise.fusion import RankedLists, grades_of
    >>> lists = RankedLists([[1], [2]], qid=["q", "q"], docs=["x", "y"])
    >>> grades_of(lists, SimpleNamespace(queries=["q", "q"], docs=["y", "z"], grades=[2, 1]))
    array([0., 2.])
    """
    if is_frame(judgements):
        return _looked_up(lists, *_columns(judgements))
    if all(hasattr(judgements, name) for name in ("queries", "docs", "grades")):
        # In qrels a grade below 0 says that a document was not judged.
        grades = np.maximum(np.asarray(judgements.grades, dtype=np.float64), 0.0)
        return _looked_up(lists, judgements.queries, judgements.docs, grades)
    try:
        grades = np.asarray(judgements, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"judgements must be grades, qrels or a data frame: {error}") from error
    if grades.shape != (len(lists),):
        raise ValueError(
            f"judgements must have one grade for each of the {len(lists)} rows of the lists, got "
            f"an array of shape {grades.shape}"
        )
    return grades


def _columns(frame: Any) -> tuple[Any, Any, Any]:
    import narwhals as nw

    read = nw.from_native(frame, eager_only=True)
    missing = [name for name in ("query", "doc", "grade") if name not in read.columns]
    if missing:
        raise ValueError(f"judgements must have the column {missing[0]!r}")
    query, doc, grade = (read[name].to_numpy() for name in ("query", "doc", "grade"))
    return query, doc, grade


def _looked_up(lists: RankedLists, queries: Any, docs: Any, grades: Any) -> Reals:
    if lists.docs is None:
        raise ValueError("lists must have docs, so that judgements can be looked up")
    known: dict[tuple[str, str], float] = {}
    for query, doc, grade in zip(queries, docs, grades, strict=True):
        key = (_text(query), _text(doc))
        if key in known:
            raise ValueError(f"judgements name the document {key[1]!r} of query {key[0]!r} twice")
        known[key] = float(grade)
    pairs = zip(lists.qid.tolist(), lists.docs.tolist(), strict=True)
    keys = [(_text(query), _text(doc)) for query, doc in pairs]
    if not any(key in known for key in keys):
        raise ValueError("judgements name none of the documents of the lists")
    return np.array([known.get(key, 0.0) for key in keys])


def _text(name: Any) -> str:
    """Return an id as text; frames turn whole numbers into floats where others are missing."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
