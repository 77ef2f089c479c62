"""edgewise: boosted weak rules for classifying, ranking and recommending.

Every public name is listed in ``__init__.pyi`` and loads when it is first used, so that
``import edgewise`` costs next to nothing::

    from edgewise import AdaBoostMH

    model = AdaBoostMH(n_rounds=300).fit(X, y)
"""

from edgewise.common.lazy import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(__name__)
