"""Compare the untrained fusion methods with ranx: agreement and CPU time.

Run with `python benchmarks/fusion.py`. It needs ranx (`pip install ranx`) and the data set
mq2008-agg, and skips without them. It takes some minutes, mostly for ranx to compile and fuse.

ranx numbers the documents of a list 1, 2, 3, ..., so gaps in the positions are closed first. For
methods that take any scores, the score is 1,000 minus the position. Kantor's rules on the given
ranks (unranked="ignore") are ranx's methods on negative ranks. "largest" is the largest difference
between two scores of a document, relative to the largest score. "pairs" is the share of document
pairs, among those that edgewise does not tie, that both order the same way.

The first table has all queries and lists. The second has twelve lists and the queries for which all
of them return at least two documents, because conventions differ elsewhere: edgewise puts the only
document of a list at the top (1 by "min-max" and "sum"), ranx at the bottom (0); ranx's "zmuv"
drops the queries after one for which a list is empty; and ranx's condorcet counts a list without an
opinion as a vote for the second of two documents, while edgewise counts wins minus losses.
"""

import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from edgewise import datasets, fusion

NORMS = ("min-max", "max", "sum", "zmuv", "rank")
REPEATS = 2
TOP = 1000.0
# The number of longest lists compared by themselves.
FULLEST = 12

Method = tuple[Callable[..., Any], dict[str, Any], float]


def pairs_of_methods() -> dict[str, Method]:
    """Return our function, the options of `ranx.fuse`, and the factor for ranx's scores."""
    both: dict[str, Method] = {
        "borda": (fusion.borda, {"method": "bordafuse", "norm": None}, 1.0),
        "condorcet": (fusion.condorcet, {"method": "condorcet", "norm": None}, 1.0),
        "rrf": (fusion.reciprocal_rank_fusion, {"method": "rrf", "norm": None}, 1.0),
    }
    for norm in NORMS:
        both[f"comb_sum, {norm}"] = (
            lambda lists, norm=norm: fusion.comb_sum(lists, norm),
            {"method": "sum", "norm": norm},
            1.0,
        )
        both[f"comb_mnz, {norm}"] = (
            lambda lists, norm=norm: fusion.comb_mnz(lists, norm),
            {"method": "mnz", "norm": norm},
            1.0,
        )
    return both


def rules_of_kantor(n_lists: int) -> dict[str, Method]:
    """Return the same for methods on ranks."""
    named = {
        "minimum_rank": ("max", 1.0),
        "maximum_rank": ("min", 1.0),
        "median_rank": ("med", 1.0),
        "rank_sum": ("anz", float(n_lists)),
    }
    return {
        name: (
            lambda lists, name=name: fusion.fuse(lists, name, unranked="ignore"),
            {"method": method, "norm": None},
            factor,
        )
        for name, (method, factor) in named.items()
    }


def ranx_runs(ranx: Any, lists: fusion.RankedLists, scores: np.ndarray) -> list[Any]:
    """Return one run per list, with row numbers as documents."""
    runs = []
    for j in range(lists.n_lists):
        run: dict[str, dict[str, float]] = {str(q): {} for q in lists.queries.ids}
        for row in np.flatnonzero(lists.returned[:, j]).tolist():
            run[str(lists.qid[row])][str(row)] = float(scores[row, j])
        runs.append(ranx.Run(run))
    return runs


def time_calls(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least CPU milliseconds of several calls after the first, and the result."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return 1e3 * min(times), result


def agreement(ours: np.ndarray, run: Any, codes: np.ndarray, factor: float) -> tuple[float, float]:
    """Return the largest score difference and the share of pairs in the same order."""
    theirs = np.full(len(ours), np.nan)
    for found in run.run.values():
        for row, score in found.items():
            theirs[int(row)] = factor * score
    known = np.flatnonzero(np.isfinite(theirs))
    largest = float(np.abs(ours[known] - theirs[known]).max() / np.abs(theirs[known]).max())
    same = total = 0
    for q in np.unique(codes[known]):
        rows = known[codes[known] == q]
        mine, other = (np.sign(s[rows, None] - s[rows]) for s in (ours, theirs))
        total += int((mine > 0).sum())
        same += int(((mine > 0) & (other > 0)).sum())
    return largest, same / total


def compare(ranx: Any, positions: np.ndarray, qid: np.ndarray) -> None:
    lists = fusion.RankedLists(positions, qid, scores=TOP - positions)
    print(
        f"{len(lists):,} documents, {len(lists.queries.ids)} queries, {lists.n_lists} lists\n"
        f"{'':20}   largest      pairs     our ms   ranx ms    times faster"
    )
    compare_methods(ranx, pairs_of_methods(), lists, TOP - positions)
    compare_methods(ranx, rules_of_kantor(lists.n_lists), lists, -positions)


def compare_methods(
    ranx: Any, both: dict[str, Method], lists: fusion.RankedLists, scores: np.ndarray
) -> None:
    runs = ranx_runs(ranx, lists, scores)
    for name, (function, options, factor) in both.items():
        milliseconds, ours = time_calls(lambda f=function: f(lists))
        theirs_ms, run = time_calls(lambda o=options: ranx.fuse(runs=runs, **o))
        largest, same = agreement(ours, run, lists.queries.codes, factor)
        print(
            f"{name:20} {largest:9.1e} {100 * same:8.2f} % {milliseconds:10.1f} {theirs_ms:9.1f}  "
            f"{theirs_ms / milliseconds:7.1f} x",
            flush=True,
        )


def fullest(positions: np.ndarray, qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the longest lists, for the queries where each has two documents or more.

    Documents that none of them returns are left out, as ranx does not know them.
    """
    lists = fusion.RankedLists(positions, qid)
    several = lists.n_returned() >= 2
    kept = np.sort(np.argsort(-several.sum(axis=0), kind="stable")[:FULLEST])
    rows = several[:, kept].all(axis=1)[lists.queries.codes]
    rows &= lists.returned[:, kept].any(axis=1)
    return close_gaps(positions[rows][:, kept], qid[rows]), qid[rows]


def close_gaps(positions: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return positions without gaps."""
    return fusion.RankedLists.from_scores(positions, qid, larger_is_better=False).positions


def main() -> None:
    try:
        import ranx
    except ImportError:
        print("skipped: ranx is not installed (pip install ranx)")
        return
    try:
        data = datasets.load("mq2008-agg", download=False)
    except FileNotFoundError as error:
        print(f"skipped: {error}")
        return
    X = np.concatenate([part.X for part in data.parts])
    qid = np.concatenate([part.qid for part in data.parts])
    positions = close_gaps(X, qid)
    compare(ranx, positions, qid)
    print()
    compare(ranx, *fullest(positions, qid))


if __name__ == "__main__":
    main()
