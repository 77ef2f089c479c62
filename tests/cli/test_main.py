import inspect
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import AdaBoostMH, RankBoost, RankFusion, datasets
from edgewise.cli import app, demo, main
from edgewise.fusion import RankedLists

COMMANDS = (
    *("train", "predict", "evaluate", "explain", "rules", "report", "export", "rank", "fuse"),
    *("recommend", "compare", "info", "datasets", "demo"),
)


@pytest.fixture
def saved(tmp_path):
    """A model file of three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 15))
    y = np.array(["low", "mid", "high"])[(X[:, 2] > 0).astype(int) + (X[:, 4] > 0)]
    path = tmp_path / "small.edgewise"
    model = AdaBoostMH("stump", n_rounds=40).fit(X, y, eval_set=(X, y))
    model.save(path)
    return path, model


def failure(argv, capsys):
    """Run a command that fails and return the one line it prints."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert err.startswith("edgewise: error: ")
    return err


class TestHelp:
    def test_version(self, capsys):
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"edgewise {edgewise.__version__}\n"

    def test_help_names_the_commands_and_gives_examples(self, capsys):
        assert main(["--help"]) == 0
        text = capsys.readouterr().out
        commands, examples = text.split("Examples:")
        for name in COMMANDS:
            assert f"\n│ {name} " in commands
            assert f"\n   edgewise {name} " in examples

    @pytest.mark.parametrize("name", COMMANDS)
    @pytest.mark.parametrize("option", ["-h", "--help"])
    def test_every_command_has_help(self, name, option, capsys):
        assert main([name, option]) == 0
        text = capsys.readouterr().out
        assert text.strip().startswith(f"Usage: edgewise {name}")
        assert "Show this message and exit." in text
        assert max(map(len, text.splitlines())) <= 80

    @pytest.mark.parametrize("name", COMMANDS)
    def test_no_line_of_a_help_text_is_broken(self, name):
        _, command, _ = app.edgewise.resolve_command(None, [name])
        texts = [inspect.cleandoc(text) for text in (command.help, command.epilog or "")]
        assert max(len(line) for text in texts for line in text.splitlines()) <= 78

    def test_help_imports_nothing_heavy(self):
        code = (
            "import sys; from edgewise.cli import main\n"
            "main(['--help'])\n"
            "sys.exit(bool({'numpy', 'sklearn', 'scipy', 'numba', 'pandas'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert done.returncode == 0

    def test_runs_as_a_module(self):
        command = [sys.executable, "-m", "edgewise", "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"edgewise {edgewise.__version__}\n"

    @pytest.mark.parametrize(
        ("argv", "message"),
        [
            (["nothing"], "No such command 'nothing'"),
            (["info"], "Missing argument 'MODEL'"),
            (["demo", "--rounds", "0"], "Invalid value for '--rounds': 0 is not in the range"),
            (["demo", "--roundz", "3"], "Did you mean"),
            (["demo", "--output", "--rounds", "3"], "Option '--output' requires an argument"),
        ],
    )
    def test_wrong_usage_is_one_line(self, argv, message, capsys):
        assert message in failure(argv, capsys)

    def test_no_command_shows_the_help_and_exits_with_2(self, capsys):
        assert main([]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.strip().startswith("Usage: edgewise")

    def test_shells_can_complete_commands(self):
        environment = {**os.environ, "_EDGEWISE_COMPLETE": "bash_complete"}
        environment |= {"COMP_WORDS": "edgewise rec", "COMP_CWORD": "1"}
        command = [sys.executable, "-m", "edgewise"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.stdout == "plain,recommend\n"


class TestDatasets:
    def test_lists_every_set_with_sizes_terms_and_whether_it_is_here(self, capsys, monkeypatch):
        monkeypatch.setattr(datasets, "available", lambda name: name == "letter")
        assert main(["datasets"]) == 0
        lines = capsys.readouterr().out.splitlines()
        names = datasets.names("classification")
        table = {line.split()[0]: line.split() for line in lines[1 : 1 + len(names)]}
        assert tuple(table) == names
        assert table["letter"][1:] == ["16,000", "4,000", "16", "26", "yes", "CC", "BY", "4.0"]
        assert table["mnist"][5] == "no"

    def test_lists_the_ranking_sets_in_a_table_of_their_own(self, capsys, monkeypatch):
        monkeypatch.setattr(datasets, "available", lambda name: name == "mq2008")
        assert main(["datasets"]) == 0
        text = capsys.readouterr().out
        _, _, below = text.partition("\n\nranking ")
        header, *lines = below.splitlines()
        assert header.split() == ["documents", "queries", "columns", "folds", "here", "license"]
        names = datasets.names("ranking")
        table = {line.split()[0]: line.split()[1:] for line in lines[: len(names)]}
        assert tuple(table) == names
        assert table["mq2008"][:5] == ["15,211", "784", "46", "5", "yes"]
        assert table["mq2007-agg"][:5] == ["69,623", "1,692", "21", "5", "no"]


class TestInfo:
    def test_tells_what_the_file_holds(self, saved, capsys):
        path, model = saved
        assert main(["info", str(path)]) == 0
        text = capsys.readouterr().out
        history = model.history_
        assert "AdaBoostMH, discrete votes, exponential loss" in text
        assert "learner          Stump()" in text
        assert "3: high, low, mid" in text
        assert "40 (training ended by: n_rounds)" in text
        assert f"bound            {history.last('bound'):.4g}\n" in text
        assert f"{history.last('validation'):.4g} (error)" in text
        j = int(model.feature_importances_.argmax())
        assert f"{model.feature_importances_[j]:6.1%}  x{j}\n" in text
        assert f"  {model.rules(1)[0]}\n" in text

    def test_tells_what_a_ranker_is(self, tmp_path, capsys):
        rng = np.random.default_rng(3)
        X, qid = rng.normal(size=(60, 4)), np.repeat(np.arange(6), 10)
        y = (X[:, 1] > 0).astype(int) + (X[:, 2] > 0)
        model = RankBoost(n_rounds=12).fit(X, y, qid, eval_set=(X, y, qid))
        model.save(tmp_path / "ranker.edgewise")
        assert main(["info", str(tmp_path / "ranker.edgewise")]) == 0
        text = capsys.readouterr().out
        history = model.history_
        assert "estimator        RankBoost, rules compared by edge\n" in text
        assert "pairs            weighted by difference, queries by root\n" in text
        assert "12 (training ended by: n_rounds)" in text
        assert f"ranking loss     {history.last('ranking_loss'):.4g}\n" in text
        assert f"bound            {history.last('bound'):.4g}\n" in text
        assert f"{history.last('validation'):.4g} (map)" in text
        j = int(model.feature_importances_.argmax())
        assert f"{model.feature_importances_[j]:6.1%}  x{j}\n" in text
        assert f"  {model.rules(1)[0]}\n" in text

    def test_tells_which_lists_a_fusion_knows(self, tmp_path, capsys):
        lists = RankedLists([[1, 3], [2, None], [3, 1]], qid=[1, 1, 1], names=["bm25", "url"])
        model = RankFusion(n_rounds=5).fit(lists, [0, 0, 1])
        model.save(tmp_path / "fusion.edgewise")
        assert main(["info", str(tmp_path / "fusion.edgewise")]) == 0
        text = capsys.readouterr().out
        assert "estimator        RankFusion, rules compared by edge\n" in text
        assert "lists            2: bm25, url\n" in text
        assert f"  {model.rules(1)[0]}\n" in text

    def test_a_ranker_without_rounds_is_told_too(self, tmp_path, capsys):
        model = RankBoost(n_rounds=5).fit([[1.0], [1.0]], [0, 1])
        assert model.n_rounds_ == 0
        model.save(tmp_path / "empty.edgewise")
        assert main(["info", str(tmp_path / "empty.edgewise")]) == 0
        assert "rounds           0 (training ended by: no edge)\n" in capsys.readouterr().out

    @pytest.mark.parametrize("learner", ["product", "tree", "auto"])
    def test_tells_what_any_learner_made(self, learner, tmp_path, capsys):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(60, 4))
        model = AdaBoostMH(learner, n_rounds=5).fit(X, (X[:, 1] > 0).astype(int))
        model.save(tmp_path / "rules.edgewise")
        assert main(["info", str(tmp_path / "rules.edgewise")]) == 0
        text = capsys.readouterr().out
        assert f"{model.votes_} votes, {model.loss_} loss" in text
        assert f"learner          {model.learner_!r}\n" in text
        assert str(model.rules(1)[0]).split("\n")[0] in text

    def test_numbers_are_those_of_the_rounds_kept(self, tmp_path, capsys):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
        model = AdaBoostMH(n_rounds=60, early_stopping_rounds=3).fit(
            X[:60], y[:60], eval_set=(X[60:], y[60:])
        )
        assert model.n_rounds_ < model.history_.n_rounds
        model.save(tmp_path / "stopped.edgewise")
        assert main(["info", str(tmp_path / "stopped.edgewise")]) == 0
        bound = model.history_["bound"][model.n_rounds_ - 1]
        assert f"bound            {bound:.4g}\n" in capsys.readouterr().out

    def test_names_cannot_steer_the_terminal(self, tmp_path, capsys):
        frame = pd.DataFrame({"w\x1b[0m": ["u\x1b[2J", "v\r"]})
        model = AdaBoostMH("stump", n_rounds=2).fit(frame, ["a\x1b[31m", "b\nc"])
        model.save(tmp_path / "odd.edgewise")
        assert main(["info", str(tmp_path / "odd.edgewise")]) == 0
        text = capsys.readouterr().out
        assert "\x1b" not in text
        assert "\r" not in text
        assert "2: a?[31m, b c" in text

    def test_a_missing_file_is_one_line(self, tmp_path, capsys):
        err = failure(["info", str(tmp_path / "none.edgewise")], capsys)
        assert "File 'none.edgewise' does not exist" in err.replace(f"{tmp_path}/", "")

    def test_a_folder_is_one_line(self, tmp_path, capsys):
        failure(["info", str(tmp_path)], capsys)

    def test_another_file_is_one_line(self, tmp_path, capsys):
        other = tmp_path / "notes.txt"
        other.write_text("not a model\nat all\n")
        assert "notes.txt is not a readable edgewise model" in failure(["info", str(other)], capsys)

    def test_a_damaged_model_is_one_line(self, saved, capsys):
        path, _ = saved
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        assert "is not a readable edgewise model" in failure(["info", str(path)], capsys)


class TestDemo:
    def test_runs_with_its_options(self, tmp_path, capsys):
        folder = tmp_path / "out"
        assert main(["demo", "--output", str(folder), "--rounds", "5"]) == 0
        assert "test error" in capsys.readouterr().out
        assert edgewise.load(folder / "digits.edgewise").n_rounds_ == 5

    def test_a_folder_that_cannot_be_made_is_one_line(self, tmp_path, capsys):
        (tmp_path / "taken").write_text("a file")
        failure(["demo", "--output", str(tmp_path / "taken")], capsys)

    def test_ctrl_c_exits_with_130_quietly(self, monkeypatch, capsys):
        def interrupt(*options):
            raise KeyboardInterrupt

        monkeypatch.setattr(demo, "run", interrupt)
        assert main(["demo"]) == 130
        assert capsys.readouterr() == ("", "")


def test_a_reader_that_closes_early_is_no_error():
    command = f"{shlex.quote(sys.executable)} -m edgewise datasets | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


class TestJson:
    def test_info_and_datasets(self, saved, capsys):
        path, model = saved
        assert main(["info", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["rounds"] == f"{model.n_rounds_} (training ended by: n_rounds)"
        assert main(["datasets", "--json"]) == 0
        listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)["datasets"]}
        assert listed["letter"]["train"] == 16_000
