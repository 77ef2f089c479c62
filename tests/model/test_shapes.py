"""Additive models as tables: their sum is the score, and tables make the same model."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Additive, Indicator, Product, RankBoost, Stump, Tree, load
from edgewise.data import RawRows
from edgewise.model.shapes import Axis, ShapeFunction, Shapes, find_shapes

RNG = np.random.default_rng(1)
N = 300
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)).round(1), columns=list("abc"))
FRAME.loc[RNG.random(N) < 0.2, "b"] = np.nan
FRAME["town"] = RNG.choice(["Ulm", "Bonn", "Jena", "Kiel", None], N)
SCORE = FRAME["a"] + 2 * np.sign(FRAME["c"] * FRAME["a"]) + (FRAME["town"] == "Ulm")
TWO = (SCORE + RNG.normal(size=N) > 0).astype(int).to_numpy()
THREE = TWO + (FRAME["c"] > 0.8).to_numpy()
NEW = FRAME.sample(120, random_state=0).reset_index(drop=True)
NEW.loc[:10, ["a", "town"]] = None
NEW.loc[11:20, "town"] = "Rome"

MODELS = {
    "stumps": lambda: AdaBoostMH("stump", n_rounds=40),
    "cut": lambda: AdaBoostMH(Stump(), preset="paper", n_rounds=30),
    "abstaining": lambda: AdaBoostMH(Stump(missing="abstain"), preset="paper", n_rounds=30),
    "by class": lambda: AdaBoostMH("stump", preset="paper", factorized=False, n_rounds=30),
    "numbers of categories": lambda: AdaBoostMH(
        Indicator(values="real"), preset="paper", votes="real", n_rounds=10
    ),
    "products": lambda: AdaBoostMH(Product("stump", 2), n_rounds=20),
    "trees": lambda: AdaBoostMH(Tree("stump", 3), preset="paper", n_rounds=20),
    "additive": lambda: AdaBoostMH("additive", n_rounds=60, n_bags=2),
    "curves": lambda: AdaBoostMH(Additive(max_pairs=0), n_rounds=40),
}


def values_of(model, X):
    rows = RawRows(model._table(X), model.fitted_.categories, model.fitted_.derived_columns)
    return lambda j: rows.block(np.array([j]), slice(None))[0]


def summed(model, X):
    """Return the sum of the terms of a model, and its intercept."""
    values = values_of(model, X)
    total = np.tile(model.intercept_, (len(X), 1))
    for term in model.terms_:
        total += term(*(values(j) for j in term.columns))
    return total


def scores(model, X):
    return model.fitted_.scores(model._table(X))


def columns_for(name):
    """Return the columns that a model can use."""
    if name == "numbers of categories":
        return ["town"]
    return ["a", "b", "c"] if name in ("cut", "abstaining", "by class") else [*FRAME]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", MODELS)
def test_the_sum_of_the_terms_is_the_score(name, y):
    X = FRAME[columns_for(name)]
    model = MODELS[name]().set_params(random_state=0).fit(X, y)
    new = NEW[X.columns]
    np.testing.assert_allclose(summed(model, new), scores(model, new), rtol=0, atol=1e-12)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", ["stumps", "additive", "abstaining", "by class"])
def test_tables_make_the_same_model(name, y):
    model = MODELS[name]().set_params(random_state=0).fit(FRAME[columns_for(name)], y)
    shapes = model.fitted_.shapes
    packed = replace(model.fitted_.with_subsets(), terms=shapes.pack(), n_bags=1)
    new = NEW[columns_for(name)]
    scored = packed.scores(model._table(new))
    np.testing.assert_allclose(scored, scores(model, new), rtol=0, atol=1e-12)
    # And these rules are the same tables.
    again = find_shapes(packed, [axis.counts for axis in shapes.axes.values()])
    for old, new in zip(shapes.functions, again.functions, strict=True):
        assert old.columns == new.columns
        np.testing.assert_allclose(new(*grid_of(old)), old(*grid_of(old)), rtol=0, atol=1e-12)


def grid_of(function):
    """Return values in every cell of a function."""
    cells = []
    for axis in function.axes:
        if axis.categories is None:
            low = np.append(-1e9, axis.thresholds)
            cells.append(np.append(low, np.nan))
        else:
            cells.append(np.arange(axis.n_cells, dtype=float))
    return [values.ravel() for values in np.meshgrid(*cells, indexing="ij")]


def test_counts_are_of_the_training_rows():
    model = MODELS["additive"]().set_params(random_state=0).fit(FRAME, TWO)
    for term in model.terms_:
        if len(term.axes) > 1:
            continue
        (axis,), column = term.axes, FRAME[term.name]
        if axis.categories is None:
            edges = [-np.inf, *axis.thresholds, np.inf]
            expected = [((column >= a) & (column < b)).sum() for a, b in pairwise(edges)]
        else:
            expected = [(column == category).sum() for category in axis.categories]
        assert axis.counts.tolist() == [*expected, column.isna().sum()]


def test_curves_have_mean_0_and_pairs_hold_no_curves():
    model = MODELS["additive"]().set_params(random_state=0).fit(FRAME, TWO)
    pairs = 0
    for term in model.terms_:
        if len(term.axes) == 1:
            mean = np.average(term.scores, axis=0, weights=term.counts)
            np.testing.assert_allclose(mean, 0, atol=1e-12)
            continue
        pairs += 1
        for a in (0, 1):
            weights = term.axes[a].counts
            np.testing.assert_allclose(np.average(term.scores, a, weights), 0, atol=1e-12)
    assert pairs
    assert sum(term.importance for term in model.terms_) == pytest.approx(1)


def test_errors_are_those_of_a_jackknife():
    model = AdaBoostMH(Additive(max_pairs=0), n_rounds=40, n_bags=4, random_state=0)
    model.fit(FRAME, TWO)
    term = model.terms_[0]
    counts = [axis.counts for axis in model.fitted_.shapes.axes.values()]
    tables = []
    for b in range(4):
        terms = model.fitted_.terms.select([*range(b, len(model.fitted_.terms), 4)])
        fitted = replace(model.fitted_, terms=replace(terms, alphas=terms.alphas * 4), n_bags=1)
        own = find_shapes(fitted, None)
        function = next(f for f in own.functions if f.columns == term.columns)
        values = function(*grid_of(term))
        weights = counts[[*model.fitted_.shapes.axes].index(term.columns[0])]
        tables.append(values - np.average(values, axis=0, weights=weights))
    spread = np.square(np.array(tables) - np.mean(tables, axis=0)).sum(axis=0) * 3 / 4
    np.testing.assert_allclose(term.errors, np.sqrt(spread), atol=1e-12)


def test_rules_of_three_columns_are_no_sum_of_tables():
    y = (FRAME["a"] * FRAME["b"].fillna(0) * FRAME["c"] > 0).astype(int)
    model = AdaBoostMH("tree", n_rounds=30, n_bags=1, max_leaf_nodes=16).fit(FRAME, y)
    with pytest.raises(AttributeError, match="three or more columns"):
        _ = model.terms_
    assert not hasattr(model, "intercept_")


def test_files_keep_the_terms(tmp_path):
    model = MODELS["additive"]().set_params(random_state=0).fit(FRAME, TWO)
    model.save(tmp_path / "model.edgewise")
    loaded = load(tmp_path / "model.edgewise")
    for ours, theirs in zip(model.terms_, loaded.terms_, strict=True):
        np.testing.assert_array_equal(ours.scores, theirs.scores)
        np.testing.assert_array_equal(ours.counts, theirs.counts)


def test_frames_have_a_row_for_each_cell():
    model = MODELS["additive"]().set_params(random_state=0).fit(FRAME, TWO)
    pair = next(term for term in model.terms_ if len(term.axes) == 2)
    frame = pair.to_frame("pandas")
    assert [*frame.columns] == [*(axis.name for axis in pair.axes), "rows", "score"]
    assert len(frame) == pair.scores.size
    assert frame["score"].tolist() == pair.scores.ravel().tolist()


def test_rankers_have_terms():
    qid = np.repeat(np.arange(30), 10)
    ranker = RankBoost("stump", n_rounds=20, random_state=0).fit(FRAME[["a", "b", "c"]], TWO, qid)
    X = NEW[["a", "b", "c"]].astype(float)
    np.testing.assert_allclose(summed(ranker, X)[:, 0], ranker.predict(X), atol=1e-12)


@st.composite
def random_shapes(draw):
    """Return an additive model of random tables."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    k = draw(st.integers(1, 3))
    axes = {}
    for j in range(3):
        n = draw(st.integers(0, 6))
        thresholds = np.unique(rng.normal(size=n).round(1))
        axes[j] = Axis(j, f"x{j}", thresholds, None, rng.integers(0, 9, len(thresholds) + 2) * 1.0)
    n_levels = draw(st.integers(1, 5))
    axes[3] = Axis(3, "x3", np.empty(0), tuple(range(n_levels)), np.ones(n_levels + 1))
    sets = [(0,), (1,), (3,), (0, 1), (0, 3), (1, 2)]
    chosen = draw(st.lists(st.sampled_from(sets), unique=True))
    functions = []
    for columns in chosen:
        grid = tuple(axes[j] for j in columns)
        table = rng.integers(-3, 4, (*(axis.n_cells for axis in grid), k)) / 2
        functions.append(ShapeFunction(grid, table))
    return Shapes(rng.normal(size=k), tuple(functions), axes), n_levels


@given(random_shapes(), st.integers(0, 100), st.sampled_from([0.0, 0.2]))
@settings(max_examples=80)
def test_trees_look_up_any_table(model, seed, missing):
    from edgewise.data import as_table
    from edgewise.model.scorer import Scorer

    shapes, n_levels = model
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(50, 3)).round(1)
    numbers[rng.random(numbers.shape) < missing] = np.nan
    frame = pd.DataFrame(numbers, columns=["x0", "x1", "x2"])
    codes = rng.integers(0, n_levels + 1, 50)
    frame["x3"] = pd.Categorical.from_codes(
        np.where(codes < n_levels, codes, -1), [*map(str, range(n_levels))]
    )
    scorer = Scorer(
        terms=shapes.pack(),
        n_features=4,
        categories={3: tuple(map(str, range(n_levels)))},
    )
    values = [*numbers.T, codes.astype(float)]
    expected = shapes.scores(lambda j: values[j], 50)
    np.testing.assert_allclose(scorer.scores(as_table(frame)), expected, rtol=0, atol=1e-12)
