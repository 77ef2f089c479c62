"""Ids as they come in: of integers or strings, one or many, known or not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from .setting import ITEMS, NUMBERS, USERS, Setting, assert_same, everything

KINDS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda ids: np.array(ids, dtype=object),
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "pandas categories": lambda ids: pd.Series(ids, dtype="category"),
    "polars": pl.Series,
}


class IdTests(Setting):
    def test_what_ids_are_makes_no_difference(self):
        words = everything(self.fitted())
        numbers = everything(self.make().fit(self.ratings(numbers=True)))
        for name in ("recommend", "similar items", "similar users"):
            words[name] = [NUMBERS[one] for one in words[name].tolist()]
        assert_same(words, numbers)

    def test_predictions_do_not_depend_on_what_else_is_asked(self):
        users, items = np.repeat([*USERS, "zed"], len(ITEMS)), np.tile(ITEMS, len(USERS) + 1)
        expected = self.fitted().predict(users, items, unknown="mean")
        model = self.make().fit(self.ratings())
        model.recommend(USERS[::-2], n=1)
        order = np.random.default_rng(0).permutation(len(users))
        for rows in np.array_split(order, 7):
            found = model.predict(users[rows], items[rows], unknown="mean")
            np.testing.assert_allclose(found, expected[rows], rtol=1e-9, atol=1e-12)

    def test_unknown_ids_may_be_predicted_the_mean(self):
        model, ratings = self.fitted(), self.ratings()
        users, items = ["a1", "zed", "a1", "zed"], ["x0", "x0", "zed", "zed"]
        found = model.predict(users, items, unknown="mean")
        assert found[0] == model.predict("a1", "x0")
        assert np.isfinite(found).all()
        if model.predicts == "rating":
            table, mean = ratings.csr(), ratings.mean
            of_item = table[:, [ratings.item_ids.find("items", "x0")[0]]].data
            of_user = table[[ratings.user_ids.find("users", "a1")[0]]].data
            shrunken = [np.mean([*rated, mean, mean, mean]) for rated in (of_item, of_user)]
            np.testing.assert_allclose(found[1:], [*shrunken, mean], rtol=1e-12)


class BaseIdTests(Setting):
    """Tests of the code that all recommenders share: a few of them are enough."""

    def test_ids_come_back_as_they_were_given(self):
        model = self.make().fit(self.ratings(numbers=True))
        best = model.recommend(NUMBERS["a1"])
        assert best.ids.dtype == np.int64
        assert {int(one) for one in best.ids} <= {NUMBERS[item] for item in ITEMS}
        assert self.fitted().recommend("a1").ids.dtype.kind == "U"

    @pytest.mark.parametrize("kind", KINDS)
    def test_many_ids_in_any_container(self, kind):
        model, given = self.fitted(), KINDS[kind]
        users, items = ["a1", "b2", "a1"], ["x0", "x0", "y4"]
        expected = model.predict(users, items)
        assert expected.dtype == np.float64
        assert expected.shape == (3,)
        np.testing.assert_array_equal(model.predict(given(users), given(items)), expected)
        lists = model.recommend(given(users))
        assert list(lists.keys) == users
        assert lists == model.recommend(users)
        assert model.similar_items(given(items)) == model.similar_items(items)

    def test_no_ids_give_no_answers(self):
        model = self.fitted()
        assert model.predict([], []).shape == (0,)
        assert len(model.recommend([])) == 0

    def test_lengths_must_agree(self):
        with pytest.raises(ValueError, match="items"):
            self.fitted().predict(["a1", "a2"], ["x0", "x1", "x2"])

    @pytest.mark.parametrize(
        ("ask", "name"),
        [
            (lambda model: model.predict("zed", "x0"), "users.* 'zed'"),
            (lambda model: model.predict(["a1", "a2"], ["x0", "zed"]), "items.* 'zed'"),
            (lambda model: model.recommend(["a1", "zed"]), "users.* 'zed'"),
            (lambda model: model.recommend("a1", items=["x0", "zed"]), "items.* 'zed'"),
            (lambda model: model.similar_items("zed"), "items.* 'zed'"),
            (lambda model: model.similar_users("zed"), "users.* 'zed'"),
            (lambda model: model.fold_in({"new": {"x0": 5.0, "zed": 5.0}}), "items.*zed"),
            (lambda model: model.fold_in({"a1": {"x0": 5.0}}), "users must be new.* 'a1'"),
        ],
    )
    def test_unknown_ids_raise(self, ask, name):
        with pytest.raises(ValueError, match=name):
            ask(self.fitted())

    def test_unknown_ids_may_be_predicted_nan(self):
        model = self.fitted()
        users, items = ["a1", "zed", "a1", "zed"], ["x0", "x0", "zed", "zed"]
        found = model.predict(users, items, unknown="nan")
        assert np.isnan(found).tolist() == [False, True, True, True]
        assert found[0] == model.predict("a1", "x0")

    def test_unknown_must_be_one_of_three(self):
        for ask in (
            lambda: self.fitted().predict("a1", "x0", unknown="zero"),
            lambda: self.fitted().recommend("a1", unknown=None),
        ):
            with pytest.raises(ValueError, match="unknown"):
                ask()

    @pytest.mark.parametrize("unknown", ["raise", "mean", "nan"])
    def test_an_integer_for_a_string_is_an_error(self, unknown):
        model = self.fitted()
        for ask, name in (
            (lambda: model.predict(196, "x0", unknown=unknown), "users"),
            (lambda: model.predict("a1", [196], unknown=unknown), "items"),
            (lambda: model.recommend([196], unknown=unknown), "users"),
            (lambda: model.recommend("a1", items=[196], unknown=unknown), "items"),
            (lambda: model.similar_items(196), "items"),
            (lambda: model.similar_users(196), "users"),
            (lambda: model.fold_in({"new": {196: 5.0}}), "items"),
            (lambda: model.fold_in({196: {"x0": 5.0}}), "users"),
        ):
            with pytest.raises(TypeError, match=f"{name} must be strings.* 196"):
                ask()

    def test_a_string_for_an_integer_is_an_error(self):
        model = self.make().fit(self.ratings(numbers=True))
        user, item = NUMBERS["a1"], NUMBERS["x0"]
        for ask, name in (
            (lambda: model.predict(str(user), item), "users"),
            (lambda: model.predict(user, str(item)), "items"),
            (lambda: model.recommend(str(user)), "users"),
            (lambda: model.fold_in({"new": {item: 5.0}}), "users"),
        ):
            with pytest.raises(TypeError, match=f"{name} must be integers"):
                ask()

    def test_one_id_gives_one_answer(self):
        model = self.fitted()
        rating = model.predict("a1", "x0")
        assert type(rating) is float
        assert rating == model.predict(["a1"], ["x0"])[0]
        assert model.predict(np.str_("a1"), "x0") == rating
        assert hasattr(model.recommend("a1"), "ids")
        assert len(model.recommend(["a1"])) == 1

    def test_one_id_goes_with_all_of_the_other_side(self):
        model = self.fitted()
        expected = [model.predict("a1", item) for item in ITEMS]
        np.testing.assert_allclose(model.predict("a1", ITEMS), expected, rtol=1e-9, atol=1e-15)
        expected = [model.predict(user, "x0") for user in USERS]
        np.testing.assert_allclose(model.predict(USERS, "x0"), expected, rtol=1e-9, atol=1e-15)
