"""Read plain or gzipped files, and replace files atomically.

A file is gzipped if its first bytes say so when it is read, or its name when it is written.
"""

import codecs
import glob
import gzip
import io
import os
import secrets
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

PathLike = str | os.PathLike[str]

_GZIP_MAGIC: Final = b"\x1f\x8b"
# The default, 9, takes several times as long to save a few per cent.
_LEVEL: Final = 4
# Lines are read in batches of about this many bytes: a large file needs little more memory than
# the arrays made from it.
_BATCH: Final = 1 << 22
# Letters of a file's name in its temporary name; at four bytes each, that is short enough.
_NAMED: Final = 50
# A temporary file that is younger, in seconds, may be one that its writer has yet to lock.
_MIN_AGE: Final = 2.0
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextmanager
def open_input(path: PathLike) -> Iterator[BinaryIO]:
    """Open a plain or gzipped file to read; raise ValueError if it is damaged or cut short."""
    with Path(path).open("rb") as raw:
        packed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        raw.seek(0)
        if not packed:
            yield raw
            return
        try:
            # A buffered reader yields lines several times faster than GzipFile.
            with io.BufferedReader(gzip.GzipFile(fileobj=raw)) as stream:
                yield stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged or cut short: {error}") from error


def read_line_batches(path: PathLike) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines of a plain or gzipped text file in batches, with their first line number."""
    with open_input(path) as stream:
        yield from iter_line_batches(stream)


def iter_line_batches(stream: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines of an open text file in batches, with the number of the first line of each.

    A byte order mark at the beginning is dropped.
    """
    first = 1
    while lines := stream.readlines(_BATCH):
        if first == 1:
            lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
        yield first, lines
        first += len(lines)


def resolve_target(path: PathLike) -> Path:
    """Return the file that `path` stands for, or raise if none can be written there."""
    # Follow a link: a rename would replace the link itself.
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise ValueError(f"path must be a file, got {str(path)!r}")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, got {str(path)!r}")
    return target


@contextmanager
def replace_file(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file to write; it replaces the old one only when it is complete and on the disk.

    The new file has the permissions of the old one. A name that ends in ``.gz`` makes it gzipped;
    the same content gives the same bytes.
    """
    target = resolve_target(path)
    _remove_abandoned(target)
    with temporary_path(path) as temporary:
        with os.fdopen(
            os.open(temporary, _NEW, 0o600 if target.exists() else 0o666), "wb"
        ) as stream:
            if target.exists():
                # At once: nobody else may read what is written to a file of mode 0600.
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            _lock(stream)
            if target.suffix == ".gz":
                with gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield stream
            # Without this, a power cut could leave the new name and none of the content.
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)


@contextmanager
def temporary_path(path: PathLike) -> Iterator[Path]:
    """Give the name of a temporary file beside `path`, which is removed afterwards."""
    target = resolve_target(path)
    temporary = target.with_name(f".{target.name[:_NAMED]}.{secrets.token_hex(8)}")
    try:
        yield temporary
    except OSError as error:
        # Users know the name that they gave, not ours; a write to a full disk names none.
        if error.errno is None or error.filename not in (None, temporary, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files of writers that were killed: nobody holds a lock on them."""
    stem = glob.escape(f".{target.name[:_NAMED]}")
    for path in target.parent.glob(f"{stem}.{'[0-9a-f]' * 16}"):
        # To open a pipe of this name would wait for its writer.
        with suppress(OSError):
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            with path.open("rb") as stream:
                if time.time() - path.stat().st_mtime > _MIN_AGE and _lock(stream):
                    path.unlink()


def _lock(stream: IO[bytes]) -> bool:
    """Lock an open file until it is closed; return whether nobody else had."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows; or held by another, or not supported here
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Bring a new name to the disk, where folders can be opened."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def as_words(
    name: str,
    values: ArrayLike,
    n_rows: int | None = None,
    *,
    empty: bool = False,
    without: str = "",
) -> NDArray[np.str_]:
    """Return ids as text, or raise if one has white space, which separates words of a line."""
    ids = np.asarray(values, dtype=object)
    if ids.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {ids.shape}")
    if n_rows is not None and len(ids) != n_rows:
        raise ValueError(f"{name} must have one entry per row, {n_rows}, got {len(ids)}")
    if any(isinstance(value, bytes) for value in ids.tolist()):
        raise TypeError(f"{name} must hold text or numbers, got bytes")
    strings = [str(value) for value in ids.tolist()]
    for string in set(strings):
        clean = string.split() == [string] and not any(sign in string for sign in f"\0{without}")
        if not clean and not (empty and string == ""):
            signs = f" or {without!r}" if without else ""
            raise ValueError(f"{name} must be words without white space{signs}, got {string!r}")
    return np.array(strings, dtype=np.str_)
