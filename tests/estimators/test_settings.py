"""The settings that go with each learner: as documented, as used, and as shown."""

from pathlib import Path

import numpy as np
import pytest

from edgewise import AdaBoostMH, Haar, Indicator, Product, Selector, Stump, Tree, load
from edgewise.estimators import classification
from edgewise.estimators.classification import (
    PAPER_SETTINGS,
    TreeCandidate,
    auto_rate,
    auto_settings,
)
from edgewise.learners import NAMED_LEARNERS, Goal

PAGE = Path(__file__).parents[2] / "docs/guide/defaults.md"

# The kinds of targets that "auto" tells apart, by the numbers of classes or labels.
KINDS = {
    "two classes": [Goal(1)],
    "several classes": [Goal(k) for k in (3, 8, 9, 16, 17, 100)],
    "labels": [Goal(k, multilabel=True) for k in (2, 8, 9, 16, 17, 100)],
}


def auto(goal, n_rows=10_000):
    """Return the learner of "auto" with its settings."""
    goal = goal._replace(n_rows=n_rows, n_columns=20)
    tree = NAMED_LEARNERS["auto"](Stump(), goal)
    settings = auto_settings(goal)
    rate = auto_rate(goal, settings["n_bags"])
    return {**vars(tree), **settings, "learning_rate": rate}


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
        kind: [auto(goal, n_rows) for goal in goals for n_rows in (500, 10_000, 100_000, 1_000_000)]
        for kind, goals in KINDS.items()
    }
    paper = {**vars(Tree()), **PAPER_SETTINGS}
    rows = [["setting", *(f'`"auto"`, {kind}' for kind in presets), '`"paper"`']]
    rows.append(["---"] * len(rows[0]))
    names = ("max_leaf_nodes", "criterion", "leaf_votes", *PAPER_SETTINGS)
    for name in names:
        values = [spanned(preset[name] for preset in ps) for ps in presets.values()]
        suffix = " of trees" if name in ("criterion", "leaf_votes") else ""
        rows.append([f"`{name}`{suffix}", *values, shown(paper[name])])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_table_of_the_documents_is_the_codes():
    table = documented_table().replace("| --- |", "|---|").replace(" --- |", "---|")
    assert table in PAGE.read_text(), f"docs/guide/defaults.md should have\n{table}"
    assert PAGE.read_text().count('`"paper"` |\n') == 1


def test_small_tables_may_have_smaller_leaves():
    minimum = [auto(Goal(), n_rows)["min_samples_leaf"] for n_rows in (2, 50, 100, 1_000)]
    assert minimum == sorted(minimum)
    assert minimum[0] == 1
    assert minimum[-1] == auto(Goal())["min_samples_leaf"]


# What a fit uses


@pytest.fixture(autouse=True)
def _nothing_is_compared(monkeypatch):
    """Leave out candidates of trees, which change settings where held-out rows want it."""
    monkeypatch.setattr(classification, "tree_candidates", lambda *_: [TreeCandidate()])


def rows(n_classes=3):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    return X, np.searchsorted([-0.5, 0.5] if n_classes == 3 else [0.0], X[:, 0] + X[:, 1])


# The settings that do not depend on the learner, apart from the search and the rounds.
DECIDED = tuple(name for name in PAPER_SETTINGS if name not in ("search", "n_rounds"))


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
    settings, preset = used(rows()[0], y), auto(goal._replace(n_columns=3), 90)
    assert settings.learner == repr(NAMED_LEARNERS["auto"](Stump(), goal._replace(n_rows=90)))
    names = ("max_leaf_nodes", *DECIDED)
    for name in names:
        assert getattr(settings, name) == preset[name], name
    assert settings.search == "Auto()"
    assert settings.reasons == dict.fromkeys(("learner", *PAPER_SETTINGS), "auto")
    assert settings.rounds_from == "3 folds"


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "n_bags", "rate"),
    [
        (1_999, 2, 4, 0.1),
        (2_000, 2, 2, 0.2),
        (2_000, 3, 2, 0.2),
        (499_999, 2, 2, 0.2),
        (500_000, 2, 1, 0.2),
        (500_000, 3, 1, 0.1),
    ],
)
def test_the_number_of_models_and_their_steps_follow_the_rows(n_rows, n_classes, n_bags, rate):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (n_rows, 1), dtype=np.int8), rng.integers(0, n_classes, n_rows)
    settings = AdaBoostMH(n_rounds=1).fit(X, y).settings_
    assert (settings.n_bags, settings.learning_rate) == (n_bags, rate)


