"""
Recommending films, with reasons
================================

Predicted ratings, lists and explanations. Which model is best depends on what you
show, so compare a few on held-out ratings first.
"""

# %%
# Generated ratings of 60 films by 300 people: everybody likes good films, some like action and
# others romance.

import numpy as np

from edgewise import BiasBaseline, BoostedFactorization, ItemKNN, Ratings, recommend
from edgewise.plots import ItemMapDisplay

rng = np.random.default_rng(0)
GENRES = np.array(["action", "romance", "comedy"])
genre = rng.integers(0, 3, 60)
titles = np.array([f"{GENRES[kind]} {number}" for number, kind in enumerate(genre)])
quality = rng.normal(3.3, 0.5, 60)
taste = rng.normal(0, 0.9, (300, 3))
taste -= taste.mean(axis=1, keepdims=True)
users, items = np.nonzero(rng.random((300, 60)) < 0.3)
liking = quality[items] + taste[users, genre[items]] + rng.normal(0, 0.5, len(users))
ratings = Ratings.from_arrays(users, titles[items], np.clip(liking.round(), 1, 5))
print(ratings)

# %%
# Three models on the same three folds:

models = {
    "biases": BiasBaseline(),
    "neighbors": ItemKNN(),
    "boosted": BoostedFactorization(150, random_state=0),
}
found = recommend.compare(models, ratings, ["rmse", "mae", "ndcg"], n_folds=3, random_state=0)
print(found)

# %%
# A list for one person, and why its first film is on it:

model = BoostedFactorization(150, random_state=0).fit(ratings)
best = model.recommend(7, n=5)
for title, score in zip(best.ids, best.scores, strict=True):
    print(f"{score:.2f}  {title}")
print(model.explain(7, best.ids[0], n=5))

# %%
# A map of the films: those that are close are liked by the same people. The model has never seen
# the genres.

ItemMapDisplay.from_estimator(model, n=40)
