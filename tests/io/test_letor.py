import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from edgewise.io import RankingData, letor, read_letor, read_letor_parts, write_letor
from edgewise.io.letor import parse_letor

# Two queries as LETOR 4.0 and LETOR 2.0 write them, made up.
LETOR = b"""\
2 qid:10 1:0.007477 2:NULL 3:1.000000 #docid = GX008-86-4444840 inc = 1 prob = 0.086622
0 qid:10 1:0.603738 2:0.000000 3:NULL #docid = GX037-06-11625428 inc = 0.0031 prob = 0.08
1 qid:18 1:NULL 2:-4.5 3:1e-3 #docid = GX016-32-14546147 inc = 1 prob = 0.1\r
"""


def read(content: bytes, **options) -> RankingData:
    lines = content.splitlines(keepends=True)
    return parse_letor([(1, lines)] if lines else [], "here.txt", **options)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestRead:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_a_file_of_letor(self, tmp_path, pack):
        path = tmp_path / "train.txt"
        path.write_bytes(pack(LETOR))
        data = read_letor(path)
        expected = [[0.007477, np.nan, 1], [0.603738, 0, np.nan], [np.nan, -4.5, 0.001]]
        assert np.array_equal(data.X, expected, equal_nan=True)
        assert data.X.dtype == data.y.dtype == np.float64
        assert data.y.tolist() == [2, 0, 1]
        assert data.qid.tolist() == ["10", "10", "18"]
        assert data.docs.tolist() == ["GX008-86-4444840", "GX037-06-11625428", "GX016-32-14546147"]

    def test_features_that_are_left_out_are_zero(self):
        data = read(b"1 qid:a 2:5\n0 qid:a\n1 qid:b 1:3 4:7\n")
        assert data.X.tolist() == [[0, 5, 0, 0], [0, 0, 0, 0], [3, 0, 0, 7]]
        assert data.docs is None

    def test_n_features_sets_the_width(self):
        assert read(b"1 qid:a 2:5\n", n_features=4).X.tolist() == [[0, 5, 0, 0]]
        with pytest.raises(ValueError, match=r"here\.txt, line 2: feature 3 is past n_features=2"):
            read(b"1 qid:a 1:0\n0 qid:a 1:4 3:1\n", n_features=2)

    def test_sparse_matrices_hold_what_is_not_zero(self):
        data = read(b"1 qid:a 1:0 2:5\n0 qid:a 3:NULL\n", sparse=True, n_features=5)
        assert data.X.format == "csr"
        assert data.X.nnz == 2
        expected = [[0, 5, 0, 0, 0], [0, 0, np.nan, 0, 0]]
        assert np.array_equal(data.X.toarray(), expected, equal_nan=True)

    def test_lines_without_content_and_other_spacing(self):
        text = b"# a comment\n\n 1\tqid:a   1:2  2:3 \t# docid=x\r\n   \n0 qid:a 1:4 2:5"
        data = read(text)
        assert data.X.tolist() == [[2, 3], [4, 5]]
        assert data.docs.tolist() == ["x", ""]

    def test_without_queries_there_are_none(self):
        data = read(b"1 1:2\n-1 1:3\n")
        assert data.qid is None
        assert data.y.tolist() == [1, -1]

    def test_queries_are_text(self):
        assert read(b"1 qid:07 1:2\n0 qid:7 1:2\n").queries.tolist() == ["07", "7"]

    @pytest.mark.parametrize("size", [1, 30, 1000])
    def test_batches_do_not_matter(self, tmp_path, monkeypatch, size):
        path = tmp_path / "many.txt"
        # Later lines have more features and longer names.
        lines = [
            b"%d qid:%d 1:0.%d %d:1 #docid = d%d\n" % (k % 3, k // 7, k, 2 + k // 20, k)
            for k in range(100)
        ]
        path.write_bytes(b"".join(lines))
        whole = read_letor(path)
        monkeypatch.setattr("edgewise.common.files._BATCH", size)
        parts, thin = read_letor(path), read_letor(path, sparse=True)
        assert whole.X.shape == (100, 6)
        for name in ("X", "y", "qid", "docs"):
            assert np.array_equal(getattr(parts, name), getattr(whole, name))
        assert np.array_equal(thin.X.toarray(), whole.X)

    @settings(max_examples=50)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 6))
    def test_it_reads_as_scikit_learn_does(self, tmp_path_factory, seed, n, d):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
        y, qid = rng.integers(0, 5, n), np.sort(rng.integers(0, 4, n))
        path = tmp_path_factory.getbasetemp() / "peer.txt"
        dump_svmlight_file(X, y, str(path), zero_based=False, query_id=qid)
        theirs, their_y, their_qid = load_svmlight_file(
            str(path), n_features=d, query_id=True, zero_based=False
        )
        ours = read_letor(path, n_features=d)
        assert np.array_equal(ours.X, theirs.toarray())
        assert np.array_equal(ours.y, their_y)
        assert np.array_equal(ours.qid.astype(int), their_qid)


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "fault"),
        [
            (b"x qid:1 1:2", "grade 'x' is not a number"),
            (b"nan qid:1 1:2", "grade 'nan' is not finite"),
            (b"NULL qid:1 1:2", "grade 'NULL' is not a number"),
            (b"1,2 qid:1 1:2", "grade '1,2' is not a number"),
            (b"1 qid: 1:2", "the query '' is not a word"),
            (b"1 qid:\xff 1:2", r"the query '\\xff' is not a word"),
            (b"1 1:2", "it has no qid:, though other lines have one"),
            (b"1 qd:1 1:2", "it has no qid:, though other lines have one"),
            (b"1 qid:1 qid:2 1:2", "feature 'qid' is not a number"),
            (b"1 qid:1 0:2", "feature '0' is not an integer from 1"),
            (b"1 qid:1 -1:2", "feature '-1' is not an integer from 1"),
            (b"1 qid:1 1.5:2", "feature '1.5' is not an integer from 1"),
            (b"1 qid:1 99999999999:2", "feature '99999999999' is not an integer from 1"),
            (b"1 qid:1 inf:2", "feature 'inf' is not an integer from 1"),
            (b"1 qid:1 NULL:2", "feature 'NULL' is not a number"),
            (b"1 qid:1 1:2 1:3", "feature 1 comes after feature 1"),
            (b"1 qid:1 2:2 1:3", "feature 1 comes after feature 2"),
            (b"1 qid:1 1:two", "value of feature 1 'two' is not a number"),
            (b"1 qid:1 1:2x 2:3", "value of feature 1 '2x' is not a number"),
            (b"1 qid:1 1:1-2 2:", "value of feature 1 '1-2' is not a number"),
            (b"1 qid:1 1:+NULL", r"value of feature 1 '\+NULL' is not a number"),
            (b"1 qid:1 1:null", "value of feature 1 'null' is not a number"),
            (b"1 qid:1 1:", "'1:' is not feature:value"),
            (b"1 qid:1 :2", "':2' is not feature:value"),
            (b"1 qid:1 1: 2", "'1:' is not feature:value"),
            (b"1 qid:1 1 :2", "'1' is not feature:value"),
            (b"1 qid:1 1 2:3:4", "'1' is not feature:value"),
            (b"1 qid:1 1:2:3", "'1:2:3' is not feature:value"),
            (b"1 qid:1 1:2 3", "'3' is not feature:value"),
            (b"1 qid:1 1:2e", "value of feature 1 '2e' is not a number"),
            (b"1 qid:1 1:2 #docid = \xff", r"the docid '\\xff' is not a word"),
        ],
    )
    def test_a_wrong_line_is_named(self, line, fault):
        good = b"0 qid:1 1:2 2:3\n"
        for after in (good, b""):
            with pytest.raises(ValueError, match=r"^here\.txt, line 4: " + fault):
                read(good + b"# comment\n" + good + line + b"\n" + after)

    @pytest.mark.parametrize(
        ("first", "second", "fault"),
        [
            (b"1 qid:1 1:2\n", b"0 1:2\n", "it has no qid:, though other lines have one"),
            (b"1 1:2\n", b"0 qid:1 1:2\n", "it has a qid:, though other lines have none"),
        ],
    )
    def test_queries_in_some_batches_only(self, first, second, fault):
        with pytest.raises(ValueError, match=f"^here, line 2: {fault}"):
            parse_letor([(1, [first]), (2, [second])], "here")

    @pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n"])
    def test_an_empty_file_is_refused(self, tmp_path, content):
        path = tmp_path / "empty.txt"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"empty\.txt is empty"):
            read_letor(path)

    def test_lines_without_features_need_a_width(self):
        with pytest.raises(ValueError, match="no features in any line"):
            read(b"1 qid:1\n")
        assert read(b"1 qid:1\n", n_features=2).X.tolist() == [[0, 0]]

    def test_another_kind_of_file_is_refused(self, tmp_path):
        path = tmp_path / "picture.png"
        path.write_bytes(bytes(range(256)) * 50)
        with pytest.raises(ValueError, match=r"picture\.png, line \d+: "):
            read_letor(path)

    @given(st.binary(max_size=200))
    @example(b"1 qid:1 1:2\n2 qid:1 \0:3")
    def test_whatever_it_holds_an_error_is_a_value_error(self, content):
        try:
            data = read(content)
        except ValueError as error:
            assert str(error).startswith("here.txt")  # noqa: PT017
        else:
            assert len(data)

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.txt"):
            read_letor(tmp_path / "none.txt")

    def test_arguments_are_checked_before_the_file_is_opened(self, tmp_path):
        with pytest.raises(ValueError, match="n_features must be an integer from 1"):
            read_letor(tmp_path / "none.txt", n_features=0)
        with pytest.raises(TypeError, match="sparse must be True or False"):
            read_letor(tmp_path / "none.txt", sparse="yes")

    def test_an_array_that_does_not_fit_points_to_sparse(self):
        with pytest.raises(MemoryError, match="sparse=True"):
            read(b"1 qid:1 2147483647:2\n" * 20_000)
        assert read(b"1 qid:1 2147483647:2\n", sparse=True).X.shape == (1, 2147483647)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=5)
