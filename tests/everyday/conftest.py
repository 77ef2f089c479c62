"""A table as people have it: numbers with gaps, words, categories, yes and no."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH

NUMBERS = ["age", "hours"]


def boost(learner="stump", n_rounds=6, **settings):
    """Return a small classifier."""
    return AdaBoostMH(learner, preset="paper", n_rounds=n_rounds, **settings)


@pytest.fixture(scope="session")
def people():
    rng, n = np.random.default_rng(0), 180
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "hours": rng.normal(40, 9, n).round(),
            "job": pd.Series(rng.choice(["clerk", "cook", "nurse", "pilot"], n), dtype=object),
            "city": pd.Categorical(rng.choice(["Bonn", "Lyon", "Oslo"], n)),
            "member": rng.random(n) < 0.4,
        }
    )
    frame.loc[rng.random(n) < 0.1, "hours"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame


@pytest.fixture(scope="session")
def income(people):
    rng = np.random.default_rng(1)
    pay = 0.08 * (people.age - 45) + 3 * (people.job == "pilot") + people.member
    return np.where(pay + 0.5 * rng.logistic(size=len(people)) > 1, "rich", "poor")


@pytest.fixture(scope="session")
def model(people, income):
    return boost(n_rounds=8).fit(people, income)


@pytest.fixture
def no_window():
    """Draw into memory."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
