"""From a file's entry to its verified content: look it up, or download it into the cache.

The order is ``$EDGEWISE_DATA``, then the user's cache, then the publisher. Whatever copy is found,
what counts is its content: a checksum is taken after decompression, so a file may lie there plain,
as ``.gz`` or as ``.Z``.
"""

import hashlib
import io
import logging
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from edgewise.common.files import replacing
from edgewise.datasets.compression import decompress
from edgewise.datasets.formats import numbers

logger = logging.getLogger(__name__)

ENVIRONMENT: Final = "EDGEWISE_DATA"
_SUFFIXES: Final = ("", ".gz", ".Z")
_TIMEOUT_SECONDS: Final = 60


class DatasetNotFoundError(FileNotFoundError):
    """No copy of a file is on this machine, and none could be downloaded."""


class DatasetMismatchError(ValueError):
    """A copy of a file is not what the publisher distributes."""


def content_sha256(content: bytes) -> str:
    r"""Hash the bytes of a decompressed file.

    Examples
    --------
    >>> content_sha256(b"1,2\n")[:8]
    '52186c93'
    """
    return hashlib.sha256(content).hexdigest()


def values_sha256(content: bytes, *, delimiter: str | None, decimals: int) -> str:
    r"""Hash a table of numbers whatever the order of its rows and the way numbers are written.

    Some sets circulate with rows in another order or numbers printed in another way. The values,
    rounded to the published decimals, are the same, and so is this hash.

    Parameters
    ----------
    content : bytes
        The decompressed file.
    delimiter : str or None
        What stands between numbers; None for white space.
    decimals : int
        Decimals the publisher gives.

    Returns
    -------
    str
        SHA-256, in hexadecimal, of the sorted rows as 32-bit integers.

    Examples
    --------
    >>> one = values_sha256(b"0.5,1\n-0.0,2\n", delimiter=",", decimals=1)
    >>> two = values_sha256(b"0, 2.\n5e-1, 1.0\n", delimiter=",", decimals=1)
    >>> one == two
    True
    """
    scaled = np.rint(numbers(content, delimiter=delimiter) * 10**decimals).astype("<i4")
    return hashlib.sha256(b"".join(sorted(row.tobytes() for row in scaled))).hexdigest()


def rows_sha256(content: bytes) -> str:
    r"""Hash lines of text whatever their order and line ends.

    Examples
    --------
    >>> rows_sha256(b"x,o,win\no,x,loss\n") == rows_sha256(b"o,x,loss\r\nx,o,win")
    True
    """
    rows = (line.strip() for line in content.splitlines())
    return content_sha256(b"\n".join(sorted(row for row in rows if row)))


def lines_sha256(content: bytes) -> str:
    r"""Hash a text whatever its line ends.

    Examples
    --------
    >>> lines_sha256(b"1 qid:1\r\n0 qid:1\r\n") == lines_sha256(b"1 qid:1\n0 qid:1\n")
    True
    """
    return content_sha256(content.replace(b"\r\n", b"\n"))


@dataclass(frozen=True)
class Source:
    """An address, and the member to take out where it is that of a zip archive."""

    url: str
    member: str | None = None

    def __str__(self) -> str:
        return self.url if self.member is None else f"{self.url} (member {self.member})"


@dataclass(frozen=True)
class File:
    """A publisher's file: where it lies below a data folder, where it comes from, what it holds.

    Attributes
    ----------
    path : str
        Relative to a data folder, without a compression suffix.
    sources : tuple of Source
        Addresses, tried in turn; none where the file cannot be had by a download alone.
    sha256 : str
        The expected fingerprint.
    fingerprint : callable
        From decompressed content to a hash.
    by_hand : str
        How to get the file without a download; where empty, it is to get it from an address.
    """

    path: str
    sources: tuple[Source, ...]
    sha256: str
    fingerprint: Callable[[bytes], str] = content_sha256
    by_hand: str = ""


