"""Many models over folds, in one call."""

from collections.abc import Iterable, Mapping
from typing import Any

from edgewise.common.checks import one_of
from edgewise.common.progress import progress
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.evaluation.comparison import Comparison, gathered
from edgewise.recommend.evaluation.measures import chosen
from edgewise.recommend.evaluation.parts import Trial, parts_of
from edgewise.recommend.evaluation.single import check_relevant

COLUMNS = (
    "rmse",
    "mae_best",
    "nmae_best",
    "one_zero_best",
    "disagreement",
    "ap",
    "prot",
    "coverage",
    "ndcg",
    "precision",
    "recall",
    "map",
    "auc",
    "catalogue_coverage",
    "novelty",
    "diversity",
)
"""What a comparison shows unless it is told otherwise."""


def compare(
    models: Any,
    ratings: Any,
    metrics: Iterable[str] | str = COLUMNS,
    *,
    folds: int = 5,
    k: int = 10,
    relevant: float | None = None,
    unknown: str = "mean",
    random_state: Any = None,
    verbose: int = 0,
) -> Comparison:
    """Fit many recommenders on the same folds, measure them, and make one table of it.

    Parameters
    ----------
    models : mapping of names to recommenders, or sequence of recommenders or (name, recommender)
        What to compare; they are copied, not fitted themselves. Without names they are called by
        their classes.
    ratings : Ratings, one Split, or iterable of splits
        Ratings, of which folds are made, or pairs of ratings to train on and to test on, such as
        the published folds of a data set.
    metrics : str or sequence of str, default COLUMNS
        What to measure: see :func:`evaluate`.
    folds : int, default 5
        How many folds, where `ratings` are not split yet.
    k, relevant, unknown
        As in :func:`evaluate`.
    random_state : int, Generator, RandomState or None, default None
        The same number gives the same folds.
    verbose : int, default 0
        1 shows a progress bar.

    Returns
    -------
    Comparison
        Values and times of all models; printed, a table.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.
    RuntimeError
        If a model fails; it tells which one, and on which fold.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, Popularity, compare
    >>> rows = [(user, item, 1 + user * item % 5) for user in range(6) for item in range(5)]
    >>> ratings = Ratings.from_arrays(*zip(*rows))
    >>> found = compare([BiasBaseline(), Popularity()], ratings, ["rmse", "auc"], random_state=0)
    >>> found
    Comparison(2 models, 2 metrics, 5 folds)
    >>> found.best("rmse")
    'BiasBaseline'
    """
    named = named_models(models)
    _check_parameters(named)
    measures = chosen(metrics, k)
    needed = tuple(dict.fromkeys(one for measure in measures for one in measure.choices))
    trial = Trial(needed, check_relevant(relevant), one_of("unknown", unknown, UNKNOWN))
    parts = parts_of(ratings, folds, random_state)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in named}
    with progress(bool(verbose), parts.count * len(named), "fits") as step:
        for fold, split in enumerate(parts.splits, start=1):
            for name, model in named.items():
                try:
                    runs[name].append(trial.run(model, split))
                except Exception as error:
                    raise RuntimeError(
                        f"model {name!r} failed on fold {fold}: {type(error).__name__}: {error}"
                    ) from error
                step()
    values, outputs = gathered(runs, measures)
    names = tuple(measure.name for measure in measures)
    return Comparison(tuple(named), names, values, outputs)


def named_models(models: Any) -> dict[str, Recommender]:
    """Return models by name, or raise; classes that come several times are numbered."""
    if isinstance(models, Recommender):
        models = [models]
    if not isinstance(models, Iterable):
        raise TypeError(f"models must be recommenders, got {type(models).__name__}")
    pairs = list(models.items()) if isinstance(models, Mapping) else [_pair(one) for one in models]
    if not pairs:
        raise ValueError("models must hold at least one recommender, got none")
    named: dict[str, Recommender] = {}
    for given, model in pairs:
        if not isinstance(model, Recommender):
            raise TypeError(f"models must be recommenders, got {type(model).__name__}")
        if given is not None and not isinstance(given, str):
            raise TypeError(f"models must have strings as names, got {given!r}")
        if given in named:
            raise ValueError(f"models must have different names, got {given!r} twice")
        named[_free(type(model).__name__, named) if given is None else given] = model
    return named


def _check_parameters(models: Mapping[str, Recommender]) -> None:
    """Raise if a parameter of a model is wrong, before another is fitted for nothing."""
    for name, model in models.items():
        try:
            model._check_parameters()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"models must have parameters that can be fitted, but of {name!r} {error}"
            ) from error


def _pair(one: Any) -> tuple[Any, Any]:
    return one if isinstance(one, tuple) and len(one) == 2 else (None, one)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free
