"""A backend whose rows are in three parts: it sums their integers and trains the same model.

It is written against `Backend` alone, but for the four passes of `refresh`, and no caller knows of
it: so a backend on several machines, or on another kind of processor, can be written.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_digits

from edgewise import (
    AdaBoostMH,
    Backend,
    Feature,
    Haar,
    Indicator,
    Lazy,
    Product,
    RankBoost,
    Selector,
    Stump,
    Tree,
)
from edgewise.backend.arithmetic import exact_shift, exact_sum
from edgewise.backend.base import Edges, Part, Problem, State, Tally
from edgewise.backend.choose import using
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import Aligned
from edgewise.data.part import PartStore
from edgewise.objective.lists import WeightedLists

N_PARTS = 3


class PartsState(State):
    def __init__(self, parts, n_rows):
        self.parts = parts
        self.n_rows = n_rows
        self.n_scores, self.scale = parts[0].n_scores, parts[0].scale


@dataclass
class PartsProblem(Problem):
    parts: list = field(default_factory=list)

    def keeping(self):
        return replace(self, parts=[part.keeping() for part in self.parts])

    def absolute(self):
        return joined([part.absolute() for part in self.parts])


def joined(parts):
    """Return the problem of all parts: totals are sums of integers."""
    masses = [part.row_masses for part in parts]
    return PartsProblem(
        sum(part.n_rows for part in parts),
        sum(part.size for part in parts),
        sum(part.signed_totals for part in parts),
        sum(part.signed_masses for part in parts),
        parts[0].mass_column,
        None if masses[0] is None else joined(masses),
        parts,
    )


def part_of(table, rows):
    """Return the table of some rows, as a worker would hold it."""
    part = PartStore(table).take(rows.astype(np.int32))
    if table.aligned is None:
        return part
    own = table.aligned
    return replace(part, aligned=Aligned(own.table.take(rows), own.categories, own.filters))


def lists_of(lists, first, last, documents):
    """Return the lists of the queries from `first` to before `last`."""
    layout = lists.layout
    groups = slice(*layout.query_groups[[first, last]].tolist())
    own = replace(
        layout,
        rows=layout.rows[documents],
        group_starts=layout.group_starts[groups.start : groups.stop + 1] - documents.start,
        query_groups=layout.query_groups[first : last + 1] - groups.start,
        grades=layout.grades[groups],
        weights=layout.weights[documents],
    )
    return WeightedLists(own, lists.query_weights[first:last], np.arange(len(own.rows)))


class PartitionedBackend(Backend):
    """Three local backends, one for each part of the rows."""

    def __init__(self, table, rows, local, backends=None):
        self.table, self.rows, self.local = table, rows, local
        self.backends = backends or [local(part_of(table, mine)) for mine in rows]
        n_rows = sum(map(len, rows))
        self.owner, self.number = np.empty(n_rows, np.intp), np.empty(n_rows, np.int32)
        for p, mine in enumerate(rows):
            self.owner[mine], self.number[mine] = p, np.arange(len(mine))

    def _each(self, method, holder, *arguments):
        pairs = zip(self.backends, holder.parts, strict=True)
        return [getattr(backend, method)(part, *arguments) for backend, part in pairs]

    def _local(self, rows):
        """Return which of some rows each part has, and their numbers there."""
        mine = [np.flatnonzero(self.owner[rows] == p) for p in range(len(self.rows))]
        return mine, [self.number[rows[places]] for places in mine]

    def _gathered(self, parts, dtype):
        whole = np.empty((*parts[0].shape[:-1], len(self.owner)), dtype)
        for mine, part in zip(self.rows, parts, strict=True):
            whole[..., mine] = part
        return whole

    def state(self, targets, mass_column=False):
        weights = np.stack([targets.initial_weights(k) for k in range(len(targets.labels))])
        scale = 1.0 / exact_sum(weights)
        pairs = zip(self.backends, self.rows, strict=True)
        parts = [b.state(targets.take(mine), mass_column, scale) for b, mine in pairs]
        state = PartsState(parts, weights.shape[1])
        self.refresh(state)
        return state

    def problem(self, state, row_masses=()):
        return joined(self._each("problem", state, row_masses))

    def potentials(self, rows, quanta, mass_column=False):
        mine, local = self._local(rows)
        parts = zip(self.backends, mine, local, strict=True)
        return joined([b.potentials(own, quanta[at], mass_column) for b, at, own in parts])

    def flip(self, problem, tests):
        return joined(self._each("flip", problem, tests))

    def split(self, problem, test):
        sides = zip(*self._each("split", problem, test), strict=True)
        return tuple(joined(list(side)) for side in sides)

    def within(self, problem, rows):
        _, local = self._local(rows)
        parts = zip(self.backends, problem.parts, local, strict=True)
        return joined([b.within(part, own) for b, part, own in parts])

    def histogram(self, columns, problem):
        pairs = zip(self.backends, problem.parts, strict=True)
        return reduce(lambda a, b: a + b, [b.histogram(columns, part) for b, part in pairs])

    def scan(self, histogram, question):
        return self.backends[0].scan(histogram, question)

    def over(self, table):
        return PartitionedBackend(table, self.rows, self.local)

    def row_masses(self, problem):
        return self._gathered(self._each("row_masses", problem), np.int64)

    def mass_from(self, problem, least):
        return sum(self._each("mass_from", problem, least))

    def part(self, rows):
        _, local = self._local(rows)
        parts = [b.part(own) for b, own in zip(self.backends, local, strict=True)]
        return PartsPart(self, rows, parts)

    def heavy_part(self, problem, least):
        parts = self._each("heavy_part", problem, least)
        if any(part is None for part in parts):
            return None
        rows = [mine[part.rows] for mine, part in zip(self.rows, parts, strict=True)]
        return PartsPart(self, np.sort(np.concatenate(rows)), parts)

    def edges(self, state, rule):
        found = self._each("edges", state, rule)
        return Edges(*map(sum, zip(*found, strict=True)))

    def energy(self, state, rule, coefficients):
        return sum(self._each("energy", state, rule, coefficients))

    def advance(self, state, rule, step):
        tallies = self._each("advance", state, rule, step)
        pseudo, wrong_rows, wrong_entries = map(sum, zip(*tallies, strict=True))
        return Tally(max(pseudo, -1), wrong_rows, wrong_entries)

    def reweigh(self, state, rule, step):
        total, pseudo = map(sum, zip(*self._each("reweigh", state, rule, step), strict=True))
        return total, max(pseudo, -1)

    def refresh(self, state):
        largest = self._each("restore_weights", state, min(self._each("least_margin", state)))
        shift = exact_shift(state.n_rows * state.n_scores, max(largest))
        total = sum(self._each("total_weight", state, shift))
        self._each("normalise", state, float(np.ldexp(float(total), -shift)))

    def scores(self, state):
        return self._gathered(self._each("scores", state), np.float64)

    def outputs(self, rule):
        parts = [backend.outputs(rule) for backend in self.backends]
        return self._gathered(parts, parts[0].dtype)

    def learned(self, tree, leaves):
        for p, backend in enumerate(self.backends):
            backend.learned(tree, [leaf.parts[p] for leaf in leaves])

    # Ranking: a part has whole queries.

    def _queries(self, lists):
        """Yield each part's backend, lists, queries and documents, which follow each other."""
        layout = lists.layout
        owner = self.owner[layout.rows[layout.query_starts[:-1]]]
        for p, backend in enumerate(self.backends):
            mine = np.flatnonzero(owner == p)
            first, last = int(mine[0]), int(mine[-1]) + 1
            assert last - first == len(mine)
            documents = slice(int(layout.query_starts[first]), int(layout.query_starts[last]))
            assert (self.owner[layout.rows[documents]] == p).all()
            yield backend, lists_of(lists, first, last, documents), slice(first, last), documents

    def weigh_pairs(self, lists, scores):
        found = [b.weigh_pairs(own, scores[at]) for b, own, _, at in self._queries(lists)]
        return tuple(np.concatenate(side) for side in zip(*found, strict=True))

    def pair_moments(self, lists, scores, outputs):
        parts = self._queries(lists)
        found = [b.pair_moments(own, scores[at], outputs[at]) for b, own, _, at in parts]
        return np.concatenate(found, axis=2)

    def misordered_pairs(self, lists, scores, moved):
        found = [
            b.misordered_pairs(own, scores[at], None) for b, own, _, at in self._queries(lists)
        ]
        return np.concatenate(found)

    def crossing_pairs(self, lists, weights, codes, n_values):
        changes = []
        for backend, own, queries, at in self._queries(lists):
            groups = slice(*lists.layout.query_groups[[queries.start, queries.stop]])
            local = weights._replace(
                up=weights.up[at],
                down=weights.down[at],
                up_units=weights.up_units[groups],
                down_units=weights.down_units[groups],
                factors=weights.factors[queries],
            )
            changes.append(backend.crossing_pairs(own, local, codes[at], n_values))
        return tuple(map(sum, zip(*changes, strict=True)))


