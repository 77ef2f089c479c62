"""The examples in the documents run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_examples_in_the_readme_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCK.findall((ROOT / "README.md").read_text()):
        exec(block, names)
    assert (tmp_path / "digits.edgewise").is_file()
    score, bound = (float(line) for line in capsys.readouterr().out.split("\n")[:2])
    # What the comments beside the two lines say.
    assert score == pytest.approx(0.95, abs=0.001)
    assert bound == pytest.approx(0.0309, abs=0.0001)


def test_readme_opens_with_the_two_commands():
    first_screen = (ROOT / "README.md").read_text().split("\n")[:8]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        *(f"docs/{n}.md" for n in ("architecture", "datasets", "theory")),
    ],
)
def test_links_and_paths_named_in_documents_exist(name):
    text = (ROOT / name).read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / name).parent.joinpath(target).exists(), target
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+)`", text):
        if "NAME" not in path:
            assert (ROOT / path).exists(), path
