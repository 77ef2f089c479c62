"""Accuracy and speed of recommenders on MovieLens, compared with cornac, implicit, myFM and
Surprise.

Run with `python benchmarks/recommend.py [table growth scale] [--folds 1 2 3 4 5] [--peers PYTHON]`.
`--only WORD` selects the rows that contain the word. The other libraries run in processes of the
interpreter PYTHON (default: this one), which does not need edgewise. Three parts:

table   Means over the published folds of ml-100k, with all test ratings. An item without training
        ratings gets the user's mean, in every library, unless a model knows its features; other
        libraries, and rows with "no features", use none. RMSE, MAE and one-zero error (the share of
        wrong levels) each take the best prediction a model offers: its expectation, the rounded
        expectation, or its own level, which only BoostedFactorization has. NDCG@10 ranks all items
        that the user has not rated in training; items rated 4 or 5 in the test part are relevant,
        and users without any are left out. "-" marks models that predict no ratings, or that score
        one pair per call and would need minutes to rank everything. Times are CPU seconds on one
        thread: the median over folds of the best of three runs, or of one if it takes more than two
        seconds. "predict" covers all test ratings, or ten items for each test user for models
        without ratings; some models train a user at the first request, which then counts. The data
        is in each library's own form before the clock starts.
growth  CPU time and memory of a fit to 10 %, 30 % and 100 % of ml-1m, in new processes. "above
        input" is the peak memory minus the memory before the fit. "ns" is per rating: it is
        constant if growth is linear. Memory needs Linux.
scale   Not by default: 10 million generated choices (`--choices`), 100,000 users, 20,000 items,
        read, fitted in 15 epochs (`--epochs`) and served, beside implicit. CPU seconds on one
        thread; for one user or item the median of 29 requests after the first; MiB is the peak
        above what the process had before. The boosted model and the last k-NN are fitted to a
        million of them as ratings.

Rows of other libraries marked "tuned" were chosen by RMSE ("MAE": by the MAE of the level) from
small grids, fitted to 80 % of u1.base and of u2.base and evaluated on the rest, never on test
files; but a test rating of one fold is a training rating of the others. The defaults of edgewise
were chosen in the same way. "BoostedFactorization, tuned" chooses its shrinkage and rounds on a
tenth of each fold's own training ratings. All other settings are defaults, or as the row says.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["EDGEWISE_BACKEND"] = "numba"

import numpy as np

from edgewise import Ratings, datasets, recommend
from recommend_peers import LENGTH, NOTHING, Answer, Part, timed
from recommend_scale import generated, memory

LIKED = 4
# A model's own levels: the median and the most likely one.
LEVELS = ("level", "mode")
SHARES = (0.1, 0.3, 1.0)
PEERS = ("surprise", "cornac", "implicit", "myfm")
# The models timed as the data grows.
GROWING = (
    "BoostedFactorization",
    "BoostedFactorization, signs",
    "MatrixFactorization",
    "MatrixFactorization, als",
    "NonNegativeFactorization",
    "SVDRecommender",
    "ItemKNN",
    "UserKNN",
    "BiasBaseline",
    "ImplicitFactorization, k=50",
)
COLUMNS = ("RMSE", "MAE", "one-zero", "NDCG@10", "fit s", "predict s")


def judged(part: Part, answer: Answer) -> tuple[float, ...]:
    """Return the values of `COLUMNS`, NaN where the model predicts nothing."""
    y, errors = part.test_values, (np.nan,) * 3
    if len(answer.ratings):
        low, high = part.values.min(), part.values.max()
        says = [np.clip(answer.ratings, low, high)]
        says.append(np.floor(says[0] + 0.5))
        says += list(answer.levels)
        errors = (
            min(float(np.sqrt(np.mean((p - y) ** 2))) for p in says),
            min(float(np.mean(abs(p - y))) for p in says),
            min(float(np.mean(p != y)) for p in says),
        )
    lists = gain(part, answer.lists) if len(answer.lists) else np.nan
    return *errors, lists, float(answer.fit), float(answer.predict)


def gain(part: Part, lists: np.ndarray) -> float:
    """Return the mean NDCG of lists."""
    liked = np.zeros((part.shape[0], part.shape[1] + 1), dtype=bool)
    high = part.test_values >= LIKED
    liked[part.test_users[high], part.test_items[high]] = True
    liked = liked[part.asked]
    discounts = 1 / np.log2(np.arange(2, LENGTH + 2))
    # An empty place is -1, the last column, which is never relevant.
    found = np.take_along_axis(liked, lists, axis=1) @ discounts
    best = np.concatenate([[0], np.cumsum(discounts)])[np.minimum(liked.sum(axis=1), LENGTH)]
    return float(np.mean(found[best > 0] / best[best > 0]))


def ours() -> dict[str, Callable[[], Any]]:
    """Return edgewise's models by title."""
    r = recommend
    return {
        "BoostedFactorization": lambda: r.BoostedFactorization(random_state=0),
        "BoostedFactorization, no features": lambda: r.BoostedFactorization(
            side_features=False, random_state=0
        ),
        "BoostedFactorization, tuned": lambda: r.BoostedFactorization(tuned=True, random_state=0),
        "BoostedFactorization, signs": lambda: r.BoostedFactorization(
            factors="signs", random_state=0
        ),
        "MatrixFactorization": lambda: r.MatrixFactorization(random_state=0),
        "MatrixFactorization, k=10, 25 epochs": lambda: r.MatrixFactorization(
            10, n_epochs=25, learning_rate=0.01, regularization=0.02, random_state=0
        ),
        "MatrixFactorization, als": lambda: r.MatrixFactorization(solver="als", random_state=0),
        "NonNegativeFactorization": lambda: r.NonNegativeFactorization(random_state=0),
        "SVDRecommender": lambda: r.SVDRecommender(),
        "ItemKNN": lambda: r.ItemKNN(),
        "UserKNN": lambda: r.UserKNN(),
        "BiasBaseline": lambda: r.BiasBaseline(),
        "UserRegression": lambda: r.UserRegression(),
        "UserRegression, normalise": lambda: r.UserRegression(normalise=True),
        "ContentRecommender": lambda: r.ContentRecommender(),
        "ImplicitFactorization, k=50": lambda: r.ImplicitFactorization(50, random_state=0),
        "ImplicitFactorization, k=32": lambda: r.ImplicitFactorization(32, random_state=0),
        "ItemKNN, implicit": lambda: r.ItemKNN(implicit=True),
        "RankBoostRecommender": lambda: r.RankBoostRecommender(),
        "RankingNeighbor": lambda: r.RankingNeighbor(),
        "Popularity": lambda: r.Popularity(),
        "RandomRecommender": lambda: r.RandomRecommender(random_state=0),
    }


