"""Training that changes from NumPy to compiled kernels on its way."""

import pickle
import time

import numpy as np
import pytest
from scipy import sparse

from edgewise import AdaBoostMH, RankBoost, Tree
from edgewise.backend import choose, warmup
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.backend.warmup import KernelCompilation
from edgewise.common import compiled

ROUNDS = 6
CAN_START = warmup.can_start  # before all tests are kept from it


def rows(n=90, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    noisy = np.nan_to_num(X[:, 0] * X[:, 1]) + 0.3 * rng.normal(size=n)
    return X, np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes))


def switching_after(count):
    """Return a factory of backends that switch when a round has been begun this many times."""

    def factory(table, n_jobs):
        left = [count]

        def successor():
            left[0] -= 1
            return NumbaBackend(table, n_jobs) if left[0] < 0 else None

        return ReferenceBackend(table, successor)

    return factory


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_classes": 3},
        {"n_classes": 3, "n_rounds": "auto"},
        {"learner": "stump"},
        {"learner": Tree("stump", 4), "trim": 0.8, "n_rounds": 40},
        {"learner": "product", "sampling": "weight", "subsample": 0.5},
    ],
    ids=str,
)
def test_the_round_of_the_change_does_not_show(settings):
    settings = {"n_rounds": ROUNDS, "random_state": 3, **settings}
    X, y = rows(n_classes=settings.pop("n_classes", 2))
    n_rounds = settings["n_rounds"]
    expected = fitted = AdaBoostMH(**settings).fit(X, y)
    changes = range(2 * n_rounds) if n_rounds == ROUNDS else (0, 1, 30, 70)
    for change in changes:
        with choose.use_backend(switching_after(change)):
            fitted = AdaBoostMH(**settings).fit(X, y)
        assert np.array_equal(fitted.decision_function(X), expected.decision_function(X))
        assert np.array_equal(fitted.history_["energy"], expected.history_["energy"])


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_rankings_are_the_same_too(learner):
    X, _ = rows(n=120)
    grades = np.random.default_rng(1).integers(0, 4, size=120)
    query = np.repeat(np.arange(3), 40)
    expected = RankBoost(learner, n_rounds=ROUNDS).fit(X, grades, query)
    for change in range(ROUNDS + 1):
        with choose.use_backend(switching_after(change)):
            fitted = RankBoost(learner, n_rounds=ROUNDS).fit(X, grades, query)
        assert np.array_equal(fitted.predict(X), expected.predict(X))
        for name in ("energy", "ranking_loss"):
            assert np.array_equal(fitted.history_[name], expected.history_[name])


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("EDGEWISE_BACKEND", "auto")
    monkeypatch.setattr(compiled, "_loaded", set())
    monkeypatch.setattr(warmup, "can_start", CAN_START)
    compiled.forms_file.cache_clear()
    yield tmp_path
    compiled.forms_file.cache_clear()


