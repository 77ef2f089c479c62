"""ONNX files: their inputs and outputs, single precision, and what they tell about themselves."""

import json

import numpy as np
import onnx
import onnxruntime
import pandas
import pytest

from edgewise import AdaBoostMH, Haar, Lazy, RankFusion, Stump
from edgewise.fusion import RankedLists
from edgewise.io import Schema

from .programs import (
    assert_same,
    by_onnx,
    classifier,
    mixed,
    near_thresholds,
    numbers,
    onnx_inputs,
    ranker,
    run_onnx,
    targets,
)


@pytest.fixture(scope="module")
def trees():
    rng = np.random.default_rng(0)
    X = mixed(rng, 60)
    return classifier("tree", X, targets(rng, X, "strings")), X


def test_standard_operators_and_a_column_each(trees, tmp_path):
    model, X = trees
    model.export(tmp_path / "m.onnx")
    graph = onnx.load(tmp_path / "m.onnx")
    assert {item.domain for item in graph.opset_import} == {"", "ai.onnx.ml"}
    assert [item.name for item in graph.graph.input] == X.columns.tolist()
    assert [item.name for item in graph.graph.output] == ["label", "probabilities", "scores"]
    told = {item.key: json.loads(item.value) for item in graph.metadata_props}
    assert told["columns"] == X.columns.tolist()
    assert told["classes"] == model.classes_.tolist()
    assert told["categories"]["select"] == ["", "b\nc", "it's", "é"]


@pytest.mark.parametrize("learner", ["stump", "product", "tree"])
def test_single_precision_is_compared_with_the_thresholds_in_double(learner, tmp_path):
    rng = np.random.default_rng(2)
    X = numbers(rng, 60)
    model = classifier(learner, X, targets(rng, X, "ints"))
    single = near_thresholds(rng, model, X).astype(np.float32)
    result = by_onnx(model, single, tmp_path, dtype="float32")
    assert_same(result, model, single)
    assert result.scores.dtype == np.float64
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        run_onnx(tmp_path / "model.onnx", model, X, "float64")


def test_single_precision_of_columns(trees, tmp_path):
    model, X = trees
    single = X.astype(dict.fromkeys(X.columns[:3], np.float32))
    assert_same(by_onnx(model, single, tmp_path, dtype="float32"), model, single)


def test_large_scores_are_precise(tmp_path):
    X = numbers(np.random.default_rng(3), 50)
    model = AdaBoostMH("tree", n_rounds=60).fit(X, np.arange(50) % 7)
    model.fitted_.terms.alphas[:] *= 1000  # as after thousands of rounds
    assert np.abs(model.decision_function(X)).max() > 1000
    assert_same(by_onnx(model, X, tmp_path), model, X, tolerance=1e-7)


def test_columns_named_like_outputs(tmp_path):
    rng = np.random.default_rng(4)
    X = mixed(rng, 60).set_axis(["label", "scores", "constant 0", "", "N"], axis=1)
    model = classifier("tree", X, targets(rng, X, "ints"))
    model.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    inputs = [item.name for item in session.get_inputs()]
    assert inputs == ["label", "scores", "constant 0", "x3", "N"]
    assert [item.name for item in session.get_outputs()] == ["label_", "probabilities", "scores_"]
    given = dict(zip(inputs, onnx_inputs(model, X).values(), strict=True))
    np.testing.assert_allclose(session.run(None, given)[2], model.decision_function(X))


def test_one_row_and_none(tmp_path):
    rng = np.random.default_rng(5)
    X = numbers(rng, 40)
    model = ranker("stump", X, targets(rng, X, "grades"))
    assert_same(by_onnx(model, X[:1], tmp_path), model, X[:1])
    assert len(run_onnx(tmp_path / "model.onnx", model, X[:0]).scores) == 0


@pytest.mark.parametrize("kind", ["ints", "bools", "strings"])
def test_types_of_classes(kind, tmp_path):
    rng = np.random.default_rng(6)
    X = numbers(rng, 60)
    model = classifier("stump", X, targets(rng, X, kind))
    result = by_onnx(model, X, tmp_path).labels
    assert result.dtype == (object if kind == "strings" else model.classes_.dtype)


def test_fused_lists(tmp_path):
    rng = np.random.default_rng(7)
    positions = np.column_stack([rng.permuted(np.arange(1, 31)) for _ in range(2)]).astype(float)
    positions[positions > 25] = np.nan
    lists = RankedLists(positions, qid=np.repeat([1, 2, 3], 10), names=["bm25", "url"])
    model = RankFusion(n_rounds=5).fit(lists, rng.integers(0, 2, 30))
    model.export(tmp_path / "m.onnx")
    result = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": -positions})
    np.testing.assert_allclose(result[0], model.predict(lists), atol=1e-12)
    assert "minus the position" in onnx.load(tmp_path / "m.onnx").doc_string


def test_what_cannot_be_exported(trees, tmp_path, monkeypatch):
    images = np.random.default_rng(8).integers(0, 9, (20, 16))
    haar = AdaBoostMH(Haar(shape=(4, 4)), n_rounds=2, search=Lazy(5)).fit(images, images[:, 0] > 4)
    for ending in ("onnx", "py", "sql"):
        with pytest.raises(ValueError, match=r"Haar filters.*edgewise.predictor"):
            haar.export(tmp_path / f"m.{ending}")
    model, _ = trees
    with pytest.raises(ValueError, match="dtype must be one of 'float64', 'float32'"):
        model.export(tmp_path / "m.onnx", dtype="float16")
    with pytest.raises(ValueError, match=r"path must end in .onnx, .py, .sql, got 'm.txt'"):
        model.export("m.txt")
    with pytest.raises(ValueError, match=r"table is for .sql files"):
        model.export(tmp_path / "m.onnx", table="rows")
    with pytest.raises(ValueError, match="not fitted"):
        AdaBoostMH().export(tmp_path / "m.onnx")
    monkeypatch.setitem(__import__("sys").modules, "edgewise.export.onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'edgewise\[onnx\]'"):
        model.export(tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_schema_says_what_columns_hold(tmp_path):
    days = pandas.date_range("2021-01-01", periods=60, freq="17D").strftime("%Y-%m-%d")
    table = pandas.DataFrame({"joined": days, "age": np.arange(60) % 7, "y": np.arange(60) % 2})
    schema = Schema.fit(table, target="y")
    model = AdaBoostMH(Stump(), n_rounds=3).fit(schema.transform(table), schema.labels(table))
    model.schema_ = schema
    expected = [
        "joined.year: the year of the date joined",
        "joined.month: the month, 1 to 12, of the date joined",
        "joined.weekday: the weekday, 0 for Monday, of the date joined",
        "joined.days: the days from 1 January 1970 on, with fractions, of the date joined",
        "age: number",
    ]
    for ending in ("onnx", "py", "sql"):
        model.export(tmp_path / f"m.{ending}")
    assert onnx.load(tmp_path / "m.onnx").doc_string.splitlines()[1:] == expected
    for ending in ("py", "sql"):
        text = (tmp_path / f"m.{ending}").read_text()
        assert all(line in text for line in expected)
