"""What scikit-learn draws and measures of a trained model."""

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    roc_auc_score,
)
from sklearn.model_selection import LearningCurveDisplay, ValidationCurveDisplay
from sklearn.utils import estimator_html_repr

from edgewise import RankBoost

from .conftest import NUMBERS, boost

pytestmark = pytest.mark.usefixtures("no_window")


def test_permuted_columns_that_matter_cost_accuracy(people, income, model):
    result = permutation_importance(model, people, income, n_repeats=2, random_state=0)
    shares = dict(zip(people.columns, result.importances_mean, strict=True))
    assert sorted(shares, key=shares.get)[-2:] == ["job", "age"]
    # A column that no rule asks about costs nothing.
    unused = [name for name, share in zip(
        people.columns, model.feature_importances_, strict=True) if share == 0]  # fmt: skip
    assert all(shares[name] == 0 for name in unused)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_of_a_polars_frame_are_permuted_too(people, income, model):
    given = {"n_repeats": 2, "random_state": 0}
    result = permutation_importance(model, pl.from_pandas(people), income, **given)
    expected = permutation_importance(model, people, income, **given)
    np.testing.assert_allclose(result.importances, expected.importances)


def test_a_ranker_has_permutation_importances(people, income):
    X = people[NUMBERS]
    ranker = RankBoost(n_rounds=4).fit(X, income == "rich")
    result = permutation_importance(ranker, X, income == "rich", n_repeats=2, random_state=0)
    assert result.importances_mean.argmax() == 0


def test_partial_dependence_of_stumps_is_the_curve_of_the_explanation(people, model):
    rows = people.dropna()
    result = partial_dependence(
        model, rows, ["age"], response_method="decision_function", grid_resolution=5
    )
    assert np.ptp(result["average"]) > 0.5
    shown = model.explain().curve("age")(result["grid_values"][0])[:, 0]
    np.testing.assert_allclose(np.diff(result["average"][0]), np.diff(shown), atol=1e-9)


def test_partial_dependence_is_drawn(people, model):
    rows = people.dropna()
    drawn = PartialDependenceDisplay.from_estimator(
        model, rows, ["age", "job", ("age", "hours")], categorical_features=["job", "city"],
        grid_resolution=4,
    )  # fmt: skip
    assert drawn.axes_.size == 3
    both = PartialDependenceDisplay.from_estimator(
        model, rows[:20], ["age"], kind="both", grid_resolution=4
    )
    assert both.lines_.shape == (1, 1, 21)


def test_curves_are_drawn(people, income):
    drawn = LearningCurveDisplay.from_estimator(
        boost(), people, income, cv=2, train_sizes=[0.5, 1.0]
    )
    assert drawn.test_scores.shape == (2, 2)
    ValidationCurveDisplay.from_estimator(
        boost(), people, income, param_name="n_rounds", param_range=[1, 4], cv=2
    )


def test_the_quality_of_predictions_is_drawn(people, income, model):
    roc = RocCurveDisplay.from_estimator(model, people, income)
    assert roc.roc_auc == pytest.approx(
        roc_auc_score(income == "rich", model.decision_function(people))
    )
    matrix = ConfusionMatrixDisplay.from_estimator(model, people, income).confusion_matrix
    assert np.trace(matrix) / matrix.sum() == pytest.approx(model.score(people, income))
    PrecisionRecallDisplay.from_estimator(model, people, income)
    CalibrationDisplay.from_estimator(model, people, income, n_bins=3)


@pytest.mark.parametrize("response", ["predict", "predict_proba", "decision_function"])
def test_boundaries_are_drawn(people, income, response):
    X = people[NUMBERS].fillna(40)
    drawn = DecisionBoundaryDisplay.from_estimator(
        boost().fit(X, income), X, response_method=response, grid_resolution=6
    )
    assert drawn.response.shape == (6, 6)


def test_an_estimator_shows_itself(model):
    page = estimator_html_repr(model)
    assert "AdaBoostMH" in page
    assert "n_rounds" in page
    shown = "AdaBoostMH(learner='stump', n_rounds=8, preset='paper')"
    assert repr(boost(n_rounds=8)) == repr(model) == shown


def test_scores_are_the_sum_of_contributions(people, model):
    # What people expect of SHAP: a bias and one number for each column and pair.
    row = people.dropna()[:1]
    explained = model.explain(row, people).of("rich")
    total = sum(part.amount for part in explained.contributions)
    assert total == pytest.approx(model.decision_function(row)[0])
    assert explained.bias == pytest.approx(model.decision_function(people).mean())
    assert explained.shapley_values.shape == (5, 1)
