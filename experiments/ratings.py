"""Boosted factorisation against max-margin matrix factorisation, on MovieLens.

Run with `python experiments/ratings.py [--parts abc] [--long]`; it needs ml-1m and ml-100k and
takes about ten minutes on a free core, most of them for the rows with signs. `--long` gives the
paper's row of part b 10,000 rounds instead of 2,000, which takes as long again.

a   Weak generalisation on ml-1m, by the protocol of Marlin 2004, for which Rennie and Srebro 2005
    report an NMAE of 0.4156 for fast max-margin matrix factorisation. Draw 5,000 users at random
    (all have 20 ratings or more) and one test rating of each; train on the other ratings of these
    users. NMAE is the mean absolute error of the predicted level divided by 1.6, the error of blind
    guesses. Mean and standard deviation over three splits. Sizes, number of splits and divisor
    follow the programs that Lawrence and Urtasun 2009 published (github.com/SheffieldML/collab).
    The original splits are lost, so the published figure is for other splits of the same kind.
    Levels are the models' own if they have them (BoostedFactorization: the median), otherwise the
    level nearest to the predicted rating. "one-zero" is the share of wrong levels. Models see
    ratings alone, as the published ones do, unless a row says "with features". Settings are the
    defaults, chosen on ml-100k, except for the rows with signs. "the paper" is the real AdaBoost.MH
    of Kégl and Busa-Fekete 2009a (one-hot levels, exponential loss, full steps), for only 50
    rounds, since each takes most of a second here. The other has 100 rounds and a rate chosen from
    0.1, 0.3 and 1 by one more rating of each user, held out of the first training part.

b   Table 2 of Kégl and Busa-Fekete 2009a: a small part of ml-100k in four sets. Each set is tested
    once; models train on the other three, where 3-fold cross-validation chooses the number of
    rounds, for zero-one and for absolute error each. The paper names only its source, Srebro,
    Rennie and Jaakkola 2005. This script takes the 100 users and the 100 movies with most ratings
    in ml-100k, in random sets: neither is sure to match, so compare the average over all four. With
    the rounds known, models train once more on all three sets. The paper chose up to 9,940 rounds;
    here there are fewer without `--long`. Its other choices (real or discrete votes, weights,
    terms) are the ones it found best: real, uniform, two. Table 2 has zero-one errors only.

c   How time and memory grow: BoostedFactorization on a tenth, three tenths and all of ml-1m, each
    in a new process. The first 30 rounds have users or items alone, so there are two fits, of 30
    and of 80 rounds: the time of the first with everything before it, and the time of a round with
    products. The least CPU time of three. "above input" is the peak memory in MiB minus the memory
    before. This part needs Linux.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np

from edgewise import Ratings, datasets
from edgewise.ratings import Split
from edgewise.recommend import (
    BiasBaseline,
    BoostedFactorization,
    ItemKNN,
    MatrixFactorization,
    compare,
)
from edgewise.recommend.boosted.levels import Levels

USERS, SPLITS = 5000, 3
SIDE, SETS, FOLDS = 100, 4, 3
SHARES = (0.1, 0.3, 1.0)
FEW, MANY, REPEATS = 30, 80, 3

SIGNS: dict[str, Any] = {"factors": "signs", "random_state": 0}
PAPER: dict[str, Any] = {
    **SIGNS, "target": "one_hot", "loss": "exponential", "learning_rate": 1.0
}  # fmt: skip

LARGE: dict[str, Any] = {
    "BiasBaseline()": BiasBaseline(),
    "ItemKNN()": ItemKNN(),
    "MatrixFactorization()": MatrixFactorization(random_state=0),
    "BoostedFactorization()": BoostedFactorization(random_state=0),
    "BoostedFactorization(), with features": BoostedFactorization(random_state=0),
    "signs, ordered, rate 0.3, 100 rounds": BoostedFactorization(100, **SIGNS, learning_rate=0.3),
    "signs, the paper, 50 rounds": BoostedFactorization(50, **PAPER),
}
FEATURES = "with features"
PUBLISHED_NMAE = {
    "published: fast MMMF (Rennie and Srebro 2005)": "0.4156",
}

SMALL: dict[str, Any] = {
    "signs, the paper": BoostedFactorization(2000, **PAPER),
    "signs, ordered levels": BoostedFactorization(1000, **{**PAPER, "target": "ordered"}),
    'BoostedFactorization(factors="signs")': BoostedFactorization(1000, **SIGNS),
    "BoostedFactorization(tuned=False)": BoostedFactorization(tuned=False, random_state=0),
}
UNCHOSEN: dict[str, Any] = {
    "BoostedFactorization()": BoostedFactorization(random_state=0),
    "BiasBaseline()": BiasBaseline(),
    "ItemKNN()": ItemKNN(),
    "MatrixFactorization()": MatrixFactorization(random_state=0),
}
# Zero-one error in per cent, the average over the four sets.
PUBLISHED = {
    "published: WLRA": 55.8,
    "published: MMMF, semidefinite program": 54.8,
    "published: AdaBoost.MH, up to 9,940 rounds": 55.3,
}


def part_a() -> None:
    ratings = datasets.load("ml-1m").ratings
    splits = [weak_split(ratings, seed) for seed in range(SPLITS)]
    plain = [Split(*map(without_features, split)) for split in splits]
    print(f"Weak generalisation on ml-1m: {USERS} users, {SPLITS} splits")
    print(f"{'':47} {'NMAE':>6} {'sd':>6} {'one-zero':>8} {'RMSE':>6} {'CPU s':>6}")
    for title, model in LARGE.items():
        used = splits if FEATURES in title else plain
        metrics = ["nmae_level", "one_zero_level", "rmse"]
        found = compare({title: model}, used, metrics, unknown="mean").folds_[title]
        nmae, wrong = found["nmae_level"], found["one_zero_level"].mean()
        rmse, seconds = found["rmse"].mean(), np.median(found["fit_cpu_s"])
        print(
            f"{title:47} {nmae.mean():6.4f} {nmae.std(ddof=1):6.4f} {wrong:8.4f} {rmse:6.4f} "
            f"{seconds:6.1f}",
            flush=True,
        )
    for title, numbers in PUBLISHED_NMAE.items():
        print(f"{title:47} {numbers}")


def weak_split(ratings: Ratings, seed: int) -> Split:
    """Return one test rating of each sampled user, and their other ratings for training."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(np.flatnonzero(ratings.by_user.sizes >= 20), USERS, replace=False)
    return ratings.take(np.isin(ratings.users, chosen)).leave_one_out(random_state=rng)


