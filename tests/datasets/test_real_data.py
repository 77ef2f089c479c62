"""Every real set: shapes and classes; and of the sets with many classes or labels, values that
their publishers or papers state."""

import numpy as np
import pytest
from scipy import sparse
from tests.datasets.conftest import one

from edgewise import datasets

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize("real", datasets.names("classification"), indirect=True)
def test_shapes_and_classes(real):
    facts = datasets.info(real.name)
    assert len(real.feature_names) == facts.n_features
    assert len(set(real.feature_names)) == facts.n_features
    assert len(real.target_names) == facts.n_classes
    sides = [(real.X_train, real.y_train, facts.n_train)]
    if facts.n_test:
        sides.append((real.X_test, real.y_test, facts.n_test))
    else:
        assert real.X_test is None
        assert real.y_test is None
    for X, y, n_rows in sides:
        assert X.shape == (n_rows, facts.n_features)
        if facts.multilabel:
            assert y.shape == (n_rows, facts.n_classes)
            assert y.dtype == np.int8
            assert set(np.unique(y)) == {0, 1}
        else:
            assert y.shape == (n_rows,)
            assert len(np.unique(y)) == facts.n_classes
        if facts.n_categorical:
            assert tuple(X.columns) == real.feature_names
            assert X.index.tolist() == list(range(n_rows))
            categorical = X.select_dtypes("category")
            assert categorical.shape[1] == facts.n_categorical
            assert np.isfinite(X.drop(columns=categorical.columns)).all(axis=None)
            assert not any("?" in X[name].cat.categories for name in categorical)
        else:
            assert np.isfinite(X.data if sparse.issparse(X) else X).all()


@one("letter")
def test_letter(real):
    assert real.y_train[:3].tolist() == ["T", "I", "D"]
    assert real.X_train[0].tolist() == [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]
    classes, counts = np.unique(np.r_[real.y_train, real.y_test], return_counts=True)
    assert tuple(classes) == tuple(real.target_names)
    # The class distribution that letter-recognition.names gives, from A to Z.
    published = "789 766 736 805 768 775 773 734 755 747 739 761 792"
    published += " 783 753 803 783 758 748 796 813 764 752 787 786 734"
    assert counts.tolist() == [int(count) for count in published.split()]
    assert real.X_train.min() == 0
    assert real.X_train.max() == 15


@one("pendigits")
def test_pendigits(real):
    # The class distributions that pendigits.names gives.
    train = [780, 779, 780, 719, 780, 720, 720, 778, 719, 719]
    test = [363, 364, 364, 336, 364, 335, 336, 364, 336, 336]
    assert np.bincount(real.y_train).tolist() == train
    assert np.bincount(real.y_test).tolist() == test
    assert real.y_train[0] == 8
    assert real.X_train[0, :4].tolist() == [47, 100, 27, 81]
    assert (real.X_train.min(), real.X_train.max()) == (0, 100)


@one("mnist")
def test_mnist(real):
    assert real.X_train.dtype == np.uint8
    assert real.y_train[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert real.y_test[:5].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(real.y_test).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    # The mean gray level by which MNIST is commonly normalized.
    assert real.X_train.mean() / 255 == pytest.approx(0.1307, abs=1e-4)


@one("usps")
def test_usps(real):
    # The class distributions that zip.info.txt gives.
    train = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    test = [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]
    assert np.bincount(real.y_train).tolist() == train
    assert np.bincount(real.y_test).tolist() == test
    assert (real.X_train.min(), real.X_train.max()) == (-1, 1)
    assert real.y_test[:2].tolist() == [9, 6]


@one("isolet")
def test_isolet(real):
    assert np.unique(real.y_train).tolist() == list(range(1, 27))
    # Two utterances of each letter by 120 and 30 speakers, less three that failed.
    train, test = np.bincount(real.y_train)[1:], np.bincount(real.y_test)[1:]
    assert set(train) == {238, 240}
    assert sorted(set(test)) == [59, 60]
    assert (real.X_train.min(), real.X_train.max()) == (-1, 1)


@one("emotions")
def test_emotions(real):
    # Label cardinality over both sides, as published with the Mulan collection.
    assert cardinality(real) == pytest.approx(1.869, abs=1e-3)
    assert real.target_names[-1] == "angry-aggresive"
    assert real.X_train[0, 0] == 0.034741


@one("scene")
def test_scene(real):
    assert cardinality(real) == pytest.approx(1.074, abs=1e-3)
    assert tuple(real.target_names) == (
        "Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban",
    )  # fmt: skip


@one("yeast")
def test_yeast(real):
    assert cardinality(real) == pytest.approx(4.237, abs=1e-3)
    assert real.X_train[0, 0] == 0.0937


@one("bibtex")
def test_bibtex(real):
    assert cardinality(real) == pytest.approx(2.402, abs=1e-3)
    assert sparse.issparse(real.X_train)
    assert real.X_train.format == "csr"
    assert set(real.X_train.data) == {1.0}
    assert real.X_train[0].indices[:4].tolist() == [0, 5, 6, 20]
    assert real.target_names[0] == "TAG_2005"


def cardinality(real) -> float:
    return float(np.r_[real.y_train, real.y_test].sum(axis=1).mean())
