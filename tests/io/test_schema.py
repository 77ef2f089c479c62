"""Schemas: what columns are taken for, and that later tables become the same columns."""

import json
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import AdaBoostMH, ModelFileError
from edgewise.io import Schema, read_columns, tables
from edgewise.io import schema as schemas
from edgewise.model import archive

N = 40


def kind_of(values, **options):
    frame = pd.DataFrame({"x": values, "other": np.arange(len(values)) % 7})
    return Schema.fit(frame, **options).columns[0]


def days(n, text="{:%Y-%m-%d}"):
    return [text.format(day) for day in pd.date_range("2020-01-01", periods=n, freq="37D")]


class TestKinds:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (np.linspace(0, 1, N), "number"),
            (np.arange(N), "id"),
            (np.arange(N)[::-1] + 1000, "id"),
            (np.arange(N) ** 2, "number"),
            (np.arange(N) % 3, "number"),
            ([f"u{i}" for i in range(N)], "id"),
            ([f"Ann {i}" for i in range(N)], "id"),
            (["a", "b"] * (N // 2), "category"),
            (["$1,000", "$2,000"] * (N // 2), "number"),
            ([*map(str, range(100, 99 + N)), "unknown"], "number"),
            (["same"] * N, "constant"),
            ([None] * N, "constant"),
            ([None, 1.0] * (N // 2), "number"),
            (days(N), "date"),
            (days(N, "{:%d.%m.%Y}"), "date"),
            (days(N, "{:%m/%d/%Y}"), "date"),
            (days(N, "{:%d %b %Y}"), "date"),
            (days(N, "{:%Y-%m-%dT%H:%M:%SZ}"), "date"),
            (pd.date_range("2020-01-01", periods=N), "date"),
            ([True, False] * (N // 2), "number"),
        ],
    )
    def test_are_found_out(self, values, kind):
        assert kind_of(values).kind == kind

    def test_a_number_named_id_that_never_repeats_is_one(self):
        values = np.arange(N) ** 2
        for name, kind in (("customer_id", "id"), ("userID", "id"), ("paid", "number")):
            frame = pd.DataFrame({name: values, "other": values % 7})
            assert Schema.fit(frame).columns[0].kind == kind

    def test_text_is_refused_unless_dropped(self):
        values = [f"this is note number {i}" for i in range(N)]
        with pytest.raises(ValueError, match="'x' holds free text"):
            kind_of(values)
        assert kind_of(values, drop=["x"]).kind == "dropped"
        assert kind_of(values, categorical=["x"]).kind == "category"

    def test_the_user_knows_better(self):
        assert kind_of(np.arange(N), numeric=["x"]).kind == "number"
        result = kind_of([3, 1] * N, categorical=["x"])
        assert (result.kind, result.categories) == ("category", ("1", "3"))
        odd = kind_of(["1", "2", "odd", "even"] * 10, numeric=["x"])
        assert (odd.kind, odd.lenient) == ("number", True)
        with pytest.raises(ValueError, match="numeric='x' holds no number, but 'a'"):
            kind_of(["a", "b"] * N, numeric=["x"])

    def test_dates_become_what_varies(self):
        same_year = pd.date_range("2021-01-01", periods=N)
        assert kind_of(same_year).parts == ("month", "weekday", "days")
        times = pd.date_range("2021-01-01", periods=N, freq="7h")
        assert "hour" in kind_of(times).parts
        there = pd.date_range("2021-01-01", periods=N, tz="Europe/Rome")  # 23 o'clock in UTC
        assert kind_of(there).parts == ("year", "month", "weekday", "days")

    @pytest.mark.parametrize("odd", ["unknown", "0000-00-00", "31/12/99"])
    def test_a_few_odd_cells_among_dates_are_missing(self, odd):
        days = [f"{day:02}/{month:02}/2021" for day in range(1, 29) for month in range(1, 13)]
        frame = pd.DataFrame({"x": [odd, *days]})
        schema = Schema.fit(frame)
        (result,) = schema.columns
        assert result.kind == "date"
        assert result.note == f"read as day/month/year, 1 cell such as {odd!r} missing"
        made = schema.transform(pd.DataFrame({"x": ["13/01/2021", "soon"]}))
        months = made.column(made.names.index("x.month")).reals()
        assert months[0] == 1
        assert np.isnan(months[1])

    def test_dates_of_two_formats_are_words(self):
        days = [f"{day:02}/01/2021" for day in range(1, 29)]
        assert kind_of([*days, *(f"2021-01-{day:02}" for day in range(1, 29))]).kind != "date"

    def test_a_name_may_stand_alone(self):
        assert kind_of([3, 1] * N, categorical="x").kind == "category"
        assert kind_of([3, 1] * N, drop="x").kind == "dropped"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"target": "z"}, "target='z' must be a column: 'x', 'other'"),
            ({"target": "x", "query": "x"}, "query='x' is the column of target already"),
            ({"target": "x", "drop": ["x"]}, "drop='x' is the column of target already"),
            ({"target": ["x", "other"], "task": "classes"}, "task='classes' has one target, got 2"),
            ({"target": "x", "task": "numbers"}, "task must be one of 'classes'"),
            ({"drop": ["x", "other"]}, "no column is left to learn from"),
        ],
    )
    def test_mistakes_are_named(self, options, message):
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            kind_of([1, 2] * N, **options)

    def test_numbers_are_no_classes(self):
        frame = pd.DataFrame({"y": np.linspace(0, 1, 99), "x": np.arange(99) % 5})
        with pytest.raises(ValueError, match="target='y' holds 99"):
            Schema.fit(frame, "y")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "age": rng.integers(18, 80, N).astype(float), "city": rng.choice(["Rome", "Oslo"], N),
        "joined": days(N, "{:%d.%m.%Y}"), "id": [f"u{i}" for i in range(N)],
        "y": rng.choice(["yes", "no"], N),
    })  # fmt: skip


