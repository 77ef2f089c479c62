"""``edgewise recommend`` with the names of items."""

import numpy as np
import pandas as pd
import pytest

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with ratings of users and items that are integers, and of such that are words."""
    monkeypatch.chdir(tmp_path)
    frame().to_csv("r.csv", index=False)
    frame(words=True).to_csv("words.csv", index=False)
    return tmp_path


class TestNames:
    @pytest.fixture(autouse=True)
    def names(self, folder):
        rows = [(item, f"Film No. {item}") for item in range(1, 15)]
        pd.DataFrame(rows, columns=["item", "name"]).to_csv("names.csv", index=False)
        pd.DataFrame(rows, columns=["movieId", "title"]).to_parquet("names.parquet")
        text = "".join(f'{item}|Été {item} "x|1995|0|0\n' for item, _ in rows)
        (folder / "u.item").write_bytes(text.encode("latin-1"))
        text = "".join(f"{item},Film {item},War|Drama\n" for item, _ in rows)
        (folder / "genres.csv").write_text(text)

    @pytest.mark.parametrize(
        ("argv", "name"),
        [
            ("names.csv", "Film No. 3"),
            ("u.item --names-columns item,name", 'Été 3 "x'),
            ("genres.csv --names-columns item,name", "Film 3"),
        ],
    )
    def test_stand_beside_ids(self, argv, name, folder, success, capsys):
        argv = ["recommend", "r.csv", *BIAS, "--similar-to", "3", "--item-names", *argv.split()]
        out = success([*argv, "-n", 99], capsys)
        assert f"similar to 3 ({name})\n" in out
        other = name.replace("3", "5")
        assert any(line[2:].split()[1:2] == ["5"] and other in line for line in out.splitlines())

    def test_columns_can_be_named(self, folder, success, capsys):
        frame().rename(columns={"item": "movieId"}).to_csv("m.csv", index=False)
        argv = ["recommend", "m.csv", *BIAS, "--item-column", "movieId", "--similar-to", 3]
        argv += ["--item-names", "names.parquet", "--name-column", "title", "-n", 1]
        assert "similar to 3 (Film No. 3)\n" in success(argv, capsys)

    def test_are_written_too(self, folder, success, capsys):
        argv = ["recommend", "r.csv", *BIAS, "--output", "o.csv", "--item-names", "names.csv"]
        success(argv, capsys)
        table = pd.read_csv("o.csv", keep_default_na=False)
        expected = [f"Film No. {item}" if item < 15 else "" for item in table["item"]]
        assert table["name"].tolist() == expected

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("names.csv --name-column title", "--name-column 'title' must be one of the columns"),
            ("u.item", "--item-column 'item' must be one of the columns of --item-names u.item"),
            ("words.csv --name-column user", "--item-names words.csv names none of the items"),
            ("none.csv", "File 'none.csv' does not exist"),
            ("r.csv", "r.csv is given as RATINGS and --item-names"),
        ],
    )
    def test_that_cannot_be_read_are_one_line(self, words, told, failure, capsys):
        argv = ["recommend", "r.csv", *BIAS, "--user", "101", "--item-names", *words.split()]
        assert told in failure(argv, capsys)

    def test_cannot_steer_the_terminal(self, folder, success, capsys):
        (folder / "odd.csv").write_text("item,name\n3,\x1b[31mred\n")
        argv = ["recommend", "r.csv", *BIAS, "--similar-to", 3, "--item-names", "odd.csv"]
        out = success(argv, capsys)
        assert "similar to 3 (?[31mred)\n" in out
        assert "\x1b" not in out
