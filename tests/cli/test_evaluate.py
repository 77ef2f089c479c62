"""``edgewise evaluate`` on small files."""

import itertools
import math

import numpy as np
import pytest

from edgewise import io, metrics
from edgewise.cli import main
from edgewise.metrics.gain import GAINS

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
    def test_values_are_those_worked_by_hand(self, judged, success, capsys):
        names = "map,mrr,precision@2,precision@10,recall@2,recall@4,ndcg,ndcg@2,ndcg@10"
        out = success(["evaluate", "qrels.txt", "mine.run", "--metrics", names], capsys)
        assert out.startswith("3 judged queries, 1 of them without a relevant document\n")
        found = table_of(out)["mine"]
        # Queries 2 and 3 count 0. The unreturned c adds nothing and is one of the three.
        first = {
            "map": (1 / 2 + 2 / 4) / 3,
            "mrr": 1 / 2,
            "precision@2": 1 / 2,
            "precision@10": 2 / 10,
            "recall@2": 1 / 3,
            "recall@4": 2 / 3,
        }
        log2 = math.log2
        best = 3 + 1 / log2(3) + 1 / 2
        first["ndcg"] = first["ndcg@10"] = (3 / log2(3) + 1 / log2(5)) / best
        first["ndcg@2"] = (3 / log2(3)) / (3 + 1 / log2(3))
        assert found == {name: f"{value / 3:.4f}" for name, value in first.items()}

    def test_linear_gain_is_that_of_trec_eval(self, judged, success, capsys):
        argv = ["evaluate", "qrels.txt", "mine.run", "--metrics", "ndcg", "--gain", "linear"]
        log2 = math.log2
        value = (2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3) + 1 / 2)
        assert table_of(success(argv, capsys)) == {"mine": {"ndcg": f"{value / 3:.4f}"}}

    def test_ties_are_expected_over_their_orders(self, judged, capsys):
        assert main(["evaluate", "qrels.txt", "tied.run", "--metrics", "MAP, mrr"]) == 0
        out, err = capsys.readouterr()
        # a and z, which is not judged, are tied: 1 or 1/2, of three relevant documents.
        assert table_of(out)["tied"] == {
            "map": f"{(0.75 / 3 + 1) / 3:.4f}",
            "mrr": f"{(0.75 + 1) / 3:.4f}",
        }
        assert err == (
            "edgewise: warning: tied returns nothing for 1 of 3 judged queries: they count 0\n"
        )

    def test_names_of_other_tools_and_several_cutoffs(self, judged, success, capsys):
        argv = ["evaluate", "qrels.txt", "mine.run", "--metrics", "nDCG, AP(rel=2), P@1,2"]
        found = table_of(success(argv, capsys))["mine"]
        assert list(found) == ["nDCG", "AP(rel=2)", "P@1", "P@2"]
        log2 = math.log2
        value = (2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3) + 1 / 2)
        assert found["nDCG"] == f"{value / 3:.4f}"
        assert found["AP(rel=2)"] == f"{1 / 2 / 3:.4f}"

    def test_ties_may_be_those_of_trec_eval(self, judged, capsys):
        argv = ["evaluate", "qrels.txt", "tied.run", "--metrics", "mrr", "--ties", "trec_eval"]
        assert main(argv) == 0
        # Of a and z, which are tied, z comes first.
        assert table_of(capsys.readouterr().out)["tied"] == {"mrr": f"{(1 / 2 + 1) / 3:.4f}"}

    def test_prints_what_python_prints(self, judged, success, capsys):
        (judged / "best.run").write_text("1 Q0 a 1 3 b\n1 Q0 b 2 2 b\n2 Q0 a 1 1 b\n3 Q0 a 1 1 b\n")
        out = success(["evaluate", "qrels.txt", "mine.run", "best.run"], capsys)
        runs = {"mine": "mine.run", "best": "best.run"}
        assert out == f"{metrics.evaluate('qrels.txt', runs)}\n"
        assert "95% interval" in out

    def test_several_runs_are_marked_and_tested(self, judged, success, capsys):
        (judged / "best.run").write_text("1 Q0 a 1 3 b\n1 Q0 b 2 2 b\n2 Q0 a 1 1 b\n3 Q0 a 1 1 b\n")
        argv = ["evaluate", "qrels.txt", "mine.run", "best.run", "--metrics", "map,recall@4"]
        out = success(argv, capsys)
        found = table_of(out)
        assert found["mine"]["map"] == f"{1 / 9:.4f}"
        assert found["best"]["map"] == f"{(2 / 3 + 1) / 3:.4f}*"
        means, _, tests = out.partition("\n\n")
        assert means.count("*") == 2
        result = metrics.randomization_test([2 / 3, 1, 0], [1 / 3, 0, 0])
        assert "against mine" in tests
        assert f"{result.mean_difference:+.4f} ({result.p_value:.4f})" in tests

    def test_equal_runs_share_the_mark(self, judged, success, capsys):
        (judged / "again.run").write_text(MINE)
        out = success(["evaluate", "qrels.txt", "mine.run", "again.run"], capsys)
        found = table_of(out)
        assert found["mine"] == found["again"]
        assert all(value.endswith("*") for value in found["mine"].values())
        assert "+0.0000 (1.0000)" in out

    def test_the_seed_settles_the_test(self, tmp_path, success, capsys):
        rng = np.random.default_rng(0)
        qid, docs = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
        io.write_qrels(tmp_path / "q", qid, docs, rng.integers(0, 2, 200))
        for name in "ab":
            io.write_run(tmp_path / name, qid, docs, rng.normal(size=200))
        argv = ["evaluate", tmp_path / "q", tmp_path / "a", tmp_path / "b", "--seed"]
        assert success([*argv, 1], capsys) == success([*argv, 1], capsys)

    def test_a_score_of_minus_infinity_is_returned_all_the_same(self, judged, success, capsys):
        (judged / "low.run").write_text("1 Q0 a 1 -inf me\n2 Q0 a 1 1 me\n3 Q0 a 1 1 me\n")
        out = success(["evaluate", "qrels.txt", "low.run", "--metrics", "map"], capsys)
        assert table_of(out)["low"] == {"map": f"{(1 / 3 + 1) / 3:.4f}"}

    def test_files_of_the_same_name_are_told_apart(self, judged, success, capsys):
        (judged / "new").mkdir()
        (judged / "new" / "mine.run").write_text(MINE)
        out = success(["evaluate", "qrels.txt", "mine.run", "new/mine.run"], capsys)
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
    def test_errors_are_one_line(self, words, message, judged, failure, capsys):
        (judged / "other.run").write_text("9 Q0 a 1 1 me\n")
        (judged / "huge.txt").write_text("1 0 c 2000\n1 0 a 1\n")
        (judged / "empty.run").write_text("\n")
        assert message in failure(["evaluate", *words.split()], capsys)

    @pytest.mark.parametrize("gain", GAINS)
    def test_gains_are_those_of_the_library(self, gain, data, tmp_path, success, capsys):
        part = data(3)
        scores = part.X[:, 1]
        io.write_qrels(tmp_path / "q", part.qid, part.docs, part.y)
        io.write_run(tmp_path / "mine", part.qid, part.docs, scores)
        argv = ["evaluate", tmp_path / "q", tmp_path / "mine", "--metrics", "ndcg@5"]
        expected = metrics.ndcg(part.y, scores, part.qid, k=5, gain=gain)
        out = success([*argv, "--gain", gain], capsys)
        assert table_of(out)["mine"] == {"ndcg@5": f"{expected:.4f}"}
