"""Whether the predicted probabilities of rating levels come true."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Reals
from edgewise.common.text import text_table
from edgewise.metrics.classification import reliability
from edgewise.ratings import Ratings
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.model import check_ratings


@dataclass(frozen=True, eq=False, repr=False)
class LevelCalibration:
    """The result of :func:`calibration`; ``print`` it for a table.

    Attributes
    ----------
    levels : float array
        The levels of the ratings.
    expected, observed : float arrays
        For each level, the mean of its predicted probability, and its share of the test ratings.
    chances, shares, counts : arrays
        Bins of all predicted probabilities, those of one level or of another: the mean of a bin,
        how often it came true, and its size.
    """

    levels: Reals
    expected: Reals
    observed: Reals
    chances: Reals
    shares: Reals
    counts: NDArray[np.intp]

    @property
    def error(self) -> float:
        """The expected calibration error: how far chances and shares are apart, on average."""
        return float(np.average(np.abs(self.chances - self.shares), weights=self.counts))

    def __repr__(self) -> str:
        return f"LevelCalibration({len(self.levels)} levels, off by {self.error:.4f})"

    def __str__(self) -> str:
        bins = zip(self.chances, self.shares, self.counts, strict=True)
        rows = [(f"{chance:.3f}", f"{share:.3f}", f"{n:,}") for chance, share, n in bins]
        each = zip(self.levels, self.expected, self.observed, strict=True)
        more = [(f"{level:g}", f"{one:.3f}", f"{two:.3f}") for level, one, two in each]
        tables = (
            [("predicted", "came true", "count"), *rows],
            [("level", "predicted", "share"), *more],
        )
        return (
            "\n\n".join(text_table(list(table)) for table in tables) + f"\noff by {self.error:.4f}"
        )

    def to_frame(self, library: str | None = None) -> Any:
        """Return the bins as a frame of `library`, "pandas" or "polars"; None takes either."""
        from edgewise.io.frames import frame_library

        columns = {"predicted": self.chances, "came_true": self.shares, "count": self.counts}
        return frame_library(library).DataFrame(columns)


def calibration(
    model: Recommender, test: Ratings, n_bins: int = 10, unknown: str = "mean"
) -> LevelCalibration:
    """Test whether probabilities of rating levels are right: of 100 chances of 0.7, 70 come true.

    Parameters
    ----------
    model : Recommender
        A fitted model with ``predict_proba``: :class:`BoostedFactorization`.
    test : Ratings
        Ratings that training has not seen.
    n_bins : int, default 10
        Number of bins, of equal width, for the probabilities.
    unknown : {"mean", "nan", "raise"}, default "mean"
        For users and items that training does not know: predict the shares of levels in training,
        leave their ratings out, or raise.

    Examples
    --------
    >>> from edgewise import BoostedFactorization, Ratings
    >>> from edgewise.recommend import calibration
    >>> rows = [(user, item, 1 + (user + item) % 3) for user in range(20) for item in range(10)]
    >>> train, test = Ratings.from_arrays(*zip(*rows)).split(0.5, random_state=0)
    >>> found = calibration(BoostedFactorization(20, random_state=0).fit(train), test, n_bins=5)
    >>> found.levels, found.counts.sum()
    (array([1., 2., 3.]), np.int64(300))
    """
    integer("n_bins", n_bins, 1)
    check_ratings("test", test)
    one_of("unknown", unknown, UNKNOWN)
    predict = getattr(model, "predict_proba", None)
    if predict is None:
        raise TypeError(
            f"model must have predict_proba, as a BoostedFactorization, got {type(model).__name__}"
        )
    users, items = test.user_ids.values[test.users], test.item_ids.values[test.items]
    probabilities = np.asarray(predict(users, items, unknown=unknown))
    known = ~np.isnan(probabilities[:, 0])
    if not known.any():
        raise ValueError("test must have a user and an item that training knows, got none")
    levels: Reals = np.asarray(vars(model)["levels_"])
    starts = vars(model).get("level_starts_", (levels[1:] + levels[:-1]) / 2.0)
    there = np.searchsorted(starts, test.values[known], side="right")[:, None]
    hits = there == np.arange(len(levels))
    bins = reliability(probabilities[known].ravel(), hits.ravel(), n_bins)
    return LevelCalibration(levels, probabilities[known].mean(axis=0), hits.mean(axis=0), *bins)
