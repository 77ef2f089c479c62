"""A classifier, rankers and their data, for all pictures."""

import sys

import numpy as np
import pytest

from edgewise import AdaBoostMH, RankBoost


@pytest.fixture(autouse=True)
def _closed():
    """Close the figures of a test, which pyplot would keep."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)
    return X, y


@pytest.fixture(scope="session")
def model(rows):
    return AdaBoostMH("stump", n_rounds=30).fit(*rows, eval_set=rows)


@pytest.fixture(scope="session")
def documents():
    """Return a function that makes documents with grades in queries: (X, y, qid)."""

    def make(n_queries=20, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10 * n_queries, 4))
        utility = X[:, 0] - X[:, 1] + rng.normal(size=len(X))
        return X, np.digitize(utility, [0.5, 2.0]), np.repeat(np.arange(n_queries), 10)

    return make


@pytest.fixture(scope="session")
def ranker(documents):
    X, y, qid = documents()
    return RankBoost("stump", n_rounds=40).fit(X, y, qid, eval_set=documents(seed=1))