class Store:
    """The folders of one look-up, and the place downloads go to.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The only folder to look in and to download to. With None, ``$EDGEWISE_DATA`` and then the
        user's cache are looked in, and downloads go to the cache.
    notice : str, default=""
        Logged before the first download: name, licence and citation of the set.
    """

    def __init__(self, data_home: str | os.PathLike[str] | None = None, notice: str = "") -> None:
        self.data_home = None if data_home is None else Path(data_home).expanduser()
        self._notice = notice
        self._archives: dict[str, bytes] = {}
        if self.data_home is not None and self.data_home.exists() and not self.data_home.is_dir():
            raise NotADirectoryError(f"data_home={str(data_home)!r} must be a folder, not a file")

    def folders(self) -> Iterator[Path]:
        """Give the folders to look in, in order; the cache only where pooch can name it."""
        if self.data_home is not None:
            yield self.data_home
            return
        if os.environ.get(ENVIRONMENT):
            yield Path(os.environ[ENVIRONMENT]).expanduser()
        try:
            yield _user_cache()
        except ImportError:
            return

    def find(self, file: File) -> Path | None:
        """Give the first copy of `file` in the folders, or None."""
        for folder in self.folders():
            for suffix in _SUFFIXES:
                path = folder / (file.path + suffix)
                if path.is_file():
                    return path
        return None

    def content(self, file: File, *, download: bool) -> bytes:
        """Give the verified, decompressed content of `file`.

        Raises
        ------
        DatasetNotFoundError
            If there is no copy and `download` is false or every address failed.
        DatasetMismatchError
            If a copy has another fingerprint than the publisher's file.
        ImportError
            If a download is needed and pooch is not installed.
        """
        path = self.find(file)
        if path is not None:
            remedy = "Remove this copy and get it again from the publisher."
            return _verified(path.read_bytes(), file, str(path), remedy)
        if not download:
            raise DatasetNotFoundError(self._advice(file, "download=False"))
        if not file.sources:
            reason = "its publisher has it only in an archive that Python cannot open"
            raise DatasetNotFoundError(self._advice(file, reason))
        return self._download(file)

    def _download(self, file: File) -> bytes:
        try:
            folder = _user_cache() if self.data_home is None else self.data_home
            _pooch()
        except ImportError as error:
            reason = 'downloading it needs pooch (pip install "edgewise[data]")'
            raise ImportError(self._advice(file, reason)) from error
        failures: list[Exception] = []
        for source in file.sources:
            try:
                remedy = "Nothing was kept; the publisher may have changed the file."
                content = _verified(self._retrieve(source), file, str(source), remedy)
            except (OSError, DatasetMismatchError) as error:
                logger.warning("%s: %s", source, error)
                failures.append(error)
                continue
            kept = folder / (file.path + ".gz")
            kept.parent.mkdir(parents=True, exist_ok=True)
            with replacing(kept) as stream:
                stream.write(content)
            return content
        for failure in failures:
            if isinstance(failure, DatasetMismatchError):
                raise failure
        reasons = "; ".join(str(failure) for failure in failures)
        raise DatasetNotFoundError(self._advice(file, f"no address answered ({reasons})"))

    def _retrieve(self, source: Source) -> bytes:
        """Download, once per address, and take the member out of an archive."""
        if source.url not in self._archives:
            if self._notice:
                # A warning is shown without any set-up of logging, and terms of use must be seen.
                logger.warning("Downloading %s", self._notice)
                self._notice = ""
            self._archives[source.url] = _http(source.url)
        content = self._archives[source.url]
        if source.member is None:
            return content
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return archive.read(source.member)
        except (zipfile.BadZipFile, zlib.error, KeyError) as error:
            raise DatasetMismatchError(f"{source}: expected a zip archive: {error}") from error

    def _advice(self, file: File, reason: str) -> str:
        looked_in = ", ".join(str(folder) for folder in self.folders()) or "no folder"
        addresses = " or ".join(str(source) for source in file.sources)
        how = file.by_hand or f"get it from {addresses}"
        return (
            f"{file.path} is not there (looked in {looked_in}), and {reason}. By hand: {how}, put "
            f"it at {file.path} (plain, .gz or .Z) below a folder, and set {ENVIRONMENT} to that "
            "folder or pass it as data_home."
        )


def _verified(content: bytes, file: File, where: str, remedy: str) -> bytes:
    """Decompress and compare with the expected fingerprint."""
    try:
        plain = decompress(content)
        found = file.fingerprint(plain)
    except ValueError as error:
        plain, found = b"", f"content that cannot be read ({error})"
    if found != file.sha256:
        raise DatasetMismatchError(
            f"{where}: expected {file.path} with sha256 {file.sha256}, found {found}. {remedy}"
        )
    return plain


def _pooch() -> Any:
    """Import pooch when it is first needed: it is an optional dependency."""
    import pooch

    return pooch


def _user_cache() -> Path:
    return Path(_pooch().os_cache("edgewise"))


def _http(url: str) -> bytes:
    """Download one address with pooch; any failure is an OSError."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "download"
        _pooch().HTTPDownloader(timeout=_TIMEOUT_SECONDS)(url, str(target), None)
        return target.read_bytes()
