"""Learning to rank: RankBoost in many settings beside LightGBM and XGBoost, on two LETOR sets."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from edgewise import Product, RankBoost, Stump, Tree, datasets, metrics
from experiments.rankboost import RANKED, SOURCE, THESIS, generated_rows
from experiments.runner import Bench, Cell, Experiment, Paper, Said, mean, together

ROUNDS, TREES = 500, 300
# XGBoost ends when the best of so many rounds was the first.
PATIENCE = 100


def tree(leaves: int) -> Tree:
    return Tree(Stump(constant=True), leaves, "free", "gain")


TREES: dict[str, Any] = {"learning_rate": 0.1, "n_rounds": 200, "max_bins": 256}
# RankBoost with the settings that each row changes one of.
STUMPS: dict[str, Any] = {
    "learner": "stump", "objective": "pairs", "learning_rate": 0.2, "max_bins": 65_535
}  # fmt: skip
OURS: dict[str, dict[str, Any]] = {
    'RankBoost("stump")': {},
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
    "trees of 4, rate 0.1": {**TREES, "learner": tree(4)},
    "trees of 8, rate 0.1": {**TREES, "learner": tree(8)},
    'learner="feature"': {"learner": "feature", "n_rounds": 200},
}

SETTINGS: list[dict[str, Any]] = [
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
PEERS = ("LightGBM lambdarank", "LightGBM rank_xendcg")
# RankBoost on OHSUMED, as published with LETOR 2.0: MAP, and NDCG@10 by LETOR's rule.
PUBLISHED = {"MAP": Paper(0.4403), "NDCG@10 by LETOR": Paper(0.4356)}


class Fitted(NamedTuple):
    """A trained model: test scores, validation MAP and round, CPU time."""

    scores: np.ndarray
    valid: float
    rounds: int
    seconds: float


Train = Callable[[Any, Bench], Fitted]


@cache
def folds(name: str) -> list[Any]:
    """Return the published folds, or one of generated queries."""
    if name == "generated":
        return [datasets.Fold(*(generated_rows(15, seed) for seed in range(3)))]
    data = datasets.load(name)
    return [data.fold(k) for k in range(1, data.n_folds + 1)]


def train_rankboost(settings: Mapping[str, Any], fold: Any, bench: Bench) -> Fitted:
    """Train RankBoost, and keep the round with the best validation MAP."""
    usual = {} if "preset" in settings else STUMPS
    given = {"n_rounds": ROUNDS, "eval_metric": "map", **usual, **settings}
    given["n_rounds"] = bench.rounds(given["n_rounds"], 5)
    model = RankBoost(n_jobs=bench.n_jobs, random_state=bench.seed, early_stopping_rounds=10**6)
    model.set_params(**given)
    held_out = (fold.valid.X, fold.valid.y, fold.valid.qid)
    start = time.process_time()
    model.fit(fold.train.X, fold.train.y, qid=fold.train.qid, eval_set=held_out)
    seconds = time.process_time() - start
    best = model.best_iteration_
    valid = float(model.history_["validation"][best - 1])
    return Fitted(model.predict(fold.test.X), valid, best, seconds)


def lightgbm(objective: str, settings: Mapping[str, Any], fold: Any, bench: Bench) -> Fitted:
    """Train LightGBM, and keep the round with the best validation MAP."""
    from lightgbm import Dataset, early_stopping, train

    options = {
        "objective": objective,
        "metric": "none",
        "num_threads": bench.n_jobs,
        "seed": bench.seed,
        "deterministic": True,
        "verbosity": -1,
        **settings,
    }
    lists, trees = metrics.Lists(fold.valid.y, fold.valid.qid), bench.rounds(TREES, 5)

    def grouped(part: Any, reference: Any = None) -> Any:
        _, starts, counts = np.unique(part.qid, return_index=True, return_counts=True)
        groups = counts[np.argsort(starts)]
        return Dataset(part.X, part.y, group=groups, reference=reference, free_raw_data=False)

    def validate(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
        return "map", float(metrics.mean_average_precision(lists, scores)), True

    start = time.process_time()
    data = grouped(fold.train)
    model = train(
        options,
        data,
        trees,
        valid_sets=[grouped(fold.valid, data)],
        feval=validate,
        callbacks=[early_stopping(trees, verbose=False)],
    )
    seconds = time.process_time() - start
    scores = np.asarray(model.predict(fold.test.X, num_iteration=model.best_iteration))
    return Fitted(scores, model.best_score["valid_0"]["map"], model.best_iteration, seconds)


def xgboost(settings: Mapping[str, Any], fold: Any, bench: Bench) -> Fitted:
    """Train XGBoost, and keep the round with the best validation MAP."""
    from xgboost import Booster, DMatrix

    options = {"objective": "rank:ndcg", "nthread": bench.n_jobs, "seed": bench.seed, **settings}
    lists, best, done = metrics.Lists(fold.valid.y, fold.valid.qid), (-1.0, 0), 0
    start = time.process_time()
    queries = [np.unique(part.qid, return_inverse=True)[1] for part in (fold.train, fold.valid)]
    order = [np.argsort(qid, kind="stable") for qid in queries]
    data, valid = (
        DMatrix(part.X[by], part.y[by], qid=qid[by])
        for part, qid, by in zip((fold.train, fold.valid), queries, order, strict=True)
    )
    booster = Booster(options, [data, valid])
    scores = np.empty(len(fold.valid.y))
    while done < bench.rounds(TREES, 5) and done - best[1] < PATIENCE:
        booster.update(data, done)
        done += 1
        scores[order[1]] = booster.predict(valid)
        value = float(metrics.mean_average_precision(lists, scores))
        best = (value, done) if value > best[0] else best
    seconds = time.process_time() - start
    found = booster.predict(DMatrix(fold.test.X), iteration_range=(0, best[1]))
    return Fitted(found, best[0], best[1], seconds)


def train_default(fold: Any, bench: Bench) -> Fitted:
    """Train the default, which divides the training and validation queries itself."""
    X, y, qid = (
        np.concatenate([getattr(part, field) for part in (fold.train, fold.valid)])
        for field in ("X", "y", "qid")
    )
    most = {"n_rounds": bench.rounds(0, 5)} if bench.quick else {}
    start = time.process_time()
    model = RankBoost(n_jobs=bench.n_jobs, **most).fit(X, y, qid=qid)
    seconds = time.process_time() - start
    return Fitted(model.predict(fold.test.X), np.nan, model.n_rounds_, seconds)


CHOICES: dict[str, list[Train]] = {
    "RankBoost": [partial(train_rankboost, settings) for settings in SETTINGS],
    **{
        peer: [partial(lightgbm, peer.split()[1], settings) for settings in LIGHTGBM]
        for peer in PEERS
    },
    "XGBoost rank:ndcg": [partial(xgboost, settings) for settings in XGBOOST],
}


def best_of(title: str, fold: Any, bench: Bench) -> Fitted:
    """Train several settings, and keep the best by validation MAP."""
    tried = [train(fold, bench) for train in CHOICES[title]]
    best = max(tried, key=lambda fitted: fitted.valid)
    return best._replace(seconds=sum(fitted.seconds for fitted in tried))


def rows() -> dict[str, Train]:
    """Return the models by title."""
    found: dict[str, Train] = {title: partial(train_rankboost, one) for title, one in OURS.items()}
    found[f"RankBoost, {BEST}"] = partial(best_of, "RankBoost")
    for peer in PEERS:
        found |= {peer: CHOICES[peer][0], f"{peer}, {BEST}": partial(best_of, peer)}
    return found


def defaults() -> dict[str, Train]:
    """Return the default, and its peers with their defaults and tuned, by title."""
    found: dict[str, Train] = {"RankBoost()": train_default}
    for peer in (*PEERS, "XGBoost rank:ndcg"):
        found |= {peer: CHOICES[peer][0], f"{peer}, tuned": partial(best_of, peer)}
    return found


def measured(row: str, train: Train, name: str, bench: Bench) -> dict[str, Any]:
    """Return the means over the folds, and the AP and NDCG@10 of every test query."""
    train(folds(name)[0], Bench(quick=True, n_rounds=2, n_jobs=bench.n_jobs))  # compile or load
    by_fold: dict[str, list[float]] = {}
    queries: dict[str, list[float]] = {"ap": [], "ndcg": []}
    for fold in folds(name):
        fitted = train(fold, bench)
        lists, scores = metrics.Lists(fold.test.y, fold.test.qid), fitted.scores
        each = {
            "ap": metrics.mean_average_precision(lists, scores, per_query=True),
            "ndcg": metrics.ndcg(lists, scores, k=10, per_query=True),
        }
        for measure, values in each.items():
            queries[measure] += np.round(values, 6).tolist()
        figures = {
            "MAP": np.mean(each["ap"]),
            "validation MAP": fitted.valid,
            "NDCG@10": np.mean(each["ndcg"]),
            "NDCG@10 by LETOR": metrics.ndcg(lists, scores, k=10, rule="letor"),
            "mean NDCG by LETOR": metrics.ndcg(lists, scores, rule="letor"),
            "rounds": fitted.rounds,
            "CPU seconds of a fold": fitted.seconds,
        }
        for column, value in figures.items():
            by_fold.setdefault(column, []).append(float(value))
    found = {
        f"{name}, {column}": mean(np.array(values))
        | ({} if "N" in column or column == "MAP" else {"more_is_better": None})
        for column, values in by_fold.items()
        if np.isfinite(values).all()
    }
    return together(found, published_values(row, train, name)) | queries


def published_values(row: str, train: Train, name: str) -> dict[str, Paper]:
    """Return what was published of RankBoost: beside the thesis's, and the default."""
    if name != "ohsumed" or not (row == "WeakLearn.3" or train is train_default):
        return {}
    return {f"{name}, {column}": paper for column, paper in PUBLISHED.items()}


