import errno
import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgewise.common.files import (
    as_words,
    iter_line_batches,
    open_input,
    read_line_batches,
    replace_file,
)
from edgewise.io.lines import LineError, as_integer, as_number, as_text


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestReading:
    def test_gzip_is_told_by_content_not_by_name(self, tmp_path):
        path = tmp_path / "plain.txt"
        path.write_bytes(gzip.compress(b"packed"))
        with open_input(path) as stream:
            assert stream.read() == b"packed"
        path = tmp_path / "plain.txt.gz"
        path.write_bytes(b"not packed")
        with open_input(path) as stream:
            assert stream.read() == b"not packed"

    def test_lines_are_numbered_over_batches(self, tmp_path, monkeypatch):
        monkeypatch.setattr("edgewise.common.files._BATCH", 10)
        path = tmp_path / "many.txt"
        lines = [b"line %d\n" % number for number in range(1, 100)]
        path.write_bytes(b"".join(lines))
        result = list(read_line_batches(path))
        assert len(result) > 10
        assert [line for _, batch in result for line in batch] == lines
        assert all(batch[0] == b"line %d\n" % first for first, batch in result)

    @pytest.mark.parametrize("cut", [-1, -6, -12, 15])
    def test_a_gzip_file_that_is_cut_short_is_named(self, tmp_path, cut):
        path = tmp_path / "short.txt.gz"
        path.write_bytes(gzip.compress(b"line\n" * 1000)[:cut])
        with pytest.raises(ValueError, match=r"short\.txt\.gz is damaged or cut short"):
            list(read_line_batches(path))

    def test_a_damaged_gzip_file_is_named(self, tmp_path):
        path = tmp_path / "bad.txt.gz"
        content = bytearray(gzip.compress(bytes(range(256)) * 40))
        content[20] ^= 0xFF
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"bad\.txt\.gz is damaged or cut short"):
            list(read_line_batches(path))

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.txt"):
            list(read_line_batches(tmp_path / "none.txt"))

    def test_an_open_stream_is_read_in_batches(self, tmp_path):
        path = tmp_path / "two.txt"
        path.write_bytes(b"a\nb")
        with path.open("rb") as stream:
            assert list(iter_line_batches(stream)) == [(1, [b"a\n", b"b"])]


