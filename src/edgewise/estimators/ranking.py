"""Ranking problems: parameters, learner, objective, monotonic columns and validation metric."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from edgewise.backend.base import Backend
from edgewise.boosting import RANKING, Metric, Monitor, StoppingRule
from edgewise.common import choices
from edgewise.common.checks import integer, one_of, up_to_one
from edgewise.common.dtypes import ROW, Exacts, Reals, Signs
from edgewise.data import MAX_BINS, BinnedTable, Categories, Table
from edgewise.data.columns import CategoricalColumn
from edgewise.estimators.fitted import Fitted, FittedRanker, HeldOutRecord
from edgewise.estimators.fitting import (
    EvalSet,
    FitPlan,
    Fold,
    HeldOut,
    TrainingProblem,
    check_kinds,
    read_validation,
)
from edgewise.estimators.judgments import LARGEST_GRADE, JudgedPairs, JudgedRows, whole_lists
from edgewise.estimators.targets import bin_mass
from edgewise.learners import Best, Goal, Learner, Tree, preset_for, resolve_learner
from edgewise.learners.feature import MISSING_CHOICES
from edgewise.metrics import Lists, ranking_metric
from edgewise.metrics.registry import larger_is_better, metrics_by_name
from edgewise.objective import (
    FIRST,
    STEPS,
    Cumulative,
    Ranking,
    RankSettings,
    Top,
    TopSettings,
    edge_limit,
)
from edgewise.search import Lazy, resolve_search

if TYPE_CHECKING:
    from edgewise.estimators.rank_boost import RankBoost

AnySettings = RankSettings | TopSettings

# With this many bins trees lose nothing, and their histograms stay in cache.
_BINS_OF_TREES = 256

# The factor on steps that measured best, for pairs and for the top of the list, and the rounds that
# go with learners other than "auto".
_RATE, _RATE_OF_TOP, _ROUNDS = 0.2, 0.1, 500

# Held-out queries choose if there are this many, in so many folds; from this many documents on a
# part of the queries chooses, and the model of the others stays.
_LEAST_QUERIES, _FOLDS = 20, 4
_NO_REFIT_FROM, _SHARE_ASIDE = 50_000, 0.1


class Way(NamedTuple):
    """A way to train that held-out queries may choose."""

    name: str
    learner: str | Learner = "stump"
    objective: str = "pairs"
    learning_rate: float = _RATE
    most_rounds: int = 500
    columns: float = 1.0  # the share of many columns that a tree is offered


STUMPS = Way("stumps")
"""The way of RankBoost's inventors, where no other goes."""

WAYS = (
    Way("columns", "feature", learning_rate=0.5, most_rounds=60),
    Way("stumps and columns", Best(["stump", "feature"]), learning_rate=0.5, most_rounds=150),
    Way("columns, by map", "feature", "map@100", most_rounds=100),
    Way("trees, by ndcg", Tree("stump", 8, "free", "gain"), "ndcg", 0.05, 400),
)
"""The ways that ``learner="auto"`` compares (docs/guide/ranking.md), the usual one first."""

# Two good rankers differ in a query by about this, in metrics from 0 to 1: their mean over the
# queries by this over the root of their number, and what differs less may be chance.
_DIFFERENCE = 0.07

LARGE_TREES = Way("large trees, by ndcg", Tree("stump", 32, "free", "gain"), "ndcg", 0.1, 2000, 0.5)
"""The way for many documents."""

# With fewer columns than this all are searched; from this many documents on fewer of many.
_MANY_COLUMNS = 64
_FEWER_FROM, _FEWER = 150_000, 0.35

# From this many documents on stumps and large trees are compared, on half of the folds.
_MANY_FROM = 20_000

# With this many bins thresholds are finer than rankings need, and histograms stay in cache.
_BINS_OF_MANY_ROWS = 1024


LOST_METRIC = (
    "eval_metric is None: the model was saved with a function, which a file cannot hold; give one "
    "again with set_params(eval_metric=...)"
)


