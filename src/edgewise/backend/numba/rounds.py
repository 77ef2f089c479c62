"""Several rounds of boosted trees in one compiled call.

What `boosting.loop` does round by round with `objective.hamming`, `learners.tree` and the backend,
in the same order of operations, and so with the same bits: on a few hundred rows, calls from Python
take several times as long as the work.
"""

import math
from typing import NamedTuple

import numpy as np

from edgewise.backend.arithmetic import (
    ENERGY_SCALE,
    EXACT_SCALE,
    HEAD_ROOM,
    LEAST_WEIGHT,
    SEARCH_SCALE,
    draw_limit,
)
from edgewise.backend.base import GrownTree, Growth, RoundResult, RoundsRequest, Tally
from edgewise.backend.host import HostState, SignedProblem
from edgewise.backend.numba import step
from edgewise.backend.numba.histogram import draw_rows, hash_number
from edgewise.backend.numba.scan import SplitQuery
from edgewise.backend.numba.trees import ProblemRows, SplitSearch, TreeGrower, grow, walk
from edgewise.backend.numba.vectors import inner, kernel
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows, Signs


class Rounds(NamedTuple):
    """The rounds of a call, each with its tree and what it did: see `base.RoundResult`."""

    nodes: Columns  # (rounds, nodes, 5)
    sides: Signs  # (rounds, nodes, codes)
    votes: Reals  # (rounds, ends, K)
    totals: Exacts  # (rounds, ends, K)
    masses: Exacts  # (rounds, ends, K)
    counts: Columns  # (rounds, 2): nodes, searches
    edges: Exacts  # (rounds,)
    measures: Reals  # (rounds, 2): energy, the weight before the step
    wrong_rows: Exacts  # (rounds,)
    wrong_entries: Exacts  # (rounds, 2, K)
    scores: Reals  # (rounds, K, n)
    watched: Reals  # (rounds + 1, K, validation rows), from the scores before the first round on
    sums: Exacts  # (4, K), of the last step: see `step.advance`


class RoundsPlan(NamedTuple):
    """The rounds to train: see `base.RoundsRequest`."""

    t: int
    seed: np.uint64
    limit: np.uint64  # rows are drawn if their hash is below; 0: all rows
    floor: float
    rate: float
    weight: float
    watched_codes: Rows  # of validation rows, by column


@inner
def _limit_votes(nodes, n_leaves, directions, votes):  # type: ignore[no-untyped-def]
    """Limit votes so that they keep to the directions of columns: `learners.tree`. OUT votes."""
    n_ends, n_scores = 2 * n_leaves - 1, votes.shape[1]
    low, high = np.full((n_ends, n_scores), -np.inf), np.full((n_ends, n_scores), np.inf)
    for node in range(n_leaves - 1):
        direction = directions[nodes[node, 0]] if nodes[node, 1] > 0 else 0
        below, above = nodes[node, 3], nodes[node, 4]
        below = n_leaves + below if below >= 0 else -1 - below
        above = n_leaves + above if above >= 0 else -1 - above
        if direction < 0:
            below, above = above, below
        for k in range(n_scores):
            least, most = low[n_leaves + node, k], high[n_leaves + node, k]
            low[below, k] = low[above, k] = least
            high[below, k] = high[above, k] = most
            if direction != 0:
                lower = min(max(votes[below, k], least), most)
                upper = min(max(votes[above, k], least), most)
                middle = step.half((lower + upper) / 2.0)
                if lower > upper:
                    middle = min(max(votes[n_leaves + node, k], least), most)
                high[below, k] = low[above, k] = middle
    for end in range(n_ends):
        for k in range(n_scores):
            votes[end, k] = min(max(votes[end, k], low[end, k]), high[end, k])


@inner
def _vote(tree, finished, floor, directions, votes, totals, masses):  # type: ignore[no-untyped-def]
    """Give leaves, and nodes that abstain, their votes; return the edge. OUT the last three."""
    n_leaves, edge = tree.counts[1], np.int64(0)
    for end in range(2 * n_leaves - 1):
        for k in range(votes.shape[1]):
            total, mass = finished.totals[end, k], finished.masses[end, k]
            plus, minus = (mass + total) / 2 + floor, (mass - total) / 2 + floor
            vote = step.half(0.5 * step.log(plus / minus))
            # The rows that the root abstains on had no votes.
            votes[end, k] = 0.0 if end == n_leaves else vote
            totals[end, k], masses[end, k] = total, mass
    if len(directions):
        _limit_votes(finished.nodes, n_leaves, directions, votes)
    for leaf in range(n_leaves):
        for k in range(votes.shape[1]):
            total, vote = totals[leaf, k], votes[leaf, k]
            edge += total if vote > 0.0 else (-total if vote < 0.0 else np.int64(0))
    return edge


