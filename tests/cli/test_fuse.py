"""``edgewise fuse`` on small files."""

import json
from pathlib import Path

import numpy as np
import pytest

import edgewise
from edgewise import RankBoost, RankFusion, fusion, io, metrics
from edgewise.cli import main
from edgewise.fusion import FUSIONS


@pytest.fixture
def runs(tmp_path, monkeypatch, data):
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
    @pytest.mark.parametrize("method", FUSIONS)
    def test_methods_without_training(self, method, runs, success):
        argv = ["fuse", "test/good.run", "test/noise.run", "--method", method]
        out = success([*argv, "--output", "fused.run"])
        assert "runs             2: good, noise\n" in out
        named = {name: io.read_run(f"test/{name}.run") for name in ("good", "noise")}
        lists = fusion.RankedLists.from_runs(named)
        io.write_run(
            "expected.run", lists.qid, lists.docs, fusion.fuse(lists, method), f"edgewise-{method}"
        )
        assert (runs / "fused.run").read_bytes() == (runs / "expected.run").read_bytes()

    def test_runs_may_have_weights(self, runs, success):
        argv = ["fuse", "test/good.run", "test/noise.run", "--method", "rrf", "--weights", 3, -0.5]
        success([*argv, "--output", "fused.run"])
        named = {name: io.read_run(f"test/{name}.run") for name in ("good", "noise")}
        lists = fusion.RankedLists.from_runs(named)
        fused = {
            *zip(lists.qid, lists.docs, fusion.fuse(lists, "rrf", weights=[3, -0.5]), strict=True)
        }
        result = io.read_run("fused.run")
        assert {*zip(result.queries, result.docs, result.scores, strict=True)} == fused

    def test_json_holds_the_metrics(self, runs, success):
        argv = ["fuse", "test/good.run", "test/noise.run", "--method", "rrf", "--json"]
        result = json.loads(success([*argv, "--qrels", "test/qrels.txt"]))
        assert set(result["metrics"]) == {"good", "noise", "fused by rrf"}
        assert result["metrics"]["good"]["map"] > result["metrics"]["noise"]["map"]

    def test_trains_saves_and_fuses_other_queries(self, runs, success):
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        out = success([*argv, "--model", "f.edgewise", "--rounds", 20])
        named = {name: io.read_run(f"train/{name}.run") for name in ("good", "noise")}
        model = RankFusion(n_rounds=20, random_state=0).fit(named, io.read_qrels("train/qrels.txt"))
        assert f"ranking loss {model.history_.last('ranking_loss'):.1%}" in out
        assert f" {model.rules(1)[0]}\n" in out
        # In any order of the files, gzipped as the name says.
        argv = ["fuse", "f.edgewise", "test/noise.run", "test/good.run"]
        success([*argv, "--output", "fused.run.gz"])
        fused = io.read_run("fused.run.gz")
        named = {name: io.read_run(f"test/{name}.run") for name in ("good", "noise")}
        expected = model.fuse(named)
        assert {*zip(fused.queries, fused.docs, fused.scores, strict=True)} == {
            *zip(expected.queries, expected.docs, expected.scores, strict=True)
        }
        assert set(fused.tags) == {"edgewise-rankboost"}

    def test_the_table_is_that_of_evaluate(self, runs, success):
        argv = ["fuse", "test/good.run", "test/noise.run", "--method", "borda"]
        out = success([*argv, "--qrels", "test/qrels.txt", "--output", "fused.run"])
        argv = ["evaluate", "test/qrels.txt", "test/good.run", "test/noise.run", "fused.run"]
        evaluated = success([*argv, "--metrics", "map,ndcg@10,mrr,precision@10"])
        expected = [line.split() for line in evaluated.split("\n\n")[0].splitlines()]
        shown = out.split("\n\n")[1].splitlines()
        assert [line.replace("fused by borda", "fused").split() for line in shown] == expected

    def test_runs_with_the_same_tag_are_called_by_their_files(self, runs, success):
        for name in ("train/good.run", "train/noise.run"):
            text = (runs / name).read_text()
            (runs / name).write_text(text.replace("good", "me").replace("noise", "me"))
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        assert "2: good, noise\n" in success([*argv, "--model", "f.edgewise"])
        # Runs with these names as tags will do as well.
        argv = ["fuse", "f.edgewise", "test/good.run", "test/noise.run"]
        success([*argv, "--output", "fused.run"])

    def test_grades_below_0_are_not_judged(self, runs, success):
        text = (runs / "train/qrels.txt").read_text()
        (runs / "below.txt").write_text(text.replace(" 0\n", " -1\n"))
        argv = ["fuse", "train/good.run", "train/noise.run", "--rounds", 5, "--output", "fused.run"]
        outs = [
            (success([*argv, "--qrels", path]), (runs / "fused.run").read_bytes())
            for path in ("train/qrels.txt", "below.txt")
        ]
        assert outs[0] == outs[1]

    def test_ctrl_c_keeps_the_rounds_so_far(self, runs, success, capsys, interrupt_after):
        interrupt_after(3)
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        assert main([*argv, "--model", "f.edgewise"]) == 130
        assert capsys.readouterr().err.startswith("edgewise: warning: training interrupted after 3")
        assert edgewise.load("f.edgewise").n_rounds_ == 3
        # The model is a model like any other.
        argv = ["fuse", "f.edgewise", "test/good.run", "test/noise.run"]
        success([*argv, "--output", "fused.run"])

    @pytest.fixture
    def judged_apart(self, runs):
        """The runs of all queries, and judgments of a half, a quarter and a quarter of them."""
        for tag in ("good", "noise"):
            text = [(runs / name / f"{tag}.run").read_text() for name in ("train", "test")]
            (runs / f"{tag}.run").write_text(text[0] + text[1].replace("q", "t"))
        lines = (runs / "test/qrels.txt").read_text().replace("q", "t").splitlines(keepends=True)
        half = len(lines) // 2
        while lines[half].split()[0] == lines[half - 1].split()[0]:
            half += 1
        (runs / "vali.txt").write_text("".join(lines[:half]))
        (runs / "test.txt").write_text("".join(lines[half:]))
        return ["fuse", "good.run", "noise.run", "--qrels", "train/qrels.txt"]

    def test_says_which_figures_are_of_training_queries(self, runs, success):
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        out = success([*argv, "--rounds", 5])
        assert "training queries:\n" in out
        result = json.loads(success([*argv, "--rounds", 5, "--json"]))
        assert result["metrics_are_of_training_queries"]
        untrained = success([*argv, "--method", "rrf"])
        assert "training queries" not in untrained

    def test_validates_and_tests_on_other_queries(self, judged_apart, runs, success):
        argv = [*judged_apart, "--validate", "vali.txt", "--test", "test.txt"]
        words = "--rounds 30 --learner stump --set early_stopping_rounds=5 monotonic_cst=increasing"
        argv += [*words.split(), "--model", "f.edgewise"]
        out = success(argv)
        assert "\nvalidation queries:\n" in out
        named = {name: io.read_run(f"{name}.run") for name in ("good", "noise")}
        lists = fusion.RankedLists.from_runs(named)
        in_file = {
            path: lists.take(np.isin(lists.qid, io.read_qrels(path).queries))
            for path in ("train/qrels.txt", "vali.txt", "test.txt")
        }
        settings = {"monotonic_cst": "increasing", "early_stopping_rounds": 5}
        model = RankFusion("stump", n_rounds=30, **settings).fit(
            in_file["train/qrels.txt"],
            io.read_qrels("train/qrels.txt"),
            eval_set=(in_file["vali.txt"], io.read_qrels("vali.txt")),
        )
        loaded = edgewise.load("f.edgewise")
        assert loaded.n_rounds_ == model.n_rounds_
        assert (loaded.predict(lists) == model.predict(lists)).all()
        result = json.loads(success([*argv[:-2], "--json"]))
        test = metrics.evaluate("test.txt", model.fuse(in_file["test.txt"]), "map", gain=None)
        assert result["test"]["fused by rankboost"]["map"] == pytest.approx(
            test.means["run"]["map"]
        )

    def test_queries_of_two_files_are_refused(self, judged_apart, failure):
        argv = [*judged_apart, "--test", "twice.txt"]
        Path("twice.txt").write_text(Path("train/qrels.txt").read_text())
        assert "both judge the query" in failure(argv)

    def test_scores_count_if_they_are_asked_for(self, runs, success):
        argv = ["fuse", "train/good.run", "train/noise.run", "--qrels", "train/qrels.txt"]
        argv += ["--rounds", 5, "--set", "values=rank,score", "--model", "f.edgewise"]
        success(argv)
        assert edgewise.load("f.edgewise").values_ == ("rank", "score")

    def test_an_absent_run_returns_nothing(self, runs, success, capsys):
        (runs / "train/third.run").write_text((runs / "train/noise.run").read_text())
        argv = ["fuse", *(f"train/{name}.run" for name in ("good", "noise", "third"))]
        argv += ["--qrels", "train/qrels.txt", "--rounds", 5, "--model", "f.edgewise"]
        success(argv)
        argv = ["fuse", "f.edgewise", "train/good.run", "train/noise.run", "-o", "fused.run"]
        assert main(argv) == 0
        assert "the run 'third' of f.edgewise is absent: it returns nothing" in (
            capsys.readouterr().err
        )

    TRAIN = "train/good.run train/noise.run"

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("train/good.run --method rrf --output o.run", "two or more runs"),
            (f"{TRAIN}", "add --qrels or a saved model"),
            (f"{TRAIN} --method rrf -o o.run --learner tree", "--learner is for training"),
            (f"{TRAIN} --method rrf -o o.run --rounds 3", "--rounds is for training"),
            (f"{TRAIN} --method rrf -o o.run --set learning_rate=0.1", "--set is for training"),
            (f"{TRAIN} --method rrf -o o.run --seed 1", "--seed is for training"),
            (f"{TRAIN} --method rrf -o o.run --threads 2", "--threads is for training"),
            (f"fusion.edgewise {TRAIN} -o o.run --rounds 3", "--rounds is for training"),
            (f"{TRAIN} --qrels train/qrels.txt --set k=3", "unknown parameter 'k'"),
            (f"{TRAIN} --method condorcet --weights 1 2 -o o.run", "--weights is for --method"),
            (f"{TRAIN} --method rrf --weights 1 -o o.run", "--weights has 1 numbers for 2 runs"),
            (f"{TRAIN} --method rrf --weights 0 0 -o o.run", "weights must not all be 0"),
            (f"{TRAIN} --method rrf --test flat.txt -o o.run", "--test needs --qrels"),
            (f"{TRAIN} --method rrf", "nothing to do: add --output"),
            (f"{TRAIN} --method rrf --model f.edgewise", "rrf has no model: remove --model"),
            (f"m.edgewise {TRAIN} --method rrf -o o.run", "rrf has no model: remove m.edgewise"),
            (f"m.edgewise {TRAIN} --model f.edgewise", "--model"),
            (f"{TRAIN} --method rrf --output none/o.run", "'-o': the folder of 'none/o.run'"),
            (f"{TRAIN} --method rrf --output o.edgewise", "'-o': must not end in .edgewise"),
            (f"{TRAIN} --method rrf --output train/good.run", "is given as RUN and --output"),
            (f"{TRAIN} train/good.run --method rrf --output o.run", "is given as RUN twice"),
            (f"{TRAIN} --qrels train/qrels.txt --model f.txt", "'--model': must end in .edgewise"),
            (f"{TRAIN} --qrels test/qrels.txt --output o.run", "has no query of test/qrels.txt"),
            (f"{TRAIN} --qrels flat.txt --model f.edgewise", "two documents of different grades"),
            (f"ranker.edgewise {TRAIN} -o o.run", "holds RankBoost, which does not fuse runs"),
            (f"m.edgewise {TRAIN} -o o.run", "is not a readable edgewise model"),
            (f"fusion.edgewise {TRAIN} -o o.run", "fuses the runs a, b, got good, noise"),
            ("train/good.run inf.run --method rrf --output o.run", "must hold finite numbers"),
            ("train/good.run sharp.run --method rrf --output o.run", "qid must be words without"),
            ("same/good.run inf.run train/good.run --method rrf --output o.run", "two runs are"),
        ],
    )
    def test_errors_are_one_line_and_nothing_is_written(self, words, message, runs, failure):
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
        assert message in failure(["fuse", *words.split()])
        assert sorted(runs.rglob("*")) == before
        assert "good" in (runs / "train/good.run").read_text()
