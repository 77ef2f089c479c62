import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.io import Qrels, Run, read_qrels, read_run, write_qrels, write_run

RUN = """\
# a comment
030 Q0  ZF08-175-870  0   4238   prise1
030\tQ0\tZF08-306-044\t1\t4223\tprise1

030 Q0 ZF09-477-757 2 4207.5 prise1
031 Q0 ZF08-175-870 7 -1e-3 other
"""
QRELS = "030 0 ZF08-175-870 2\n030 0 ZF08-306-044 0\r\n\n031 0 ZF08-175-870 -2\n"


def put(folder: Path, content: str | bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestReadRun:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_a_run(self, tmp_path, pack):
        run = read_run(put(tmp_path, pack(RUN.encode())))
        assert run.queries.tolist() == ["030", "030", "030", "031"]
        assert run.docs[:3].tolist() == ["ZF08-175-870", "ZF08-306-044", "ZF09-477-757"]
        assert run.ranks.tolist() == [0, 1, 2, 7]
        assert run.scores.tolist() == [4238, 4223, 4207.5, -0.001]
        assert run.tags.tolist() == ["prise1", "prise1", "prise1", "other"]
        assert len(run) == 4
        assert repr(run) == "Run(4 rows, 2 queries)"

    @pytest.mark.parametrize(
        ("line", "fault"),
        [
            ("1 Q0 b 1 0.5", r"it has 5 columns, not 6 \(query Q0 document rank score tag\)"),
            ("1 Q0 b 1 0.5 me too", "it has 7 columns, not 6"),
            ("1 Q0 b 1 nan me", "the score is NaN"),
            ("1 Q0 b 1 high me", "score 'high' is not a number"),
            ("1 Q0 b first 0.5 me", "rank 'first' is not an integer"),
            ("1 Q0 b 1.5 0.5 me", "rank '1.5' is not an integer"),
            ("1 Q0 a 2 0.5 me", "document 'a' comes again for query '1'"),
            (b"\xff Q0 b 1 0.5 me", r"query '\\xff' is not a word"),
        ],
    )
    def test_a_wrong_line_is_named(self, tmp_path, line, fault):
        line = line.encode() if isinstance(line, str) else line
        path = put(tmp_path, b"1 Q0 a 1 0.7 me\n\n" + line + b"\n2 Q0 a 1 0.7 me\n")
        with pytest.raises(ValueError, match=r"file\.txt, line 3: " + fault):
            read_run(path)

    @pytest.mark.parametrize("content", ["", "\n", "# nothing\n"])
    def test_an_empty_file_is_refused(self, tmp_path, content):
        with pytest.raises(ValueError, match=r"file\.txt is empty"):
            read_run(put(tmp_path, content))

    def test_a_file_that_is_cut_short_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="line 6: it has 4 columns"):
            read_run(put(tmp_path, RUN[: RUN.index(" -1e-3")]))
        with pytest.raises(ValueError, match="damaged or cut short"):
            read_run(put(tmp_path, gzip.compress(RUN.encode())[:-9]))

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.run"):
            read_run(tmp_path / "none.run")


class TestPositions:
    def run(self, *rows):
        queries, docs, ranks, scores = zip(*rows, strict=True)
        tags = np.array(["me"] * len(rows))
        return Run(np.array(queries), np.array(docs), np.array(ranks), np.array(scores), tags)

    def test_scores_count_not_ranks(self):
        run = self.run(("1", "a", 1, 0.1), ("1", "b", 2, 0.9), ("2", "a", 3, 0.5))
        assert run.positions().tolist() == [2, 1, 1]
        assert run.positions(order="rank").tolist() == [1, 2, 1]

    def test_of_equal_scores_the_later_name_is_first_as_in_trec_eval(self):
        run = self.run(("1", "d1", 1, 0.5), ("1", "d10", 2, 0.5), ("1", "d2", 3, 0.5))
        assert run.positions().tolist() == [3, 2, 1]

    def test_of_equal_ranks_the_first_row_is_first(self):
        run = self.run(("1", "a", 1, 0.1), ("1", "c", 0, 0.2), ("1", "b", 1, 0.3))
        assert run.positions("rank").tolist() == [2, 1, 3]

    def test_queries_may_be_mixed_and_scores_infinite(self):
        rows = [("1", "a", 1, -np.inf), ("2", "a", 1, 1.0), ("1", "b", 2, np.inf)]
        assert self.run(*rows).positions().tolist() == [2, 1, 1]

    def test_another_order_is_refused(self):
        with pytest.raises(ValueError, match="order must be one of 'score', 'rank', got 'best'"):
            self.run(("1", "a", 1, 0.1)).positions("best")

    @given(
        st.lists(
            st.tuples(st.sampled_from("12"), st.text("ab", min_size=1), st.sampled_from([0.0, 1])),
            min_size=1,
            unique_by=lambda row: row[:2],
        )
    )
    def test_they_are_those_of_a_plain_sort(self, rows):
        run = self.run(*((query, doc, 0, float(score)) for query, doc, score in rows))
        places = {}
        for query in "12":
            # Python's sort keeps the order of equals, so the key that counts most comes last.
            listed = sorted((row for row in rows if row[0] == query), key=lambda row: row[1])
            listed.reverse()
            listed.sort(key=lambda row: -row[2])
            places |= {row: place for place, row in enumerate(listed, 1)}
        assert run.positions().tolist() == [places[row] for row in rows]


