"""`min_weight_fraction_leaf` binds in every leaf: numeric cuts, subsets, products, filters."""

from contextlib import closing

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Haar, Indicator, Lazy, Product, Selector, Stump, Tree
from edgewise.backend.base import LEARN, GrownTree, Question
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

RNG = np.random.default_rng(0)
N = 300
NUMBERS = RNG.integers(12, size=(N, 4)).astype(float)
NUMBERS[RNG.random(NUMBERS.shape) < 0.15] = np.nan
WORDS = pandas.DataFrame(
    {"a": RNG.choice(list("abcdefgh"), N), "b": RNG.choice(["u", "v", "w", None], N)}
)
MIXED = WORDS.assign(c=NUMBERS[:, 0], d=NUMBERS[:, 1])
Y = (np.nan_to_num(NUMBERS[:, 0]) > 6) ^ (WORDS["a"] < "d").to_numpy() ^ (RNG.random(N) < 0.2)
WEIGHTS = RNG.uniform(0.2, 2.0, N)

BASES = {
    "stump": (NUMBERS, Stump()),
    "abstain": (NUMBERS, Stump(missing="abstain")),
    "low": (NUMBERS, Stump(missing="low")),
    "selector": (WORDS, Selector()),
    "indicator": (WORDS, Indicator()),
    "climb": (WORDS, Indicator(start="informed", restarts=1)),
    "mixed": (MIXED, [Stump(), Indicator()]),
    "product": (MIXED, Product([Stump(), Indicator()], 2)),
}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("criterion", ["edge", "gain"])
@pytest.mark.parametrize("name", BASES)
def test_every_leaf_holds_its_share(monkeypatch, name, criterion, backend):
    if criterion == "gain" and name in ("abstain", "product"):
        pytest.skip("gains are for single columns that do not abstain")
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    rows, base = BASES[name]
    masses = []
    watch_leaves(monkeypatch, masses)
    learner = Tree(base, 8, "free", criterion)
    model = AdaBoostMH(
        learner, n_rounds=5, votes="real", min_weight_fraction_leaf=0.12, random_state=0
    ).fit(rows, Y, sample_weight=WEIGHTS)
    assert model.n_rounds_ == 5
    assert max(len(leaves) for leaves in masses) > 2
    assert min(share for leaves in masses for share in leaves) >= 0.12 - 1e-6
    free = AdaBoostMH(learner, n_rounds=5, votes="real", random_state=0)
    masses.clear()
    free.set_params(min_weight_fraction_leaf=1e-9).fit(rows, Y, sample_weight=WEIGHTS)
    assert min(share for leaves in masses for share in leaves) < 0.12


def watch_leaves(monkeypatch, masses):
    """Note the share of the rows' weight in the leaves of every tree that is grown."""
    learned = ReferenceBackend.learned

    def noted(self, tree, leaves):
        if isinstance(leaves, GrownTree):
            masses.append((np.bincount(leaves.leaf_of, WEIGHTS) / WEIGHTS.sum()).tolist())
        else:
            masses.append([leaf.row_masses.mass / 2**30 for leaf in leaves])
        learned(self, tree, leaves)

    monkeypatch.setattr(ReferenceBackend, "learned", noted)


def test_filters_too(monkeypatch):
    masses = []
    watch_leaves(monkeypatch, masses)
    images = RNG.integers(9, size=(200, 16)).astype(float)
    learner = Tree(Haar((4, 4)), 6, "free")
    AdaBoostMH(
        learner, n_rounds=4, search=Lazy(30), min_weight_fraction_leaf=0.15, random_state=0
    ).fit(images, RNG.integers(2, size=200))
    assert min(share for leaves in masses for share in leaves) >= 0.15 - 1e-6


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["edge", "gain", "score"]),
    st.sampled_from([LEARN, -1, 0, 1]),
    st.sampled_from([0.05, 0.2, 0.4]),
)
def test_a_scan_finds_the_best_cut_that_holds_enough(make_problem, seed, criterion, missing, share):
    """Both backends agree, and no better cut of the column holds enough on both sides."""
    if criterion == "gain" and missing == 0:
        missing = 1
    given = make_problem(seed, n=40, d=4, n_scores=2, kind="multilabel", equal_mass=False)
    columns = given.binned.splittable
    problem = given.state(mass_column=criterion == "gain").problem(row_masses=True)
    least = int(share * problem.row_masses.mass)
    found = []
    with closing(NumbaBackend(given.binned)) as compiled:
        for backend in (ReferenceBackend(given.binned), compiled):
            masses = backend.histogram(columns, problem.row_masses)
            question = Question(criterion, False, missing, masses=masses, least=least)
            found.append(backend.scan(backend.histogram(columns, problem), question))
    np.testing.assert_array_equal(found[0].edges, found[1].edges)
    held = found[0].edges >= 0
    for name in ("first", "missing"):
        ours, theirs = (getattr(one, name)[held] for one in found)
        np.testing.assert_array_equal(ours, theirs)
    quanta = np.rint(given.row_weights * 2.0**30).astype(np.int64)
    signed = (problem.signed.transpose(1, 0, 2).reshape(40, -1)[:, :2]).astype(np.int64)
    if criterion != "edge":
        return
    for q, j in enumerate(columns.tolist()):
        best, bins = -1, given.binned.bins[j]
        sides = ((1, -1) if missing == LEARN else (missing,)) if bins.has_missing else (1,)
        for first in range(bins.missing_code):
            for side in sides:
                if first == 0 and side == 1:
                    continue
                phi = given.binned.cut(j, first, side)
                low, high = quanta[phi < 0].sum(), quanta[phi > 0].sum()
                if min(low, high) >= least:
                    best = max(best, int(np.abs(phi @ signed).sum()))
        assert found[0].edges[q] == best
