"""Metrics user by user, their intervals, and differences of models."""

import numpy as np
import pytest

from edgewise import BiasBaseline, ItemKNN, Popularity, Ratings
from edgewise.metrics.significance import UnitSums
from edgewise.recommend import compare, evaluate


def ratings(n_users=30, n_items=20, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.5)
    tastes = rng.normal(size=n_users)[users] * rng.normal(size=n_items)[items]
    values = np.clip(np.round(3 + 1.5 * tastes + 0.5 * rng.normal(size=len(users))), 1, 5)
    return Ratings.from_arrays(users + 100, items, values, times=rng.permutation(len(users)))


@pytest.fixture(scope="module")
def parts():
    return ratings().split(0.3, random_state=0)


def test_values_of_users_add_up_to_those_of_all(parts):
    train, test = parts
    model = BiasBaseline().fit(train)
    names = ["rmse", "mae", "nmae", "one_zero", "disagreement", "ndcg", "mrr", "rprec", "novelty"]
    whole = evaluate(model, test, [*names, "gini"], k=5)
    each = evaluate(model, test, [*names, "gini"], k=5, per_user=True)
    assert list(each.values) == [name for name in whole if name != "gini@5"]
    np.testing.assert_array_equal(each.users, np.unique(test.user_ids.values[test.users]))
    sizes = test.by_user.sizes[np.unique(test.users)]
    for name, values in each.values.items():
        if name == "rmse":
            expected = np.sqrt(np.average(values**2, weights=sizes))
        elif name in ("mae", "nmae", "one_zero"):
            expected = np.average(values, weights=sizes)
        else:
            expected = np.nanmean(values)
        assert whole[name] == pytest.approx(expected, rel=1e-12), name
        value, low, high = each.interval(name)
        assert value == whole[name]
        assert low < value < high
    assert list(each.to_frame("pandas").columns) == ["user", *each.values]


def test_values_of_a_user_do_not_depend_on_who_else_is_tested(parts):
    train, test = parts
    model = ItemKNN(5).fit(train)
    names = ["rmse", "map_top", "ndcg", "hit_rate", "auc", "average_popularity"]
    whole = evaluate(model, test, names, per_user=True)
    few = evaluate(model, test.take(test.users % 3 == 0), names, relevant=4, per_user=True)
    mine = np.isin(whole.users, few.users)
    for name, values in few.values.items():
        np.testing.assert_array_equal(values, whole.values[name][mine], err_msg=name)


@pytest.mark.parametrize("root", [False, True])
def test_intervals_are_those_of_users_drawn_again(root):
    rng = np.random.default_rng(1)
    masses = rng.integers(0, 30, 200).astype(float)
    sums = rng.gamma(2.0, 1.0, 200) * masses
    found = UnitSums(sums, masses, root).standard_error()
    counted = np.flatnonzero(masses)
    drawn = rng.choice(counted, (4000, len(counted)))
    values = sums[drawn].sum(axis=1) / masses[drawn].sum(axis=1)
    assert found == pytest.approx((np.sqrt(values) if root else values).std(), rel=0.06)


def test_the_interval_of_a_mean_is_the_usual_one():
    values = np.array([0.1, 0.5, np.nan, 0.9, 0.3])
    defined = values[~np.isnan(values)]
    expected = defined.std(ddof=1) / np.sqrt(len(defined))
    assert UnitSums.of(values).standard_error() == pytest.approx(expected, rel=1e-12)
    assert np.isnan(UnitSums.of(values[:1]).standard_error())


def test_folds_of_a_user_count_together():
    data = ratings()
    folds = list(data.folds(3, random_state=0))
    found = compare({"bias": BiasBaseline()}, folds, ["mae", "gini"])
    errors, users = [], []
    for train, test in folds:
        guess = (
            BiasBaseline()
            .fit(train)
            .predict(
                test.user_ids.values[test.users], test.item_ids.values[test.items], unknown="mean"
            )
        )
        errors.append(np.abs(guess - test.values))
        users.append(test.users)
    users = np.concatenate(users)
    sums, sizes = np.bincount(users, np.concatenate(errors)), np.bincount(users)
    expected = UnitSums(sums, sizes.astype(float)).standard_error()
    value, low, high = found.interval("bias", "mae")
    assert value == found.value("bias", "mae")
    assert (high - low) / 2 == pytest.approx(1.959964 * expected, rel=1e-9)
    assert np.isnan(found.interval("bias", "gini@10")[1:]).all()


def test_differences_are_paired():
    models = {
        "one": ItemKNN(3),
        "same": ItemKNN(3),
        "bias": BiasBaseline(),
        "popular": Popularity(),
    }
    found = compare(models, ratings(), ["rmse", "ndcg"], n_folds=3, random_state=0)
    assert found.difference("one", "same", "rmse") == (0.0, 0.0, 0.0, 1.0)
    there = found.difference("one", "bias", "rmse")
    back = found.difference("bias", "one", "rmse")
    assert there.difference == found.value("one", "rmse") - found.value("bias", "rmse")
    assert back == pytest.approx((-there[0], -there[2], -there[1], there[3]))
    assert 0 < there.p_value <= 1
    # The users are the same, so the difference is surer than the two values are.
    alone = [np.diff(found.interval(name, "rmse")[1:])[0] for name in ("one", "bias")]
    assert there.high - there.low < np.hypot(*alone)
    assert np.isnan(found.difference("bias", "popular", "rmse").p_value)


def test_differences_of_equal_models_are_rarely_significant():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 2, 60)) + rng.normal(size=(300, 1, 60))
    sure = 0
    for one, two in values:
        error = UnitSums.of(one).standard_error(UnitSums.of(two))
        sure += abs(one.mean() - two.mean()) > 1.959964 * error
    assert 4 <= sure <= 30  # of 300, about one in twenty


def test_intervals_are_in_the_table_and_the_frame():
    found = compare([BiasBaseline(), Popularity()], ratings(), ["rmse", "gini"], n_folds=2)
    shown = found.text(intervals=True).split("\n")
    assert shown[-1].endswith("; ± 95% interval over users")
    assert " ±0." in shown[-3]
    assert "±" not in shown[-2]  # no rating is predicted, and gini is of all lists together
    assert "±" not in str(found)
    frame = found.to_frame("pandas", intervals=True)
    assert frame["rmse_low"][0] < frame["rmse"][0] < frame["rmse_high"][0]
    assert list(found.to_frame("pandas").columns)[:4] == ["model", "rmse", "gini@10", "fit_s"]
