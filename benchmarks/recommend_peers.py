"""Run cornac, implicit, myFM or Surprise for benchmarks/recommend.py.

Run with `python benchmarks/recommend_peers.py LIBRARY FOLD ANSWERS [WORD]`: reads a fold from one
file and writes the predictions of the library's models, those with WORD in their title, to another;
writes nothing if the library is not installed. Needs NumPy and the library, but not edgewise.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np

LENGTH = 10
REPEATS, LONG = 3, 2.0


class Part(NamedTuple):
    """A fold, as indices into the catalogue."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    test_users: np.ndarray
    test_items: np.ndarray
    test_values: np.ndarray
    shape: np.ndarray

    @property
    def asked(self) -> np.ndarray:
        """The test users."""
        return np.unique(self.test_users)

    @property
    def seen(self) -> np.ndarray:
        """The items each user rated in training."""
        seen = np.zeros(self.shape, dtype=bool)
        seen[self.users, self.items] = True
        return seen

    def filled(self, predictions: np.ndarray) -> np.ndarray:
        """Return predictions, with the user's mean for items without training ratings."""
        count = np.bincount(self.users, minlength=self.shape[0])
        sums = np.bincount(self.users, self.values, minlength=self.shape[0])
        means = np.where(count > 0, sums / np.maximum(count, 1), self.values.mean())
        rated = np.isin(self.test_items, self.items)
        return np.where(rated, predictions, means[self.test_users])


class Answer(NamedTuple):
    """The predictions of a model on a fold; missing kinds are empty.

    `levels` has one row per kind of level the model predicts, `lists` one per
    test user, padded with -1.
    """

    fit: float
    predict: float
    ratings: np.ndarray
    levels: np.ndarray
    lists: np.ndarray


NOTHING = np.zeros(0)


def timed(
    fit: Callable[[Any], Any], predict: Callable[[Any], Any], fresh: Callable[[], Any]
) -> tuple[float, float, Any, Any]:
    """Return the CPU seconds of fitting and predicting, the model and its predictions."""
    fits, predictions = [], []
    for _ in range(REPEATS):
        data, start = fresh(), time.process_time()
        model = fit(data)
        middle = time.process_time()
        found = predict(model)
        fits.append(middle - start)
        predictions.append(time.process_time() - middle)
        if fits[-1] + predictions[-1] > LONG:
            break
    return min(fits), min(predictions), model, found


def wanted(rows: dict[str, Any], word: str) -> list[tuple[str, Any]]:
    return [(title, row) for title, row in rows.items() if word in title]


def surprise(part: Part, word: str) -> Iterator[tuple[str, Answer]]:
    import surprise as s

    options = {"name": "pearson_baseline", "shrinkage": 200}
    item = {"sim_options": options | {"user_based": False}, "verbose": False}
    user = {"sim_options": options | {"user_based": True}, "verbose": False}
    rows: dict[str, Callable[[], Any]] = {
        "Surprise SVD": lambda: s.SVD(random_state=0),
        "Surprise SVD, tuned": lambda: s.SVD(100, 60, lr_all=0.01, reg_all=0.1, random_state=0),
        "Surprise SVDpp": lambda: s.SVDpp(random_state=0),
        "Surprise NMF": lambda: s.NMF(random_state=0),
        "Surprise NMF, tuned": lambda: s.NMF(50, reg_pu=0.1, reg_qi=0.1, random_state=0),
        "Surprise KNNBaseline items, tuned": lambda: s.KNNBaseline(40, **item),
        "Surprise KNNBaseline items, tuned, MAE": lambda: s.KNNBaseline(20, **item),
        "Surprise KNNWithMeans items, tuned": lambda: s.KNNWithMeans(40, **item),
        "Surprise KNNBaseline users, tuned": lambda: s.KNNBaseline(40, **user),
        "Surprise SlopeOne": lambda: s.SlopeOne(),
        "Surprise CoClustering": lambda: s.CoClustering(random_state=0),
        "Surprise BaselineOnly": lambda: s.BaselineOnly(verbose=False),
    }
    scale = s.Reader(rating_scale=(part.values.min(), part.values.max()))
    columns = (part.users, part.items, part.values)
    rated = zip(*(column.tolist() for column in columns), strict=True)
    train = s.Dataset(scale).construct_trainset([(*row, None) for row in rated])
    columns = (part.test_users, part.test_items, part.test_values)
    test = list(zip(*(column.tolist() for column in columns), strict=True))
    for title, make in wanted(rows, word):
        fit, predict, _, found = timed(
            lambda data, make=make: make().fit(data), lambda m: m.test(test), lambda: train
        )
        ratings = part.filled(np.array([one.est for one in found]))
        yield title, Answer(fit, predict, ratings, NOTHING, NOTHING)


