"""The terms of a model from the arrays of a file, which may be damaged or hostile."""

import numpy as np
from numpy.typing import NDArray

from edgewise.model import FeatureTerms, StumpTerms, Terms
from edgewise.model.stored import checked_array, read_rules

# What a file may ask for. Prediction tables hold a row of K numbers for each threshold, which for a
# hostile file can be far more than the file itself; real models stay well below.
_MOST_TABLE_BYTES = 1 << 28


def kind_of(terms: Terms) -> str:
    """Return the name that a kind of terms has in files."""
    if isinstance(terms, StumpTerms):
        return "stumps"
    return "features" if isinstance(terms, FeatureTerms) else "rules"


def read_terms(
    kind: str,
    arrays: dict[str, NDArray],
    width: int,
    n_features: int,
    n_filters: int,
    categories: dict[int, tuple[object, ...]],
) -> Terms:
    """Return the terms, or raise if they are not those of a model."""
    if kind == "stumps":
        terms = _stumps(arrays, width, n_features)
        _check_table_size(terms)
        return terms
    if kind == "features":
        return _features(arrays, width, n_features, categories)
    return read_rules(arrays, width, n_features + n_filters, categories)


def _features(
    arrays: dict[str, NDArray],
    width: int,
    n_features: int,
    categories: dict[int, tuple[object, ...]],
) -> FeatureTerms:
    n_terms = len(arrays["alphas"])
    columns = checked_array(arrays["columns"], np.int32, (n_terms,))
    if n_terms and (columns.min() < 0 or columns.max() >= n_features):
        raise ValueError("a term names a column that does not exist")
    if np.isin(columns, list(categories)).any():
        raise ValueError("a term takes a categorical column as numbers")
    return FeatureTerms(
        columns,
        checked_array(arrays["fills"], np.float64, (n_terms,)),
        checked_array(arrays["alphas"], np.float64, (n_terms,)),
        checked_array(arrays["votes"], np.float64, (n_terms, width)),
    )


def _stumps(arrays: dict[str, NDArray], width: int, n_features: int) -> StumpTerms:
    columns = arrays["columns"]
    if columns.ndim != 2 or columns.shape[1] not in (1, width):
        raise ValueError("the terms have the wrong shape")
    shape = columns.shape
    terms = StumpTerms(
        checked_array(columns, np.int32, shape),
        checked_array(arrays["thresholds"], np.float64, shape, finite=False),
        checked_array(arrays["missing"], np.int8, shape),
        checked_array(arrays["alphas"], np.float64, shape[:1]),
        checked_array(arrays["votes"], np.float64, (shape[0], width)),
    )
    if len(terms) and (columns.min() < -1 or columns.max() >= n_features):
        raise ValueError("a term names a column that does not exist")
    if np.isnan(terms.thresholds).any() or not np.isin(terms.missing, (-1, 0, 1)).all():
        raise ValueError("a term is damaged")
    return terms


def _check_table_size(terms: StumpTerms) -> None:
    """Raise if the model's prediction tables would take more memory than any real model's."""
    row_bytes = 8 * terms.n_scores
    if terms.columns.size * row_bytes <= _MOST_TABLE_BYTES:
        return
    cuts = np.stack([terms.columns.ravel().astype(np.float64), terms.thresholds.ravel()])
    distinct = np.unique(cuts, axis=1).shape[1]
    if distinct * row_bytes > _MOST_TABLE_BYTES:
        raise ValueError(f"its tables of {distinct} thresholds are larger than any model's")
