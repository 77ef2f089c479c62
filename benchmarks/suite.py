"""The defaults of edgewise and its peers on public and generated tables, with nothing tuned.

Run with `python benchmarks/suite.py [--models edgewise lightgbm ...] [--sets letter rare ...]`: a
set is a table or a group of tables, which `_tables.py` explains. Every fit adds a line to the
results (JSON lines), and a fit that has a line does not run again, so an interrupted run resumes
where it stopped. The smallest tables come first. The summary comes last, for all tables and for
groups of them: mean ranks, wins and losses, log loss and CPU time as ratios, over the tables on
which all models ran. `--plot FILE` draws the mean ranks with their critical difference (Demšar
2006), `--by-set` prints every table.

Every model runs on one thread. Peers without multi-label classification train one model a label.
Categorical columns are passed as such where a library takes them. Forests have them one-hot
encoded, or as the rates of their values (TargetEncoder) above 255 values; the codes of such columns
are numbers for scikit-learn's histogram gradient boosting. EBM runs on small tables, and CatBoost
where a fit takes minutes at most. Our kernels are loaded or compiled by a fit that does not count.
"""

import argparse
import copy
import math
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.metrics import roc_auc_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

import _tables
from _results import append, read_lines
from _tables import Split
from edgewise import AdaBoostMH
from edgewise.common.text import text_table

SMALL_ROWS = 2_000
"""Tables with fewer training rows are a group of their own."""
TITLES = {"error": "error", "log_loss": "log loss", "roc_auc": "AUC"}
"""The measures that models are ranked by."""
FLOOR = 1e-15
"""Probabilities below this count as this in the log loss."""
MAX_VALUES = 255
"""Categorical columns with more values are not one-hot encoded, nor taken by scikit-learn's HGB."""
BINS = 15
"""Bins of the expected calibration error."""
# Studentized range at 5 % over sqrt(2), for 2 to 10 models (Demšar 2006, table 5).
NEMENYI = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)


def _lightgbm(_: list[str]) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def _xgboost(_: list[str]) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, enable_categorical=True)


def _catboost(categorical: list[str]) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        thread_count=1, verbose=0, cat_features=categorical or None, allow_writing_files=False
    )


def _ebm(_: list[str]) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1)


def _categorical(X: Any, above: int, up_to: float = math.inf) -> list[str]:
    """Return the categorical columns with a number of values in these bounds."""
    sizes = {name: len(X[name].cat.categories) for name in X.select_dtypes("category")}
    return [name for name, size in sizes.items() if above < size <= up_to]


def _forest(forest: type) -> Callable[[list[str]], Any]:
    def make(categorical: list[str]) -> Any:
        model = forest(n_jobs=1, random_state=0)
        if not categorical:
            return model
        encoders = [
            (OneHotEncoder(handle_unknown="ignore"), lambda X: _categorical(X, 0, MAX_VALUES)),
            (TargetEncoder(random_state=0), lambda X: _categorical(X, MAX_VALUES)),
        ]
        return make_pipeline(make_column_transformer(*encoders, remainder="passthrough"), model)

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
MAX_CATBOOST_WORK = 10_000_000
"""Rows times columns times classes that CatBoost boosts in about five minutes."""
NATIVE_LABELS = ("edgewise", "random forest", "extra trees")
DENSE_ONLY = ("hist gradient boosting", "ebm")


def suits(model_name: str, split: Split) -> bool:
    """Return whether a model is to run on a table: the others would take too long."""
    n_rows, n_columns = split.X.shape
    if model_name == "ebm":
        return n_rows < 10_000 and n_columns <= 100 and split.y.ndim == 1
    return model_name != "catboost" or work(split) <= MAX_CATBOOST_WORK


def work(split: Split) -> int:
    """Return rows times columns times classes or labels: two classes take one score."""
    n_scores = split.y.shape[1] if split.y.ndim == 2 else len(np.unique(split.y))
    return math.prod(split.X.shape) * (1 if n_scores == 2 else n_scores)


