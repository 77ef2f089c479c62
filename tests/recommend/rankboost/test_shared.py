"""What every recommender must pass."""

from edgewise import RankBoostRecommender

from ..common import RecommenderTests


class TestRankBoostRecommender(RecommenderTests):
    # Of eight ratings each, rules also learn who did not rate what, which means nothing here.
    knows_tastes = False

    def make(self):
        return RankBoostRecommender(n_rounds=5, random_state=0)


class TestFromZero(RecommenderTests):
    def make(self):
        return RankBoostRecommender(
            5, init="zero", learning_rate=1.0, missing="abstain", random_state=0
        )


class TestWithItemFeatures(RecommenderTests):
    needs_features = True
    knows_cold_items = True

    def make(self):
        return RankBoostRecommender(
            n_rounds=8, learning_rate=0.4, missing="abstain", random_state=0
        )
