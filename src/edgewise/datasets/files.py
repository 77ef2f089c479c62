"""Verified contents of files: a local copy, or a download into the cache.

A file is looked up below ``$EDGEWISE_DATA``, then in the user's cache, then downloaded from its
publisher. Hashes are of decompressed content, so a copy may be plain, ``.gz`` or ``.Z``.
"""

import gzip
import hashlib
import io
import logging
import os
import re
import tarfile
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL
from edgewise.common.files import PathLike, replace_file
from edgewise.common.lazy import import_optional
from edgewise.datasets.catalog import DataFile

logger = logging.getLogger(__name__)

ENVIRONMENT: Final = "EDGEWISE_DATA"
_SUFFIXES: Final = ("", ".gz", ".Z")
_TIMEOUT_SECONDS: Final = 60
_RETRIES = 2
# Bytes of a file; no publisher has one as large, and more may not fit into memory.
_MAX_BYTES = 1 << 31
_ARCHIVE_ERRORS: Final = (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error)


class DatasetNotFoundError(FileNotFoundError):
    """A file is not on this machine and could not be downloaded."""


class DatasetMismatchError(ValueError):
    """A copy of a file differs from the publisher's."""


def check_counts(source: str, counts: Iterable[tuple[str, int, int]]) -> None:
    """Raise unless counts (noun, count, expected count) agree with the catalog."""
    for noun, count, expected in counts:
        if count != expected:
            raise DatasetMismatchError(f"{source}: expected {expected} {noun}, found {count}")


class DataFolders:
    """The folders to look in, and the one to download to.

    Without `data_home` files are looked up in ``$EDGEWISE_DATA`` and the user's cache, and
    downloaded to the cache. `notice` (license, citation) is logged before the first download.
    """

    def __init__(self, data_home: PathLike | None = None, notice: str = "") -> None:
        self.data_home = None if data_home is None else Path(data_home).expanduser()
        self._notice = notice
        self._shelf: Any = None
        if self.data_home is not None and self.data_home.exists() and not self.data_home.is_dir():
            raise NotADirectoryError(f"data_home must be a folder, got the file {str(data_home)!r}")

    def folders(self) -> Iterator[Path]:
        """Yield the folders to look in; the cache only with pooch and a home folder."""
        if self.data_home is not None:
            yield self.data_home
            return
        if os.environ.get(ENVIRONMENT):
            yield Path(os.environ[ENVIRONMENT]).expanduser()
        try:
            yield _user_cache()
        except (ImportError, RuntimeError):
            return

    def find(self, file: DataFile) -> Path | None:
        """Return the first copy of `file`, or None."""
        copies = (
            folder / (file.path + suffix) for folder in self.folders() for suffix in _SUFFIXES
        )
        return next((path for path in copies if path.is_file()), None)

    def content(self, file: DataFile, *, download: bool) -> bytes:
        """Return the verified, decompressed content of `file`."""
        path = self.find(file)
        if path is not None:
            remedy = "Remove this copy and get it again from the publisher."
            return _verify(path.read_bytes(), file, str(path), remedy)
        if not download:
            raise DatasetNotFoundError(self._advice(file, "download=False"))
        if not file.addresses:
            reason = "its publisher has it only in an archive that Python cannot open"
            raise DatasetNotFoundError(self._advice(file, reason))
        return self._download(file)

    def _download(self, file: DataFile) -> bytes:
        try:
            folder = self.data_home or _user_cache()
            import pooch
        except ImportError as error:
            reason = 'downloading it needs pooch (pip install "edgewise[data]")'
            raise ImportError(self._advice(file, reason)) from error
        except RuntimeError as error:
            reason = "there is no home folder to download it to"
            raise DatasetNotFoundError(self._advice(file, reason)) from error
        failures: list[Exception] = []
        for address in file.addresses:
            try:
                remedy = "Nothing was stored; the publisher may have changed the file."
                content = _verify(self._fetch(pooch, address), file, address, remedy)
            except (OSError, DatasetMismatchError) as error:
                logger.warning("%s: %s", address, error)
                failures.append(error)
                continue
            target = folder / (file.path + ".gz")
            target.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(target) as stream:
                stream.write(content)
            return content
        for failure in failures:
            if isinstance(failure, DatasetMismatchError):
                raise failure
        reasons = "; ".join(str(failure) for failure in failures)
        raise DatasetNotFoundError(self._advice(file, f"no address answered ({reasons})"))

    def _fetch(self, pooch: Any, address: str) -> bytes:
        """Download an address with pooch and return the file, or the member of an archive."""
        if self._shelf is None:
            # Warnings show even where logging is not set up, and terms of use must be seen.
            logger.warning("Downloading %s", self._notice)
            folder = tempfile.TemporaryDirectory()
            weakref.finalize(self, folder.cleanup)
            self._shelf = pooch.create(folder.name, base_url="", retry_if_failed=_RETRIES)
        url, *members = address.split("#")
        name = re.sub(r"[^\w.+-]", "_", url)
        # The catalog has hashes of the decompressed files, which are checked later.
        self._shelf.registry[name], self._shelf.urls[name] = None, url
        downloader = pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS)
        download = Path(self._shelf.fetch(name, downloader=downloader))
        content = download.read_bytes()
        for member in members:
            try:
                content = _read_member(content, member)
            except (*_ARCHIVE_ERRORS, KeyError, ValueError) as error:
                problem = f"{address}: expected a zip or tar archive with {member}: {error}"
                raise DatasetMismatchError(problem) from error
        return content

    def _advice(self, file: DataFile, reason: str) -> str:
        looked_in = ", ".join(str(folder) for folder in self.folders()) or "no folder"
        addresses = " or ".join(map(_describe_address, file.addresses))
        return (
            f"{file.path} is missing (looked in {looked_in}), and {reason}. By hand: "
            f"{file.by_hand or f'get it from {addresses}'}, put it at {file.path} (plain, .gz or "
            f".Z) below a folder, and set {ENVIRONMENT} to that folder or pass it as data_home."
        )


