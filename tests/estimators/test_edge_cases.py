"""Problems at the edge: nothing to learn, too little, or everything at once."""

import numpy as np
import pytest
from scipy import sparse

from edgewise import AdaBoostMH, Stump

VOTES = ["discrete", "real", "abstain"]


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("factorized", [True, False])
@pytest.mark.parametrize("counts", [(30, 10), (30, 15, 5)])
def test_constant_columns_only(votes, factorized, counts):
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.full((len(y), 2), 4.0)
    model = AdaBoostMH(
        "stump", preset="paper", n_rounds=20, votes=votes, factorized=factorized
    ).fit(X, y)
    assert (model.predict(X) == 0).all()
    assert len(model.fitted_.terms.columns) == 0
    assert model.feature_importances_.tolist() == [0.0, 0.0]
    assert model.history_["train_error"][-1] == pytest.approx(1 - counts[0] / len(y))


@pytest.mark.parametrize(
    ("learner", "factorized"),
    [("stump", True), ("stump", False), ("product", True), ("tree", True)],
)
def test_no_edge_at_all(learner, factorized, tmp_path):
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    model = AdaBoostMH(learner, n_rounds=20, factorized=factorized).fit(X, y)
    assert model.stop_reason_ == "no edge"
    assert model.n_rounds_ == 0
    assert model.decision_function(X).tolist() == [0.0] * 20
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert list(model.staged_predict(X)) == []
    assert model.margins(X, y).tolist() == [0.0] * 20
    assert len(model.explain()) == 0
    assert model.feature_importances_.tolist() == [0.0]


def test_no_constant_and_nothing_to_cut():
    X, y = np.zeros((20, 1)), np.repeat([0, 1], [15, 5])
    model = AdaBoostMH(Stump(constant=False), preset="paper", n_rounds=20).fit(X, y)
    assert (model.n_rounds_, model.stop_reason_) == (0, "no edge")


@pytest.mark.parametrize("shares", [(20, 80), (5, 15, 80)])
@pytest.mark.parametrize("loss", [None, "exponential", "logistic", "softmax"])
def test_the_default_predicts_the_class_priors_where_no_column_tells_anything(loss, shares):
    y = np.repeat(np.arange(len(shares)), shares)
    X = np.ones((100, 2))
    model = AdaBoostMH(n_rounds=5, loss=loss).fit(X, y)
    priors = np.array(shares) / 100
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], priors, atol=0.002)
    assert (model.predict(X) == len(shares) - 1).all()
    assert (AdaBoostMH(loss=loss).fit(X, y).predict(X) == len(shares) - 1).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_without_rounds_explains_its_rows(n_classes):
    X, y = np.ones((6 * n_classes, 2)), np.arange(6 * n_classes) % n_classes
    model = AdaBoostMH().fit(X, y)
    assert model.n_rounds_ == 0
    for background in (None, X):
        why = model.explain(X[:1], background)
        assert why.names == ("bias",)
        assert (why.scores == 0).all()
        assert (why.shapley_values == 0).all()


@pytest.mark.parametrize("kind", ["array", "csr"])
def test_a_column_that_is_always_missing(kind, same_terms):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(60, np.nan), rng.normal(size=60), np.full(60, np.nan)])
    y = (X[:, 1] > 0).astype(int)
    model = AdaBoostMH("stump", preset="paper", n_rounds=10).fit(
        sparse.csr_matrix(X) if kind == "csr" else X, y
    )
    assert model.score(X, y) == 1.0
    assert set(model.fitted_.terms.columns) <= {1}
    alone = AdaBoostMH("stump", preset="paper", n_rounds=10).fit(X[:, 1:2], y)
    np.testing.assert_array_equal(model.fitted_.terms.alphas, alone.fitted_.terms.alphas)


def test_columns_that_are_always_missing_only():
    X, y = np.full((40, 2), np.nan), np.repeat([0, 1], [30, 10])
    model = AdaBoostMH(n_rounds=5).fit(X, y)
    assert (model.predict(X) == 0).all()
    without = AdaBoostMH(Stump(constant=False), preset="paper", n_rounds=5).fit(X, y)
    # A cut that no training row can feel is the constant, which was not allowed.
    assert without.n_rounds_ == 0


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_single_row_of_each_class(votes, n_classes):
    X = np.arange(n_classes, dtype=float)[:, None]
    y = np.arange(n_classes)
    model = AdaBoostMH(n_rounds=200, votes=votes).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert np.isfinite(model.fitted_.terms.coefficients).all()


def test_two_rows_of_one_column():
    model = AdaBoostMH("stump", preset="paper", n_rounds=1).fit([[1.0], [2.0]], ["low", "high"])
    assert model.predict([[0.0], [1.49], [1.5], [9.0]]).tolist() == ["low", "low", "high", "high"]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_two_hundred_classes_of_two_rows(monkeypatch, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(200, 12))
    y = np.repeat(np.arange(200), 2)
    X = centers[y] + 0.01 * rng.normal(size=(400, 12))
    model = AdaBoostMH("stump", preset="paper", n_rounds=60, votes="real").fit(X, y)
    assert model.decision_function(X).shape == (400, 200)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factorized", [True, False])
def test_separable_rows_give_finite_coefficients(votes, n_classes, factorized):
    X = np.arange(40.0)[:, None]
    y = np.arange(40) * n_classes // 40
    model = AdaBoostMH(
        "stump", preset="paper", n_rounds=300, votes=votes, factorized=factorized
    ).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.fitted_.terms.coefficients).all()
    assert (model.fitted_.terms.alphas > 0).all()
    energies = model.history_["energy"]
    assert ((energies > 0) & (energies < 1)).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert (np.diff(model.history_["bound"]) <= 0).all()


def test_a_perfect_first_cut_is_kept_by_all_vote_rules():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    for votes in VOTES:
        model = AdaBoostMH("stump", preset="paper", n_rounds=1, votes=votes).fit(X, y)
        assert model.history_["edge"].tolist() == [1.0]
        assert model.predict(X).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("value", [1e308, 5e-324, 1e-300])
def test_extreme_values(value):
    X = np.array([[-value], [0.0], [value]] * 4)
    y = np.array([0, 1, 2] * 4)
    model = AdaBoostMH(n_rounds=60).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert not np.isnan(model.fitted_.terms.thresholds).any()


def test_neighboring_floats_are_told_apart():
    low = 1.0
    high = np.nextafter(low, 2.0)
    model = AdaBoostMH(n_rounds=1).fit([[low], [high]] * 3, [0, 1] * 3)
    assert model.predict([[low], [high]]).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32, bool])
def test_columns_of_any_number_type(dtype, same_terms):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 50, (80, 3)).astype(dtype)
    y = X.astype(int).sum(axis=1) % 2
    same_terms(AdaBoostMH(n_rounds=10).fit(X, y), AdaBoostMH(n_rounds=10).fit(X.astype(float), y))


@pytest.mark.parametrize("max_bins", [256, 257, 300, 65_535])
def test_more_bins_than_a_byte_holds(max_bins):
    X = np.arange(600.0)[:, None]
    y = (X[:, 0] >= 417).astype(int)
    model = AdaBoostMH("stump", preset="paper", n_rounds=1, max_bins=max_bins).fit(X, y)
    wrong = (model.predict(X) != y).sum()
    assert wrong == 0 if max_bins >= 600 else wrong <= 3
