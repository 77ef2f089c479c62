"""Python modules and SQL queries: what they look like, and how large they may be."""

import ast
import runpy
import sqlite3
import subprocess
import sys

import numpy as np
import pandas
import pytest

from edgewise import AdaBoostMH, Indicator, Product, Stump

from .programs import classifier, mixed, numbers, targets


@pytest.fixture(scope="module")
def fruit():
    X = pandas.DataFrame({
        "size": [8, 3, 1, 3, 4, 8, 5, 1, 4],
        "color": ["green", "blue", "blue", "blue", "red", "blue", "red", "green", "red"],
    })  # fmt: skip
    fate = ["left", "left", "left", "left", "left", "sold", "sold", "sold", "left"]
    return AdaBoostMH(Product([Stump(), Indicator()], 2), preset="paper", n_rounds=2).fit(
        X, fate
    ), X


RULE = "+3.45 * (size >= 4.5) * (color is not green) -> votes for sold, against left"


def test_the_module_needs_the_standard_library_alone(fruit, tmp_path):
    model, X = fruit
    model.export(tmp_path / "fruit.py")
    source = (tmp_path / "fruit.py").read_text()
    assert f"#   {RULE}\n" in source
    tree = ast.parse(source)
    imported = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    imported += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert set(imported) <= set(sys.stdlib_module_names)
    program = 'import fruit; print(fruit.predict({"size": 8, "color": "blue"}), fruit.__doc__)'
    run = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.append({str(tmp_path)!r}); {program}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.startswith("sold AdaBoostMH of 2 rounds, as plain Python.")
    assert model.predict(X[5:6]) == "sold"


def test_rows_of_a_module(fruit, tmp_path):
    model, _ = fruit
    model.export(tmp_path / "fruit.py")
    module = runpy.run_path(str(tmp_path / "fruit.py"))
    predict = module["predict"]
    assert predict([8, "blue"]) == predict((8.0, "blue")) == predict({"color": "blue", "size": 8})
    assert predict({"size": "8", "color": "blue", "id": 7}) == "sold"
    assert module["scores"]([None, "blue"]) == module["scores"]([float("nan"), "blue"]) == 0
    assert module["scores"]([8, "pink"]) == module["scores"]([8, None]) == 0
    with pytest.raises(ValueError, match="row has no column 'color'"):
        predict({"size": 8})
    with pytest.raises(ValueError, match="row must have 2 values, got 3"):
        predict([8, "blue", 1])
    with pytest.raises(ValueError, match="infinite value in column 'size'"):
        predict([float("inf"), "blue"])


@pytest.mark.parametrize("learner", ["stump", "product"])
def test_an_infinite_category(learner, tmp_path):
    X, y = np.array([[np.inf], [1.0], [2.0], [-np.inf]] * 3), [0, 1, 1, 1] * 3
    model = AdaBoostMH(
        learner, preset="paper", n_rounds=2, categorical_features=[0], handle_infinite="value"
    )
    model.fit(X, y).export(tmp_path / "model.py")
    predict = runpy.run_path(str(tmp_path / "model.py"))["predict"]
    assert [predict(row) for row in X[:4].tolist()] == [0, 1, 1, 1]
    with pytest.raises(ValueError, match="SQL cannot hold an infinite category"):
        model.export(tmp_path / "model.sql")


def test_a_query_beside_the_rows(fruit, tmp_path):
    model, X = fruit
    model.export(tmp_path / "fruit.sql", table=("main", "fruit"))
    query = (tmp_path / "fruit.sql").read_text()
    assert f"--   {RULE}\n" in query
    assert 'FROM "main"."fruit" AS t' in query
    with sqlite3.connect(":memory:") as connection:
        X.to_sql("fruit", connection)
        result = pandas.read_sql(query, connection)
    names = ["prediction", "probability of left", "probability of sold", "predicted score"]
    assert result.columns.tolist() == [*names, "index", "size", "color"]
    assert result["prediction"].tolist() == model.predict(X).tolist()


def test_columns_named_like_results(tmp_path):
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(numbers(rng, 60), columns=["Predicted Score", "prediction", "x"])
    model = classifier("stump", X, targets(rng, X, "two"))
    model.export(tmp_path / "m.sql", table="rows")
    with sqlite3.connect(":memory:") as connection:
        X.to_sql("rows", connection, index=False)
        result = pandas.read_sql((tmp_path / "m.sql").read_text(), connection)
    np.testing.assert_allclose(result["predicted score_"], model.decision_function(X))
    assert result["prediction_"].tolist() == model.predict(X).tolist()


