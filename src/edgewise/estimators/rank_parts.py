"""How learner, constraints and validation of a ranker fit together."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import Monitor
from edgewise.common.checks import one_of
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import MAX_BINS, BinnedTable, Categories, encode
from edgewise.data.filters import Filters
from edgewise.estimators.judgements import PAIR_WEIGHTS, QUERY_WEIGHTS, HeldOutLists
from edgewise.estimators.parameters import check_training, up_to_one
from edgewise.estimators.parts import check_kinds, filters_of
from edgewise.learners import Best, Feature, Indicator, Learner, Product, Selector, Stump, Tree
from edgewise.learners import learner_named as learner_of
from edgewise.metrics import Lists, ranking_metric
from edgewise.metrics.registry import larger_is_better
from edgewise.model import FeatureTerms, RuleTerms, StumpTerms, Terms
from edgewise.objective import CRITERIA, STEPS, Cumulative, edge_limit

if TYPE_CHECKING:
    from edgewise.estimators.rank_boost import RankBoost

LEARNER_NAMES = ("stump", "product", "tree", "feature")
MONOTONE = ("learn", "increasing", "none")

# With so many bins thresholds are finer than rankings need, and histograms stay in cache.
_BINS_OF_MANY_ROWS = 1024

# Where unranked documents go, by q_def.
_UNRANKED = {None: "learn", 0: "low", 1: "high"}


def check_rank_parameters(model: "RankBoost", eval_set: Any) -> None:
    """Raise if a setting of a ranker is wrong; the error names it."""
    check_training(model, eval_set)
    if isinstance(model.learner, str):
        one_of("learner", model.learner, LEARNER_NAMES)
    else:
        learner_of(model.learner)
        if model.q_def is not None:
            raise ValueError(
                "q_def goes with the learners that have a name; of a Stump say missing='low' or "
                "'high'"
            )
    if model.infinite == "value" and uses_features(model.learner):
        raise ValueError(
            "infinite='value' does not go with learner='feature', which takes columns as they are"
        )
    one_of("criterion", model.criterion, CRITERIA)
    if model.step is not None:
        one_of("step", model.step, STEPS)
    up_to_one("learning_rate", model.learning_rate)
    one_of("pair_weight", model.pair_weight, PAIR_WEIGHTS)
    one_of("query_weight", model.query_weight, QUERY_WEIGHTS)
    if isinstance(model.q_def, (bool, list)) or model.q_def not in _UNRANKED:
        raise ValueError(f"q_def must be None, 0 or 1, got {model.q_def!r}")
    if isinstance(model.monotonic_cst, str):
        one_of("monotonic_cst", model.monotonic_cst, MONOTONE)
    if not callable(model.eval_metric):
        try:
            ranking_metric(model.eval_metric)
        except (TypeError, ValueError) as error:
            raise ValueError(f"eval_metric={model.eval_metric!r}: {error}") from error


def uses_features(learner: Any) -> bool:
    """Return whether a learner takes columns as they are."""
    if isinstance(learner, str):
        return learner == "feature"
    return any(isinstance(part, Feature) for part in learner_of(learner).simple_parts())


def most_bins(max_bins: int | None, n_rows: int) -> int:
    """Return the most bins of a column: enough for every threshold, where rows are not many."""
    if max_bins is not None:
        return max_bins
    return MAX_BINS if n_rows <= MAX_BINS else _BINS_OF_MANY_ROWS


def rank_learner(model: "RankBoost", table: BinnedTable) -> Learner:
    """Return the learner to train with, checked against the table and the settings.

    Raises
    ------
    ValueError
        If there are columns that it cannot use, or settings that it does not go with.
    """
    learner = model.learner
    if isinstance(learner, str):
        learner = _named(learner, table, _UNRANKED[model.q_def])
    learner = learner_of(learner, table)
    if isinstance(learner, Feature) and len(table.categorical.columns):
        name = table.bins[table.categorical.columns[0]].name
        raise ValueError(
            f"learner='feature' takes columns as numbers, but X has the categorical column {name!r}"
        )
    if isinstance(learner, Best) and len(learner.learners) == 1:
        (learner,) = learner.named(table)
    check_kinds(learner, table)
    if model.criterion == "energy":
        if not isinstance(learner, Stump):
            raise ValueError(
                "criterion='energy' needs learner='stump' and numeric columns only, got "
                f"learner={learner!r}"
            )
        if learner.missing == "abstain":
            raise ValueError("criterion='energy' does not go with a stump of missing='abstain'")
    parts = learner.named(table) if isinstance(learner, Best) else [learner]
    if len(parts) > 1 and any(isinstance(part, Feature) for part in parts):
        raise ValueError("learner: Feature() stands alone, not in a list with others")
    return learner


def _named(name: str, table: BinnedTable, unranked: str) -> Learner:
    """Return what a name stands for, given the kinds of columns there are."""
    if name == "feature":
        return Feature(unranked)
    alone = name == "stump"
    stump = Stump(constant=not alone, missing=unranked)
    categorical = len(table.categorical.columns)
    simple: Learner = stump
    if categorical:
        simple = Indicator() if categorical == table.n_columns else Best([stump, Indicator()])
    if alone:
        return simple
    return Product(simple, n_terms=2) if name == "product" else Tree(simple, 8, "free", "gain")


def cumulative_of(model: "RankBoost", learner: Learner, table: BinnedTable) -> Cumulative | None:
    """Return what keeps the cumulative weights of thresholds on one side, or None.

    Raises
    ------
    ValueError
        If the learner's rules are not thresholds, and directions were asked for.
    """
    directions, learn = _directions(model.monotonic_cst, table)
    if not learn.any() and not directions.any():
        return None
    parts = learner.named(table) if isinstance(learner, Best) else [learner]
    if all(isinstance(part, (Stump, Indicator, Selector)) for part in parts):
        limit = partial(edge_limit, learning_rate=float(model.learning_rate))
        return Cumulative(table, directions, learn, limit)
    if isinstance(model.monotonic_cst, str) and model.monotonic_cst == "learn":
        return None
    raise ValueError(
        f"monotonic_cst={model.monotonic_cst!r} needs rules that are thresholds, learner='stump'; "
        "got "
        f"learner={learner!r}"
    )


def _directions(monotonic_cst: Any, table: BinnedTable) -> tuple[Signs, NDArray[np.bool_]]:
    """Return the direction of each column, and which of the others learn theirs."""
    names = [b.name for b in table.bins]
    directions, learn = np.zeros(len(names), dtype=np.int8), np.zeros(len(names), dtype=bool)
    if isinstance(monotonic_cst, str):
        directions[:], learn[:] = monotonic_cst == "increasing", monotonic_cst == "learn"
        return directions, learn
    if isinstance(monotonic_cst, Mapping):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(
                f"monotonic_cst names the column {unknown[0]!r}, which X does not have"
            )
        learn = np.array([name not in monotonic_cst for name in names])
        given = np.array([monotonic_cst.get(name, 0) for name in names])
    else:
        given = np.asarray(monotonic_cst)
    if given.shape != directions.shape or not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be one of {', '.join(map(repr, MONOTONE))}, or -1, 0 or 1 "
            "for each of "
            f"the {len(names)} columns, got {monotonic_cst!r}"
        )
    categorical = [
        b.name
        for b, way in zip(table.bins, given, strict=True)
        if way and isinstance(b, Categories)
    ]
    if categorical:
        raise ValueError(
            f"monotonic_cst: the column {categorical[0]!r} is categorical and has no direction"
        )
    return given.astype(np.int8), learn


def rank_terms(learner: Learner) -> type[Terms]:
    """Return how the terms are stored."""
    if isinstance(learner, Feature):
        return FeatureTerms
    return StumpTerms if isinstance(learner, Stump) else RuleTerms


def rank_filters(learner: Any) -> Filters | None:
    """Return the image filters that a learner uses, if any."""
    return None if isinstance(learner, str) else filters_of(learner_of(learner))


def rank_monitor(
    held_out: HeldOutLists | None, trained: BinnedTable, eval_metric: Any
) -> Monitor | None:
    """Return the monitor of the validation documents, or None without any."""
    if held_out is None:
        return None
    metric = eval_metric if callable(eval_metric) else ranking_metric(eval_metric)
    larger = larger_is_better(metric, default=True)
    assert trained.aligned is not None
    filters = trained.aligned.filters
    binned = encode(held_out.table, trained.bins, training=False, filters=filters)

    def measure(lists: Lists, scores: Reals) -> float:
        if callable(eval_metric):
            queries = lists.queries[lists.row_query]
            return float(metric(lists.grades, scores[:, 0], queries))
        return float(metric(lists, scores[:, 0]))

    if not callable(eval_metric):
        _check_telling(held_out.lists, measure, eval_metric)
    return Monitor(binned, held_out.lists, measure, 1, larger)


def _check_telling(lists: Lists, measure: Callable[[Lists, Reals], float], name: str) -> None:
    """Raise if the best and the worst order of validation documents measure the same."""
    grades = lists.grades[:, None]
    if measure(lists, grades) == measure(lists, -grades):
        raise ValueError(
            f"eval_metric={name!r} is the same for every order of the validation documents, in "
            "which relevant means a grade above 0: take 'ndcg' or 'disagreement', or other grades"
        )
