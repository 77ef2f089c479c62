"""Learning to rank: RankBoost in many settings against LightGBM, on two LETOR sets.

Run with `python experiments/ranking.py [mq2008 ohsumed] [--quick] [--only NAME]`; it needs LightGBM
(`pip install lightgbm`) and the data sets, and takes about a quarter of an hour on one core.
`--quick` uses the first fold and 100 rounds. `--only` selects the rows with NAME in their title;
repeat it for several. `--default` compares RankBoost(), untouched and trained on all but the test
queries, with LightGBM and XGBoost (`pip install xgboost`), by randomisation tests over the queries;
what has a line in `--results` is not trained again.

On the five published folds, models train on the training part and choose the number of rounds by
MAP on the validation part. All numbers are means over the folds. Compare settings by "valid MAP",
the validation MAP at the chosen round, and read the test columns after that. MAP and NDCG@10 (gain
2^grade - 1, discount log2(1 + rank)) average over ties; a query without a relevant document counts
as 0. The last two metrics follow LETOR's own script, which counts the NDCG@10 of lists with fewer
than ten documents as 0.

The rows WeakLearn.* are the four weak learners of Iyer 1999 (section 5.2): full steps, equal pairs,
thresholds chosen by |r| (3) or by Z itself (2), with cumulative weights of any sign or positive
ones (cum). Each of the following rows changes one setting of the default. LightGBM has 300 trees
and its defaults otherwise. "best of 4" is the best of four settings by validation MAP in each fold,
with the CPU time of all four. Both libraries are validated after every round by the same function
and keep the best round.
"""

import argparse
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import lightgbm
import numpy as np

from edgewise import Product, RankBoost, Stump, Tree, datasets, metrics

# These sets have queries of one grade; no need to warn.
logging.getLogger("edgewise").setLevel(logging.ERROR)

NAMES = ("mq2008", "ohsumed")
ROUNDS, TREES = 500, 300
# XGBoost ends when the best of so many rounds was the first.
PATIENCE = 100
QUICK_ROUNDS = 100

THESIS: dict[str, Any] = {
    "learning_rate": 1.0,
    "pair_weight": "equal",
    "query_weight": "pairs",
}


def tree(leaves: int) -> Tree:
    return Tree(Stump(constant=True), leaves, "free", "gain")


OURS: dict[str, dict[str, Any]] = {
    "RankBoost()": {},
    "WeakLearn.3": {**THESIS, "monotonic_cst": "none"},
    "WeakLearn.2": {**THESIS, "monotonic_cst": "none", "criterion": "energy"},
    "WeakLearn.3.cum": {**THESIS, "monotonic_cst": "increasing"},
    "WeakLearn.2.cum": {**THESIS, "monotonic_cst": "increasing", "criterion": "energy"},
    'pair_weight="equal"': {"pair_weight": "equal"},
    'query_weight="pairs"': {"query_weight": "pairs"},
    'query_weight="equal"': {"query_weight": "equal"},
    'monotonic_cst="increasing"': {"monotonic_cst": "increasing"},
    'monotonic_cst="none"': {"monotonic_cst": "none"},
    "learning_rate=1": {"learning_rate": 1.0},
    'criterion="energy"': {"criterion": "energy"},
    'step="exact"': {"step": "exact"},
    "max_bins=256": {"max_bins": 256},
    "products of 2": {"learner": Product("stump", 2)},
    "trees of 4, rate 0.1": {"learner": tree(4), "learning_rate": 0.1, "n_rounds": 200},
    "trees of 8, rate 0.1": {"learner": tree(8), "learning_rate": 0.1, "n_rounds": 200},
    'learner="feature"': {"learner": "feature", "n_rounds": 200},
}

CHOICES: list[dict[str, Any]] = [
    {},
    {"monotonic_cst": "increasing"},
    {"monotonic_cst": "none"},
    OURS["trees of 4, rate 0.1"],
]

LIGHTGBM: list[dict[str, Any]] = [
    {},
    {"learning_rate": 0.05, "num_leaves": 15},
    {"learning_rate": 0.05, "num_leaves": 7},
    {"learning_rate": 0.1, "num_leaves": 7, "min_data_in_leaf": 100},
]

