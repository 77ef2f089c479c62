"""
Rare classes and honest probabilities
=====================================

Four per cent of the customers leave. Accuracy is useless here: predicting "stays" for
everybody is right 96 times in 100. Calibrated probabilities help, and a
threshold that follows from the costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH
from edgewise.plots import ReliabilityDisplay

X, y = make_classification(
    6000, n_features=12, n_informative=5, weights=[0.96], flip_y=0.01, class_sep=0.7, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# The default holds rows out, and fits one temperature on them that makes its probabilities honest.
# A long run with the exponential loss is surer than it should be.

default = AdaBoostMH().fit(X_train, y_train)
sure = AdaBoostMH("tree", n_rounds=200).fit(X_train, y_train)
for name, model in (("default", default), ("200 rounds of trees", sure)):
    p = model.predict_proba(X_test)[:, 1]
    print(
        f"{name:20} AUC {roc_auc_score(y_test, p):.3f}  average precision "
        f"{average_precision_score(y_test, p):.3f}  Brier {brier_score_loss(y_test, p):.4f}"
    )

# %%
# Left: of the customers to whom a model gives 30 %, do 30 % leave? Right: a call costs 1, and a
# customer who leaves without a call costs 12. With honest probabilities the best threshold is known
# beforehand: call if p is above 1/12.

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, model in (("default", default), ("200 rounds of trees", sure)):
    ReliabilityDisplay.from_estimator(model, X_test, y_test, n_bins=5, name=name, ax=left)

p = default.predict_proba(X_test)[:, 1]
thresholds = np.linspace(0.01, 0.6, 60)
costs = [np.where(p >= t, 1, 12 * y_test).mean() for t in thresholds]
right.plot(thresholds, costs)
right.axvline(1 / 12, color="gray", linestyle=":")
right.set(xlabel="threshold", ylabel="cost per customer")
