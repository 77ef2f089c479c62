import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from edgewise import BoostedFactorization, ItemKNN, MatrixFactorization, Ratings, SVDRecommender
from edgewise.plots import ItemMapDisplay
from edgewise.recommend.evaluation.diagnostics import map_items

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def ratings():
    """Return ratings by two groups of users, each of which likes one half of the items."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((50, 20)) < 0.7)
    values = np.where((users % 2 == 0) == (items < 10), 5, 1)
    names = np.array([f"{'even' if item < 10 else 'odd'} {item}" for item in range(20)])
    return Ratings.from_arrays(users, names[items], values)


def placed(model, n=100):
    """Return a map that is not drawn."""
    chosen, positions, shares = map_items(model, n)
    return ItemMapDisplay(model.ratings_.item_ids.values[chosen], positions, shares)


def written(figure):
    return {text.get_text() for text in figure.axes[0].texts}


def boxes(figure):
    figure.draw_without_rendering()
    axes = figure.axes[0]
    return [text.get_window_extent() for text in axes.texts], axes.get_window_extent()


class TestDirections:
    def test_equals_the_decomposition_of_the_centered_vectors(self, ratings):
        model = MatrixFactorization(5, random_state=0).fit(ratings)
        result = placed(model)
        vectors = model.item_factors_[ratings.item_ids.find("items", result.ids)]
        centered = vectors - vectors.mean(axis=0)
        left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
        np.testing.assert_allclose(np.abs(result.positions), np.abs(left * sizes)[:, :2], atol=1e-9)
        np.testing.assert_allclose(result.shares, (sizes**2 / (sizes**2).sum())[:2])
        farthest = np.abs(result.positions).argmax(axis=0)
        assert (result.positions[farthest, [0, 1]] > 0).all()

    @pytest.mark.parametrize(
        "model",
        [
            BoostedFactorization(60, regularization=5.0, random_state=0),
            ItemKNN(),
            MatrixFactorization(random_state=0),
            SVDRecommender(3),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_tells_tastes_apart_for_any_model(self, ratings, model):
        result = placed(model.fit(ratings))
        even = np.array([item.startswith("even") for item in result.ids])
        first = result.positions[:, 0]
        assert first[even].max() < first[~even].min() or first[~even].max() < first[even].min()

    def test_takes_the_most_rated(self, ratings):
        result = placed(ItemKNN().fit(ratings), n=4)
        sizes = ratings.by_item.sizes
        best = np.argsort(-sizes, kind="stable")[:4]
        assert result.ids.tolist() == ratings.item_ids.values[best].tolist()

    def test_needs_items_that_differ(self):
        two = Ratings.from_matrix([[5, 4], [4, 2]])
        with pytest.raises(ValueError, match="3 items"):
            ItemMapDisplay.from_estimator(ItemKNN().fit(two))
        same = Ratings.from_matrix([[5, 5, 5], [4, 4, 4]])
        with pytest.raises(ValueError, match="different vectors"):
            ItemMapDisplay.from_estimator(ItemKNN().fit(same))
        with pytest.raises(ValueError, match="n must be"):
            ItemMapDisplay.from_estimator(ItemKNN().fit(same), n=2)

    def test_names_are_a_mapping(self, ratings):
        with pytest.raises(TypeError, match="names must map ids to names, got list"):
            ItemMapDisplay.from_estimator(ItemKNN().fit(ratings), names=["Alien"])

    def test_needs_a_fitted_recommender(self, ratings):
        with pytest.raises(TypeError, match="estimator must be a recommender, got Ratings"):
            ItemMapDisplay.from_estimator(ratings)
        with pytest.raises(NotFittedError):
            ItemMapDisplay.from_estimator(ItemKNN())


class TestItemMap:
    def test_names_cover_neither_each_other_nor_the_frame(self, ratings):
        figure = ItemMapDisplay.from_estimator(ItemKNN().fit(ratings)).figure_
        texts, frame = boxes(figure)
        assert len(texts) > 5
        for place, box in enumerate(texts):
            assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
            assert not any(box.overlaps(other) for other in texts[place + 1 :])

    def test_every_item_is_a_dot_with_or_without_a_name(self, ratings):
        axes = ItemMapDisplay.from_estimator(ItemKNN().fit(ratings), n=12).ax_
        named, others = (len(dots.get_offsets()) for dots in axes.collections)
        assert (named, named + others) == (len(axes.texts), 12)

    def test_names_are_given_or_ids_and_no_formulas(self, ratings):
        model = SVDRecommender(3).fit(ratings)
        names = {"even 0": "a name", "even 1": "$x$ and", "odd 19": "x" * 99}
        words = written(ItemMapDisplay.from_estimator(model, names=names).figure_)
        assert "even 0" not in words
        assert words <= {"a name", r"\$x\$ and", "x" * 31 + "…", *ratings.item_ids.values.tolist()}

    def test_the_farthest_out_are_named_first(self, ratings):
        model = MatrixFactorization(random_state=0).fit(ratings)
        result = placed(model)
        spread = ((result.positions / result.positions.std(axis=0)) ** 2).sum(axis=1)
        assert result.ids[spread.argmax()] in written(ItemMapDisplay.from_estimator(model).figure_)
