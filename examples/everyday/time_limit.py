"""
The best model that fits into a second
======================================

``time_limit`` covers reading, binning, the choice of the number of rounds and the last fit. With
little time the default takes fewer and longer steps, and in the end fewer rows; with enough, the
model is the one without a limit.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from edgewise import AdaBoostMH

X, y = make_classification(
    4000, n_features=20, n_informative=10, n_classes=4, flip_y=0.05, random_state=0
)
X_train, y_train, X_test, y_test = X[:3000], y[:3000], X[3000:], y[3000:]

# %%
# A quarter of a second, half a second, and so on:

limits, errors = (0.25, 0.5, 1, 2, 4), []
for limit in limits:
    start = time.perf_counter()
    model = AdaBoostMH(time_limit=limit).fit(X_train, y_train)
    took = time.perf_counter() - start
    errors.append(1 - model.score(X_test, y_test))
    print(
        f"limit {limit:4} s, took {took:.2f} s: {model.n_rounds_:3} rounds of step "
        f"{model.learning_rate_:.2f}, {errors[-1]:.1%} wrong"
    )

_, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(limits, errors, "o-")
ax.set(xlabel="time limit in seconds", ylabel="test error", xscale="log", ylim=(0, None))
ax.set_xticks(limits, [f"{limit:g}" for limit in limits])
ax.minorticks_off()
