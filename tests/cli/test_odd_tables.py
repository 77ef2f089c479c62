"""Commands on tables and streams that go wrong: one clear line, and no model is lost."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from edgewise.cli import main

ROWS = "".join(f"{i % 9},{'ab'[i % 2]},{'no' if i % 9 < 4 else 'yes'}\n" for i in range(40))
TRAIN = ["train", "t.csv", "--target", "y", "--rounds", "2", "--learner", "stump"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a table and a classifier of it."""
    folder = tmp_path_factory.mktemp("odd")
    table, model = folder / "t.csv", folder / "t.edgewise"
    table.write_text(f"x,w,y\n{ROWS}")
    assert main([TRAIN[0], str(table), *TRAIN[2:], "--model", str(model), "--json"]) == 0
    return folder


@pytest.fixture
def here(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


def test_names_without_rows(here, failure):
    Path("none.csv").write_text("x,w,y\n")
    for words in (["predict", "t.edgewise", "none.csv"], ["evaluate", "t.edgewise", "none.csv"]):
        assert "none.csv is empty: it has column names and no rows" in failure(words)


def test_text_in_another_encoding(here, failure):
    Path("wide.csv").write_bytes(f"x,w,y\n{ROWS}".encode("utf-16"))
    assert "save it as UTF-8" in failure(["predict", "t.edgewise", "wide.csv"])


WEIGHTED = "x,w,y\n0,{},no\n1,{},yes\n"


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (WEIGHTED.format("one", "two"), "--weight w", "--weight 'w' must hold numbers, got 'one'"),
        (WEIGHTED.format(1, -2), "--weight w", "at least 0, got -2 in row 2"),
        (WEIGHTED.format(1, "NA"), "--weight w", "at least 0, got nan in row 2"),
        (WEIGHTED.format(0, 0), "--weight w", "--weight 'w' is 0 in every row"),
        (WEIGHTED.format(1, 2), "--query w", "--target 'y' must hold numbers, got 'no'"),
        ("x,q,y\n1,a,0\n2,,1\n", "--query q", "--query 'q' has no value in row 2"),
    ],
)
def test_columns_that_cannot_have_their_role(table, options, message, here, failure):
    Path("role.csv").write_text(table)
    words = ["train", "role.csv", "--target", "y", *options.split()]
    assert message in failure(words)
    assert not Path("role.edgewise").exists()


def test_a_ranker_misses_its_queries(here, failure, capsys):
    rows = "".join(f"{i % 7},{i // 10},{int(i % 7 > 3)}\n" for i in range(40))
    Path("r.csv").write_text(f"x,q,y\n{rows}")
    assert main(["train", "r.csv", "--target", "y", "--query", "q", "--rounds", "2", "--json"]) == 0
    capsys.readouterr()
    Path("lacking.csv").write_text("x,y\n1,0\n5,1\n")
    line = failure(["evaluate", "r.edgewise", "lacking.csv"])
    assert "--query" in line
    assert main(["predict", "r.edgewise", "lacking.csv"]) == 0
    assert "all rows are ranked as one query" in capsys.readouterr().err


def test_no_class_of_the_test_is_known_before_training(here, failure, capsys):
    Path("other.csv").write_text("x,w,y\n1,a,maybe\n")
    assert main([*TRAIN, "--test", "other.csv", "--model", "late.edgewise"]) == 2
    out, err = capsys.readouterr()
    assert "other.csv has only unknown classes: maybe" in err
    assert "Training" not in out
    assert not Path("late.edgewise").exists()


def test_ids_called_as_predictions_are_kept(here, capsys):
    lines = ROWS.splitlines()
    Path("i.csv").write_text(
        "predicted,x,w,y\n" + "".join(f"n{i},{r}\n" for i, r in enumerate(lines))
    )
    assert main(["train", "i.csv", *TRAIN[2:], "--json"]) == 0
    capsys.readouterr()
    assert main(["predict", "i.edgewise", "i.csv"]) == 0
    header, first = capsys.readouterr().out.splitlines()[:2]
    assert header.startswith("id predicted,predicted,probability,")
    assert first.startswith("n0,")


@pytest.mark.parametrize("written", ["3/{:02}/21", "03/{:02}/2021 4:05 PM", "2021/03/{:02} 16:05"])
def test_more_ways_to_write_dates(written, here, capsys):
    rows = [line.split(",") for line in ROWS.splitlines()]
    dated = "".join(f"{written.format(1 + i % 28)},{x},{y}\n" for i, (x, _, y) in enumerate(rows))
    Path("d.csv").write_text(f"d,x,y\n{dated}")
    assert main(["train", "d.csv", *TRAIN[2:], "--force"]) == 0
    line = next(item for item in capsys.readouterr().out.splitlines() if item.startswith(" d "))
    assert line.split()[1] == "date"


def test_a_wide_table_is_told_in_short(here, success):
    names = ",".join(f"c{j}" for j in range(90))
    rows = "".join(
        f"{','.join([line[0]] * 90)},{line.split(',')[2]}\n" for line in ROWS.splitlines()
    )
    Path("wide.csv").write_text(f"{names},y\n{rows}")
    out = success(["train", "wide.csv", *TRAIN[2:], "--force"])
    assert " ... and 30 columns more (number 30)\n" in out
    assert "\n c59 " in out
    assert "\n c60 " not in out
    assert "\n y " in out


def test_a_reader_that_leaves_does_not_cost_the_model(here):
    command = [sys.executable, "-m", "edgewise", *TRAIN, "--model", "unread.edgewise"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
    assert Path("unread.edgewise").exists()


def test_streams_that_the_shell_closed(here, monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main(["predict", "t.edgewise", "t.csv"]) == 0
    assert main(["predict", "t.edgewise", "nowhere.csv"]) == 2


def test_a_stream_that_cannot_hold_a_sign(here, monkeypatch, capsys):
    Path("sign.csv").write_text(f"x,w,y\n{ROWS}".replace("yes", "\N{SNOWMAN}"), encoding="utf-8")
    assert main(["train", "sign.csv", *TRAIN[2:], "--json"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "latin-1"))
    assert main(["predict", "sign.edgewise", "sign.csv"]) == 2
    line = capsys.readouterr().err
    assert "latin-1" in line
    assert "\\u2603" in line
    assert line.count("\n") == 1
