"""Meta-search: RankFusion, single lists and untrained fusion on two LETOR sets.

Run with `python experiments/fusion.py [mq2008-agg mq2007-agg] [--quick] [--only NAME]`; it needs
the data sets. `--quick` uses the first fold and 100 rounds. `--only` selects the rows with NAME in
their title; repeat it for several.

The sets have 25 and 21 lists, and about 19 and 41 documents per query; a list returns some of them
(position 1 is its top). On the five published folds RankFusion trains on the training part and
chooses its number of rounds by MAP on the validation part. The best single list is chosen by MAP on
the training part or, as in Iyer 1999 (section 5.1), on the test part itself, which no method could
know. The other methods learn nothing. Compare settings by "valid MAP", the validation MAP. MAP and
NDCG@10 (gain 2^grade - 1, discount log2(1 + rank)) average over ties and then over folds; a query
without a relevant document counts as 0.

The second table follows table 5.1 of the thesis: for how many test queries of all folds the first
relevant document is in the top k, and its average rank, with 31 for all ranks above 30. It leaves
out queries without a relevant document.
"""

import argparse
import logging
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np

from edgewise import RankFusion, datasets, fusion, metrics

# These sets have queries of one grade; no need to warn.
logging.getLogger("edgewise").setLevel(logging.ERROR)

NAMES = ("mq2008-agg", "mq2007-agg")
ROUNDS, QUICK_ROUNDS = 500, 100
TOPS = (1, 2, 5, 10, 20, 30)

LISTWISE: dict[str, Any] = {"missing": "low", "monotonic_cst": "increasing"}
THESIS: dict[str, Any] = {
    **LISTWISE,
    "learning_rate": 1.0,
    "pair_weight": "equal",
    "query_weight": "pairs",
}
OURS: dict[str, dict[str, Any]] = {
    "RankFusion()": {},
    'RankFusion("stump")': {"learner": "stump"},
    'RankFusion("feature")': {"learner": "feature"},
    'missing="low", monotonic_cst="increasing"': LISTWISE,
    "the thesis: also full steps, equal pairs": THESIS,
}
ON_TRAIN, ON_TEST = "best list on the training part", "best list on the test part"


class Part(NamedTuple):
    """The lists of a part of a fold, with grades."""

    lists: fusion.RankedLists
    y: np.ndarray


class Fused(NamedTuple):
    """Test scores, validation MAP and round (or NaN), and CPU seconds."""

    scores: np.ndarray
    valid: float
    rounds: float
    seconds: float


Method = Callable[[list[Part], int], Fused]


def boosted(settings: dict[str, Any]) -> Method:
    """Return a function that trains RankFusion for a number of rounds."""

    def train(parts: list[Part], n_rounds: int) -> Fused:
        model = RankFusion(
            n_rounds=n_rounds, early_stopping_rounds=10**6, n_jobs=1, random_state=0, **settings
        )
        start = time.process_time()
        model.fit(*parts[0], eval_set=tuple(parts[1]))
        seconds = time.process_time() - start
        best = model.best_iteration_
        valid = float(model.history_["validation"][best - 1])
        return Fused(model.predict(parts[2].lists), valid, best, seconds)

    return train


def single(chosen_on: int) -> Method:
    """Return a function that picks the list with the best MAP on a part of the fold."""

    def choose(parts: list[Part], _: int) -> Fused:
        start = time.process_time()
        j = fusion.best_list(*parts[chosen_on], metrics.mean_average_precision)
        seconds = time.process_time() - start
        valid = precision(parts[1], fusion.single_list(parts[1].lists, j))
        return Fused(fusion.single_list(parts[2].lists, j), valid, np.nan, seconds)

    return choose


def untrained(name: str) -> Method:
    """Return a method that learns nothing."""

    def fuse(parts: list[Part], _: int) -> Fused:
        start = time.process_time()
        scores = fusion.fuse(parts[2].lists, name)
        seconds = time.process_time() - start
        valid = precision(parts[1], fusion.fuse(parts[1].lists, name))
        return Fused(scores, valid, np.nan, seconds)

    return fuse


