"""Rules searched on the heaviest weights, or on rows drawn by weight; steps taken on all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from edgewise import AdaBoostMH, Haar, Indicator, Lazy, Product, Selector, Stump, Tree, load
from edgewise.objective import trimming
from edgewise.objective.trimming import HeaviestWeights

from ..helpers import assert_same_run

LEARNERS = {
    "stump": {"learner": "stump"},
    "abstaining stump": {"learner": Stump(missing="abstain"), "votes": "abstain"},
    "stump per class": {"learner": "stump", "factorized": False},
    "product": {"learner": "product"},
    "tree": {"learner": Tree(max_leaf_nodes=5)},
    "free leaves": {"learner": Tree(max_leaf_nodes=5, leaf_votes="free")},
    "real tree": {
        "learner": Tree(max_leaf_nodes=5, leaf_votes="free", criterion="gain"), "votes": "real",
        "loss": "logistic", "learning_rate": 0.3,
    },
    "auto": {"learner": "auto"},
    "list": {"learner": [Stump(), Product(n_terms=2)]},
}  # fmt: skip


def numbers(seed=0, n=160, d=6):
    """Return columns of numbers: dense, mostly one value, with missing values, of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(n) < 0.7, 1] = 0.0
    X[rng.random(n) < 0.2, 2] = np.nan
    X[:, 3] = rng.integers(4, size=n)
    return X


def classes(k, seed=0, n=160):
    X = numbers(seed, n)
    rng = np.random.default_rng(seed + 1)
    score = X[:, 0] + X[:, 1] + 0.5 * X[:, 3] + 0.3 * rng.normal(size=n)
    return X, np.argsort(np.argsort(score)) * k // n


def labels(seed=0):
    X = numbers(seed)
    return X, np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 4] > 0.5, X[:, 5] > X[:, 0]]).astype(int)


def categorical(seed=0):
    rng = np.random.default_rng(seed)
    X, y = classes(3, seed)
    names = np.array(list("abcdefgh"))
    color = names[(y + rng.integers(6, size=160)) % 8].astype(object)
    color[rng.random(160) < 0.1] = None
    return pd.DataFrame({"x": X[:, 0], "color": color, "kind": names[rng.integers(8, size=160)]}), y


@pytest.fixture
def backend(monkeypatch):
    return lambda name: monkeypatch.setenv("EDGEWISE_BACKEND", name)


@pytest.fixture(params=["rows", "entries"])
def eager(monkeypatch, request):
    """Look for a part in every round and take it whatever it saves: of rows, or of entries."""
    monkeypatch.setattr(trimming, "_TRY_EVERY", 1)
    monkeypatch.setattr(trimming, "_MAX_COST", 1e12)
    monkeypatch.setattr(
        trimming, "_MIN_LANES_FOR_ENTRIES", 1 if request.param == "entries" else 10**9
    )
    monkeypatch.setattr(trimming, "_ROW_COST", 1e9)
    return request.param


class Shares(list):
    """The shares of the weight that rounds searched, and whether any searched single entries."""

    entries = False


@pytest.fixture
def shares(monkeypatch):
    shares = Shares()
    select = HeaviestWeights.select

    def watched(self, backend, problem, t):
        kernels, selected = select(self, backend, problem, t)
        shares.append(int(selected.signed_masses.sum()) / int(problem.signed_masses.sum()))
        shares.entries |= getattr(self._part, "_chosen", None) is not None
        return kernels, selected

    monkeypatch.setattr(HeaviestWeights, "select", watched)
    return shares


def both(backend, X, y, weights=None, **settings):
    """Return the model, after a look that the other kernels and more threads give the same."""
    models = []
    for name, n_jobs in (("numpy", 1), ("numba", 1), ("numba", 4)):
        backend(name)
        model = AdaBoostMH(n_jobs=n_jobs, random_state=0, **settings)
        models.append(model.fit(X, y, sample_weight=weights))
    assert_same_run(models[0], models[1])
    assert_same_run(models[0], models[2])
    return models[0]


# Rows of unequal weight, so that the first round leaves some out.
UNEQUAL = np.random.default_rng(9).random(160) ** 3 + 0.01


# The same model with either kind of kernels


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("kind", ["2 classes", "10 classes", "labels"])
def test_reference(backend, eager, shares, learner, kind):
    X, y = labels() if kind == "labels" else classes(int(kind.split()[0]))
    model = both(backend, X, y, UNEQUAL, trim=0.8, n_rounds=8, **learner)
    assert 0.8 <= min(shares) < 1.0
    assert shares.entries == (eager == "entries")
    assert (model.history_["hamming_loss"] <= model.history_["bound"] + 1e-12).all()
    assert ((model.history_["saved"] >= 0) & (model.history_["saved"] <= 1)).all()


