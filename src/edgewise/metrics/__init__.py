"""Metrics of classifiers, rankings, predicted ratings, recommended lists and TREC runs.

Ranking metrics are exact expectations over the orders of documents with equal scores.
"""

from edgewise.common.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
