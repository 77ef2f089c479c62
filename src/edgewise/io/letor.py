"""LETOR files: SVMlight with query ids, missing values and document ids.

The numbers of many lines are parsed at once; only where that fails are they parsed one by one, to
find the wrong line.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as scipy_sparse

from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import REAL, Reals, Rows
from edgewise.common.files import PathLike, as_words, read_line_batches, replace_file
from edgewise.io.lines import LineError, as_number, as_text, quote_word
from edgewise.io.ranking import RankingData

_ROWS_PER_WRITE: Final = 1024
MAX_FEATURE: Final = 2**31 - 1
"""Largest feature number: sparse matrices have 32-bit column numbers."""

Pairs = tuple[NDArray[np.int64], Rows, Reals]
"""The number of pairs of each line; the features, from 1, and the values of all lines."""

_QUERY: Final = b"qid:"
_DOC: Final = re.compile(rb"docid\s*=\s*(\S+)")
_ABSENT: Final = b"NULL"
# Istella's files have the largest float, rounded, for missing values.
_UNDEFINED: Final = 1.797693e308
_COLON, _SPACE = b": "
_TO_SPACES: Final = bytes.maketrans(b"\t\r\n\v\f", b"     ")
_APART: Final = bytes.maketrans(b":", b" ")


def read_letor(path: PathLike, n_features: int | None = None, sparse: bool = False) -> RankingData:
    r"""Read a LETOR file: SVMlight with query ids and, in comments, document ids.

    A line is ``grade qid:query feature:value ... #docid = name``. Features are numbered from 1, in
    ascending order; those that a line leaves out are 0. ``NULL`` becomes NaN. Other comments and
    empty lines are ignored. A wrong line raises ValueError, which names file and line.

    Parameters
    ----------
    path : str or path-like
        A file, plain or gzipped.
    n_features : int, default None
        The number of columns; with None, the largest feature number in the file.
    sparse : bool, default False
        Whether to return ``X`` as a CSR matrix, without stored zeros.

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
    return parse_letor(read_line_batches(path), str(path), n_features=n_features, sparse=sparse)


def parse_letor(
    lines: Iterable[tuple[int, list[bytes]]],
    source: str,
    *,
    n_features: int | None = None,
    sparse: bool = False,
) -> RankingData:
    """Read batches of lines, each with the number of its first line; errors name `source`."""
    if n_features is not None:
        n_features = integer("n_features", n_features, 1, MAX_FEATURE)
    flag("sparse", sparse)
    blocks: list[Any] = []
    grades: list[Reals] = []
    queries: list[str] = []
    docs: list[str] = []
    has_queries = None
    try:
        for first, batch in lines:
            rows = cut_lines(first, batch)
            if not rows:
                continue
            has_queries = rows[0].query is not None if has_queries is None else has_queries
            grades.append(line_grades(rows))
            queries += line_queries(rows, has_queries)
            docs += line_docs(rows)
            pairs = parse_pairs([line.body for line in rows]) or parse_pairs_by_line(rows)
            _check_width(rows, pairs, n_features)
            blocks.append(_block(pairs, sparse=sparse))
    except LineError as error:
        raise ValueError(f"{source}, {error}") from None
    if not blocks:
        raise ValueError(f"{source} is empty: it holds no line with a grade")
    width = n_features or max(block.shape[1] for block in blocks)
    if width == 0:
        raise ValueError(f"{source} has no features in any line: give n_features")
    if sparse:
        for block in blocks:
            block.resize(block.shape[0], width)
    return RankingData(
        scipy_sparse.vstack(blocks, format="csr") if sparse else _dense(blocks, width),
        np.concatenate(grades),
        np.array(queries, dtype=np.str_) if has_queries else None,
        np.array(docs, dtype=np.str_) if any(docs) else None,
    )


class LetorParts(NamedTuple):
    """A data set in files to train, to validate and to test on."""

    train: RankingData
    validation: RankingData | None
    test: RankingData | None


