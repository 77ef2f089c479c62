"""Noisy labels: AdaBoost.MH against LightGBM with 0 to 20 % of the training labels flipped.

Run with `python experiments/noise.py [sonar ionosphere ...] [--quick] [--out FILE]`; it needs
LightGBM (`pip install lightgbm`) and takes about half an hour on one core. `--quick` uses one seed
and two shares of wrong labels. `--out` saves every result as a line of JSON and skips what is
already there.

An exact share of the training rows, drawn at random, moves to another class, drawn uniformly; test
labels stay. Sets without a published split are split 2/3 to 1/3, stratified, with three seeds; the
others have one. "tuned" tries six settings and retrains the best, by error and then log loss on 20
% of the noisy training rows, on all rows: the same rows and number of settings for both libraries.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, datasets
from edgewise.learners import Tree

warnings.filterwarnings("ignore", message="X does not have valid feature names")

SEEDS = {
    "sonar": 3,
    "ionosphere": 3,
    "german": 3,
    "waveform": 3,
    "spambase": 3,
    "pendigits": 1,
    "adult": 1,
    "letter": 1,
}
SHARES = (0.0, 0.05, 0.1, 0.2)

OURS: list[dict[str, Any]] = [
    {},
    {"n_rounds": 100, "learning_rate": 0.05},
    {"n_rounds": 100, "learning_rate": 0.1},
    {"n_rounds": 300, "learning_rate": 0.1},
    {
        "n_rounds": 300,
        "learning_rate": 0.1,
        "learner": Tree(max_leaf_nodes=4, leaf_votes="free", criterion="gain"),
        "votes": "real",
        "loss": "logistic",
    },
    {"n_rounds": 300, "learning_rate": 0.3, "learner": "product", "loss": "logistic"},
]
LIGHTGBM: list[dict[str, Any]] = [
    {"n_estimators": trees, "learning_rate": rate, "num_leaves": leaves}
    for trees, rate, leaves in (
        (100, 0.1, 31),
        (100, 0.1, 7),
        (100, 0.05, 15),
        (300, 0.05, 7),
        (300, 0.05, 31),
        (300, 0.1, 15),
    )
]


def ours(**settings: Any) -> AdaBoostMH:
    return AdaBoostMH(random_state=0, **settings)


def lightgbm(**settings: Any) -> LGBMClassifier:
    return LGBMClassifier(n_jobs=1, verbosity=-1, **settings)


LIBRARIES: list[tuple[str, Callable[..., Any], list[dict[str, Any]]]] = [
    ("LightGBM", lightgbm, LIGHTGBM),
    ("AdaBoostMH", ours, OURS),
]


def split(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows with classes 0..K-1."""
    data = datasets.load(name)
    classes, y = np.unique(data.y_train, return_inverse=True)
    if data.X_test is not None:
        return data.X_train, y, data.X_test, np.searchsorted(classes, data.y_test)
    X, X_test, y, y_test = train_test_split(
        data.X_train, y, test_size=1 / 3, random_state=seed, stratify=y
    )
    return X, y, X_test, y_test


def flipped(y: Any, share: float, seed: int) -> Any:
    """Return a copy with a share of the labels moved to another class."""
    y, n_classes, rng = y.copy(), int(y.max()) + 1, np.random.default_rng(seed)
    rows = rng.choice(len(y), size=round(share * len(y)), replace=False)
    y[rows] = (y[rows] + rng.integers(1, n_classes, size=len(rows))) % n_classes
    return y


def chosen(
    make: Callable[..., Any], settings: list[dict[str, Any]], X: Any, y: Any, seed: int
) -> int:
    """Return the best setting on a fifth of the rows."""
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    found = []
    for i, setting in enumerate(settings):
        model = make(**setting).fit(X, y)
        p = np.clip(model.predict_proba(X_held), 1e-15, 1.0)
        p /= p.sum(axis=1, keepdims=True)
        wrong = float(np.mean(model.classes_[p.argmax(axis=1)] != y_held))
        found.append((wrong, float(log_loss(y_held, p, labels=model.classes_)), i))
    return min(found)[2]


