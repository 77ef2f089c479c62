"""The record of a trained model, which prediction, files, warm starts and checkpoints read."""

import math
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import CLASSIFIER_FIELDS, RANKER_FIELDS, History
from edgewise.common.checks import one_of, positive, power_of_two
from edgewise.common.choices import VOTES
from edgewise.common.dtypes import Columns, Exacts, Reals
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
from edgewise.learners import Additive, Learner, resolve_learner
from edgewise.model.edits import Edit
from edgewise.model.file import SettingOrNone
from edgewise.model.scorer import SCORING, SCORING_CLASSES, ClassScorer, RankScorer, Scorer
from edgewise.model.shapes import Shapes, cell_axes, find_shapes

F = TypeVar("F", bound="Fitted")


@dataclass(frozen=True, eq=False)
class HeldOutRecord:
    """The number of rounds that held-out rows chose, and how well the model does on them."""

    source: str  # of the rows, see `ModelSettings.rounds_from`
    n_rounds: int  # that they chose, or were measured at
    chosen: bool = True  # whether they chose the rounds
    values: Reals = field(default_factory=lambda: np.empty(0))  # the metric after each round
    stride: int = 1  # rounds of the model for each round on folds
    log_loss: float = math.nan
    error: float = math.nan
    prior_log_loss: float = math.nan  # of the class frequencies
    temperature: float = 1.0  # to divide log-odds by for the lowest log loss
    compared: dict[str, float] = field(default_factory=dict)  # the best value of each candidate

    @property
    def best(self) -> float:
        """The validation metric after `n_rounds` rounds."""
        index = self.n_rounds // self.stride - 1
        return float(self.values[index]) if 0 <= index < len(self.values) else math.nan


