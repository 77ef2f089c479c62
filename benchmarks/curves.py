"""Test error against CPU time on one thread, compared with LightGBM: the picture in README.

Run with
    python benchmarks/curves.py [mnist usps isolet letter pendigits] --out results.jsonl
    python benchmarks/curves.py --table results.jsonl
    python benchmarks/curves.py --plot results.jsonl picture.png
It needs LightGBM (`pip install lightgbm`). Runs already in the result file are not repeated.
`--methods ours`, `--methods "LightGBM, tuned"` selects methods. `_curves.py` explains how time is
measured.

Settings, ours and those of the tuned LightGBM, were chosen on a held-out sixth of the training
rows: ours for a low error early as well as late, in at most 45 CPU seconds on mnist, 10 on isolet
and letter, 8 on usps and 3 on pendigits; LightGBM's for a low error at the end, in 45, 20, 15, 15
and 2:
    python benchmarks/curves.py mnist --validate --budget 45 --ours "search=Lazy(20)"
    python benchmarks/curves.py mnist --validate --budget 45 --peer "learning_rate=0.2"
    python benchmarks/curves.py mnist --tune --budget 45
Without `--ours` and `--peer` all candidates in this file are tried. `--tune` searches LightGBM's
settings. `--ours` without `--validate` draws the curve on the test rows.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from _curve_plots import draw, merge_results, order_data_sets
from _curves import (
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

DEFAULTS = "LightGBM, defaults"


# LightGBM is tuned one setting after the other, with the others at the best so far.
GRID = {
    "feature_fraction": ("1.0", "0.3", "0.1"),
    "learning_rate": ("0.1", "0.05", "0.2", "0.3"),
    "num_leaves": ("31", "15", "63"),
    "bagging_freq": ("0", "1, bagging_fraction=0.5"),
}
# Fewer values for slow sets.
FEWER = {
    "feature_fraction": ("0.1", "0.3"),
    "learning_rate": ("0.1", "0.2", "0.3"),
    "num_leaves": ("31", "15", "63"),
}


@dataclass(frozen=True)
class Plan:
    """The runs on a data set.

    LightGBM gets as many `trees` as its curve needs to flatten, or as we can wait for, by rows or
    by columns, whichever was faster. `budget` is our CPU seconds: no more than LightGBM's defaults
    take, except on pendigits. Our runs end earlier if no loss is left to lower.
    """

    trees: int
    budget: float
    ours: dict[str, str]
    tuned: tuple[str, int]
    wise: str = "force_row_wise=True"
    more: dict[str, tuple[str, int]] = field(default_factory=dict)
    grid: dict[str, tuple[str, ...]] = field(default_factory=lambda: GRID)

    def peers(self) -> dict[str, tuple[str, int]]:
        """Return the settings and the number of trees of each LightGBM run."""
        runs = {DEFAULTS: ("", self.trees), "LightGBM, tuned": self.tuned, **self.more}
        return {name: (self.full(text), trees) for name, (text, trees) in runs.items()}

    def full(self, settings: str) -> str:
        return f"{settings}, {self.wise}" if settings else self.wise


def fraction(share: float, trees: int) -> dict[str, tuple[str, int]]:
    return {f"LightGBM, feature_fraction={share}": (f"feature_fraction={share}", trees)}


def trees(leaves: int, rate: float, search: str, loss: str = "logistic") -> str:
    """Return the settings of trees with free, real leaf votes."""
    learner = f"Tree('stump', {leaves}, 'free'), preset='paper', votes='real'"
    return f"{learner}, loss='{loss}', learning_rate={rate}, search={search}"


def both(settings: str) -> dict[str, str]:
    return {"ours, tuned": settings, "ours, defaults": ""}


PLANS = {
    "mnist": Plan(
        110,
        118,
        both(trees(32, 0.5, "Lazy(20)")),
        ("feature_fraction=0.1, learning_rate=0.3", 270),
        more=fraction(0.1, 250),
        grid=FEWER,
    ),
    "usps": Plan(
        100,
        20,
        both(trees(16, 0.5, "Lazy(20)")),
        ("feature_fraction=0.3, learning_rate=0.2, num_leaves=15", 400),
        more=fraction(0.1, 500),
    ),
    "isolet": Plan(
        27,
        30,
        both(trees(16, 0.3, "Lazy(10)")),
        ("feature_fraction=0.1, num_leaves=15", 500),
        wise="force_col_wise=True",
        more=fraction(0.1, 400),
        grid=FEWER,
    ),
    "letter": Plan(
        600,
        18,
        both(trees(64, 0.5, "Exhaustive()", "exponential")),
        ("num_leaves=15", 600),
        more=fraction(0.3, 600),
    ),
    "pendigits": Plan(
        600,
        4,
        both(trees(16, 0.5, "Exhaustive()")),
        ("learning_rate=0.05", 600),
        more=fraction(0.3, 600),
    ),
}

# How many last points count: about the last quarter of the rounds.
LAST = 5

OUR_CANDIDATES = [
    trees(leaves, rate, search)
    for leaves, rate, search in product(
        (8, 16, 32, 64), (0.3, 0.5), ("Lazy(10)", "Lazy(20)", "Exhaustive()")
    )
]

Run = Callable[[], Record]


def runs(rows: Rows, plan: Plan, given: list[str], budget: float) -> dict[str, Run]:
    """Return the methods of a data set, each a function that runs it."""
    ours = {f"ours, {text}": text for text in given} or plan.ours
    found: dict[str, Run] = {
        name: lambda text=text: run_edgewise(text, rows, budget) for name, text in ours.items()
    }
    for name, (text, trees) in plan.peers().items():
        found[name] = lambda text=text, trees=trees: lightgbm(text, rows, trees)
    return found


def list_candidates(
    rows: Rows, plan: Plan, ours: list[str], peers: list[str], budget: float
) -> dict[str, Run]:
    """Return the candidates of a data set, each a function that runs it on validation rows."""
    held = rows.validation()
    if not ours and not peers:
        ours = OUR_CANDIDATES
    found: dict[str, Run] = {
        f"ours, {text} in {budget:g} s": lambda text=text: run_edgewise(text, held, budget)
        for text in ours
    }
    for text in peers:
        found[f"LightGBM, {text} in {budget:g} s"] = lambda text=text: lightgbm(
            plan.full(text), held, 100_000, budget
        )
    return found


def print_table(results: Results, names: list[str]) -> None:
    """Print each method's error at LightGBM's times, and when it reaches LightGBM's errors."""
    for name in order_data_sets(results, names):
        records = results.of(name)
        print(name)
        known = next((record for record in records if record["method"] == DEFAULTS), None)
        peers = [record for record in records if record["method"].startswith("LightGBM")]
        print_rows(records, known, peers)
        print()


