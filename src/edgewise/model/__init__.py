"""Models: rules, terms packed into arrays, prediction, explanation and files."""

from edgewise.model.explain import (
    Contribution,
    Curve,
    Explanation,
    ModelExplanation,
    PairExplanation,
    RowExplanation,
    explain,
    explain_row,
)
from edgewise.model.file import FORMAT_VERSION, ModelFileError, load, read, write
from edgewise.model.predict import Predictor, collapse
from edgewise.model.rules import (
    EVERYWHERE,
    Cut,
    LazyTree,
    Linear,
    Node,
    PerScore,
    ProductRule,
    Rule,
    Scores,
    Subset,
    Test,
    TreeRule,
)
from edgewise.model.terms import StumpTerms, Terms
from edgewise.model.words import FusionWording, RankWording, ReadableRule, Wording

__all__ = [
    "EVERYWHERE",
    "FORMAT_VERSION",
    "Contribution",
    "Curve",
    "Cut",
    "Explanation",
    "FusionWording",
    "LazyTree",
    "Linear",
    "ModelExplanation",
    "ModelFileError",
    "Node",
    "PairExplanation",
    "PerScore",
    "Predictor",
    "ProductRule",
    "RankWording",
    "ReadableRule",
    "RowExplanation",
    "Rule",
    "Scores",
    "StumpTerms",
    "Subset",
    "Terms",
    "Test",
    "TreeRule",
    "Wording",
    "collapse",
    "explain",
    "explain_row",
    "load",
    "read",
    "write",
]