VALUES = st.one_of(
    st.sampled_from(["0", "1", "NULL", "-2.5", "1e-3", "nan", "inf", "0.1"]),
    st.floats(allow_nan=False).map(repr),
)


class TestPairsAtOnce:
    @given(st.lists(st.lists(VALUES, max_size=4), min_size=1, max_size=6), st.data())
    def test_all_at_once_is_one_by_one(self, rows, data):
        bodies = []
        for row in rows:
            names = data.draw(
                st.lists(st.integers(1, 50), min_size=len(row), max_size=len(row), unique=True).map(
                    sorted
                )
            )
            pairs = (f"{name}:{value}" for name, value in zip(names, row, strict=True))
            bodies.append(data.draw(st.sampled_from([" ", "  ", "\t"])).join(pairs).encode())
        lines = letor.cut_lines(1, [b"0 qid:1 " + body for body in bodies])
        fast = letor.parse_pairs([line.body for line in lines])
        slow = letor.parse_pairs_by_line(lines)
        assert fast is not None
        for ours, theirs in zip(fast, slow, strict=True):
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")

    @given(st.lists(st.text("0123:N .-e", max_size=12).map(str.encode), min_size=1, max_size=3))
    @example([b"1 2:3:4"])
    @example([b"1:1-2 2: 3:1"])
    def test_what_is_refused_one_by_one_is_refused_at_once(self, bodies):
        lines = letor.cut_lines(1, [b"0 qid:1 " + body for body in bodies])
        try:
            letor.parse_pairs_by_line(lines)
        except letor.LineError:
            assert letor.parse_pairs([line.body for line in lines]) is None


