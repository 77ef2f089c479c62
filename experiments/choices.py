"""Choices that the papers leave open: real votes of products, and the leaves of trees.

Products with real votes: figure 3 of Kégl and Busa-Fekete 2009a gives every term real votes and
multiplies them. A vote is half a log-odds ratio, mostly well below 1, so the product of two is a
much shorter step and seldom lowers the energy. edgewise finds the terms with signs and sets the
real votes once, for the finished product.

Trees: a leaf inherits the votes of its last test or has its own; splits are chosen by edge or by
gain.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from edgewise import AdaBoostMH, Product, Stump, Tree
from edgewise.learners import FoundRule, Round
from edgewise.model import ProductRule
from experiments.margins import parts
from experiments.runner import Bench, Cell, Experiment


@dataclass(frozen=True)
class VotingProduct(ProductRule):
    """A product whose votes were found with it: its outputs are real numbers."""

    is_real = True

    def outputs(self, source: Any) -> Any:
        """Return the product of every row, shape (1, n)."""
        return super().outputs(source) * 1.0


class LiteralProduct(Product):
    """Two terms whose real votes are multiplied."""

    accepted, rounds = 0, 0

    def find(self, round: Round) -> FoundRule | None:
        """Return the product if its energy is below that of its first term, else the term."""
        first = self.base_.find(round)
        if first is None:
            return None
        cls = type(self)
        cls.rounds += 1
        masses = round.problem.signed_masses.astype(float)
        votes = half_log_odds(first.score_edges, masses)
        problem = round.backend.flip(round.problem, [first.rule])
        second = self.base_.find(round.on(problem))
        if second is None:
            return first
        both = votes * np.sign(first.score_edges) * half_log_odds(second.score_edges, masses)
        both = np.abs(both) * np.sign(second.score_edges)
        if energy(second.score_edges, masses, both) >= energy(first.score_edges, masses, votes):
            return first
        cls.accepted += 1
        rule = VotingProduct((*first.rule.factors, *second.rule.factors))
        return FoundRule(
            rule,
            second.edge,
            second.loss,
            second.score_edges,
            both,
        )


def half_log_odds(edges: Any, masses: Any) -> Any:
    """Return the real votes of a rule."""
    floor = 1e-6 * masses.sum()
    return 0.5 * np.log((masses + edges + floor) / (masses - edges + floor))


def energy(edges: Any, masses: Any, votes: Any) -> float:
    """Return the energy of real votes."""
    plus, minus = (masses + edges) / 2, (masses - edges) / 2
    return float((plus * np.exp(-votes) + minus * np.exp(votes)).sum())


SOFT = {"votes": "real", "loss": "logistic", "learning_rate": 0.2, "n_rounds": 500}
LEAVES = {"adult": 8, "pendigits": 16, "letter": 32, "digits": 8}


def soft(name: str, criterion: str) -> dict[str, Any]:
    """Return small steps of trees, whose splits are chosen by a criterion."""
    return {"learner": Tree(max_leaf_nodes=LEAVES[name], leaf_votes="free", criterion=criterion)}


def settings_of(row: str, name: str) -> dict[str, Any]:
    """Return the settings of a row."""
    return {
        LITERAL: {"learner": LiteralProduct(Stump(), n_terms=2), "votes": "real"},
        "product of 2, real votes, set once": {
            "learner": Product(Stump(), n_terms=2), "votes": "real"
        },
        "product of 2, discrete votes": {"learner": Product(Stump(), n_terms=2)},
        "tree of 8, leaves inherit": {"learner": Tree(max_leaf_nodes=8, leaf_votes="inherit")},
        "tree of 8, free leaves": {"learner": Tree(max_leaf_nodes=8, leaf_votes="free")},
        "trees in small steps, by edge": SOFT | soft(name, "edge"),
        "trees in small steps, by gain": SOFT | soft(name, "gain"),
    }[row]  # fmt: skip


LITERAL = "product of 2, real votes, literal"
ROWS = (
    LITERAL, "product of 2, real votes, set once", "product of 2, discrete votes",
    "tree of 8, leaves inherit", "tree of 8, free leaves",
    "trees in small steps, by edge", "trees in small steps, by gain",
)  # fmt: skip


def measure(row: str, name: str, bench: Bench) -> dict[str, Any]:
    """Return the test error of a choice."""
    X, y, X_test, y_test = parts(name, bench.seed)
    settings = {"preset": "paper", "n_rounds": 300} | settings_of(row, name)
    settings["n_rounds"] = bench.rounds(settings["n_rounds"], 5)
    LiteralProduct.accepted = LiteralProduct.rounds = 0
    model = AdaBoostMH(**settings, random_state=bench.seed, n_jobs=bench.n_jobs).fit(X, y)
    found = {"value": 100 * (1 - model.score(X_test, y_test))}
    if row == LITERAL:
        share = 100 * LiteralProduct.accepted / LiteralProduct.rounds
        found["also"] = {f"{name}, rounds that keep a second term": {"value": share}}
    return found


def cells(bench: Bench) -> list[Cell]:
    """Return a cell for each choice and set."""
    return [
        Cell(row, name, partial(measure, row, name))
        for name in (("digits",) if bench.quick else ("pendigits", "letter", "adult"))
        for row in (ROWS[-2:] if name == "adult" else ROWS)
    ]


EXPERIMENTS = [
    Experiment(
        "choices",
        "Choices that the papers leave open",
        "Kégl and Busa-Fekete 2009a, figure 3",
        "Real votes of a product are multiplied as in the figure (literal), or set once for the "
        "finished product. Leaves of a tree inherit the votes of their last test, or have their "
        "own. Trees in small steps have real votes, the logistic loss, a rate of 0.2, 500 rounds "
        "and 8 to 32 leaves, with splits chosen by edge or by gain. The others have 300 rounds.",
        "test error, and rounds that keep a second term, in per cent",
        cells,
    ),
]
