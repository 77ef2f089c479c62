"""The real UCI sets: counts and values that their documentation states."""

import numpy as np
import pytest
from tests.datasets.conftest import one

pytestmark = pytest.mark.real_data


def class_counts(y: np.ndarray) -> dict[object, int]:
    classes, counts = np.unique(y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


@one("adult")
def test_adult(real):
    both = np.r_[real.y_train, real.y_test]
    # adult.names: 23.93 % earn over 50K, and these many rows have no missing value.
    assert np.mean(both == ">50K") == pytest.approx(0.2393, abs=5e-5)
    assert len(real.X_train.dropna()) == 30_162
    assert len(real.X_test.dropna()) == 15_060
    assert real.X_train.dtypes.equals(real.X_test.dtypes)
    # The first rows of both files.
    assert real.X_train.iloc[0].tolist()[:4] == [39, "State-gov", 77516, "Bachelors"]
    assert real.X_test.iloc[0].tolist()[:4] == [25, "Private", 226802, "11th"]
    # The values that adult.names lists.
    n_values = {"workclass": 8, "education": 16, "occupation": 14, "native-country": 41, "sex": 2}
    for name, n in n_values.items():
        assert len(real.X_train[name].cat.categories) == n
    assert real.X_train["native-country"].isin(["Holand-Netherlands"]).sum() == 1


@one("mushroom")
def test_mushroom(real):
    assert class_counts(real.y_train) == {"e": 4208, "p": 3916}
    missing = real.X_train.isna().sum()
    assert missing["stalk-root"] == missing.sum() == 2480
    # Rules that agaricus-lepiota.names gives: 120 poisonous ones have one of three odors, and of
    # these all but 48 have a green spore print.
    odor, spores = real.X_train["odor"], real.X_train["spore-print-color"]
    missed = odor.isin(["a", "l", "n"]) & (real.y_train == "p")
    assert missed.sum() == 120
    assert (missed & (spores != "r")).sum() == 48
    assert not ((~odor.isin(["a", "l", "n"]) | (spores == "r")) & (real.y_train == "e")).any()


@one("car")
def test_car(real):
    assert class_counts(real.y_train) == {"acc": 384, "good": 69, "unacc": 1210, "vgood": 65}
    # Every combination of the values, once.
    assert len(real.X_train.drop_duplicates()) == 4 * 4 * 4 * 3 * 3 * 3
    assert set(real.X_train["doors"]) == {"2", "3", "4", "5more"}
    # No car for two persons, and none of low safety, is acceptable.
    bad = (real.X_train["persons"] == "2") | (real.X_train["safety"] == "low")
    assert set(real.y_train[bad]) == {"unacc"}


@one("connect4")
def test_connect4(real):
    # Wins (44,473) and draws (6,449) of the original are one class here.
    assert class_counts(real.y_train) == {"loss": 16_635, "notloss": 44_473 + 6_449}
    squares = real.X_train.to_numpy()
    assert ((squares == "x").sum(axis=1) == 4).all()
    assert ((squares == "o").sum(axis=1) == 4).all()
    # Men fall: below a man there is never an empty square.
    empty = (squares == "b").reshape(-1, 7, 6)
    assert (empty[:, :, :-1] <= empty[:, :, 1:]).all()


@one("german")
def test_german(real):
    assert class_counts(real.y_train) == {1: 700, 2: 300}
    assert not real.X_train.isna().any(axis=None)
    first = real.X_train.iloc[0]
    assert first[["duration", "credit-amount", "age"]].tolist() == [6, 1169, 67]
    # The codes carry their column's number in the documentation: A11 to A14, ..., A201, A202.
    for name in real.X_train.select_dtypes("category"):
        number = real.feature_names.index(name) + 1
        assert all(code.startswith(f"A{number}") for code in real.X_train[name].cat.categories)


@one("votes84")
def test_votes84(real):
    assert class_counts(real.y_train) == {"democrat": 267, "republican": 168}
    # The missing values by column that house-votes-84.names gives.
    published = [12, 48, 11, 11, 15, 11, 14, 15, 22, 7, 21, 31, 25, 17, 28, 104]
    assert real.X_train.isna().sum().tolist() == published


@one("ionosphere")
def test_ionosphere(real):
    assert class_counts(real.y_train) == {"b": 126, "g": 225}
    assert real.X_train.dtype == np.float64
    assert (real.X_train.min(), real.X_train.max()) == (-1, 1)
    # The second column is known to be constant.
    assert not real.X_train[:, 1].any()
    assert real.X_train[0, 2] == 0.99539


@one("kr-vs-kp")
def test_kr_vs_kp(real):
    assert class_counts(real.y_train) == {"nowin": 1527, "won": 1669}
    n_values = real.X_train.nunique()
    assert n_values["katri"] == 3
    assert (n_values.drop("katri") == 2).all()
    assert set(real.X_train["dwipd"]) == {"g", "l"}
    assert (real.X_train["bkblk"] == "t").sum() == 357


@one("sonar")
def test_sonar(real):
    assert class_counts(real.y_train) == {"M": 111, "R": 97}
    assert (real.X_train.min(), real.X_train.max()) == (0, 1)
    assert real.X_train[0, :3].tolist() == [0.02, 0.0371, 0.0428]


@one("spambase")
def test_spambase(real):
    assert class_counts(real.y_train) == {0: 2788, 1: 1813}
    # Means and maxima that spambase.DOCUMENTATION gives.
    column = real.feature_names.index
    assert real.X_train[:, 0].mean() == pytest.approx(0.10455, abs=5e-6)
    assert real.X_train[:, column("word_freq_george")].max() == 33.33
    assert real.X_train[:, column("char_freq_!")].mean() == pytest.approx(0.26907, abs=5e-6)
    assert real.X_train[:, column("capital_run_length_longest")].max() == 9989
    assert real.X_train[:, -1].max() == 15841


@one("tictactoe")
def test_tictactoe(real):
    assert class_counts(real.y_train) == {"negative": 332, "positive": 626}
    boards = real.X_train.to_numpy().reshape(-1, 3, 3)
    assert len(real.X_train.drop_duplicates()) == 958
    x = boards == "x"
    diagonals = x[:, [0, 1, 2], [0, 1, 2]].all(axis=1) | x[:, [0, 1, 2], [2, 1, 0]].all(axis=1)
    won = x.all(axis=1).any(axis=1) | x.all(axis=2).any(axis=1) | diagonals
    assert (won == (real.y_train == "positive")).all()


@one("waveform")
def test_waveform(real):
    # The class distribution that waveform.names gives.
    assert class_counts(real.y_train) == {0: 1657, 1: 1647, 2: 1696}
    # The mixtures of waves have no height in the first and last point: they are noise alone.
    noise = real.X_train[:, [0, -1]]
    assert noise.mean() == pytest.approx(0, abs=0.05)
    assert noise.std() == pytest.approx(1, abs=0.05)


@one("crx")
def test_crx_of_keel(real):
    assert class_counts(real.y_train) == {"negative": 357, "positive": 296}
    assert real.X_train.iloc[0].tolist()[:3] == ["b", 3083.0, 0.0]
    assert list(real.X_train.columns[:2]) == ["x1", "x2"]


@one("twonorm")
def test_twonorm_of_keel(real):
    # The means are 2 / sqrt(20) apart from 0 on every axis, with opposite signs.
    sides = [real.X_train[real.y_train == code].mean() for code in (0, 1)]
    assert np.abs(sides) == pytest.approx([2 / 20**0.5] * 2, abs=0.02)
    assert np.sign(sides[0]) == -np.sign(sides[1])
