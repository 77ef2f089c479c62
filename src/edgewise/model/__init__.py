"""Models: rules, terms packed into arrays, prediction, explanation and files.

Names load when they are first used: a model that only predicts needs NumPy alone.
"""

from edgewise.common.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
