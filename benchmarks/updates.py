"""What new ratings are worth to a fitted recommender: none, partial_fit, or a new fit.

MovieLens 100K by time: models are fitted on the first 70% of the ratings, get the next 20%, and are
tested on the last 10%. Run: python benchmarks/updates.py
"""

import time

import numpy as np

from edgewise import (
    BoostedFactorization,
    ImplicitFactorization,
    ItemKNN,
    MatrixFactorization,
    datasets,
)
from edgewise.recommend import evaluate

MODELS = {
    "ImplicitFactorization": (lambda: ImplicitFactorization(random_state=0, n_jobs=1), "ndcg@10"),
    "ItemKNN": (lambda: ItemKNN(n_jobs=1), "rmse"),
    "MatrixFactorization": (lambda: MatrixFactorization(random_state=0, n_jobs=1), "rmse"),
    "BoostedFactorization": (lambda: BoostedFactorization(random_state=0, n_jobs=1), "rmse"),
}


def time_call(work, given):
    """Return what a call returns, and its CPU seconds."""
    start = time.process_time()
    return work(given), time.process_time() - start


def main():
    ratings = datasets.load("ml-100k").ratings
    first, second = np.quantile(ratings.times, [0.7, 0.9])
    old = ratings.take(ratings.times < first)
    new = ratings.take((ratings.times >= first) & (ratings.times < second))
    both, test = ratings.take(ratings.times < second), ratings.take(ratings.times >= second)
    print(f"{len(old)} ratings, {len(new)} more, {len(test)} to test on")
    for name, (make, metric) in MODELS.items():
        model, seconds = time_call(make().fit, old)
        found = [(evaluate(model, test, metric)[metric], seconds)]
        more = new
        if not model.adds_items:
            more = new.take(model.known_items_[new.items])
        model, seconds = time_call(model.partial_fit, more)
        found.append((evaluate(model, test, metric)[metric], seconds))
        model, seconds = time_call(make().fit, both)
        found.append((evaluate(model, test, metric)[metric], seconds))
        words = (f"{value:.4f} ({cpu:.2f} s)" for value, cpu in found)
        print(f"{name:22}{metric:9}", *words, flush=True)


if __name__ == "__main__":
    main()
