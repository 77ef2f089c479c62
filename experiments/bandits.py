"""Columns found by bandits (Kégl and Busa-Fekete 2009b): tables 1 and 2, and figure 2.

The task of the KDD Cup 2009 is generated in its shape. With the published files of the large set in
the folder `$KDD_CUP_2009`, the three real tasks are run instead.
"""

import os
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks._wide import make_wide
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from edgewise import UCB, AdaBoostMH, Callback, Exp3P, Lazy, Product, Tree
from experiments.runner import Bench, Cell, Experiment, Paper, Said

SOURCE = "Kégl and Busa-Fekete 2009b"
LEARNERS = {
    "stump": "stump",
    "product of 3": Product(n_terms=3),
    "tree of 8 leaves": Tree(max_leaf_nodes=8),
}
# Validation figures of table 1, by task: AUC, for appetency balanced accuracy.
TABLE1 = {
    "churn": dict(zip(LEARNERS, (0.7424, 0.6702, 0.7088), strict=True)),
    "appetency": dict(zip(LEARNERS, (0.7051, 0.6999, 0.7424), strict=True)),
    "upselling": dict(zip(LEARNERS, (0.8938, 0.8888, 0.8956), strict=True)),
}
# Minutes for 8,000 rounds, training and testing.
TABLE2 = dict(zip(LEARNERS, (274.0, 456.0, 384.0), strict=True))
ROUNDS = 8000


class Task(NamedTuple):
    """Rows to train and to validate on, 60 and 40 % as in the paper."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def searches(k: int) -> dict[str, Any]:
    """Return the searches: the paper's formula of UCB, and ours."""
    return {
        "all columns": "exhaustive",
        "Lazy": Lazy(k),
        "UCB, the paper's formula": UCB(k, reward="root", exploration=1.0, memory=None),
        "UCB": UCB(k),
        "Exp3.P": Exp3P(k),
    }


# Rows, test rows, numeric and categorical columns, and how many are informative.
SHAPES = {
    "quick": (1500, 1000, 150, 10, 30),
    "generated": (20_000, 10_000, 2948, 52, 60),
    "shape of the large set": (50_000, 10_000, 14_740, 260, 300),
}


@cache
def task(name: str, seed: int) -> Task:
    """Return a task: generated, or a real one."""
    if name not in SHAPES:
        return _real(name, Path(os.environ["KDD_CUP_2009"]), seed)
    n_rows, n_test, numeric, categorical, informative = SHAPES[name]
    made = make_wide(
        n_rows,
        n_test,
        n_numeric=numeric,
        n_categorical=categorical,
        informative=informative,
        redundant=informative,
        random_state=seed,
    )
    return Task(made.X_train, made.y_train, made.X_test, made.y_test)


def _real(name: str, folder: Path, seed: int) -> Task:
    """Return a task of the KDD Cup 2009 from the published files: chunks with one header."""
    import pandas as pd

    chunks = sorted(folder.glob("orange_large_train.data.chunk*"))
    if not chunks:
        raise FileNotFoundError(f"{folder} has no orange_large_train.data.chunk* files")
    header = pd.read_csv(chunks[0], sep="\t", nrows=0).columns
    parts = [
        pd.read_csv(chunk, sep="\t", header=0 if place == 0 else None, low_memory=False)
        for place, chunk in enumerate(chunks)
    ]
    for part in parts:
        part.columns = header
    X = pd.concat(parts, ignore_index=True)
    texts = X.select_dtypes(exclude="number").columns
    X[texts] = X[texts].astype("category")
    y = np.loadtxt(folder / f"orange_large_train_{name}.labels", dtype=int)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    return Task(X, y, X_test, y_test)


class _Clock(Callback):
    """Note the CPU time after every round."""

    def on_start(self, run: Any) -> None:
        self.times = [time.process_time()]

    def on_round(self, run: Any) -> None:
        self.times.append(time.process_time())