def test_a_single_model_takes_small_steps():
    X, y = np.random.default_rng(0).integers(0, 2, (2_000, 1)), np.arange(2_000) % 2
    for settings in ({"n_bags": 1}, {"learner": "stump"}, {"subsample": 1.0}):
        assert AdaBoostMH(n_rounds=1, **settings).fit(X, y).settings_.learning_rate == 0.1
    assert AdaBoostMH(n_rounds=1, learning_rate=0.2).fit(X, y).settings_.n_bags == 1
    assert AdaBoostMH(n_rounds=1, learning_rate=0.2).fit(X[:500], y[:500]).settings_.n_bags == 4


def test_a_warm_start_on_more_rows_keeps_models_and_steps():
    X, y = np.random.default_rng(0).integers(0, 2, (2_000, 1)), np.arange(2_000) % 2
    model = AdaBoostMH(n_rounds=1, warm_start=True).fit(X[:1_900], y[:1_900])
    settings = model.set_params(n_rounds=2).fit(X, y).settings_
    assert (settings.n_bags, settings.learning_rate) == (4, 0.1)


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
    papers = AdaBoostMH(preset="paper", n_rounds=3).fit(X, y)
    assert papers.history_["columns"].tolist() == [200.0] * 3


LEARNERS = [
    *("stump", "product", "tree", Stump(), Product(n_terms=2), Tree("stump", 4)),
    *([Stump(), "stump"], Selector(), Haar((1, 3))),
]


def same_but(settings, others, *names):
    """Return whether all but some of the settings are the same, for the same reasons."""
    return all(
        getattr(settings, name) == getattr(others, name)
        and settings.reasons[name] == others.reasons[name]
        for name in PAPER_SETTINGS
        if name not in names
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_another_learner_changes_nothing_else(learner, n_classes):
    X, y = rows(n_classes)
    options = {"categorical_features": [0, 1, 2]} if isinstance(learner, Selector) else {}
    X = X.round() if options else X
    default, settings = used(X, y), used(X, y, learner=learner, **options)
    # Only trees are averaged.
    assert same_but(settings, default, "n_rounds", "n_bags")
    assert settings.reasons == {**default.reasons, "learner": "given"}
    assert settings.rounds_from == default.rounds_from == "3 folds"


@pytest.mark.parametrize("kind", KINDS)
def test_tree_is_auto(kind):
    X, y = rows(3)[0], {"two classes": rows(2)[1], "several classes": rows(3)[1]}.get(kind)
    if y is None:
        y = np.stack([rows(2)[1], rows(3)[1] == 1], axis=1).astype(int)
    tree, default = AdaBoostMH("tree").fit(X, y), AdaBoostMH().fit(X, y)
    assert np.array_equal(tree.predict_proba(X), default.predict_proba(X))
    assert tree.settings_.learner == default.settings_.learner


@pytest.mark.parametrize("learner", ["auto", *LEARNERS[:-2]], ids=repr)
def test_the_papers_settings_are_the_papers(learner):
    settings = used(*rows(), learner=learner, preset="paper")
    for name in DECIDED:
        assert getattr(settings, name) == PAPER_SETTINGS[name], name
    assert (settings.search, settings.rounds_from) == ("Exhaustive()", "n_rounds")
    assert settings.temperature == 1.0
    assert settings.reasons.pop("learner") == ("paper" if learner == "auto" else "given")
    assert set(settings.reasons.values()) == {"paper"}


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("auto", Stump()),
        ("stump", Stump()),
        ("product", Product("stump", 3)),
        ("tree", Tree("stump", 8, "inherit", "edge")),
    ],
)
def test_the_papers_settings_can_be_given_one_by_one(name, learner):
    X, y = rows()
    explicit = AdaBoostMH(
        learner,
        votes="discrete",
        loss="exponential",
        learning_rate=1.0,
        subsample=1.0,
        min_samples_leaf=1,
        max_bins=256,
        search="exhaustive",
        n_rounds=20,
        category_rates=False,
    )
    papers = AdaBoostMH(name, preset="paper", n_rounds=20)
    expected = explicit.fit(X, y).decision_function(X)
    assert np.array_equal(papers.fit(X, y).decision_function(X), expected)
    assert AdaBoostMH(name, preset="paper").fit(X, y).history_.n_rounds <= 500


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
@pytest.mark.parametrize("preset", ["auto", "paper"])
@pytest.mark.parametrize("learner", ["auto", "product", Tree("stump", 8)], ids=repr)
def test_a_given_setting_changes_no_other(name, value, preset, learner):
    others = {"learner": learner, "preset": preset, "n_rounds": 4}
    if name == "damping":
        others["votes"] = "real"
    plain, changed = used(*rows(), **others), used(*rows(), **{**others, name: value})
    assert getattr(changed, name) == value
    assert changed.reasons[name] == "given"
    # Votes of one size are not damped.
    assert same_but(changed, plain, name, *(["damping"] if name == "votes" else []))
    assert (changed.learner, changed.reasons["learner"]) == (
        plain.learner,
        plain.reasons["learner"],
    )


