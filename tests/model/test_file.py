"""Model files: written whole or not at all, and no file can do harm."""

import io
import json
import os
import pickle
import re
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Lazy, ModelFileError, Product, Stump, Tree, load
from edgewise.model import FORMAT_VERSION, Cut, PerScore, Terms, read, write
from edgewise.model.terms import TERMS

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.array(["a", "b", "c"])[np.arange(40) % 3]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the path of a sound model file."""
    path = tmp_path_factory.mktemp("model") / "good"
    AdaBoostMH(Stump(), preset="paper", search=Lazy(2), n_rounds=6, random_state=0).fit(X, Y).save(
        path
    )
    return path


@pytest.fixture
def parts(good):
    """Return the header and arrays of the sound file."""
    header, arrays = read(good)
    return header, dict(arrays)


@pytest.fixture
def refused(tmp_path):
    """Assert that a file of these bytes is refused, and nothing but refused."""

    def check(data, match=None):
        path = tmp_path / "bad"
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ModelFileError, match=match):
                load(path)

    return check


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **options)
    return stream.getvalue()


def npy_of(header, body=b"", version=(1, 0)):
    """Return array bytes with a header of one's own."""
    header = header.encode("latin1") if isinstance(header, str) else header
    size = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + size + header + body


def zipped(members, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def members_of(header, arrays):
    return [
        ("model.json", header if isinstance(header, (str, bytes)) else json.dumps(header)),
        *((f"{n}.npy", a if isinstance(a, bytes) else npy(a)) for n, a in sorted(arrays.items())),
    ]


def model_file(header, arrays, **options):
    return zipped(members_of(header, arrays), **options)


def with_entry(header, entry, value):
    """Return a header with an entry changed, of the file or of the fitted model."""
    if entry in header:
        return {**header, entry: value}
    fitted = {**header["state"]["fitted_"], entry: value}
    return {**header, "state": {"fitted_": fitted}}


def without_entry(header, entry):
    if entry in header:
        return {name: value for name, value in header.items() if name != entry}
    fitted = {n: v for n, v in header["state"]["fitted_"].items() if n != entry}
    return {**header, "state": {"fitted_": fitted}}


def survives(path, data):
    """Assert that a file of these bytes is read or refused, and that nothing else happens."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError:
            return
        assert isinstance(model, AdaBoostMH)


def test_a_rebuilt_file_is_read(parts, tmp_path):
    (tmp_path / "m").write_bytes(model_file(*parts))
    assert load(tmp_path / "m").n_rounds_ == 6


def test_nothing_is_compressed_or_dated(good):
    with zipfile.ZipFile(good) as archive:
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


# Writing.


@pytest.mark.parametrize("failing_call", [1, 2, 5])
@pytest.mark.parametrize("failure", [OSError("No space left on device"), KeyboardInterrupt()])
def test_a_failing_write_leaves_the_old_file(good, tmp_path, monkeypatch, failing_call, failure):
    path = tmp_path / "model"
    path.write_bytes(good.read_bytes())
    writestr, calls = zipfile.ZipFile.writestr, []

    def fails(self, *arguments):
        calls.append(1)
        if len(calls) == failing_call:
            raise failure
        writestr(self, *arguments)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fails)
    with pytest.raises(type(failure)):
        AdaBoostMH(n_rounds=2).fit(X, Y).save(path)
    assert len(calls) == failing_call
    assert path.read_bytes() == good.read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_write_replaces_the_old_file(good, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"something else")
    AdaBoostMH(n_rounds=2).fit(X, Y).save(path)
    assert load(path).n_rounds_ == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_objects_are_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        write(tmp_path / "m", {}, {"things": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


# Reading what is no model file.


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"no zip at all", pickle.dumps({"a": 1}), b"\x00" * 1000, b"PK\x05\x06"],
    ids=["empty", "PK", "text", "pickle", "zeros", "end record"],
)  # fmt: skip
def test_no_zip(refused, data):
    refused(data)


def test_an_empty_zip(refused):
    refused(zipped([]), "model.json")


def test_any_beginning_of_a_file(good, refused):
    data = good.read_bytes()
    for size in range(0, len(data), 97):
        refused(data[:size])
    refused(data[:-1])


def test_a_compressed_member(parts, refused):
    refused(model_file(*parts, compression=zipfile.ZIP_DEFLATED), "compressed")
    bomb = members_of(*parts)
    bomb[0] = ("model.json", b" " * 50_000_000)
    refused(zipped(bomb, zipfile.ZIP_DEFLATED), "compressed")


def test_sizes_that_lie(parts, refused):
    data = bytearray(model_file(*parts))
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<II", data, directory + 20, 2**31, 2**31)
    refused(bytes(data), "larger than the file")


def test_a_damaged_member(good, refused):
    data = bytearray(good.read_bytes())
    index = data.index(b"NUMPY") + 130  # past the array's own header, among its numbers
    data[index] ^= 0xFF
    refused(bytes(data))


def test_offsets_that_lead_nowhere(parts, refused):
    data = model_file(*parts)
    end = data.rindex(b"PK\x05\x06")
    directory = data.index(b"PK\x01\x02")
    for offset in (0, 1, 2**31, 2**32 - 2, len(data)):
        for index in (end + 16, end + 12, directory + 42):
            changed = bytearray(data)
            struct.pack_into("<I", changed, index, offset)
            if changed != bytearray(data):
                refused(bytes(changed))


def test_a_missing_array(parts, refused):
    header, arrays = parts
    for missing in arrays:
        refused(model_file(header, {n: a for n, a in arrays.items() if n != missing}))


def test_a_missing_entry(parts, refused):
    header, arrays = parts
    assert {"terms", "history", "classes", "seed"} < header["state"]["fitted_"].keys()
    for missing in [*header, *header["state"]["fitted_"]]:
        refused(model_file(without_entry(header, missing), arrays))


def test_members_that_are_there_twice(parts, refused):
    for index in (0, 1):
        members = members_of(*parts)
        refused(zipped([*members, members[index]]), "once")


@pytest.mark.parametrize(
    "name", ["code.py", "alphas.pkl", "../../escape", "folder/", "model.json "]
)
def test_an_unknown_member(parts, refused, name):
    refused(zipped([*members_of(*parts), (name, b"data")]))


def test_an_array_too_many_does_no_harm(parts, tmp_path):
    header, arrays = parts
    survives(tmp_path / "m", model_file(header, {**arrays, "extra": np.ones(3)}))


# Headers.


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "3", '"word"', "{", "{}", '{"format": 1}', "\xff\xfe", "[" * 100_000,
     '{"a":' * 100_000, "9" * 100_000, '{"format": ' + "9" * 5000 + "}", b"\xff\xff\xff\xff"],
    ids=["empty", "null", "list", "number", "string", "cut", "nothing", "only format", "no text",
         "deep lists", "deep objects", "huge number", "huge format", "no unicode"],
)  # fmt: skip
def test_a_header_that_is_none(parts, refused, text):
    refused(model_file(text, parts[1]))


@pytest.mark.parametrize("version", [None, 0, -1, True, "1", 1.5, [1]])
def test_a_version_that_is_none(parts, refused, version):
    header, arrays = parts
    refused(model_file({**header, "format": version}, arrays), "version")


def test_a_newer_version_asks_for_an_upgrade(parts, refused):
    header, arrays = parts
    newer = model_file({**header, "format": FORMAT_VERSION + 1}, arrays)
    refused(newer, rf"version {FORMAT_VERSION + 1}.*reads up to {FORMAT_VERSION}.*upgrade")


def test_a_file_of_version_1_predicts_the_same():
    model = load(Path(__file__).with_name("format_1.edgewise"))
    assert model.fitted_.rates.names == ("rate of yes by shop",)
    rows = pd.DataFrame(
        {"size": [-1.5, 0.2, 1.5, np.nan, 0.0], "shop": ["s0", "s7", "s12", "s3", "new"]}
    )
    before = [-0.18353707762367438, *4 * [0.011165070813825659]]
    assert model.decision_function(rows).tolist() == before


SCORES_OF_VERSION_2 = [-0.058787345886230476, -0.02594809532165527, 0.08853383064270019]


def test_a_file_of_version_2_predicts_the_same_and_needs_a_background():
    model = load(Path(__file__).with_name("format_2.edgewise"))
    X = np.array([[-1.5, 0.0], [0.2, 1.0], [1.5, np.nan]])
    assert model.decision_function(X).tolist() == SCORES_OF_VERSION_2
    with pytest.raises(ValueError, match="background must be given"):
        model.explain(X[:1])
    values = model.shap_values(X, X)
    total = model.decision_function(X).mean() + values.sum(axis=1)
    np.testing.assert_allclose(total, SCORES_OF_VERSION_2, atol=1e-12)


def test_rates_of_version_1_that_are_damaged(tmp_path):
    header, arrays = read(Path(__file__).with_name("format_1.edgewise"))
    for rates in (3, [], [3], {"columns": None}):
        header["state"]["fitted_"]["rates"] = rates
        write(tmp_path / "m", {**header, "format": 1}, arrays)
        with pytest.raises(ModelFileError):
            load(tmp_path / "m")


# Numbers in the smallest type that holds them.

KEPT = {
    "halves": (np.array([0.5, -0.0, np.nan, np.inf, 2.0**-24]), "<f2"),
    "singles": (np.array([1 / 3], np.float32).astype(np.float64), "<f4"),
    "doubles": (np.array([1 / 3, 1.0]), "<f8"),
    "too large for a half": (np.array([70_000.0]), "<f4"),
    "floats that are there": (np.array([1.5], np.float32), "<f2"),
    "small": (np.array([[-128, 127]], np.int64), "|i1"),
    "counts": (np.array([0, 255], np.int32), "|u1"),
    "more counts": (np.array([0, 65_535]), "<u2"),
    "long": (np.array([-(2**31), 0]), "<i4"),
    "longest": (np.array([-(2**62)]), "<i8"),
    "unsigned": (np.array([2**32 - 1], np.uint64), "<u4"),
    "flags": (np.array([True, False]), "|b1"),
    "none": (np.empty((0, 3)), "<f2"),
}


def test_arrays_come_back_in_their_type_and_take_the_smallest_on_disk(tmp_path):
    path = tmp_path / "m"
    write(path, {}, {name: array for name, (array, _) in KEPT.items()})
    header, arrays = read(path)
    assert header == {"format": FORMAT_VERSION}
    with zipfile.ZipFile(path) as archive:
        for name, (array, stored) in KEPT.items():
            assert arrays[name].dtype == array.dtype
            assert arrays[name].tobytes() == array.tobytes()
            actual = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")))
            assert actual.dtype.str == stored, name


@pytest.mark.parametrize(
    "types",
    [3, [], {"alphas": "O"}, {"alphas": 8}, {"alphas": "<f4"}, {"alphas": "<f16"},
     {"alphas": "<i8"}, {"alphas": "<M8[s]"}, {"alphas": "f8,f8"}, {"alphas": "nonsense"},
     {"alphas": ["<f8"]}, {"kinds": "<f8"}, {"kinds": "|i1"}, {"real": "<i8"}],
    ids=str,
)  # fmt: skip
def test_types_that_arrays_cannot_be_restored_to(parts, refused, types):
    header, arrays = parts
    if isinstance(types, dict):
        types = {KEYS[name]: restored for name, restored in types.items()}
    refused(model_file({**header, "types": types}, arrays))


def test_the_leaves_of_the_default_take_two_bytes(tmp_path):
    model = AdaBoostMH(n_rounds=5).fit(X, Y)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.fitted_.terms.leaves.dtype == np.float64
    assert np.array_equal(loaded.fitted_.terms.leaves, model.fitted_.terms.leaves)
    with zipfile.ZipFile(tmp_path / "m") as archive:
        stored = np.lib.format.read_array(io.BytesIO(archive.read(f"{KEYS['leaves']}.npy")))
    assert stored.dtype == np.float16


CHANGES = {
    "estimator": ["RandomForest", None, 3],
    "multilabel": [None, 0, "no"],
    "n_features": [-1, 2.5, "3", None, True, 1, []],
    "feature_names": [[["a"]], [[1, 2, 3]], 5, "abc", ["abc"], {"a": 1, "b": 2, "c": 3}],
    "best_iteration": [-1, None, "6"],
    "seed": [-1, None, "6", 0.5],
    "unsaved": [None, 3, [3], {"a": 1}],
    "terms": ["rules", None, 3],
    "filters": [3, [3], [[1, 1, 1]], [[1, 3, 0]], [[-1, -3, 1]], [["a", "b", "c"]],
                [[1.0, 3.0, 1]]],
    "categories": [None, [], {"3": ["u"]}, {"-1": ["u"]}, {"word": ["u"]}, {"0": "abc"},
                   {"0": [None]}, {"0": [["u"]]}, {"0": {"u": 1}}],
    "votes": [None, 3, "hard", ["discrete"]],
    "loss": [None, 3, "hinge", ["exponential"]],
    "learning_rate": [None, 0.0, -1.0, float("nan"), "1"],
    "search_states": [None, 3, {}, [3], [{"sums": 1}], [{"sums": None}]],
    "learner": [3, "twig", {"class": "Forest", "parameters": {}}, {"class": "Stump"},
                {"class": "os", "parameters": {}}, {"class": "AdaBoostMH", "parameters": {}},
                {"class": "Stump", "parameters": {"constant": 3}},
                {"class": "Tree", "parameters": {"base": {"class": "Twig", "parameters": {}}}}],
    "parameters": [None, 3, {"color": "red"}, {"learner": {"class": "Forest", "parameters": {}}},
                   {"learner": {"class": "Stump", "parameters": {"evil": 1}}},
                   {"learner": {"class": "Stump"}},
                   {"search": {"class": ["Lazy"], "parameters": {}}},
                   {"search": {"class": "Lazy", "parameters": [1]}}, {"search": {"array": None}},
                   {"search": {"dict": 3}}, {"search": {"tuple": [1], "dict": []}}],
    "state": [None, 3, [], {}, {"fitted_": None}, {"terms_": None}],
    "classes": [None, [], {}, {"dtype": "<U1"}, {"dtype": "<U1", "values": ["a"]},
                {"dtype": "<U1", "values": "abc"}, {"dtype": "<U1", "values": ["a", "b", "a"]},
                {"dtype": "<U1", "values": ["a", "b", "c", "d"]},
                {"dtype": "<i8", "values": ["a", "b", "c"]},
                {"dtype": "|i1", "values": [1, 2, 300]},
                {"dtype": "<i8", "values": [1, 2, 10**30]},
                {"dtype": "|O", "values": [[], {}, None]},
                {"dtype": "<i8", "values": [0, 1, float("inf")]},
                {"dtype": "<M8[s]", "values": [0, 1, 2]},
                {"dtype": "nonsense", "values": [0, 1, 2]},
                {"dtype": "(2,,3)f8", "values": [0, 1, 2]},
                {"dtype": "f8,f8", "values": [0, 1, 2]},
                {"dtype": "|V999999999", "values": [0, 1, 2]}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "value"),
    [(entry, value) for entry, values in CHANGES.items() for value in values],
    ids=lambda value: re.sub(r"\W+", "-", str(value))[:40],
)
def test_a_header_with_a_wrong_entry(parts, refused, entry, value):
    header, arrays = parts
    refused(model_file(with_entry(header, entry, value), arrays))


@pytest.mark.parametrize("size", [10**9, 10**30, 10**400])
def test_a_huge_number_of_columns_takes_no_memory(parts, tmp_path, size):
    header, arrays = parts
    (tmp_path / "m").write_bytes(model_file(with_entry(header, "n_features", size), arrays))
    try:
        model = load(tmp_path / "m")
    except ModelFileError:
        return
    with pytest.raises(ValueError, match="features"):
        model.predict(X)


# Arrays.


KEYS = {name: f"fitted_.terms.{name}" for name in (
    "alphas", "votes", "kinds", "real", "firsts", "children", "starts", "columns",
    "thresholds", "missing", "value_starts", "leaves",
)} | {"history": "fitted_.history.rounds", "offsets": "fitted_.offsets"}  # fmt: skip


def changed(arrays, name, place, value):
    array = arrays[name].copy()
    array.flat[place] = value
    return array


# The arrays of terms are in test_stored_terms.py.
@pytest.mark.parametrize("name", ["history", "offsets"])
@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.astype(np.float32),
        lambda a: a.astype(">f8"),
        lambda a: a[:-1],
        lambda a: a[None],
        lambda a: a.ravel()[0],
        lambda a: np.concatenate([a, a], axis=-1),
    ],
    ids=["type", "byte order", "shorter", "deeper", "scalar", "longer"],
)
def test_an_array_of_the_wrong_type_or_shape(parts, refused, name, change):
    header, arrays = parts
    name = KEYS[name]
    refused(model_file(header, {**arrays, name: change(arrays[name])}))


def test_a_pickle_in_an_array_is_not_run(parts, refused, tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    header, arrays = parts
    evil = npy(np.array([Evil()], dtype=object), allow_pickle=True)
    refused(model_file(header, {**arrays, KEYS["alphas"]: evil}))
    refused(model_file(header, {**arrays, "extra": evil}))
    assert not (tmp_path / "owned").exists()


SHAPE = "{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}\n"
NPY = {
    "huge shape": npy_of(SHAPE.format("(1000000000000000,)"), b"\0" * 48),
    "overflowing shape": npy_of(SHAPE.format((2**62, 8)), b"\0" * 48),
    "shape beyond int64": npy_of(SHAPE.format((2**70,)), b"\0" * 48),
    "empty but endless": npy_of(SHAPE.format((0, 2**70))),
    "negative shape": npy_of(SHAPE.format((-6,)), b"\0" * 48),
    "two negative lengths": npy_of(SHAPE.format((-2, -3)), b"\0" * 48),
    "too many dimensions": npy_of(SHAPE.format((1,) * 70), b"\0" * 8),
    "real shape": npy_of(SHAPE.format("(6.0,)"), b"\0" * 48),
    "no shape": npy_of("{'descr': '<f8', 'fortran_order': False}", b"\0" * 48),
    "too little": npy_of(SHAPE.format((6,)), b"\0" * 47),
    "too much": npy_of(SHAPE.format((6,)), b"\0" * 49),
    "fortran": npy_of(SHAPE.format((6,)).replace("False", "True"), b"\0" * 48),
    "object": npy_of(SHAPE.format((6,)).replace("<f8", "|O"), b"\0" * 48),
    "record": npy_of(
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,)}", b"\0" * 48
    ),
    "no type": npy_of(SHAPE.format((6,)).replace("<f8", "zz9"), b"\0" * 48),
    "odd type": npy_of(SHAPE.format((6,)).replace("<f8", "(2,,3)f8"), b"\0" * 48),
    "unclosed bracket": npy_of("{'descr': '<f8', 'shape': (6,"),
    "unclosed string": npy_of('"""never ends'),
    "odd indentation": npy_of("  {\n'a': 1\n  }\n x"),
    "deep brackets": npy_of("(" * 5000 + ")" * 4000),
    "code": npy_of("__import__('os').getcwd()"),
    "long header": npy_of(SHAPE.format((6,)) + " " * 60_000, b"\0" * 48),
    "huge header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}",
    "null bytes": npy_of(SHAPE.format((6,)).replace("<f8", "<f8\0"), b"\0" * 48),
    "newer version": npy_of(SHAPE.format((6,)), b"\0" * 48, version=(3, 0)),
    "no version": npy_of(SHAPE.format((6,)), b"\0" * 48, version=(9, 9)),
    "no magic": b"NUMPY" + b"\0" * 100,
    "only magic": b"\x93NUMPY",
    "nothing": b"",
}


