"""Report pages: what a fitted model learned and how good it is, in one HTML file.

``model.report(X, y, path)`` and ``recommender.report(ratings, path)`` write them. What is on a page
is computed here as plain numbers and names. The file holds ``page.js``,
which draws them, and ``page.css``: it needs no network.
"""

from edgewise.report.classifier import classifier_report
from edgewise.report.page import Report, reported
from edgewise.report.ranker import ranker_report
from edgewise.report.recommender import recommender_report

__all__ = ["Report", "classifier_report", "ranker_report", "recommender_report", "reported"]
