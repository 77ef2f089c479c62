"""Mutated files: models that are loaded and used, and input files of every format."""

import contextlib
import io
import json
import os
import random
import re
import struct
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

import edgewise
from edgewise import ModelFileError, RankFusion, Recommender
from edgewise.fusion import RankedLists
from soak.corpus import MODELS, READERS, input_files, model_files, some_rows
from soak.driver import Part

Members = list[tuple[str, bytes]]

_NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    255,
    256,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**53,
    2**63,
    -(2**31),
)
_REALS = (0.0, -0.0, 0.5, 1e-320, 1e300, -1e300, float("nan"), float("inf"), float("-inf"))
_STRINGS = ("", "x", "0", "-1", "é", "\0", "a" * 300, "inf", "nan", "AdaBoostMH", "os.system", "..")
_VALUES = (None, True, False, [], {}, [None], [[]], 10**30, *_NUMBERS, *_REALS, *_STRINGS)
_DTYPES = (
    "<f8",
    ">f8",
    "<f4",
    "<f2",
    "<i8",
    "<i4",
    "|i1",
    "|u1",
    "<u4",
    "|b1",
    "<c16",
    "<U3",
    "|O",
)
_TOKENS = (
    b"\xef\xbb\xbf", b"\0", b"\r", b"\n", b"\n\n", b'"', b"'", b",", b"\t", b" ", b";", b":", b"#",
    b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"-", b"--1", b"9" * 30, b"0x1F", b"1_000",
    b"\xff", b"\xc3", b"?", b"NA", b"None", b"qid:", b"1:", b"=", b"{", b"}", b"@data", b"%",
    b"a" * 5000, "ä".encode(), "\u2028".encode(), b"\x1a", b"1,2,3,4,5,6,7", b"\\", b"12.5",
    b"True",
)  # fmt: skip


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings and progress."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def flip_bytes(data: bytes, draw: random.Random) -> bytes:
    """Change, insert or remove a few bytes, or cut the data."""
    bytes_ = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        at = draw.randrange(len(bytes_) + 1)
        way = draw.randrange(6)
        if way == 0 and at < len(bytes_):
            bytes_[at] ^= 1 << draw.randrange(8)
        elif way == 1 and at < len(bytes_):
            bytes_[at] = draw.randrange(256)
        elif way == 2:
            bytes_[at:at] = draw.choice(_TOKENS)
        elif way == 3:
            del bytes_[at : at + draw.choice((1, 1, 2, 8, 64))]
        elif way == 4:
            other = draw.randrange(len(bytes_) + 1)
            bytes_[at:at] = bytes_[other : other + draw.choice((1, 4, 16, 64))]
        elif draw.random() < 0.3:
            del bytes_[at:]
    return bytes(bytes_)


def change_lines(data: bytes, draw: random.Random) -> bytes:
    """Change lines and cells of a text file."""
    lines = data.split(b"\n")
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(len(lines))
        cells = lines[at].split(draw.choice((b",", b"\t", b" ")))
        way, cell = draw.randrange(6), draw.randrange(len(cells))
        if way == 0:
            cells[cell] = draw.choice(_TOKENS)
        elif way == 1:
            cells.insert(cell, draw.choice(_TOKENS))
        elif way == 2:
            del cells[cell]
        if way < 3:
            lines[at] = b",".join(cells) if b"," in lines[at] else b" ".join(cells)
        elif way == 3:
            lines.insert(at, lines[draw.randrange(len(lines))])
        elif way == 4:
            del lines[at : at + draw.choice((1, 1, 5, 100))]
            lines = lines or [b""]
        else:
            lines[at] = draw.choice(_TOKENS) + lines[at]
    return draw.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r")).join(lines)


def pack_members(members: Members) -> bytes:
    """Return an archive of members as they are; several times as fast as zipfile."""
    body, listed = bytearray(), bytearray()
    for name, data in members:
        encoded, crc, size, at = name.encode(), zlib.crc32(data), len(data), len(body)
        common = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, crc, size, size, len(encoded), 0)
        body += b"PK\3\4" + common + encoded + data
        listed += b"PK\1\2" + struct.pack("<H", 20) + common
        listed += struct.pack("<HHHII", 0, 0, 0, 0, at) + encoded
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(listed), len(body), 0)
    return bytes(body + listed + b"PK\5\6" + end)