class TestReplacing:
    @pytest.mark.parametrize("name", ["new.txt", "new.txt.gz"])
    def test_an_error_leaves_the_old_file_and_nothing_else(self, tmp_path, name):
        path = tmp_path / name
        path.write_bytes(b"old")
        with pytest.raises(TypeError, match="bytes"), replace_file(path) as stream:
            stream.writelines([b"new", "no bytes"])
        assert path.read_bytes() == b"old"
        assert names_in(tmp_path) == [name]

    def test_a_rename_that_fails_leaves_nothing(self, tmp_path, full_disk):
        with (
            pytest.raises(OSError, match="no space left"),
            replace_file(tmp_path / "new.txt") as stream,
        ):
            stream.write(b"new")
        assert names_in(tmp_path) == []

    @pytest.mark.parametrize("named", [False, True])
    def test_a_full_disk_names_the_file_that_was_asked_for(self, tmp_path, named):
        path = tmp_path / "new.txt"

        def write():
            with replace_file(path):
                (temporary,) = tmp_path.iterdir()
                raise OSError(errno.ENOSPC, "No space left", *([temporary] if named else []))

        with pytest.raises(OSError, match="No space") as raised:
            write()
        assert raised.value.filename == str(path)
        assert names_in(tmp_path) == []

    def test_a_folder_that_is_not_there_is_named(self, tmp_path):
        with (
            pytest.raises(FileNotFoundError, match="nowhere"),
            replace_file(tmp_path / "nowhere/x"),
        ):
            pass
        assert names_in(tmp_path) == []

    def test_a_folder_is_not_replaced(self, tmp_path):
        with pytest.raises(ValueError, match="path must be a file"), replace_file(tmp_path):
            pass

    def test_a_link_is_written_through(self, tmp_path):
        real, link = tmp_path / "real.txt", tmp_path / "link.txt"
        real.write_bytes(b"old")
        link.symlink_to(real)
        with replace_file(link) as stream:
            stream.write(b"new")
        assert link.is_symlink()
        assert real.read_bytes() == b"new"

    def test_the_same_content_gives_the_same_bytes(self, tmp_path):
        for name in ("a.gz", "b.gz"):
            with replace_file(tmp_path / name) as stream:
                stream.write(b"content" * 100)
        assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()

    def test_the_content_is_on_the_disk_before_the_name(self, tmp_path, monkeypatch):
        done = []
        monkeypatch.setattr(os, "fsync", lambda opened: done.append(os.fstat(opened).st_size))
        replace = Path.replace
        monkeypatch.setattr(Path, "replace", lambda *to: done.append("renamed") or replace(*to))
        with replace_file(tmp_path / "new.txt") as stream:
            stream.write(b"content")
        assert done[:2] == [len(b"content"), "renamed"]
        assert len(done) == 3  # the folder, which has the new name

    def test_what_a_killed_writer_left_is_removed(self, tmp_path):
        path = tmp_path / "new.txt"
        code = (
            "import os; from edgewise.common.files import replace_file\n"
            f"with replace_file({str(path)!r}) as stream: os.kill(os.getpid(), 9)"
        )
        subprocess.run([sys.executable, "-c", code], check=False)
        (left,) = tmp_path.iterdir()
        with replace_file(path) as stream:
            stream.write(b"young")
        assert left.exists()  # its writer may not have locked it yet
        os.utime(left, (0, 0))
        other = tmp_path / ".other.txt.0123456789abcdef"
        other.touch()
        os.utime(other, (0, 0))
        with replace_file(path) as stream:
            (mine,) = {*tmp_path.iterdir()} - {path, other, left}
            os.utime(mine, (0, 0))
            with replace_file(path) as again:
                again.write(b"another")
            stream.write(b"alive")
        assert path.read_bytes() == b"alive"
        assert names_in(tmp_path) == [other.name, path.name]

    def test_a_pipe_named_like_a_temporary_file_is_left_alone(self, tmp_path):
        pipe = tmp_path / ".new.txt.0123456789abcdef"
        os.mkfifo(pipe)
        os.utime(pipe, (0, 0))
        with replace_file(tmp_path / "new.txt") as stream:
            stream.write(b"new")
        assert names_in(tmp_path) == [pipe.name, "new.txt"]

    def test_a_private_file_is_private_while_it_is_written(self, tmp_path):
        path = tmp_path / "secret.txt"
        path.touch(mode=0o600)
        with replace_file(path):
            (temporary,) = {*tmp_path.iterdir()} - {path}
            assert temporary.stat().st_mode & 0o777 == 0o600

    def test_a_file_keeps_its_permissions(self, tmp_path):
        path = tmp_path / "secret.txt"
        path.touch(mode=0o600)
        with replace_file(path) as stream:
            stream.write(b"new")
        assert path.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("letter", ["n", "ä", "\N{GRINNING FACE}"])
    def test_a_name_may_be_as_long_as_the_system_allows(self, tmp_path, letter):
        path = tmp_path / (letter * (255 // len(letter.encode())))
        with replace_file(path) as stream:
            stream.write(b"new")
        assert path.read_bytes() == b"new"


class TestWords:
    def test_numbers_and_words_become_text(self):
        assert as_words("qid", [1, 2]).tolist() == ["1", "2"]
        assert as_words("docs", ["a", "ä"]).tolist() == ["a", "ä"]

    @pytest.mark.parametrize("wrong", ["", "a b", "a\n", "\t", "a\0b", "a\u2003b"])
    def test_what_would_not_come_back_is_refused(self, wrong):
        with pytest.raises(ValueError, match="docs must be words without white space"):
            as_words("docs", ["fine", wrong])

    def test_other_refusals_name_the_argument(self):
        with pytest.raises(ValueError, match="qid must be words without white space or '#'"):
            as_words("qid", ["#1"], without="#")
        with pytest.raises(ValueError, match=r"qid must be one-dimensional, got shape \(1, 1\)"):
            as_words("qid", [["a"]])
        with pytest.raises(ValueError, match="qid must have one entry per row, 2, got 1"):
            as_words("qid", ["a"], 2)
        with pytest.raises(TypeError, match="qid must hold text or numbers, got bytes"):
            as_words("qid", [b"1"])
        assert as_words("docs", [""], empty=True).tolist() == [""]


class TestLines:
    @pytest.mark.parametrize("word", [b"1", b"-1.5", b".5", b"5.", b"+1e-3", b"inf", b"-Infinity"])
    def test_numbers(self, word):
        assert as_number(1, "value", word) == float(word)

    @pytest.mark.parametrize(
        "word", [b"", b"1_0", b"0x1", b"1,5", b"1e", b"one", b"1.5.2", b"\xff"]
    )
    def test_no_numbers(self, word):
        with pytest.raises(LineError, match=r"line 4: value .* is not a number"):
            as_number(4, "value", word)

    @pytest.mark.parametrize("word", [b"", b"1.0", b"1e3", b"9" * 19, b"x"])
    def test_no_whole_numbers(self, word):
        with pytest.raises(LineError, match=r"line 4: rank .* is not an integer"):
            as_integer(4, "rank", word)

    def test_words_must_be_utf_8(self):
        assert as_text(1, "query", "ä".encode()) == "ä"
        with pytest.raises(LineError, match=r"line 2: query '\\xff' is not a word of UTF-8"):
            as_text(2, "query", b"\xff")

    def test_a_long_word_is_not_shown_whole(self):
        with pytest.raises(LineError) as caught:
            as_number(1, "value", b"x" * 10_000)
        assert len(str(caught.value)) < 100