def read_parameters(model: "RankBoost", validates: bool) -> Learner | str:
    """Return the user's learner, or its name, once all settings are checked."""
    chooses = isinstance(model.n_rounds, str) and isinstance(model.learner, str)
    chooses = chooses and model.learner == "auto"
    if isinstance(model.n_rounds, str):
        one_of("n_rounds", model.n_rounds, ("auto",))
    else:
        integer("n_rounds", model.n_rounds, 1)
    up_to_one("subsample", model.subsample)
    model._check_training(validates, chooses)
    one_of("missing", model.missing, MISSING_CHOICES)
    learner = model.learner
    if isinstance(learner, str):
        one_of("learner", learner, choices.RANK_LEARNERS)
        takes_values = learner == "feature"
    else:
        learner = resolve_learner(learner, names=choices.RANK_LEARNERS)
        takes_values = any(part.takes_values for part in learner.simple_parts())
        if model.missing != "learn":
            raise ValueError(
                f"missing={model.missing!r} is for learners given by name; a learner object has "
                "its own, as in Stump(missing='low')"
            )
    if model.handle_infinite == "value" and takes_values:
        raise ValueError(
            "handle_infinite='value' does not go with learner='feature', which takes columns as "
            "they are"
        )
    _check_objective(model)
    one_of("criterion", model.criterion, choices.RANK_CRITERIA)
    if model.step is not None:
        one_of("step", model.step, STEPS)
    if model.learning_rate != "auto":
        up_to_one("learning_rate", model.learning_rate)
    one_of("pair_weight", model.pair_weight, choices.PAIR_WEIGHTS)
    one_of("query_weight", model.query_weight, choices.QUERY_WEIGHTS)
    if isinstance(model.monotonic_cst, str):
        one_of("monotonic_cst", model.monotonic_cst, choices.MONOTONIC)
    if model.eval_metric is None:
        raise ValueError(LOST_METRIC)
    metrics_by_name(model.eval_metric, _check_metric)
    if learner == "auto" and not chooses:
        # Nothing is chosen where the rounds are given.
        return "stump" if objective_named(model.objective)[0] == "pairs" else "tree"
    return learner


def _check_objective(model: "RankBoost") -> None:
    """Raise unless the objective is one, and the other settings go with it."""
    metric, _ = objective_named(model.objective)
    if metric == "pairs":
        return
    for name, usual in (("criterion", "edge"), ("step", None), ("monotonic_cst", "learn")):
        given = getattr(model, name)
        # Comparing a mapping or an array with a string needs no more than its type.
        if not (given is usual or (isinstance(given, str) and given == usual)):
            raise ValueError(f"{name}={given!r} is for objective='pairs', got {model.objective!r}")


def objective_named(name: Any) -> tuple[str, int]:
    """Return the metric of an objective and how many documents count, from "ndcg" or "ndcg@10".

    Examples
    --------
    >>> objective_named("ndcg@10"), objective_named("pairs")
    (('ndcg', 10), ('pairs', 30))
    """
    if isinstance(name, str) and name == "auto":
        return "pairs", FIRST
    metric, at, k = name.partition("@") if isinstance(name, str) else ("", "", "")
    number = k.isascii() and k.isdecimal() and int(k) > 0
    if metric not in choices.OBJECTIVES or (at and (metric == "pairs" or not number)):
        known = ", ".join(map(repr, choices.OBJECTIVES))
        raise ValueError(
            f"objective must be one of {known}, the last two also with the number of documents "
            f"that count, such as 'ndcg@10'; got {name!r}"
        )
    return metric, int(k) if at else FIRST


def _check_metric(name: Any) -> None:
    """Raise unless a ranking metric has this name."""
    try:
        ranking_metric(name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"eval_metric={name!r}: {error}") from error


