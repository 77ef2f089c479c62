"""``edgewise predict`` with rankers."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import contents

import edgewise
from edgewise import AdaBoostMH, RankBoost, RankFusion, fusion, io
from edgewise.cli import main, tables

NAMES = ["bm25", "tf", "length", "age"]
COLUMNS = ["--target", "grade", "--query", "query", "--doc", "doc"]


def data(seed, n_queries=5, n_docs=7):
    """Documents of queries of three grades, with names; some values are 0 and some are absent."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, 4)).round(3)
    y = np.digitize(X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=len(X)), [0.2, 1.2]).astype(float)
    y[::n_docs], y[1::n_docs] = 0, 2
    X[rng.random(X.shape) < 0.2] = 0
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = np.repeat([f"q{seed}{i}" for i in range(n_queries)], n_docs)
    docs = np.array([f"d{i:02}" for i in rng.permutation(len(X))])
    return io.RankingData(X, y, qid, docs)


def frame(part):
    table = pd.DataFrame(part.X, columns=NAMES)
    return table.assign(grade=part.y.astype(int), query=part.qid, doc=part.docs)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files to train on and to test on, of LETOR and as tables."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train", "test")):
        part = data(seed)
        io.write_letor(f"{name}.txt", part.X, part.y, part.qid, part.docs)
        io.write_table(f"{name}.csv", frame(part))
    return tmp_path


@pytest.fixture
def ranker(folder):
    """A model that knows its features by numbers."""
    part = data(0)
    model = RankBoost(n_rounds=20, random_state=0).fit(part.X, part.y, part.qid)
    model.save("m.edgewise")
    return model


@pytest.fixture
def named(folder):
    """A model that knows its features by names."""
    part = data(0)
    X = pd.DataFrame(part.X, columns=NAMES)
    model = RankBoost(n_rounds=20, random_state=0).fit(X, part.y, part.qid)
    model.save("named.edgewise")
    return model


class TestFiles:
    def test_sparse_and_full_files_have_the_same_scores(self, ranker, folder, success, monkeypatch):
        for few in (0.0, 2.0):
            monkeypatch.setattr(tables, "_SPARSE", few)
            success(["predict", "m.edgewise", "test.txt", "--output", f"{few}.txt"])
        assert (folder / "0.0.txt").read_bytes() == (folder / "2.0.txt").read_bytes()

    def test_a_gzipped_file_is_read_as_well(self, ranker, folder, success):
        (folder / "packed.gz").write_bytes(gzip.compress((folder / "test.txt").read_bytes()))
        plain, packed = (
            success(["predict", "m.edgewise", name, "--json"]) for name in ("test.txt", "packed.gz")
        )
        assert plain == packed


class TestLetor:
    def test_features_that_are_left_out_are_0(self, ranker, folder, success):
        part = data(1)
        part.X[:, 2:] = 0
        io.write_letor("narrow.txt", part.X[:, :2], part.y, part.qid)
        success(["predict", "m.edgewise", "narrow.txt", "--output", "s.txt"])
        assert np.array_equal(np.loadtxt("s.txt"), ranker.predict(part.X))

    def test_more_features_than_the_model_has_are_refused(self, ranker, folder, failure):
        (folder / "wide.txt").write_text("1 qid:1 1:3\n0 qid:1 6:1\n")
        message = failure(["predict", "m.edgewise", "wide.txt", "--output", "s.txt"])
        assert "wide.txt has 6 features, the model has 4" in message
        assert not (folder / "s.txt").exists()

    def test_a_file_without_queries_is_one_list(self, ranker, folder, success):
        (folder / "bare.txt").write_text("1 2:1\n0 3:2\n")
        assert "1 query, 2 documents" in success(["predict", "m.edgewise", "bare.txt"])

    def test_negative_grades_have_no_gain(self, ranker, folder, success):
        (folder / "below.txt").write_text("-1 qid:1 3:9\n1 qid:1 2:9\n")
        row = success(["predict", "m.edgewise", "below.txt"]).splitlines()[-1]
        assert row.split()[:3] == ["1.0000", "-", "1.0000"]

    def test_infinite_values_are_what_the_model_says(self, folder, success, failure):
        part = data(0)
        (folder / "inf.txt").write_text("1 qid:1 2:inf\n0 qid:1 2:-5\n")
        for infinite in ("raise", "missing"):
            model = RankBoost(n_rounds=9, handle_infinite=infinite).fit(part.X, part.y, part.qid)
            model.save(f"{infinite}.edgewise")
        assert "inf.txt: X has an infinite" in failure(["predict", "raise.edgewise", "inf.txt"])
        success(["predict", "missing.edgewise", "inf.txt", "--output", "s.txt"])
        expected = model.predict([[0, np.nan, 0, 0], [0, -5, 0, 0]])
        assert np.array_equal(np.loadtxt("s.txt"), expected)

    def test_a_model_with_a_metric_of_its_own_shows_the_usual_ones(self, folder, success):
        part = data(0)
        model = RankBoost(n_rounds=3, eval_metric=lambda y, scores, qid: 0.5)
        model.fit(part.X, part.y, part.qid, eval_set=(part.X, part.y, part.qid))
        model.save("own.edgewise")
        test = json.loads(success(["predict", "own.edgewise", "test.txt", "--json"]))["test"]
        assert [*test][2:] == ["map", "ndcg@10", "mrr", "precision@10"]