def results(name: str, seed: int, share: float) -> dict[str, tuple[float, int]]:
    """Return the test errors in per cent of all four, and the number of each setting."""
    X, y, X_test, y_test = split(name, seed)
    y = flipped(y, share, seed)
    found = {}
    for title, make, settings in LIBRARIES:
        tuned = chosen(make, settings, X, y, seed)
        for kind, i in (("default", 0), ("tuned", tuned)):
            if kind == "tuned" and tuned == 0:
                found[f"{title} tuned"] = found[f"{title} default"]
                continue
            model = make(**settings[i]).fit(X, y)
            error = 100 * float(np.mean(model.predict(X_test) != y_test))
            found[f"{title} {kind}"] = (error, i)
    return found


def read(path: Path | None) -> dict[tuple[str, float, int], dict[str, tuple[float, int]]]:
    """Return the results of an earlier run."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {(name, share, seed): found for name, share, seed, found in lines}


def errors(kept: dict[Any, Any], name: str, share: float) -> dict[str, list[float]]:
    """Return the errors of all seeds."""
    found = [one for (n, s, _), one in kept.items() if (n, s) == (name, share)]
    return {title: [one[title][0] for one in found] for title in found[0]}


def cell(errors: list[float]) -> str:
    """Format the mean and, with several seeds, the standard deviation."""
    mean = f"{np.mean(errors):.2f}"
    return f"{mean} ± {np.std(errors):.2f}" if len(errors) > 1 else mean


def show(table: dict[tuple[str, float], dict[str, list[float]]]) -> None:
    titles = [f"{title} {kind}" for title, _, _ in LIBRARIES for kind in ("default", "tuned")]
    print("\nTest errors in per cent: mean and standard deviation over the seeds.\n")
    print(f"{'':10} {'wrong':>6} " + " ".join(f"{title:>18}" for title in titles))
    for (name, share), errors in table.items():
        cells = [cell(errors[t]) for t in titles]
        print(f"{name:10} {share:6.0%} " + " ".join(f"{one:>18}" for one in cells))
    for share in sorted({share for _, share in table}):
        means = [
            np.mean([np.mean(errors[t]) for (_, s), errors in table.items() if s == share])
            for t in titles
        ]
        print(f"{'mean':10} {share:6.0%} " + " ".join(f"{mean:18.2f}" for mean in means))
    pairs = [
        (np.mean(errors["AdaBoostMH tuned"]), np.mean(errors["LightGBM tuned"]))
        for errors in table.values()
    ]
    lower, higher = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    print(f"\nTuned, AdaBoostMH is lower in {lower} rows of {len(pairs)} and higher in {higher}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SEEDS))
    parser.add_argument(
        "--quick", action="store_true", help="use one seed, 0 and 20 %% wrong labels"
    )
    parser.add_argument("--out", type=Path, help="file for all results")
    options = parser.parse_args()
    shares = (SHARES[0], SHARES[-1]) if options.quick else SHARES
    kept = read(options.out)
    for seed in range(1 if options.quick else max(SEEDS.values())):
        for name in options.names:
            for share in shares if seed < SEEDS[name] else ():
                if (name, share, seed) in kept:
                    continue
                start = time.process_time()
                found = kept[name, share, seed] = results(name, seed, share)
                line = ", ".join(
                    f"{title} {error:.2f} ({i})" for title, (error, i) in found.items()
                )
                seconds = time.process_time() - start
                print(f"... {name}, {share:.0%}, seed {seed}: {line}, {seconds:.0f} s", flush=True)
                if options.out:
                    with options.out.open("a") as file:
                        file.write(json.dumps([name, share, seed, found]) + "\n")
    show({(name, share): errors(kept, name, share) for name in options.names for share in shares})


if __name__ == "__main__":
    main()