class TestWrite:
    @given(st.data())
    def test_what_is_written_is_read_back(self, tmp_path_factory, data):
        n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
        X = data.draw(hnp.arrays(np.float64, (n, d), elements=st.floats()))
        y = data.draw(hnp.arrays(np.float64, n, elements=st.floats(-1e300, 1e300)))
        qid = data.draw(st.lists(WORDS.filter(lambda w: "#" not in w), min_size=n, max_size=n))
        docs = data.draw(st.lists(WORDS | st.just(""), min_size=n, max_size=n))
        name = data.draw(st.sampled_from(["round.txt", "round.txt.gz"]))
        path = tmp_path_factory.getbasetemp() / name
        write_letor(path, X, y, qid, docs)
        back = read_letor(path)
        assert np.array_equal(back.X, X, equal_nan=True)
        assert np.array_equal(np.signbit(back.X), np.signbit(X) & ~np.isnan(X))
        assert np.array_equal(back.y, y)
        assert back.qid.tolist() == qid
        assert (docs if any(docs) else None) == (None if back.docs is None else back.docs.tolist())
        write_letor(path, sparse.csr_matrix(X), y, qid)
        thin = read_letor(path, n_features=d, sparse=True)
        assert np.array_equal(thin.X.toarray(), X, equal_nan=True)

    def test_without_queries(self, tmp_path):
        path = tmp_path / "plain.txt"
        write_letor(path, [[1, 2]], [0.5], None)
        assert path.read_bytes() == b"0.5 1:1.0 2:2.0\n"

    def test_gzip_by_name(self, tmp_path):
        write_letor(tmp_path / "a.txt.gz", [[1]], [1], ["q"])
        assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == b"1 qid:q 1:1.0\n"

    def test_scikit_learn_reads_it(self, tmp_path):
        X, y, qid = np.random.default_rng(0).normal(size=(5, 3)), [2, 0, 1, 1, 0], [1, 1, 2, 2, 2]
        write_letor(tmp_path / "peer.txt", X, y, qid)
        theirs = load_svmlight_file(str(tmp_path / "peer.txt"), query_id=True)
        assert np.array_equal(theirs[0].toarray(), X)
        assert theirs[1].tolist() == y
        assert theirs[2].tolist() == qid

    def test_the_matrix_is_not_changed(self, tmp_path):
        X = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])))
        write_letor(tmp_path / "a.txt", X, [0], ["q"])
        assert (tmp_path / "a.txt").read_bytes() == b"0 qid:q 1:2.0 2:1.0\n"
        assert X.indices.tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"X": [["a", "b"]] * 2}, "X must hold numbers"),
            ({"X": [1.0, 2.0]}, r"X must have rows and columns, got shape \(2,\)"),
            ({"X": np.ones((0, 2))}, "X must have rows and columns"),
            ({"X": sparse.csr_matrix((2, 0))}, "X must have rows and columns"),
            ({"y": [1]}, r"y must have one grade per row, shape \(2,\), got \(1,\)"),
            ({"y": [1, float("nan")]}, "y must hold finite numbers"),
            ({"y": ["a", "b"]}, "y must hold numbers"),
            ({"qid": ["a"]}, "qid must have one entry per row, 2, got 1"),
            ({"qid": ["a", "b c"]}, "qid must be words without white space or '#', got 'b c'"),
            ({"qid": ["a", "#"]}, "qid must be words without white space or '#', got '#'"),
            ({"docs": ["a", "b c"]}, "docs must be words without white space, got 'b c'"),
        ],
    )
    def test_wrong_arguments_are_named_and_write_nothing(self, tmp_path, changes, message):
        good = {"X": np.ones((2, 2)), "y": [0, 1], "qid": ["a", "b"], "docs": ["c", "d"]}
        with pytest.raises(ValueError, match=message):
            write_letor(tmp_path / "new.txt", **(good | changes))
        assert names_in(tmp_path) == []

    def test_a_failing_write_leaves_nothing(self, tmp_path, full_disk):
        with pytest.raises(OSError, match="no space left"):
            write_letor(tmp_path / "new.txt", [[1]], [1], ["q"])
        assert names_in(tmp_path) == []


