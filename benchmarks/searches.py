"""Compare searches: error against CPU time on one thread, for every learner, and LightGBM.

Run with
    python benchmarks/searches.py [wide mnist isolet] --out results.jsonl
    python benchmarks/searches.py --table results.jsonl
    python benchmarks/searches.py --plot results.jsonl picture.png
Runs already in the result file are not repeated. `--methods "product, UCB"` selects methods,
`--searches "UCB(30, exploration=0.1)"` adds other searches. `_curves.py` explains how time is
measured.

    python benchmarks/searches.py family --out family.jsonl
    python benchmarks/searches.py family --table family.jsonl
compares `"auto"` with random columns (drawn once a tree), with all columns and, for stumps, with
UCB, on generated tasks (`_search_tasks.py`; `--seed` makes others), isolet, bibtex (by its Hamming
loss) and 10,000 rows of MNIST. All get the same CPU time; the table shows the errors after it.

wide is generated in the shape of the KDD Cup 2009 task (`--rows`, `--columns` make it smaller): two
classes, measured by 100 (1 - AUC) on 10,000 other rows. Its labels are noisy, so all learners use
the logistic loss with a learning rate of 0.3. MNIST and isolet show the test error in per cent of
the papers' discrete AdaBoost.MH. LightGBM runs on the wide task only; pass the result file of
`curves.py` for its other curves. It takes minutes to read the wide task; `--methods stump product
tree` leaves it out.

Budgets are CPU seconds of rounds, after reading; Exhaustive gets several times more than the
others. The table shows when a search first reaches Exhaustive's final error, and its smallest one,
as a share of the time that Exhaustive takes: of the total time, and "in rounds" without reading and
binning, which are the same for all. It also shows the error after a tenth and a third of
Exhaustive's time.
"""

import argparse
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from _curve_plots import draw, merge_results
from _curves import (
    BinnedOnce,
    Record,
    Results,
    Rows,
    error_at,
    lightgbm,
    load,
    matching,
    run_edgewise,
    seconds_in_words,
    time_to,
)
from _search_tasks import GENERATED, generate_task
from _wide import make_wide

LEARNERS = {
    "stump": "'stump', preset='paper'",
    "product": "Product('stump', 3), preset='paper'",
    "tree": "Tree('stump', 8), preset='paper'",
    "default": "'auto'",
}


@dataclass(frozen=True)
class Plan:
    """The runs on a data set: CPU seconds of rounds, columns per pull, settings."""

    full: float
    others: float
    columns: int
    peer: str = ""
    settings: str = ""
    learners: tuple[str, ...] = ("stump", "product", "tree")

    def searches(self, kind: str) -> list[str]:
        """Return the searches to compare with a learner, as text."""
        k = self.columns
        if not self.peer:
            if kind == "stump":
                return [FULL, f"Lazy({k})", AUTO, f"UCB({k})"]
            return [FULL, f"Lazy({k}, True)", AUTO]
        return [FULL, f"Lazy({k})", f"UCB({k})", f"Exp3P({k})", THOMPSON.format(k)]


FULL = "Exhaustive()"
AUTO = "'auto'"
THOMPSON = "ThompsonSampling({})"
FRACTION = "feature_fraction=0.1"
PEER = f"LightGBM, {FRACTION}"
PLANS = {
    "wide": Plan(
        50,
        10,
        50,
        f"{FRACTION}, force_col_wise=True",
        ", loss='logistic', learning_rate=0.3",
    ),
    "mnist": Plan(30, 12, 30, f"{FRACTION}, force_row_wise=True"),
    "isolet": Plan(12, 5, 30, f"{FRACTION}, force_col_wise=True"),
}
PLAN = Plan(1, 1, 50, learners=("stump", "default"))
FAMILY = dict.fromkeys(GENERATED, PLAN)
FAMILY |= dict.fromkeys(("isolet", "mnist", "bibtex"), replace(PLAN, full=3, others=3))
CAP = 10_000
TESTED = 10_000
SMALL = {"n_rows": 2000, "n_columns": 1500, "n_test": 0}


def task(name: str, options: Any) -> Rows | None:
    """Return the rows to run on, or None where there is no copy of a data set."""
    if name == "wide":
        return wide(options.rows, options.columns)
    if name in GENERATED:
        return generate_task(name, options.seed)
    rows = load(name)
    if rows is None or not options.family:
        return rows
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows.y))[:CAP])
    return replace(rows, X=rows.X[chosen], y=rows.y[chosen], bins=BinnedOnce())


def wide(n_rows: int, n_columns: int) -> Rows:
    """Return the generated task, made by columns while it is read, and a small one to warm up."""
    small = wide_rows(**SMALL)
    return replace(wide_rows(n_rows, n_columns, TESTED), small=small, bins=BinnedOnce())


