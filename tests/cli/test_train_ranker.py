"""``edgewise train`` on LETOR files and tables with queries."""

import json
import logging
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import contents

import edgewise
from edgewise import RankBoost, cross_validate, io
from edgewise.cli import fitting, main, tables
from edgewise.common.choices import RANK_LEARNERS
from edgewise.metrics import ranking_metric


@pytest.fixture
def letor(tmp_path, data, monkeypatch):
    """LETOR files to train on, to validate on and to test on."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train.txt", "vali.txt.gz", "test.txt")):
        part = data(seed)
        io.write_letor(tmp_path / name, part.X, part.y, part.qid, part.docs)
    return tmp_path


def frame(part):
    table = pd.DataFrame(part.X, columns=["bm25", "tf", "length", "age"])
    return table.assign(grade=part.y.astype(int), query=part.qid, doc=part.docs)


TRAIN = ["train", "train.txt", "--force"]


class TestModel:
    def test_is_that_of_python_with_its_defaults(self, letor, success, data):
        success([*TRAIN, "--hold-out", 0])
        part = data(0)
        model = RankBoost().fit(part.X, part.y, part.qid)
        loaded = edgewise.load("train.edgewise")
        assert np.array_equal(loaded.predict(part.X), model.predict(part.X))
        assert loaded.settings_ == model.settings_

    @pytest.mark.parametrize(
        ("options", "settings"),
        [
            ([], {}),
            (["--learner", "tree"], {"learner": "tree"}),
            (["--rounds", 7], {"n_rounds": 7}),
            (["--set", "learning_rate=0.4"], {"learning_rate": 0.4}),
            (["--set", "objective=map@5"], {"objective": "map@5"}),
            (["--set", "preset=paper", "--rounds", 9], {"preset": "paper", "n_rounds": 9}),
        ],
    )
    def test_is_that_of_python_where_queries_are_held_out(
        self, options, settings, letor, success, data
    ):
        part = data(0, n_queries=24)
        io.write_letor("many.txt", part.X, part.y, part.qid)
        success(["train", "many.txt", "--hold-out", 0, *options])
        model = RankBoost(**settings).fit(part.X, part.y, part.qid)
        loaded = edgewise.load("many.edgewise")
        assert np.array_equal(loaded.predict(part.X), model.predict(part.X))
        assert loaded.settings_ == model.settings_

    @pytest.mark.parametrize("learner", RANK_LEARNERS)
    def test_has_any_learner(self, learner, letor, success):
        success([*TRAIN, "--learner", learner, "--rounds", 3, "--threads", 2])
        assert edgewise.load("train.edgewise").n_rounds_ == 3

    def test_has_the_parameters_of_set(self, letor, success, failure, data):
        settings = {
            "criterion": "energy",
            "max_bins": 16,
            "missing": "low",
            "pair_weight": "equal",
            "query_weight": "pairs",
            "step": "exact",
            "subsample": 0.5,
        }
        pairs = [f"{name}={value}" for name, value in settings.items()]
        success([*TRAIN, "--rounds", 5, "--seed", 3, "--set", *pairs, "--hold-out", 0])
        part = data(0)
        model = RankBoost(n_rounds=5, random_state=3, **settings).fit(part.X, part.y, part.qid)
        loaded = edgewise.load("train.edgewise")
        assert np.array_equal(loaded.predict(part.X), model.predict(part.X))

    def test_validation_chooses_the_rounds(self, letor, success, data):
        argv = [*TRAIN, "--validate", "vali.txt.gz", "--learner", "stump", "--set"]
        success([*argv, "eval_metric=ndcg@5", "early_stopping_rounds=7"])
        train, held = data(0), data(1)
        model = RankBoost("stump", early_stopping_rounds=7, eval_metric="ndcg@5")
        model.fit(train.X, train.y, train.qid, eval_set=(held.X, held.y, held.qid))
        assert model.n_rounds_ < model.history_.n_rounds
        saved = edgewise.load("train.edgewise")
        assert saved.n_rounds_ == model.n_rounds_
        assert np.array_equal(saved.predict(held.X), model.predict(held.X))

    def test_validation_stops_early(self, letor, success):
        argv = [*TRAIN, "--validate", "vali.txt.gz", "--rounds", 1000]
        assert "ended by: early stopping" in success(argv)

    def test_is_the_same_from_sparse_and_dense_files(self, letor, success, monkeypatch):
        rules = []
        for threshold in (0.0, 2.0):
            monkeypatch.setattr(tables, "_SPARSE", threshold)
            success([*TRAIN, "--rounds", 20])
            rules.append([str(rule) for rule in edgewise.load("train.edgewise").rules()])
        assert rules[0] == rules[1]

    def test_files_may_leave_out_their_last_features(self, tmp_path, success):
        (tmp_path / "train.txt").write_text("1 qid:1 1:3\n0 qid:1 1:1\n0 qid:1\n")
        (tmp_path / "test.txt").write_text("0 qid:1 3:1\n1 qid:1 1:4\n")
        argv = ["train", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "--rounds", 2]
        success([*argv, "--model", tmp_path / "m.edgewise"])
        assert edgewise.load(tmp_path / "m.edgewise").n_features_in_ == 3

    @pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".tsv"])
    def test_of_tables(self, suffix, tmp_path, capsys, data):
        train, test = tmp_path / f"train{suffix}", tmp_path / f"test{suffix}"
        # Columns in another order, and one more, make no difference.
        other = frame(data(2)).iloc[:, ::-1].assign(note="none")
        for path, table in ((train, frame(data(0))), (test, other)):
            if suffix == ".tsv":
                table.to_csv(path, sep="\t", index=False)
            else:
                io.write_table(path, table)
        argv = ["train", train, "--test", test, "--target", "grade", "--query", "query"]
        argv += ["--doc", "doc", "--rounds", 20, "--model", tmp_path / "m.edgewise"]
        assert main([*map(str, argv)]) == 0
        assert "'note'" in capsys.readouterr().err
        part = data(0)
        plain = RankBoost(n_rounds=20).fit(part.X, part.y, part.qid)
        model = edgewise.load(tmp_path / "m.edgewise")
        assert model.feature_names_in_.tolist() == ["bm25", "tf", "length", "age"]
        X = model.schema_.transform(other)
        assert np.array_equal(model.predict(X), plain.predict(data(2).X))


class TestOutput:
    def test_json_holds_test_metrics_and_losses(self, letor, success, data):
        argv = [*TRAIN, "--test", "test.txt", "--rounds", 5, "--set", "eval_metric=disagreement"]
        result = json.loads(success([*argv, "--json"]))
        train, test = data(0), data(2)
        model = RankBoost(n_rounds=5).fit(train.X, train.y, train.qid)
        for name in ("map", "ndcg@10", "mrr", "precision@10", "disagreement"):
            expected = ranking_metric(name)(test.y, model.predict(test.X), test.qid)
            assert result["test"][name] == pytest.approx(expected)
        assert result["training"]["bound"] == pytest.approx(model.history_.last("bound"))
        assert result["rules"] == [str(rule) for rule in model.rules(5)]

    def test_a_run_of_the_test_documents_is_a_prediction(self, letor, success, data):
        success([*TRAIN, "--test", "test.txt", "--rounds", 20])
        success(["predict", "train.edgewise", "test.txt", "-o", "s.run.gz"])
        part, run = data(2), io.read_run("s.run.gz")
        scores = edgewise.load("train.edgewise").predict(part.X).tolist()
        expected = dict(zip(zip(part.qid, part.docs, strict=True), scores, strict=True))
        written = zip(zip(run.queries, run.docs, strict=True), run.scores, strict=True)
        assert dict(written) == expected

    def test_negative_grades_have_no_gain(self, tmp_path, success):
        for name in ("train.txt", "test.txt"):
            (tmp_path / name).write_text("-1 qid:1 1:1\n1 qid:1 1:2\n")
        argv = ["train", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "--rounds", 2]
        argv += ["--model", tmp_path / "m.edgewise", "--json"]
        test = json.loads(success(argv))["test"]
        assert (test["map"], test["ndcg@10"], test["mrr"]) == (1, None, 1)

    def test_folds_are_those_of_cross_validate(self, letor, success, failure, data):
        argv = [*TRAIN, "--rounds", 5, "--hold-out", 0, "--folds"]
        part = data(0)
        expected = cross_validate(RankBoost(n_rounds=5), part.X, part.y, part.qid, cv=3)
        result = json.loads(success([*argv, 3, "--json"]))["cross_validation"]
        assert result["map"] == pytest.approx(expected.means["map"])
        assert "Cross-validation" in success([*argv, 3, "--set", "early_stopping_rounds=3"])
        assert "--folds" in failure([*argv, 99])

    def test_why_a_row_ranks_above_another(self, letor, success, failure):
        success([*TRAIN, "--rounds", 5])
        argv = ["explain", "train.edgewise", "test.txt", "--row", 2, "--against"]
        result = json.loads(success([*argv, 5, "--json"]))
        difference = result["scores"][0] - result["scores"][1]
        total = sum(part["amount"] for part in result["contributions"])
        assert total == pytest.approx(difference, abs=1e-12)
        way = "above" if difference > 0 else "below" if difference < 0 else "level with"
        assert f"{way} row 5" in success([*argv, 5])
        assert "--against 999" in failure([*argv, 999])


def test_tuning_compares_the_default(letor, success, data, monkeypatch):
    built = []
    build = fitting.build

    def quick(args, task, settings, *validation):
        built.append(settings)
        return build(args, task, {**settings, "n_rounds": 2}, *validation)

    monkeypatch.setattr(fitting, "build", quick)
    part = data(0, n_queries=20)
    io.write_letor("train.txt", part.X, part.y, part.qid)
    result = json.loads(success([*TRAIN, "--tune", "--json"]))["tuning"]
    assert built[1] == {"time_limit": None}  # after the check of the options
    assert result[0]["settings"] == "default"
    assert sum(candidate["chosen"] for candidate in result) == 1
    best = max(result, key=lambda candidate: candidate["ndcg@10"])
    assert best["chosen"]


class TestWarnings:
    def test_a_query_of_one_grade_is_mentioned_once(self, letor, capsys):
        with (letor / "train.txt").open("a") as stream:
            stream.write("1 qid:alone 1:1\n")
        assert main([*TRAIN, "--rounds", "2"]) == 0
        err = capsys.readouterr().err
        assert err.startswith("edgewise: warning: ")
        assert err.count("\n") == 1
        assert not logging.getLogger("edgewise").handlers

    @pytest.mark.parametrize("name", ["t.csv", "bare.txt"])
    def test_rows_without_queries_are_one_list(self, name, letor, capsys, data):
        part = data(0)
        io.write_table("t.csv", frame(part).drop(columns=["query", "doc"]))
        Path("bare.txt").write_text(re.sub(r" qid:\S+", "", Path("train.txt").read_text()))
        argv = ["train", name, "--task", "grades", "--rounds", "3", "--hold-out", "0"]
        argv += ["--target", "grade"] if name == "t.csv" else []
        assert main(argv) == 0
        assert "all 48 rows are ranked as one list" in capsys.readouterr().err

    def test_ctrl_c_keeps_the_rounds_so_far(self, letor, capsys, interrupt_after):
        interrupt_after(5)
        assert main([*TRAIN, "--rounds", "99", "--test", "test.txt"]) == 130
        out, err = capsys.readouterr()
        assert err == "edgewise: warning: training interrupted after 5 rounds\n"
        assert "ended by: interrupted" in out
        assert edgewise.load("train.edgewise").n_rounds_ == 5

    def test_ctrl_c_before_the_first_round_writes_nothing(self, letor, interrupt_after):
        interrupt_after(0)
        before = contents(letor)
        assert main([*TRAIN, "--rounds", "5"]) == 130
        assert contents(letor) == before


class TestErrors:
    @pytest.fixture(autouse=True)
    def files(self, letor):
        """Files with errors; no failure may change a file, or leave another."""
        (letor / "flat.txt").write_text("1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:1\n")
        (letor / "red.txt").write_text("1 qid:1 1:1\n2 qid:1 1:red\n")
        (letor / "words.csv").write_text("grade,q,x\nhigh,1,1\nlow,1,2\n")
        (letor / "table.csv").write_text("grade,q,x\n1,1,1\n0,1,2\n")
        (letor / "other.csv").write_text("grade,q,z\n1,1,1\n0,1,2\n")
        packed = (letor / "vali.txt.gz").read_bytes()
        (letor / "cut.txt.gz").write_bytes(packed[: len(packed) // 2])
        (letor / "folder").mkdir()
        before = contents(letor)
        yield
        assert contents(letor) == before

    @pytest.mark.parametrize(
        ("words", "named"),
        [
            ("train.txt --test none.txt", "none.txt"),
            ("train.txt --validate train.txt", "--validate"),
            ("train.txt --test folder/../train.txt", "--test"),
            ("train.txt --set eval_metric=best", "eval_metric"),
            ("train.txt --set criterion=energy --learner tree", "criterion"),
            ("train.txt --set depth=3", "unknown parameter 'depth'"),
            ("train.txt --set n_rounds=3 --rounds 4", "--rounds and --set n_rounds"),
            ("train.txt --tune --validate test.txt", "--validate"),
            ("train.txt --tune --set max_bins=9", "--set"),
            ("train.txt --target grade", "--target"),
            ("train.txt --test table.csv", "--test table.csv"),
            ("table.csv", "--target"),
            ("table.csv --target y --query q", "--target 'y'"),
            ("table.csv --target grade --query q --test other.csv", "other.csv"),
            ("table.csv --target grade --folds 3", "--folds"),
            ("words.csv --target grade --query q", "words.csv"),
            ("flat.txt", "flat.txt"),
            ("red.txt", "red.txt, line 2"),
            ("cut.txt.gz", "cut.txt.gz"),
            ("train.txt --rounds 0", "'--rounds'"),
            ("train.txt --threads 0", "'--threads'"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, named, failure):
        assert named in failure(["train", *words.split(), "--json"])


def test_an_old_file_stays_when_writing_fails(letor, failure, capsys, monkeypatch):
    old = letor / "train.edgewise"
    old.write_text("old\n")

    def fail(*_):
        raise OSError(28, "No space left on device", str(old))

    monkeypatch.setattr("pathlib.Path.replace", fail)
    before = contents(letor)
    assert main([*TRAIN, "--rounds", "2", "--json"]) == 2
    assert "No space left" in capsys.readouterr().err
    assert contents(letor) == before
