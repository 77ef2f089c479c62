"""``edgewise info`` on files of recommenders; other models are in ``test_cli.py``."""

import pandas as pd
import pytest

from edgewise import Ratings
from edgewise.recommend import BiasBaseline, ItemKNN, MatrixFactorization, Popularity

RATINGS = {"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4, "Alien": 1}, "cy": {"Heat": 4}}


def told(model, path, success, capsys):
    """Return what is told of a model, by name."""
    model.save(path)
    lines = success(["info", path], capsys).splitlines()
    return {line[:16].strip(): line[17:] for line in lines}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "films.edgewise"


def test_tells_what_a_recommender_knows(path, success, capsys):
    model = ItemKNN(k=2).fit(Ratings.from_dict(RATINGS))
    facts = told(model, path, success, capsys)
    assert facts["estimator"] == "ItemKNN, which predicts ratings"
    assert facts["ratings"] == "5 from 1 to 5, 3.4 on average"
    assert facts["users"] == "3, strings"
    assert facts["items"] == "3, strings"
    assert "k=2, " in facts["parameters"]
    assert facts["user_biases_"] == "3"


def test_tells_the_shapes_of_factors(path, success, capsys):
    model = MatrixFactorization(n_factors=2, n_epochs=1, random_state=0)
    facts = told(model.fit(Ratings.from_dict(RATINGS)), path, success, capsys)
    assert (facts["user_factors_"], facts["item_factors_"]) == ("3 x 2", "3 x 2")


def test_tells_what_only_scores(path, success, capsys):
    ratings = Ratings.from_arrays([7, 8], [1, 1])
    facts = told(Popularity().fit(ratings), path, success, capsys)
    assert facts["estimator"] == "Popularity, which predicts scores"
    assert facts["ratings"] == "2, 1 on average"
    assert facts["users"] == "2, integers"


def test_tells_of_features_and_of_what_is_unknown(path, success, capsys):
    films = pd.DataFrame(
        {"item": ["Heat", "Fargo", "Alien", "Up"], "year": [1995, 1996, 1979, 2009]}
    )
    table = [(user, item, value) for user, row in RATINGS.items() for item, value in row.items()]
    frame = pd.DataFrame(table, columns=["user", "item", "rating"])
    model = BiasBaseline().fit(Ratings.from_frame(frame, item_features=films))
    facts = told(model, path, success, capsys)
    assert facts["items"] == "4, strings, 1 of them unknown"
    assert facts["item features"] == "1: year"