@pytest.mark.parametrize("learner", ["stump", "product", "auto"])
def test_reference_with_many_classes(backend, eager, shares, learner):
    X, y = classes(60, n=300)
    weights = np.random.default_rng(9).random(300) ** 3 + 0.01
    both(backend, X, y, weights, learner=learner, trim=0.7, n_rounds=8)
    assert 0.7 <= min(shares) < 1.0
    assert shares.entries == (eager == "entries")


@pytest.mark.parametrize("learner", ["stump", "product", "tree"])
def test_threads_share_the_rows(backend, eager, shares, learner):
    # More than twice 4,096 rows, so that threads share the rows as well as the columns.
    backend("numba")
    X, y = classes(3, n=9001)
    weights = np.random.default_rng(9).random(9001) ** 2 + 0.01
    models = [
        AdaBoostMH(learner, trim=0.97, n_rounds=4, n_jobs=n_jobs).fit(X, y, weights)
        for n_jobs in (1, 2, 3)
    ]
    assert_same_run(models[0], models[1])
    assert_same_run(models[0], models[2])
    assert 0.97 <= min(shares) < 1.0


@pytest.mark.parametrize(
    "learner",
    [
        [Stump(), Indicator()], [Stump(), Selector()], Product(n_terms=2), Tree(max_leaf_nodes=4),
        Tree(max_leaf_nodes=4, criterion="gain"),
    ],
    ids=["indicator", "selector", "product", "tree", "gain"],
)  # fmt: skip
def test_reference_with_categorical_columns(backend, eager, shares, learner):
    both(backend, *categorical(), UNEQUAL, learner=learner, trim=0.8, n_rounds=8)
    assert 0.8 <= min(shares) < 1.0


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_reference_with_sparse_columns(backend, eager, shares, learner):
    rng = np.random.default_rng(0)
    X = sparse.random(160, 12, 0.15, format="csr", random_state=0)
    y = (np.asarray(X.sum(axis=1)).ravel() * 3 + rng.random(160)).astype(int) % 3
    both(backend, X, y, UNEQUAL, learner=learner, trim=0.8, n_rounds=8)
    assert 0.8 <= min(shares) < 1.0


@pytest.mark.parametrize("learner", ["stump", "product", "tree", "auto"])
def test_reference_with_rows_drawn_by_weight(backend, learner):
    for X, y in (classes(2), classes(10), labels()):
        model = both(backend, X, y, learner=learner, subsample=0.4, sampling="weight", n_rounds=8)
        assert (model.history_["hamming_loss"] <= model.history_["bound"] + 1e-12).all()
        assert (model.history_["saved"] >= 0.0).all()


@pytest.mark.parametrize(
    "settings", [{"trim": 0.6}, {"subsample": 0.5, "sampling": "weight"}], ids=str
)
def test_image_filters(backend, monkeypatch, settings):
    monkeypatch.setattr(trimming, "_TRY_EVERY", 1)
    monkeypatch.setattr(trimming, "_MAX_COST", 10.0)
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 16))
    X[:, :4] += y[:, None]
    for learner in (Haar((4, 4)), Product([Haar((4, 4)), Stump()], n_terms=2)):
        both(backend, X, y, learner=learner, search=Lazy(15), n_rounds=6, **settings)


def test_a_thousand_labels(backend, shares):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = (rng.random((300, 1000)) < 0.02).astype(int)
    Y[:2] = [[0], [1]]
    model = both(backend, X, Y, rng.random(300) ** 4 + 0.01, learner="stump", trim=0.6, n_rounds=18)
    assert len(model.classes_) == 1000
    assert 0.6 <= min(shares) < 1.0


# The part of the weight that is searched


