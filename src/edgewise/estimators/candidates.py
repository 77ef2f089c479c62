"""The candidates of a ranker, among which held-out queries choose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from edgewise.common.choices import OBJECTIVES, RANK_LEARNERS
from edgewise.data.columns import CategoricalColumn
from edgewise.estimators.judgments import MANY_DOCUMENTS, MAX_GRADE, JudgedPairs, JudgedRows
from edgewise.learners import Best, Learner, Tree, resolve_learner
from edgewise.metrics import ranking_metric
from edgewise.metrics.registry import first_metric
from edgewise.objective import DEFAULT_CUTOFF

if TYPE_CHECKING:
    from edgewise.estimators.rank_boost import RankBoost

MIN_QUERIES = 20
"""With fewer queries nothing is compared, and no query chooses the rounds."""

# From MANY_DOCUMENTS on stumps and large trees are compared, on half of the folds; then large
# trees alone; then on fewer columns.
_LARGE_TREES_ONLY, _FEWER_COLUMNS = 50_000, 150_000


class Candidate(NamedTuple):
    """The settings of a ranker; `rules` are empty where no query is held out."""

    rules: str = ""
    learner: Any = "stump"
    objective: str = "pairs"
    learning_rate: float = 0.2
    max_rounds: int = 500
    column_fraction: float = 1.0  # of many columns that a tree is offered

    @property
    def name(self) -> str:
        """The name among the candidates."""
        metric, _ = parse_objective(self.objective)
        return self.rules if metric == "pairs" else f"{self.rules}, by {metric}"

    @property
    def kind(self) -> tuple[bool, bool, bool]:
        """The kind of learner that the other settings are for: trees, columns, both or tests."""
        learner = resolve_learner(self.learner, names=RANK_LEARNERS)
        return isinstance(learner, Tree), learner.uses_values, learner.takes_values


_STUMPS = Candidate("stumps")
_STUMPS_AND_COLUMNS = Candidate("stumps and columns", Best(["stump", "feature"]), "pairs", 0.5, 150)
_COLUMNS = (
    Candidate("columns", "feature", learning_rate=0.5, max_rounds=60),
    Candidate("columns", "feature", "map@100", max_rounds=100),
    Candidate("columns", "feature", "ndcg", max_rounds=100),
)
_TREES = Candidate("trees", Tree("stump", 8, "free", "gain"), "ndcg", 0.05, 400)
_LARGE_TREES = Candidate("large trees", Tree("stump", 32, "free", "gain"), "ndcg", 0.1, 2000, 0.5)


def ranking_candidates(
    model: "RankBoost", learner: Learner | str, judged: JudgedRows | JudgedPairs, eval_metric: Any
) -> list[Candidate]:
    """Return the candidates; the first wins unless another is better by the `eval_metric`.

    Settings that only some learners or objectives allow leave the others out.
    """
    ranks_pairs = parse_objective(model.objective)[0] == "pairs"
    objective = "pairs" if model.objective == "auto" else model.objective
    stumps = _STUMPS._replace(learner="stump" if learner == "auto" else learner)
    if model.preset == "paper":
        return [stumps._replace(objective=objective, learning_rate=1.0)]
    if not holds_out_queries(judged):
        if learner == "auto":
            learner = "stump" if ranks_pairs else "tree"
        return [Candidate("", learner, objective, 0.2 if ranks_pairs else 0.1)]
    assert isinstance(judged, JudgedRows)
    if learner == "auto":
        candidates = _candidates_by_size(judged.partition.n_rows)
        if _needs_tests(model, judged, candidates):
            candidates = [_STUMPS if c == _STUMPS_AND_COLUMNS else c for c in candidates]
            candidates = [c for c in candidates if c.learner != "feature"]
    else:
        candidates = _candidates_for(learner, judged.partition.n_rows)
    if model.objective == "auto":
        candidates = _select_possible(candidates, model, judged, eval_metric) or [stumps]
    else:
        candidates = _with_objective(candidates, model.objective)
    # A time limit leaves time for one candidate alone.
    return candidates[:1] if model.time_limit is not None else candidates


def holds_out_queries(judged: JudgedRows | JudgedPairs) -> bool:
    """Return whether there are queries enough to hold some out."""
    return isinstance(judged, JudgedRows) and judged.queries.n_rows >= MIN_QUERIES


def _candidates_by_size(n_rows: int) -> list[Candidate]:
    trees = _trees_by_size(n_rows)
    if n_rows < MANY_DOCUMENTS:
        return [_COLUMNS[0], _STUMPS_AND_COLUMNS, *_COLUMNS[1:], trees]
    return [trees] if n_rows >= _LARGE_TREES_ONLY else [trees, _STUMPS]


def _trees_by_size(n_rows: int) -> Candidate:
    if n_rows < MANY_DOCUMENTS:
        return _TREES
    return _LARGE_TREES if n_rows < _FEWER_COLUMNS else _LARGE_TREES._replace(column_fraction=0.35)


def _candidates_for(learner: Learner | str, n_rows: int) -> list[Candidate]:
    """Return the candidates with a learner that was given."""
    every = (*_COLUMNS, _STUMPS_AND_COLUMNS, _trees_by_size(n_rows), _STUMPS)
    kind = Candidate(learner=learner).kind
    candidates = [c for c in every if c.kind == kind]
    # "tree" is the tree of the candidate.
    return candidates if learner == "tree" else [c._replace(learner=learner) for c in candidates]


def _with_objective(candidates: list[Candidate], objective: str) -> list[Candidate]:
    """Return one candidate for each learner, preferably one that is made for the objective."""
    metric, _ = parse_objective(objective)
    by_kind: dict[Any, Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: not c.objective.startswith(metric)):
        by_kind.setdefault(candidate.kind, candidate)
    kinds = dict.fromkeys(candidate.kind for candidate in candidates)
    return [by_kind[kind]._replace(objective=objective) for kind in kinds]


def _select_possible(
    candidates: list[Candidate], model: "RankBoost", judged: JudgedRows, eval_metric: Any
) -> list[Candidate]:
    """Return the candidates whose objectives the grades and settings allow.

    Of the columns by NDCG and by MAP, those by the metric that decides remain.
    """
    metric = first_metric(eval_metric)
    is_ndcg = isinstance(metric, str) and ranking_metric(metric).base == "ndcg"
    left_out = _COLUMNS[1 if is_ndcg else 2].name
    lowest, highest = judged.grade_range
    is_free = not _needs_pairs(model)
    possible = {
        "pairs": True,
        "ndcg": is_free and lowest >= 0 and highest <= MAX_GRADE,
        "map": is_free and lowest <= 0 < highest,
    }
    return [
        c for c in candidates if possible[parse_objective(c.objective)[0]] and c.name != left_out
    ]


def _needs_pairs(model: "RankBoost") -> bool:
    """Return whether a setting is for objective="pairs" alone."""
    is_none = isinstance(model.monotonic_cst, str) and model.monotonic_cst == "none"
    return model.criterion != "edge" or model.step is not None or is_none


def _needs_tests(model: "RankBoost", judged: JudgedRows, candidates: Sequence[Candidate]) -> bool:
    """Return whether the values of columns cannot be rules."""
    monotonic = model.monotonic_cst
    learns = isinstance(monotonic, str) and monotonic in ("auto", "learn")
    if _needs_pairs(model) or not learns or model.handle_infinite == "value":
        return True
    return _have_categories(judged, candidates)


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
