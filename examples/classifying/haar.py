"""
Filters on images
=================

Pixels one by one say little. A Haar filter sums the pixels of some rectangles and subtracts those
of others, at any place and size; 8 by 8 pixels have two thousand filters, so each round tries 60.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, Haar, Lazy, Stump

X, y = load_digits(return_X_y=True)
X, y = X[y < 5], y[y < 5]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# Thresholds on pixels against thresholds on filters:

learners = {"pixels": (Stump(), None), "Haar filters": (Haar(shape=(8, 8)), Lazy(60))}
models = {}
for name, (learner, search) in learners.items():
    model = AdaBoostMH(learner, search=search, n_rounds=120, random_state=0)
    models[name] = model.fit(X_train, y_train, eval_set=(X_test, y_test))
    print(f"{name}: {1 - model.score(X_test, y_test):.1%} wrong")

# %%
# The strongest filters in words, and the pixels that all of them look at most:

for rule in models["Haar filters"].rules(3):
    print(rule)

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for name, model in models.items():
    left.plot(model.history_["validation"], label=name)
left.set(xlabel="round", ylabel="test error", ylim=(0, 0.3))
left.legend()
right.imshow(models["Haar filters"].feature_importances_.reshape(8, 8), cmap="magma")
right.set(title="importance of the pixels", xticks=[], yticks=[])
