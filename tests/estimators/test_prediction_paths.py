"""A row has the same scores however it comes: alone, in any batch, type, backend and thread."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from edgewise import AdaBoostMH, RankBoost
from edgewise.backend import warmup
from edgewise.common import compiled
from edgewise.learners import Haar, Product, Tree

NAMES = [f"c{j}" for j in range(6)]
MODELS = {
    "auto": AdaBoostMH(n_rounds=12),
    "stumps": AdaBoostMH("stump", n_rounds=30),
    "stumps of each class": AdaBoostMH("stump", n_rounds=30, factorized=False),
    "products": AdaBoostMH(Product("stump", 3), n_rounds=12),
    "trees of products": AdaBoostMH(Tree(Product("stump", 2), 4), n_rounds=6),
    "ranker": RankBoost(n_rounds=20),
    "ranking trees": RankBoost(Tree("stump", 4), n_rounds=8),
    "values of columns": RankBoost("feature", n_rounds=4),
}


def numbers(n=300, seed=0):
    """Return rows that float32 and the zeros of a sparse matrix hold exactly, some missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n, len(NAMES))) / 4.0
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def scores(model, X):
    return model.predict(X) if isinstance(model, RankBoost) else model.decision_function(X)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    X = numbers()
    filled = np.nan_to_num(X)
    y = (filled[:, 0] + filled[:, 1] * filled[:, 2] > 0).astype(int) + (filled[:, 3] > 1)
    return MODELS[request.param].fit(X, y)


@pytest.fixture(scope="module")
def expected(model):
    """The scores after the last round, which are summed term by term."""
    rows = numbers(seed=1)
    staged = model.staged_predict if isinstance(model, RankBoost) else None
    *_, last = (staged or model.staged_decision_function)(rows)
    return last


@pytest.fixture(params=["numpy", "numba"])
def backend(request, monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", request.param)
    return request.param


def test_a_row_alone_scores_as_in_a_batch(model, expected, backend):
    X = numbers(seed=1)
    all_scores = scores(model, X)
    # The tables of stumps are summed by column, not by round.
    np.testing.assert_allclose(all_scores, expected, rtol=0, atol=1e-12)
    if not model.fitted_.terms.is_additive:
        assert np.array_equal(all_scores, expected)
    for rows in (slice(0, 1), slice(7, 8), slice(0, 2), slice(100, 163), slice(3, None)):
        assert np.array_equal(scores(model, X[rows]), all_scores[rows])


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_every_kind_of_table_scores_alike(model, expected, backend):
    X = numbers(seed=1)
    all_scores = scores(model, X)
    frame = pd.DataFrame(X)
    tables = {
        "float32": X.astype(np.float32),
        "column-major": np.asfortranarray(X),
        "every other": np.repeat(X, 2, axis=0)[::2],
        "list": X.tolist(),
        "CSR": sparse.csr_matrix(X),
        "CSC": sparse.csc_array(X),
        "pandas": frame,
        "pandas with its own missing values": frame.convert_dtypes(),
        "polars": pl.DataFrame(X, schema=NAMES, nan_to_null=True),
    }
    for name, table in tables.items():
        assert np.array_equal(scores(model, table), all_scores), name


def test_whole_numbers_score_as_their_reals(model, backend):
    X = np.random.default_rng(2).integers(-3, 4, size=(50, len(NAMES)))
    all_scores = scores(model, X.astype(np.float64))
    for dtype in (np.int8, np.int64, np.float16, ">f8"):
        assert np.array_equal(scores(model, X.astype(dtype)), all_scores)
    unsigned = np.abs(X)
    assert np.array_equal(
        scores(model, unsigned.astype(np.uint8)), scores(model, unsigned.astype(np.float64))
    )


def test_threads_and_backends_agree(model, monkeypatch):
    X = np.tile(numbers(seed=1), (30, 1))
    results = []
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        results += [scores(model.set_params(n_jobs=n_jobs), X) for n_jobs in (1, 2)]
    model.set_params(n_jobs=None)
    for other in results[1:]:
        assert np.array_equal(results[0], other)


@pytest.mark.parametrize("learner", ["auto", "stump", "product"])
def test_infinite_values(learner, backend):
    X = numbers()
    X[:, 5] = 0.0
    y = np.where(np.isnan(X[:, 0]), 1, X[:, 0] > X[:, 1])
    X[0, 1], X[1, 0] = np.inf, -np.inf
    model = AdaBoostMH(learner, n_rounds=10, handle_infinite="missing").fit(X, y)
    as_missing = np.where(np.isinf(X), np.nan, X)
    all_scores = model.decision_function(X)
    assert np.array_equal(all_scores, model.decision_function(as_missing))
    assert np.array_equal(all_scores, model.decision_function(sparse.csr_matrix(X)))
    for i in range(2):
        assert np.array_equal(model.decision_function(X[i : i + 1]), all_scores[i : i + 1])
    valued = model.set_params(handle_infinite="value")
    huge = np.where(np.isinf(X), np.copysign(1e300, X), X)
    assert np.array_equal(valued.decision_function(X), valued.decision_function(huge))
    strict = model.set_params(handle_infinite="raise")
    for rows in (X, X[:1], X[:1].astype(np.float32)):
        with pytest.raises(ValueError, match=r"infinite value in column 'x[01]'"):
            strict.decision_function(rows)
    # No rule looks at the last column.
    unused = np.nan_to_num(as_missing[:3])
    unused[:, 5] = np.inf
    assert np.isfinite(strict.decision_function(unused)).all()


@pytest.mark.parametrize("missing", [False, True])
def test_categories_that_training_saw_and_others(missing, backend):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.choice(list("abcdefg"), (300, 3)), columns=list("xyz"))
    if missing:
        frame["y"] = frame["y"].where(rng.random(300) < 0.8)
    frame["size"] = rng.normal(size=300)
    y = frame["x"].isin(["a", "c", "d"]) ^ frame["y"].isin(["b", "g"]) ^ (frame["size"] > 0.5)
    model = AdaBoostMH(n_rounds=20).fit(frame, y)
    new = frame.replace({"z": {"g": "unseen"}})
    for rows in (frame, new, frame[:1], new[:40]):
        *_, expected = model.staged_decision_function(rows)
        assert np.array_equal(model.decision_function(rows), expected)


