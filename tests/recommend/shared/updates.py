"""Updates: new ratings of known and new users, and of new items, without a new fit."""

import numpy as np
import pytest

import edgewise
from edgewise import Ratings

from .setting import ITEMS, USERS, Setting, assert_same, everything, left_out, seen

# They rate what they had left out, and change their minds about a rating.
TOUCHED = ("a1", "b3")


class UpdateTests(Setting):
    def news(self):
        """Return new ratings of known users, and the ratings of a new user."""
        said = {user: dict.fromkeys(left_out(user), 5.0) for user in TOUCHED}
        said["a1"]["x3"] = 4.0
        return said | {"new": self.likes("b")}

    def updated(self, *news):
        model = self.make().fit(self.ratings())
        for some in news or [self.news()]:
            assert model.partial_fit(some) is model
        return model

    def test_new_ratings_are_known(self):
        model = self.updated()
        assert model.n_users_ == len(USERS) + 1
        for user, row in self.news().items():
            place = model.ratings_.user_ids.find("users", user)[0]
            mine = model.ratings_.users == place
            items = model.ratings_.item_ids.values[model.ratings_.items[mine]]
            values = dict(zip(items.tolist(), model.ratings_.values[mine].tolist(), strict=True))
            assert values | row == values
            assert np.isfinite(model.predict(user, ITEMS)).all()
            ids = model.recommend(user, n=100).ids.tolist()
            assert set(ids) == set(ITEMS) - seen(model.ratings_, user)

    def test_updates_are_those_of_new_users_and_leave_others_alone(self):
        model, fitted = self.updated(), self.fitted()
        if model.refits_on_update:
            again = self.make().fit(self.ratings().with_ratings(Ratings.from_dict(self.news())))
            assert_same(everything(again), everything(model))
            return
        if self.asks_others:
            pytest.skip("other users count")
        others = sorted(set(USERS) - set(TOUCHED))
        before, after = (everything(one, users=others) for one in (fitted, model))
        for name in ("predict", "scores"):
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)
        folded = fitted.fold_in({"new": self.likes("b")})
        ours, theirs = model.predict("new", ITEMS), folded.predict("new", ITEMS)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)

    def test_a_known_user_is_learned_as_a_new_one(self):
        model = self.make().fit(self.ratings())
        if model.refits_on_update or self.asks_others:
            pytest.skip("other users count")
        model.partial_fit({"a1": self.news()["a1"]})
        rated = model.ratings_.take(model.ratings_.users == USERS.index("a1"))
        items = rated.item_ids.values[rated.items].tolist()
        row = dict(zip(items, rated.values.tolist(), strict=True))
        twin = self.fitted().fold_in({"twin": row})
        ours, theirs = model.predict("a1", ITEMS), twin.predict("twin", ITEMS)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)

    def test_two_halves_are_as_one(self):
        news = self.news()
        first = {"a1": {"x3": 4.0}, "new": dict(list(news["new"].items())[:3])}
        rest = news | {"a1": dict.fromkeys(left_out("a1"), 5.0)}
        once, twice = self.updated(), self.updated(first, rest)
        np.testing.assert_array_equal(once.ratings_.values, twice.ratings_.values)
        for user in news:
            ours, theirs = once.predict(user, ITEMS), twice.predict(user, ITEMS)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)

    def test_new_items_are_learned_or_refused(self):
        fans = {user: {"z": 5.0 if user[0] == "a" else 1.0} for user in USERS[1:]}
        if self.implicit:
            fans = {user: row for user, row in fans.items() if user[0] == "a"}
        model = self.make().fit(self.ratings())
        if not (model.adds_items or model.refits_on_update):
            before = everything(model)
            with pytest.raises(ValueError, match=r"items.*'z'"):
                model.partial_fit(fans)
            assert_same(before, everything(model))
            return
        if self.needs_features:
            pytest.skip("the new item has no features")
        model.partial_fit(fans)
        assert "z" in model.recommend("a0", n=100).ids
        if self.knows_tastes and not model.refits_on_update:
            assert model.predict("a0", "z") > model.predict("b0", "z")
            assert "z" not in model.recommend("a1", n=100).ids
            half = dict(list(fans.items())[:3])
            parts = self.make().fit(self.ratings()).partial_fit(half).partial_fit(fans)
            users = sorted(fans)
            ours, theirs = (one.predict(users, ["z"] * len(users)) for one in (model, parts))
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(
                *(one.predict("a1", ITEMS) for one in (model, parts)), rtol=1e-9, atol=1e-12
            )

    def test_an_updated_model_comes_back_from_a_file(self, tmp_path):
        model = self.updated()
        model.save(tmp_path / "model.edgewise")
        loaded = edgewise.load(tmp_path / "model.edgewise")
        assert_same(everything(model), everything(loaded))


class BaseUpdateTests(Setting):
    """Tests of the code that all recommenders share: a few of them are enough."""

    def test_an_update_that_fails_leaves_the_model_as_it_was(self):
        model = self.make().fit(self.ratings())
        before = everything(model)
        for wrong in (None, {"a1": 5}, {}, {1: {"x0": 5.0}}):
            with pytest.raises((TypeError, ValueError)):
                model.partial_fit(wrong)
        if model.predicts == "rating":
            with pytest.raises(ValueError, match="ratings must be from 1 to 5"):
                model.partial_fit({"a1": {"x0": 50.0}})
        assert_same(before, everything(model))

    def test_a_first_update_is_a_fit(self):
        assert_same(everything(self.fitted()), everything(self.make().partial_fit(self.ratings())))