def done(compilation, seconds=60.0):
    """Return whether a compilation succeeds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if compilation.is_done() or compilation.failed:
            return not compilation.failed
        time.sleep(0.02)
    raise AssertionError("nothing happened")


def test_another_process_compiles_once(empty_cache):
    other = KernelCompilation("cubes", lambda: (compiled.record_compiled, "cubes"))
    waiting = KernelCompilation("cones", lambda: (compiled.record_compiled, "cones"))
    assert waiting._process is None, "one at a time"
    assert done(other)
    assert done(waiting)
    waiting._process.wait()
    assert {path.suffix for path in empty_cache.iterdir()} == {".forms", ".lock"}
    assert done(KernelCompilation("cubes", lambda: pytest.fail("compiled already")))


def test_a_process_that_fails_is_given_up(empty_cache, monkeypatch):
    assert not done(KernelCompilation("cubes", lambda: (compiled.record_compiled,)))
    assert not done(KernelCompilation("cubes", lambda: (lambda: None,))), "cannot be pickled"
    monkeypatch.setattr(warmup.sys, "executable", "/usr/bin/spreadsheet")
    assert not done(KernelCompilation("cubes", lambda: (compiled.record_compiled, "cubes")))
    assert [path.suffix for path in empty_cache.iterdir()] == [".lock"]


def test_modules_in_the_working_folder_are_not_imported(empty_cache, monkeypatch, tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "pickle.py").write_text("open('imported', 'w').close()")
    monkeypatch.chdir(folder)
    assert done(KernelCompilation("cubes", lambda: (compiled.record_compiled, "cubes")))
    assert not (folder / "imported").exists()


def test_the_lock_ends_with_its_process(empty_cache):
    with warmup.lock_file().open("a") as lock:
        assert warmup.take_lock(lock.fileno())
        waiting = KernelCompilation("cubes", lambda: (compiled.record_compiled, "cubes"))
        assert waiting._process is None
    assert done(waiting)


def test_of_many_processes_one_has_the_lock(empty_cache):
    files = [warmup.lock_file().open("a") for _ in range(5)]
    try:
        assert [warmup.take_lock(file.fileno()) for file in files] == [True, *[False] * 4]
    finally:
        for file in files:
            file.close()


def test_a_finished_process_is_waited_for(empty_cache):
    compilation = KernelCompilation("cubes", lambda: (compiled.record_compiled, "cubes"))
    assert done(compilation)
    end = time.monotonic() + 60.0
    while compilation._process.returncode is None and time.monotonic() < end:
        time.sleep(0.02)  # nobody looks at it any more
    assert compilation._process.returncode == 0


def graded():
    X, y = rows()
    return RankBoost(n_rounds=2), X, y, np.repeat(np.arange(9), 10)


def labeled(kind):
    X, y = rows(n_classes=3)
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(np.nan_to_num(X)) > 1.5, X, 0.0))
    if kind == "multi-label":
        y = np.eye(3, dtype=int)[y]
    categorical = [0] if kind == "categorical" else None
    X = np.nan_to_num(X).round() if categorical else X
    n_rounds = 2 if kind == "multi-label" else "auto"
    single = {"max_leaf_nodes": 8, "loss": "logistic"}  # nothing is compared
    return AdaBoostMH(n_rounds=n_rounds, categorical_features=categorical, **single), X, y


@pytest.mark.parametrize(
    "given", [graded(), *map(labeled, ("dense", "sparse", "categorical", "multi-label"))]
)
def test_what_is_compiled_is_of_the_same_form(given, monkeypatch):
    model, *arguments = given
    seen, warmups = [], []
    # After the last round, the training rows walk through the trees.
    trains = lambda form: not form.startswith("walk")  # noqa: E731
    monkeypatch.setattr(
        warmup, "use_compiled", lambda visits, *, form, **_: trains(form) and seen.append(form)
    )
    monkeypatch.setattr(warmup, "_COMPILE_APART_FROM", 0)
    monkeypatch.setattr(warmup, "_compilations", {})
    monkeypatch.setattr(
        warmup,
        "KernelCompilation",
        lambda form, fit: (trains(form) and warmups.append(fit)) or Never(),
    )
    monkeypatch.setenv("EDGEWISE_BACKEND", "auto")
    model.fit(*arguments)
    assert len(set(seen)) == 1
    function, *small = pickle.loads(pickle.dumps(warmups[-1]()))
    function(*small)
    assert len(set(seen)) == 1


def test_work_of_a_form_adds_up_until_one_process_compiles(empty_cache, monkeypatch):
    started = []
    monkeypatch.setattr(warmup, "_compilations", {})
    monkeypatch.setattr(
        warmup, "KernelCompilation", lambda *given: started.append(given) or Never()
    )
    half = warmup._COMPILE_APART_FROM / 2
    assert warmup.kernels_ready(half, "cubes", list) is warmup.never
    assert warmup.kernels_ready(half, "cones", list) is warmup.never
    assert not started
    for _ in range(3):
        assert not warmup.kernels_ready(half, "cubes", list)()
    assert started == [("cubes", list)]
    compiled.record_compiled("cubes")
    assert warmup.kernels_ready(1, "cubes", list)()


class Never:
    """A compilation without end."""

    failed = False

    def is_done(self):
        return False
