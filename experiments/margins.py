"""Margins, test errors past a training error of zero, and bounds (Iyer 1999, chapter 3)."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, Tree, datasets
from edgewise.theory import (
    finite_margin_bound,
    margin_bound,
    margins,
    stump_vc_dimension,
    vc_bound,
)
from experiments.runner import Bench, Cell, Experiment, Paper, Said, curve

THESIS = "Iyer 1999"
SHARES = np.linspace(-1, 1, 81)


def parts(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows: a third for testing where no split is published."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "generated":
        X, y = make_classification(4000, 20, n_informative=8, flip_y=0.0, random_state=seed)
    else:
        data = datasets.load(name)
        if data.X_test is not None:
            return data.X_train, data.y_train, data.X_test, data.y_test
        X, y = data.X_train, data.y_train
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def margins_at(model: AdaBoostMH, X: Any, y: Any, rounds: Sequence[int]) -> dict[int, np.ndarray]:
    """Return the margins of rows after some rounds."""
    codes = np.searchsorted(model.classes_, y)
    targets = codes if len(model.classes_) > 2 else np.where(codes > 0, 1, -1)
    votes = np.cumsum(np.abs(model.history_["alpha"]))
    found = {}
    for t, scores in enumerate(model.staged_decision_function(X), 1):
        if t in rounds:
            found[t] = margins(scores, targets, votes[t - 1])
    return found


def distribution(values: np.ndarray) -> list[float]:
    """Return the share of margins up to each of `SHARES`."""
    return [float(np.mean(values <= theta)) for theta in SHARES]


# Past zero


def past_zero(name: str, leaves: int, bench: Bench) -> dict[str, Any]:
    """Return the test error at the end, and what it was when the last training row came right."""
    X, y, X_test, y_test = parts(name, bench.seed)
    model = AdaBoostMH(
        Tree("stump", leaves), preset="paper", n_rounds=bench.rounds(2000, 15), random_state=0
    )
    model = bench.train(model, X, y, eval_set=(X_test, y_test))
    training, test = (100 * model.history_[field] for field in ("train_error", "validation"))
    zero = int(np.argmax(training == 0)) + 1 if (training == 0).any() else len(training)
    own = margins_at(model, X, y, (zero, len(test)))
    error = float(np.sqrt(test[-1] * (100 - test[-1]) / len(y_test)))
    return {
        "value": test[-1],
        "spread": error,
        "also": {
            "test error when the training error came to 0": {"value": test[zero - 1]},
            "round of that": {"value": zero if training[zero - 1] == 0 else None},
            "smallest margin then": {"value": own[zero].min()},
            "smallest margin at the end": {"value": own[len(test)].min()},
        },
        "curve": curve(test),
        "training": curve(training),
    }


def past_zero_cells(bench: Bench) -> list[Cell]:
    """Return a cell for each set."""
    sets = {"digits": 8} if bench.quick else {"letter": 64, "pendigits": 16, "usps": 16, "wdbc": 8}
    return [
        Cell(f"{name}, trees of {leaves} leaves", "test error", partial(past_zero, name, leaves))
        for name, leaves in sets.items()
    ]


def past_zero_words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield what the thesis says of errors and margins past zero."""

    def holds(stated: str, fulfilled: Sequence[bool]) -> Said:
        return Said(stated, f"on {sum(fulfilled)} of {len(fulfilled)} sets", all(fulfilled))

    own = [{name: one["value"] for name, one in result["also"].items()} for result in results]
    at_zero = "test error when the training error came to 0"
    falls = [result["value"] < one[at_zero] for result, one in zip(results, own, strict=True)]
    grows = [one["smallest margin at the end"] > one["smallest margin then"] for one in own]
    yield holds("past a training error of 0 the test error goes on falling", falls)
    yield holds("and margins go on growing", grows)


def draw_past_zero(results: list[dict[str, Any]], figure: Any) -> None:
    """Draw training and test errors over the rounds."""
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for result, axes in zip(results, panels, strict=True):
        for field, label in (("training", "training"), ("curve", "test")):
            axes.plot(*np.array(result[field]).T, label=label)
        axes.set(xscale="log", title=result["row"].split(",")[0], xlabel="rounds", ylim=(0, None))
    panels[0].set_ylabel("error, %")
    panels[0].legend()


# Figure 3-2

# Schapire, Freund, Bartlett and Lee 1998, C4.5 on letter: test error and smallest margin by round.
LETTER = {5: (8.4, 0.14), 100: (3.3, 0.52), 1000: (3.1, 0.55)}


def letter(name: str, leaves: int, rounds: Sequence[int], bench: Bench) -> dict[str, Any]:
    """Return test errors and margins of large trees after some rounds."""
    X, y, X_test, y_test = parts(name, bench.seed)
    learner = Tree("stump", leaves, "free", "gain")  # as in C4.5, leaves have votes of their own
    model = AdaBoostMH(learner, preset="paper", n_rounds=rounds[-1], random_state=0)
    model = bench.train(model, X, y, eval_set=(X_test, y_test))
    own, test = margins_at(model, X, y, rounds), 100 * model.history_["validation"]
    spreads = np.sqrt(test * (100 - test) / len(y_test))
    also: dict[str, dict[str, Any]] = {}
    for t in rounds:
        error, margin = LETTER[t] if name == "letter" else (None, None)
        if t < rounds[-1]:
            ours = {"value": test[t - 1], "spread": spreads[t - 1], "paper": error}
            also[f"test error after {t} rounds"] = ours
        ours = {"value": own[t].min(), "paper": margin, "more_is_better": True}
        also[f"smallest margin after {t} rounds"] = ours
    return {
        "value": test[-1],
        "spread": spreads[-1],
        "also": also,
        "distributions": {t: distribution(values) for t, values in own.items()},
        "curve": curve(test),
        "training": curve(100 * model.history_["train_error"]),
    }


