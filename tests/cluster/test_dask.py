"""Estimators on a Dask cluster of real processes: the model of one process, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from edgewise import AdaBoostMH, Callback, EarlyStopping, Lazy, RankBoost, Stump, load
from edgewise.model.file import packed

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask_estimators = pytest.importorskip("edgewise.dask")
DaskAdaBoostMH, DaskRankBoost = dask_estimators.DaskAdaBoostMH, dask_estimators.DaskRankBoost


def problem(n_rows=240, seed=0):
    """Return a frame with numbers, zeros, holes and categories, three classes and weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["a", "b", "c", "d"])
    X["b"] = np.where(rng.random(n_rows) < 0.7, 0.0, X["b"])
    X.loc[rng.random(n_rows) < 0.15, "c"] = np.nan
    X["e"] = np.array(["red", "green", "blue", "grey"], dtype=object)[rng.integers(0, 4, n_rows)]
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
    state = packed(found.to_local(), "", ours)["state"]
    assert state == packed(expected, "", theirs)["state"]
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        assert ours[name].dtype == array.dtype, name
        np.testing.assert_array_equal(ours[name], array, err_msg=name)
