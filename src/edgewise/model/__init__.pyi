# ruff: isort: skip_file

from edgewise.model.archive import (
    FORMAT_VERSION as FORMAT_VERSION,
    ModelFileError as ModelFileError,
    read as read,
    write as write,
)
from edgewise.model.explain import (
    Contribution as Contribution,
    Curve as Curve,
    Explanation as Explanation,
    ModelExplanation as ModelExplanation,
    OrderExplanation as OrderExplanation,
    PairExplanation as PairExplanation,
    RowExplanation as RowExplanation,
    TableExplanation as TableExplanation,
)
from edgewise.model.file import load as load
from edgewise.model.paths import Path as Path
from edgewise.model.rules import (
    EVERYWHERE as EVERYWHERE,
    Cut as Cut,
    LazyTree as LazyTree,
    Linear as Linear,
    Node as Node,
    PerScore as PerScore,
    ProductRule as ProductRule,
    Rule as Rule,
    Scores as Scores,
    Subset as Subset,
    Test as Test,
    TreeRule as TreeRule,
)
from edgewise.model.scorer import Scorer as Scorer
from edgewise.model.shapes import (
    Axis as Axis,
    ShapeFunction as ShapeFunction,
)
from edgewise.model.tables import collapse as collapse
from edgewise.model.terms import (
    StumpTerms as StumpTerms,
    Terms as Terms,
)
from edgewise.model.wording import (
    FusionWording as FusionWording,
    RankWording as RankWording,
    ReadableRule as ReadableRule,
    Wording as Wording,
)

__all__: list[str]
