"""The generated task of many columns: what it promises of shape, seeds, kinds and classes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from edgewise import AdaBoostMH
from edgewise.data import CategoricalColumn, as_table

PATH = Path(__file__).parents[2] / "benchmarks" / "_wide.py"
SPEC = importlib.util.spec_from_file_location("_wide", PATH)
_wide = sys.modules["_wide"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(_wide)
make_wide, WideTable = _wide.make_wide, _wide.WideTable

SMALL = {"n_numeric": 150, "n_categorical": 20, "informative": 30, "redundant": 20}


@pytest.fixture(scope="module")
def task():
    return make_wide(3000, 2000, **SMALL)


def test_the_default_shape_is_that_of_the_kdd_cup():
    task = make_wide(200, 100)
    assert task.X_train.shape == (200, 15_000)
    assert task.X_test.shape == (100, 15_000)
    assert len(task.informative) == 300
    categorical = [
        isinstance(task.X_train.column(j), CategoricalColumn) for j in (0, 14_739, 14_740, 14_999)
    ]
    assert categorical == [False, False, True, True]


def test_the_same_seed_gives_the_same_task_and_another_seed_another(task):
    again = make_wide(3000, 2000, **SMALL)
    other = make_wide(3000, 2000, random_state=1, **SMALL)
    np.testing.assert_array_equal(task.X_train.array(), again.X_train.array())
    np.testing.assert_array_equal(task.y_test, again.y_test)
    assert task.informative == again.informative
    assert task.informative != other.informative
    assert not np.array_equal(task.y_train, other.y_train)


@pytest.mark.parametrize("width", [1, 7, 64, 1000])
def test_columns_are_the_same_whatever_the_block_and_whatever_was_made_before(task, width):
    recipe = task.X_train._recipe
    table = WideTable(recipe, 0, 3000, width)
    whole = task.X_train.array()
    np.testing.assert_array_equal(table.array(100, 160), whole[:, 100:160])
    for j, column in enumerate(table.columns()):
        if isinstance(column, CategoricalColumn):
            present = column.codes < column.missing_code
            np.testing.assert_array_equal(column.codes[present], whole[present, j])
            assert list(column.categories) == sorted(column.categories)
        else:
            np.testing.assert_array_equal(column.values, whole[:, j])


def test_training_rows_do_not_depend_on_the_test_rows(task):
    alone = make_wide(3000, 0, **SMALL)
    np.testing.assert_array_equal(alone.X_train.array(0, 40), task.X_train.array(0, 40))
    np.testing.assert_array_equal(alone.y_train, task.y_train)
    assert alone.X_test.n_rows == len(alone.y_test) == 0


def test_missing_values_have_their_share(task):
    shares = np.isnan(task.X_train.array()).mean(axis=0)
    assert abs(shares.mean() - 0.02) < 0.002
    assert shares.max() < 0.04
    assert not np.isnan(make_wide(500, 0, missing=0.0, **SMALL).X_train.array()).any()


def test_columns_are_of_many_kinds(task):
    numeric = task.X_train.array(0, 150)
    sizes = np.array([len(np.unique(c[~np.isnan(c)])) for c in numeric.T])
    zeros = (numeric == 0).mean(axis=0)
    assert (sizes == 1).sum() >= 1
    assert (zeros > 0.5).sum() >= 20
    assert (sizes > 2000).sum() >= 40
    assert np.isfinite(numeric[~np.isnan(numeric)]).all()


def test_positives_are_few_and_classes_follow_their_probabilities(task):
    y, p = np.r_[task.y_train, task.y_test], np.r_[task.p_train, task.p_test]
    assert abs(y.mean() - 0.1) < 0.02
    assert abs(y.mean() - p.mean()) < 0.02
    assert 0.85 < roc_auc_score(y, p) < 0.96


def test_informative_columns_tell_of_the_class_and_others_do_not(task):
    def part(columns):
        return task.X_train.array()[:, columns], task.X_test.array()[:, columns]

    informative = part(list(task.informative))
    followers = task.X_train._recipe._chosen[1]
    plain = [j for j in range(150) if j not in task.informative and j not in followers]
    aucs = []
    for train, test in (informative, part(plain)):
        model = AdaBoostMH("stump", n_rounds=60, random_state=0).fit(train, task.y_train)
        aucs.append(roc_auc_score(task.y_test, model.decision_function(test)))
    assert aucs[0] > 0.7
    assert abs(aucs[1] - 0.5) < 0.06


def test_redundant_columns_follow_an_informative_one():
    task = make_wide(2000, 0, missing=0.0, **SMALL)
    values = task.X_train.array()
    for j, leader in list(task.X_train._recipe._chosen[1].items())[:10]:
        assert leader in task.informative
        latent = [task.X_train._recipe._latent(c, 0, 2000) for c in (j, leader)]
        assert abs(np.corrcoef(latent)[0, 1] - 0.8) < 0.05
        assert len(values[:, j]) == 2000


def test_a_model_trains_on_it_and_predicts(task):
    model = AdaBoostMH("stump", n_rounds=40, random_state=0).fit(task.X_train, task.y_train)
    assert roc_auc_score(task.y_test, model.decision_function(task.X_test)) > 0.65
    assert as_table(task.X_train).name(0) == "Var1"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows must be an integer of at least 1"),
        ({"informative": 171}, "informative must be an integer from 1 to 170"),
        ({"redundant": 150}, "informative \\+ redundant must be at most"),
        ({"missing": 1.0}, "missing must be a number above 0 and below 1"),
        ({"positives": 0.0}, "positives must be a number above 0 and below 1"),
        ({"signal": -1.0}, "signal must be a positive number"),
    ],
)
def test_wrong_settings_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_wide(**{"n_rows": 100, "n_test": 10, **SMALL, **wrong})
