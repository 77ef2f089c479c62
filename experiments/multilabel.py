"""Multi-label data: AdaBoost.MH in three settings beside LightGBM with one model for each label."""

from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import (
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from edgewise import AdaBoostMH, Tree, datasets
from edgewise.learners import auto_leaves
from experiments.runner import Bench, Cell, Experiment, together

NAMES = ("emotions", "scene", "yeast", "bibtex")
LIGHTGBM = "LightGBM, one for each label"
OURS: dict[str, dict[str, Any]] = {
    "AdaBoostMH()": {},
    "the same, splits by edge": {
        "learner": "by edge",
        "preset": "paper",
        "votes": "real",
        "loss": "logistic",
        "learning_rate": 0.1,
    },
    "products of stumps": {
        "learner": "product",
        "preset": "paper",
        "loss": "logistic",
        "learning_rate": 0.3,
        "n_rounds": 1000,
    },
}


@cache
def parts(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the published split."""
    if name == "generated":
        X, Y = make_multilabel_classification(200, 10, n_classes=4, random_state=0)
        return X[:120], Y[:120], X[120:], Y[120:]
    data = datasets.load(name)
    return data.X_train, data.y_train, data.X_test, data.y_test


def predict_labels(row: str, name: str, bench: Bench) -> np.ndarray:
    """Return the label probabilities of the test rows."""
    X, Y, X_test, _ = parts(name)
    settings = dict(OURS[row])
    if settings.get("learner") == "by edge":
        settings["learner"] = Tree(max_leaf_nodes=auto_leaves(Y.shape[1]), leaf_votes="free")
    if bench.quick or bench.n_rounds is not None:
        settings["n_rounds"] = bench.rounds(0, 5)
    model = AdaBoostMH(random_state=bench.seed, n_jobs=bench.n_jobs, **settings)
    return model.fit(X, Y).predict_proba(X_test)


def one_by_one(name: str, bench: Bench) -> np.ndarray:
    """Return the probabilities of one model of LightGBM for each label."""
    from lightgbm import LGBMClassifier

    X, Y, X_test, Y_test = parts(name)
    p = np.empty(Y_test.shape)
    for k, y in enumerate(Y.T):
        if y.min() == y.max():
            p[:, k] = y[0]
            continue
        model = LGBMClassifier(
            n_estimators=bench.rounds(100, 5), n_jobs=bench.n_jobs, verbosity=-1
        ).fit(X, y)
        p[:, k] = model.predict_proba(X_test)[:, 1]
    return p


def measure(row: str, name: str, bench: Bench) -> dict[str, Any]:
    """Return the four measures of a method."""
    p = one_by_one(name, bench) if row == LIGHTGBM else predict_labels(row, name, bench)
    Y = parts(name)[3]
    first = Y[np.arange(len(p)), p.argmax(axis=1)]
    measures = {
        "Hamming loss": hamming_loss(Y, p > 0.5),
        "one-error": np.mean(first == 0),
        "ranking loss": label_ranking_loss(Y, p),
        "average precision": label_ranking_average_precision_score(Y, p),
    }
    return together({column: {"value": float(value)} for column, value in measures.items()})


def cells(bench: Bench) -> list[Cell]:
    """Return a cell for each set and method."""
    return [
        Cell(f"{name}, {row}", "Hamming loss", partial(measure, row, name))
        for name in (("generated",) if bench.quick else NAMES)
        for row in (*OURS, LIGHTGBM)
    ]


EXPERIMENTS = [
    Experiment(
        "multilabel",
        "Several labels a row",
        "Schapire and Singer 1999, on data of today",
        "The published splits. AdaBoost.MH has one model for all labels, whose rules vote on all "
        "of them; LightGBM has its defaults and a model for each label. Hamming loss is the share "
        "of wrong entries, one-error that of rows whose first label is wrong, ranking loss that of "
        "label pairs in the wrong order: less is better. For average precision more is better.",
        "Hamming loss, one-error, ranking loss and average precision",
        cells,
    ),
]
