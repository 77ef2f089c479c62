"""Lists out of the whole catalogue, from choices: accuracy and CPU time.

Run with `python benchmarks/lists.py [ml-100k ml-1m] [--seeds 0 1 2] [--only WORD]`. Ratings of 4
and 5 are the choices, of which a random fifth is the test part; other ratings are not used. NDCG@10
and Recall@20 rank all items that the user did not choose in training, and are means over users with
test choices, then over the seeds of the split. CPU seconds are on one thread, after a small fit
that compiles: of the fit, and of ten items for each of all users. The penalty of the paper's form
was chosen, like all defaults, on a fifth of the training choices.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from edgewise import Ratings, datasets, recommend

LIKED = 4
METRICS = ("ndcg@10", "recall@20")
PAPER = "EASE, the paper's form"


def models(name: str) -> dict[str, Callable[[], Any]]:
    """Return the models by title."""
    r, penalty = recommend, {"ml-100k": 300.0, "ml-1m": 800.0}[name]
    return {
        PAPER: lambda: r.EASE(penalty, user_power=0.0),
        "BoostedLists": lambda: r.BoostedLists(random_state=0, n_jobs=1),
        "BoostedLists, single precision": lambda: r.BoostedLists(
            precision="single", random_state=0, n_jobs=1
        ),
        "EASE": lambda: r.EASE(),
        "SLIM": lambda: r.SLIM(n_jobs=1),
        "PairwiseFactorization (BPR)": lambda: r.PairwiseFactorization(random_state=0),
        "ImplicitFactorization": lambda: r.ImplicitFactorization(random_state=0, n_jobs=1),
        "ImplicitFactorization, alpha=4": lambda: r.ImplicitFactorization(
            alpha=4.0, random_state=0, n_jobs=1
        ),
        "ItemKNN, implicit": lambda: r.ItemKNN(implicit=True, n_jobs=1),
        "UserKNN, implicit": lambda: r.UserKNN(implicit=True, n_jobs=1),
        "Popularity": lambda: r.Popularity(),
        "RandomRecommender": lambda: r.RandomRecommender(random_state=0),
    }


def choices(name: str) -> Ratings:
    """Return what users liked, as choices."""
    ratings = datasets.load(name).ratings
    liked = ratings.take(ratings.values >= LIKED)
    users, items = liked.user_ids.values[liked.users], liked.item_ids.values[liked.items]
    return Ratings.from_arrays(users, items)


def measured(make: Callable[[], Any], train: Ratings, test: Ratings) -> list[float]:
    """Return the metrics of a model, and the CPU seconds of its fit and its lists."""
    warm = make().fit(train.take(np.arange(0, len(train), 20)))
    warm.recommend(warm.ratings_.user_ids.values[warm.known_users_][:10])
    start = time.process_time()
    model = make().fit(train)
    fitted = time.process_time()
    model.recommend()
    served = time.process_time()
    found = recommend.evaluate(model, test, METRICS)
    return [*(found[name] for name in METRICS), fitted - start, served - fitted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=["ml-100k", "ml-1m"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for name in options.sets:
        data = choices(name)
        print(f"{name}: {data}")
        print(f"{'':32}{'NDCG@10':>10}{'Recall@20':>10}{'fit s':>9}{'lists s':>9}")
        for title, make in models(name).items():
            if options.only in title:
                rows = [
                    measured(make, *data.split(0.2, random_state=seed)) for seed in options.seeds
                ]
                ndcg, recall, fit, lists = np.mean(rows, axis=0)
                print(f"{title:32}{ndcg:10.4f}{recall:10.4f}{fit:9.2f}{lists:9.2f}", flush=True)


if __name__ == "__main__":
    main()
