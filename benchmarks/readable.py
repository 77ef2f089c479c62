"""Models that can be read, beside explainable boosting machines and models that cannot.

Run with `python benchmarks/readable.py [--sets german noisy ...]`: the tables of `suite.py` on
which an explainable boosting machine takes minutes at most, fewer than 10,000 training rows and up
to 100 columns, and the first split of each. All models have their defaults: our additive models,
stumps and products, the default classifier, interpret's EBM, and LightGBM. Every fit adds a line to
the results (JSON lines), and a fit that has a line does not run again. The summary has mean ranks
in error, log loss and AUC, the median log loss as a ratio to the default's, CPU time as a ratio to
EBM's (geometric mean), and the mean number of terms of additive models.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import _tables
import suite
from _results import append, read_lines
from edgewise import AdaBoostMH
from edgewise.common.text import text_table

OURS = {"additive": "additive", "stumps": "stump", "products": "product"}
MODELS = ("additive", "ebm", "stumps", "products", "edgewise", "lightgbm")
MEASURES = {"error": 1, "log_loss": 1, "roc_auc": -1}
"""The measures that models are ranked by; -1 where larger is better."""

for name, learner in OURS.items():
    suite.MODELS[name] = lambda _, learner=learner: AdaBoostMH(learner, n_jobs=1, random_state=0)


def run(sets: list[str], results: Path) -> None:
    """Run the fits that have no line in the results yet."""
    known = {(line["set"], line["model"]) for line in read_lines(results)}
    splits = {name: next(_tables.splits(name)) for name in sets if _tables.is_available(name)}
    splits = {name: split for name, split in splits.items() if suite.suits("ebm", split)}
    for name in sorted(splits, key=lambda name: suite.work(splits[name])):
        for model in MODELS:
            if (name, model) in known:
                continue
            line = {"set": name, "model": model, **suite.measure(model, splits[name])}
            append(results, line)
            print(
                f"{name:18} {model:10} error {100 * line['error']:6.2f} %  log loss "
                f"{line['log_loss']:.4f}  AUC {line['roc_auc']:.4f}  terms {line['terms']:4.0f}  "
                f"fit {line['fit']:8.2f} s",
                flush=True,
            )


def summarize(results: Path, sets: list[str]) -> str:
    """Return a row for each model, over the tables on which all ran."""
    lines = {(line["set"], line["model"]): line for line in read_lines(results)}
    complete = [name for name in sets if all((name, model) in lines for model in MODELS)]
    values = {
        measure: np.array([[lines[name, model][measure] for model in MODELS] for name in complete])
        for measure in (*MEASURES, "fit", "terms")
    }
    ranks = {
        measure: rankdata(sign * values[measure], axis=1).mean(axis=0)
        for measure, sign in MEASURES.items()
    }
    ours, ebm = MODELS.index("edgewise"), MODELS.index("ebm")
    ratios = values["log_loss"] / values["log_loss"][:, [ours]]
    seconds = np.exp(np.log(values["fit"] / values["fit"][:, [ebm]]).mean(axis=0))
    rows = [
        ["model", "error %", "log loss", "AUC", "rank in error", "in log loss", "in AUC",
         "log loss/default", "CPU/EBM", "CPU s", "terms"],
    ]  # fmt: skip
    for j, model in enumerate(MODELS):
        rows.append(
            [
                model,
                f"{100 * values['error'][:, j].mean():.2f}",
                f"{values['log_loss'][:, j].mean():.4f}",
                f"{values['roc_auc'][:, j].mean():.4f}",
                *(f"{ranks[measure][j]:.2f}" for measure in MEASURES),
                f"{np.median(ratios[:, j]):.3f}",
                f"1/{1 / seconds[j]:.0f}" if seconds[j] < 1 else f"{seconds[j]:.1f}",
                f"{values['fit'][:, j].mean():.2f}",
                f"{values['terms'][:, j].mean():.0f}" if values["terms"][:, j].any() else "",
            ]
        )
    return f"{len(complete)} tables\n\n{text_table(rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=_tables.GROUPS, help="tables, or groups")
    parser.add_argument("--results", type=Path, default=Path("readable.jsonl"))
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    sets = [name for group in options.sets for name in _tables.names(group)]
    if not options.only_table:
        run(sets, options.results)
    print(f"\n{summarize(options.results, sets)}")


if __name__ == "__main__":
    main()
