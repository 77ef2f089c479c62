"""Judged documents grouped by query, as the readers of ranking data return them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents with features, grades and query ids.

    Parameters
    ----------
    X : ndarray, scipy.sparse.csr_matrix or data frame of shape (n, d)
        One row per document; NaN is a missing value.
    y : ndarray of shape (n,), or None
        Grades, larger is better; None if the documents are not judged.
    qid : ndarray of str of shape (n,), or None
        Query ids as written in the file: ``"10"`` and ``"010"`` are two queries.
    docs : ndarray of str of shape (n,), or None
        Document ids, ``""`` for a row without one.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.io import RankingData
    >>> y, qid = np.array([2.0, 0.0, 1.0]), np.array(["q1", "q1", "q2"])
    >>> data = RankingData(np.eye(3), y, qid)
    >>> data
    RankingData(3 rows, 3 columns, 2 queries)
    >>> data.take(data.qid == "q1").y
    array([2., 0.])
    """

    X: Any
    y: Any
    qid: NDArray[Any] | None
    docs: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        n_rows = self.X.shape[0]
        for name, values in (("y", self.y), ("qid", self.qid), ("docs", self.docs)):
            if values is not None and np.shape(values) != (n_rows,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n_rows} rows of X, "
                    f"got shape {np.shape(values)}"
                )

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        counts = f"{len(self)} rows, {self.X.shape[1]} columns"
        return f"RankingData({counts}, {'no' if self.qid is None else self.n_queries} queries)"

    @property
    def queries(self) -> NDArray[Any]:
        """The distinct query ids, in the order of their first rows."""
        if self.qid is None:
            return np.array([], dtype=np.str_)
        ids, first = np.unique(self.qid, return_index=True)
        return ids[np.argsort(first)]

    @property
    def n_queries(self) -> int:
        """The number of queries, 0 if `qid` is None."""
        return len(self.queries)

    def take(self, rows: ArrayLike | slice) -> "RankingData":
        """Return some of the rows, by number, mask or slice."""
        chosen = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        arrays = (self.y, self.qid, self.docs)
        return RankingData(
            _rows_of(self.X, chosen),
            *(None if array is None else array[chosen] for array in arrays),
        )

    @classmethod
    def concatenate(cls, parts: "Sequence[RankingData]") -> "RankingData":
        """Return the rows of all parts, which have the same columns."""
        parts = list(parts)
        if not parts:
            raise ValueError("parts must hold at least one RankingData, got none")
        widths = {data.X.shape[1] for data in parts}
        if len(widths) > 1:
            raise ValueError(f"parts must have the same columns, got {sorted(widths)} of them")
        return cls(
            _stack_blocks([data.X for data in parts]),
            _concatenate_arrays("y", [data.y for data in parts]),
            _concatenate_arrays("qid", [data.qid for data in parts]),
            _concatenate_arrays("docs", [data.docs for data in parts]),
        )


def _rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X[rows]
    import narwhals.stable.v1 as nw

    taken = nw.from_native(X, eager_only=True)[rows.tolist(), :]
    return nw.maybe_reset_index(taken).to_native()


def _stack_blocks(blocks: list[Any]) -> Any:
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate(blocks)
    if all(sparse.issparse(block) for block in blocks):
        return sparse.vstack(blocks, format="csr")
    import narwhals.stable.v1 as nw

    try:
        frames = [nw.from_native(block, eager_only=True) for block in blocks]
        return nw.maybe_reset_index(nw.concat(frames, how="vertical")).to_native()
    except TypeError as error:
        raise ValueError(f"parts must hold the same kind of X: {error}") from error


def _concatenate_arrays(name: str, arrays: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    present = [array for array in arrays if array is not None]
    if not present:
        return None
    if len(present) < len(arrays):
        raise ValueError(f"parts must all have {name}, or none of them")
    return np.concatenate(present)
