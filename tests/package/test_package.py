"""The wheel and the source distribution: what they hold and say."""

import email
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import edgewise

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What people install by name; the others are for those who work on edgewise itself.
BY_USE = {"all", "cuda", "dask", "data", "frames", "onnx", "plots"}
FOR_WORK = {"bench", "dev", "docs", "peers"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build both without network or isolation, and return their folder."""
    why = "hatchling builds the package: pip install 'edgewise[dev]'"
    sdist = pytest.importorskip("hatchling.builders.sdist", reason=why)
    wheel = pytest.importorskip("hatchling.builders.wheel", reason=why)
    folder = tmp_path_factory.mktemp("dist")
    for builder in (wheel.WheelBuilder, sdist.SdistBuilder):
        list(builder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def sources():
    """Return the files of the library, as paths in an archive."""
    files = (path for path in (ROOT / "src/edgewise").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in files
        if "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_library_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == sources()
    kinds = {Path(name).suffix or Path(name).name for name in names}
    assert {".cu", ".py", ".pyi", ".toml", ".js", ".css", ".typed"} >= kinds
    for data in ("py.typed", "__init__.pyi", "datasets/catalog.toml", "report/page.js"):
        assert f"edgewise/{data}" in names


def test_the_wheel_says_what_it_is(wheel):
    folder = f"edgewise-{edgewise.__version__}.dist-info"
    about = email.message_from_bytes(wheel.read(f"{folder}/METADATA"))
    assert about["Version"] == edgewise.__version__
    assert about["License-Expression"] == "BSD-3-Clause"
    assert set(about.get_all("Provides-Extra")) == BY_USE | FOR_WORK
    assert "edgewise = edgewise.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_the_source_distribution_holds_what_builds_a_wheel(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    library = {f"src/{name}" for name in sources()}
    assert names - library == {
        ".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md",
        "pyproject.toml",
    }  # fmt: skip
    assert library <= names


def test_the_version_is_written_once():
    assert PROJECT["dynamic"] == ["version"]
    # A citation file cannot look it up.
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is None or cited[1] == edgewise.__version__


def test_extras_that_messages_and_documents_name_exist():
    assert set(PROJECT["optional-dependencies"]) == BY_USE | FOR_WORK
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = set()
    for path in (*(ROOT / "src").rglob("*.py"), *pages):
        for extras in re.findall(r"install [^\n]*?(?:edgewise|\.)\[([\w,]+)\]", path.read_text()):
            named |= {*extras.split(",")}
    assert named
    assert named <= BY_USE | FOR_WORK


def test_the_table_of_extras_lists_them_all():
    table = (ROOT / "docs/start/install.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == BY_USE
