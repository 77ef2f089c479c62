"""RankBoost for each user: others' ratings are the ranking features (Iyer 1999 section 5.2)."""

from edgewise.recommend.rank_boosted.recommender import RankBoostRecommender
from edgewise.recommend.rank_boosted.wording import ItemVotes, Vote

__all__ = ["ItemVotes", "RankBoostRecommender", "Vote"]
