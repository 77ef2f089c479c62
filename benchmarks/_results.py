"""Files of results: one line of JSON for each run, so that a benchmark can be resumed."""

import json
from pathlib import Path
from typing import Any


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, none if there is no file yet."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line]


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a line to a file."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
