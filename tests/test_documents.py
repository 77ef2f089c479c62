"""The documents: their code runs, their links lead somewhere, and the reference is complete."""

import doctest
import importlib
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgewise
from edgewise import AdaBoostMH, RankBoost, datasets
from edgewise.cli import main

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r"^(<!-- needs data sets -->\n)?```(?:python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL
)

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "docs").rglob("*.md")
    if not path.relative_to(ROOT / "docs").parts[0].startswith("_")
)
REPORTS = [
    f"experiments/reports/{path.name}" for path in (ROOT / "experiments/reports").glob("*.md")
]
TEXTS = {
    name: (ROOT / name).read_text()
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", *PAGES, *sorted(REPORTS))
}
BLOCKS = {  # of Python or of commands, in their order
    name: [(bool(data), code) for data, code in BLOCK.findall(text) if ">>>" not in code]
    for name, text in TEXTS.items()
}


README_BLOCKS = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXTS["README.md"], re.DOTALL
)


@pytest.mark.parametrize(("code", "output"), README_BLOCKS, ids=range(len(README_BLOCKS)))
def test_a_block_of_the_readme_runs_alone_and_prints_its_output(
    code, output, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert capsys.readouterr().out.split() == output.split()


def test_the_readme_shows_the_output_of_every_block_and_the_two_commands():
    text = TEXTS["README.md"]
    assert len(README_BLOCKS) == text.count("```python") >= 4
    first_screen = text.split("\n## ")[0]
    assert "    make demo " in first_screen
    assert "    make test " in first_screen


def test_every_table_of_the_readme_stands_in_the_results():
    results = {line for name in PAGES if "results/" in name for line in TEXTS[name].splitlines()}
    rows = [line for line in TEXTS["README.md"].splitlines() if line.startswith("| ")]
    assert len(rows) > 15
    assert set(rows) <= results


@pytest.mark.parametrize("name", TEXTS)
def test_links_and_paths_named_in_documents_exist(name):
    text = TEXTS[name]
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", text):
        page = (ROOT / name).parent / target if target else ROOT / name
        if "gallery/" in target:  # made from the examples by `make docs`
            example = target.split("gallery/")[1]
            page = ROOT / "examples" / ("README.rst" if example == "index" else f"{example}.py")
        assert page.exists(), target
        if name.startswith("docs/") and "gallery/" not in target:
            assert ROOT / "docs" in page.resolve().parents, f"{target} is not on the site"
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"
    for path in re.findall(r"`((?:src|tests|docs|benchmarks|experiments)/[\w./]+)`", text):
        if "NAME" not in path and not path.startswith("docs/_build"):
            assert (ROOT / path).exists(), path


def test_every_public_name_is_in_the_reference_once():
    listed = []
    for page in (ROOT / "docs/api").glob("*.md"):
        for module, names in re.findall(
            r"currentmodule:: (\S+)\n.*?:nosignatures:\n\n(.*?)\n```", page.read_text(), re.DOTALL
        ):
            listed += [f"{module}.{name}" for name in names.split()]
    assert sorted(listed) == sorted(set(listed))
    places = {name: [] for name in public_names()}
    for name in listed:
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        places.setdefault(f"{found.__module__}.{attribute}", []).append(name)
    assert {name for name, at in places.items() if len(at) != 1} == set()


def public_names() -> set[str]:
    """Return the public classes and functions, by the modules that define them."""
    modules = [edgewise]
    for name in edgewise.__all__:
        found = getattr(edgewise, name)
        modules += [found] if hasattr(found, "__path__") or hasattr(found, "__spec__") else []
    return {
        f"{found.__module__}.{name}"
        for module in modules
        for name in module.__all__
        if callable(found := getattr(module, name))
    }


def test_the_walk_through_fit_names_every_file_that_a_fit_enters_once(monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")  # another test may have loaded kernels
    text = TEXTS["docs/inside/architecture.md"].split("## A walk through fit")[1]
    named = re.findall(r"`(\w+/[\w/]+\.py)`", text.split("\n## ")[0])
    assert sorted(named) == sorted(set(named))
    assert all((ROOT / "src/edgewise" / name).is_file() for name in named)
    X = np.random.default_rng(0).normal(size=(100, 4))
    y, qid = (X[:, 0] > 0).astype(int), np.repeat(np.arange(10), 10)
    entered = files_entered(lambda: AdaBoostMH(n_rounds=3).fit(X, y))
    entered |= files_entered(lambda: RankBoost(n_rounds=3).fit(X, y, qid))
    assert "boosting/loop.py" in entered <= set(named)


def files_entered(call: Callable[[], Any]) -> set[str]:
    """Return the files of the library whose functions a call runs."""
    call()  # Imports run module code, which is no step of a fit.
    codes = set()
    sys.setprofile(lambda frame, event, arg: codes.add(frame.f_code))
    try:
        call()
    finally:
        sys.setprofile(None)
    package = str(ROOT / "src/edgewise") + "/"
    paths = {code.co_filename for code in codes if code.co_filename.startswith(package)}
    return {path.removeprefix(package) for path in paths}


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", [name for name in PAGES if ">>>" in TEXTS[name]])
def test_the_examples_of_the_pages_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / name), module_relative=False)
    assert tried > 0
    assert failed == 0


