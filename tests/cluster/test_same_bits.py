"""The model that several processes train together is the one of all rows in one place."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.cluster.helpers import fit_together, together

from edgewise import (
    AdaBoostMH,
    Additive,
    Haar,
    Indicator,
    Product,
    RankBoost,
    Selector,
    Stump,
    Tree,
)
from edgewise.cluster import rows_here
from edgewise.estimators import candidates, classification

N = 240


def table(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 1] = np.round(2 * X[:, 1])
    X[rng.random(N) < 0.1, 2] = np.nan
    return X


X = table()
BINARY = (X[:, 0] + X[:, 1] + 0.3 * X[:, 3] > 0).astype(int)
CLASSES = np.array(["low", "middle", "high"])[BINARY + (X[:, 3] > 0.8)]
LABELS = np.stack([BINARY, X[:, 3] > 0, X[:, 0] > X[:, 4]], axis=1).astype(int)
WEIGHTS = np.random.default_rng(1).integers(0, 4, N) / 3
FRAME = pd.DataFrame(X, columns=list("abcde"))
FRAME["town"] = np.random.default_rng(2).choice(["Ulm", "Bonn", "Jena", "Trier", None], N)
FRAME["size"] = pd.Categorical(np.where(X[:, 4] > 0, "large", "small"))
SPARSE = sparse.csr_array(np.where(np.abs(X) > 1, np.nan_to_num(X), 0.0))
IMAGES = np.random.default_rng(3).integers(0, 256, (N, 36)).astype(np.uint8)


def contents(model, path):
    model.save(path)
    return path.read_bytes()


def check(tmp_path, model, X, sizes=(2,), cuts=None, **arrays):
    given = {name: values for name, values in arrays.items() if name != "eval_set"}
    alone = model().fit(X, eval_set=arrays.get("eval_set"), **given)
    expected = contents(alone, tmp_path / "alone.edgewise")
    for size in sizes:
        for rank, result in enumerate(fit_together(model, X, size, cuts=cuts, **arrays)):
            same = contents(result, tmp_path / f"{rank}.edgewise") == expected
            assert same, f"process {rank} of {size} has another model"
    return alone


LEARNERS = {
    "stump": "stump",
    "product": "product",
    "tree": "tree",
    "free tree": Tree(Stump(), 5, "free"),
    "gain tree": Tree(Stump(), 5, "free", "gain"),
    "tree of products": Tree(Product(Stump(), 2), 3),
    "additive": "additive",
    "few terms": Additive(max_terms=3),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_learners(tmp_path, learner):
    check(tmp_path, lambda: AdaBoostMH(learner, n_rounds=5), X, y=CLASSES)


@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_votes_and_losses(tmp_path, votes, loss):
    check(tmp_path, lambda: AdaBoostMH("stump", votes=votes, loss=loss, n_rounds=5), X, y=CLASSES)


@pytest.mark.parametrize("y", [BINARY, CLASSES], ids=["two", "three"])
def test_the_default(tmp_path, monkeypatch, y):
    monkeypatch.setattr(classification, "MAX_ROUNDS", 40)
    check(tmp_path, lambda: AdaBoostMH(random_state=0), X, (3,), y=y)


SETTINGS = {
    "softmax": {"loss": "softmax", "votes": "real"},
    "per class": {"factorized": False},
    "subsample": {"subsample": 0.4, "random_state": 5},
    "hardly a row": {"subsample": 0.002},
    "by weight": {"subsample": 0.3, "sampling": "weight"},
    "trimmed": {"trim": 0.8, "n_rounds": 40},
    "balanced": {"class_weight": "balanced"},
    "leaves": {"learner": "tree", "min_samples_leaf": 9, "min_weight_fraction_leaf": 0.05},
    "damped": {"learner": "tree", "votes": "real", "damping": 2.0, "learning_rate": 0.3},
    "few bins": {"max_bins": 5},
    "lazy": {"search": "lazy"},
    "bandit": {"search": "ucb"},
    "exp3": {"search": "exp3p"},
    "thompson": {"search": "thompson"},
    "held out": {"validation_fraction": 0.25, "early_stopping_rounds": 4, "n_rounds": 60},
    "area": {"validation_fraction": 0.25, "eval_metric": ["log_loss", "error"]},
    "stopped": {"learner": "tree", "n_rounds": "auto", "validation_fraction": 0.2},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(tmp_path, name):
    given = {"learner": "stump", "n_rounds": 8, "random_state": 0} | SETTINGS[name]
    weights = WEIGHTS if len(name) % 2 else None
    check(tmp_path, lambda: AdaBoostMH(**given), X, y=CLASSES, sample_weight=weights)


@pytest.mark.parametrize("learner", ["auto", "additive", "tree"])
@pytest.mark.parametrize("y", [BINARY, LABELS], ids=["two", "labels"])
def test_constraints(tmp_path, learner, y):
    given = {"monotonic_cst": {"a": 1, "b": -1}, "ignored_features": ["d", "town"]}
    given |= {"interaction_cst": [["a", "b"], ["a", "size"]], "n_rounds": 8, "random_state": 0}
    check(tmp_path, lambda: AdaBoostMH(learner, **given), FRAME, y=y)


@pytest.mark.parametrize(
    "learner",
    ["stump", "tree", "auto", Indicator(), Selector(), Product(Indicator(rare=3), 2)],
    ids=str,
)
def test_categories(tmp_path, learner):
    given = FRAME if isinstance(learner, str) else FRAME[["town", "size"]]
    model = lambda: AdaBoostMH(learner, n_rounds=8, random_state=0)  # noqa: E731
    check(tmp_path, model, given, y=CLASSES)


def test_a_partition_without_a_value_of_a_column(tmp_path):
    frame = FRAME.copy()
    frame.loc[: N // 2, "town"] = None
    frame.loc[N // 2 :, "a"] = np.nan
    check(tmp_path, lambda: AdaBoostMH("tree", n_rounds=8), frame, (4,), y=CLASSES)


@pytest.mark.parametrize("learner", ["stump", "product", "auto"])
def test_sparse_rows(tmp_path, learner):
    model = lambda: AdaBoostMH(learner, n_rounds=8, random_state=0)  # noqa: E731
    check(tmp_path, model, SPARSE, y=LABELS)


def test_image_filters(tmp_path):
    check(tmp_path, lambda: AdaBoostMH(Haar((6, 6)), n_rounds=4), IMAGES, (4,), y=CLASSES)


def test_initial_weights(tmp_path):
    start = np.random.default_rng(4).random((N, 3))

    def model(part=start):
        return AdaBoostMH("stump", n_rounds=5, init_weights=part)

    alone = model().fit(X, CLASSES)
    # A matrix of weights has the rows of its process, like y.
    halves = np.split(start, [N // 2])

    def run(collective):
        own = slice(0, N // 2) if collective.rank == 0 else slice(N // 2, N)
        return model(halves[collective.rank]).fit(rows_here([X[own]], collective), CLASSES[own])

    for result in together(2, run):
        assert result.fitted_.terms.alphas.tolist() == alone.fitted_.terms.alphas.tolist()
        assert result.predict_proba(X).tolist() == alone.predict_proba(X).tolist()


def test_eval_sets(tmp_path):
    other = table(7)[:50]
    target = CLASSES[:50]
    model = lambda: AdaBoostMH("tree", n_rounds=40, early_stopping_rounds=3)  # noqa: E731
    check(tmp_path, model, X, (4,), y=CLASSES, eval_set=(other, target))


def test_few_rows_leave_processes_without_any(tmp_path):
    rows = [0, 1, 2, 3, 5, 8, 13, 21]
    model = lambda: AdaBoostMH("tree", n_rounds=5, validation_fraction=0.3)  # noqa: E731
    check(tmp_path, model, X[rows], (4,), y=BINARY[rows] | (np.arange(8) % 2))
    check(tmp_path, AdaBoostMH, X[rows], (4,), y=BINARY[rows] | (np.arange(8) % 2))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("name", ["trimmed", "by weight"])
def test_a_process_without_a_row_of_the_round(tmp_path, monkeypatch, name, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    settings, few = {"n_rounds": 20, "random_state": 0} | SETTINGS[name], [N - 3, N - 2, N - 1]
    # The process with two rows has none when they are not drawn, or have small weights.
    for learner in ("stump", Tree(Stump(), 4, "free")):
        check(tmp_path, lambda: AdaBoostMH(learner, **settings), X, (2,), few, y=CLASSES)  # noqa: B023


@pytest.mark.parametrize("learner", ["product", "auto"])
def test_compiled(tmp_path, monkeypatch, learner):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    # The first child compiles, the next two read what it compiled.
    model = lambda: AdaBoostMH(learner, n_rounds=5, random_state=0)  # noqa: E731
    check(tmp_path, model, X, (1, 2), y=CLASSES)


def test_weights_from_the_scores_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr("edgewise.boosting.loop.REFRESH_EVERY", 3)
    check(tmp_path, lambda: AdaBoostMH("stump", n_rounds=8), X, (3,), y=CLASSES)


def test_bins_of_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("edgewise.data.bins._SAMPLE", 100)
    monkeypatch.setattr("edgewise.data.bins._SAMPLE_PER_BIN", 1)
    check(tmp_path, lambda: AdaBoostMH("stump", n_rounds=20, max_bins=8), X, (4,), y=CLASSES)


QUERY = np.sort(np.random.default_rng(5).integers(0, 12, N))
WHOLE_QUERIES = np.flatnonzero(np.diff(QUERY)) + 1
GRADES = np.clip(np.round(X[:, 0] + X[:, 3] + 1), 0, 3)
RANKERS = {
    "stump": {},
    "tree": {"learner": "tree"},
    "product": {"learner": "product"},
    "feature": {"learner": "feature"},
    "energy": {"criterion": "energy"},
    "exact": {"step": "exact"},
    "differences": {"pair_weight": "difference", "query_weight": "equal"},
    "increasing": {"monotonic_cst": "increasing"},
    "some queries": {"subsample": 0.5, "random_state": 3},
    "held out": {"validation_fraction": 0.3, "early_stopping_rounds": 3, "random_state": 0},
    "missing": {"missing": "low"},
    "top": {"objective": "ndcg@5"},
    "top of trees": {"objective": "map", "learner": "tree", "subsample": 0.7, "random_state": 0},
}


@pytest.mark.parametrize("name", RANKERS)
def test_rankers(tmp_path, name):
    model = lambda: RankBoost(**{"n_rounds": 5, **RANKERS[name]})  # noqa: E731
    arrays = {"y": GRADES, "qid": QUERY, "sample_weight": WEIGHTS if len(name) % 2 else None}
    check(tmp_path, model, X, (3,), WHOLE_QUERIES, **arrays)


def test_the_default_ranker(tmp_path, monkeypatch):
    by_size = candidates._candidates_by_size
    monkeypatch.setattr(
        candidates,
        "_candidates_by_size",
        lambda n_rows: [candidate._replace(max_rounds=5) for candidate in by_size(n_rows)],
    )
    queries = np.arange(N) // 8
    cuts, arrays = np.arange(8, N, 8), {"y": GRADES, "qid": queries}
    alone = check(tmp_path, lambda: RankBoost(random_state=0), X, (2,), cuts, **arrays)
    assert len(alone.settings_.compared) == 4


def test_rankers_with_an_eval_set(tmp_path):
    other, lists = table(8)[:60], np.arange(60) % 5
    model = lambda: RankBoost(n_rounds=30, early_stopping_rounds=3)  # noqa: E731
    grades = np.clip(np.round(other[:, 0] + 1), 0, 2)
    arrays = {"y": GRADES, "qid": QUERY, "eval_set": (other, grades, lists)}
    check(tmp_path, model, X, (4,), WHOLE_QUERIES, **arrays)


def test_a_query_at_two_processes_is_refused():
    with pytest.raises(ValueError, match="query 0 are at several processes"):
        fit_together(lambda: RankBoost(n_rounds=2), X, 2, 2, y=GRADES, qid=np.zeros(N, int))


@pytest.mark.parametrize("others", [np.array(["a", "b"]), np.ones((2, 3), dtype=int)])
def test_targets_of_two_kinds_are_refused(others):
    def run(collective):
        rows = rows_here([X[:2]], collective)
        return AdaBoostMH("stump").fit(rows, others if collective.rank else np.array([0, 1]))

    with pytest.raises(ValueError, match=r"^y .*all partitions"):
        together(2, run)
