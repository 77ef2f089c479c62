"""Jobs: rows with targets, and settings with every default resolved."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from edgewise.backend.base import UNCONSTRAINED, Backend, ColumnConstraints
from edgewise.boosting import Monitor, StoppingRule
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import BinnedTable
from edgewise.estimators.fitted import Fitted, HeldOutRecord
from edgewise.estimators.rows import ValidationSet
from edgewise.learners import Additive, Goal, Learner
from edgewise.metrics.registry import larger_is_better
from edgewise.objective import HammingSettings, Objective, RankSettings, TopSettings
from edgewise.objective.feedback import Layout
from edgewise.search import Exhaustive, Search

F = TypeVar("F", bound=Fitted)
S = TypeVar("S", HammingSettings, RankSettings | TopSettings)

DEFAULT_BINS = 256
"""Bins of a column: enough for trees, whose histograms then stay in cache."""

# Four models choose the rounds of any mean.
_MAX_FOLD_BAGS = 4

_ANY_GOAL = Goal()


@dataclass(frozen=True, eq=False)
class ResolvedSettings(Generic[S]):
    """The settings of one fit, all decided except the learner of one-column rules."""

    learner: Learner
    objective: S
    search: Search
    max_bins: int
    n_rounds: int | None  # None: held-out rows choose
    stopping: StoppingRule  # keep_within applies to folds alone
    learner_name: str | None = None  # of a learner whose rules depend on the kinds of columns
    goal: Goal = _ANY_GOAL
    max_rounds: int = 0  # that held-out rows choose from
    stride: int = 1  # rounds of the refit for each round on folds
    n_bags: int = 1  # models to average
    fold_bags: int = 1  # models to average on each fold
    reasons: Mapping[str, str] = field(default_factory=dict)  # the origin of each setting
    column_constraints: ColumnConstraints = UNCONSTRAINED

    @property
    def searches_everything(self) -> bool:
        """Whether every round searches all rows and columns."""
        trims = getattr(self.objective, "trim", None) is not None
        return not (self.draws_rows or trims) and isinstance(self.search, Exhaustive)

    @property
    def leaves_rows_out(self) -> bool:
        """Whether each bag leaves out other rows, so that their spread shows the model's error."""
        return isinstance(self.learner, Additive)

    @property
    def draws_rows(self) -> bool:
        """Whether rounds search a random sample of the rows."""
        uniform = getattr(self.objective, "sampling", "uniform") == "uniform"
        return self.objective.subsample < 1 or not uniform

    def with_bags(self, n_bags: int | None, default: int = 1) -> "ResolvedSettings[S]":
        """Return the settings of a mean of models, which are all the same if nothing is drawn."""
        n_columns = self.goal.n_columns
        draws = self.draws_rows or self.leaves_rows_out
        if draws or not self.search.searches_all(n_columns):
            n_bags = default if n_bags is None else int(n_bags)
            return replace(self, n_bags=n_bags, fold_bags=min(n_bags, _MAX_FOLD_BAGS))
        if n_bags is not None and n_bags > 1:
            raise ValueError(
                f"n_bags={n_bags} needs rounds that draw rows or columns: give subsample below 1, "
                f"or a search of fewer than the {n_columns} columns"
            )
        return self

    def in_larger_steps(self, factor: float) -> "ResolvedSettings[S]":
        """Return the settings of fewer rounds that go as far."""
        learner = self.learner.in_larger_steps(factor)
        rate = factor * self.objective.learning_rate
        return replace(self, learner=learner, objective=replace(self.objective, learning_rate=rate))

    def because_of(self, reason: str, *names: str) -> "ResolvedSettings[S]":
        """Return the same settings, some of them with another reason."""
        return replace(self, reasons={**self.reasons, **dict.fromkeys(names, reason)})


@dataclass(frozen=True, eq=False)
class Job(ABC, Generic[F]):
    """Training rows with resolved settings; a fit compares one job for each candidate."""

    model: Any  # has the parameters that need no resolution
    rows: Any  # TrainingRows
    settings: ResolvedSettings[Any]

    history_fields: ClassVar[tuple[str, ...]]
    estimates_probabilities: ClassVar[bool] = False
    maximizes_functions: ClassVar[bool] = False  # metrics that are functions
    races: ClassVar[bool] = False  # whether candidates that fall behind another end early

    @property
    def name(self) -> str:
        """The name of the candidate; empty where nothing is compared."""
        return ""

    @property
    def layout(self) -> Layout | None:
        """The order of graded documents."""
        return None

    @property
    def round_ratio(self) -> int:
        """The rounds that a candidate needs for each of the usual one."""
        return 1

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """The number of score columns."""

    @property
    @abstractmethod
    def eval_metrics(self) -> dict[str, Any]:
        """The metrics of validation rows, names or functions, by name; the first decides."""

    @property
    def eval_metric(self) -> Any:
        """The metric that decides."""
        return next(iter(self.eval_metrics.values()))

    @property
    def larger_is_better(self) -> bool:
        """The direction of the metric that decides."""
        return larger_is_better(self.eval_metric, default=self.maximizes_functions)

    @abstractmethod
    def learner_for(self, binned: BinnedTable) -> Learner:
        """Return the learner for the kinds of columns, or raise if it cannot use one."""

    @abstractmethod
    def directions(self, binned: BinnedTable, n_features: int) -> Signs | None:
        """Return the directions that every rule must keep to, or None without any.

        Columns from `n_features` on are not those of X.
        """

    def review(self, fitted: F, binned: BinnedTable) -> None:
        """Warn about the model, where a user would want to know."""

    @abstractmethod
    def objective(self, backend: Backend) -> Objective:
        """Return the objective of the training rows."""

    @abstractmethod
    def monitor(self, validation: ValidationSet, chooses: bool = False) -> Monitor:
        """Return the monitor of validation rows, which may choose the number of rounds."""

    def joint_measure(
        self, monitors: Sequence[Monitor], sets: Sequence[ValidationSet]
    ) -> Callable[[], dict[str, float]]:
        """Return a function that measures the rows of all folds, to choose the rounds by.

        It returns their metric, `validation`, and maybe the `noise` of its distance from the best.
        """
        return lambda: {"validation": sum(monitor.value() for monitor in monitors) / len(monitors)}

    def held_out_record(
        self, scored: Sequence[tuple[ValidationSet, Reals]], record: HeldOutRecord, calibrates: bool
    ) -> HeldOutRecord:
        """Return a record with the quality of held-out rows, given their scores of shape (n, K).

        If it `calibrates`, they choose the temperature of probabilities.
        """
        return record

    def held_out_losses(
        self, scored: Sequence[tuple[ValidationSet, Reals]], record: HeldOutRecord
    ) -> Reals | None:
        """Return the loss of each held-out row or query, if their mean is the deciding metric."""

    @abstractmethod
    def make_record(self, **common: Any) -> F:
        """Return the record of a model, given the fields that all models share."""


class TrainingProblem(NamedTuple):
    """Training rows, and the jobs that they allow."""

    rows: Any  # TrainingRows
    make_jobs: Callable[[Any, int], Sequence[Job[Any]]]  # for the rows to train on, and a seed
    chooses_rounds: bool  # whether held-out rows choose the number of rounds
    adapts_to_time_limit: bool = False
    uses_rates: bool = False  # of classes by category