XGBOOST: list[dict[str, Any]] = [
    {},
    {"eta": 0.1, "max_depth": 4},
    {"eta": 0.1, "max_depth": 3, "lambdarank_pair_method": "mean"},
    {"eta": 0.05, "max_depth": 4, "min_child_weight": 0.1},
]

BEST = f"best of {len(LIGHTGBM)}"

# MAP and, if known, NDCG@10 by the usual rule and by LETOR's.
REFERENCE = {
    "mq2008": ("RankLib's RankBoost, measured earlier", 0.4776, 0.5023, None),
    "ohsumed": ("RankBoost, published with LETOR 2.0", 0.4403, None, 0.4356),
}


class Fitted(NamedTuple):
    """A trained model: test scores, validation MAP and round, CPU time."""

    scores: np.ndarray
    valid: float
    rounds: int
    seconds: float


Train = Callable[[datasets.Fold, int | None], Fitted]


def boosted(settings: dict[str, Any]) -> Train:
    """Return a function that trains RankBoost on a fold for a number of rounds."""

    def train(fold: datasets.Fold, most: int | None) -> Fitted:
        model = RankBoost(n_jobs=1, random_state=0, early_stopping_rounds=10**6)
        model.set_params(**{"n_rounds": ROUNDS, **settings})
        model.set_params(n_rounds=min(model.n_rounds, most or model.n_rounds))
        held_out = (fold.valid.X, fold.valid.y, fold.valid.qid)
        start = time.process_time()
        model.fit(fold.train.X, fold.train.y, qid=fold.train.qid, eval_set=held_out)
        seconds = time.process_time() - start
        best = model.best_iteration_
        valid = float(model.history_["validation"][best - 1])
        return Fitted(model.predict(fold.test.X), valid, best, seconds)

    return train


def grouped(part: Any, reference: Any = None) -> Any:
    """Return a part sorted by query, as LightGBM needs it."""
    _, starts, counts = np.unique(part.qid, return_index=True, return_counts=True)
    return lightgbm.Dataset(
        part.X, part.y, group=counts[np.argsort(starts)], reference=reference, free_raw_data=False
    )


