"""Whether a factorisation runs on compiled kernels or in NumPy."""

from edgewise.backend.choose import use_compiled

# Loading these few kernels takes half a second, less than those of boosting: from about a second
# of work in NumPy on they are worth it.
_EAGERNESS = 3.0


def worth_compiling(visits: float) -> bool:
    """Return whether work that visits this many entries in NumPy is worth compiled kernels.

    It does not depend on whether they are loaded already: twins agree within rounding errors
    only, and the same seed must always give the same bits.

    Examples
    --------
    >>> worth_compiling(1e3), worth_compiling(1e12)
    (False, True)
    """
    return use_compiled(_EAGERNESS * visits)
