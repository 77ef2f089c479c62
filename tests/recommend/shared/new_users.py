"""Fold-in: users who came after training, known from a few ratings."""

import numpy as np
import pytest

from edgewise import Ratings

from .setting import ITEMS, UNRATED, USERS, Setting, assert_same, everything, seen


class WithNewUsers(Setting):
    def new_users(self):
        return {"new a": self.likes("a"), "new b": self.likes("b")}


class NewUserTests(WithNewUsers):
    def test_a_new_user_is_known(self):
        model = self.fitted().fold_in(self.new_users())
        assert model.n_users_ == len(USERS) + 2
        assert model.n_items_ == len(ITEMS)
        for user in self.new_users():
            found = model.predict(user, ITEMS)
            assert np.isfinite(found).all()
            if model.predicts == "rating":
                assert (found >= model.low_).all()
                assert (found <= model.high_).all()
            ids = model.recommend(user, n=100).ids.tolist()
            assert set(ids) == set(ITEMS) - seen(model.ratings_, user)
            assert user not in model.similar_users(user).ids
            assert len(model.similar_users(user, n=3).ids) <= 3

    def test_a_new_user_of_either_taste_gets_the_right_list(self):
        if not self.knows_tastes:
            pytest.skip("the model does not tell tastes apart")
        model = self.fitted().fold_in(self.new_users())
        x, y = UNRATED
        for user, first, last in (("new a", x, y), ("new b", y, x)):
            ids = model.recommend(user).ids.tolist()
            assert ids.index(first) < ids.index(last)
            assert model.predict(user, first) > model.predict(user, last)

    def test_the_model_stays_as_it_was(self):
        model = self.make().fit(self.ratings())
        before = everything(model)
        model.fold_in(self.new_users())
        assert_same(before, everything(model))
        assert model.n_users_ == len(USERS)
        with pytest.raises(ValueError, match=r"users.* 'new a'"):
            model.predict("new a", "x0")

    def test_what_was_known_stays_as_it_was(self):
        model = self.fitted()
        more = model.fold_in(self.new_users())
        before, after = everything(model), everything(more, users=sorted(USERS))
        for name in ("predict", "recommend", "scores"):
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)

    def test_together_is_as_one_after_the_other(self):
        model = self.fitted()
        together = model.fold_in(self.new_users())
        apart = model.fold_in({"new a": self.likes("a")}).fold_in({"new b": self.likes("b")})
        for user in self.new_users():
            ours, theirs = together.predict(user, ITEMS), apart.predict(user, ITEMS)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)

    def test_weights_are_taken(self):
        ratings = Ratings.from_arrays(["new"] * 2, ["x1", "y1"], [5, 4], weights=[2.0, 0.5])
        for model in (self.fitted(), self.make().fit(self.ratings(weights=self.ones()))):
            assert np.isfinite(model.fold_in(ratings).predict("new", ITEMS)).all()

    def ones(self):
        return np.ones(len(self.ratings()))


class BaseNewUserTests(WithNewUsers):
    """Tests of the code that all recommenders share: a few of them are enough."""

    def test_what_cannot_be_folded_in(self):
        model = self.fitted()
        for wrong in ([("new", "x0", 5)], None, "new", {"new": 5}):
            with pytest.raises(TypeError, match=r"must be a mapping|must map items"):
                model.fold_in(wrong)
        with pytest.raises(ValueError, match="at least one rating"):
            model.fold_in({})
        with pytest.raises(ValueError, match="finite"):
            model.fold_in({"new": {"x0": np.nan}})

    def test_ratings_and_mappings_are_the_same(self):
        rows = [(u, i, r) for u, row in self.new_users().items() for i, r in row.items()]
        users, items, values = zip(*rows[::-1], strict=True)
        ratings = Ratings.from_arrays(users, items, values)
        one, two = self.fitted().fold_in(self.new_users()), self.fitted().fold_in(ratings)
        assert_same(everything(one), everything(two))

    def test_ratings_keep_to_the_scale_of_training(self):
        model, ratings = self.fitted(), {"new": {"x1": 50.0, "y1": 4.0}}
        if model.predicts == "rating":
            with pytest.raises(ValueError, match=r"ratings must be from 1 to 5, .* got 4 to 50"):
                model.fold_in(ratings)
        else:
            # A user may have chosen an item more often than anybody in training.
            assert np.isfinite(model.fold_in(ratings).predict("new", ITEMS)).all()

    def test_one_rating_is_enough(self):
        model = self.fitted().fold_in({"new": {"x1": 5.0}})
        assert np.isfinite(model.predict("new", ITEMS)).all()
        assert "x1" not in model.recommend("new", n=100).ids
