"""``edgewise train`` and what follows it, on a table as people have them."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest

import edgewise
from edgewise import AdaBoostMH, RankBoost, io
from edgewise.cli import fitting, main, params
from edgewise.cli.tables import Rows

JOBS = ("clerk", "nurse", "engineer", "farmer")


def people(n, seed, cities=("Rome", "Oslo", "Bonn")):
    """Rows with an id, gaps, words, a date, amounts of money and a column that never varies."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        age, hours, job = rng.integers(18, 80), rng.integers(10, 70), rng.choice(JOBS)
        day = np.datetime64("2015-01-01") + int(rng.integers(0, 3000))
        score = 0.05 * age + 0.06 * hours + 2 * (job == "engineer") + rng.normal() / 2
        gap = rng.random(4) < 0.05
        rows.append({
            "id": f"P{seed}{i:05}", "age": "" if gap[0] else age,
            "hours": "NA" if gap[1] else hours,
            "job": "?" if gap[2] else job, "city": rng.choice(cities),
            "joined": "null" if gap[3] else day, "salary": f"${rng.integers(20, 60)},000",
            "country": "DE", "income": ">50K" if score > 6 else "<=50K",
        })  # fmt: skip
    return rows


def write(path, rows, columns=None, separator=","):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", newline="") as stream:
        names = columns or list(rows[0])
        writer = csv.DictWriter(stream, names, extrasaction="ignore", delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)


