"""Shape functions: an additive model as a table for each column and for each pair of columns.

The score of a row is an intercept plus one entry of each table. The tables of pairs hold only what
two curves cannot: their means along either column, weighted by the training rows of the other, are
0 (functional ANOVA; Hooker 2007; Lengerich et al. 2020). Curves have the mean 0 over the training
rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Reals
from edgewise.data import BinnedTable, Bins
from edgewise.model.leaf_paths import Paths
from edgewise.model.rules import (
    EVERYWHERE,
    Cut,
    Node,
    Rule,
    Scores,
    Subset,
    TreeRule,
)
from edgewise.model.scorer import Scorer
from edgewise.model.terms import Terms

Columns = tuple[int, ...]
Mask = NDArray[np.bool_]

# The spread of fewer averaged models is no estimate.
_MIN_BAGS = 4


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of a column: intervals between thresholds or categories, then missing values."""

    column: int
    name: str
    thresholds: Reals  # ascending; none for categories
    categories: tuple[object, ...] | None
    counts: Reals  # (cells,), the training rows in each cell, or all 1 where they are not known

    @property
    def n_cells(self) -> int:
        """The number of cells, with the one of missing and unseen values."""
        return len(self.counts)

    @property
    def labels(self) -> list[str]:
        """A label for each cell."""
        return self.format_labels("{:.6g}".format)

    def format_labels(self, form: Callable[[float], str]) -> list[str]:
        """Return a label for each cell, with numbers in some form."""
        if self.categories is not None:
            return [*map(str, self.categories), "missing"]
        if len(self.thresholds) == 0:
            return ["any", "missing"]
        numbers = [*map(form, self.thresholds.tolist())]
        between = [f"{a} to {b}" for a, b in pairwise(numbers)]
        return [f"< {numbers[0]}", *between, f">= {numbers[-1]}", "missing"]

    def cells(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Return the cell of each value: a number, or the code of a category."""
        missing = np.isnan(values)
        if self.categories is not None:
            codes = np.where(missing, self.n_cells - 1, values).astype(np.intp)
            return np.minimum(codes, self.n_cells - 1)
        cells = np.searchsorted(self.thresholds, values, side="right")
        return np.where(missing, self.n_cells - 1, cells)

    def coarsen(self, thresholds: Reals) -> tuple["Axis", NDArray[np.intp]]:
        """Return the axis with fewer thresholds, and the new cell of each cell."""
        if self.categories is not None:
            return self, np.arange(self.n_cells)
        edges = np.append(-np.inf, self.thresholds)
        cells = np.append(np.searchsorted(thresholds, edges, side="right"), len(thresholds) + 1)
        counts = np.bincount(cells, self.counts, minlength=len(thresholds) + 2).astype(float)
        return replace(self, thresholds=thresholds, counts=counts), cells


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """A curve of one column, or the table of a pair: what values add to the scores.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", preset="paper", n_rounds=1)
    >>> model = model.fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> term = model.terms_[0]
    >>> term.name, term.axes[0].labels, term.scores[:, 0].round(2)
    ('x0', ['< 3.5', '>= 3.5', 'missing'], array([-2.3 ,  4.61,  1.15]))
    """

    axes: tuple[Axis, ...]
    """The cells of one or two columns."""
    scores: Reals
    """The table, shape (cells, K) or (cells, cells, K)."""
    errors: Reals | None = None
    """The standard errors of the scores, by leaving out a part of the rows in each averaged model
    (delete-a-group jackknife; Kott 2001); None for a single model."""
    importance: float = 0.0
    """The share in the mean absolute scores of all terms."""

    @property
    def name(self) -> str:
        """The names of the columns."""
        return " * ".join(axis.name for axis in self.axes)

    @property
    def columns(self) -> Columns:
        """The numbers of the columns."""
        return tuple(axis.column for axis in self.axes)

    @property
    def counts(self) -> Reals:
        """The training rows in each cell; for pairs, as if the columns were independent."""
        first, *others = [axis.counts for axis in self.axes]
        return np.outer(first, others[0]) / max(first.sum(), 1.0) if others else first

    @property
    def has_rows(self) -> Mask:
        """The cells with training rows; all if no cell has any."""
        return self.counts > 0 if self.counts.any() else np.ones(self.counts.shape, dtype=bool)

    @property
    def ranges(self) -> Reals:
        """The difference between the highest and the lowest of each score, where rows are."""
        return np.asarray(np.ptp(self.scores[self.has_rows], axis=0))

    def extremes(self, k: int) -> list[tuple[float, str]]:
        """Return the lowest and the highest of the k-th scores, where rows are, with labels."""
        scores = np.where(self.has_rows, self.scores[..., k], np.nan)
        ends = []
        for at in (np.nanargmin(scores), np.nanargmax(scores)):
            cell = np.unravel_index(at, scores.shape)
            labels = [axis.labels[i] for axis, i in zip(self.axes, cell, strict=True)]
            ends.append((float(scores[cell]), ", ".join(labels)))
        return ends

    def __call__(self, *values: Any) -> Reals:
        """Return what some values add to the scores, shape (n, K); categories as codes."""
        pairs = zip(self.axes, values, strict=True)
        cells = tuple(axis.cells(np.asarray(v, dtype=np.float64)) for axis, v in pairs)
        return np.asarray(self.scores[cells])

    def to_frame(self, library: str | None = None) -> Any:
        """Return the table as a frame of `library`, "pandas" or "polars": a row for each cell."""
        from edgewise.io.frames import frame_library

        cells = np.indices(self.scores.shape[:-1]).reshape(len(self.axes), -1)
        columns: dict[str, Any] = {
            axis.name: [axis.labels[i] for i in of_axis.tolist()]
            for axis, of_axis in zip(self.axes, cells, strict=True)
        }
        columns["rows"] = self.counts.ravel()
        for what, table in (("score", self.scores), ("error", self.errors)):
            n_scores = 0 if table is None else table.shape[-1]
            for k in range(n_scores):
                assert table is not None
                columns[what if n_scores == 1 else f"{what} {k}"] = table[..., k].ravel()
        return frame_library(library).DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Shapes:
    """An additive model as an intercept and shape functions, the most important first."""

    intercept: Reals  # (K,)
    functions: tuple[ShapeFunction, ...]
    axes: dict[int, Axis]  # of each column, with the cells of all functions

    def scores(self, values: Callable[[int], NDArray[Any]], n_rows: int) -> Reals:
        """Return the scores of rows, shape (n, K); `values` returns those of a column."""
        scores = np.tile(self.intercept, (n_rows, 1))
        for function in self.functions:
            scores += function(*(values(j) for j in function.columns))
        return scores

    def find(self, name: object) -> ShapeFunction:
        """Return the function of a column, or of a pair of columns, by names or numbers."""
        wanted = name if isinstance(name, (tuple, list)) else (name,)
        for function in self.functions:
            keys = {key for axis in function.axes for key in (axis.name, axis.column)}
            if function.name == name or (
                len(wanted) == len(function.axes) and all(key in keys for key in wanted)
            ):
                return function
        listed = ", ".join(repr(function.name) for function in self.functions[:20])
        raise ValueError(f"term: the model has no term {name!r}; it has {listed}")

    def replace(self, old: ShapeFunction, new: ShapeFunction | None) -> "Shapes":
        """Return the model with another function in the place of one, or without it."""
        changed = [new if function is old else function for function in self.functions]
        return self.with_functions([function for function in changed if function is not None])

    def with_functions(self, functions: Sequence[ShapeFunction]) -> "Shapes":
        """Return the model with other functions; their importances are set."""
        sizes = [_mean_size(function) for function in functions]
        total = sum(sizes) or 1.0
        weighed = [
            replace(function, importance=size / total)
            for function, size in zip(functions, sizes, strict=True)
        ]
        weighed.sort(key=lambda function: (-function.importance, function.columns))
        return replace(self, functions=tuple(weighed))

    def importances(self, n_features: int) -> Reals:
        """Return the importance of each column; two columns share that of a pair equally."""
        importances = np.zeros(n_features)
        for function in self.functions:
            importances[[*function.columns]] += function.importance / len(function.columns)
        return importances

    def pack(self) -> Terms:
        """Return a term for each function, and one for the intercept."""
        pairs: list[tuple[Rule, Reals]] = [(EVERYWHERE, self.intercept)]
        for function in self.functions:
            pairs += make_rules(function)
        rules, votes = zip(*pairs, strict=True)
        return Terms.pack(rules, np.ones(len(rules)), np.array(votes))


def _mean_size(function: ShapeFunction) -> float:
    weights = function.counts / max(function.counts.sum(), 1e-300)
    return float((weights[..., None] * np.abs(function.scores)).sum())


# From terms to tables


class _Region(NamedTuple):
    """The values that lead to a leaf, by column, and its votes."""

    bag: int  # of the averaged models
    entries: dict[int, int]  # the entry of `Paths` for each column
    votes: Reals


def find_shapes(
    scorer: Scorer, counts: Sequence[Reals] | None = None, n_bags: int = 1, has_errors: bool = False
) -> Shapes | None:
    """Return an additive model as tables; None if rules test three columns together.

    `counts` are the training rows in the cells of each column of `cell_axes`. With errors, each of
    the averaged models has left out other rows.
    """
    scorer = scorer.in_subsets
    regions = _find_regions(scorer, n_bags)
    if regions is None:
        return None
    axes, paths = cell_axes(scorer, counts), scorer.paths
    n_scores = scorer.terms.n_scores
    intercepts, curves = np.zeros((n_bags, n_scores)), {}
    for j, axis in axes.items():
        curves[j] = np.zeros((n_bags, axis.n_cells, n_scores))
    pairs: dict[Columns, tuple[tuple[Axis, ...], Reals]] = {}
    for columns, of_columns in sorted(regions.items()):
        thresholds = [_thresholds(paths, [r.entries[j] for r in of_columns]) for j in columns]
        fitted = [axes[j].coarsen(t) for j, t in zip(columns, thresholds, strict=True)]
        grid = tuple(axis for axis, _ in fitted)
        table = np.zeros((n_bags, *(axis.n_cells for axis in grid), n_scores))
        for bag, entries, votes in of_columns:
            masks = [_mask(paths, entries[axis.column], axis) for axis in grid]
            of_bag = table[bag]
            of_bag[np.ix_(*masks)] += votes * n_bags
        if len(columns) == 2:
            table, means = _purify(table, [axis.counts for axis in grid])
            pairs[columns] = grid, table
        else:
            means = [table] if columns else []
            intercepts += 0.0 if columns else table
        for (axis, cells), mean in zip(fitted, means, strict=True):
            curves[axis.column] += mean[:, cells]
    functions = []
    for j, curve in curves.items():
        axis = axes[j]
        mean = np.average(curve, axis=1, weights=_weights(axis.counts))
        intercepts += mean
        if (curve != mean[:, None]).any():
            functions.append(_function((axis,), curve - mean[:, None], has_errors))
    functions += [_function(grid, table, has_errors) for grid, table in pairs.values()]
    return Shapes(intercepts.mean(axis=0), (), axes).with_functions(functions)


def cell_axes(scorer: Scorer, counts: Sequence[Reals] | None = None) -> dict[int, Axis]:
    """Return the cells of each column that rules test, ascending."""
    terms, axes = scorer.terms, {}
    for u, j in enumerate(np.unique(terms.columns).tolist()):
        thresholds = np.unique(terms.thresholds[terms.columns == j])
        thresholds, categories = thresholds[np.isfinite(thresholds)], scorer.categories.get(j)
        n_cells = len(thresholds) + 2 if categories is None else len(categories) + 1
        known = np.ones(n_cells) if counts is None else counts[u]
        axes[j] = Axis(j, scorer.feature_name(j), thresholds, categories, known)
    return axes


def count_rows(scorer: Scorer, binned: BinnedTable) -> tuple[Exacts, ...]:
    """Return the training rows in each cell of each column that rules test."""
    counts = []
    for j, axis in cell_axes(scorer.in_subsets).items():
        bins, codes = binned.bins[j], binned.codes(j)
        if isinstance(bins, Bins):
            edges = np.append(-np.inf, bins.thresholds)
            cells = np.append(np.searchsorted(axis.thresholds, edges, "right"), axis.n_cells - 1)
            codes = cells[codes]
        of_axis = np.bincount(codes, minlength=axis.n_cells).astype(np.int64)
        counts.append(np.asarray(binned.partition.sum(of_axis)))
    return tuple(counts)


def may_have_shapes(scorer: Scorer, is_additive: bool) -> bool:
    """Return whether no rule tests three columns; trees of additive models do so path by path."""
    terms = scorer.in_subsets.terms
    if (terms.columns >= scorer.n_features).any():
        return False
    if is_additive or terms.is_additive:
        return True
    tested = np.unique(np.stack([terms.term_of_factor, terms.columns]), axis=1)
    return bool(np.bincount(tested[0], minlength=1).max(initial=0) <= 2)


def _find_regions(scorer: Scorer, n_bags: int) -> dict[Columns, list[_Region]] | None:
    """Return the paths of a model by their columns, or None if one has three columns."""
    forest = scorer.paths_forest
    if forest is None or (forest.columns >= scorer.n_features).any():
        return None
    paths, terms = scorer.paths, scorer.terms
    term = np.repeat(np.arange(len(terms)), terms.n_split)
    bags = term[np.searchsorted(forest.leaf_starts, paths.numbers, side="right") - 1] % n_bags
    columns = forest.columns[paths.columns].tolist()
    regions: dict[Columns, list[_Region]] = {}
    for p in np.flatnonzero(paths.leaves.any(axis=1)).tolist():
        entries = {columns[e]: e for e in range(int(paths.starts[p]), int(paths.starts[p + 1]))}
        if len(entries) > 2:
            return None
        region = _Region(int(bags[p]), entries, paths.leaves[p])
        regions.setdefault(tuple(entries), []).append(region)
    return regions


def _thresholds(paths: Paths, entries: Sequence[int]) -> Reals:
    """Return the bounds of some entries that are numbers."""
    bounds = np.unique([paths.low[entries], paths.high[entries]])
    return bounds[np.isfinite(bounds)]


def _mask(paths: Paths, entry: int, axis: Axis) -> Mask:
    """Return the cells whose values pass an entry of a path."""
    first = int(paths.tables[entry])
    if first >= 0:
        return paths.allowed[first : first + axis.n_cells]
    low, high = (int(np.searchsorted(axis.thresholds, b[entry])) for b in (paths.low, paths.high))
    mask = np.zeros(axis.n_cells, dtype=bool)
    start = 0 if paths.low[entry] == -np.inf else low + 1
    stop = axis.n_cells - 1 if np.isnan(paths.high[entry]) else high + 1
    mask[start : stop if paths.high[entry] != -np.inf else 0] = True
    mask[-1] = paths.missing[entry]
    return mask


def _weights(counts: Reals) -> Reals:
    """Return the weights of cells in means; alike if no row is in any."""
    return counts if counts.any() else np.ones(len(counts))


def _purify(table: Reals, counts: Sequence[Reals]) -> tuple[Reals, list[Reals]]:
    """Return a table of a pair less its means along either column, and these means."""
    first, second = (_weights(c) / _weights(c).sum() for c in counts)
    over_second = np.einsum("bijk,j->bik", table, second)
    table = table - over_second[:, :, None]
    over_first = np.einsum("bijk,i->bjk", table, first)
    return table - over_first[:, None], [over_second, over_first]


def _function(axes: tuple[Axis, ...], of_bags: Reals, has_errors: bool) -> ShapeFunction:
    """Return the mean of the functions of averaged models, with its standard errors."""
    n_bags, mean = len(of_bags), of_bags.mean(axis=0)
    if not has_errors or n_bags < _MIN_BAGS:
        return ShapeFunction(axes, mean)
    spread = np.square(of_bags - mean).sum(axis=0) * ((n_bags - 1) / n_bags)
    return ShapeFunction(axes, mean, np.sqrt(spread))


# From tables to rules


def make_rules(function: ShapeFunction) -> Iterator[tuple[Rule, Reals]]:
    """Yield the rules of a function, with the votes of each: one tree, or numbers of categories."""
    n_scores = function.scores.shape[-1]
    if len(function.axes) == 1 and function.axes[0].categories is not None:
        for k, votes in enumerate(np.eye(n_scores)):
            if function.scores[:, k].any():
                yield Scores(function.axes[0].column, function.scores[:, k].copy()), votes
        return
    builder = _TreeBuilder(function)
    builder.build([np.arange(axis.n_cells) for axis in function.axes])
    if builder.nodes:
        yield TreeRule(tuple(builder.nodes), np.array(builder.leaves)), np.ones(n_scores)
    elif builder.leaves[0].any():
        yield EVERYWHERE, builder.leaves[0]


class _TreeBuilder:
    """A tree that looks up the table of a function: halves of the first axis, then of the second.

    Cells with equal scores share a leaf where they are next to each other.
    """

    def __init__(self, function: ShapeFunction) -> None:
        self.function = function
        self.nodes: list[Any] = []
        self.leaves: list[Reals] = []

    def build(self, cells: list[NDArray[np.intp]]) -> int:
        """Add the tree for some cells of each axis; return its node, or -1 - its leaf."""
        table = self.function.scores[np.ix_(*cells)]
        for a, of_axis in enumerate(cells):
            rows = np.moveaxis(table, a, 0)
            if (rows != rows[0]).any():
                return self._split(cells, a, of_axis, rows)
        self.leaves.append(table.reshape(-1, table.shape[-1])[0])
        return -len(self.leaves)

    def _split(
        self, cells: list[NDArray[np.intp]], a: int, of_axis: NDArray[np.intp], rows: Reals
    ) -> int:
        axis, index = self.function.axes[a], len(self.nodes)
        self.nodes.append(None)

        def child(some: NDArray[np.intp]) -> int:
            return self.build([*cells[:a], some, *cells[a + 1 :]])

        missing = of_axis[of_axis == axis.n_cells - 1]
        if axis.categories is not None:
            low, high = np.array_split(of_axis, 2)
            signs = np.full(axis.n_cells, -1, dtype=np.int8)
            signs[high] = 1
            low_child, high_child = child(low), child(high)
            self.nodes[index] = Node(Subset(axis.column, signs), low_child, high_child, low_child)
            return index
        present = of_axis[: len(of_axis) - len(missing)]
        # Where the scores change, the change next to the middle.
        changes = 1 + np.flatnonzero([(x != y).any() for x, y in pairwise(rows[: len(present)])])
        if len(changes):
            middle = int(changes[np.abs(changes - len(present) / 2).argmin()])
            threshold = float(axis.thresholds[present[middle] - 1])
            low, high = present[:middle], present[middle:]
            low_child, high_child = child(low), child(high)
        else:
            threshold, high_child = -np.inf, child(present)
            low_child = high_child
        abstain = child(missing) if len(missing) else low_child
        test = Cut(axis.column, threshold, 0 if len(missing) else -1)
        self.nodes[index] = Node(test, low_child, high_child, abstain)
        return index
