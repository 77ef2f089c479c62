"""Models as files that other programs run: ONNX, Python and SQL."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgewise.common.checks import integer, one_of
from edgewise.common.files import PathLike, replace_file, resolve_target
from edgewise.export.formula import formula_of

FORMATS = {".onnx": ("dtype",), ".py": ("max_size",), ".sql": ("table", "max_size")}
"""The endings of files, and the options that go with each."""

DTYPES = ("float64", "float32")

_MAX_SIZE = 1_000_000


def export(
    model: Any,
    path: PathLike,
    *,
    table: str | Sequence[str] | None = None,
    dtype: str | None = None,
    max_size: int | None = None,
) -> None:
    """Write a fitted classifier or ranker to a file; see :meth:`edgewise.AdaBoostMH.export`."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ValueError(f"path must end in {', '.join(FORMATS)}, got {str(path)!r}")
    options = {"table": table, "dtype": dtype, "max_size": max_size}
    for name, value in options.items():
        if value is not None and name not in FORMATS[ending]:
            fitting = " and ".join(suffix for suffix, names in FORMATS.items() if name in names)
            raise ValueError(f"{name} is for {fitting} files, got {str(path)!r}")
    if table is not None and not (table and all(table)):
        raise ValueError(f"table must be a name, or names such as (schema, table), got {table!r}")
    resolve_target(path)
    size = _MAX_SIZE if max_size is None else integer("max_size", max_size, 1)
    if dtype is not None:
        one_of("dtype", dtype, DTYPES)
    if ending == ".onnx":
        try:
            from edgewise.export.onnx import onnx_model
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "an ONNX file needs the package onnx: pip install 'edgewise[onnx]'"
            ) from error
        content = onnx_model(formula_of(model), dtype or "float64")
    elif ending == ".py":
        from edgewise.export.python import python_module

        content = python_module(formula_of(model), size).encode("utf-8", "backslashreplace")
    else:
        from edgewise.export.sql import sql_query

        content = sql_query(formula_of(model), table or "data", size).encode()
    with replace_file(path) as stream:
        stream.write(content)