@inner
def _copy_tree(tree, finished, nodes, sides, counts):  # type: ignore[no-untyped-def]
    """Copy a finished tree. OUT nodes, sides, counts."""
    counts[0], counts[1] = tree.counts[1] - 1, tree.counts[2]
    for node in range(counts[0]):
        for at in range(nodes.shape[1]):
            nodes[node, at] = finished.nodes[node, at]
        for code in range(sides.shape[1]):
            sides[node, code] = finished.sides[node, code]


@inner
def _record_step(r, scores, plan, finished, ends, rounds):  # type: ignore[no-untyped-def]
    """Record errors and scores of training and validation rows after a step. OUT ends, rounds."""
    n_nodes, votes, sums = rounds.counts[r, 0], rounds.votes[r], rounds.sums
    walk(plan.watched_codes, finished.nodes[:n_nodes], finished.sides[:n_nodes], ends)
    for k in range(len(scores)):
        rounds.wrong_entries[r, 0, k] = sums[2, k]
        rounds.wrong_entries[r, 1, k] = sums[3, k]
        for i in range(scores.shape[1]):
            rounds.scores[r, k, i] = scores[k, i]
        for i in range(len(ends)):
            rounds.watched[r + 1, k, i] = rounds.watched[r, k, i] + votes[ends[i], k] * plan.rate


@kernel
def boost(  # type: ignore[no-untyped-def]
    plan, state, source, split_search, directions, by_edge, weights, tree, finished, rounds
):
    """Train rounds until all are done, or one cannot be trained here.

    IN plan, split_search, directions, by_edge. IN, OUT state (weights and scores), source (S after
    the last step). OUT weights, tree, finished, rounds. Return the number of rounds, and the sum of
    the weights after them.
    """
    labels, _, _, _, _, state_weights, scores, _ = state
    n_scores, n = scores.shape
    all_rows, query, weight, sums = source.rows, split_search.query, plan.weight, rounds.sums
    ends = np.empty(plan.watched_codes.shape[1], dtype=np.intp)
    drawn, outputs = np.empty(n, dtype=all_rows.dtype), np.empty((n_scores, n))
    everywhere = np.empty((1, n), dtype=np.int8)
    # A literal 0 or True would be compiled by itself.
    first, always = np.int64(0), plan.rate > 0.0
    ones, zeros, moves, same = (
        np.empty(n_scores), np.empty(n_scores), np.empty(n_scores), np.empty(n_scores),
    )  # fmt: skip
    for i in range(n):
        everywhere[0, i] = 1
    for k in range(n_scores):
        ones[k], zeros[k], moves[k] = 1.0, 0.0, plan.rate
    for r in range(len(rounds.edges)):
        if weight < LEAST_WEIGHT:
            return r, weight
        rows = all_rows
        if plan.limit > 0:
            n_drawn = draw_rows(hash_number(plan.seed, plan.t + r + 1), plan.limit, drawn)
            rows = drawn[:n_drawn] if n_drawn > 0 else all_rows
        damping = plan.floor / weight * SEARCH_SCALE
        damped_query = SplitQuery(
            query.n_scores, query.n_columns, query.by_gain, query.constant, query.missing,
            query.min_sums, damping,
        )  # fmt: skip
        grow(
            always, n, ProblemRows(rows, source.signed, source.lanes, source.constraints),
            SplitSearch(
                split_search.layout, damped_query, split_search.sets, split_search.directions,
            ),
            directions, by_edge, weights, tree, finished,
        )  # fmt: skip
        if tree.counts[1] < 2:
            return r, weight
        votes = rounds.votes[r]
        rounds.edges[r] = _vote(
            tree, finished, damping, split_search.directions, votes, rounds.totals[r],
            rounds.masses[r],
        )  # fmt: skip
        for k in range(n_scores):
            for i in range(n):
                outputs[k, i] = votes[finished.leaves[i], k]
        energy = step.sum_energy(first, n, state_weights, labels, outputs, moves)
        energy /= ENERGY_SCALE
        if not energy < 1.0:
            return r, weight
        _copy_tree(tree, finished, rounds.nodes[r], rounds.sides[r], rounds.counts[r])
        rounds.measures[r, 0], rounds.measures[r, 1] = energy, weight
        unit = math.ldexp(EXACT_SCALE / HEAD_ROOM, -math.frexp(weight)[1])
        total, _ = step.reweigh(first, n, state, outputs, moves, ones, unit, always, 0.0)
        weight = total / unit
        factor = unit / total
        for k in range(n_scores):
            same[k], sums[0, k], sums[1, k], sums[2, k], sums[3, k] = factor, 0, 0, 0, 0
        scaling = (same, same, factor, zeros, zeros)
        _, rounds.wrong_rows[r] = step.advance(
            first, n, state, everywhere, scaling, source.lanes, source.signed, sums
        )
        _record_step(r, scores, plan, finished, ends, rounds)
    return len(rounds.edges), weight