class TestParts:
    def test_of_mslr_have_the_columns_of_all(self, tmp_path):
        (tmp_path / "train.txt").write_text("2 qid:1 1:3 2:0\n0 qid:1 1:1 2:1\n")
        (tmp_path / "vali.txt").write_text("1 qid:2 1:5 4:2 \n0 qid:2 1:4\n")
        (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"0 qid:3 1:1\n"))
        (tmp_path / "README").write_text("no part of it")
        for is_sparse in (False, True):
            parts = read_letor_parts(tmp_path, sparse=is_sparse)
            assert [part.X.shape for part in parts] == [(2, 4), (2, 4), (1, 4)]
            assert parts.validation.qid.tolist() == ["2", "2"]

    def test_of_yahoo_are_told_apart_by_the_set(self, tmp_path):
        for name in ("set1", "set2"):
            (tmp_path / f"{name}.train.txt").write_text(f"{name[-1]} qid:1 10:0.89 699:0.5\n")
        parts = read_letor_parts(tmp_path, "set2.", sparse=True)
        assert parts.train.y.tolist() == [2.0]
        assert parts.train.X.shape == (1, 699)
        assert parts.validation is parts.test is None
        with pytest.raises(ValueError, match="several train files"):
            read_letor_parts(tmp_path)
        with pytest.raises(ValueError, match="no file set3"):
            read_letor_parts(tmp_path, "set3.")

    def test_of_istella_have_missing_values(self, tmp_path):
        for written in ("1.79769313486232E+308", "1.7976931348623157e308"):
            (tmp_path / "train.txt").write_text(
                f"0 qid:1 1:1 2:{written}\n1 qid:1 1:{written} 2:2\n"
            )
            X = read_letor_parts(tmp_path).train.X
            assert np.isnan(X).tolist() == [[False, True], [True, False]]
