"""The terms of additive models, and the error of models of different sizes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from edgewise.plots.drawing import BLUE, Display, escape_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.estimators.term_path import TermPath


@dataclass(eq=False, repr=False)
class TermPathDisplay(Display):
    """The held-out loss of additive models against their number of terms.

    Parameters
    ----------
    path : TermPath
        The result of ``term_path`` of an additive model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import TermPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMH("additive", random_state=0).fit(X, y)
    >>> TermPathDisplay.from_estimator(model, X, y).ax_.get_xlabel()
    'number of terms'
    """

    path: "TermPath"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: "Axes | None" = None, **settings: Any
    ) -> Self:
        """Train additive models of different sizes, and draw their losses.

        Parameters
        ----------
        estimator : AdaBoostMH or RankBoost
            A trained additive model.
        X, y : array-like
            The training rows and their targets.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        **settings
            Other arguments of ``term_path``: the queries `qid`, and the `sizes`.
        """
        return cls(estimator.term_path(X, y, **settings)).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        sizes = [step.n_terms for step in self.path.steps]
        losses = [step.loss for step in self.path.steps]
        axes.plot(sizes, losses, "o-", color=BLUE, markersize=4)
        axes.set(xlabel="number of terms", ylabel=f"held-out {escape_label(self.path.metric)}")