@pytest.mark.parametrize("trim", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("k", [2, 10, 60])
def test_no_less_than_the_share_of_the_weight(shares, k, trim):
    X, y = classes(k, n=300)
    AdaBoostMH("stump", preset="paper", trim=trim, n_rounds=60).fit(X, y)
    assert len(shares) == 60
    assert min(shares) >= trim


@pytest.mark.parametrize("learner", ["stump", "product", "tree", "auto"])
def test_the_order_of_the_rows_does_not_matter(eager, shares, learner):
    X, y = classes(4)
    weights = np.random.default_rng(3).random(160) + 0.5
    order = np.random.default_rng(4).permutation(160)
    settings = {"learner": learner, "trim": 0.6, "n_rounds": 10}
    model = AdaBoostMH(**settings).fit(X, y, weights)
    shuffled = AdaBoostMH(**settings).fit(X[order], y[order], weights[order])
    assert_same_run(model, shuffled, ["edge", "energy", "hamming_loss", "saved"])
    assert min(shares) < 1.0


def test_on_equal_weights_nothing_is_left_out():
    X, y = classes(2)
    settings = {"preset": "paper", "n_rounds": 3}
    model = AdaBoostMH(trim=0.999, **settings).fit(X, y)
    assert_same_run(model, AdaBoostMH(**settings).fit(X, y))
    assert (model.history_["saved"] == 0.0).all()


def test_steps_are_exact():
    # The recorded edge and energy are those of the rule on all rows.
    X, y = classes(2, n=300)
    model = AdaBoostMH("stump", preset="paper", trim=0.5, n_rounds=40).fit(X, y)
    assert model.history_["saved"].max() > 0.2
    signs = np.where(y == 1, 1.0, -1.0)
    scores = np.zeros(300)
    energies = []
    for stage in model.staged_decision_function(X):
        before = np.exp(-signs * scores)
        scores = np.asarray(stage).ravel()
        energies.append(np.exp(-signs * scores).sum() / before.sum())
    np.testing.assert_allclose(model.history_["energy"], energies, rtol=1e-8)


def test_trimming_saves_and_learns():
    X, y = classes(3, n=400)
    full = AdaBoostMH("product", preset="paper", n_rounds=150).fit(X, y)
    model = AdaBoostMH("product", preset="paper", n_rounds=150, trim=0.8).fit(X, y)
    assert model.history_["saved"][-50:].min() > 0.3
    assert (full.history_["saved"] == 0.0).all()
    assert model.history_["train_error"][-1] <= full.history_["train_error"][-1] + 0.05


@pytest.mark.parametrize(
    "settings", [{"trim": 0.5}, {"subsample": 0.2, "sampling": "weight"}], ids=str
)
def test_two_halves_are_one_run(settings, tmp_path):
    X, y = classes(10, n=300)
    for learner in ("stump", "product", Tree(max_leaf_nodes=4)):
        options = {"learner": learner, "random_state": 3, **settings}
        full = AdaBoostMH(n_rounds=50, **options).fit(X, y)
        half = AdaBoostMH(n_rounds=23, warm_start=True, **options).fit(X, y)
        half.save(tmp_path / "half")
        loaded = load(tmp_path / "half")
        assert loaded.get_params()["sampling"] == options.get("sampling", "uniform")
        assert loaded.trim == options.get("trim")
        for model in (half, loaded):
            assert_same_run(full, model.set_params(n_rounds=50, warm_start=True).fit(X, y))
    assert full.history_["saved"].max() > 0.2


def test_two_halves_are_one_run_across_a_refresh(monkeypatch):
    monkeypatch.setattr("edgewise.boosting.loop.REFRESH_EVERY", 7)
    X, y = classes(10, n=300)
    options = {"learner": "stump", "trim": 0.5}
    full = AdaBoostMH(n_rounds=40, **options).fit(X, y)
    half = AdaBoostMH(n_rounds=21, warm_start=True, **options).fit(X, y)
    assert_same_run(full, half.set_params(n_rounds=40).fit(X, y))


# Awkward data


def test_columns_without_information(backend, eager):
    X, y = classes(3)
    X = np.column_stack([X, np.ones(160), np.full(160, np.nan)])
    for learner in ("stump", "product", "tree", "auto"):
        both(backend, X, y, learner=learner, trim=0.6, n_rounds=6)
    constant = np.column_stack([np.ones(160), np.full(160, np.nan)])
    model = both(backend, constant, y, learner="stump", trim=0.6, n_rounds=6)
    assert (model.history_["columns"] == 0).all()
    assert (model.history_["saved"] == 0).all()


def test_a_row_of_great_weight(backend, eager, shares):
    X, y = classes(3)
    weights = np.full(160, 1e-6)
    weights[7] = 1e6
    both(backend, X, y, weights, learner="stump", trim=0.9, n_rounds=5)
    assert min(shares) >= 0.9


# Settings


@pytest.mark.parametrize("trim", [0, 1, 1.0, -0.5, 2, float("nan"), "much", True, [0.5]], ids=str)
def test_a_share_that_is_none(trim):
    with pytest.raises((ValueError, TypeError), match="trim must be"):
        AdaBoostMH("stump", preset="paper", trim=trim).fit(*classes(2))


@pytest.mark.parametrize("sampling", ["heavy", None, 1], ids=str)
def test_a_way_to_draw_that_is_none(sampling):
    with pytest.raises((ValueError, TypeError), match="sampling must be"):
        AdaBoostMH("stump", preset="paper", sampling=sampling).fit(*classes(2))


def test_trim_or_subsample():
    with pytest.raises(ValueError, match=r"trim.*subsample"):
        AdaBoostMH("stump", preset="paper", trim=0.9, subsample=0.5).fit(*classes(2))


def test_one_class_is_an_error_as_ever():
    with pytest.raises(ValueError, match="class"):
        AdaBoostMH("stump", preset="paper", trim=0.9).fit(numbers(), np.zeros(160, dtype=int))
