"""The candidates of ``RankBoost(learner="auto")``, among which held-out queries choose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from edgewise.common.choices import OBJECTIVES
from edgewise.data.columns import CategoricalColumn
from edgewise.estimators.judgments import MANY_DOCUMENTS, MAX_GRADE, JudgedPairs, JudgedRows
from edgewise.learners import Best, Tree
from edgewise.objective import DEFAULT_CUTOFF

if TYPE_CHECKING:
    from edgewise.estimators.rank_boost import RankBoost

MIN_QUERIES = 20
"""With fewer queries nothing is compared."""

# From MANY_DOCUMENTS on stumps and large trees are compared, on half of the folds; then large
# trees alone; then on fewer columns.
_LARGE_TREES_ONLY, _FEWER_COLUMNS = 50_000, 150_000


class Candidate(NamedTuple):
    """The settings of a ranker; the name is empty where nothing is compared."""

    name: str = ""
    learner: Any = "stump"
    objective: str = "pairs"
    learning_rate: float = 0.2
    max_rounds: int = 500
    column_fraction: float = 1.0  # of many columns that a tree is offered


# The only candidate of RankBoost's inventors, for settings that no other allows.
_STUMPS = Candidate("stumps")

# What ``learner="auto"`` compares (docs/guide/ranking.md); the first unless another is better.
_CANDIDATES = (
    Candidate("columns", "feature", learning_rate=0.5, max_rounds=60),
    Candidate("stumps and columns", Best(["stump", "feature"]), "pairs", 0.5, 150),
    Candidate("columns, by map", "feature", "map@100", max_rounds=100),
    Candidate("trees, by ndcg", Tree("stump", 8, "free", "gain"), "ndcg", 0.05, 400),
)

_LARGE_TREES = Candidate(
    "large trees, by ndcg", Tree("stump", 32, "free", "gain"), "ndcg", 0.1, 2000, 0.5
)


def ranking_candidates(
    model: "RankBoost", judged: JudgedRows | JudgedPairs
) -> tuple[Candidate, ...]:
    """Return the candidates of ``learner="auto"``; none where queries are too few to compare.

    Settings that only some learners or objectives allow leave the others out.
    """
    if not isinstance(judged, JudgedRows) or judged.queries.n_rows < MIN_QUERIES:
        return ()
    candidates = _candidates_by_size(judged.partition.n_rows)
    if model.objective != "auto":
        metric, _ = parse_objective(model.objective)
        trees = [c for c in candidates if isinstance(c.learner, Tree)]
        candidates = [c for c in candidates if c.objective.startswith(metric)] or trees
        candidates = [c._replace(objective=model.objective) for c in candidates]
    monotonic = model.monotonic_cst
    is_default = model.criterion == "edge" and model.step is None
    is_default = is_default and isinstance(monotonic, str) and monotonic == "learn"
    lowest, highest = judged.grade_range
    allowed = {
        "pairs": True,
        "ndcg": is_default and lowest >= 0 and highest <= MAX_GRADE,
        "map": is_default and lowest <= 0 < highest,
    }
    candidates = [c for c in candidates if allowed[c.objective.partition("@")[0]]] or [_STUMPS]
    needs_tests = not is_default or model.handle_infinite == "value"
    if needs_tests or _have_categories(judged, candidates):
        candidates = [_STUMPS if isinstance(c.learner, Best) else c for c in candidates]
        candidates = [c for c in candidates if c.learner != "feature"] or [_STUMPS]
    # A time limit leaves time for one candidate alone.
    return tuple(candidates[:1] if model.time_limit is not None else candidates)


def _candidates_by_size(n_rows: int) -> list[Candidate]:
    if n_rows < MANY_DOCUMENTS:
        return list(_CANDIDATES)
    trees = _LARGE_TREES if n_rows < _FEWER_COLUMNS else _LARGE_TREES._replace(column_fraction=0.35)
    return [trees] if n_rows >= _LARGE_TREES_ONLY else [trees, _STUMPS]


def _have_categories(judged: JudgedRows, candidates: Sequence[Candidate]) -> bool:
    """Return whether a candidate needs numbers, and columns are categorical at any process."""
    if all(isinstance(c.learner, Tree) or c.learner == "stump" for c in candidates):
        return False
    columns = judged.table.columns()
    return judged.partition.any(any(isinstance(c, CategoricalColumn) for c in columns))


def parse_objective(name: Any) -> tuple[str, int]:
    """Return the metric of an objective and how many documents count, from "ndcg" or "ndcg@10".

    Examples
    --------
    >>> parse_objective("ndcg@10"), parse_objective("pairs")
    (('ndcg', 10), ('pairs', 30))
    """
    if isinstance(name, str) and name == "auto":
        return "pairs", DEFAULT_CUTOFF
    metric, at, k = name.partition("@") if isinstance(name, str) else ("", "", "")
    is_number = k.isascii() and k.isdecimal() and int(k) > 0
    if metric not in OBJECTIVES or (at and (metric == "pairs" or not is_number)):
        raise ValueError(
            f"objective must be one of {', '.join(map(repr, OBJECTIVES))}, the last two also with "
            f"a cutoff, such as 'ndcg@10'; got {name!r}"
        )
    return metric, int(k) if at else DEFAULT_CUTOFF
