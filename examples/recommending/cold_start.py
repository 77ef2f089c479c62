"""
New users and new items
=======================

A new user has rated three films, a new film nobody. ``fold_in`` adds users without a new fit;
item features let a model score films that have no ratings yet.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from edgewise import BoostedFactorization, ContentRecommender, Popularity, Ratings, metrics

# %%
# 200 people, 80 films with a year and a genre. The last 15 films are new: they have features and
# no ratings.

rng = np.random.default_rng(0)
films = pd.DataFrame(
    {
        "item": [f"film {number}" for number in range(80)],
        "year": rng.integers(1960, 2020, 80),
        "genre": rng.choice(["action", "romance", "comedy"], 80),
    }
)
wanted = {"action": 0, "romance": 1, "comedy": 2}
kind = films["genre"].map(wanted).to_numpy()
taste = rng.normal(0, 1, (200, 3))
modern = rng.normal(0, 0.6, 200)
truth = 3 + taste[:, kind] + np.outer(modern, (films["year"] - 1990) / 20)
users, items = np.nonzero(rng.random((200, 80)) < 0.25)
values = np.clip((truth[users, items] + rng.normal(0, 0.5, len(users))).round(), 1, 5)
old = items < 65
ratings = Ratings.from_arrays(
    users[old], films["item"].to_numpy()[items[old]], values[old], item_features=films
)
print(ratings)

# %%
# New films: predicted by content, by boosted factorization with item features, and by the mean.

new_users, new_items, new_values = users[~old], films["item"].to_numpy()[items[~old]], values[~old]
mean = np.full(len(new_values), values[old].mean())
errors = {"mean of all ratings": metrics.rmse(new_values, mean)}
for model in (ContentRecommender(), BoostedFactorization(150, random_state=0)):
    model.fit(ratings)
    predicted = model.predict(new_users, new_items, unknown="mean")
    errors[type(model).__name__] = metrics.rmse(new_values, predicted)
for name, error in errors.items():
    print(f"{name:22} RMSE {error:.3f}")

# %%
# New users: the error on their other ratings, by the number of ratings that the model knows.

known = np.unique(users[old])
train_users, fresh = known[:150], known[150:]
mask = old & np.isin(users, train_users)
names = films["item"].to_numpy()
base = BoostedFactorization(150, random_state=0).fit(
    Ratings.from_arrays(users[mask], names[items[mask]], values[mask])
)
n_known, curve = [1, 2, 4, 8], []
for n in n_known:
    squares = []
    for user in fresh:
        rows = np.flatnonzero(old & (users == user))
        folded_in, held_out = rows[:n], rows[n:]
        known_ratings = dict(
            zip(names[items[folded_in]].tolist(), values[folded_in].tolist(), strict=True)
        )
        model = base.fold_in({10_000: known_ratings})
        predicted = model.predict(10_000, names[items[held_out]], unknown="mean")
        squares.append((predicted - values[held_out]) ** 2)
    curve.append(np.sqrt(np.concatenate(squares).mean()))

_, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(n_known, curve, "o-")
ax.set(xlabel="ratings of the new user", ylabel="RMSE on the user's others", xticks=n_known)

# %%
# Unknown users get popular items:

print(Popularity().fit(ratings).recommend(int(train_users[0]), n=3).ids)
