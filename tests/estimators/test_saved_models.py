"""Saving and loading classifiers: everything comes back, exactly."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import edgewise
from edgewise import AdaBoostMH, Callback, Exhaustive, Lazy, Stump

LABELS = {
    "int": np.array([3, -7, 11]),
    "uint8": np.array([0, 1, 255], dtype=np.uint8),
    "float": np.array([0.0, 1.0, 2.0]),
    "string": np.array(["käse", "brot", 'a b\n"c"']),
    "object": np.array(["x", "y", "z"], dtype=object),
}


def assert_same_model(model, loaded, X):
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), loaded.predict_proba(X))
    np.testing.assert_array_equal(model.feature_importances_, loaded.feature_importances_)
    np.testing.assert_array_equal(model.history_.to_array(), loaded.history_.to_array())
    assert model.classes_.dtype.kind == loaded.classes_.dtype.kind
    if model.classes_.dtype.kind != "U":  # whose length is that of the longest string
        assert model.predict(X).dtype == loaded.predict(X).dtype
    for name in ("n_rounds_", "best_iteration_", "stop_reason_", "n_features_in_"):
        assert getattr(model, name) == getattr(loaded, name)
    for ours, theirs in zip(model.explain(), loaded.explain(), strict=True):
        assert ours.name == theirs.name


@pytest.fixture
def round_trip(tmp_path):
    def there_and_back(model):
        model.save(tmp_path / "model.edgewise")
        return edgewise.load(tmp_path / "model.edgewise")

    return there_and_back


@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
@pytest.mark.parametrize(
    ("learner", "factorized"),
    [("stump", True), ("stump", False), ("product", True), ("tree", True)],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(blobs, round_trip, same_terms, votes, learner, factorized, n_classes):
    X, y = blobs(n_classes=n_classes)
    X[::8, 0] = np.nan
    model = AdaBoostMH(learner, n_rounds=12, votes=votes, factorized=factorized).fit(X, y)
    loaded = round_trip(model)
    same_terms(model, loaded)
    assert_same_model(model, loaded, X)
    np.testing.assert_array_equal(model.margins(X, y), loaded.margins(X, y))
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_any_type(blobs, round_trip, kind, n_classes):
    X, y = blobs(n_classes=n_classes)
    labels = LABELS[kind][y]
    model = AdaBoostMH(n_rounds=5).fit(X, labels)
    loaded = round_trip(model)
    assert_same_model(model, loaded, X)
    assert loaded.classes_.tolist() == model.classes_.tolist()


def test_boolean_labels(blobs, round_trip):
    X, y = blobs(n_classes=2)
    model = AdaBoostMH(n_rounds=5).fit(X, y == 1)
    loaded = round_trip(model)
    assert loaded.classes_.tolist() == [False, True]
    assert_same_model(model, loaded, X)


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("named", [True, False])
def test_multi_label(blobs, round_trip, n_labels, named):
    X, _ = blobs()
    Y = (X[:, :n_labels] > 0).astype(int)
    targets = pd.DataFrame(Y, columns=[f"label {k}" for k in range(n_labels)]) if named else Y
    model = AdaBoostMH(n_rounds=8).fit(X, targets)
    loaded = round_trip(model)
    assert_same_model(model, loaded, X)
    np.testing.assert_array_equal(model.margins(X, Y), loaded.margins(X, Y))


def test_column_names(blobs, round_trip):
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["a", "b c", "ü", ""])
    loaded = round_trip(AdaBoostMH(n_rounds=5).fit(frame, y))
    assert list(loaded.feature_names_in_) == ["a", "b c", "ü", ""]
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b c", "a", "ü", ""]])


def test_settings_come_back(blobs, round_trip):
    X, y = blobs()
    settings = {
        "n_rounds": np.int64(6), "votes": "real", "init_weights": "uniform",
        "class_weight": "balanced", "validation_fraction": np.float64(0.25),
        "early_stopping_rounds": 3,
        "eval_metric": "log_loss", "time_limit": 99.5, "max_bins": 17, "handle_infinite": "missing",
        "n_jobs": 1, "random_state": np.int32(4), "verbose": 0, "warm_start": True,
        "factorized": True,
    }  # fmt: skip
    model = AdaBoostMH(Stump(constant=False), preset="paper", search=Lazy(3), **settings).fit(X, y)
    loaded = round_trip(model)
    assert isinstance(loaded.learner, Stump)
    assert isinstance(loaded.search, Lazy)
    parameters = loaded.get_params()
    assert (parameters["learner__constant"], parameters["search__k"]) == (False, 3)
    assert {name: parameters[name] for name in settings} == settings
    assert isinstance(round_trip(AdaBoostMH(search=Exhaustive()).fit(X, y)).search, Exhaustive)


@pytest.mark.parametrize(
    "settings",
    [{"search": Lazy(np.int64(2))}, {"learner": Stump(constant=np.bool_(False))}],
    ids=["search", "learner"],
)
def test_settings_that_numpy_made(blobs, round_trip, settings):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=3, random_state=0, **settings).fit(X, y)
    loaded = round_trip(model)
    assert_same_model(model, loaded, X)
    for name, value in settings.items():
        assert getattr(loaded, name).get_params() == value.get_params()


class MyStump(Stump):
    """A learner that no file can name."""


class Watches(Callback):
    """A callback of the user's."""