def without_features(ratings: Ratings) -> Ratings:
    """Return the ratings without features and times, with ids in the same order."""
    users, items = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    return Ratings.from_arrays(users, items, ratings.values)


def part_b() -> None:
    ratings = densest(datasets.load("ml-100k").ratings)
    splits = list(ratings.folds(SETS, random_state=0))
    print(f"{len(ratings)} ratings of {SIDE} movies by {SIDE} users, {SETS} sets")
    print(f"{'':43} {'one-zero':>8} {'MAE':>6}  {'rounds for one-zero':19}  {'for MAE':19}     of")
    for title, model in SMALL.items():
        rows = [chosen_and_tested(model, split) for split in splits]
        show_small(title, np.array([row[:2] for row in rows]))
        counts = ["/".join(str(row[k]) for row in rows) for k in (2, 3)]
        print(f"  {counts[0]:19}  {counts[1]:19}  {model.n_rounds:5}", flush=True)
    for title, model in UNCHOSEN.items():
        found = compare({title: model}, splits, ["one_zero_level", "mae_level"]).folds_[title]
        show_small(title, np.column_stack([found["one_zero_level"], found["mae_level"]]))
        print()
    for title, wrong in PUBLISHED.items():
        print(f"{title:43} {wrong:8.1f}")


def show_small(title: str, errors: np.ndarray) -> None:
    wrong, absolute = errors.mean(axis=0)
    print(f"{title:43} {100 * wrong:8.1f} {absolute:6.3f}", end="")


def densest(ratings: Ratings) -> Ratings:
    """Return the ratings between the users and items with most ratings."""
    sizes = ratings.by_user.sizes, ratings.by_item.sizes
    users, items = (np.argsort(-size, kind="stable")[:SIDE] for size in sizes)
    inside = np.isin(ratings.users, users) & np.isin(ratings.items, items)
    return without_features(ratings.take(inside))