def sha256_of(file: DataFile, content: bytes) -> str:
    r"""Return the SHA-256 of decompressed content, as defined by the catalog.

    Copies of some sets have their rows in another order, or numbers printed in another way; a hash
    of sorted rows or of rounded values is the same for all of them.
    """
    if file.hash == "lines":
        content = content.replace(b"\r\n", b"\n")
    elif file.hash == "rows":
        rows = (line.strip() for line in content.splitlines())
        content = b"\n".join(sorted(row for row in rows if row))
    elif file.hash == "values":
        scaled = np.rint(numbers(content.splitlines(), file.delimiter) * 10**file.decimals)
        content = b"".join(sorted(row.tobytes() for row in scaled.astype("<i4")))
    return hashlib.sha256(content).hexdigest()


def numbers(lines: Sequence[bytes], delimiter: str | None) -> NDArray[np.float64]:
    """Read lines of numbers; a delimiter of None is any white space."""
    text = io.BytesIO(b"\n".join(lines))
    return np.loadtxt(text, delimiter=delimiter, comments=None, ndmin=2, dtype=REAL)


def decompress(content: bytes) -> bytes:
    """Undo gzip or compress(1); return any other content as it is."""
    try:
        if content.startswith(b"\x1f\x8b"):
            return _read_limited(gzip.GzipFile(fileobj=io.BytesIO(content)))
        if content.startswith(b"\x1f\x9d"):
            purpose = "reading a .Z file needs unlzw3; or unpack it with gzip"
            return bytes(import_optional("unlzw3", purpose, "data").unlzw(content))
    except (OSError, EOFError, zlib.error, ValueError, IndexError) as error:
        raise ValueError(f"damaged compressed content: {error}") from error
    return content


def _read_member(content: bytes, member: str) -> bytes:
    """Return the file `member` of an archive: zip, or tar with any compression."""
    file = io.BytesIO(content)
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive, archive.open(member) as packed:
            return _read_limited(packed)
    file.seek(0)
    with tarfile.open(fileobj=file) as archived:
        stream = archived.extractfile(member)
        if stream is None:
            raise ValueError("it is not a file")
        return _read_limited(stream)


def _read_limited(stream: Any) -> bytes:
    """Read a compressed stream, or raise if it is larger than the largest file of the catalog."""
    content: bytes = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it expands to more than {_MAX_BYTES:,} bytes")
    return content


def _verify(content: bytes, file: DataFile, source: str, remedy: str) -> bytes:
    """Return the decompressed content if it has the expected hash."""
    try:
        data = decompress(content)
        for old, new in file.replace:
            data = data.replace(old.encode(), new.encode())
        digest = sha256_of(file, data)
    except ValueError as error:
        data, digest = b"", f"content that cannot be read ({error})"
    if digest != file.sha256:
        raise DatasetMismatchError(
            f"{_describe_address(source)}: expected {file.path} with sha256 {file.sha256}, found "
            f"{digest}. {remedy}"
        )
    return data


def _describe_address(address: str) -> str:
    url, *members = address.split("#")
    return f"{url} (member {', '.join(members)})" if members else url


def _user_cache() -> Path:
    """Return the user's cache; ImportError without pooch, RuntimeError without a home folder."""
    import pooch

    return Path(pooch.os_cache("edgewise")).expanduser()
