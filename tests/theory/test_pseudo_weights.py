"""The binary problem inside a round, Kégl 2014b eq. 14 and remark 1."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.theory import pseudo_labels, pseudo_weight_sum, pseudo_weights


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 5))
def test_edge_is_the_edge_of_the_binary_problem(boosted, seed, n_classes):
    run = boosted(seed, 15, 3, n_classes, 15)
    for w, v, phi, edge in zip(run.weights, run.votes, run.cuts, run.edges, strict=True):
        labels = pseudo_labels(w, run.signs, v)
        binary = pseudo_weights(w, run.signs, v)
        assert (binary * labels * phi).sum() == pytest.approx(edge)
        total = pseudo_weight_sum(w, run.signs, v)
        assert edge <= total * (1 + 1e-9)
        assert total <= 1 + 1e-9


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_two_classes_lose_no_weight(boosted, seed):
    run = boosted(seed, 15, 3, 2, 15)
    for w, v in zip(run.weights, run.votes, strict=True):
        assert pseudo_weight_sum(w, run.signs, v) == pytest.approx(1.0)


def test_three_classes_can_lose_all_of_it():
    signs = [[1, -1, -1], [1, -1, -1]]
    weights = [[0.25, 0.125, 0.125], [0.25, 0.125, 0.125]]
    assert pseudo_weight_sum(weights, signs, [1, 1, 1]) == 0.0
    assert pseudo_labels(weights, signs, [1, 1, 1]).tolist() == [1, 1]
    assert pseudo_weight_sum(weights, signs, [1, -1, -1]) == 1.0
    assert pseudo_weight_sum(weights, signs, [1, 0, -1]) == 0.75


@pytest.mark.parametrize("function", [pseudo_labels, pseudo_weights, pseudo_weight_sum])
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.5], [[1]], [1]), "weights must be 2-D"),
        (([[-0.5]], [[1]], [1]), "weights must not be negative"),
        (([[0.5]], [[0]], [1]), "signs must hold only"),
        (([[0.5]], [[1, 1]], [1]), "signs must have the shape"),
        (([[0.5]], [[1]], [0.5]), "votes must hold only"),
        (([[0.5]], [[1]], [1, 1]), "votes must have"),
    ],
)
def test_bad_input_is_named(function, arguments, name):
    with pytest.raises(ValueError, match=name):
        function(*arguments)
