"""The least recommender that knows tastes: one factor, the first singular vector."""

import numpy as np

import edgewise
from edgewise import Recommender
from edgewise.recommend.arrays import center_ratings


class OneFactor(Recommender):
    """Predicts the mean plus the product of a user's number and an item's."""

    stored = {"user_numbers_": "users", "item_numbers_": "items"}  # noqa: RUF012

    def __init__(self, shrink=0.0, random_state=None, verbose=0):
        self.shrink = shrink
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        if self.shrink < 0:
            raise ValueError(f"shrink must be at least 0, got {self.shrink}")

    def _fit(self, ratings):
        self._seed()
        self.center_ = ratings.mean
        table = center_ratings(ratings.csr(), ratings.mean)
        with self._progress(1, "vectors") as step:
            _, vectors = np.linalg.eigh((table.T @ table).toarray())
            step(0.0)
        self.item_numbers_ = vectors[:, -1].copy()
        self.user_numbers_ = table @ self.item_numbers_

    def _pair_scores(self, users, items):
        return self.center_ + self.user_numbers_[users] * self.item_numbers_[items]

    def _fold_in(self, ratings, users):
        rated = ratings.csr()[users]
        rated.data = rated.data - self.center_
        self.user_numbers_ = np.concatenate([self.user_numbers_, rated @ self.item_numbers_])


def make_public(monkeypatch, *kinds):
    """Let files name classes of the tests, as if they were the library's."""
    names = [kind.__name__ for kind in kinds]
    monkeypatch.setattr(edgewise, "__all__", [*edgewise.__all__, *names])
    for kind in kinds:
        monkeypatch.setattr(edgewise, kind.__name__, kind, raising=False)
