"""Training: the energy and step of one round, bounds on the training error, and pseudo-weights."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import Values, integer, one_of, reals, signs, up_to_one
from edgewise.common.dtypes import SIGN, Reals, Signs


def energy(edge: float | Values, total: float | Values = 1.0) -> Any:
    """Energy of a base classifier with votes of +-1 and its best step.

    Z = sqrt(W^2 - edge^2) (Kégl 2014b below eq. 11, where W = 1).

    Parameters
    ----------
    edge : float or array-like
        The edge, between -W and W.
    total : float or array-like, default 1.0
        The sum W of the weights, positive.

    Examples
    --------
    >>> energy(0.6)
    0.8
    """
    gamma, mass = _check_edge(edge, total)
    # (W - edge)(W + edge) keeps the digits that W^2 - edge^2 loses when the edge is close to W.
    return to_float(np.sqrt((mass - gamma) * (mass + gamma)))


def step(edge: float | Values, total: float | Values = 1.0) -> Any:
    """Step alpha that minimizes the energy of a base classifier with votes of +-1.

    alpha = 1/2 ln((W + edge) / (W - edge)) (Kégl 2014b eq. 11); infinite for a perfect classifier
    (edge = W). Takes the parameters of :func:`energy`.

    Examples
    --------
    >>> round(step(0.6), 6)
    0.693147
    """
    gamma, mass = _check_edge(edge, total)
    with np.errstate(divide="ignore"):
        return to_float(np.arctanh(gamma / mass))


def to_float(values: Any) -> Any:
    """Return an array without dimensions as a float, and any other array as it is."""
    return float(values) if np.ndim(values) == 0 else values


def _check_edge(edge: float | Values, total: float | Values) -> tuple[Reals, Reals]:
    """Return both as arrays; raise unless ``|edge| <= total`` elementwise."""
    gamma, mass = reals("edge", edge), reals("total", total)
    if (mass <= 0).any():
        raise ValueError(f"total must be positive, got {mass.min():g}")
    if (np.abs(gamma) > mass).any():
        raise ValueError("edge must not exceed total (the sum of the weights) in absolute value")
    return gamma, mass


def training_loss_bound(energies: ArrayLike) -> Reals:
    """Upper bound on the training loss after each round: the running product of the energies.

    With initial weights that sum to one, the product equals the exponential loss. It bounds the
    weighted Hamming loss, where a score of zero counts as wrong (Kégl 2014b eqs. 1 and 3), and the
    ranking loss, the share of the crucial pairs (x0, x1) with H(x1) <= H(x0) (Iyer 1999 theorem 1).

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, not negative.

    Examples
    --------
    >>> training_loss_bound([0.8, 0.5, 0.5])
    array([0.8, 0.4, 0.2])
    """
    return np.exp(np.cumsum(log_energies(energies)))


def log_energies(energies: ArrayLike) -> Reals:
    """Return ln Z of each round."""
    values = reals("energies", energies, ndim=(1,))
    if (values < 0).any():
        raise ValueError(f"energies must not be negative, got {values.min():g}")
    with np.errstate(divide="ignore"):
        return np.log(values)


def one_error_bound(
    energies: ArrayLike,
    n_classes: int,
    init_weights: Literal["balanced", "uniform"] = "balanced",
    *,
    tight: bool = False,
) -> Reals:
    """Upper bound on the share of misclassified examples after each round, not clipped at 1.

    The product of the energies times sqrt(K - 1) for balanced weights, and times K (Kégl and
    Busa-Fekete 2009a) or K/2 for uniform weights.

    Parameters
    ----------
    energies
        As for :func:`training_loss_bound`.
    n_classes : int
        Number of columns K of the label matrix; 1 for a two-class problem in a single column, where
        the factor is 1.
    init_weights : {"balanced", "uniform"}, default "balanced"
        The initial weights: Kégl and Busa-Fekete 2009a eq. 2, or 1/(nK) everywhere.
    tight : bool, default False
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
    return factor * training_loss_bound(energies)


def rounds_to_zero_error(n: int, n_classes: int, edge: float, *, tight: bool = False) -> int:
    """Return the rounds to zero training error if every edge is at least `edge`.

    The loss falls below the smallest balanced weight, 1 / (2n(K - 1)), so that no entry has a wrong
    sign: T* = ceil(2 ln(2n(K - 1)) / edge^2) + 1 (Kégl 2014b eq. 13). With `tight`, no example is
    misclassified, though entries may have a wrong sign: ceil(2 ln(n sqrt(K - 1)) / edge^2) + 1 (its
    footnote 2). With one column, both are ceil(2 ln(n) / edge^2) + 1.

    Parameters
    ----------
    n : int
        Number of training examples.
    n_classes : int
        As for :func:`one_error_bound`.
    edge : float
        The smallest edge of any round, in (0, 1], for weights that sum to one.
    tight : bool, default False
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


def pseudo_labels(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> Signs:
    """Label of each example in the two-class problem that votes define.

    For given votes v the multi-class edge is a two-class edge, sum_i phi(x_i) s_i with
    s_i = sum_l w_il v_l y_il. The pseudo-label of an example is the sign of s_i, +1 where it is
    zero, and its pseudo-weight is ``|s_i|`` (Kégl 2014b, above eq. 14).

    Parameters
    ----------
    weights : array-like of shape (n, K)
        Weights w of the round, not negative.
    signs : array-like of shape (n, K)
        Labels y of +-1.
    votes : array-like of shape (K,)
        Votes v of +-1, or 0 where a class abstains.

    Examples
    --------
    >>> pseudo_labels([[0.25, 0.125, 0.125]], [[1, -1, -1]], [-1, 1, -1])
    array([-1], dtype=int8)
    """
    return np.where(_sum_signed_weights(weights, signs, votes) < 0, -1, 1).astype(SIGN)


def pseudo_weights(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> Reals:
    """Weight of each example in the two-class problem of the votes: see :func:`pseudo_labels`.

    Examples
    --------
    >>> pseudo_weights([[0.25, 0.125, 0.125]], [[1, -1, -1]], [-1, 1, -1])
    array([0.25])
    """
    return np.abs(_sum_signed_weights(weights, signs, votes))


def pseudo_weight_sum(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> float:
    """Sum of the pseudo-weights, w'_Sigma (Kégl 2014b eq. 14): see :func:`pseudo_labels`.

    It is at most the sum of the weights, equal to it with two classes, and at least the edge of any
    classifier with these votes.

    Examples
    --------
    >>> pseudo_weight_sum([[0.5, 0.25, 0.25]], [[1, -1, -1]], [-1, 1, -1])
    0.5
    """
    return float(pseudo_weights(weights, signs, votes).sum())


def _sum_signed_weights(weights: ArrayLike, labels: ArrayLike, votes: ArrayLike) -> Reals:
    """Return sum_l w_il v_l y_il of each example."""
    w = reals("weights", weights, ndim=(2,))
    y, v = signs("signs", labels, ndim=2), signs("votes", votes, ndim=1, zero=True)
    if (w < 0).any():
        raise ValueError(f"weights must not be negative, got {w.min():g}")
    if y.shape != w.shape:
        raise ValueError(f"signs must have the shape of weights, {w.shape}, got {y.shape}")
    if len(v) != w.shape[1]:
        raise ValueError(f"votes must have {w.shape[1]} entries, one per class, got {len(v)}")
    return np.asarray((w * y) @ v)
