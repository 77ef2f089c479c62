"""The votes of one column: a step function for each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.plots.drawing import (
    COLORS,
    GRAY,
    PALE,
    Display,
    escape_label,
    short_label,
    unwrap_fitted,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.model import Curve

# The maximum number of values of a categorical column to draw.
_MAX_VALUES = 30


@dataclass(eq=False, repr=False)
class VoteCurveDisplay(Display):
    """The votes of one column: the contribution of its values to the score of each class.

    A categorical column has a step for each of its values, by increasing vote. Of more than six
    classes, the six that the column changes most are named and the others are gray. For a list of
    `RankFusion`, rank j is at -j. Dots at the right are the scores of missing values, or of
    documents that a list does not return, unless they are 0.

    Parameters
    ----------
    curve : Curve
        One curve of ``model.explain()``; that of a categorical column has thresholds 0.5, 1.5 and
        so on.
    classes : sequence
        The class labels: ``model.explain().classes``.
    values : sequence of str, default None
        The values of a categorical column.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import VoteCurveDisplay
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> VoteCurveDisplay.from_estimator(model, "x0").ax_.get_xlabel()
    'x0'
    """

    curve: "Curve"
    classes: Sequence[Any]
    values: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, feature: str | int | None = None, *, ax: "Axes | None" = None
    ) -> Self:
        """Draw the votes of a column.

        Parameters
        ----------
        estimator : AdaBoostMH, RankBoost or RankFusion
            A trained model, or a pipeline or search that ends with one. Its rules test one column
            each, as stumps do; scikit-learn's ``PartialDependenceDisplay`` takes any model.
        feature : str or int, default None
            The column, by its name or number; None is the most important one.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        (model,) = unwrap_fitted(estimator, "history_")
        explanation = model.explain()
        classes, fitted = explanation.classes, model.fitted_
        uses_first = feature is None and len(explanation) == 0
        for j in fitted.categories:
            if uses_first or feature in (j, fitted.feature_name(j)):
                votes = _category_curve(model, j)
                if votes is not None:
                    return cls(votes[0], classes, votes[1]).plot(ax=ax)
        if len(explanation) == 0:
            raise ValueError(
                "estimator must have rules on single columns, as stumps are; for other models, "
                "scikit-learn's PartialDependenceDisplay draws the effect of a column"
            )
        try:
            curve = explanation[0] if feature is None else explanation.curve(feature)
        except KeyError as error:
            raise ValueError(f"feature: {error.args[0]}") from None
        return cls(curve, classes).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        curve = self.curve
        names = _score_names(curve, self.classes)
        edges, scores = _steps(curve, is_categorical=self.values is not None)
        groups = _group_equal_curves(np.vstack([scores, curve.missing]))
        n_named, n_others = len(COLORS), sum(map(len, groups[len(COLORS) :]))
        # Where lines coincide, the wider one shows behind the narrower one.
        widths = np.linspace(3.6, 1.6, min(len(groups), n_named)) if len(groups) > 1 else [1.9]
        for rank, group in enumerate(groups):
            look: dict[str, Any] = {"color": PALE, "linewidth": 1.0, "zorder": 0.9}
            label = f"{n_others} others" if rank == n_named else None
            if rank < n_named:
                look = {"color": COLORS[rank], "linewidth": widths[rank]}
                label = ", ".join(names[k] for k in group)
            axes.stairs(scores[:, group[0]], edges, baseline=None, label=label, **look)
        axes.axhline(0.0, color=GRAY, linewidth=0.8, zorder=0.8)
        axes.set_xlim(edges[0], edges[-1])
        if curve.missing.any():
            _draw_missing(axes, curve.missing, groups, edges)
        if self.values is not None:
            labels = [short_label(value, 20) for value in self.values]
            axes.set_xticks(range(len(labels)), labels, rotation=90 if len(labels) > 6 else 0)
        axes.set(xlabel=escape_label(curve.name), ylabel="added to the score")
        if len(self.classes) > 1:
            self._add_legend(axes, "class" if len(names) > 1 else None)