@dataclass(frozen=True, eq=False)
class AdditiveRecord:
    """The data of an additive model that are not in its terms."""

    counts: tuple[Exacts, ...] = ()  # the training rows in each cell of each column
    # (P, 2), the pairs of columns that may share trees
    pairs: Columns = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    has_errors: bool = False  # whether each averaged model left out other rows
    edits: tuple[Edit, ...] = ()


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
    held_out: HeldOutRecord | None = None
    unsaved: tuple[str, ...] = ()  # settings that the model's file could not hold
    learning_rate: float
    n_bags: int = 1  # the models whose mean this is: each round has a term of every one
    additive: AdditiveRecord | None = None  # of a sum of curves and tables
    constraints: dict[str, str] = field(default_factory=dict)  # on columns, in words

    @property
    def n_rounds(self) -> int:
        """The number of rounds in the model."""
        return len(self.terms) // self.n_bags

    @cached_property
    def shapes(self) -> Shapes | None:
        """The curves and tables that the model is the sum of, if it is."""
        if self.additive is None:
            return None
        counts = [of_column.astype(np.float64) for of_column in self.additive.counts]
        return find_shapes(self, counts or None, self.n_bags, self.additive.has_errors)

    @property
    def shows_terms(self) -> bool:
        """Whether reports and commands show curves and tables in place of rules."""
        return isinstance(self.learner, Additive) and self.shapes is not None

    @property
    def evaluations(self) -> dict[str, dict[str, Reals]]:
        """The metrics of validation rows after each round, by the names of rows and metric."""
        if "validation" not in self.history:
            return {}
        unnamed = {"validation": {self.eval_metric: self.history["validation"]}}
        return self.history.evaluations() or unnamed

    @property
    def best_validation(self) -> float:
        """The validation metric after the best round; NaN without validation rows."""
        values = self.history["validation"]
        return float(values[self.best_iteration - 1]) if self.best_iteration else math.nan

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The changes of terms by hand."""
        return () if self.additive is None else self.additive.edits

    @property
    def decreases(self) -> Reals:
        """The decrease of the training loss by each term.

        It is exact for the exponential loss. For others it is a lower bound or, for the top of a
        list, the decrease with the weights that pairs had before the round; relative to the loss if
        models are averaged.
        """
        rounds = slice(self.n_rounds)
        energies = np.maximum(self.history["energy"][rounds], 1e-300)
        losses = self.history["bound"][rounds] / energies
        if "weight" in self.history:
            weights = self.history["weight"][rounds]
            losses = np.where(np.isnan(weights), losses, weights)
        decreases: Reals = losses * np.maximum(1.0 - energies, 0.0)
        return np.repeat(decreases / self.n_bags, self.n_bags)

    def _select_settings(self, kind: type[Any], **values: Any) -> Any:
        """Return the settings of some kind, from `values` and the fields of this record."""
        held_out, learner = self.held_out, "not in the file"
        if self.learner is not None:
            learner = " ".join(repr(self.learner).split())  # scikit-learn breaks long lines
        is_chosen = held_out is not None and held_out.chosen
        values = vars(self) | values
        values |= {"learner": learner, "n_rounds": self.n_rounds}
        values["rounds_from"] = held_out.source if held_out and is_chosen else "n_rounds"
        return kind(**{field.name: values[field.name] for field in fields(kind)})

    def check_follows(self, before: "Fitted") -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        if self.categories != before.categories:
            raise ValueError(
                "warm_start: X has categorical columns with other values than in the last fit"
            )
        if self.filters != before.filters:
            raise ValueError("warm_start: learner must have the image filters of the last fit")
        if self.rates is not before.rates and not (self.rates and self.rates.equals(before.rates)):
            raise ValueError(
                "warm_start: X and y must have the category rates of the last fit; train on the "
                "same rows, or with category_rates=False"
            )
        if self.constraints != before.constraints:
            raise ValueError(
                "warm_start: monotonic_cst, interaction_cst and ignored_features must be as in the "
                "last fit"
            )
        if self.terms.is_additive != before.terms.is_additive:
            raise ValueError("warm_start: learner must be as in the last fit")
        if self.n_bags != before.n_bags:
            raise ValueError(
                f"warm_start: n_bags must be as in the last fit, {before.n_bags}; got {self.n_bags}"
            )


class _Settings:
    """The settings of a trained model; `print` shows them."""

    rounds_from: str
    stop_reason: str

    def _explain_rounds(self) -> str:
        """Return the reason for the number of rounds."""
        if self.rounds_from == "too few rows":
            return "no row can be held out"
        if self.rounds_from == "n_rounds":
            reason = getattr(self, "reasons", {}).get("n_rounds", "n_rounds")
            expected = {"n_rounds"}
        else:
            reason, expected = f"chosen on {self.rounds_from}", {"n_rounds", "early stopping"}
        return reason if self.stop_reason in expected else f"{reason}, ended by {self.stop_reason}"


@dataclass(frozen=True)
class ModelSettings(_Settings):
    """The settings of a trained classifier, given or decided, and why; `print` it to read them.

    Attributes
    ----------
    learner : str
        The learner.
    max_leaf_nodes : int or None
        The maximum number of leaves of a tree; None for other learners.
    votes, loss, learning_rate, subsample, damping, min_samples_leaf, max_bins, search :
        As the parameters of the estimator.
    reasons : dict of str
        The origin of each of these: "given", the preset ("auto" or "paper"), or "time_limit"
        (larger steps, to save time).
    n_bags : int
        The number of models whose mean this is.
    n_rows : int
        The number of training rows.
    n_rounds : int
        The number of rounds in the model.
    rounds_from : str
        What chose them: held-out rows ("3 folds", "2 of 4 folds", "20% of the rows", "10% of the
        rows", "validation_fraction", "eval_set"), the parameter "n_rounds", or "too few rows".
    stop_reason : str
        Why training ended.
    held_out_log_loss, held_out_error : float
        Measured on the held-out rows, with the temperature; NaN without any.
    prior_log_loss : float
        The log loss there of the class frequencies alone.
    temperature : float
        The number that ``predict_proba`` divides log-odds by, for the lowest log loss of the
        held-out rows; 1 without any.
    candidate : str
        The trees that won a comparison; empty where nothing was compared.
    compared : dict of str to float
        The validation metric of each candidate that held-out rows compared.
    constraints : dict of str
        The constraints that were given, such as ``{"monotonic_cst": "age +1"}``.
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
    n_bags: int
    reasons: dict[str, str]
    n_rows: int
    n_rounds: int
    rounds_from: str
    stop_reason: str
    held_out_log_loss: float
    held_out_error: float
    prior_log_loss: float
    temperature: float
    candidate: str
    compared: dict[str, float]
    constraints: dict[str, str]

    def __str__(self) -> str:
        values = asdict(self)
        reasons, compared = values.pop("reasons"), values.pop("compared")
        constraints = values.pop("constraints")
        values, reasons = values | constraints, reasons | dict.fromkeys(constraints, "given")
        candidate = values.pop("candidate")
        reasons["n_rounds"] = self._explain_rounds()
        if math.isnan(self.held_out_log_loss):
            reasons["temperature"] = "no rows were held out"
        rows = [
            (
                name,
                f"{value:.4g}" if isinstance(value, float) else str(value),
                reasons.get(name, ""),
            )
            for name, value in values.items()
            if value is not None
            and value == value  # not NaN
            and name not in ("rounds_from", "stop_reason")
        ]
        rows += [
            (name, f"{value:.4g}", "compared, chosen" if name == candidate else "compared")
            for name, value in sorted(compared.items())
        ]
        return text_table(rows, left=(0, 1, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedClassifier(Fitted, ClassScorer):
    """A trained classifier."""

    votes: str
    subsample: float
    damping: float | None
    min_samples_leaf: int
    max_bins: int
    search: str
    candidate: str  # the name of the trees that won a comparison; empty for the usual ones
    n_rows: int  # trained on
    reasons: dict[str, str]  # the origin of each setting

    @property
    def temperature(self) -> float:
        """The number that the log-odds of probabilities are divided by."""
        return 1.0 if self.held_out is None else self.held_out.temperature

    @property
    def settings(self) -> ModelSettings:
        """All settings that training decided on."""
        compared = {} if self.held_out is None else self.held_out.compared
        return self._select_settings(
            ModelSettings,
            max_leaf_nodes=getattr(self.learner, "max_leaf_nodes", None),
            held_out_log_loss=math.nan if self.held_out is None else self.held_out.log_loss,
            held_out_error=math.nan if self.held_out is None else self.held_out.error,
            prior_log_loss=math.nan if self.held_out is None else self.held_out.prior_log_loss,
            temperature=self.temperature,
            candidate=(self.candidate or "usual trees") if compared else "",
            compared=compared,
        )

    def check_follows(self, before: Fitted) -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        assert isinstance(before, FittedClassifier)
        if (self.votes, self.loss) != (before.votes, before.loss):
            raise ValueError(
                f"warm_start: votes and loss must be as in the last fit, {before.votes!r} and "
                f"{before.loss!r}; got {self.votes!r} and {self.loss!r}"
            )
        same_kind = self.multilabel == before.multilabel
        if not same_kind or not np.array_equal(self.classes, before.classes):
            raise ValueError("warm_start: y does not have the same classes as in the last fit")
        super().check_follows(before)
        if self.terms.n_cuts != before.terms.n_cuts:
            raise ValueError("warm_start: factorized must be as in the last fit")


@dataclass(frozen=True)
class RankBoostSettings(_Settings):
    """The settings of a trained ranker, given or decided; `print` it to read them.

    Attributes
    ----------
    learner, objective : str
        The learner, and the objective that rounds improve.
    learning_rate : float
        The factor on steps.
    eval_metric : str
        The metric that decides.
    reasons : dict of str
        The origin of each of these: "given", the preset ("auto" or "paper"), or "compared".
    n_rounds : int
        The number of rounds in the model.
    rounds_from : str
        What chose them: held-out queries ("4 folds", "10% of the rows", ...), or "n_rounds".
    stop_reason : str
        Why training ended.
    compared : dict of str to float
        The best validation metric of each candidate that held-out queries compared.
    constraints : dict of str
        The constraints that were given, such as ``{"ignored_features": "id"}``.
    """

    learner: str
    objective: str
    learning_rate: float
    eval_metric: str
    reasons: dict[str, str]
    n_rounds: int
    rounds_from: str
    stop_reason: str
    compared: dict[str, float]
    constraints: dict[str, str]

    def __str__(self) -> str:
        reasons = {**self.reasons, "n_rounds": self._explain_rounds()}
        names = ("learner", "objective", "learning_rate", "eval_metric", "n_rounds")
        rows = [(name, str(getattr(self, name)), reasons.get(name, "")) for name in names]
        rows += [(name, value, "given") for name, value in self.constraints.items()]
        first = next(iter(self.compared.values()), 0.0)
        rows += [
            (name, f"{value:.4f}", f"compared, {value - first:+.4f}" if i else "compared")
            for i, (name, value) in enumerate(self.compared.items())
        ]
        return text_table(rows, left=(0, 1, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedRanker(Fitted, RankScorer):
    """A trained ranker."""

    has_queries: bool  # whether it was trained on several
    objective: str
    candidate: str  # the name of the candidate that won; empty where no query was held out
    reasons: dict[str, str]  # the origin of each setting

    @property
    def settings(self) -> RankBoostSettings:
        """All settings that training decided on."""
        compared = {} if self.held_out is None else self.held_out.compared
        return self._select_settings(RankBoostSettings, compared=compared)

    def check_follows(self, before: Fitted) -> None:
        """Raise unless rounds of this model can follow the rounds of an earlier one."""
        assert isinstance(before, FittedRanker)
        if self.objective != before.objective:
            raise ValueError(
                f"warm_start: objective must be as in the last fit, {before.objective!r}, got "
                f"{self.objective!r}"
            )
        super().check_follows(before)


# Fields of files


def _history_field(quantities: tuple[str, ...]) -> Field:
    def take(history: History, key: str) -> Any:
        return history.to_array() if key == "rounds" else history.fields[len(quantities) :]

    def make(rounds: Reals, evaluations: list[str]) -> History:
        fields = (*quantities, *evaluations)
        if rounds.shape[1] != len(fields) or len({*fields}) != len(fields):
            raise ValueError("the history does not match the names of its quantities")
        return History.from_array(rounds, fields)

    rounds = Array("* *", np.float64, finite=False)
    return Record({"rounds": rounds, "evaluations": ListOf(Value(str))}, make, take)


def _as_numbers(state: dict[str, Any]) -> dict[str, NDArray]:
    """Return whole numbers as int64, others as float64."""
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in state.items()}
    return {
        name: array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        for name, array in arrays.items()
    }


def _positive(name: str, kind: type = float) -> Value:
    """Return the field of a positive number."""
    return Value(kind, partial(positive, name))


def _check_additive(fitted: Fitted, record: AdditiveRecord) -> None:
    """Raise unless the counts of an additive model fit its terms."""
    sizes = [axis.n_cells for axis in cell_axes(fitted.in_subsets).values()]
    counts = record.counts
    if counts and ([*map(len, counts)] != sizes or min(c.min() for c in counts) < 0):
        raise ValueError("the numbers of rows do not match the cells of the columns")
    if ((record.pairs < 0) | (record.pairs >= fitted.n_features)).any():
        raise ValueError("a pair names a column that does not exist")


def _check_fitted(kind: type[F], **values: Any) -> F:
    """Return a fitted model from a file, or raise unless its fields agree."""
    fitted = kind(**values)
    fitted.check()
    if len(fitted.terms) % fitted.n_bags:
        raise ValueError("the number of terms is not a multiple of the number of bags")
    if fitted.history.n_rounds < fitted.n_rounds and not fitted.edits:
        raise ValueError("the history is shorter than the model")
    if fitted.additive is not None:
        _check_additive(fitted, fitted.additive)
    return fitted


_HELD_OUT = Record(
    {
        "source": Value(str),
        "n_rounds": Count(),
        "chosen": Value(bool),
        "values": Array("*", np.float64),
        "stride": _positive("stride", int),
        "log_loss": Value(float),
        "error": Value(float),
        "prior_log_loss": Value(float),
        "temperature": _positive("temperature"),
        "compared": DictOf(Value(float)),
    },
    HeldOutRecord,
)

_ADDITIVE = Record(
    {
        "counts": ListOf(Array("*", np.int64)),
        "pairs": Array("* 2", np.int64),
        "has_errors": Value(bool),
        "edits": ListOf(
            Record(
                {
                    "term": Value(str),
                    "change": Value(str),
                    "metric": Value(str),
                    "before": Value(float),
                    "after": Value(float),
                    "n_rows": Count(),
                },
                Edit,
            )
        ),
    },
    lambda counts, edits, **others: AdditiveRecord(
        counts=tuple(counts), edits=tuple(edits), **others
    ),
)

_FIELDS: dict[str, Field] = {
    **SCORING,
    "learner": Converted(
        SettingOrNone(),
        lambda learner: learner,
        lambda saved: None if saved is None else resolve_learner(saved),
    ),
    "learning_rate": _positive("learning_rate"),
    "n_bags": Value(int, partial(power_of_two, "n_bags")),
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
    "additive": OrNone(_ADDITIVE),
    "constraints": DictOf(Value(str)),
}

CLASSIFIER = Record(
    {
        **_FIELDS,
        **SCORING_CLASSES,
        "history": _history_field(CLASSIFIER_FIELDS),
        "votes": Value(str, lambda votes: one_of("votes", votes, VOTES)),
        "subsample": _positive("subsample"),
        "damping": OrNone(Value(float)),
        "min_samples_leaf": Count(),
        "max_bins": Count(),
        "search": Value(str),
        "candidate": Value(str),
        "n_rows": Count(),
        "reasons": DictOf(Value(str)),
    },
    partial(_check_fitted, FittedClassifier),
)
"""A fitted classifier in a model file."""

RANKER = Record(
    {
        **_FIELDS,
        "history": _history_field(RANKER_FIELDS),
        "has_queries": Value(bool),
        "objective": Value(str),
        "candidate": Value(str),
        "reasons": DictOf(Value(str)),
    },
    partial(_check_fitted, FittedRanker),
)
"""A fitted ranker in a model file."""
