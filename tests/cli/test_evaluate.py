"""``edgewise evaluate`` on small files."""

import itertools
import json

import pytest

from edgewise import metrics
from edgewise.cli import main

# Query 1 has three relevant documents, a (2), b (1) and c (1). The run returns x, a, y, b.
QRELS = "1 0 a 2\n1 0 b 1\n1 0 c 1\n1 0 x 0\n1 0 z -1\n2 0 a 1\n3 0 a 0\n"
MINE = "1 Q0 x 1 9 me\n1 Q0 a 2 8 me\n1 Q0 y 3 7 me\n1 Q0 b 4 6 me\n2 Q0 b 1 1 me\n3 Q0 a 1 1 me\n"
TIED = "1 Q0 a 1 5 it\n1 Q0 z 2 5 it\n2 Q0 a 1 1 it\n"


@pytest.fixture
def judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "mine.run").write_text(MINE)
    (tmp_path / "tied.run").write_text(TIED)
    return tmp_path


def table_of(out):
    """Return the printed table by the names of runs."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == ["run"])
    names = lines[start].split()[1:]
    rows = itertools.takewhile(str.split, lines[start + 1 :])
    return {row.split()[0]: dict(zip(names, row.split()[1:], strict=True)) for row in rows}


class TestEvaluate:
    @pytest.mark.parametrize(
        ("words", "settings"),
        [
            ("", {}),
            ("--metrics map,ndcg@2,recall@4 --seed 3", {"random_state": 3}),
            ("--metrics nDCG,AP(rel=2),P@1,2", {}),
            ("--metrics ndcg --gain linear", {"gain": "linear"}),
            ("--metrics mrr --ties trec_eval", {"ties": "trec_eval"}),
        ],
    )
    def test_prints_what_python_prints(self, words, settings, judged, success):
        (judged / "best.run").write_text("1 Q0 a 1 3 b\n1 Q0 b 2 2 b\n2 Q0 a 1 1 b\n3 Q0 a 1 1 b\n")
        argv = ["evaluate", "qrels.txt", "mine.run", "best.run", *words.split()]
        if words:
            settings = {"metrics": words.split()[1], **settings}
        expected = metrics.evaluate(
            "qrels.txt", {"mine": "mine.run", "best": "best.run"}, **settings
        )
        assert success(argv) == f"{expected}\n"
        assert json.loads(success([*argv, "--json"])) == expected.means

    def test_a_query_without_an_answer_counts_0(self, judged, capsys):
        assert main(["evaluate", "qrels.txt", "tied.run", "--metrics", "MAP, mrr"]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("3 judged queries, 1 of them without a relevant document\n")
        # a and z, which is not judged, are tied: 1 or 1/2, of three relevant documents.
        assert table_of(out)["tied"] == {
            "map": f"{(0.75 / 3 + 1) / 3:.4f}",
            "mrr": f"{(0.75 + 1) / 3:.4f}",
        }
        assert err == (
            "edgewise: warning: tied returns nothing for 1 of 3 judged queries: they count 0\n"
        )

    def test_equal_runs_share_the_mark(self, judged, success):
        (judged / "again.run").write_text(MINE)
        out = success(["evaluate", "qrels.txt", "mine.run", "again.run"])
        result = table_of(out)
        assert result["mine"] == result["again"]
        assert all(value.endswith("*") for value in result["mine"].values())
        assert "+0.0000 (1.0000)" in out

    def test_files_of_the_same_name_are_told_apart(self, judged, success):
        (judged / "new").mkdir()
        (judged / "new" / "mine.run").write_text(MINE)
        out = success(["evaluate", "qrels.txt", "mine.run", "new/mine.run"])
        assert set(table_of(out)) == {"mine.run", "new/mine.run"}

    def test_queries_that_are_not_judged_are_passed_over(self, judged, capsys):
        (judged / "more.run").write_text(MINE + "7 Q0 a 1 1 me\n")
        assert main(["evaluate", "qrels.txt", "mine.run", "more.run"]) == 0
        out, err = capsys.readouterr()
        assert table_of(out)["more"] == table_of(out)["mine"]
        assert err == "edgewise: warning: more: ignored 1 query without judgments\n"

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("none.txt mine.run", "File 'none.txt' does not exist"),
            ("qrels.txt none.run", "File 'none.run' does not exist"),
            ("qrels.txt mine.run mine.run", "mine.run is given as RUN twice"),
            ("qrels.txt qrels.txt", "qrels.txt is given as QRELS and RUN"),
            ("mine.run tied.run", "mine.run, line 1: it has 6 columns, not 4"),
            ("qrels.txt other.run", "other"),
            ("qrels.txt mine.run --metrics map,prot", "--metrics: unknown metrics:"),
            ("qrels.txt mine.run --metrics ndcg@0", "unknown metrics: 'ndcg@0'"),
            ("qrels.txt mine.run --metrics map,,mrr", "unknown metrics: ''"),
            ("huge.txt mine.run --metrics ndcg", "y is too large"),
            ("qrels.txt empty.run", "empty.run is empty"),
        ],
    )
    def test_errors_are_one_line(self, words, message, judged, failure):
        (judged / "other.run").write_text("9 Q0 a 1 1 me\n")
        (judged / "huge.txt").write_text("1 0 c 2000\n1 0 a 1\n")
        (judged / "empty.run").write_text("\n")
        assert message in failure(["evaluate", *words.split()])