def test_a_table_with_results_of_before(fruit, tmp_path):
    model, X = fruit
    model.export(tmp_path / "m.sql", table="rows")
    before = X.assign(**{"predicted score": 99.0, "prediction": "?"})
    with sqlite3.connect(":memory:") as connection:
        before.to_sql("rows", connection, index=False)
        rows = connection.execute((tmp_path / "m.sql").read_text()).fetchall()
    assert [row[0] for row in rows] == model.predict(X).tolist()
    np.testing.assert_allclose([row[1:3] for row in rows], model.predict_proba(X))


def test_hostile_names_stay_in_their_quotes_and_comments(tmp_path):
    rng = np.random.default_rng(1)
    X = mixed(rng, 60)
    X.columns = ['"""\nimport os', "'; DROP TABLE t; --", "*/ \r\n x", "\u2028\u202e", "a\\"]
    X.iloc[:, 3] = X.iloc[:, 3].replace({"it's": "'; DROP TABLE t; --\n", "é": '"""\nraise'})
    y = np.where(X.iloc[:, 0] > 0, "');--", '"""\nraise SystemExit')
    model = classifier("tree", X, y)
    model.export(tmp_path / "m.py")
    module = runpy.run_path(str(tmp_path / "m.py"))
    rows = X.to_dict("records")
    assert [module["predict"](row) for row in rows] == model.predict(X).tolist()
    model.export(tmp_path / "m.sql", table="'; DROP TABLE t; --")
    with sqlite3.connect(":memory:") as connection:
        X.to_sql("'; DROP TABLE t; --", connection, index=False)
        result = pandas.read_sql((tmp_path / "m.sql").read_text(), connection)
    assert result["prediction"].tolist() == model.predict(X).tolist()


def test_names_that_sql_cannot_hold(tmp_path):
    X = pandas.DataFrame({"nul\0": [1.0, 2.0, 3.0]})
    model = AdaBoostMH("stump", preset="paper", n_rounds=2).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="SQL cannot hold the name 'nul"):
        model.export(tmp_path / "m.sql")
    model.export(tmp_path / "m.py")
    assert runpy.run_path(str(tmp_path / "m.py"))["predict"]({"nul\0": 3}) == 1


@pytest.mark.parametrize("table", ["", (), ("main", "")])
def test_a_table_without_a_name(table, fruit, tmp_path):
    with pytest.raises(ValueError, match="table must be a name"):
        fruit[0].export(tmp_path / "m.sql", table=table)
    assert not (tmp_path / "m.sql").exists()


@pytest.mark.parametrize("ending", ["py", "sql"])
def test_a_model_that_is_too_large(ending, fruit, tmp_path):
    model, _ = fruit
    path = tmp_path / f"m.{ending}"
    with pytest.raises(ValueError, match=r"[\d,]+ characters.*max_size=500: export .*onnx"):
        model.export(path, max_size=500)
    assert not path.exists()
    model.export(path, max_size=100_000)
    with pytest.raises(TypeError, match="max_size must be an integer"):
        model.export(path, max_size="large")


def test_scores_far_from_zero_have_probabilities(tmp_path):
    X = np.arange(40.0)[:, None]
    for y in (X[:, 0] > 9, np.digitize(X[:, 0], [9, 20])):
        model = AdaBoostMH("stump", preset="paper", n_rounds=30).fit(X, y)
        model.fitted_.terms.alphas[:] *= 100
        assert np.abs(model.decision_function(X)).max() > 1000
        model.export(tmp_path / "m.sql", table="rows")
        with sqlite3.connect(":memory:") as connection:
            pandas.DataFrame(X, columns=["x0"]).to_sql("rows", connection, index=False)
            result = pandas.read_sql((tmp_path / "m.sql").read_text(), connection)
        shares = result.iloc[:, 1 : 1 + len(model.classes_)]
        np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-12)


def test_scores_of_many_classes_are_computed_once(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    sizes = []
    for n_classes in (5, 10):
        model = AdaBoostMH("tree", preset="paper", n_rounds=10).fit(X, np.arange(120) % n_classes)
        model.export(tmp_path / "m.sql", table="rows")
        query = (tmp_path / "m.sql").read_text()
        with sqlite3.connect(":memory:") as connection:
            pandas.DataFrame(X, columns=["x0", "x1"]).to_sql("rows", connection, index=False)
            sizes.append(len(connection.execute(f"EXPLAIN {query}").fetchall()))
    # Twice the classes are twice the scores and four times the comparisons of scores.
    assert sizes[1] < 3 * sizes[0]


def test_a_model_of_too_many_columns(fruit, tmp_path, monkeypatch):
    monkeypatch.setattr("edgewise.export.formula._MOST_COLUMNS", 1)
    with pytest.raises(ValueError, match="models of up to 1 columns can be exported"):
        fruit[0].export(tmp_path / "model.py")