def measure(model_name: str, split: Split) -> dict[str, float]:
    """Train a model on a split and return its measures."""
    X, X_test = split.X, split.X_test
    categorical = list(X.select_dtypes("category")) if hasattr(X, "select_dtypes") else []
    if model_name == "catboost" and categorical:
        X, X_test = (
            table.assign(**{c: table[c].astype(object).fillna("?") for c in categorical})
            for table in (X, X_test)
        )
    if model_name == "hist gradient boosting" and categorical:
        coded = _categorical(X, MAX_VALUES)
        X, X_test = (
            table.assign(**{c: table[c].cat.codes.replace(-1, np.nan) for c in coded})
            for table in (X, X_test)
        )
    if model_name in DENSE_ONLY and hasattr(X, "toarray"):
        X, X_test = X.toarray(), X_test.toarray()
    model = MODELS[model_name](categorical)
    multilabel = split.y.ndim == 2
    if multilabel and model_name not in NATIVE_LABELS:
        model = MultiOutputClassifier(model)
    if isinstance(model, AdaBoostMH):
        n_rounds = "auto" if len(split.y) <= WARM_UP_ROWS else WARM_UP_ROUNDS
        clone(model).set_params(n_rounds=n_rounds).fit(X, split.y)
    start = time.process_time()
    model.fit(X, split.y)
    fit = time.process_time() - start
    start = time.process_time()
    found = model.predict_proba(X_test)
    predict = time.process_time() - start
    truth, shares = _align(found, model, split, multilabel)
    measures = scores(truth, shares, multilabel)
    terms = getattr(model, "terms_", getattr(model, "term_names_", ()))
    sizes = {"rows": len(split.y), "terms": len(terms)}
    return {**sizes, **measures, "fit": fit, "predict": predict}


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
    """Return error, log loss, Brier score, calibration error and ROC AUC.

    Labels count one by one: their error is the Hamming loss. The ROC AUC is the mean over classes,
    each against the others, or over labels; those that no test row or every test row has count not.
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
    defined = (truth.min(axis=0) < 1) & (truth.max(axis=0) > 0)
    return {
        "error": error,
        "log_loss": float(-np.log(np.clip(chance, FLOOR, 1)).mean()),
        "brier": brier,
        "calibration": calibration_error(sure, right),
        "roc_auc": float(roc_auc_score(truth[:, defined], shares[:, defined], average="macro")),
    }


def calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error of the predicted class (Naeini et al. 2015)."""
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.bincount(bins, sure - right, minlength=BINS)
    return float(np.abs(gaps).sum() / counts.sum())


def run(models: Sequence[str], sets: Sequence[str], results: Path) -> None:
    """Run the fits that have no line in the results yet."""
    known = {(line["set"], line["split"], line["model"]) for line in read_lines(results)}
    sizes = {}
    for name in sets:
        numbers = range(_tables.n_splits(name))
        if known.issuperset((name, number, model) for number in numbers for model in models):
            continue
        if _tables.is_available(name):
            sizes[name] = work(next(_tables.splits(name)))
        else:
            print(f"{name}: skipped, not in $EDGEWISE_DATA or the cache")
    for name in sorted(sizes, key=sizes.__getitem__):
        for number, split in enumerate(_tables.splits(name)):
            for model in models:
                if (name, number, model) in known or not suits(model, split):
                    continue
                line = {"set": name, "split": number, "model": model, **measure(model, split)}
                append(results, line)
                print(
                    f"{name:18} {number} {model:24} error {100 * line['error']:6.2f} %  log loss "
                    f"{line['log_loss']:.4f}  AUC {line['roc_auc']:.4f}  fit {line['fit']:8.2f} s",
                    flush=True,
                )


