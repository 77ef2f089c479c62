"""Diagnostics of a fitted recommender: calibration, exposure, item map, report page."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.text import text_table
from edgewise.data.columns import CategoricalColumn
from edgewise.io.frames import frame_library
from edgewise.metrics.classification import reliability
from edgewise.ratings import Ratings
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.evaluation.evaluator import Evaluator, recommender_metrics
from edgewise.recommend.model import check_ratings
from edgewise.report import RecommenderResults, Report, build_report, recommender_report

POPULARITY = ("head", "middle", "tail")
OTHER = "other"

# The maximum numbers of users whose lists a page evaluates, and of items on its map; its metrics.
_MAX_USERS, _MAX_MAP_ITEMS = 1000, 120
_ERRORS = ("rmse", "mae", "one_zero_best", "disagreement")
_LIST_METRICS = ("ndcg", "precision", "recall", "hit_rate", "catalog_coverage")


@dataclass(frozen=True, eq=False, repr=False)
class LevelCalibration:
    """The result of :func:`calibration`; ``print`` it for a table.

    Attributes
    ----------
    levels : float array
        The levels of the ratings.
    predicted, observed : float arrays
        For each level, the mean of its predicted probability, and its share of the test ratings.
    probabilities, frequencies, counts : arrays
        Bins of the predicted probabilities of all levels: the mean of each bin, the share of them
        that was right, and the number of predictions.
    """

    levels: Reals
    predicted: Reals
    observed: Reals
    probabilities: Reals
    frequencies: Reals
    counts: NDArray[np.intp]

    @property
    def error(self) -> float:
        """The expected calibration error: mean distance of probabilities from frequencies."""
        gaps = np.abs(self.probabilities - self.frequencies)
        return float(np.average(gaps, weights=self.counts))

    def __repr__(self) -> str:
        return f"LevelCalibration({len(self.levels)} levels, error {self.error:.4f})"

    def __str__(self) -> str:
        bins = zip(self.probabilities, self.frequencies, self.counts, strict=True)
        levels = zip(self.levels, self.predicted, self.observed, strict=True)
        by_bin = [(f"{p:.3f}", f"{q:.3f}", f"{n:,}") for p, q, n in bins]
        by_level = [(f"{level:g}", f"{p:.3f}", f"{q:.3f}") for level, p, q in levels]
        tables = (
            text_table([("predicted", "observed", "count"), *by_bin]),
            text_table([("level", "predicted", "observed"), *by_level]),
        )
        return "\n\n".join(tables) + f"\ncalibration error {self.error:.4f}"

    def to_frame(self, library: str | None = None) -> Any:
        """Return the bins as a frame of `library`, "pandas" or "polars"; None takes either."""
        bins = {"predicted": self.probabilities, "observed": self.frequencies, "count": self.counts}
        return frame_library(library).DataFrame(bins)


def calibration(
    model: Recommender, test: Ratings, n_bins: int = 10, unknown: str = "mean"
) -> LevelCalibration:
    """Test whether a predicted probability of 0.7 is right 70% of the time, for rating levels.

    Parameters
    ----------
    model : Recommender
        A fitted model with ``predict_proba``: :class:`BoostedFactorization`.
    test : Ratings
        Ratings that training has not seen.
    n_bins : int, default 10
        Number of bins, of equal width, for the probabilities.
    unknown : {"mean", "nan", "raise"}, default "mean"
        For users and items unknown in training: predict the shares of levels in training, leave
        their ratings out, or raise.

    Examples
    --------
    >>> from edgewise import BoostedFactorization, Ratings
    >>> from edgewise.recommend import calibration
    >>> rows = [(user, item, 1 + (user + item) % 3) for user in range(20) for item in range(10)]
    >>> train, test = Ratings.from_arrays(*zip(*rows)).split(0.5, random_state=0)
    >>> result = calibration(BoostedFactorization(20, random_state=0).fit(train), test, n_bins=5)
    >>> result.levels, result.counts.sum()
    (array([1., 2., 3.]), np.int64(300))
    """
    integer("n_bins", n_bins, 1)
    check_ratings("test", test)
    one_of("unknown", unknown, UNKNOWN)
    predict = getattr(model, "predict_proba", None)
    if predict is None:
        raise TypeError(
            f"model must have predict_proba, as a BoostedFactorization, got {type(model).__name__}"
        )
    users, items = test.user_ids.values[test.users], test.item_ids.values[test.items]
    probabilities = np.asarray(predict(users, items, unknown=unknown))
    known = ~np.isnan(probabilities[:, 0])
    if not known.any():
        raise ValueError("test must have a user and an item of the training ratings, got none")
    probabilities = probabilities[known]
    levels: Reals = np.asarray(vars(model)["levels_"])
    starts = vars(model).get("level_starts_", (levels[1:] + levels[:-1]) / 2.0)
    level = np.searchsorted(starts, test.values[known], side="right")[:, None]
    outcomes = level == np.arange(len(levels))
    bins = reliability(probabilities.ravel(), outcomes.ravel(), n_bins)
    return LevelCalibration(levels, probabilities.mean(axis=0), outcomes.mean(axis=0), *bins)


@dataclass(frozen=True, eq=False, repr=False)
class GroupExposure:
    """The result of :func:`exposure`; ``print`` it for a table.

    Attributes
    ----------
    groups : tuple of str
        The groups of items.
    items, ratings, lists : float arrays
        Each group's share of the items, of the training ratings, and of what is recommended.
    """

    groups: tuple[str, ...]
    items: Reals
    ratings: Reals
    lists: Reals

    def __repr__(self) -> str:
        return f"GroupExposure({', '.join(self.groups)})"

    def __str__(self) -> str:
        shares = zip(self.groups, self.items, self.ratings, self.lists, strict=True)
        rows = [(name, *(f"{share:.3f}" for share in three)) for name, *three in shares]
        return text_table([("group", "items", "ratings", "lists"), *rows])

    def to_frame(self, library: str | None = None) -> Any:
        """Return the table as a frame of `library`, "pandas" or "polars"; None takes either."""
        shares = {"items": self.items, "ratings": self.ratings, "lists": self.lists}
        return frame_library(library).DataFrame({"group": list(self.groups), **shares})


def exposure(
    model: Recommender,
    groups: str | Mapping[Any, str] = "popularity",
    *,
    users: Any = None,
    k: int = 10,
) -> GroupExposure:
    """Count how often groups of items are recommended, to see whether a model favors some.

    Parameters
    ----------
    model : Recommender
        A fitted model.
    groups : "popularity", name of an item feature, or mapping of item ids to names
        The groups. "popularity" has three with a third of the training ratings each: "head", the
        few most rated items, "middle" and "tail". A feature must be categorical. Items without a
        group are "other".
    users : array-like of ids or None, default None
        Whose lists to count; None for all that the model knows.
    k : int, default 10
        Length of the lists.

    Examples
    --------
    >>> from edgewise import Popularity, Ratings
    >>> from edgewise.recommend import exposure
    >>> ratings = Ratings.from_arrays([1, 1, 1, 2, 2, 3, 4], list("abcabad"))
    >>> print(exposure(Popularity().fit(ratings), k=1))
    group   items  ratings  lists
    head    0.250    0.429  0.250
    middle  0.250    0.286  0.250
    tail    0.500    0.286  0.500
    """
    integer("k", k, 1)
    if not isinstance(model, Recommender):
        raise TypeError(f"model must be a recommender, got {type(model).__name__}")
    ratings = model._fitted_ratings()
    names, codes = _groups(groups, ratings)
    lists = model.recommend(users, n=k)
    listed = ratings.item_ids.find("items", lists.ids)
    shares = (
        np.bincount(codes[items], minlength=len(names)) / max(1, len(items))
        for items in (np.arange(ratings.n_items), ratings.items, listed)
    )
    return GroupExposure(names, *shares)


def _groups(groups: Any, ratings: Ratings) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the names of groups, and the group of each item."""
    if isinstance(groups, Mapping):
        group_of_item = [str(groups.get(item, OTHER)) for item in ratings.item_ids.values.tolist()]
        names, codes = np.unique(group_of_item, return_inverse=True)
        return tuple(names.tolist()), codes.astype(np.intp)
    if groups == "popularity":
        return POPULARITY, _thirds(ratings.by_item.sizes)
    table = ratings.item_features
    columns = {} if table is None else dict(table.named_columns())
    column = columns.get(groups) if isinstance(groups, str) else None
    if not isinstance(column, CategoricalColumn):
        listed = [repr(n) for n, c in columns.items() if isinstance(c, CategoricalColumn)]
        raise ValueError(
            "groups must be 'popularity', a mapping of items to names, or a categorical feature of "
            f"the items ({', '.join(listed) or 'none'}), got {groups!r}"
        )
    return (*map(str, column.categories), OTHER), column.codes.astype(np.intp)


