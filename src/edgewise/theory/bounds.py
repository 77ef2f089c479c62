"""Training: the energy and step of one round, and bounds on the training error after many."""

import math
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import Values, integer, one_of, reals, up_to_one


@overload
def energy(edge: float, total: float = 1.0) -> float: ...
@overload
def energy(edge: Values, total: float | Values = 1.0) -> NDArray[np.float64]: ...
def energy(edge: float | Values, total: float | Values = 1.0) -> float | NDArray[np.float64]:
    """Energy of a base classifier with votes of +-1 and its best step.

    Z = sqrt(W^2 - edge^2) with W the sum of the weights (Kégl 2014b below eq. 11, where W = 1).

    Parameters
    ----------
    edge : float or array-like
        The edge, between -W and W.
    total : float or array-like, default=1.0
        The sum W of the weights, positive.

    Examples
    --------
    >>> energy(0.6)
    0.8
    """
    gamma, mass = _edge_and_total(edge, total)
    # (W - edge)(W + edge) keeps the digits that W^2 - edge^2 loses when the edge is close to W.
    result = np.sqrt((mass - gamma) * (mass + gamma))
    return float(result) if result.ndim == 0 else result


@overload
def step(edge: float, total: float = 1.0) -> float: ...
@overload
def step(edge: Values, total: float | Values = 1.0) -> NDArray[np.float64]: ...
def step(edge: float | Values, total: float | Values = 1.0) -> float | NDArray[np.float64]:
    """Step alpha that minimizes the energy of a base classifier with votes of +-1.

    alpha = 1/2 ln((W + edge) / (W - edge)) (Kégl 2014b eq. 11). It is infinite for a perfect
    classifier (edge = W) and odd in the edge.

    Takes the parameters of :func:`energy`.

    Examples
    --------
    >>> round(step(0.6), 6)
    0.693147
    """
    gamma, mass = _edge_and_total(edge, total)
    with np.errstate(divide="ignore"):
        result = np.asarray(np.arctanh(gamma / mass))
    return float(result) if result.ndim == 0 else result


def _edge_and_total(
    edge: float | Values, total: float | Values
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check that |edge| <= total elementwise."""
    gamma = reals("edge", edge)
    mass = reals("total", total)
    if (mass <= 0).any():
        raise ValueError(f"total must be positive, got {mass.min():g}")
    if (np.abs(gamma) > mass).any():
        raise ValueError("edge must not exceed total (the sum of the weights) in absolute value")
    return gamma, mass


def exponential_loss_bound(energies: ArrayLike) -> NDArray[np.float64]:
    """Exponential loss after each round: the running product of the energies.

    With initial weights that sum to one, R_exp(f, W1) after t rounds equals Z_1 * ... * Z_t, since
    each update divides the weights by its Z (Kégl and Busa-Fekete 2009a section 2.1, Kégl 2014b
    below eq. 3).

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, non-negative.

    Examples
    --------
    >>> exponential_loss_bound([0.8, 0.5, 0.5])
    array([0.8, 0.4, 0.2])
    """
    return np.exp(np.cumsum(log_energies(energies)))


def log_energies(energies: ArrayLike) -> NDArray[np.float64]:
    """Return ln Z of each round."""
    values = reals("energies", energies, ndim=(1,))
    if (values < 0).any():
        raise ValueError(f"energies must not be negative, got {values.min():g}")
    with np.errstate(divide="ignore"):
        return np.log(values)


def hamming_bound(energies: ArrayLike) -> NDArray[np.float64]:
    """Upper bound on the weighted Hamming loss after each round, not clipped at 1.

    An entry with a wrong sign (or a score of zero) has exp(-y * f) >= 1, so the Hamming loss under
    the initial weights, R_H(f, W1), is at most the exponential loss, the product of the energies
    (Kégl 2014b eqs. 1 and 3).

    Takes the parameters of :func:`exponential_loss_bound`.

    Examples
    --------
    >>> hamming_bound([0.9, 0.5])
    array([0.9 , 0.45])
    """
    return exponential_loss_bound(energies)


def one_error_bound(
    energies: ArrayLike,
    n_classes: int,
    init_weights: Literal["balanced", "uniform"] = "balanced",
    *,
    tight: bool = False,
) -> NDArray[np.float64]:
    """Upper bound on the share of misclassified examples after each round, not clipped at 1.

    Where another class l has f_l >= f_c, c being the true class, the example's part of the
    exponential loss is at least w_c * exp(-f_c) + w_l * exp(f_c) >= 2 * sqrt(w_c * w_l). With
    balanced weights this gives sqrt(K-1) * prod Z, with uniform weights K/2 * prod Z; Kégl and
    Busa-Fekete 2009a state K, which follows from one wrong sign per example.

    Parameters
    ----------
    energies
        As for :func:`exponential_loss_bound`.
    n_classes : int
        Number of columns K of the label matrix; 1 for a two-class problem in a single column, where
        the factor is 1.
    init_weights : {"balanced", "uniform"}, default="balanced"
        The initial weights: Kégl and Busa-Fekete 2009a eq. 2, or 1/(nK) everywhere.
    tight : bool, default=False
        With uniform weights and K >= 2, use the factor K/2 instead of the paper's K.

    Examples
    --------
    >>> one_error_bound([0.5, 0.5], n_classes=5)
    array([1. , 0.5])
    """
    classes = integer("n_classes", n_classes, 1)
    one_of("init_weights", init_weights, ("balanced", "uniform"))
    if classes == 1:
        factor = 1.0
    elif init_weights == "balanced":
        factor = math.sqrt(classes - 1)
    else:
        factor = classes / 2 if tight else float(classes)
    return factor * exponential_loss_bound(energies)


def rounds_to_zero_error(n: int, n_classes: int, edge: float, *, tight: bool = False) -> int:
    """Return the rounds to zero training error if every edge is at least `edge`.

    Edges of at least delta give prod Z <= (1 - delta^2)^(T/2) <= exp(-T * delta^2 / 2). Under the
    balanced weights (Kégl and Busa-Fekete 2009a eq. 2) the smallest weight is 1/(2n(K-1)). A loss
    below it leaves no entry with a wrong sign: T* = ceil(2 ln(2n(K-1)) / delta^2) + 1 (Kégl 2014b
    eq. 13). With `tight`, sqrt(K-1) * prod Z < 1/n leaves no example misclassified (its footnote 2:
    ceil(2 ln(n sqrt(K-1)) / delta^2) + 1), though single entries may have a wrong sign. The final
    + 1 makes the inequality strict. With one column (K = 1) the smallest weight is 1/n, and both
    forms are ceil(2 ln(n) / delta^2) + 1.

    Parameters
    ----------
    n : int
        Number of training examples.
    n_classes : int
        As for :func:`one_error_bound`.
    edge : float
        The smallest edge of any round, in (0, 1], for weights that sum to one.
    tight : bool, default=False
        Require only that every example is classified correctly.

    Examples
    --------
    >>> rounds_to_zero_error(n=1000, n_classes=10, edge=0.2)
    491
    """
    examples = integer("n", n, 1)
    classes = integer("n_classes", n_classes, 1)
    delta = up_to_one("edge", edge)
    if classes == 1:
        inverse = float(examples)
    elif tight:
        inverse = examples * math.sqrt(classes - 1)
    else:
        inverse = 2.0 * examples * (classes - 1)
    return math.ceil(2.0 * math.log(inverse) / delta**2) + 1