def train_timed(
    name: str, learner: str, search: Any, n_rounds: int, bench: Bench
) -> tuple[AdaBoostMH, float]:
    """Train, and return the model and the CPU minutes of 8,000 rounds at its late pace."""
    own, clock = task(name, bench.seed), _Clock()
    model = AdaBoostMH(
        LEARNERS[learner],
        preset="paper",
        search=search,
        n_rounds=n_rounds,
        class_weight="balanced",
        random_state=bench.seed,
        callbacks=[clock],
    )
    model = bench.train(model, own.X, own.y)
    late = np.diff(getattr(clock, "times", []))[n_rounds // 2 :]
    return model, ROUNDS * float(late.mean()) / 60 if len(late) else float("nan")


def measure(name: str, learner: str, search: str, bench: Bench) -> dict[str, Any]:
    """Return AUC (of appetency, balanced accuracy) on the rows held out, and over the rounds."""
    own, k = task(name, bench.seed), 10 if bench.quick else 50
    model, minutes = train_timed(name, learner, searches(k)[search], bench.rounds(1000, 30), bench)
    shown = {*np.unique(np.geomspace(1, model.n_rounds_, 30).round().astype(int)).tolist()}
    points = [
        [t, float(roc_auc_score(own.y_test, scores))]
        for t, scores in enumerate(model.staged_decision_function(own.X_test), 1)
        if t in shown
    ]
    value = points[-1][1]
    if name == "appetency":
        value = balanced_accuracy_score(own.y_test, model.predict(own.X_test))
    also = {f"{search}: CPU minutes for 8,000 rounds": {"value": minutes}}
    return {"value": value, "also": also, "curve": points}


def table1(bench: Bench) -> list[Cell]:
    """Return a cell for each task, learner and search."""
    real = "KDD_CUP_2009" in os.environ and not bench.quick
    names = tuple(TABLE1) if real else ("quick" if bench.quick else "generated",)
    kinds = ("UCB", "UCB, the paper's formula") if real else tuple(searches(50))
    learners = ("stump",) if bench.quick else tuple(LEARNERS)
    return [
        Cell(
            f"{name}, {learner}",
            search,
            partial(measure, name, learner, search),
            Paper(TABLE1[name][learner]) if real else None,
        )
        for name in names
        for learner in learners
        for search in kinds
    ]


def time_ucb(name: str, learner: str, bench: Bench) -> dict[str, Any]:
    """Return the CPU minutes of 8,000 rounds with UCB(50)."""
    search = UCB(10 if bench.quick else 50)
    _, minutes = train_timed(name, learner, search, bench.rounds(400, 30), bench)
    return {"value": minutes}


def table2(bench: Bench) -> list[Cell]:
    """Return a cell for each learner, in the shape of the large set."""
    name = "quick" if bench.quick else "shape of the large set"
    papers = {} if bench.quick else {learner: Paper(TABLE2[learner]) for learner in TABLE2}
    return [
        Cell(
            learner,
            "minutes for 8,000 rounds",
            partial(time_ucb, name, learner),
            papers.get(learner),
        )
        for learner in LEARNERS
    ]


def draw(results: list[dict[str, Any]], figure: Any) -> None:
    """Draw AUC over the rounds, a panel for each task and learner."""
    rows = list(dict.fromkeys(result["row"] for result in results))
    panels = figure.subplots(1, len(rows), squeeze=False, sharey=True)[0]
    for row, axes in zip(rows, panels, strict=True):
        for result in results:
            if result["row"] == row:
                axes.plot(*np.array(result["curve"]).T, label=result["column"])
        axes.set(xscale="log", xlabel="rounds")
        axes.set_title(row, fontsize=9)
    panels[0].set_ylabel("AUC on rows held out")
    panels[-1].legend(fontsize=8, loc="lower right")


def figure2(bench: Bench) -> list[Cell]:
    """Return the learners with UCB, by the paper's formula and by ours."""
    return [cell for cell in table1(bench) if cell.column.startswith("UCB")]


def draw_figure2(results: list[dict[str, Any]], figure: Any) -> None:
    """Draw AUC over the rounds, a panel for each task and formula."""
    panels: dict[str, Any] = {}
    names = [f"{result['row'].partition(',')[0]}, {result['column']}" for result in results]
    several = figure.subplots(1, len({*names}), squeeze=False, sharey=True)[0]
    for name, result in zip(names, results, strict=True):
        axes = panels.setdefault(name, several[len(panels)] if name not in panels else None)
        axes.plot(*np.array(result["curve"]).T, label=result["row"].partition(", ")[2])
        axes.set(xscale="log", xlabel="rounds")
        axes.set_title(name, fontsize=9)
    several[0].set_ylabel("AUC on rows held out")
    several[-1].legend(fontsize=8, loc="lower right")


def figure2_words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield what the paper says of its curves."""
    peaks = {
        f"{result['row']}, {result['column']}": max(result["curve"], key=lambda point: point[1])[0]
        for result in results
    }
    n_rounds = results[0]["curve"][-1][0]
    ours = "; ".join(f"{name}: {peak}" for name, peak in peaks.items())
    yield Said(
        "AdaBoost overfits early",
        f"of {n_rounds} rounds AUC is highest after: {ours}",
        sum(2 * peak < n_rounds for peak in peaks.values()) > len(peaks) / 2,
    )


def words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield what the paper says of its bandit: more rounds, and yet less time."""
    found = {(result["row"], result["column"]): result for result in results}
    for row in dict.fromkeys(result["row"] for result in results):
        full, bandit = (found.get((row, search)) for search in ("all columns", "UCB"))
        if full is None or bandit is None:
            continue
        (slow,), (fast,) = (
            [more["value"] for more in one["also"].values()] for one in (full, bandit)
        )
        n_rounds = bandit["curve"][-1][0]
        meanwhile = [auc for t, auc in full["curve"] if t * slow <= n_rounds * fast]
        same = meanwhile[-1] if meanwhile else full["curve"][0][1]
        yield Said(
            "a bandit takes more rounds, but less time",
            f"{row}, {n_rounds} rounds: AUC {bandit['value']:.3f}; all columns have {same:.3f} in "
            f"the same time, and {full['value']:.3f} in {slow / fast:.0f} times that",
            bandit["value"] > same,
        )
    if not any("paper" in result for result in results):
        stumps = ", ".join(f"{name} {row['stump']}" for name, row in TABLE1.items())
        yield Said(f"stumps: {stumps}", "not run here: it needs the files of the KDD Cup 2009")


ABOUT = (
    "Discrete AdaBoost.MH with stumps, products of three and trees of eight leaves. The paper has "
    "the large set of the KDD Cup 2009, 8,000 rounds and 50 columns a search; with its files in "
    "$KDD_CUP_2009 this runs on them. Otherwise the task is generated: compare the searches with "
    "each other, not with the paper."
)

EXPERIMENTS = [
    Experiment(
        "bandits-table1",
        "Columns found by bandits",
        f"{SOURCE}, table 1",
        f"{ABOUT} 20,000 rows, 3,000 columns, 1,000 rounds unless --rounds says otherwise.",
        "AUC (balanced accuracy for appetency) on rows held out",
        table1,
        draw,
        more_is_better=True,
        words=words,
        why="the generated task has few columns that matter, so that a search of all is at its "
        "best after some ten rounds, and full steps then overfit its wrong labels; in small steps "
        "UCB is there in a tenth of the time (benchmarks/searches.py)",
    ),
    Experiment(
        "bandits-figure2",
        "AUC over the rounds with UCB",
        f"{SOURCE}, figure 2",
        f"{ABOUT} 20,000 rows, 3,000 columns, 1,000 rounds unless --rounds says otherwise.",
        "AUC (balanced accuracy for appetency) on rows held out",
        figure2,
        draw_figure2,
        more_is_better=True,
        words=figure2_words,
    ),
    Experiment(
        "bandits-table2",
        "Minutes for 8,000 rounds",
        f"{SOURCE}, table 2",
        "50,000 rows and 15,000 columns, generated in the shape of the large set of the KDD Cup "
        "2009; UCB with 50 columns a search. CPU minutes on one thread, from the last 200 of 400 "
        "rounds. The paper's machine is of 2009.",
        "minutes",
        table2,
    ),
]
