"""Hyperparameter search for recommenders over folds of ratings."""

import time
import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from edgewise.common.checks import flag, generator, integer, positive
from edgewise.metrics import Metric
from edgewise.ratings import Ratings, Split
from edgewise.recommend.base import Recommender
from edgewise.recommend.evaluation.catalog import defined_mean
from edgewise.recommend.evaluation.comparison import FoldEvaluation, FoldResult, resolve_splits
from edgewise.recommend.evaluation.evaluator import recommender_metrics
from edgewise.recommend.model import check_ratings


@dataclass(eq=False, repr=False)
class RecommenderSearch(BaseEstimator):
    """Tries parameters of a recommender on folds of ratings, and keeps the best.

    Works like :class:`sklearn.model_selection.GridSearchCV`, or with `n_iter`
    :class:`sklearn.model_selection.RandomizedSearchCV`.

    Parameters
    ----------
    estimator : Recommender
        The model to tune; it is copied. Parameters of a :class:`Blend`'s models have names such as
        "mf__n_factors".
    param_grid : dict of str to list, or list of such dicts
        The values to try by the name of the parameter; for a random search also distributions with
        a method ``rvs``.
    n_iter : int or None, default None
        Number of random combinations to try; None tries all.
    cv : int, one Split, or iterable of splits, default 5
        Number of folds, or pairs of ratings to train on and to test on.
    metric : str, default "rmse"
        The metric to choose by: a name of :func:`evaluate`.
    refit : bool, default True
        Whether to fit the best model on all ratings.
    time_limit : float or None, default None
        Seconds to search, including the last fit: combinations are tried in random order until
        another would probably exceed the limit; the first is always tried.
    k, relevant, unknown
        As in :func:`evaluate`.
    random_state, verbose
        See :class:`Recommender`.

    Attributes
    ----------
    results_ : list of dict
        For each combination: "params", "score" (the mean over folds), "std", "folds" (the value on
        each), "fit_s" (median seconds of a fit) and "rank", 1 for the best.
    n_skipped_ : int
        The number of combinations that there was no time for.
    best_params_, best_score_ : dict and float
        The combination with the best mean, and the mean; ties go to the first.
    best_estimator_ : Recommender
        The model with these parameters, fitted on all ratings; only with `refit`.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, RecommenderSearch
    >>> rows = [(user, item, user + item) for user in range(6) for item in range(5)]
    >>> ratings = Ratings.from_arrays(*zip(*rows))
    >>> grid = {"item_damping": [0.0, 100.0]}
    >>> RecommenderSearch(BiasBaseline(), grid, cv=3, random_state=0).fit(ratings).best_params_
    {'item_damping': 0.0}
    """

    estimator: Recommender
    param_grid: Any
    _: KW_ONLY
    n_iter: int | None = None
    cv: Any = 5
    metric: str = "rmse"
    refit: bool = True
    time_limit: float | None = None
    k: int = 10
    relevant: float | None = None
    unknown: str = "mean"
    random_state: Any = None
    verbose: int = 0

    def fit(self, ratings: Ratings) -> Self:
        """Try all candidates, and fit the best on all ratings; RuntimeError if one fails."""
        start = time.monotonic()
        check_ratings("ratings", ratings)
        metric = self._check_arguments()
        evaluation = FoldEvaluation(
            "param_grid", (metric,), self.relevant, self.unknown, self.verbose
        )
        rng = generator(self.random_state)
        try:
            candidates = self._candidates(int(rng.integers(2**31)))
            models = [(f"with {params}", self._build_estimator(params)) for params in candidates]
        except (TypeError, ValueError) as error:
            raise ValueError(f"param_grid: {error}") from error
        if not models:
            raise ValueError("param_grid must hold at least one dict of values, got none")
        is_split = isinstance(self.cv, Iterable)
        splits = resolve_splits(
            self.cv if is_split else ratings, 2 if is_split else self.cv, rng, "cv"
        )
        runs = self._run(models, splits, evaluation, start, rng)
        tried = [i for i, run in enumerate(runs) if run]
        results = _rank_candidates([candidates[i] for i in tried], [runs[i] for i in tried], metric)
        self.n_skipped_ = len(candidates) - len(tried)
        best = min(results, key=lambda row: row["rank"])
        if np.isnan(best["score"]):
            raise ValueError(f"metric {self.metric!r} is undefined for all candidates")
        if self.refit:
            self.best_estimator_ = self._build_estimator(best["params"]).fit(ratings)
        elif hasattr(self, "best_estimator_"):
            del self.best_estimator_
        self.results_, self.best_params_, self.best_score_ = results, best["params"], best["score"]
        return self

    def _run(
        self,
        models: list[tuple[str, Recommender]],
        splits: tuple[Iterable[Split], int],
        evaluation: FoldEvaluation,
        start: float,
        rng: np.random.Generator,
    ) -> list[list[FoldResult]]:
        """Return the results of each candidate on each split; none for those without time."""
        if self.time_limit is None:
            return evaluation.run(models, splits)
        evaluation.check_models(models)
        runs: list[list[FoldResult]] = [[] for _ in models]
        folds, n_folds = list(splits[0]), splits[1]
        for n_tried, i in enumerate(rng.permutation(len(models)).tolist()):
            spent = time.monotonic() - start
            # The last fit is on all ratings, and takes about as long as one of a split.
            each = spent / n_tried if n_tried else 0.0
            if spent + each * (1.0 + self.refit / n_folds) > self.time_limit and n_tried:
                break
            (runs[i],) = evaluation.run([models[i]], (folds, n_folds))
        return runs

    def predict(self, users: Any, items: Any, unknown: str = "raise", **settings: Any) -> Any:
        """Predict by the best model: see :meth:`Recommender.predict`."""
        return self._best().predict(users, items, unknown=unknown, **settings)

    def recommend(self, users: Any = None, n: int = 10, **settings: Any) -> Any:
        """Recommend by the best model: see :meth:`Recommender.recommend`."""
        return self._best().recommend(users, n, **settings)

    def _best(self) -> Recommender:
        if not hasattr(self, "best_estimator_"):
            raise NotFittedError("not fitted yet: call fit, with refit=True")
        return self.best_estimator_

    def _check_arguments(self) -> Metric:
        """Return the metric to choose by, or raise if a parameter is wrong."""
        if not isinstance(self.estimator, Recommender):
            raise TypeError(f"estimator must be a recommender, got {type(self.estimator).__name__}")
        if not isinstance(self.metric, str):
            raise TypeError(f"metric must be the name of a metric, got {self.metric!r}")
        (metric,) = recommender_metrics(self.metric, self.k, "metric")
        if metric.kind == "ratings" and self.estimator.predicts != "rating":
            raise ValueError(
                f"metric must not be {self.metric!r} for a {type(self.estimator).__name__}, which "
                "predicts scores, not ratings: use 'ndcg', for example"
            )
        flag("refit", self.refit)
        if self.time_limit is not None:
            positive("time_limit", self.time_limit)
        if self.n_iter is not None:
            integer("n_iter", self.n_iter, 1)
        return metric

    def _candidates(self, seed: int) -> list[dict[str, Any]]:
        # Imported late: scikit-learn's module is slow to load.
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        if self.n_iter is None:
            return list(ParameterGrid(self.param_grid))
        with warnings.catch_warnings():
            # With fewer than `n_iter` combinations all are tried.
            warnings.simplefilter("ignore", UserWarning)
            return list(ParameterSampler(self.param_grid, self.n_iter, random_state=seed))

    def _build_estimator(self, params: dict[str, Any]) -> Recommender:
        # Values may be models themselves, which must not be shared between candidates.
        values = {name: clone(value, safe=False) for name, value in params.items()}
        made: Recommender = clone(self.estimator).set_params(**values)
        return made


def _rank_candidates(
    candidates: list[dict[str, Any]], runs: list[list[FoldResult]], metric: Metric
) -> list[dict[str, Any]]:
    """Return one row per candidate, with its rank."""
    folds = [[result.values[metric.name] for result in run] for run in runs]
    scores = np.array([defined_mean(np.array(values)) for values in folds])
    losses = -scores if metric.larger_is_better else scores
    # NaN sorts last.
    ranks = 1 + np.argsort(np.argsort(losses, kind="stable"))
    return [
        {
            "params": params,
            "score": float(score),
            "std": float(np.std(values)),
            "folds": values,
            "fit_s": float(np.median([result.values["fit_s"] for result in run])),
            "rank": int(rank),
        }
        for params, score, values, run, rank in zip(
            candidates, scores, folds, runs, ranks, strict=True
        )
    ]
