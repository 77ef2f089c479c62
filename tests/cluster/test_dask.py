"""Estimators on a Dask cluster of real processes: the model of one process, bit for bit."""

import json
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from edgewise import AdaBoostMH, Callback, Lazy, RankBoost, Selector, Stump, load
from edgewise.model.file import pack_model

Client = pytest.importorskip("distributed").Client
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask_estimators = pytest.importorskip("edgewise.dask")
DaskAdaBoostMH, DaskRankBoost = dask_estimators.DaskAdaBoostMH, dask_estimators.DaskRankBoost

COLUMNS = list("abcde")


def problem(n_rows=240, seed=0):
    """Return a frame with numbers, zeros, holes and categories, three classes and weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["a", "b", "c", "d"])
    X["b"] = np.where(rng.random(n_rows) < 0.7, 0.0, X["b"])
    X.loc[rng.random(n_rows) < 0.15, "c"] = np.nan
    X["e"] = np.array(["red", "green", "blue", "gray"], dtype=object)[rng.integers(0, 4, n_rows)]
    signal = X["a"] + X["b"] + (X["e"] == "red") + 0.5 * rng.normal(size=n_rows)
    y = np.digitize(signal, [-0.5, 0.7])
    return X, y, rng.random(n_rows) + 0.1


def numbers(X):
    return X[["a", "b", "c", "d"]].to_numpy()


def on(client, n_workers, *collections):
    """Return collections whose partitions are on some of the workers, one by one in turn."""
    workers = sorted(client.nthreads())[:n_workers]
    placed = []
    for collection in collections:
        is_array = hasattr(collection, "blocks")
        parts = [
            (collection.blocks if is_array else collection.partitions)[i]
            for i in range(collection.npartitions)
        ]
        held = [part.persist(workers=[workers[i % n_workers]]) for i, part in enumerate(parts)]
        placed.append(da.concatenate(held) if is_array else dd.concat(held))
    return placed[0] if len(placed) == 1 else placed


def same(found, expected):
    """Assert that files of the two models hold the same."""
    ours, theirs = {}, {}
    states = pack_model(found.to_local(), "", ours), pack_model(expected, "", theirs)
    # As text, in which NaN equals NaN.
    state, wanted = (json.dumps(packed["state"], sort_keys=True) for packed in states)
    assert state == wanted
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        assert ours[name].dtype == array.dtype, name
        np.testing.assert_array_equal(ours[name], array, err_msg=name)


@pytest.fixture(scope="module")
def frame(client):
    """A frame in eight partitions on four workers, one of them empty, and the same in memory."""
    X, y, weights = problem()
    table = X.assign(y=y, w=weights)
    cuts = [0, 40, 40, 90, 91, 120, 150, 200, 240]
    parts = [table[start:stop] for start, stop in pairwise(cuts)]
    spread = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    return on(client, 4, spread), table


FITS = {
    "chosen rounds": {"n_rounds": None, "early_stopping_rounds": 3},
    "stump": {"learner": "stump"},
    "real votes": {"learner": "stump", "votes": "real"},
    "abstaining votes": {"learner": "stump", "votes": "abstain", "loss": "logistic"},
    "product": {"learner": "product"},
    "tree": {"learner": "tree"},
    "selector": {"learner": [Stump(), Selector()]},
    "lazy search, sampled": {"learner": "stump", "search": Lazy(2), "subsample": 0.5},
    "trimmed": {"learner": "tree", "trim": 0.9},
    "balanced": {"learner": "stump", "class_weight": "balanced", "max_bins": 16},
    "validation split": {
        "learner": "stump",
        "validation_fraction": 0.3,
        "early_stopping_rounds": 2,
        "n_rounds": 20,
    },
}


@pytest.mark.parametrize("settings", FITS.values(), ids=FITS)
def test_the_model_is_that_of_one_process(client, frame, settings):
    spread, table = frame
    settings = {"n_rounds": 5, "random_state": 3, **settings}
    result = DaskAdaBoostMH(**settings).fit(spread[COLUMNS], spread["y"], spread["w"])
    same(result, AdaBoostMH(**settings).fit(table[COLUMNS], table["y"], table["w"]))


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_arrays_on_any_number_of_workers(client, n_workers):
    X, y, _ = problem()
    model, cuts = AdaBoostMH("stump", n_rounds=5, factorized=False), (30, 50, 20, 70, 70)
    rows = da.from_array(numbers(X), chunks=(cuts, (3, 1)))
    targets = da.from_array(y, chunks=(cuts,))
    rows, targets = on(client, n_workers, rows.rechunk({1: -1}), targets)
    result = DaskAdaBoostMH(**model.get_params()).fit(rows, targets)
    same(result, model.fit(numbers(X), y))


def test_sparse_blocks_and_rows_of_unknown_number(client):
    X, y, _ = problem()
    values = np.nan_to_num(numbers(X))
    rows = on(client, 3, da.from_array(values, chunks=(60, 4)))
    kept = rows[rows[:, 0] > -1]
    targets = da.from_array(y, chunks=60)[rows[:, 0] > -1]
    settings = {"learner": "stump", "n_rounds": 5}
    result = DaskAdaBoostMH(**settings).fit(kept.map_blocks(sparse.csr_matrix), targets)
    chosen = values[:, 0] > -1
    expected = AdaBoostMH(**settings).fit(sparse.csr_matrix(values[chosen]), y[chosen])
    same(result, expected)
    guesses = result.predict(kept.map_blocks(sparse.csr_matrix))
    np.testing.assert_array_equal(guesses.compute(), expected.predict(values[chosen]))


def test_several_labels(client):
    X, y, _ = problem()
    labels = np.stack([y > 0, y > 1, X["a"] > 0], axis=1).astype(int)
    rows = on(client, 3, da.from_array(numbers(X), chunks=(60, 4)))
    targets = da.from_array(labels, chunks=(60, 3))
    result = DaskAdaBoostMH("stump", n_rounds=5).fit(rows, targets)
    expected = AdaBoostMH("stump", n_rounds=5).fit(numbers(X), labels)
    same(result, expected)
    assert result.predict(rows).shape == (240, 3)
    assert result.score(rows, targets) == expected.score(numbers(X), labels)


def test_validation_rows_on_fewer_workers(client, frame):
    spread, table = frame
    X, y, _ = problem(90, seed=1)
    first = on(client, 1, dd.from_pandas(X.assign(y=y), npartitions=2))
    second = on(client, 3, dd.from_pandas(X.assign(y=2 - y), npartitions=5))
    model = AdaBoostMH("stump", n_rounds=30, early_stopping_rounds=3)
    result = DaskAdaBoostMH(**model.get_params()).fit(
        spread[COLUMNS],
        spread["y"],
        eval_set=[(first[COLUMNS], first["y"]), (second[COLUMNS], second["y"])],
        eval_names=["right", "wrong"],
    )
    expected = model.fit(
        table[COLUMNS], table["y"], eval_set=[(X, y), (X, 2 - y)], eval_names=["right", "wrong"]
    )
    same(result, expected)
    assert result.stop_reason_ == "early stopping"
    assert result.n_rounds_ < 30


def test_categories_and_types_that_differ_between_partitions(client):
    numbers = pd.DataFrame({"n": [1, 2, 3, 4], "c": ["u", "v", "u", "v"]})
    others = pd.DataFrame({"n": [0.5, np.nan, 2.5, 7.0], "c": ["w", "u", "w", None]})
    parts = [numbers.astype({"c": "category"}), others.astype({"c": "category"}), numbers, others]
    targets = [np.array(y) for y in (["a"] * 4, ["b", "a", "b", "b"], ["a"] * 4, ["b"] * 4)]
    rows = dd.from_map(lambda i: parts[i], range(4), meta=numbers.iloc[:0])
    y = da.concatenate([da.from_array(part, chunks=4) for part in targets])
    result = DaskAdaBoostMH("stump", n_rounds=4).fit(rows, y)
    together = pd.concat([part.astype({"c": object, "n": float}) for part in parts])
    same(result, AdaBoostMH("stump", n_rounds=4).fit(together, np.concatenate(targets)))


def test_predictions_are_lazy_and_those_of_one_process(client, frame):
    spread, table = frame
    model = DaskAdaBoostMH("stump", n_rounds=5).fit(spread[COLUMNS], spread["y"])
    plain = model.to_local()
    assert type(plain) is AdaBoostMH
    for method in ("predict", "decision_function", "predict_proba"):
        result = getattr(model, method)(spread[COLUMNS])
        expected = getattr(plain, method)(table[COLUMNS])
        assert isinstance(result, da.Array)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.compute(), expected)
        np.testing.assert_array_equal(getattr(model, method)(table[COLUMNS]), expected)
    score = model.score(spread[COLUMNS], spread["y"], spread["w"])
    assert score == pytest.approx(plain.score(table[COLUMNS], table["y"], table["w"]), abs=1e-12)


def test_the_estimator_is_one_of_scikit_learn_and_saves_the_plain_model(client, frame, tmp_path):
    spread, _ = frame
    model = clone(DaskAdaBoostMH("stump", n_rounds=3, random_state=None))
    assert model.get_params() == AdaBoostMH("stump", n_rounds=3, random_state=None).get_params()
    model.fit(spread[COLUMNS], spread["y"], client=client)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is AdaBoostMH
    same(pickle.loads(pickle.dumps(model)), loaded)


def queries(n_queries=30, seed=0):
    """Return documents of queries of 1 to 12 documents, sorted by query."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 13, n_queries))
    X = rng.normal(size=(len(qid), 3))
    X[rng.random(len(qid)) < 0.2, 1] = np.nan
    return X, np.digitize(X[:, 0] + rng.normal(size=len(qid)), [-0.5, 0.8]), qid