def train(
    grower: TreeGrower,
    state: HostState,
    problem: SignedProblem,
    request: RoundsRequest,
    growth: Growth,
    codes: Rows,
    watched: Reals,
) -> list[RoundResult]:
    """Train rounds on one thread; `codes` and `watched` are codes and scores of validation rows."""
    lease, problem_of_all = grower.lease_leaves(), state.whole
    rounds = _make_room(grower, state, request.n_rounds, watched)
    limit = draw_limit(request.fraction) if request.fraction < 1.0 else np.uint64(0)
    plan = RoundsPlan(
        request.t,
        np.uint64(request.seed),
        limit,
        request.floor,
        request.rate,
        request.weight,
        codes,
    )
    source, weights = grower.arrange(problem, growth, grower.all_rows)
    done, weight = boost(
        plan, state.arrays, source, grower.split_search(growth), *grower.kinds, weights,
        grower.tree, grower.finished, rounds,
    )  # fmt: skip
    del lease
    if done:
        problem_of_all.signed_totals, problem_of_all.signed_masses = rounds.sums[:2]
    return [_result(rounds, r, weight if r == done - 1 else None) for r in range(done)]


def _make_room(grower: TreeGrower, state: HostState, n_rounds: int, watched: Reals) -> Rounds:
    """Return memory for the rounds of a call."""
    finished, k = grower.finished, state.n_scores
    rounds = Rounds(
        np.empty((n_rounds, *finished.nodes.shape), dtype=np.intp),
        np.empty((n_rounds, *finished.sides.shape), dtype=np.int8),
        np.empty((n_rounds, *finished.totals.shape)),
        np.empty((n_rounds, *finished.totals.shape), dtype=np.int64),
        np.empty((n_rounds, *finished.totals.shape), dtype=np.int64),
        np.empty((n_rounds, 2), dtype=np.intp),
        np.empty(n_rounds, dtype=np.int64),
        np.empty((n_rounds, 2)),
        np.empty(n_rounds, dtype=np.int64),
        np.empty((n_rounds, 2, k), dtype=np.int64),
        np.empty((n_rounds, *state.scores.shape)),
        np.empty((n_rounds + 1, *watched.shape)),
        np.zeros((4, k), dtype=np.int64),
    )
    rounds.watched[0] = watched
    return rounds


def _result(rounds: Rounds, r: int, next_weight: float | None) -> RoundResult:
    n_nodes, n_searches = rounds.counts[r].tolist()
    energy, weight = rounds.measures[r].tolist()
    nodes, ends = rounds.nodes[r, :n_nodes], slice(2 * n_nodes + 1)
    totals, masses = rounds.totals[r, ends], rounds.masses[r, ends]
    return RoundResult(
        n_searches,
        Tally(-1, int(rounds.wrong_rows[r]), rounds.wrong_entries[r]),
        tree=GrownTree(nodes, totals, masses, None, sides=rounds.sides[r, :n_nodes]),
        votes=rounds.votes[r, ends],
        edge=int(rounds.edges[r]),
        energy=energy,
        weight=weight,
        next_weight=rounds.measures[r + 1, 1].item() if next_weight is None else next_weight,
        scores=rounds.scores[r],
        watched=rounds.watched[r + 1],
    )
