"""Weights of documents and of queries, and rows that do not count."""

from dataclasses import fields

import numpy as np
import pytest

from edgewise import RankBoost

SETTINGS = [
    {},
    {"criterion": "energy"},
    {"pair_weight": "equal", "query_weight": "pairs"},
    {"query_weight": "equal", "monotonic_cst": "none"},
    {"learner": "tree"},
    {"learner": "feature"},
]
every_setting = pytest.mark.parametrize("options", SETTINGS, ids=str)


def documents(seed=0, n=80, n_queries=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 4)) + y[:, None] * [1.0, -0.5, 0.3, 0.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = np.array(list("edcba"))[rng.integers(n_queries, size=n)]
    return X, y, qid


def same(left, right, exact=True):
    """Assert that two models have the same rules, and the same steps to the last bit or nearly."""
    for field in fields(left.fitted_.terms):
        ours, theirs = (
            getattr(left.fitted_.terms, field.name),
            getattr(right.fitted_.terms, field.name),
        )
        if field.name == "covers" and not exact:
            continue  # The number of rows, whatever their weights.
        if exact or np.asarray(ours).dtype.kind != "f":
            np.testing.assert_array_equal(ours, theirs, err_msg=field.name)
        else:
            np.testing.assert_allclose(
                ours, theirs, rtol=1e-5, atol=1e-12, equal_nan=True, err_msg=field.name
            )
    for name in ("edge", "energy", "bound", "ranking_loss"):
        ours, theirs = left.history_[name], right.history_[name]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=0 if exact else 1e-7, err_msg=name)


def train(options, *data, **more):
    return RankBoost(**{"n_rounds": 10, **options}).fit(*data, **more)


@pytest.mark.parametrize("options", [
    *SETTINGS[:-1],
    SETTINGS[-1],
], ids=str)  # fmt: skip
def test_a_row_of_weight_2_is_two_rows(options):
    X, y, qid = documents()
    counts = np.random.default_rng(1).integers(1, 4, size=80)
    weighted = train(options, X, y, qid, sample_weight=counts)
    rows = np.repeat(np.arange(80), counts)
    same(weighted, train(options, X[rows], y[rows], qid[rows]), exact=False)


@every_setting
def test_rows_of_weight_0_are_absent(options, caplog):
    X, y, qid = documents()
    weights = np.random.default_rng(2).random(80) + 0.5
    weights[::3] = 0.0
    kept = weights > 0
    expected = train(options, X[kept], y[kept], qid[kept], sample_weight=weights[kept])
    same(train(options, X, y, qid, sample_weight=weights), expected)
    assert not caplog.records


@every_setting
def test_a_weight_for_all_changes_nothing(options):
    X, y, qid = documents()
    plain = train(options, X, y, qid)
    same(train(options, X, y, qid, sample_weight=np.ones(80)), plain)
    same(train(options, X, y, qid, sample_weight=4.0), plain, exact=False)
    same(train(options, X, y, qid, sample_weight=np.full(80, 0.3)), plain, exact=False)


@every_setting
def test_weights_of_queries(options):
    # In the order of the sorted ids, or by id.
    X, y, qid = documents()
    by_id = {"a": 1.0, "b": 0.5, "c": 2.0, "d": 3.0, "e": 1.5}
    listed = train(options, X, y, qid, sample_weight=[1.0, 0.5, 2.0, 3.0, 1.5])
    same(train(options, X, y, qid, sample_weight=by_id), listed)
    same(train(options, X, y, qid, sample_weight={**by_id, "unknown": 9.0}), listed)
    plain = train(options, X, y, qid)
    assert not np.array_equal(listed.history_["edge"], plain.history_["edge"])
    same(train(options, X, y, qid, sample_weight=np.ones(5)), plain)


def test_the_weight_of_a_query_multiplies_its_pairs():
    # Twice the weight is the query twice, under another name.
    X, y, qid = documents()
    twice = np.flatnonzero(qid == "c")
    rows = np.concatenate([np.arange(80), twice])
    again = np.concatenate([qid, np.full(len(twice), "f")])
    copied = train({}, X[rows], y[rows], again)
    same(
        train({}, X, y, qid, sample_weight={"a": 1, "b": 1, "c": 2, "d": 1, "e": 1}),
        copied, exact=False,
    )  # fmt: skip


@every_setting
def test_queries_of_weight_0_are_absent(options):
    X, y, qid = documents()
    weights = {"a": 1.0, "b": 0.0, "c": 2.0, "d": 0.0, "e": 1.0}
    kept = ~np.isin(qid, ["b", "d"])
    expected = train(options, X[kept], y[kept], qid[kept], sample_weight=[1.0, 2.0, 1.0])
    same(train(options, X, y, qid, sample_weight=weights), expected)


