"""Command lines put together at random: exit code 0, or 2 after one line; never a traceback."""

import random

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, BiasBaseline, RankBoost, Ratings, io
from edgewise.cli import main
from edgewise.cli.app import COMMANDS, edgewise

LINES = {
    "train": ["t.csv", "--target", "grade", "--rounds", "2", "--force"],
    "predict": ["m.edgewise", "t.txt"],
    "explain": ["c.edgewise", "t.txt"],
    "report": ["c.edgewise", "--data", "t.txt"],
    "export": ["c.edgewise"],
    "scorecard": ["c.edgewise"],
    "evaluate": ["q.txt", "a.run"],
    "fuse": ["a.run", "b.run", "--rounds", "2"],
    "recommend": ["r.csv", "--algorithm", "bias"],
    "compare": ["r.csv", "--algorithms", "bias", "--folds", "2"],
    "show": ["m.edgewise"],
}
WORDS = [
    *("t.txt", "t.csv", "a.run", "q.txt", "r.csv", "m.edgewise", "c.edgewise", "s.edgewise"),
    *("junk", "junk.csv", "junk.parquet", "junk.edgewise", "empty", "folder", "nowhere"),
    *("", "-1", "0", "3", "nan", "inf", "1e9", "é\x1b[2J", "a,b", "-", "k=3", "map", "x" * 300),
    *("user,item", "grade", "query", "/dev/null", "new.run", "new.csv"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    part = data(0)
    io.write_letor("t.txt", part.X, part.y, part.qid, part.docs)
    io.write_table("t.csv", pd.DataFrame(part.X).assign(grade=part.y, query=part.qid))
    io.write_qrels("q.txt", part.qid, part.docs, part.y)
    for j, name in enumerate("ab"):
        io.write_run(f"{name}.run", part.qid, part.docs, part.X[:, j], name)
    ratings = Ratings.from_matrix(np.arange(12).reshape(3, 4) % 5 + 1)
    BiasBaseline().fit(ratings).save("s.edgewise")
    (tmp_path / "r.csv").write_text("user,item,rating\n1,1,5\n1,2,3\n2,1,4\n2,3,1\n3,2,2\n3,3,4\n")
    RankBoost(n_rounds=2).fit(part.X, part.y, part.qid).save("m.edgewise")
    AdaBoostMH(n_rounds=2).fit(part.X, part.y).save("c.edgewise")
    for name in ("junk", "junk.csv", "junk.parquet", "junk.edgewise"):
        (tmp_path / name).write_bytes(np.random.default_rng(0).bytes(300))
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()


def line(draw):
    """Return a command with options and values that need not go together."""
    name = draw.choice(list(LINES))
    command = edgewise.resolve_command(None, [name])[1]
    options = [option for param in command.params for option in param.opts]
    words = [name, *(LINES[name] if draw.random() < 0.7 else draw.choices(WORDS, k=2))]
    for _ in range(draw.randint(1, 3)):
        words.append(draw.choice([*options, "--unknown"]))
        words += [draw.choice(WORDS)] if draw.random() < 0.85 else []
    return words


def test_every_command_is_tried():
    assert set(LINES) | {"demo", "datasets"} == set(COMMANDS)


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_line_is_answered_in_one_line(seed, folder, capsys):
    draw = random.Random(seed)
    codes = []
    for words in (line(draw) for _ in range(30)):
        codes.append(main(words))
        out, err = capsys.readouterr()
        errors = [text for text in err.splitlines() if not text.startswith("edgewise: warning: ")]
        assert codes[-1] in (0, 2), words
        if codes[-1] == 2:
            assert out == "", words
            assert len(errors) == 1, words
            assert errors[0].startswith("edgewise: error: "), words
            assert "\x1b" not in err, words
    assert codes.count(2) > 15
