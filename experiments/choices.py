"""Choices that the papers leave open: real votes of products, and the leaves of trees.

Run with `python experiments/choices.py`; it takes about five minutes on one core.

Products with real votes: figure 3 of Kégl and Busa-Fekete 2009a gives every term real votes and
multiplies them. A vote is half a log-odds ratio, mostly well below 1, so the product of two is a
much shorter step and seldom lowers the energy. edgewise finds the terms with signs and sets the
real votes once, for the finished product.

Trees: a leaf inherits the votes of its last test or has its own; splits are chosen by edge or by
gain.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np

from edgewise import AdaBoostMH, Product, Stump, Tree, datasets
from edgewise.learners import Found, Round
from edgewise.model import ProductRule

ROUNDS = 300


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

    def find(self, round: Round) -> Found | None:
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
        return Found(
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


def show(name: str, title: str, model: AdaBoostMH) -> None:
    """Train and print the test error."""
    data = datasets.load(name)
    start = time.process_time()
    model.fit(data.X_train, data.y_train)
    error = 100 * (1 - model.score(data.X_test, data.y_test))
    print(f"{name:10} {title:46} {error:6.2f} % {time.process_time() - start:6.1f} s", flush=True)


def main() -> None:
    """Print all tables."""
    for name in ("pendigits", "letter"):
        LiteralProduct.accepted = LiteralProduct.rounds = 0
        literal = LiteralProduct(Stump(), n_terms=2)
        show(name, "real votes, literal", AdaBoostMH(literal, votes="real", n_rounds=ROUNDS))
        share = LiteralProduct.accepted / LiteralProduct.rounds
        print(f"{'':10} a second term lowers the energy in {share:.1%} of the rounds")
        product = Product(Stump(), n_terms=2)
        show(name, "real votes, set once", AdaBoostMH(product, votes="real", n_rounds=ROUNDS))
        show(name, "discrete votes", AdaBoostMH(product, n_rounds=ROUNDS))
    for name in ("pendigits", "letter"):
        for leaf_votes in ("inherit", "free"):
            tree = Tree(max_leaf_nodes=8, leaf_votes=leaf_votes)
            show(name, f"tree of 8, {leaf_votes}", AdaBoostMH(tree, n_rounds=ROUNDS))
    soft = {"votes": "real", "loss": "logistic", "learning_rate": 0.2, "n_rounds": 500}
    for name in ("adult", "pendigits", "letter"):
        for criterion in ("edge", "gain"):
            leaves = {"adult": 8, "pendigits": 16, "letter": 32}[name]
            tree = Tree(max_leaf_nodes=leaves, leaf_votes="free", criterion=criterion)
            title = f"tree of {leaves}, real, logistic, by {criterion}"
            show(name, title, AdaBoostMH(tree, **soft))


if __name__ == "__main__":
    main()
