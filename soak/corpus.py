"""Small models of every kind, and small input files of every format."""

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import edgewise
from edgewise import (
    UCB,
    AdaBoostMH,
    Best,
    BiasBaseline,
    Blend,
    BoostedFactorization,
    ContentRecommender,
    Haar,
    ImplicitFactorization,
    Indicator,
    ItemKNN,
    MatrixFactorization,
    NonNegativeFactorization,
    Popularity,
    Product,
    RandomRecommender,
    RankBoost,
    RankBoostRecommender,
    RankFusion,
    RankingNeighbor,
    Ratings,
    Stump,
    SVDRecommender,
    Tree,
    UserKNN,
    UserRegression,
)
from edgewise.fusion import RankedLists
from edgewise.io import Schema, write_letor, write_qrels, write_run, write_table

rng = np.random.default_rng(0)
N_ROWS = 60
X = rng.normal(size=(N_ROWS, 4)).round(2)
X[rng.random(X.shape) < 0.05] = np.nan
Y = np.arange(N_ROWS) % 3
QID = np.arange(N_ROWS) // 6
GRADES = rng.integers(0, 3, N_ROWS)
MIXED = pd.DataFrame({"size": X[:, 0], "color": pd.Series(list("abc") * 20), "odd": Y})
LISTS = RankedLists(np.argsort(rng.random((N_ROWS, 3)), axis=0) + 1.0, QID)
_seen = np.nonzero(rng.random((12, 10)) < 0.5)
_features = ([str(i) for i in range(10)], rng.normal(size=(10, 2)))
RATINGS = Ratings.from_arrays(
    *(side.astype(str) for side in _seen),
    rng.integers(1, 6, len(_seen[0])),
    item_features=_features,
)
NUMBERED = Ratings.from_arrays(*_seen, rng.integers(1, 6, len(_seen[0])))


def _table_model() -> Any:
    schema = Schema.fit(MIXED.assign(label=Y), target="label")
    model = AdaBoostMH("tree", n_rounds=3).fit(schema.transform(MIXED), Y)
    model.schema_ = schema
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "stumps": lambda: AdaBoostMH("stump", n_rounds=4).fit(X, Y),
    "stumps of each class": lambda: AdaBoostMH("stump", n_rounds=3, factorized=False).fit(X, Y),
    "tree": lambda: AdaBoostMH("tree", n_rounds=3).fit(X, np.array(list("abc"))[Y]),
    "auto": lambda: AdaBoostMH(n_rounds=3).fit(X, Y == 1, eval_set=(X, Y == 1)),
    "product": lambda: AdaBoostMH(Product("stump", 2), n_rounds=3).fit(X, Y),
    "categories": lambda: AdaBoostMH(
        Tree(Best([Stump(), Indicator()]), 4), n_rounds=3
    ).fit(MIXED, Y),
    "labels": lambda: AdaBoostMH("stump", n_rounds=3).fit(X, np.eye(3, dtype=int)[Y]),
    "search": lambda: AdaBoostMH("stump", n_rounds=4, search=UCB(2)).fit(X, Y),
    "haar": lambda: AdaBoostMH(Haar((2, 2)), n_rounds=2).fit(np.nan_to_num(X), Y),
    "table": _table_model,
    "ranker": lambda: RankBoost(n_rounds=4).fit(X, GRADES, qid=QID),
    "ranking tree": lambda: RankBoost(Tree("stump", 4), n_rounds=3).fit(X, GRADES, qid=QID),
    "top of lists": lambda: RankBoost(objective="ndcg", n_rounds=3).fit(X, GRADES, qid=QID),
    "feature": lambda: RankBoost("feature", n_rounds=2).fit(X, GRADES, qid=QID),
    "fusion": lambda: RankFusion(n_rounds=3).fit(LISTS, GRADES),
    "bias": lambda: BiasBaseline().fit(RATINGS),
    "popularity": lambda: Popularity().fit(NUMBERED),
    "random": lambda: RandomRecommender(random_state=0).fit(NUMBERED),
    "items": lambda: ItemKNN(n_candidates=4).fit(NUMBERED),
    "users": lambda: UserKNN(n_candidates=4).fit(RATINGS),
    "neighbor": lambda: RankingNeighbor().fit(NUMBERED),
    "regression": lambda: UserRegression().fit(NUMBERED),
    "sgd": lambda: MatrixFactorization(2, n_epochs=2, random_state=0).fit(RATINGS),
    "svd": lambda: SVDRecommender(2).fit(NUMBERED),
    "nmf": lambda: NonNegativeFactorization(2, n_epochs=2, random_state=0).fit(NUMBERED),
    "implicit": lambda: ImplicitFactorization(2, n_epochs=2, random_state=0).fit(NUMBERED),
    "content": lambda: ContentRecommender().fit(RATINGS),
    "rankboost": lambda: RankBoostRecommender(3, random_state=0).fit(RATINGS).fit_users(["1", "2"]),
    "boosted": lambda: BoostedFactorization(n_rounds=3, random_state=0).fit(RATINGS),
    "blend": lambda: Blend(
        [("bias", BiasBaseline()), ("items", ItemKNN(n_candidates=4))], random_state=0
    ).fit(NUMBERED),
}  # fmt: skip
"""Models by name, trained when called."""


