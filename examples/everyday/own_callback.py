"""
Early stopping, and a callback of your own
==========================================

Validation rows choose the number of rounds. A callback sees every round as it happens: here one
stops the training when the bound has proved enough.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, Callback
from edgewise.plots import BoostingCurveDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_valid, y_train, y_valid = train_test_split(X, y, random_state=1, stratify=y)

# %%
# Stop after 60 rounds without a lower log loss on the validation rows, and keep the best round.

model = AdaBoostMH(
    "stump",
    loss="logistic",
    learning_rate=0.3,
    n_rounds=1000,
    early_stopping_rounds=60,
    eval_metric="log_loss",
)
model.fit(X_train, y_train, eval_set=(X_valid, y_valid))
print(f"{model.stop_reason_}: {model.n_rounds_} of {model.history_.n_rounds} rounds are kept")
BoostingCurveDisplay.from_estimator(model)

# %%
# A callback overrides what it needs of ``on_start``, ``on_round`` and ``on_end``. What ``on_round``
# returns ends the training and is the reason.


class StopAtProof(Callback):
    """Stop as soon as it is proved that fewer than a share of the training rows are wrong."""

    def __init__(self, share):
        self.share = share

    def on_round(self, run):
        proved = run.history.last("bound") < self.share
        return f"at most {self.share:.0%} of the training rows are wrong" if proved else None

    def on_end(self, run):
        print(f"{run.history.n_rounds} rounds in {run.seconds:.1f} s")


proved = AdaBoostMH("stump", n_rounds=1000, callbacks=[StopAtProof(0.01)]).fit(X_train, y_train)
print(proved.stop_reason_)
