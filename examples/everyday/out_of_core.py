"""
More data than memory
=====================

``Chunks`` reads a table in pieces: arrays, memory-mapped files, frames, Parquet files, or functions
that make a piece when it is needed. The model is the same, bit for bit, as from one array.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from edgewise import AdaBoostMH, Chunks
from edgewise.plots import ImportanceDisplay

# %%
# Twelve months of clicks, one Parquet file each.

folder = Path(tempfile.mkdtemp())
for month in range(12):
    rng = np.random.default_rng(month)
    frame = pd.DataFrame(rng.normal(size=(1000, 8)), columns=[f"f{number}" for number in range(8)])
    frame["site"] = rng.choice(["news", "mail", "shop"], 1000)
    score = frame["f0"] + frame["f1"] * (frame["site"] == "shop") + rng.normal(0, 0.5, 1000)
    frame.assign(bought=score > 0.6).to_parquet(folder / f"month-{month:02}.parquet")


def months():
    for path in sorted(folder.glob("*.parquet")):
        yield pd.read_parquet(path).drop(columns="bought")


# %%
# Pieces are read once for each block of columns that fits into ``memory``; the codes that training
# keeps take a byte a value.

X = Chunks.rows_of(months)
y = np.concatenate(
    [
        pd.read_parquet(path, columns=["bought"])["bought"]
        for path in sorted(folder.glob("*.parquet"))
    ]
)
model = AdaBoostMH("product", n_rounds=60).fit(X, y)
whole = pd.concat(months(), ignore_index=True)
same = AdaBoostMH("product", n_rounds=60).fit(whole, y)
print("bit for bit:", (model.decision_function(whole) == same.decision_function(whole)).all())
print(f"{1 - model.score(X, y):.1%} of the rows are wrong")

# %%
# Predictions take pieces too. Which columns matter?

ImportanceDisplay.from_estimator(model)