def model_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of a saved model of every kind, by name."""
    files = {}
    for name, train in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train().save(folder / "model.edgewise")
        files[name] = (folder / "model.edgewise").read_bytes()
    return files


def _ratings(path: Path) -> Any:
    return Ratings.from_file(path, columns=["user", "item", "rating"])


def _schema(path: Path) -> Any:
    table = edgewise.io.read_columns(path)
    return Schema.fit(table).transform(table)


def _ranking(path: Path) -> Any:
    return edgewise.io.read_table(path, target="grade", query="query")


READERS: dict[str, Callable[[Path], Any]] = {
    "table.csv": _schema,
    "table.tsv": _schema,
    "table.arff": _schema,
    "table.parquet": _schema,
    "table.arrow": _schema,
    "ranking.csv": _ranking,
    "ranking.parquet": _ranking,
    "documents.letor": edgewise.io.read_letor,
    "list.run": edgewise.io.read_run,
    "judged.qrels": edgewise.io.read_qrels,
    "ratings.csv": _ratings,
    "ratings.tsv.gz": _ratings,
}
"""What reads each input file."""


def input_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of a small input file of every format, by name."""
    frame = MIXED.assign(
        when=pd.date_range("2024-01-01", periods=N_ROWS).strftime("%Y-%m-%d"), label=Y
    )
    judged = pd.DataFrame(X, columns=list("abcd")).assign(query=QID, grade=GRADES)
    docs = [f"d{i}" for i in range(N_ROWS)]
    for name in ("table.csv", "table.parquet"):
        write_table(folder / name, frame)
    for name in ("ranking.csv", "ranking.parquet"):
        write_table(folder / name, judged)
    frame.to_csv(folder / "table.tsv", sep="\t", index=False)
    frame.to_feather(folder / "table.arrow")
    (folder / "table.arff").write_text(
        "@relation r\n@attribute size numeric\n@attribute color {a,b,c}\n@data\n"
        + "".join(
            f"{x:.2f},{c}\n" if x == x else f"?,{c}\n"
            for x, c in zip(X[:, 0], MIXED.color, strict=False)
        )
    )
    write_letor(folder / "documents.letor", X, GRADES, QID)
    write_run(
        folder / "list.run", QID, docs, X[:, 3].round(3) if not np.isnan(X[:, 3]).any() else Y
    )
    write_qrels(folder / "judged.qrels", QID, docs, GRADES)
    ratings = [f"{u}\t{i}\t{r:g}\n" for u, i, r in zip(*_seen, NUMBERED.values, strict=True)]
    import gzip

    (folder / "ratings.tsv.gz").write_bytes(gzip.compress("".join(ratings).encode(), mtime=0))
    (folder / "ratings.csv").write_text("".join(ratings).replace("\t", ","))
    return {name: (folder / name).read_bytes() for name in READERS}


def some_rows(model: Any, draw: random.Random, n: int = 3) -> list[list[Any]]:
    """Return rows with the columns of a boosted model: numbers, categories, missing values."""
    categories = model.fitted_.categories
    numbers = (0.0, 0.5, -1.0, 3.0)
    if "Haar" not in repr(model.learner_):  # whose images must be complete
        numbers += (np.nan, 1e300)
    return [
        [
            draw.choice([*categories[j], "new", None] if j in categories else numbers)
            for j in range(model.n_features_in_)
        ]
        for _ in range(n)
    ]
