"""
Wrong labels
============

Every fifth label is wrong. The exponential loss puts more and more weight on those rows, since no
rule gets them right; the logistic loss gives no row more weight than it had at the start.
"""

import matplotlib.pyplot as plt
import numpy as np

from edgewise import AdaBoostMH

rng = np.random.default_rng(1)
X = rng.normal(size=(3000, 6))
truth = (X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * X[:, 2] > 0).astype(int)
labels = np.where(rng.random(3000) < 0.2, 1 - truth, truth)
train, test = slice(0, 1500), slice(1500, None)

# %%
# The error is measured against the truth, on other rows.

settings = {
    "exponential": {},
    "logistic": {"loss": "logistic"},
    "logistic, small steps": {"loss": "logistic", "learning_rate": 0.1},
}
_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for name, extra in settings.items():
    model = AdaBoostMH("tree", n_rounds=150, random_state=0, **extra)
    model.fit(X[train], labels[train], eval_set=(X[test], truth[test]))
    left.plot(model.history_["validation"], label=name)
    scores = model.decision_function(X[train]) * np.where(labels[train] > 0, 1, -1)
    weights = np.exp(-scores) if name == "exponential" else 1 / (1 + np.exp(scores))
    wrong = labels[train] != truth[train]
    share = weights[wrong].sum() / weights.sum()
    right.barh(name, share, color="C3")
    right.barh(name, 1 - share, left=share, color="C7", alpha=0.4)
    print(f"{name}: {model.history_['validation'][-1]:.1%} wrong")
left.set(xlabel="round", ylabel="error against the truth")
left.legend()
right.set(xlabel="share of the weight on wrong labels (red), after 150 rounds", xlim=(0, 1))
right.axvline(0.2, color="black", linestyle=":", linewidth=1)
