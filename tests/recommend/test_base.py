"""The base of recommenders, by a model of a few lines."""

import subprocess
import sys

import numpy as np
import pytest

from edgewise import Ratings
from edgewise.common.progress import progress
from edgewise.recommend.arrays import UnitVectors, center_ratings

from .common import BaseTests, RecommenderTests, StorageTests
from .toys import OneFactor, make_public


class TestOneFactor(RecommenderTests, BaseTests, StorageTests):
    """A model passes that says only how it fits, scores and folds in."""

    @pytest.fixture(autouse=True)
    def known_to_files(self, monkeypatch):
        make_public(monkeypatch, OneFactor)

    def make(self):
        return OneFactor()


@pytest.fixture
def ratings():
    return Ratings.from_dict({"ann": {"x": 5, "y": 1}, "bob": {"x": 1, "y": 5, "z": 2}})


class Fixed(OneFactor):
    """Scores given in advance, beyond the scale."""

    def _fit(self, ratings):
        self.scores_ = np.array([[9.0, -9.0, 3.0], [2.0, 3.0, 4.0]])

    def _pair_scores(self, users, items):
        assert users.dtype == items.dtype == np.intp
        return self.scores_[users, items]


class Scores(Fixed):
    predicts = "score"


class TestPredictions:
    def test_ratings_are_clipped_to_the_scale_and_lists_are_not(self, ratings):
        model = Fixed().fit(ratings)
        assert model.predict("ann", ["x", "y", "z"]).tolist() == [5, 1, 3]
        assert model.recommend("ann", exclude_seen=False).scores.tolist() == [9, 3, -9]

    def test_scores_are_not_clipped(self, ratings):
        assert Scores().fit(ratings).predict("ann", ["x", "y", "z"]).tolist() == [9, -9, 3]

    def test_means_of_what_is_unknown(self, ratings):
        model = Fixed().fit(ratings)
        found = model.predict(["ann", "zed", "zed"], ["q", "y", "q"], unknown="mean")
        # Three ratings of the overall mean, 2.8, beside the two of ann and of y.
        expected = (2 * 3.0 + 3 * 2.8) / 5
        np.testing.assert_allclose(found, [expected, expected, 2.8])

    def test_means_are_by_weight(self):
        weighted = Ratings.from_arrays(
            ["ann", "ann", "bob", "bob", "bob"], ["x", "y", "x", "y", "z"], [5, 1, 1, 5, 2],
            weights=[3, 1, 1, 1, 2],
        )  # fmt: skip
        model = Fixed().fit(weighted)
        found = model.predict(["ann", "zed", "zed"], ["q", "x", "q"], unknown="mean")
        mean = (15 + 1 + 1 + 5 + 4) / 8
        expected = (16 + 3 * mean) / (4 + 3)
        np.testing.assert_allclose(found, [expected, expected, mean])

    def test_the_mean_score_stands_for_unknown_scores(self, ratings):
        model = Scores().fit(ratings)
        expected = np.mean([9.0, -9.0, 2.0, 3.0, 4.0])
        assert model.predict("zed", "x", unknown="mean") == pytest.approx(expected)
        assert model.predict("ann", "q", unknown="mean") == pytest.approx(expected)

    def test_unknown_users_get_what_is_popular(self):
        rows = {"ann": {"x": 5, "y": 4}, "bob": {"y": 4, "z": 1}, "cat": {"y": 3, "x": 2}}
        best = OneFactor().fit(Ratings.from_dict(rows)).recommend("zed", unknown="mean")
        # Means over the three users, none being a 1: the best mean alone would be that of x.
        assert best.ids.tolist() == ["y", "x", "z"]
        np.testing.assert_allclose(best.scores, [11 / 3, 8 / 3, 1.0])

    def test_unknown_users_get_what_most_users_chose(self):
        chosen = Ratings.from_arrays([1, 2, 3, 1], [9, 9, 9, 8], weights=[1, 1, 1, 2])
        best = OneFactor().fit(chosen).recommend(7, unknown="mean")
        assert best.ids.tolist() == [9, 8]
        np.testing.assert_allclose(best.scores, [1.0, 2 / 3])


