"""Recommenders that look for similar users or items, and keep only the nearest of each."""

from edgewise.recommend.neighbours.knn import ItemKNN, UserKNN
from edgewise.recommend.neighbours.neighbourhood import Reason
from edgewise.recommend.neighbours.ranking import RankingNeighbour

__all__ = ["ItemKNN", "RankingNeighbour", "Reason", "UserKNN"]
