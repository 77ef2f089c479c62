"""Archives: a model file is a zip of one JSON header and arrays, never pickle.

Nothing in a file can name code to run. Arrays are stored in the smallest type that holds all their
numbers exactly, and the header names their type in memory. Members are not compressed, and their
sizes are checked before anything is read, so arrays take at most eight times as much memory as
disk; the number of lists in the header is limited, because each would be an object.
"""

import io
import json
import math
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE
from edgewise.common.fields import NUMBER_KINDS, Arrays
from edgewise.common.files import PathLike, replace_file

FORMAT_VERSION = 3
"""The version of the file format.

To change the format once files are out in the world: raise this number, turn the header and arrays
of the older version into the new ones in `read`, and add a file of the old version to the tests.
"""

_HEADER = "model.json"
# The types that may stand for a larger one, by its kind.
_SMALLER: dict[str, tuple[Any, ...]] = {
    "f": (np.float16, np.float32),
    "i": (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32),
    "u": (np.uint8, np.uint16, np.uint32),
}
# The maximum number of lists and dicts of a header, or of characters per list if that is more.
_MAX_LISTS, _LETTERS_PER_LIST = 1_000_000, 16
_DATE = (1980, 1, 1, 0, 0, 0)

Header = dict[str, Any]


class ModelFileError(ValueError):
    """A file is not a model file, or is damaged, or comes from a newer version."""


def write(path: PathLike, header: Header, arrays: Mapping[str, Any]) -> None:
    """Write a model file under a temporary name, then rename it.

    The same header and arrays give the same bytes.
    """
    small, types = {}, {}
    for name, values in arrays.items():
        array = np.asarray(values, order="C")
        small[name] = _shrink(array)
        if small[name] is not array:
            types[name] = array.dtype.str
    header = {"format": FORMAT_VERSION, "types": types, **header}
    text = json.dumps(header, indent=1, sort_keys=True)
    with replace_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), text)
        for name in sorted(small):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, small[name], (1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), buffer.getvalue())


def read(path: PathLike) -> tuple[Header, Arrays]:
    """Read the header and the arrays of a model file."""
    path = Path(path)
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        # A pipe would never answer, a device never end.
        raise ModelFileError(f"{path} is not a file")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_members(members, status.st_size)
            header = _read_header(archive.read(_HEADER))
            types = header.pop("types", {}) if isinstance(header, dict) else {}
            arrays = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if member.filename != _HEADER:
                    arrays[name] = _read_array(archive.read(member), types.get(name))
    except Exception as error:
        # A damaged or hostile file can make the readers of zip, JSON and arrays raise anything.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error}") from error
    version = header.get("format") if isinstance(header, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{path} is not a readable edgewise model: it names no format version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; this edgewise reads up to {FORMAT_VERSION}: "
            "upgrade edgewise to read it"
        )
    if version < FORMAT_VERSION:
        try:
            if version == 1:
                _upgrade_version_1(header, arrays)
            _upgrade_version_2(header, arrays)
        except Exception as error:
            raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error
    return header, arrays


def _upgrade_version_1(header: Header, arrays: Arrays) -> None:
    """Add what version 2 has: bags, candidates, constraints, and rates by two columns."""
    fitted = header["state"].get("fitted_") if "state" in header else None
    if not fitted:
        return
    fitted.setdefault("n_bags", 1)
    fitted.setdefault("constraints", {})
    if "votes" in fitted:
        fitted.setdefault("candidate", "")
    else:
        fitted.setdefault("reasons", {})
    if fitted.get("rates"):
        columns = arrays["fitted_.rates.columns"]
        arrays |= {
            "fitted_.rates.columns": np.stack([columns, np.full_like(columns, -1)], axis=1),
            "fitted_.rates.combination_starts": np.zeros(len(columns) + 1, dtype=np.intp),
            "fitted_.rates.combinations": np.empty((0, 2), dtype=CATEGORY_CODE),
        }
        fitted["rates"][0] |= {"combination_starts": None, "combinations": None}


def _upgrade_version_2(header: Any, arrays: Arrays) -> None:
    """Add what version 3 has: training rows by leaf and the record of additive models, unknown."""
    for name in [name for name in arrays if name.endswith(".value_starts")]:
        prefix = name.removesuffix("value_starts")
        n_terms = len(arrays[f"{prefix}alphas"])
        arrays[f"{prefix}covers"] = np.empty(0, dtype=np.int64)
        arrays[f"{prefix}cover_starts"] = np.zeros(n_terms + 1, dtype=np.int64)
    parts = [header]
    for part in parts:
        if isinstance(part, dict) and "search_states" in part:
            part.setdefault("additive", None)
            part.setdefault("constraints", {})
        if isinstance(part, dict) and "value_starts" in part:
            part |= {"covers": None, "cover_starts": None}
        elif isinstance(part, (dict, list)):
            parts += part.values() if isinstance(part, dict) else part


def _read_header(text: bytes) -> Any:
    lists = text.count(b"[") + text.count(b"{")
    if lists > max(_MAX_LISTS, len(text) // _LETTERS_PER_LIST):
        raise ValueError(f"its header has more lists, {lists}, than any model's")
    return json.loads(text)


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


def _shrink(array: NDArray) -> NDArray:
    """Return an array in the smallest type that holds all its numbers, or the array itself."""
    for kind in _SMALLER.get(array.dtype.kind, ()):
        if np.dtype(kind).itemsize >= array.dtype.itemsize:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            small = array.astype(kind)
        if np.array_equal(small, array, equal_nan=array.dtype.kind == "f"):
            return small
    return array


def _read_array(data: bytes, restored: str | None) -> NDArray:
    """Read one array, after checking that its size matches its header.

    `restored` is its type in memory; None keeps the type of the file.
    """
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"unknown array version {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=10_000)
    if dtype.kind not in NUMBER_KINDS or dtype.hasobject or dtype.itemsize > 8:
        raise ValueError(f"arrays of type {dtype} are not allowed")
    body = data[stream.tell() :]
    size = dtype.itemsize * math.prod(int(length) for length in shape)
    if fortran or size != len(body) or any(length < 0 for length in shape):
        raise ValueError("an array's size does not match its header")
    array = np.frombuffer(body, dtype=dtype).reshape(shape)
    if restored is None:
        return array.copy()
    wanted = np.dtype(str(restored))
    if dtype.type not in _SMALLER.get(wanted.kind, ()) or not dtype.itemsize < wanted.itemsize <= 8:
        raise ValueError(f"an array of {dtype} is not restored to {wanted}")
    return array.astype(wanted)
