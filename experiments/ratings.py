"""Ratings: boosted products beside low-rank models, and the methods of a lecture on them."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from edgewise import Ratings, datasets, metrics
from edgewise.ratings import Split
from edgewise.recommend import (
    BiasBaseline,
    BoostedFactorization,
    ContentRecommender,
    ImplicitFactorization,
    ItemKNN,
    MatrixFactorization,
    NonNegativeFactorization,
    Popularity,
    SVDRecommender,
    UserKNN,
    compare,
)
from edgewise.recommend.boosted.levels import RatingLevels
from experiments.movies import generated_ratings
from experiments.runner import Bench, Cell, Experiment, Paper, Said, figures_of, mean, together

SIGNS: dict[str, Any] = {"factors": "signs", "random_state": 0}
PAPER: dict[str, Any] = {
    **SIGNS, "target": "one_hot", "loss": "exponential", "learning_rate": 1.0
}  # fmt: skip

Make = Callable[[Bench], Any]


def without_features(ratings: Ratings) -> Ratings:
    """Return the ratings without features and times, with ids in the same order."""
    users, items = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    return Ratings.from_arrays(users, items, ratings.values)


# Table 2 of Kégl and Busa-Fekete 2009a

SIDE, SETS, FOLDS = 100, 4, 3
ADABOOST, LOW_RANK = "AdaBoost.MH on products of signs", "low rank, chosen from 1 to 4"
# Zero-one errors on the four sets.
TABLE = {ADABOOST: (56.3, 54.5, 53.9, 56.6), LOW_RANK: (57.5, 56.2, 54.3, 55.3)}
BOOSTED: dict[str, Make] = {
    ADABOOST: lambda bench: BoostedFactorization(bench.rounds(10_000, 10), **PAPER),
    "signs, ordered levels": lambda bench: BoostedFactorization(
        bench.rounds(1000, 10), **{**PAPER, "target": "ordered"}
    ),
    'BoostedFactorization(factors="signs")': lambda bench: BoostedFactorization(
        bench.rounds(1000, 10), **SIGNS
    ),
    "BoostedFactorization(tuned=False)": lambda bench: BoostedFactorization(
        bench.rounds(500, 10), tuned=False, random_state=0
    ),
}


def make_factorization(bench: Bench) -> BoostedFactorization:
    """Return boosted factorization with its defaults."""
    return BoostedFactorization(bench.rounds(500, 10), random_state=0)


USUAL: dict[str, Make] = {
    "BoostedFactorization()": make_factorization,
    "BiasBaseline()": lambda bench: BiasBaseline(),
    "ItemKNN()": lambda bench: ItemKNN(),
    "MatrixFactorization()": lambda bench: MatrixFactorization(random_state=0),
}


@cache
def four_sets(quick: bool) -> list[Split]:
    """Return the ratings between the users and items with most of them, in four sets."""
    ratings = generated_ratings() if quick else datasets.load("ml-100k").ratings
    sizes = ratings.by_user.sizes, ratings.by_item.sizes
    users, items = (np.argsort(-size, kind="stable")[:SIDE] for size in sizes)
    inside = np.isin(ratings.users, users) & np.isin(ratings.items, items)
    return list(without_features(ratings.take(inside)).folds(2 if quick else SETS, random_state=0))


ERRORS = ("zero-one error, %", "absolute error")


def average_errors(
    wrong: Sequence[float], absolute: Sequence[float], **more: Any
) -> dict[str, Any]:
    """Return the errors averaged over the sets."""
    of_sets = {"sets": [list(wrong), list(absolute)], **more}
    means = mean(np.array(wrong), 100.0), mean(np.array(absolute))
    return together(dict(zip(ERRORS, means, strict=True))) | of_sets


def by_rounds(make: Make, bench: Bench) -> dict[str, Any]:
    """Return the errors of a boosted model whose rounds are chosen by cross-validation."""
    model = make(bench)
    rows = [chosen_and_tested(model, split) for split in four_sets(bench.quick)]
    wrong, absolute, *rounds = map(list, zip(*rows, strict=True))
    return average_errors(wrong, absolute, rounds=rounds)


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
    levels = RatingLevels(model.target, model.levels_, model.level_starts_, logistic)
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
    rounds = zip(model.user_values_.T, model.item_values_.T, model.round_votes_, strict=True)
    for user_values, item_values, votes in rounds:
        scores += (user_values[users] * item_values[items])[:, None] * votes
        yield scores


def low_rank(bench: Bench) -> dict[str, Any]:
    """Return the errors of factors without biases or penalty, their number cross-validated."""
    wrong, absolute = [], []
    for split in four_sets(bench.quick):
        folds = list(split.train.folds(FOLDS, random_state=0))
        ranks = {f"{k}": low_rank_model(k) for k in (1, 2, 3, 4)}
        inner = compare(ranks, folds, ["one_zero_level", "mae_level"])
        for errors, metric in ((wrong, "one_zero_level"), (absolute, "mae_level")):
            best = {inner.best(metric): ranks[inner.best(metric)]}
            errors.append(compare(best, split, [metric]).value(next(iter(best)), metric))
    return average_errors(wrong, absolute)


def low_rank_model(n_factors: int) -> MatrixFactorization:
    """Return plain low-rank factors, by alternating least squares."""
    return MatrixFactorization(
        n_factors, solver="als", biases=False, regularization=1e-6, random_state=0
    )


def usual(row: str, bench: Bench) -> dict[str, Any]:
    """Return the errors of a model with its defaults."""
    names = ["one_zero_level", "mae_level"]
    found = compare({row: USUAL[row](bench)}, four_sets(bench.quick), names).folds_[row]
    return average_errors(*(found[name].tolist() for name in names))


def table(bench: Bench) -> Sequence[Cell]:
    """Return the cells of table 2."""
    measures: dict[str, Callable[[Bench], dict[str, Any]]] = {
        **{row: partial(by_rounds, make) for row, make in BOOSTED.items()},
        LOW_RANK: low_rank,
        **{row: partial(usual, row) for row in USUAL},
    }
    cells = []
    for row, measure in measures.items():
        paper = None
        if row in TABLE and not bench.quick:
            of_sets = mean(np.array(TABLE[row]))
            paper = Paper(round(of_sets["value"], 1), of_sets["spread"])
        cells.append(Cell(row, ERRORS[0], measure, paper))
    return cells


# Weak generalization (Marlin 2004)

USERS, SPLITS = 5000, 3
FEATURES = "BoostedFactorization(), with features"
NMAE = {"BoostedFactorization()": Paper(0.4156)}
LARGE: dict[str, Make] = {
    **USUAL,
    FEATURES: make_factorization,
    "signs, ordered, rate 0.3": lambda bench: BoostedFactorization(
        bench.rounds(100, 5), **SIGNS, learning_rate=0.3
    ),
    "signs, as in Kégl and Busa-Fekete 2009a": lambda bench: BoostedFactorization(
        bench.rounds(50, 5), **PAPER
    ),
}


@cache
def weak_splits(quick: bool, seed: int) -> list[Split]:
    """Return one test rating of each sampled user, and their other ratings for training."""
    ratings = generated_ratings() if quick else datasets.load("ml-1m").ratings
    n_users = 60 if quick else USERS
    splits = []
    for split in range(SPLITS):
        rng = np.random.default_rng(seed + split)
        chosen = rng.choice(np.flatnonzero(ratings.by_user.sizes >= 20), n_users, replace=False)
        part = ratings.take(np.isin(ratings.users, chosen))
        splits.append(part.leave_one_out(random_state=rng))
    return splits


def weak(row: str, bench: Bench) -> dict[str, Any]:
    """Return the errors of a model on the test ratings."""
    splits = weak_splits(bench.quick, bench.seed)
    if row != FEATURES:
        splits = [Split(*map(without_features, split)) for split in splits]
    names = {"NMAE": "nmae_level", "wrong levels": "one_zero_level", "RMSE": "rmse"}
    found = compare({row: LARGE[row](bench)}, splits, list(names.values()), unknown="mean")
    folds = found.folds_[row]
    return together({column: mean(folds[metric]) for column, metric in names.items()})


def weak_generalization(bench: Bench) -> Sequence[Cell]:
    """Return the cells of weak generalization."""
    papers = {} if bench.quick else NMAE
    return [Cell(row, "NMAE", partial(weak, row), papers.get(row)) for row in LARGE]


# The lecture

LECTURE: dict[str, Any] = {
    "bestsellers": Popularity(),
    "biases alone": BiasBaseline(),
    "content filtering": ContentRecommender(),
    "neighborhood, users": UserKNN(),
    "neighborhood, items": ItemKNN(),
    "factors by gradient descent": MatrixFactorization(solver="gd", random_state=0),
    "factors by SGD": MatrixFactorization(random_state=0),
    "factors by SGD, no penalty": MatrixFactorization(regularization=0.0, random_state=0),
    "factors by SGD, no biases": MatrixFactorization(biases=False, random_state=0),
    "factors by alternating least squares": MatrixFactorization(solver="als", random_state=0),
    "singular value decomposition": SVDRecommender(),
    "non-negative factors": NonNegativeFactorization(random_state=0),
    "implicit feedback": ImplicitFactorization(random_state=0),
}
LISTS_ONLY = ("bestsellers", "implicit feedback")
SOLVERS = {"gd": "gradient descent", "sgd": "SGD", "als": "alternating least squares"}
PENALTIES = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4)


@cache
def lecture_splits(quick: bool) -> list[Split]:
    """Return the published folds of MovieLens 100K."""
    if quick:
        return list(generated_ratings().folds(2, random_state=0))
    data = datasets.load("ml-100k")
    return [data.fold(k) for k in range(1, data.n_folds + 1)]


def lecture_method(row: str, bench: Bench) -> dict[str, Any]:
    """Return the errors of a method of the lecture, and how it does for lists."""
    names = {"NDCG@10": "ndcg@10"} if row in LISTS_ONLY else {"RMSE": "rmse", "NDCG@10": "ndcg@10"}
    splits = lecture_splits(bench.quick)
    found = compare({row: LECTURE[row]}, splits, list(names.values()), relevant=4.0)
    folds = found.folds_[row]
    return together({column: mean(folds[metric]) for column, metric in names.items()})


def factors(n_factors: int, solver: str, penalty: float, bench: Bench) -> MatrixFactorization:
    """Return factors of the training ratings of the first fold."""
    epochs = {"sgd": 60, "als": 30, "gd": 60}[solver] // (4 if bench.quick else 1)
    model = MatrixFactorization(
        n_factors, solver=solver, n_epochs=epochs, regularization=penalty, random_state=bench.seed,
        learning_rate=0.01,
    )  # fmt: skip
    return model.fit(lecture_splits(bench.quick)[0].train)


def rmse(model: MatrixFactorization, ratings: Ratings) -> float:
    """Return the error on ratings."""
    users, items = ratings.user_ids.values[ratings.users], ratings.item_ids.values[ratings.items]
    return metrics.rmse(ratings.values, model.predict(users, items, unknown="mean"))


def convergence(solver: str, bench: Bench) -> dict[str, Any]:
    """Return the loss per rating after the last epoch, and after each."""
    model = factors(10, solver, 0.1, bench)
    losses = np.asarray(model.loss_history_) / len(lecture_splits(bench.quick)[0].train)
    return {"value": losses[-1], "losses": losses.tolist()}


def measure_penalty(penalty: float, bench: Bench) -> dict[str, Any]:
    """Return the test error with a penalty, beside the training error."""
    split = lecture_splits(bench.quick)[0]
    model = factors(20, "als", max(penalty, 1e-6), bench)
    return {"value": rmse(model, split.test), "training": rmse(model, split.train)}


def space_out(items: list[list[Any]]) -> list[list[Any]]:
    """Return items far enough from each other for their titles."""
    places = np.array([item[:2] for item in items])
    places = places / np.ptp(places, axis=0)
    kept: list[int] = []
    for j in range(len(items)):
        apart = np.abs(places[kept] - places[j]) if kept else np.empty((0, 2))
        if not ((apart[:, 0] < 0.14) & (apart[:, 1] < 0.045)).any():
            kept.append(j)
    return [items[j] for j in kept]


def map_of_items(bench: Bench) -> dict[str, Any]:
    """Return the test error of two factors, and where the best-known items lie."""
    split = lecture_splits(bench.quick)[0]
    model = factors(2, "als", 0.1, bench)
    known = np.argsort(-split.train.by_item.sizes, kind="stable")[:150]
    # The axes of factors are arbitrary: turn them to the directions of largest variance.
    places = model.item_factors_ - model.item_factors_[known].mean(axis=0)
    places = places @ np.linalg.svd(places[known], full_matrices=False)[2].T
    ids = split.train.item_ids.values
    titles = {} if bench.quick else datasets.load("ml-100k").item_titles
    items = [
        [*places[j].tolist(), titles.get(int(ids[j]), f"item {ids[j]}")] for j in known.tolist()
    ]
    return {"value": rmse(model, split.test), "items": space_out(items)}


def lecture(bench: Bench) -> Sequence[Cell]:
    """Return the methods of the lecture, and its pictures."""
    cells = [
        Cell(row, "NDCG@10" if row in LISTS_ONLY else "RMSE", partial(lecture_method, row))
        for row in LECTURE
    ]
    for solver, name in SOLVERS.items():
        cells.append(Cell(name, "last loss, 10 factors", partial(convergence, solver)))
    for penalty in PENALTIES:
        run = partial(measure_penalty, penalty)
        cells.append(Cell(f"penalty {penalty:g}", "RMSE, fold 1, 20 factors", run))
    cells.append(Cell("two factors", "RMSE, fold 1", map_of_items))
    return cells


def lecture_words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield the best methods: the lecture states no figures."""
    everything = list(figures_of(results))
    errors = {one["row"]: one["value"] for one in everything if one["column"] == "RMSE"}
    lists = {one["row"]: one["value"] for one in everything if one["column"] == "NDCG@10"}
    if errors:
        least = min(errors, key=lambda row: errors[row])
        most = max(lists, key=lambda row: lists[row])
        ours = f"RMSE {errors[least]:.3f} by {least}, NDCG@10 {lists[most]:.3f} by {most}"
        yield Said("which of its methods does best is not stated", ours)


