"""Several recommenders as one, with weights that are learned on ratings set aside."""

from edgewise.recommend.blend.model import Blend

__all__ = ["Blend"]
