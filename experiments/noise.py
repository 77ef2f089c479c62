"""Noisy labels: AdaBoost.MH beside LightGBM with 0 to 20 % of the training labels wrong."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, Tree
from experiments.margins import parts
from experiments.relatives import noisy
from experiments.runner import Bench, Cell, Experiment, Said, mean, together

# How many splits: one where it is published.
SPLITS = {
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
        "preset": "paper",
        "votes": "real",
        "loss": "logistic",
    },
    {
        "n_rounds": 300,
        "learning_rate": 0.3,
        "learner": "product",
        "preset": "paper",
        "loss": "logistic",
    },
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
LIBRARIES = {"LightGBM": LIGHTGBM, "AdaBoostMH": OURS}


def make_model(library: str, settings: dict[str, Any], bench: Bench) -> Any:
    """Return an untrained model of a library."""
    if library == "AdaBoostMH":
        most = (
            {} if bench.n_rounds is None and not bench.quick else {"n_rounds": bench.rounds(0, 5)}
        )
        return AdaBoostMH(random_state=0, n_jobs=bench.n_jobs, **settings | most)
    from lightgbm import LGBMClassifier

    most = {"n_estimators": bench.rounds(0, 5)} if bench.quick else {}
    return LGBMClassifier(n_jobs=bench.n_jobs, verbosity=-1, **settings | most)


def choose_setting(library: str, X: Any, y: Any, seed: int, bench: Bench) -> int:
    """Return the number of the best setting, by error and then log loss on a fifth of the rows."""
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    found = []
    for i, settings in enumerate(LIBRARIES[library]):
        model = make_model(library, settings, bench).fit(X, y)
        p = np.clip(model.predict_proba(X_held), 1e-15, 1.0)
        p /= p.sum(axis=1, keepdims=True)
        wrong = float(np.mean(model.classes_[p.argmax(axis=1)] != y_held))
        found.append((wrong, float(log_loss(y_held, p, labels=model.classes_)), i))
    return min(found)[2]


def measure(name: str, share: float, library: str, bench: Bench) -> dict[str, Any]:
    """Return the test errors of a library with its defaults, and tuned."""
    errors: dict[str, list[float]] = {"default": [], "tuned": []}
    settings = []
    for seed in range(bench.seed, bench.seed + (1 if bench.quick else SPLITS[name])):
        X, y, X_test, y_test = parts(name, seed)
        y = noisy(y, share, np.random.default_rng(seed))
        settings.append(choose_setting(library, X, y, seed, bench))
        for kind, i in (("default", 0), ("tuned", settings[-1])):
            model = make_model(library, LIBRARIES[library][i], bench).fit(X, y)
            errors[kind].append(100 * float(np.mean(model.predict(X_test) != y_test)))
    found = {f"{library}, {kind}": mean(np.array(errors[kind])) for kind in errors}
    return together(found) | {"settings": settings}


def cells(bench: Bench) -> list[Cell]:
    """Return a cell for each set, share of noise and library."""
    names = ("breast cancer",) if bench.quick else tuple(SPLITS)
    shares = (0.2,) if bench.quick else SHARES
    return [
        Cell(
            f"{name}, {share:.0%} wrong",
            f"{library}, default",
            partial(measure, name, share, library),
        )
        for name in names
        for share in shares
        for library in LIBRARIES
    ]


def words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield how often the tuned models of each library have the lower error."""
    tuned: dict[str, dict[str, float]] = {}
    for result in results:
        for column, more in result["also"].items():
            tuned.setdefault(result["row"], {})[column.partition(",")[0]] = more["value"]
    pairs = [(one["AdaBoostMH"], one["LightGBM"]) for one in tuned.values() if len(one) == 2]
    if pairs:
        lower, higher = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        ours = f"tuned, AdaBoostMH is lower in {lower} rows of {len(pairs)} and higher in {higher}"
        yield Said("boosting is sensitive to wrong labels; by how much is not stated", ours)


EXPERIMENTS = [
    Experiment(
        "noise",
        "Noisy labels",
        "Iyer 1999, section 3.4.5, beside a library of today",
        "An exact share of the training rows, drawn at random, moves to another class, drawn "
        "uniformly; test labels stay. Sets without a published split are split 2/3 to 1/3, "
        'stratified, three times; spreads are over these. "tuned" is the best of six settings, by '
        "error and then log loss on a fifth of the noisy training rows, retrained on all: the same "
        "rows and number of settings for both libraries. It takes about half an hour.",
        "test error in per cent",
        cells,
        words=words,
    ),
]
