"""Names that arguments take, apart from what uses them: ``--help`` lists them at once."""

from typing import Literal, get_args

TASKS = ("classes", "labels", "grades")
"""The tasks: one class per row, several 0/1 labels, or grades to rank by."""

PRESETS = ("auto", "paper")
VOTES = ("discrete", "real", "abstain")
LOSSES = ("exponential", "logistic", "softmax")

RANK_LEARNERS = ("auto", "stump", "additive", "product", "tree", "feature")
OBJECTIVES = ("pairs", "ndcg", "map")
RANK_CRITERIA = ("edge", "energy")
RANK_STEPS = ("bound", "exact")
RANK_MISSING = ("learn", "low", "high")
MONOTONIC = ("learn", "increasing", "none")
PAIR_WEIGHTS = ("equal", "difference")
QUERY_WEIGHTS = {"pairs": 0.0, "root": 0.5, "equal": 1.0}
"""The power of a query's number of pairs (or their weight) by which its pairs are divided."""

Gain = Literal["exponential", "linear"]
GAINS: tuple[Gain, ...] = get_args(Gain)
TIES = ("expected", "trec_eval")
FUSIONS = (
    "borda",
    "comb_mnz",
    "comb_sum",
    "condorcet",
    "maximum_rank",
    "median_rank",
    "minimum_rank",
    "rank_sum",
    "rrf",
)

DEFAULT_RANKING_METRICS = ("map", "ndcg@10", "mrr", "precision@10")
DEFAULT_RUN_METRICS = (*DEFAULT_RANKING_METRICS, "recall@100")
DEFAULT_LIST_METRICS = ("ndcg@10", "precision@10", "recall@10", "map")
DEFAULT_RATING_METRICS = ("rmse", "mae", *DEFAULT_LIST_METRICS)
"""The metrics that evaluations of rankers, TREC runs and recommenders show by default."""

SPLITS = ("random", "user", "time", "user_time")
FOLDS = ("random", "user")
COMPARE_BY = (*FOLDS, "time", "last")
DUPLICATES = ("raise", "last", "mean", "sum")
