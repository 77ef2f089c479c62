"""Rules in words that a person can read."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.model.rules import Cut, Linear, PerScore, ProductRule, Rule, Scores, Subset, TreeRule

# Longer lists of values and classes are cut short.
_MOST_NAMES = 8


@dataclass(frozen=True)
class ReadableRule:
    """One term of a model, in words.

    Attributes
    ----------
    round : int
        The round that added it, from 1.
    alpha : float
        Its coefficient; with real votes the largest of them.
    text : str
        What it tests, and whom it votes for.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", n_rounds=1).fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> print(model.rules()[0])
    +3.45 * (x0 >= 3.5) -> votes for b, against a
    """

    round: int
    alpha: float
    text: str

    def __str__(self) -> str:
        return self.text


class Wording:
    """How the columns, values and classes of a model are called.

    Parameters
    ----------
    name : function from int to str
        The name of a column.
    categories : dict from int to tuple
        The values of each categorical column.
    classes : list
        What each score column stands for; of two classes with one score column, both.
    """

    def __init__(
        self,
        name: Callable[[int], str],
        categories: dict[int, tuple[object, ...]],
        classes: list[object],
    ) -> None:
        self._given_name = name
        self._categories = categories
        self._classes = [str(one) for one in classes]

    def rule(self, number: int, rule: Rule, moves: Reals) -> ReadableRule:
        """Return a term in words; `moves` are its coefficients alpha * v."""
        size = float(np.abs(moves).max(initial=0.0))
        if isinstance(rule, TreeRule):
            size *= float(np.abs(rule.leaves).max())
            text = f"{size:+.2f} * tree\n" + self._tree(rule, moves, 0, 1)
        elif isinstance(rule, PerScore):
            names = self._classes[-len(moves) :]
            text = "\n".join(
                f"{move:+.2f} * {self.test(cut)} -> votes for {name}"
                for name, cut, move in zip(names, rule.cuts, moves, strict=True)
            )
        else:
            text = f"{size:+.2f} * {self.test(rule)} -> {self.votes(moves)}"
        return ReadableRule(number, size, text)

    def test(self, rule: Rule) -> str:
        """Return what a rule tests, as factors in brackets."""
        if isinstance(rule, Cut):
            return self._cut(rule)
        if isinstance(rule, Subset):
            return self._subset(rule)
        if isinstance(rule, ProductRule):
            return " * ".join(self.test(term) for term in rule.terms)
        if isinstance(rule, Linear):
            return f"({self._name(rule.column)}, {rule.fill:.6g} where missing)"
        assert isinstance(rule, Scores)
        order = np.argsort(-np.abs(rule.values[:-1]), kind="stable")[:_MOST_NAMES].tolist()
        values = [f"{self._value(rule.column, c)}: {rule.values[c]:+.2f}" for c in order]
        listed = _listed(values, len(rule.values) - 1)
        if rule.values[-1] != 0:
            listed += f", missing: {rule.values[-1]:+.2f}"
        return f"({self._name(rule.column)} by value {{{listed}}})"

    def votes(self, moves: Reals) -> str:
        """Return whom coefficients speak for and against, the strongest first."""
        if len(moves) == 1 and len(self._classes) == 2:
            high, low = self._classes[::-1] if moves[0] > 0 else self._classes
            return f"votes for {high}, against {low}"
        sizes = np.abs(moves)
        order = np.argsort(-sizes, kind="stable").tolist()
        named = {k: self._classes[k] for k in order}
        if not np.isin(sizes, (0.0, sizes.max())).all():
            named = {k: f"{self._classes[k]} ({sizes[k]:.2f})" for k in order}
        likes = [named[k] for k in order if moves[k] > 0]
        dislikes = [named[k] for k in order if moves[k] < 0]
        sides = [
            f"{word} {_listed(names[:_MOST_NAMES], len(names))}"
            for word, names in (("for", likes), ("against", dislikes))
            if names
        ]
        return "votes " + ", ".join(sides) if sides else "no votes"

    def _name(self, j: int) -> str:
        # A line break in a name would break the rule's line.
        return " ".join(self._given_name(j).split())

    def _cut(self, cut: Cut) -> str:
        if cut.column < 0:
            return "(always)"
        name = self._name(cut.column)
        if cut.threshold == -np.inf:
            return f"({name} is {'missing' if cut.missing > 0 else 'present'})"
        also = " or missing" if cut.missing > 0 else ""
        return f"({name} >= {cut.threshold:.6g}{also})"

    def _subset(self, subset: Subset) -> str:
        inside = np.flatnonzero(subset.values[:-1] > 0).tolist()
        outside = np.flatnonzero(subset.values[:-1] < 0).tolist()
        name, values = self._name(subset.column), subset.values
        # The shorter list says the same.
        if len(inside) <= len(outside):
            return f"({name} {self._among(subset.column, inside, values[-1] > 0, '')})"
        return f"({name} {self._among(subset.column, outside, values[-1] < 0, 'not ')})"

    def _among(self, column: int, codes: list[int], missing: bool, negation: str) -> str:
        names = [self._value(column, code) for code in codes[:_MOST_NAMES]]
        total = len(codes) + bool(missing)
        if missing:
            names.append("missing")
        if total == 1:
            return f"is {negation}{names[0]}"
        return f"{negation}in {{{_listed(names, total)}}}"

    def _value(self, column: int, code: int) -> str:
        value = self._categories[column][code]
        return f"{value:g}" if isinstance(value, float) else str(value)

    def _tree(self, tree: TreeRule, moves: Reals, place: int, depth: int) -> str:
        """Return the branches under a node, one a line, the deeper the further in."""
        node, pad = tree.nodes[place], "  " * depth
        branches = [(self.test(node.test), node.high), ("else", node.low)]
        if not node.test.factors:
            del branches[1]
        lines = []
        for word, end in branches:
            if end >= 0:
                lines.append(f"{pad}{word}:\n{self._tree(tree, moves, end, depth + 1)}")
            else:
                leaf = moves * tree.leaves[-1 - end]
                lines.append(f"{pad}{word}: {self._leaf(leaf, tree.leaves.dtype != np.int8)}")
        return "\n".join(lines)

    def _leaf(self, moves: Reals, sized: bool) -> str:
        """Return what a leaf says; with real values also how loudly."""
        size = f" by {np.abs(moves[0]):.2f}" if sized and len(moves) == 1 else ""
        return self.votes(moves) + size


def _listed(names: list[str], total: int) -> str:
    more = total - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
