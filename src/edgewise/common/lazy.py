"""Packages whose names load when they are first used, and modules that may not be installed."""

import ast
from collections.abc import Callable
from importlib import import_module
from pkgutil import get_data
from typing import Any


def lazy_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Its names are the imports of its stub, ``__init__.pyi``, which type checkers and editors read
    too: the one list of public names.
    """
    stub = get_data(package, "__init__.pyi")
    assert stub is not None
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(homes[name]), name)

    return sorted(homes), load, lambda: sorted(homes)


def import_optional(module: str, purpose: str, extra: str) -> Any:
    """Import a module that an extra of edgewise installs, or raise with how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose}: pip install "edgewise[{extra}]"') from error