@pytest.mark.parametrize("case", NPY)
def test_an_array_with_a_hostile_header(parts, refused, case):
    header, arrays = parts
    refused(model_file(header, {**arrays, KEYS["alphas"]: NPY[case]}))


def test_a_history_shorter_than_the_model(parts, refused):
    header, arrays = parts
    refused(model_file(header, {**arrays, KEYS["history"]: arrays[KEYS["history"]][:3]}))


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")


# Models of rules.


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """Return the path of a sound file of trees, products and subsets."""
    path = tmp_path_factory.mktemp("model") / "rules"
    frame = pd.DataFrame(X, columns=list("pqr")).assign(color=np.tile(["u", "v", None, "w"], 10))
    learner = [Tree(max_leaf_nodes=3), Product(n_terms=2)]
    AdaBoostMH(learner, preset="paper", n_rounds=6, random_state=0).fit(frame, Y).save(path)
    return path


def test_a_file_of_rules_is_read(rules, tmp_path):
    header, arrays = read(rules)
    (tmp_path / "m").write_bytes(model_file(header, arrays))
    loaded = load(tmp_path / "m")
    fitted = header["state"]["fitted_"]
    assert (loaded.n_rounds_, fitted["terms"]["n_cuts"]) == (6, 0)
    assert fitted["categories"] == {"3": ["u", "v", "w"]}