class TestTables:
    def test_columns_are_taken_by_their_names(self, named, folder, success):
        plain = success(["predict", "named.edgewise", "test.csv", *COLUMNS, "--json"])
        # One column is no feature, and would not even be a good one.
        mixed = frame(data(1)).iloc[:, ::-1].assign(day=pd.Timestamp("2020-02-02"))
        io.write_table("mixed.parquet", mixed)
        argv = ["predict", "named.edgewise", "mixed.parquet", *COLUMNS, "--output", "s.txt"]
        shown = json.loads(success([*argv, "--json"]))
        assert shown["test"] == json.loads(plain)["test"]
        X = pd.DataFrame(data(1).X, columns=NAMES)
        assert np.array_equal(np.loadtxt("s.txt"), named.predict(X))

    def test_without_grades_there_are_scores_only(self, named, folder, success):
        argv = ["predict", "named.edgewise", "test.csv", "--query", "query", "--doc", "doc"]
        out = success([*argv, "--output", "s.run"])
        assert out == "ranked           5 queries, 35 documents, s.run\n"
        run, part = io.read_run("s.run"), data(1)
        scores = named.predict(pd.DataFrame(part.X, columns=NAMES)).tolist()
        expected = dict(zip(zip(part.qid, part.docs, strict=True), scores, strict=True))
        read = zip(zip(run.queries, run.docs, strict=True), run.scores, strict=True)
        assert dict(read) == expected

    def test_without_an_output_the_ranking_is_printed(self, named, folder, success):
        argv = ["predict", "named.edgewise", "test.csv", "--query", "query", "--doc", "doc"]
        header, first, *_ = success(argv).splitlines()
        assert header == "query,doc,score,rank"
        part, X = data(1), pd.DataFrame(data(1).X, columns=NAMES)
        rank = named.rank(X, part.qid)[0]
        assert first == f"{part.qid[0]},{part.docs[0]},{named.predict(X)[0]},{rank}"

    def test_documents_without_a_grade_do_not_count(self, named, folder, capsys):
        table = frame(data(1))
        io.write_table("gaps.csv", table.assign(grade=table["grade"].where(table["tf"] > 0)))
        assert main(["predict", "named.edgewise", "gaps.csv", *COLUMNS]) == 0
        out, err = capsys.readouterr()
        n_judged = int((table["tf"] > 0).sum())
        assert f"{n_judged} documents" in out
        assert f"dropped {len(table) - n_judged} rows without a value in 'grade'" in err

    def test_scores_stay_on_the_lines_of_their_documents(self, named, folder, capsys):
        table = frame(data(1))
        io.write_table("gaps.csv", table.assign(grade=table["grade"].where(table["tf"] > 0)))
        n_gaps = int((table["tf"] <= 0).sum() + table["tf"].isna().sum())
        words = ["predict", "named.edgewise", "gaps.csv", *COLUMNS]
        assert main([*words, "--output", "s.txt"]) == 2
        assert f"--output s.txt: {n_gaps} rows of gaps.csv" in capsys.readouterr().err
        assert not (folder / "s.txt").exists()
        assert main([*words, "--output", "s.run"]) == 0
        assert len(io.read_run("s.run").docs) == len(table) - n_gaps

    def test_features_alone_are_enough_for_numbers(self, named, folder, success):
        io.write_table("bare.csv", frame(data(1))[NAMES])
        out = success(["predict", "named.edgewise", "bare.csv", "--output", "s.txt"])
        assert out == "ranked           1 query, 35 documents, s.txt\n"
        assert len((folder / "s.txt").read_text().splitlines()) == 35

    def test_grades_that_are_no_numbers_may_be_passed_over(self, named, folder, success, failure):
        io.write_table("words.csv", frame(data(1)).assign(grade="good"))
        argv = ["predict", "named.edgewise", "words.csv", "--output", "s.txt"]
        assert "words.csv: " in failure([*argv, "--target", "grade"])
        success(argv)


