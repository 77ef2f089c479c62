"""Every reader of text drops a UTF-8 byte order mark, as editors on Windows write it."""

import codecs
import gzip

import pytest

from edgewise import Ratings
from edgewise.io import read_letor, read_qrels, read_run, read_table


@pytest.fixture(params=[bytes, gzip.compress])
def marked(request, tmp_path):
    """Write a text with a byte order mark, plain or gzipped."""

    def write(name, text):
        name += ".gz" if request.param is gzip.compress else ""
        path = tmp_path / name
        path.write_bytes(request.param(codecs.BOM_UTF8 + text.encode()))
        return path

    return write


def test_letor(marked):
    assert read_letor(marked("train.txt", "2 qid:q 1:3\n0 qid:q 1:4\n")).y.tolist() == [2, 0]


def test_runs_and_judgments(marked):
    assert read_run(marked("a.run", "q1 Q0 d 1 0.5 me\n")).queries.tolist() == ["q1"]
    assert read_qrels(marked("qrels.txt", "q1 0 d 2\n")).queries.tolist() == ["q1"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables(marked, library):
    pytest.importorskip(library)
    data = read_table(marked("t.csv", "grade,x\n1,2\n"), target="grade", library=library)
    assert data.y.tolist() == [1]


def test_ratings(marked):
    ratings = Ratings.from_file(marked("r.csv", "user,item,rating\n1,2,3\n"))
    assert ratings.values.tolist() == [3]


def test_a_mark_later_in_a_file_is_text(tmp_path):
    path = tmp_path / "a.run"
    path.write_bytes(b"q Q0 d 1 0.5 me\n" + codecs.BOM_UTF8 + b"q Q0 e 2 0.4 me\n")
    assert read_run(path).queries.tolist() == ["q", "\ufeffq"]
