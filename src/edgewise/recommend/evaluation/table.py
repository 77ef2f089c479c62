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


def text_table(
    rows: Sequence[str], columns: Mapping[str, Sequence[Cell]], width: int | None = None
) -> str:
    """Return a table with the names of rows at the left; long titles take several lines.

    Where it would be wider than `width`, the columns that don't fit follow below.

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
    names = _aligned([*[""] * (height - 1), "model", *rows])
    parts = [[names]]
    for name, cells in columns.items():
        words = [""] * (height - len(titles[name])) + titles[name]
        column = _column(words, cells)
        taken = sum(len(one[0]) + len(_GAP) for one in parts[-1])
        if width is not None and len(parts[-1]) > 1 and taken + len(column[0]) > width:
            parts.append([names])
        parts[-1].append(column)
    return "\n\n".join(_joined(part) for part in parts)


def _column(words: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """Return the lines of a column, all of the same length: numbers end at the same place."""
    texts = [*words, *(cell.text for cell in cells)]
    numbers = max(map(len, texts))
    marks = _aligned([*[""] * len(words), *(cell.marks for cell in cells)])
    return [f"{text:>{numbers}}{mark}" for text, mark in zip(texts, marks, strict=True)]


def _aligned(words: Sequence[str]) -> list[str]:
    width = max(map(len, words))
    return [f"{word:<{width}}" for word in words]


def _joined(columns: Sequence[Sequence[str]]) -> str:
    return "\n".join(_GAP.join(line).rstrip() for line in zip(*columns, strict=True))
