"""Report pages: what a fitted model learned and how good it is, in one HTML file.

``model.report(X, y, path)`` and ``recommender.report(ratings, path)`` write them. The modules here
compute the numbers and names of a page; ``page.js`` and ``page.css``, copied into the file, draw
them. A page needs no network.
"""

from edgewise.report.classifier import classifier_report
from edgewise.report.page import Report, build_report
from edgewise.report.ranker import ranker_report
from edgewise.report.recommender import RecommenderResults, recommender_report

__all__ = [
    "RecommenderResults",
    "Report",
    "build_report",
    "classifier_report",
    "ranker_report",
    "recommender_report",
]