def precision(part: Part, scores: np.ndarray) -> float:
    return float(metrics.mean_average_precision(part.y, scores, part.lists.qid))


def methods() -> dict[str, Method]:
    """Return the methods by title."""
    found = {title: boosted(settings) for title, settings in OURS.items()}
    found[ON_TRAIN], found[ON_TEST] = single(0), single(2)
    return found | {name: untrained(name) for name in fusion.FUSIONS}


def read(fold: datasets.Fold) -> list[Part]:
    return [Part(fusion.RankedLists(part.X, part.qid), part.y) for part in fold]


def measure(name: str, folds: list[list[Part]], chosen: dict[str, Method], n_rounds: int) -> None:
    print(f"{'':52}valid MAP     MAP NDCG@10 rounds   CPU s")
    tops, precisions = [], {}
    for title, method in chosen.items():
        rows, counts, ranks, by_query = [], np.zeros(len(TOPS)), [], []
        for parts in folds:
            fused = method(parts, n_rounds)
            lists = metrics.Lists(parts[2].y, parts[2].lists.qid)
            ndcg = metrics.ndcg(lists, fused.scores, k=10)
            rows.append((fused.valid, precision(parts[2], fused.scores), ndcg, *fused[2:]))
            counts += metrics.top_counts(lists, fused.scores, ks=TOPS)
            by_query.append(metrics.mean_average_precision(lists, fused.scores, per_query=True))
            ranks.append(metrics.average_rank(lists, fused.scores, most=31, per_query=True))
        precisions[title] = np.concatenate(by_query)
        show(name, title, np.mean(rows, axis=0), len(folds))
        if title in (*OURS, ON_TRAIN, ON_TEST):
            tops.append((title, counts, np.concatenate(ranks)))
    if tops:
        print(f"{'':51}" + "".join(f"{f'top {k}':>7}" for k in TOPS) + "   rank of queries")
    for title, counts, ranks in tops:
        numbers = " ".join(f"{count:6.1f}" for count in counts)
        mean = f"{np.nanmean(ranks):7.2f} of {np.isfinite(ranks).sum()}"
        print(f"{name:10} {title:40} {numbers} {mean}", flush=True)
    compare(name, precisions)


def compare(name: str, precisions: dict[str, np.ndarray]) -> None:
    """Test RankFusion against single lists and against the best untrained method.

    That method is chosen by MAP on the test queries themselves.
    """
    untaught = [title for title in precisions if title in fusion.FUSIONS]
    best = sorted(untaught, key=lambda title: precisions[title].mean())[-1:]
    for title in (ON_TRAIN, ON_TEST, *best):
        if "RankFusion()" in precisions and title in precisions:
            test = metrics.randomisation_test(
                precisions["RankFusion()"], precisions[title], n_draws=100_000, random_state=0
            )
            print(
                f"{name:10} RankFusion() less {title}: {test.mean_difference:+.4f} in AP over "
                f"{test.n_queries} queries, p = {test.p_value:.5f}"
            )


def show(name: str, title: str, row: np.ndarray, n_folds: int) -> None:
    valid, ap, ndcg, rounds, seconds = row
    chosen = f"{rounds:6.0f}" if rounds == rounds else f"{'':6}"
    print(
        f"{name:10} {title:40} {valid:9.4f} {ap:7.4f} {ndcg:7.4f} {chosen} "
        f"{seconds * n_folds:7.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--quick", action="store_true", help="run one fold with 100 rounds")
    parser.add_argument("--only", action="append", help="run only rows whose title contains this")
    options = parser.parse_args()
    chosen = {
        title: method
        for title, method in methods().items()
        if options.only is None or any(part in title for part in options.only)
    }
    if not chosen:
        parser.error(f"--only: no row has that in its title; there are {', '.join(methods())}")
    for name in options.names:
        data = datasets.load(name)
        n_folds = 1 if options.quick else data.n_folds
        folds = [read(data.fold(k)) for k in range(1, n_folds + 1)]
        RankFusion(n_rounds=2).fit(*folds[0][0])
        measure(name, folds, chosen, QUICK_ROUNDS if options.quick else ROUNDS)


if __name__ == "__main__":
    main()
