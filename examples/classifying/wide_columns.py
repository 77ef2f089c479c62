"""
Thousands of columns
====================

A round that tries 3,000 columns wastes nearly all of its work if twelve matter. A search that
learns which columns pay off tries 30 of them a round.
"""

import matplotlib.pyplot as plt
import numpy as np

from edgewise import UCB, AdaBoostMH, Lazy

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 3000)).astype(np.float32)
matter = rng.choice(3000, 12, replace=False)
y = (X[:, matter].sum(axis=1) + rng.normal(size=1200) > 0).astype(int)
train, test = slice(0, 900), slice(900, None)

# %%
# Random columns, and columns as the arms of a bandit, for the same number of columns looked at:

models = {}
for name, search in (("random columns", Lazy(30)), ("UCB", UCB(30))):
    model = AdaBoostMH("stump", search=search, n_rounds=400, learning_rate=0.5, random_state=0)
    models[name] = model.fit(X[train], y[train], eval_set=(X[test], y[test]))
    print(
        f"{name}: {model.history_['validation'][-1]:.1%} wrong, "
        f"{model.history_['saved'].mean():.1%} of an exhaustive search saved"
    )

# %%
# The columns that matter are among the most important ones:

importances = models["UCB"].feature_importances_
order = np.argsort(-importances)[:25]
print(f"{np.isin(order[:12], matter).sum()} of the 12 most important columns are right")

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for name, model in models.items():
    left.plot(model.history_["validation"], label=name)
left.set(xlabel="round", ylabel="test error", ylim=(0, 0.5))
left.legend()
right.bar(
    range(25), importances[order], color=np.where(np.isin(order, matter), "#3c9160", "#c8c8c8")
)
right.set(xlabel="columns by importance; green ones matter", ylabel="importance", xticks=[])
