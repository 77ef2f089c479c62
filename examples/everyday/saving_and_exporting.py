"""
Saving, loading and exporting
=============================

A saved model is a zip of JSON and arrays, never a pickle: loading runs no code. To score rows where
there is no edgewise, export the model as plain Python, as SQL or as ONNX.
"""

import importlib.util
import sqlite3
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import edgewise
from edgewise import AdaBoostMH

folder = Path(tempfile.mkdtemp())
iris = load_iris(as_frame=True)
X = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
y = iris.target_names[iris.target]
model = AdaBoostMH("stump", n_rounds=20).fit(X, y)

# %%
# Save and load. A loaded model predicts the same, bit for bit.

model.save(folder / "iris.edgewise")
again = edgewise.load(folder / "iris.edgewise")
print((again.decision_function(X) == model.decision_function(X)).all())

# %%
# Plain Python: a module that needs the standard library alone.

model.export(folder / "iris_model.py")
spec = importlib.util.spec_from_file_location("iris_model", folder / "iris_model.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.predict(X.iloc[100].to_dict()), "is", y[100])

# %%
# SQL: a query that any database runs, here SQLite.

model.export(folder / "iris.sql", table="flowers")
query = (folder / "iris.sql").read_text()
print(query[:260], "...")
database = sqlite3.connect(":memory:")
X.to_sql("flowers", database, index=False)
rows = database.execute(query.rstrip().rstrip(";")).fetchall()
print(len(rows), "rows scored by the database, the first:", rows[0])

# %%
# How large are they?

files = {
    path.name: path.stat().st_size / 1024 for path in sorted(Path().iterdir()) if path.is_file()
}
_, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
ax.barh(list(files), list(files.values()))
ax.set_xlabel("kilobytes")
