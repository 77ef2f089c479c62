"""Recommenders of ratings and of lists: accuracy, CPU time and memory, ours and other libraries'.

Run with `python benchmarks/recommend.py [--only edgewise myFM ...] [--sets "ml-1m lists" ...]`.
Every model runs in a process of its own, on one thread, and adds a line to the results (JSON
lines); a model that has a line does not run again, so an interrupted run resumes where it stopped,
and to measure models anew, delete their lines. The tables come last. Other libraries are those of
`pip install '.[peers]'`; `--python lenskit=PYTHON` names an interpreter that has one.

Ratings: the five published folds of ml-100k, of which figures are means; a random tenth of ml-1m
held out; a random tenth of 1.8 million generated ratings from -10 to 10, of 25,000 users and 100
items. RMSE and MAE of all test ratings, which "serve" takes the time of.

Lists: ratings of 4 and 5 (of 5 and more in the generated set) are the choices, of which a fifth is
held out, on ml-100k by the published folds; and ten million generated choices of 100,000 users
among 5,000 items, with a fifth of those of 10,000 users held out. Lists hold any item that the
user did not choose in training. NDCG@10 and Recall@20 are means over users with choices in both
parts, coverage is the share of items that are in a list of ten, and "serve" is the time of lists of
20 for all these users.

CPU seconds count from data in the library's own form, after a small fit of ours that compiles. MiB
is the peak of the whole process, with the library and the data.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from _recommenders import LISTS, RATINGS, Part, Row
from _results import append, read_lines
from edgewise import datasets

LIKED = 4
THREADS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "RAYON_NUM", "LK_NUM", "LK_NUM_BACKEND")
"""What libraries read their number of threads from, each with "_THREADS"."""


class Column(NamedTuple):
    """A column of the table: what it is called, its digits, and which value is the best."""

    title: str
    digits: int
    best: Callable[..., float] | None = None


COLUMNS = {
    "RMSE": Column("RMSE", 4, min),
    "MAE": Column("MAE", 4, min),
    "NDCG@10": Column("NDCG@10", 4, max),
    "Recall@20": Column("Recall@20", 4, max),
    "coverage": Column("coverage", 3),
    "fit": Column("fit s", 2),
    "serve": Column("serve s", 2),
    "peak": Column("MiB", 0),
}


def folds() -> Iterator[Part]:
    """Yield the published folds of ml-100k."""
    data = datasets.load("ml-100k", download=False)
    for number in range(1, 6):
        train, test = data.fold(number)
        yield part_of(train, test)


def iter_splits(share: float, liked: float | None = None) -> Iterator[Part]:
    """Yield one random split of ml-1m."""
    ratings = datasets.load("ml-1m", download=False).ratings
    if liked is not None:
        ratings = ratings.take(ratings.values >= liked)
    yield part_of(*ratings.split(share, random_state=0))


def part_of(train: Any, test: Any) -> Part:
    columns = (getattr(one, name) for one in (train, test) for name in ("users", "items", "values"))
    return Part(*columns, np.array([train.n_users, train.n_items]))


def keep_high_ratings(parts: Iterator[Part], least: float) -> Iterator[Part]:
    """Yield the high ratings as choices."""
    for part in parts:
        high, test = part.values >= least, part.test_values >= least
        yield Part(
            part.users[high],
            part.items[high],
            np.ones(high.sum()),
            part.test_users[test],
            part.test_items[test],
            np.ones(test.sum()),
            part.shape,
        )


def continuous(share: float = 0.1, n_users: int = 25_000, n_items: int = 100) -> Iterator[Part]:
    """Yield ratings like those of jokes: of few items by many users, from -10 to 10.

    A rating is the sum of a user's and an item's mean, of twenty tastes, each weaker than the one
    before, and of noise, by how much of the scale the user takes, cut off at its ends.
    """
    rng = np.random.default_rng(0)
    fading = 0.75 ** np.arange(20)
    jokes = rng.normal(size=(n_items, 20)) * fading
    taste = (rng.normal(size=(n_users, 20)) * fading) @ jokes.T
    taste *= 2.1 / taste.std()
    spread = rng.lognormal(0.0, 0.3, (n_users, 1))
    liking = 0.8 + 2.3 * rng.normal(size=(n_users, 1)) + 1.2 * rng.normal(size=n_items)
    liking = liking + spread * (taste + 3.7 * rng.normal(size=taste.shape))
    # All users rate the first tenth of the items; of the others, between a fifth and all.
    rated = rng.random(taste.shape) < rng.beta(1.2, 0.7, (n_users, 1)) * 0.8 + 0.2
    rated[:, : n_items // 10] = True
    users, items = np.nonzero(rated)
    values = np.clip(liking[users, items], -10, 10).round(2)
    test = rng.random(len(users)) < share
    parts = (column[rows] for rows in (~test, test) for column in (users, items, values))
    yield Part(*parts, np.array([n_users, n_items]))


def many(n: int = 10_000_000, n_users: int = 100_000, n_items: int = 5_000) -> Iterator[Part]:
    """Yield choices of active users and popular items, by mixtures of forty tastes.

    A user has a few tastes; in each, the popularity of an item is multiplied by a random factor.
    """
    rng = np.random.default_rng(0)
    draws, n_tastes = 2 * n, 40
    users = _draw(rng, rng.lognormal(0, 1, n_users), draws)
    mixtures = np.cumsum(rng.dirichlet(np.full(n_tastes, 0.1), n_users), axis=1)
    tastes = np.empty(draws, dtype=np.int64)
    for rows in np.array_split(np.arange(draws), 100):
        tastes[rows] = (rng.random((len(rows), 1)) > mixtures[users[rows], :-1]).sum(axis=1)
    popular = rng.permutation(np.arange(10, n_items + 10) ** -0.8)
    items = np.empty(draws, dtype=np.int64)
    for taste in range(n_tastes):
        rows = tastes == taste
        items[rows] = _draw(rng, popular * rng.lognormal(0, 1.5, n_items), rows.sum())
    pairs = np.sort(rng.permutation(np.unique(users * n_items + items))[:n])
    users, items = np.divmod(pairs, n_items)
    asked = np.isin(users, rng.choice(n_users, n_users // 10, replace=False))
    test = asked & (rng.random(n) < 0.2)
    ones = np.ones(n)
    parts = (column[rows] for rows in (~test, test) for column in (users, items, ones))
    yield Part(*parts, np.array([n_users, n_items]))


def _draw(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(n))


SETS: dict[str, Callable[[], Iterator[Part]]] = {
    "ml-100k ratings": folds,
    "ml-1m ratings": lambda: iter_splits(0.1),
    "continuous ratings": continuous,
    "ml-100k lists": lambda: keep_high_ratings(folds(), LIKED),
    "ml-1m lists": lambda: keep_high_ratings(iter_splits(0.2, LIKED), LIKED),
    "continuous lists": lambda: keep_high_ratings(continuous(0.2), 5.0),
    "ten million lists": many,
}


def rows_of(name: str) -> dict[str, Row]:
    """Return the models that run on a set, by title."""
    data, _, kind = name.rpartition(" ")
    rows = RATINGS if kind == "ratings" else LISTS
    return {title: row for title, row in rows.items() if data in row.sets}


def run(options: argparse.Namespace) -> None:
    """Run the models that have no line in the results yet."""
    pythons = dict(one.split("=", 1) for one in options.python)
    known = {(line["set"], line["model"]) for line in read_lines(options.results)}
    for name in options.sets:
        wanted = {
            title: pythons.get(row.library, sys.executable)
            for title, row in rows_of(name).items()
            if any(word in title for word in options.only) and (name, title) not in known
        }
        if not wanted:
            continue
        if name.startswith("ml-") and not datasets.available(name.split()[0]):
            print(f"{name}: skipped, not in $EDGEWISE_DATA or the cache")
            continue
        with tempfile.TemporaryDirectory() as folder:
            for number, part in enumerate(SETS[name]()):
                np.savez(Path(folder, f"{number}.npz"), **part._asdict())
            for title, python in wanted.items():
                measure(name, title, python, folder, options.results)


def measure(name: str, title: str, python: str, folder: str, results: Path) -> None:
    """Run one model and note what it measured."""
    library = rows_of(name)[title].library
    check = f"import importlib.util as i; raise SystemExit(not i.find_spec({library!r}))"
    if subprocess.run([python, "-c", check], check=False).returncode:
        print(f"{title}: skipped, {library} is not installed")
        return
    script = str(Path(__file__).with_name("_recommenders.py"))
    command = [python, script, name, title, folder]
    settings = {f"{name}_THREADS": "1" for name in THREADS} | {"EDGEWISE_BACKEND": "numba"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | settings)
    append(results, {"set": name, "model": title, **json.loads(done.stdout)})


def table(lines: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of the table, set by set; a star marks the best."""
    for name in SETS:
        rows = {title: lines[name, title] for title in rows_of(name) if (name, title) in lines}
        found = {one: [row.get(one) for row in rows.values()] for one in COLUMNS}
        columns = [one for one in COLUMNS if any(cell is not None for cell in found[one])]
        if rows:
            yield f"\n{name:44}" + "".join(f"{COLUMNS[one].title:>10} " for one in columns).rstrip()
        for title, row in rows.items():
            cells = ""
            for one in columns:
                best = COLUMNS[one].best
                star = "*" if best is not None and row[one] == best(found[one]) else " "
                cells += f"{row[one]:10.{COLUMNS[one].digits}f}{star}"
            yield f"{title:44}{cells}".rstrip()


def latencies(lines: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """Yield reading and serving of the largest set, in CPU seconds and milliseconds."""
    name = "ten million lists"
    columns = {"read": 1, "serve": 1, "one user": 1000, "one similar": 1000}
    titles = ("read s", "10,000 users s", "one user ms", "similar ms")
    yield f"\n{name:44}" + "".join(f"{title:>16}" for title in titles)
    for title in rows_of(name):
        line = lines.get((name, title), {})
        if "read" in line:
            cells = (
                f"{unit * line[column]:16.2f}" if column in line else f"{'-':>16}"
                for column, unit in columns.items()
            )
            yield f"{title:44}" + "".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--only", nargs="+", default=[""], help="words of the models to run")
    parser.add_argument("--python", nargs="*", default=[], help="library=interpreter")
    parser.add_argument("--results", type=Path, default=Path("recommend.jsonl"))
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    options = parser.parse_args()
    if not options.only_table:
        run(options)
    lines = {(line["set"], line["model"]): line for line in read_lines(options.results)}
    print("\n".join([*table(lines), *latencies(lines)]))


if __name__ == "__main__":
    main()
