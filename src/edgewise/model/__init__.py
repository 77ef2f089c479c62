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
from edgewise.model.feature_terms import FeatureTerms
from edgewise.model.file import FORMAT_VERSION, ModelFileError, read, write
from edgewise.model.predictor import Predictor, Terms
from edgewise.model.rank_wording import FusionWording, RankWording
from edgewise.model.readable import ReadableRule, Wording
from edgewise.model.rule_terms import RuleTerms
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
from edgewise.model.tables import ScoreTables, collapse
from edgewise.model.terms import StumpTerms

__all__ = [
    "EVERYWHERE",
    "FORMAT_VERSION",
    "Contribution",
    "Curve",
    "Cut",
    "Explanation",
    "FeatureTerms",
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
    "RuleTerms",
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
    "read",
    "write",
]
