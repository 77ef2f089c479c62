"""All terms of a model as one forest, which every row walks through.

A node tests one value: a number against a threshold, or a category. A product is a chain of nodes,
two for each factor after the first: one where the factors so far multiply to +1, one for -1. Where
a walk ends stands a row of the term's outputs times its coefficients, one for each score column.
The score of a row is the sum of these rows, from the first term to the last.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.compiled import is_compiled, record_compiled, use_compiled
from edgewise.common.dtypes import Columns, Reals
from edgewise.common.threads import Threads
from edgewise.data import RawRows
from edgewise.model.leaf_sets import LeafSets
from edgewise.model.rules import KINDS, Scores, Test, TreeRule
from edgewise.model.terms import Terms

_TEST, _TREE, _SCORES = map(KINDS.index, (Test, TreeRule, Scores))

# The most memory for the ends of all terms: numbers for many categories and classes can take more.
_MOST_BYTES = 1 << 28

# The compiled walk numbers thresholds, categories and the ends of a term in 16 bits.
_MOST_CODES = 65_535

# How many walks NumPy makes at once, how many numbers it sums, and how many values of rows the
# compiled walk reads at a time: what stays in the caches.
_WALKS, _SUMMED, _READ = 1 << 16, 1 << 15, 1 << 17

# Fewer rows take the compiled walk only once it is loaded: nobody waits half a second for one row.
_FEW_ROWS = 32

# The leaves of a tree that fit into the bits of a number.
_MOST_LEAVES = 64

# What NumPy's walk through one term costs, in visits and beside the sum; and by sets of leaves.
_VISITS_A_WALK, _VISITS_A_SET = 12, 4

# With fewer rows, another thread costs more than it saves.
_ROWS_PER_THREAD = 1024


@dataclass(frozen=True, eq=False)
class Forest:
    """T terms, N nodes and E ends; the nodes of a term are together, children after parents.

    What follows on a test is a node, or -1 - an end.
    """

    columns: Columns  # (U,), the columns in use, ascending
    roots: Columns  # (T,), where the walk through each term starts
    firsts: Columns  # (T + 1,), the nodes of term t are from firsts[t] to firsts[t + 1]
    places: Columns  # (N,), the column of each node, as its place in `columns`
    thresholds: Reals  # (N,), NaN where a node tests a category
    # (3, N), what follows on a smaller value, on an equal or larger one, and on a missing one
    children: Columns
    target_starts: Columns  # (N + 1,), the bounds of what follows on each category of a node
    targets: Columns
    bases: Columns  # (T + 1,), the ends of term t are from bases[t] to bases[t + 1]
    ends: Reals  # (E, K)

    @staticmethod
    def of(terms: Terms) -> "Forest | None":
        """Return terms as a forest, or None where some are neither tests nor trees."""
        if not np.isin(terms.kinds, (_TEST, _TREE, _SCORES)).all():
            return None
        # A term's leaves are the three sides of a test, or those between its first and last.
        leaves = np.where(terms.children < 0, -1 - terms.children, len(terms.leaves))
        first_leaf = _by_term(np.minimum, leaves.min(axis=0), terms)
        last_leaf = _by_term(np.maximum, (-1 - terms.children).max(axis=0), terms)
        n_ends = last_leaf + 1 - first_leaf
        scores = np.flatnonzero(terms.kinds == _SCORES)
        factors = terms.starts[terms.firsts[scores]]
        n_ends[scores] = np.diff(terms.value_starts)[factors]
        if n_ends.sum() * terms.n_scores * 8 > _MOST_BYTES:
            return None
        bases = _bounds(n_ends)
        term = np.repeat(np.arange(len(terms)), n_ends)
        leaf = (first_leaf - bases[:-1])[term] + np.arange(len(term))
        outputs = terms.leaves[np.minimum(leaf, len(terms.leaves) - 1)]
        for t, f in zip(scores.tolist(), factors.tolist(), strict=True):
            outputs[bases[t] : bases[t + 1]] = terms.values_of(f)[:, None]
        return _planted(terms, bases, first_leaf, outputs * terms.coefficients[term])

    def scores(self, rows: RawRows, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        n_rows, n_terms, width = rows.n_rows, len(self.roots), self.ends.shape[1]
        scores = np.zeros((n_rows, width))
        if not rows.is_array:
            rows.read(self.columns.tolist())
        walked = _VISITS_A_WALK if self._leaf_sets is None else _VISITS_A_SET
        compiled = self._compiled_for(n_rows, float(n_rows) * n_terms * (walked + width))
        size, start = 1 + _WALKS // (n_terms + 1), 0
        while start < n_rows and not compiled():
            part = slice(start, start + size)
            scores[part] = self.walk(rows.block(self.columns, part))
            start += size
        if start < n_rows:
            self._score_compiled(rows, start, n_jobs, scores)
        return scores

    def walk(self, values: Reals) -> Reals:
        """Return the scores of some rows, shape (n, K), given the columns in use, shape (U, n).

        Categories are given as their codes.
        """
        n_rows, n_terms, width = values.shape[1], len(self.roots), self.ends.shape[1]
        ends = self.ends_of(values)
        step = 1 + _SUMMED // (n_rows * width)
        # The first row is the sum so far.
        moves = np.zeros((min(step, n_terms) + 1, n_rows * width))
        for first in range(0, n_terms, step):
            part = ends[first : first + step].ravel()
            some = moves[: 1 + len(part) // n_rows]
            self.ends.take(part, axis=0, out=some[1:].reshape(-1, width), mode="clip")
            moves[:1] = in_order(some)
        # A sum that starts at 0 is never -0.
        return moves[0].reshape(n_rows, width)

    def ends_of(self, values: Reals) -> Columns:
        """Return where the walk of each row through each term ends, shape (T, n)."""
        sets = self._leaf_sets
        if sets is not None and sets.covers(values):
            return sets.ends_of(values)
        n_rows = values.shape[1]
        found = np.repeat(self.roots, n_rows)
        place = np.flatnonzero(found >= 0)
        at, row = found[place], place % n_rows
        flat, offsets = values.ravel(), self.places * n_rows
        some_missing = bool(np.isnan(flat).any())
        while len(at):
            value = flat.take(offsets.take(at) + row)
            following = self.following(at, value, some_missing)
            found[place] = following
            inside = np.flatnonzero(following >= 0)
            at, row, place = following[inside], row[inside], place[inside]
        return (-1 - found).reshape(-1, n_rows)

    def following(self, at: Columns, value: Reals, some_missing: bool = True) -> Columns:
        """Return what follows on a value at each of some nodes."""
        side = (value >= self.thresholds.take(at)).astype(np.intp)
        if some_missing:
            side[np.isnan(value)] = 2
        following = self.children.take(side * len(self.places) + at)
        if len(self.targets):
            tested = np.flatnonzero(np.isnan(self.thresholds[at]))
            codes = value[tested].astype(np.intp)
            following[tested] = self.targets[self.target_starts[at[tested]] + codes]
        return following

    @cached_property
    def _leaf_sets(self) -> "LeafSets | None":
        """The terms as sets of leaves, if all are small trees."""
        below = self.children[:2]
        shared = len(np.unique(below)) < below.size
        if shared or np.diff(self.firsts).max(initial=0) >= _MOST_LEAVES:
            return None
        return LeafSets.of(self)

    # The compiled walk

    @property
    def _form(self) -> str:
        """The form of compiled work."""
        return "walk" if self._leaf_sets is None else f"walk {self._leaf_sets.bits.name}"

    def _compiled_for(self, n_rows: int, visits: float) -> Callable[[], bool]:
        """Return a function that says, amid the work too, whether compiled loops do the rest."""
        if not self._fits or (n_rows < _FEW_ROWS and not use_compiled(0, form=self._form)):
            return lambda: False
        # A process that only predicts a few rows need not read this.
        from edgewise.backend.choose import kernels_ready

        return kernels_ready(visits, self._form, lambda: (Forest.compile, replace(self)))

    def compile(self) -> None:
        """Compile the walk, for rows with missing values and without."""
        for value in (0.0, np.nan):
            self._walk_compiled(
                np.full((len(self.columns), 1), value), np.empty_like(self.ends[:1])
            )
        record_compiled(self._form)

    def _score_compiled(self, rows: RawRows, start: int, n_jobs: int, scores: Reals) -> None:
        """Write the scores of all rows from `start` on."""
        if not is_compiled(self._form):
            self.compile()
        record_compiled(self._form)
        n_rows = rows.n_rows - start
        with Threads(n_jobs if n_rows >= 2 * _ROWS_PER_THREAD else 1) as threads:
            size = max(1, min(_READ // (1 + len(self.columns)), -(-n_rows // threads.n)))

            def run(first: int) -> None:
                part = slice(first, first + size)
                self._walk_compiled(rows.block(self.columns, part), scores[part])

            threads.map(run, range(start, rows.n_rows, size))

    def _walk_compiled(self, values: Reals, scores: Reals) -> None:
        """Write what `walk` returns."""
        kernels = import_module("edgewise.backend.numba.score")
        sets = self._leaf_sets
        if sets is not None and sets.covers(values):
            kernels.walk_sets(values, *self._cuts[:3], *self._coded_sets, scores)
        else:
            kernels.walk(values, *self._cuts[:3], *self._coded, scores)

    @cached_property
    def _fits(self) -> bool:
        """Whether the compiled walk has numbers enough."""
        cuts = np.bincount(self.places, minlength=1)
        most = max(
            cuts.max(), *(np.diff(b).max(initial=0) for b in (self.target_starts, self.bases))
        )
        return bool(most < _MOST_CODES)

    @cached_property
    def _cuts(self) -> tuple[NDArray[Any], ...]:
        """The thresholds by column, padded, their bounds, their numbers, and that of each node."""
        numeric = ~np.isnan(self.thresholds)
        cuts = np.zeros(len(self.places), dtype=np.uint16)
        padded, sizes = [], []
        for place in range(len(self.columns)):
            mine = numeric & (self.places == place)
            distinct = np.unique(self.thresholds[mine])
            cuts[mine] = 1 + np.searchsorted(distinct, self.thresholds[mine])
            full = np.full((1 << len(distinct).bit_length()) - 1, np.inf)
            full[: len(distinct)] = distinct
            padded.append(full)
            sizes.append(len(distinct))
        return (
            np.concatenate([np.empty(0), *padded]),
            _bounds(np.array([len(full) for full in padded], dtype=np.intp)),
            np.array(sizes, dtype=np.intp),
            cuts,
        )

    @cached_property
    def _coded(self) -> tuple[NDArray[Any], ...]:
        """The forest as the compiled walk reads it, ends term by term."""
        term = self._term_of_node
        children = _local(self.children, self.firsts[term], self.bases[term])
        of_target = np.repeat(term, np.diff(self.target_starts))
        targets = _local(self.targets, self.firsts[of_target], self.bases[of_target])
        roots = _local(self.roots, self.firsts[:-1], self.bases[:-1])
        more = self._terms_missing
        return (
            np.pad(roots, (0, more), constant_values=-1),
            np.pad(self.firsts, (0, more), mode="edge"),
            self.places,
            self._cuts[3],
            *children,
            self.target_starts,
            targets,
            # The terms that are added end in a row of zeros after the last end.
            np.pad(self.bases, (0, more), mode="edge"),
            _aligned(self.ends, len(self.ends) + 1),
        )

    @cached_property
    def _coded_sets(self) -> tuple[NDArray[Any], ...]:
        """The leaf sets as the compiled walk reads them."""
        kernels = import_module("edgewise.backend.numba.score")
        sets = self._leaf_sets
        assert sets is not None
        node = np.arange(len(self.places)) - self.firsts[self._term_of_node], self._term_of_node, 0
        is_subset = np.isnan(self.thresholds)
        # The codes of a column are read twice where missing values go both ways.
        high = sets.missing_high[node] & ~is_subset
        planes, plane = np.unique(2 * self.places + high, return_inverse=True)
        more = self._terms_missing
        firsts = np.pad(self.firsts, (0, more), mode="edge")
        # Each subset of a group of terms has a plane of its own after those.
        subsets = np.flatnonzero(is_subset)
        starts = np.searchsorted(subsets, firsts[:: kernels.TOGETHER])
        sources = plane[subsets]
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        plane[subsets] = len(planes) + np.arange(len(subsets)) - starts[group]
        return (
            planes // 2,
            np.where(planes % 2, kernels.MISSING, 0).astype(np.uint16),
            starts,
            sources,
            self.target_starts[subsets],
            sets.above.astype(np.uint16),
            firsts,
            plane,
            np.where(is_subset, 1, self._cuts[3]).astype(np.uint16),
            sets.lost[node].astype(sets.bits),
            _aligned(self.ends[sets.ends.ravel()], sets.ends.size + more * sets.ends.shape[1]),
        )

    @property
    def _term_of_node(self) -> Columns:
        return np.repeat(np.arange(len(self.roots)), np.diff(self.firsts))

    @property
    def _terms_missing(self) -> int:
        """How many terms that add nothing fill up the last group, which is added at once."""
        from edgewise.backend.numba.score import TOGETHER

        return -len(self.roots) % TOGETHER


def in_order(moves: Reals) -> Reals:
    """Return the sum of rows of numbers from the first to the last."""
    # Along the first axis of several columns NumPy adds row to row, of a single one in pairs.
    return np.add.reduce(moves) if moves.shape[1] > 1 else np.cumsum(moves)[-1:]


def _planted(terms: Terms, bases: Columns, first_leaf: Columns, ends: Reals) -> Forest:
    """Return the forest of terms, given the first end and the first leaf of each."""
    node, term = terms.node_of_factor, terms.term_of_factor
    n_factors = len(node)
    leads = terms.starts[:-1][node] == np.arange(n_factors)
    # The number of a factor's node where the factors before it multiply to +1; to -1, the next.
    number = _bounds(np.where(leads, 1, 2))
    n_nodes = int(number[-1])
    owner = terms.term_of_node
    children = _passed(terms, terms.children.astype(np.intp))
    children = _renumbered(terms, children, number, first_leaf[owner] - bases[owner])
    roots = _passed(terms, terms.firsts[:-1].astype(np.intp))
    roots = _renumbered(terms, roots, number, first_leaf - bases[:-1])

    factor = np.repeat(np.arange(n_factors), np.diff(number))
    is_minus = np.arange(n_nodes) > number[factor]
    ends_node = np.append(leads[1:], True)[factor] if n_factors else leads
    following = np.append(number[1:], 0)[factor] if n_factors else number[:0]
    low, high, rest = children[:, node[factor]]
    plus = np.where(ends_node, high, following)
    minus = np.where(ends_node, low, following + 1)
    sides = np.stack([np.where(is_minus, plus, minus), rest, np.where(is_minus, minus, plus)])
    everywhere = np.arange(n_nodes)
    missing = sides[1 + np.sign(terms.missing[factor]).astype(np.intp), everywhere]

    sizes = np.diff(terms.value_starts)[factor]
    target_starts = _bounds(sizes)
    of_target = np.repeat(everywhere, sizes)
    code = np.arange(len(of_target)) - target_starts[of_target]
    value = terms.values[terms.value_starts[factor[of_target]] + code]
    targets = sides[1 + np.sign(value).astype(np.intp), of_target]
    own = terms.kinds[term[factor[of_target]]] == _SCORES
    targets[own] = -1 - (bases[term[factor[of_target[own]]]] + code[own])

    columns, places = np.unique(terms.columns[factor], return_inverse=True)
    thresholds = np.where(sizes > 0, np.nan, terms.thresholds[factor])
    firsts = _bounds(np.bincount(term[factor], minlength=len(terms)))
    return Forest(
        columns.astype(np.intp),
        roots,
        firsts,
        places,
        thresholds,
        np.stack([sides[0], sides[2], missing]),
        target_starts,
        targets,
        bases,
        ends,
    )


def _passed(terms: Terms, places: Columns) -> Columns:
    """Return nodes and leaves with the nodes that test nothing passed: they lead to +1."""
    tests_nothing = np.append(np.diff(terms.starts) == 0, False)
    while (idle := tests_nothing[np.maximum(places, -1)]).any():
        places = np.where(idle, terms.children[1][np.maximum(places, 0)], places)
    return places


def _renumbered(terms: Terms, places: Columns, number: Columns, lead: Columns) -> Columns:
    """Return nodes and leaves of terms as nodes and ends of a forest."""
    first_factor = terms.starts[np.maximum(places, 0)]
    return np.where(places >= 0, number[first_factor], places + lead)


def _by_term(reduce: np.ufunc, values: Columns, terms: Terms) -> Columns:
    return reduce.reduceat(values, terms.firsts[:-1]) if len(terms) else values.astype(np.intp)


def _bounds(sizes: Columns) -> Columns:
    """Return the bounds of parts of these sizes."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)


def _local(places: Columns, first: Columns, base: Columns) -> NDArray[np.int32]:
    """Return nodes and ends counted from the first of their term."""
    return np.where(places >= 0, places - first, places + base).astype(np.int32)


def _aligned(ends: Reals, n_rows: int) -> Reals:
    """Return rows, followed by zeros, where no vector of four numbers crosses a cache line."""
    width = ends.shape[1]
    full = width + (-width % 4 if width > 1 else 0)
    memory = np.zeros(n_rows * full + 8)
    first = -memory.ctypes.data % 64 // memory.itemsize
    found = memory[first : first + n_rows * full].reshape(n_rows, full)
    found[: len(ends), :width] = ends
    return found