@pytest.mark.parametrize(("learner", "preset"), [("auto", "auto"), ("tree", "paper")])
def test_the_leaves_of_named_trees_can_be_given_alone(learner, preset):
    X, y = rows()
    common = {"learner": learner, "preset": preset}
    plain = used(X, y, **common, n_rounds=4)
    changed = used(X, y, **common, n_rounds=4, max_leaf_nodes=5)
    assert (plain.max_leaf_nodes, changed.max_leaf_nodes) == (8, 5)
    assert changed.reasons == {**plain.reasons, "max_leaf_nodes": "given"}
    model = AdaBoostMH(**common, n_rounds=150, max_leaf_nodes=5).fit(X, y)
    # After a hundred smaller ones.
    later = range(100 * model.settings_.n_bags, len(model.fitted_.terms))
    assert max(len(model.fitted_.terms.nodes(t)) for t in later) == 4


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"max_leaf_nodes": 1}, ValueError),
        ({"max_leaf_nodes": 4.0}, TypeError),
        ({"max_leaf_nodes": 4, "learner": "stump"}, ValueError),
        ({"max_leaf_nodes": 4, "learner": Tree("stump", 4)}, ValueError),
        ({"max_leaf_nodes": 4, "factorized": False}, ValueError),
        ({"max_leaf_nodes": 4, "preset": "paper"}, ValueError),
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
    assert (stumps.votes, stumps.reasons["votes"]) == ("real", "auto")


@pytest.mark.parametrize("learner", [Stump(), Indicator()])
def test_a_learner_of_the_wrong_kind_of_column_is_refused(learner):
    import pandas

    frame = pandas.DataFrame({"number": [1.0, 2.0, 3.0], "word": list("aab")})
    with pytest.raises(ValueError, match="cannot use"):
        AdaBoostMH(learner).fit(frame, [0, 1, 1])


# How they are shown


def test_settings_can_be_read():
    X, y = rows()
    given = {"votes": "real", "loss": "logistic", "learning_rate": 0.5}
    model = AdaBoostMH(Stump(), preset="paper", n_rounds=7, **given)
    assert str(model.fit(X, y).settings_).splitlines() == [
        "learner           Stump()       given",
        "votes             real          given",
        "loss              logistic      given",
        "learning_rate     0.5           given",
        "subsample         1             paper",
        "min_samples_leaf  1             paper",
        "max_bins          256           paper",
        "search            Exhaustive()  paper",
        "n_bags            1             paper",
        "n_rows            90",
        "n_rounds          7             given",
        "temperature       1             no rows were held out",
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "chosen on 3 folds"),
        ({"preset": "paper"}, "paper"),
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
