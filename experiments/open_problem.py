"""The open problem on factorised classifiers (Kégl 2014b): how small can the pseudo-weights be?

A round of factorised AdaBoost.MH, with votes v, is a binary problem whose weights sum to
w'(v) = sum_i |sum_l w_il v_l y_il|, which may be below 1. The question is whether a constant that
does not depend on the number of rows bounds the w' of the chosen votes from below.

Some votes always have a third, if every row has one label. Let p be the weight of a row's own
class and 1 - p that of the others. Equal votes for all classes have |1 - 2p| of it; votes drawn at
random have p or more on average, since the average of |p e + z| over z of mean 0 is at least p.
Equal votes with probability 1/3 and random ones with 2/3 give 2p/3 + |1 - 2p|/3, which is at least
1/3 for every p; so votes exist whose sum over all rows is at least 1/3, whatever n and K. For any
labels, Khintchine's inequality with Szarek's constant gives 1 / sqrt(2 K) in the same way.

If every weighted binary problem has a rule whose edge is delta' times its weight, and the learner
finds the best pair of votes and rule, its edge is then at least delta' / 3.
"""

from functools import partial
from itertools import product
from math import comb
from typing import Any

import numpy as np
from scipy.optimize import linprog

from edgewise import AdaBoostMH
from edgewise.theory import rounds_to_zero_error
from experiments.margins import parts
from experiments.runner import Bench, Cell, Experiment, curve

PAPER = "Kégl 2014b"
ROWS = 12  # of the small matrices


def votes(n_classes: int) -> np.ndarray:
    """Return all vote vectors but for their negatives."""
    return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=n_classes - 1)])


