"""The examples in the documents run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

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


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "name", ["datasets", "learners", "searching", "ranking", "recommending", "theory"]
)
def test_the_examples_of_the_pages_run(name):
    failed, tried = doctest.testfile(str(ROOT / f"docs/{name}.md"), module_relative=False)
    assert tried > 0
    assert failed == 0
