"""What is compiled is kept on disk until any source changes."""

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

import pytest
from numba.core.caching import FunctionCache as Cache

from edgewise.common.compiled import cached, version_of

SOURCE = """
def twice(x):
    return 2 * x
"""


@pytest.fixture
def twice(tmp_path, monkeypatch):
    """Return a function in a file of its own, with a cache beside it."""
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "module", module)  # Numba may import it by its name
    spec.loader.exec_module(module)
    return module.twice


def hits(function, version):
    compiled = cached(version, nogil=True)(function)
    assert compiled(3) == 6
    return sum(compiled.stats.cache_hits.values())


def test_the_same_version_is_read_back(twice):
    assert [hits(twice, "one"), hits(twice, "one")] == [0, 1]


def test_another_version_is_compiled_again(twice):
    assert [hits(twice, "one"), hits(twice, "two"), hits(twice, "two")] == [0, 0, 1]


def test_the_version_changes_with_any_source(tmp_path):
    (tmp_path / "kernel.py").write_text("a = 1\n")
    first = version_of(tmp_path)
    assert version_of(tmp_path) == first
    (tmp_path / "inner.py").write_text("b = 1\n")
    second = version_of(tmp_path)
    (tmp_path / "inner.py").write_text("b = 2\n")
    assert len({first, second, version_of(tmp_path)}) == 3


def test_every_kernel_has_the_version_of_its_package():
    import edgewise.backend.numba as compiled
    from edgewise.data import kernels as binning

    names = [found.name for found in pkgutil.iter_modules(compiled.__path__)]
    modules = [importlib.import_module(f"{compiled.__name__}.{name}") for name in names]
    data = Path(binning.__file__).parent
    for package, homes in {data.parent / "backend": modules, data: [binning]}.items():
        values = [value for home in homes for value in vars(home).values()]
        kernels = [value for value in values if isinstance(getattr(value, "_cache", 0), Cache)]
        assert len(kernels) >= len(homes)
        assert {f._cache._cache_file._source_stamp[1] for f in kernels} == {version_of(package)}
