"""Fits: the same data give the same model, and nothing else is touched."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from edgewise import Ratings

from .setting import ITEMS, USERS, Setting, assert_same, everything


class FitTests(Setting):
    def test_fits_are_reproducible_and_forget_the_last(self):
        other = self.small({"p": {"x0": 5, "y1": 1, "y2": 2}, "q": {"x0": 1, "y1": 4}})
        model = self.make().fit(other)
        assert model.n_users_ == 2
        with pytest.raises(ValueError, match="users"):
            model.predict("a1", "x0")
        assert_same(everything(self.fitted()), everything(model.fit(self.ratings())))

    def test_the_number_of_threads_makes_no_difference(self):
        if "n_jobs" not in self.make().get_params():
            pytest.skip("the model has one thread")
        model = self.make().set_params(n_jobs=2).fit(self.ratings())
        assert_same(everything(self.fitted()), everything(model))

    def test_random_states(self):
        if "random_state" not in self.make().get_params():
            pytest.skip("nothing is random")
        ratings = self.ratings()
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        for make_state in (lambda: np.int64(3), lambda: np.random.RandomState(3)):
            ours, theirs = (self.make().set_params(random_state=make_state()) for _ in range(2))
            assert_same(everything(ours.fit(ratings)), everything(theirs.fit(ratings)))
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
        with pytest.raises(ValueError, match="random_state"):
            self.make().set_params(random_state="three").fit(ratings)

    def test_ratings_are_not_changed(self):
        ratings = self.ratings(weights=np.ones(len(self.ratings())))
        before = [getattr(ratings, name).copy() for name in ("users", "items", "values", "weights")]
        model = self.make().fit(ratings)
        model.fold_in({"new": self.likes("a")})
        everything(model)
        for name, kept in zip(("users", "items", "values", "weights"), before, strict=True):
            np.testing.assert_array_equal(getattr(ratings, name), kept)


class BaseFitTests(Setting):
    """Tests of the code that all recommenders share: a few of them are enough."""

    @pytest.mark.parametrize(
        "ask",
        [
            lambda model, path: model.predict("a1", "x0"),
            lambda model, path: model.recommend("a1"),
            lambda model, path: model.recommend(),
            lambda model, path: model.similar_items("x0"),
            lambda model, path: model.similar_users("a1"),
            lambda model, path: model.fold_in({"new": {"x0": 5.0}}),
            lambda model, path: model.save(path / "model.edgewise"),
            lambda model, path: model.n_users_,
        ],
    )
    def test_a_model_must_be_fitted_first(self, ask, tmp_path):
        with pytest.raises(NotFittedError, match="call fit first"):
            ask(self.make(), tmp_path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("wrong", [None, [[1, 2]], {"a1": {"x0": 5.0}}, np.ones((2, 2))])
    def test_only_ratings_are_taken(self, wrong):
        with pytest.raises(TypeError, match="ratings must be Ratings"):
            self.make().fit(wrong)

    def test_no_ratings_are_refused(self):
        ratings = self.ratings()
        with pytest.raises(ValueError, match="ratings must hold at least one rating"):
            self.make().fit(ratings.take(np.zeros(len(ratings), dtype=bool)))

    def test_a_fit_that_fails_leaves_the_model_as_it_was(self, monkeypatch):
        model = self.make().fit(self.ratings())
        names = set(vars(model))
        fit = type(model)._fit

        def fails(draft, ratings):
            fit(draft, ratings)
            raise MemoryError("at the very end")

        monkeypatch.setattr(type(model), "_fit", fails)
        with pytest.raises(MemoryError):
            model.fit(self.small({"p": {"x0": 5, "y1": 1}, "q": {"x0": 1, "y1": 2}}))
        monkeypatch.undo()
        assert_same(everything(self.fitted()), everything(model))
        assert {name for name in names if name.endswith("_")} <= set(vars(model))

    def test_unknown_parameters_are_refused(self):
        with pytest.raises(TypeError, match="no_such_parameter"):
            type(self.make())(no_such_parameter=1)
        with pytest.raises(ValueError, match="no_such_parameter"):
            self.make().set_params(no_such_parameter=1)

    def test_fit_returns_the_model_itself(self):
        model = self.make()
        assert model.fit(self.ratings()) is model
        assert model.n_users_ == len(USERS)
        assert model.n_items_ == len(ITEMS)
        assert model.mean_ == self.ratings().mean

    def test_ratings_that_are_held_out_are_not_seen(self):
        ratings = self.ratings()
        held_out = np.arange(len(ratings)) % 4 == 1
        values = np.where(held_out, 6.0 - ratings.values, ratings.values)
        ours, theirs = (
            everything(self.make().fit(each.take(~held_out)))
            for each in (ratings, replace(ratings, values=values))
        )
        assert_same(ours, theirs)

    def test_a_training_part_teaches_what_its_rows_alone_teach(self):
        ratings = self.ratings()
        train = ratings.take(np.arange(len(ratings)) % 4 != 1)
        alone = Ratings.from_arrays(
            train.user_ids.values[train.users],
            train.item_ids.values[train.items],
            train.values,
            item_features=self.item_features(ITEMS),
        )
        assert (alone.n_users, alone.n_items) == (train.n_users, train.n_items)
        ours, theirs = (everything(self.make().fit(each)) for each in (train, alone))
        assert_same(ours, theirs)

    def test_the_order_of_ratings_makes_no_difference(self):
        order = np.random.default_rng(0).permutation(len(self.ratings()))
        model = self.make().fit(self.ratings(order=order))
        assert_same(everything(self.fitted()), everything(model))

    def test_parameters_are_stored_and_left_alone(self):
        model = self.make()
        before = dict(model.get_params(deep=False))
        model.fit(self.ratings())
        after = model.get_params(deep=False)
        assert before.keys() == after.keys()
        assert all(before[name] is after[name] for name in before)

    def test_a_clone_is_not_fitted_and_learns_the_same(self):
        cloned = clone(self.fitted())
        assert repr(cloned.get_params()) == repr(self.fitted().get_params())
        with pytest.raises(NotFittedError):
            cloned.predict("a1", "x0")
        assert_same(everything(self.fitted()), everything(cloned.fit(self.ratings())))

    def test_progress_goes_to_standard_error(self, capfd):
        quiet = self.make().fit(self.ratings())
        assert capfd.readouterr() == ("", "")
        if "verbose" in quiet.get_params():
            loud = self.make().set_params(verbose=1).fit(self.ratings())
            assert capfd.readouterr().out == ""
            assert_same(everything(quiet), everything(loud))