def our_answer(part: Part, train: Any, make: Callable[[], Any]) -> Answer:
    users, items = train.user_ids.values, train.item_ids.values
    pairs, asked = (users[part.test_users], items[part.test_items]), users[part.asked]
    # Compile first.
    warm = make().fit(train.take(np.arange(0, len(train), 10)))
    warm.predict(users[train.users[:10]], items[train.items[:10]])
    rates = warm.predicts == "rating"

    def predict(model: Any) -> Any:
        return model.predict(*pairs, unknown="mean") if rates else model.recommend(asked, LENGTH)

    # A fresh copy has not sorted its ratings by item yet.
    everything = np.arange(len(train))
    fit, taken, model, found = timed(
        lambda data: make().fit(data), predict, lambda: train.take(everything)
    )
    levels = NOTHING
    if rates and model.predicts_levels:
        levels = np.stack([model.predict(*pairs, unknown="mean", output=o) for o in LEVELS])
    lists = np.full((len(asked), LENGTH), -1)
    for place, one in enumerate(model.recommend(asked, LENGTH)):
        lists[place, : len(one.ids)] = train.item_ids.find("items", one.ids)
    return Answer(fit, taken, found if rates else NOTHING, levels, lists)


def peer_answers(options: argparse.Namespace, name: str, part: Part) -> dict[str, Answer] | None:
    """Return the predictions of a library's models by title, or None if it is not installed."""
    script = str(Path(__file__).with_name("recommend_peers.py"))
    with tempfile.TemporaryDirectory() as folder:
        given, wanted = str(Path(folder, "fold.npz")), Path(folder, "answers.npz")
        np.savez(given, **part._asdict())
        command = [options.peers, script, name, given, str(wanted), options.only]
        subprocess.run(command, check=True)
        if not wanted.exists():
            return None
        with np.load(wanted) as stored:
            titles = dict.fromkeys(key.rpartition("/")[0] for key in stored)
            return {
                title: Answer(*(stored[f"{title}/{field}"] for field in Answer._fields))
                for title in titles
            }


def part_of(train: Any, test: Any) -> Part:
    shape = np.array([train.n_users, train.n_items])
    columns = (train.users, train.items, train.values, test.users, test.items, test.values)
    return Part(*columns, shape)