@pytest.mark.parametrize("learner", ["auto", "stump", "product"])
def test_categories_row_by_row(learner, backend):
    rng = np.random.default_rng(3)
    colors = rng.choice(["red", "green", "blue"], 200)
    frame = pd.DataFrame({"size": rng.normal(size=200), "color": colors})
    y = np.where((colors == "red") ^ (frame["size"] > 0), "yes", "no")
    model = AdaBoostMH(learner, n_rounds=12).fit(frame, y)
    new = pd.DataFrame(
        {
            "size": [0.3, np.nan, -2.0, np.nan, 1.0],
            "color": ["red", "green", "violet", None, "blue"],
        }
    )
    all_scores = model.decision_function(new)
    *_, last = model.staged_decision_function(new)
    assert np.array_equal(all_scores, last)
    # A value that training did not see counts as missing.
    assert np.array_equal(all_scores, model.decision_function(new.replace("violet", None)))
    for i in range(len(new)):
        assert np.array_equal(model.decision_function(new[i : i + 1]), all_scores[i : i + 1])
    assert np.array_equal(model.decision_function(pl.from_pandas(new)), all_scores)
    with pytest.raises(ValueError, match="feature names"):
        model.decision_function(new[["color", "size"]])


def test_filters_in_blocks(backend, monkeypatch):
    rng = np.random.default_rng(4)
    images = rng.integers(0, 256, size=(120, 36)).astype(np.uint8)
    y = images[:, :18].mean(axis=1) > images[:, 18:].mean(axis=1)
    model = AdaBoostMH(Tree(Haar((6, 6)), 4), n_rounds=6).fit(images, y)
    all_scores = model.decision_function(images)
    *_, last = model.staged_decision_function(images)
    assert np.array_equal(all_scores, last)
    for name in ("_WALKS_AT_ONCE", "_VALUES_AT_ONCE"):
        monkeypatch.setattr(f"edgewise.model.forest.{name}", 100)
    assert np.array_equal(model.decision_function(images), all_scores)


