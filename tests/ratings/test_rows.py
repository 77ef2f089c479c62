"""Pairs in order, by counting."""

import numpy as np
import pytest

from edgewise.ratings.rows import pair_order


@pytest.mark.parametrize("given", ["mixed", "by one", "by other", "twice", "none"])
def test_pairs_are_sorted_as_by_lexsort(given):
    rng = np.random.default_rng(0)
    ones, others = rng.integers(0, 7, (2, 40)).astype(np.int32)
    if given == "twice":
        ones, others = np.tile(ones, 2), np.tile(others, 2)
    if given == "none":
        ones, others = ones[:0], others[:0]
    if given.startswith("by"):
        keys = (others, ones) if given == "by one" else (ones, others)
        ones, others = (side[np.lexsort(keys)] for side in (ones, others))
    found = pair_order(ones, others, 9, 8)
    order = np.lexsort((others, ones))
    assert found.rows.tolist() == order.tolist()
    assert found.others.tolist() == others[order].tolist()
    assert np.diff(found.starts).tolist() == np.bincount(ones, minlength=9).tolist()
    assert [part.dtype for part in found] == [np.int64, np.int32, np.int32]
