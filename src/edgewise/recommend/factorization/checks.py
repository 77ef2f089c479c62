"""Checks of the parameters that factorisations share."""

from typing import Any

from edgewise.common.checks import integer, threads


def check_common(model: Any, own_epochs: bool = False) -> None:
    """Raise if a parameter is wrong that factorisations share, as far as the model has it.

    With `own_epochs` a number of epochs may be None, for one that the model chooses.
    """
    integer("n_factors", model.n_factors, 1)
    if hasattr(model, "n_epochs") and not (own_epochs and model.n_epochs is None):
        integer("n_epochs", model.n_epochs, 1)
    verbose = getattr(model, "verbose", 0)
    integer("verbose", int(verbose) if verbose in (True, False) else verbose, 0)
    threads("n_jobs", getattr(model, "n_jobs", None))
