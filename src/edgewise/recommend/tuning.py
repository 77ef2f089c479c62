"""The best parameters of a recommender, found over folds of the ratings."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from edgewise.common.checks import flag, generator, integer, one_of
from edgewise.common.progress import progress
from edgewise.ratings import Ratings
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.evaluation.measures import Measure, chosen
from edgewise.recommend.evaluation.parts import Parts, Trial, parts_of
from edgewise.recommend.evaluation.single import check_relevant


class RecommenderSearch(BaseEstimator):
    """Tries parameters of a recommender on folds of ratings, and keeps the best.

    What :class:`sklearn.model_selection.GridSearchCV` does for rows, done for ratings: all
    combinations of a grid, or some of them drawn at random, are fitted and measured on the same
    folds.

    Parameters
    ----------
    model : Recommender
        What to tune; it is copied. Parameters of a :class:`Blend`'s models have names such as
        "mf__n_factors".
    grid : dict of str to list, or list of such dicts
        The values to try, by the name of the parameter; for a random search also distributions with
        a method ``rvs``.
    folds : int, one Split, or iterable of splits, default 5
        How many folds to make of the ratings, or what to train on and test on.
    metric : str, default "rmse"
        What to choose by: a name of :func:`evaluate`. Whether less or more is better is known.
    n_iter : int or None, default None
        How many combinations to draw, all where there are fewer; None tries all.
    refit : bool, default True
        Whether to fit the best on all ratings.
    k, relevant, unknown
        As in :func:`evaluate`.
    random_state : int, Generator, RandomState or None, default None
        The same number gives the same folds and draws.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    results_ : list of dict
        For each combination: "params", "score" (the mean over folds), "std", "folds" (the values of
        each), "fit_s" (median seconds of a fit) and "rank", 1 for the best.
    best_params_ : dict
        The combination with the best mean; the first of equal ones.
    best_score_ : float
        Its mean.
    best_model_ : Recommender
        The model with these parameters, fitted on all ratings; only with `refit`.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, RecommenderSearch
    >>> rows = [(user, item, user + item) for user in range(6) for item in range(5)]
    >>> ratings = Ratings.from_arrays(*zip(*rows))
    >>> grid = {"item_damping": [0.0, 100.0]}
    >>> search = RecommenderSearch(BiasBaseline(), grid, folds=3, random_state=0).fit(ratings)
    >>> search.best_params_
    {'item_damping': 0.0}
    >>> search.recommend(5).ids
    array([], dtype=int64)
    """

    results_: list[dict[str, Any]]
    best_params_: dict[str, Any]
    best_score_: float
    best_model_: Recommender

    def __init__(
        self,
        model: Recommender,
        grid: Any,
        *,
        folds: Any = 5,
        metric: str = "rmse",
        n_iter: int | None = None,
        refit: bool = True,
        k: int = 10,
        relevant: float | None = None,
        unknown: str = "mean",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.grid = grid
        self.folds = folds
        self.metric = metric
        self.n_iter = n_iter
        self.refit = refit
        self.k = k
        self.relevant = relevant
        self.unknown = unknown
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, ratings: Ratings) -> Self:
        """Try all candidates, and fit the best on all ratings.

        Parameters
        ----------
        ratings : Ratings
            What to make folds of, and to fit the best on.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If a parameter is not as described, or `grid` names one that the model does not have.
        RuntimeError
            If a candidate fails; it tells with which parameters.
        """
        if not isinstance(ratings, Ratings):
            raise TypeError(f"ratings must be Ratings, got {type(ratings).__name__}")
        measure = self._checked()
        rng = generator(self.random_state)
        candidates = self._candidates(int(rng.integers(2**31)))
        self._check_values(candidates)
        parts = self._parts(ratings, rng)
        runs = self._runs(candidates, parts, measure)
        results = _results(candidates, runs, measure)
        best = min(results, key=lambda row: row["rank"])
        if np.isnan(best["score"]):
            raise ValueError(f"metric {self.metric!r} is defined for none of the candidates")
        if self.refit:
            self.best_model_ = self._made(best["params"]).fit(ratings)
        elif hasattr(self, "best_model_"):
            del self.best_model_
        self.results_, self.best_params_, self.best_score_ = results, best["params"], best["score"]
        return self

    def predict(self, users: Any, items: Any, unknown: str = "raise", **settings: Any) -> Any:
        """Predict by the best model: see :meth:`Recommender.predict`."""
        return self._best().predict(users, items, unknown=unknown, **settings)

    def recommend(self, users: Any = None, n: int = 10, **settings: Any) -> Any:
        """Recommend by the best model: see :meth:`Recommender.recommend`."""
        return self._best().recommend(users, n, **settings)

    def _best(self) -> Recommender:
        if not hasattr(self, "best_model_"):
            raise NotFittedError("there is no best model yet: call fit, with refit=True")
        return self.best_model_

    def _checked(self) -> Measure:
        """Return the measure to choose by, or raise if a parameter is wrong."""
        if not isinstance(self.model, Recommender):
            raise TypeError(f"model must be a recommender, got {type(self.model).__name__}")
        if not isinstance(self.metric, str):
            raise TypeError(f"metric must be the name of a measure, got {self.metric!r}")
        (measure,) = chosen(self.metric, self.k, "metric")
        if measure.kind.looks_at == "ratings" and self.model.predicts != "rating":
            raise ValueError(
                f"metric must not be {self.metric!r} for a {type(self.model).__name__}, which "
                "predicts scores and no ratings: 'ndcg' would do"
            )
        check_relevant(self.relevant)
        one_of("unknown", self.unknown, UNKNOWN)
        flag("refit", self.refit)
        if self.n_iter is not None:
            integer("n_iter", self.n_iter, 1)
        _check_names(self.model, self.grid)
        return measure

    def _candidates(self, seed: int) -> list[dict[str, Any]]:
        # Imported late: scikit-learn's module is slow to load.
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        if self.n_iter is None:
            return list(ParameterGrid(self.grid))
        with warnings.catch_warnings():
            # That there are fewer than `n_iter` combinations: then all are tried.
            warnings.simplefilter("ignore", UserWarning)
            return list(ParameterSampler(self.grid, self.n_iter, random_state=seed))

    def _check_values(self, candidates: list[dict[str, Any]]) -> None:
        """Raise if a candidate has a wrong parameter, before another is fitted for nothing."""
        for params in candidates:
            try:
                self._made(params)._check_parameters()
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"grid must hold values that can be fitted, but of {params} {error}"
                ) from error

    def _parts(self, ratings: Ratings, rng: np.random.Generator) -> Parts:
        if isinstance(self.folds, Iterable):
            return parts_of(self.folds, 2, None)
        return parts_of(ratings, self.folds, rng)

    def _runs(
        self, candidates: list[dict[str, Any]], parts: Parts, measure: Measure
    ) -> list[list[dict[str, float]]]:
        """Return what each candidate came to on each part."""
        trial = Trial((measure,), self.relevant, self.unknown)
        models = [self._made(params) for params in candidates]
        runs: list[list[dict[str, float]]] = [[] for _ in candidates]
        with progress(bool(self.verbose), len(models) * parts.count, "fits") as step:
            for fold, split in enumerate(parts.splits, start=1):
                for model, params, run in zip(models, candidates, runs, strict=True):
                    try:
                        run.append(trial.run(model, split))
                    except Exception as error:
                        raise RuntimeError(
                            f"the model with {params} failed on fold {fold}: "
                            f"{type(error).__name__}: {error}"
                        ) from error
                    step()
        return runs

    def _made(self, params: dict[str, Any]) -> Recommender:
        # Values may be models themselves, which must not be shared between candidates.
        own = {name: clone(value, safe=False) for name, value in params.items()}
        made: Recommender = clone(self.model).set_params(**own)
        return made


def _results(
    candidates: list[dict[str, Any]], runs: list[list[dict[str, float]]], measure: Measure
) -> list[dict[str, Any]]:
    """Return a row for each candidate, with its place among all."""
    values = [np.array([run[measure.name] for run in each]) for each in runs]
    scores = np.array([_mean(each) for each in values])
    losses = -scores if measure.kind.larger_is_better else scores
    # NaN, which says nothing, is sorted last.
    order = np.argsort(losses, kind="stable")
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(1, len(order) + 1)
    return [
        {
            "params": params,
            "score": float(score),
            "std": float(np.std(each)),
            "folds": each.tolist(),
            "fit_s": float(np.median([run["fit_s"] for run in times])),
            "rank": int(rank),
        }
        for params, score, each, times, rank in zip(
            candidates, scores, values, runs, ranks, strict=True
        )
    ]


def _mean(values: np.ndarray) -> float:
    """Return the mean of the values that are defined."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _check_names(model: Recommender, grid: Any) -> None:
    """Raise if the grid is none, or names a parameter that the model does not have."""
    grids = [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(grids, (list, tuple)) or not all(isinstance(one, Mapping) for one in grids):
        raise TypeError(f"grid must be a dict of lists of values, or a list of such, got {grid!r}")
    if not grids:
        raise ValueError("grid must hold at least one dict, got none")
    known = model.get_params(deep=True)
    for name in (name for one in grids for name in one):
        if name not in known:
            raise ValueError(
                f"grid must name parameters of {type(model).__name__}, got {name!r}; it has "
                f"{', '.join(sorted(known))}"
            )