def letter_cells(bench: Bench) -> list[Cell]:
    """Return the one cell."""
    if bench.quick:
        run = partial(letter, "digits", 50, (2, 10))
        return [Cell("digits, trees of 50 leaves", "test error after 10 rounds", run)]
    run = partial(letter, "letter", 1000, tuple(LETTER))
    beside = Paper(LETTER[1000][0])
    return [Cell("letter, trees of 1,000 leaves", "test error after 1000 rounds", run, beside)]


def draw_letter(results: list[dict[str, Any]], figure: Any) -> None:
    """Draw the errors over the rounds, and the distributions of margins."""
    left, right = figure.subplots(1, 2)
    (result,) = results
    for field, label in (("training", "training"), ("curve", "test")):
        left.plot(*np.array(result[field]).T, label=label)
    left.set(xscale="log", xlabel="rounds", ylabel="error, %", ylim=(0, None))
    left.legend()
    for t, shares in result["distributions"].items():
        right.plot(SHARES, shares, label=f"{t} rounds")
    right.set(xlabel="margin", ylabel="share of training rows up to it")
    right.legend()


# Bounds


def bounds(name: str, bench: Bench) -> dict[str, Any]:
    """Return the test error of stumps on two classes, and what is proved of it."""
    X, y, X_test, y_test = parts(name, bench.seed)
    model = AdaBoostMH("stump", preset="paper", n_rounds=bench.rounds(500, 40), random_state=0)
    model = bench.train(model, X, y, eval_set=(X_test, y_test))
    n, dimension = len(y), stump_vc_dimension(np.shape(X)[1])
    own, history = model.margins(X, y), model.history_
    error = float(history["validation"][-1])
    thresholds = sum(len(np.unique(column)) for column in np.asarray(X).T)
    proved = {
        "training error": history["train_error"][-1],
        "its bound, the product of the energies": min(1.0, float(history["bound"][-1])),
        "bound by VC dimension": vc_bound(
            float(history["train_error"][-1]), model.n_rounds_, dimension, n
        ),
        "bound by margins, VC dimension": margin_bound(own, dimension).value,
        "bound by margins, number of stumps": finite_margin_bound(own, 2 * thresholds).value,
    }
    return {
        "value": 100 * error,
        "spread": 100 * float(np.sqrt(error * (1 - error) / len(y_test))),
        "also": {column: {"value": 100 * float(value)} for column, value in proved.items()},
    }


def bounds_cells(bench: Bench) -> list[Cell]:
    """Return a cell for each set of two classes."""
    names = ["breast cancer"]
    if not bench.quick:
        names += ["generated", "spambase", "twonorm", "ionosphere"]
    return [Cell(f"{name}, stumps", "test error", partial(bounds, name)) for name in names]


def bounds_words(results: list[dict[str, Any]]) -> Iterator[Said]:
    """Yield what the thesis says of the bounds."""
    proved = {
        result["row"].partition(",")[0]: min(
            one["value"] for name, one in result["also"].items() if name.startswith("bound")
        )
        for result in results
    }
    least = min(proved, key=lambda name: proved[name])
    errors = {result["row"].partition(",")[0]: result["value"] for result in results}
    yield Said(
        "bounds hold, but are too loose to tell the error",
        f"the lowest is {proved[least]:.0f} % ({least}), for a test error of {errors[least]:.1f} %",
        all(proved[name] > errors[name] for name in errors) and min(proved.values()) > 50,
    )


EXPERIMENTS = [
    Experiment(
        "past-zero",
        "Test errors after the training error is zero",
        f"{THESIS}, section 3.4.2",
        "Trees are boosted long after the last training row is right. The thesis states what "
        "happens in words: the test error goes on falling, and margins go on growing.",
        "errors in per cent, margins in [-1, 1]",
        past_zero_cells,
        draw_past_zero,
        words=past_zero_words,
    ),
    Experiment(
        "letter-margins",
        "Margins on letter",
        f"{THESIS}, figure 3-2, after Schapire, Freund, Bartlett and Lee 1998",
        "They boosted C4.5, whose trees are grown until they fit; here trees have 1,000 leaves. "
        "Margins of several classes are half the gap to the best other class, as theirs.",
        "errors in per cent, margins in [-1, 1]",
        letter_cells,
        draw_letter,
        why="the smallest margin is that of one training row; after five rounds it depends on how "
        "the few trees end, and C4.5's are grown and pruned in another way",
    ),
    Experiment(
        "bounds",
        "What is proved, and what is measured",
        f"{THESIS}, sections 3.2.4 and 3.4.2",
        "Bounds hold with probability 0.95 over the draw of the training rows. Above 100 they say "
        "nothing, as the papers warn: the trend is what they explain.",
        "per cent",
        bounds_cells,
        words=bounds_words,
    ),
]
