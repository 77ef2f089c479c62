"""All metrics by name, for `eval_metric`, evaluations, reports, plots and commands."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from numpy.typing import ArrayLike

from edgewise.common.checks import one_of
from edgewise.common.choices import GAINS
from edgewise.metrics.classification import balanced_accuracy, error, hamming_loss, log_loss
from edgewise.metrics.gain import expected_reciprocal_rank, ndcg
from edgewise.metrics.lists import Lists
from edgewise.metrics.pairs import disagreement, grouped_auc
from edgewise.metrics.ranks import (
    average_rank,
    bpref,
    mean_average_precision,
    mean_reciprocal_rank,
    precision_at,
    precision_at_full_recall,
    prot,
    r_precision,
    rank_biased_precision,
    recall_at,
    success_at,
)
from edgewise.metrics.ratings import mae, nmae, one_zero_error, rmse
from edgewise.metrics.recommendations import (
    average_popularity,
    catalog_coverage,
    diversity,
    gini,
    novelty,
)
from edgewise.metrics.roc import roc_auc

Kind: TypeAlias = Literal["classification", "ranking", "ratings", "catalog"]


@dataclass(frozen=True)
class Metric:
    """A metric with its name; a ranking metric is called as ``metric(y, scores, qid)``.

    Attributes
    ----------
    name : str
        The name, such as "ndcg@10".
    function : callable
        The function, with the options that the name sets.
    label : str
        The name for people without the cutoff, such as "NDCG".
    kind : {"classification", "ranking", "ratings", "catalog"}
        What the function takes: targets and an (n, K) array of scores; grades (or Lists), scores
        and query ids; ratings and predictions; or recommended lists.
    larger_is_better : bool, default True
        The direction.
    cutoff : {"none", "optional", "required"}, default "none"
        Whether the name takes an "@k".
    options : tuple of str, default ()
        What the name may set in brackets, as in "map(rel=2)".
    aliases : tuple of str, default ()
        Other names, of ir_measures and trec_eval; case does not matter.
    for_runs : bool, default False
        Whether it is defined where judged documents were not returned, as in TREC runs.
    takes : {"scores", "probabilities", "either"}, default "scores"
        What a classification metric evaluates.
    base : str
        The name in the registry: without aliases, options and cutoff.
    k : int or None, default None
        The cutoff.
    """

    name: str
    function: Callable[..., Any]
    label: str
    kind: Kind
    larger_is_better: bool = True
    cutoff: Literal["none", "optional", "required"] = "none"
    options: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    for_runs: bool = False
    takes: Literal["scores", "probabilities", "either"] = "scores"
    base: str = ""
    k: int | None = None

    def __call__(
        self, y: ArrayLike | Lists, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> float:
        """Return the mean over queries of a ranking metric."""
        return float(self.function(y, scores, qid))

    @property
    def title(self) -> str:
        """The name for people, such as "NDCG@10"; options stay as they were written."""
        if "(" in self.name:
            return self.name
        return self.label if self.k is None else f"{self.label}@{self.k}"

    @property
    def spellings(self) -> list[str]:
        """The ways to write the name, with and without a cutoff."""
        plain = [] if self.cutoff == "required" else [self.name]
        return plain + ([] if self.cutoff == "none" else [f"{self.name}@k"])


_classification = partial(Metric, kind="classification", larger_is_better=False)
_ranking = partial(Metric, kind="ranking")
_in_runs = partial(_ranking, for_runs=True, cutoff="optional", options=("rel",))
_error = partial(Metric, kind="ratings", larger_is_better=False)
_catalog = partial(Metric, kind="catalog", cutoff="required")

METRICS: dict[str, Metric] = {
    metric.name: replace(metric, base=metric.name)
    for metric in (
        _classification("error", error, "error"),
        _classification("hamming_loss", hamming_loss, "Hamming loss"),
        _classification(
            "balanced_accuracy", balanced_accuracy, "balanced accuracy", larger_is_better=True
        ),
        _classification("roc_auc", roc_auc, "ROC AUC", larger_is_better=True, takes="either"),
        _classification("log_loss", log_loss, "log loss", takes="probabilities"),
        _in_runs("map", mean_average_precision, "MAP", aliases=("ap", "map_cut")),
        _in_runs("mrr", mean_reciprocal_rank, "MRR", aliases=("rr", "recip_rank")),
        _in_runs("ndcg", ndcg, "NDCG", aliases=("ndcg_cut",), options=("dcg", "gain")),
        _in_runs("precision", precision_at, "precision", aliases=("p",), cutoff="required"),
        _in_runs("recall", recall_at, "recall", aliases=("r",), cutoff="required"),
        _in_runs("success", success_at, "success", cutoff="required"),
        _in_runs("hit_rate", success_at, "hit rate", cutoff="required"),
        _in_runs("rprec", r_precision, "R-precision", aliases=("r_precision",), cutoff="none"),
        _in_runs("bpref", bpref, "bpref", cutoff="none"),
        _in_runs("rbp", rank_biased_precision, "RBP", options=("p", "rel")),
        _in_runs("err", expected_reciprocal_rank, "ERR", options=("max_rel",)),
        _ranking("auc", grouped_auc, "AUC", options=("rel",)),
        _ranking("disagreement", disagreement, "misordered pairs", larger_is_better=False),
        _ranking("map_top", partial(mean_average_precision, relevant="top"), "MAP of top grades"),
        _ranking("prot", prot, "predicted rank of top", options=("rel",)),
        _ranking(
            "precision_at_full_recall",
            precision_at_full_recall,
            "precision at full recall",
            options=("rel",),
        ),
        _error("rmse", rmse, "RMSE"),
        *(
            _error(name + output, function, label + about)
            for name, function, label in (
                ("mae", mae, "MAE"),
                ("nmae", nmae, "NMAE"),
                ("one_zero", one_zero_error, "wrong levels"),
            )
            for output, about in (("", ""), ("_level", " of levels"), ("_best", ""))
        ),
        _catalog("catalog_coverage", catalog_coverage, "catalog coverage"),
        _catalog("novelty", novelty, "novelty"),
        _catalog("diversity", diversity, "diversity"),
        _catalog(
            "average_popularity", average_popularity, "average popularity", larger_is_better=False
        ),
        _catalog("gini", gini, "Gini index", larger_is_better=False),
    )
}
"""The metrics that a name, without an "@k", can stand for."""

CLASSIFICATION_METRICS = {n: m for n, m in METRICS.items() if m.kind == "classification"}
"""The names that `eval_metric` of a classifier takes."""
RANKING_METRICS = {n: m for n, m in METRICS.items() if m.kind == "ranking"}
"""The names, before an "@k", that `eval_metric` of a ranker takes."""
RUN_METRICS = {n: m for n, m in METRICS.items() if m.for_runs}
"""The names, before an "@k", that an evaluation of TREC runs takes."""

# Quantities of training histories that are not metrics.
_LOSS_TITLES = {
    "train_error": "training error",
    "train_rmse": "training RMSE",
    "validation_rmse": "validation RMSE",
    "ranking_loss": "ranking loss",
}

_ALIASES = {alias: metric.name for metric in METRICS.values() for alias in metric.aliases}
# The gain of a grade g is g in ir_measures' nDCG and in trec_eval.
_LINEAR_NAMES = ("nDCG", "ndcg_cut")
_GAIN_NAMES = {"log2": "linear", "exp-log2": "exponential"}
_ARGUMENTS = {"rel": "relevant", "max_rel": "max_grade"}
# No list is as long as a number of more digits.
_MAX_DIGITS = 18
_NAMES = re.compile(r"((?:\([^()]*\)|[^,])*)(?:,|$)")
# A name, options in brackets, and a cutoff after "@", or after trec_eval's "_" and ".".
_NAME = re.compile(r"([A-Za-z_]+?)(?:\(([^()]*)\))?(?:@([^()@]*)|[_.]([0-9]+))?")


def ranking_metric(name: str) -> Metric:
    """Return the ranking metric called `name`.

    Case does not matter, and names of ir_measures and trec_eval work too: "AP", "RR@10", "P@5",
    "Rprec", "recip_rank" or "map_cut_10". Only "nDCG", written so, and "ndcg_cut" differ from
    "ndcg": the gain of a grade g is g, as in ir_measures and trec_eval, and not 2^g - 1.

    Parameters
    ----------
    name : str
        "map", "map@k", "mrr", "mrr@k", "ndcg", "ndcg@k", "precision@k", "recall@k", "success@k",
        "hit_rate@k" (the same), "rprec", "bpref", "rbp", "rbp@k", "err", "err@k", "auc",
        "disagreement", "map_top", "prot" or "precision_at_full_recall", with a positive integer in
        place of k. Options stand in brackets: the lowest relevant grade, as in "map(rel=2)@10"; the
        persistence in "rbp(p=0.9)"; the highest grade of the scale in "err(max_rel=2)@10"; and the
        gain in "ndcg(dcg='exp-log2')" ("log2" is linear).

    Examples
    --------
    >>> metric = ranking_metric("ndcg@2")
    >>> round(metric([0, 2, 1], [3.0, 2.0, 1.0]), 4), metric.larger_is_better, metric.title
    (0.5213, True, 'NDCG@2')
    >>> ranking_metric("AP(rel=2)")([0, 2, 1], [3.0, 2.0, 1.0])
    0.5
    """
    return get_metric(name, RANKING_METRICS)


def get_metric(
    name: Any, metrics: dict[str, Metric] = METRICS, argument: str = "metric", k: int | None = None
) -> Metric:
    """Return the metric called `name` among `metrics`, or raise an error that names `argument`.

    `k` is the cutoff of lists where the name has none but needs one.
    """
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    written, brackets, at, dotted = match.groups() if match else ("", None, None, None)
    cutoff = dotted if at is None else at
    lower = written.lower()
    metric = metrics.get(_ALIASES.get(lower, lower))
    if metric is None or not _takes_cutoff(metric, cutoff, k):
        valid = ", ".join(s for each in metrics.values() for s in each.spellings)
        raise ValueError(
            f"unknown {argument}: {name!r}; valid names, with a positive integer k: {valid}"
        )
    arguments: dict[str, Any] = {} if brackets is None else _options(metric, name, brackets)
    if written in _LINEAR_NAMES or lower in _LINEAR_NAMES:
        arguments.setdefault("gain", "linear")
    if lower in METRICS and written not in _LINEAR_NAMES:
        name = lower + name[len(written) :]
    if cutoff is not None:
        k = int(cutoff)
    elif k is not None and (metric.cutoff == "required" or metric.base == "ndcg"):
        name += f"@{k}"
    else:
        k = None
    if k is not None and metric.kind == "ranking":
        arguments["k"] = k
    function = partial(metric.function, **arguments) if arguments else metric.function
    return replace(metric, name=name, function=function, k=k)


def _takes_cutoff(metric: Metric, cutoff: str | None, k: int | None) -> bool:
    """Return whether a metric can have the cutoff that a name gives."""
    if cutoff is None:
        return metric.cutoff != "required" or k is not None
    is_count = cutoff.isascii() and cutoff.isdigit() and len(cutoff) <= _MAX_DIGITS
    return metric.cutoff != "none" and is_count and int(cutoff) > 0


def _options(metric: Metric, name: str, brackets: str) -> dict[str, Any]:
    """Return the arguments of a metric that its name sets in brackets."""
    arguments: dict[str, Any] = {}
    for option in filter(None, map(str.strip, brackets.split(","))):
        key, _, text = (side.strip() for side in option.partition("="))
        if key not in metric.options:
            valid = ", ".join(metric.options) or "none"
            raise ValueError(f"name={name!r}: unknown option {key!r}; valid options: {valid}")
        value: Any = text.strip("'\"")
        if key in ("dcg", "gain"):
            key, value = "gain", one_of(key, _GAIN_NAMES.get(value, value), GAINS)
        elif not (key == "rel" and value == "top"):
            try:
                value = float(value)
            except ValueError:
                raise ValueError(f"name={name!r}: {key} must be a number, got {text!r}") from None
        arguments[_ARGUMENTS.get(key, key)] = value
    return arguments


def ranking_metrics(names: str | Sequence[str]) -> list[Metric]:
    """Return the ranking metrics of several names, each once.

    Parameters
    ----------
    names : str or sequence of str
        Names that :func:`ranking_metric` knows, in a list or between commas. A number alone is
        another cutoff of the name before it.

    Examples
    --------
    >>> [metric.name for metric in ranking_metrics("map, P@5,10, AP(rel=2)")]
    ['map', 'P@5', 'P@10', 'AP(rel=2)']
    """
    return get_metrics(names, RANKING_METRICS)


def get_metrics(
    names: Any,
    metrics: dict[str, Metric] = METRICS,
    argument: str = "metrics",
    k: int | None = None,
) -> list[Metric]:
    """Return the metrics of names, in a list or between commas, each once: see `get_metric`."""
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be names of metrics, got {names!r}")
    chosen: dict[str, Metric] = {}
    for text in [names] if isinstance(names, str) else names:
        base = ""
        # Commas within brackets stand between options.
        separate = _NAMES.findall(text)[:-1] if isinstance(text, str) else []
        for name in separate or [text]:
            if isinstance(name, str):
                name = name.strip()
                name = f"{base}@{name}" if base and name.isascii() and name.isdigit() else name
                base = name.rpartition("@")[0]
            metric = get_metric(name, metrics, argument, k)
            chosen.setdefault(metric.name, metric)
    if not chosen:
        raise ValueError(f"{argument} must name at least one metric, got none")
    return list(chosen.values())


def metric_title(name: str) -> str:
    """Return the title of a metric or of a loss of a training history, such as "NDCG@10"."""
    if name in _LOSS_TITLES:
        return _LOSS_TITLES[name]
    try:
        return get_metric(name).title
    except ValueError:
        return METRICS[name].label if name in METRICS else name


def first_metric(eval_metric: Any) -> Any:
    """Return the metric that decides: the only one, or the first of several."""
    return eval_metric[0] if isinstance(eval_metric, (list, tuple)) else eval_metric


def metrics_by_name(eval_metric: Any, check: Callable[[Any], object]) -> dict[str, Any]:
    """Return the one or several metrics of `eval_metric` by their names.

    `check` raises where a name is not known.
    """
    several = isinstance(eval_metric, (list, tuple))
    named: dict[str, Any] = {}
    for metric in eval_metric if several else [eval_metric]:
        if not callable(metric):
            check(metric)
        name = metric_name(metric)
        if name in named:
            raise ValueError(
                f"eval_metric has two metrics of the name {name!r}; a function's is its __name__"
            )
        named[name] = metric
    if not named:
        raise ValueError("eval_metric is an empty list: name at least one metric")
    return named


def metric_name(metric: Any) -> str:
    """Return the name of an `eval_metric`, "metric" for a function that has none."""
    if isinstance(metric, str):
        return metric
    # A `Metric` has a name instead.
    return str(getattr(metric, "__name__", None) or getattr(metric, "name", "metric"))


def storable_metric(eval_metric: Any) -> Any:
    """Return an `eval_metric` as files hold it: the library's own ranking metrics by name."""
    if isinstance(eval_metric, (list, tuple)):
        return [storable_metric(metric) for metric in eval_metric]
    if isinstance(eval_metric, Metric):
        return eval_metric.name
    function, options = eval_metric, {}
    if isinstance(eval_metric, partial) and not eval_metric.args:
        function, options = eval_metric.func, eval_metric.keywords
    for metric in RANKING_METRICS.values():
        if metric.function is function and options.keys() <= {"k"}:
            k = options.get("k", 10 if metric.cutoff == "required" else None)
            return metric.name if k is None else f"{metric.name}@{k}"
    return eval_metric


def larger_is_better(metric: Any, default: bool = False) -> bool:
    """Return the direction of an `eval_metric`: a name, a metric or a function, or a list of them.

    A function that is not in the registry may have an attribute ``larger_is_better``; `default`
    applies where it has none.
    """
    metric = first_metric(metric)
    if isinstance(metric, str):
        return get_metric(metric, k=1).larger_is_better
    if hasattr(metric, "larger_is_better"):
        return bool(metric.larger_is_better)
    function = metric.func if isinstance(metric, partial) else metric
    if function is average_rank:
        return False
    registered = (m.larger_is_better for m in METRICS.values() if m.function is function)
    return next(registered, default)