class TestWriteRun:
    def test_best_first_query_by_query(self, tmp_path):
        path = tmp_path / "mine.run"
        write_run(path, ["b", "a", "b", "b"], ["x", "x", "y", "z"], [1, 0.25, 2, 2], tag="mine")
        assert path.read_text().splitlines() == [
            "b Q0 z 1 2.0 mine",
            "b Q0 y 2 2.0 mine",
            "b Q0 x 3 1.0 mine",
            "a Q0 x 1 0.25 mine",
        ]

    @given(st.data())
    def test_what_is_written_is_read_back(self, tmp_path_factory, data):
        pairs = data.draw(
            st.lists(
                st.tuples(st.integers(1, 3), st.text("abc-é", min_size=1)), min_size=1, unique=True
            )
        )
        scores = data.draw(
            st.lists(st.floats(allow_nan=False), min_size=len(pairs), max_size=len(pairs))
        )
        path = tmp_path_factory.getbasetemp() / data.draw(st.sampled_from(["r.run", "r.run.gz"]))
        write_run(path, [pair[0] for pair in pairs], [pair[1] for pair in pairs], scores)
        run = read_run(path)
        assert set(run.tags) == {"edgewise"}
        assert run.positions().tolist() == run.ranks.tolist() == run.positions("rank").tolist()
        result = zip(run.queries, run.docs, run.scores, strict=True)
        given = ((str(q), doc, s) for (q, doc), s in zip(pairs, scores, strict=True))
        assert sorted(result) == sorted(given)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"scores": [1.0, np.nan]}, "scores must not be NaN, got one in row 1"),
            ({"scores": ["a", "b"]}, "scores must hold real numbers"),
            ({"scores": []}, "scores must not be empty"),
            ({"scores": [[1.0, 2.0]]}, "scores must be 1-D"),
            ({"qid": ["q"]}, "qid must have one entry per row, 2, got 1"),
            ({"qid": ["q", ""]}, "qid must be words"),
            ({"docs": ["a", "a"]}, "docs must be different for a query, got 'a' twice for 'q'"),
            ({"docs": ["a", "b c"]}, "docs must be words"),
            ({"tag": "my run"}, "tag must be words without white space, got 'my run'"),
        ],
    )
    def test_wrong_arguments_are_named_and_write_nothing(self, tmp_path, changes, message):
        good = {"qid": ["q", "q"], "docs": ["a", "b"], "scores": [1, 2]}
        with pytest.raises((TypeError, ValueError), match=message):
            write_run(tmp_path / "new.run", **(good | changes))
        assert names_in(tmp_path) == []

    def test_a_failing_write_leaves_nothing(self, tmp_path, full_disk):
        with pytest.raises(OSError, match="no space left"):
            write_run(tmp_path / "new.run", ["q"], ["d"], [1])
        assert names_in(tmp_path) == []


class TestQrels:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_read(self, tmp_path, pack):
        qrels = read_qrels(put(tmp_path, pack(QRELS.encode())))
        assert qrels.queries.tolist() == ["030", "030", "031"]
        assert qrels.docs.tolist() == ["ZF08-175-870", "ZF08-306-044", "ZF08-175-870"]
        assert qrels.grades.tolist() == [2, 0, -2]
        assert repr(qrels) == "Qrels(3 rows, 2 queries)"

    @pytest.mark.parametrize(
        ("line", "fault"),
        [
            ("1 0 b", r"it has 3 columns, not 4 \(query 0 document grade\)"),
            ("1 0 b high", "grade 'high' is not an integer"),
            ("1 0 b 0.5", "grade '0.5' is not an integer"),
            ("1 1 a 1", "document 'a' comes again for query '1'"),
        ],
    )
    def test_a_wrong_line_is_named(self, tmp_path, line, fault):
        with pytest.raises(ValueError, match=r"file\.txt, line 2: " + fault):
            read_qrels(put(tmp_path, f"1 0 a 1\n{line}\n"))

    def test_an_empty_file_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"file\.txt is empty"):
            read_qrels(put(tmp_path, ""))

    def test_written_and_read_back(self, tmp_path):
        path = tmp_path / "qrels.gz"
        write_qrels(path, [7, 8, 7], ["a", "a", "b"], np.array([2.0, 0.0, -1.0]))
        back = read_qrels(path)
        assert isinstance(back, Qrels)
        assert back.queries.tolist() == ["7", "8", "7"]
        assert back.docs.tolist() == ["a", "a", "b"]
        assert back.grades.tolist() == [2, 0, -1]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"grades": [1, 0.5]}, "grades must be integers"),
            ({"grades": [1, np.inf]}, "grades must be integers"),
            ({"grades": [1, np.nan]}, "grades must not be NaN"),
            ({"docs": ["a", "a"]}, "docs must be different for a query"),
        ],
    )
    def test_wrong_arguments_are_named_and_write_nothing(self, tmp_path, changes, message):
        good = {"qid": ["q", "q"], "docs": ["a", "b"], "grades": [1, 2]}
        with pytest.raises(ValueError, match=message):
            write_qrels(tmp_path / "new.txt", **(good | changes))
        assert names_in(tmp_path) == []
