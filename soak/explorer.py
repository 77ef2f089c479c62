"""Settings at random, whose model must be the same however it is trained."""

import os
import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy import sparse
from tests.cluster.helpers import fit_together

import edgewise
from edgewise import (
    UCB,
    AdaBoostMH,
    Chunks,
    Indicator,
    Lazy,
    Product,
    RankBoost,
    Selector,
    Stump,
    Tree,
)
from edgewise.estimators import ranking
from edgewise.model import read
from soak.driver import Part
from soak.files import quiet

_LIMITS = (
    {"edgewise.boosting.loop.REFRESH_EVERY": 3, "edgewise.objective.hamming.REFRESH_EVERY": 3},
    {"edgewise.data.bins._SAMPLE": 50, "edgewise.data.bins._SAMPLE_PER_BIN": 1},
    {"edgewise.estimators.pairs._MAX_TESTED_ROWS": 150},
    {"edgewise.estimators.train._COMPARED_ROWS": 80},
    {"edgewise.estimators.train.NO_REFIT_ROWS": 100},
    {"edgewise.estimators.classification._FEW_ROWS": 100},
)
"""Numbers of rows and rounds from which on training takes other ways, for small tables."""

# The most rounds that held-out rows choose from: four for each that folds take.
_MAX_ROUNDS = 20

_NAMED_LEARNERS: tuple[Any, ...] = (
    *("auto",) * 6,
    *("stump", "product", "tree") * 2,
    Tree("stump", 5, "free"),
    Tree("stump", 6, "free", "gain"),
    Tree("stump", 8, "free", "gain", small_rounds=2),
)
"""Learners of any columns; the automatic one more often."""

_NUMBERS_LEARNERS: tuple[Any, ...] = (
    Stump(constant=False),
    Stump(missing="abstain"),
    Product(Stump(), 2, restarts=1),
    Tree(Product(Stump(), 2), 3),
)
_CATEGORIES_LEARNERS: tuple[Any, ...] = (
    Indicator(),
    Indicator(rare=3),
    Indicator(start="random", restarts=1),
    Indicator(values="real"),
    Selector(),
    Product(Selector(), 2),
    Tree([Indicator(max_values=12), Selector()], 4, "free"),
)
_MIXED_LEARNERS: tuple[Any, ...] = (
    ["stump", Selector()],
    Product([Stump(), Indicator()], 2),
    Tree([Stump(), Selector()], 4),
    Tree([Stump(), Indicator()], 6, "free", "gain"),
)
_SEARCHES = ("exhaustive", "auto", "lazy", "ucb", "thompson", "exp3p", Lazy(2), UCB(1))


@dataclass(frozen=True)
class Case:
    """Settings of an estimator, with the arguments of ``fit``."""

    kind: type[Any]
    settings: dict[str, Any]
    limits: dict[str, int]
    X: Any
    arrays: dict[str, Any]
    eval_set: tuple[Any, ...] | None = None
    cuts: np.ndarray | None = None  # where rows may be cut into blocks

    def __str__(self) -> str:
        arrays = {name: getattr(array, "shape", None) for name, array in self.arrays.items()}
        table = f"{type(self.X).__name__}{self.X.shape}"
        return f"{self.kind.__name__} {self.settings} {self.limits} on {table} {arrays}"

    def model(self, **settings: Any) -> Any:
        """Return the estimator, with some other settings."""
        return self.kind(**{**self.settings, **settings})

    def fit(self, model: Any, X: Any = None) -> Any:
        """Train on the rows, or on the same in another form."""
        return model.fit(self.X if X is None else X, eval_set=self.eval_set, **self.arrays)

    @property
    def continues(self) -> bool:
        """Whether a part of the rounds is a model that the others may follow."""
        n_rounds = self.settings["n_rounds"]
        return (
            isinstance(n_rounds, int)
            and n_rounds > 1
            and "early_stopping_rounds" not in (self.settings)
        )


def draw_case(rng: random.Random) -> Case:
    """Draw a classifier or a ranker."""
    return draw_ranker(rng) if rng.random() < 0.25 else draw_classifier(rng)