def best(signed: np.ndarray, all_votes: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest sum of pseudo-weights over all votes, and the votes that have it."""
    sums = np.abs(signed @ all_votes.T).sum(axis=0)
    return float(sums.max()), all_votes[np.argmax(sums)]


def smallest_possible(n_classes: int) -> float:
    """Return the least that the best votes can have on rows of a simple kind, with one label each.

    A row has a weight on its own class and equal ones on some others. Rows come in all permutations
    of the classes, so votes count only by how many are positive; a linear programme mixes the rows
    so that no votes are good.
    """
    shapes = [(own, others) for own in np.linspace(0, 1, 101) for others in range(1, n_classes)]
    table = np.zeros((n_classes + 1, len(shapes)))
    for column, (own, others) in enumerate(shapes):
        each = (1 - own) / others
        for k in range(n_classes + 1):
            for vote, positive, share in ((1, k - 1, k / n_classes), (-1, k, 1 - k / n_classes)):
                for high in range(
                    max(0, positive + others - n_classes + 1), min(positive, others) + 1
                ):
                    ways = comb(positive, high) * comb(n_classes - 1 - positive, others - high)
                    value = abs(own * vote - each * (2 * high - others))
                    table[k, column] += share * ways / comb(n_classes - 1, others) * value
    n = len(shapes)
    found = linprog(
        np.append(np.zeros(n), 1.0),
        np.column_stack([table, -np.ones(n_classes + 1)]),
        np.zeros(n_classes + 1),
        np.append(np.ones(n), 0.0)[None],
        [1.0],
    )
    return float(found.fun)


def drawn(n_classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return random weights that sum to one, and the signs of random classes."""
    weights = rng.dirichlet(np.full(ROWS * n_classes, 0.3)).reshape(ROWS, n_classes)
    signs = np.where(np.arange(n_classes) == rng.integers(n_classes, size=ROWS)[:, None], 1.0, -1.0)
    return weights, signs


def searched(n_classes: int, rng: np.random.Generator, steps: int) -> float:
    """Return the least sum of pseudo-weights found by following its subgradient in the weights."""
    weights, signs = drawn(n_classes, rng)
    logs, least, all_votes = np.log(weights + 1e-4), np.inf, votes(n_classes)
    for step in range(steps):
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        value, chosen = best(weights * signs, all_votes)
        least = min(least, value)
        rows = np.sign((weights * signs) @ chosen)[:, None] * signs * chosen
        slope = weights * (rows - value)
        logs -= 3.0 / np.sqrt(1 + step) * slope / np.abs(slope).max()
    return least


def matrices(n_classes: int, bench: Bench) -> dict[str, Any]:
    """Return the least sums of pseudo-weights: proved, possible, drawn and searched for."""
    rng = np.random.default_rng(bench.seed)
    n_drawn, steps = (200, 200) if bench.quick else (20_000, 5000)
    all_votes = votes(n_classes)
    random = [best(np.prod(drawn(n_classes, rng), axis=0), all_votes)[0] for _ in range(n_drawn)]
    found = [searched(n_classes, rng, steps) for _ in range(2 if bench.quick else 20)]
    return {
        "value": smallest_possible(n_classes),
        "also": {
            "proved for one label a row": {"value": 1 / 3},
            "proved for any labels": {"value": 1 / np.sqrt(2 * n_classes)},
            f"least of {n_drawn:,} random weights and labels": {"value": min(random)},
            "least found by a search": {"value": min(found)},
        },
    }


def boosted(name: str, bench: Bench) -> dict[str, Any]:
    """Return the least sum of pseudo-weights while boosting stumps, and how long it takes."""
    X, y, _, _ = parts(name, bench.seed)
    rounds, also, least, line = bench.rounds(5000, 60), {}, {}, []
    for factorized in (True, False):
        model = AdaBoostMH("stump", factorized=factorized, n_rounds=rounds, random_state=0)
        model = bench.train(model, X, y)
        history, kind = model.history_, "one vote vector" if factorized else "a stump a class"
        wrong = history["train_error"] > 0
        needed = int(np.argmin(wrong)) + 1 if not wrong.all() else None
        edge = float(history["edge"][:needed].min())
        star = rounds_to_zero_error(len(y), len(model.classes_), edge, tight=True)
        also[f"{kind}: rounds to a training error of 0"] = {"value": needed}
        also[f"{kind}: smallest edge until then"] = {"value": edge}
        also[f"{kind}: T* for that edge"] = {"value": star}
        if factorized:
            sums = history["pseudo_weight"][:needed]
            least, line = float(sums.min()), curve(sums)
    return {"value": least, "also": also, "curve": line}


def cells(bench: Bench) -> list[Cell]:
    """Return a cell for each number of classes, and one for each set."""
    counts = (3, 4) if bench.quick else (3, 4, 5, 6, 8, 10)
    names = ("digits",) if bench.quick else ("pendigits", "letter", "usps")
    theory = [
        Cell(f"{k} classes", "least sum of pseudo-weights, simple rows", partial(matrices, k))
        for k in counts
    ]
    runs = [
        Cell(f"{name}, stumps", "least sum of pseudo-weights", partial(boosted, name))
        for name in names
    ]
    return theory + runs


def draw(results: list[dict[str, Any]], figure: Any) -> None:
    """Draw the least sums by classes, and the sums over the rounds."""
    left, right = figure.subplots(1, 2)
    theory = [result for result in results if "curve" not in result]
    counts = [int(result["row"].split()[0]) for result in theory]
    left.plot(counts, [result["value"] for result in theory], "o-", label="least for such rows")
    for column in ("least found by a search", "proved for one label a row"):
        values = [result["also"][column]["value"] for result in theory]
        left.plot(counts, values, ".--", label=column)
    left.set(xlabel="classes", ylabel="sum of pseudo-weights of the best votes", ylim=(0, None))
    left.legend()
    for result in results:
        if "curve" in result:
            right.plot(*np.array(result["curve"]).T, label=result["row"])
    right.set(xlabel="rounds", xscale="log", ylim=(0, 1))
    right.legend()


EXPERIMENTS = [
    Experiment(
        "open-problem",
        "How small the pseudo-weights become",
        PAPER,
        "The paper asks for a constant that bounds the sum of pseudo-weights from below, "
        "whatever the number of rows. With one label a row, some votes always have a third: "
        "equal votes and votes drawn at random cannot both be bad (the module states the "
        "proof). If every weighted binary problem has a rule with an edge of delta' times its "
        "weight, and the learner finds the best pair of votes and rule, its edge is at least "
        "delta' / 3, and the training error comes to 0 in time. For K classes the table has the"
        " least sum that the best votes can have on rows of a simple kind, which tends to 1/3 "
        "as K grows, beside random weights and a search. For sets: the least sum of the votes "
        "that stumps chose, which maximise the edge and not the sum, and T* of Schapire and "
        "Singer 1999 beside the rounds really needed.",
        "sums of weights in [0, 1]",
        cells,
        draw,
    ),
]
