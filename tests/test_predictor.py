"""A saved model predicts where only NumPy is installed, the same bit for bit."""

import datetime
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import sparse

import edgewise
from edgewise import (
    AdaBoostMH,
    Feature,
    Haar,
    Indicator,
    Lazy,
    ModelFileError,
    Popularity,
    Product,
    RankBoost,
    Stump,
    Tree,
    predictor,
)
from edgewise.io import Schema

PROGRAM = """
import sys

class Forbidding:
    "Finds nothing of what a bare installation lacks."
    names = {"sklearn", "scipy", "numba", "narwhals", "click", "typer", "rich", "tqdm", "pandas"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Forbidding())

import pickle
from pathlib import Path
from edgewise.predictor import load

folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.edgewise")):
    rows = pickle.loads(path.with_suffix(".rows").read_bytes())
    model = load(path)
    calls = pickle.loads(path.with_suffix(".calls").read_bytes())
    found = [getattr(model, name)(rows) for name in calls]
    path.with_suffix(".found").write_bytes(pickle.dumps(found))

from edgewise.backend.warmup import kernels_ready

assert not kernels_ready(1e15, "walk", lambda: None)()  # more work than kernels are compiled for
assert not Forbidding.names & {name.split(".")[0] for name in sys.modules}
"""


def table(rng, n):
    X = pandas.DataFrame(rng.normal(size=(n, 2)).round(1), columns=["size", "weight"])
    X["color"] = rng.choice(["red", "green", None], n)
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    return X


def dated_model():
    """Return a model that knows the columns of its table, the table and its dates."""
    days = [datetime.date(2021, 1, 1) + datetime.timedelta(17 * i) for i in range(60)]
    people = pandas.DataFrame({
        "joined": [day.isoformat() for day in days],
        "city": ["Rome", "Oslo", None] * 20,
        "age": np.arange(60) % 7 + 1,
        "stays": ["yes" if day.month < 6 else "no" for day in days],
    })  # fmt: skip
    schema = Schema.fit(people, target="stays")
    model = AdaBoostMH("tree", n_rounds=5).fit(schema.transform(people), schema.labels(people))
    model.schema_ = schema
    return model, people, days


@pytest.fixture(scope="module")
def models():
    """Return some models of every kind, each with rows to predict."""
    rng = np.random.default_rng(0)
    X = table(rng, 80)
    z = X["size"].fillna(0) + (X["color"] == "red")
    y, qid = (z > 0.5).to_numpy(), np.arange(80) % 8
    numbers = X[["size", "weight"]].to_numpy()
    labels = np.column_stack([y, numbers[:, 1] > 0]).astype(int)
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    images = rng.integers(0, 9, (80, 16))
    haar = AdaBoostMH(Haar(shape=(4, 4)), n_rounds=4, search=Lazy(10)).fit(images, y)
    dated, people, _ = dated_model()
    tree = Tree([Stump(missing="abstain"), Indicator()], 5)
    return {
        "stump": (AdaBoostMH("stump", n_rounds=9).fit(numbers, y), numbers),
        "labels": (AdaBoostMH("tree", n_rounds=9, loss="logistic").fit(numbers, labels), numbers),
        "ranker": (RankBoost(tree, n_rounds=9).fit(X, y.astype(int), qid=qid), rows),
        "feature": (RankBoost(Feature(), n_rounds=3).fit(numbers, y.astype(int), qid=qid), numbers),
        "haar": (haar, images),
        "dates": (dated, people.to_dict("records")),
        "classes": (AdaBoostMH(Product([Stump(), Indicator()], 2), n_rounds=9).fit(X, qid), rows),
        "trees": (AdaBoostMH(early_stopping_rounds=5).fit(X, np.where(y, "hot", "cold")), rows),
    }


def calls(model):
    return ["predict", "predict_proba", "decision_function"][
        : 3 if hasattr(model, "classes_") else 1
    ]


def by_the_full_model(model, rows):
    X = pandas.DataFrame(rows) if isinstance(rows, list) else rows
    if model.schema_ is not None:
        X = model.schema_.transform(X)
    return [getattr(model, name)(X) for name in calls(model)]


def test_predictions_with_numpy_alone(models, tmp_path):
    import pickle

    for name, (model, rows) in models.items():
        model.save(tmp_path / f"{name}.edgewise")
        (tmp_path / f"{name}.rows").write_bytes(pickle.dumps(rows))
        (tmp_path / f"{name}.calls").write_bytes(pickle.dumps(calls(model)))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for name, (model, rows) in models.items():
        result = pickle.loads((tmp_path / f"{name}.found").read_bytes())
        for item, expected in zip(result, by_the_full_model(model, rows), strict=True):
            assert item.dtype == expected.dtype
            np.testing.assert_array_equal(item, expected, strict=True)


@pytest.fixture(scope="module")
def saved(models, tmp_path_factory):
    model, rows = models["trees"]
    path = tmp_path_factory.mktemp("saved") / "trees.edgewise"
    model.save(path)
    return model, rows, predictor.load(path)


