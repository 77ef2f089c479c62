"""The record of a trained model, which prediction, files, warm starts and checkpoints read."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import CLASSIFYING, RANKING, History
from edgewise.common.checks import one_of, positive
from edgewise.common.choices import VOTES
from edgewise.common.dtypes import Reals
from edgewise.common.fields import (
    Array,
    Converted,
    Count,
    DictOf,
    Field,
    ListOf,
    OrNone,
    Record,
    Value,
)
from edgewise.common.text import text_table
from edgewise.learners import Learner, resolve_learner
from edgewise.model.file import SettingOrNone
from edgewise.model.scorer import SCORING, SCORING_CLASSES, ClassScorer, RankScorer, Scorer


@dataclass(frozen=True, eq=False)
class HeldOutRecord:
    """What held-out rows say about a model.

    Attributes
    ----------
    source : str
        Which rows: "3 folds", "2 of 4 folds", "20% of the rows", "validation_fraction" or
        "eval_set"; "too few rows" where none could be held out.
    n_rounds : int
        The number of rounds that they chose, or were measured at.
    chosen : bool
        Whether they chose the rounds.
    values : float array
        Their validation metric after each of their rounds; the log loss is that at their best
        temperature.
    stride : int
        How many rounds one of theirs is: folds may take longer steps.
    compared : dict of str to float
        A ranker's: the best value of each candidate, if they compared several.
    log_loss, error : float
        Of their probabilities and predictions after `n_rounds` rounds; NaN without any rows.
    temperature : float
        The number to divide log-odds by for the lowest log loss.
    """

    source: str
    n_rounds: int
    chosen: bool = True
    values: Reals = field(default_factory=lambda: np.empty(0))
    stride: int = 1
    log_loss: float = float("nan")
    error: float = float("nan")
    temperature: float = 1.0
    compared: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """Their validation metric after the rounds that they chose."""
        place = self.n_rounds // self.stride - 1
        return float(self.values[place]) if 0 <= place < len(self.values) else float("nan")


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted(Scorer):
    """A trained model."""

    history: History  # of all rounds, also those after the best one that early stopping cuts off
    learner: Learner | None  # None after loading, where a file cannot hold it
    eval_metric: str  # the name of the validation metric
    best_iteration: int  # the round with the best validation metric, or the last one
    stop_reason: str
    seed: int
    search_states: tuple[dict[str, NDArray], ...] = ()  # of each simple learner
    held_out: HeldOutRecord | None = None  # a classifier's, if it held any rows out
    unsaved: tuple[str, ...] = ()  # settings that the model's file could not hold

    @property
    def learner_words(self) -> str:
        """The learner on one line, where scikit-learn's repr breaks long ones."""
        return "not in the file" if self.learner is None else " ".join(repr(self.learner).split())

    @property
    def evaluations(self) -> dict[str, dict[str, Reals]]:
        """The metrics of validation rows after each round, by the names of rows and metric."""
        if "validation" not in self.history:
            return {}
        alone = {"validation": {self.eval_metric: self.history["validation"]}}
        return self.history.evaluations() or alone

    @property
    def best_validation(self) -> float:
        """The validation metric after the best round; NaN without validation rows."""
        values = self.history["validation"]
        return float(values[self.best_iteration - 1]) if self.best_iteration else float("nan")

    @property
    def decreases(self) -> Reals:
        """The decrease of the logarithm of the loss by each term: -ln Z."""
        energies = self.history["energy"][: len(self.terms)]
        return -np.log(np.maximum(energies, 1e-300))

    def check_follows(self, before: "Fitted") -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        if self.categories != before.categories:
            raise ValueError(
                "warm_start: X has categorical columns with other values than in the last fit"
            )
        if self.filters != before.filters:
            raise ValueError("warm_start: learner must have the image filters of the last fit")
        if self.terms.is_additive != before.terms.is_additive:
            raise ValueError("warm_start: learner must be as in the last fit")