@pytest.fixture(scope="module")
def schema(people):
    return Schema.fit(people, "y")


def values(table):
    return [np.asarray(getattr(column, "values", getattr(column, "codes", 0))).tolist()
            for column in table.columns()]  # fmt: skip


class TestTransform:
    def test_order_of_columns_and_more_of_them_do_not_matter(self, people, schema):
        shuffled = people.iloc[:, ::-1].assign(more=1)
        assert values(schema.transform(shuffled)) == values(schema.transform(people))
        assert schema.extra(shuffled) == ["more"]
        assert schema.extra(people) == []

    def test_a_missing_column_is_named(self, people, schema):
        with pytest.raises(ValueError, match="the table lacks the columns 'age', 'city'"):
            schema.transform(people[["joined"]])
        schema.transform(people.drop(columns=["id", "y"]))

    def test_new_categories_are_missing(self, people, schema):
        later = people.assign(city="Kyiv")
        column = schema.transform(later).column(1)
        assert (column.codes == column.missing_code).all()
        assert schema.new_categories(later) == {"city": ["Kyiv"]}

    def test_dates_are_the_numbers_of_the_calendar(self, people, schema):
        table = schema.transform(people)
        result = {name: table.column(j).values for j, name in enumerate(table.names) if j > 1}
        times = pd.to_datetime(people["joined"], format="%d.%m.%Y")
        assert result["joined.year"].tolist() == times.dt.year.tolist()
        assert result["joined.month"].tolist() == times.dt.month.tolist()
        assert result["joined.weekday"].tolist() == times.dt.day_of_week.tolist()
        since = (times - pd.Timestamp("1970-01-01")).dt.total_seconds() / 86_400
        assert result["joined.days"].tolist() == since.tolist()

    @pytest.mark.parametrize(
        ("column", "cells", "message"),
        [
            ("age", "old", "'age' holds 'old', where training had numbers"),
            ("joined", "yesterday", "'joined' holds .* not dates .day.month.year"),
            ("joined", 3.0, "'joined' holds .* not dates"),
        ],
    )
    def test_other_kinds_are_errors(self, people, schema, column, cells, message):
        with pytest.raises(ValueError, match=message):
            schema.transform(people.assign(**{column: cells}))

    def test_gaps_are_missing_wherever_they_come(self, people, schema):
        gaps = people.assign(age=None, city="?", joined="NA")
        for column in schema.transform(gaps).columns():
            missing = getattr(column, "missing_code", None)
            gone = np.isnan(column.values) if missing is None else column.codes == missing
            assert gone.all()


@pytest.mark.parametrize("names", [("False", "True"), ("false", "true"), ("TRUE", "FALSE")])
def test_booleans_of_text_and_of_frames_are_the_same(names):
    flags = np.arange(N) % 3 == 0
    frame = pd.DataFrame({"x": flags, "other": np.arange(N) % 7})
    text = frame.assign(x=np.where(flags, *sorted(names, key=str.lower, reverse=True)))
    schema = Schema.fit(text)
    expected = schema.transform(text).column(0).codes.tolist()
    assert schema.transform(frame).column(0).codes.tolist() == expected
    assert schema.new_categories(frame) == {}
    assert Schema.fit(frame).transform(text).column(0).reals().tolist() == flags.tolist()


class TestLabels:
    def test_classes_are_integers_or_words(self):
        frame = pd.DataFrame({"y": [1, 0, 1], "w": ["b", None, "a"], "x": [1.0, 2.0, 3.0]})
        assert Schema.fit(frame, "y", drop=["w"]).labels(frame).tolist() == [1, 0, 1]
        assert Schema.fit(frame, "w").labels(frame).tolist() == ["b", None, "a"]

    def test_labels_are_0_and_1(self):
        frame = pd.DataFrame({"a": ["yes", "no", "?"], "b": [0, 1, 1], "x": [1.0, 2.0, 3.0]})
        schema = Schema.fit(frame, ["a", "b"])
        assert schema.task == "labels"
        result = schema.labels(frame)
        assert result[:2].tolist() == [[1, 0], [0, 1]]
        assert np.isnan(result[2, 0])
        with pytest.raises(ValueError, match="target='x' must hold 0 and 1"):
            Schema.fit(frame, ["a", "x"]).labels(frame)

    def test_grades_and_queries(self):
        frame = pd.DataFrame({"q": ["a", "a"], "g": [2, 0], "x": [1.0, 2.0], "w": [1, 3]})
        schema = Schema.fit(frame, "g", query="q", weight="w")
        assert schema.task == "grades"
        assert schema.labels(frame).tolist() == [2, 0]
        assert schema.role(frame, "query").tolist() == ["a", "a"]
        assert schema.role(frame, "weight").tolist() == [1, 3]
        assert schema.feature_names == ("x",)
        with pytest.raises(ValueError, match="query='q' has no value in row 2"):
            schema.role(frame.assign(q=["a", None]), "query")


