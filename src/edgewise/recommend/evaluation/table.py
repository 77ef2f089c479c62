"""A table in plain text, its columns aligned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

_GAP = "  "


@dataclass(frozen=True)
class Cell:
    """A number, its digits after the point, and marks that stand behind it."""

    value: float
    digits: int
    marks: str = ""

    @property
    def text(self) -> str:
        """The number; a dash where it is not defined."""
        return "-" if isnan(self.value) else f"{self.value:.{self.digits}f}"


def text_table(rows: Sequence[str], columns: Mapping[str, Sequence[Cell]]) -> str:
    """Return a table with the names of rows at the left; long titles take several lines.

    Examples
    --------
    >>> cells = [Cell(0.5, 2, "*"), Cell(12.0, 2)]
    >>> print(text_table(["one", "three"], {"fit_s": cells, "rmse": cells}))
             fit
    model      s    rmse
    one     0.50*   0.50*
    three  12.00   12.00
    """
    titles = {name: name.replace("@", "_@").split("_") for name in columns}
    height = max((len(words) for words in titles.values()), default=1)
    width = max(map(len, ("model", *rows)))
    lines = [[" " * width] for _ in range(height - 1)]
    lines += [[f"{name:<{width}}"] for name in ("model", *rows)]
    for name, cells in columns.items():
        words = [""] * (height - len(titles[name])) + titles[name]
        marks = max(len(cell.marks) for cell in cells)
        numbers = max(len(text) for text in (*words, *(cell.text for cell in cells)))
        for line, word in zip(lines, words, strict=False):
            line.append(f"{word:>{numbers}}{'':<{marks}}")
        for line, cell in zip(lines[height:], cells, strict=True):
            line.append(f"{cell.text:>{numbers}}{cell.marks:<{marks}}")
    return "\n".join(_GAP.join(line).rstrip() for line in lines)
