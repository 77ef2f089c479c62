"""The settings that go with each learner: as documented, as used, and as shown."""

from pathlib import Path

import numpy as np
import pytest

from edgewise import AdaBoostMH, Indicator, Product, Stump, Tree, load
from edgewise.learners import NAMED_LEARNERS, Goal

PAGE = Path(__file__).parents[2] / "docs/guide/defaults.md"

# The kinds of targets that "auto" tells apart, by the numbers of classes or labels.
KINDS = {
    "two classes": [Goal(1)],
    "several classes": [Goal(k) for k in (3, 8, 9, 16, 17, 100)],
    "labels": [Goal(k, multilabel=True) for k in (2, 8, 9, 16, 17, 100)],
}


def auto(goal, n_rows=10_000):
    return NAMED_LEARNERS["auto"](Stump(), goal._replace(n_rows=n_rows))


def spanned(values):
    """Return a value, or the least and the largest of several."""
    distinct = sorted(set(values))
    return (
        shown(distinct[0])
        if len(distinct) == 1
        else f"{shown(distinct[0])} to {shown(distinct[-1])}"
    )


def shown(value):
    if value is None:
        return "none"
    return f'`"{value}"`' if isinstance(value, str) else f"{value:g}"


def documented_table():
    """Return the table of docs/guide/defaults.md, made from the code."""
    presets = {
        kind: [auto(goal, n_rows) for goal in goals for n_rows in (500, 10_000, 100_000)]
        for kind, goals in KINDS.items()
    }
    other = NAMED_LEARNERS["stump"](Stump(), Goal())
    rows = [["setting", *(f'`"auto"`, {kind}' for kind in presets), "any other learner"]]
    rows.append(["---"] * len(rows[0]))
    for name in ("max_leaf_nodes", "criterion", "leaf_votes"):
        trees = [spanned(getattr(p.learner, name) for p in ps) for ps in presets.values()]
        suffix = "" if name == "max_leaf_nodes" else " of the trees"
        rows.append([f"`{name}`{suffix}", *trees, "the learner's own"])
    for name in ("votes", "loss", "learning_rate", "subsample", "damping", "min_samples_leaf"):
        values = [spanned(getattr(p, name) for p in ps) for ps in presets.values()]
        rows.append([f"`{name}`", *values, shown(getattr(other, name))])
    searches = [spanned(p.search for p in ps) for ps in presets.values()]
    rows.append(["`search`", *searches, shown(other.search)])
    assert all(preset.n_rounds is None for ps in presets.values() for preset in ps)
    rows.append(["`n_rounds`", *['`"auto"`'] * len(presets), shown(other.n_rounds)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_table_of_the_documents_is_the_codes():
    table = documented_table().replace("| --- |", "|---|").replace(" --- |", "---|")
    assert table in PAGE.read_text(), f"docs/guide/defaults.md should have\n{table}"
    assert PAGE.read_text().count("any other learner |") == 1


def test_small_tables_may_have_smaller_leaves():
    minimum = [auto(Goal(), n_rows).min_samples_leaf for n_rows in (2, 50, 100, 1_000)]
    assert minimum == sorted(minimum)
    assert minimum[0] == 1
    assert minimum[-1] == auto(Goal()).min_samples_leaf


# What a fit uses


def rows(n_classes=3):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    return X, np.searchsorted([-0.5, 0.5] if n_classes == 3 else [0.0], X[:, 0] + X[:, 1])


def used(X, y, **settings):
    return AdaBoostMH(**settings).fit(X, y).settings_


@pytest.mark.parametrize(
    ("goal", "y"),
    [
        (Goal(1), rows(2)[1]),
        (Goal(3), rows(3)[1]),
        (Goal(2, multilabel=True), np.stack([rows(2)[1], rows(3)[1] == 1], axis=1).astype(int)),
    ],
    ids=list(KINDS),
)
def test_the_default_uses_what_goes_with_auto(goal, y):
    settings, preset = used(rows()[0], y), auto(goal, 90)
    assert settings.learner == repr(preset.learner)
    assert settings.max_leaf_nodes == preset.learner.max_leaf_nodes
    names = ("votes", "loss", "learning_rate", "subsample", "damping", "min_samples_leaf")
    for name in names:
        assert getattr(settings, name) == getattr(preset, name), name
    assert (settings.max_bins, settings.search) == (32, "Auto()")
    decided = ("learner", *names, "max_bins", "search", "n_rounds")
    assert settings.reasons == dict.fromkeys(decided, "auto")
    assert settings.rounds_from == "3 folds"


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "rate"), [(499_999, 2, 0.1), (500_000, 2, 0.2), (500_000, 3, 0.1)]
)
def test_many_rows_of_two_classes_take_larger_steps(n_rows, n_classes, rate):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (n_rows, 1), dtype=np.int8), rng.integers(0, n_classes, n_rows)
    assert AdaBoostMH(n_rounds=1).fit(X, y).settings_.learning_rate == rate


