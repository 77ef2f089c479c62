"""A user's script, on the wheel alone. `make package` runs it, and checks its types."""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import edgewise
from edgewise import AdaBoostMH, Callback, RankBoost, Stump, TrainingRun, Tree


class Enough(Callback):
    """Stops when the bound is small."""

    def on_round(self, run: TrainingRun) -> str | None:
        """Return a reason to stop."""
        return "enough" if run.history.last("bound") < 0.2 else None


def main() -> None:
    """Use what a user would first."""
    X: NDArray[np.float64] = np.random.default_rng(0).normal(size=(60, 3))
    y: NDArray[np.str_] = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    model: AdaBoostMH = AdaBoostMH(Tree(Stump(), 4), n_rounds=50, callbacks=[Enough()]).fit(X, y)
    probabilities: NDArray[np.float64] = model.predict_proba(X)
    assert model.stop_reason_ == "enough", model.stop_reason_
    assert model.score(X, y) > 0.9

    grades, query = (y == "yes").astype(int), np.repeat(range(6), 10)
    ranker: RankBoost = RankBoost(n_rounds=5).fit(X, grades, qid=query)
    assert ranker.score(X, grades, qid=query) > 0.5

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.edgewise"
        model.save(path)
        assert np.array_equal(edgewise.load(path).predict_proba(X), probabilities)
        model.report(X, y, Path(folder) / "report.html")
    assert "letter" in edgewise.datasets.names()
    print(f"edgewise {edgewise.__version__} works: {model.rules()[0]}")  # noqa: T201


if __name__ == "__main__":
    main()