class PartsPart(Part):
    def __init__(self, whole, rows, parts):
        self.whole, self.parts = whole, parts
        backend, backends = whole, [part.backend for part in parts]
        if backends != whole.backends:
            places = [np.flatnonzero(whole.owner[rows] == p) for p in range(len(parts))]
            table = part_of(whole.table, rows)
            backend = PartitionedBackend(table, places, whole.local, backends)
        super().__init__(backend, rows, sum(part.size for part in parts))

    def gather(self, problem, factors=None):
        mine, _ = self.whole._local(self.rows)
        return joined(
            [
                part.gather(own, None if factors is None else factors[at])
                for part, own, at in zip(self.parts, problem.parts, mine, strict=True)
            ]
        )


@contextmanager
def in_parts(local=ReferenceBackend, owner=None):
    """Train with a backend in parts: rows are dealt out in turn, or given by their owners."""
    made = []

    def make(table, n_jobs):
        mine = np.arange(table.n_rows) % N_PARTS if owner is None else owner
        rows = [np.flatnonzero(mine == p) for p in range(N_PARTS)]
        made.append(PartitionedBackend(table, rows, local))
        return made[-1]

    with using(make):
        yield
    assert made


def assert_same(model, other):
    for name in model.terms_.__dataclass_fields__:
        ours, theirs = getattr(model.terms_, name), getattr(other.terms_, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert list(model.history_) == list(other.history_)
    for name in model.history_:
        np.testing.assert_array_equal(model.history_[name], other.history_[name], err_msg=name)


X, Y = (part[:240] for part in load_digits(return_X_y=True))
RNG = np.random.default_rng(0)
HOLED = np.where(RNG.random((240, 12)) < 0.1, np.nan, X[:, 18:30])
WORDS = pandas.DataFrame(
    {"a": RNG.choice(list("abcdef"), 240), "b": RNG.choice(["u", "v", None], 240)}
)
MIXED = WORDS.assign(c=HOLED[:, 0], d=HOLED[:, 1])
FREE = Tree([Stump(), Indicator()], 5, "free", "gain")

CASES = {
    "stump": (X, Y % 3, Stump(), {}),
    "missing": (HOLED, Y % 3, Stump(missing="abstain"), {}),
    "product": (HOLED, Y % 3, Product(Stump(), 3), {}),
    "tree": (HOLED, Y % 3, Tree(Stump(), 5), {}),
    "tree of products": (MIXED, Y % 3, Tree(Product([Stump(), Indicator()], 2), 4), {}),
    "gain": (MIXED, Y % 2, FREE, {}),
    "gain of classes": (MIXED, Y % 3, FREE, {}),
    "auto": (X, Y, "auto", {}),
    "selector": (WORDS, Y % 4, Selector(), {}),
    "indicator": (WORDS, Y % 8, Indicator(restarts=1), {}),
    "list": (MIXED, Y % 3, [Stump(), Indicator(), Selector()], {}),
    "haar": (X, Y % 3, Haar((8, 8)), {"search": Lazy(15)}),
    "tree of haar": (X, Y % 3, Tree(Haar((8, 8)), 4), {"search": Lazy(15)}),
    "binary": (X, Y % 2, Stump(), {}),
    "labels": (X, np.stack([Y % 2, Y % 3 == 0], axis=1).astype(int), Stump(), {}),
    "least leaf": (MIXED, Y % 2, FREE, {"min_weight_fraction_leaf": 0.1}),
    "least rows": (MIXED, Y % 3, FREE, {"min_samples_leaf": 12, "damping": 0.5}),
    "least of both": (
        MIXED,
        Y % 3,
        FREE,
        {"min_samples_leaf": 9, "min_weight_fraction_leaf": 0.05, "subsample": 0.7},
    ),
    "lazy": (X, Y % 3, Tree(Stump(), 4), {"search": Lazy(6)}),
}
REAL = ("gain", "gain of classes", "least leaf", "least rows", "least of both")


@pytest.mark.parametrize("loss", ["exponential", "logistic", "softmax"])
@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_model_bit_for_bit(case, votes, loss):
    rows, y, learner, settings = CASES[case]
    if case in REAL and votes != "real":
        pytest.skip("gains are for real votes")
    model = AdaBoostMH(learner, n_rounds=6, votes=votes, loss=loss, random_state=1, **settings)
    model.fit(rows, y)
    with in_parts():
        assert_same(AdaBoostMH(**model.get_params(deep=False)).fit(rows, y), model)


@pytest.mark.parametrize(
    "settings",
    [
        {"trim": 0.9},
        {"trim": 0.9, "learner": Tree(Stump(), 5, "free"), "votes": "real"},
        {"subsample": 0.5},
        {"subsample": 0.5, "sampling": "weight"},
        {"subsample": 0.5, "sampling": "weight", "learner": Haar((8, 8)), "search": Lazy(9)},
        {"factorized": False},
        {"learning_rate": 0.3, "learner": "auto"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [3, 40])
def test_parts_of_the_weights(settings, n_classes):
    y = np.arange(240) % n_classes
    given = {"learner": Stump(), "n_rounds": 25, "random_state": 1, **settings}
    model = AdaBoostMH(**given).fit(X, y)
    with in_parts():
        assert_same(AdaBoostMH(**given).fit(X, y), model)


def test_weights_are_computed_from_the_scores_now_and_then():
    given = {"learner": "stump", "n_rounds": 1030, "random_state": 1}
    model = AdaBoostMH(**given).fit(HOLED[:60], Y[:60] % 2)
    with in_parts():
        assert_same(AdaBoostMH(**given).fit(HOLED[:60], Y[:60] % 2), model)


@pytest.mark.parametrize("learner", [Stump(), Tree(Stump(), 5), FREE], ids=str)
def test_parts_may_be_compiled(learner):
    given = {"learner": learner, "votes": "real", "n_rounds": 6, "random_state": 1}
    model = AdaBoostMH(**given).fit(HOLED, Y % 2)
    with in_parts(NumbaBackend):
        assert_same(AdaBoostMH(**given).fit(HOLED, Y % 2), model)


QUERY = np.sort(RNG.integers(0, 12, 240))
GRADES = np.clip(np.rint(X[:, 20] / 5 + RNG.normal(size=240)), 0, 3)
BY_QUERY = QUERY * N_PARTS // 12


@pytest.mark.parametrize(
    "settings",
    [
        {"learner": "stump"},
        {"learner": "stump", "criterion": "energy", "step": "exact"},
        {"learner": "stump", "step": "exact", "pair_weight": "difference"},
        {"learner": "stump", "monotonic_cst": "learn"},
        {"learner": "stump", "subsample": 0.5},
        {"learner": Product(Stump(), 2)},
        {"learner": Tree(Stump(), 4, "free", "gain"), "query_weight": "root"},
        {"learner": Feature()},
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", [X[:, 18:30], HOLED], ids=["whole", "holed"])
def test_rankboost_with_parts_by_query(settings, rows):
    given = {"n_rounds": 8, "random_state": 1, **settings}
    model = RankBoost(**given).fit(rows, GRADES, qid=QUERY)
    with in_parts(owner=BY_QUERY):
        assert_same(RankBoost(**given).fit(rows, GRADES, qid=QUERY), model)