def lambdas(objective: str, settings: dict[str, Any]) -> Train:
    """Return a function that trains LightGBM and keeps the round with the best validation MAP."""
    options = {
        "objective": objective,
        "metric": "none",
        "num_threads": 1,
        "seed": 0,
        "deterministic": True,
        "verbosity": -1,
        **settings,
    }

    def train(fold: datasets.Fold, most: int | None) -> Fitted:
        lists, trees = metrics.Lists(fold.valid.y, fold.valid.qid), min(TREES, most or TREES)

        def validate(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
            return "map", float(metrics.mean_average_precision(lists, scores)), True

        start = time.process_time()
        train = grouped(fold.train)
        model = lightgbm.train(
            options,
            train,
            trees,
            valid_sets=[grouped(fold.valid, train)],
            feval=validate,
            callbacks=[lightgbm.early_stopping(trees, verbose=False)],
        )
        seconds = time.process_time() - start
        scores = model.predict(fold.test.X, num_iteration=model.best_iteration)
        return Fitted(scores, model.best_score["valid_0"]["map"], model.best_iteration, seconds)

    return train


def best_of(choices: list[Train]) -> Train:
    """Return a function that trains several settings and keeps the best by validation MAP."""

    def train(fold: datasets.Fold, most: int | None) -> Fitted:
        tried = [choice(fold, most) for choice in choices]
        best = max(tried, key=lambda fitted: fitted.valid)
        return best._replace(seconds=sum(fitted.seconds for fitted in tried))

    return train


def rows() -> dict[str, Train]:
    """Return the models by title."""
    found = {title: boosted(settings) for title, settings in OURS.items()}
    found[f"RankBoost, {BEST}"] = best_of([boosted(settings) for settings in CHOICES])
    for objective in ("lambdarank", "rank_xendcg"):
        choices = [lambdas(objective, settings) for settings in LIGHTGBM]
        found[f"LightGBM {objective}"] = choices[0]
        found[f"LightGBM {objective}, {BEST}"] = best_of(choices)
    return found


def measures(part: Any, scores: np.ndarray) -> list[float]:
    """Return MAP, NDCG@10, and NDCG@10 and the mean NDCG by LETOR's rule."""
    lists = metrics.Lists(part.y, part.qid)
    return [
        float(metrics.mean_average_precision(lists, scores)),
        float(metrics.ndcg(lists, scores, k=10)),
        float(metrics.ndcg(lists, scores, k=10, rule="letor")),
        float(metrics.ndcg(lists, scores, rule="letor")),
    ]


def measure(train: Train, folds: list[datasets.Fold], most: int | None) -> tuple[list, np.ndarray]:
    """Train on every fold; return the values of a row, and the AP of each test query."""
    train(folds[0], 2)  # load or compile the kernels
    columns, precisions = [], []
    for fold in folds:
        fitted = train(fold, most)
        test = measures(fold.test, fitted.scores)
        columns.append([fitted.valid, *test, fitted.rounds, fitted.seconds])
        precisions.append(
            metrics.mean_average_precision(
                fold.test.y, fitted.scores, fold.test.qid, per_query=True
            )
        )
    mean = np.mean(columns, axis=0)
    return [*mean[:-1], mean[-1] * len(folds)], np.concatenate(precisions)


def show(name: str, title: str, columns: list) -> None:
    valid, ap, ndcg, letor, mean, rounds, seconds = columns
    print(
        f"{name:8} {title:34} {valid:9.4f} {ap:7.4f} {ndcg:7.4f} {letor:8.4f} {mean:9.4f} "
        f"{rounds:6.0f} {seconds:6.1f}",
        flush=True,
    )


def show_reference(name: str) -> None:
    title, ap, ndcg, letor = REFERENCE[name]
    numbers = [f"{x:.4f}" if x else "" for x in (ap, ndcg, letor)]
    print(f"{name:8} {title:44} {numbers[0]:7} {numbers[1]:7}  {numbers[2]}".rstrip())


def compare(name: str, found: dict[str, np.ndarray]) -> None:
    """Test ours against LightGBM, with defaults and with the best settings."""
    theirs = [title for title in found if title.startswith("LightGBM")]
    for ours in ("RankBoost()", f"RankBoost, {BEST}"):
        for title in theirs if ours in found else ():
            if (BEST in ours) == (BEST in title):
                test = metrics.randomisation_test(
                    found[ours], found[title], n_draws=100_000, random_state=0
                )
                print(
                    f"{name:8} {ours} less {title}: {test.mean_difference:+.4f} in AP over "
                    f"{test.n_queries} queries, p = {test.p_value:.5f}"
                )


class Judged(NamedTuple):
    """The AP and the NDCG@10 of every test query, and CPU seconds."""

    ap: np.ndarray
    ndcg: np.ndarray
    seconds: float


def judge(part: Any, scores: np.ndarray, seconds: float) -> Judged:
    given = (part.y, scores, part.qid)
    return Judged(
        metrics.mean_average_precision(*given, per_query=True),
        metrics.ndcg(*given, k=10, per_query=True),
        seconds,
    )


def untouched(fold: datasets.Fold) -> dict[str, Judged]:
    """Train the default, which divides the training and validation queries itself."""
    X, y, qid = (
        np.concatenate([getattr(part, field) for part in (fold.train, fold.valid)])
        for field in ("X", "y", "qid")
    )
    start = time.process_time()
    scores = RankBoost(n_jobs=1).fit(X, y, qid=qid).predict(fold.test.X)
    return {"RankBoost()": judge(fold.test, scores, time.process_time() - start)}


def searched(title: str, choices: list[Train]) -> Callable[[datasets.Fold], dict[str, Judged]]:
    """Return a function that trains a peer with its defaults, the first, and tuned.

    Both choose the number of rounds, and the tuned one its settings, on the validation part.
    """

    def train(fold: datasets.Fold) -> dict[str, Judged]:
        tried = [choice(fold, None) for choice in choices]
        best = max(tried, key=lambda fitted: fitted.valid)
        spent = sum(fitted.seconds for fitted in tried)
        return {
            title: judge(fold.test, tried[0].scores, tried[0].seconds),
            f"{title}, tuned": judge(fold.test, best.scores, spent),
        }

    return train


def gradients(settings: dict[str, Any]) -> Train:
    """Return a function that trains XGBoost and keeps the round with the best validation MAP."""
    options = {"objective": "rank:ndcg", "nthread": 1, "seed": 0, **settings}

    def train(fold: datasets.Fold, most: int | None) -> Fitted:
        import xgboost

        lists, best, done = metrics.Lists(fold.valid.y, fold.valid.qid), (-1.0, 0), 0
        start = time.process_time()
        queries = [np.unique(part.qid, return_inverse=True)[1] for part in (fold.train, fold.valid)]
        order = [np.argsort(qid, kind="stable") for qid in queries]
        data, valid = (
            xgboost.DMatrix(part.X[by], part.y[by], qid=qid[by])
            for part, qid, by in zip((fold.train, fold.valid), queries, order, strict=True)
        )
        booster = xgboost.Booster(options, [data, valid])
        scores = np.empty(len(fold.valid.y))
        while done < (most or TREES) and done - best[1] < PATIENCE:
            booster.update(data, done)
            done += 1
            scores[order[1]] = booster.predict(valid)
            value = float(metrics.mean_average_precision(lists, scores))
            best = (value, done) if value > best[0] else best
        seconds = time.process_time() - start
        tested = xgboost.DMatrix(fold.test.X)
        found = booster.predict(tested, iteration_range=(0, best[1]))
        return Fitted(found, best[0], best[1], seconds)

    return train


def compare_default(name: str, folds: list[Any], results: Path) -> None:
    """Print the default's metrics beside those of the peers, with the tests of the differences."""
    trained = {
        "RankBoost()": untouched,
        **{
            title: searched(title, [lambdas(objective, one) for one in LIGHTGBM])
            for objective in ("lambdarank", "rank_xendcg")
            for title in (f"LightGBM {objective}",)
        },
        "XGBoost rank:ndcg": searched("XGBoost rank:ndcg", [gradients(one) for one in XGBOOST]),
    }
    known = _read(results, name)
    for title, train in trained.items():
        if title in known:
            continue
        parts = [train(fold) for fold in folds]
        for each in parts[0]:
            found = [part[each] for part in parts]
            known[each] = {
                "ap": [one.ap.tolist() for one in found],
                "ndcg": [one.ndcg.tolist() for one in found],
                "seconds": sum(one.seconds for one in found),
            }
            with results.open("a") as lines:
                lines.write(json.dumps({"data": name, "title": each, **known[each]}) + "\n")
    for title, record in known.items():
        # Means over the folds, as everywhere; tests over all queries.
        means = [np.mean([np.mean(fold) for fold in record[key]]) for key in ("ap", "ndcg")]
        row = f"{name:8} {title:30} {means[0]:.4f}  {means[1]:.4f} {record['seconds']:6.0f}"
        for key in ("ap", "ndcg") if title != "RankBoost()" else ():
            ours, theirs = (np.concatenate(one[key]) for one in (known["RankBoost()"], record))
            test = metrics.randomisation_test(ours, theirs, n_draws=100_000, random_state=0)
            row += f"   {test.mean_difference:+.4f} p = {test.p_value:.5f}"
        print(row, flush=True)


def _read(results: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return what is known of a data set, by title."""
    lines = results.read_text().splitlines() if results.exists() else []
    records = [json.loads(line) for line in lines]
    return {record["title"]: record for record in records if record["data"] == name}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--quick", action="store_true", help="run one fold with 100 rounds")
    parser.add_argument("--only", action="append", help="run only rows whose title contains this")
    parser.add_argument("--default", action="store_true", help="compare RankBoost() alone")
    parser.add_argument(
        "--results", type=Path, default=Path("ranking.jsonl"), help="what --default trained so far"
    )
    options = parser.parse_args()
    most = QUICK_ROUNDS if options.quick else None
    chosen = {
        title: train
        for title, train in rows().items()
        if options.only is None or any(part in title for part in options.only)
    }
    if not chosen:
        parser.error(f"--only: no row has that in its title; there are {', '.join(rows())}")
    if options.default:
        print(f"{'':40}MAP NDCG@10  CPU s   ours less it, by AP    ours less it, by NDCG@10")
    else:
        print(f"{'':43} valid MAP     MAP NDCG@10 by LETOR mean NDCG rounds  CPU s")
    for name in options.names:
        data = datasets.load(name)
        folds = [data.fold(k) for k in range(1, 1 + (1 if options.quick else data.n_folds))]
        if options.default:
            compare_default(name, folds, options.results)
            continue
        found = {}
        for title, train in chosen.items():
            columns, found[title] = measure(train, folds, most)
            show(name, title, columns)
        show_reference(name)
        compare(name, found)


if __name__ == "__main__":
    main()