class TestErrors:
    @pytest.fixture(autouse=True)
    def files(self, folder, ranker, named):
        """Files that don't fit; no failure may change any, or leave another."""
        AdaBoostMH(n_rounds=1).fit([[0.0], [1.0]], [0, 1]).save("classes.edgewise")
        lists = fusion.RankedLists([[1, 2], [2, 1]], qid=[1, 1], names=["a", "b"])
        RankFusion(n_rounds=1).fit(lists, [0, 1]).save("fusion.edgewise")
        (folder / "twice.txt").write_text("1 qid:1 1:1 #docid = a\n0 qid:1 1:2 #docid = a\n")
        (folder / "bare.txt").write_text("1 1:1\n0 1:2\n")
        (folder / "red.txt").write_text("1 qid:1 1:1\n0 qid:1 1:red\n")
        table = frame(data(1))
        io.write_table("short.csv", table.drop(columns="tf"))
        io.write_table("kinds.csv", table.assign(tf="often", length="long"))
        (folder / "inside").mkdir()
        before = contents(folder)
        yield
        assert contents(folder) == before

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("none.edgewise test.txt", "File 'none.edgewise' does not exist"),
            ("m.edgewise none.txt", "File 'none.txt' does not exist"),
            ("inside test.txt", "File 'inside' is a directory"),
            ("m.edgewise m.edgewise", "m.edgewise is given as MODEL and DATA"),
            ("test.txt bare.txt", "test.txt is not a readable edgewise model"),
            ("m.edgewise test.txt --output m.edgewise", "'-o': must not end in .edgewise"),
            ("m.edgewise test.txt --output test.txt", "test.txt is given as DATA and --output"),
            ("m.edgewise test.txt --output none/s.txt", "'-o': the folder of 'none/s.txt'"),
            ("m.edgewise test.txt --output inside", "'-o': must be the name of a file"),
            ("m.edgewise bare.txt --output s.run", "a run needs query and document ids"),
            ("m.edgewise twice.txt --output s.run", "twice.txt is not a run: docs"),
            ("m.edgewise red.txt", "red.txt, line 2: value of feature 1 'red'"),
            ("m.edgewise test.txt --target grade", "--target is for tables"),
            ("m.edgewise test.txt --doc doc", "--doc is for tables"),
            ("m.edgewise test.csv --target grade", "test.csv is a table"),
            ("named.edgewise test.txt", "test.txt is an SVMlight file"),
            ("named.edgewise test.csv --output s.run", "a run needs query and document ids"),
            ("named.edgewise test.csv --target y", "test.csv: --target 'y' must be a column: "),
            ("named.edgewise test.csv --target tf", "--target: 'tf' is a feature"),
            ("named.edgewise short.csv --output s.txt", "short.csv: the table lacks the column"),
            ("named.edgewise kinds.csv --output s.txt", "kinds.csv: column 'tf' holds"),
            ("fusion.edgewise test.txt", "RankFusion, which does not predict rows: use `edgewise"),
            ("classes.edgewise test.txt", "test.txt has 4 features, the model has 1"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, words, message, failure):
        assert message in failure(["predict", *words.split()])

    @pytest.mark.parametrize("name", ["old.txt", "old.run", "old.run.gz"])
    def test_an_old_file_stays_when_writing_fails(self, name, folder, failure, monkeypatch):
        (folder / name).write_text("old\n")
        before = contents(folder)

        def full(*_):
            raise OSError(28, "No space left on device", name)

        with monkeypatch.context() as patched:
            patched.setattr("pathlib.Path.replace", full)
            argv = ["predict", "m.edgewise", "test.txt", "--output", name]
            assert f"{name}: No space left" in failure(argv)
        assert contents(folder) == before
        (folder / name).unlink()

    @pytest.mark.parametrize("argv", [[], ["m.edgewise"], ["m.edgewise", "test.txt", "--rounds"]])
    def test_wrong_usage_is_one_line(self, argv, failure):
        failure(["predict", *argv])


def test_a_model_without_rounds_ties_all_documents(folder, success):
    RankBoost().fit([[1.0], [1.0]], [0, 1]).save("empty.edgewise")
    assert edgewise.load("empty.edgewise").n_rounds_ == 0
    (folder / "two.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    success(["predict", "empty.edgewise", "two.txt", "--output", "s.txt"])
    assert (folder / "s.txt").read_text() == "0.0\n0.0\n"