@dataclass(frozen=True)
class ModelSettings:
    """The settings of a trained classifier, given or decided, and why; `print` it to read them.

    Attributes
    ----------
    learner : str
        The learner.
    max_leaf_nodes : int or None
        The most leaves of a tree; None for other learners.
    votes, loss, learning_rate, subsample, damping, min_samples_leaf, max_bins, search :
        As the parameters of the estimator.
    reasons : dict of str
        Where each of these is from: "given", "auto" (it goes with ``learner="auto"``), "default"
        (it goes with all other learners) or "time_limit" (larger steps, to make do with the time).
    n_rows : int
        The number of rows that the model was trained on.
    n_rounds : int
        The number of rounds in the model.
    rounds_from : str
        What chose them: held-out rows ("3 folds", "2 of 4 folds", "20% of the rows", "10% of the
        rows", "validation_fraction", "eval_set"), the parameter "n_rounds", or "too few rows".
    stop_reason : str
        Why training ended.
    held_out_log_loss, held_out_error : float
        Of the held-out rows, with the temperature; NaN without any.
    temperature : float
        The number that ``predict_proba`` divides log-odds by, for the lowest log loss of the
        held-out rows; 1 where `fit` held none out.
    """

    learner: str
    max_leaf_nodes: int | None
    votes: str
    loss: str
    learning_rate: float
    subsample: float
    damping: float | None
    min_samples_leaf: int
    max_bins: int
    search: str
    reasons: dict[str, str]
    n_rows: int
    n_rounds: int
    rounds_from: str
    stop_reason: str
    held_out_log_loss: float
    held_out_error: float
    temperature: float

    def __str__(self) -> str:
        values = asdict(self)
        reasons = {**values.pop("reasons"), "n_rounds": self._why_rounds()}
        if math.isnan(self.held_out_log_loss):
            reasons["temperature"] = "no rows were held out"
        for name in ("rounds_from", "stop_reason"):
            del values[name]
        rows = [
            (
                name,
                f"{value:.4g}" if isinstance(value, float) else str(value),
                reasons.get(name, ""),
            )
            for name, value in values.items()
            if value is not None and value == value  # not NaN
        ]
        return text_table(rows, left=(0, 1, 2))

    def _why_rounds(self) -> str:
        """Return in words what chose the number of rounds, and what cut them short."""
        if self.rounds_from == "too few rows":
            return "no row can be held out"
        given = self.rounds_from == "n_rounds"
        words = self.reasons["n_rounds"] if given else f"chosen on {self.rounds_from}"
        expected = ("n_rounds",) if given else ("n_rounds", "early stopping")
        return words if self.stop_reason in expected else f"{words}, ended by {self.stop_reason}"


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedClassifier(Fitted, ClassScorer):
    """A trained classifier."""

    votes: str
    learning_rate: float
    subsample: float
    damping: float | None
    min_samples_leaf: int
    max_bins: int
    search: str
    n_rows: int  # trained on
    reasons: dict[str, str]  # where each setting is from

    @property
    def temperature(self) -> float:
        """The number that the log-odds of probabilities are divided by."""
        return 1.0 if self.held_out is None else self.held_out.temperature

    @property
    def settings(self) -> "ModelSettings":
        """All settings that training decided on."""
        held_out, learner = self.held_out, self.learner
        return ModelSettings(
            learner=self.learner_words,
            max_leaf_nodes=getattr(learner, "max_leaf_nodes", None),
            votes=self.votes,
            loss=self.loss,
            learning_rate=self.learning_rate,
            subsample=self.subsample,
            damping=self.damping,
            min_samples_leaf=self.min_samples_leaf,
            max_bins=self.max_bins,
            search=self.search,
            reasons=self.reasons,
            n_rows=self.n_rows,
            n_rounds=len(self.terms),
            rounds_from=held_out.source if held_out is not None and held_out.chosen else "n_rounds",
            stop_reason=self.stop_reason,
            held_out_log_loss=math.nan if held_out is None else held_out.log_loss,
            held_out_error=math.nan if held_out is None else held_out.error,
            temperature=self.temperature,
        )

    def check_follows(self, before: Fitted) -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        assert isinstance(before, FittedClassifier)
        if (self.votes, self.loss) != (before.votes, before.loss):
            raise ValueError(
                f"warm_start: votes and loss must be as in the last fit, {before.votes!r} and "
                f"{before.loss!r}; got {self.votes!r} and {self.loss!r}"
            )
        same = self.multilabel == before.multilabel
        if not same or not np.array_equal(self.classes, before.classes):
            raise ValueError("warm_start: y does not have the same classes as in the last fit")
        super().check_follows(before)
        if self.terms.n_cuts != before.terms.n_cuts:
            raise ValueError("warm_start: factorized must be as in the last fit")