class RankingProblem(TrainingProblem[AnySettings, FittedRanker]):
    """Documents with grades or pairs, and how a model is to rank them."""

    n_scores = 1
    fields = RANKING
    hurries = False
    # Metrics of lists are uneven: any improvement counts, and patience is longer.
    stopping = StoppingRule(60, patience_fraction=0.5)

    def __init__(
        self,
        model: "RankBoost",
        learner: Learner | str,
        judged: JudgedRows | JudgedPairs,
        has_queries: bool,
        way: Way | None = None,
    ) -> None:
        self.model, self.judged, self.way = model, judged, way
        self.table, self.has_queries = judged.table, has_queries
        self.ways: tuple[Way, ...] = ()
        if learner == "auto" and way is None:
            self.ways = _ways(model, judged)
            self.way = self.ways[0] if self.ways else None
        self.named = learner
        self.objective_name = model.objective if model.objective != "auto" else "pairs"
        self.learner = "stump" if learner == "auto" else learner
        if self.way is not None:
            self.learner, self.objective_name = self.way.learner, self.way.objective
            self.name, self.most_rounds = self.way.name, self.way.most_rounds
        self.metric, self.k = objective_named(self.objective_name)
        if self.metric != "pairs" and not isinstance(judged, JudgedRows):
            raise ValueError(f"objective={model.objective!r} needs grades: give fit_pairs 'pairs'")
        n_rows = judged.table.partition.n_rows
        self.max_bins = model.max_bins or _bins(self.named, self.learner, n_rows)
        self.search = resolve_search(model.search)
        share, n_columns = 1.0 if self.way is None else self.way.columns, judged.table.n_columns
        untouched = isinstance(model.search, str) and model.search == "exhaustive"
        if share < 1 and n_columns >= _MANY_COLUMNS and untouched:
            self.search = Lazy(round(share * n_columns), per_round=True)
        self.looks_at_all_rows = model.subsample == 1
        self.layout = judged.layout(model.pair_weight)
        self.by_energy = model.criterion == "energy"
        self.n_rounds = _ROUNDS if isinstance(model.n_rounds, str) else model.n_rounds
        if self.way is not None:
            self.n_rounds = None
            self.share_aside = _SHARE_ASIDE if n_rows >= _NO_REFIT_FROM else None
        self.eval_metrics = metrics_by_name(model.eval_metric, _check_metric)
        self.larger_is_better = larger_is_better(self.eval_metric, default=True)
        if isinstance(judged, JudgedRows) and not callable(self.eval_metric):
            self.margin = _DIFFERENCE / math.sqrt(max(judged.queries.n_rows, 1))

    def split(self, fraction: float, seed: int) -> tuple["RankingProblem", HeldOut]:
        judged, held_out = self.judged.split(fraction, seed)
        return self._of(judged), held_out

    def _of(self, judged: JudgedRows | JudgedPairs) -> "RankingProblem":
        """Return the same problem of other documents."""
        problem = RankingProblem(self.model, self.named, judged, self.has_queries, self.way)
        problem.ways = self.ways
        return problem

    def rivals(self, before: Fitted | None) -> list["RankingProblem"]:
        ways = self.ways
        if isinstance(before, FittedRanker) and before.way is not None:
            # Models of earlier versions may have been trained by stumps alone.
            ways = tuple(way for way in (*ways, STUMPS) if way.name == before.way)[:1]
        if not ways:
            return [self]
        given = (self.model, self.named, self.judged, self.has_queries)
        return [RankingProblem(*given, way) for way in ways]

    def folds(self, seed: int, one_part: bool = False) -> list[Fold]:
        judged = self.judged
        assert isinstance(judged, JudgedRows)
        folds = []
        n_used = _FOLDS // 2 if judged.partition.n_rows >= _MANY_FROM else _FOLDS
        for kept, aside in judged.folds(_FOLDS, seed)[:n_used]:
            held_out = HeldOut(self.table, judged.lists_of(aside))
            problem = self._of(judged.take(kept))
            folds.append(Fold(problem, kept.astype(ROW), held_out, aside.astype(ROW)))
        return folds

    def held_out_record(
        self,
        parts: Sequence[tuple[HeldOut, Reals]],
        plan: FitPlan[AnySettings],
        **known: Any,
    ) -> HeldOutRecord:
        return HeldOutRecord(**known)

    def read_held_out(self, eval_set: EvalSet) -> HeldOut:
        _, given, argument = eval_set
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            raise ValueError(f"{argument} must be a tuple (X, y) or (X, y, qid)")
        if self.has_queries and (len(given) == 2 or given[2] is None):
            raise ValueError(
                f"{argument} must be a tuple (X, y, qid), since training has several queries"
            )
        table = read_validation(given[0], self.table, argument)
        try:
            lists = Lists(*given[1:])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{argument}: {error}") from error
        if lists.n_rows != table.n_rows:
            raise ValueError(f"{argument} has {table.n_rows} rows and {lists.n_rows} grades")
        return HeldOut(table, whole_lists(lists, table.partition))

    def mass(self) -> Exacts | None:
        if not isinstance(self.judged, JudgedRows):
            return None
        return bin_mass(self.judged.weights, self.table.partition)

    @property
    def learning_rate(self) -> float:
        """The factor on steps."""
        given = self.model.learning_rate
        if not isinstance(given, str):
            return float(given)
        if self.way is not None:
            return self.way.learning_rate
        return _RATE if self.metric == "pairs" else _RATE_OF_TOP

    def plan(self, binned: BinnedTable, seed: int) -> FitPlan[AnySettings]:
        model, rate, share = self.model, self.learning_rate, float(self.model.subsample)
        learner = self._learner(binned)
        if self.metric != "pairs":
            return FitPlan(learner, TopSettings(self.metric, self.k, rate, share, seed=seed))
        step = model.step or ("bound" if model.criterion == "edge" else "exact")
        return FitPlan(learner, RankSettings(model.criterion, step, rate, share, seed))

    def _learner(self, binned: BinnedTable) -> Learner:
        """Return the learner, checked against the columns and the criterion."""
        learner = self.learner
        goal = Goal(ranking=True, missing=self.model.missing, newton=self.metric != "pairs")
        # The kinds of columns are known only now.
        if isinstance(learner, Tree) and self.way is not None:
            base = preset_for("tree", binned, goal).learner
            assert isinstance(base, Tree)
            learner = clone(learner).set_params(base=base.base)
        elif isinstance(learner, Best) and self.way is not None:
            learner = Best([preset_for(name, binned, goal).learner for name in learner.learners])
        elif isinstance(learner, str):
            learner = preset_for(learner, binned, goal).learner
        if learner.takes_values and len(binned.categorical.columns):
            name = binned.bins[binned.categorical.columns[0]].name
            raise ValueError(
                "learner='feature' takes columns as numbers, but X has the categorical column "
                f"{name!r}"
            )
        alternatives = learner.alternatives(binned)
        if len(alternatives) == 1:
            (learner,) = alternatives
        check_kinds(learner, binned)
        if self.by_energy:
            if not learner.makes_cuts:
                raise ValueError(
                    "criterion='energy' needs learner='stump' and numeric columns only, got "
                    f"learner={learner!r}"
                )
            if getattr(learner, "missing", None) == "abstain":
                raise ValueError("criterion='energy' does not go with a stump of missing='abstain'")
        return learner

    def objective(self, backend: Backend, plan: FitPlan[AnySettings]) -> Ranking | Top:
        if isinstance(plan.settings, TopSettings):
            assert isinstance(self.judged, JudgedRows)
            assert self.layout is not None
            lists = self.judged.lists(self.layout, plan.settings)
            return Top(backend, lists, plan.settings, plan.learner.needs_mass)
        pairs = self.judged.feedback(self.layout, backend, self.model.query_weight)
        cumulative = self._cumulative(plan.learner, backend.table)
        return Ranking(backend, pairs, plan.settings, cumulative, plan.learner.needs_mass)

    def _cumulative(self, learner: Learner, table: BinnedTable) -> Cumulative | None:
        """Return the constraints that keep contributions of columns monotonic, or None."""
        given = self.model.monotonic_cst
        directions, learn = _directions(given, table)
        if not learn.any() and not directions.any():
            return None
        if all(part.allows_monotonic_cst for part in learner.alternatives(table)):
            limit = partial(edge_limit, learning_rate=self.learning_rate)
            return Cumulative(table, directions, learn, limit)
        if isinstance(given, str) and given == "learn":
            return None
        raise ValueError(
            f"monotonic_cst={given!r} needs rules that are thresholds, learner='stump'; got "
            f"learner={learner!r}"
        )

    def fitted(self, plan: FitPlan[AnySettings], **common: Any) -> FittedRanker:
        return FittedRanker(
            has_queries=self.has_queries,
            objective=self.objective_name,
            learning_rate=self.learning_rate,
            way=None if self.way is None else self.way.name,
            **common,
        )

    def monitor(
        self, held_out: HeldOut, binned: BinnedTable, plan: FitPlan[AnySettings]
    ) -> Monitor:
        decides, lists = self.eval_metric, held_out.targets
        if not callable(decides):
            grades = lists.grades
            if measure(decides, lists, grades) == measure(decides, lists, -grades):
                raise ValueError(
                    f"eval_metric={decides!r} is the same for every order of the validation "
                    "documents, in which relevant means a grade above 0: take 'ndcg' or "
                    "'disagreement', or other grades"
                )

        def metric(eval_metric: Any) -> Metric:
            return lambda scores: measure(eval_metric, lists, scores[:, 0])

        metrics = {name: metric(one) for name, one in self.eval_metrics.items()}
        return Monitor(binned, metrics, 1, larger_is_better(decides, default=True))


