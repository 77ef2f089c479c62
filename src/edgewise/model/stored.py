"""Terms from the arrays of a model file, which may be damaged or hostile."""

import numpy as np
from numpy.typing import NDArray

from edgewise.model.rule_terms import SIDES, RuleTerms


def checked_array(
    array: NDArray, dtype: type[np.generic], shape: tuple[int | None, ...], finite: bool = True
) -> NDArray:
    """Return an array of the given type and shape, or raise; None stands for any length."""
    if array.dtype != dtype or array.ndim != len(shape):
        raise ValueError("an array has the wrong type or shape")
    if any(
        want is not None and have != want for have, want in zip(array.shape, shape, strict=True)
    ):
        raise ValueError("an array has the wrong shape")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("an array has numbers that are not finite")
    return array


def read_rules(
    arrays: dict[str, NDArray],
    n_scores: int,
    n_columns: int,
    categories: dict[int, tuple[object, ...]],
) -> RuleTerms:
    """Return rule terms whose every reference leads somewhere, or raise.

    Parameters
    ----------
    arrays : dict of arrays
        What the file holds.
    n_scores : int
        K, the number of score columns.
    n_columns : int
        The number of columns, image filters included.
    categories : dict from int to tuple
        The values of each categorical column.
    """
    n_terms, n_nodes = len(arrays["alphas"]), len(arrays["low"])
    n_factors = len(arrays["columns"])
    values = arrays["values"]
    leaves = arrays["leaves"]
    terms = RuleTerms(
        checked_array(arrays["alphas"], np.float64, (n_terms,)),
        checked_array(arrays["votes"], np.float64, (n_terms, n_scores)),
        _bounds(arrays["firsts"], n_terms, n_nodes),
        checked_array(arrays["low"], np.int32, (n_nodes,)),
        checked_array(arrays["high"], np.int32, (n_nodes,)),
        checked_array(arrays["rest"], np.int32, (n_nodes,)),
        _bounds(arrays["starts"], n_nodes, n_factors),
        checked_array(arrays["columns"], np.int32, (n_factors,)),
        checked_array(arrays["thresholds"], np.float64, (n_factors,), finite=False),
        checked_array(arrays["missing"], np.int8, (n_factors,)),
        _bounds(arrays["value_starts"], n_factors, len(values)),
        checked_array(values, np.float64 if values.dtype == np.float64 else np.int8, (None,)),
        checked_array(leaves, np.float64, (None, leaves.shape[1] if leaves.ndim == 2 else 1)),
        checked_array(arrays["real"], np.bool_, (n_terms,)),
    )
    if terms.leaves.shape[1] not in (1, n_scores) or len(terms.leaves) < len(SIDES):
        raise ValueError("the leaves have the wrong shape")
    if not (terms.leaves[: len(SIDES)] == SIDES).all() or (np.diff(terms.firsts) < 1).any():
        raise ValueError("a term is damaged")
    _check_children(terms)
    _check_factors(terms, n_columns, categories)
    return terms


def _bounds(array: NDArray, n_parts: int, total: int) -> NDArray:
    """Return where parts begin and end: ascending from 0 to their total."""
    bounds = checked_array(array, np.int64, (n_parts + 1,))
    if bounds[0] != 0 or bounds[-1] != total or (np.diff(bounds) < 0).any():
        raise ValueError("the parts of a term are damaged")
    return bounds


def _check_children(terms: RuleTerms) -> None:
    """Raise unless every way through a tree goes down, stays in its term and ends in a leaf."""
    owner = np.repeat(np.arange(len(terms)), np.diff(terms.firsts))
    place = np.arange(len(terms.low))
    last = terms.firsts[1:][owner] if len(owner) else place
    product = terms.low == -1
    for children in (terms.low, terms.high, terms.rest):
        inner = children >= 0
        if (inner & ((children <= place) | (children >= last))).any():
            raise ValueError("a tree of the model leads astray")
        if (children < -len(terms.leaves)).any():
            raise ValueError("a tree of the model has no such leaf")
        if (~product & ~inner & (children >= -len(SIDES))).any():
            raise ValueError("a tree of the model ends in a leaf that is none of its own")
        ends = -1 - children[~inner & ~terms.real[owner]]
        if not np.isin(terms.leaves[ends], (-1.0, 0.0, 1.0)).all():
            raise ValueError("a leaf of the model is neither -1, 0 nor +1")
    single = (np.diff(terms.firsts)[owner] == 1) if len(owner) else product
    if (product & ~(single & (terms.high == -2) & (terms.rest == -3))).any():
        raise ValueError("a product of the model is damaged")
    n_factors = np.diff(terms.starts)
    if len(owner) and (product & terms.real[owner] & (n_factors != 1)).any():
        raise ValueError("a term with real values is damaged")


def _check_factors(
    terms: RuleTerms, n_columns: int, categories: dict[int, tuple[object, ...]]
) -> None:
    columns, sizes = terms.columns, np.diff(terms.value_starts)
    if len(columns) and (columns.min() < 0 or columns.max() >= n_columns):
        raise ValueError("a term names a column that does not exist")
    if not np.isin(terms.missing, (-1, 0, 1)).all():
        raise ValueError("a term is damaged")
    scored = terms.real & (terms.low[terms.firsts[:-1]] == -1) if len(terms) else terms.real
    node_scored = np.repeat(scored, np.diff(terms.firsts))
    factor_scored = np.repeat(node_scored, np.diff(terms.starts))
    if not np.isin(terms.values[np.repeat(~factor_scored, sizes)], (-1, 0, 1)).all():
        raise ValueError("a subset is damaged")
    if (sizes[factor_scored] == 0).any():
        raise ValueError("a term with real values tests no categorical column")
    for column, size, threshold in zip(
        columns.tolist(), sizes.tolist(), terms.thresholds.tolist(), strict=True
    ):
        if (column in categories) != (size > 0):
            raise ValueError("a term tests a column of another kind")
        if size > 0 and size != len(categories[column]) + 1:
            raise ValueError("a subset does not match the values of its column")
        if size == 0 and threshold != threshold:
            raise ValueError("a threshold is not a number")
