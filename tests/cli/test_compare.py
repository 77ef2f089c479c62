"""``edgewise compare`` on small files."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import contents

from edgewise import Ratings, recommend
from edgewise.cli import compare as command
from edgewise.cli import main
from edgewise.common.choices import FOLDS
from edgewise.recommend import compare


def frame(seed=0, n_users=12, n_items=15):
    """Ratings from 1 to 5 of about half of all pairs."""
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(rng.random((n_users, n_items)) < 0.5)
    columns = {"user": pairs[:, 0] + 100, "item": pairs[:, 1] + 1}
    return pd.DataFrame({**columns, "rating": rng.integers(1, 6, len(pairs))})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame().to_csv("r.csv", index=False)
    frame(1).to_csv("test.csv", index=False)
    return tmp_path


MODELS = {"bias": recommend.BiasBaseline(), "item-knn": recommend.ItemKNN(n_neighbors=3)}
ARGV = ["compare", "r.csv", "--algorithms", "bias,item-knn", "--set", "item-knn.n_neighbors=3"]


def values_of(found, metrics):
    """Return the values as they are shown, of all models."""
    return [[f"{found.value(model, name):.4f}" for name in metrics] for model in found.systems]


def shown(text, n):
    """Return the values that are shown of the models, the last lines but one."""
    rows = [line.replace("*", "").split() for line in text.splitlines()[-3:-1]]
    assert [row[0] for row in rows] == ["bias", "item-knn"]
    return [row[1 : n + 1] for row in rows]


class TestTable:
    @pytest.mark.parametrize("by", FOLDS)
    def test_is_that_of_the_library(self, by, folder, success):
        metrics = ["rmse", "ndcg@3", "auc"]
        argv = [*ARGV, "--folds", 3, "--by", by, "--seed", 5, "--metrics", ",".join(metrics)]
        out = success([*argv, "--relevant", 3])
        folds = Ratings.from_frame(frame()).folds(3, by, random_state=5)
        result = compare(MODELS, folds, metrics, relevant=3)
        assert out.startswith(f"ratings          {len(frame())} from 1 to 5, 12 users, 15 items\n")
        assert shown(out, 3) == values_of(result, metrics)
        assert "mean of 3 folds" in out.splitlines()[-1]

    @pytest.mark.parametrize("by", ["time", "last"])
    def test_goes_by_time(self, by, folder, success):
        table = frame().assign(when=lambda item: np.arange(len(item)) * 7 % 97)
        table.to_csv("times.csv", index=False)
        argv = [ARGV[0], "times.csv", *ARGV[2:], "--by", by, "--time-column", "when"]
        out = success([*argv, *(["--folds", 3] * (by == "time")), "--metrics", "rmse"])
        ratings = Ratings.from_frame(table, time="when")
        splits = ratings.windows(3) if by == "time" else [ratings.leave_last()]
        assert shown(out, 1) == values_of(compare(MODELS, splits, ["rmse"]), ["rmse"])
        same = compare(MODELS, ratings, ["rmse"], n_folds=3, by=by)
        assert shown(out, 1) == values_of(same, ["rmse"])

    def test_takes_features(self, folder, success):
        about = pd.DataFrame({"item": np.arange(1, 17), "kind": ["old", "new"] * 8, "year": 7})
        about["year"] += about["item"] % 5
        about.to_csv("items.csv", index=False)
        words = "compare r.csv --algorithms boosted --set boosted.n_rounds=20 --folds 2"
        out = success([*words.split(), "--metrics", "rmse", "--item-features", "items.csv"])
        model = recommend.BoostedFactorization(20, random_state=0)
        ratings = Ratings.from_frame(frame(), item_features=about)
        assert ratings.n_items == 16
        result = compare([model], ratings.folds(2, random_state=0), "rmse")
        assert f"{result.value(result.systems[0], 'rmse'):.4f}" in out
        assert "12 users, 16 items" in out  # one has features, and no rating

    def test_has_five_folds_and_the_usual_metrics(self, folder, success):
        out = success(ARGV)
        folds = Ratings.from_frame(frame()).folds(5, random_state=0)
        metrics = ["rmse", "mae", "ndcg@10", "precision@10", "recall@10", "map"]
        assert shown(out, 6) == values_of(compare(MODELS, folds, metrics), metrics)

    def test_can_be_that_of_a_test_file(self, folder, success):
        out = success([*ARGV, "--test", "test.csv", "--metrics", "rmse,map"])
        parts = [(Ratings.from_frame(frame()), Ratings.from_frame(frame(1)))]
        result = compare(MODELS, parts, ["rmse", "map"])
        assert f"test             {len(frame(1))} ratings, test.csv\n" in out
        assert shown(out, 2) == values_of(result, ["rmse", "map"])

    def test_is_json_for_programs(self, folder, success):
        out = success([*ARGV, "--folds", 2, "--metrics", "rmse", "--json"])
        rows = json.loads(out)["algorithms"]
        assert [row["model"] for row in rows] == list(MODELS)
        assert all(row["rmse"] > 0 for row in rows)

    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
    def test_is_written(self, name, folder, success):
        out = success([*ARGV, "--folds", 2, "--metrics", "rmse,map", "--output", name])
        table = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name)
        assert table.columns.tolist()[:3] == ["model", "rmse", "map"]
        assert {"fit_s", "predict_s"} <= set(table.columns)
        rows = table[["rmse", "map"]].to_numpy().tolist()
        assert [[f"{value:.4f}" for value in row] for row in rows] == shown(out, 2)

    def test_of_choices_has_algorithms_and_metrics_of_its_own(self, folder, success):
        argv = ["compare", "r.csv", "--implicit", "--folds", 2, "--set", "implicit.n_factors=3"]
        out = success(argv)
        assert "rmse" not in out
        names = [line.split()[0] for line in out.splitlines()[-8:-1]]
        assert names == command.DEFAULT_IMPLICIT.split(",")


class TestErrors:
    @pytest.fixture(autouse=True)
    def files(self, folder):
        """No failure may change a file, or leave another."""
        recommend.BiasBaseline().fit(Ratings.from_frame(frame())).save("m.edgewise")
        frame().assign(user="a").drop_duplicates(["user", "item"]).to_csv("words.csv", index=False)
        pd.DataFrame({"x": [1.0, 2.0]}).to_csv("names.csv", index=False)
        frame().assign(rating=lambda table: -table["rating"]).to_csv("below.csv", index=False)
        before = contents(folder)
        yield
        assert contents(folder) == before

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("none.csv", "File 'none.csv' does not exist"),
            ("m.edgewise", "use `edgewise recommend m.edgewise --test FILE`"),
            ("r.csv --algorithms bias,best", "--algorithms: 'best' is not one of boosted, "),
            ("r.csv --algorithms bias,bias", "--algorithms names bias twice"),
            ("r.csv --algorithms bias,", "--algorithms: '' is not one of boosted, "),
            ("r.csv --algorithms bias --set k=3", "--set must have the form algorithm.key=value"),
            ("r.csv --algorithms bias --set sgd.k=3", "--set: 'sgd' is not among bias"),
            ("r.csv --algorithms bias --set bias.k=3", "--set: bias has no parameter 'k'; it has"),
            ("r.csv --algorithms item-knn --set item-knn.n_neighbors=0", "--set: n_neighbors must"),
            ("r.csv --folds 1", "Invalid value for '--folds': 1 is not in the range"),
            ("r.csv --algorithms bias --folds 999", "--folds must be at most the number of rat"),
            ("r.csv --folds 3 --test test.csv", "--folds makes folds, but --test replaces them"),
            ("r.csv --algorithms bias --item-features test.csv", "--item-features: item_features"),
            ("r.csv --algorithms bias --user-features names.csv", "--user-features names.csv: no"),
            ("r.csv --algorithms bias --user-features words.csv", "--user-features words.csv: ids"),
            ("r.csv --by time", "--by time needs times: name their column by --time-column"),
            ("r.csv --by last --folds 3", "--folds makes folds, but --by last tests once"),
            ("r.csv --by user --test test.csv", "--by makes folds, but --test replaces them"),
            ("r.csv --algorithms bias --test words.csv", "--test words.csv: users must be"),
            ("r.csv --metrics best", "--metrics: unknown metrics: 'best'"),
            ("r.csv --output t.txt", "'-o': must end in .csv or .csv.gz or .parquet, got 't.txt'"),
            ("r.csv --output r.csv", "r.csv is given as DATA and --output"),
            ("r.csv --output m.edgewise", "'-o': must end in .csv"),
            ("r.csv --algorithms bias --user-column u", "--user-column 'u' must be one of the"),
            ("below.csv --algorithms bias,nmf", "below.csv: model 'nmf' failed on fold 1: "),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, message, failure):
        assert message in failure(["compare", *words.split()])

    def test_ctrl_c_exits_with_130_and_writes_nothing(self, capsys, monkeypatch):
        def interrupt(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(recommend.BiasBaseline, "_fit", interrupt)
        assert main(["compare", "r.csv", "--algorithms", "bias", "--output", "t.csv"]) == 130
        assert capsys.readouterr() == ("", "")
