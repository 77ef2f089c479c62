"""The models of benchmarks/recommend.py, ours and other libraries', each measured by itself.

`python _recommenders.py SET TITLE FOLDER` fits one model to every part in the folder and prints its
measures as JSON. Needs NumPy, SciPy and the model's library alone, so that a library may have an
interpreter of its own.
"""

import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

SHORT, LONG = 10, 20
"""Places that count for the NDCG and the coverage, and for the recall."""
REQUESTS = 30


class Part(NamedTuple):
    """Training and test ratings, or choices, which are all 1; indices into the catalog."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    test_users: np.ndarray
    test_items: np.ndarray
    test_values: np.ndarray
    shape: np.ndarray

    @property
    def asked(self) -> np.ndarray:
        """The users of both parts."""
        return np.intersect1d(self.users, self.test_users)

    @property
    def matrix(self) -> Any:
        """The training part, users by items."""
        entries = self.values.astype(np.float32), (self.users, self.items)
        return sparse.csr_matrix(entries, shape=tuple(self.shape))

    def rows(self) -> Iterator[tuple[int, int, float]]:
        """The users, items and values of the training part."""
        return zip(self.users.tolist(), self.items.tolist(), self.values.tolist(), strict=True)

    @property
    def scale(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())


class Model:
    """A model of one library: what it reads, how it fits, and what it answers."""

    warm = False
    """Whether a small fit comes first, to compile."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def read(self, part: Part) -> None:
        """Bring the training part into the library's form."""
        self.matrix = part.matrix

    def fit(self) -> None:
        raise NotImplementedError

    def rate(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Predict the ratings of pairs."""
        raise NotImplementedError

    def levels(self, users: np.ndarray, items: np.ndarray) -> np.ndarray | None:
        """Predict levels, where the model has a prediction of its own for them."""
        return None

    def scores(self, users: np.ndarray) -> np.ndarray:
        """Score all items, for libraries that leave the lists to the caller."""
        raise NotImplementedError

    def top(self, users: np.ndarray, n: int) -> np.ndarray:
        """Return the best items that each user did not choose, padded with -1."""
        found = []
        for some in np.array_split(users, -(-len(users) // 500)):
            scores = np.asarray(self.scores(some), dtype=np.float32)
            scores[self.matrix[some].nonzero()] = -np.inf
            best = np.argpartition(-scores, n, axis=1)[:, :n]
            order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
            found.append(np.take_along_axis(best, order, axis=1))
        return np.concatenate(found)

    similar: Callable[[int, int], Any] | None = None
    """The items most similar to one, where the library has them."""


def by_user(users: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each user, and the places where the user stands."""
    order = np.argsort(users, kind="stable")
    who, starts = np.unique(users[order], return_index=True)
    return zip(who.tolist(), np.split(order, starts[1:]), strict=True)


class Named(Model):
    """A model by its name in a module of its library."""

    module = ""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(**settings)
        module, _, kind = f"{self.module}.{name}".rpartition(".")
        self.kind = getattr(import_module(module), kind)


class Edgewise(Named):
    """One of ours.

    It sees ratings alone, unless `described` names the data set whose features of users and items
    it sees as well.
    """

    module = "edgewise.recommend"
    warm = True

    def __init__(self, name: str, described: str | None = None, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.described = described

    def read(self, part: Part) -> None:
        from edgewise import Ratings, datasets

        values = None if (part.values == 1).all() else part.values
        self.data = Ratings.from_arrays(part.users, part.items, values)
        self.users = self.items = None
        if self.described is not None:
            whole = datasets.load(self.described).ratings
            columns = {name: getattr(part, name) for name in ("users", "items", "values")}
            self.data = replace(whole, **columns, times=None)
            self.users, self.items = whole.user_ids.values, whole.item_ids.values

    def fit(self) -> None:
        for name, value in (("random_state", 0), ("n_jobs", 1)):
            if name in self.kind().get_params():
                self.settings[name] = value
        self.model = self.kind(**self.settings).fit(self.data)

    def _pairs(self, users: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ids: indices, unless the data set has its own."""
        if self.users is None:
            return users, items
        return self.users[users], self.items[items]

    def rate(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self.model.predict(*self._pairs(users, items), unknown="mean")

    def levels(self, users: np.ndarray, items: np.ndarray) -> np.ndarray | None:
        if not self.model.predicts_levels or self.model.predicts != "rating":
            return None
        return self.model.predict(*self._pairs(users, items), unknown="mean", output="level")

    def top(self, users: np.ndarray, n: int) -> np.ndarray:
        lists = self.model.recommend(users, n)
        found = np.full((len(users), n), -1)
        sizes = np.diff(lists.ends, prepend=0)
        found[np.arange(n) < sizes[:, None]] = lists.ids
        return found

    def similar(self, item: int, n: int) -> Any:
        return self.model.similar_items(item, n)


class Surprise(Named):
    """A model of Surprise."""

    module = "surprise"

    def read(self, part: Part) -> None:
        import surprise

        rows = [(*row, None) for row in part.rows()]
        scale = surprise.Reader(rating_scale=part.scale)
        self.data = surprise.Dataset(scale).construct_trainset(rows)

    def fit(self) -> None:
        self.model = self.kind(**self.settings).fit(self.data)

    def rate(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        pairs = zip(users.tolist(), items.tolist(), strict=True)
        return np.array([one.est for one in self.model.test([(*pair, 0.0) for pair in pairs])])


class Cornac(Named):
    """A model of cornac."""

    module = "cornac.models"

    def read(self, part: Part) -> None:
        from cornac.data import Dataset

        self.data = Dataset.from_uir(list(part.rows()))
        # Scores are in the order in which the library first met the items.
        self.known = np.fromiter(self.data.iid_map, dtype=np.intp)
        self.matrix = part.matrix

    def fit(self) -> None:
        self.model = self.kind(num_threads=1, seed=0, **self.settings).fit(self.data)

    def scores(self, users: np.ndarray) -> np.ndarray:
        found = np.full((len(users), self.matrix.shape[1]), -np.inf, dtype=np.float32)
        for row, user in enumerate(users.tolist()):
            found[row, self.known] = self.model.score(self.data.uid_map[user])
        return found

    def rate(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        found = np.empty(len(users))
        for user, rows in by_user(users):
            found[rows] = self.scores(np.array([user]))[0, items[rows]]
        return found


class Implicit(Named):
    """A model of implicit."""

    module = "implicit"

    def fit(self) -> None:
        self.model = self.kind(**self.settings, num_threads=1)
        self.model.fit(self.matrix, show_progress=False)

    def top(self, users: np.ndarray, n: int) -> np.ndarray:
        return np.asarray(self.model.recommend(users, self.matrix[users], n)[0])

    def similar(self, item: int, n: int) -> Any:
        return self.model.similar_items(item, n)


class MyFM(Model):
    """Bayesian factorization machines on flipped SVD++ features: who rated what, both ways."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.kind = import_module("myfm").MyFMRegressor

    def read(self, part: Part) -> None:
        self.part = part
        rated = part.matrix
        rated.data[:] = 1
        self.sides = self._described(rated), self._described(rated.T.tocsr())

    @staticmethod
    def _described(matrix: Any) -> Any:
        sizes = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1.0)
        weighted = sparse.diags(sizes**-0.5) @ matrix
        return sparse.csr_matrix(sparse.hstack([sparse.eye(matrix.shape[0]), weighted]))

    def _blocks(self, *indices: np.ndarray) -> Any:
        from myfm import RelationBlock

        return [RelationBlock(i, side) for i, side in zip(indices, self.sides, strict=True)]

    def fit(self) -> None:
        part, (n, m) = self.part, self.part.shape.tolist()
        draws = self.settings["draws"]
        self.model = self.kind(rank=10, random_seed=0).fit(
            None,
            part.values,
            X_rel=self._blocks(part.users, part.items),
            group_shapes=[n, m, m, n],
            n_iter=draws,
            n_kept_samples=draws - draws // 10,
        )

    def rate(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self.model.predict(None, self._blocks(users, items))


class LensKit(Named):
    """A model of LensKit."""

    module = "lenskit"

    def read(self, part: Part) -> None:
        import pandas as pd
        from lenskit.data import from_interactions_df

        columns = {"user_id": part.users, "item_id": part.items, "rating": part.values}
        self.data = from_interactions_df(pd.DataFrame(columns))

    def fit(self) -> None:
        from lenskit import topn_pipeline

        self.model = topn_pipeline(self.kind(**self.settings), predicts_ratings=True)
        self.model.train(self.data)

    def rate(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        from lenskit import predict

        found = np.empty(len(users))
        for user, rows in by_user(users):
            found[rows] = predict(self.model, user, items[rows]).scores()
        return found

    def top(self, users: np.ndarray, n: int) -> np.ndarray:
        from lenskit import recommend

        found = np.full((len(users), n), -1)
        for row, user in enumerate(users.tolist()):
            ids = recommend(self.model, user, n).ids()
            found[row, : len(ids)] = ids
        return found


class PlainEASE(Model):
    """EASE (Steck 2019) in a few lines of NumPy, as its paper has it."""

    def fit(self) -> None:
        gram = (self.matrix.T @ self.matrix).toarray().astype(np.float64)
        np.fill_diagonal(gram, gram.diagonal() + self.settings["penalty"])
        inverse = np.linalg.inv(gram)
        self.weights = (inverse / -inverse.diagonal()).astype(np.float32)
        np.fill_diagonal(self.weights, 0)

    def scores(self, users: np.ndarray) -> np.ndarray:
        return self.matrix[users] @ self.weights


class Row(NamedTuple):
    """A row of the table: the library, the model for a data set, and the sets it runs on."""

    library: str
    make: Callable[[str], Model]
    sets: tuple[str, ...]


FILMS = ("ml-100k", "ml-1m")
RATED = (*FILMS, "continuous")
CHOSEN = (*RATED, "ten million")

_NEAR = {"name": "pearson_baseline", "shrinkage": 200, "user_based": False}

# Rows marked "tuned" have the best of some settings on held-out training rows.
_SVD = {
    "ml-100k": {"n_factors": 100, "n_epochs": 60, "lr_all": 0.01, "reg_all": 0.1},
    "ml-1m": {"n_factors": 200, "n_epochs": 75, "lr_all": 0.005, "reg_all": 0.06},
    "continuous": {"n_factors": 20, "n_epochs": 60, "lr_all": 0.002, "reg_all": 0.3},
}
_MF = {"k": 200, "max_iter": 75, "learning_rate": 0.005, "lambda_reg": 0.06}
_MF_WIDE = {"k": 20, "max_iter": 60, "learning_rate": 0.002, "lambda_reg": 0.3}
_DRAWS = {"ml-100k": 300, "ml-1m": 300, "continuous": 150}
_PENALTIES = {"ml-100k": 300.0, "ml-1m": 800.0, "continuous": 3000.0, "ten million": 10_000.0}
# Factors, penalty and the weight of a choice; ten million choices have those of ml-1m.
_ALS = {"ml-100k": (50, 10.0, 1.0), "ml-1m": (50, 100.0, 8.0), "continuous": (4, 100.0, 4.0)}


def _als(name: str) -> Model:
    factors, penalty, weight = _ALS.get(name, _ALS["ml-1m"])
    return Implicit(
        "als.AlternatingLeastSquares",
        factors=factors,
        regularization=penalty,
        alpha=weight,
        random_state=0,
    )


RATINGS = {
    "edgewise BoostedFactorization": Row(
        "edgewise", lambda _: Edgewise("BoostedFactorization"), RATED
    ),
    "edgewise BoostedFactorization, features too": Row(
        "edgewise", lambda name: Edgewise("BoostedFactorization", described=name), FILMS
    ),
    "edgewise MatrixFactorization": Row(
        "edgewise", lambda _: Edgewise("MatrixFactorization"), RATED
    ),
    "edgewise ItemKNN": Row("edgewise", lambda _: Edgewise("ItemKNN"), RATED),
    "edgewise BiasBaseline": Row("edgewise", lambda _: Edgewise("BiasBaseline"), RATED),
    "myFM, flipped SVD++": Row("myfm", lambda name: MyFM(draws=_DRAWS[name]), RATED),
    "cornac MF, tuned": Row(
        "cornac", lambda name: Cornac("MF", **(_MF if name in FILMS else _MF_WIDE)), RATED
    ),
    "Surprise SVD": Row("surprise", lambda _: Surprise("SVD", random_state=0), RATED),
    "Surprise SVD, tuned": Row(
        "surprise",
        lambda name: Surprise("SVD", random_state=0, **_SVD[name]),
        RATED,
    ),
    "Surprise KNNBaseline of items, tuned": Row(
        "surprise",
        lambda _: Surprise("KNNBaseline", k=40, sim_options=_NEAR, verbose=False),
        RATED,
    ),
    "LensKit BiasedMF": Row("lenskit", lambda _: LensKit("als.BiasedMFScorer"), RATED),
    "LensKit ItemKNN": Row("lenskit", lambda _: LensKit("knn.ItemKNNScorer"), RATED),
}

LISTS = {
    "edgewise BoostedLists": Row("edgewise", lambda _: Edgewise("BoostedLists"), CHOSEN),
    "edgewise EASE": Row("edgewise", lambda _: Edgewise("EASE"), RATED),
    "edgewise ImplicitFactorization": Row(
        "edgewise", lambda _: Edgewise("ImplicitFactorization"), CHOSEN
    ),
    "edgewise SLIM": Row("edgewise", lambda _: Edgewise("SLIM"), RATED),
    "edgewise PairwiseFactorization, BPR": Row(
        "edgewise", lambda _: Edgewise("PairwiseFactorization"), RATED
    ),
    "edgewise ItemKNN": Row("edgewise", lambda _: Edgewise("ItemKNN", implicit=True), CHOSEN),
    "edgewise Popularity": Row("edgewise", lambda _: Edgewise("Popularity"), CHOSEN),
    "EASE in NumPy, tuned": Row("numpy", lambda name: PlainEASE(penalty=_PENALTIES[name]), CHOSEN),
    "implicit ALS, tuned": Row("implicit", _als, CHOSEN),
    "implicit BPR": Row(
        "implicit",
        lambda _: Implicit("bpr.BayesianPersonalizedRanking", random_state=0),
        RATED,
    ),
    "implicit k-NN, cosine": Row(
        "implicit", lambda _: Implicit("nearest_neighbors.CosineRecommender", K=40), CHOSEN
    ),
    "cornac BPR": Row("cornac", lambda _: Cornac("BPR"), RATED),
    "LensKit ImplicitMF": Row("lenskit", lambda _: LensKit("als.ImplicitMFScorer"), RATED),
    "LensKit ItemKNN": Row(
        "lenskit", lambda _: LensKit("knn.ItemKNNScorer", feedback="implicit"), RATED
    ),
}


def errors(part: Part, model: Model) -> dict[str, float]:
    """Return the RMSE and MAE, and the CPU seconds of all test ratings.

    An item without training ratings gets the user's mean, unless the model is ours. The MAE is that
    of the prediction, of its level or of the model's own, whichever is the lowest.
    """
    pairs = part.test_users, part.test_items
    start = time.process_time()
    found = model.rate(*pairs)
    seconds = time.process_time() - start
    if not isinstance(model, Edgewise):
        sums = np.bincount(part.users, part.values, minlength=part.shape[0])
        counts = np.bincount(part.users, minlength=part.shape[0])
        means = np.where(counts > 0, sums / np.maximum(counts, 1), part.values.mean())
        rated = np.isin(part.test_items, part.items)
        found = np.where(rated, found, means[part.test_users])
    found = np.clip(found, *part.scale)
    says = [found, np.floor(found + 0.5), model.levels(*pairs)]
    if len(np.unique(part.values)) > 2 * LONG:
        says = [found]
    return {
        "RMSE": float(np.sqrt(np.mean((found - part.test_values) ** 2))),
        "MAE": min(float(np.mean(abs(p - part.test_values))) for p in says if p is not None),
        "serve": seconds,
    }


def lists(part: Part, model: Model) -> dict[str, float]:
    """Return how good the lists are, and the CPU seconds of all of them and of single ones."""
    asked = part.asked
    model.top(asked[:REQUESTS], LONG)
    start = time.process_time()
    found = model.top(asked, LONG)
    seconds = time.process_time() - start
    chosen = sparse.csr_matrix(
        (np.ones(len(part.test_users)), (part.test_users, part.test_items)), tuple(part.shape)
    )[asked]
    rows = np.repeat(np.arange(len(asked)), LONG)
    hits = np.asarray(chosen[rows, np.maximum(found.ravel(), 0)]).reshape(found.shape)
    hits *= found >= 0
    counts = np.asarray(chosen.sum(axis=1)).ravel()
    discounts = 1 / np.log2(np.arange(2, SHORT + 2))
    best = np.cumsum(discounts)[np.minimum(counts, SHORT).astype(int) - 1]
    short = found[:, :SHORT]
    result = {
        "NDCG@10": float(np.mean(hits[:, :SHORT] @ discounts / best)),
        "Recall@20": float(np.mean(hits.sum(axis=1) / counts)),
        "coverage": len(np.unique(short[short >= 0])) / int(part.shape[1]),
        "serve": seconds,
        "asked": len(asked),
    }
    rng = np.random.default_rng(0)
    result["one user"] = _typical(
        lambda one: model.top(np.array([one]), SHORT), rng.choice(asked, REQUESTS)
    )
    if model.similar is not None:
        some = rng.choice(part.items, REQUESTS).tolist()
        result["one similar"] = _typical(lambda one: model.similar(one, SHORT), some)
    return result


def _typical(run: Callable[[int], Any], requests: Any) -> float:
    """Return the median CPU seconds of a request, after the first."""
    taken = []
    for one in requests:
        start = time.process_time()
        run(int(one))
        taken.append(time.process_time() - start)
    return statistics.median(taken[1:])


def peak() -> float:
    """Return the most memory that this process has had, in MiB, or NaN if the system has no /proc.

    getrusage would count the memory of the process that started this one.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else float("nan")


def _taken(model: Model, part: Part) -> dict[str, float]:
    """Return the CPU seconds of reading and of fitting."""
    start = time.process_time()
    model.read(part)
    middle = time.process_time()
    model.fit()
    return {"read": middle - start, "fit": time.process_time() - middle}


def measured(name: str, title: str, parts: list[Path]) -> dict[str, float]:
    """Return the means over parts of what is measured on each, and the peak of memory."""
    rows, judge = (RATINGS, errors) if name.endswith("ratings") else (LISTS, lists)
    found = []
    for path in parts:
        with np.load(path) as stored:
            part = Part(**stored)
        model = rows[title].make(name.rpartition(" ")[0])
        if model.warm and not found:
            few = np.arange(0, len(part.users), max(10, len(part.users) // 20_000))
            columns = [column[few] for column in part[:3]]
            _taken(model, small := Part(*columns, *columns, part.shape))
            judge(small, model)
        times = _taken(model, part)
        found.append({**times, **judge(part, model)})
        print(name, title, path.stem, found[-1], file=sys.stderr, flush=True)
    means = {key: statistics.fmean(one[key] for one in found) for key in found[0]}
    return {**means, "peak": peak(), "parts": len(parts)}


if __name__ == "__main__":
    # Libraries print their progress.
    shown, sys.stdout = sys.stdout, sys.stderr
    result = measured(sys.argv[1], sys.argv[2], sorted(Path(sys.argv[3]).glob("*.npz")))
    print(json.dumps(result), file=shown)
