"""The rules of a ranker in words."""

import math

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.model.readable import ReadableRule, Wording
from edgewise.model.rules import Cut, Linear, Rule, Scores, TreeRule


class RankWording(Wording):
    """How the columns and values of a ranker are called; rules add to one score."""

    def rule(self, number: int, rule: Rule, moves: Reals) -> ReadableRule:
        """Return a term in words: what it adds to the score of which documents."""
        move = float(moves[0])
        if isinstance(rule, TreeRule):
            span = abs(move) * float(np.ptp(rule.leaves))
            return ReadableRule(number, span, f"{span:.2f} * tree\n{self._tree(rule, moves, 0, 1)}")
        if isinstance(rule, (Linear, Scores)):
            return ReadableRule(number, abs(move), f"{move:+.4g} * {self.test(rule)}")
        # Of -1 and +1; what counts is the difference.
        return ReadableRule(number, abs(2 * move), f"{2 * move:+.2f} where {self.test(rule)}")

    def _leaf(self, moves: Reals, sized: bool) -> str:
        """Return what a leaf adds."""
        return f"{float(moves[0]):+.2f}"


class FusionWording(RankWording):
    """How ranked lists are called, whose columns hold minus the position."""

    def _cut(self, cut: Cut) -> str:
        name = self._name(cut.column)
        if cut.threshold == -np.inf:
            return f"({name}: {'unranked' if cut.missing > 0 else 'ranked'})"
        also = " or unranked" if cut.missing > 0 else ""
        return f"({name}: top {math.floor(-cut.threshold)}{also})"
