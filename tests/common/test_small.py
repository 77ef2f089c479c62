"""The small tools: text, threads, random numbers and the muted logger."""

import logging

import numpy as np

from edgewise.backend.arithmetic import splitmix64
from edgewise.common.ids import is_missing, sorted_unique
from edgewise.common.progress import mute_logging
from edgewise.common.text import one_line, pluralize, text_table
from edgewise.common.threads import Threads, n_threads


def test_text_of_any_kind_becomes_one_printable_line():
    assert one_line("two\nlines \x1b[31m") == "two lines ?[31m"


def test_a_table_is_aligned():
    assert text_table([["run", "map"], ["bm25", "0.25"]]) == "run    map\nbm25  0.25"
    assert text_table([["a", "b"], ["cc", "dd"]], left=(1,)) == " a  b\ncc  dd"


def test_counts_agree_with_their_nouns():
    assert pluralize(15211, "documents") == "15,211 documents"
    assert (pluralize(1, "queries"), pluralize(1, "rows")) == ("1 query", "1 row")


def test_work_is_spread_over_threads_in_order():
    assert (n_threads(None), n_threads(2)) == (1, 2)
    with Threads(2) as threads:
        assert threads.map(lambda part: part * 2, [1, 2, 3]) == [2, 4, 6]
        assert list(threads.stream(lambda part: part * 2, iter([1, 2, 3]))) == [2, 4, 6]


def test_rows_are_divided_into_ranges():
    assert Threads(1).spans(10) == [(0, 10)]
    with Threads(2) as threads:
        assert threads.spans(10, min_rows=4) == [(0, 5), (5, 10)]
        assert threads.shares(np.array([0, 9, 10])) == [(0, 1), (1, 2)]
    assert Threads(1).shares(np.array([0, 9, 10])) == [(0, 2)]


def test_the_first_output_of_splitmix64():
    assert splitmix64(np.zeros(1, dtype=np.uint64)).tolist() == [16294208416658607535]


def test_missing_and_different_values():
    assert [is_missing(value) for value in (None, float("nan"), 0, "")] == [
        True,
        True,
        False,
        False,
    ]
    assert sorted_unique(np.array([3, 1, 3])).tolist() == [1, 3]


def test_a_muted_logger_says_nothing(caplog):
    logger = logging.getLogger("edgewise")
    with mute_logging():
        logger.warning("nothing to learn")
    logger.warning("heard")
    assert caplog.messages == ["heard"]
