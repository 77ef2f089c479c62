"""Read, fit and serve many choices, for benchmarks/recommend.py.

Run with `python benchmarks/recommend_scale.py LIBRARY CHOICES EPOCHS`: measures edgewise or
implicit on the choices in a file, and prints JSON. Needs NumPy, SciPy and that library.
"""

import gc
import importlib.util
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

FACTORS, NEIGHBORS, LENGTH, MANY, ONES = 50, 40, 10, 10_000, 30
# Boosted models are fitted to this many of the choices, as ratings, in this many rounds.
BOOSTED, ROUNDS = 1_000_000, 100


def generated(n: int, n_users: int, n_items: int) -> dict[str, np.ndarray]:
    """Return different pairs in random order: active users, popular items, and a rating each."""
    rng = np.random.default_rng(0)
    users = _drawn(rng, rng.lognormal(0, 1, n_users), 3 * n // 2)
    items = rng.permutation(n_items)[_drawn(rng, np.arange(10, n_items + 10) ** -0.8, 3 * n // 2)]
    pairs = rng.permutation(np.unique(users * n_items + items))[:n]
    users, items = np.divmod(pairs, n_items)
    return {"users": users, "items": items, "ratings": rng.integers(1, 6, len(pairs)).astype(float)}


def _drawn(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(n))


def memory(word: str) -> float:
    """Return a memory figure of this process in MiB, or NaN if the system has none."""
    status = Path("/proc/self/status")
    found = re.search(rf"{word}:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else np.nan


class Notes(dict[str, float]):
    """CPU seconds and peaks of memory above the start, in MiB, by what was done."""

    def of(self, what: str, run: Callable[[], Any]) -> Any:
        gc.collect()
        if Path("/proc/self/clear_refs").exists():
            Path("/proc/self/clear_refs").write_text("5")
        before, start = memory("VmRSS"), time.process_time()
        result = run()
        self[what] = time.process_time() - start
        print(f"{what}: {self[what]:.3f} s", file=sys.stderr, flush=True)
        self[f"{what}, MiB"] = memory("VmHWM") - before
        return result

    def each(self, what: str, run: Callable[[int], Any], places: np.ndarray) -> None:
        """Note the median time of one request after the first."""
        run(int(places[0]))
        taken = []
        for place in places[1:].tolist():
            start = time.process_time()
            run(place)
            taken.append(time.process_time() - start)
        self[what] = statistics.median(taken)
        print(f"{what}: {1000 * self[what]:.2f} ms", file=sys.stderr, flush=True)


def edgewise(data: Any, n_epochs: int) -> Notes:
    os.environ["EDGEWISE_BACKEND"] = "numba"
    from edgewise import BoostedFactorization, ImplicitFactorization, ItemKNN, Ratings

    few = Ratings.from_arrays(data["users"][:20_000], data["items"][:20_000])
    notes, rng = Notes(), np.random.default_rng(1)
    ratings = notes.of("read", lambda: Ratings.from_arrays(data["users"], data["items"]))
    some = rng.choice(ratings.user_ids.values, min(MANY, ratings.n_users), replace=False)
    ones = rng.choice(ratings.item_ids.values, ONES)

    def serve(title: str, make: Callable[[], Any], ratings: Any, warm: Any) -> None:
        make().fit(warm).recommend(warm.user_ids.values[warm.users[:10]])
        model = notes.of(f"{title}: fit", lambda: make().fit(ratings))
        notes.each(f"{title}: one user", lambda one: model.recommend(one, LENGTH), some[:ONES])
        notes.of(f"{title}: 10,000 users", lambda: model.recommend(some, LENGTH))
        notes.each(f"{title}: one similar", lambda one: model.similar_items(one, LENGTH), ones)

    serve(
        "factors",
        lambda: ImplicitFactorization(FACTORS, n_epochs=n_epochs, random_state=0),
        ratings,
        few,
    )
    serve("item k-NN", lambda: ItemKNN(NEIGHBORS, implicit=True), ratings, few)
    parts = [data[name][:BOOSTED] for name in ("users", "items", "ratings")]
    rated = Ratings.from_arrays(*parts)
    few = rated.take(np.arange(0, len(rated), 100))
    some = rng.choice(rated.user_ids.values, min(MANY, rated.n_users), replace=False)
    ones = rng.choice(rated.item_ids.values, ONES)
    serve("item k-NN of ratings", lambda: ItemKNN(NEIGHBORS), rated, few)
    serve("boosted", lambda: BoostedFactorization(ROUNDS, random_state=0), rated, few)
    return notes


def implicit(data: Any, n_epochs: int) -> Notes:
    from implicit.als import AlternatingLeastSquares
    from implicit.nearest_neighbours import CosineRecommender
    from scipy import sparse

    notes, rng = Notes(), np.random.default_rng(1)

    def read() -> Any:
        ones = np.ones(len(data["users"]), dtype=np.float32)
        matrix = sparse.coo_matrix((ones, (data["users"], data["items"])))
        return matrix.tocsr()

    matrix = notes.of("read", read)
    some = rng.choice(matrix.shape[0], min(MANY, matrix.shape[0]), replace=False)
    ones = rng.choice(matrix.shape[1], ONES)

    def serve(title: str, model: Any) -> None:
        notes.of(f"{title}: fit", lambda: model.fit(matrix, show_progress=False))
        notes.each(
            f"{title}: one user",
            lambda user: model.recommend(user, matrix[user], LENGTH),
            some[:ONES],
        )
        notes.of(f"{title}: 10,000 users", lambda: model.recommend(some, matrix[some], LENGTH))
        notes.each(f"{title}: one similar", lambda item: model.similar_items(item, LENGTH), ones)

    serve("factors", AlternatingLeastSquares(FACTORS, iterations=n_epochs, num_threads=1))
    serve("item k-NN", CosineRecommender(NEIGHBORS, num_threads=1))
    return notes


def main() -> None:
    library, path, epochs = sys.argv[1:]
    if importlib.util.find_spec(library) is None:
        print(json.dumps({}))
        return
    with np.load(path) as stored:
        data = {name: stored[name] for name in stored}
    measure = {"edgewise": edgewise, "implicit": implicit}[library]
    print(json.dumps(measure(data, int(epochs))))


if __name__ == "__main__":
    main()
