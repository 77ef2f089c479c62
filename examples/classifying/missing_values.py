"""
Missing values
==============

Gaps need no imputing. A threshold sends missing values to the side where they do best, and a rule
may ask whether a value is there at all. What a gap means shows in the rules.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, Stump
from edgewise.plots import VoteCurveDisplay

# %%
# Loan applications. Whoever has no job leaves the income open, so a gap is news; the age is missing
# by accident.

rng = np.random.default_rng(0)
n = 2000
employed = rng.random(n) < 0.8
table = pd.DataFrame(
    {
        "income": np.where(employed, rng.gamma(6, 500, n), np.nan).round(),
        "age": np.where(rng.random(n) < 0.3, np.nan, rng.integers(20, 70, n)),
        "debt": rng.gamma(2, 800, n).round(),
    }
)
chance = np.where(employed, 0.05 + 0.5 * (table["income"].fillna(0) < 2500), 0.75)
paid = np.where(rng.random(n) < chance, "default", "paid")
train, test, y_train, y_test = train_test_split(table, paid, random_state=0)

# %%
# Train on all rows, with missing values, and on the complete rows only:

rules = AdaBoostMH("stump", n_rounds=60).fit(train, y_train)
complete = train.notna().all(axis=1)
fewer = AdaBoostMH("stump", n_rounds=60).fit(train[complete], y_train[complete])
print(f"all rows:           {1 - rules.score(test, y_test):.1%} wrong")
print(f"complete rows only: {1 - fewer.score(test, y_test):.1%} wrong")
for rule in rules.rules(3):
    print(rule)

# %%
# The curve of a column has a dot for missing values: no income counts like a very low one. With
# ``missing="abstain"`` a gap leaves the score alone.

abstaining = AdaBoostMH(Stump(missing="abstain"), n_rounds=60).fit(train, y_train)
_, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, model, way in zip(axes, (rules, abstaining), ("learn", "abstain"), strict=True):
    VoteCurveDisplay.from_estimator(model, "income", ax=ax)
    ax.set_title(f'missing="{way}"')
