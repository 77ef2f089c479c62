"""Parameters of recommenders: how a dataclass declares them, and those that many share."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from edgewise.common.checks import integer, threads, verbosity
from edgewise.common.fields import Value, finite

MAX_INTEGER = 2**31 - 1
"""The largest integer parameter: compiled loops take no larger ones."""

NUMBER = Value(float, finite)
"""A finite number of a fitted model in a file."""

SEED = Value(int, lambda seed: integer("seed_", seed, 0, MAX_INTEGER))
"""The seed of a fitted model in a file."""


def parameter(default: Any, check: Callable[..., Any], *limits: Any) -> Any:
    """Declare a parameter of a recommender that is a dataclass, with its default and its check.

    Fits call ``check(name, value, *limits)``, except for None where that is the default.
    """
    return field(default=default, metadata={"check": check, "limits": limits})


def check_parameters(model: Any) -> None:
    """Raise if a declared parameter of a recommender is invalid."""
    for item in fields(model):
        value, check = getattr(model, item.name), item.metadata.get("check")
        if check is None or (value is None and item.default is None):
            continue
        limits = item.metadata["limits"]
        if check is integer:
            # An error mentions the declared limits first.
            integer(item.name, value, *limits[:1])
            limits = (*limits, MAX_INTEGER)[:2]
        check(item.name, value, *limits)


@dataclass(eq=False, repr=False, kw_only=True)
class Seeded:
    """The parameter of recommenders that draw random numbers."""

    random_state: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class Threaded:
    """The parameter of recommenders that use several threads."""

    n_jobs: int | None = parameter(None, threads)


@dataclass(eq=False, repr=False, kw_only=True)
class Verbose:
    """The parameter of recommenders that show progress."""

    verbose: int = parameter(0, verbosity)
