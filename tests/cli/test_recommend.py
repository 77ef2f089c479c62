"""``edgewise recommend`` on small files: lists, tests, names of items, and one-line errors."""

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import contents

import edgewise
from edgewise import AdaBoostMH, Ratings, recommend
from edgewise.cli import main
from edgewise.cli import recommend as command
from edgewise.cli.ratings import ALGORITHMS, build_recommender
from edgewise.recommend import evaluate

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


def lines_of(text, title):
    """Return the lines below a title, cut at white space."""
    below = text.split(f"{title}\n")[1].split("\n\n")[0]
    return [line.split() for line in below.splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with ratings of users and items that are integers, and of such that are words."""
    monkeypatch.chdir(tmp_path)
    frame().to_csv("r.csv", index=False)
    frame(words=True).to_csv("words.csv", index=False)
    return tmp_path


@pytest.fixture
def ratings():
    return Ratings.from_frame(frame())


@pytest.fixture
def model(ratings):
    return recommend.BiasBaseline().fit(ratings)


class TestLists:
    @pytest.mark.parametrize(
        ("words", "ask"),
        [
            ("--user 103 -n 3", lambda model: model.recommend(103, 3)),
            ("--user 101 --include-seen -n 99", lambda model: model.recommend(101, 99, False)),
            ("--similar-to 3 -n 4", lambda model: model.similar_items(3, 4)),
            (
                "--new-user 3=5,4=1 -n 4",
                lambda model: model.fold_in({0: {3: 5, 4: 1}}).recommend(0, 4),
            ),
        ],
    )
    def test_json_has_the_lists_of_the_library(self, words, ask, folder, model, success):
        out = success(["recommend", "r.csv", *BIAS, *words.split(), "--json"])
        (result,) = json.loads(out)["lists"]
        best = ask(model)
        assert [row["item"] for row in result["items"]] == best.ids.tolist()
        assert [row["score"] for row in result["items"]] == best.scores.tolist()

    def test_are_those_of_the_library(self, folder, model, success):
        out = success(["recommend", "r.csv", *BIAS, "--user", 103, 101, "-n", 3])
        assert out.startswith("ratings          ")
        assert "users            12\nitems            15\ntraining         BiasBaseline" in out
        for user in (103, 101):
            best = model.recommend(user, 3)
            size = (frame()["user"] == user).sum()
            rows = lines_of(out, f"user {user} ({size} ratings)")
            assert rows == [
                [str(place), str(item), f"{score:.3f}"]
                for place, (item, score) in enumerate(zip(*best, strict=True), 1)
            ]

    def test_come_in_the_order_asked_for_and_once(self, folder, success):
        argv = ["recommend", "r.csv", *BIAS, "--user", 103, 101, "--user", 103]
        out = success(argv)
        assert out.index("user 103") < out.index("user 101")
        assert out.count("user 103") == 1

    def test_words_stay_words(self, folder, success):
        ratings = Ratings.from_frame(frame(words=True))
        best = recommend.BiasBaseline().fit(ratings).recommend("u104", 1)
        out = success(["recommend", "words.csv", *BIAS, "--user", "u104", "-n", 1])
        assert f"   1  {best.ids[0]}  {best.scores[0]:.3f}\n" in out

    def test_an_empty_list_says_so(self, folder, success):
        (folder / "full.csv").write_text("user,item,rating\n1,1,5\n1,2,3\n2,1,4\n")
        out = success(["recommend", "full.csv", *BIAS, "--user", 1])
        assert out.endswith("\nuser 1 (2 ratings)\n no items to recommend\n")

    def test_several_new_users_are_numbered(self, folder, success):
        argv = ["recommend", "words.csv", *BIAS, "--new-user", '"Film, part 3=5"']
        out = success([*argv, "--new-user", '"Film, part 4=1","Film, part 5=2"'])
        assert "\nnew user 1 (1 rating)\n" in out
        assert "\nnew user 2 (2 ratings)\n" in out

    def test_the_file_is_no_more_than_read(self, folder, success):
        before = contents(folder)
        success(["recommend", "r.csv", *BIAS, "--user", 101])
        assert contents(folder) == before


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("r.tsv", []),
            ("r.dat.gz", ["--columns", "user,item,rating,time"]),
            ("r.data", ["--columns", "user,item,rating,when", "--time-column", "when"]),
            ("r.parquet", []),
            ("named.csv", ["--user-column", "userId", "--item-column", "movieId"]),
            ("odd.txt", ["--separator", "|"]),
        ],
    )
    def test_of_all_kinds_give_the_same_lists(self, name, options, folder, success):
        table = frame()
        table.to_csv("r.tsv", index=False, sep="\t")
        rows = "".join("::".join(map(str, row)) + "\n" for row in table.values.tolist())
        (folder / "r.dat.gz").write_bytes(gzip.compress(rows.encode()))
        (folder / "r.data").write_text(rows.replace("::", "\t"))
        table.to_parquet("r.parquet")
        renamed = table.rename(columns={"user": "userId", "item": "movieId"})
        renamed.to_csv("named.csv", index=False)
        table.to_csv("odd.txt", index=False, sep="|")
        question = [*BIAS, "--user", 105, "--include-seen"]
        plain = success(["recommend", "r.csv", *question])
        out = success(["recommend", name, *options, *question])
        assert out.split("\n\n")[1] == plain.split("\n\n")[1]

    def test_a_tab_can_be_written_as_a_word(self, folder, success):
        frame().to_csv("r.tsv", index=False, sep="\t")
        success(["recommend", "r.tsv", "--separator", "tab", *BIAS, "--user", 105])

    def test_weights_count(self, folder, success):
        weights = np.arange(len(frame())) + 1
        frame().assign(w=weights).to_csv("w.csv", index=False)
        argv = ["recommend", "w.csv", "--weight-column", "w", *BIAS, "--model", "w.edgewise"]
        success(argv)
        assert np.array_equal(edgewise.load("w.edgewise").ratings_.weights, weights)

    @pytest.mark.parametrize(
        "options", [["--implicit"], ["--columns", "user,item,x", "--duplicates", "last"]]
    )
    def test_without_ratings_the_default_learns_from_choices(self, options, folder, success):
        header = options[0] == "--implicit"
        frame()[["user", "item", "time"]].to_csv("c.csv", index=False, header=header)
        argv = ["recommend", "c.csv", *options, "--hold-out", 0.3, "--new-user", "3,4", "-n", 2]
        out = success([*argv, "--set", "n_factors=3"])
        assert "training         BoostedLists" in out
        assert "rmse" not in out
        assert len(lines_of(out, "new user (2 ratings)")) == 2

    def test_neighbors_learn_from_choices_too(self, folder, success):
        argv = ["recommend", "r.csv", "--implicit", "--algorithm", "item-knn", "--model"]
        success([*argv, "m.edgewise"])
        assert edgewise.load("m.edgewise").implicit

    def test_duplicates_need_a_word(self, folder, failure, success):
        pd.concat([frame(), frame().head(2)]).to_csv("twice.csv", index=False)
        argv = ["recommend", "twice.csv", *BIAS, "--user", 101]
        assert "--duplicates" in failure(argv)
        success([*argv, "--duplicates", "mean"])


class TestOut:
    @pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
    @pytest.mark.parametrize("source", ["r.csv", "words.csv"])
    def test_holds_the_lists_of_all_users(self, name, source, folder, success):
        ratings = Ratings.from_file(source)
        lists = recommend.BiasBaseline().fit(ratings).recommend(n=4)
        out = success(["recommend", source, *BIAS, "-n", 4, "--output", name])
        assert f"written          12 lists to {name}\n" in out
        assert "\nuser " not in out
        table = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name)
        pd.testing.assert_frame_equal(table, lists.to_frame(library="pandas"))

    def test_holds_the_lists_asked_for(self, folder, success):
        argv = ["recommend", "r.csv", *BIAS, "--user", 103, 101, "--output", "o.csv"]
        out = success([*argv, "--new-user", "3=5"])
        assert "\nuser 103 " in out
        assert "\nnew user " in out
        assert pd.read_csv("o.csv")["user"].unique().tolist() == [103, 101]

    def test_ids_with_commas_are_quoted(self, folder, success):
        success(["recommend", "words.csv", *BIAS, "--output", "o.csv"])
        with (folder / "o.csv").open(newline="") as stream:
            rows = list(csv.reader(stream))
        assert rows[0] == ["user", "item", "rank", "score"]
        assert {len(row) for row in rows} == {4}

    @pytest.mark.parametrize("name", ["old.csv", "old.csv.gz", "old.parquet"])
    def test_an_old_file_stays_when_writing_fails(self, name, folder, failure, monkeypatch):
        (folder / name).write_text("old\n")
        before = contents(folder)

        def full(*args):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.replace", full)
        message = failure(["recommend", "r.csv", *BIAS, "--output", name])
        assert "No space left on device" in message
        assert contents(folder) == before


class TestModel:
    @pytest.mark.parametrize("source", ["r.csv", "words.csv"])
    def test_a_saved_model_gives_the_same_lists(self, source, folder, success):
        user = "u104" if source == "words.csv" else "104"
        question = ["--user", user, "--output", "o.csv"]
        argv = ["recommend", source, "--algorithm", "item-knn", "--model", "m.edgewise", *question]
        first = success(argv)
        table = (folder / "o.csv").read_bytes()
        again = success(["recommend", "m.edgewise", *question])
        assert again.split("\n\n")[1:] == first.split("\n\n")[1:]
        assert "model            ItemKNN, from m.edgewise\n" in again
        assert (folder / "o.csv").read_bytes() == table

    def test_a_saved_model_knows_new_users_and_similar_items(self, folder, success):
        question = ["--new-user", "3=5,4=2", "--similar-to", 3]
        first = success(["recommend", "r.csv", *BIAS, "--model", "m.edgewise", *question])
        again = success(["recommend", "m.edgewise", *question])
        assert again.split("\n\n")[1:] == first.split("\n\n")[1:]

    def test_predict_says_what_to_use_instead(self, folder, success, failure):
        success(["recommend", "r.csv", *BIAS, "--model", "m.edgewise"])
        message = failure(["predict", "m.edgewise", "r.csv"])
        assert "BiasBaseline, which does not predict rows: use `edgewise recommend m.edg" in message

    def test_training_twice_gives_the_same_file(self, folder, success):
        for name in ("one", "two"):
            argv = ["recommend", "r.csv", "--algorithm", "sgd", "--set", "n_epochs=3"]
            success([*argv, "--seed", 7, "--model", f"{name}.edgewise"])
        assert (folder / "one.edgewise").read_bytes() == (folder / "two.edgewise").read_bytes()


class TestAdd:
    def test_new_ratings_go_into_a_saved_model(self, folder, success):
        success(["recommend", "r.csv", "--algorithm", "als", "--model", "m.edgewise"])
        new = pd.DataFrame({"user": [101, 101, 999], "item": [1, 88, 88], "rating": [1, 5, 5]})
        new.to_csv("new.csv", index=False)
        argv = ["recommend", "m.edgewise", "--add", "new.csv", "--model", "more.edgewise"]
        out = success([*argv, "--user", 999, "-n", 2])
        assert "added            3 ratings, new.csv\n" in out
        model = edgewise.load("m.edgewise").partial_fit(Ratings.from_frame(new))
        for item in model.recommend(999, n=2).ids.tolist():
            assert f" {item} " in out
        loaded = edgewise.load("more.edgewise")
        assert loaded.predict(101, 88) == model.predict(101, 88)
        assert 999 not in edgewise.load("m.edgewise").ratings_.user_ids.values


class TestSettings:
    def test_are_those_of_the_class(self, folder, success):
        argv = ["recommend", "r.csv", "--algorithm", "item-knn", "--model", "m.edgewise"]
        argv += ["--set", "n_neighbors=7", "similarity=pearson", "--set", "shrinkage=0.5"]
        success([*argv, "--threads", 2])
        model = edgewise.load("m.edgewise")
        assert (model.n_neighbors, model.similarity, model.shrinkage) == (7, "pearson", 0.5)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("kk=7", "--set: item-knn has no parameter 'kk'; it has bias_damping, damping, "),
            ("k", "--set must have the form key=value, got 'k'"),
            ("=7", "--set must have the form key=value, got '=7'"),
            ("n_neighbors=0", "--set: n_neighbors must be an integer of at least 1, got 0"),
            ("n_neighbors=many", "--set: n_neighbors must be an integer of at least 1, got 'many'"),
            ("similarity=best", "--set: similarity must be one of 'cosine'"),
            ("k=7 k=8", "--set gives k twice"),
        ],
    )
    def test_wrong_ones_are_one_line(self, words, message, folder, failure):
        argv = ["recommend", "r.csv", "--algorithm", "item-knn", "--user", 101, "--set"]
        assert message in failure([*argv, *words.split()])

    def test_boosting_is_the_default(self, folder, success):
        argv = ["recommend", "r.csv", "--set", "n_rounds=5", "--model", "m.edgewise"]
        success(argv)
        assert type(edgewise.load("m.edgewise")) is recommend.BoostedFactorization

    def test_lists_come_from_a_model_of_choices(self, folder, success, monkeypatch):
        argv = ["recommend", "r.csv", "--user", 101]
        assert "training         BoostedLists" in success(argv)
        monkeypatch.setattr(recommend.BoostedLists.__init__, "__kwdefaults__", {
            **recommend.BoostedLists.__init__.__kwdefaults__, "max_items": 2,
        })  # fmt: skip
        assert "training         ImplicitFactorization" in success(argv)

    def test_every_name_stands_for_a_class(self):
        for name, item in ALGORITHMS.items():
            model = build_recommender(name, {}, {})
            assert type(model).__name__ == item.kind
            assert {key: getattr(model, key) for key in item.settings} == item.settings

    @pytest.mark.parametrize("name", ALGORITHMS)
    def test_every_algorithm_recommends(self, name, folder, success):
        argv = ["recommend", "r.csv", "--algorithm", name, "--user", 101, "-n", 2]
        argv += ["--set", "n_rounds=5"] if name == "boosted" else []
        out = success([*argv, "--model", "m.edgewise"])
        question = success(["recommend", "m.edgewise", "--user", 101, "-n", 2])
        assert out.split("\n\n")[1] == question.split("\n\n")[1]


class TestTests:
    def test_on_a_file(self, folder, ratings, success):
        train, test = ratings.split(0.3, random_state=1)
        for name, part in (("train.csv", train), ("test.csv", test)):
            columns = {"user": part.user_ids.values[part.users]}
            columns |= {"item": part.item_ids.values[part.items], "rating": part.values}
            pd.DataFrame(columns).to_csv(name, index=False)
        argv = ["recommend", "train.csv", *BIAS, "--test", "test.csv"]
        out = success([*argv, "--metrics", "rmse,ndcg@3", "--relevant", 3])
        model = recommend.BiasBaseline().fit(Ratings.from_file("train.csv"))
        expected = evaluate(model, Ratings.from_file("test.csv"), ["rmse", "ndcg@3"], relevant=3)
        assert f"test             {len(test)} ratings, test.csv\n" in out
        assert out.splitlines()[-2].split() == ["rmse", "ndcg@3"]
        assert out.splitlines()[-1].split() == [f"{value:.4f}" for value in expected.values()]
        success([*argv, "--model", "m.edgewise"])
        argv = ["recommend", "m.edgewise", "--test", "test.csv", "--metrics", "rmse,ndcg@3"]
        again = success([*argv, "--relevant", 3])
        assert again.splitlines()[-2:] == out.splitlines()[-2:]

    @pytest.mark.parametrize("by", command.SPLITS)
    def test_on_a_part_held_out(self, by, folder, success):
        ratings = Ratings.from_frame(frame(), time="time")
        train, test = ratings.split(0.3, by, random_state=4)
        values = evaluate(recommend.BiasBaseline().fit(train), test, ["rmse", "map"])
        argv = ["recommend", "r.csv", *BIAS, "--hold-out", 0.3, "--by", by, "--seed", 4]
        argv += ["--time-column", "time", "--metrics", "rmse,map"]
        out = success(argv)
        assert f"test             {len(test)} ratings, {command.SPLITS[by]}\n" in out
        assert out.splitlines()[-1].split() == [f"{value:.4f}" for value in values.values()]
        assert out.count("training") == 1

    def test_lists_come_from_all_ratings(self, folder, success):
        plain = success(["recommend", "r.csv", *BIAS, "--user", 101])
        out = success(["recommend", "r.csv", *BIAS, "--user", 101, "--hold-out", 0.3])
        assert out.split("\n\n")[1] == plain.split("\n\n")[1]
        assert out.count("training") == 2

    def test_metrics_that_are_not_defined_are_dashes(self, folder, success):
        argv = ["recommend", "r.csv", "--algorithm", "popularity", "--hold-out", 0.3]
        out = success([*argv, "--metrics", "rmse,auc"])
        assert out.splitlines()[-1].split()[0] == "-"

    def test_a_test_of_integers_may_go_with_words(self, folder, success):
        (folder / "train.csv").write_text("user,item,rating\na,1,5\na,2,3\n7,1,4\n7,x,1\n")
        (folder / "test.csv").write_text("user,item,rating\n7,2,4\n")
        argv = ["recommend", "train.csv", *BIAS, "--test", "test.csv", "--metrics", "rmse"]
        model = recommend.BiasBaseline().fit(Ratings.from_file("train.csv"))
        out = success(argv)
        assert out.splitlines()[-1].strip() == f"{abs(model.predict('7', '2') - 4):.4f}"


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
    def test_stand_beside_ids(self, argv, name, folder, success):
        argv = ["recommend", "r.csv", *BIAS, "--similar-to", "3", "--item-names", *argv.split()]
        out = success([*argv, "-n", 99])
        assert f"similar to 3 ({name})\n" in out
        other = name.replace("3", "5")
        assert any(line[2:].split()[1:2] == ["5"] and other in line for line in out.splitlines())

    def test_columns_can_be_named(self, folder, success):
        frame().rename(columns={"item": "movieId"}).to_csv("m.csv", index=False)
        argv = ["recommend", "m.csv", *BIAS, "--item-column", "movieId", "--similar-to", 3]
        argv += ["--item-names", "names.parquet", "--name-column", "title", "-n", 1]
        assert "similar to 3 (Film No. 3)\n" in success(argv)

    def test_are_written_too(self, folder, success):
        argv = ["recommend", "r.csv", *BIAS, "--output", "o.csv", "--item-names", "names.csv"]
        success(argv)
        table = pd.read_csv("o.csv", keep_default_na=False)
        expected = [f"Film No. {item}" if item < 15 else "" for item in table["item"]]
        assert table["name"].tolist() == expected

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("names.csv --name-column title", "--name-column 'title' must be one of the columns"),
            ("u.item", "--item-column 'item' must be one of the columns of --item-names u.item"),
            ("words.csv --name-column user", "--item-names words.csv names none of the items"),
            ("none.csv", "File 'none.csv' does not exist"),
            ("r.csv", "r.csv is given as DATA and --item-names"),
        ],
    )
    def test_that_cannot_be_read_are_one_line(self, words, message, failure):
        argv = ["recommend", "r.csv", *BIAS, "--user", "101", "--item-names", *words.split()]
        assert message in failure(argv)

    def test_cannot_steer_the_terminal(self, folder, success):
        (folder / "odd.csv").write_text("item,name\n3,\x1b[31mred\n")
        argv = ["recommend", "r.csv", *BIAS, "--similar-to", 3, "--item-names", "odd.csv"]
        out = success(argv)
        assert "similar to 3 (?[31mred)\n" in out
        assert "\x1b" not in out


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
        ("words", "message"),
        [
            ("r.csv", "nothing to do: add --user to list items"),
            ("none.csv --user 1", "File 'none.csv' does not exist"),
            ("inside --user 1", "File 'inside' is a directory"),
            ("r.csv --user x", "--user: users of r.csv are integers, got 'x'"),
            ("r.csv --user 1" + "0" * 30, "0' is not among the users of r.csv"),
            ("r.csv --user 7", "--user: '7' is not among the users of r.csv"),
            ("words.csv --user 101", "--user: '101' is not among the users of words.csv"),
            ("r.csv --similar-to x", "--similar-to: items of r.csv are integers, got 'x'"),
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
            ("r.csv --output r.csv", "r.csv is given as DATA and --output"),
            ("r.csv --output none/o.csv", "'-o': the folder of 'none/o.csv' does not exist"),
            ("r.csv --output o.edgewise", "'-o': must end in .csv"),
            ("r.csv --model m.txt", "'--model': must end in .edgewise, got 'm.txt'"),
            ("r.csv --user 101 --by user", "--by needs --hold-out"),
            ("r.csv --user 101 --metrics rmse", "--metrics needs --test or --hold-out"),
            ("r.csv --user 101 --relevant 4", "--relevant needs --test or --hold-out"),
            ("r.csv --test words.csv --hold-out 0.2", "--hold-out cannot be combined with --test"),
            ("r.csv --hold-out 0.2 --metrics rmsd", "--metrics: unknown metrics: 'rmsd'"),
            ("r.csv --hold-out 0.2 --by time", "--by time needs the times of ratings"),
            ("r.csv --hold-out 0.0001", "--hold-out: test=0.0001 leaves none"),
            ("r.csv --test words.csv", "--test words.csv: users must be integers"),
            ("r.csv --test r.csv", "r.csv is given as DATA and --test"),
            ("r.csv --user 101 --name-column x", "--name-column needs --item-names"),
            ("r.csv --user 101 --names-columns x,y", "--names-columns needs --item-names"),
            ("bare.csv --user 1", "bare.csv: --rating-column 'rating' must be one of the columns"),
            ("bare.csv --user 1", "; use --columns if the file has no header, or --implicit if"),
            ("r.csv --user 1 --user-column u", "--user-column 'u' must be one of the columns"),
            ("short.csv --user 1", "short.csv is not a readable table"),
            ("r.csv --user 1 --columns user,item,rating", "must hold numbers"),
            ("r.csv --user 1 --columns a,b", "--user-column 'user' must be one of --columns a,b"),
            ("r.csv --user 1 --columns user,item,", "--columns must be comma-separated names"),
            ("r.csv --user 1 --columns user,user", "--columns must be different names"),
            ("r.csv --user 1 --implicit --rating-column x", "--implicit means no ratings, but"),
            ("r.parquet --user 1 --columns user,item", "--columns is for text files; r.parquet"),
            ("m.edgewise --user 7", "--user: '7' is not among the users of m.edgewise"),
            ("m.edgewise --user 101 --algorithm bias", "--algorithm is for training"),
            ("m.edgewise --user 101 --set k=3", "--set is for training"),
            ("m.edgewise --user 101 --seed 0", "--seed is for training"),
            ("m.edgewise --hold-out 0.2", "--hold-out is for training"),
            ("m.edgewise --model n.edgewise", "--model is for training"),
            ("r.csv --user 101 --add words.csv", "--add needs a saved model"),
            ("m.edgewise --user 101 --add words.csv", "--add words.csv: users must be integers"),
            ("m.edgewise --user 101 --columns user,item", "--columns describes a ratings file"),
            ("m.edgewise --user 101 --implicit", "--implicit describes a ratings file"),
            ("m.edgewise", "nothing to do"),
            ("classes.edgewise --user 1", "holds AdaBoostMH, which does not recommend"),
            ("noise.edgewise --user 1", "noise.edgewise is not a readable edgewise model"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, message, failure):
        trained = [] if ".edgewise --" in words or words.endswith(".edgewise") else BIAS
        assert message in failure(["recommend", *words.split(), *trained])

    @pytest.mark.parametrize(
        "words", ["--algorithm best", "-n 0", "--hold-out 1", "--hold-out x", "--relevant x"]
    )
    def test_wrong_values_are_one_line(self, words, failure):
        message = failure(["recommend", "r.csv", *words.split()])
        assert f"Invalid value for '{words.split()[0]}'" in message

    def test_a_report_names_its_own_option(self, failure):
        argv = ["report", "m.edgewise", "--data", "words.csv", "-o", "page.html"]
        assert "--data words.csv: users must be integers" in failure(argv)

    def test_ids_are_looked_at_before_training(self, failure, monkeypatch):
        def never(*args):
            raise AssertionError

        monkeypatch.setattr(recommend.BiasBaseline, "fit", never)
        for words in ("--user 7", "--similar-to 77", "--new-user 3=9", "--test words.csv"):
            failure(["recommend", "r.csv", *BIAS, *words.split()])

    def test_ctrl_c_exits_with_130_and_writes_nothing(self, capsys, monkeypatch):
        def interrupt(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(recommend.BiasBaseline, "_fit", interrupt)
        argv = ["recommend", "r.csv", *BIAS, "--output", "o.csv", "--model", "n.edgewise"]
        assert main(argv) == 130
        assert capsys.readouterr() == ("", "")