def test_settings_that_no_file_can_hold_are_left_at_their_defaults(blobs, round_trip):
    X, y = blobs()
    model = AdaBoostMH(
        MyStump(), n_rounds=4, random_state=np.random.RandomState(3), callbacks=[Watches()],
        class_weight={0: 2.0}, eval_metric=lambda y, scores: 0.0,
        init_weights=np.ones((len(y), 3)),
    ).fit(X, y)  # fmt: skip
    loaded = round_trip(model)
    assert_same_model(model, loaded, X)
    defaults = AdaBoostMH().get_params()
    for name in ("learner", "random_state", "callbacks", "eval_metric"):
        assert getattr(loaded, name) == defaults[name]
    assert loaded.class_weight == {0: 2.0}
    np.testing.assert_array_equal(loaded.init_weights, np.ones((len(y), 3)))
    loaded.fit(X, y)


def test_going_on_without_a_setting_that_no_file_can_hold_is_an_error(blobs, round_trip):
    X, y = blobs()
    loaded = round_trip(AdaBoostMH(MyStump(), preset="paper", n_rounds=4).fit(X, y))
    loaded.set_params(warm_start=True, n_rounds=6)
    with pytest.raises(ValueError, match="learner"):
        loaded.fit(X, y)
    loaded.set_params(learner=MyStump()).fit(X, y)
    assert loaded.n_rounds_ == 6


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": {0: 2.0, 2: 0.5}},
        {"init_weights": np.random.default_rng(0).uniform(0.5, 1.5, (120, 3))},
        {"search": Lazy(1)},
        {"validation_fraction": 0.3},
    ],
    ids=["class_weight", "init_weights", "lazy", "validation"],
)
def test_a_loaded_model_goes_on_as_if_it_had_never_stopped(blobs, round_trip, same_terms, settings):
    X, y = blobs()
    full = AdaBoostMH(n_rounds=9, random_state=3, **settings).fit(X, y)
    resumed = AdaBoostMH(n_rounds=4, random_state=3, **settings).fit(X, y)
    # The seed is that of the first fit, whatever random_state says now.
    resumed = (
        round_trip(resumed).set_params(warm_start=True, n_rounds=9, random_state=None).fit(X, y)
    )
    same_terms(full, resumed)


def test_multi_label_class_weights_come_back(round_trip):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 3))
    weights = [{0: 1.0, 1: 3.0}, {1: 2.0}, {}]
    assert (
        round_trip(AdaBoostMH(n_rounds=2, class_weight=weights).fit(X, Y)).class_weight == weights
    )


def test_a_save_through_a_link_writes_the_file_behind_it(blobs, tmp_path):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=2).fit(X, y)
    link, file = tmp_path / "link", tmp_path / "file"
    model.save(file)
    link.symlink_to(file)
    model.set_params(warm_start=True, n_rounds=3).fit(X, y).save(link)
    assert link.is_symlink()
    assert edgewise.load(file).n_rounds_ == 3
    with pytest.raises(ValueError, match="path"):
        model.save(tmp_path)


def test_what_cannot_be_saved_is_not_trained():
    X = np.arange(6.0)[:, None]
    for y in ("datetime64[D]", "longdouble"):
        with pytest.raises(TypeError, match="y must hold numbers or strings"):
            AdaBoostMH(n_rounds=2).fit(X, np.arange(6).astype(y))
    with pytest.raises(ValueError, match="at most 20,000,000"):
        AdaBoostMH("stump", preset="paper", n_rounds=2).fit(
            sparse.csr_array((6, 20_000_001)), np.arange(6) % 2
        )


def test_class_names_of_any_length(round_trip):
    X = np.arange(6.0)[:, None]
    for y in (np.array(["x" * 30_000, "y"] * 3), np.array(["a", "b"] * 3, dtype="T")):
        model = AdaBoostMH("stump", preset="paper", n_rounds=2).fit(X, y)
        assert round_trip(model).predict(X).tolist() == model.predict(X).tolist()


def test_a_model_after_early_stopping(blobs, round_trip):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=200, early_stopping_rounds=4).fit(X, y, eval_set=blobs(seed=7))
    assert model.history_.n_rounds > model.n_rounds_
    assert_same_model(model, round_trip(model), X)


def test_a_model_without_rounds(round_trip):
    X, y = np.zeros((6, 1)), np.arange(6) % 2
    model = AdaBoostMH(n_rounds=3).fit(X, y)
    assert model.n_rounds_ == 0
    assert_same_model(model, round_trip(model), X)


def test_the_same_model_gives_the_same_bytes(blobs, tmp_path):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=5, search=Lazy(2), random_state=0).fit(X, y)
    model.save(tmp_path / "one")
    model.save(tmp_path / "two")
    pickle.loads(pickle.dumps(model)).save(tmp_path / "three")
    AdaBoostMH(n_rounds=5, search=Lazy(2), random_state=0).fit(X, y).save(tmp_path / "four")
    edgewise.load(tmp_path / "one").save(tmp_path / "five")
    files = {path.read_bytes() for path in tmp_path.iterdir()}
    assert len(list(tmp_path.iterdir())) == 5
    assert len(files) == 1


def test_a_loaded_model_goes_on(blobs, round_trip, same_terms):
    X, y = blobs()
    loaded = round_trip(AdaBoostMH(n_rounds=6, votes="real").fit(X, y))
    loaded.set_params(warm_start=True, n_rounds=15).fit(X, y)
    same_terms(loaded, AdaBoostMH(n_rounds=15, votes="real").fit(X, y))


def test_paths_as_strings_and_missing_files(blobs, tmp_path):
    model = AdaBoostMH(n_rounds=2).fit(*blobs())
    model.save(str(tmp_path / "m"))
    assert edgewise.load(str(tmp_path / "m")).n_rounds_ == 2
    with pytest.raises(FileNotFoundError):
        edgewise.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no folder" / "m")
