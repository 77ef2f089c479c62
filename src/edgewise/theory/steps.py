"""One round: the energy and the step that follow from an edge."""

from typing import overload

import numpy as np
from numpy.typing import NDArray

from edgewise.theory._checks import Values, as_real


@overload
def energy(edge: float, total: float = 1.0) -> float: ...
@overload
def energy(edge: Values, total: float | Values = 1.0) -> NDArray[np.float64]: ...
def energy(edge: float | Values, total: float | Values = 1.0) -> float | NDArray[np.float64]:
    """Energy of a base classifier with votes of +-1 and its best step.

    Z = sqrt(W^2 - edge^2), W being the sum of the weights (Kégl 2014b below eq. 11, where W = 1).

    Parameters
    ----------
    edge : float or array-like
        The edge, between -W and W.
    total : float or array-like, default=1.0
        The sum W of the weights, positive.

    Returns
    -------
    float or ndarray
        The energy, between 0 and W.

    Raises
    ------
    ValueError
        If `total` is not positive or `edge` exceeds it in absolute value.

    Examples
    --------
    >>> from edgewise.theory import energy
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
    """Step alpha that minimises the energy of a base classifier with votes of +-1.

    alpha = 1/2 ln((W + edge) / (W - edge)) (Kégl 2014b eq. 11). It is infinite for a perfect
    classifier (edge = W) and odd in the edge.

    Parameters
    ----------
    edge : float or array-like
        The edge, between -W and W.
    total : float or array-like, default=1.0
        The sum W of the weights, positive.

    Returns
    -------
    float or ndarray
        The step.

    Raises
    ------
    ValueError
        If `total` is not positive or `edge` exceeds it in absolute value.

    Examples
    --------
    >>> from edgewise.theory import step
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
    gamma = as_real(edge, "edge")
    mass = as_real(total, "total")
    if (mass <= 0).any():
        raise ValueError(f"total must be positive, got {mass.min():g}")
    if (np.abs(gamma) > mass).any():
        raise ValueError("edge must not exceed total (the sum of the weights) in absolute value")
    return gamma, mass