def draw_classifier(rng: random.Random) -> Case:
    """Draw the settings of a classifier and its rows."""
    X, score = _draw_rows(rng)
    kinds = _kinds(X)
    settings = _draw_some(
        rng,
        {
            "votes": (None, None, "discrete", "real", "abstain"),
            "loss": (None, None, "exponential", "logistic", "softmax"),
            "learning_rate": (None, 0.3, 1.0),
            "class_weight": (None, None, None, "balanced"),
            "init_weights": ("auto", "auto", "balanced", "uniform"),
            "min_samples_leaf": (None, None, 1, 5),
            "min_weight_fraction_leaf": (0.0, 0.0, 0.0, 0.05),
            "category_rates": ("auto",) * 7 + (False,),
            "factorized": (True,) * 12 + ((False,) if kinds == {"numbers"} else ()),
        },
    )
    learner = rng.choice(_learners(kinds))
    if "factorized" in settings:
        learner = Stump()
    settings |= {"learner": learner} | _draw_training(rng, (None, None, None, *_SEARCHES))
    if rng.random() < 0.2:
        settings["preset"] = "paper"
    if settings.get("votes") == "real" and rng.random() < 0.3:
        settings["damping"] = 2.0
    way = rng.random()
    if way < 0.15:
        settings["trim"] = 0.8
    elif way < 0.6:
        settings["subsample"] = rng.choice((0.02, 0.4, 0.7))
        settings |= _draw_some(rng, {"sampling": ("uniform", "uniform", "weight")})
    if rng.random() < 0.3 and "factorized" not in settings:
        settings |= {"learner": rng.choice(("auto", "auto", "auto", "tree")), "n_rounds": "auto"}
    if settings["learner"] == "auto":
        settings |= _draw_some(rng, {"max_leaf_nodes": (None, None, None, 3)})
    if _measures(settings):
        metrics = ("log_loss", "error", "hamming_loss", ["balanced_accuracy", "log_loss"])
        settings |= _draw_some(rng, {"eval_metric": (None, *metrics)})
    y, eval_set = _draw_classes(rng, score, few=settings["n_rounds"] == "auto"), None
    if "validation_fraction" not in settings and rng.random() < 0.1:
        apart = len(y) // 4
        eval_set, X, y = (X[:apart], y[:apart]), X[apart:], y[apart:]
    weights = _draw_weights(rng, len(y))
    if weights is not None and y.ndim == 1 and rng.random() < 0.1:
        weights[y == y[0]] = 0
    arrays = {"y": y, "sample_weight": weights}
    return Case(AdaBoostMH, settings, _draw_limits(rng), X, arrays, eval_set)


def draw_ranker(rng: random.Random) -> Case:
    """Draw the settings of a ranker and its documents."""
    X, score = _draw_rows(rng)
    kinds = _kinds(X)
    settings = _draw_some(
        rng,
        {
            "objective": ("auto", "pairs", "pairs", "ndcg", "ndcg@5", "map"),
            "learning_rate": ("auto", 0.3, 1.0),
            "pair_weight": ("auto", "equal", "difference"),
            "query_weight": ("auto", "pairs", "root", "equal"),
        },
    )
    if settings.get("objective", "pairs") == "pairs":
        settings |= _draw_some(
            rng,
            {
                "criterion": ("edge", "edge", "edge", "energy"),
                "step": (None, None, None, "bound", "exact"),
                "monotonic_cst": ("auto", "auto", "learn", "increasing", "none"),
            },
        )
    learners = (*_learners(kinds), "tree", "stump")
    if kinds == {"numbers"}:
        learners = (*learners, "feature", "feature", ["stump", "feature"])
    if "criterion" in settings or "monotonic_cst" in settings:
        learners = ("stump",)
    settings["learner"] = rng.choice(learners)
    settings |= _draw_training(rng, _SEARCHES)
    settings |= _draw_some(rng, {"missing": ("learn", "learn", "learn", "low", "high")})
    if rng.random() < 0.2:
        settings["preset"] = "paper"
    if rng.random() < 0.4 or settings.get("n_bags", 1) > 1:
        settings["subsample"] = rng.choice((0.3, 0.7))
    if rng.random() < 0.4:
        settings["n_rounds"] = "auto"
    if rng.random() < 0.2:
        settings["learner"] = "auto"
    n_queries = rng.choice((1, 4, 25, 25, 40))
    numbers = np.random.default_rng(rng.getrandbits(64))
    n_rows = len(score)
    qid = np.sort(numbers.integers(0, n_queries, n_rows))
    grades = rng.choice(
        (
            (score > np.median(score)).astype(int),
            np.digitize(score, np.quantile(score, [0.4, 0.7, 0.9])),
            np.round(score, 1),
        )
    )
    arrays = {"y": grades, "qid": qid, "sample_weight": _draw_weights(rng, n_rows)}
    cuts = np.flatnonzero(np.diff(qid)) + 1
    return Case(RankBoost, settings, _draw_limits(rng), X, arrays, cuts=cuts)


