"""The metrics of recommenders: their names, and which way is better."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from edgewise.common.checks import integer
from edgewise.metrics import RANKING_METRICS


@dataclass(frozen=True)
class MetricKind:
    """What a metric evaluates, whether more is better, and whether it has a cut-off k.

    `evaluates` is "ratings" (predictions of test pairs), "order" (of each user's test items) or
    "lists" (recommended out of the whole catalogue).
    """

    evaluates: str
    larger_is_better: bool = True
    cut: bool = False


METRICS: dict[str, MetricKind] = {
    "rmse": MetricKind("ratings", False),
    "mae": MetricKind("ratings", False),
    "mae_level": MetricKind("ratings", False),
    "mae_best": MetricKind("ratings", False),
    "nmae": MetricKind("ratings", False),
    "nmae_level": MetricKind("ratings", False),
    "nmae_best": MetricKind("ratings", False),
    "one_zero": MetricKind("ratings", False),
    "one_zero_level": MetricKind("ratings", False),
    "one_zero_best": MetricKind("ratings", False),
    "disagreement": MetricKind("order", False),
    "ap": MetricKind("order"),
    "prot": MetricKind("order"),
    "coverage": MetricKind("order"),
    "ndcg": MetricKind("lists", cut=True),
    "precision": MetricKind("lists", cut=True),
    "recall": MetricKind("lists", cut=True),
    "map": MetricKind("lists"),
    "auc": MetricKind("lists"),
    "catalogue_coverage": MetricKind("lists", cut=True),
    "novelty": MetricKind("lists", cut=True),
    "diversity": MetricKind("lists", cut=True),
}
DEFAULT_METRICS = tuple(METRICS)
"""The metrics of ``evaluate`` by default: all but those that rank every list as a whole."""

METRICS |= {
    name: MetricKind("lists", metric.larger_is_better, cut=metric.cutoff != "none")
    for name, metric in RANKING_METRICS.items()
    if metric.for_runs and name not in METRICS
}
"""All metrics by name; names with a cut-off may end in "@k"."""

BEST = "_best"
LEVEL = "_level"


@dataclass(frozen=True)
class RecommenderMetric:
    """A metric by name, with its cut-off if it has one.

    Examples
    --------
    >>> RecommenderMetric("ndcg", 5).name, RecommenderMetric("rmse").name
    ('ndcg@5', 'rmse')
    """

    base: str
    k: int | None = None

    @property
    def name(self) -> str:
        """The name in results, with "@k" if there is a cut-off."""
        return self.base if self.k is None else f"{self.base}@{self.k}"

    @property
    def kind(self) -> MetricKind:
        """What the metric evaluates, and which way is better."""
        return METRICS[self.base]

    @property
    def choices(self) -> tuple["RecommenderMetric", ...]:
        """The metrics that a "best" one takes the better of: of the expectation and the level."""
        if not self.base.endswith(BEST):
            return (self,)
        stem = self.base.removesuffix(BEST)
        return RecommenderMetric(stem), RecommenderMetric(stem + LEVEL)


def metrics_named(metrics: Any, k: Any, argument: str = "metrics") -> tuple[RecommenderMetric, ...]:
    """Return the metrics of these names, each once; `argument` is what errors call them.

    Examples
    --------
    >>> [metric.name for metric in metrics_named(["rmse", "ndcg", "recall@5"], k=10)]
    ['rmse', 'ndcg@10', 'recall@5']
    """
    integer("k", k, 1)
    names = [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be names of metrics, got {metrics!r}")
    found = dict.fromkeys(_named(name, int(k), argument) for name in names)
    if not found:
        raise ValueError(f"{argument} must name at least one metric, got none")
    return tuple(found)


def _named(name: Any, k: int, argument: str) -> RecommenderMetric:
    base, at, cut = name.partition("@") if isinstance(name, str) else ("", "", "")
    kind = METRICS.get(base)
    if kind is not None and not at:
        return RecommenderMetric(base, k if kind.cut else None)
    if kind is not None and kind.cut and cut.isascii() and cut.isdigit() and int(cut) > 0:
        return RecommenderMetric(base, int(cut))
    listed = ", ".join(one + ("[@k]" if kind.cut else "") for one, kind in METRICS.items())
    raise ValueError(f"{argument} must be among {listed}, got {name!r}")