@pytest.mark.parametrize("n_leaves", [2, 8, 9, 32, 64, 65])
@pytest.mark.parametrize("missing", ["nowhere", "in one column", "everywhere"])
def test_trees_of_any_size_with_values_missing_as_in_training_or_not(
    n_leaves, missing, monkeypatch
):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
    rows = numbers(seed=5)
    X = np.nan_to_num(rows)
    X += np.random.default_rng(6).normal(size=X.shape)
    y = np.floor(X[:, 0] + X[:, 1] * X[:, 2])
    if missing != "nowhere":
        columns = slice(1) if missing == "in one column" else slice(None)
        X[:, columns] = np.where(np.isnan(rows), np.nan, X)[:, columns]
    tree = Tree("stump", n_leaves, leaf_votes="free")
    model = AdaBoostMH(tree, n_rounds=4, votes="real").fit(X, y)
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        for new in (X, rows, X[:1], rows[:5]):
            *_, expected = model.staged_decision_function(new)
            assert np.array_equal(model.decision_function(new), expected)


def test_codes_that_do_not_fit_16_bits_are_walked_by_numpy(monkeypatch):
    X = numbers()
    model = AdaBoostMH(n_rounds=5).fit(X, np.nan_to_num(X[:, 0]) > 0)
    *_, expected = model.staged_decision_function(X)
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    monkeypatch.setattr("edgewise.model.forest._MAX_CODES", 1)
    monkeypatch.setattr("edgewise.model.forest.Forest._walk_compiled", None)
    assert np.array_equal(model.decision_function(X), expected)


def test_few_rows_take_the_compiled_walk_once_it_is_there(monkeypatch):
    X = numbers()
    model = AdaBoostMH(n_rounds=5).fit(X, np.nan_to_num(X[:, 0]) > 0)
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    expected = model.decision_function(X)
    monkeypatch.setenv("EDGEWISE_BACKEND", "auto")
    monkeypatch.setattr("edgewise.model.forest.Forest.walk", None)
    assert np.array_equal(model.decision_function(X), expected)
    assert np.array_equal(model.decision_function(X[:1]), expected[:1])


@pytest.mark.parametrize("learner", ["auto", "product"])
def test_the_row_where_compiled_loops_take_over_does_not_show(learner, monkeypatch):
    X = numbers()
    model = AdaBoostMH(learner, n_rounds=10).fit(X, np.nan_to_num(X[:, 0] + X[:, 1]) > 0)
    *_, expected = model.staged_decision_function(X)
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    monkeypatch.setattr("edgewise.model.forest._WALKS_AT_ONCE", 500)
    for count in (0, 1, 3, 99):
        answers = iter([False] * count + [True])
        monkeypatch.setattr(warmup, "kernels_ready", lambda *_, given=answers: lambda: next(given))
        assert np.array_equal(model.decision_function(X), expected)


def test_another_process_can_compile_the_walk(monkeypatch):
    calls = []
    X = numbers()
    model = AdaBoostMH(n_rounds=5).fit(X, np.nan_to_num(X[:, 0]) > 0)
    monkeypatch.setenv("EDGEWISE_BACKEND", "auto")
    monkeypatch.setattr(compiled, "_loaded", set())
    monkeypatch.setattr(warmup, "kernels_ready", lambda *work: calls.append(work) or warmup.never)
    model.decision_function(X[:31])
    assert not calls, "a few rows are not worth loading kernels"
    model.decision_function(X)
    ((_, form, fit),) = calls
    function, forest = pickle.loads(pickle.dumps(fit()))
    function(forest)
    assert form in compiled._loaded


def test_sparse_rows_stay_sparse(monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
    rng = np.random.default_rng(0)
    few = sparse.random_array((300, 200), density=0.2, rng=rng, format="csr")
    model = AdaBoostMH("tree", n_rounds=20).fit(few, few.sum(axis=1) > few.sum() / 300)
    rows = sparse.random_array((20_000, 200), density=0.001, rng=rng, format="csr")
    used = len(np.unique(model.fitted_.terms.columns))
    tracemalloc.start()
    try:
        actual = model.decision_function(rows)
        assert tracemalloc.get_traced_memory()[1] < 8 * rows.shape[0] * used / 2
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(actual[:50], model.decision_function(rows[:50].toarray()))
