"""Model files: a zip of one JSON header and plain arrays, never pickle.

Nothing in a file can name code to run. Members are stored uncompressed and their sizes are checked
before anything is read, so that reading a file takes no more memory than it takes on disk.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.files import replacing

FORMAT_VERSION = 4
"""The version of the file format.

To change the format: raise this number, keep reading the older ones (`_UPGRADES` maps a version to
a function that turns its header and arrays into those of the next), and add a file of the old
version to the tests.
"""


def _from_1(
    header: dict[str, Any], arrays: dict[str, NDArray]
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Format 1 held stumps on numbers, trained with the exponential loss."""
    learner = header["parameters"].get("learner")
    header |= {
        "settings": {
            "votes": header["parameters"]["votes"],
            "loss": "exponential",
            "learning_rate": 1.0,
        },
        "trained": learner if isinstance(learner, dict) else {"name": "stump", "parameters": {}},
        "categories": {},
        "filters": None,
        "categorical": [],
        "terms": "stumps",
    }
    if "history" in arrays and arrays["history"].ndim == 2:
        unknown = np.full((len(arrays["history"]), 1), np.nan)
        arrays["history"] = np.hstack([arrays["history"], unknown])
    return header, arrays


def _from_2(
    header: dict[str, Any], arrays: dict[str, NDArray]
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Format 2 held classifiers only, whose history needs no names."""
    header["history"] = [
        "edge",
        "alpha",
        "energy",
        "bound",
        "train_error",
        "hamming_loss",
        "pseudo_weight",
        "validation",
        "weight",
    ]
    return header, arrays


def _from_3(
    header: dict[str, Any], arrays: dict[str, NDArray]
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Format 3 recorded less of each round, and nothing of what searches learn."""
    if "history" not in header:
        # Recommenders have no rounds that are recorded.
        return header, arrays
    later = ["columns", "saved"]
    if "train_error" in header["history"]:
        later = ["roc_auc", "balanced_accuracy", *later]
    header["history"] = [*header["history"], *later]
    header["searches"] = []
    if "history" in arrays and arrays["history"].ndim == 2:
        unknown = np.full((len(arrays["history"]), len(later)), np.nan)
        arrays["history"] = np.hstack([arrays["history"], unknown])
    return header, arrays


_UPGRADES: dict[int, Any] = {1: _from_1, 2: _from_2, 3: _from_3}
_HEADER = "model.json"
_KINDS = frozenset("fiub")
_DATE = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """A file is not a model file, or is damaged, or comes from a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import edgewise
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.txt"
    >>> _ = path.write_text("no model")
    >>> try:
    ...     edgewise.load(path)
    ... except edgewise.ModelFileError as error:
    ...     print(str(error).split(": ")[-1])
    File is not a zip file
    """


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a model file under a temporary name, then rename it.

    The same header and arrays give the same bytes.
    """
    text = json.dumps({"format": FORMAT_VERSION, **header}, indent=1, sort_keys=True)
    with replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), text)
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asarray(arrays[name]), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), buffer.getvalue())


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Read a model file: its header and its arrays.

    Raises
    ------
    ModelFileError
        If the file is not a model file or is damaged. Nothing of it is used then.
    """
    path = Path(path)
    limit = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_members(members, limit)
            header = json.loads(archive.read(_HEADER))
            arrays = {
                member.filename.removesuffix(".npy"): _array(archive.read(member))
                for member in members
                if member.filename != _HEADER
            }
    except Exception as error:
        # A damaged or hostile file can make the readers of zip, JSON and arrays raise anything.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error}") from error
    return _upgraded(path, header, arrays)


def _check_members(members: list[zipfile.ZipInfo], limit: int) -> None:
    names = [member.filename for member in members]
    if len(set(names)) != len(names) or _HEADER not in names:
        raise ValueError(f"it must hold {_HEADER} and arrays, each once")
    for member in members:
        if member.filename != _HEADER and not member.filename.endswith(".npy"):
            raise ValueError(f"unknown member {member.filename!r}")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"member {member.filename!r} is compressed")
    if sum(member.file_size for member in members) > limit:
        raise ValueError("its members are larger than the file")


def _array(data: bytes) -> NDArray:
    """Read one array, after checking that the bytes hold as many items as its header says."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=10_000)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream, max_header_size=10_000)
    else:
        raise ValueError(f"unknown array version {version}")
    if dtype.kind not in _KINDS or dtype.hasobject or dtype.itemsize > 8:
        raise ValueError(f"arrays of type {dtype} are not allowed")
    body = data[stream.tell() :]
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    if fortran or size != len(body) or any(length < 0 for length in shape):
        raise ValueError("an array's size does not match its header")
    return np.frombuffer(body, dtype=dtype).reshape(shape).copy()


def _upgraded(
    path: Path, header: Any, arrays: dict[str, NDArray]
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{path} is not a readable edgewise model: it names no format version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; this edgewise reads up to {FORMAT_VERSION}: "
            "upgrade edgewise to read it"
        )
    try:
        while version < FORMAT_VERSION:
            header, arrays = _UPGRADES[version](header, arrays)
            version += 1
    except Exception as error:
        raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error
    return header, arrays