@pytest.mark.parametrize(
    "change",
    [
        {"terms": {"n_cuts": 1}},
        {"categories": {}},
        {"categories": {"3": ["u", "v"]}},
        {"categories": {"3": ["u", "v", "w", "x"]}},
        {"categories": {"2": ["u", "v", "w"], "3": ["u", "v", "w"]}},
        {"n_features": 3, "feature_names": [["p", "q", "r"]]},
        {"classes": {"dtype": "<U1", "values": ["a", "b"]}},
    ],
    ids=str,
)
def test_rules_that_do_not_match_their_header(rules, refused, change):
    header, arrays = read(rules)
    for entry, value in change.items():
        if entry == "terms":
            value = {**header["state"]["fitted_"]["terms"], **value}
        header = with_entry(header, entry, value)
    refused(model_file(header, arrays))


# Fuzzing: a file is read or refused, and nothing else happens.

FUZZ = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(data=st.data())
def test_flipped_bytes(good, rules, tmp_path, data):
    content = bytearray(data.draw(st.sampled_from([good, rules])).read_bytes())
    # The directory at the end is where one byte matters most.
    anywhere = st.integers(0, len(content) - 1)
    at_the_end = st.integers(content.index(b"PK\x01\x02"), len(content) - 1)
    positions = data.draw(st.lists(anywhere | at_the_end, min_size=1, max_size=4))
    for index in positions:
        content[index] = data.draw(st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255))
    survives(tmp_path / "fuzzed", bytes(content))


