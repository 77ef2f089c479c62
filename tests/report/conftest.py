"""Small models and their pages, made once."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Additive, ItemKNN, RankBoost, Ratings

NASTY = '</script><img src=x onerror="alert(1)">'


@pytest.fixture(scope="session")
def people():
    """Return a frame with numbers, categories and gaps, and classes of which one is markup."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 240).astype(float)
    city = rng.choice(["Ávila", "Oslo", NASTY], 240)
    income = 100 * age + 900 * (city == "Oslo") + rng.normal(0, 900, 240)
    frame = pd.DataFrame({"age": np.where(rng.random(240) < 0.1, np.nan, age), "city": city})
    frame[NASTY] = rng.normal(size=240)
    kind = np.where(income > 5600, "rich", np.where(income > 4000, NASTY, "poor"))
    return frame, kind


@pytest.fixture(scope="session")
def classifier(people):
    X, y = people
    model = AdaBoostMH("stump", preset="paper", n_rounds=30)
    model.fit(X[:160], y[:160], eval_set=(X[160:], y[160:]))
    return model, X[160:], y[160:]


@pytest.fixture(scope="session")
def classes_page(classifier):
    model, X, y = classifier
    return model.report(X, y, title=NASTY)


@pytest.fixture(scope="session")
def additive(people):
    """Return an additive model with standard errors and a pair."""
    X, y = people
    model = AdaBoostMH(Additive(max_pairs=3), n_rounds="auto", random_state=0)
    return model.fit(X[:200], y[:200]), X[200:], y[200:]


@pytest.fixture(scope="session")
def terms_page(additive):
    model, X, y = additive
    return model.report(X, y)


@pytest.fixture(scope="session")
def tagger():
    """Return a model of three labels, and rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    Y = (X[:, :3] + 0.5 * rng.normal(size=(150, 3)) > 0.3).astype(int)
    model = AdaBoostMH("tree", n_rounds=10).fit(X[:100], Y[:100])
    return model, X[100:], Y[100:]


@pytest.fixture(scope="session")
def labels_page(tagger):
    model, X, Y = tagger
    return model.report(X, Y)


@pytest.fixture(scope="session")
def documents():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"bm25": rng.gamma(4, 2, 300), "links": rng.poisson(3, 300)})
    grade = np.clip((X.bm25 + X.links + rng.normal(0, 3, 300) - 8) // 4, 0, 2).astype(int)
    return X, grade.to_numpy(), np.repeat(np.arange(30), 10)


@pytest.fixture(scope="session")
def ranker(documents):
    X, y, qid = documents
    return RankBoost(n_rounds=25).fit(X[:200], y[:200], qid=qid[:200])


@pytest.fixture(scope="session")
def ranking_page(ranker, documents):
    X, y, qid = documents
    return ranker.report(X[200:], y[200:], qid=qid[200:])


@pytest.fixture(scope="session")
def stars():
    """Return ratings to train on and to test on."""
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 30, 500), rng.integers(0, 25, 500)
    _, first = np.unique(users * 25 + items, return_index=True)
    users, items = users[first], items[first]
    values = np.clip(
        3 + (users % 3 - 1) * (items % 2 * 2 - 1) + rng.integers(-1, 2, len(users)), 1, 5
    )
    return Ratings.from_arrays(users, items, values).split(0.25, random_state=0)


@pytest.fixture(scope="session")
def recommender(stars):
    return ItemKNN().fit(stars.train)


@pytest.fixture(scope="session")
def ratings_page(recommender, stars):
    return recommender.report(stars.test, names={7: NASTY, 8: "Heat"})