def read_letor_parts(
    folder: PathLike, prefix: str = "", *, n_features: int | None = None, sparse: bool = False
) -> LetorParts:
    r"""Read the parts of MSLR-WEB10K and 30K, Yahoo's challenge, Istella, and sets like them.

    The parts are the files of the folder whose names contain "train", "vali" and "test" and end in
    .txt, plain or gzipped: ``read_letor_parts("MSLR-WEB10K/Fold1")``,
    ``read_letor_parts("yahoo", "set1.", sparse=True)``, ``read_letor_parts("istella/sample")``. All
    get the same columns. The largest float, 1.79769e308, which stands for a missing value in
    Istella's files, becomes NaN.

    Parameters
    ----------
    folder : str or path-like
        The folder.
    prefix : str, default ""
        Read only files whose names begin with this.
    n_features, sparse
        As for :func:`read_letor`; with None, the largest feature number of all files.

    Returns
    -------
    LetorParts
        ``train``, ``validation`` and ``test``, each a `RankingData`; None where there is no file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import read_letor_parts
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "train.txt").write_text("2 qid:1 1:3 2:0\n0 qid:1 1:1 2:1\n")
    >>> _ = (folder / "vali.txt").write_text("1 qid:2 1:5 3:2\n0 qid:2 1:4\n")
    >>> parts = read_letor_parts(folder)
    >>> parts.train.X.shape, parts.validation.y, parts.test
    ((2, 3), array([1., 0.]), None)
    """
    paths = sorted(
        path
        for path in Path(folder).iterdir()
        if path.name.startswith(prefix) and path.name.removesuffix(".gz").endswith(".txt")
    )
    parts: dict[str, RankingData] = {}
    for part in ("train", "vali", "test"):
        files = [path for path in paths if part in path.name]
        if len(files) > 1:
            raise ValueError(
                f"{folder} has several {part} files, {files[0].name} and {files[1].name}: give the "
                "prefix of their names"
            )
        if files:
            parts[part] = read_letor(files[0], n_features=n_features, sparse=sparse)
    if "train" not in parts:
        raise ValueError(f"{folder} has no file {prefix}...train....txt to train on")
    width = max(data.X.shape[1] for data in parts.values())
    for part, data in parts.items():
        values = data.X.data if sparse else data.X
        values[values > _UNDEFINED] = np.nan
        parts[part] = replace(data, X=_widen(data.X, width))
    return LetorParts(parts["train"], parts.get("vali"), parts.get("test"))


def _widen(X: Any, width: int) -> Any:
    """Return features with more columns, of zeros."""
    if X.shape[1] == width:
        return X
    if scipy_sparse.issparse(X):
        X.resize(X.shape[0], width)
        return X
    return np.pad(X, [(0, 0), (0, width - X.shape[1])])


def write_letor(
    path: PathLike, X: Any, y: Any, qid: ArrayLike | None, docs: ArrayLike | None = None
) -> None:
    r"""Write a LETOR file that :func:`read_letor` reads back to the same numbers.

    NaN is written as ``NULL``. Every value of an array is written, but only the stored values of a
    sparse matrix: if its last columns are empty, read it back with `n_features`.

    Parameters
    ----------
    path : str or path-like
        Where to write; gzipped if it ends in ``.gz``.
    X : array-like or sparse matrix of shape (n, d)
        The features.
    y : array-like of shape (n,)
        The grades, finite numbers.
    qid : array-like of shape (n,), or None
        The query id of each row, words or integers; None writes none.
    docs : array-like of str of shape (n,), default None
        Document ids for the comments; ``""`` writes no comment.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import write_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.txt"
    >>> write_letor(path, [[0.5, float("nan")]], [2], [10], docs=["GX1"])
    >>> path.read_text()
    '2 qid:10 1:0.5 2:NULL #docid = GX1\n'
    """
    X, y = _reals("X", X), _reals("y", y)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns, got shape {X.shape}")
    n_rows = X.shape[0]
    if y.shape != (n_rows,):
        raise ValueError(f"y must have one grade per row, shape ({n_rows},), got {y.shape}")
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers, got NaN or infinity")
    heads = [b"%d" % grade if grade.is_integer() else repr(grade).encode() for grade in y.tolist()]
    if qid is not None:
        queries = as_words("qid", qid, n_rows, without="#")
        heads = [
            b"%b qid:%b" % (head, query.encode())
            for head, query in zip(heads, queries.tolist(), strict=True)
        ]
    ends = [b"\n"] * n_rows
    if docs is not None:
        names = as_words("docs", docs, n_rows, empty=True)
        ends = [b" #docid = %b\n" % name.encode() if name else b"\n" for name in names.tolist()]
    with replace_file(path) as stream:
        for start in range(0, n_rows, _ROWS_PER_WRITE):
            rows = slice(start, start + _ROWS_PER_WRITE)
            bodies = _bodies(X[rows])
            for head, body, end in zip(heads[rows], bodies, ends[rows], strict=True):
                stream.write(head + body + end)


