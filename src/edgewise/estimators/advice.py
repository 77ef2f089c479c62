"""Warnings about data and models that a user would want to know of: each in one sentence."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from edgewise.common.dtypes import Codes
from edgewise.common.text import quote_names
from edgewise.data import BinnedTable, Bins
from edgewise.data.binned import Coding
from edgewise.estimators.targets import Labels

if TYPE_CHECKING:
    from edgewise.estimators.fitted import FittedClassifier

logger = logging.getLogger("edgewise")

# From this many whole numbers on, with fewer rows of each, classes look like amounts.
_MANY_NUMBERS, _FEW_ROWS = 30, 100

# Fewer rows tell nothing about columns and models.
_MIN_ROWS = 100

# A column is an id if this share of rows have a value of their own. It is a leak if this share of
# the importances is its own, the log loss below this share of the class frequencies', and the error
# of the commonest class in each of its bins below this share of the commonest class's.
_UNIQUE, _ONE_COLUMN, _LEAK_LOSS, _LEAK_ERROR = 0.9, 0.9, 0.05, 0.2

# Fewer bins may be even by chance.
_MIN_THRESHOLDS = 16

# The gain over the class frequencies below which a model has learned nothing.
_NO_GAIN = 0.002


def warn_about_labels(labels: Labels, n_rows: int) -> None:
    """Warn about classes that differ only in case or blanks, and about numbers as classes."""
    classes = labels.classes
    if labels.multilabel:
        return
    if classes.dtype.kind in "OU":
        spellings: dict[str, list[str]] = defaultdict(list)
        for name in map(str, classes.tolist()):
            spellings[" ".join(name.split()).casefold()].append(name)
        for names in spellings.values():
            if len(names) > 1:
                logger.warning(
                    "y has the classes %s, which differ only in case or blanks: if they are the "
                    "same class, spell them alike",
                    quote_names(names, 5),
                )
                return
    elif classes.dtype.kind in "iuf" and _MANY_NUMBERS <= len(classes) > n_rows / _FEW_ROWS:
        logger.warning(
            "y has %d different numbers, which are learned as classes without an order: to predict "
            "an amount, cut it into a few ranges, such as with pandas.qcut",
            len(classes),
        )


def warn_about_model(fitted: "FittedClassifier", binned: BinnedTable, labels: Labels) -> None:
    """Warn about a model that is no better than the class frequencies, or too good to be true."""
    if fitted.n_rows < _MIN_ROWS:
        return
    _warn_about_ids(fitted, binned.bins)
    record = fitted.held_out
    if record is None or not record.prior_log_loss > 0:
        return
    ratio = record.log_loss / record.prior_log_loss
    if ratio > 1 - _NO_GAIN:
        logger.warning(
            "the model predicts held-out rows no better than the class frequencies do (log loss "
            "%.4g against %.4g): the columns may not tell the classes apart",
            record.log_loss,
            record.prior_log_loss,
        )
    elif ratio < _LEAK_LOSS and fitted.n_features > 1:
        importances = fitted.importances(fitted.decreases)
        best = int(importances.argmax())
        if importances[best] >= _ONE_COLUMN and _predicts_alone(binned.codes(best), labels):
            logger.warning(
                "X has the column %r, which alone predicts nearly all held-out rows: if it is "
                "known only after the target, leave it out",
                fitted.feature_name(best),
            )


def _predicts_alone(bins: Codes, labels: Labels) -> bool:
    """Return whether the commonest class in each bin is nearly always right, or so each label."""
    errors = prior_errors = 0
    for classes in labels.codes.T if labels.multilabel else labels.codes[None]:
        n_classes = int(classes.max(initial=0)) + 1
        pairs = bins.astype(np.int64) * n_classes + classes
        size = n_classes * (int(bins.max(initial=0)) + 1)
        counts = np.bincount(pairs, minlength=size).reshape(-1, n_classes)
        errors += len(classes) - int(counts.max(axis=1).sum())
        prior_errors += len(classes) - int(counts.sum(axis=0).max())
    return errors < _LEAK_ERROR * prior_errors


def _warn_about_ids(fitted: "FittedClassifier", bins: Sequence[Coding]) -> None:
    """Warn about columns with a value of their own in nearly every row, or with row numbers."""
    n_rows = fitted.n_rows
    ids = {j for j, values in fitted.categories.items() if len(values) >= _UNIQUE * n_rows}
    used = np.flatnonzero(fitted.importances(fitted.decreases)).tolist()
    ids |= {j for j in used if _holds_row_numbers(bins[j], n_rows)}
    if ids:
        names = quote_names([fitted.feature_name(j) for j in sorted(ids)], 5)
        logger.warning(
            "X has a different value in nearly every row of %s: such ids tell nothing about other "
            "rows, leave them out",
            names,
        )


def _holds_row_numbers(bins: Coding, n_rows: int) -> bool:
    """Return whether bins are those of consecutive whole numbers, each in one row.

    Then all bins are equally wide, and as wide as they have rows.
    """
    if not isinstance(bins, Bins) or bins.has_missing or len(bins.thresholds) < _MIN_THRESHOLDS:
        return False
    widths = np.diff(bins.thresholds)
    are_even = np.abs(widths - n_rows / (len(bins.thresholds) + 1)) <= 1
    return bool(are_even.all() and (bins.thresholds % 1 == 0.5).all())
