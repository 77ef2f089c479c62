"""Ranked lists: what is on them, what is not, and in which order."""

import numpy as np
import pytest

from .setting import ITEMS, USERS, Setting, left_out, own, seen

SOME = ["b1", "a0", "b1", "a4"]
N_NEAR = 3


class ListTests(Setting):
    def test_the_own_group_comes_first(self):
        if not self.knows_tastes:
            pytest.skip("the model does not tell tastes apart")
        model = self.fitted()
        for user in filter(left_out, USERS):
            ours, theirs = sorted(left_out(user), key=lambda item: item[0] != own(user))
            order = model.recommend(user).ids.tolist()
            assert order.index(ours) < order.index(theirs), user
            assert model.predict(user, ours) > model.predict(user, theirs), user

    def test_similar_items_are_of_the_same_group(self):
        if not self.knows_alike:
            pytest.skip("the model does not tell tastes apart")
        for item in ITEMS:
            alike = self.fitted().similar_items(item, n=N_NEAR).ids.tolist()
            assert {one[0] for one in alike} == {item[0]}, item

    def test_contributions_add_up_to_the_score(self):
        model = self.make()
        if not (self.explains and hasattr(model, "explain")):
            pytest.skip("the model explains no scores")
        model.fit(self.ratings(weights=np.linspace(0.5, 2.0, len(self.ratings()))))
        for user, item in (("a1", "x2"), ("b2", "y0")):
            why = model.explain(user, item)
            (score,) = model.recommend(user, items=item, exclude_seen=False).scores
            amounts = [part.amount for part in why.contributions]
            assert (why.user, why.item) == (user, item)
            assert why.score == pytest.approx(score)
            assert sum(amounts) == pytest.approx(score)
            assert amounts == sorted(amounts, key=abs, reverse=True)
        with pytest.raises(ValueError, match=r"users.*'zed'"):
            model.explain("zed", "x0")
        with pytest.raises(ValueError, match=r"items.*'zed'"):
            model.explain("a1", "zed")

    def test_what_was_seen_is_never_recommended(self):
        model, ratings = self.fitted(), self.ratings()
        for user, best in zip(USERS, model.recommend(USERS, n=100), strict=True):
            assert set(best.ids.tolist()) == set(ITEMS) - seen(ratings, user)

    def test_lists_and_predictions_agree(self):
        model, ratings = self.fitted(), self.ratings()
        for user, best in zip(SOME, model.recommend(SOME, exclude_seen=False), strict=True):
            scores = best.scores
            assert (np.diff(scores) <= 0).all()
            if model.predicts == "rating":
                scores = np.clip(scores, ratings.low, ratings.high)
            np.testing.assert_allclose(model.predict(user, best.ids), scores, rtol=1e-9, atol=1e-12)

    def test_a_batch_is_as_one_by_one(self):
        model = self.fitted()
        lists = model.recommend(SOME, n=3, exclude_seen=False)
        assert lists.keys.tolist() == SOME
        for user, best in zip(SOME, lists, strict=True):
            alone = model.recommend(user, n=3, exclude_seen=False)
            assert best.ids.tolist() == alone.ids.tolist()
            np.testing.assert_allclose(best.scores, alone.scores, rtol=1e-9, atol=1e-12)

    def test_lists_for_unknown_users(self):
        model = self.fitted()
        users = ["a1", "zed"]
        known, empty = model.recommend(users, unknown="nan")
        assert known.ids.tolist() == model.recommend("a1").ids.tolist()
        assert len(empty.ids) == 0
        best = model.recommend(users, n=3, unknown="mean")[1]
        assert len(best.ids) == 3
        assert (np.diff(best.scores) <= 0).all()
        assert set(model.recommend("zed", items=["x0", "y1"], unknown="mean").ids) == {"x0", "y1"}

    @pytest.mark.parametrize("side", ["items", "users"])
    def test_similar_ones(self, side):
        model, ids = self.fitted(), ITEMS if side == "items" else USERS
        ask = model.similar_items if side == "items" else model.similar_users
        lists = ask(ids, n=100)
        assert lists.keys.tolist() == ids
        for one, best in zip(ids, lists, strict=True):
            assert one not in best.ids
            assert set(best.ids) <= set(ids)
            assert len(set(best.ids.tolist())) == len(best.ids)
            assert np.isfinite(best.scores).all()
            assert (np.diff(best.scores) <= 0).all()
            alone = ask(one, n=2)
            assert alone.ids.tolist() == best.ids[:2].tolist()
            np.testing.assert_allclose(alone.scores, best.scores[:2], rtol=1e-9, atol=1e-12)
        with pytest.raises(ValueError, match="n must be"):
            ask(ids[0], n=0)


class BaseListTests(Setting):
    """Tests of the code that all recommenders share: a few of them are enough."""

    def test_lists_are_shorter_rather_than_padded(self):
        model, ratings = self.fitted(), self.ratings()
        rated = sorted(seen(ratings, "a1"))
        assert len(model.recommend("a1", n=5, items=rated).ids) == 0
        assert model.recommend("a1", n=5, items=[*rated, "x1"]).ids.tolist() == ["x1"]

    def test_items_says_what_to_choose_from(self):
        model = self.fitted()
        everything = model.recommend("a1", exclude_seen=False).ids.tolist()
        some = ["y3", "x0", "y0"]
        expected = [item for item in everything if item in some]
        for items in (some, np.array(some), some + some):
            assert model.recommend("a1", exclude_seen=False, items=items).ids.tolist() == expected
        assert model.recommend("a1", exclude_seen=False, items="x0").ids.tolist() == ["x0"]
        assert len(model.recommend("a1", items=[]).ids) == 0

    def test_all_users_by_default(self):
        model = self.fitted()
        assert model.recommend(n=2) == model.recommend(sorted(USERS), n=2)

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"n": 0}, ValueError, "n must"),
            ({"n": 2.0}, TypeError, "n must"),
            ({"n": True}, TypeError, "n must"),
            ({"exclude_seen": "yes"}, TypeError, "exclude_seen"),
        ],
    )
    def test_errors_name_the_argument(self, arguments, error, words):
        with pytest.raises(error, match=words):
            self.fitted().recommend("a1", **arguments)

    def test_who_has_seen_everything_gets_nothing(self):
        if self.implicit:
            pytest.skip("the user did not choose everything")
        assert left_out("a5") == ()
        lists = self.fitted().recommend(["a5", "a1", "b5"])
        assert [len(best.ids) for best in lists] == [0, 2, 0]
        assert len(self.fitted().recommend("a5").ids) == 0

    def test_lists_are_as_long_as_was_asked_for(self):
        model = self.fitted()
        longest = model.recommend("a1", n=100, exclude_seen=False)
        assert sorted(longest.ids.tolist()) == sorted(ITEMS)
        for n in range(1, len(ITEMS)):
            shorter = model.recommend("a1", n=n, exclude_seen=False)
            assert shorter.ids.tolist() == longest.ids[:n].tolist()
