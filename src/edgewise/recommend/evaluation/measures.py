"""What recommenders are measured by, under which names, and which way is better."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from edgewise.common.checks import integer


@dataclass(frozen=True)
class Kind:
    """What a measure looks at, whether more is better, and whether its lists are cut at k.

    `looks_at` is "ratings" (the predicted ratings of test pairs), "order" (that of each user's
    test items) or "lists" (what is recommended out of the whole catalogue).
    """

    looks_at: str
    larger_is_better: bool = True
    cut: bool = False


MEASURES: dict[str, Kind] = {
    "rmse": Kind("ratings", False),
    "mae": Kind("ratings", False),
    "mae_level": Kind("ratings", False),
    "mae_best": Kind("ratings", False),
    "nmae": Kind("ratings", False),
    "nmae_level": Kind("ratings", False),
    "nmae_best": Kind("ratings", False),
    "one_zero": Kind("ratings", False),
    "one_zero_level": Kind("ratings", False),
    "one_zero_best": Kind("ratings", False),
    "disagreement": Kind("order", False),
    "ap": Kind("order"),
    "prot": Kind("order"),
    "coverage": Kind("order"),
    "ndcg": Kind("lists", cut=True),
    "precision": Kind("lists", cut=True),
    "recall": Kind("lists", cut=True),
    "map": Kind("lists"),
    "auc": Kind("lists"),
    "catalogue_coverage": Kind("lists", cut=True),
    "novelty": Kind("lists", cut=True),
    "diversity": Kind("lists", cut=True),
}
"""All measures by name; to those that are cut at k, "@k" may be added."""

BEST = "_best"
LEVEL = "_level"


@dataclass(frozen=True)
class Measure:
    """A measure, and where its lists are cut if they are.

    Examples
    --------
    >>> Measure("ndcg", 5).name, Measure("rmse").name
    ('ndcg@5', 'rmse')
    """

    base: str
    k: int | None = None

    @property
    def name(self) -> str:
        """The name in results: with "@k" where lists are cut."""
        return self.base if self.k is None else f"{self.base}@{self.k}"

    @property
    def kind(self) -> Kind:
        """What it looks at, and which way is better."""
        return MEASURES[self.base]

    @property
    def choices(self) -> tuple["Measure", ...]:
        """The measures that a "best" one takes the better of: by expectation and by level."""
        if not self.base.endswith(BEST):
            return (self,)
        stem = self.base.removesuffix(BEST)
        return Measure(stem), Measure(stem + LEVEL)


def chosen(metrics: Any, k: Any, called: str = "metrics") -> tuple[Measure, ...]:
    """Return the measures of some names, each once, or raise; `called` is what errors call them.

    Examples
    --------
    >>> [measure.name for measure in chosen(["rmse", "ndcg", "recall@5"], k=10)]
    ['rmse', 'ndcg@10', 'recall@5']
    """
    integer("k", k, 1)
    names = [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(names, Iterable):
        raise TypeError(f"{called} must be names of measures, got {metrics!r}")
    found = dict.fromkeys(_named(name, int(k), called) for name in names)
    if not found:
        raise ValueError(f"{called} must name at least one measure, got none")
    return tuple(found)


def _named(name: Any, k: int, called: str) -> Measure:
    base, at, cut = name.partition("@") if isinstance(name, str) else ("", "", "")
    kind = MEASURES.get(base)
    if kind is not None and not at:
        return Measure(base, k if kind.cut else None)
    if kind is not None and kind.cut and cut.isascii() and cut.isdigit() and int(cut) > 0:
        return Measure(base, int(cut))
    listed = ", ".join(one + ("[@k]" if kind.cut else "") for one, kind in MEASURES.items())
    raise ValueError(f"{called} must be among {listed}, got {name!r}")