class LetorLine(NamedTuple):
    """A line and its parts."""

    number: int  # in the file, from 1
    grade: bytes
    query: bytes | None  # None without qid:
    body: bytes  # feature:value pairs
    comment: bytes


def cut_lines(first: int, batch: Sequence[bytes]) -> list[LetorLine]:
    """Cut lines into parts, except empty ones; the first is line `first` of the file."""
    lines = []
    for number, line in enumerate(batch, first):
        content, _, comment = line.partition(b"#")
        tokens = content.split(None, 2)
        if tokens:
            has_query = len(tokens) > 1 and tokens[1].startswith(_QUERY)
            query = tokens.pop(1).removeprefix(_QUERY) if has_query else None
            body = b" ".join(tokens[1:]).rstrip()
            lines.append(LetorLine(number, tokens[0], query, body, comment))
    return lines


def line_grades(lines: Sequence[LetorLine]) -> Reals:
    """Return the grades, or raise if one is not finite."""
    numbers = _numbers(b" ".join(line.grade for line in lines), len(lines))
    if numbers is not None and np.isfinite(numbers).all():
        return numbers
    grades = []
    for line in lines:
        grades.append(as_number(line.number, "grade", line.grade))
        if not np.isfinite(grades[-1]):
            raise LineError(line.number, f"grade {quote_word(line.grade)} is not finite")
    return np.array(grades)


def line_queries(lines: Sequence[LetorLine], has_queries: bool) -> list[str]:
    """Return the query ids, none if lines have none."""
    queries = []
    for line in lines:
        if (line.query is not None) != has_queries:
            has, have = ("no", "one") if has_queries else ("a", "none")
            raise LineError(line.number, f"it has {has} qid:, though other lines have {have}")
        if line.query is not None:
            queries.append(as_text(line.number, "the query", line.query))
    return queries


def line_docs(lines: Sequence[LetorLine]) -> list[str]:
    """Return the document ids in the comments, ``""`` for comments without one."""
    docs = []
    for line in lines:
        match = _DOC.search(line.comment) if line.comment else None
        docs.append(as_text(line.number, "the docid", match[1]) if match else "")
    return docs


def parse_pairs(bodies: Sequence[bytes]) -> Pairs | None:
    """Return the features and values of all lines, or None if a line is wrong."""
    counts = np.array([body.count(b":") for body in bodies], dtype=np.int64)
    n_pairs = int(counts.sum())
    text = b" ".join(bodies).translate(_TO_SPACES)
    if b"  " in text or text[:1] == b" " or text[-1:] == b" ":
        text = b" ".join(text.split())
    if n_pairs == 0:
        return None if text else (counts, np.empty(0, np.int32), np.empty(0, REAL))
    # If no word is empty, colons and spaces alternate exactly if the text is pairs.
    if b": " in text or b" :" in text or text[:1] == b":" or text[-1:] == b":":
        return None
    codes = np.frombuffer(text, dtype=np.uint8)
    marks = codes[(codes == _COLON) | (codes == _SPACE)]
    expected = np.resize(np.array([_COLON, _SPACE], dtype=np.uint8), 2 * n_pairs - 1)
    if not np.array_equal(marks, expected):
        return None
    numbers = _numbers(text.replace(b":" + _ABSENT, b":nan").translate(_APART), 2 * n_pairs)
    if numbers is None:
        return None
    features, values = numbers[::2], numbers[1::2]
    # Comparisons with NaN are false.
    if not ((features >= 1) & (features <= MAX_FEATURE) & (features == np.floor(features))).all():
        return None
    ascending = features[1:] > features[:-1]
    ends = np.cumsum(counts)[:-1]
    ascending[ends[(ends > 0) & (ends < n_pairs)] - 1] = True
    if not ascending.all():
        return None
    return counts, features.astype(np.int32), np.ascontiguousarray(values)