def _thirds(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return 0 for the items with the first third of all ratings, 1 and 2 for the others."""
    order = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    codes = np.empty(len(counts), dtype=np.intp)
    codes[order] = np.minimum(3 * before // max(1, int(counts.sum())), 2)
    return codes


def report_recommender(
    model: Recommender, test: Ratings, path: Any, names: Mapping[Any, str] | None, title: str | None
) -> Report:
    """Build the page of :meth:`Recommender.report`, and write it if there is a path."""

    def build() -> Report:
        evaluator = Evaluator(model, test, "mean")
        sample, n_users, users = evaluator, None, np.unique(test.users)
        if len(users) > _MAX_USERS:
            n_users = _MAX_USERS
            drawn = np.random.default_rng(0).choice(users, n_users, replace=False)
            sample = Evaluator(model, test.take(np.isin(test.users, drawn)), "mean")
        values = evaluator.measure(recommender_metrics(list(_ERRORS), 10), None)
        values |= sample.measure(recommender_metrics(list(_LIST_METRICS), 10), None)
        spans = {name: (value.value, value.half_interval) for name, value in values.items()}
        known = sample.trained_users[np.unique(sample.test.users)]
        known = known[model._are_known(known, None)]
        shares = positions = None
        if len(known):
            shares = exposure(model, users=model.ratings_.user_ids.values[known])
        # A model may have too few items for a map, or only equal ones.
        with suppress(ValueError):
            positions = map_items(model, _MAX_MAP_ITEMS)
        results = RecommenderResults(
            model, test, evaluator.predictions, spans, n_users, shares, positions, names or {}
        )
        return recommender_report(results, title)

    return build_report(path, build)


def map_items(model: Recommender, n: int) -> tuple[Indices, Reals, Reals]:
    """Return the `n` most rated items, their principal components, and the shares of the variance.

    Raises ValueError where a model has too few items for a map, or all are alike.
    """
    sizes = np.where(model.known_items_, model.ratings_.by_item.sizes, -1)
    items = np.argsort(-sizes, kind="stable")[:n]
    items = items[sizes[items] >= 0]
    if len(items) < 3:
        raise ValueError(f"estimator must know at least 3 items, got {len(items)}")
    vectors = model._vectors("items")[items]
    # There are few items, but a row of ratings may be long.
    products = vectors @ vectors.T
    products = np.asarray(products.todense() if hasattr(products, "todense") else products)
    centered = products - products.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    variances, directions = np.linalg.eigh((centered + centered.T) / 2.0)
    variances, directions = np.maximum(variances[::-1], 0.0), directions[:, ::-1]
    if variances[0] <= 1e-12 * max(float(np.abs(products).max()), 1e-300):
        raise ValueError("estimator must have items with different vectors")
    axes = directions[:, :2]
    farthest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    positions = axes * np.sqrt(variances[:2]) * np.where(farthest < 0, -1.0, 1.0)
    return items, positions, variances[:2] / variances.sum()
