"""Bad input: an error that names the argument, before any work is done."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from edgewise import AdaBoostMH, Best, Indicator, Lazy, Product, Selector, Stump, Tree

from ..helpers import cases

N = 30
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.arange(N) % 3
LABELS = (X > 0).astype(int)


def with_value(array, value, dtype=float):
    changed = array.astype(dtype)
    changed[3] = value
    return changed


def frame(**columns):
    return pd.DataFrame({"a": X[:, 0], **columns})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.empty((0, 3)), r"X has 0 sample"),
        (np.empty((N, 0)), r"X has 0 feature"),
        (pd.DataFrame({"a": []}), r"X has 0 sample"),
        (sparse.csr_matrix((0, 3)), r"X has 0 sample|Found array with 0 sample"),
        (with_value(X, np.inf), r"X has an infinite value in column 'x0'"),
        (with_value(X, -np.inf), r"X has an infinite value in column 'x0'"),
        (sparse.csr_matrix(with_value(X, np.inf)), r"X has an infinite value in column 'x0'"),
        (frame(b=with_value(X[:, 1], np.inf)), r"X has an infinite value in column 'b'"),
        (frame(b=["u", 1] * (N // 2)), r"X has column 'b' of mixed types"),
        (frame(b=[(1,), 2.0] * (N // 2)), r"X has column 'b' of mixed types"),
        (frame(b=pd.date_range("2020-01-01", periods=N)), r"X has column 'b' of type"),
        (X[:, 0], r"Expected 2D array"),
        (X + 1j, r"Complex data"),
        (X[:-1], r"X and y must have the same number of rows.*\[29, 30\]"),
    ],
)  # fmt: skip
def test_bad_rows(table, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostMH(n_rounds=2).fit(table, Y[: len(X)] if table.shape[0] else Y[:0])


@pytest.mark.parametrize(
    "table",
    [
        frame(b=["u", "v"] * (N // 2)),
        frame(b=pd.Categorical([1, 2] * (N // 2))),
        pl.DataFrame({"b": ["u", "v", "w"] * (N // 3)}),
    ],
    ids=["strings", "categories", "polars"],
)
@pytest.mark.parametrize("learner", [Stump(), [Stump()], Product(Stump()), Tree(Stump())], ids=repr)
def test_categorical_columns_that_a_learner_cannot_use(table, learner):
    message = r"categorical column 'b'.*Indicator"
    with pytest.raises(ValueError, match=message):
        AdaBoostMH(learner, n_rounds=2).fit(table, Y)
    assert AdaBoostMH(n_rounds=2).fit(table, Y).n_rounds_ == 2


@pytest.mark.parametrize(
    "learner", [Indicator(), Selector(), Product(Indicator()), Tree(Selector())], ids=repr
)
def test_numeric_columns_that_a_learner_cannot_use(learner):
    table = frame(b=["u", "v"] * (N // 2))
    with pytest.raises(ValueError, match=r"numeric column 'a'.*Stump"):
        AdaBoostMH(learner, n_rounds=2).fit(table, Y)
    categorical = AdaBoostMH(learner, n_rounds=2, categorical_features=["a"]).fit(table, Y)
    assert categorical.n_rounds_ == 2


def test_a_declared_categorical_column_is_categorical():
    with pytest.raises(ValueError, match=r"categorical column 'x1'"):
        AdaBoostMH(Stump(), preset="paper", n_rounds=2, categorical_features=[1]).fit(X, Y)


def test_an_array_of_mixed_objects():
    mixed = X.astype(object)
    mixed[4, 1] = "many"
    with pytest.raises(ValueError, match=r"many"):
        AdaBoostMH(n_rounds=2).fit(mixed, Y)


def test_columns_of_the_same_name():
    with pytest.raises(ValueError, match=r"\bX\b.*'a'|'a'.*\bX\b"):
        AdaBoostMH(n_rounds=2).fit(pd.DataFrame(X, columns=["a", "a", "b"]), Y)


@pytest.mark.parametrize(
    "targets",
    [
        None,
        with_value(Y, np.nan),
        with_value(Y, np.inf),
        with_value(Y, None, object),
        with_value(Y.astype(str), None, object),
        with_value(Y.astype(str), np.nan, object),
        with_value(LABELS, np.nan),
        pd.Series(Y, dtype="Int64").where(Y > 0),
        pd.Series(Y.astype(str), dtype="string").where(Y > 0),
        np.zeros(N),
        ["only"] * N,
        Y[:-1],
        np.column_stack([Y, Y]),
        LABELS + 1,
        with_value(Y, "x", object),
    ],
    ids=["none", "nan", "inf", "None", "None in strings", "nan in strings", "nan in labels",
         "missing Int64", "missing string", "one class", "one name", "short", "two columns",
         "labels of 1 and 2", "mixed types"],
)  # fmt: skip
def test_bad_targets(targets):
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        AdaBoostMH(n_rounds=2).fit(X, targets)


def test_continuous_targets():
    with pytest.raises(ValueError, match=r"[Uu]nknown label type: continuous"):
        AdaBoostMH(n_rounds=2).fit(X, X[:, 0])


def test_one_class_among_the_rows_of_positive_weight():
    with pytest.raises(ValueError, match=r"only one class.*sample_weight"):
        AdaBoostMH(n_rounds=2).fit(X, Y, sample_weight=(Y == 1))


@pytest.mark.parametrize(
    "weights",
    [
        with_value(np.ones(N), -1.0),
        with_value(np.ones(N), np.nan),
        with_value(np.ones(N), np.inf),
        np.zeros(N),
        np.ones(N - 1),
        np.ones((N, 2)),
        [None] * N,
        ["heavy"] * N,
        0.0,
        -1.0,
    ],
    ids=["negative", "nan", "inf", "zeros", "short", "matrix", "None", "strings", "0", "-1"],
)
def test_bad_sample_weight(weights):
    with pytest.raises((ValueError, TypeError), match=r"sample_weight"):
        AdaBoostMH(n_rounds=2).fit(X, Y, sample_weight=weights)


WRONG_TYPE = {
    "learner": [3, None, Stump, Lazy(), [Stump(), 3]],
    "search": [3, Lazy, Stump()],
    "n_rounds": [2.0, "3", True, [5]],
    "loss": [3],
    "learning_rate": ["fast", True, [0.1]],
    "subsample": ["half", True, [0.5]],
    "categorical_features": [3, "x0", [1.0], [None], [True]],
    "factorized": [1, "yes", None],
    "class_weight": [3, [1.0, 2.0, 3.0]],
    "validation_fraction": ["half", [0.1], True],
    "early_stopping_rounds": [2.0, "3", True],
    "time_limit": ["long", True],
    "max_bins": [16.0, "16", True],
    "n_jobs": ["two", 1.5],
    "random_state": ["abc", 1.5],
    "verbose": ["loud", [1]],
    "callbacks": [3, "bar", [print]],
    "warm_start": [1, "yes", None],
}
WRONG_VALUE = {
    "learner": ["twig", "", ["twig"], Best(["twig"]), Product("twig"), Tree("twig")],
    "search": ["random", "Exhaustive"],
    "n_rounds": [0, -1],
    "votes": ["hard", 3, "Discrete"],
    "loss": ["hinge", "Logistic"],
    "learning_rate": [0.0, -0.1, 1.5, np.nan, np.inf],
    "subsample": [0.0, -0.5, 1.01, np.nan],
    "categorical_features": [["x0"], [3], [-1]],
    "init_weights": [
        "even", None, np.ones((N, 2)), np.ones((N - 1, 3)), -np.ones((N, 3)), np.zeros((N, 3)),
        np.full((N, 3), np.nan), [["a"] * 3] * N,
    ],
    "class_weight": ["even", {7: 1.0}, {0: -1.0}, {0: np.nan}, {0: 0, 1: 0, 2: 0}, {0: "heavy"}],
    "validation_fraction": [0.0, 1.0, -0.5, np.nan, 1e-6],
    "early_stopping_rounds": [0, -3],
    "eval_metric": ["auc", 3],
    "time_limit": [0.0, -1.0, np.nan],
    "max_bins": [1, 0, 65_536],
    "handle_infinite": ["drop", None, 3],
    "n_jobs": [0],
    "random_state": [-1],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), cases(WRONG_TYPE) + cases(WRONG_VALUE))
def test_a_setting_of_the_wrong_type_or_value(name, value):
    others = {"validation_fraction": 0.2} if name == "early_stopping_rounds" else {}
    model = AdaBoostMH(**{"n_rounds": 2, **others, name: value})
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        model.fit(X, Y)
    assert not hasattr(model, "terms_")


@pytest.mark.parametrize("value", [3, "even", [{}], [1, 2, 3], [{1: -1.0}, {}, {}], {0: 1.0}])
def test_class_weight_of_labels(value):
    with pytest.raises((ValueError, TypeError), match=r"class_weight"):
        AdaBoostMH(n_rounds=2, class_weight=value).fit(X, LABELS)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["classes", "labels"])
def test_class_weight_is_looked_at_before_the_columns(y):
    with pytest.raises(ValueError, match="class_weight"):
        AdaBoostMH(class_weight="even").fit(with_value(X, np.inf), y)


@pytest.mark.parametrize(
    "y",
    [[["a", "b"], ["c"]], [{"a"}, {"b", "c"}], pd.Series([["a"], ["b", "c"]]), [[0, 1], [2]]],
    ids=["lists", "sets", "a series", "numbers"],
)
def test_lists_of_labels_are_refused_with_advice(y):
    with pytest.raises((ValueError, TypeError), match=r"\by\b.*MultiLabelBinarizer"):
        AdaBoostMH().fit(X[:2], y)


@pytest.mark.parametrize("k", [0, -1, 2.0, "all", None, True])
def test_settings_of_a_search(k):
    with pytest.raises((ValueError, TypeError), match=r"\bk\b"):
        AdaBoostMH(n_rounds=2, search=Lazy(k)).fit(X, Y)


@pytest.mark.parametrize("constant", [1, "yes", None])
def test_settings_of_a_learner(constant):
    for learner in (
        Stump(constant),
        [Stump(constant)],
        Product(Stump(constant)),
        Tree(Stump(constant)),
    ):
        with pytest.raises(TypeError, match=r"constant"):
            AdaBoostMH(learner, n_rounds=2).fit(X, Y)


@pytest.mark.parametrize(
    "learner", [Product(), Tree(), Product(Stump(), n_terms=1), "product", "tree"]
)
def test_a_rule_for_each_class_wants_stumps(learner):
    with pytest.raises(ValueError, match=r"learner.*factorized=False"):
        AdaBoostMH(learner, n_rounds=2, factorized=False).fit(X, Y)


def test_initial_weights_only_where_rows_are_absent():
    matrix = np.zeros((N, 3))
    matrix[0] = 1.0
    weights = np.ones(N)
    weights[0] = 0.0
    with pytest.raises(ValueError, match=r"init_weights"):
        AdaBoostMH(n_rounds=2, init_weights=matrix).fit(X, Y, sample_weight=weights)


def test_max_bins_at_its_limits():
    for max_bins in (2, 65_535):
        assert AdaBoostMH(n_rounds=2, max_bins=max_bins).fit(X, Y).n_rounds_ == 2


def test_an_unknown_backend(monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", "fortran")
    with pytest.raises(ValueError, match=r"EDGEWISE_BACKEND"):
        AdaBoostMH(n_rounds=2).fit(X, Y)


@pytest.fixture(scope="module")
def fitted():
    return AdaBoostMH(n_rounds=5).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)


METHODS = ["predict", "predict_proba", "decision_function", "staged_predict"]


@pytest.mark.parametrize("method", METHODS)
def test_prediction_wants_the_same_columns(fitted, method):
    def ask(table):
        result = getattr(fitted, method)(table)
        return list(result) if method == "staged_predict" else result

    with pytest.raises(ValueError, match=r"feature names should match"):
        ask(pd.DataFrame(X, columns=["a", "b", "d"]))
    with pytest.raises(ValueError, match=r"feature names should match|same order"):
        ask(pd.DataFrame(X, columns=["b", "a", "c"])[["b", "a", "c"]])
    with pytest.raises(ValueError, match=r"2 features.*expecting 3|feature names should match"):
        ask(pd.DataFrame(X[:, :2], columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"4 features.*expecting 3"):
        ask(np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"X has 0 sample"):
        ask(np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"X has an infinite value in column"):
        ask(pd.DataFrame(with_value(X, np.inf), columns=["a", "b", "c"]))


def test_prediction_wants_numbers_where_training_had_numbers(fitted):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": str})
    model = AdaBoostMH(n_rounds=20).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.raises(ValueError, match=r"X has categories in column 'a'"):
        model.predict(table)


def test_an_untrained_model_says_so():
    from sklearn.exceptions import NotFittedError

    model = AdaBoostMH()
    for call in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        list(model.staged_predict(X))
    with pytest.raises(NotFittedError):
        model.explain()
    with pytest.raises(NotFittedError):
        model.save("nowhere")
    with pytest.raises(NotFittedError):
        model.margins(X, Y)
    assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize(
    ("infinite", "same_as"), [("missing", np.nan), ("value", 1e300)], ids=["missing", "value"]
)
def test_infinite_numbers_by_choice(infinite, same_as):
    marked = np.where(X > 1.0, np.inf, X)
    model = AdaBoostMH(n_rounds=10, handle_infinite=infinite).fit(marked, Y)
    replaced = AdaBoostMH(n_rounds=10).fit(np.where(X > 1.0, same_as, X), Y)
    assert np.isinf(marked).any()
    np.testing.assert_array_equal(model.fitted_.terms.columns, replaced.fitted_.terms.columns)
    np.testing.assert_array_equal(model.fitted_.terms.alphas, replaced.fitted_.terms.alphas)
    np.testing.assert_array_equal(
        model.predict(marked), replaced.predict(np.where(X > 1.0, same_as, X))
    )


BAD_EVAL_SETS = {
    "unknown class": ((X, Y + 1), r"eval_set has the class .*3"),
    "other type": ((X, Y.astype(str)), r"eval_set has the class"),
    "missing class": ((X, with_value(Y, np.nan)), r"eval_set"),
    "more columns": ((np.ones((5, 4)), Y[:5]), r"eval_set has 4 columns, training had 3"),
    "lengths": ((X, Y[:-1]), r"eval_set has 29 targets"),
    "one array": (X, r"eval_set must be a tuple"),
    "triple": ((X, Y, Y), r"eval_set must be a tuple"),
    "empty": ((X[:0], Y[:0]), r"eval_set: X has 0 sample"),
    "strings": ((X.astype(str), Y), r"eval_set: X holds strings"),
}


@pytest.mark.parametrize("case", BAD_EVAL_SETS)
def test_bad_eval_set(case):
    eval_set, message = BAD_EVAL_SETS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        AdaBoostMH(n_rounds=2).fit(X, Y, eval_set=eval_set)


def test_an_eval_set_with_other_names():
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"eval_set has the column 'd'"):
        AdaBoostMH(n_rounds=2).fit(named, Y, eval_set=(named.set_axis(["a", "b", "d"], axis=1), Y))
    with pytest.raises(ValueError, match=r"eval_set has the column"):
        AdaBoostMH(n_rounds=2).fit(named, Y, eval_set=(named[["b", "a", "c"]], Y))


def test_a_single_eval_set_may_stand_in_a_list():
    paired = AdaBoostMH(n_rounds=3).fit(X, Y, eval_set=(X, Y))
    listed = AdaBoostMH(n_rounds=3).fit(X, Y, eval_set=[(X, Y)])
    np.testing.assert_array_equal(paired.history_["validation"], listed.history_["validation"])


@pytest.mark.parametrize("bad", [LABELS[:, :2], LABELS * 2, with_value(LABELS, np.nan)])
def test_bad_eval_set_of_labels(bad):
    with pytest.raises(ValueError, match=r"eval_set"):
        AdaBoostMH(n_rounds=2).fit(X, LABELS, eval_set=(X, bad))


def test_two_kinds_of_validation_rows():
    with pytest.raises(ValueError, match=r"validation_fraction or eval_set"):
        AdaBoostMH(n_rounds=2, validation_fraction=0.2).fit(X, Y, eval_set=(X, Y))


def test_patience_without_validation_rows():
    with pytest.raises(ValueError, match=r"early_stopping_rounds needs"):
        AdaBoostMH(n_rounds=2, early_stopping_rounds=3).fit(X, Y)


def test_errors_say_what_came_and_what_would_be_right():
    with pytest.raises(ValueError, match=re.escape("max_bins must be an integer from 2 to 65535")):
        AdaBoostMH(max_bins=70_000).fit(X, Y)
    with pytest.raises(ValueError, match=r"votes must be one of 'discrete', .* got 'hard'"):
        AdaBoostMH(votes="hard").fit(X, Y)


def test_early_stopping_per_class_needs_validation_rows():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 3
    model = AdaBoostMH(factorized=False, preset="paper", early_stopping_rounds=3)
    with pytest.raises(ValueError, match="early_stopping_rounds"):
        model.fit(X, y)
    assert model.fit(X, y, eval_set=(X, y)).n_rounds_ > 0
