"""
Several labels at once
======================

An article can be about sport and money at once. Give the labels as a matrix of zeros and ones; one
model votes for all of them, and labels that occur together share rules.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH

# %%
# Word counts of 1,500 documents, with up to six topics each.

TOPICS = np.array(["art", "money", "nature", "sport", "travel", "war"])
X, Y = make_multilabel_classification(
    1500, n_features=40, n_classes=6, n_labels=2, length=200, random_state=0
)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
model = AdaBoostMH("stump", votes="real", loss="logistic", learning_rate=0.3, n_rounds=200)
model.fit(X_train, Y_train)
predicted = model.predict(X_test)
f1 = f1_score(Y_test, predicted, average="macro")
print(f"wrong labels: {hamming_loss(Y_test, predicted):.1%}, F1: {f1:.3f}")
for truth, answer in zip(Y_test[:4], predicted[:4], strict=True):
    print(", ".join(TOPICS[truth > 0]) or "none", "->", ", ".join(TOPICS[answer > 0]) or "none")

# %%
# A topic's probability is its own: they need not sum to 1. Choose a threshold for each topic where
# a miss and a false alarm cost differently.

probabilities = model.predict_proba(X_test)
_, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
thresholds = np.linspace(0.05, 0.95, 19)
for topic in range(6):
    scores = [f1_score(Y_test[:, topic], probabilities[:, topic] >= t) for t in thresholds]
    ax.plot(thresholds, scores, label=TOPICS[topic])
ax.set(xlabel="threshold on the probability", ylabel="F1 on test documents")
ax.legend(ncols=2)
