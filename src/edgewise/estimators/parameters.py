"""The settings of estimators, checked before any work is done."""

from typing import TYPE_CHECKING, Any

from edgewise.boosting import check_callbacks
from edgewise.common.checks import flag, integer, one_of, positive
from edgewise.data import MAX_BINS, Table
from edgewise.data.table import INFINITE_CHOICES
from edgewise.learners import Stump, learner_named
from edgewise.metrics.registry import CLASSIFICATION_METRICS
from edgewise.objective import LOSSES, SAMPLINGS, VOTE_RULES
from edgewise.search import search_named

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH
    from edgewise.estimators.rank_boost import RankBoost


def check_parameters(model: "AdaBoostMH", eval_set: Any) -> None:
    """Raise if a setting of a classifier is wrong; the error names it."""
    learner_named(model.learner)
    integer("max_bins", model.max_bins, 2, MAX_BINS)
    check_training(model, eval_set)
    if model.votes is not None:
        one_of("votes", model.votes, VOTE_RULES)
    if model.loss is not None:
        one_of("loss", model.loss, LOSSES)
    if model.learning_rate is not None:
        up_to_one("learning_rate", model.learning_rate)
    one_of("sampling", model.sampling, SAMPLINGS)
    if model.trim is not None:
        positive("trim", model.trim, below=1.0)
        if model.subsample != 1 or model.sampling != "uniform":
            raise ValueError("give trim or a sample (subsample, sampling), not both")
    if not flag("factorized", model.factorized):
        check_per_class(model.learner)
    if model.min_weight_fraction_leaf != 0:
        positive("min_weight_fraction_leaf", model.min_weight_fraction_leaf, below=0.5)
    if not callable(model.eval_metric):
        one_of("eval_metric", model.eval_metric, CLASSIFICATION_METRICS)


def check_training(model: "AdaBoostMH | RankBoost", eval_set: Any) -> None:
    """Raise if a setting that all estimators have is wrong."""
    search_named(model.search)
    integer("n_rounds", model.n_rounds, 1)
    up_to_one("subsample", model.subsample)
    flag("warm_start", model.warm_start)
    if model.max_bins is not None:
        integer("max_bins", model.max_bins, 2, MAX_BINS)
    one_of("infinite", model.infinite, INFINITE_CHOICES)
    check_callbacks(model.callbacks)
    integer("verbose", int(model.verbose) if model.verbose in (True, False) else model.verbose, 0)
    if model.n_jobs is not None and integer("n_jobs", model.n_jobs, -(10**6)) == 0:
        raise ValueError("n_jobs must not be 0: use 1 for one thread, -1 for all cores")
    if model.validation_fraction is not None:
        positive("validation_fraction", model.validation_fraction, below=1.0)
        if eval_set is not None:
            raise ValueError("give validation_fraction or eval_set, not both")
    if model.time_limit is not None:
        positive("time_limit", model.time_limit)
    if model.early_stopping_rounds is not None:
        integer("early_stopping_rounds", model.early_stopping_rounds, 1)
        if model.validation_fraction is None and eval_set is None:
            raise ValueError(
                "early_stopping_rounds needs rows to validate on: validation_fraction or eval_set"
            )


def check_per_class(learner: Any) -> None:
    """Raise unless the learner is a stump, which alone can be trained class by class."""
    named = isinstance(learner, str) and learner in ("auto", "stump")
    if not named and not isinstance(learner, Stump):
        raise ValueError(
            "factorized=False trains a stump for each class: learner must be 'stump' or a Stump, "
            f"got {learner!r}"
        )


def up_to_one(name: str, value: Any) -> float:
    """Return `value` as a float above 0 and at most 1, or raise."""
    number = positive(name, value)
    if number > 1:
        raise ValueError(f"{name} must be a number above 0 and at most 1, got {value!r}")
    return number


def categorical_columns(categorical: Any, table: Table) -> list[int]:
    """Return the numbers of the columns that were declared categorical.

    Raises
    ------
    ValueError, TypeError
        If `categorical` is not a list of names or numbers of columns.
    """
    if categorical is None:
        return []
    if isinstance(categorical, str) or not hasattr(categorical, "__iter__"):
        raise TypeError(
            "categorical_features must be a list of columns, by name or number, "
            f"got {categorical!r}"
        )
    chosen = []
    for column in categorical:
        if isinstance(column, str):
            if table.names is None or column not in table.names:
                raise ValueError(
                    f"categorical_features names the column {column!r}, which X does not have"
                )
            chosen.append(table.names.index(column))
        else:
            chosen.append(integer("categorical_features", column, 0, table.n_columns - 1))
    return chosen
