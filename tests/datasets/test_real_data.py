"""Every real set where it is found: its shapes, and values that its documentation or papers state.

Loading verifies checksums and counts; these tests show that readers give values their meaning.
"""

import numpy as np
import pytest
from scipy import sparse
from tests.datasets.conftest import one

from edgewise import datasets
from edgewise.io import RankingData

pytestmark = pytest.mark.real_data


def class_counts(y):
    classes, counts = np.unique(y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("real", datasets.names("classification"), indirect=True)
def test_shapes_and_classes(real):
    facts = datasets.info(real.name)
    assert len(real.feature_names) == len(set(real.feature_names)) == facts.n_features
    assert len(real.target_names) == facts.n_classes
    assert (real.X_test is None) == (real.y_test is None) == (not facts.n_test)
    sides = [(real.X_train, real.y_train, facts.n_train), (real.X_test, real.y_test, facts.n_test)]
    for X, y, n_rows in sides[: 1 + bool(facts.n_test)]:
        assert X.shape == (n_rows, facts.n_features)
        if facts.multilabel:
            assert y.shape == (n_rows, facts.n_classes)
            assert set(np.unique(y)) == {0, 1}
        else:
            assert y.shape == (n_rows,)
            assert len(np.unique(y)) == facts.n_classes
        if facts.n_categorical:
            assert tuple(X.columns) == real.feature_names
            categorical = X.select_dtypes("category")
            assert categorical.shape[1] == facts.n_categorical
            assert np.isfinite(X.drop(columns=categorical.columns)).all(axis=None)
            assert not any("?" in X[name].cat.categories for name in categorical)
        else:
            assert np.isfinite(X.data if sparse.issparse(X) else X).all()


# The class distributions of training and test rows that the documentation of each set gives.
CLASSES = {
    "pendigits": (
        [780, 779, 780, 719, 780, 720, 720, 778, 719, 719],
        [363, 364, 364, 336, 364, 335, 336, 364, 336, 336],
    ),
    "mnist": (None, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
    "usps": (
        [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644],
        [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
    ),
    "mushroom": ({"e": 4208, "p": 3916}, None),
    "car": ({"acc": 384, "good": 69, "unacc": 1210, "vgood": 65}, None),
    "connect4": ({"loss": 16_635, "notloss": 44_473 + 6_449}, None),  # wins and draws are one class
    "german": ({1: 700, 2: 300}, None),
    "votes84": ({"democrat": 267, "republican": 168}, None),
    "ionosphere": ({"b": 126, "g": 225}, None),
    "kr-vs-kp": ({"nowin": 1527, "won": 1669}, None),
    "sonar": ({"M": 111, "R": 97}, None),
    "spambase": ({0: 2788, 1: 1813}, None),
    "tictactoe": ({"negative": 332, "positive": 626}, None),
    "waveform": ({0: 1657, 1: 1647, 2: 1696}, None),
    "crx": ({"negative": 357, "positive": 296}, None),
}


@pytest.mark.parametrize(("real", "published"), CLASSES.items(), indirect=["real"])
def test_class_distributions(real, published):
    for y, counts in zip((real.y_train, real.y_test), published, strict=True):
        if counts is not None:
            expected = counts if isinstance(counts, dict) else dict(enumerate(counts))
            assert class_counts(y) == expected


# The number of labels of a row over both sides, as published with the Mulan collection.
@pytest.mark.parametrize(
    ("real", "cardinality"),
    [("emotions", 1.869), ("scene", 1.074), ("yeast", 4.237), ("bibtex", 2.402)],
    indirect=["real"],
)
def test_label_cardinality(real, cardinality):
    mean = np.r_[real.y_train, real.y_test].sum(axis=1).mean()
    assert mean == pytest.approx(cardinality, abs=1e-3)


# The first values of the first training row in the file.
@pytest.mark.parametrize(
    ("real", "values"),
    [
        ("letter", [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]),
        ("pendigits", [47, 100, 27, 81]),
        ("emotions", [0.034741]),
        ("yeast", [0.0937]),
        ("adult", [39, "State-gov", 77516, "Bachelors"]),
        ("german", ["A11", 6]),
        ("ionosphere", [1, 0, 0.99539]),
        ("sonar", [0.02, 0.0371, 0.0428]),
        ("crx", ["b", 3083.0, 0.0]),
    ],
    indirect=["real"],
)
def test_the_first_row(real, values):
    first = real.X_train.iloc[0] if hasattr(real.X_train, "iloc") else real.X_train[0]
    assert first.tolist()[: len(values)] == values


@one("adult")
def test_adult(real):
    # adult.names: 23.93 % earn over 50K, and these many rows have no missing value.
    assert np.mean(np.r_[real.y_train, real.y_test] == ">50K") == pytest.approx(0.2393, abs=5e-5)
    assert (len(real.X_train.dropna()), len(real.X_test.dropna())) == (30_162, 15_060)
    assert real.X_train.dtypes.equals(real.X_test.dtypes)


@one("mushroom")
def test_mushroom(real):
    # Rules that agaricus-lepiota.names gives: 120 poisonous ones have one of three odors, and of
    # these all but 48 have a green spore print.
    odor, spores = real.X_train["odor"], real.X_train["spore-print-color"]
    missed = odor.isin(["a", "l", "n"]) & (real.y_train == "p")
    assert (missed.sum(), (missed & (spores != "r")).sum()) == (120, 48)
    assert not ((~odor.isin(["a", "l", "n"]) | (spores == "r")) & (real.y_train == "e")).any()


@one("connect4")
def test_men_fall(real):
    # Below a man there is never an empty square.
    empty = (real.X_train.to_numpy() == "b").reshape(-1, 7, 6)
    assert (empty[:, :, :-1] <= empty[:, :, 1:]).all()


@one("votes84")
def test_votes84(real):
    # The missing values by column that house-votes-84.names gives.
    published = [12, 48, 11, 11, 15, 11, 14, 15, 22, 7, 21, 31, 25, 17, 28, 104]
    assert real.X_train.isna().sum().tolist() == published


@one("tictactoe")
def test_tictactoe(real):
    x = real.X_train.to_numpy().reshape(-1, 3, 3) == "x"
    diagonals = x[:, [0, 1, 2], [0, 1, 2]].all(axis=1) | x[:, [0, 1, 2], [2, 1, 0]].all(axis=1)
    won = x.all(axis=1).any(axis=1) | x.all(axis=2).any(axis=1) | diagonals
    assert (won == (real.y_train == "positive")).all()


# Ranking


@pytest.mark.parametrize("real", datasets.names("ranking"), indirect=True)
def test_parts_and_folds(real):
    facts = datasets.info(real.name)
    for part, n_rows, n_queries in zip(real.parts, facts.n_rows, facts.n_queries, strict=True):
        assert part.X.shape == (n_rows, facts.n_features)
        assert np.unique(part.y).tolist() == [0, 1, 2]
        # The rows of a query follow each other.
        assert (part.qid[1:] != part.qid[:-1]).sum() == part.n_queries - 1 == n_queries - 1
        assert (part.docs != "").all()
    # Parts of the folds as the readme files of LETOR state them, from 1.
    published = ["123 4 5", "234 5 1", "345 1 2", "451 2 3", "512 3 4"]
    first = 1 if real.name == "ohsumed" else 0
    for k, line in enumerate(published[first:] + published[:first], start=1):
        for side, numbers in zip(real.fold(k), line.split(), strict=True):
            docs = [real.parts[int(number) - 1].docs for number in numbers]
            assert np.array_equal(side.docs, np.concatenate(docs))


@pytest.mark.parametrize(
    ("real", "counts"),
    [
        ("mq2008", [12_279, 2_001, 931]),
        ("mq2008-agg", [12_279, 2_001, 931]),
        ("mq2007-agg", [51_632, 14_128, 3_863]),
        ("ohsumed", [11_303, 2_585, 2_252]),
    ],
    indirect=["real"],
)
def test_grades(real, counts):
    assert np.bincount(RankingData.concatenate(real.parts).y.astype(int)).tolist() == counts


@pytest.mark.parametrize("real", ["mq2008-agg", "mq2007-agg"], indirect=True)
def test_positions_on_lists_start_at_1(real):
    X = RankingData.concatenate(real.parts).X
    assert np.nanmin(X) == 1
    assert (X[~np.isnan(X)] % 1 == 0).all()


# Ratings


@pytest.mark.parametrize("real", datasets.names("ratings"), indirect=True)
def test_users_and_movies(real):
    facts, ratings = datasets.info(real.name), real.ratings
    assert ratings.levels.tolist() == [1, 2, 3, 4, 5]
    # Each user has rated at least 20 movies, both README files say.
    assert np.bincount(ratings.users).min() == 20
    people, movies = ratings.user_features, ratings.item_features
    assert (people.n_rows, movies.n_rows) == (facts.n_users, facts.n_items)
    assert people.names == ["age", "gender", "occupation"]
    assert [len(people.column(j).categories) for j in (1, 2)] == [2, 21]
    years = movies.column(0).values
    assert (np.nanmin(years), np.nanmax(years)) >= (1919, 1998)
    assert list(real.item_titles) == ratings.item_ids.values.tolist()
    assert real.item_titles[1] == "Toy Story (1995)"
    genres = {movies.name(j) for j in range(1, movies.n_columns) if movies.column(j).values[0]}
    assert genres == {"Animation", "Children's", "Comedy"}


@pytest.mark.parametrize(
    ("real", "user", "item", "rating", "time"),
    [("ml-100k", 196, 242, 3, 881250949), ("ml-1m", 1, 1193, 5, 978300760)],
    indirect=["real"],
)
def test_the_first_line_of_the_ratings(real, user, item, rating, time):
    ratings = real.ratings
    (u,), (i,) = ratings.user_ids.find("user", [user]), ratings.item_ids.find("item", [item])
    (row,) = np.flatnonzero((ratings.users == u) & (ratings.items == i))
    assert (ratings.values[row], ratings.times[row]) == (rating, time)


@one("ml-100k")
def test_ml_100k(real):
    ratings = real.ratings
    # The distribution of ratings that papers give for this set.
    counts = np.bincount(ratings.values.astype(int))[1:]
    assert counts.tolist() == [6_110, 11_370, 27_145, 34_174, 21_201]
    # Number 267, a movie of no name, is the only one without a year.
    years = ratings.item_features.column(0).values
    assert ratings.item_ids.values[np.isnan(years)].tolist() == [267]
    for name in ("ua", "ub"):
        train, test = real.split(name)
        assert (len(train), len(test)) == (90_570, 9_430)
        assert (np.bincount(test.users) == 10).all()


@one("ml-1m")
def test_ml_1m(real):
    people = real.ratings.user_features
    assert np.unique(people.column(0).values).tolist() == [1, 18, 25, 35, 45, 50, 56]
    occupation = people.column(2)
    assert occupation.categories[occupation.codes[0]] == "K-12 student"
    assert real.item_titles[73] == "Misérables, Les (1995)"
