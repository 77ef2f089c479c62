"""Models: terms packed into arrays, prediction, explanation and files."""

from edgewise.model.archive import FORMAT_VERSION, ModelFileError, read, write
from edgewise.model.explain import Curve, Explanation, explain
from edgewise.model.tables import ScoreTables, collapse
from edgewise.model.terms import StumpTerms

__all__ = [
    "FORMAT_VERSION",
    "Curve",
    "Explanation",
    "ModelFileError",
    "ScoreTables",
    "StumpTerms",
    "collapse",
    "explain",
    "read",
    "write",
]
