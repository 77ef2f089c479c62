"""``edgewise rank`` on small files."""

import gzip
import json
import logging

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import RankBoost, cross_validate, io
from edgewise.cli import main, tables
from edgewise.common.choices import RANK_LEARNERS
from edgewise.metrics import ranking_metric


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def letor(tmp_path, data):
    """LETOR files to train on, to validate on and to test on."""
    for seed, name in enumerate(("train.txt", "vali.txt.gz", "test.txt")):
        part = data(seed)
        io.write_letor(tmp_path / name, part.X, part.y, part.qid, part.docs)
    return tmp_path


def frame(part):
    table = pd.DataFrame(part.X, columns=["bm25", "tf", "length", "age"])
    return table.assign(grade=part.y.astype(int), query=part.qid, doc=part.docs)


class TestRank:
    def test_trains_as_the_library_does_and_says_so(self, letor, success, capsys, data):
        out = success(["rank", letor / "train.txt", "--rounds", 30], capsys)
        part = data(0)
        model = RankBoost(n_rounds=30, random_state=0).fit(part.X, part.y, part.qid)
        assert "training         6 queries, 48 documents, 4 features\n" in out
        assert "rounds           30 (training ended by: n_rounds)\n" in out
        assert f"ranking loss     {model.history_.last('ranking_loss'):.4f}\n" in out
        assert f"bound            {model.history_.last('bound'):.4f}\n" in out
        assert "strongest rules\n" + "".join(f"  {rule}\n" for rule in model.rules(5)) in out
        assert "x0 is feature 1 of the files" in out

    def test_validation_chooses_the_rounds(self, letor, success, capsys, data):
        argv = ["rank", letor / "train.txt", "--validate", letor / "vali.txt.gz"]
        argv += [
            "--eval-metric",
            "ndcg@5",
            "--early-stopping-rounds",
            7,
            "--model",
            letor / "m.edgewise",
        ]
        out = success(argv, capsys)
        train, held = data(0), data(1)
        model = RankBoost(early_stopping_rounds=7, eval_metric="ndcg@5", random_state=0).fit(
            train.X, train.y, train.qid, eval_set=(held.X, held.y, held.qid)
        )
        assert model.n_rounds_ < model.history_.n_rounds
        assert f"{model.n_rounds_}, the best of {model.history_.n_rounds} (training ended" in out
        assert f"\n  ndcg@5         {model.history_['validation'].max():.4f}\n" in out
        saved = edgewise.load(letor / "m.edgewise")
        assert saved.n_rounds_ == model.n_rounds_
        assert np.array_equal(saved.predict(held.X), model.predict(held.X))

    def test_validation_has_a_patience_of_its_own(self, letor, success, capsys):
        argv = ["rank", letor / "train.txt", "--validate", letor / "vali.txt.gz", "--rounds", 1000]
        assert "training ended by: early stopping" in success(argv, capsys)

    def test_test_metrics_and_plain_scores(self, letor, success, capsys, data):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 20]
        argv += ["--eval-metric", "disagreement", "--output", letor / "s.txt"]
        argv += ["--model", letor / "m.edgewise"]
        lines = success(argv, capsys).splitlines()
        scores = np.array([float(line) for line in (letor / "s.txt").read_text().splitlines()])
        part = data(2)
        assert np.array_equal(edgewise.load(letor / "m.edgewise").predict(part.X), scores)
        names = ["map", "ndcg@10", "mrr", "precision@10", "disagreement"]
        place = next(i for i, line in enumerate(lines) if line.split() == names)
        expected = [f"{ranking_metric(name)(part.y, scores, part.qid):.4f}" for name in names]
        assert lines[place + 1].split() == expected

    def test_scores_as_a_run(self, letor, success, capsys, data):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 20]
        success([*argv, "--output", letor / "s.run.gz"], capsys)
        success([*argv, "--output", letor / "s.txt.gz"], capsys)
        text = gzip.decompress((letor / "s.txt.gz").read_bytes()).decode()
        scores = [float(line) for line in text.splitlines()]
        part, run = data(2), io.read_run(letor / "s.run.gz")
        written = dict(zip(zip(part.qid, part.docs, strict=True), scores, strict=True))
        read = zip(zip(run.queries, run.docs, strict=True), run.scores, strict=True)
        assert dict(read) == written

    @pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".tsv"])
    def test_tables(self, suffix, tmp_path, capsys, data):
        train, test = tmp_path / f"train{suffix}", tmp_path / f"test{suffix}"
        # Columns in another order, and one more, make no difference.
        other = frame(data(2)).iloc[:, ::-1].assign(note="none")
        for path, table in ((train, frame(data(0))), (test, other)):
            if suffix == ".tsv":
                table.to_csv(path, sep="\t", index=False)
            else:
                io.write_table(path, table)
        argv = ["rank", train, "--test", test, "--target", "grade", "--query", "query"]
        argv += ["--doc", "doc", "--rounds", 20, "--output", tmp_path / "s.run"]
        assert main([*map(str, argv), "--model", str(tmp_path / "m.edgewise")]) == 0
        out, err = capsys.readouterr()
        assert "ignored the column 'note', which training did not have" in err
        part = data(0)
        plain = RankBoost(n_rounds=20, random_state=0).fit(part.X, part.y, part.qid)
        model = edgewise.load(tmp_path / "m.edgewise")
        assert model.feature_names_in_.tolist() == ["bm25", "tf", "length", "age"]
        assert f"  {model.rules(1)[0]}\n" in out
        assert "x0" not in out
        run = io.read_run(tmp_path / "s.run")
        assert sorted(run.scores) == sorted(plain.predict(data(2).X))

    def test_json_holds_the_metrics(self, letor, success, capsys, data):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 5, "--json"]
        found = json.loads(success(argv, capsys))
        part = data(0)
        model = RankBoost(n_rounds=5, random_state=0).fit(part.X, part.y, part.qid)
        part = data(2)
        expected = ranking_metric("map")(part.y, model.predict(part.X), part.qid)
        assert found["test"]["map"] == pytest.approx(expected)
        assert found["training"]["bound"] == pytest.approx(model.history_.last("bound"))

    def test_a_table_without_queries_is_one_list(self, tmp_path, capsys, data):
        io.write_table(tmp_path / "t.csv", frame(data(0)).drop(columns=["query", "doc"]))
        assert main(["rank", str(tmp_path / "t.csv"), "--target", "grade", "--rounds", "3"]) == 0
        out, err = capsys.readouterr()
        assert "t.csv has no query ids: all 48 rows are compared with each other" in err
        assert "training         1 query, 48 documents, 4 features\n" in out

    def test_sparse_and_full_files_give_the_same_model(self, letor, success, capsys, monkeypatch):
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 20]
        for few in (0.0, 2.0):
            monkeypatch.setattr(tables, "_SPARSE", few)
            success([*argv, "--output", letor / f"{few}.txt"], capsys)
        assert (letor / "0.0.txt").read_bytes() == (letor / "2.0.txt").read_bytes()

    def test_files_may_leave_out_their_last_features(self, tmp_path, success, capsys):
        (tmp_path / "train.txt").write_text("1 qid:1 1:3\n0 qid:1 1:1\n0 qid:1\n")
        (tmp_path / "test.txt").write_text("0 qid:1 3:1\n1 qid:1 1:4\n")
        argv = ["rank", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "--rounds", 2]
        out = success(argv, capsys)
        assert "1 query, 3 documents, 3 features" in out
        assert "1.0000" in out

    @pytest.mark.parametrize("learner", RANK_LEARNERS)
    def test_every_learner(self, learner, letor, success, capsys):
        argv = ["rank", letor / "train.txt", "--learner", learner, "--rounds", 3, "--threads", 2]
        assert "strongest rules" in success(argv, capsys)

    def test_settings_reach_the_model(self, letor, success, failure, capsys):
        argv = ["rank", letor / "train.txt", "--criterion", "energy", "--learning-rate", "0.5"]
        success([*argv, "--rounds", 2, "--model", letor / "m.edgewise"], capsys)
        model = edgewise.load(letor / "m.edgewise")
        assert (model.criterion, model.learning_rate, model.n_rounds) == ("energy", 0.5, 2)
        argv = ["rank", letor / "train.txt", "--monotonic-cst", "none", "--pair-weight", "equal"]
        argv += ["--query-weight", "pairs", "--rounds", 2, "--model", letor / "m.edgewise"]
        success(argv, capsys)
        model = edgewise.load(letor / "m.edgewise")
        assert (model.monotonic_cst, model.pair_weight, model.query_weight) == (
            "none",
            "equal",
            "pairs",
        )
        argv = ["rank", letor / "train.txt", "--monotonic-cst", "increasing", "--learner", "tree"]
        assert "--monotonic-cst" in failure(argv, capsys)

    def test_negative_grades_have_no_gain(self, tmp_path, success, failure, capsys):
        text = "-1 qid:1 1:1\n1 qid:1 1:2\n"
        for name in ("train.txt", "test.txt"):
            (tmp_path / name).write_text(text)
        argv = ["rank", tmp_path / "train.txt", "--rounds", 2]
        out = success([*argv, "--test", tmp_path / "test.txt"], capsys)
        row = out.split("precision@10\n")[1].split("\n")[0]
        assert row.split()[:4] == ["1.0000", "-", "1.0000", "0.1000"]
        argv += ["--validate", tmp_path / "test.txt", "--eval-metric", "ndcg"]
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

    def test_ctrl_c_keeps_the_rounds_so_far(self, letor, capsys, interrupt_after):
        interrupt_after(5)
        argv = ["rank", letor / "train.txt", "--test", letor / "test.txt"]
        argv += ["--model", letor / "m.edgewise", "--output", letor / "s.txt"]
        assert main([str(word) for word in argv]) == 130
        out, err = capsys.readouterr()
        assert err == "edgewise: warning: training interrupted after 5 rounds\n"
        assert "rounds           5 (training ended by: interrupted)\n" in out
        assert edgewise.load(letor / "m.edgewise").n_rounds_ == 5
        assert len((letor / "s.txt").read_text().splitlines()) == 48

    def test_ctrl_c_before_the_first_round_writes_nothing(self, letor, capsys, interrupt_after):
        interrupt_after(0)
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
        ("words", "message"),
        [
            ("none.txt", "File 'none.txt' does not exist"),
            ("folder", "File 'folder' is a directory"),
            ("train.txt --test none.txt", "File 'none.txt' does not exist"),
            ("train.txt --validate train.txt", "train.txt is given as DATA and --validate"),
            ("train.txt --test folder/../train.txt", "is given as DATA and --test"),
            (
                "train.txt --model none/m.edgewise",
                "the folder of 'none/m.edgewise' does not",
            ),
            ("train.txt --model m.txt", "'--model': must end in .edgewise, got 'm.txt'"),
            ("train.txt --test test.txt --output s.edgewise", "'-o': must not end in .edgewise"),
            ("train.txt --test test.txt --output folder", "'-o': must be the name of a file"),
            ("train.txt --test test.txt --output test.txt", "given as --test and --output"),
            ("train.txt --output s.txt", "--output needs --test"),
            ("train.txt --early-stopping-rounds 3", "--early-stopping-rounds needs --validate"),
            ("train.txt --eval-metric best", "--eval-metric: unknown metric: 'best'"),
            ("train.txt --criterion energy --learner tree", "works with --learner stump only"),
            ("train.txt --target grade", "--target is for tables"),
            ("train.txt --test table.csv", "--test table.csv is a table and DATA is a LETOR"),
            ("table.csv", "--target must name the column of table.csv"),
            ("table.csv --target y", "table.csv: --target 'y' must be a column: 'grade', 'x'"),
            ("table.csv --target grade --test other.csv", "other.csv: the table lacks the column"),
            ("table.csv --target grade --test kinds.csv", "kinds.csv: "),
            ("words.csv --target grade", "words.csv: "),
            ("flat.txt", "flat.txt: y has no two documents of different grades"),
            ("infinite.txt", "infinite.txt: "),
            ("train.txt --test infinite.txt --model m.edgewise", "infinite.txt: "),
            (
                "train.txt --test bare.txt --output s.run",
                "a run needs query and document ids",
            ),
            ("train.txt --test twice.txt --output s.run", "twice.txt does not make a run: docs"),
            ("vali.txt.gz --test table.csv", "all files must be of one kind"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, message, failure, capsys):
        assert message in failure(["rank", *words.split()], capsys)

    def test_a_damaged_file_names_the_line(self, letor, failure, capsys):
        with (letor / "train.txt").open("a") as stream:
            stream.write("2 qid:9 1:red\n")
        assert "train.txt, line 49: value of feature 1 'red'" in failure(
            ["rank", "train.txt"], capsys
        )

    def test_a_cut_archive_is_told(self, letor, failure, capsys):
        whole = (letor / "vali.txt.gz").read_bytes()
        (letor / "vali.txt.gz").write_bytes(whole[: len(whole) // 2])
        assert "vali.txt.gz is damaged or cut short" in failure(["rank", "vali.txt.gz"], capsys)

    @pytest.mark.parametrize(
        "option", ["--rounds 0", "--learning-rate 2", "--learning-rate nan", "--threads 0"]
    )
    def test_wrong_values_are_one_line(self, option, failure, capsys):
        assert f"Invalid value for '{option.split()[0]}'" in failure(
            ["rank", "train.txt", *option.split()], capsys
        )


def test_an_old_file_stays_when_writing_fails(letor, failure, capsys, monkeypatch):
    old = letor / "s.txt"
    old.write_text("old\n")

    def full(*_):
        raise OSError(28, "No space left on device", str(old))

    monkeypatch.setattr("pathlib.Path.replace", full)
    before = contents(letor)
    argv = ["rank", letor / "train.txt", "--test", letor / "test.txt", "--rounds", 2]
    assert "No space left" in failure([*argv, "--output", old], capsys)
    assert contents(letor) == before


class TestExplainedPairs:
    def test_why_a_row_stands_above_another(self, letor, success, failure, capsys):
        model = letor / "m.edgewise"
        success(["rank", letor / "train.txt", "--rounds", 5, "--model", model], capsys)
        argv = ["explain", model, letor / "test.txt", "--row", 2, "--against"]
        found = json.loads(success([*argv, 5, "--json"], capsys))
        difference = found["scores"][0] - found["scores"][1]
        total = sum(one["amount"] for one in found["contributions"])
        assert total == pytest.approx(difference, abs=1e-12)
        way = "above" if difference > 0 else "below" if difference < 0 else "level with"
        assert f"stands {way} row 5" in success([*argv, 5], capsys)
        assert "--against 999:" in failure([*argv, 999], capsys)
        assert "--against needs --row" in failure(["explain", model, "--against", 1], capsys)


class TestOptions:
    def test_are_parameters_of_the_ranker(self, letor, success, capsys, data):
        words = "--seed 3 --max-bins 16 --q-def low --subsample 0.5 --step exact --time-limit 60"
        argv = ["rank", letor / "train.txt", "--rounds", 5, *words.split()]
        success([*argv, "--model", letor / "m.edgewise"], capsys)
        part = data(0)
        settings = {"random_state": 3, "max_bins": 16, "missing": "low", "subsample": 0.5}
        model = RankBoost(n_rounds=5, step="exact", **settings).fit(part.X, part.y, part.qid)
        found = edgewise.load(letor / "m.edgewise")
        assert np.array_equal(found.predict(part.X), model.predict(part.X))

    def test_folds_measure_the_settings(self, letor, success, failure, capsys, data):
        argv = ["rank", letor / "train.txt", "--rounds", 5, "--folds"]
        part = data(0)
        expected = cross_validate(RankBoost(n_rounds=5), part.X, part.y, part.qid, cv=3)
        found = json.loads(success([*argv, 3, "--json"], capsys))["cross_validation"]
        assert found["map"] == pytest.approx(expected.means["map"])
        out = success([*argv, 3, "--early-stopping-rounds", 3], capsys)
        assert "queries in 3 folds" in out
        assert any(line.startswith("3   ") for line in out.splitlines())
        assert "--folds" in failure([*argv, 99], capsys)
