"""The numbers on the page of a classifier are those of the library's own functions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, f1_score

import edgewise
from edgewise import AdaBoostMH
from edgewise.io import Schema
from edgewise.metrics import hamming_loss, log_loss, roc_auc


def block(page, section, kind):
    """Return the first block of a kind in a section, wherever it stands."""

    def search(blocks):
        for item in blocks:
            if item["kind"] == kind:
                return item
            inner = item.get("blocks", []) + [
                b for o in item.get("options", []) for b in o["blocks"]
            ]
            if (result := search(inner)) is not None:
                return result
        return None

    result = search(page.section(section).blocks)
    assert result is not None, (section, kind)
    return result


def tiles(page):
    return {item["name"]: item["value"] for item in block(page, "overview", "tiles")["items"]}


def ids(page):
    return [section.id for section in page.sections]


def test_the_page_has_every_section(classes_page, labels_page):
    expected = ["overview", "data", "training", "mistakes", "threshold", "margins", "calibration",
                "importance", "effects", "rules", "cases"]  # fmt: skip
    assert ids(classes_page) == expected
    assert ids(labels_page) == expected


def test_headline_figures_are_the_metrics(classifier, classes_page):
    model, X, y = classifier
    shown = tiles(classes_page)
    assert shown["Accuracy"] == f"{model.score(X, y):.1%}"
    assert shown["Errors"] == str((model.predict(X) != y).sum())
    codes = np.searchsorted(model.classes_, y)
    assert shown["Log loss"] == f"{log_loss(codes, model.predict_proba(X)):.4f}"


def test_figures_of_labels_are_the_metrics(tagger, labels_page):
    model, X, Y = tagger
    scores, shown = model.decision_function(X), tiles(labels_page)
    assert shown["All labels correct"] == f"{model.score(X, Y):.1%}"
    assert shown["Hamming loss"] == f"{hamming_loss(Y, scores):.4f}"
    areas = [roc_auc(Y[:, k], scores[:, k]) for k in range(3)]
    assert shown["ROC AUC"] == f"{np.mean(areas):.4f}"
    rows = block(labels_page, "mistakes", "table")["rows"]
    f1 = f1_score(Y, model.predict(X), average=None)
    assert [row[4] for row in rows] == [f"{item:.1%}" for item in f1]


def test_the_matrix_counts_true_and_predicted_classes(classifier, classes_page):
    model, X, y = classifier
    counts = block(classes_page, "mistakes", "matrix")["counts"]
    assert np.array_equal(counts, confusion_matrix(y, model.predict(X), labels=model.classes_))


def test_curves_are_the_history(classifier, classes_page):
    model, *_ = classifier
    chart = block(classes_page, "training", "chart")
    lines = {item["name"]: item["y"] for item in chart["series"]}
    assert np.allclose(lines["bound"], model.history_["bound"], rtol=1e-4)
    assert np.allclose(lines["training error"], model.history_["train_error"], rtol=1e-4)
    assert np.allclose(lines["validation error"], model.history_["validation"], rtol=1e-4)


def test_margins_are_the_models(classifier, classes_page):
    model, X, y = classifier
    line = block(classes_page, "margins", "chart")["series"][0]
    assert np.allclose(line["x"][1:], np.sort(model.margins(X, y)), rtol=1e-4)


def test_threshold_bins_hold_every_row_once(classifier, classes_page):
    model, X, y = classifier
    for item in block(classes_page, "threshold", "threshold")["classes"]:
        assert sum(item["positives"]) == (y == item["name"]).sum()
        assert sum(item["positives"]) + sum(item["negatives"]) == len(y)
        k = model.classes_.tolist().index(item["name"])
        assert (
            sum(item["positives"][50:])
            == ((model.predict_proba(X)[:, k] >= 0.5) & (y == item["name"])).sum()
        )


def test_calibration_points_are_means_of_bins(classifier, classes_page):
    model, X, y = classifier
    options = block(classes_page, "calibration", "choice")["options"]
    k = 1 + model.classes_.tolist().index("rich")
    points = options[k]["blocks"][1]["blocks"][0]["series"][1]
    p, truth = model.predict_proba(X)[:, k - 1], y == "rich"
    assert sum(points["n"]) == len(y)
    assert np.dot(points["n"], points["x"]) == pytest.approx(p.sum(), rel=1e-3)
    assert np.dot(points["n"], points["y"]) == pytest.approx(truth.sum(), rel=1e-3)


def test_importances_and_rules_are_the_models(classifier, classes_page):
    model, *_ = classifier
    bars = block(classes_page, "importance", "bars")["items"]
    assert [item["value"] for item in bars] == sorted(model.feature_importances_.tolist())[::-1]
    rules = block(classes_page, "rules", "rules")["items"]
    assert [item["text"] for item in rules] == [rule.text for rule in model.rules(100)]


def test_effects_of_stumps_are_the_curves(classifier, classes_page):
    model, *_ = classifier
    options = block(classes_page, "effects", "choice")["options"]
    chart = next(item["blocks"][0] for item in options if item["name"] == "age")
    curve = model.explain().curve("age")
    for line in chart["series"]:
        k = model.classes_.tolist().index(line["name"])
        exact = curve(np.array(line["x"]))[:, k]
        assert np.allclose(line["y"], exact - exact.mean(), atol=1e-4)


def test_reasons_of_a_case_add_up(classifier, classes_page):
    model, X, y = classifier
    worst = block(classes_page, "cases", "cases")["items"][0]
    row = int(worst["title"].removeprefix("Row ").replace(",", ""))
    scores = dict(zip(model.classes_, model.decision_function(X[row : row + 1])[0], strict=True))
    assert y[row] == worst["true"]
    gap = scores[worst["predicted"]] - scores[worst["true"]]
    assert sum(part["amount"] for part in worst["contributions"]) == pytest.approx(gap)


def test_without_targets_the_page_says_so(classifier):
    model, X, _ = classifier
    page = model.report(X)
    assert ids(page) == ["overview", "data", "training", "importance", "effects", "rules"]
    assert "No targets" in block(page, "overview", "note")["text"]


def test_a_loaded_model_has_the_same_page(classifier, classes_page, tmp_path):
    model, X, y = classifier
    model.save(tmp_path / "model")
    loaded = edgewise.load(tmp_path / "model")
    assert loaded.report(X, y, title=classes_page.title).to_html() == classes_page.to_html()


def test_two_classes_have_one_effect_and_a_threshold_for_both(people):
    X, y = people
    y = np.where(y == "rich", 1, 0)
    page = AdaBoostMH("stump", n_rounds=5).fit(X, y).report(X, y)
    assert "ROC AUC" in tiles(page)
    assert [item["name"] for item in block(page, "threshold", "threshold")["classes"]] == ["1", "0"]
    assert any("as many rows" in b.get("text", "") for b in page.section("overview").blocks)


def test_a_model_of_a_file_tells_its_target_dates_and_columns_left_out():
    days = pd.date_range("2021-01-01", periods=60).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"joined": days, "same": 1, "left": ["no", "yes"] * 30})
    schema = Schema.fit(frame, target="left")
    X, y = schema.transform(frame), schema.labels(frame)
    model = AdaBoostMH("stump", n_rounds=3).fit(X, y)
    model.schema_ = schema
    page = model.report(X, y)
    assert page.title == "Classification report: left"
    left_out = page.section("data").blocks[-1]["rows"]
    assert left_out == [["same", "constant", "the same in every row"]]
    values = {row[0]: row[2] for row in block(page, "data", "table")["rows"]}
    assert values["joined.days"].startswith("2021-01-01 to 2021-03-01")


@pytest.mark.parametrize("X", [[[1.0], [1.0]], [[0.0], [1.0]]])
def test_tiny_models_have_pages(X):
    page = AdaBoostMH("stump", n_rounds=1).fit(X, ["a", "b"]).report(X, ["a", "b"])
    assert page.to_html().startswith("<!DOCTYPE html>")


def test_wrong_arguments_are_named(classifier):
    model, X, y = classifier
    with pytest.raises(ValueError, match="y has 3"):
        model.report(X, y[:3])
    with pytest.raises(ValueError, match="y has the class unheard"):
        model.report(X, ["unheard"] * len(X))
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        model.report(X, y, "nowhere/page.html")