def cells_of(models: Callable[[], dict[str, Train]], bench: Bench) -> Sequence[Cell]:
    """Return a cell for each set and model."""
    return [
        Cell(
            row,
            f"{name}, MAP",
            partial(measured, row, train, name),
            published_values(row, train, name).get(f"{name}, MAP"),
        )
        for name in (("generated",) if bench.quick else RANKED)
        for row, train in models().items()
    ]


def settings_words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield the tests of ours against LightGBM, with defaults and with the best settings."""
    for ours in ('RankBoost("stump")', f"RankBoost, {BEST}"):
        others = [f"{peer}, {BEST}" if BEST in ours else peer for peer in PEERS]
        yield from _iter_tests(results, ours, others)


def default_words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield the tests of the default against its peers."""
    yield from _iter_tests(
        results, "RankBoost()", [row for row in defaults() if row != "RankBoost()"]
    )


def _iter_tests(results: list[dict[str, Any]], row: str, others: Sequence[str]) -> Iterator[Said]:
    """Yield the differences over all test queries, by randomization tests."""
    found = {(result["column"], result["row"]): result for result in results}
    for column in dict.fromkeys(result["column"] for result in results):
        for other in others:
            if (column, row) not in found or (column, other) not in found:
                continue
            texts = []
            for measure, title in (("ap", "AP"), ("ndcg", "NDCG@10")):
                ours, theirs = (np.array(found[column, one][measure]) for one in (row, other))
                test = metrics.randomization_test(ours, theirs, n_draws=100_000, random_state=0)
                texts.append(f"{test.mean_difference:+.4f} in {title}, p = {test.p_value:.5f}")
            name = column.partition(",")[0]
            yield Said(f"{name}: {row} less {other}, over the queries", "; ".join(texts))


