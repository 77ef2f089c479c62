"""What prediction needs of a trained model, and how a file holds it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.choices import LOSSES
from edgewise.common.dtypes import Reals
from edgewise.common.fields import (
    Array,
    Arrays,
    Converted,
    Count,
    DictOf,
    Field,
    Json,
    ListOf,
    OrNone,
    Plain,
    Sizes,
    Value,
)
from edgewise.common.ids import text_array
from edgewise.data.filters import Filters
from edgewise.metrics.classification import predicted
from edgewise.model.links import probabilities
from edgewise.model.predict import Predictor
from edgewise.model.rules import Categories
from edgewise.model.terms import TERMS, Terms

CLASS_KINDS: Final = "iufbUO"
"""The kinds of arrays that class labels can be in."""

_MOST_FEATURES: Final = 20_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Scorer:
    """The terms of a trained model, and the columns that they test."""

    terms: Terms
    n_features: int
    feature_names: tuple[str, ...] | None
    categorical: tuple[int, ...]  # the columns that the user declared so
    categories: Categories
    filters: Filters | None  # of images, numbered after the columns

    @cached_property
    def predictor(self) -> Predictor:
        """The terms, ready to score rows."""
        return Predictor(self.terms, self.n_features, self.categories, self.filters)

    def feature_name(self, j: int) -> str:
        """Return the name of a column or of an image filter."""
        if j >= self.n_features and self.filters is not None:
            return self.filters.name(j - self.n_features)
        return f"x{j}" if self.feature_names is None else self.feature_names[j]

    def check(self) -> None:
        """Raise unless the parts go together; a file may hold anything."""
        n_features, filters = self.n_features, self.filters
        check_n_features(n_features)
        if self.feature_names is not None and len(self.feature_names) != n_features:
            raise ValueError("feature names do not match the number of features")
        if any(column >= n_features for column in self.categories):
            raise ValueError("the categories name a column that does not exist")
        if filters is not None and filters.shape[0] * filters.shape[1] != n_features:
            raise ValueError("the image filters do not match the number of features")
        self.terms.check(n_features, 0 if filters is None else len(filters), self.categories)
        if not np.isfinite(self.terms.total_vote):
            raise ValueError("the coefficients are larger than any model's")


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassScorer(Scorer):
    """A trained classifier, as far as prediction goes."""

    classes: NDArray  # the label names of a multi-label problem
    multilabel: bool
    offsets: Reals  # the log-odds that the initial weights add to each score column
    loss: str

    @property
    def temperature(self) -> float:
        """The number that the log-odds of probabilities are divided by."""
        return 1.0

    def decisions(self, scores: Reals) -> Reals:
        """Return scores of shape (n, K) in the shape of a decision function."""
        return scores[:, 0] if scores.shape[1] == 1 and not self.multilabel else scores

    def predictions(self, scores: Reals) -> NDArray:
        """Return the classes of scores, or the 0/1 matrix of labels."""
        codes = predicted(scores, self.multilabel)
        return codes if self.multilabel else self.classes[codes]

    def probabilities(self, scores: Reals) -> Reals:
        """Return the probabilities of scores, of shape (n, classes)."""
        return probabilities(scores, self.offsets, self.multilabel, self.loss, self.temperature)

    def check(self) -> None:
        """Raise unless the parts go together."""
        super().check()
        if self.terms.n_scores != n_scores(len(self.classes), self.multilabel):
            raise ValueError("the votes do not match the classes")


@dataclass(frozen=True, eq=False, kw_only=True)
class RankScorer(Scorer):
    """A trained ranker, as far as prediction goes."""

    @cached_property
    def score_offsets(self) -> Reals:
        """The offset, after each number of rounds, from rules of -1 and +1 to rules of 0 and 1."""
        moves = self.terms.coefficients[:, 0]
        return np.concatenate(([0.0], np.cumsum(np.where(self.terms.real, 0.0, moves))))

    def check(self) -> None:
        """Raise unless the parts go together."""
        super().check()
        if self.terms.n_scores != 1:
            raise ValueError("a ranker has one score")


def check_n_features(n_features: int) -> None:
    """Raise if there are more columns than a model can have."""
    if n_features > _MOST_FEATURES:
        raise ValueError(f"X has {n_features:,} features, a model at most {_MOST_FEATURES:,}")


def n_scores(n_classes: int, multilabel: bool) -> int:
    """Return the number of score columns: two classes share one."""
    return 1 if n_classes == 2 and not multilabel else n_classes


class _ClassLabels(Field):
    """Class labels of any type that JSON can hold."""

    def pack(self, value: NDArray, name: str, arrays: Arrays) -> Json:
        return {"dtype": value.dtype.str, "values": value.tolist()}

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> NDArray:
        dtype, values = np.dtype(str(saved["dtype"])), saved["values"]
        if dtype.kind not in CLASS_KINDS or (dtype.kind in "iuf" and dtype.itemsize > 8):
            raise ValueError(f"classes of type {dtype} are not allowed")
        if not isinstance(values, list) or len(values) < 2:
            raise ValueError("a classifier needs at least two classes")
        if not all(isinstance(value, (str, int, float, bool)) for value in values):
            raise ValueError("classes must be numbers or strings")
        if len({*values}) < len(values):
            raise ValueError("classes must all be different")
        if dtype.kind == "U":
            return text_array("classes", [str(value) for value in values])
        classes = np.array(values, dtype=dtype)
        if classes.tolist() != values:
            raise ValueError(f"classes do not fit their type, {dtype}")
        return classes


def _category(value: object) -> object:
    if not isinstance(value, (str, float)):
        raise TypeError(f"a category must be a string or a number, got {value!r}")
    return value


def _filters_from(saved: list[int]) -> Filters:
    rows, columns, smallest = saved
    return Filters((rows, columns), smallest)


SCORING: Final[dict[str, Field]] = {
    "terms": TERMS,
    "n_features": Count(),
    "feature_names": OrNone(Converted(ListOf(Value(str)), list, tuple)),
    "categorical": Converted(ListOf(Count()), list, tuple),
    "categories": DictOf(Converted(ListOf(Plain(_category)), list, tuple), int),
    "filters": OrNone(Converted(ListOf(Count()), lambda f: [*f.shape, f.smallest], _filters_from)),
}
"""The fields of a scorer."""

SCORING_CLASSES: Final[dict[str, Field]] = {
    **SCORING,
    "classes": _ClassLabels(),
    "multilabel": Value(bool),
    "offsets": Array("scores", np.float64),
    "loss": Value(str, lambda loss: one_of("loss", loss, LOSSES)),
}
"""The fields of a scorer of classes."""