@dataclass(frozen=True)
class RankerSettings:
    """The settings of a trained ranker, given or decided; `print` it to read them.

    Attributes
    ----------
    learner, objective : str
        The learner, and what rounds improve.
    learning_rate : float
        The factor on steps.
    n_rounds : int
        The number of rounds in the model.
    rounds_from : str
        What chose them: held-out queries ("4 folds", "10% of the rows", ...), or "n_rounds".
    stop_reason : str
        Why training ended.
    compared : dict of str to float
        The best validation metric of each way to train that ``learner="auto"`` compared.
    """

    learner: str
    objective: str
    learning_rate: float
    n_rounds: int
    rounds_from: str
    stop_reason: str
    compared: dict[str, float]

    def __str__(self) -> str:
        rows = [(name, str(getattr(self, name)), "") for name in ("learner", "objective")]
        rows.append(("learning_rate", f"{self.learning_rate:g}", ""))
        rows.append(("n_rounds", str(self.n_rounds), self._why_rounds()))
        rows += [(name, f"{value:.4f}", "compared") for name, value in self.compared.items()]
        return text_table(rows, left=(0, 1, 2))

    def _why_rounds(self) -> str:
        """Return in words what chose the number of rounds, and what cut them short."""
        given = self.rounds_from == "n_rounds"
        words = "n_rounds" if given else f"chosen on {self.rounds_from}"
        usual = self.stop_reason in ("n_rounds", "early stopping")
        return words if usual else f"{words}, ended by {self.stop_reason}"


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedRanker(Fitted, RankScorer):
    """A trained ranker."""

    has_queries: bool  # whether it was trained on more than one
    objective: str
    learning_rate: float
    candidate: str  # the name of what learner="auto" chose; empty where nothing was compared

    @property
    def settings(self) -> RankerSettings:
        """All settings that training decided on."""
        held_out = self.held_out
        return RankerSettings(
            learner=self.learner_words,
            objective=self.objective,
            learning_rate=self.learning_rate,
            n_rounds=len(self.terms),
            rounds_from=held_out.source if held_out is not None and held_out.chosen else "n_rounds",
            stop_reason=self.stop_reason,
            compared={} if held_out is None else held_out.compared,
        )

    def check_follows(self, before: Fitted) -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        assert isinstance(before, FittedRanker)
        if self.objective != before.objective:
            raise ValueError(
                f"warm_start: objective must be as in the last fit, {before.objective!r}, got "
                f"{self.objective!r}"
            )
        super().check_follows(before)


# What a file holds, and how it is checked

F = TypeVar("F", bound=Fitted)


def _history_field(quantities: tuple[str, ...]) -> Field:
    known = len(quantities)

    def take(history: History, key: str) -> Any:
        return history.to_array() if key == "rounds" else history.fields[known:]

    def make(rounds: Reals, evaluations: list[str]) -> History:
        fields = (*quantities, *evaluations)
        if rounds.shape[1] != len(fields) or len({*fields}) != len(fields):
            raise ValueError("the history does not match the names of its quantities")
        return History.from_array(rounds, fields)

    parts = {
        "rounds": Array("* *", np.float64, finite=False),
        "evaluations": ListOf(Value(str)),
    }
    return Record(parts, make, take)


def _as_numbers(state: dict[str, Any]) -> dict[str, NDArray]:
    """Return whole numbers as int64, others as float64."""
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in state.items()}
    return {
        name: array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        for name, array in arrays.items()
    }


def _learner_from(saved: Any) -> Learner | None:
    return None if saved is None else resolve_learner(saved)


def _held_out_record(**parts: Any) -> HeldOutRecord:
    record = HeldOutRecord(**parts)
    positive("temperature", record.temperature)
    positive("stride", record.stride)
    return record


_HELD_OUT = Record(
    {
        "source": Value(str),
        "n_rounds": Count(),
        "chosen": Value(bool),
        "values": Array("*", np.float64),
        "stride": Count(),
        "log_loss": Value(float),
        "error": Value(float),
        "temperature": Value(float),
        "compared": DictOf(Value(float)),
    },
    _held_out_record,
)

_FIELDS: dict[str, Field] = {
    **SCORING,
    "learner": Converted(SettingOrNone(), lambda learner: learner, _learner_from),
    "eval_metric": Value(str),
    "best_iteration": Count(),
    "stop_reason": Value(str),
    "seed": Count(),
    "search_states": Converted(
        ListOf(DictOf(Array("*", (np.float64, np.int64)))),
        lambda states: [_as_numbers(state) for state in states],
        tuple,
    ),
    "held_out": OrNone(_HELD_OUT),
}


def _classifier(**parts: Any) -> FittedClassifier:
    return _checked(FittedClassifier(**parts))


def _ranker(**parts: Any) -> FittedRanker:
    return _checked(FittedRanker(**parts))


def _checked(fitted: F) -> F:
    """Return a fitted model from a file, or raise unless its parts go together."""
    fitted.check()
    if fitted.history.n_rounds < len(fitted.terms):
        raise ValueError("the history is shorter than the model")
    return fitted


CLASSIFIER = Record(
    {
        **_FIELDS,
        **SCORING_CLASSES,
        "history": _history_field(CLASSIFYING),
        "votes": Value(str, lambda votes: one_of("votes", votes, VOTES)),
        "learning_rate": Value(float, lambda rate: positive("learning_rate", rate)),
        "subsample": Value(float, lambda share: positive("subsample", share)),
        "damping": OrNone(Value(float)),
        "min_samples_leaf": Count(),
        "max_bins": Count(),
        "search": Value(str),
        "n_rows": Count(),
        "reasons": DictOf(Value(str)),
    },
    _classifier,
)
"""A fitted classifier in a model file."""

RANKER = Record(
    {
        **_FIELDS,
        "history": _history_field(RANKING),
        "has_queries": Value(bool),
        "objective": Value(str),
        "learning_rate": Value(float, lambda rate: positive("learning_rate", rate)),
        "candidate": Value(str),
    },
    _ranker,
)
"""A fitted ranker in a model file."""
