"""A check that neighbourhood models had of their own."""

from typing import Any

from edgewise import validation


def threads(value: Any) -> None:
    """Raise unless `value` is a number of threads."""
    validation.threads("n_jobs", value)
