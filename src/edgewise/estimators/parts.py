"""How learner, search and storage of a classifier's terms fit together."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from edgewise.data import BinnedTable, Categories
from edgewise.data.filters import Filters
from edgewise.learners import Feature, Goal, Haar, Learner, Stump, learner_named
from edgewise.model import RuleTerms, StumpTerms, Terms
from edgewise.objective import Settings
from edgewise.search import Exhaustive, Search

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH


def settings_of(model: "AdaBoostMH", seed: int, multilabel: bool) -> Settings:
    """Return how the loss is lowered; what the user left open follows from the learner.

    With learner="auto" that is what measured best (see docs/learners.md); with a learner of the
    user's choice it is the papers' discrete AdaBoost.MH.
    """
    auto = isinstance(model.learner, str) and model.learner == "auto" and model.factorized
    votes, loss, rate = "discrete", "exponential", 1.0
    if auto:
        votes, loss, rate = "real", "logistic", 0.1 if multilabel else 0.2
    return Settings(
        votes if model.votes is None else model.votes,
        bool(model.factorized),
        loss if model.loss is None else model.loss,
        float(rate if model.learning_rate is None else model.learning_rate),
        float(model.subsample),
        str(model.sampling),
        None if model.trim is None else float(model.trim),
        seed,
    )


def filters_of(learner: Learner) -> Filters | None:
    """Return the image filters that a learner uses, if any.

    Raises
    ------
    ValueError
        If it uses several sets of them.
    """
    found = {part.filters for part in learner.simple_parts() if isinstance(part, Haar)}
    if len(found) > 1:
        raise ValueError("learner: all Haar parts must have the same shape and smallest")
    return next(iter(found), None)


def learner_for(model: "AdaBoostMH", table: BinnedTable, goal: Goal) -> Learner:
    """Return the learner to train with, checked against the table and the votes.

    Raises
    ------
    ValueError
        If there are columns that it cannot use, or its rules need real votes.
    """
    if not model.factorized and isinstance(model.learner, str):
        learner: Learner = Stump()
    else:
        learner = learner_named(model.learner, table, goal)
    if any(isinstance(part, Feature) for part in learner.simple_parts()):
        raise ValueError("learner: Feature is for RankBoost, not for a classifier")
    check_kinds(learner, table)
    real = [part for part in learner.simple_parts() if not part.makes_tests]
    if real and model.votes != "real":
        raise ValueError(f"learner {real[0]!r} needs votes='real', got votes={model.votes!r}")
    return learner


def check_kinds(learner: Learner, table: BinnedTable) -> None:
    """Raise if there are columns of a kind that the learner cannot use."""
    categorical = [b.name for b in table.bins if isinstance(b, Categories)]
    numeric = [b.name for b in table.bins if not isinstance(b, Categories)]
    can_use = learner.kinds()
    if categorical and "categorical" not in can_use:
        raise ValueError(
            f"X has the categorical column {categorical[0]!r}, which learner={learner!r} "
            "cannot use: add Indicator() or Selector() to it, or encode the column as numbers"
        )
    if numeric and "numeric" not in can_use:
        raise ValueError(
            f"X has the numeric column {numeric[0]!r}, which learner={learner!r} cannot use: add "
            "Stump() to it, or list the column in categorical"
        )


def terms_for(learner: Learner, factorized: bool) -> type[Terms]:
    """Return how the terms are stored: stumps collapse to tables, other rules do not."""
    return StumpTerms if isinstance(learner, Stump) or not factorized else RuleTerms


def no_terms(kind: type[Terms], n_cuts: int, n_scores: int) -> Terms:
    """Return no terms of a kind."""
    if issubclass(kind, StumpTerms):
        return kind.empty(n_cuts, n_scores)
    return kind.empty(n_scores)


def with_all_columns(
    learner: Learner, search: Search, all_rows: bool, table: BinnedTable, seed: int
) -> Callable[[], Learner] | None:
    """Return a function that gives the learner with a search of all columns, made when needed.

    None where every round looks at all columns and rows anyway.
    """
    if isinstance(search, Exhaustive) and all_rows:
        return None

    @cache
    def ready() -> Learner:
        return learner.ready(table, Exhaustive(), seed)

    return ready