def test_ids_and_queries_are_kept_however_many_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MAX_CATEGORIES", 50)
    lines = [f"u{i:03},q{i // 2},{i % 5},{i % 7}\n" for i in range(200)]
    (tmp_path / "t.csv").write_text("id,query,grade,x\n" + "".join(lines))
    raw = read_columns(tmp_path / "t.csv", ["query"])
    schema = Schema.fit(raw, "grade", query="query")
    assert schema.columns[0].kind == "id"
    assert schema.role(raw, "query").tolist() == [f"q{i // 2}" for i in range(200)]
    later = read_columns(tmp_path / "t.csv", schema.words)
    assert schema.ids(later)["id"].tolist() == [f"u{i:03}" for i in range(200)]


class TestFiles:
    def test_json_holds_all_of_it(self, schema):
        assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema

    def test_a_model_file_holds_it(self, people, schema, tmp_path):
        model = AdaBoostMH("stump", n_rounds=2).fit(schema.transform(people), schema.labels(people))
        model.save(tmp_path / "without.edgewise")
        assert edgewise.load(tmp_path / "without.edgewise").schema_ is None
        model.schema_ = schema
        model.save(tmp_path / "with.edgewise")
        loaded = edgewise.load(tmp_path / "with.edgewise")
        assert loaded.schema_ == schema
        X = loaded.schema_.transform(people)
        assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
        with pytest.raises(ValueError, match=r"X has column|[Ff]eature names") as raised:
            loaded.predict(people)
        assert "model.schema_.transform(X)" in raised.value.__notes__[0]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda saved: saved.pop("columns"),
            lambda saved: saved.update(task="theft"),
            lambda saved: saved.update(target=[7]),
            lambda saved: saved["columns"][0].update(kind="virus"),
            lambda saved: saved["columns"][0].update(name=["x"]),
            lambda saved: saved["columns"][0].update(more=1),
            lambda saved: saved["columns"][2].update(parts=["century"]),
            lambda saved: saved["columns"][2].update(date_format="%x"),
            lambda saved: saved["columns"][1].update(categories=[1]),
        ],
    )
    def test_a_damaged_one_is_refused(self, people, schema, damage, tmp_path):
        path = tmp_path / "m.edgewise"
        model = AdaBoostMH("stump", n_rounds=1).fit(schema.transform(people), schema.labels(people))
        model.schema_ = schema
        model.save(path)
        header, arrays = archive.read(path)
        header["schema"] = json.loads(json.dumps(header["schema"]))
        damage(header["schema"])
        header.pop("format")
        archive.write(path, header, arrays)
        with pytest.raises(ModelFileError):
            edgewise.load(path)


ZONE = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (pd.date_range("2021-03-01", periods=4, tz=ZONE), "2021-02-28T23"),
        ([datetime(2021, 3, day, tzinfo=ZONE) for day in (1, 2, 3, 4)], "2021-02-28T23"),
        ([date(2021, 3, 1), None, date(2021, 3, 3), date(2021, 3, 4)], "2021-03-01T00"),
    ],
    ids=["with a time zone", "objects with a time zone", "objects"],
)
def test_dates_of_frames_are_in_utc(values, first):
    frame = pd.DataFrame({"day": pd.Series(values, dtype=getattr(values, "dtype", object))})
    made = Schema.fit(frame).transform(frame)
    result = made.column(made.names.index("day.days")).reals()[0]
    assert result * 24 == np.datetime64(first, "h").astype(int)


def test_a_time_before_all_dates_is_no_date():
    frame = pd.DataFrame({"when": ["0001-01-01T00:00+05:00", "2021-03-01T00:00+05:00"]})
    assert Schema.fit(frame).columns[0].kind == "category"


def test_a_frame_may_declare_categories_that_are_numbers():
    result = kind_of(pd.Categorical([1, 2] * 20))
    assert (result.kind, result.categories) == ("category", ("1", "2"))
    assert kind_of(pd.Categorical([1, 2] * 20), numeric=["x"]).kind == "number"


def test_a_large_sorted_column_is_not_constant(monkeypatch):
    monkeypatch.setattr(schemas, "_COUNTED_ROWS", 10)
    assert kind_of(np.repeat([0.0, 1.0], 20)).kind == "number"
