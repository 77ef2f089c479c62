"""
One list out of many
====================

Four engines answer each query with ranked lists of different quality. Fusion merges them without
training; ``RankFusion`` learns from judged queries which list to trust, and how far down.
"""

import matplotlib.pyplot as plt
import numpy as np

from edgewise import RankFusion, fusion, metrics

# %%
# 120 queries with 30 documents each. An engine sees the relevance through noise of its own, and
# returns its best 15.

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(120), 30)
relevance = rng.normal(size=len(qid))
grades = (relevance > 1).astype(int)
noise = {"good": 1.2, "fair": 1.5, "poor": 2.5, "spam": 20.0}
scores = np.column_stack([relevance + rng.normal(0, sd, len(qid)) for sd in noise.values()])
for query in np.unique(qid):
    mine = qid == query
    cut = np.sort(scores[mine], axis=0)[-15]
    scores[mine] = np.where(scores[mine] >= cut, scores[mine], np.nan)
train, test = qid < 80, qid >= 80
lists = {
    part: fusion.RankedLists.from_scores(scores[rows], qid[rows], names=list(noise))
    for part, rows in (("train", train), ("test", test))
}

# %%
# Mean average precision of single lists, of methods that learn nothing, and of RankFusion:


def quality(score):
    return metrics.mean_average_precision(grades[test], score, qid[test])


results = {name: quality(fusion.single_list(lists["test"], name)) for name in noise}
for method in ("borda", "comb_sum", "comb_mnz", "condorcet", "rrf"):
    results[method] = quality(fusion.fuse(lists["test"], method))
learned = RankFusion(n_rounds=200).fit(lists["train"], grades[train])
results["RankFusion"] = quality(learned.predict(lists["test"]))
for name, value in results.items():
    print(f"{name:11} {value:.3f}")

_, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
colors = ["#c8c8c8"] * 4 + ["#2f7fb5"] * 5 + ["#3c9160"]
ax.bar(list(results), list(results.values()), color=colors)
ax.set_ylabel("mean average precision")
ax.tick_params(axis="x", rotation=30)

# %%
# What it learned: the share of each list in all votes.

print(learned.explain())
