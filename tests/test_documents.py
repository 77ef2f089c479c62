"""The examples in the documents run as they stand."""

import doctest
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgewise import AdaBoostMH, RankBoost

ROOT = Path(__file__).parent.parent
PRINT = re.compile(r"^print\(.*\) +# (.*)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RESULT = re.compile(r"[-+\d\[]")


def test_the_examples_in_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed: list[str] = []
    names: dict[str, object] = {"print": lambda value: printed.append(str(value))}
    comments: list[str] = []
    for block in BLOCK.findall((ROOT / "README.md").read_text()):
        exec(block, names)
        comments += PRINT.findall(block)
    assert (tmp_path / "digits.edgewise").is_file()
    results = 0
    for comment, output in zip(comments, printed, strict=True):
        # A comment that looks like output states it: its beginning, before "...", or all of it.
        if RESULT.match(comment):
            expected, dots, _ = comment.partition("...")
            assert output.startswith(expected) if dots else output == comment.partition(": ")[0]
            results += 1
    assert results >= 4


def test_readme_opens_with_the_two_commands():
    first_screen = (ROOT / "README.md").read_text().split("\n")[:8]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "examples/README.md",
        *(
            f"docs/{n}.md"
            for n in (
                "architecture",
                "datasets",
                "experiments",
                "learners",
                "searching",
                "ranking",
                "recommending",
                "references",
                "theory",
            )
        ),
    ],
)
def test_links_and_paths_named_in_documents_exist(name):
    text = (ROOT / name).read_text()
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", text):
        page = (ROOT / name).parent / target if target else ROOT / name
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+)`", text):
        if "NAME" not in path:
            assert (ROOT / path).exists(), path


def test_the_walk_through_fit_names_every_file_that_a_fit_enters_once(monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")  # another test may have loaded kernels
    text = (ROOT / "docs/architecture.md").read_text().split("## A walk through fit")[1]
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


@pytest.mark.parametrize(
    "name",
    ["architecture", "datasets", "learners", "searching", "ranking", "recommending", "theory"],
)
def test_the_examples_of_the_pages_run(name):
    failed, tried = doctest.testfile(str(ROOT / f"docs/{name}.md"), module_relative=False)
    assert tried > 0
    assert failed == 0
