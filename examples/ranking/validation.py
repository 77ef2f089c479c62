"""
Learning to rank, with validation
=================================

Documents of queries with grades. RankBoost learns a score from them, stops on validation queries,
and keeps every column monotonic: a shop that ranks cheap offers lower would be hard to explain.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from edgewise import RankBoost, metrics
from edgewise.plots import VoteCurveDisplay

# %%
# Offers for 150 searches, of which 90 train, 30 validate and 30 test.

rng = np.random.default_rng(0)
n_queries, per_query = 150, 12
qid = np.repeat(np.arange(n_queries), per_query)
offers = pd.DataFrame(
    {
        "match": rng.beta(2, 2, len(qid)).round(3),
        "price": rng.gamma(4, 20, len(qid)).round(),
        "stars": np.where(rng.random(len(qid)) < 0.3, np.nan, rng.uniform(1, 5, len(qid)).round(1)),
        "days": rng.integers(1, 15, len(qid)),
    }
)
liking = 4 * offers["match"] - offers["price"] / 60 + offers["stars"].fillna(2) / 2
liking += rng.normal(0, 0.9, len(qid)) - offers["days"] / 15
grade = pd.cut(liking, [-np.inf, 2, 3, np.inf], labels=False)
train, valid, test = qid < 90, (qid >= 90) & (qid < 120), qid >= 120

ranker = RankBoost(
    n_rounds=500,
    early_stopping_rounds=80,
    eval_metric="ndcg@5",
    monotonic_cst={"price": -1, "stars": 1},
)
ranker.fit(
    offers[train],
    grade[train],
    qid=qid[train],
    eval_set=(offers[valid], grade[valid], qid[valid]),
)
print(f"{ranker.n_rounds_} rounds, NDCG@5 of the test queries:")

# %%
# Is it better than sorting by match alone? A paired randomization test over the test queries:

ours = metrics.ndcg(grade[test], ranker.predict(offers[test]), qid[test], k=5, per_query=True)
match = metrics.ndcg(grade[test], offers["match"][test], qid[test], k=5, per_query=True)
found = metrics.randomization_test(ours, match, random_state=0)
print(f"RankBoost {np.mean(ours):.3f}, by match {np.mean(match):.3f}, p = {found.p_value:.4f}")

# %%
# What it learned, and the curves of the columns:

print(ranker.explain())
_, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, name in zip(axes, ("match", "price", "stars"), strict=True):
    VoteCurveDisplay.from_estimator(ranker, name, ax=ax)
