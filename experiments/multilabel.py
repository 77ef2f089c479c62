"""Multi-label data: AdaBoost.MH in three settings against LightGBM with one model per label.

Run with `python experiments/multilabel.py [emotions scene yeast bibtex] [--quick]`; it needs
LightGBM (`pip install lightgbm`) and takes about 15 minutes on one core. `--quick` leaves out
bibtex, which takes most of the time.

The splits are the published ones. LightGBM has its defaults and one model per label; AdaBoost.MH
has one model for all labels, and every rule votes on all of them. Hamming loss is the share of
wrong entries, one-error the share of rows whose first label is wrong, ranking loss the share of
label pairs in the wrong order: lower is better. For average precision higher is better.
"""

import argparse
import os
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import (
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from edgewise import AdaBoostMH, Tree, datasets
from edgewise.learners import auto_leaves

warnings.filterwarnings("ignore", message="X does not have valid feature names")

NAMES = ("emotions", "scene", "yeast", "bibtex")
OURS: dict[str, dict[str, Any]] = {
    "AdaBoostMH()": {},
    "the same, splits by edge": {
        "learner": "by edge",
        "votes": "real",
        "loss": "logistic",
        "learning_rate": 0.1,
    },
    "products of stumps": {
        "learner": "product",
        "loss": "logistic",
        "learning_rate": 0.3,
        "n_rounds": 1000,
    },
}


def boosted(settings: dict[str, Any], data: datasets.Dataset) -> Any:
    """Return the label probabilities of the test rows."""
    if settings.get("learner") == "by edge":
        leaves = auto_leaves(data.y_train.shape[1])
        settings = {**settings, "learner": Tree(max_leaf_nodes=leaves, leaf_votes="free")}
    model = AdaBoostMH(random_state=0, **settings).fit(data.X_train, data.y_train)
    return model.predict_proba(data.X_test)


def lightgbm(data: datasets.Dataset) -> Any:
    """Return the probabilities of one model per label."""
    p = np.empty(data.y_test.shape)
    for k, y in enumerate(data.y_train.T):
        if y.min() == y.max():
            p[:, k] = y[0]
            continue
        model = LGBMClassifier(n_jobs=1, verbosity=-1).fit(data.X_train, y)
        p[:, k] = model.predict_proba(data.X_test)[:, 1]
    return p


def measures(Y: Any, p: Any) -> tuple[float, float, float, float]:
    """Return Hamming loss, one-error, ranking loss and average precision."""
    first = Y[np.arange(len(p)), p.argmax(axis=1)]
    return (
        float(hamming_loss(Y, p > 0.5)),
        float(np.mean(first == 0)),
        float(label_ranking_loss(Y, p)),
        float(label_ranking_average_precision_score(Y, p)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--quick", action="store_true", help="leave out bibtex")
    options = parser.parse_args()
    names = [name for name in options.names if not (options.quick and name == "bibtex")]
    runs = [(title, lambda data, s=s: boosted(s, data)) for title, s in OURS.items()]
    runs.append(("LightGBM, one for each label", lightgbm))
    table = []
    for name in names:
        data = datasets.load(name)
        for title, run in runs:
            start = time.process_time()
            found = measures(data.y_test, run(data))
            seconds = time.process_time() - start
            table.append((name, title, found, seconds))
            print(f"... {name}, {title}: {found[0]:.4f} in {seconds:.0f} s", flush=True)

    heads = ("Hamming", "one-error", "ranking", "precision", "CPU s")
    print(f"\n{'':9} {'':29} " + " ".join(f"{head:>9}" for head in heads))
    for name, title, found, seconds in table:
        cells = " ".join(f"{value:9.4f}" for value in found)
        print(f"{name:9} {title:29} {cells} {seconds:9.0f}")


if __name__ == "__main__":
    main()