def run(*argv, **options):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "edgewise", *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with tables, and a model trained as a new user would, without another flag."""
    folder = tmp_path_factory.mktemp("people")
    write(folder / "people.csv", people(240, 0))
    fresh = people(60, 1)
    write(folder / "new.csv", fresh, list(reversed(fresh[0])))
    write(folder / "short.csv", fresh, ["id", "age", "city", "joined", "salary"])
    write(folder / "kyiv.csv", people(40, 2, ("Rome", "Kyiv")))
    folder.joinpath("said.txt").write_text(
        run("train", "people.csv", "--target", "income", cwd=folder).stdout
    )
    return folder


@pytest.fixture
def here(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestMessyTable:
    def test_says_what_it_understood_learned_and_saved(self, home):
        said = home.joinpath("said.txt").read_text()
        table, _, _ = said.partition("\n\n")
        rows = {line.split()[0]: line for line in table.splitlines()}
        assert "left out" in rows["id"]
        assert rows["age"].split()[1] == "number"
        assert rows["job"].split()[1] == "category"
        assert rows["joined"].split()[1] == "date"
        assert "year, month, weekday, days" in rows["joined"]
        assert rows["salary"].split()[1] == "number"
        assert "left out" in rows["country"]
        assert "2 classes in 'income'" in said
        assert "48 are held out" in said
        assert "ROC AUC" in said
        assert "mean probability of >50K" in said
        assert "edgewise predict people.edgewise" in said

    def test_the_model_knows_the_table(self, home):
        model = edgewise.load(home / "people.edgewise")
        assert isinstance(model, AdaBoostMH)
        assert model.schema_.target == ("income",)
        assert "joined.year" in model.feature_names_in_
        assert not {"id", "country"} & set(model.feature_names_in_)

    def test_predicts_shuffled_columns_as_the_library_does(self, here, success):
        out = success(["predict", "people.edgewise", "new.csv", "-o", "out.csv"])
        assert out.startswith("predicted        60 rows, out.csv, ")
        with Path("out.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        model = edgewise.load("people.edgewise")
        X = model.schema_.transform(io.read_columns("new.csv"))
        assert [row["predicted"] for row in rows] == model.predict(X).tolist()
        assert [row["id"] for row in rows] == [row["id"] for row in people(60, 1)]
        given = np.array([float(row["probability of >50K"]) for row in rows])
        assert np.array_equal(given, model.predict_proba(X)[:, 1])

    def test_ids_that_are_formulas_are_escaped_on_request(self, here, success):
        write("odd.csv", [{**row, "id": f"=HYPERLINK({i})"} for i, row in enumerate(people(60, 1))])
        given = ["predict", "people.edgewise", "odd.csv"]
        assert success(given).splitlines()[1].startswith("=HYPERLINK(0),")
        assert success([*given, "--escape-formulas"]).splitlines()[1].startswith("'=HYPERLINK(0),")
        success([*given, "-o", "out.csv", "--escape-formulas"])
        assert Path("out.csv").read_text().splitlines()[1].startswith("'=HYPERLINK(0),")

    def test_without_output_it_prints_the_table(self, here, success):
        out = success(["predict", "people.edgewise", "new.csv"])
        assert out.startswith("id,predicted,probability,")
        assert out.count("\n") == 61

    def test_a_missing_column_is_named(self, here, failure):
        message = failure(["predict", "people.edgewise", "short.csv"])
        assert (
            "short.csv: the table lacks the columns 'hours', 'job', which training had" in message
        )

    def test_new_categories_are_missing_and_said(self, here, capsys):
        assert main(["predict", "people.edgewise", "kyiv.csv", "-o", "o.csv"]) == 0
        assert "'city' has unseen categories" in capsys.readouterr().err

    def test_evaluates_as_the_library_does(self, here, success):
        out = success(["evaluate", "people.edgewise", "new.csv", "--json"])
        result = json.loads(out)
        model = edgewise.load("people.edgewise")
        raw = io.read_columns("new.csv")
        score = model.score(model.schema_.transform(raw), model.schema_.labels(raw))
        assert result["error"] == pytest.approx(1 - score)
        assert result["classes"] == ["<=50K", ">50K"]
        assert sum(map(sum, result["confusion"])) == result["rows"] == 60
        assert "ROC AUC" in success(["evaluate", "people.edgewise", "new.csv"])

    def test_explains_the_model_and_a_row(self, here, success):
        out = success(["show", "people.edgewise", "new.csv"])
        assert "mean probability of >50K at some values" in out
        out = success(["explain", "people.edgewise", "new.csv", "--row", 2, "--json"])
        result = json.loads(out)
        model = edgewise.load("people.edgewise")
        X = model.schema_.transform(io.read_columns("new.csv"))
        score = float(model.decision_function(X)[1])
        total = sum(part["amount"] for part in result["contributions"])
        assert total == pytest.approx(score if result["class"] == ">50K" else -score)
        out = success(["explain", "people.edgewise", "new.csv", "--row", 2, "-n", 3])
        assert "Row 2 of new.csv" in out
        assert "others" in out

    def test_writes_a_page_and_exports(self, here, success):
        argv = ["report", "people.edgewise", "--data", "new.csv", "-o", "new.html"]
        assert success(argv) == "Wrote new.html: 60 rows of new.csv\n"
        assert "joined.year" in Path("new.html").read_text()
        success(["export", "people.edgewise", "-o", "scores.sql"])
        assert "joined.year" in Path("scores.sql").read_text()

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("report people.edgewise -o new.html", "Missing option '--data'"),
            ("report people.edgewise --data short.csv -o new.html", "lacks the columns"),
            ("report people.edgewise --data new.csv -o new.pdf", "must end in .html"),
            ("export people.edgewise -o none/people.py", "the folder of 'none/people.py'"),
            ("train people.csv --target income", "people.edgewise exists: --force replaces it"),
            ("train people.csv --force", "--target must name the target column of people.csv"),
            ("train people.csv --target wage --force", "--target 'wage' must be a column: 'id'"),
            ("train people.csv --target id --force", "--target 'id'"),
            ("train people.csv --target country --force", "has a single class, DE"),
            ("train people.csv --target age --drop agee --force", "--drop 'agee' must be a column"),
            ("train people.csv --target job --target city --force", "--target 'job' must hold 0"),
            ("train people.csv --target income --task labels --force", "needs a --target for each"),
            ("train people.csv --target income --force --set 0", "--set must have the form"),
            ("train people.csv --target income --force --set k=3", "unknown parameter 'k'"),
            ("train people.csv --target income --force --set learning_rate=-1", "learning_rate"),
            ("train people.csv --target income --force --rounds 3 --set n_rounds=4", "--rounds"),
            ("train people.csv --target income --force --monotonic age", "--monotonic must have"),
            ("predict people.edgewise people.edgewise", "given as MODEL and DATA"),
            ("predict people.edgewise new.csv --target income", "use `edgewise evaluate"),
            ("predict people.edgewise new.csv -o out.run", "--output must end in .csv"),
            ("predict people.edgewise new.csv -o out.txt", "--output must end in .csv"),
            ("evaluate people.edgewise short.csv", "short.csv: the table lacks the columns"),
            ("evaluate people.edgewise new.csv --target job", "'job' is a feature"),
            ("evaluate people.edgewise new.csv --metrics map", "--metrics is for runs"),
            ("explain people.edgewise --row 1", "Missing argument 'DATA'"),
            ("explain people.edgewise new.csv --row 99", "--row 99: new.csv has 60 rows"),
            ("explain people.edgewise new.csv --row 1 --class x", "--class must be one of <=50K"),
            ("show new.csv", "new.csv is not a readable edgewise model"),
        ],
    )  # fmt: skip
    def test_mistakes_are_one_line(self, words, message, here, failure):
        assert message in failure(words.split())


def test_the_commands_of_the_guide_run(here):
    page = Path(__file__).parents[2] / "docs/guide/commands.md"
    lines = re.findall(r"^\|.* `edgewise (\w+ people\.\S+.*)` \|$", page.read_text(), re.MULTILINE)
    assert lines[0] == "train people.csv --target income"
    assert len(lines) > 5
    for line in lines[1:]:
        assert main(line.replace("test.csv", "new.csv").split()) == 0, line


@pytest.mark.parametrize(
    "words",
    ["train nowhere.csv --target wage", "show nowhere.edgewise", "export people.edgewise -o x.exe"],
)
def test_mistakes_in_a_process_of_its_own(words, home):
    done = run(*words.split(), cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("edgewise: error: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_saves_the_rounds_so_far(home, folder, capsys, interrupt_after):
    interrupt_after(5)
    argv = ["train", str(home / "people.csv"), "--target", "income", "--learner", "stump"]
    assert main([*argv, "--rounds", "99"]) == 130
    out = capsys.readouterr().out
    assert "5 rounds, ended by: interrupted" in out
    assert edgewise.load("people.edgewise").n_rounds_ == 5


def test_ctrl_c_while_tuning_keeps_the_best_so_far(home, folder, capsys, monkeypatch):
    models = []
    train = fitting._train

    def interrupt(*arguments):
        model = train(*arguments)
        models.append(model)
        if len(models) == 2:
            model.fitted_ = replace(model.fitted_, stop_reason="interrupted")
        return model

    monkeypatch.setattr(fitting, "_train", interrupt)
    monkeypatch.setattr(fitting, "_candidates", lambda _: {
        "good": {"learner": "stump", "n_rounds": 20}, "poor": {"learner": "stump", "n_rounds": 1},
    })  # fmt: skip
    assert main(["train", str(home / "people.csv"), "--target", "income", "--tune"]) == 130
    assert "tuning was interrupted" in capsys.readouterr().out
    assert edgewise.load("people.edgewise").n_rounds_ == 20


class TestHoldOut:
    """Test rows are drawn by class or by query, and at least one row of each class trains."""

    def split(self, fraction=0.2, task="classes", **columns):
        n = len(next(iter(columns.values())))
        rows = Rows("t.csv", np.arange(n)[:, None], **columns)
        return fitting.hold_out(rows, task, fraction, 0)

    def test_classes_keep_their_shares(self):
        y = np.repeat([0, 1, 2], [100, 50, 10])
        train, test = self.split(y=y)
        assert np.bincount(test.y).tolist() == [20, 10, 2]
        assert sorted([*train.X[:, 0], *test.X[:, 0]]) == list(range(160))

    @pytest.mark.parametrize("fraction", [0.2, 0.9])
    def test_a_class_of_one_row_trains(self, fraction):
        y = np.r_[np.zeros(60, int), 1, np.full(30, 2)]
        train, test = self.split(fraction, y=y)
        assert 1 in train.y
        assert 1 not in test.y

    def test_more_classes_than_test_rows(self):
        y = np.repeat(np.arange(60), 2)
        train, test = self.split(0.1, y=y)
        assert (len(train), len(test)) == (108, 12)

    def test_queries_stay_whole(self):
        qid = np.repeat(np.arange(20), 5)
        train, test = self.split(task="grades", y=np.tile(np.arange(5), 20), qid=qid)
        assert not set(train.qid) & set(test.qid)
        assert len(set(test.qid)) == 4

    @pytest.mark.parametrize("qid", [None, np.zeros(60)])
    def test_a_single_query_trains(self, qid):
        _, test = self.split(task="grades", y=np.arange(60) % 3, qid=qid)
        assert test is None

    def test_few_rows_train(self):
        _, test = self.split(y=np.arange(40) % 2)
        assert test is None


def test_the_model_of_names_is_that_of_python(folder, success):
    rows = [{"a": i % 7, "b": i % 3, "y": "no" if i % 7 < 3 else "yes"} for i in range(60)]
    write("t.csv", rows)
    argv = ["train", "t.csv", "--target", "y", "--hold-out", 0, "--learner", "stump"]
    success([*argv, "--rounds", 5, "--set", "votes=real", "learning_rate=0.5"])
    X = np.array([[row["a"], row["b"]] for row in rows])
    model = AdaBoostMH("stump", n_rounds=5, votes="real", learning_rate=0.5)
    model.fit(X, [row["y"] for row in rows])
    loaded = edgewise.load("t.edgewise")
    assert loaded.classes_.tolist() == ["no", "yes"]
    assert [str(rule).replace("x0", "a") for rule in model.rules()] == [
        str(rule) for rule in loaded.rules()
    ]


class TestTerms:
    ARGV = ("train", "people.csv", "--target", "income", "--force", "--rounds", "20")

    def test_terms_are_limited_and_printed_instead_of_rules(self, here, success):
        model = ["--model", "additive.edgewise", "--learner", "additive"]
        text = success([*self.ARGV, *model, "--max-terms", 3, "--max-pairs", 0])
        terms = edgewise.load("additive.edgewise").terms_
        assert len(terms) == 3
        assert "Strongest rules" not in text
        lines = text.partition("Terms, by their share")[2].splitlines()[2:5]
        for line, term in zip(lines, terms, strict=True):
            assert line.split()[:2] == [term.name, f"{term.importance:.1%}"]

    def test_limits_are_for_additive_models(self, here, failure):
        assert "--max-terms needs --learner additive" in failure([*self.ARGV, "--max-terms", 3])


class TestTasks:
    def test_several_classes(self, folder, success):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(90, 2)).round(3)
        names = np.where(X[:, 0] < 0, "low", np.where(X[:, 1] < 0, "mid", "high"))
        rows = [{"a": a, "b": b, "y": y} for (a, b), y in zip(X.tolist(), names, strict=True)]
        write("three.csv", rows)
        argv = ["train", "three.csv", "--target", "y", "--learner", "product", "--rounds", 8]
        out = success([*argv, "--hold-out", 0])
        assert "3 classes in 'y' (low " in out
        assert "on all 90 rows; no hold-out set" in out
        assert "; Hamming loss " in out
        assert "log loss" not in out
        out = success(["evaluate", "three.edgewise", "three.csv"])
        assert "predicted high" in out
        assert "ROC AUC" not in out

    def test_classes_that_are_floats_in_python(self, folder, success):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"size": range(20), "bought": [0, 1] * 10})
        model = AdaBoostMH("stump", n_rounds=2)
        model.fit(frame[["size"]], frame["bought"].astype(float)).save("sizes.edgewise")
        frame.to_csv("sizes.csv", index=False)
        out = success(["evaluate", "sizes.edgewise", "sizes.csv", "--target", "bought", "--json"])
        assert json.loads(out)["rows"] == 20

    def test_labels_are_predicted_as_in_python_whatever_the_weights(self, folder, success):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"size": range(20)})
        y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5)
        model = AdaBoostMH("stump", n_rounds=3, init_weights=1.0 + 4.0 * y).fit(frame, y)
        model.save("sizes.edgewise")
        frame.to_csv("sizes.csv", index=False)
        result = json.loads(success(["predict", "sizes.edgewise", "sizes.csv", "--json"]))
        assert np.array_equal(np.transpose([result["0"], result["1"]]), model.predict(frame))
        assert not np.array_equal(model.predict_proba(frame) > 0.5, model.predict(frame) > 0)

    @pytest.mark.parametrize("first", ["t.csv", "t.parquet"])
    def test_booleans_are_the_same_in_all_files(self, first, folder, success):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"x": np.arange(60) % 7, "flag": np.arange(60) % 2 == 0})
        frame["y"] = (frame["x"] > 3) ^ frame["flag"]
        frame.to_csv("t.csv", index=False)
        frame.to_parquet("t.parquet")
        success(["train", first, "--target", "y", "--rounds", 3])
        shown = [
            success(["evaluate", "t.edgewise", name]).replace(name, "")
            for name in ("t.csv", "t.parquet")
        ]
        assert shown[0] == shown[1]

    def test_explains_rows_of_which_no_value_is_known(self, folder, success):
        rows = [{"c": c, "a": i % 7, "y": c == "u"} for i, c in enumerate("uvw" * 20)]
        write("colors.csv", rows)
        success(["train", "colors.csv", "--target", "y", "--learner", "stump"])
        write("new.csv", [{**row, "c": ""} for row in rows])
        out = success(["show", "colors.edgewise", "new.csv"])
        assert re.search(r"\n c +100\.0%\n", out)

    def test_a_forgotten_query_is_said(self, folder, capsys):
        rows = [{"qid": i // 5, "x": i % 7, "grade": i % 3} for i in range(60)]
        write("t.csv", rows)
        assert main(["train", "t.csv", "--target", "grade", "--rounds", "2"]) == 0
        assert "use --query qid" in capsys.readouterr().err

    def test_labels(self, folder, success):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 3)).round(3)
        rows = [
            {"a": a, "b": b, "c": c, "happy": "yes" if a > 0 else "no", "loud": int(b > 0)}
            for a, b, c in X.tolist()
        ]
        write("songs.tsv", rows, separator="\t")
        argv = ["train", "songs.tsv", "--target", "happy", "--target", "loud", "--rounds", 10]
        out = success([*argv, "--learner", "stump"])
        assert "2 labels: happy, loud" in out
        assert "Hamming loss" in out
        success(["predict", "songs.edgewise", "songs.tsv", "-o", "out.csv"])
        with Path("out.csv").open(newline="") as stream:
            result = list(csv.DictReader(stream))
        loud = np.array([row["loud"] == "1" for row in result])
        assert np.mean(loud == (X[:, 1] > 0)) > 0.9
        out = success(["evaluate", "songs.edgewise", "songs.tsv", "--json"])
        assert set(json.loads(out)["labels"]) == {"happy", "loud"}

    def test_grades(self, folder, success, data):
        part = data(0, n_queries=10)
        rows = [
            {"q": q, "doc": d, "grade": int(y), **dict(zip("abcd", x, strict=True))}
            for q, d, y, x in zip(part.qid, part.docs, part.y, part.X.tolist(), strict=True)
        ]
        write("pages.csv", rows)
        argv = ["train", "pages.csv", "--target", "grade", "--query", "q", "--doc", "doc"]
        out = success([*argv, "--rounds", 10])
        assert "ranking, 10 queries, grades from 0 to 2 in 'grade'" in out
        assert "ndcg@10" in out
        assert isinstance(edgewise.load("pages.edgewise"), RankBoost)
        success(["predict", "pages.edgewise", "pages.csv", "-o", "out.run"])
        assert len(io.read_run("out.run").scores) == len(rows)
        out = success(["predict", "pages.edgewise", "pages.csv"])
        assert out.startswith("query,doc,score,rank\n")
        out = success(["evaluate", "pages.edgewise", "pages.csv", "--json"])
        assert json.loads(out)["map"] > 0.5

    def test_svmlight(self, folder, success, failure, capsys):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3)).round(3)
        lines = [f"{int(a > 0)} 1:{a} 2:{b} 3:{c}\n" for a, b, c in X.tolist()]
        folder.joinpath("rows.svm").write_text("".join(lines))
        out = success(["train", "rows.svm", "--learner", "stump", "--rounds", 50])
        out = success(["evaluate", "rows.edgewise", "rows.svm", "--json"])
        assert json.loads(out)["error"] == 0
        argv = ["train", "rows.svm", "--task", "grades", "--test", "rows.svm.gz", "--rounds", 3]
        Path("rows.svm.gz").write_bytes(gzip.compress(Path("rows.svm").read_bytes()))
        assert main([*map(str, argv), "--model", "grades.edgewise"]) == 0
        out, err = capsys.readouterr()
        assert "rows.svm has no query ids" in err
        assert "x0 is feature 1" in out
        argv = ["train", "rows.svm", "--target", "x", "--force"]
        assert "--target" in failure(argv)

    def test_json_is_all_there_is(self, home, folder, capsys):
        argv = ["train", str(home / "people.csv"), "--target", "income", "--json"]
        assert main([*argv, "--rounds", "5", "--test", str(home / "new.csv")]) == 0
        out, err = capsys.readouterr()
        result = json.loads(out)
        assert err == ""
        assert result["task"] == "classes"
        assert result["training"]["rounds"] == 5
        assert result["training"]["rows"] == 240
        assert result["test"]["rows"] == 60
        assert {item["name"]: item["kind"] for item in result["columns"]}["joined"] == "date"

    def test_tune_says_what_it_tried(self, home, folder, success, monkeypatch):
        candidates = fitting._candidates("classes")
        assert candidates["default"] == {}
        quick = {name: {**settings, "n_rounds": 2} for name, settings in candidates.items()}
        monkeypatch.setattr(fitting, "_candidates", lambda _: quick)
        argv = ["train", home / "people.csv", "--target", "income", "--tune"]
        actual = json.loads(success([*argv, "--json"]))
        assert [result["settings"] for result in actual["tuning"]] == [*candidates]
        best = min(actual["tuning"], key=lambda item: item["log_loss"])
        assert [item["chosen"] for item in actual["tuning"]].count(True) == 1
        assert best["chosen"]

    def test_the_same_seed_gives_the_same_file(self, home, folder, success):
        argv = ["train", home / "people.csv", "--target", "income", "--rounds", 5]
        for name in ("one", "two"):
            success([*argv, "--model", f"{name}.edgewise"])
        first, second = (
            folder.joinpath(f"{name}.edgewise").read_bytes() for name in ("one", "two")
        )
        assert first == second

    def test_weights_and_numbers_as_categories(self, home, folder, success):
        rows = [{**row, "w": 1 + i % 3, "zip": f"0{i % 4}"} for i, row in enumerate(people(60, 5))]
        write("p.csv", rows)
        argv = ["train", "p.csv", "--target", "income", "--weight", "w", "--categorical", "zip"]
        success([*argv, "--rounds", 3, "--drop", "salary"])
        kinds = {item.name: item for item in edgewise.load("p.edgewise").schema_.columns}
        assert kinds["zip"].categories == ("00", "01", "02", "03")
        assert kinds["salary"].kind == "dropped"
        assert "w" not in kinds

    def test_constraints_on_columns(self, home, folder, success):
        argv = ["train", home / "people.csv", "--target", "income", "--rounds", 5]
        success([*argv, "--monotonic", "age=+1", "salary=-1", "--no-interactions"])
        assert edgewise.load("people.edgewise").settings_.constraints == {
            "monotonic_cst": "age +1, salary -1", "interaction_cst": "no_interactions"
        }  # fmt: skip


class TestHostileInput:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("empty.csv", b"", "empty.csv is empty"),
            ("header.csv", b"a,y\n", "header.csv is empty: it has column names and no rows"),
            ("one.csv", b"a,y\n" + b"1,x\n2,x\n" * 20, "'y' has a single class, x"),
            ("twice.csv", b"a,a,y\n1,2,x\n", "twice.csv has several columns of the same name: 'a'"),
            ("binary.csv", b"\x89PNG\0\1\2" * 50, "binary.csv is not a text file"),
            ("latin.csv", "a,y\nM\xfcller,x\nb,y\n".encode("latin-1"), "save it as UTF-8"),
            ("ragged.csv", b"a,y\n1,x\n1,2,3\n", "ragged.csv is not a readable table"),
            ("gaps.csv", b"a,y\n" + b"1,\n2,?\n" * 20, "gaps.csv has no value in --target y"),
            ("real.csv", "a,y\n" + "".join(f"1,{i / 7}\n" for i in range(99)), "real.csv: "),
            ("bare.csv", b"y\n" + b"x\nz\n" * 20, "no column is left to learn from"),
            ("same.csv", b"a,y\n" + b"1,x\n1,z\n" * 20, "no column is left to learn from"),
            ("cut.csv.gz", gzip.compress(b"a,y\n1,x\n" * 99, mtime=0)[:-9], "gz is damaged"),
            ("junk.parquet", b"not parquet", "junk.parquet is not a readable Parquet file"),
            ("junk.arff", b"not arff", "junk.arff is not a readable ARFF file"),
            ("people.xlsx", b"PK", "people.xlsx must be one of .csv, .tsv"),
            ("words.svm", b"these are words\n", "words.svm, line 1"),
        ],
    )  # fmt: skip
    def test_is_answered_in_one_line(self, name, content, message, folder, failure):
        folder.joinpath(name).write_bytes(content.encode() if isinstance(content, str) else content)
        target = [] if name.endswith(".svm") else ["--target", "y"]
        assert message in failure(["train", name, *target])
        assert [path.name for path in folder.iterdir()] == [name]

    def test_a_folder_is_no_table(self, folder, failure):
        folder.joinpath("inside.csv").mkdir()
        assert "is a directory" in failure(["train", "inside.csv", "--target", "y"])

    def test_free_text_is_refused_with_advice(self, folder, failure, success):
        rows = [
            {**row, "note": f"person {i} said many a thing"} for i, row in enumerate(people(40, 3))
        ]
        write("p.csv", rows)
        message = failure(["train", "p.csv", "--target", "income"])
        assert "'note' holds free text" in message
        assert "drop it" in message
        success(["train", "p.csv", "--target", "income", "--drop", "note", "--rounds", 2])

    def test_rows_without_a_target_are_left_out_with_a_notice(self, folder, capsys):
        rows = people(60, 4)
        for row in rows[::10]:
            row["income"] = ""
        write("p.csv", rows)
        assert main(["train", "p.csv", "--target", "income", "--rounds", "2"]) == 0
        assert "dropped 6 rows without a value in 'income'" in capsys.readouterr().err

    def test_a_model_that_cannot_be_written_is_known_first(self, home, folder, failure):
        argv = ["train", home / "people.csv", "--target", "income", "--model"]
        assert "does not exist" in failure([*argv, "none/m.edgewise"])
        assert "must end in .edgewise" in failure([*argv, "m.zip"])
        if os.getuid():
            folder.chmod(0o500)
            assert "not writable" in failure([*argv, "m.edgewise"])


@pytest.mark.parametrize(
    "argv",
    [
        ["--target", "income", "people.csv"],
        ["--target", "income", "people.csv", "--drop", "id", "joined"],
        ["--drop", "id", "joined", "--target", "income", "people.csv"],
        ["--target", "income", "--drop", "id", "joined", "people.csv"],
        ["people.csv", "--target", "income", "--drop", "id", "joined"],
    ],
    ids=" ".join,
)
def test_options_may_stand_before_the_file(home, monkeypatch, tmp_path, argv):
    monkeypatch.chdir(home)
    path = tmp_path / "model.edgewise"
    assert main(["train", *argv, "--rounds", "2", "--model", str(path)]) == 0
    assert edgewise.load(path).schema_.target == ("income",)


def test_options_before_two_arguments():
    returned = params.command("command")(
        click.argument("model", type=click.Path())(
            click.argument("data", type=click.Path())(
                click.option("--user", multiple=True)(lambda **values: values)
            )
        )
    )
    for words in ("--user 7 8 m d", "m --user 7 8 d", "m d --user 7 8"):
        values = returned.main(words.split(), standalone_mode=False)
        assert values == {"model": "m", "data": "d", "user": ("7", "8")}