COMING = [name for name in PAGES if name.startswith("docs/coming/") and BLOCKS[name]]


@pytest.mark.parametrize("name", [name for name in PAGES if BLOCKS[name] and name not in COMING])
def test_the_blocks_of_the_pages_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"print": lambda *values: None}
    for needs_data, code in BLOCKS[name]:
        asked = re.findall(r'load\("([\w-]+)"\)', code) if needs_data else []
        if code.startswith("edgewise "):
            for line in code.splitlines():
                assert main(shlex.split(line, comments=True)[1:]) == 0, line
        elif all(map(datasets.available, asked)):
            exec(code, names)


@pytest.mark.parametrize("name", [n for n in TEXTS if re.search("^ {4}edgewise ", TEXTS[n], re.M)])
def test_commands_named_in_documents_have_these_options(name):
    for line in re.findall(r"^ {4}(edgewise .*?)(?: +#.*)?$", TEXTS[name], re.MULTILINE):
        word, *rest = shlex.split(line)[1:]
        command = getattr(importlib.import_module(f"edgewise.cli.{word}"), word)
        known = {flag for option in command.params for flag in option.opts}
        assert {flag for flag in rest if flag.startswith("-")} <= known, line


@pytest.mark.parametrize("name", COMING)
def test_every_call_of_ours_in_the_tables_of_other_libraries_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib").use("agg")
    names: dict[str, object] = {}
    for _, code in BLOCKS[name]:
        exec(code, names)
    rows = re.findall(r"^\| .* \|$", TEXTS[name], re.MULTILINE)
    calls = [call for row in rows for call in re.findall("`(.+?)`", row.rsplit(" | ", 1)[1])]
    calls = [call for call in calls if "(" in call or call.startswith("model.")]
    assert len(calls) > 15
    for call in calls:
        found = eval(call, names)
        if hasattr(found, "get_params") and ".fit(" not in call:
            train_shortly(found, names)


def train_shortly(model: Any, names: dict[str, Any]) -> None:
    """Train a model for a round or two on the rows of a page: only `fit` checks its settings."""
    short = {"n_rounds": 2, "n_epochs": 1}.items()
    model.set_params(**{name: value for name, value in short if hasattr(model, name)})
    if hasattr(model, "recommend"):
        model.fit(names["train"])
    elif "X_train" in names:
        model.fit(names["X_train"], names["y_train"])
    else:
        model.fit(names["train"].X, names["train"].y, qid=names["train"].qid)
