"""Cost and quality of the starting points of the subset indicator.

Run with `python benchmarks/starts.py [SET ...]`. All settings search the same signed weights, round
after round, and the best result is taken, so no setting profits from weights that its own choices
have made easy. The table shows for each setting

- first, mean, least: its edge relative to the best, in the first round and over 50 rounds
- hits: the share of rounds in which it found the best edge
- ms: CPU milliseconds of its search, including histograms ("selector": one value, no alternation)
- train, test: the errors after 50 rounds of boosting with that setting alone

"exact" starts from the best of all 2**(K - 1) vote vectors and finds the best subset. "constant",
"selectors" and "singular" are the three starts of "informed", one at a time; "no ..." leaves one
out. Two classes make one score column, where every start finds the best subset. So the sets with
more classes (targets made of a categorical column, letter with its numbers as categories, generated
ones) show the difference.
"""

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any, ClassVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["EDGEWISE_BACKEND"] = "numba"

import numpy as np
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, datasets
from edgewise.learners import Best, FoundRule, Indicator, Round, Selector

ROUNDS = 50
EXACT_UP_TO = 14  # classes
SETS = (
    *("mushroom", "connect4", "adult", "kr-vs-kp"),
    *("car", "mushroom habitat", "adult occupation", "letter", "rank 1", "rank 3"),
)


class Some(Indicator):
    """A subset indicator with some of the informed starts, one letter each.

    c is the constant, s the best selectors, v the leading singular vector.
    """

    def __init__(self, letters: str = "csv") -> None:
        super().__init__()
        self.letters = letters

    def _starts(self, matrix: Any, round: Round) -> Iterator[Any]:
        if "c" in self.letters:
            yield np.ones(len(matrix.values))
        if "s" in self.letters:
            yield matrix.best_selectors()
        if "v" in self.letters:
            yield matrix.singular()


SETTINGS = {
    "random": Indicator("random"),
    "random, 3 restarts": Indicator("random", restarts=3),
    "random, 10 restarts": Indicator("random", restarts=10),
    "informed": Indicator("informed"),
    "informed, 3 restarts": Indicator("informed", restarts=3),
    "constant": Some("c"),
    "selectors": Some("s"),
    "singular": Some("v"),
    "no constant": Some("sv"),
    "no selectors": Some("cv"),
    "no singular": Some("cs"),
    "selector": Selector(),
    "exact": Indicator("exact"),
}


class SideBySide(Best):
    """The best of several learners, recording the edge and CPU time of each."""

    record: ClassVar[list[tuple[list[float], list[float]]]]

    def find(self, round: Round) -> FoundRule | None:
        rules, times = [], []
        for learner in self.learners_:
            start = time.process_time()
            rules.append(learner.find(round))
            times.append(time.process_time() - start)
        self.record.append(([0.0 if rule is None else rule.edge for rule in rules], times))
        return min((rule for rule in rules if rule is not None), key=lambda rule: rule.loss)


def rows_of(name: str) -> tuple[Any, ...]:
    """Return training and test rows with their classes; all columns are categorical."""
    if name.startswith("rank"):
        return split_halves(*generate_columns(int(name.split()[1])))
    name, *target = name.split()
    data = datasets.load(name, download=False)
    if name == "letter":
        return data.X_train, data.y_train, data.X_test, data.y_test
    X, y = data.X_train.select_dtypes("category"), data.y_train
    if target:
        known = X[target[0]].notna().to_numpy()
        X, y = X[known].drop(columns=target[0]), X[target[0]][known].cat.codes.to_numpy()
    elif data.X_test is not None:
        kinds = X.dtypes.to_dict()
        return (
            encode_categories(X),
            y,
            encode_categories(data.X_test[X.columns].astype(kinds)),
            data.y_test,
        )
    return split_halves(encode_categories(X), y)


def encode_categories(X: Any) -> np.ndarray:
    """Return categories as numbers, which read much faster."""
    codes = np.stack([X[column].cat.codes.to_numpy() for column in X], axis=1)
    return np.where(codes < 0, np.nan, codes)


def split_halves(X: Any, y: Any) -> tuple[Any, ...]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    return X_train, y_train, X_test, y_test


def generate_columns(
    rank: int, n: int = 80_000, values: int = 2000, classes: int = 5
) -> tuple[Any, Any]:
    """Return two categorical columns whose values move the classes' log-odds in a few
    directions.
    """
    rng = np.random.default_rng(rank)
    codes = rng.integers(values, size=(n, 2))
    logits = rng.gumbel(size=(n, classes))
    for j in range(2):
        moves = rng.normal(size=(values, rank)) @ rng.normal(size=(rank, classes))
        logits += (moves / np.sqrt(rank))[codes[:, j]]
    return codes, logits.argmax(axis=1)


def boosted(learner: Any, X: Any, y: Any, n_rounds: int = ROUNDS) -> AdaBoostMH:
    columns = list(range(X.shape[1]))
    return AdaBoostMH(
        learner, preset="paper", n_rounds=n_rounds, categorical_features=columns, random_state=0
    ).fit(X, y)


def measure(name: str) -> None:
    X, y, X_test, y_test = rows_of(name)
    n_classes = len(np.unique(y))
    n_scores = n_classes if n_classes > 2 else 1
    settings = {k: v for k, v in SETTINGS.items() if k != "exact" or n_scores <= EXACT_UP_TO}
    values = [len(np.unique(column)) for column in X.T]
    print(
        f"{name}: {len(X):,} rows, {len(values)} columns of {min(values)} to {max(values)} values, "
        f"{n_scores} score column{'s' * (n_scores > 1)}\n"
        "                       first    mean   least   hits       ms   train    test"
    )
    boosted(Indicator(), X, y, n_rounds=2)  # load or compile the kernels
    SideBySide.record = []
    boosted(SideBySide(list(settings.values())), X, y)
    edges, times = np.array(SideBySide.record).transpose(1, 0, 2)
    shares = edges / edges.max(axis=1, keepdims=True)
    for place, (setting, learner) in enumerate(settings.items()):
        model = boosted(learner, X, y)
        mine = shares[:, place]
        print(
            f"{setting:20} {mine[0]:8.4f}{mine.mean():8.4f}{mine.min():8.4f}"
            f"{np.mean(mine == 1.0):7.2f}{1e3 * np.median(times[:, place]):9.3f}"
            f"{1 - model.score(X, y):8.4f}{1 - model.score(X_test, y_test):8.4f}",
            flush=True,
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS, metavar="SET", help=", ".join(SETS))
    for name in parser.parse_args().names:
        if name.startswith("rank") or datasets.available(name.split()[0]):
            measure(name)
        else:
            print(f"{name} skipped: not in $EDGEWISE_DATA or the cache\n")


if __name__ == "__main__":
    main()
