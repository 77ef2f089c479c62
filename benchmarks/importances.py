"""Importances in training against permutation importances on test rows, ours and LightGBM's.

Run with `python benchmarks/importances.py [--sets letter rare ...]`. On the first split of every
table of the suite (`_tables.py`) with 3 to 250 columns and no labels, a model is trained with its
defaults, and Spearman's rank correlation compares two orders of its columns: by
`feature_importances_`, LightGBM's by gain, and by how much the log loss of test rows rises when the
column is shuffled.
"""

import argparse
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from lightgbm import LGBMClassifier
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance

import _tables
from _results import append, read_lines
from edgewise import AdaBoostMH
from edgewise.common.text import text_table

COLUMNS = range(3, 251)
TEST_ROWS, REPEATS = 2_000, 5
MODELS = {
    "edgewise": lambda: AdaBoostMH(n_jobs=1, random_state=0),
    "lightgbm": lambda: LGBMClassifier(n_jobs=1, verbose=-1, importance_type="gain"),
}


def correlation(model_name: str, split: _tables.Split) -> float:
    """Train a model and return the rank correlation of its importances."""
    model = MODELS[model_name]().fit(split.X, split.y)
    rows = np.random.default_rng(0).permutation(len(split.y_test))[:TEST_ROWS]
    # The log loss takes classes of the training rows.
    rows = rows[np.isin(split.y_test[rows], model.classes_)]
    X = split.X_test.iloc[rows] if hasattr(split.X_test, "iloc") else split.X_test[rows]
    permuted = permutation_importance(
        model, X, split.y_test[rows], scoring=_score, n_repeats=REPEATS, random_state=0
    )
    return float(spearmanr(model.feature_importances_, permuted.importances_mean)[0])


def _score(model: AdaBoostMH | LGBMClassifier, X: np.ndarray, y: np.ndarray) -> float:
    shares = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(np.log(np.clip(shares, 1e-15, 1)).mean())


def run(tables: Sequence[str], results: Path) -> None:
    """Measure the tables that have no lines in the results yet."""
    known = {(line["set"], line["model"]) for line in read_lines(results)}
    for name in filter(_tables.is_available, tables):
        if known.issuperset((name, model) for model in MODELS):
            continue
        split = next(_tables.splits(name))
        if split.y.ndim == 2 or split.X.shape[1] not in COLUMNS:
            continue
        for model in MODELS:
            line = {"set": name, "model": model, "correlation": correlation(model, split)}
            append(results, line)
            print(f"{name:18} {model:10} {line['correlation']:.3f}", flush=True)


def main() -> None:
    """Print the correlations on every table and their means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=_tables.GROUPS, help="tables, or groups")
    parser.add_argument("--results", type=Path, default=Path("importances.jsonl"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    tables = [name for group in options.sets for name in _tables.names(group)]
    run(tables, options.results)
    lines = {(line["set"], line["model"]): line for line in read_lines(options.results)}
    tables = [name for name in tables if all((name, model) in lines for model in MODELS)]
    values = np.array([[lines[name, m]["correlation"] for m in MODELS] for name in tables])
    rows = [*zip(tables, values, strict=True), ("mean", values.mean(axis=0))]
    cells = [[name, *(f"{value:.3f}" for value in row)] for name, row in rows]
    print(f"\n{text_table([['rank correlation', *MODELS], *cells])}")
    ahead, behind = (values[:, 0] > values[:, 1]).sum(), (values[:, 0] < values[:, 1]).sum()
    print(f"\nedgewise is higher on {ahead} of {len(tables)} tables, lower on {behind}")


if __name__ == "__main__":
    main()