EXPERIMENTS = [
    Experiment(
        "ranking-settings",
        "RankBoost in many settings",
        f"{SOURCE}, on learning to rank, beside a library of today",
        "On the five published folds, models train on the training part and choose the number of "
        "rounds, of 500 (LightGBM 300 trees), by MAP on the validation part. Compare settings by "
        "validation MAP, and read the test columns after that. MAP and NDCG@10 average over ties; "
        "a query without a relevant document counts as 0; LETOR's own rule counts the NDCG@10 of "
        "lists with fewer than ten documents as 0. WeakLearn.* are the weak learners of the "
        "thesis: full steps, equal pairs, thresholds chosen by |r| (3) or by Z itself (2), with "
        "cumulative weights of any sign or positive ones (cum). Each of the following rows changes "
        'one setting of RankBoost("stump"). "best of 4" chooses among four settings by validation '
        "MAP in each fold. The paper's figure is that of RankBoost as published with LETOR 2.0. "
        "Spreads are over folds.",
        "MAP and others (more is better), rounds and CPU seconds",
        partial(cells_of, rows),
        more_is_better=True,
        absent="docs/results/ranking.md has its figures",
        words=settings_words,
    ),
    Experiment(
        "ranking-default",
        "RankBoost() beside its peers",
        f"{SOURCE}, on learning to rank, beside libraries of today",
        "RankBoost(), untouched, trains on all but the test queries of each published fold, and "
        "chooses by NDCG@10 among them; peers choose the round of at most 300 by MAP on the "
        "validation part, and tuned ones also the best of four settings. Tests are paired "
        "randomization tests over the test queries; spreads are over folds.",
        "MAP and others (more is better), rounds and CPU seconds",
        partial(cells_of, defaults),
        more_is_better=True,
        words=default_words,
    ),
]
