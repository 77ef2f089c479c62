"""Defaults: every setting of a fit, resolved once from the parameters and the facts of the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from edgewise.boosting import StoppingRule
from edgewise.data import MAX_BINS
from edgewise.estimators.candidates import Candidate, parse_objective
from edgewise.learners import NAMED_LEARNERS, Goal, Learner, Preset, Stump, Tree
from edgewise.objective import HammingSettings, RankSettings, TopSettings
from edgewise.search import Exhaustive, Lazy, Search, resolve_search

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH
    from edgewise.estimators.rank_boost import RankBoost

S = TypeVar("S", HammingSettings, RankSettings | TopSettings)

MAX_ROUNDS = 2000
"""The maximum number of rounds that held-out rows choose from."""

ROUNDS_WITHOUT_CHOICE, TYPICAL_ROUNDS = 50, 100
"""Rounds where no row can be held out; and a typical number, by which kernels are chosen."""

NO_REFIT_ROWS, HOLD_OUT_FRACTION = 50_000, 0.1
"""From this many rows on, a fraction of them chooses, and the model of the others stays."""

# An improvement that counts. The automatic learner takes small steps, and waits longer.
_STOPPING = StoppingRule(30, patience_fraction=0.1, min_delta_rel=0.005, min_delta=1e-4)
_AUTO_STOPPING = _STOPPING._replace(patience=60, keep_within=_STOPPING.min_delta_rel)

# Metrics of lists are uneven: any improvement counts, and patience is longer.
_RANKING_STOPPING = StoppingRule(60, patience_fraction=0.5)

# On folds the automatic learner takes this many steps in one, up to this learning rate.
_STRIDE, _MAX_FOLD_RATE = 4, 0.4

# Bins of a column. They are enough for a ranker's trees, whose histograms then stay in cache, and
# the second number for other rankers of many rows.
_BINS, _BINS_OF_MANY_ROWS = 256, 1024

_RANKING_ROUNDS = 500

MIN_COLUMNS_TO_DRAW = 64
"""With fewer columns, all are searched even if a candidate would draw some of them."""

_ANY_GOAL = Goal()

# The settings that depend on the learner unless the user gives them.
_CLASSIFIER_DEFAULTS = (
    *("votes", "loss", "learning_rate", "subsample", "damping", "min_samples_leaf"),
    *("max_bins", "search", "n_rounds"),
)


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
    reasons: Mapping[str, str] = field(default_factory=dict)  # the origin of each setting

    @property
    def searches_everything(self) -> bool:
        """Whether every round searches all rows and columns."""
        objective = self.objective
        uniform = getattr(objective, "sampling", "uniform") == "uniform"
        all_rows = objective.subsample == 1 and uniform and getattr(objective, "trim", None) is None
        return all_rows and isinstance(self.search, Exhaustive)

    def in_larger_steps(self, factor: float) -> "ResolvedSettings[S]":
        """Return the settings of fewer rounds that go as far."""
        learner = self.learner
        if isinstance(learner, Tree):
            learner = replace(learner, small_rounds=round(learner.small_rounds / factor))
        rate = factor * self.objective.learning_rate
        return replace(self, learner=learner, objective=replace(self.objective, learning_rate=rate))

    def because_of(self, reason: str, *names: str) -> "ResolvedSettings[S]":
        """Return the same settings, some of them with another reason."""
        return replace(self, reasons={**self.reasons, **dict.fromkeys(names, reason)})


def chosen_rounds(model: "AdaBoostMH", learner: Learner | str) -> int | None:
    """Return the number of rounds of a classifier; None if held-out rows choose it."""
    if model.n_rounds is None:
        return None if learner == "auto" else 500
    return None if isinstance(model.n_rounds, str) else int(model.n_rounds)


def resolve_classifier(
    model: "AdaBoostMH", learner: Learner | str, goal: Goal, seed: int
) -> ResolvedSettings[HammingSettings]:
    """Return the settings of a classifier for the number of rows and score columns in `goal`."""
    is_auto, name = learner == "auto", learner if isinstance(learner, str) else None
    preset = Preset(learner) if name is None else NAMED_LEARNERS[name](Stump(), goal)  # type: ignore[arg-type]
    values = preset._asdict()
    # Thresholds between few rows are not worth their time.
    values["max_bins"] = min(_BINS, max(_BINS // 8, goal.n_rows // 32)) if is_auto else _BINS
    if model.trim is not None:
        values["subsample"] = 1.0
    given = {name: getattr(model, name) for name in _CLASSIFIER_DEFAULTS}
    values |= {name: value for name, value in given.items() if value is not None}
    _check_votes(model, preset.learner, values["votes"])
    rate, damping = float(values["learning_rate"]), values["damping"]
    objective = HammingSettings(
        votes=values["votes"],
        factorized=bool(model.factorized),
        loss=values["loss"],
        learning_rate=rate,
        subsample=float(values["subsample"]),
        sampling=str(model.sampling),
        trim=None if model.trim is None else float(model.trim),
        seed=seed,
        min_leaf_weight=float(model.min_weight_fraction_leaf),
        min_leaf_rows=int(values["min_samples_leaf"]),
        damping=None if damping is None or values["votes"] != "real" else float(damping),
    )
    return ResolvedSettings(
        preset.learner,
        objective,
        resolve_search(values["search"]),
        values["max_bins"],
        chosen_rounds(model, learner),
        _AUTO_STOPPING if is_auto else _STOPPING,
        name,
        goal,
        MAX_ROUNDS,
        stride=max(1, min(_STRIDE, int(_MAX_FOLD_RATE / rate))) if is_auto else 1,
        reasons=_classifier_reasons(model, is_auto),
    )


def _check_votes(model: "AdaBoostMH", learner: Learner, votes: str) -> None:
    real = [part for part in learner.simple_parts() if not part.makes_tests]
    if real and model.votes != "real":
        raise ValueError(f"votes must be 'real' for learner {real[0]!r}, got {model.votes!r}")
    if model.damping is not None and votes != "real":
        raise ValueError(f"damping needs votes='real', got votes={votes!r}")


def _classifier_reasons(model: "AdaBoostMH", is_auto: bool) -> dict[str, str]:
    """Return the origin of each setting: "given", "auto" or "default"."""
    default = "auto" if is_auto else "default"
    reasons = {
        name: default if getattr(model, name) is None else "given" for name in _CLASSIFIER_DEFAULTS
    }
    reasons["learner"] = "auto" if model.learner == "auto" else "given"
    if model.max_leaf_nodes is not None:
        reasons["max_leaf_nodes"] = "given"
    if reasons["subsample"] == "auto" and model.trim is not None:
        reasons["subsample"] = "auto, with trim"
    return reasons


def resolve_ranker(
    model: "RankBoost", candidate: Candidate, n_rows: int, n_columns: int, seed: int
) -> ResolvedSettings[RankSettings | TopSettings]:
    """Return the settings of a ranker, as a candidate has them or as the user gave them."""
    learner, is_candidate = candidate.learner, bool(candidate.name)
    metric, k = parse_objective(candidate.objective)
    rate, subsample = candidate.learning_rate, float(model.subsample)
    if not isinstance(model.learning_rate, str):
        rate = float(model.learning_rate)
    search = resolve_search(model.search)
    is_default = isinstance(model.search, str) and model.search == "exhaustive"
    if candidate.column_fraction < 1 and n_columns >= MIN_COLUMNS_TO_DRAW and is_default:
        search = Lazy(round(candidate.column_fraction * n_columns), per_round=True)
    objective: RankSettings | TopSettings
    if metric == "pairs":
        step = model.step or ("bound" if model.criterion == "edge" else "exact")
        objective = RankSettings(model.criterion, step, rate, subsample, seed)
    else:
        objective = TopSettings(metric, k, rate, subsample, seed=seed)
    few_bins = learner == "tree" or isinstance(learner, Tree)
    few_bins = few_bins or (is_candidate and learner == "feature")
    max_bins = MAX_BINS if n_rows <= MAX_BINS else _BINS_OF_MANY_ROWS
    n_rounds = _RANKING_ROUNDS if isinstance(model.n_rounds, str) else model.n_rounds
    goal = Goal(ranking=True, missing=model.missing, newton=metric != "pairs")
    return ResolvedSettings(
        NAMED_LEARNERS[learner](Stump(), goal).learner if isinstance(learner, str) else learner,
        objective,
        search,
        model.max_bins or (_BINS if few_bins else max_bins),
        None if is_candidate else n_rounds,
        _RANKING_STOPPING,
        learner if isinstance(learner, str) else None,
        goal,
        candidate.max_rounds,
    )


def ranking_rate(objective: str) -> float:
    """Return the learning rate that measured best for pairs, and for the top of the list."""
    return 0.2 if parse_objective(objective)[0] == "pairs" else 0.1


def hold_out_fraction(n_rows: int) -> tuple[float | None, str]:
    """Return the fraction of the rows to choose rounds on without a refit, and its name.

    None is for folds.
    """
    if n_rows < NO_REFIT_ROWS:
        return None, ""
    return HOLD_OUT_FRACTION, fraction_source(HOLD_OUT_FRACTION)


def fraction_source(fraction: float) -> str:
    """Return the name of a held-out fraction of the rows."""
    return f"{fraction:.0%} of the rows"