def chosen_and_tested(model: BoostedFactorization, split: Split) -> tuple[float, float, int, int]:
    """Return both test errors, and the rounds that cross-validation chose for each."""
    folds = split.train.folds(FOLDS, random_state=0)
    curves = [errors_by_round(model.fit(train), valid) for train, valid in folds]
    length = min(len(curve) for curve in curves)
    best = np.mean([curve[:length] for curve in curves], axis=0).argmin(axis=0)
    tested = errors_by_round(model.fit(split.train), split.test)
    best = np.minimum(best, len(tested) - 1)
    return tested[best[0], 0], tested[best[1], 1], int(best[0]), int(best[1])


def errors_by_round(model: BoostedFactorization, test: Ratings) -> np.ndarray:
    """Return zero-one and absolute error after each round, starting with the constant."""
    logistic = model.loss == "logistic"
    levels = Levels(model.target, model.levels_, model.level_starts_, logistic)
    found = []
    for scores in scores_by_round(model, test):
        wrong = levels.mode(scores) != test.values
        found.append((wrong.mean(), np.abs(levels.median(scores) - test.values).mean()))
    return np.array(found)


def scores_by_round(model: BoostedFactorization, test: Ratings) -> Iterator[np.ndarray]:
    """Yield the scores of test ratings after each round."""
    users = model.ratings_.user_ids.find("users", test.user_ids.values[test.users])
    items = model.ratings_.item_ids.find("items", test.item_ids.values[test.items])
    scores = np.zeros((len(test), model.round_votes_.shape[1]))
    rounds = zip(model.user_values_, model.item_values_, model.round_votes_, strict=True)
    for user_values, item_values, votes in rounds:
        scores += (user_values[users] * item_values[items])[:, None] * votes
        yield scores


def part_c() -> None:
    print("  ratings 30 rounds s  s/round     ns above input    MiB")
    ratings = without_features(datasets.load("ml-1m").ratings)
    for share in SHARES:
        part = ratings if share == 1 else ratings.split(share, random_state=0).test
        n, few, many, before, after = len(part), *measured(part)
        each = (many - few) / (MANY - FEW)
        print(
            f"{n:9,} {few:11.2f} {each:8.4f} {1e9 * each / n:6.0f} {after - before:11.0f} "
            f"{after:6.0f}",
            flush=True,
        )


def measured(ratings: Ratings) -> list[float]:
    """Measure fits in a new process that holds nothing but these ratings."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.npz"
        np.savez(path, users=ratings.users, items=ratings.items, ratings=ratings.values)
        command = [sys.executable, __file__, "--measure", str(path)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(number) for number in json.loads(answer.stdout)]


def measure(path: str) -> None:
    """Print time and memory of fits for the parent process."""
    ratings = Ratings.from_arrays(**np.load(path))
    # Few ratings would load no kernel, and loading must not be measured.
    BoostedFactorization(FEW + 1).fit(ratings.split(20_000 / len(ratings), random_state=0).test)
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    seconds = [min(fit_seconds(rounds, ratings) for _ in range(REPEATS)) for rounds in (FEW, MANY)]
    print(json.dumps([*seconds, before, memory("VmHWM")]))


def fit_seconds(rounds: int, ratings: Ratings) -> float:
    start = time.process_time()
    BoostedFactorization(rounds, random_state=0).fit(ratings)
    return time.process_time() - start


def memory(name: str) -> float:
    """Return a memory figure of this process in MiB, from Linux."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


PARTS = {"a": part_a, "b": part_b, "c": part_c}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="abc", help="parts to run, of a, b and c")
    parser.add_argument(
        "--long", action="store_true", help="give the paper's method 10,000 rounds in part b"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure is not None:
        measure(asked.measure)
        return
    if asked.long:
        SMALL["signs, the paper"].set_params(n_rounds=10_000)
    for number, part in enumerate(sorted(set(asked.parts) & set(PARTS))):
        if number:
            print()
        PARTS[part]()


if __name__ == "__main__":
    main()
