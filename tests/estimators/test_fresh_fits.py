"""What a fit leaves behind: nothing of the fit before it, and nothing that cannot be copied."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from edgewise import AdaBoostMH, Checkpoint, Lazy, ProgressBar, Stump, load


def test_a_refit_without_names_forgets_those_of_the_last(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=5).fit(pd.DataFrame(X, columns=list("abcd")), y).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert {curve.name for curve in model.explain()} <= {"x0", "x1", "x2", "x3"}


def test_a_model_with_a_progress_bar_can_be_cloned_and_pickled(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=3, callbacks=[ProgressBar()]).fit(X, y)
    clone(model).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_the_last_checkpoint_is_the_model_that_fit_returns(blobs, tmp_path, same_terms):
    X, y = blobs()
    path = tmp_path / "model"
    model = AdaBoostMH(
        n_rounds=100,
        validation_fraction=0.3,
        early_stopping_rounds=5,
        random_state=0,
        callbacks=[Checkpoint(path)],
    ).fit(X, y)
    saved = load(path)
    assert saved.n_rounds_ == model.n_rounds_ < model.history_.n_rounds
    assert (saved.best_iteration_, saved.stop_reason_) == (model.best_iteration_, "early stopping")
    same_terms(saved, model)


@pytest.mark.parametrize("seed", range(6))
def test_a_lazy_search_that_draws_no_edge_looks_at_all_columns(seed):
    # The second column says nothing about the class.
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]
    model = AdaBoostMH(n_rounds=20, search=Lazy(1), random_state=seed).fit(X, y)
    assert model.n_rounds_ == 20
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (200, 8))
    y = (X[:, 3] ^ (rng.random(200) < 0.1)).astype(int)
    model = AdaBoostMH(
        Stump(constant=False), preset="paper", n_rounds=60, search=Lazy(1), random_state=seed
    )
    assert model.fit(X, y).n_rounds_ == 60


@pytest.mark.parametrize("dtype", ["f2", ">f8", ">i4", "<u2"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_numbers_of_any_width_and_byte_order(blobs, monkeypatch, dtype, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y = blobs()
    X = np.round(np.abs(X) * 4).astype(dtype)
    model = AdaBoostMH(n_rounds=5).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(float)))


def test_labels_in_an_arrow_table_keep_their_names():
    labels = pa.table({"red": [0, 1, 0, 1], "blue": [1, 1, 0, 0]})
    model = AdaBoostMH(n_rounds=2).fit(np.arange(4.0)[:, None], labels)
    assert model.classes_.tolist() == ["red", "blue"]