def parse_pairs_by_line(lines: Sequence[LetorLine]) -> Pairs:
    """Return the features and values line by line, or raise for the first wrong line."""
    counts: list[int] = []
    features: list[int] = []
    values: list[float] = []
    for number, _, _, body, _ in lines:
        before = len(features)
        last = 0
        for pair in body.split():
            name, _, content = pair.partition(b":")
            if not name or not content or b":" in content:
                raise LineError(number, f"{quote_word(pair)} is not feature:value")
            feature = as_number(number, "feature", name)
            if not (1 <= feature <= MAX_FEATURE and feature.is_integer()):
                fault = f"feature {quote_word(name)} is not an integer from 1 to {MAX_FEATURE}"
                raise LineError(number, fault)
            if feature <= last:
                raise LineError(number, f"feature {int(feature)} comes after feature {last}")
            last = int(feature)
            features.append(last)
            noun = f"value of feature {last}"
            values.append(np.nan if content == _ABSENT else as_number(number, noun, content))
        counts.append(len(features) - before)
    return np.array(counts, np.int64), np.array(features, np.int32), np.array(values, REAL)


def _numbers(text: bytes, n: int) -> Reals | None:
    """Return the `n` numbers of a text, or None if it does not consist of `n` numbers."""
    with warnings.catch_warnings():
        # NumPy warns where it stops at a word that is not a number; later versions may raise.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            # The additional number is missed if the last word begins with a number.
            numbers = np.fromstring(text + b" 0", dtype=REAL, sep=" ")
        except ValueError:
            return None
    return numbers[:-1] if len(numbers) == n + 1 else None


def _check_width(lines: Sequence[LetorLine], pairs: Pairs, n_features: int | None) -> None:
    counts, features, _ = pairs
    if n_features is None or not len(features) or features.max() <= n_features:
        return
    wide = int(np.argmax(features > n_features))
    line = int(np.searchsorted(np.cumsum(counts), wide, side="right"))
    fault = f"feature {features[wide]} is past n_features={n_features}"
    raise LineError(lines[line].number, fault)


def _block(pairs: Pairs, *, sparse: bool) -> Any:
    """Return a batch as an array if every line has every feature, otherwise as a sparse matrix."""
    counts, features, values = pairs
    width = int(features.max()) if len(features) else 0
    if not sparse and (counts == width).all():
        # Ascending features, as many as the largest number: every line has all of them.
        return values.reshape(len(counts), width)
    rows = np.repeat(np.arange(len(counts)), counts)
    if sparse:
        stored = values != 0
        rows, features, values = rows[stored], features[stored], values[stored]
    starts = np.searchsorted(rows, np.arange(len(counts) + 1))
    return scipy_sparse.csr_matrix((values, features - 1, starts), shape=(len(counts), width))


def _dense(blocks: list[Any], width: int) -> Reals:
    """Copy blocks into one array, and free each of them."""
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


def _reals(name: str, values: Any) -> Any:
    """Return an array, or a CSR matrix without duplicates, of floats."""
    try:
        if not scipy_sparse.issparse(values):
            return np.asarray(values, dtype=REAL)
        # A copy: entries may have to be sorted.
        matrix = values.tocsr().astype(REAL)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    matrix.sum_duplicates()
    return matrix


def _bodies(rows: Any) -> list[bytes]:
    """Return the features and values of each row as text."""
    if scipy_sparse.issparse(rows):
        features = (rows.indices + 1).tolist()
        pairs = list(map(_pair, features, rows.data.tolist()))
        ends = rows.indptr.tolist()
        return ["".join(pairs[a:b]).encode() for a, b in pairwise(ends)]
    numbers = range(1, rows.shape[1] + 1)
    return ["".join(map(_pair, numbers, row)).encode() for row in rows.tolist()]


def _pair(feature: int, value: float) -> str:
    return f" {feature}:{'NULL' if value != value else repr(value)}"
