"""Random problems and models that several test folders share."""

import gc
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from edgewise.backend import warmup
from edgewise.backend.arithmetic import to_fixed_point
from edgewise.backend.base import Step
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, encode, fit_encode
from edgewise.model import StumpTerms, Terms

from .helpers import assert_same_terms, state_of

# The first example of a test may import libraries, so there is no deadline. `make test` draws the
# same examples every time; `make explore` draws new ones from a seed that it prints.
settings.register_profile(
    "edgewise", deadline=None, max_examples=50, derandomize=True, database=None
)
settings.register_profile("explore", deadline=None, max_examples=50, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "edgewise"))


# The garbage collector would take a third of the time to collect tests, and a tenth of all later.


def pytest_collection():
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory):
    """Let one worker compile a kernel while the others wait to read it from the cache."""
    if "PYTEST_XDIST_WORKER" not in os.environ or os.name == "nt":
        yield
        return
    import fcntl

    from numba.core.caching import FunctionCache
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder = tmp_path_factory.getbasetemp().parent  # all workers share it
    compile_alone = Dispatcher.compile

    def compile_once(self, signature):
        if not isinstance(self._cache, FunctionCache):
            return compile_alone(self, signature)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        with global_compiler_lock, (folder / name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_alone(self, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _start_no_compiler():
    """Let long fits compile in their own process: nothing is left running after the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warmup, "can_start", lambda: False)
        yield


@pytest.fixture(autouse=True)
def _count_no_earlier_work():
    """Let every test begin like a new process: the work of the others compiles nothing in it."""
    warmup._done.clear()


@dataclass(frozen=True)
class Problem:
    """Rows in bins, labels of shape (K, n) and weights that sum to 1."""

    X: np.ndarray
    binned: object
    labels: np.ndarray
    target: np.ndarray
    row_weights: np.ndarray
    weights: np.ndarray

    def fresh_state(self, mass_column=False):
        """Return the state of these weights, not yet quantized for the search."""
        row_mass = to_fixed_point(self.row_weights)
        return state_of(self.labels, self.target, row_mass, self.weights.copy(), mass_column)

    def state(self, mass_column=False):
        """Return the state of these weights, ready for a search."""
        state = self.fresh_state(mass_column)
        ReferenceBackend(self.binned).advance(state, None, Step.scaling(state.n_scores))
        return state

    def rows(self, rows):
        """Return the problem of some rows, in the bins of all."""
        table = as_table(self.X[rows])
        return Problem(
            self.X[rows],
            encode(table, self.binned.bins),
            np.ascontiguousarray(self.labels[:, rows]),
            self.target[rows],
            self.row_weights[rows],
            np.ascontiguousarray(self.weights[:, rows]),
        )


def _labels(rng, n, n_scores, kind):
    if kind == "multiclass":
        target = rng.integers(n_scores, size=n).astype(np.int32)
        return np.where(np.arange(n_scores)[:, None] == target, 1, -1).astype(np.int8), target
    labels = np.where(rng.random((n_scores, n)) < 0.4, 1, -1).astype(np.int8)
    return labels, np.full(n, -1, dtype=np.int32)


def _values(rng, n, d, levels, missing):
    """Return columns of a few levels; the odd ones mostly hold the lowest."""
    X = rng.integers(levels, size=(n, d)) / 4.0
    X[:, 1::2][rng.random((n, len(range(1, d, 2)))) < 0.7] = 0.0
    if missing:
        gone = rng.random((n, d)) < 0.2
        gone[:, 2::3] = False
        gone[0] = False  # every column has some value
        X[gone] = np.nan
    return X


def _make_problem(
    seed,
    n=60,
    d=5,
    n_scores=3,
    kind="multiclass",
    missing=True,
    storage="auto",
    equal_mass=True,
    levels=7,
    max_bins=256,
    weight_levels=None,
):
    """Return a random problem; few `weight_levels` make ties likely."""
    rng = np.random.default_rng(seed)
    X = _values(rng, n, d, levels, missing)
    labels, target = _labels(rng, n, n_scores, kind)
    row_weights = np.full(n, 1.0 / n) if equal_mass else rng.dirichlet(np.ones(n))
    if weight_levels is None:
        weights = rng.exponential(size=(n_scores, n)) ** 2
        weights /= weights.sum()
    else:
        weights = rng.integers(weight_levels, size=(n_scores, n)) / 2.0**12
    table = as_table(X)
    binned = encode(table, fit_encode(table, None, max_bins).bins, storage)
    return Problem(X, binned, labels, target, row_weights, weights)


def _make_terms(seed, n_terms=60, d=4, n_scores=3, per_score=False, votes="discrete"):
    """Return terms with constants, thresholds of -inf, and every output for missing values."""
    rng = np.random.default_rng(seed)
    shape = (n_terms, n_scores if per_score else 1)
    columns = rng.integers(-1, d, size=shape).astype(np.int32)
    thresholds = rng.integers(-4, 5, size=shape) / 2.0
    thresholds[(columns < 0) | (rng.random(shape) < 0.1)] = -np.inf
    missing = rng.integers(-1, 2, size=shape).astype(np.int8)
    missing[columns < 0] = 1
    v = rng.choice([-1.0, 1.0], size=(n_terms, n_scores))
    if votes == "real":
        v = rng.normal(size=(n_terms, n_scores))
    stumps = StumpTerms(columns, thresholds, missing, rng.exponential(size=n_terms), v)
    rules = [stumps.rule(t) for t in range(n_terms)]
    return Terms.pack(rules, stumps.alphas.tolist(), v, n_cuts=shape[1])


def _make_rows(seed, n=50, d=4):
    """Return rows at and between the thresholds, some values missing or infinite."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-12, 13, size=(n, d)) / 4.0
    X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    return X


def _scores(terms, X):
    """Return the sum over t of alpha_t v_t phi_t(x), row by row."""
    scores = np.zeros((len(X), terms.n_scores))
    stumps = terms.stumps
    n_cuts = terms.n_cuts
    for i, row in enumerate(X.tolist()):
        for k in range(terms.n_scores):
            parts = []
            for t in range(len(terms)):
                c = k if n_cuts > 1 else 0
                j = int(stumps.columns[t, c])
                if j < 0:
                    phi = 1
                elif math.isnan(row[j]):
                    phi = int(stumps.missing[t, c])
                else:
                    phi = 1 if row[j] >= stumps.thresholds[t, c] else -1
                parts.append(float(terms.alphas[t] * terms.votes[t, k]) * phi)
            scores[i, k] = math.fsum(parts)
    return scores


@pytest.fixture(scope="session")
def make_problem():
    return _make_problem


@pytest.fixture(scope="session")
def make_terms():
    return _make_terms


@pytest.fixture(scope="session")
def make_rows():
    return _make_rows


@pytest.fixture(scope="session")
def term_by_term():
    return _scores


@pytest.fixture
def same_terms():
    """Return the assertion that two models have the same terms, bit for bit."""
    return assert_same_terms


@pytest.fixture
def blobs():
    """Return a function that makes rows whose classes overlap: (X, y)."""

    def make(n_rows=120, n_columns=4, n_classes=3, seed=0):
        rng = np.random.default_rng(seed)
        y = np.arange(n_rows) % n_classes
        X = rng.normal(size=(n_rows, n_columns))
        X[:, 0] += 1.5 * y
        return X, y

    return make


@pytest.fixture
def full_disk(monkeypatch):
    """Let every rename fail, as if there were no room for the new name."""

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
