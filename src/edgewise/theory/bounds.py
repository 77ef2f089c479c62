"""Training bounds: what the energies and the edges of the rounds say about the training error."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.theory._checks import as_real, check_count, check_real


def exponential_loss_bound(energies: ArrayLike) -> NDArray[np.float64]:
    """Exponential loss after each round: the running product of the energies.

    With initial weights that sum to one, R_exp(f, W1) after t rounds equals Z_1 * ... * Z_t
    (Kégl and Busa-Fekete 2009a section 2.1, Kégl 2014b below eq. 3): each update divides the
    weights by its Z, so
    the product of the Zs is what has been divided out. The product is taken through logarithms.

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, non-negative. It may be empty.

    Returns
    -------
    ndarray of shape (n_rounds,)
        Entry t is the product of the first t + 1 energies.

    Raises
    ------
    ValueError
        If `energies` is not 1-D, or holds a negative or non-finite value.

    Examples
    --------
    >>> from edgewise.theory import exponential_loss_bound
    >>> exponential_loss_bound([0.8, 0.5, 0.5])
    array([0.8, 0.4, 0.2])
    """
    values = as_real(energies, "energies", ndim=(1,))
    if (values < 0).any():
        raise ValueError(f"energies must not be negative, got {values.min():g}")
    with np.errstate(divide="ignore"):
        return np.exp(np.cumsum(np.log(values)))


def hamming_bound(energies: ArrayLike) -> NDArray[np.float64]:
    """Upper bound on the weighted Hamming loss after each round.

    An entry whose sign is wrong has y * f <= 0 and so exp(-y * f) >= 1: the Hamming loss under
    the initial weights, R_H(f, W1), is at most the exponential loss, the product of the
    energies (Kégl 2014b eqs. 1 and 3). A score of zero counts as wrong.

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, non-negative.

    Returns
    -------
    ndarray of shape (n_rounds,)
        The bound after each round; it has not been cut at 1.

    Raises
    ------
    ValueError
        If `energies` is not 1-D, or holds a negative or non-finite value.

    Examples
    --------
    >>> from edgewise.theory import hamming_bound
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
    """Upper bound on the share of examples given a wrong class, after each round.

    An example is wrong when some other class l has f_l >= f_c, c being the right one. Then its
    part of the exponential loss is at least w_c * exp(-f_c) + w_l * exp(f_c), and no less than
    2 * sqrt(w_c * w_l) whatever f_c is:

    - balanced weights, w_c = 1/(2n) and w_l = 1/(2n(K-1)): that is 1/(n * sqrt(K-1)), so the
      mean error is at most sqrt(K-1) * prod Z;
    - uniform weights, both 1/(nK): that is 2/(nK), so the mean error is at most
      K/2 * prod Z. Kégl and Busa-Fekete 2009a gives K, which also follows from one wrong sign an
      example.

    The bounds are on the mean over examples (Kégl and Busa-Fekete 2009a writes the one-error as a
    sum). One column (K = 1) stands for two classes by the sign of f, w = 1/n, and the factor is 1.

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, non-negative.
    n_classes : int
        Number of columns K of the label matrix; 1 for a two-class problem in a single column.
    init_weights : {"balanced", "uniform"}, default="balanced"
        How the initial weights were set: Kégl and Busa-Fekete 2009a eq. 2, or 1/(nK) everywhere.
    tight : bool, default=False
        With uniform weights and K >= 2, take the factor K/2 in place of the paper's K.

    Returns
    -------
    ndarray of shape (n_rounds,)
        The bound after each round; it has not been cut at 1.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import one_error_bound
    >>> one_error_bound([0.5, 0.5], n_classes=5)
    array([1. , 0.5])
    >>> one_error_bound([0.5, 0.5], n_classes=5, init_weights="uniform")
    array([2.5 , 1.25])
    """
    classes = check_count(n_classes, "n_classes")
    if init_weights not in ("balanced", "uniform"):
        raise ValueError(f"init_weights must be 'balanced' or 'uniform', got {init_weights!r}")
    if classes == 1:
        factor = 1.0
    elif init_weights == "balanced":
        factor = math.sqrt(classes - 1)
    else:
        factor = classes / 2 if tight else float(classes)
    return factor * exponential_loss_bound(energies)


def rounds_to_zero_error(n: int, n_classes: int, edge: float, *, tight: bool = False) -> int:
    """Count the rounds after which the training error is zero, if every edge is at least `edge`.

    Edges of at least delta give prod Z <= (1 - delta^2)^(T/2) <= exp(-T * delta^2 / 2). Under the
    balanced weights (Kégl and Busa-Fekete 2009a eq. 2) the smallest weight is 1/(2n(K-1)); below
    it no entry can
    have the wrong sign, which gives T* = ceil(2 ln(2n(K-1)) / delta^2) + 1 (Kégl 2014b eq. 13).
    With `tight`, sqrt(K-1) * prod Z < 1/n leaves no example in the wrong class (its footnote 2:
    ceil(2 ln(n sqrt(K-1)) / delta^2) + 1), though single entries may still have a wrong sign.
    The last + 1 makes the inequality strict. One column (K = 1) has the smallest weight 1/n, and
    both forms are ceil(2 ln(n) / delta^2) + 1.

    Parameters
    ----------
    n : int
        Number of training examples.
    n_classes : int
        Number of columns K of the label matrix; 1 for a two-class problem in a single column.
    edge : float
        The smallest edge of any round, in (0, 1], for weights that sum to one.
    tight : bool, default=False
        Whether to ask only that each example falls in its right class.

    Returns
    -------
    int
        The number of rounds T*.

    Raises
    ------
    TypeError
        If `n` or `n_classes` is not an integer, or `edge` not a number.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import rounds_to_zero_error
    >>> rounds_to_zero_error(n=1000, n_classes=10, edge=0.2)
    491
    >>> rounds_to_zero_error(n=1000, n_classes=10, edge=0.2, tight=True)
    402
    """
    examples = check_count(n, "n")
    classes = check_count(n_classes, "n_classes")
    delta = check_real(edge, "edge", 0.0, 1.0, open_low=True)
    if classes == 1:
        inverse = float(examples)
    elif tight:
        inverse = examples * math.sqrt(classes - 1)
    else:
        inverse = 2.0 * examples * (classes - 1)
    return math.ceil(2.0 * math.log(inverse) / delta**2) + 1