def draw_lecture(results: list[dict[str, Any]], figure: Any) -> None:
    """Draw the convergence of the solvers, the errors by penalty, and items by two factors."""
    figure.set_size_inches(11, 9)
    panels = figure.subplot_mosaic("AB;CC", height_ratios=(1, 1.7))
    for result in results:
        if "losses" in result:
            panels["A"].plot(result["losses"], label=result["row"])
    panels["A"].set(title="convergence, 10 factors", xlabel="epochs", ylabel="loss per rating")
    panels["A"].legend()
    by_penalty = [result for result in results if "training" in result]
    penalties = [result["row"].removeprefix("penalty ") for result in by_penalty]
    for what, label in (("value", "test"), ("training", "training")):
        panels["B"].plot(penalties, [result[what] for result in by_penalty], "o-", label=label)
    panels["B"].set(title="regularization, 20 factors", xlabel="penalty", ylabel="RMSE")
    panels["B"].legend()
    for result in results:
        for x, y, title in result.get("items", []):
            panels["C"].plot(x, y, ".", color="C0", markersize=3)
            panels["C"].annotate(title, (x, y), fontsize=7, ha="center", va="bottom")
    panels["C"].set(title="items by two factors", xlabel="first factor", ylabel="second factor")


EXPERIMENTS = [
    Experiment(
        "products-table2",
        "Ratings by boosted products",
        "Kégl and Busa-Fekete 2009a, table 2",
        "The 100 users and the 100 movies with most ratings in MovieLens 100K, in four random "
        "sets; each is tested once, by models of the other three, in which 3-fold cross-validation "
        "chooses the rounds (for each error its own). The paper names only its source, so neither "
        "users and movies nor sets are sure to match: compare the averages. Its method has real "
        "votes, uniform weights, two terms and up to 9,940 rounds; here there are up to 10,000. "
        "Its weighted low-rank approximation stands beside ours; it also "
        "quotes max-margin factorization with 54.8. Spreads are over the four sets.",
        "zero-one error in per cent, and absolute error",
        table,
    ),
    Experiment(
        "ratings-weak-generalization",
        "Ratings beside max-margin factorization",
        "Rennie and Srebro 2005, weak generalization",
        "The protocol of Marlin 2004 on MovieLens 1M: 5,000 random users, one random test rating "
        "of each, three splits. The original splits are lost, so the published figure is for "
        "others of the same kind. NMAE is the mean absolute error of the predicted level divided "
        "by 1.6, the error of blind guesses. Models see ratings alone unless the row says "
        "otherwise.",
        "NMAE, share of wrong levels, and RMSE",
        weak_generalization,
    ),
    Experiment(
        "recommend-lecture",
        "The methods of a lecture on recommender systems",
        "Shi 2025",
        "Every method of the lecture with its defaults here, on the published folds of MovieLens "
        "100K: the error of predicted ratings, and of ten items recommended out of all, those "
        "rated 4 or 5 being relevant. Then its pictures: the loss of the three solvers after each "
        "epoch, the error by penalty, and movies by two factors. The lecture "
        "states no figures.",
        "RMSE (less is better), NDCG@10 (more is better), or loss per rating",
        lecture,
        draw_lecture,
        words=lecture_words,
    ),
]
