"""The runner of experiments: results, reports, and runs that go on where they were stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.__main__ import StoppedError, main
from experiments.products import parts
from experiments.runner import (
    Bench,
    Cell,
    Experiment,
    Options,
    Paper,
    Said,
    experiments,
    publish,
    run,
)

from edgewise import AdaBoostMH
from experiments import bandits

ROOT = Path(__file__).parents[2]


def options(folder, **given):
    usual = {"quick": True, "resume": False, "budget": None, "seed": 0, "device": "cpu"}
    usual |= {"n_jobs": 1, "n_rounds": None, "folder": folder, "only": ()}
    return Options(**usual | given)


def small(n_rounds=30):
    def trained(bench):
        X, y, X_test, y_test = parts("digits")
        model = AdaBoostMH("stump", preset="paper", n_rounds=n_rounds, random_state=bench.seed)
        model = bench.train(model, X, y, eval_set=(X_test, y_test))
        return {"value": 100 * float(model.history_["validation"][-1]), "spread": 0.5}

    def cells(bench):
        beside = Paper(20.0, 0.5)
        return [Cell("stump", "digits", trained, beside), Cell("no paper", "digits", trained)]

    return Experiment("small", "A small one", "Nobody 1999", "Two cells.", "error", cells)


def results(folder):
    text = (folder / "results.jsonl").read_text()
    head, *lines = (json.loads(line) for line in text.splitlines())
    return head, [{name: v for name, v in line.items() if name != "cpu_seconds"} for line in lines]


def test_a_report_has_the_paper_beside_ours(tmp_path):
    said = []
    report = run(small(), options(tmp_path), said.append).read_text()
    head, (first, second) = results(tmp_path / "small-quick")
    off = (first["value"] - 20.0) / 0.5**0.5
    assert f"| stump | digits | 20 (0.5) | {first['value']:.4g} (0.5) | {off:+.1f} |" in report
    assert "| no paper | digits |  |" in report
    assert "paper" not in second
    assert head["versions"]["edgewise"] in report
    assert len(said) == 2


def test_results_are_kept_and_never_overwritten(tmp_path):
    run(small(), options(tmp_path), print)
    with pytest.raises(FileExistsError, match="add --resume"):
        run(small(), options(tmp_path), print)
    with pytest.raises(ValueError, match="other settings"):
        run(small(), options(tmp_path, resume=True, seed=1), print)
    said = []
    run(small(), options(tmp_path, resume=True), said.append)
    assert said == []
    with pytest.raises(ValueError, match="--only tree: small has no such cell"):
        run(small(), options(tmp_path / "new", only=("tree",)), print)


def test_finished_reports_are_published(tmp_path, monkeypatch):
    asked = [Said("it falls", "on 2 of 2", True), Said("does it?", "it does")]
    words = replace(small(), name="words", words=lambda results: asked)
    dear = replace(small(), name="dear", absent="it takes weeks")
    every = {one.name: one for one in (small(), words, dear)}
    monkeypatch.setattr("experiments.runner.experiments", lambda: every)
    for one in (small(), words):
        run(one, options(tmp_path, quick=False), print)
    reports = tmp_path / "reports"
    reports.mkdir()
    head, line = {"command": "make it", "page": "gpu.md"}, {"row": "stump", "column": "digits"}
    line |= {"value": 20.0, "paper": 20.0, "note": "9 of 10 rounds"}
    (reports / "small-gpu.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(line)}\n")
    page = publish(tmp_path, reports, tmp_path / "papers.md").read_text()
    small_section, words_section, dear_section = page.split("\n## ")[1:]
    assert small_section.startswith("A small one\n\nNobody 1999. Two cells.\n")
    assert "| stump, digits | 20 (0.5) |" in small_section
    assert "[gpu.md](gpu.md) (`make it`); `experiments/reports/small.md`." in small_section
    assert "| it falls | on 2 of 2 | as stated |" in words_section
    assert "| does it? | it does | no figure to compare |" in words_section
    assert "Not run here, 1 figure: it takes weeks." in dear_section
    assert (reports / "small.md").read_text().startswith("# A small one")


def test_of_several_runs_the_one_with_most_rounds_is_published(tmp_path, monkeypatch):
    def lines(n_rounds, value):
        paper = {
            "paper": 20.0,
            "paper_spread": 0.5,
            "n_rounds": n_rounds,
            "note": f"{n_rounds} rounds",
        }
        cells = [
            {"row": f"stump {i}", "column": "digits", "value": value, **paper} for i in range(9)
        ]
        return "\n".join(json.dumps(line) for line in [{"command": f"run {n_rounds}"}, *cells])

    monkeypatch.setattr("experiments.runner.experiments", lambda: {"small": small()})
    (tmp_path / "small.jsonl").write_text(lines(30, 25.0))
    (tmp_path / "small-gpu.jsonl").write_text(lines(100, 15.0))
    page = publish(tmp_path / "none", tmp_path, tmp_path / "papers.md").read_text()
    assert "| digits | 9 | 0 | stump 0: 15, paper 20 (100 rounds); stump 1: 15" in page
    assert "30 rounds" not in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "invalid choice: 'nothing'"),
        (["bounds", "--budget", "soon"], "soon is not a number of minutes above 0"),
        (["bounds", "--rounds", "0"], "0 is not a whole number of 1 or more"),
        (["bounds", "--fast"], "unrecognized arguments: --fast"),
        (["bounds", "--device", "tpu"], "invalid choice: 'tpu'"),
    ],
)
def test_the_command_says_what_is_wrong(monkeypatch, capsys, words, said):
    monkeypatch.setattr("sys.argv", ["experiments", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_command_ends_in_words(tmp_path, monkeypatch, capsys):
    def ended(error):
        def cells(bench):
            raise error

        failing = replace(small(), cells=cells)
        monkeypatch.setattr("experiments.__main__.experiments", lambda: {"small": failing})
        monkeypatch.setattr("sys.argv", ["experiments", "small", "--folder", str(tmp_path)])
        return main(), capsys.readouterr().err

    assert ended(StoppedError()) == (130, "\nstopped: small goes on with --resume\n")
    missing = ModuleNotFoundError("No module named 'lightgbm'", name="lightgbm")
    assert ended(missing) == (2, "error: small needs lightgbm: pip install lightgbm\n")
    assert ended(OSError("no space left")) == (2, "error: no space left\n")


def test_a_run_out_of_time_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    run(small(), options(tmp_path / "whole"), print)
    clock, asked = time.monotonic, []

    def monotonic():
        asked.append(None)
        return clock() + (1000 if len(asked) > 20 else 0)

    monkeypatch.setattr("experiments.runner.time.monotonic", monotonic)
    said = []
    run(small(), options(tmp_path / "cut", budget=10), said.append)
    assert "out of time at stump, digits" in said[0]
    monkeypatch.undo()
    kept = tmp_path / "cut/small-quick/unfinished/stump-digits/model-1.edgewise"
    assert kept.exists()
    run(small(), options(tmp_path / "cut", resume=True), print)
    assert results(tmp_path / "cut/small-quick")[1] == results(tmp_path / "whole/small-quick")[1]
    assert not kept.exists()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, end):
    command = [sys.executable, "-m", "experiments", "products-table1", "--quick", "--only", "stump"]
    command += ["--rounds", "150", "--folder", tmp_path / "killed"]
    env = os.environ | {"EDGEWISE_BACKEND": "numpy", "EXPERIMENTS_EVERY": "0.02"}
    killed = subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "killed/products-table1-quick"
    while not list(folder.glob("unfinished/*/*.edgewise")):
        assert killed.poll() is None
        time.sleep(0.01)
    killed.send_signal(end)
    said = killed.communicate()[1]
    if end == signal.SIGINT:
        assert (killed.returncode, said) == (
            130,
            "\nstopped: products-table1 goes on with --resume\n",
        )
    assert not (folder / "results.jsonl").exists()
    given = {"n_rounds": 150, "only": ("stump",)}
    products = experiments()["products-table1"]
    run(products, options(tmp_path / "killed", resume=True, **given), print)
    run(products, options(tmp_path / "whole", **given), print)
    assert results(folder)[1] == results(tmp_path / "whole/products-table1-quick")[1]


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_has_a_table(name):
    experiment = experiments()[name]
    for quick in (True, False):
        cells = experiment.cells(Bench(quick=quick))
        assert len({(cell.row, cell.column) for cell in cells}) == len(cells) > 0
        assert len({cell.name for cell in cells}) == len(cells)


def test_the_published_files_of_the_kdd_cup_are_read(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60) * 2 - 1
    lines = [f"{rng.normal() + label:.3f}\t{'ab'[int(label > 0)]}\t" for label in y]
    for number, part in enumerate((lines[:30], lines[30:]), 1):
        text = "\n".join((["Var1\tVar2\tVar3"] if number == 1 else []) + part) + "\n"
        (tmp_path / f"orange_large_train.data.chunk{number}").write_text(text)
    (tmp_path / "orange_large_train_churn.labels").write_text("\n".join(map(str, y)))
    task = bandits._real("churn", tmp_path, 0)
    assert task.X.shape == (36, 3)
    assert task.X["Var2"].dtype == "category"
    assert (
        AdaBoostMH("stump", preset="paper", n_rounds=5)
        .fit(task.X, task.y)
        .score(task.X_test, task.y_test)
        == 1
    )
