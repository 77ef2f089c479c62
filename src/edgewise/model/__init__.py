"""Models: rules, terms packed into arrays, prediction, explanation and files."""

from edgewise.model.explain import (
    Contribution,
    Curve,
    Explanation,
    Group,
    ModelExplanation,
    PairExplanation,
    explain,
)
from edgewise.model.file import FORMAT_VERSION, ModelFileError, load, read, write
from edgewise.model.predict import Predictor, ScoreTables, collapse
from edgewise.model.rules import (
    EVERYWHERE,
    Cut,
    Linear,
    Node,
    PerScore,
    ProductRule,
    Rule,
    Scores,
    Source,
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
    "Group",
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
    "Rule",
    "ScoreTables",
    "Scores",
    "Source",
    "StumpTerms",
    "Subset",
    "Terms",
    "Test",
    "TreeRule",
    "Wording",
    "collapse",
    "explain",
    "load",
    "read",
    "write",
]
