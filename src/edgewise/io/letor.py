"""Ranking files of LETOR: SVMlight with queries, absent values and names of documents."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as scipy_sparse

from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import REAL
from edgewise.common.files import PathLike, batches, replacing, words
from edgewise.io import svmlight
from edgewise.io.lines import LineError
from edgewise.io.ranking import RankingData

_WRITTEN_AT_ONCE: Final = 1024


def read_letor(path: PathLike, n_features: int | None = None, sparse: bool = False) -> RankingData:
    r"""Read a ranking file: SVMlight with ``qid:`` and, in comments, names of documents.

    A line is ``grade qid:query feature:value ... #docid = name``. Features are numbered from 1, in
    ascending order; one that a line leaves out is 0. The value ``NULL`` becomes NaN. What else a
    comment holds is passed over, and so are lines without content.

    Parameters
    ----------
    path : str or path-like
        A file, plain or gzipped.
    n_features : int, default=None
        The number of columns; with None, the largest number of a feature in the file.
    sparse : bool, default=False
        Whether ``X`` is to be a CSR matrix; zeros are not stored then.

    Returns
    -------
    RankingData
        Rows in the order of the file. ``qid`` is None if no line has a query, and ``docs`` if none
        names a document.

    Raises
    ------
    ValueError
        If the file is not in this format; the message names file, line and what is wrong there.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import read_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:10 1:0.5 2:NULL #docid = GX1\n0 qid:10 1:1 2:3 #docid = GX2\n")
    >>> data = read_letor(path)
    >>> data.X, data.y
    (array([[0.5, nan], [1. , 3. ]]), array([2., 0.]))
    >>> data.qid, data.docs
    (array(['10', '10'], dtype='<U2'), array(['GX1', 'GX2'], dtype='<U3'))
    """
    return parse_letor(batches(path), str(path), n_features=n_features, sparse=sparse)


def parse_letor(
    lines: Iterable[tuple[int, list[bytes]]],
    source: str,
    *,
    n_features: int | None = None,
    sparse: bool = False,
) -> RankingData:
    """Read batches of lines, each with the number of its first; `source` names them in errors.

    Examples
    --------
    >>> parse_letor([(1, [b"1 qid:a 2:4", b"0 qid:a"])], "here").X
    array([[0., 4.], [0., 0.]])
    """
    if n_features is not None:
        n_features = integer("n_features", n_features, 1, svmlight.MOST_FEATURES)
    flag("sparse", sparse)
    blocks: list[Any] = []
    grades: list[NDArray[Any]] = []
    queries: list[NDArray[Any]] = []
    docs: list[NDArray[Any]] = []
    try:
        for first, batch in lines:
            cut = svmlight.cut(first, batch)
            if not cut.numbers:
                continue
            grades.append(svmlight.grades(cut))
            found = svmlight.queries(cut)
            if grades[1:] and (found is None) == bool(queries):
                has, had = ("no", "one") if found is None else ("a", "none")
                fault = f"it has {has} qid:, though lines before it have {had}"
                raise LineError(cut.numbers[0], fault)
            if found is not None:
                queries.append(np.array(found, dtype=np.str_))
            docs.append(np.array(svmlight.docs(cut), dtype=np.str_))
            pairs = svmlight.pairs(cut)
            _check_width(cut, pairs, n_features)
            blocks.append(_block(pairs, sparse=sparse))
    except LineError as error:
        raise ValueError(f"{source}, {error}") from None
    if not blocks:
        raise ValueError(f"{source} is empty: it holds no line with a grade")
    width = n_features or max(block.shape[1] for block in blocks)
    if width == 0:
        raise ValueError(
            f"{source} has no features in any line; n_features says how many there are"
        )
    names = np.concatenate(docs)
    return RankingData(
        _csr(blocks, width) if sparse else _dense(blocks, width),
        np.concatenate(grades),
        np.concatenate(queries) if queries else None,
        names if (names != "").any() else None,
    )


def write_letor(
    path: PathLike,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None,
    docs: ArrayLike | None = None,
) -> None:
    r"""Write a ranking file that :func:`read_letor` reads back to the same numbers.

    NaN is written as ``NULL``. Of an array every value is written, of a sparse matrix those that
    are stored: where its last columns are empty, read it back with `n_features`.

    Parameters
    ----------
    path : str or path-like
        Where to write; gzipped if it ends in ``.gz``. A file that is there is replaced, once the
        new one is complete.
    X : array-like or sparse matrix of shape (n, d)
        The features.
    y : array-like of shape (n,)
        The grades, finite numbers.
    qid : array-like of shape (n,), or None
        The query of each row, words or whole numbers; None to write none.
    docs : array-like of str of shape (n,), default=None
        Names of the documents, for the comments; no comment for ``""``.

    Raises
    ------
    ValueError
        If the arguments do not fit together; nothing is written then.
    OSError
        If the file cannot be written; nothing is left behind then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import write_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.txt"
    >>> write_letor(path, [[0.5, float("nan")]], [2], [10], docs=["GX1"])
    >>> path.read_text()
    '2 qid:10 1:0.5 2:NULL #docid = GX1\n'
    """
    X = _features(X)
    n_rows = X.shape[0]
    grades = _grades(y, n_rows)
    heads = [b"%d" % grade if grade.is_integer() else repr(grade).encode() for grade in grades]
    if qid is not None:
        queries = words("qid", qid, n_rows, without="#")
        heads = [
            b"%b qid:%b" % (head, query.encode())
            for head, query in zip(heads, queries.tolist(), strict=True)
        ]
    ends = [b"\n"] * n_rows
    if docs is not None:
        names = words("docs", docs, n_rows, empty=True)
        ends = [b" #docid = %b\n" % name.encode() if name else b"\n" for name in names.tolist()]
    with replacing(path) as stream:
        for start in range(0, n_rows, _WRITTEN_AT_ONCE):
            rows = slice(start, start + _WRITTEN_AT_ONCE)
            bodies = _bodies(X[rows])
            for head, body, end in zip(heads[rows], bodies, ends[rows], strict=True):
                stream.write(head + body + end)


def _check_width(cut: svmlight.Lines, pairs: svmlight.Pairs, n_features: int | None) -> None:
    counts, features, _ = pairs
    if n_features is None or not len(features) or features.max() <= n_features:
        return
    wide = int(np.argmax(features > n_features))
    line = int(np.searchsorted(np.cumsum(counts), wide, side="right"))
    raise LineError(cut.numbers[line], f"feature {features[wide]} is past n_features={n_features}")


def _block(pairs: svmlight.Pairs, *, sparse: bool) -> Any:
    """Return the lines of a batch as rows: of an array if each names every feature, else sparse."""
    counts, features, values = pairs
    width = int(features.max()) if len(features) else 0
    if not sparse and (counts == width).all():
        # Ascending numbers from 1 to the width, as many as the width: each line has them all.
        return values.reshape(len(counts), width)
    rows = np.repeat(np.arange(len(counts)), counts)
    if sparse:
        stored = values != 0
        rows, features, values = rows[stored], features[stored], values[stored]
    starts = np.searchsorted(rows, np.arange(len(counts) + 1))
    return scipy_sparse.csr_matrix((values, features - 1, starts), shape=(len(counts), width))


def _dense(blocks: list[Any], width: int) -> NDArray[np.float64]:
    """Put blocks into one array, and let go of each as soon as it is there."""
    n_rows = sum(block.shape[0] for block in blocks)
    try:
        X = np.zeros((n_rows, width), dtype=REAL)
    except MemoryError:
        raise MemoryError(
            f"an array of {n_rows} rows and {width} columns does not fit; "
            "sparse=True reads a sparse matrix"
        ) from None
    end = n_rows
    while blocks:
        block = blocks.pop()
        start = end - block.shape[0]
        if scipy_sparse.issparse(block):
            rows = np.repeat(np.arange(start, end), np.diff(block.indptr))
            X[rows, block.indices] = block.data
        else:
            X[start:end, : block.shape[1]] = block
        end = start
    return X


def _csr(blocks: list[Any], width: int) -> Any:
    for block in blocks:
        block.resize(block.shape[0], width)
    return scipy_sparse.vstack(blocks, format="csr")


def _features(X: Any) -> Any:
    try:
        # A copy, as the entries of a matrix may have to be put in order.
        values: Any = X.tocsr().astype(REAL) if scipy_sparse.issparse(X) else np.asarray(X, REAL)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers: {error}") from error
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"X must have rows and columns, got shape {values.shape}")
    if scipy_sparse.issparse(values):
        values.sum_duplicates()
    return values


def _grades(y: ArrayLike, n_rows: int) -> list[float]:
    try:
        grades = np.asarray(y, dtype=REAL)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from error
    if grades.shape != (n_rows,):
        raise ValueError(f"y must have one grade per row, shape ({n_rows},), got {grades.shape}")
    if not np.isfinite(grades).all():
        raise ValueError("y must hold finite numbers, got NaN or infinity")
    return [float(grade) for grade in grades]


def _bodies(rows: Any) -> list[bytes]:
    """Return what stands between head and comment of each row."""
    if scipy_sparse.issparse(rows):
        features = (rows.indices + 1).tolist()
        pairs = list(map(_pair, features, rows.data.tolist()))
        ends = rows.indptr.tolist()
        return ["".join(pairs[a:b]).encode() for a, b in pairwise(ends)]
    numbers = range(1, rows.shape[1] + 1)
    return ["".join(map(_pair, numbers, row)).encode() for row in rows.tolist()]


def _pair(feature: int, value: float) -> str:
    return f" {feature}:{'NULL' if value != value else repr(value)}"