def _draw_some(rng: random.Random, choices: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Return a value of each setting, without those that are the first: the default."""
    drawn = {name: rng.choice(values) for name, values in choices.items()}
    return {name: value for name, value in drawn.items() if value != choices[name][0]}


def _draw_training(rng: random.Random, searches: tuple[Any, ...]) -> dict[str, Any]:
    """Return settings of everything that trains."""
    settings = _draw_some(
        rng,
        {
            "n_bags": (None, None, 1, 2, 4),
            "max_bins": (None, None, None, 4, 300),
            "search": searches,
            "random_state": (0, 1, 2),
            "validation_fraction": (None,) * 6 + (0.2, 0.4),
        },
    )
    settings["n_rounds"] = rng.choice((1, 2, 5, 8, 8, 12))
    if "validation_fraction" in settings and rng.random() < 0.5:
        settings["early_stopping_rounds"] = 2
    return settings


def _measures(settings: dict[str, Any]) -> bool:
    return "validation_fraction" in settings or settings["n_rounds"] == "auto"


def _draw_limits(rng: random.Random) -> dict[str, int]:
    lowered = [limits for limits in _LIMITS if rng.random() < 0.15]
    return {name: value for limits in lowered for name, value in limits.items()}


def _draw_rows(rng: random.Random) -> tuple[Any, np.ndarray]:
    """Return a table, and numbers for its rows that depend on its columns, alone and in pairs."""
    numbers = np.random.default_rng(rng.getrandbits(64))
    n_rows = rng.randint(60, 300)
    X = numbers.normal(size=(n_rows, rng.randint(1, 5)))
    for j in range(X.shape[1]):
        X[:, j] = np.round(X[:, j], rng.choice((0, 1, 8)))
    score = X[:, 0] + X[:, 0] * X[:, -1] + 0.5 * numbers.normal(size=n_rows)
    if rng.random() < 0.5:
        X[numbers.random(X.shape) < rng.choice((0.02, 0.3))] = np.nan
    sizes = rng.choice(
        ((), (), (), (3,), (30,), (15, 4), (12, 3), (14, 5), (40, 12, 2), (25, 11), (n_rows,))
    )
    if not sizes:
        is_sparse = rng.random() < 0.25
        return (sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0)) if is_sparse else X), score
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    codes = [numbers.integers(0, size, n_rows) for size in sizes]
    for c, (code, size) in enumerate(zip(codes, sizes, strict=True)):
        score += numbers.normal(size=size)[code]
        values = np.array([f"v{code}" for code in range(size)], dtype=object)[code]
        values[numbers.random(n_rows) < rng.choice((0.0, 0.1))] = None
        frame[f"c{c}"] = pd.Series(values, dtype=rng.choice(("object", "category")))
    if len(sizes) > 1:
        score += 3 * numbers.normal(size=sizes[:2])[codes[0], codes[1]]
    if rng.random() < 0.3:
        frame = frame[[name for name in frame if name[0] == "c"]]
    return frame, score


def _kinds(X: Any) -> set[str]:
    if not isinstance(X, pd.DataFrame):
        return {"numbers"}
    return {"numbers" if name[0] == "x" else "categories" for name in X}


def _learners(kinds: set[str]) -> tuple[Any, ...]:
    """Return learners that may test these kinds of columns."""
    if len(kinds) == 2:
        own = _MIXED_LEARNERS
    else:
        own = _NUMBERS_LEARNERS if "numbers" in kinds else _CATEGORIES_LEARNERS
    return _NAMED_LEARNERS + own


def _draw_classes(rng: random.Random, score: np.ndarray, few: bool) -> np.ndarray:
    """Return two, three or, in one of many tables or one of few, many classes; or labels."""
    n_classes = rng.choice((0, 0, 2, 2, 2, 2, 3, 3, 3, 9) if few else (0, 2, 2, 3, 3, 9, 9, 12))
    if n_classes == 0:
        numbers = np.random.default_rng(rng.getrandbits(64))
        shifts = numbers.normal(size=(len(score), rng.choice((2, 4))))
        return (score[:, None] + shifts > 0).astype(int)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return np.array([f"class {k}" for k in range(n_classes)])[y] if rng.random() < 0.3 else y


def _draw_weights(rng: random.Random, n_rows: int) -> np.ndarray | None:
    """Return weights of rows, some of which may be zero, or none."""
    numbers = np.random.default_rng(rng.getrandbits(64))
    return rng.choice(
        (None, None, numbers.integers(0, 4, n_rows) / 3, numbers.exponential(size=n_rows))
    )


@contextmanager
def smaller(limits: dict[str, int]) -> Iterator[None]:
    """Lower the limits, compare candidates on any number of rows, and choose from fewer rounds."""
    candidates = ranking.ranking_candidates

    def few_rounds(*arguments: Any) -> list[Any]:
        return [c._replace(max_rounds=_MAX_ROUNDS) for c in candidates(*arguments)]

    base_limits = {
        "edgewise.estimators.classification._COMPARE_FROM": 0,
        "edgewise.estimators.classification.MAX_ROUNDS": _MAX_ROUNDS,
    }
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(ranking, "ranking_candidates", few_rounds))
        for name, value in {**base_limits, **limits}.items():
            stack.enter_context(mock.patch(name, value))
        yield


@contextmanager
def on_backend(name: str) -> Iterator[None]:
    """Train on a backend."""
    with mock.patch.dict(os.environ, EDGEWISE_BACKEND=name):
        yield


def check(case: Case, rng: random.Random, folder: Path) -> str:
    """Assert that the model is the same however it is trained; return whether it is allowed."""
    path = folder / "model.edgewise"

    def content(model: Any) -> bytes:
        model.set_params(n_jobs=None, warm_start=False).save(path)
        return path.read_bytes()

    with smaller(case.limits), quiet(), on_backend("numba"):
        model = case.model()
        try:
            case.fit(model)
        except (ValueError, TypeError) as error:
            _check_refusal(model, error)
            return "refused"
        expected = content(model)
        expected_path = folder / "expected.edgewise"
        expected_path.write_bytes(expected)
        _check_loaded(case, model, edgewise.load(expected_path))
        for how, fit in _ways(case, rng, folder, bool(model.settings_.compared)).items():
            try:
                models = fit()
            except Exception as error:
                raise AssertionError(f"{how}: {error!r}") from error
            for other in models:
                if content(other) != expected:
                    raise AssertionError(f"{how}: {_differences(expected_path, path)} differ")
    return "same"


def _ways(
    case: Case, rng: random.Random, folder: Path, compares: bool
) -> dict[str, Callable[[], list[Any]]]:
    """Return other ways to train the model, by name; each returns one or several.

    The training may compare candidates.
    """

    def plain() -> list[Any]:
        with on_backend("numpy"):
            return [case.fit(case.model())]

    def threads() -> list[Any]:
        return [case.fit(case.model(n_jobs=2))]

    def chunks() -> list[Any]:
        return [case.fit(case.model(), rng.choice((_row_chunks, _column_chunks))(case.X, rng))]

    def processes() -> list[Any]:
        size, n_blocks, seed = rng.choice((2, 3)), None, rng.randrange(1000)
        if case.cuts is not None:
            n_blocks = len(case.cuts) + 1
            size, n_blocks = min(size, n_blocks), min(2 * size, n_blocks)
        with on_backend(rng.choice(("numpy", "numba", "numba"))):
            return fit_together(
                case.model, case.X, size, n_blocks, seed, case.eval_set, case.cuts, **case.arrays
            )

    def rest() -> list[Any]:
        n_rounds = case.settings["n_rounds"]
        model = case.fit(case.model(n_rounds=n_rounds // 2, warm_start=True))
        if rng.random() < 0.5:
            model.save(folder / "half.edgewise")
            model = edgewise.load(folder / "half.edgewise")
        return [case.fit(model.set_params(n_rounds=n_rounds))]

    ways = {"numpy": plain, "threads": threads, "chunks": chunks}
    # The messages of all candidates, folds and bags take most of the time.
    if not compares or rng.random() < 0.3:
        ways["processes"] = processes
    # Rankers are compared after the number of rounds that is given.
    return {**ways, "warm start": rest} if case.continues and not compares else ways


def _row_chunks(X: Any, rng: random.Random) -> Chunks:
    cuts = sorted(rng.sample(range(1, X.shape[0]), 3))
    take = getattr(X, "iloc", X)
    bounds = zip([0, *cuts], [*cuts, X.shape[0]], strict=True)
    return Chunks.rows_of([take[a:b] for a, b in bounds], memory=rng.choice((1, 4000, 1 << 28)))


def _column_chunks(X: Any, rng: random.Random) -> Chunks:
    cut = rng.randint(1, X.shape[1])
    parts = [slice(0, cut), slice(cut, None)] if cut < X.shape[1] else [slice(None)]
    if isinstance(X, pd.DataFrame):
        return Chunks.columns_of([X.iloc[:, part] for part in parts])
    return Chunks.columns_of([X[:, part] for part in parts])


def _check_refusal(model: Any, error: Exception) -> None:
    """Raise unless the library itself refuses the settings, and trains nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    is_ours = Path(edgewise.__file__).parent in Path(frames[-1].filename).parents
    if not is_ours or (frames[-1].line or "").startswith("assert") or hasattr(model, "fitted_"):
        raise AssertionError(f"refused late, or by chance: {error!r}") from error


def _check_loaded(case: Case, model: Any, loaded: Any) -> None:
    """Assert that a loaded model predicts as the one that was saved."""
    names = ["predict"] if case.kind is RankBoost else ["decision_function", "predict_proba"]
    for name in names:
        ours, theirs = (getattr(each, name)(case.X) for each in (model, loaded))
        assert np.array_equal(ours, theirs), f"the loaded model: {name} differs"


def _differences(left: Path, right: Path) -> list[str]:
    """Return the names of what differs in two files of models."""
    (ours, our_arrays), (theirs, their_arrays) = read(left), read(right)
    names = [name for name in ours["state"] if ours["state"][name] != theirs["state"].get(name)]
    for name in our_arrays.keys() | their_arrays.keys():
        pair = [arrays.get(name) for arrays in (our_arrays, their_arrays)]
        if any(a is None for a in pair) or pair[0].tobytes() != pair[1].tobytes():
            names.append(name)
    return names or ["settings"]


class Explorer(Part):
    """Models of random settings on small tables, trained in every way."""

    name = "explorer"
    about = "random settings: the same file from backends, threads, chunks, processes, warm starts"
    counted = "settings"
    wanted = 500
    share = 10.0
    seconds = 300.0
    gigabytes = 16.0

    def case(self, rng: random.Random) -> Counter[str]:
        """Train one model in every way."""
        case = draw_case(rng)
        self.last = str(case).encode()
        try:
            return Counter({check(case, rng, self.folder): 1})
        except Exception as error:
            error.add_note(str(case))
            raise
