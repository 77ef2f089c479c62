"""
In a pipeline, in a grid search
===============================

Classifiers and rankers are scikit-learn estimators: they go into pipelines, cross-validation and
searches, with data frames and their column names.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import AdaBoostMH, Product, Stump

X, y = load_wine(return_X_y=True, as_frame=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# How many tests should a rule have, and how long should steps be?

grid = GridSearchCV(
    AdaBoostMH(Product(Stump()), n_rounds=60, loss="logistic"),
    {"learner__n_terms": [1, 2, 3], "learning_rate": [0.1, 0.3, 1.0]},
    cv=folds,
    scoring="neg_log_loss",
).fit(X, y)
print(grid.best_params_)

losses = -grid.cv_results_["mean_test_score"].reshape(3, 3)
_, ax = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
image = ax.imshow(losses, cmap="viridis_r")
ax.set_xticks(range(3), ["0.1", "0.3", "1"])
ax.set_yticks(range(3), ["1", "2", "3"])
ax.set(xlabel="learning_rate", ylabel="n_terms", title="log loss over five folds")
for row, column in np.ndindex(3, 3):
    ax.text(column, row, f"{losses[row, column]:.3f}", ha="center", color="white")

# %%
# Beside principal components, in a pipeline:

columns = make_column_transformer(
    (make_pipeline(StandardScaler(), PCA(3)), X.columns.tolist()), remainder="passthrough"
).set_output(transform="pandas")
pipeline = make_pipeline(columns, AdaBoostMH("stump", n_rounds=60, loss="logistic"))
plain = cross_val_score(grid.best_estimator_, X, y, cv=folds)
rotated = cross_val_score(pipeline, X, y, cv=folds)
print(f"columns as they are {plain.mean():.3f}, principal components {rotated.mean():.3f}")
