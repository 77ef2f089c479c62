"""Parameters that estimators share: their defaults, descriptions and checks."""

import re
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, TypeVar

from edgewise.boosting import EarlyStopping, check_callbacks
from edgewise.common.checks import (
    flag,
    integer,
    one_of,
    positive,
    power_of_two,
    threads,
    verbosity,
)
from edgewise.data import MAX_BINS
from edgewise.data.table import INFINITE_CHOICES
from edgewise.search import resolve_search

C = TypeVar("C", bound=type)

DEVICES = ("cpu", "cuda", "auto")

_PARAMETERS = "\n\nParameters\n----------\n"


@dataclass(eq=False, repr=False, kw_only=True)
class TrainingParameters:
    """Parameters of everything that trains by boosting.

    Parameters
    ----------
    n_rounds : int, default 500
        The number of boosting rounds.
    validation_fraction : float or None, default None
        Fraction of the training rows, or of a ranker's queries, to set aside for validation.
    early_stopping_rounds : int or None, default None
        Stop after this many rounds without improvement of the validation metric, and keep the
        rounds up to the best. Validation rows count equally, whatever their `sample_weight`.
    time_limit : float or None, default None
        Seconds after which training stops, including reading, binning and the choice of rounds.
    n_jobs : int or None, default None
        Number of threads: None means 1, -1 all cores (in joblib's workers, their share of them).
    random_state : int, RandomState or None, default 0
        Seed of folds, validation splits, subsamples and random searches. None draws a new seed in
        every fit.
    verbose : int, default 0
        1 shows a progress bar and, for a classifier, the settings at the end.
    callbacks : list of Callback or None, default None
        Objects that watch or stop the training.
    warm_start : bool, default False
        Whether `fit` adds rounds to the last fit.
    """

    n_rounds: int = 500
    validation_fraction: float | None = None
    early_stopping_rounds: int | None = None
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    callbacks: Any = None
    warm_start: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class TableParameters(TrainingParameters):
    """Parameters of estimators that train on a table.

    Parameters
    ----------
    subsample : float, default 1.0
        Fraction of the rows, or of a ranker's queries, that each round searches for rules. Votes
        and steps use all rows.
    n_bags : int or None, default None
        Number of models to average, a power of two. Each draws rows and columns of its own, so it
        needs `subsample` below 1 or a search of random columns. Averaging lowers the error, most of
        all on few rows, and multiplies the training time by `n_bags`. None is 1.
    search : {"exhaustive", "auto", "lazy", "ucb", "thompson", "exp3p"} or Search, \
default "exhaustive"
        The columns to search in each round: all, or random ones ("lazy"); the others learn which
        columns pay off. "auto" searches all of up to 199 columns, and 50 of more, which it learns.
    max_bins : int or None, default None
        Maximum number of bins per column, up to 65,535. A column with fewer distinct values is
        searched at every threshold. None is 256; for "paper", and with fewer than 20 queries unless
        rules are trees, 65,535, or 1,024 beyond 65,535 documents.
    categorical_features : list of str, int or bool, or None, default None
        Numeric columns to treat as categorical, by name, index or mask. Strings and categories are
        detected without it.
    ignored_features : list of str, int or bool, or None, default None
        Columns that no rule may use, by name, index or mask; predictions do not depend on them.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of columns, or None, \
default None
        Which columns a tree may test on one path, or a product may multiply: two at most, one at
        most, or those of one of the lists, by name or index; columns that are not listed form one
        more list. Rates of categories go with the columns that they are made of.
    handle_infinite : {"raise", "missing", "value"}, default "raise"
        Whether an infinite number in X is an error, a missing value, or larger than all others.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        Where training runs: "cuda" is an NVIDIA GPU and needs ``edgewise[cuda]``; "auto" uses a GPU
        if there is one and the work is worth it. The model is the same, bit for bit.
    """

    search: Any = "exhaustive"
    subsample: float = 1.0
    n_bags: int | None = None
    max_bins: int | None = None
    handle_infinite: str = "raise"
    categorical_features: Any = None
    ignored_features: Any = None
    interaction_cst: Any = None
    device: str = "cpu"

    def _check_training(self, validates: bool, chooses_rounds: bool) -> None:
        """Raise if one of these parameters is wrong.

        There may be an eval set, and `fit` may hold rows out to choose rounds.
        """
        if self.search is not None:
            resolve_search(self.search)
        flag("warm_start", self.warm_start)
        if self.max_bins is not None:
            integer("max_bins", self.max_bins, 2, MAX_BINS)
        if self.n_bags is not None:
            power_of_two("n_bags", self.n_bags)
        one_of("handle_infinite", self.handle_infinite, INFINITE_CHOICES)
        callbacks = check_callbacks(self.callbacks)
        verbosity("verbose", self.verbose)
        threads("n_jobs", self.n_jobs)
        if one_of("device", self.device, DEVICES) == "cuda":
            from edgewise.backend.choose import need_gpu

            need_gpu()
        if self.time_limit is not None:
            positive("time_limit", self.time_limit)
        if self.validation_fraction is not None:
            positive("validation_fraction", self.validation_fraction, below=1.0)
            if validates:
                raise ValueError("give validation_fraction or eval_set, not both")
        has_validation = validates or chooses_rounds or self.validation_fraction is not None
        if self.early_stopping_rounds is not None:
            integer("early_stopping_rounds", self.early_stopping_rounds, 1)
            if not has_validation:
                raise ValueError("early_stopping_rounds needs validation_fraction or eval_set")
        stopping = [c for c in callbacks if isinstance(c, EarlyStopping)]
        if stopping and not has_validation:
            raise ValueError("EarlyStopping needs validation rows: validation_fraction or eval_set")