def print_rows(records: list[Record], known: Record | None, peers: list[Record]) -> None:
    """Print the rows of one data set.

    The times are LightGBM's with default settings after 100 trees, its default, and after all.
    """
    times = [] if known is None else [seconds_at(known, 100), known["seconds"][-1]]
    goals = [] if known is None else [min(known["errors"])]
    goals += [min(min(record["errors"]) for record in peers)] if peers else []
    head = "".join(f"{f'at {time:.0f} s':>10}" for time in times)
    head += "".join(f"{f's to {goal:.2f}':>12}" for goal in goals)
    width = max(len(record["method"]) for record in records)
    print(f"  {'':{width}}  rounds   CPU s    end  least{head}")
    for record in records:
        row = f"  {record['method']:{width}} {record['rounds'][-1]:7,} "
        row += f"{record['seconds'][-1]:7.1f} {record['errors'][-1]:6.2f} "
        row += f"{min(record['errors']):6.2f}"
        row += "".join(f"{error_at(record, time):10.2f}" for time in times)
        row += "".join(f"{seconds_in_words(time_to(record, goal)):>12}" for goal in goals)
        print(row)


def seconds_at(record: Record, rounds: int) -> float:
    """Return the time at a number of rounds, interpolating linearly."""
    return float(np.interp(rounds, record["rounds"], record["seconds"]))


def tune(name: str, rows: Rows, plan: Plan, budget: float, results: Results) -> None:
    """Choose LightGBM's settings by the mean validation error at the end of the budget."""
    held = rows.validation()
    best = {setting: values[0] for setting, values in plan.grid.items()}
    errors: dict[str, float] = {}
    for setting, values in plan.grid.items():
        for value in values:
            text = ", ".join(f"{key}={given}" for key, given in (best | {setting: value}).items())
            known = results.add(
                held.name,
                f"LightGBM, {text} in {budget:g} s",
                lambda text=text: lightgbm(plan.full(text), held, 100_000, budget),
            )
            errors[value] = late(known)
        best[setting] = min(values, key=lambda value: errors[value])
    print(f"{name}: LightGBM, tuned: {best}")


def late(record: Record) -> float:
    """Return the mean error of the last points of a curve, the criterion for settings."""
    return float(np.mean(record["errors"][-LAST:]))


def print_order(records: list[Record]) -> None:
    """Print the candidates, best first."""
    for record in sorted(records, key=late):
        print(f"{late(record):7.3f} %  {record['method']}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(PLANS))
    parser.add_argument("--out", type=Path, help="file of results")
    parser.add_argument("--methods", nargs="+", help="run only methods whose names contain this")
    parser.add_argument("--budget", type=float, help="CPU seconds for edgewise")
    parser.add_argument(
        "--validate", action="store_true", help="test on a sixth of the training rows"
    )
    parser.add_argument("--tune", action="store_true", help="choose LightGBM's settings")
    parser.add_argument("--ours", nargs="+", default=[], help="settings of AdaBoostMH to run")
    parser.add_argument("--peer", nargs="+", default=[], help="settings of LightGBM to run")
    parser.add_argument("--table", type=Path, nargs="+", metavar="RESULTS")
    parser.add_argument("--plot", type=Path, nargs="+", metavar="FILE", help="RESULTS... PICTURE")
    options = parser.parse_args()
    if options.table:
        print_table(merge_results(options.table, options.methods), options.names)
    if options.plot:
        *paths, picture = options.plot
        results = merge_results(paths, options.methods)
        panels = {
            name: {record["method"]: record for record in results.of(name)}
            for name in order_data_sets(results, options.names)
        }
        draw(panels, picture)
    if options.table or options.plot:
        return
    print("one thread, CPU seconds of fit; kernels were loaded or compiled before")
    results = Results(options.out)
    for name in options.names:
        rows, plan = load(name), PLANS[name]
        if rows is None:
            continue
        budget = options.budget or plan.budget
        if options.tune:
            tune(name, rows, plan, budget, results)
            continue
        if options.validate:
            found = list_candidates(rows, plan, options.ours, options.peer, budget)
            data = f"{name}/validation"
        else:
            found, data = runs(rows, plan, options.ours, budget), name
        records = [
            results.add(data, method, found[method]) for method in matching(found, options.methods)
        ]
        if options.validate:
            print_order(records)


if __name__ == "__main__":
    main()
