"""Parameters that estimators share: their defaults, descriptions and checks."""

from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, TypeVar

from edgewise.boosting import check_callbacks
from edgewise.common.checks import flag, integer, one_of, positive, threads, verbosity
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
        The number of rounds. A classifier also takes "auto", a number that held-out rows choose,
        and has None by default: "auto" for ``learner="auto"``, else 500.
    validation_fraction : float or None, default None
        The share of the rows (a ranker: of the queries) to set aside for validation.
    early_stopping_rounds : int or None, default None
        Stop after this many rounds without improvement of the validation metric, and keep the
        rounds up to the best. Validation rows count equally, whatever their `sample_weight`.
    time_limit : float or None, default None
        Stop training after this many seconds, reading, binning and the choice of rounds included.
    n_jobs : int or None, default None
        The number of threads: None means 1, -1 all cores; in joblib's workers, their share of them.
    random_state : int, RandomState or None, default 0
        Seeds folds and validation splits, random searches and starts, and subsamples: the same call
        gives the same model. None draws a new seed in every fit.
    verbose : int, default 0
        1 shows a progress bar and, for a classifier, the settings at the end.
    callbacks : list of Callback or None, default None
        Objects that watch or stop the training.
    warm_start : bool, default False
        Whether `fit` continues from the rounds of the last fit.
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
    search : {"exhaustive", "auto", "lazy", "ucb", "thompson", "exp3p"} or Search
        Which columns a round searches: by default all, "lazy" random ones; the others learn which
        columns pay off. "auto" searches all of up to 199 columns, and 50 of more, which it learns.
        A classifier has None by default: "auto" for ``learner="auto"``, else "exhaustive".
    subsample : float, default 1.0
        The share of the rows (a ranker: of the queries), drawn in every round, to search for rules.
        Votes and steps use all rows. A classifier has None by default: below 1 for
        ``learner="auto"`` without `trim`, else 1.
    max_bins : int or None
        The most bins of a column, up to 65,535. A column with fewer distinct values is searched at
        every threshold. By default None: for a classifier 256, with ``learner="auto"`` one for
        every 32 rows, from 32 to 256; for trees of a ranker 256, for other rankers 65,535, from
        more documents on 1,024.
    handle_infinite : {"raise", "missing", "value"}, default "raise"
        Whether an infinite number in X is an error, a missing value, or beyond all others.
    categorical_features : list of str, int or bool, or None, default None
        Columns, by name or number, or a truth value for each, of categories coded as numbers;
        strings are found without it.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        Where training runs: "cuda" is an NVIDIA GPU, and needs ``edgewise[cuda]``; "auto" takes one
        if there is any and the work is worth it. The model is the same, bit for bit.
    """

    search: Any = "exhaustive"
    subsample: float = 1.0
    max_bins: int | None = None
    handle_infinite: str = "raise"
    categorical_features: Any = None
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
        one_of("handle_infinite", self.handle_infinite, INFINITE_CHOICES)
        check_callbacks(self.callbacks)
        verbosity("verbose", self.verbose)
        threads("n_jobs", self.n_jobs)
        if one_of("device", self.device, DEVICES) == "cuda":
            from edgewise.backend.choose import need_gpu

            need_gpu()
        if self.validation_fraction is not None:
            positive("validation_fraction", self.validation_fraction, below=1.0)
            if validates:
                raise ValueError("give validation_fraction or eval_set, not both")
        if self.time_limit is not None:
            positive("time_limit", self.time_limit)
        if self.early_stopping_rounds is not None:
            integer("early_stopping_rounds", self.early_stopping_rounds, 1)
            if self.validation_fraction is None and not validates and not chooses_rounds:
                raise ValueError(
                    "early_stopping_rounds needs rows to validate on: validation_fraction or "
                    "eval_set"
                )


@dataclass(eq=False, repr=False, kw_only=True)
class RankingParameters(TrainingParameters):
    """Parameters of rankers.

    Parameters
    ----------
    criterion : {"edge", "energy"}, default "edge"
        How rules are compared: by ``|r|``, which is fast, or by the exact Z = W0 + 2 sqrt(W- W+),
        some ten times slower and for thresholds only (the third and second methods of Iyer 1999).
    step : {"bound", "exact"} or None, default None
        The step minimizes the bound sqrt(1 - r^2) of Z, or Z itself. None is "bound" for
        ``criterion="edge"`` and "exact" for "energy". Rules with real values take exact steps.
    learning_rate : float, default 0.2
        The factor on every step, above 0 and at most 1. RankBoost has "auto" by default: 0.2, and
        0.1 for the top of the list.
    monotonic_cst : {"learn", "increasing", "none"}, dict or array, default "learn"
        How the contribution of a numeric column, or of a list, may run. "learn": in one direction,
        which its first rule decides. "increasing": never down, the positive cumulative weights of
        Iyer 1999 (WeakLearn.cum). "none": freely. Or +1, -1 or 0 (free) for each, or by name; those
        without a name there learn their direction. It binds thresholds, no other rules.
    missing : {"learn", "low", "high"}, default "learn"
        The output of a rule for a document that its column does not rank (a missing value) or its
        list does not return: whichever is better, or always 0 ("low") or 1 ("high"), the q_def of
        Iyer 1999. For learners given by name; with "feature", the least or the largest value.
    pair_weight : {"equal", "difference"}, default "difference"
        The weight of a pair: 1, or the difference of its grades.
    query_weight : {"pairs", "root", "equal"}, default "root"
        The weight of all pairs of a query: their number, its square root, or 1.
    eval_metric : str, callable or list of them, default "map"
        The metric of validation queries, and of `score`: "map", "ndcg", "ndcg@10", "mrr",
        "precision@10", "recall@10", "auc", "disagreement", "prot" or "precision_at_full_recall",
        averaged over ties. A callable takes grades, scores and query ids, and is maximized. Of
        several, the first decides and `evals_result_` has all.
    """

    criterion: str = "edge"
    step: str | None = None
    learning_rate: float = 0.2
    monotonic_cst: Any = "learn"
    missing: str = "learn"
    pair_weight: str = "difference"
    query_weight: str = "root"
    eval_metric: Any = "map"


def documented(cls: C) -> C:
    """Add to a class's docstring the parameters of its bases, and its fitted attributes."""
    if cls.__doc__ is None:  # python -OO
        return cls
    head, example, tail = cleandoc(cls.__doc__).partition("\n\nExamples\n")
    inherited = [
        cleandoc(base.__doc__ or "").partition(_PARAMETERS)[2]
        for base in cls.__mro__[1:]
        if issubclass(base, TrainingParameters)
    ]
    attributes = [
        f"{name}\n    {value.__doc__}"
        for base in cls.__mro__
        for name, value in vars(base).items()
        if isinstance(value, property) and name.endswith("_") and name[0] != "_"
    ]
    own = "\n" if _PARAMETERS in head else _PARAMETERS
    sections = own + "\n".join(inherited) + "\n\nAttributes\n----------\n" + "\n".join(attributes)
    cls.__doc__ = head + sections + example + tail
    return cls