def wide_rows(n_rows: int, n_columns: int, n_test: int) -> Rows:
    task = make_wide(
        n_rows,
        n_test,
        n_numeric=n_columns - n_categorical(n_columns),
        n_categorical=n_categorical(n_columns),
        informative=max(20, n_columns // 50),
        redundant=max(20, n_columns // 50),
    )
    return Rows("wide", task.X_train, task.y_train, task.X_test, task.y_test)


def n_categorical(n_columns: int) -> int:
    return round(n_columns * 260 / 15_000)


def categorical(rows: Rows) -> str:
    """Return the numbers of the categorical columns for LightGBM as text, empty without any."""
    if rows.name != "wide":
        return ""
    n_columns = rows.X.shape[1]
    return f", categorical_feature=list(range({n_columns - n_categorical(n_columns)}, {n_columns}))"


def run(name: str, rows: Rows, options: Any, results: Results) -> None:
    plan = (FAMILY if options.family else PLANS)[name]
    methods = {}
    for kind in plan.learners:
        text = LEARNERS[kind]
        for search in options.searches or plan.searches(kind):
            budget = options.budget or (plan.full if search == FULL else plan.others)
            # Not in the papers: one learner is enough.
            if options.searches or kind == "tree" or search != THOMPSON.format(plan.columns):
                settings = f"{text}, search={search}{plan.settings}"
                methods[f"{kind}, {search}"] = partial(run_edgewise, settings, rows, budget, False)
    if plan.peer:
        peer, budget = plan.peer + categorical(rows), options.budget or plan.full
        methods[PEER] = partial(lightgbm, peer, rows, 100_000, budget, False)
    for method in matching(methods, options.methods):
        results.add(name, method, methods[method])


def panels(results: Results, names: list[str]) -> dict[str, dict[str, Record]]:
    """Return the curves of each data set and learner, named by search, with LightGBM's."""
    found = {}
    for name in names:
        records = {record["method"]: record for record in results.of(name)}
        peers = {method: records[method] for method in (PEER,) if method in records}
        for kind in LEARNERS:
            start = f"{kind}, "
            mine = {
                method.removeprefix(start): record
                for method, record in records.items()
                if method.startswith(start)
            }
            if mine:
                found[f"{name}, {kind}"] = mine | peers
    return found


def print_table(shown: dict[str, dict[str, Record]]) -> None:
    """Print when each search reaches Exhaustive's final error."""
    for title, curves in shown.items():
        full = curves.get(FULL)
        width = max(map(len, curves))
        print(f"{title}\n  {'':{width}}  rounds  ms/round   CPU s     end   least", end="")
        if full is not None:
            goals = (full["errors"][-1], min(full["errors"]))
            print("".join(f"{f'in {span:.1f} s':>10}" for span in spans(full)), end="")
            print("".join(f"{f's to {g:.2f}':>12}   share  in rounds" for g in goals), end="")
        print()
        for label, record in curves.items():
            print(
                f"  {label:{width}} {record['rounds'][-1]:7,} {1e3 * record['median']:9.2f} "
                f"{record['seconds'][-1]:7.1f} {record['errors'][-1]:7.2f} "
                f"{min(record['errors']):7.2f}{'' if full is None else against(record, full)}"
            )
        print()


def print_errors(results: Results) -> None:
    """Print the errors of the family after equal times, one row for each task."""
    shown = {kind: PLAN.searches(kind) for kind in PLAN.learners}
    print(f"{'':20}" + "".join(f"{kind:{14 * len(shown[kind])}}" for kind in shown))
    print(f"{'':20}" + "".join(f"{text:14}" for texts in shown.values() for text in texts))
    for name, plan in FAMILY.items():
        records = {record["method"]: record for record in results.of(name)}
        row = ""
        for kind, texts in shown.items():
            for text in texts:
                record = records.get(f"{kind}, {text}")
                end = np.nan if record is None else error_at(record, record["reading"] + plan.full)
                row += f"{end:<14.2f}"
        print(f"{name:20}{row}")


def spans(full: Record) -> list[float]:
    """Return a tenth and a third of the seconds of Exhaustive's rounds."""
    return [part * (full["seconds"][-1] - full["reading"]) for part in (1 / 10, 1 / 3)]


def against(record: Record, full: Record) -> str:
    """Return the table columns that compare a curve with Exhaustive's."""
    times = (record["reading"] + span for span in spans(full))
    text = "".join(f"{error_at(record, time):10.2f}" for time in times)
    for goal in (full["errors"][-1], min(full["errors"])):
        theirs, mine = time_to(full, goal), time_to(record, goal)
        text += f"{seconds_in_words(mine):>12}"
        rounds = (mine - record["reading"]) / (theirs - full["reading"])
        text += f"{mine / theirs:8.3f}{rounds:11.3f}" if np.isfinite(mine) else f"{'':19}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["wide", "mnist", "isolet"])
    parser.add_argument("--seed", type=int, default=0, help="random seed of generated tasks")
    parser.add_argument("--out", type=Path, help="file of results")
    parser.add_argument("--methods", nargs="+", help="run only methods whose names contain this")
    parser.add_argument("--searches", nargs="+", help="searches to run instead of the default ones")
    parser.add_argument("--budget", type=float, help="CPU seconds of rounds per run")
    parser.add_argument("--rows", type=int, default=50_000, help="size of the wide task")
    parser.add_argument("--columns", type=int, default=15_000, help="size of the wide task")
    parser.add_argument("--table", type=Path, nargs="+", metavar="RESULTS")
    parser.add_argument("--plot", type=Path, nargs="+", metavar="FILE", help="RESULTS... PICTURE")
    options = parser.parse_args()
    options.family = options.names == ["family"]
    if options.family:
        options.names = list(FAMILY)
    if options.table and options.family:
        print_errors(merge_results(options.table, options.methods))
    elif options.table:
        print_table(panels(merge_results(options.table, options.methods), options.names))
    if options.plot:
        *paths, picture = options.plot
        drawn = panels(merge_results(paths, options.methods), options.names)
        draw(drawn, picture, lambda title: "100 (1 - AUC)" if "wide" in title else "test error, %")
    if options.table or options.plot:
        return
    print("one thread, CPU seconds of fit; kernels were loaded or compiled before")
    results = Results(options.out)
    for name in options.names:
        rows = task(name, options)
        if rows is not None:
            run(name, rows, options, results)


if __name__ == "__main__":
    main()
