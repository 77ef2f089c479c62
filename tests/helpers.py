"""What tests share: cases of settings, rules with given outputs, a search in one call."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import strategies as st

from edgewise.backend.base import MISSING_AUTO, ScanQuery, Targets
from edgewise.backend.host import HostState
from edgewise.model import Test

# The fields of Haar filters as weights of the pixels in them: light, dark, and dark that counts
# twice.
FIELDS = {
    "two stripes across": [[1, -1]],
    "two stripes down": [[1], [-1]],
    "three stripes across": [[1, -2, 1]],
    "three stripes down": [[1], [-2], [1]],
    "checkerboard": [[1, -1], [-1, 1]],
}


def cases(table):
    """Return one parameter of a test for each value of each setting."""
    return [
        pytest.param(name, value, id=f"{name}-{place}")
        for name, values in table.items()
        for place, value in enumerate(values)
    ]


def assert_same_terms(left, right):
    """Assert that two models have the same terms, bit for bit."""
    for field in fields(left.fitted_.terms):
        ours, theirs = (
            getattr(left.fitted_.terms, field.name),
            getattr(right.fitted_.terms, field.name),
        )
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype, field.name
        np.testing.assert_array_equal(ours, theirs, err_msg=field.name)


def assert_same_run(left, right, names=None, *, kept=False):
    """Assert that two models have the same terms and history, or history of the `kept` rounds."""
    assert_same_terms(left, right)
    for name in names or left.history_:
        ours, theirs = (
            model.history_[name][: model.n_rounds_ if kept else None] for model in (left, right)
        )
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


class Given(Test):
    """A rule with the given outputs, shape (n,), (1, n) or (K, n)."""

    def __init__(self, outputs):
        self.given = np.atleast_2d(outputs)

    def signs(self, source):
        return self.given[0]

    def outputs(self, source):
        return self.given

    @property
    def factors(self):
        return (self,)

    key = None

    @property
    def is_real(self):
        return self.given.dtype != np.int8


def shapes(n, d, levels, **more):
    """Return a strategy for the arguments of `make_problem`, given those for some of them."""
    return st.fixed_dictionaries(
        {
            "seed": st.integers(0, 10**6),
            "n": n,
            "d": d,
            "levels": levels,
            "missing": st.booleans(),
            "storage": st.sampled_from(["dense", "sparse", "auto"]),
            "weight_levels": st.sampled_from([3, None]),
            **more,
        }
    )


def some_rows(rng, n, share):
    return np.flatnonzero(rng.random(n) < share).astype(np.int32)


def search(
    backend,
    columns,
    problem,
    per_score=False,
    score_edges=False,
    constant=True,
    absent=MISSING_AUTO,
    gain=False,
    bounds=None,
):
    """Return the best cut of each column."""
    criterion = "score" if per_score else "gain" if gain else "edge"
    question = ScanQuery(criterion, constant, absent, score_edges, bounds)
    return backend.scan(backend.histogram(columns, problem), question)


def sums(backend, columns, problem, mass=False):
    """Return the sums of S of each value of some columns, with `mass` the mass column last."""
    return backend.histogram(columns, problem).values[:, : problem.n_scores + mass]


def state_of(labels, target, row_mass, weights, mass_column=False):
    """Return a state with given weights, not yet quantized for the search."""
    targets = Targets(labels, target, row_mass / 2.0**62, np.ones((2, len(labels))))
    return HostState(targets, 1.0, row_mass, weights, mass_column)


def all_signed(problem, mass=False):
    """Return S as an (n, K) int64 matrix, 0 in rows that do not count; `mass` adds its column."""
    signed = problem.matrix(None, mass)
    if problem.member is not None:
        signed[~problem.member] = 0
    return signed