def test_queries_without_pairs_are_left_out_and_said_to_be(caplog):
    X, y, qid = documents()
    y = np.where(np.isin(qid, ["b", "d"]), 1, y)
    model = train({}, X, y, qid)
    assert [record.name for record in caplog.records] == ["edgewise"]
    assert "2 of 5 queries" in caplog.text
    kept = ~np.isin(qid, ["b", "d"])
    caplog.clear()
    same(model, train({}, X[kept], y[kept], qid[kept]))
    assert not caplog.records


def test_queries_that_were_left_out_on_purpose_are_not_complained_of(caplog):
    X, y, qid = documents()
    train({}, X, y, qid, sample_weight={"a": 1.0, "b": 0.0, "c": 2.0, "d": 0.0, "e": 1.0})
    assert "one grade only" not in caplog.text


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.filterwarnings("error")
def test_huge_and_tiny_weights(scale):
    # Of which only the ratios count.
    X, y, qid = documents()
    weights = np.random.default_rng(3).random(80) + 0.5
    expected = train({}, X, y, qid, sample_weight=weights)
    same(train({}, X, y, qid, sample_weight=weights * scale), expected, exact=False)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.filterwarnings("error")
def test_huge_and_tiny_weights_of_queries(scale):
    X, y, qid = documents()
    weights = np.array([1.0, 0.5, 2.0, 3.0, 1.5])
    expected = train({}, X, y, qid, sample_weight=weights)
    same(train({}, X, y, qid, sample_weight=weights * scale), expected, exact=False)


@pytest.mark.filterwarnings("error")
def test_huge_grades():
    # Of whose differences only the ratios count.
    X, y, qid = documents()
    same(train({}, X, y * 1e307, qid), train({}, X, y, qid), exact=False)


def test_grades_may_be_any_numbers():
    X, y, qid = documents()
    plain = train({}, X, y, qid)
    same(train({}, X, y * 2.5 - 7.0, qid), plain, exact=False)
    same(train({}, X, y.astype(bool), qid), train({}, X, (y > 0).astype(float), qid))
    equal = {"pair_weight": "equal"}
    same(train(equal, X, np.exp(y * 3.0), qid), train(equal, X, y, qid))


def test_queries_may_be_named_by_numbers_or_words_in_any_order():
    X, y, qid = documents()
    plain = train({}, X, y, qid)
    same(train({}, X, y, np.array([ord(q) for q in qid])), plain)
    same(train({}, X, y, qid.tolist()), plain)
    order = np.argsort(qid, kind="stable")
    same(train({}, X[order], y[order], qid[order]), plain)


def test_no_qid_is_one_query():
    X, y, _ = documents()
    same(train({}, X, y), train({}, X, y, np.zeros(80, int)))


# Pairs


def test_what_is_said_of_a_pair_several_times_is_added_up():
    X, _, _ = documents()
    once = RankBoost(n_rounds=8).fit_pairs(X, [[0, 1], [2, 3], [5, 4]], [3.0, 1.0, 2.0])
    pairs = [[0, 1], [2, 3], [0, 1], [4, 5], [1, 0], [6, 7], [7, 6]]
    several = RankBoost(n_rounds=8).fit_pairs(X, pairs, [1.0, 1.0, 4.0, -2.0, 2.0, 1.0, 1.0])
    same(once, several, exact=False)


def test_pairs_of_weight_0_are_absent():
    X, _, _ = documents()
    some = RankBoost(n_rounds=8).fit_pairs(X, [[0, 1], [2, 3]], [1.0, 2.0])
    more = RankBoost(n_rounds=8).fit_pairs(X, [[0, 1], [2, 3], [4, 5]], [1.0, 2.0, 0.0])
    same(some, more)


def test_pairs_need_not_be_transitive():
    X = np.array([[0.0], [1.0], [2.0]])
    model = RankBoost(n_rounds=20).fit_pairs(X, [[0, 1], [1, 2], [2, 0]], [1.0, 1.0, 1.0])
    # One of three is misordered at best.
    assert model.n_rounds_ == 0 or model.history_["ranking_loss"].min() >= 1 / 3 - 1e-12
    heavy = RankBoost(n_rounds=20).fit_pairs(X, [[0, 1], [1, 2], [2, 0]], [2.0, 2.0, 1.0])
    assert heavy.history_["ranking_loss"][-1] == pytest.approx(1 / 5)
    assert heavy.rank(X).tolist() == [3, 2, 1]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_huge_and_tiny_weights_of_pairs(scale):
    X, _, _ = documents()
    pairs, weights = [[0, 1], [2, 3], [5, 4]], np.array([3.0, 1.0, 2.0])
    expected = RankBoost(n_rounds=8).fit_pairs(X, pairs, weights)
    same(RankBoost(n_rounds=8).fit_pairs(X, pairs, weights * scale), expected, exact=False)
