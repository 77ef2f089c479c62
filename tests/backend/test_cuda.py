"""The backend on a GPU: the same models as on the CPU, bit for bit.

Where there is no GPU its kernels run on the CPU, see `cuda_emulator`; that takes g++.
"""

import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).parent))

from cuda_emulator import HAS_COMPILER, Emulator

from edgewise import AdaBoostMH, Indicator, Product, RankBoost, Selector, Stump, Tree
from edgewise.backend.choose import use_backend
from edgewise.backend.cuda.device import Device, gpu, why_no_gpu
from edgewise.backend.cuda.engine import CudaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.model import TreeRule

NO_GPU = why_no_gpu()

X, Y = (part[:120] for part in load_digits(return_X_y=True))
X = X[:, 18:30]
RNG = np.random.default_rng(0)
HOLED = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
MIXED = pandas.DataFrame(
    {
        "a": RNG.choice(list("abcdef"), 120),
        "b": RNG.choice(["u", "v", None], 120),
        "c": HOLED[:, 0],
        "d": HOLED[:, 1],
    }
)
GAIN = Tree([Stump(), Indicator()], 4, "free", "gain")
DIRECTIONS = [1, -1, 0] * 4


@pytest.fixture(scope="module", params=["emulator", "gpu"])
def device(request):
    if request.param == "gpu":
        if NO_GPU:
            pytest.skip(f"device='cuda' {NO_GPU}")
        return gpu()
    if not HAS_COMPILER:
        pytest.skip("the emulator needs g++")
    return Device(Emulator(), 2, threads=32, most_threads=256)


def assert_same(model, other):
    for name in model.fitted_.terms.__dataclass_fields__:
        ours, theirs = getattr(model.fitted_.terms, name), getattr(other.fitted_.terms, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    for name in model.history_:
        np.testing.assert_array_equal(model.history_[name], other.history_[name], err_msg=name)


def assert_same_on(device, make):
    model = make()
    with use_backend(lambda table, n_jobs: CudaBackend(table, device)):
        assert_same(make(), model)


@pytest.mark.parametrize(
    ("rows", "y", "learner", "settings"),
    [
        (X, Y % 3, Stump(), {"votes": "abstain"}),
        (X, Y % 2, Stump(), {"loss": "logistic"}),
        (HOLED, Y % 3, Stump(missing="abstain"), {"votes": "real", "loss": "softmax"}),
        (HOLED, Y % 3, Product(Stump(), 3), {}),
        (X, Y, Product(Stump(), 2), {"learning_rate": 0.5}),
        (HOLED, Y % 3, Tree(Stump(), 5), {}),
        (MIXED, Y % 3, GAIN, {"votes": "real", "loss": "logistic", "min_samples_leaf": 5}),
        (MIXED, Y % 3, [Stump(), Indicator(), Selector()], {"votes": "real"}),
        (X, np.stack([Y % 2, Y % 3 == 0], axis=1).astype(int), Stump(), {}),
        (X, np.arange(120) % 40, Stump(), {"trim": 0.9}),
        (X, Y % 3, Stump(), {"subsample": 0.5, "sampling": "weight"}),
        (X, Y % 3, Stump(), {"factorized": False}),
        (HOLED, Y % 3, GAIN, {"votes": "real", "loss": "logistic", "subsample": 0.6}),
        (HOLED, Y % 3, Tree(Product(Stump(), 2), 4), {"subsample": 0.6}),
        (HOLED, Y % 2, Stump(), {"monotonic_cst": DIRECTIONS}),
        (HOLED, Y % 2, GAIN, {"votes": "real", "monotonic_cst": DIRECTIONS}),
        (HOLED, Y % 3, GAIN, {"votes": "real", "interaction_cst": "pairwise"}),
    ],
)
def test_the_same_classifier(device, rows, y, learner, settings):
    given = {"learner": learner, "n_rounds": 4, "random_state": 1, **settings}
    assert_same_on(device, lambda: AdaBoostMH(**given).fit(rows, y))


@pytest.mark.parametrize(
    "settings",
    [
        {"learner": "stump"},
        {"learner": "stump", "criterion": "energy", "monotonic_cst": "none"},
        {"learner": Tree(Stump(), 4, "free", "gain")},
        {"learner": Tree(Stump(), 4, "free", "gain"), "objective": "ndcg@5"},
    ],
)
def test_the_same_ranker(device, settings):
    grades, queries = np.clip(X[:, 2] // 4, 0, 3), np.arange(120) // 12
    given = {"n_rounds": 6, "random_state": 1, **settings}
    assert_same_on(device, lambda: RankBoost(**given).fit(HOLED, grades, qid=queries))


def test_leaves_of_samples_are_found_on_the_device(device, monkeypatch):
    monkeypatch.setattr(TreeRule, "leaf_of", None)
    given = {"learner": GAIN, "votes": "real", "loss": "logistic", "subsample": 0.6}
    with use_backend(lambda table, n_jobs: CudaBackend(table, device)):
        model = AdaBoostMH(n_rounds=3, random_state=0, **given).fit(HOLED, Y % 3)
    assert model.n_rounds_ == 3


def test_pairs_are_summed_by_the_backend_of_the_cpu(device):
    table = fit_encode(as_table(X), None, 16)
    later = ReferenceBackend(table)
    backend = CudaBackend(table, device, ReferenceBackend(table, lambda: later))
    assert backend.upgrade() is backend
    assert backend.pairs is later.pairs


@pytest.mark.skipif(NO_GPU is None, reason="there is a GPU")
def test_without_a_gpu_the_error_says_what_is_missing():
    model = AdaBoostMH("stump", preset="paper", n_rounds=1, device="cuda")
    with pytest.raises(RuntimeError, match=r"device='cuda' .*(CuPy|GPU)"):
        model.fit(X, Y)
    model.set_params(device="auto").fit(X, Y)


def test_devices_have_names():
    with pytest.raises(ValueError, match="device"):
        AdaBoostMH("stump", preset="paper", device="tpu").fit(X, Y)
