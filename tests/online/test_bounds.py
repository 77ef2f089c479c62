"""The bounds as functions: values worked by hand, limits in beta, and arguments."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.online import loss_bound, mistake_bound, tuned_beta, tuned_loss_bound

BETAS = st.floats(0.01, 0.99)
POOLS = st.integers(2, 1000)


def test_mistakes_of_a_pool_of_eight():
    # ln 8 / ln(4/3) + 2 ln 2 / ln(4/3), with beta 1/2
    expected = (3 * math.log(2) + 2 * math.log(2)) / math.log(4 / 3)
    assert mistake_bound(8, 2) == pytest.approx(expected)
    # four experts with two each: ln 2 in place of ln 8
    assert mistake_bound(8, 2, k=4) == pytest.approx(3 * math.log(2) / math.log(4 / 3))
    # four experts with four in total: one each on average
    assert mistake_bound(8, 4, k=4, total=True) == pytest.approx(2 * math.log(2) / math.log(4 / 3))


@given(POOLS)
def test_near_beta_0_a_perfect_expert_is_found_by_halving(n):
    assert mistake_bound(n, 0, 1e-300) == pytest.approx(math.log2(n))


@given(st.integers(1, 50))
def test_near_beta_1_a_mistake_of_the_best_expert_costs_two(m):
    for beta in (1 - 1e-6, 1 - 1e-9):
        cost = mistake_bound(10, m, beta) - mistake_bound(10, 0, beta)
        assert cost == pytest.approx(2 * m, rel=1e-5)
    assert mistake_bound(10, 0, 1 - 1e-9) > 1e9


@given(st.floats(0, 100))
def test_near_beta_1_hedge_pays_the_loss_of_the_best_expert_once(loss):
    beta = 1 - 1e-6
    assert loss_bound(1, loss, beta) == pytest.approx(loss, rel=1e-5, abs=1e-9)


@given(POOLS, st.floats(0, 50), BETAS, st.data())
def test_subpools_help_and_totals_help_more(n, m, beta, data):
    k = data.draw(st.integers(1, n))
    assert mistake_bound(n, m, beta, k=k) <= mistake_bound(n, m, beta) + 1e-9
    each = mistake_bound(n, m, beta, k=k)
    assert mistake_bound(n, m * k, beta, k=k, total=True) == pytest.approx(each)
    assert loss_bound(n, m, beta, k=k) == pytest.approx(loss_bound(n, m, beta, prior=k / n))


@given(POOLS, st.floats(1, 1e6), st.floats(0, 1))
def test_lemma_4_the_tuned_beta_keeps_its_promise(n, horizon, share):
    loss = share * horizon
    bound = loss_bound(n, loss, tuned_beta(n, horizon))
    assert bound <= tuned_loss_bound(n, loss, horizon) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: mistake_bound(0, 1), "n_experts"),
        (lambda: mistake_bound(3, math.nan), "mistakes"),
        (lambda: mistake_bound(3, 1, 1.0), "beta"),
        (lambda: mistake_bound(3, 1, k=4), "k must"),
        (lambda: mistake_bound(3, 1, total=2), "total"),
        (lambda: loss_bound(3, math.inf), "loss"),
        (lambda: loss_bound(3, 1.0, prior=2.0), "prior"),
        (lambda: tuned_beta(1, 5), "n_experts"),
        (lambda: tuned_beta(3, 0), "horizon"),
        (lambda: tuned_loss_bound(3, 6.0, 5), "loss"),
    ],
)
def test_wrong_arguments_are_named(call, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        call()