def _score_names(curve: "Curve", classes: Sequence[Any]) -> list[str]:
    n_scores = curve.scores.shape[1]
    if n_scores == 1 and len(classes) == 2:
        return [f"above 0: {escape_label(classes[1])}\nbelow 0: {escape_label(classes[0])}"]
    if len(classes) != n_scores:
        raise ValueError(
            f"classes must have {n_scores} entries, one for each score of the curve, "
            f"got {len(classes)}"
        )
    return [escape_label(name) for name in classes]


def _steps(curve: "Curve", is_categorical: bool) -> tuple[Reals, Reals]:
    """Return the edges of the steps, with some room at both ends, and the scores."""
    if is_categorical:
        return np.arange(len(curve.scores) + 1, dtype=np.float64) - 0.5, curve.scores
    # Infinite thresholds, which separate missing or infinite values, are not on the axis.
    thresholds = curve.thresholds[np.isfinite(curve.thresholds)]
    first = int(np.searchsorted(curve.thresholds, -np.inf, side="right"))
    scores = curve.scores[first : first + len(thresholds) + 1]
    low, high = (thresholds[0], thresholds[-1]) if len(thresholds) else (0.0, 0.0)
    room = 0.08 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.concatenate([[low - room], thresholds, [high + room]]), scores


def _category_curve(model: Any, j: int) -> "tuple[Curve, list[str]] | None":
    """Return the votes of a categorical column, and its values, in the order of their votes.

    Only the values with the largest votes are kept. None if no rule tests this column alone.
    """
    from edgewise.model import Curve
    from edgewise.model.rules import Scores, Subset
    from edgewise.model.wording import category_name

    # A cut of a rate is a subset of values.
    fitted = model.fitted_.in_subsets
    terms = fitted.terms
    categories, name = fitted.categories[j], fitted.feature_name(j)
    votes: Reals = np.zeros((len(categories) + 1, terms.n_scores))
    for rule, coefficients in zip(terms.rules, terms.coefficients, strict=True):
        if isinstance(rule, (Subset, Scores)) and rule.column == j:
            votes += np.outer(rule.values, coefficients)
    if not votes.any():
        return None
    scores, missing = votes[:-1], votes[-1]
    largest = np.argsort(-np.abs(scores).max(axis=1), kind="stable")[:_MAX_VALUES]
    widest = np.ptp(scores, axis=0).argmax()
    order = largest[np.argsort(scores[largest, widest], kind="stable")]
    if len(order) < len(categories):
        name = f"{name} ({len(order)} of {len(categories):,} values)"
    thresholds = np.arange(1, len(order), dtype=np.float64) - 0.5
    importance = float(model.feature_importances_[j])
    curve = Curve(name, j, importance, thresholds, scores[order], missing)
    return curve, [category_name(categories[code]) for code in order.tolist()]


def _group_equal_curves(scores: Reals) -> list[list[int]]:
    """Group classes with equal step functions, the largest effect first."""
    groups: dict[bytes, list[int]] = {}
    for k in np.argsort(-np.ptp(scores, axis=0), kind="stable").tolist():
        # Equal up to rounding; adding 0.0 makes -0.0 positive.
        groups.setdefault((scores[:, k].round(9) + 0.0).tobytes(), []).append(k)
    return list(groups.values())


def _draw_missing(axes: "Axes", missing: Reals, groups: list[list[int]], edges: Reals) -> None:
    """Draw the scores of a missing value as dots in a strip at the right."""
    width = 0.1 * (edges[-1] - edges[0])
    x = edges[-1] + width / 2
    axes.axvspan(edges[-1], edges[-1] + width, color=GRAY, alpha=0.08, linewidth=0, zorder=0)
    for rank in reversed(range(len(groups))):
        color = COLORS[rank] if rank < len(COLORS) else PALE
        axes.plot([x], [missing[groups[rank][0]]], "o", color=color, markersize=5)
    axes.set_xlim(edges[0], edges[-1] + width)
    # The strip is not part of the scale, so it has no tick.
    axes.set_xticks([tick for tick in axes.get_xticks() if edges[0] <= tick <= edges[-1]])
    axes.annotate(
        "missing", (x, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=8, color=GRAY,
    )  # fmt: skip