def test_the_default_learns_which_of_many_columns_to_search():
    X, y = np.random.default_rng(0).normal(size=(60, 200)), rows(2)[1][:60]
    usual, auto_search, all_columns = (
        AdaBoostMH(n_rounds=3, **options).fit(X, y)
        for options in ({}, {"search": "auto"}, {"search": "exhaustive"})
    )
    assert np.array_equal(usual.decision_function(X), auto_search.decision_function(X))
    # The first round may be the constant, for which no column is searched.
    assert (usual.history_["saved"][1:] >= 0.75).all()
    assert (all_columns.history_["saved"][1:] < 0.5).all()
    papers = AdaBoostMH("stump", n_rounds=3).fit(X, y)
    assert papers.history_["columns"].tolist() == [200.0] * 3


@pytest.mark.parametrize(
    "learner",
    ["stump", "product", "tree", Stump(), Product(n_terms=2), Tree("stump", 4), [Stump(), "stump"]],
    ids=repr,
)
def test_every_other_learner_is_the_papers(learner):
    settings = used(*rows(), learner=learner)
    assert (settings.votes, settings.loss) == ("discrete", "exponential")
    assert (settings.learning_rate, settings.subsample) == (1.0, 1.0)
    assert (settings.damping, settings.min_samples_leaf) == (None, 1)
    assert settings.rounds_from == "n_rounds"
    assert settings.temperature == 1.0
    assert settings.reasons.pop("learner") == "given"
    assert set(settings.reasons.values()) == {"default"}


GIVEN = {
    "votes": "discrete",
    "loss": "exponential",
    "learning_rate": 0.7,
    "subsample": 0.9,
    "damping": 2.0,
    "min_samples_leaf": 5,
    "n_rounds": 3,
}


@pytest.mark.parametrize(("name", "value"), GIVEN.items())
@pytest.mark.parametrize(
    "learner", ["auto", Tree("stump", 8, "free", "edge")], ids=["auto", "tree"]
)
def test_a_given_setting_changes_no_other(name, value, learner):
    others = {"learner": learner, "n_rounds": 4}
    if name == "damping":
        others["votes"] = "real"
    plain, changed = used(*rows(), **others), used(*rows(), **{**others, name: value})
    assert getattr(changed, name) == value
    assert changed.reasons[name] == "given"
    for other in {"learner", *GIVEN} - {name}:
        # Votes of one size are not damped.
        if (name, other) != ("votes", "damping"):
            assert getattr(changed, other) == getattr(plain, other), other
            assert changed.reasons[other] == plain.reasons[other], other


