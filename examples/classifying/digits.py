"""
Digits without settings
=======================

``AdaBoostMH()`` needs no tuning: it chooses the number of rounds on rows that it holds out, trains
on all of them and calibrates its probabilities. Here it reads 1,797 handwritten digits.
"""

# %%
# A third of the digits is for testing.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=1 / 3, random_state=0, stratify=y
)
model = AdaBoostMH().fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.1%} of the test digits are right")

# %%
# ``settings_`` lists all decisions with their reasons.

print(model.settings_)

# %%
# Which digits are misclassified? Above each image: prediction, probability and true class.

probabilities = model.predict_proba(X_test)
predicted = model.classes_[probabilities.argmax(axis=1)]
wrong = (predicted != y_test).nonzero()[0][:5]
figure, axes = plt.subplots(1, 5, figsize=(9, 2.4))
for ax, row in zip(axes, wrong, strict=False):
    ax.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(
        f"{predicted[row]} ({probabilities[row].max():.0%}), is {y_test[row]}", fontsize=10
    )
for ax in axes:
    ax.set_axis_off()