class TestScoresInBlocks:
    def test_many_users_are_scored_some_at_a_time(self, ratings, monkeypatch):
        model = OneFactor().fit(ratings)
        whole = model.recommend(["ann", "bob", "ann"], exclude_seen=False)
        alike = model.similar_items(["x", "y", "z"])
        monkeypatch.setattr("edgewise.recommend.arrays._BLOCK", 1)
        assert model.recommend(["ann", "bob", "ann"], exclude_seen=False) == whole
        assert model.similar_items(["x", "y", "z"]) == alike


class TestParameters:
    def test_they_are_checked_before_any_work(self, ratings):
        class Checked(OneFactor):
            def _fit(self, ratings):
                raise AssertionError("work was done")

        with pytest.raises(ValueError, match="shrink must be at least 0"):
            Checked(shrink=-1.0).fit(ratings)

    def test_a_wrong_parameter_leaves_the_model_as_it_was(self, ratings):
        model = OneFactor().fit(ratings)
        before = model.predict("ann", "z")
        model.set_params(shrink=-1.0)
        with pytest.raises(ValueError, match="shrink"):
            model.fit(ratings)
        assert model.predict("ann", "z") == before

    @pytest.mark.parametrize(
        "state", [0, np.int32(5), None, np.random.RandomState(0), np.random.default_rng(0)]
    )
    def test_random_states(self, state):
        assert 0 <= OneFactor(random_state=state)._seed() < 2**31

    @pytest.mark.parametrize("state", ["x", 1.5, -1, [object()]])
    def test_what_is_no_random_state(self, state):
        with pytest.raises(ValueError, match="random_state must be"):
            OneFactor(random_state=state)._seed()

    def test_seeds(self):
        assert OneFactor(random_state=3)._seed() == OneFactor(random_state=3)._seed()
        seeds = {OneFactor(random_state=seed)._seed() for seed in range(20)}
        assert len(seeds) == 20


class TestSimilarity:
    def test_cosines(self):
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(5, 3))
        vectors[2] = 0.0
        places = np.array([4, 2])
        found = UnitVectors(vectors).cosines(places)
        for row, i in enumerate(places):
            for j in range(5):
                lengths = np.linalg.norm(vectors[i]) * np.linalg.norm(vectors[j])
                expected = vectors[i] @ vectors[j] / lengths if lengths else 0.0
                assert found[row, j] == pytest.approx(expected)

    def test_dense_and_sparse_are_the_same(self, ratings):
        table = center_ratings(ratings.csr(), ratings.mean)
        few = np.array([0, 1])
        found, dense = (UnitVectors(rows).cosines(few) for rows in (table, table.toarray()))
        np.testing.assert_allclose(found, dense, atol=1e-15)

    def test_choices_are_not_centered(self):
        choices = Ratings.from_arrays([1, 1, 2], [1, 2, 2])
        table = center_ratings(choices.csr(), choices.mean)
        assert table.toarray().tolist() == [[1, 1], [0, 1]]
        assert center_ratings(choices.take([0]).csr(), 1.0).sum() == 1

    def test_zeros_that_are_stored_stay_stored(self, ratings):
        assert center_ratings(ratings.csr(), 5.0).nnz == len(ratings)


class TestProgress:
    def test_nothing_is_written_unless_asked_for(self, capfd):
        with progress(False, 3, "epochs") as step:
            step(1.0)
        assert capfd.readouterr() == ("", "")

    def test_a_line_every_tenth_of_the_way(self, capfd):
        with progress(True, 40, "epochs") as step:
            for loss in np.linspace(1, 0.5, 40):
                step(loss)
        out, err = capfd.readouterr()
        lines = err.splitlines()
        assert out == ""
        assert len(lines) == 10
        assert "40/40 " in lines[-1]
        assert "epochs/s" in lines[-1]
        assert " left" in lines[0]
        assert "loss 0.5" in lines[-1]

    def test_steps_without_a_loss(self, capfd):
        with progress(True, 1, "users") as step:
            step()
        line = capfd.readouterr().err
        assert "1/1 " in line
        assert "users/s" in line

    def test_an_error_goes_through(self):
        def work():
            with progress(True, 2, "epochs") as step:
                step()
                raise KeyError("lost")

        with pytest.raises(KeyError):
            work()


def test_importing_is_light():
    """Neither Numba nor what draws is loaded before it is needed."""
    code = (
        "import sys; import edgewise.recommend; from edgewise.recommend import Recommender;"
        "heavy = {'numba', 'polars', 'matplotlib', 'torch'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
