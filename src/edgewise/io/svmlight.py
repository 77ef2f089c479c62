"""Lines of SVMlight as numbers: many at once, or one by one to tell which of them is wrong."""

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL
from edgewise.io.lines import LineError, as_number, as_text, shown

MOST_FEATURES: Final = 2**31 - 1
"""The largest number of a feature: column numbers of sparse matrices have 32 bits."""

Pairs = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""How many pairs each line has, and the features, numbered from 1, and values of all lines."""

_QUERY: Final = b"qid:"
_DOC: Final = re.compile(rb"docid\s*=\s*(\S+)")
_ABSENT: Final = b"NULL"
_COLON, _SPACE = b": "
_TO_SPACES: Final = bytes.maketrans(b"\t\r\n\v\f", b"     ")
_APART: Final = bytes.maketrans(b":", b" ")


@dataclass(frozen=True)
class Lines:
    """Lines cut into their parts; those without content are left out.

    Attributes
    ----------
    numbers : list of int
        Which line of the file each is, from 1.
    grades, bodies, comments : list of bytes
        What stands first, the pairs, and what follows ``#``.
    queries : list of bytes or None
        What follows ``qid:``; None for a line without it.
    """

    numbers: list[int]
    grades: list[bytes]
    queries: list[bytes | None]
    bodies: list[bytes]
    comments: list[bytes]


def cut(first: int, batch: Sequence[bytes]) -> Lines:
    r"""Cut lines into their parts, the first of them being line `first` of its file.

    Examples
    --------
    >>> lines = cut(7, [b"\n", b"2 qid:5 1:0.5 3:1 # docid = a\n"])
    >>> lines.numbers, lines.grades, lines.queries, lines.bodies, lines.comments
    ([8], [b'2'], [b'5'], [b'1:0.5 3:1'], [b' docid = a\n'])
    """
    lines = Lines([], [], [], [], [])
    for number, line in enumerate(batch, first):
        content, _, comment = line.partition(b"#")
        head = content.split(None, 2)
        if not head:
            continue
        if len(head) > 1 and head[1].startswith(_QUERY):
            lines.queries.append(head[1][len(_QUERY) :])
            lines.bodies.append(head[2].rstrip() if len(head) > 2 else b"")
        else:
            lines.queries.append(None)
            lines.bodies.append(b" ".join(head[1:]).rstrip())
        lines.numbers.append(number)
        lines.grades.append(head[0])
        lines.comments.append(comment)
    return lines


def grades(lines: Lines) -> NDArray[np.float64]:
    """Return the grades, which must be finite numbers.

    Examples
    --------
    >>> grades(cut(1, [b"2 qid:5", b"0.5 qid:5"]))
    array([2. , 0.5])
    """
    found = _numbers(b" ".join(lines.grades), len(lines.grades))
    if found is not None and np.isfinite(found).all():
        return found
    return np.array([_grade(*line) for line in zip(lines.numbers, lines.grades, strict=True)])


def queries(lines: Lines) -> list[str] | None:
    """Return the queries; None if there are none.

    Examples
    --------
    >>> queries(cut(1, [b"2 qid:5", b"0 qid:6"])), queries(cut(1, [b"2 1:3"]))
    (['5', '6'], None)
    """
    given = [query is not None for query in lines.queries]
    if not any(given):
        return None
    if not all(given):
        number = lines.numbers[given.index(False)]
        raise LineError(number, "it has no qid:, though other lines have one")
    return [
        as_text(number, "the query", query or b"")
        for number, query in zip(lines.numbers, lines.queries, strict=True)
    ]


def docs(lines: Lines) -> list[str]:
    """Return the names of documents in the comments, ``""`` where there is none.

    Examples
    --------
    >>> docs(cut(1, [b"2 qid:5 #docid = GX1 inc = 1", b"0 qid:5"]))
    ['GX1', '']
    """
    found = []
    for number, comment in zip(lines.numbers, lines.comments, strict=True):
        match = _DOC.search(comment) if comment else None
        found.append(as_text(number, "the docid", match[1]) if match else "")
    return found


def pairs(lines: Lines) -> Pairs:
    """Return the features and values of all lines.

    Examples
    --------
    >>> pairs(cut(1, [b"2 qid:5 1:0.5 3:NULL", b"0 qid:5"]))
    (array([2, 0]), array([1, 3], dtype=int32), array([0.5, nan]))
    """
    found = pairs_at_once(lines.bodies)
    return pairs_one_by_one(lines) if found is None else found


def pairs_at_once(bodies: Sequence[bytes]) -> Pairs | None:
    """Return the features and values of all lines; None if any of them is not as it should be."""
    counts = np.array([body.count(b":") for body in bodies], dtype=np.int64)
    n_pairs = int(counts.sum())
    text = b" ".join(bodies).translate(_TO_SPACES)
    if b"  " in text or text[:1] == b" " or text[-1:] == b" ":
        text = b" ".join(text.split())
    if n_pairs == 0:
        return None if text else (counts, np.empty(0, np.int32), np.empty(0, REAL))
    # With no word empty, and colons and spaces in turn, as many numbers as words is one of each.
    if b": " in text or b" :" in text or text[:1] == b":" or text[-1:] == b":":
        return None
    codes = np.frombuffer(text, dtype=np.uint8)
    marks = codes[(codes == _COLON) | (codes == _SPACE)]
    if (
        len(marks) != 2 * n_pairs - 1
        or (marks[::2] != _COLON).any()
        or (marks[1::2] != _SPACE).any()
    ):
        return None
    numbers = _numbers(text.replace(b":" + _ABSENT, b":nan").translate(_APART), 2 * n_pairs)
    if numbers is None:
        return None
    features, values = numbers[::2], numbers[1::2]
    # A comparison with NaN is false.
    if not ((features >= 1) & (features <= MOST_FEATURES) & (features == np.floor(features))).all():
        return None
    ascending = features[1:] > features[:-1]
    ends = np.cumsum(counts)[:-1]
    ascending[ends[(ends > 0) & (ends < n_pairs)] - 1] = True
    if not ascending.all():
        return None
    return counts, features.astype(np.int32), np.ascontiguousarray(values)


def pairs_one_by_one(lines: Lines) -> Pairs:
    """Return the same, word by word; raise with the first line that is wrong, and why."""
    counts: list[int] = []
    features: list[int] = []
    values: list[float] = []
    for number, body in zip(lines.numbers, lines.bodies, strict=True):
        before = len(features)
        for feature, value in _line_pairs(number, body):
            features.append(feature)
            values.append(value)
        counts.append(len(features) - before)
    return np.array(counts, np.int64), np.array(features, np.int32), np.array(values, REAL)


def _line_pairs(number: int, body: bytes) -> Iterator[tuple[int, float]]:
    last = 0
    for word in body.split():
        name, _, content = word.partition(b":")
        if not name or not content or b":" in content:
            raise LineError(number, f"{shown(word)} is not feature:value")
        feature = as_number(number, "feature", name)
        if not (1 <= feature <= MOST_FEATURES and feature.is_integer()):
            raise LineError(
                number, f"feature {shown(name)} is not a whole number from 1 to {MOST_FEATURES}"
            )
        if feature <= last:
            raise LineError(number, f"feature {int(feature)} comes after feature {last}")
        last = int(feature)
        absent = content == _ABSENT
        yield last, np.nan if absent else as_number(number, f"value of feature {last}", content)


def _grade(number: int, word: bytes) -> float:
    grade = as_number(number, "grade", word)
    if not np.isfinite(grade):
        raise LineError(number, f"grade {shown(word)} is not finite")
    return grade


def _numbers(text: bytes, n: int) -> NDArray[np.float64] | None:
    """Return the `n` numbers of a text; None if it is not made of that many."""
    with warnings.catch_warnings():
        # NumPy warns where it stops at a word that is no number, and will raise one day.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            # One more number at the end: it is missed if the last word is a number only in part.
            found = np.fromstring(text + b" 0", dtype=REAL, sep=" ")
        except ValueError:
            return None
    return found[:-1] if len(found) == n + 1 else None
