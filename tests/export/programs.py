"""Small tables and models, and what exported files make of their rows."""

import runpy
import sqlite3
from dataclasses import dataclass

import numpy as np
import onnxruntime
import pandas

from edgewise import AdaBoostMH, Feature, Indicator, Product, RankBoost, Selector, Stump, Tree

HOSTILE = ["plain", "quote \" and ' and `", "two\nlines -- ; # \\", "select", "naïve ≥ 𓀀"]

LEARNERS = {
    "stump": lambda: Stump(),
    "stump that abstains": lambda: Stump(missing="abstain"),
    "stump and indicator": lambda: [Stump(), Indicator()],
    "product": lambda: Product([Stump(missing="abstain"), Selector()], 3),
    "tree": lambda: Tree([Stump(missing="abstain"), Indicator()], 5),
    "tree of products": lambda: Tree(Product([Stump(), Indicator()], 2), 4),
}


def numbers(rng, n):
    """Return a table of numbers, some missing, with many ties."""
    X = np.column_stack([rng.normal(size=n).round(1), rng.integers(0, 5, n), rng.normal(size=n)])
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


def mixed(rng, n):
    """Return a table with hostile names, numbers and categories, some missing."""
    X = pandas.DataFrame(numbers(rng, n), columns=HOSTILE[:3])
    for name, values in ((HOSTILE[3], ["it's", "b\nc", "", "é"]), (HOSTILE[4], ["p", "q", "r"])):
        column = rng.choice(values, n).astype(object)
        column[rng.random(n) < 0.15] = None
        X[name] = column
    return X


def targets(rng, X, kind):
    """Return targets that depend on a table."""
    values = np.asarray(pandas.DataFrame(X).iloc[:, :3], dtype=float)
    finite = np.nan_to_num(values, posinf=9, neginf=-9)
    z = finite @ [1.0, -0.4, 0.7] + rng.normal(size=len(values)) / 2
    if isinstance(X, pandas.DataFrame) and X.shape[1] > 3:
        z = z + (X.iloc[:, 3] == "it's").to_numpy()
    if kind == "labels":
        return np.column_stack([z > -1, z > 0, values[:, 1] > 2]).astype(int)
    cuts = {"bools": [0], "two": [0], "grades": [-1, 1]}.get(kind, [-1, 0])
    codes = np.searchsorted(cuts, z)
    if kind in ("ints", "grades"):
        return codes * 10 - 7
    if kind == "bools":
        return codes.astype(bool)
    return np.array(["it's \"", "two\nlines", "--ß"])[codes]


def classifier(learner, X, y, **given):
    return AdaBoostMH(learner, n_rounds=6, **given).fit(X, y)


def ranker(learner, X, y, **given):
    qid = np.arange(len(y)) % 5
    return RankBoost(learner, n_rounds=6, **given).fit(X, y, qid=qid)


def near_thresholds(rng, model, X):
    """Return rows, many of whose numbers are thresholds of the model or next to one."""
    X = X.copy()
    values = X.to_numpy(dtype=object) if isinstance(X, pandas.DataFrame) else X
    terms = model.fitted_.terms
    for j in range(3):
        cuts = terms.thresholds[(terms.columns == j) & np.isfinite(terms.thresholds)]
        if len(cuts):
            rows = rng.random(len(X)) < 0.6
            near = rng.choice(np.concatenate([cuts, np.nextafter(cuts, -9), cuts]), rows.sum())
            values[rows, j] = near
    if isinstance(X, pandas.DataFrame):
        for j in range(X.shape[1]):
            X[X.columns[j]] = values[:, j] if j > 2 else values[:, j].astype(float)
    return X


@dataclass
class Predicted:
    scores: np.ndarray
    labels: np.ndarray | None = None
    probabilities: np.ndarray | None = None


def by_model(model, X):
    if isinstance(model, AdaBoostMH):
        return Predicted(model.decision_function(X), model.predict(X), model.predict_proba(X))
    return Predicted(model.predict(X))


def by_python(model, X, folder):
    model.export(folder / "model.py")
    module = runpy.run_path(str(folder / "model.py"))
    rows = X.to_dict("records") if isinstance(X, pandas.DataFrame) else X.tolist()
    scores = np.array([module["scores"](row) for row in rows])
    if not isinstance(model, AdaBoostMH):
        assert [module["predict"](row) for row in rows] == scores.tolist()
        return Predicted(scores)
    labels = np.array([module["predict"](row) for row in rows])
    return Predicted(scores, labels, np.array([module["predict_proba"](row) for row in rows]))


def by_sql(model, X, folder):
    model.export(folder / "model.sql", table='the "rows"')
    names = [model.fitted_.feature_name(j) for j in range(X.shape[1])]
    frame = pandas.DataFrame(X).set_axis(names, axis=1)
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql('the "rows"', connection, index=False)
        result = connection.execute((folder / "model.sql").read_text())
        # Rates by two columns come between the predictions and the table.
        n_rates = sum(name.startswith("rate of ") for name, *_ in result.description)
        rows = [row[: -len(names) - n_rates] for row in result]
    width = model.fitted_.terms.n_scores
    scores = np.array([row[-width:] for row in rows])
    if not isinstance(model, AdaBoostMH):
        return Predicted(scores[:, 0])
    classes, several = len(model.classes_), model.fitted_.multilabel
    labels = np.array([row[: -width - classes] for row in rows])
    return Predicted(
        scores if width > 1 or several else scores[:, 0],
        (labels if several else labels[:, 0]).astype(model.classes_.dtype),
        np.array([row[-width - classes : -width] for row in rows]),
    )


def by_onnx(model, X, folder, **options):
    model.export(folder / "model.onnx", **options)
    return run_onnx(folder / "model.onnx", model, X, options.get("dtype", "float64"))


def run_onnx(path, model, X, dtype="float64"):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    result = session.run(None, onnx_inputs(model, X, dtype))
    return Predicted(result[-1], *result[:-1])


def onnx_inputs(model, X, dtype="float64"):
    categories = model.fitted_.categories
    if not categories:
        return {"X": np.asarray(X, dtype=dtype)}
    inputs = {}
    for j, name in enumerate(X.columns):
        column = X[name].to_numpy()[:, None]
        if any(isinstance(value, str) for value in categories.get(j, ())):
            inputs[name] = np.where(pandas.isna(column), "nothing", column).astype(object)
        else:
            inputs[name] = column.astype(dtype)
    return inputs


def assert_same(found, model, X, tolerance=1e-9):
    expected = by_model(model, X)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=tolerance)
    if expected.labels is not None:
        np.testing.assert_allclose(
            found.probabilities, expected.probabilities, rtol=0, atol=tolerance
        )
        # Scores that differ by rounding alone may be either way.
        sure = np.abs(expected.scores) > 1e-9
        if expected.scores.ndim == 2 and not model.fitted_.multilabel:
            best = np.sort(expected.scores, axis=1)
            sure = best[:, -1] - best[:, -2] > 1e-9
        assert (np.asarray(found.labels)[sure] == expected.labels[sure]).all()


RANK_LEARNERS = {**LEARNERS, "feature": lambda: Feature()}
