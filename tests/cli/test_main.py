import inspect
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import edgewise
from edgewise import datasets
from edgewise.cli import app, demo, main

COMMANDS = (
    *("train", "predict", "evaluate", "show", "explain", "report", "export", "fuse"),
    *("scorecard", "recommend", "compare", "datasets", "demo"),
)


class TestHelp:
    def test_version(self, capsys):
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"edgewise {edgewise.__version__}\n"

    def test_help_names_the_commands_and_gives_examples(self, capsys):
        assert main(["--help"]) == 0
        text = capsys.readouterr().out
        commands, examples = text.split("Examples:")
        for name in COMMANDS:
            assert f"\n  {name} " in commands
            assert re.search(rf"\n    edgewise {name}\b", examples)

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
            (["show"], "Missing argument 'MODEL'"),
            (["demo", "--rounds", "0"], "Invalid value for '--rounds': 0 is not in the range"),
            (["demo", "--roundz", "3"], "Did you mean"),
            (["demo", "--output", "--rounds", "3"], "Option '--output' requires an argument"),
        ],
    )
    def test_wrong_usage_is_one_line(self, argv, message, failure):
        assert message in failure(argv)

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
    @pytest.mark.parametrize(
        ("kind", "headings", "name", "cells"),
        [
            (
                "classification",
                ["train", "test", "columns", "classes"],
                "letter",
                ["16,000", "4,000", "16", "26", "yes", "CC", "BY", "4.0"],
            ),
            (
                "ranking",
                ["documents", "queries", "columns", "folds"],
                "mq2008",
                ["15,211", "784", "46", "5", "no"],
            ),
            (
                "ratings",
                ["users", "items", "ratings", "folds"],
                "ml-1m",
                ["6,040", "3,883", "1,000,209", "0", "yes", "GroupLens"],
            ),
        ],
    )
    def test_each_kind_has_a_table(self, kind, headings, name, cells, capsys, monkeypatch):
        monkeypatch.setattr(datasets, "available", lambda name: name in ("letter", "ml-1m"))
        assert main(["datasets"]) == 0
        tables = capsys.readouterr().out.split("\n\n")
        header, *rows = next(text for text in tables if text.startswith(kind)).splitlines()
        assert header.split() == [kind, *headings, "cached", "license"]
        by_name = {row.split()[0]: row.split()[1:] for row in rows}
        assert tuple(by_name) == datasets.names(kind)
        assert by_name[name][: len(cells)] == cells

    def test_json(self, capsys):
        assert main(["datasets", "--json"]) == 0
        listed = {item["name"]: item for item in json.loads(capsys.readouterr().out)["datasets"]}
        assert listed["letter"]["train"] == 16_000


class TestDemo:
    def test_runs_with_its_options(self, tmp_path, capsys):
        folder = tmp_path / "out"
        assert main(["demo", "--output", str(folder), "--rounds", "5"]) == 0
        assert "test error" in capsys.readouterr().out
        assert edgewise.load(folder / "digits.edgewise").n_rounds_ == 5

    def test_a_folder_that_cannot_be_made_is_one_line(self, tmp_path, failure):
        (tmp_path / "taken").write_text("a file")
        failure(["demo", "--output", tmp_path / "taken"])

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


class TestDebug:
    """`--debug`, anywhere, and EDGEWISE_DEBUG show the traceback of an error."""

    @pytest.mark.parametrize("argv", [["--debug", "show"], ["show", "--debug"]])
    def test_option(self, argv, tmp_path, capsys):
        (tmp_path / "junk").write_text("junk")
        assert main([*argv, str(tmp_path / "junk")]) == 2
        err = capsys.readouterr().err
        assert "Traceback (most recent call last)" in err
        assert "ModelFileError" in err
        assert err.splitlines()[-1].startswith("edgewise: error: ")

    def test_environment(self, monkeypatch, capsys):
        monkeypatch.setenv("EDGEWISE_DEBUG", "1")
        assert main(["show", "nowhere"]) == 2
        assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_while_commands_are_imported(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "import_module", interrupt)
    assert main(["datasets"]) == 130
    assert capsys.readouterr() == ("", "")
