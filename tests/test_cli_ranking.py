"""``edgewise rank``, ``evaluate`` and ``fuse`` on small files."""

import gzip
import itertools
import logging
import math

import numpy as np
import pandas as pd
import pytest

import edgewise
import edgewise.boosting.loop
from edgewise import RankBoost, RankFusion, fusion, io, metrics
from edgewise.cli import main
from edgewise.commands import evaluate, fuse, graded, rank, testing
from edgewise.commands.judged import Judged
from edgewise.estimators.judgements import PAIR_WEIGHTS, QUERY_WEIGHTS
from edgewise.estimators.rank_parts import LEARNER_NAMES, MONOTONE
from edgewise.metrics import ranking_metric
from edgewise.objective import CRITERIA


def failure(argv, capsys):
    """Run a command that fails and return the one line it prints."""
    assert main([str(word) for word in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("edgewise: error: ")
    assert err.count("\n") == 1
    return err


def success(argv, capsys):
    """Run a command and return what it prints; nothing is to be warned of."""
    assert main([str(word) for word in argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def data(seed, n_queries=6, n_docs=8):
    """Documents of queries of three grades, with names."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, 4)).round(3)
    signal = X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=len(X))
    y = np.digitize(signal, [0.2, 1.2]).astype(float)
    qid = np.repeat([f"q{seed}{i}" for i in range(n_queries)], n_docs)
    y[::n_docs], y[1::n_docs] = 0, 2
    docs = np.array([f"d{i:02}" for i in rng.permutation(len(X))])
    return io.RankingData(X, y, qid, docs)


@pytest.fixture
def letor(tmp_path):
    """LETOR files to train on, to validate on and to test on."""
    for seed, name in enumerate(("train.txt", "vali.txt.gz", "test.txt")):
        part = data(seed)
        io.write_letor(tmp_path / name, part.X, part.y, part.qid, part.docs)
    return tmp_path


def frame(part):
    table = pd.DataFrame(part.X, columns=["bm25", "tf", "length", "age"])
    return table.assign(grade=part.y.astype(int), query=part.qid, doc=part.docs)


class TestRank:
    def test_trains_as_the_library_does_and_says_so(self, letor, capsys):
        out = success(["rank", letor / "train.txt", "--rounds", 30], capsys)
        part = data(0)
        model = RankBoost(n_rounds=30, random_state=0).fit(part.X, part.y, part.qid)
        assert "training         6 queries, 48 documents, 4 features\n" in out
        assert "rounds           30 (training ended by: n_rounds)\n" in out
        assert f"ranking loss     {model.history_.last('ranking_loss'):.4f}\n" in out
        assert f"bound on it      {model.history_.last('bound'):.4f}\n" in out
        assert "strongest rules\n" + "".join(f"  {rule}\n" for rule in model.rules(5)) in out
        assert "x0 is feature 1 of the files" in out

    def test_validation_chooses_the_rounds(self, letor, capsys):
        argv = ["rank", letor / "train.txt", "--validate", letor / "vali.txt.gz"]
        argv += ["--metric", "ndcg@5", "--patience", 7, "--model", letor / "m.edgewise"]
        out = success(argv, capsys)
        train, held = data(0), data(1)
        model = RankBoost(patience=7, eval_metric="ndcg@5", random_state=0).fit(
            train.X, train.y, train.qid, eval_set=(held.X, held.y, held.qid)
        )
        assert model.n_rounds_ < model.history_.n_rounds
        assert f"{model.n_rounds_}, the best of {model.history_.n_rounds} (training ended" in out
        assert f"\n  ndcg@5         {model.history_['validation'].max():.4f}\n" in out
        saved = edgewise.load(letor / "m.edgewise")
        assert saved.n_rounds_ == model.n_rounds_
        assert np.array_equal(saved.predict(held.X), model.predict(held.X))

    def test_validation_has_a_patience_of_its_own(self, letor, capsys):
        argv = ["rank", letor / "train.txt", "--validate", letor / "vali.txt.gz", "--rounds", 1000]
        assert "training ended by: early stopping" in success(argv, capsys)

    def test_test_metrics_and_plain_scores(self, letor, capsys):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 20]
        argv += ["--metric", "disagreement", "--scores", letor / "s.txt"]
        argv += ["--model", letor / "m.edgewise"]
        lines = success(argv, capsys).splitlines()
        scores = np.array([float(line) for line in (letor / "s.txt").read_text().splitlines()])
        part = data(2)
        assert np.array_equal(edgewise.load(letor / "m.edgewise").predict(part.X), scores)
        names = ["map", "ndcg@5", "ndcg@10", "mrr", "precision@10", "disagreement"]
        place = next(i for i, line in enumerate(lines) if line.split() == names)
        expected = [f"{ranking_metric(name)(part.y, scores, part.qid):.4f}" for name in names]
        assert lines[place + 1].split() == expected

    def test_scores_as_a_run(self, letor, capsys):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 20]
        success([*argv, "--scores", letor / "s.run.gz"], capsys)
        success([*argv, "--scores", letor / "s.txt.gz"], capsys)
        text = gzip.decompress((letor / "s.txt.gz").read_bytes()).decode()
        scores = [float(line) for line in text.splitlines()]
        part, run = data(2), io.read_run(letor / "s.run.gz")
        written = dict(zip(zip(part.qid, part.docs, strict=True), scores, strict=True))
        read = zip(zip(run.queries, run.docs, strict=True), run.scores, strict=True)
        assert dict(read) == written

    @pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
    def test_tables(self, suffix, tmp_path, capsys):
        train, test = tmp_path / f"train{suffix}", tmp_path / f"test{suffix}"
        io.write_table(train, frame(data(0)))
        # Columns in another order, and one more, make no difference.
        io.write_table(test, frame(data(2)).iloc[:, ::-1].assign(note="none"))
        argv = ["rank", train, "--test", test, "--target", "grade", "--query", "query"]
        argv += ["--doc", "doc", "--rounds", 20, "--scores", tmp_path / "s.run"]
        out = success([*argv, "--model", tmp_path / "m.edgewise"], capsys)
        part = data(0)
        plain = RankBoost(n_rounds=20, random_state=0).fit(part.X, part.y, part.qid)
        model = edgewise.load(tmp_path / "m.edgewise")
        assert model.feature_names_in_.tolist() == ["bm25", "tf", "length", "age"]
        assert f"  {model.rules(1)[0]}\n" in out
        assert "x0" not in out
        run = io.read_run(tmp_path / "s.run")
        assert sorted(run.scores) == sorted(plain.predict(data(2).X))

    def test_a_table_without_queries_is_one_list(self, tmp_path, capsys):
        io.write_table(tmp_path / "t.csv", frame(data(0)).drop(columns=["query", "doc"]))
        out = success(["rank", tmp_path / "t.csv", "--target", "grade", "--rounds", 3], capsys)
        assert "training         1 query, 48 documents, 4 features\n" in out

    def test_sparse_and_full_files_give_the_same_model(self, letor, capsys, monkeypatch):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 20]
        for few in (0.0, 2.0):
            monkeypatch.setattr(graded, "_FEW", few)
            success([*argv, "--scores", letor / f"{few}.txt"], capsys)
        assert (letor / "0.0.txt").read_bytes() == (letor / "2.0.txt").read_bytes()

    def test_files_may_leave_out_their_last_features(self, tmp_path, capsys):
        (tmp_path / "train.txt").write_text("1 qid:1 1:3\n0 qid:1 1:1\n0 qid:1\n")
        (tmp_path / "test.txt").write_text("0 qid:1 3:1\n1 qid:1 1:4\n")
        argv = ["rank", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "--rounds", 2]
        out = success(argv, capsys)
        assert "1 query, 3 documents, 3 features" in out
        assert "1.0000" in out

    @pytest.mark.parametrize("learner", rank.LEARNERS)
    def test_every_learner(self, learner, letor, capsys):
        argv = ["rank", letor / "train.txt", "--learner", learner, "--rounds", 3, "--jobs", 2]
        assert "strongest rules" in success(argv, capsys)

    def test_settings_reach_the_model(self, letor, capsys):
        argv = ["rank", letor / "train.txt", "--criterion", "energy", "--rate", "0.5"]
        success([*argv, "--rounds", 2, "--model", letor / "m.edgewise"], capsys)
        model = edgewise.load(letor / "m.edgewise")
        assert (model.criterion, model.learning_rate, model.n_rounds) == ("energy", 0.5, 2)
        argv = ["rank", letor / "train.txt", "--monotone", "none", "--pair-weight", "equal"]
        argv += ["--query-weight", "pairs", "--rounds", 2, "--model", letor / "m.edgewise"]
        success(argv, capsys)
        model = edgewise.load(letor / "m.edgewise")
        assert (model.monotone, model.pair_weight, model.query_weight) == ("none", "equal", "pairs")
        argv = ["rank", letor / "train.txt", "--monotone", "increasing", "--learner", "tree"]
        assert "--monotone" in failure(argv, capsys)

    def test_choices_are_those_of_the_library(self):
        assert rank.LEARNERS == LEARNER_NAMES
        assert set(rank.CRITERIA) == set(CRITERIA)
        assert rank.MONOTONE == MONOTONE
        assert rank.PAIR_WEIGHTS == PAIR_WEIGHTS
        assert tuple(QUERY_WEIGHTS) == rank.QUERY_WEIGHTS
        assert testing.METRICS[0] == "map"

    def test_negative_grades_have_no_gain(self, tmp_path, capsys):
        text = "-1 qid:1 1:1\n1 qid:1 1:2\n"
        for name in ("train.txt", "test.txt"):
            (tmp_path / name).write_text(text)
        argv = ["rank", tmp_path / "train.txt", "--rounds", 2]
        out = success([*argv, "--test", tmp_path / "test.txt"], capsys)
        row = out.split("precision@10\n")[1].split("\n")[0]
        assert row.split()[:4] == ["1.0000", "-", "-", "1.0000"]
        argv += ["--validate", tmp_path / "test.txt", "--metric", "ndcg"]
        assert "negative grades" in failure(argv, capsys)


class TestRankWarnings:
    def test_a_query_of_one_grade_is_told_once(self, letor, capsys):
        with (letor / "train.txt").open("a") as stream:
            stream.write("1 qid:alone 1:1\n")
        assert main(["rank", str(letor / "train.txt"), "--rounds", "2"]) == 0
        err = capsys.readouterr().err
        assert err.startswith("edgewise: warning: 1 of 7 queries have documents of one grade only")
        assert err.count("\n") == 1
        assert not logging.getLogger("edgewise").handlers

    def test_ctrl_c_keeps_the_rounds_so_far(self, letor, capsys, monkeypatch):
        rounds, choose = itertools.count(1), edgewise.boosting.loop._choose

        def interrupted(*arguments):
            if next(rounds) > 5:
                raise KeyboardInterrupt
            return choose(*arguments)

        monkeypatch.setattr(edgewise.boosting.loop, "_choose", interrupted)
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt"]
        argv += ["--model", letor / "m.edgewise", "--scores", letor / "s.txt"]
        assert main([str(word) for word in argv]) == 130
        out, err = capsys.readouterr()
        assert err == "edgewise: warning: training interrupted after 5 rounds\n"
        assert "rounds           5 (training ended by: interrupted)\n" in out
        assert edgewise.load(letor / "m.edgewise").n_rounds_ == 5
        assert len((letor / "s.txt").read_text().splitlines()) == 48

    def test_ctrl_c_before_the_first_round_writes_nothing(self, letor, capsys, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(edgewise.boosting.loop, "_choose", interrupted)
        before = contents(letor)
        argv = ["rank", letor / "train.txt", "--model", letor / "m.edgewise"]
        assert main([str(word) for word in argv]) == 130
        assert capsys.readouterr().out == ""
        assert contents(letor) == before


class TestRankErrors:
    @pytest.fixture(autouse=True)
    def files(self, letor, monkeypatch):
        """Work in the folder of the files, which no failure may change."""
        monkeypatch.chdir(letor)
        (letor / "flat.txt").write_text("1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:1\n")
        (letor / "bare.txt").write_text("1 1:1\n0 1:2\n")
        (letor / "infinite.txt").write_text("1 qid:1 1:inf\n0 qid:1 1:2\n")
        twice = "1 qid:1 1:1 #docid = a\n0 qid:1 1:2 #docid = a\n"
        (letor / "twice.txt").write_text(twice)
        (letor / "words.csv").write_text("grade,x\nhigh,1\nlow,2\n")
        (letor / "table.csv").write_text("grade,x\n1,1\n0,2\n")
        (letor / "other.csv").write_text("grade,z\n1,1\n0,2\n")
        (letor / "kinds.csv").write_text("grade,x\n1,red\n0,blue\n")
        (letor / "folder").mkdir()
        before = sorted(letor.iterdir())
        yield
        assert sorted(letor.iterdir()) == before

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("none.txt", "none.txt: No such file"),
            ("folder", "folder is not a file"),
            ("train.txt --test none.txt", "none.txt: No such file"),
            ("train.txt --validate train.txt", "train.txt is given as TRAIN and --validate"),
            ("train.txt --test folder/../train.txt", "is given as TRAIN and --test"),
            ("train.txt --model none/m.edgewise", "--model: the folder of 'none/m.edgewise' does"),
            ("train.txt --model m.txt", "--model must end in .edgewise, got 'm.txt'"),
            ("train.txt --test test.txt --scores s.edgewise", "--scores must not end in .edgewise"),
            ("train.txt --test test.txt --scores folder", "--scores must be the name of a file"),
            ("train.txt --test test.txt --scores test.txt", "given as --test and --scores"),
            ("train.txt --scores s.txt", "give --test"),
            ("train.txt --patience 3", "give --validate"),
            ("train.txt --metric best", "--metric: name must be one of 'map'"),
            ("train.txt --criterion energy --learner tree", "goes with --learner stump"),
            ("train.txt --target grade", "--target is for tables"),
            ("train.txt --test table.csv", "--test table.csv is a table and TRAIN is a LETOR"),
            ("table.csv", "--target must name the column of table.csv"),
            ("table.csv --target y", "target='y' must be a column of table.csv"),
            ("table.csv --target grade --test other.csv", "other.csv lacks the column 'x'"),
            ("table.csv --target grade --test kinds.csv", "kinds.csv: "),
            ("words.csv --target grade", "words.csv: "),
            ("flat.txt", "flat.txt: y has no two documents of different grades"),
            ("infinite.txt", "infinite.txt: "),
            ("train.txt --test infinite.txt --model m.edgewise", "infinite.txt: "),
            ("train.txt --test bare.txt --scores s.run", "a run names queries and documents"),
            ("train.txt --test twice.txt --scores s.run", "twice.txt does not make a run: docs"),
            ("vali.txt.gz --test table.csv", "all files must be of one kind"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, told, capsys):
        assert told in failure(["rank", *words.split()], capsys)

    def test_a_damaged_file_names_the_line(self, letor, capsys):
        with (letor / "train.txt").open("a") as stream:
            stream.write("2 qid:9 1:red\n")
        assert "train.txt, line 49: value of feature 1 'red'" in failure(
            ["rank", "train.txt"], capsys
        )

    def test_a_cut_archive_is_told(self, letor, capsys):
        whole = (letor / "vali.txt.gz").read_bytes()
        (letor / "vali.txt.gz").write_bytes(whole[: len(whole) // 2])
        assert "vali.txt.gz is damaged or cut short" in failure(["rank", "vali.txt.gz"], capsys)

    @pytest.mark.parametrize("option", ["--rounds 0", "--rate 2", "--rate x", "--jobs 0"])
    def test_wrong_usage_exits_with_2(self, option, capsys):
        with pytest.raises(SystemExit) as stop:
            main(["rank", "train.txt", *option.split()])
        assert stop.value.code == 2
        assert "usage: edgewise rank" in capsys.readouterr().err


def test_an_old_file_stays_when_writing_fails(letor, capsys, monkeypatch):
    old = letor / "s.txt"
    old.write_text("old\n")

    def full(*_):
        raise OSError(28, "No space left on device", str(old))

    monkeypatch.setattr("pathlib.Path.replace", full)
    before = contents(letor)
    argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 2]
    assert "No space left" in failure([*argv, "--scores", old], capsys)
    assert contents(letor) == before


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
    def test_values_are_those_worked_by_hand(self, judged, capsys):
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

    def test_linear_gain_is_that_of_trec_eval(self, judged, capsys):
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

    def test_several_runs_are_marked_and_tested(self, judged, capsys):
        (judged / "best.run").write_text("1 Q0 a 1 3 b\n1 Q0 b 2 2 b\n2 Q0 a 1 1 b\n3 Q0 a 1 1 b\n")
        argv = ["evaluate", "qrels.txt", "mine.run", "best.run", "--metrics", "map,recall@4"]
        out = success(argv, capsys)
        found = table_of(out)
        assert found["mine"]["map"] == f"{1 / 9:.4f}"
        assert found["best"]["map"] == f"{(2 / 3 + 1) / 3:.4f}*"
        means, _, tests = out.partition("\n\n")
        assert means.count("*") == 2
        result = metrics.randomisation_test([2 / 3, 1, 0], [1 / 3, 0, 0])
        assert "against mine" in tests
        assert f"{result.mean_difference:+.4f} ({result.p_value:.4f})" in tests

    def test_equal_runs_share_the_mark(self, judged, capsys):
        (judged / "again.run").write_text(MINE)
        out = success(["evaluate", "qrels.txt", "mine.run", "again.run"], capsys)
        found = table_of(out)
        assert found["mine"] == found["again"]
        assert all(value.endswith("*") for value in found["mine"].values())
        assert "+0.0000 (1.0000)" in out

    def test_the_seed_settles_the_test(self, tmp_path, capsys):
        rng = np.random.default_rng(0)
        qid, docs = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
        io.write_qrels(tmp_path / "q", qid, docs, rng.integers(0, 2, 200))
        for name in "ab":
            io.write_run(tmp_path / name, qid, docs, rng.normal(size=200))
        argv = ["evaluate", tmp_path / "q", tmp_path / "a", tmp_path / "b", "--seed"]
        assert success([*argv, 1], capsys) == success([*argv, 1], capsys)

    @pytest.mark.parametrize("seed", range(5))
    def test_agrees_with_trec_eval_s_own_way_of_counting(self, seed):
        rng = np.random.default_rng(seed)
        pairs = [(f"q{q}", f"d{d}") for q in range(8) for d in range(30)]
        chosen = [pairs[i] for i in np.flatnonzero(rng.random(len(pairs)) < 0.4)]
        returned = [pairs[i] for i in np.flatnonzero(rng.random(len(pairs)) < 0.5)]
        grades = rng.choice([0, 0, 1, 2, 3], len(chosen))
        qrels = io.Qrels(*map(np.array, zip(*chosen, strict=True)), grades)
        scores = rng.permutation(len(returned)).astype(float)
        q, d = map(np.array, zip(*returned, strict=True))
        run = io.Run(q, d, np.zeros(len(q), int), scores, np.full(len(q), "r"))
        found = Judged(qrels).returned_by(run, "r")
        for metric, gain in itertools.product(
            ("map", "mrr", "ndcg", "ndcg@5", "ndcg@50", "precision@5", "recall@5", "recall@50"),
            ("linear", "exponential"),
        ):
            expected = _by_trec_eval(qrels, run, metric, gain)
            values = found.values(ranking_metric(metric), gain)
            assert values == pytest.approx(expected, abs=1e-14), (metric, gain)

    def test_a_run_of_all_judged_documents_has_the_library_s_values(self):
        part = data(5)
        scores = part.X[:, 0].round()
        judged = Judged(io.Qrels(part.qid, part.docs, part.y.astype(int)))
        run = io.Run(part.qid, part.docs, np.zeros(len(part), int), scores, part.qid)
        returned = judged.returned_by(run, "r")
        for name in ("map", "mrr", "ndcg", "ndcg@3", "precision@3", "recall@3"):
            metric = ranking_metric(name)
            expected = metric.function(part.y, scores, part.qid, per_query=True)
            assert returned.values(metric) == pytest.approx(expected, abs=1e-14)

    def test_a_score_of_minus_infinity_is_returned_all_the_same(self, judged, capsys):
        (judged / "low.run").write_text("1 Q0 a 1 -inf me\n2 Q0 a 1 1 me\n3 Q0 a 1 1 me\n")
        out = success(["evaluate", "qrels.txt", "low.run", "--metrics", "map"], capsys)
        assert table_of(out)["low"] == {"map": f"{(1 / 3 + 1) / 3:.4f}"}

    def test_files_of_the_same_name_are_told_apart(self, judged, capsys):
        (judged / "new").mkdir()
        (judged / "new" / "mine.run").write_text(MINE)
        out = success(["evaluate", "qrels.txt", "mine.run", "new/mine.run"], capsys)
        assert set(table_of(out)) == {"mine.run", "new/mine.run"}

    def test_queries_that_are_not_judged_are_passed_over(self, judged, capsys):
        (judged / "more.run").write_text(MINE + "7 Q0 a 1 1 me\n")
        assert main(["evaluate", "qrels.txt", "mine.run", "more.run"]) == 0
        out, err = capsys.readouterr()
        assert table_of(out)["more"] == table_of(out)["mine"]
        assert err == "edgewise: warning: more: 1 queries are not judged, and passed over\n"

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("none.txt mine.run", "none.txt: No such file"),
            ("qrels.txt none.run", "none.run: No such file"),
            ("qrels.txt mine.run mine.run", "mine.run is given as RUN twice"),
            ("qrels.txt qrels.txt", "qrels.txt is given as QRELS and RUN"),
            ("mine.run tied.run", "mine.run, line 1: it has 6 columns, not 4"),
            ("qrels.txt other.run", "other has none of the judged queries"),
            ("qrels.txt mine.run --metrics map,prot", "--metrics must be names out of map"),
            ("qrels.txt mine.run --metrics ndcg@0", "got 'ndcg@0'"),
            ("qrels.txt mine.run --metrics map,,mrr", "got ''"),
            ("huge.txt mine.run --metrics ndcg", "huge.txt: y is too large"),
            ("qrels.txt empty.run", "empty.run is empty"),
        ],
    )
    def test_errors_are_one_line(self, words, told, judged, capsys):
        (judged / "other.run").write_text("9 Q0 a 1 1 me\n")
        (judged / "huge.txt").write_text("1 0 c 2000\n1 0 a 1\n")
        (judged / "empty.run").write_text("\n")
        assert told in failure(["evaluate", *words.split()], capsys)

    def test_gains_are_those_of_the_library(self):
        for gain in evaluate.GAINS:
            metrics.ndcg([0, 1], [0.0, 1.0], gain=gain)


def _by_trec_eval(qrels, run, metric, gain):
    """Return a metric for each judged query, counted document by document."""
    base, _, k = metric.partition("@")
    values = []
    for query in np.unique(qrels.queries):
        mine = qrels.queries == query
        grades = dict(zip(qrels.docs[mine].tolist(), qrels.grades[mine].tolist(), strict=True))
        rows = np.flatnonzero(run.queries == query)
        rows = rows[np.argsort(-run.scores[rows])]
        ranked = [grades.get(doc, 0) for doc in run.docs[rows].tolist()]
        n_relevant = sum(grade > 0 for grade in grades.values())
        cut = int(k) if k else max(len(ranked), len(grades))
        hits = [i for i, grade in enumerate(ranked, 1) if grade > 0]
        worth = (lambda g: g) if gain == "linear" else (lambda g: 2**g - 1)
        dcg = [
            sum(worth(g) / math.log2(1 + i) for i, g in enumerate(some[:cut], 1))
            for some in (ranked, sorted(grades.values(), reverse=True))
        ]
        values.append(
            {
                "map": sum(n / i for n, i in enumerate(hits, 1)) / max(n_relevant, 1),
                "mrr": 1 / hits[0] if hits else 0.0,
                "precision": sum(i <= cut for i in hits) / cut,
                "recall": sum(i <= cut for i in hits) / max(n_relevant, 1),
                "ndcg": dcg[0] / dcg[1] if dcg[1] else 0.0,
            }[base]
        )
    return values


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two systems on training and on test queries, and what is judged."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train", "test")):
        part = data(seed)
        (tmp_path / name).mkdir()
        io.write_qrels(tmp_path / name / "qrels.txt", part.qid, part.docs, part.y)
        for j, tag in ((1, "good"), (0, "noise")):
            kept = part.X[:, j] > -1
            some = part.take(kept)
            io.write_run(tmp_path / name / f"{tag}.run", some.qid, some.docs, some.X[:, j], tag)
    return tmp_path


class TestFuse:
    @pytest.mark.parametrize("method", fuse.METHODS[1:])
    def test_methods_without_training(self, method, runs, capsys):
        argv = ["fuse", "test/good.run", "test/noise.run", "--method", method]
        out = success([*argv, "--out", "fused.run"], capsys)
        assert "runs             2: good, noise\n" in out
        named = {name: io.read_run(f"test/{name}.run") for name in ("good", "noise")}
        lists = fusion.RankedLists.from_runs(named)
        io.write_run(
            "expected.run", lists.qid, lists.docs, fusion.fuse(lists, method), f"edgewise-{method}"
        )
        assert (runs / "fused.run").read_bytes() == (runs / "expected.run").read_bytes()

    def test_methods_are_those_of_the_library(self):
        assert list(fuse.METHODS) == [fuse.TRAINED, *fusion.FUSIONS]

    def test_trains_saves_and_fuses_other_queries(self, runs, capsys):
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        out = success([*argv, "--save", "f.edgewise", "--rounds", 20], capsys)
        named = {name: io.read_run(f"train/{name}.run") for name in ("good", "noise")}
        model = RankFusion(n_rounds=20, random_state=0).fit(named, io.read_qrels("train/qrels.txt"))
        assert f"ranking loss     {model.history_.last('ranking_loss'):.4f}\n" in out
        assert f"bound on it      {model.history_.last('bound'):.4f}\n" in out
        assert f"  {model.rules(1)[0]}\n" in out
        # In any order of the files, gzipped as the name says.
        argv = ["fuse", "test/noise.run", "test/good.run", "--model", "f.edgewise"]
        success([*argv, "--out", "fused.run.gz"], capsys)
        fused = io.read_run("fused.run.gz")
        named = {name: io.read_run(f"test/{name}.run") for name in ("good", "noise")}
        expected = model.fuse(named)
        assert {*zip(fused.queries, fused.docs, fused.scores, strict=True)} == {
            *zip(expected.queries, expected.docs, expected.scores, strict=True)
        }
        assert set(fused.tags) == {"edgewise-rankboost"}

    def test_the_table_is_that_of_evaluate(self, runs, capsys):
        argv = ["fuse", "test/good.run", "test/noise.run", "--method", "borda"]
        out = success([*argv, "--qrels", "test/qrels.txt", "--out", "fused.run"], capsys)
        argv = ["evaluate", "test/qrels.txt", "test/good.run", "test/noise.run", "fused.run"]
        evaluated = success([*argv, "--metrics", "map,ndcg@10,mrr,precision@10"], capsys)
        expected = [line.split() for line in evaluated.split("\n\n")[0].splitlines()]
        shown = out.split("\n\n")[1].splitlines()
        assert [line.replace("fused by borda", "fused").split() for line in shown] == expected

    def test_runs_with_the_same_tag_are_called_by_their_files(self, runs, capsys):
        for name in ("train/good.run", "train/noise.run"):
            text = (runs / name).read_text()
            (runs / name).write_text(text.replace("good", "me").replace("noise", "me"))
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        assert "2: good, noise\n" in success([*argv, "--save", "f.edgewise"], capsys)
        # Runs with these names as tags will do as well.
        argv = ["fuse", "test/good.run", "test/noise.run", "--model", "f.edgewise"]
        success([*argv, "--out", "fused.run"], capsys)

    def test_grades_below_0_are_not_judged(self, runs, capsys):
        text = (runs / "train/qrels.txt").read_text()
        (runs / "below.txt").write_text(text.replace(" 0\n", " -1\n"))
        argv = ["fuse", "train/good.run", "train/noise.run", "--rounds", 5, "--out", "fused.run"]
        outs = [
            (success([*argv, "--qrels", path], capsys), (runs / "fused.run").read_bytes())
            for path in ("train/qrels.txt", "below.txt")
        ]
        assert outs[0] == outs[1]

    def test_ctrl_c_keeps_the_rounds_so_far(self, runs, capsys, monkeypatch):
        rounds, choose = itertools.count(1), edgewise.boosting.loop._choose

        def interrupted(*arguments):
            if next(rounds) > 3:
                raise KeyboardInterrupt
            return choose(*arguments)

        monkeypatch.setattr(edgewise.boosting.loop, "_choose", interrupted)
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        assert main([*argv, "--save", "f.edgewise"]) == 130
        assert capsys.readouterr().err.startswith("edgewise: warning: training interrupted after 3")
        assert edgewise.load("f.edgewise").n_rounds_ == 3
        # The model is a model like any other.
        argv = ["fuse", "test/good.run", "test/noise.run", "--model", "f.edgewise"]
        success([*argv, "--out", "fused.run"], capsys)

    TRAIN = "train/good.run train/noise.run"

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("train/good.run --method rrf --out o.run", "two runs or more"),
            (f"{TRAIN}", "give --qrels or --model"),
            (f"{TRAIN} --method rrf", "there is nothing to do: --out"),
            (f"{TRAIN} --method rrf --save f.edgewise", "--save goes with --method rankboost"),
            (f"{TRAIN} --method rrf --model f.edgewise", "--model goes with --method rankboost"),
            (f"{TRAIN} --model m.edgewise --save f.edgewise", "--save has nothing to save"),
            (f"{TRAIN} --method rrf --out none/o.run", "--out: the folder of 'none/o.run'"),
            (f"{TRAIN} --method rrf --out o.edgewise", "--out must not end in .edgewise"),
            (f"{TRAIN} --method rrf --out train/good.run", "is given as RUN and --out"),
            (f"{TRAIN} train/good.run --method rrf --out o.run", "is given as RUN twice"),
            (f"{TRAIN} --qrels train/qrels.txt --save f.txt", "--save must end in .edgewise"),
            (f"{TRAIN} --qrels test/qrels.txt --out o.run", "good has none of the judged queries"),
            (f"{TRAIN} --qrels flat.txt --save f.edgewise", "there are no pairs to learn from"),
            (f"{TRAIN} --model ranker.edgewise --out o.run", "holds a RankBoost, which does not"),
            (f"{TRAIN} --model flat.txt --out o.run", "is not a readable edgewise model"),
            (f"{TRAIN} --model fusion.edgewise --out o.run", "fuses the runs a, b; these are"),
            ("train/good.run inf.run --method rrf --out o.run", "must be finite"),
            ("train/good.run sharp.run --method rrf --out o.run", "qid must be words without"),
            (
                "same/good.run inf.run train/good.run --method rrf --out o.run",
                "two runs are called",
            ),
        ],
    )
    def test_errors_are_one_line_and_nothing_is_written(self, words, told, runs, capsys):
        (runs / "inf.run").write_text("q00 Q0 a 1 inf it\n")
        (runs / "sharp.run").write_text("q#0 Q0 a 1 1 it\n")
        (runs / "same").mkdir()
        (runs / "same/good.run").write_text("q00 Q0 a 1 1 good\n")
        qrels = (runs / "train/qrels.txt").read_text()
        (runs / "flat.txt").write_text(qrels.replace(" 2\n", " 0\n").replace(" 1\n", " 0\n"))
        RankBoost(n_rounds=1).fit([[0.0], [1.0]], [0, 1]).save("ranker.edgewise")
        lists = fusion.RankedLists([[1, 2], [2, 1]], qid=[1, 1], names=["a", "b"])
        RankFusion(n_rounds=1).fit(lists, [0, 1]).save("fusion.edgewise")
        (runs / "m.edgewise").write_text("")
        before = sorted(runs.rglob("*"))
        assert told in failure(["fuse", *words.split()], capsys)
        assert sorted(runs.rglob("*")) == before
        assert "good" in (runs / "train/good.run").read_text()
