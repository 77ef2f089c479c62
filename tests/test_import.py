"""What an import costs, and what it offers."""

import functools
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import textwrap

import pytest

import edgewise

HEAVY = ["numpy", "scipy", "sklearn", "numba", "pandas", "polars", "matplotlib", "narwhals"]
DESCRIPTORS = (property, functools.cached_property, classmethod, staticmethod)


def loaded_by(program):
    """Return which of the heavy packages are loaded after a program of its own process."""
    program = textwrap.dedent(program) + textwrap.dedent(
        f"""
        import json, sys
        print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
        """
    )
    environment = {k: v for k, v in os.environ.items() if k != "EDGEWISE_BACKEND"}
    with tempfile.TemporaryDirectory() as empty:
        environment["NUMBA_CACHE_DIR"] = empty  # as in a fresh installation
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return set(json.loads(run.stdout.splitlines()[-1]))


@functools.cache
def loaded_by_scikit_learn():
    """Return what scikit-learn itself loads: newer versions take pandas where they find it."""
    return loaded_by("import sklearn.base, sklearn.datasets, sklearn.utils.validation")


def test_importing_edgewise_loads_nothing_heavy():
    assert loaded_by("import edgewise; edgewise.__version__; dir(edgewise)") == set()


def test_help_loads_nothing_heavy():
    program = """
        from edgewise.cli import main
        from edgewise.cli.app import COMMANDS
        assert not any(main([command, "--help"]) for command in COMMANDS)
        """
    assert loaded_by(program) == set()


def test_a_small_fit_compiles_nothing():
    loaded = loaded_by(
        """
        from sklearn.datasets import load_iris
        from edgewise import AdaBoostMH
        X, y = load_iris(return_X_y=True)
        model = AdaBoostMH().fit(X, y)
        assert model.score(X, y) > 0.95
        model.predict_proba(X)
        """
    )
    assert "numpy" in loaded
    assert loaded <= {"numpy", "scipy", "sklearn"} | loaded_by_scikit_learn()


def test_a_saved_model_predicts_without_compiling(tmp_path):
    path = tmp_path / "model"
    edgewise.AdaBoostMH(n_rounds=3).fit([[0.0], [1.0]], [0, 1]).save(path)
    loaded = loaded_by(f"import edgewise; edgewise.load({str(path)!r}).predict([[0.3]])")
    assert loaded <= {"numpy", "scipy", "sklearn"} | loaded_by_scikit_learn()


def test_a_saved_classifier_predicts_without_what_trains_it(tmp_path):
    path = tmp_path / "model"
    edgewise.AdaBoostMH(n_rounds=3).fit([[0.0], [1.0]], [0, 1]).save(path)
    program = f"""
        import sys
        import edgewise
        model = edgewise.load({str(path)!r})
        model.predict_proba([[0.3]])
        model.explain([[0.3]])
        training = ("objective", "theory", "fusion", "io", "recommend", "backend.reference",
                    "backend.numba", "backend.choose", "boosting.loop", "boosting.monitor",
                    "estimators.train", "estimators.classification", "estimators.rank_boost")
        assert not [name for name in training if f"edgewise.{{name}}" in sys.modules]
        """
    assert "numba" not in loaded_by(program)


def test_every_public_name_is_there_and_explained():
    assert len(set(edgewise.__all__)) == len(edgewise.__all__)
    for name in edgewise.__all__:
        value = getattr(edgewise, name)
        assert isinstance(value, str) if name == "__version__" else value.__doc__.strip()


def test_dir_lists_the_public_names():
    assert dir(edgewise) == sorted(edgewise.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="Forest"):
        _ = edgewise.Forest
    assert not hasattr(edgewise, "forest")


def test_star_import():
    names = {}
    exec("from edgewise import *", names)
    assert names["AdaBoostMH"] is edgewise.AdaBoostMH
    assert set(edgewise.__all__) <= names.keys()


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert edgewise.__version__ == version("edgewise")


@pytest.mark.parametrize("name", ["Callback", "AdaBoostMH", "Stump", "Lazy", "Search"])
def test_names_are_the_same_object_however_reached(name):
    import edgewise.boosting
    import edgewise.estimators
    import edgewise.learners
    import edgewise.search

    homes = (edgewise.boosting, edgewise.estimators, edgewise.learners, edgewise.search)
    found = [getattr(home, name) for home in homes if hasattr(home, name)]
    assert found
    assert all(value is getattr(edgewise, name) for value in found)


def test_every_public_method_is_described_by_its_class_or_a_base():
    undescribed = []
    for found in pkgutil.walk_packages(edgewise.__path__, "edgewise."):
        if found.name.endswith("__main__"):
            continue
        for kind in vars(importlib.import_module(found.name)).values():
            if not inspect.isclass(kind) or kind.__module__ != found.name:
                continue
            for name, member in vars(kind).items():
                method = inspect.isfunction(member) and member.__name__ == name
                described = isinstance(member, DESCRIPTORS) or method
                public = not name.startswith("_") and not kind.__name__.startswith("_")
                if public and described and not inspect.getdoc(getattr(kind, name)):
                    undescribed.append(f"{found.name}.{kind.__name__}.{name}")
    assert undescribed == []