class Table:
    """Means over splits of every measure, for the sets of which all models have run all splits."""

    def __init__(
        self, lines: list[dict[str, Any]], models: Sequence[str], sets: Sequence[str]
    ) -> None:
        values = defaultdict(list)
        for line in lines:
            for name, value in line.items():
                if name not in ("set", "split", "model"):
                    values[line["set"], line["model"], name].append(value)
        self.models = [m for m in models if any(line["model"] == m for line in lines)]
        self.sets = [
            s
            for s in sets
            if all(len(values[s, m, "error"]) == _tables.n_splits(s) for m in self.models)
        ]
        self._means = {key: float(np.mean(some)) for key, some in values.items() if some}

    def select(self, sets: Sequence[str]) -> "Table":
        """Return the table of some of the sets."""
        table = copy.copy(self)
        table.sets = [name for name in self.sets if name in sets]
        return table

    def groups(self) -> dict[str, "Table"]:
        """Return the tables of all sets, of small and large ones, and of the generated groups."""
        rows = dict(zip(self.sets, self.means("rows")[:, 0], strict=True)) if self.sets else {}
        groups = {
            "all": self.sets,
            f"below {SMALL_ROWS:,} rows": [s for s in self.sets if rows[s] < SMALL_ROWS],
            f"from {SMALL_ROWS:,} rows": [s for s in self.sets if rows[s] >= SMALL_ROWS],
            "categories": _tables.names("categories"),
            "rare classes": _tables.names("rare"),
            "noisy": _tables.names("noisy"),
        }
        tables = {group: self.select(sets) for group, sets in groups.items()}
        return {group: table for group, table in tables.items() if table.sets}

    def ranks_by_group(self, measure: str) -> str:
        """Return a row for each group: the mean rank of each model."""
        rows = [
            [group, str(len(table.sets)), *(f"{rank:.2f}" for rank in table.ranks(measure))]
            for group, table in self.groups().items()
        ]
        return text_table([["mean rank", "sets", *self.models], *rows])

    def means(self, measure: str) -> np.ndarray:
        """Return a measure, sets by models."""
        return np.array([[self._means[s, m, measure] for m in self.models] for s in self.sets])

    def ranks(self, measure: str) -> np.ndarray:
        """Return the mean rank of each model, 1 for the best; ties share theirs."""
        values = self.means(measure)
        return rankdata(-values if measure == "roc_auc" else values, axis=1).mean(axis=0)

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
            "in AUC",
            "in Brier",
            "AUC",
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
                    f"{self.ranks('roc_auc')[j]:.2f}",
                    f"{self.ranks('brier')[j]:.2f}",
                    f"{self.means('roc_auc')[:, j].mean():.3f}",
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
            best = values.max() if measure == "roc_auc" else values.min()
            rows.append([name, *(f"{factor * v:.3f}{'*' if v == best else ' '}" for v in values)])
        return text_table([["set", *self.models], *rows])

    def plot(self, path: Path) -> None:
        """Draw the mean ranks in error, log loss and AUC with their critical difference."""
        import matplotlib.pyplot as plt

        count, n_sets = len(self.models), len(self.sets)
        critical = NEMENYI[count - 2] * math.sqrt(count * (count + 1) / (6 * n_sets))
        figure, axes = plt.subplots(1, len(TITLES), figsize=(14, 0.45 * count + 1.2))
        for axis, (measure, title) in zip(axes, TITLES.items(), strict=True):
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
    parser.add_argument("--sets", nargs="*", default=_tables.GROUPS, help="tables, or groups")
    parser.add_argument("--results", type=Path, default=Path("suite.jsonl"))
    parser.add_argument("--plot", type=Path, help="draw the mean ranks to this file")
    parser.add_argument("--by-set", action="store_true", help="print every table, too")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    sets = [name for group in options.sets for name in _tables.names(group)]
    if not options.only_table:
        run(options.models, sets, options.results)
    lines = [line for line in read_lines(options.results) if line["set"] in sets]
    table = Table(lines, options.models, sets)
    if not table.sets:
        return
    print(f"\n{len(table.sets)} tables\n\n{table.summary()}")
    for measure, title in TITLES.items():
        print(f"\nBy {title}\n\n{table.ranks_by_group(measure)}")
    if options.by_set:
        for measure, title, factor in (
            ("error", "Error, %", 100),
            ("log_loss", "Log loss", 1),
            ("roc_auc", "AUC", 1),
            ("fit", "CPU seconds to fit", 1),
        ):
            print(f"\n{title}\n\n{table.by_set(measure, factor)}")
    if options.plot is not None:
        table.plot(options.plot)


if __name__ == "__main__":
    main()
