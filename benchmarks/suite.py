"""The defaults of edgewise and its peers on every classification set, with nothing tuned.

Run with `python benchmarks/suite.py [--models edgewise lightgbm ...] [--sets letter ...]`. Every
fit adds a line to the results (JSON lines), and a fit that has a line does not run again, so an
interrupted run resumes where it stopped. The summary comes last: mean ranks, wins and losses,
log loss and CPU time as ratios. `--plot FILE` draws the mean ranks with their critical difference
(Demšar 2006), `--by-set` prints every set.

Sets with a published split use it; the others use three stratified splits, 30 % of the rows for
testing, with seeds 0 to 2. Every model runs on one thread. Peers without multi-label classification
train one model a label. Categorical columns are passed as such where a library takes them, and
one-hot encoded for the forests. Our kernels are loaded or compiled by a fit that does not count.
"""

import argparse
import math
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from _results import append, read_lines
from edgewise import AdaBoostMH, datasets
from edgewise.common.text import text_table

N_SPLITS = 3
TEST_SHARE = 0.3
FLOOR = 1e-15
"""Probabilities below this count as this in the log loss."""
BINS = 15
"""Bins of the expected calibration error."""
# Studentized range at 5 % over sqrt(2), for 2 to 10 models (Demšar 2006, table 5).
NEMENYI = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)


class Split(NamedTuple):
    """Training and test rows of one split: classes as codes, or labels as a 0/1 matrix."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def splits(name: str) -> Iterator[Split]:
    """Yield the published split of a set, or three stratified ones."""
    data = datasets.load(name, download=False)
    if data.y_test is not None:
        y = np.concatenate([data.y_train, data.y_test])
        if y.ndim == 1:
            y = np.unique(y, return_inverse=True)[1]
        n = len(data.y_train)
        yield Split(data.X_train, y[:n], data.X_test, y[n:])
        return
    y = np.unique(data.y_train, return_inverse=True)[1]
    for seed in range(N_SPLITS):
        X, X_test, y_train, y_test = train_test_split(
            data.X_train, y, test_size=TEST_SHARE, stratify=y, random_state=seed
        )
        yield Split(X, y_train, X_test, y_test)


def _lightgbm(_: list[str]) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def _xgboost(_: list[str]) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, enable_categorical=True)


def _catboost(categorical: list[str]) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, verbose=0, cat_features=categorical or None)


def _ebm(_: list[str]) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1)


def _forest(forest: type) -> Callable[[list[str]], Any]:
    def make(categorical: list[str]) -> Any:
        model = forest(n_jobs=1, random_state=0)
        if not categorical:
            return model
        one_hot = (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_include="category"),
        )
        return make_pipeline(make_column_transformer(one_hot, remainder="passthrough"), model)

    return make


MODELS: dict[str, Callable[[list[str]], Any]] = {
    "edgewise": lambda _: AdaBoostMH(n_jobs=1, random_state=0),
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
    "hist gradient boosting": lambda _: HistGradientBoostingClassifier(random_state=0),
    "random forest": _forest(RandomForestClassifier),
    "extra trees": _forest(ExtraTreesClassifier),
    "ebm": _ebm,
}
WARM_UP_ROWS, WARM_UP_ROUNDS = 20_000, 12
"""Above this many rows, a few rounds load the kernels; below, a whole fit does, with its folds."""
NATIVE_LABELS = ("edgewise", "random forest", "extra trees")
DENSE_ONLY = ("hist gradient boosting", "ebm")


def measure(model_name: str, split: Split) -> dict[str, float]:
    """Train a model on a split and return its measures."""
    X, X_test = split.X, split.X_test
    categorical = list(X.select_dtypes("category")) if hasattr(X, "select_dtypes") else []
    if model_name == "catboost" and categorical:
        X, X_test = (
            table.assign(**{c: table[c].astype(object).fillna("?") for c in categorical})
            for table in (X, X_test)
        )
    if model_name in DENSE_ONLY and hasattr(X, "toarray"):
        X, X_test = X.toarray(), X_test.toarray()
    model = MODELS[model_name](categorical)
    multilabel = split.y.ndim == 2
    if multilabel and model_name not in NATIVE_LABELS:
        model = MultiOutputClassifier(model)
    if model_name == "edgewise":
        n_rounds = "auto" if len(split.y) <= WARM_UP_ROWS else WARM_UP_ROUNDS
        AdaBoostMH(n_jobs=1, n_rounds=n_rounds).fit(X, split.y)
    start = time.process_time()
    model.fit(X, split.y)
    fit = time.process_time() - start
    start = time.process_time()
    found = model.predict_proba(X_test)
    predict = time.process_time() - start
    truth, shares = _align(found, model, split, multilabel)
    return {**scores(truth, shares, multilabel), "fit": fit, "predict": predict}


def _align(found: Any, model: Any, split: Split, multilabel: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the true 0/1 matrix and the probabilities, a column for each class or label."""
    if multilabel:
        if isinstance(found, list):  # one array of two classes a label; one column if none was seen
            found = np.stack([p[:, 1] if p.shape[1] == 2 else 0 * p[:, 0] for p in found], axis=1)
        return split.y_test, np.asarray(found)
    n_classes = 1 + max(split.y.max(), split.y_test.max())
    shares = np.zeros((len(split.y_test), n_classes))
    shares[:, np.asarray(model.classes_, dtype=int)] = found
    return np.eye(n_classes)[split.y_test], shares