@pytest.mark.parametrize("n_workers", [1, 4])
def test_rankers_and_queries_that_partitions_cut(client, n_workers):
    (X, y, qid), (other, grades, their_qid) = queries(), queries(20, seed=1)
    model = RankBoost(n_rounds=10, eval_metric="ndcg@5", early_stopping_rounds=3)
    rows, targets, ids = on(
        client, n_workers, *(da.from_array(part, chunks=23) for part in (X, y, qid))
    )
    held = [da.from_array(part, chunks=40) for part in (other, grades, their_qid)]
    weights = {query: 1.0 + query % 3 for query in range(30)}
    result = DaskRankBoost(**model.get_params()).fit(
        rows, targets, qid=ids, sample_weight=weights, eval_set=tuple(held)
    )
    model.fit(X, y, qid=qid, sample_weight=weights, eval_set=(other, grades, their_qid))
    same(result, model)
    np.testing.assert_array_equal(result.predict(rows).compute(), model.predict(X))
    assert result.score(rows, targets, qid=ids) == model.score(X, y, qid=qid)


def test_what_does_not_fit_together_is_refused_by_name(client):
    X, y, _ = (da.from_array(part, chunks=50) for part in queries())
    fit = DaskAdaBoostMH("stump", n_rounds=2).fit
    with pytest.raises(TypeError, match="X must be a Dask DataFrame or Array, got ndarray"):
        fit(X.compute(), y)
    with pytest.raises(ValueError, match=r"y has 1 partitions and X has \d+"):
        fit(X, y.rechunk(-1))
    with pytest.raises(
        ValueError, match=r"sample_weight.* number 0 has 50 of X and 49 of sample_w"
    ):
        fit(X, y, da.concatenate([y[1:50], y[50:]]))
    with pytest.raises(ValueError, match=r"eval_set must be a tuple \(X, y\) of Dask"):
        fit(X, y, eval_set=X)
    with pytest.raises(TypeError, match="eval_set: y must be a Dask"):
        fit(X, y, eval_set=(X, y.compute()))
    with pytest.raises(ValueError, match="X has 0 rows, in all partitions together"):
        fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="n_rounds"):
        DaskAdaBoostMH(n_rounds=-1).fit(X, y)
    with pytest.raises(ValueError, match="init_weights"):
        DaskAdaBoostMH(init_weights=np.ones((3, 3))).fit(X, y)
    with pytest.raises(ValueError, match="qid must be given"):
        DaskRankBoost(n_rounds=2).fit(X, y)


