"""What is compiled is kept on disk until any source changes."""

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import FunctionCache as Cache
from numba.core.caching import IndexDataCacheFile

from edgewise import AdaBoostMH
from edgewise.backend import warmup
from edgewise.common import compiled
from edgewise.common.compiled import compile_cached, version_of

SOURCE = """
def twice(x):
    return 2 * x
"""


@pytest.fixture
def twice(tmp_path, monkeypatch):
    """Return a function in a file of its own, with a cache beside it."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "module", module)  # Numba may import it by its name
    spec.loader.exec_module(module)
    return module.twice


def hits(function, version):
    compiled = compile_cached(version, nogil=True)(function)
    assert compiled(3) == 6
    return sum(compiled.stats.cache_hits.values())


def test_the_same_version_is_read_back(twice):
    assert [hits(twice, "one"), hits(twice, "one")] == [0, 1]


def test_another_version_is_compiled_again(twice):
    assert [hits(twice, "one"), hits(twice, "two"), hits(twice, "two")] == [0, 0, 1]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_is_compiled_again(twice, tmp_path, ending):
    assert hits(twice, "one") == 0
    for path in tmp_path.rglob(f"*.{ending}"):
        path.write_bytes(path.read_bytes()[:-20] + b"damaged")
    assert [hits(twice, "one"), hits(twice, "one")] == [0, 1]


def test_no_file_in_the_working_folder_names_the_cache(twice, tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", "downloads")  # as from .numba_config.yaml
    monkeypatch.chdir(tmp_path)
    assert [hits(twice, "one"), hits(twice, "one")] == [0, 1]
    assert not (tmp_path / "downloads").exists()


def test_without_a_cache_there_is_one_warning(twice, monkeypatch):
    def refuse(function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(compiled, "_warned", [])
    monkeypatch.setattr(compiled, "_cache_class", lambda: refuse)
    with pytest.warns(RuntimeWarning, match="no locator available.*NUMBA_CACHE_DIR"):
        assert hits(twice, "one") == 0
    assert hits(twice, "one") == 0


def test_the_installed_numba_has_the_cache_that_kernels_need(twice):
    # If this fails, `_kernel_cache` must learn the private names of a new version of Numba; until
    # then kernels are cached as Numba does it, which misses changes of inner functions.
    cache = compiled._kernel_cache(twice, "stamp")
    assert cache._cache_file._source_stamp[1] == "stamp"
    assert hasattr(compile_cached("stamp")(twice), "_cache")


def test_another_numba_caches_kernels_in_its_own_way(twice, monkeypatch):
    monkeypatch.setattr(compiled, "_warned", [])
    monkeypatch.setattr(compiled, "_kernel_cache", lambda function, stamp: function.locator)
    with pytest.warns(RuntimeWarning, match="Numba .* another cache"):
        assert hits(twice, "one") == 0
    assert hits(twice, "two") == 1


def test_no_home_folder_is_no_error_and_no_folder_here(twice, tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    monkeypatch.setattr(compiled.os, "access", lambda *_: False)
    monkeypatch.setattr(compiled, "_warned", [])
    compiled.forms_file.cache_clear()
    try:
        assert compiled.forms_file().is_absolute()
        with pytest.warns(RuntimeWarning, match="no folder.*NUMBA_CACHE_DIR"):
            assert hits(twice, "one") == 0
    finally:
        compiled.forms_file.cache_clear()
    assert not [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]


def test_a_full_disk_leaves_the_kernel_in_memory(twice, monkeypatch):
    def refuse(cache, key, data):
        raise OSError("no space left on device")

    monkeypatch.setattr(compiled, "_warned", [])
    monkeypatch.setattr(IndexDataCacheFile, "save", refuse)
    with pytest.warns(RuntimeWarning, match="no space left"):
        assert hits(twice, "one") == 0


def test_the_version_changes_with_any_source(tmp_path):
    (tmp_path / "kernel.py").write_text("a = 1\n")
    first = version_of(tmp_path)
    assert version_of(tmp_path) == first
    (tmp_path / "inner.py").write_text("b = 1\n")
    second = version_of(tmp_path)
    (tmp_path / "inner.py").write_text("b = 2\n")
    assert len({first, second, version_of(tmp_path)}) == 3


def test_every_kernel_has_the_version_of_its_package():
    from edgewise.backend import numba as package_of_kernels
    from edgewise.data import kernels as binning

    names = [result.name for result in pkgutil.iter_modules(package_of_kernels.__path__)]
    modules = [importlib.import_module(f"{package_of_kernels.__name__}.{name}") for name in names]
    data = Path(binning.__file__).parent
    for package, homes in {data.parent / "backend": modules, data: [binning]}.items():
        values = [value for home in homes for value in vars(home).values()]
        kernels = [value for value in values if isinstance(getattr(value, "_cache", 0), Cache)]
        assert len(kernels) >= len(homes)
        assert {f._cache._cache_file._source_stamp[1] for f in kernels} == {version_of(package)}


def test_less_work_is_worth_kernels_that_are_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("EDGEWISE_BACKEND", raising=False)
    monkeypatch.setattr(compiled, "_loaded", set())
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    compiled.forms_file.cache_clear()
    try:
        assert not compiled.use_compiled(compiled.LOAD_FROM, form="trees")
        compiled.record_compiled("trees")
        assert compiled.use_compiled(1, form="trees")
        assert not compiled.use_compiled(1, form="products")
        # The next process has to load them.
        compiled._loaded.clear()
        assert compiled.use_compiled(compiled.LOAD_FROM, form="trees")
        assert not compiled.use_compiled(compiled.LOAD_FROM - 1, form="trees")
        assert not compiled.use_compiled(compiled.LOAD_FROM)
        # Numba takes most of the time to load.
        monkeypatch.setitem(sys.modules, "numba", None)
        assert compiled.use_compiled(compiled.LOAD_FROM - 1, form="trees")
        monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
        assert not compiled.use_compiled(compiled.COMPILE_FROM, form="trees")
    finally:
        compiled.forms_file.cache_clear()


def test_forms_of_work_ignore_numbers_that_take_the_same_kernels(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] > 0
    seen = []
    monkeypatch.setattr(warmup, "use_compiled", lambda visits, form, **_: seen.append(form))
    for settings in (
        {"n_rounds": 2, "random_state": 0},
        {"n_rounds": 3, "random_state": 7, "learning_rate": 0.3},
        {"n_rounds": 2, "subsample": 1.0},
        {"n_rounds": 2, "learner": "product"},
    ):
        AdaBoostMH(**settings).fit(X, y)
    assert seen[0] == seen[1]
    assert len({form for form in seen if not form.startswith("walk")}) == 3


def test_the_time_of_compiling_counts_once(monkeypatch):
    times = iter([(10.0, 1.0), (13.0, 2.5), (20.0, 3.0), (21.0, 3.0)])
    monkeypatch.setattr(compiled, "_now", lambda: next(times))
    watch = compiled._Stopwatch()
    with watch, watch:
        assert watch.spent == (0.0, 0.0)
    assert watch.spent == (3.0, 1.5)
    with watch:
        pass
    assert watch.spent == (4.0, 1.5)