def scores(truth: np.ndarray, shares: np.ndarray, multilabel: bool) -> dict[str, float]:
    """Return error, log loss, Brier score, calibration error and, for two classes, ROC AUC.

    Labels count one by one: their error is the Hamming loss.
    """
    if multilabel:
        positive, label = shares.ravel(), truth.ravel() > 0
        chance = np.where(label, positive, 1 - positive)
        error = float(np.mean((positive > 0.5) != label))
        brier = float(np.mean((positive - label) ** 2))
        sure, right = np.maximum(positive, 1 - positive), (positive > 0.5) == label
    else:
        chance = shares[truth > 0]
        right = truth[np.arange(len(truth)), shares.argmax(axis=1)] > 0
        error = float(np.mean(~right))
        brier = float(np.mean(((shares - truth) ** 2).sum(axis=1)))
        sure = shares.max(axis=1)
    found = {
        "error": error,
        "log_loss": float(-np.log(np.clip(chance, FLOOR, 1)).mean()),
        "brier": brier,
        "calibration": calibration_error(sure, right),
    }
    if not multilabel and truth.shape[1] == 2:
        found["roc_auc"] = float(roc_auc_score(truth[:, 1], shares[:, 1]))
    return found


def calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error of the predicted class (Naeini et al. 2015)."""
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.bincount(bins, sure - right, minlength=BINS)
    return float(np.abs(gaps).sum() / counts.sum())


def run(models: Sequence[str], sets: Sequence[str], results: Path) -> None:
    """Run the fits that have no line in the results yet."""
    known = {(line["set"], line["split"], line["model"]) for line in read_lines(results)}
    for name in sets:
        if not datasets.available(name):
            print(f"{name}: skipped, not in $EDGEWISE_DATA or the cache")
            continue
        n_splits = 1 if datasets.info(name).n_test else N_SPLITS
        wanted = {(name, i, model) for i in range(n_splits) for model in models} - known
        if not wanted:
            continue
        for number, split in enumerate(splits(name)):
            for model in models:
                if (name, number, model) not in wanted:
                    continue
                line = {"set": name, "split": number, "model": model, **measure(model, split)}
                append(results, line)
                print(
                    f"{name:16} {number} {model:24} error {100 * line['error']:6.2f} %  "
                    f"log loss {line['log_loss']:.4f}  fit {line['fit']:8.2f} s",
                    flush=True,
                )


class Table:
    """Means over splits of every measure, for the sets that all models have run on."""

    def __init__(self, lines: list[dict[str, Any]], models: Sequence[str]) -> None:
        values = defaultdict(list)
        for line in lines:
            for name, value in line.items():
                if name not in ("set", "split", "model"):
                    values[line["set"], line["model"], name].append(value)
        found = {line["set"]: None for line in lines}
        self.models = [m for m in models if any(line["model"] == m for line in lines)]
        self.sets = [s for s in found if all((s, m, "error") in values for m in self.models)]
        self._means = {key: float(np.mean(some)) for key, some in values.items()}

    def means(self, measure: str) -> np.ndarray:
        """Return a measure, sets by models."""
        return np.array([[self._means[s, m, measure] for m in self.models] for s in self.sets])

    def ranks(self, measure: str) -> np.ndarray:
        """Return the mean rank of each model, 1 for the best; ties share theirs."""
        return rankdata(self.means(measure), axis=1).mean(axis=0)

    def summary(self) -> str:
        """Return a row for each model."""
        error, loss = self.means("error"), self.means("log_loss")
        best = loss.min(axis=1, keepdims=True)
        seconds = self.means("fit")
        ours = self.models.index("edgewise") if "edgewise" in self.models else 0
        unit = self.models.index("lightgbm") if "lightgbm" in self.models else 0
        header = [
            "model",
            "error %",
            "rank in error",
            "in log loss",
            "in Brier",
            "ECE %",
            "better/worse than ours",
            "log loss/best",
            "worst",
            "CPU/LightGBM's",
        ]
        rows = []
        for j, model in enumerate(self.models):
            wins = (error[:, j] < error[:, ours]).sum()
            losses = (error[:, j] > error[:, ours]).sum()
            ratio = (loss / best)[:, j]
            rows.append(
                [
                    model,
                    f"{100 * error[:, j].mean():.2f}",
                    f"{self.ranks('error')[j]:.2f}",
                    f"{self.ranks('log_loss')[j]:.2f}",
                    f"{self.ranks('brier')[j]:.2f}",
                    f"{100 * self.means('calibration')[:, j].mean():.1f}",
                    f"{wins}/{losses}",
                    f"{np.exp(np.log(ratio).mean()):.2f}",
                    f"{ratio.max():.2f} {self.sets[int(ratio.argmax())]}",
                    f"{np.exp(np.log(seconds[:, j] / seconds[:, unit]).mean()):.2f}",
                ]
            )
        return text_table([header, *rows])

    def by_set(self, measure: str, factor: float = 1.0) -> str:
        """Return a row for each set, the best of each marked."""
        rows = []
        for name, values in zip(self.sets, self.means(measure), strict=True):
            least = values.min()
            rows.append([name, *(f"{factor * v:.3f}{'*' if v == least else ' '}" for v in values)])
        return text_table([["set", *self.models], *rows])

    def plot(self, path: Path) -> None:
        """Draw the mean ranks in error and in log loss with their critical difference."""
        import matplotlib.pyplot as plt

        count, n_sets = len(self.models), len(self.sets)
        critical = NEMENYI[count - 2] * math.sqrt(count * (count + 1) / (6 * n_sets))
        figure, axes = plt.subplots(1, 2, figsize=(10, 0.45 * count + 1.2), sharey=False)
        for axis, measure, title in zip(
            axes, ("error", "log_loss"), ("error", "log loss"), strict=True
        ):
            ranks = self.ranks(measure)
            order = np.argsort(-ranks)
            ours = [self.models[j] == "edgewise" for j in order]
            colors = ["C1" if one else "C0" for one in ours]
            axis.hlines(range(count), 1, ranks[order], colors="0.85")
            axis.scatter(ranks[order], range(count), c=colors, zorder=3)
            axis.set_yticks(range(count), [self.models[j] for j in order])
            axis.set_xlim(1, count)
            axis.axvspan(ranks.min(), ranks.min() + critical, color="0.92", zorder=0)
            axis.set_xlabel(f"mean rank in {title} over {n_sets} sets (1 is best)")
            axis.spines[["top", "right", "left"]].set_visible(False)
            axis.tick_params(axis="y", length=0)
        figure.suptitle("Defaults, nothing tuned; gray: not significantly behind the first (5 %)")
        figure.tight_layout()
        figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parser.add_argument("--sets", nargs="*", default=list(datasets.names("classification")))
    parser.add_argument("--results", type=Path, default=Path("suite.jsonl"))
    parser.add_argument("--plot", type=Path, help="draw the mean ranks to this file")
    parser.add_argument("--by-set", action="store_true", help="print every set, too")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not options.only_table:
        run(options.models, options.sets, options.results)
    lines = [line for line in read_lines(options.results) if line["set"] in options.sets]
    table = Table(lines, options.models)
    print(f"\n{len(table.sets)} sets\n\n{table.summary()}")
    if options.by_set:
        print(
            f"\nError, %\n\n{table.by_set('error', 100)}\n\nLog loss\n\n{table.by_set('log_loss')}"
        )
        print(f"\nCPU seconds to fit\n\n{table.by_set('fit')}")
    if options.plot is not None:
        table.plot(options.plot)


if __name__ == "__main__":
    main()
