"""The examples in the documents run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NUMBER = re.compile(r"^print\(.*\) +# (\d+\.\d+)\.\.\.", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_examples_in_the_readme_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said = []
    for block in BLOCK.findall((ROOT / "README.md").read_text()):
        exec(block, names)
        said += NUMBER.findall(block)
    assert (tmp_path / "digits.edgewise").is_file()
    printed = capsys.readouterr().out.split("\n")
    # The comments beside the lines say how the numbers begin.
    assert len(said) >= 2
    for number, line in zip(said, printed, strict=False):
        assert line.startswith(number)


def test_readme_opens_with_the_two_commands():
    first_screen = (ROOT / "README.md").read_text().split("\n")[:8]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
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
                "theory",
            )
        ),
    ],
)
def test_links_and_paths_named_in_documents_exist(name):
    text = (ROOT / name).read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / name).parent.joinpath(target).exists(), target
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+)`", text):
        if "NAME" not in path:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", ["learners", "searching", "ranking", "recommending", "theory"])
def test_the_examples_of_the_pages_run(name):
    failed, tried = doctest.testfile(str(ROOT / f"docs/{name}.md"), module_relative=False)
    assert tried > 0
    assert failed == 0