def test_all_forms_of_rows(saved):
    model, rows, light = saved
    expected = model.predict_proba(pandas.DataFrame(rows))
    frame = pandas.DataFrame(rows)
    forms = {
        "frame": frame,
        "shuffled frame": frame[["color", "size", "weight"]].assign(id=range(len(frame))),
        "columns": {name: list(frame[name]) for name in frame},
        "arrays": {name: frame[name].to_numpy() for name in frame},
        "lists": frame.astype(object).to_numpy().tolist(),
        "objects": frame.astype(object).to_numpy(),
        "more keys": [{**row, "id": 7} for row in rows],
    }
    for name, form in forms.items():
        np.testing.assert_array_equal(light.predict_proba(form), expected, err_msg=name)
    np.testing.assert_array_equal(light.predict_proba(rows[0]), expected[:1])


def test_arrays_and_sparse_matrices(models, tmp_path):
    model, X = models["stump"]
    model.save(tmp_path / "m")
    light = predictor.load(tmp_path / "m")
    for form in (X, X.astype(np.float32), np.nan_to_num(X).astype(int), np.nan_to_num(X) > 0):
        np.testing.assert_array_equal(light.decision_function(form), model.decision_function(form))
    whole = sparse.csr_array(np.nan_to_num(X))
    np.testing.assert_array_equal(light.predict(whole), model.predict(whole))


def test_the_columns_of_a_table_that_a_schema_knows(tmp_path):
    model, people, days = dated_model()
    schema = model.schema_
    X = schema.transform(people)
    expected = model.predict_proba(X)
    model.save(tmp_path / "m")
    light = predictor.load(tmp_path / "m")
    rows = people.drop(columns="stays").to_dict("records")
    made = {name: X.column(j).reals() for j, name in enumerate(X.names) if name != "city"}
    forms = {
        "frame": people[["age", "city", "joined"]],
        "polars": polars.from_pandas(people),
        "arrow": pyarrow.Table.from_pandas(people),
        "frame of dates": people.assign(joined=pandas.to_datetime(people["joined"])),
        "rows": rows,
        "rows of a CSV file": [{k: str(v or "NA") for k, v in row.items()} for row in rows],
        "dates": [{**row, "joined": day} for row, day in zip(rows, days, strict=True)],
        "array of dates": {**people, "joined": np.array(days, dtype="datetime64[D]")},
        "made columns": {**made, "city": people["city"]},
    }
    for name, form in forms.items():
        np.testing.assert_array_equal(light.predict_proba(form), expected, err_msg=name)
    with pytest.raises(ValueError, match="lacks the column 'joined'"):
        light.predict({"city": "Rome", "age": 3})


def test_what_is_known_of_the_model(saved):
    model, _, light = saved
    assert light.classes_.tolist() == ["cold", "hot"]
    assert light.n_features_in_ == 3
    assert light.feature_names_in_.tolist() == ["size", "weight", "color"]
    assert light.categories_ == {"color": ("green", "red")}
    assert model.settings_.temperature != 1


def test_rows_that_do_not_fit(saved):
    _, rows, light = saved
    with pytest.raises(ValueError, match="no column 'weight'"):
        light.predict({"size": 1.0, "color": "red"})
    with pytest.raises(ValueError, match="no column 'size'"):
        light.predict(pandas.DataFrame(rows)[["weight", "color"]])
    with pytest.raises(ValueError, match="2 columns, but the model was trained on 3"):
        light.predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="dimension"):
        light.predict([1.0, 2.0])
    with pytest.raises(ValueError, match="X must have rows of the same length"):
        light.predict([[1.0, 2.0, 3.0], [1.0]])
    with pytest.raises(ValueError, match="same length"):
        light.predict({"size": [1.0], "weight": [1.0, 2.0], "color": ["red"]})
    with pytest.raises(ValueError, match="infinite value in column 'size'"):
        light.predict({"size": np.inf, "weight": 1.0, "color": "red"})
    with pytest.raises(ValueError, match="numbers in column 'color'"):
        light.predict({"size": 1.0, "weight": 1.0, "color": 3})


def test_files_of_other_models_and_damaged_ones(saved, tmp_path):
    recommender = Popularity().fit(edgewise.Ratings.from_dict({"ann": {"Alien": 5}}))
    recommender.save(tmp_path / "other")
    with pytest.raises(ModelFileError, match="holds a Popularity"):
        predictor.load(tmp_path / "other")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ModelFileError, match="not a readable"):
        predictor.load(tmp_path / "text")
    model, _, _ = saved
    model.save(tmp_path / "m")
    header, arrays = edgewise.model.read(tmp_path / "m")
    arrays["fitted_.terms.columns"] = arrays["fitted_.terms.columns"] + 9
    header.pop("format")
    edgewise.model.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match="column that does not exist"):
        predictor.load(tmp_path / "m")