@pytest.mark.parametrize("learner", ["auto", "tree"])
def test_the_leaves_of_named_trees_can_be_given_alone(learner):
    X, y = rows()
    plain = used(X, y, learner=learner, n_rounds=4)
    changed = used(X, y, learner=learner, n_rounds=4, max_leaf_nodes=5)
    assert (plain.max_leaf_nodes, changed.max_leaf_nodes) == (8, 5)
    assert changed.reasons == {**plain.reasons, "max_leaf_nodes": "given"}
    model = AdaBoostMH(learner, n_rounds=150, max_leaf_nodes=5).fit(X, y)
    # After a hundred smaller ones.
    assert max(len(model.terms_.nodes(t)) for t in range(100, model.n_rounds_)) == 4


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"max_leaf_nodes": 1}, ValueError),
        ({"max_leaf_nodes": 4.0}, TypeError),
        ({"max_leaf_nodes": 4, "learner": "stump"}, ValueError),
        ({"max_leaf_nodes": 4, "learner": Tree("stump", 4)}, ValueError),
        ({"max_leaf_nodes": 4, "factorized": False}, ValueError),
    ],
    ids=str,
)
def test_leaves_that_cannot_be_given(given, error):
    with pytest.raises(error, match="max_leaf_nodes"):
        AdaBoostMH(**given).fit(*rows())


def test_settings_inside_a_name_are_refused():
    with pytest.raises(ValueError, match=r"learner__max_leaf_nodes .* learner is the name 'auto'"):
        AdaBoostMH().set_params(learner__max_leaf_nodes=4)
    tree = AdaBoostMH().set_params(learner=Tree(), learner__max_leaf_nodes=4)
    assert tree.learner.max_leaf_nodes == 4


def test_a_long_learner_is_shown_on_one_line():
    X = [[number, "ab"[number % 2]] for number in range(40)]
    settings = used(X, np.arange(40) % 4 > 1, n_rounds=2)
    assert "Best(" in settings.learner
    assert "  " not in settings.learner
    assert "\n" not in settings.learner


def test_settings_that_follow_from_others_say_so():
    X, y = rows()
    trimmed = used(X, y, trim=0.9, n_rounds=2)
    assert (trimmed.subsample, trimmed.reasons["subsample"]) == (1.0, "auto, with trim")
    stumps = used(X, y, factorized=False, n_rounds=2)
    assert (stumps.learner, stumps.reasons["learner"]) == ("Stump()", "auto")
    assert (stumps.votes, stumps.reasons["votes"]) == ("discrete", "default")


@pytest.mark.parametrize("learner", [Stump(), Indicator()])
def test_a_learner_of_the_wrong_kind_of_column_is_refused(learner):
    import pandas

    frame = pandas.DataFrame({"number": [1.0, 2.0, 3.0], "word": list("aab")})
    with pytest.raises(ValueError, match="cannot use"):
        AdaBoostMH(learner).fit(frame, [0, 1, 1])


# How they are shown


def test_settings_can_be_read():
    X, y = rows()
    model = AdaBoostMH(Stump(), n_rounds=7, votes="real", loss="logistic", learning_rate=0.5)
    assert str(model.fit(X, y).settings_).splitlines() == [
        "learner           Stump()       given",
        "votes             real          given",
        "loss              logistic      given",
        "learning_rate     0.5           given",
        "subsample         1             default",
        "min_samples_leaf  1             default",
        "max_bins          256           default",
        "search            Exhaustive()  default",
        "n_rows            90",
        "n_rounds          7             given",
        "temperature       1             no rows were held out",
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "chosen on 3 folds"),
        ({"learner": "stump"}, "default"),
        ({"n_rounds": 9}, "given"),
        ({"validation_fraction": 0.2}, "chosen on validation_fraction"),
        ({"validation_fraction": 0.2, "n_rounds": 9}, "given"),
        ({"time_limit": 1e-9, "n_rounds": 9}, "given, ended by time limit"),
    ],
    ids=str,
)
def test_the_rounds_are_explained(settings, words):
    lines = str(used(*rows(), **settings)).splitlines()
    (line,) = (line for line in lines if line.startswith("n_rounds"))
    assert line.split(maxsplit=2)[2] == words


def test_files_keep_settings_and_reasons(tmp_path):
    model = AdaBoostMH(learning_rate=0.5).fit(*rows())
    model.save(tmp_path / "model.edgewise")
    assert str(load(tmp_path / "model.edgewise").settings_) == str(model.settings_)
