"""Metrics by name. A line here makes a metric an `eval_metric` and a name for every evaluation."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from numpy.typing import ArrayLike

from edgewise.common.checks import one_of
from edgewise.common.choices import GAINS
from edgewise.common.dtypes import Reals
from edgewise.metrics.cascade import expected_reciprocal_rank
from edgewise.metrics.classification import balanced_accuracy, error, hamming_loss, log_loss
from edgewise.metrics.gain import ndcg
from edgewise.metrics.lists import Lists
from edgewise.metrics.pairs import disagreement, grouped_auc
from edgewise.metrics.ranks import (
    average_rank,
    bpref,
    coverage,
    mean_average_precision,
    mean_reciprocal_rank,
    precision_at,
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


@dataclass(frozen=True)
class ClassificationMetric:
    """A function of targets and an (n, K) array of scores, probabilities, or either."""

    function: Callable[[Any, Reals], float]
    larger_is_better: bool = False
    takes: Literal["scores", "probabilities", "either"] = "scores"


CLASSIFICATION_METRICS: dict[str, ClassificationMetric] = {
    "error": ClassificationMetric(error),
    "hamming_loss": ClassificationMetric(hamming_loss),
    "balanced_accuracy": ClassificationMetric(balanced_accuracy, larger_is_better=True),
    "roc_auc": ClassificationMetric(roc_auc, larger_is_better=True, takes="either"),
    "log_loss": ClassificationMetric(log_loss, takes="probabilities"),
}
"""The names that `eval_metric` of a classifier takes."""


@dataclass(frozen=True)
class RankingMetric:
    """A ranking metric with its name, called as ``metric(y, scores, qid)``.

    Attributes
    ----------
    name : str
        The name, such as "ndcg@10".
    function : callable
        The function of grades (or Lists), scores and query ids.
    larger_is_better : bool, default True
        The direction.
    cutoff : {"none", "optional", "required"}, default "none"
        Whether the name takes an "@k".
    for_runs : bool, default False
        Whether it is defined where judged documents were not returned, as in TREC runs.
    options : tuple of str, default ()
        What the name may set in brackets, as in "map(rel=2)".
    aliases : tuple of str, default ()
        Other names, of ir_measures and trec_eval; capitals do not count.
    """

    name: str
    function: Callable[..., float | Reals]
    larger_is_better: bool = True
    cutoff: Literal["none", "optional", "required"] = "none"
    for_runs: bool = False
    options: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __call__(
        self, y: ArrayLike | Lists, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> float:
        """Return the mean over queries."""
        return float(self.function(y, scores, qid))

    @property
    def spellings(self) -> list[str]:
        """The ways to write the name, with and without a cut-off."""
        whole = [] if self.cutoff == "required" else [self.name]
        return whole + ([] if self.cutoff == "none" else [f"{self.name}@k"])


_REL = ("rel",)

RANKING_METRICS: dict[str, RankingMetric] = {
    metric.name: metric
    for metric in (
        RankingMetric(
            "map", mean_average_precision, True, "optional", True, _REL, ("ap", "map_cut")
        ),
        RankingMetric(
            "mrr", mean_reciprocal_rank, True, "optional", True, _REL, ("rr", "recip_rank")
        ),
        RankingMetric("ndcg", ndcg, True, "optional", True, ("dcg", "gain"), ("ndcg_cut",)),
        RankingMetric("precision", precision_at, True, "required", True, _REL, ("p",)),
        RankingMetric("recall", recall_at, True, "required", True, _REL, ("r",)),
        RankingMetric("success", success_at, True, "required", True, _REL),
        RankingMetric("rprec", r_precision, True, "none", True, _REL, ("r_precision",)),
        RankingMetric("bpref", bpref, True, "none", True, _REL),
        RankingMetric("rbp", rank_biased_precision, True, "optional", True, ("p", *_REL)),
        RankingMetric("err", expected_reciprocal_rank, True, "optional", True, ("max_rel",)),
        RankingMetric("auc", grouped_auc, options=_REL),
        RankingMetric("disagreement", disagreement, larger_is_better=False),
        RankingMetric("prot", prot, options=_REL),
        RankingMetric("coverage", coverage, options=_REL),
    )
}
"""The ranking metrics that a name, before an "@k", can stand for."""

_ALIASES = {alias: one.name for one in RANKING_METRICS.values() for alias in one.aliases}
# The gain of a grade g is g in ir_measures' nDCG and in trec_eval.
_LINEAR = ("nDCG", "ndcg_cut")
_GAINS = {"log2": "linear", "exp-log2": "exponential"}
_ARGUMENTS = {"rel": "relevant", "max_rel": "max_grade"}
# No list is as long as a number of more digits.
_MOST_DIGITS = 19
# A name, options in brackets, and a cut-off after "@", or after trec_eval's "_" and ".".
_NAME = re.compile(r"([A-Za-z_]+?)(?:\(([^()]*)\))?(?:@([^()@]*)|[_.]([0-9]+))?")

_DIRECTIONS: dict[Callable[..., Any], bool] = {
    **dict.fromkeys((average_rank, rmse, mae, nmae, one_zero_error), False),
    **dict.fromkeys((gini, average_popularity), False),
    **dict.fromkeys((catalog_coverage, novelty, diversity), True),
    **{metric.function: metric.larger_is_better for metric in CLASSIFICATION_METRICS.values()},
    **{metric.function: metric.larger_is_better for metric in RANKING_METRICS.values()},
}


def ranking_metric(name: str) -> RankingMetric:
    """Return the ranking metric called `name`.

    Capitals do not count, and names of ir_measures and trec_eval are known: "AP", "RR@10", "P@5",
    "Rprec", "recip_rank" or "map_cut_10". Only "nDCG", written so, and "ndcg_cut" differ from
    "ndcg": the gain of a grade g is g, as in ir_measures and trec_eval, and not 2^g - 1.

    Parameters
    ----------
    name : str
        "map", "map@k", "mrr", "mrr@k", "ndcg", "ndcg@k", "precision@k", "recall@k", "success@k",
        "rprec", "bpref", "rbp", "rbp@k", "err", "err@k", "auc", "disagreement", "prot" or
        "coverage", with a number of 1 or more in place of k. Options stand in brackets: the least
        relevant grade, as in "map(rel=2)@10"; the persistence in "rbp(p=0.9)"; the highest grade of
        the scale in "err(max_rel=2)@10"; and the gain in "ndcg(dcg='exp-log2')" ("log2" is linear).

    Examples
    --------
    >>> metric = ranking_metric("ndcg@2")
    >>> round(metric([0, 2, 1], [3.0, 2.0, 1.0]), 4), metric.larger_is_better
    (0.5213, True)
    >>> ranking_metric("AP(rel=2)")([0, 2, 1], [3.0, 2.0, 1.0])
    0.5
    """
    parts = _NAME.fullmatch(name) if isinstance(name, str) else None
    base, brackets, at, dotted = parts.groups() if parts else ("", None, None, None)
    k = dotted if at is None else at
    lower = base.lower()
    metric = RANKING_METRICS.get(_ALIASES.get(lower, lower))
    known = metric is not None and (metric.cutoff != "required" if k is None else _counts(k))
    if metric is None or not known or (k is not None and metric.cutoff == "none"):
        spelt = ", ".join(repr(word) for one in RANKING_METRICS.values() for word in one.spellings)
        raise ValueError(f"name must be one of {spelt}, with k a number from 1, got {name!r}")
    arguments: dict[str, Any] = {} if brackets is None else _options(metric, name, brackets)
    if base in _LINEAR or lower in _LINEAR:
        arguments.setdefault("gain", "linear")
    if k is not None:
        arguments["k"] = int(k)
    if lower in RANKING_METRICS and base not in _LINEAR:
        name = lower + name[len(base) :]
    if not arguments:
        return replace(metric, name=name)
    return replace(metric, name=name, function=partial(metric.function, **arguments))


def _counts(k: str) -> bool:
    return k.isascii() and k.isdigit() and len(k) < _MOST_DIGITS and int(k) > 0


def _options(metric: RankingMetric, name: str, brackets: str) -> dict[str, Any]:
    """Return the arguments of a metric that its name gives in brackets."""
    found: dict[str, Any] = {}
    for part in filter(None, map(str.strip, brackets.split(","))):
        key, _, text = (word.strip() for word in part.partition("="))
        if key not in metric.options:
            listed = ", ".join(metric.options) or "none"
            raise ValueError(f"name={name!r}: {key!r} is no option of it, which are: {listed}")
        value: Any = text.strip("'\"")
        if key in ("dcg", "gain"):
            key, value = "gain", one_of(key, _GAINS.get(value, value), GAINS)
        elif not (key == "rel" and value == "top"):
            try:
                value = float(value)
            except ValueError:
                raise ValueError(f"name={name!r}: {key} must be a number, got {text!r}") from None
        found[_ARGUMENTS.get(key, key)] = value
    return found


def ranking_metrics(names: str | Sequence[str]) -> list[RankingMetric]:
    """Return the ranking metrics of several names, each once.

    Parameters
    ----------
    names : str or sequence of str
        Names that :func:`ranking_metric` knows, in a list or between commas. A number alone is
        another cut-off of the name before it.

    Examples
    --------
    >>> [metric.name for metric in ranking_metrics("map, P@5,10, AP(rel=2)")]
    ['map', 'P@5', 'P@10', 'AP(rel=2)']
    """
    if not isinstance(names, Iterable):
        raise TypeError(f"metrics must be names of metrics, got {names!r}")
    listed = [names] if isinstance(names, str) else list(names)
    found: dict[str, RankingMetric] = {}
    for text in listed:
        before = ""
        # Commas within brackets stand between options.
        for word in re.split(r",(?![^()]*\))", text) if isinstance(text, str) else [text]:
            one = word.strip() if isinstance(word, str) else word
            if before and one.isascii() and one.isdigit():
                one = f"{before}@{one}"
            before = one.rpartition("@")[0] if isinstance(one, str) else ""
            found.setdefault(one, ranking_metric(one))
    if not found:
        raise ValueError("metrics must name at least one metric, got none")
    return list(found.values())


def first_metric(eval_metric: Any) -> Any:
    """Return the metric that decides: the only one, or the first of several."""
    return eval_metric[0] if isinstance(eval_metric, (list, tuple)) else eval_metric


def metrics_by_name(eval_metric: Any, check: Callable[[Any], object]) -> dict[str, Any]:
    """Return the one or several metrics of `eval_metric` by their names.

    `check` raises where a name is not known.
    """
    several = isinstance(eval_metric, (list, tuple))
    found: dict[str, Any] = {}
    for metric in eval_metric if several else [eval_metric]:
        if not callable(metric):
            check(metric)
        name = metric_name(metric)
        if name in found:
            raise ValueError(
                f"eval_metric has two metrics of the name {name!r}; a function's is its __name__"
            )
        found[name] = metric
    if not found:
        raise ValueError("eval_metric is an empty list: name at least one metric")
    return found


def metric_name(metric: Any) -> str:
    """Return the name of an `eval_metric`, "metric" for a function that has none."""
    if isinstance(metric, str):
        return metric
    # A `RankingMetric` has a name instead.
    return str(getattr(metric, "__name__", None) or getattr(metric, "name", "metric"))


def storable_metric(eval_metric: Any) -> Any:
    """Return an `eval_metric` as files hold it: the library's own ranking metrics by name."""
    if isinstance(eval_metric, (list, tuple)):
        return [storable_metric(one) for one in eval_metric]
    if isinstance(eval_metric, RankingMetric):
        return eval_metric.name
    function, options = eval_metric, {}
    if isinstance(eval_metric, partial) and not eval_metric.args:
        function, options = eval_metric.func, eval_metric.keywords
    for metric in RANKING_METRICS.values():
        if metric.function is function and options.keys() <= {"k"}:
            cutoff = f"@{options['k']}" if "k" in options else ""
            return metric.name + (cutoff or ("@10" if metric.cutoff == "required" else ""))
    return eval_metric


def larger_is_better(metric: Any, default: bool = False) -> bool:
    """Return the direction of an `eval_metric`: a name, a metric or a function, or a list of them.

    A function that is not in the registry may have an attribute ``larger_is_better``; `default`
    applies where it has none.
    """
    metric = first_metric(metric)
    if isinstance(metric, str):
        named = CLASSIFICATION_METRICS.get(metric) or ranking_metric(metric)
        return named.larger_is_better
    function = metric.func if isinstance(metric, partial) else metric
    known = (larger for one, larger in _DIRECTIONS.items() if one is function)
    return bool(getattr(metric, "larger_is_better", next(known, default)))