@FUZZ
@given(data=st.data())
def test_any_number_in_the_arrays_of_rules(rules, tmp_path, data):
    header, arrays = read(rules)
    name = data.draw(st.sampled_from(sorted(name for name in arrays if arrays[name].size)))
    array = arrays[name].copy()
    index = data.draw(st.integers(0, array.size - 1))
    numbers = st.floats() if array.dtype.kind == "f" else st.integers(-9, 9)
    array.flat[index] = data.draw(numbers)
    path = tmp_path / "fuzzed"
    path.write_bytes(model_file(header, {**arrays, name: array}))
    try:
        model = load(path)
    except ModelFileError:
        return
    frame = pd.DataFrame(X, columns=list("pqr")).assign(color=np.tile(["u", "v", None, "z"], 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.predict(frame).shape == (40,)
        assert all(rule.text for rule in model.rules(None))


@FUZZ
@given(data=st.data())
def test_cut_and_joined_bytes(good, tmp_path, data):
    content = good.read_bytes()
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    middle = data.draw(st.binary(max_size=40))
    survives(tmp_path / "fuzzed", content[:start] + middle + content[stop:])


@FUZZ
@given(text=st.text(max_size=60) | st.binary(max_size=60))
@example(text="{'descr': (")
def test_any_array_header(good, tmp_path, text):
    header, arrays = read(good)
    header_bytes = text if isinstance(text, bytes) else text.encode()
    survives(
        tmp_path / "fuzzed", model_file(header, {**arrays, KEYS["alphas"]: npy_of(header_bytes)})
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@FUZZ
@given(entry=st.sampled_from(sorted(CHANGES)), value=JSON)
def test_any_header_entry(good, tmp_path, entry, value):
    header, arrays = read(good)
    survives(tmp_path / "fuzzed", model_file(with_entry(header, entry, value), arrays))


@FUZZ
@given(
    dtype=st.text("<>|=0123456789fiubUSOVMm[](), s", max_size=9),
    values=st.lists(st.integers() | st.floats() | st.text(max_size=4), min_size=3, max_size=3),
)
def test_any_class_labels(good, tmp_path, dtype, values):
    header, arrays = read(good)
    classes = {"dtype": dtype, "values": values}
    survives(tmp_path / "fuzzed", model_file(with_entry(header, "classes", classes), arrays))


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    path = tmp_path / "model"
    AdaBoostMH("stump", preset="paper", n_rounds=3, factorized=False).fit(X, y).save(path)
    header, arrays = read(path)
    write(path, with_entry(header, "n_features", 10**9), arrays)
    with pytest.raises(ModelFileError, match="features"):
        load(path)
    n_terms, n_classes = 40, 1000
    cuts = [
        PerScore(tuple(Cut(0, float(t * n_classes + k), 0) for k in range(n_classes)))
        for t in range(n_terms)
    ]
    terms = Terms.pack(cuts, [1.0] * n_terms, np.ones((n_terms, n_classes)), n_cuts=n_classes)
    stored = TERMS.pack(terms, "fitted_.terms", arrays)
    header = with_entry(header, "additive", None)
    arrays[KEYS["history"]] = np.ones((n_terms, arrays[KEYS["history"]].shape[1]))
    arrays[KEYS["offsets"]] = np.zeros(n_classes)
    classes = {"dtype": "<i8", "values": list(range(n_classes))}
    write(path, with_entry(with_entry(header, "classes", classes), "terms", stored), arrays)
    # Its tables would take 1000 numbers for each of 40,000 thresholds, 320 MB.
    tracemalloc.start()
    try:
        scores = load(path).decision_function([[0.5, 0.0], [-0.5, 0.0]])
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert (scores[1] == -n_terms).all()
    assert scores[0].tolist() == [2.0 - n_terms, *[-n_terms] * (n_classes - 1)]


def test_only_a_file_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(ModelFileError, match="is not a file"):
            load(path)


def test_a_header_of_brackets_is_refused(parts, refused):
    header, arrays = parts
    refused(model_file({**header, "more": [[]] * 1_100_000}, arrays), "more lists")


def test_one_long_class_name_does_not_take_its_length_for_every_class(parts, refused):
    header, arrays = parts
    classes = {"dtype": "<U8", "values": ["x" * 500_000, *map(str, range(1000))]}
    tracemalloc.start()
    try:
        refused(model_file(with_entry(header, "classes", classes), arrays), "similar lengths")
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "value"), [("n_jobs", "2"), ("handle_infinite", 3)])
def test_settings_that_prediction_uses_are_checked(parts, refused, name, value):
    header, arrays = parts
    settings = {**header["parameters"], name: value}
    refused(model_file({**header, "parameters": settings}, arrays), name)
