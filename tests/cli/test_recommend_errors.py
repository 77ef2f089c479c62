"""``edgewise recommend`` where something is wrong: one line, and nothing is written."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Ratings, recommend
from edgewise.cli import main

BIAS = ["--algorithm", "bias"]


def frame(seed=0, n_users=12, n_items=15, words=False):
    """Ratings from 1 to 5 of about half of all pairs; ids are integers, or words."""
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(rng.random((n_users, n_items)) < 0.5)
    taste = rng.normal(size=n_users)[pairs[:, 0]] * rng.normal(size=n_items)[pairs[:, 1]]
    table = pd.DataFrame(
        {
            "user": pairs[:, 0] + 100,
            "item": pairs[:, 1] + 1,
            "rating": np.clip(np.round(3 + 1.5 * taste), 1, 5).astype(int),
            "time": rng.permutation(len(pairs)),
        }
    )
    if words:
        table["user"] = "u" + table["user"].astype(str)
        table["item"] = "Film, part " + table["item"].astype(str)
    return table


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with ratings of users and items that are integers, and of such that are words."""
    monkeypatch.chdir(tmp_path)
    frame().to_csv("r.csv", index=False)
    frame(words=True).to_csv("words.csv", index=False)
    return tmp_path


class TestErrors:
    @pytest.fixture(autouse=True)
    def files(self, folder):
        """Files that don't fit; no failure may change any, or leave another."""
        AdaBoostMH(n_rounds=1).fit([[0.0], [1.0]], [0, 1]).save("classes.edgewise")
        recommend.BiasBaseline().fit(Ratings.from_frame(frame())).save("m.edgewise")
        (folder / "bare.csv").write_text("user,item\n1,2\n")
        (folder / "short.csv").write_text("user,item,rating\n1,2\n")
        (folder / "noise.edgewise").write_text("no model")
        (folder / "inside").mkdir()
        frame().to_parquet("r.parquet")
        before = contents(folder)
        yield
        assert contents(folder) == before

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("r.csv", "nothing to do: add --user to list items"),
            ("none.csv --user 1", "File 'none.csv' does not exist"),
            ("inside --user 1", "File 'inside' is a directory"),
            ("r.csv --user x", "--user: the users of r.csv are integers, got 'x'"),
            ("r.csv --user 1" + "0" * 30, "0' is not among the users of r.csv"),
            ("r.csv --user 7", "--user: '7' is not among the users of r.csv"),
            ("words.csv --user 101", "--user: '101' is not among the users of words.csv"),
            ("r.csv --similar-to x", "--similar-to: the items of r.csv are integers, got 'x'"),
            ("r.csv --similar-to 77", "--similar-to: '77' is not among the items of r.csv"),
            ("r.csv --new-user 3", "must be item=rating,..., got '3' without"),
            ("r.csv --new-user 3:5", "must be item=rating,..., got '3:5' without"),
            ("r.csv --new-user 3=9", "--new-user: ratings are from 1 to 5, got 9"),
            ("r.csv --new-user 3=good", "--new-user must be item=rating,..."),
            ("r.csv --new-user 3=nan", "got '3=nan' in '3=nan'"),
            ("r.csv --new-user =5", "got '=5' in '=5'"),
            ("r.csv --new-user 3=5,3=4", "--new-user '3=5,3=4' rates an item twice"),
            ("r.csv --new-user 3=5,03=4", "--new-user '3=5,03=4' rates an item twice"),
            ("r.csv --new-user 77=5", "--new-user: '77' is not among the items of r.csv"),
            ('r.csv --new-user "3=5', "has unmatched quotes"),
            ("r.csv --output o.txt", "'-o': must end in .csv or .csv.gz or .parquet, got 'o.txt'"),
            ("r.csv --output r.csv", "r.csv is given as RATINGS and --output"),
            ("r.csv --output none/o.csv", "'-o': the folder of 'none/o.csv' does not exist"),
            ("r.csv --output o.edgewise", "'-o': must end in .csv"),
            ("r.csv --model m.txt", "'--model': must end in .edgewise, got 'm.txt'"),
            ("r.csv --user 101 --by user", "--by needs --hold-out"),
            ("r.csv --user 101 --metrics rmse", "--metrics needs --test or --hold-out"),
            ("r.csv --user 101 --relevant 4", "--relevant needs --test or --hold-out"),
            ("r.csv --test words.csv --hold-out 0.2", "--test and --hold-out are two ways"),
            ("r.csv --hold-out 0.2 --metrics rmsd", "--metrics: metrics must be among rmse"),
            ("r.csv --hold-out 0.2 --by time", "--by time needs the times of ratings"),
            ("r.csv --hold-out 0.0001", "--hold-out: test=0.0001 leaves none"),
            ("r.csv --test words.csv", "--test words.csv: users must be integers"),
            ("r.csv --test r.csv", "r.csv is given as RATINGS and --test"),
            ("r.csv --user 101 --name-column x", "--name-column needs --item-names"),
            ("r.csv --user 101 --names-columns x,y", "--names-columns needs --item-names"),
            ("bare.csv --user 1", "bare.csv: --rating-column 'rating' must be one of the columns"),
            ("bare.csv --user 1", "; use --columns if the file has no header, or --implicit if"),
            ("r.csv --user 1 --user-column u", "--user-column 'u' must be one of the columns"),
            ("short.csv --user 1", "short.csv has 2 columns in row 1, not 3"),
            ("r.csv --user 1 --columns user,item,rating", "must hold numbers"),
            ("r.csv --user 1 --columns a,b", "--user-column 'user' must be one of --columns a,b"),
            ("r.csv --user 1 --columns user,item,", "--columns must be comma-separated names"),
            ("r.csv --user 1 --columns user,user", "--columns must be different names"),
            ("r.csv --user 1 --implicit --rating-column x", "--implicit means no ratings, but"),
            ("r.parquet --user 1 --columns user,item", "--columns is for text files; r.parquet"),
            ("m.edgewise --user 7", "--user: '7' is not among the users of m.edgewise"),
            (
                "m.edgewise --user 101 --algorithm bias",
                "--algorithm: m.edgewise is trained",
            ),
            ("m.edgewise --user 101 --set k=3", "--set: m.edgewise is trained already"),
            ("m.edgewise --user 101 --seed 0", "--seed: m.edgewise is trained already"),
            ("m.edgewise --hold-out 0.2", "--hold-out: m.edgewise is trained already"),
            ("m.edgewise --model n.edgewise", "--model: m.edgewise is trained already"),
            ("m.edgewise --user 101 --columns user,item", "--columns describes a file of ratings"),
            ("m.edgewise --user 101 --implicit", "--implicit describes a file of ratings"),
            ("m.edgewise", "nothing to do"),
            ("classes.edgewise --user 1", "holds AdaBoostMH, which does not recommend"),
            ("noise.edgewise --user 1", "noise.edgewise is not a readable edgewise model"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, told, failure, capsys):
        trained = [] if ".edgewise --" in words or words.endswith(".edgewise") else BIAS
        assert told in failure(["recommend", *words.split(), *trained], capsys)

    @pytest.mark.parametrize(
        "words", ["--algorithm best", "-n 0", "--hold-out 1", "--hold-out x", "--relevant x"]
    )
    def test_wrong_values_are_one_line(self, words, failure, capsys):
        told = failure(["recommend", "r.csv", *words.split()], capsys)
        assert f"Invalid value for '{words.split()[0]}'" in told

    def test_ids_are_looked_at_before_training(self, failure, capsys, monkeypatch):
        def never(*args):
            raise AssertionError

        monkeypatch.setattr(recommend.BiasBaseline, "fit", never)
        for words in ("--user 7", "--similar-to 77", "--new-user 3=9", "--test words.csv"):
            failure(["recommend", "r.csv", *BIAS, *words.split()], capsys)

    def test_ctrl_c_exits_with_130_and_writes_nothing(self, capsys, monkeypatch):
        def interrupt(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(recommend.BiasBaseline, "_fit", interrupt)
        argv = ["recommend", "r.csv", *BIAS, "--output", "o.csv", "--model", "n.edgewise"]
        assert main(argv) == 130
        assert capsys.readouterr() == ("", "")
