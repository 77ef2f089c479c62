"""Bad input of a ranker: an error that names the argument, before any work is done."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from edgewise import (
    AdaBoostMH,
    Feature,
    Haar,
    Indicator,
    Lazy,
    Product,
    RankBoost,
    Stump,
    Tree,
)

from ..helpers import cases

N = 30
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.arange(N) % 3
QID = np.arange(N) // 6
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
WORDS = FRAME.assign(b=pd.Categorical(list("uvw") * 10))


def with_value(array, value, dtype=float):
    changed = np.asarray(array).astype(dtype)
    changed[3] = value
    return changed


def refuses(message, call, *arguments, **more):
    with pytest.raises((ValueError, TypeError), match=message):
        call(*arguments, **more)


# Grades and queries


@pytest.mark.parametrize(
    "grades",
    [
        None, with_value(Y, np.nan), with_value(Y, np.inf), with_value(Y, -np.inf),
        with_value(Y, None, object), Y.astype(str), np.column_stack([Y, Y]), [], 3,
        with_value(Y, "high", object), Y + 1j, [[1]] * N,
    ],
    ids=["None", "nan", "inf", "-inf", "None inside", "words", "two columns", "empty", "number",
         "mixed", "complex", "nested"],
)  # fmt: skip
def test_bad_grades(grades):
    refuses(r"\by\b", RankBoost(n_rounds=2).fit, X, grades, None)


def test_grades_of_other_rows():
    refuses(r"X and y.*\[30, 29\]", RankBoost(n_rounds=2).fit, X, Y[:-1], QID[:-1])
    refuses(r"X and y.*\[29, 30\]", RankBoost(n_rounds=2).fit, X[:-1], Y, QID)


@pytest.mark.parametrize(
    "queries",
    [
        QID[:-1], np.append(QID, 0), with_value(QID, np.nan), with_value(QID, None, object),
        np.column_stack([QID, QID]), 3, ["q", *QID[1:].tolist()],
        pd.Series(QID, dtype="Int64").where(QID > 0), [None] * N,
    ],
    ids=["short", "long", "nan", "None", "two columns", "number", "mixed", "missing", "all None"],
)  # fmt: skip
def test_bad_queries(queries):
    refuses(r"\bqid\b", RankBoost(n_rounds=2).fit, X, Y, queries)


@pytest.mark.parametrize(
    ("grades", "queries"), [(np.zeros(N), None), (QID, QID), (Y, np.arange(N))]
)
def test_no_pairs_at_all(grades, queries):
    refuses(r"\by must have two documents", RankBoost(n_rounds=2).fit, X, grades, queries)


def test_no_pairs_among_the_rows_that_count():
    weights = (Y == 1).astype(float)
    refuses(r"\by must have two documents", RankBoost().fit, X, Y, QID, sample_weight=weights)


@pytest.mark.parametrize(
    "weights",
    [
        with_value(np.ones(N), -1.0), with_value(np.ones(N), np.nan),
        with_value(np.ones(N), np.inf), np.zeros(N), np.ones(N - 1), np.ones((N, 2)), [None] * N,
        ["heavy"] * N, 0.0, -1.0,
        np.zeros(5), [1.0, np.nan, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0, 1.0], np.ones(4),
        {0: 1.0}, dict.fromkeys(range(5), np.nan), dict.fromkeys(range(5), "heavy"), {},
        dict.fromkeys("01234", 1.0),
    ],
    ids=["negative", "nan", "inf", "zeros", "short", "matrix", "None", "words", "0", "-1",
         "zero queries", "nan query", "negative query", "four queries", "one query", "nan dict",
         "word dict", "empty dict", "other ids"],
)  # fmt: skip
def test_bad_sample_weight(weights):
    refuses(r"sample_weight", RankBoost(n_rounds=2).fit, X, Y, QID, sample_weight=weights)


# Pairs


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], r"pairs must have at least one"),
        (np.empty((0, 2), int), r"pairs must have at least one"),
        ([0, 1], r"pairs must be integers"),
        ([[0, 1, 2]], r"pairs must be integers"),
        ([[0.0, 1.0]], r"pairs must be integers"),
        ([["a", "b"]], r"pairs must be integers"),
        ([[True, False]], r"pairs must be integers"),
        ([[0, N]], r"pairs must be rows of X"),
        ([[-1, 2]], r"pairs must be rows of X"),
        ([[0, 1], [4, 4]], r"pairs must be of two different rows"),
        ([[0, 1], [1, 0]], r"pairs.*cancel"),
        (None, r"\bpairs\b"),
        ({(0, 1)}, r"\bpairs\b"),
    ],
    ids=["empty", "no rows", "flat", "triple", "floats", "words", "flags", "past the end",
         "negative", "the same", "canceling", "None", "set"],
)  # fmt: skip
def test_bad_pairs(pairs, message):
    refuses(message, RankBoost(n_rounds=2).fit_pairs, X, pairs)


@pytest.mark.parametrize(
    "weights",
    [
        [1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 2.0]], 2.0, [None, 1.0], [0.0, 0.0],
        ["heavy", "light"],
        {0: 1.0},
    ],
    ids=["short", "nan", "inf", "matrix", "number", "None", "zeros", "words", "dict"],
)  # fmt: skip
def test_bad_weights_of_pairs(weights):
    refuses(r"\bweights\b", RankBoost().fit_pairs, X, [[0, 1], [2, 3]], weights)


def test_pairs_cannot_be_split_for_validation():
    model = RankBoost(n_rounds=2, validation_fraction=0.5)
    refuses(r"validation_fraction.*eval_set", model.fit_pairs, X, [[0, 1]])


# Settings


WRONG = {
    "learner": [3, None, Stump, Lazy(), "twig", "", ["twig"], [], Product("twig"), Tree(3)],
    "search": [3, None, Lazy, "random"],
    "preset": ["papers", None, 3],
    "n_rounds": [2.0, "3", True, 0, -1],
    "criterion": ["gain", None, 3, ["edge"]],
    "step": ["long", 3, ["exact"]],
    "learning_rate": ["fast", True, 0.0, -0.1, 1.5, np.nan, None],
    "monotonic_cst": [None, 3, "up", [1, 0], [1, 0, 2], [1, 0, np.nan], np.ones((3, 1)),
                      ["a", "b", "c"],
                 {"z": 1}, {"x0": 2}, {"x0": "up"}],
    "pair_weight": ["root", None, 3, ["equal"]],
    "query_weight": ["sum", None, 3, []],
    "subsample": ["half", None, True, 0.0, 1.01, np.nan],
    "validation_fraction": ["half", True, 0.0, 1.0, np.nan, 1e-6],
    "early_stopping_rounds": [2.0, "3", True, 0],
    "time_limit": ["long", True, 0.0, -1.0, np.nan],
    "max_bins": [16.0, "16", True, 1, 65_536],
    "handle_infinite": ["drop", None, 3],
    "categorical_features": [3, "x0", [1.0], [None], ["x9"], [3], [-1]],
    "n_jobs": ["two", 1.5, 0],
    "random_state": ["abc", 1.5, -1],
    "verbose": ["loud", [1]],
    "callbacks": [3, "bar", [print]],
    "warm_start": [1, "yes", None],
    "missing": [2, -1, "abstain", 0.5, True, False, [1], None],
    "eval_metric": ["accuracy", None, 3, "precision", "map@0", "ndcg@0"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    cases(WRONG),
)
def test_a_wrong_setting(name, value):
    others = {"validation_fraction": 0.2} if name == "early_stopping_rounds" else {}
    model = RankBoost(**{"n_rounds": 2, **others, name: value})
    refuses(rf"\b{name}\b", model.fit, X, Y, QID)
    refuses(rf"\b{name}\b", model.fit_pairs, X, [[0, 1], [2, 3]])
    assert not hasattr(model, "terms_")


def test_settings_that_do_not_go_together():
    def fit(table=X, **options):
        RankBoost(n_rounds=2, **options).fit(table, Y, QID)

    for learner in (Stump(), [Stump()], Product(Stump()), Feature()):
        refuses(r"missing='low'", fit, learner=learner, missing="low")
    for learner in ("product", "tree", "feature", Product(Stump()), [Stump(), Stump()]):
        refuses(r"criterion='energy' needs", fit, learner=learner, criterion="energy")
    refuses(r"criterion='energy' needs .* numeric columns only", fit, WORDS, criterion="energy")
    abstaining = Stump(missing="abstain")
    refuses(r"criterion='energy' .*abstain", fit, learner=abstaining, criterion="energy")
    refuses(r"base of a Product must", fit, learner=Product(Feature()))
    refuses(r"base of a Tree must", fit, learner=Tree(Feature()))
    for learner in ("product", Tree(Product(Stump())), "feature"):
        for monotonic_cst in ("increasing", [1, 0, -1], {"x0": 1}):
            refuses(
                r"monotonic_cst=.*thresholds", fit, learner=learner, monotonic_cst=monotonic_cst
            )
    refuses(r"early_stopping_rounds needs", fit, early_stopping_rounds=3)
    refuses(
        r"validation_fraction or eval_set",
        RankBoost(validation_fraction=0.5).fit, X, Y, QID, eval_set=(X, Y, QID),
    )  # fmt: skip


def test_columns_that_a_learner_cannot_use():
    refuses(r"categorical column 'b'", RankBoost(Stump()).fit, WORDS, Y, QID)
    refuses(r"'b' of X is categorical", RankBoost("feature").fit, WORDS, Y, QID)
    refuses(r"numeric column 'a'", RankBoost(Indicator()).fit, WORDS, Y, QID)


@pytest.mark.parametrize("learner", [Haar((1, 3)), Product(Haar((1, 3))), [Stump(), Haar((1, 3))]])
def test_image_filters_can_be_rules_of_a_ranker(learner):
    model = RankBoost(learner, n_rounds=5).fit(X, Y, QID, eval_set=(X, Y, QID))
    assert model.n_rounds_ == 5
    refuses(r"shape", RankBoost(Haar((2, 2)), n_rounds=2).fit, X, Y, QID)


def test_a_feature_is_no_rule_of_a_classifier():
    for votes in ("discrete", "real"):
        refuses(r"Feature|learner", AdaBoostMH(Feature(), votes=votes).fit, X, Y)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.inf, r"X has an infinite value in column 'x0'"), ("many", r"many|\bX\b")],
)
def test_bad_rows(value, message):
    refuses(message, RankBoost(n_rounds=2).fit, with_value(X, value, object), Y, QID)
    refuses(message, RankBoost(n_rounds=2).fit_pairs, with_value(X, value, object), [[0, 1]])


def test_no_rows_or_columns():
    refuses(r"X has 0 sample", RankBoost().fit, np.empty((0, 3)), [], [])
    refuses(r"X has 0 feature", RankBoost().fit, np.empty((N, 0)), Y, QID)
    refuses(r"Expected 2D array", RankBoost().fit, X[:, 0], Y, QID)


# Validation


@pytest.mark.parametrize(
    ("eval_set", "message"),
    [
        (X, r"eval_set must be a tuple"),
        ((X,), r"eval_set must be a tuple"),
        ((X, Y, QID, Y), r"eval_set must be a tuple"),
        ((X[:, :2], Y, QID), r"eval_set has 2 columns, training had 3"),
        ((X, Y[:-1], QID[:-1]), r"eval_set has 30 rows and 29 grades"),
        ((X, Y, QID[:-1]), r"eval_set: qid"),
        ((X, with_value(Y, np.nan), QID), r"eval_set: y"),
        ((X, Y.astype(str), QID), r"eval_set: y"),
        ((X[:0], Y[:0], QID[:0]), r"X has 0 sample"),
    ],
    ids=["array", "alone", "four", "columns", "grades", "queries", "nan", "words", "empty"],
)
def test_bad_eval_set(eval_set, message):
    refuses(message, RankBoost(n_rounds=2).fit, X, Y, QID, eval_set=eval_set)
    refuses(message, RankBoost(n_rounds=2).fit_pairs, X, [[0, 1]], eval_set=eval_set)


@pytest.mark.parametrize("names", [["a", "b", "d"], ["b", "a", "c"]])
def test_an_eval_set_with_other_names(names):
    other = (FRAME.set_axis(names, axis=1), Y, QID)
    refuses(r"eval_set", RankBoost(n_rounds=2).fit, FRAME, Y, QID, eval_set=other)


def test_a_single_eval_set_may_stand_in_a_list():
    paired = RankBoost(n_rounds=3).fit(X, Y, QID, eval_set=(X, Y, QID))
    listed = RankBoost(n_rounds=3).fit(X, Y, QID, eval_set=[(X, Y, QID)])
    np.testing.assert_array_equal(paired.history_["validation"], listed.history_["validation"])


def test_a_metric_that_is_not_a_number():
    model = RankBoost(n_rounds=3, eval_metric=lambda grades, scores, queries: np.nan)
    refuses(r"eval_metric.*NaN", model.fit, X, Y, QID, eval_set=(X, Y, QID))


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_a_split_that_leaves_nothing(fraction):
    model = RankBoost(n_rounds=2, validation_fraction=fraction)
    refuses(r"validation_fraction=.*queries", model.fit, X, Y, QID)


# Prediction


def test_an_untrained_model_says_so():
    model = RankBoost()
    for call in (model.predict, model.rank):
        with pytest.raises(NotFittedError):
            call(X)
    for call in (lambda: list(model.staged_predict(X)), lambda: model.score(X, Y, QID)):
        with pytest.raises(NotFittedError):
            call()
    for call in (model.explain, model.rules, lambda: model.save("nowhere")):
        with pytest.raises(NotFittedError):
            call()
    assert not hasattr(model, "feature_importances_")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_prediction_wants_the_same_columns():
    model = RankBoost(n_rounds=3).fit(FRAME, Y, QID)
    for call in (model.predict, model.rank, lambda table: list(model.staged_predict(table))):
        refuses(r"feature names should match", call, FRAME.set_axis(["a", "b", "d"], axis=1))
        refuses(r"feature names should match|same order", call, FRAME[["b", "a", "c"]])
        refuses(r"4 features.*expecting 3", call, np.ones((2, 4)))
        refuses(r"X has 0 sample", call, np.empty((0, 3)))
        refuses(r"X has an infinite value", call, FRAME.assign(a=np.inf))


def test_ranking_wants_a_query_for_each_row():
    model = RankBoost(n_rounds=3).fit(X, Y, QID)
    refuses(r"qid must have an id for each of the 30 rows, got 29", model.rank, X, QID[:-1])
    refuses(r"qid|scores", model.score, X, Y, QID[:-1])
    refuses(r"\by\b|scores", model.score, X, Y[:-1], QID[:-1])


# A fit that fails


BAD_FITS = {
    "grades": lambda model: model.fit(X, Y[:-1], QID),
    "queries": lambda model: model.fit(X, Y, QID[:-1]),
    "fewer columns": lambda model: model.fit(X[:, :2], np.zeros(N), QID),
    "weights": lambda model: model.fit(X, Y, QID, sample_weight=np.zeros(N)),
    "pairs": lambda model: model.fit_pairs(X[:, :2], [[0, 0]]),
    "setting": lambda model: model.set_params(n_rounds=-1).fit(X, Y, QID),
    "criterion": lambda model: model.set_params(learner="tree", criterion="energy").fit(X, Y, QID),
    "monotonic_cst": lambda model: model.set_params(monotonic_cst=[1]).fit(X, Y, QID),
    "eval_set": lambda model: model.fit(X[:, :2], Y, QID, eval_set=(X, Y, QID)),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("case", BAD_FITS)
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fit_that_fails_leaves_the_model_as_it_was(case, warm_start):
    model = RankBoost(n_rounds=5, warm_start=warm_start).fit(FRAME, Y, QID)
    before, scores, history = dict(vars(model)), model.predict(FRAME), model.history_.to_array()
    refuses(r".", BAD_FITS[case], model)
    fitted = {name for name in before if name.endswith("_") or name.startswith("_")}
    assert all(vars(model)[name] is before[name] for name in fitted)
    assert set(vars(model)) == set(before)
    np.testing.assert_array_equal(model.predict(FRAME), scores)
    np.testing.assert_array_equal(model.history_.to_array(), history)