def test_workers_that_are_threads_of_one_process_are_refused():
    X, y, _ = problem()
    quiet = {"dashboard_address": None, "set_as_default": False}
    with Client(n_workers=2, threads_per_worker=1, processes=False, **quiet) as threads:
        workers = list(threads.nthreads())
        blocks = [
            threads.persist(da.from_array(part, chunks=60), workers=[worker])
            for part, worker in zip(np.split(numbers(X), 2), workers, strict=True)
        ]
        rows, targets = da.concatenate(blocks), da.from_array(y, chunks=60)
        with pytest.raises(ValueError, match="2 workers that have rows are threads"):
            DaskAdaBoostMH("stump", n_rounds=2).fit(rows, targets, client=threads)


def test_what_one_worker_finds_wrong_is_what_the_user_sees(client):
    X, y, _ = problem()
    values = numbers(X)
    values[130, 0] = np.inf  # only one of the workers has it
    rows = on(client, 4, da.from_array(values, chunks=(60, 4)))
    with pytest.raises(ValueError, match=r"(?i)inf"):
        DaskAdaBoostMH("stump", n_rounds=3).fit(rows, da.from_array(y, chunks=60))


class Unknown(Callback):
    """Of a module that workers do not have."""


def test_a_callback_that_fails_ends_the_training(client, frame):
    spread, _ = frame

    class Fails(Callback):
        def on_round(self, run):
            if run.history.n_rounds == 3:
                raise KeyError("third round")

    with pytest.raises(KeyError, match="third round"):
        DaskAdaBoostMH("stump", callbacks=[Fails()]).fit(spread[COLUMNS], spread["y"])
    with pytest.raises(ModuleNotFoundError):
        DaskAdaBoostMH("stump", callbacks=[Unknown()]).fit(spread[COLUMNS], spread["y"])


def test_progress_comes_to_the_client(client, frame, capsys):
    spread, _ = frame
    DaskAdaBoostMH("stump", n_rounds=10, verbose=1).fit(spread[COLUMNS], spread["y"])
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "n_rounds" in shown