def cornac(part: Part, word: str) -> Iterator[tuple[str, Answer]]:
    from cornac.data import Dataset
    from cornac.models import MF

    rows: dict[str, dict[str, Any]] = {
        "cornac MF, k=10, 25 epochs": {"k": 10, "max_iter": 25, "lambda_reg": 0.02},
        "cornac MF, tuned": {"k": 100, "max_iter": 75, "learning_rate": 0.005, "lambda_reg": 0.06},
        "cornac MF, tuned, MAE": {
            "k": 200,
            "max_iter": 75,
            "learning_rate": 0.005,
            "lambda_reg": 0.06,
        },
    }
    columns = (part.users, part.items, part.values)
    data = Dataset.from_uir(list(zip(*(column.tolist() for column in columns), strict=True)))
    # Scores are in the order in which the library first met the items.
    items = np.fromiter(data.iid_map, dtype=np.intp)

    def scores(model: Any) -> np.ndarray:
        found = np.full(part.shape, -np.inf)
        for user in part.asked.tolist():
            found[user, items] = model.score(data.uid_map.get(user, -1))
        return found

    for title, settings in wanted(rows, word):
        fit, predict, _, found = timed(
            lambda data, s=settings: MF(num_threads=1, seed=0, **s).fit(data), scores, lambda: data
        )
        ratings = part.filled(found[part.test_users, part.test_items])
        order = np.argsort(-np.where(part.seen, -np.inf, found)[part.asked], kind="stable")
        yield title, Answer(fit, predict, ratings, NOTHING, order[:, :LENGTH])


def implicit(part: Part, word: str) -> Iterator[tuple[str, Answer]]:
    from implicit.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    rows = {
        "implicit ALS, k=50, confidence 1": (50, np.ones(len(part.values))),
        "implicit ALS, k=32, confidence the rating": (32, part.values),
    }
    for title, (factors, confidence) in wanted(rows, word):
        entries = (confidence.astype(np.float32), (part.users, part.items))
        matrix = csr_matrix(entries, shape=tuple(part.shape))

        def fit(data: Any, factors: int = factors) -> Any:
            model = AlternatingLeastSquares(
                factors, regularization=10.0, iterations=15, num_threads=1, random_state=0
            )
            model.fit(data, show_progress=False)
            return model

        fitting, predict, _, found = timed(
            fit,
            lambda model, data=matrix: model.recommend(part.asked, data[part.asked], LENGTH),
            lambda data=matrix: data,
        )
        yield title, Answer(fitting, predict, NOTHING, NOTHING, np.asarray(found[0], np.intp))


def myfm(part: Part, word: str) -> Iterator[tuple[str, Answer]]:
    from myfm import MyFMRegressor, RelationBlock
    from scipy.sparse import csr_matrix, diags, eye, hstack

    rated = csr_matrix((np.ones(len(part.users)), (part.users, part.items)), tuple(part.shape))

    def described(matrix: Any) -> Any:
        """Return who a row is, and what it was rated with: the features of flipped SVD++."""
        sizes = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1.0)
        return csr_matrix(hstack([eye(matrix.shape[0]), diags(sizes**-0.5) @ matrix]))

    sides = described(rated), described(csr_matrix(rated.T))
    groups = [size for n, m in (part.shape, part.shape[::-1]) for size in (int(n), int(m))]

    def blocks(*indices: np.ndarray) -> Any:
        return [RelationBlock(i, side) for i, side in zip(indices, sides, strict=True)]

    scale = part.values.min(), part.values.max()
    # The settings of the library's own example on this data.
    rows = {"myFM, flipped SVD++, rank 10, 512 draws": {"rank": 10, "random_seed": 0}}
    for title, settings in wanted(rows, word):
        fit, predict, _, found = timed(
            lambda data, s=settings: MyFMRegressor(**s).fit(
                None, part.values, X_rel=data, group_shapes=groups, n_iter=512, n_kept_samples=512
            ),
            lambda model: model.predict(None, blocks(part.test_users, part.test_items)),
            lambda: blocks(part.users, part.items),
        )
        yield title, Answer(fit, predict, part.filled(np.clip(found, *scale)), NOTHING, NOTHING)


LIBRARIES = {"surprise": surprise, "cornac": cornac, "implicit": implicit, "myfm": myfm}


def main(name: str, given: str, answers: str, word: str = "") -> None:
    if importlib.util.find_spec(name) is None:
        return
    with np.load(given) as stored:
        part = Part(**stored)
    # Surprise prints its progress.
    shown, sys.stdout = sys.stdout, sys.stderr
    found = dict(LIBRARIES[name](part, word))
    sys.stdout = shown
    arrays = {
        f"{title}/{field}": np.asarray(value)
        for title, answer in found.items()
        for field, value in answer._asdict().items()
    }
    np.savez(answers, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
