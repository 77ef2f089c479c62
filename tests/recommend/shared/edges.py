"""Data at the edge: hardly any, all the same, odd scales, users and items without ratings."""

import numpy as np
import pytest

import edgewise
from edgewise import Ratings

from .setting import ITEMS, USERS, Setting, everything

SMALL = {
    "one rating": {"ann": {"x0": 4.0}},
    "one user": {"ann": {"x0": 4.0, "x1": 2.0, "y0": 5.0}},
    "one item": {"ann": {"x0": 4.0}, "bob": {"x0": 2.0}, "cat": {"x0": 5.0}},
    "two pairs that do not meet": {"ann": {"x0": 4.0}, "bob": {"y0": 2.0}},
    "constant": {"ann": {"x0": 3.0, "x1": 3.0}, "bob": {"x0": 3.0, "y0": 3.0}},
    "zeros": {"ann": {"x0": 0.0, "x1": 0.0}, "bob": {"x0": 0.0, "y0": 0.0}},
}


class EdgeTests(Setting):
    def assert_sound(self, model):
        """Assert that a model's answers are numbers, and within the scale."""
        ratings = model.ratings_
        said = everything(model)
        assert np.isfinite(said["predict"]).all()
        assert np.isfinite(said["scores"]).all()
        if model.predicts == "rating":
            assert (said["predict"] >= ratings.low).all()
            assert (said["predict"] <= ratings.high).all()

    @pytest.mark.parametrize("name", SMALL)
    def test_hardly_any_ratings(self, name, tmp_path):
        model = self.make().fit(self.small(SMALL[name]))
        self.assert_sound(model)
        more = model.fold_in({"new": {"x0": SMALL[name]["ann"]["x0"]}})
        assert np.isfinite(more.predict("new", "x0"))
        assert "x0" not in more.recommend("new").ids
        model.save(tmp_path / "model.edgewise")
        self.assert_sound(edgewise.load(tmp_path / "model.edgewise"))

    @pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-10.0, 10.0), (1e-9, 2e-9)])
    def test_any_scale(self, low, high):
        rng = np.random.default_rng(0)
        rows = [(user, item) for user in USERS for item in ITEMS if rng.random() < 0.7]
        users, items = zip(*rows, strict=True)
        values = rng.uniform(low, high, len(rows))
        features = self.item_features(ITEMS)
        ratings = Ratings.from_arrays(users, items, values, item_features=features)
        if low < 0 and not self.takes_negative:
            with pytest.raises(ValueError, match="ratings must"):
                self.make().fit(ratings)
        else:
            self.assert_sound(self.make().fit(ratings))

    def test_weights_of_one_change_nothing(self):
        weights = np.ones(len(self.ratings()))
        model = self.make().fit(self.ratings(weights=weights))
        ours, theirs = everything(self.fitted()), everything(model)
        for name in ("predict", "scores"):
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-9, err_msg=name)

    def test_weights_of_any_size(self, tmp_path):
        weights = np.random.default_rng(0).exponential(size=len(self.ratings())) + 1e-3
        model = self.make().fit(self.ratings(weights=weights))
        self.assert_sound(model)
        model.save(tmp_path / "model.edgewise")
        np.testing.assert_array_equal(
            edgewise.load(tmp_path / "model.edgewise").predict("a1", ITEMS),
            model.predict("a1", ITEMS),
        )

    def with_strangers(self):
        """Return the data, of which a user and an item lost all ratings."""
        ratings = self.ratings()
        user = ratings.user_ids.find("users", "a3")[0]
        item = ratings.item_ids.find("items", "x2")[0]
        return ratings.take((ratings.users != user) & (ratings.items != item))

    def test_users_without_ratings(self):
        model = self.make().fit(self.with_strangers())
        self.assert_sound(model)
        assert model.n_users_ == len(USERS)
        with pytest.raises(ValueError, match="users must be new"):
            model.fold_in({"a3": {"x0": 5.0}})
        if self.knows_cold_users:
            assert np.isfinite(model.predict("a3", "x0"))
            assert set(model.recommend("a3").ids) == set(ITEMS) - {"x2"}
            return
        with pytest.raises(ValueError, match=r"users.* 'a3'"):
            model.predict("a3", "x0")
        with pytest.raises(ValueError, match=r"users.* 'a3'"):
            model.recommend(["a0", "a3"])
        with pytest.raises(ValueError, match=r"users.* 'a3'"):
            model.similar_users("a3")
        assert np.isnan(model.predict("a3", "x0", unknown="nan"))
        assert np.isfinite(model.predict("a3", "x0", unknown="mean"))
        assert "a3" not in model.recommend().keys
        assert "a3" not in model.similar_users("a0", n=100).ids
        empty, best = model.recommend(["a3", "a0"], unknown="nan")
        assert len(empty.ids) == 0
        assert len(best.ids) > 0

    def test_items_without_ratings(self):
        model = self.make().fit(self.with_strangers())
        assert model.n_items_ == len(ITEMS)
        if self.knows_cold_items:
            assert np.isfinite(model.predict("a0", "x2"))
            assert "x2" in model.recommend("a0", n=100).ids
            return
        with pytest.raises(ValueError, match=r"items.* 'x2'"):
            model.predict("a0", "x2")
        with pytest.raises(ValueError, match=r"items.* 'x2'"):
            model.similar_items("x2")
        assert np.isnan(model.predict("a0", "x2", unknown="nan"))
        assert np.isfinite(model.predict("a0", "x2", unknown="mean"))
        assert "x2" not in model.recommend("a0", n=100, exclude_seen=False).ids
        assert "x2" not in model.similar_items("x0", n=100).ids
        with pytest.raises(ValueError, match=r"items.*x2"):
            model.fold_in({"new": {"x2": 5.0}})

    def test_users_without_ratings_come_back_from_a_file(self, tmp_path):
        model = self.make().fit(self.with_strangers())
        model.save(tmp_path / "model.edgewise")
        loaded = edgewise.load(tmp_path / "model.edgewise")
        np.testing.assert_array_equal(model.known_users_, loaded.known_users_)
        np.testing.assert_array_equal(model.known_items_, loaded.known_items_)
        self.assert_sound(loaded)
