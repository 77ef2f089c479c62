"""The examples: their parts on generated ratings, and the whole where the real data are."""

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pytest

from edgewise import BoostedFactorization, ItemKNN, RankBoostRecommender, Ratings, datasets

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"


@pytest.fixture(scope="module")
def night():
    spec = importlib.util.spec_from_file_location("movie_night", FOLDER / "movie_night.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ratings():
    """Return what two groups of users say of items that please one group or the other."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 30)) < 0.6)
    liked = users % 2 == items % 2
    values = np.clip(np.where(liked, 4, 2) + rng.integers(-1, 2, len(users)), 1, 5)
    ages = (range(1, 41), rng.integers(20, 60, (40, 1)))
    return Ratings.from_arrays(users + 1, items + 1, values, user_features=ages)


@pytest.fixture(scope="module")
def titles():
    return {item: f"Movie {item}" for item in range(1, 31)}


@pytest.fixture(scope="module")
def model(ratings):
    return BoostedFactorization(60, regularization=5.0, random_state=0).fit(ratings)


def test_all_models_are_in_one_table(night, ratings):
    found = night.compared(ratings.split(0.2, random_state=0), n_rounds=40)
    lines = str(found).split("\n")
    assert len(found.systems) == 5
    assert sum(line.startswith(found.systems) for line in lines) == 5
    assert found.value("boosted factorization", "rmse") < found.value("mean and biases", "rmse")


def test_reasons_add_up_to_the_prediction(night, model, titles):
    lines = list(night.reasons(model, 1, 3, titles))
    parts = [float(line.split()[0]) for line in lines if line.startswith("  ") and line[2] in "+-"]
    assert len(parts) == 6
    assert sum(parts) == pytest.approx(model.predict(1, 3), abs=0.031)
    assert lines[-1] == f"  {model.predict(1, 3):5.2f}  in total"


def test_neighbors_are_movies_that_the_user_rated(night, ratings, titles):
    knn = ItemKNN(5).fit(ratings)
    mine = ratings.item_ids.values[ratings.items[ratings.users == 0]]
    (item, *_) = knn.recommend(1).ids.tolist()
    lines = list(night.neighbors(knn, 1, item, titles))
    assert lines
    assert all(int(line.split(" (")[0].rsplit(" ", 1)[1]) in mine for line in lines)


def test_votes_add_up_to_the_score(night, ratings):
    ranker = RankBoostRecommender(n_rounds=30, random_state=0).fit(ratings)
    item = int(ranker.recommend(1).ids[0])
    *parts, whole = [float(line.split()[0]) for line in night.votes(ranker, 1, item, n=3)]
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(whole, abs=0.026)


def test_a_user_that_is_not_there_is_told_before_any_work(night, monkeypatch, ratings, titles):
    class Movies:
        item_titles = titles

    Movies.ratings = ratings
    monkeypatch.setattr(night.datasets, "load", lambda name: Movies)
    with pytest.raises(SystemExit, match="--user must be one of the users"):
        night.main(["--user", "5000"])


@pytest.mark.parametrize("way", ["mean", "borda"])
def test_two_people_get_one_list_of_what_neither_has_rated(night, model, ratings, way):
    both = model.fold_in({1000: {1: 5.0, 3: 5.0, 2: 1.0}})
    ranked = night.together(both, (1, 1000), 5, way)
    rated = ratings.item_ids.values[ratings.items[ratings.users == 0]]
    assert not set(ranked.ids.tolist()) & {1, 2, 3, *rated.tolist()}
    assert (np.diff(ranked.scores) <= 0).all()
    # User 1 and the newcomer like the same half of the movies.
    assert ranked.ids[0] % 2 == 1
    if way == "mean":
        item = int(ranked.ids[0])
        assert ranked.scores[0] == np.mean([both.predict(1, item), both.predict(1000, item)])


def test_titles_in_words(night):
    assert night.plain_title("Godfather, The (1972)") == "The Godfather"
    assert night.plain_title("Toy Story (1995)") == "Toy Story"
    assert night.plain_title("Postino, Il (1994)") == "Il Postino"
    assert night.plain_title("Full Metal Jacket") == "Full Metal Jacket"
    assert night.by_title({"Heat": 4}, {7: "Heat"}) == {7: 4.0}


@pytest.mark.parametrize(
    "name", ["classifying/missing_values", "everyday/own_callback", "ranking/validation"]
)
def test_quick_examples_of_the_gallery_run(name, capsys, monkeypatch):
    """`make docs` runs them all."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(FOLDER / f"{name}.py"))
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.real_data
def test_the_whole_evening(night, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    if not datasets.available("ml-100k"):
        pytest.skip("no copy of ml-100k: set EDGEWISE_DATA to a folder that has it")
    picture = tmp_path / "map.png"
    night.main(["--rounds", "60", "--picture", str(picture)])
    said = capsys.readouterr().out
    assert "research use only" in said.split("\n")[0]
    assert "Casablanca" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