@dataclass(eq=False, repr=False, kw_only=True)
class RankingParameters(TrainingParameters):
    """Parameters of rankers.

    Parameters
    ----------
    preset : {"auto", "paper"}, default "auto"
        The values of all parameters that you leave at "auto" or None. With "auto", held-out queries
        choose them; "paper" is RankBoost (Iyer 1999; Freund, Iyer, Schapire and Singer 2003):
        stumps on pairs, 500 rounds of full steps, equal weights of all pairs, and weights of
        thresholds of any sign (WeakLearn.3).
    eval_metric : {"auto"}, str, callable or list of them, default "auto"
        The metric that held-out queries choose by, and of `score`: "map", "ndcg", "ndcg@10", "mrr",
        "precision@10", "recall@10", "auc", "disagreement", "prot" or "precision_at_full_recall",
        averaged over ties. "auto" is "ndcg@10" for more than two grades, and "map" for two and for
        pairs. A callable takes grades, scores and query ids, and is maximized. The first of several
        decides; `evals_result_` has all.
    pair_weight : {"auto", "equal", "difference"}, default "auto"
        Weight of a pair of documents: 1, or the difference of their grades. "auto" is "difference",
        or "equal" for "paper".
    query_weight : {"auto", "pairs", "root", "equal"}, default "auto"
        Weight of all pairs of a query: their number, its square root, or 1. "auto" is "root", or
        "pairs" for "paper".
    monotonic_cst : {"auto", "learn", "increasing", "none"}, dict or array, default "auto"
        Direction of a column's contribution to the score. "learn": the direction of its first rule.
        "increasing": never decreasing, the positive cumulative weights of Iyer 1999
        (WeakLearn.cum). "none": any. Or +1, -1 or 0 (any) for each column, or by name; columns that
        a dict omits learn their direction. Directions are learned by thresholds for pairs alone;
        given ones hold for trees and every objective. "auto" is "learn", or "none" for "paper".
    missing : {"learn", "low", "high"}, default "learn"
        Output of a rule for a missing value, or a document that a list does not return: the better
        one, or always 0 ("low") or 1 ("high"), the q_def of Iyer 1999. For learners given by name;
        with "feature", the smallest or the largest value.
    criterion : {"edge", "energy"}, default "edge"
        How rules are compared: by ``|r|``, or by the exact Z = W0 + 2 sqrt(W- W+), which is about
        ten times slower and for thresholds only (the third and second methods of Iyer 1999).
    step : {"bound", "exact"} or None, default None
        Whether the step minimizes the bound sqrt(1 - r^2) of Z, or Z itself. None is "bound" for
        ``criterion="edge"`` and "exact" for "energy". Rules with real values take exact steps.
    """

    criterion: str = "edge"
    step: str | None = None
    preset: str = "auto"
    monotonic_cst: Any = "auto"
    missing: str = "learn"
    pair_weight: str = "auto"
    query_weight: str = "auto"
    eval_metric: Any = "auto"


def document_parameters(cls: C) -> C:
    """Add to a class's docstring the parameters of its bases, and its fitted attributes."""
    if cls.__doc__ is None:  # python -OO
        return cls
    head, example, tail = cleandoc(cls.__doc__).partition("\n\nExamples\n")
    summary, _, section = head.partition(_PARAMETERS)
    bases = [base for base in cls.__mro__[1:] if issubclass(base, TrainingParameters)]
    sections = [
        section,
        *(cleandoc(base.__doc__ or "").partition(_PARAMETERS)[2] for base in bases),
    ]
    parameters: dict[str, str] = {}
    for block in re.split(r"\n(?=\w)", "\n".join(sections).strip()):
        parameters.setdefault(block.partition(" : ")[0], block)
    attributes = [
        f"{name}\n    {value.__doc__}"
        for base in cls.__mro__
        for name, value in vars(base).items()
        if isinstance(value, property) and name.endswith("_") and name[0] != "_"
    ]
    listed = _PARAMETERS + "\n".join(parameters.values())
    listed += "\n\nAttributes\n----------\n" + "\n".join(attributes)
    cls.__doc__ = summary + listed + example + tail
    return cls