def _ways(model: "RankBoost", judged: JudgedRows | JudgedPairs) -> tuple[Way, ...]:
    """Return the ways to train that held-out queries choose from; none where they are too few.

    Settings that are for some learners or objectives leave the others out.
    """
    if not isinstance(judged, JudgedRows) or judged.queries.n_rows < _LEAST_QUERIES:
        return ()
    n_rows, given = judged.partition.n_rows, model.monotonic_cst
    lowest, highest = judged.grade_range
    ways, top = list(WAYS), WAYS[-1]
    if n_rows >= _MANY_FROM:
        top = LARGE_TREES if n_rows < _FEWER_FROM else LARGE_TREES._replace(columns=_FEWER)
        ways = [top] if n_rows >= _NO_REFIT_FROM else [top, STUMPS]
    usual = model.criterion == "edge" and model.step is None
    usual = usual and isinstance(given, str) and given == "learn"
    if model.objective != "auto":
        metric, _ = objective_named(model.objective)
        ways = [way for way in ways if way.objective.startswith(metric)] or [top]
        ways = [way._replace(objective=model.objective) for way in ways]
    known = {
        "pairs": True,
        "ndcg": usual and lowest >= 0 and highest <= LARGEST_GRADE,
        "map": usual and lowest <= 0 < highest,
    }
    ways = [way for way in ways if known[way.objective.partition("@")[0]]] or [STUMPS]
    if not usual or model.handle_infinite == "value" or _has_words(judged.table, ways):
        ways = [STUMPS if isinstance(way.learner, Best) else way for way in ways]
        ways = [way for way in ways if way.learner != "feature"] or [STUMPS]
    # With little time, one way alone.
    return tuple(ways[:1] if model.time_limit is not None else ways)


def _has_words(table: Table, ways: Sequence[Way]) -> bool:
    """Return whether columns are categorical at any process, if the ways ask for numbers."""
    if all(isinstance(way.learner, Tree) or way.learner == "stump" for way in ways):
        return False
    found = any(isinstance(column, CategoricalColumn) for column in table.columns())
    return table.partition.max(float(found)) > 0


def _bins(named: Learner | str, learner: Learner | str, n_rows: int) -> int:
    """Return the most bins of a column."""
    of_columns = named == "auto" and learner == "feature"
    if of_columns or learner == "tree" or isinstance(learner, Tree):
        return _BINS_OF_TREES
    return MAX_BINS if n_rows <= MAX_BINS else _BINS_OF_MANY_ROWS


def measure(eval_metric: Any, lists: Lists, scores: Reals) -> float:
    """Return a metric, by its name or a function of grades, scores and query ids."""
    if callable(eval_metric):
        return float(eval_metric(lists.grades, scores, lists.queries[lists.row_query]))
    return float(ranking_metric(eval_metric)(lists, scores))


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
            f"monotonic_cst must be one of {', '.join(map(repr, choices.MONOTONIC))}, or -1, 0 or "
            f"1 for each of the {len(names)} columns, got {monotonic_cst!r}"
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
