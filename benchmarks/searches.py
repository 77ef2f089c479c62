"""Searches side by side: error against CPU time, one thread, for every learner; and LightGBM.

Run with
    python benchmarks/searches.py [wide mnist isolet] --out results.jsonl
    python benchmarks/searches.py --table results.jsonl
    python benchmarks/searches.py --plot results.jsonl picture.png
What is in the file of results is not run again; `--methods "product, UCB"` runs some of the
methods, `--searches "UCB(30, exploration=0.1)"` other searches. How time is measured is said in
`_curves.py`.

wide is generated in the shape of the KDD Cup 2009 task (`--rows`, `--columns`, for a smaller one):
two classes, measured by 100 (1 - AUC) on 10,000 other rows. On MNIST and isolet it is the test
error in per cent. Every run has the same CPU seconds, reading the
rows included. The table shows when a search first reaches what Exhaustive has at its end, and its
least, as a share of the time that Exhaustive itself takes to get there: of all time, and "in
rounds" without that for reading and binning the rows, which is the same for all.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from _curve_plots import draw, read
from _curves import (
    Record,
    Results,
    Rows,
    boosted,
    error_at,
    lightgbm,
    load,
    matching,
    seconds_in_words,
    time_to,
)
from edgewise import datasets
from edgewise.search import SEARCHES

LEARNERS = {"stump": "'stump'", "product": "Product('stump', 3)", "tree": "Tree('stump', 8)"}
BUDGETS = {"wide": 200.0, "mnist": 100.0, "isolet": 60.0}
# How many columns a search looks at: of 15,000, of 784 and of 617.
COLUMNS = {"wide": 50, "mnist": 30, "isolet": 30}
PEERS = {
    "wide": "feature_fraction=0.1, force_col_wise=True",
    "mnist": "feature_fraction=0.1, force_row_wise=True",
    "isolet": "feature_fraction=0.1, force_col_wise=True",
}
TESTED = 10_000
FULL = "Exhaustive()"


def searches(name: str) -> list[str]:
    """Return the searches that are compared on a data set, as text."""
    k = COLUMNS[name]
    kinds = [kind.__name__ for kind in SEARCHES.values() if kind.__name__ != "Exhaustive"]
    return [FULL, *(f"{kind}({k})" for kind in kinds)]


def wide(n_rows: int, n_columns: int) -> Rows:
    """Return the generated task, in memory as one array: what LightGBM takes too."""
    task = datasets.make_wide(
        n_rows,
        TESTED,
        n_numeric=n_columns - n_nominal(n_columns),
        n_nominal=n_nominal(n_columns),
        informative=max(20, n_columns // 50),
        redundant=max(20, n_columns // 50),
    )
    return Rows("wide", task.X_train.array(), task.y_train, task.X_test.array(), task.y_test)


def n_nominal(n_columns: int) -> int:
    return round(n_columns * 260 / 15_000)


def nominal(rows: Rows) -> str:
    """Return the numbers of the nominal columns, as text; nothing where there are none."""
    if rows.name != "wide":
        return ""
    n_columns = rows.X.shape[1]
    return f"list(range({n_columns - n_nominal(n_columns)}, {n_columns}))"


def run(name: str, rows: Rows, options: Any, results: Results) -> None:
    budget = options.budget or BUDGETS[name]
    asked = options.searches or searches(name)
    names = nominal(rows)
    ending = f", nominal={names}" if names else ""
    methods = {
        f"{kind}, {search}": partial(boosted, f"{text}, search={search}{ending}", rows, budget)
        for kind, text in LEARNERS.items()
        for search in asked
    }
    peer = PEERS[name] + (f", categorical_feature={names}" if names else "")
    methods[f"LightGBM, {peer.split(', ')[0]}"] = partial(lightgbm, peer, rows, 100_000, budget)
    for method in matching(methods, options.methods):
        results.add(name, method, methods[method])


def panels(results: Results, names: list[str]) -> dict[str, dict[str, Record]]:
    """Return the curves of each data set and learner, named by search, with LightGBM's."""
    found = {}
    for name in names:
        records = {record["method"]: record for record in results.of(name)}
        peers = {method: record for method, record in records.items() if "LightGBM" in method}
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
    """Print when each search is as low as Exhaustive at its end."""
    for title, curves in shown.items():
        full = curves.get(FULL)
        width = max(map(len, curves))
        print(f"{title}\n  {'':{width}}  rounds  ms/round   CPU s     end   least", end="")
        if full is not None:
            end, goals = full["seconds"][-1], (full["errors"][-1], min(full["errors"]))
            print("".join(f"{f'at {part * end:.0f} s':>9}" for part in (1 / 10, 1 / 3)), end="")
            print("".join(f"{f's to {g:.2f}':>12}   share  in rounds" for g in goals), end="")
        print()
        for label, record in curves.items():
            print(
                f"  {label:{width}} {record['rounds'][-1]:7,} {1e3 * record['median']:9.2f} "
                f"{record['seconds'][-1]:7.1f} {record['errors'][-1]:7.2f} "
                f"{min(record['errors']):7.2f}{'' if full is None else against(record, full)}"
            )
        print()


def against(record: Record, full: Record) -> str:
    """Return the columns of a table that compare a curve with Exhaustive's."""
    end = full["seconds"][-1]
    text = "".join(f"{error_at(record, part * end):9.2f}" for part in (1 / 10, 1 / 3))
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
    parser.add_argument("names", nargs="*", default=list(BUDGETS))
    parser.add_argument("--out", type=Path, help="the file of results")
    parser.add_argument("--methods", nargs="+", help="only those whose names contain this")
    parser.add_argument("--searches", nargs="+", help="instead of those of this file")
    parser.add_argument("--budget", type=float, help="CPU seconds of every run")
    parser.add_argument("--rows", type=int, default=50_000, help="of the wide task")
    parser.add_argument("--columns", type=int, default=15_000, help="of the wide task")
    parser.add_argument("--table", type=Path, nargs="+", metavar="RESULTS")
    parser.add_argument("--plot", type=Path, nargs="+", metavar="FILE", help="RESULTS... PICTURE")
    options = parser.parse_args()
    if options.table:
        print_table(panels(read(options.table, options.methods), options.names))
    if options.plot:
        *paths, picture = options.plot
        drawn = panels(read(paths, options.methods), options.names)
        draw(drawn, picture, lambda title: "100 (1 - AUC)" if "wide" in title else "test error, %")
    if options.table or options.plot:
        return
    print("one thread, CPU seconds of fit; kernels were loaded or compiled before")
    results = Results(options.out)
    for name in options.names:
        rows = wide(options.rows, options.columns) if name == "wide" else load(name)
        if rows is not None:
            run(name, rows, options, results)


if __name__ == "__main__":
    main()