def rows_of(options: argparse.Namespace, fold: Any) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield the rows of one fold by title, empty for a library that is not installed."""
    part = part_of(*fold)
    for title, make in ours().items():
        if options.only in title:
            yield title, judged(part, our_answer(part, fold.train, make))
    for name in PEERS:
        answers = peer_answers(options, name, part)
        if answers is None:
            yield name, ()
            continue
        for title, answer in answers.items():
            yield title, judged(part, answer)


def table(options: argparse.Namespace) -> None:
    try:
        data = datasets.load("ml-100k", download=False)
    except datasets.DatasetNotFoundError:
        print("table skipped: ml-100k is not in $EDGEWISE_DATA or the cache")
        return
    found: dict[str, list[tuple[float, ...]]] = {}
    for fold in options.folds:
        for title, row in rows_of(options, data.fold(fold)):
            found.setdefault(title, []).append(row)
        print(f"fold {fold} done", file=sys.stderr, flush=True)
    print(f"ml-100k, folds {', '.join(map(str, options.folds))}")
    print(f"{'':46}" + "".join(f"{name:>10}" for name in COLUMNS))
    for title, rows in found.items():
        if not rows[0]:
            print(f"{title:46} not installed")
            continue
        columns = list(zip(*rows, strict=True))
        cells = [f"{statistics.fmean(column):10.4f}" for column in columns[:-2]]
        cells += [f"{statistics.median(column):10.3f}" for column in columns[-2:]]
        print(f"{title:46}" + "".join(cells).replace("       nan", "         -"))


def point(title: str, path: str) -> dict[str, float]:
    """Fit once; return time and memory."""
    with np.load(path) as stored:
        ratings = Ratings.from_arrays(stored["users"], stored["items"], stored["values"])
    make = ours()[title]
    make().fit(ratings.take(np.arange(0, len(ratings), 100)))
    # getrusage may report the parent's peak, and reading has a peak of its own.
    refs = Path("/proc/self/clear_refs")
    if refs.exists():
        refs.write_text("5")
    before, start = memory("VmRSS"), time.process_time()
    make().fit(ratings)
    seconds = time.process_time() - start
    return {"n": len(ratings), "seconds": seconds, "above": memory("VmHWM") - before}


def growth(options: argparse.Namespace) -> None:
    try:
        ratings = datasets.load("ml-1m", download=False).ratings
    except datasets.DatasetNotFoundError:
        print("growth skipped: ml-1m is not in $EDGEWISE_DATA or the cache")
        return
    order = np.random.default_rng(0).permutation(len(ratings))
    print(f"ml-1m\n{'':38}   ratings     fit s      ns  above input MiB")
    with tempfile.TemporaryDirectory() as folder:
        for title in [title for title in GROWING if options.only in title]:
            last = None
            for share in SHARES:
                rows = np.sort(order[: round(share * len(ratings))])
                path = Path(folder, "ratings.npz")
                names = ("users", "items", "values")
                np.savez(path, **{name: getattr(ratings, name)[rows] for name in names})
                command = [sys.executable, __file__, "--point", title, str(path)]
                output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                found = json.loads(output)
                note = "" if last is None else ratios(found, last)
                show(title, found, note)
                last = found


def show(title: str, found: dict[str, float], note: str) -> None:
    print(
        f"{title:38} {found['n']:9,} {found['seconds']:9.2f} "
        f"{1e9 * found['seconds'] / found['n']:7.0f} {found['above']:16.0f}  {note}",
        flush=True,
    )


def ratios(new: dict[str, float], old: dict[str, float]) -> str:
    """Return the growth from one point to the next."""
    return ", ".join(f"{new[key] / old[key]:.1f} x {key}" for key in ("n", "seconds", "above"))


def scale(options: argparse.Namespace) -> None:
    script = str(Path(__file__).with_name("recommend_scale.py"))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "choices.npz"))
        np.savez(path, **generated(options.choices, options.choices // 100, 20_000))
        for library, python in (("edgewise", sys.executable), ("implicit", options.peers)):
            command = [python, script, library, path, str(options.epochs)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            found[library] = json.loads(output)
    print(f"{options.choices:,} choices, {options.epochs} epochs")
    print(f"{'':34}{'edgewise':>12}{'implicit':>12}")
    for what in found["edgewise"]:
        amounts = [answer.get(what, np.nan) for answer in found.values()]
        unit = 1000 if "one " in what else 1
        ends = ", ms" if unit > 1 else "" if what.endswith("MiB") else ", s"
        cells = "".join(f"{unit * amount:12.2f}" for amount in amounts)
        print(f"{what + ends:34}{cells}".replace("nan", "  -"))


PARTS = {"table": table, "growth": growth, "scale": scale}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=["table", "growth"])
    parser.add_argument("--choices", type=int, default=10_000_000, help="for scale")
    parser.add_argument("--epochs", type=int, default=15, help="of factor models, for scale")
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument(
        "--peers", default=sys.executable, help="interpreter with the other libraries"
    )
    parser.add_argument("--only", default="", help="run only rows that contain this word")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(point(*options.point)))
        return
    for name in options.parts:
        PARTS[name](options)
        print()


if __name__ == "__main__":
    main()