def read_members(data: bytes) -> Members:
    """Return the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


class ModelFiles(Part):
    """Mutated model files, loaded and used."""

    name = "models"
    about = "mutated model files are loaded, and used if they can be"
    counted = "loads"
    wanted = 1_000_000
    share = 30.0
    seconds = 90.0  # the first use of some kernels compiles them
    backends: ClassVar[tuple[str, ...]] = ("numpy", "numpy", "numba")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.by_name = model_files(folder)
        self.files = list(self.by_name.values())
        self.parts = [read_members(data) for data in self.files]
        self.path = folder / "mutated.edgewise"

    def case(self, rng: random.Random) -> Counter[str]:
        """Load a mutated file, and use the model."""
        self.last = self.mutated(rng)
        self.path.write_bytes(self.last)
        with quiet():
            try:
                model = edgewise.load(self.path)
            except ModelFileError:
                return Counter(refused=1)
            if rng.random() < 0.4:
                return Counter(loaded=1)
            os.environ["EDGEWISE_BACKEND"] = rng.choice(self.backends)
            try:
                use(model, rng, self.folder)
            except ValueError:
                return Counter({"loaded, use refused": 1})
        return Counter({"loaded and used": 1})

    def check(self) -> None:
        """Load and use every model as it is."""
        for name, data in self.by_name.items():
            self.path.write_bytes(data)
            for seed in range(3):
                with quiet():
                    try:
                        use(edgewise.load(self.path), random.Random(seed), self.folder)
                    except ValueError as error:
                        raise AssertionError(
                            f"the model {name!r} cannot be used: {error}"
                        ) from error

    def mutated(self, rng: random.Random, which: int | None = None) -> bytes:
        """Return one of the files, by its number or at random, changed."""
        which = rng.randrange(len(self.files)) if which is None else which
        if rng.random() < 0.1:
            return flip_bytes(self.files[which], rng)
        members = list(self.parts[which])
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(len(members))
            if rng.random() < 0.4:
                at = next((i for i, (name, _) in enumerate(members) if name == "model.json"), at)
            name, data = members[at]
            way = rng.random()
            if way < 0.03:
                del members[at]
                members = members or [("model.json", b"{}")]
            elif way < 0.06:
                members[at] = (name, rng.choice(rng.choice(self.parts))[1])
            elif way < 0.08:
                members[at] = (rng.choice(members)[0], data)
            elif name.endswith(".npy"):
                members[at] = (name, _array(data, rng))
            else:
                members[at] = (name, _header(data, rng))
        return pack_members(members)


def _header(data: bytes, rng: random.Random) -> bytes:
    """Change something in a header: a value, a key, or the number of parts of a list."""
    try:
        header = json.loads(data)
    except ValueError:
        return flip_bytes(data, rng)
    entries = list(_iter_entries(header))
    if not entries or rng.random() < 0.05:
        return flip_bytes(data, rng)
    where, key = rng.choice(entries)
    way = rng.random()
    if way < 0.1:
        del where[key]
    elif way < 0.2:
        other, its = rng.choice(entries)
        where[key] = other[its]
    elif way < 0.3 and isinstance(where, list):
        where.extend(where * rng.choice((1, 1, 3)))
    elif way < 0.3:
        where[rng.choice((*_STRINGS, rng.choice(entries)[1]))] = where.pop(key)
    elif way < 0.5 and isinstance(where[key], (int, float)):
        where[key] = rng.choice((where[key] + 1, where[key] - 1, -where[key], *_NUMBERS, *_REALS))
    else:
        where[key] = rng.choice(_VALUES)
    try:
        return json.dumps(header).encode()
    except (ValueError, TypeError, RecursionError):
        return data


def _iter_entries(tree: Any) -> Any:
    """Yield all containers of a tree of JSON, with a key each."""
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _iter_entries(tree[key])


def _array(data: bytes, rng: random.Random) -> bytes:
    """Change an array: some numbers, its type, its shape, or its bytes."""
    if rng.random() < 0.1:
        return flip_bytes(data, rng)
    try:
        array = np.load(io.BytesIO(data))
    except Exception:  # mutated before
        return flip_bytes(data, rng)
    way = rng.randrange(8)
    with quiet():
        if way < 4 and array.size:
            array = array.copy()
            for _ in range(rng.choice((1, 1, 3, array.size))):
                at = rng.randrange(array.size)
                with contextlib.suppress(OverflowError, ValueError):
                    array.flat[at] = rng.choice(
                        (
                            *_NUMBERS,
                            *_REALS,
                            array.flat[at] + 1,
                            array.flat[rng.randrange(array.size)],
                        )
                    )
        elif way == 4:
            with contextlib.suppress(ValueError, TypeError):
                array = array.astype(rng.choice(_DTYPES[:11]))
        elif way == 5:
            array = array[: rng.randrange(len(array) + 1)] if array.ndim else array[None]
        elif way == 6 and array.ndim:
            array = np.concatenate([array, array[: rng.choice((1, 5))]])
        else:
            array = rng.choice((array.ravel(), array[None], array.T, array[..., None]))
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), (1, 0))
    written = stream.getvalue()
    if way == 7 and rng.random() < 0.3:
        return written.replace(array.dtype.str.encode(), rng.choice(_DTYPES).encode())
    return written


def use(model: Any, rng: random.Random, folder: Path) -> None:
    """Do with a model what users do; a ValueError is an answer, all else is not."""
    often = rng.random()
    if isinstance(model, Recommender):
        users, items = (
            ids.values[:3] for ids in (model.ratings_.user_ids, model.ratings_.item_ids)
        )
        model.predict(users[:1], items[:1], unknown="mean")
        model.recommend(users, n=3, unknown="nan")
        if often < 0.1:
            model.similar_items(items[:1], n=2)
            new = 10**6 if users.dtype.kind == "i" else "new"
            model.fold_in({new: {items[0].item(): model.high_}}).recommend(new, n=2, unknown="nan")
    elif isinstance(model, RankFusion):
        names = model.list_names_
        lists = RankedLists(np.arange(1.0, 3.0)[:, None] * np.ones(len(names)), [1, 1], names=names)
        model.predict(lists)
        model.rules()
    elif model.n_features_in_ > 1000:
        model.predict(sparse.csr_array((2, model.n_features_in_)))
    else:
        rows = some_rows(model, rng)
        model.predict(rows)
        if hasattr(model, "predict_proba"):
            model.predict_proba(rows)
        if often < 0.3:
            model.rules(5)
        elif often < 0.4:
            str(model.explain())
            model.explain(rows[:1])
        elif often < 0.45:
            list(model.staged_predict(rows))
            _ = model.feature_importances_
        elif often < 0.5:
            model.export(folder / f"model.{rng.choice(('py', 'sql'))}")
    if often > 0.95:
        repr(model)
        model.save(folder / "again.edgewise")
        edgewise.load(folder / "again.edgewise")


class InputFiles(Part):
    """Mutated input files, read by what reads them."""

    name = "inputs"
    about = "mutated files of every input format are read"
    counted = "files"
    wanted = 100_000
    share = 6.0
    seconds = 20.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.files = input_files(folder)
        self.mutated = folder / "mutated"
        self.mutated.mkdir(exist_ok=True)

    def check(self) -> None:
        """Read every file as it is."""
        for name, data in self.files.items():
            path = self.mutated / name
            path.write_bytes(data)
            with quiet():
                READERS[name](path)

    def case(self, rng: random.Random) -> Counter[str]:
        """Read a mutated file."""
        name = rng.choice(list(self.files))
        data = self.files[name]
        binary = name.endswith((".parquet", ".arrow", ".gz"))
        mutate = flip_bytes if binary or rng.random() < 0.4 else change_lines
        self.last = mutate(data, rng)
        path = self.mutated / name
        path.write_bytes(self.last)
        with quiet():
            try:
                READERS[name](path)
            except ValueError as error:
                if not str(error):
                    raise
                return Counter(refused=1)
        return Counter(read=1)


# "MODEL" stands for a model of the corpus, whose name stands in brackets; files are those of the
# corpus, and outputs.
_COMMANDS = (
    "predict MODEL(table) table.csv",
    "predict MODEL(table) table.csv -o predicted.csv",
    "evaluate MODEL(table) table.csv",
    "show MODEL(stumps)",
    "show MODEL(table) table.csv",
    "show MODEL(categories) --json",
    "explain MODEL(table) table.csv --row 1",
    "report MODEL(table) --data table.csv -o page.html",
    "report MODEL(ranker) --data documents.letor -o page.html",
    "report MODEL(items) --data ratings.csv --columns user,item,rating -o page.html",
    "export MODEL(table) -o model.py",
    "export MODEL(tree) -o model.sql",
    "export MODEL(product) -o model.onnx",
    "train table.csv --target label --rounds 2 --force --model trained.edgewise",
    "train documents.letor --rounds 2 --force --model trained.edgewise",
    "train ranking.csv --target grade --query query --rounds 2 --force --model trained.edgewise",
    "evaluate judged.qrels list.run",
    "fuse list.run other.run --method rrf -o fused.run",
    "recommend ratings.csv --columns user,item,rating --algorithm bias --user 1",
    "recommend MODEL(items) --new-user 1=5",
)
_MODEL = re.compile(r"MODEL\(([\w ]+)\)")


class Commands(Part):
    """The command line on mutated models and tables."""

    name = "commands"
    about = (
        "commands get mutated models, tables, lists and ratings: one line of error, no traceback"
    )
    counted = "commands"
    wanted = 10_000
    share = 6.0
    seconds = 60.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.models, self.inputs = ModelFiles(folder / "models"), InputFiles(folder / "inputs")
        self.inputs.files["other.run"] = self.inputs.files["list.run"]
        self.outputs = folder / "outputs"
        self.outputs.mkdir(exist_ok=True)

    def check(self) -> None:
        """Run every command on files as they are: all must succeed, and print and write results."""
        for command in _COMMANDS:
            for path in self.outputs.iterdir():
                path.unlink()
            code, output, errors = self._run(command, {})
            written = any(path.stat().st_size for path in self.outputs.iterdir())
            has_results = written == (" -o " in command or " --model " in command) and output
            if code != 0 or not has_results:
                raise AssertionError(f"{command}: exit code {code} on unmutated files: {errors}")

    def case(self, rng: random.Random) -> Counter[str]:
        """Run a command; one of its files is mutated."""
        command = rng.choice(_COMMANDS)
        bad = rng.choice([word for word in command.split() if self._is_input(word)])
        if model := _MODEL.fullmatch(bad):
            self.last = self.models.mutated(rng, list(MODELS).index(model[1]))
        else:
            mutate = flip_bytes if rng.random() < 0.4 else change_lines
            self.last = mutate(self.inputs.files[bad], rng)
        code, _, errors = self._run(command, {bad: self.last})
        if code not in (0, 2) or "Traceback" in errors:
            raise AssertionError(f"{command}: exit code {code}: {errors}")
        return Counter({"done" if code == 0 else "refused": 1})

    def _is_input(self, word: str) -> bool:
        return word in self.inputs.files or _MODEL.fullmatch(word) is not None

    def _run(self, command: str, mutated: dict[str, bytes]) -> tuple[int, str, str]:
        """Return the exit code of a command and what it wrote to standard output and error."""
        from edgewise.cli import main

        arguments = command.split()
        for i, word in enumerate(arguments):
            if self._is_input(word):
                model = _MODEL.fullmatch(word)
                path = self.folder / ("model.edgewise" if model else word)
                known = self.models.by_name[model[1]] if model else self.inputs.files[word]
                path.write_bytes(mutated.get(word, known))
                arguments[i] = str(path)
            elif i and arguments[i - 1] in ("-o", "--model"):
                arguments[i] = str(self.outputs / word)
        output, errors = io.StringIO(), io.StringIO()
        with quiet(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = main(arguments)
        return code, output.getvalue(), errors.getvalue()
