"""
Why this row?
=============

``explain`` lists the contribution of each column, and pair of columns, to the score of a row: exact
Shapley values, for stumps, products and trees alike. They add up to the score.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH
from edgewise.plots import ContributionDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = AdaBoostMH("tree", votes="real", loss="logistic", learning_rate=0.2, n_rounds=60)
model.fit(X_train, y_train)
print(f"{1 - model.score(X_test, y_test):.1%} of the test rows are wrong")

# %%
# Take the test row that the model is least sure about. The background is what a row is compared
# with, here the training rows: the bias is their mean score.

row = abs(model.decision_function(X_test)).argmin()
why = model.explain(X_test.iloc[[row]], background=X_train)
print(f"the truth: {y_test.iloc[row]}")
print("\n".join(str(why).splitlines()[:9]))

# %%
# The way from the bias to the score, as bars:

ContributionDisplay.from_estimator(model, X_test.iloc[[row]], background=X_train)
