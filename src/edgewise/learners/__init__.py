"""Learners: which base functions can be made."""

from typing import Any

from edgewise.learners.base import Cut, Energies, Learner
from edgewise.learners.stump import CONSTANT, Stump
from edgewise.validation import one_of

__all__ = ["CONSTANT", "LEARNERS", "Cut", "Energies", "Learner", "Stump", "learner_named"]

LEARNERS: dict[str, type[Learner]] = {"stump": Stump}


def learner_named(learner: Any) -> Learner:
    """Return a learner for a name or an object.

    Raises
    ------
    ValueError, TypeError
        If it is neither, or one of its settings is wrong.
    """
    if isinstance(learner, str):
        learner = LEARNERS[one_of("learner", learner, LEARNERS)]()
    if not isinstance(learner, Learner):
        names = ", ".join(repr(name) for name in LEARNERS)
        raise TypeError(f"learner must be one of {names} or a Learner object, got {learner!r}")
    learner.validate()
    return learner
