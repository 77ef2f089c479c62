"""Metrics of several systems in one table: means, 95% intervals, differences, and the best."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgewise.common.checks import flag, one_of
from edgewise.common.text import text_table
from edgewise.metrics.registry import get_metric
from edgewise.metrics.significance import Z95, Difference, UnitSums

# Values that are equal in exact arithmetic differ by rounding.
_ROUNDING = 1e-12

# A printed table continues below once it is wider than this.
_MAX_WIDTH = 120


@dataclass(frozen=True, eq=False, repr=False)
class MetricTable:
    """Metrics of several systems; print it to read it.

    Attributes
    ----------
    systems, metrics : tuple of str
        The names of the systems (runs, models or folds) and of the metrics.
    sums : dict of str to dict of str to UnitSums
        For each system and metric, its sums over queries or users, whose spread gives intervals.
    kind : str
        What a system is: the title of the column of names.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.metrics.significance import UnitSums
    >>> values = {"a": [0.2, 0.4, 0.6, 0.4], "b": [0.9, 0.7, 0.8, 0.8]}
    >>> sums = {name: {"map": UnitSums.of(np.array(each))} for name, each in values.items()}
    >>> table = MetricTable(("a", "b"), ("map",), sums)
    >>> print(table.text(intervals=True))
    system              map
    a       0.4000 ±0.1600
    b       0.8000 ±0.0800*
    >>> table.best("map"), table.difference("a", "b", "map").p_value < 0.001
    ('b', True)
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    sums: Mapping[str, Mapping[str, UnitSums]]

    kind: str = field(default="system", kw_only=True)

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """The values by system and metric."""
        return {s: {m: self.value(s, m) for m in self.metrics} for s in self.systems}

    @property
    def intervals(self) -> dict[str, dict[str, tuple[float, float]]]:
        """The 95% intervals by system and metric."""
        return {s: {m: self.interval(s, m)[1:] for m in self.metrics} for s in self.systems}

    @property
    def _columns(self) -> tuple[str, ...]:
        """The metrics, and what else has a value for each system."""
        return self.metrics

    def value(self, system: str, metric: str) -> float:
        """Return the value of a metric."""
        one_of(self.kind, system, self.systems)
        return self.sums[system][one_of("metric", metric, self._columns)].value

    def interval(self, system: str, metric: str) -> tuple[float, float, float]:
        """Return the value of a metric and its 95% interval; NaN where it has none.

        The interval is for other queries or users of the same kind: it comes from the spread over
        queries or users (of errors over ratings, by the delta method).
        """
        value, half = self.value(system, metric), Z95 * self._standard_error(metric, system)
        low, high = value - half, value + half
        if metric in self.metrics and get_metric(metric, k=1).kind == "ranking":
            low, high = max(low, 0.0), min(high, 1.0)
        return value, low, high

    def difference(self, system: str, other: str, metric: str) -> Difference:
        """Return the difference of two systems, with a 95% interval and a p-value.

        The test is paired: both systems have values for the same queries or users, and those that
        are difficult for both do not count. The p-value is two-sided, from the normal distribution.
        """
        value = self.value(system, metric) - self.value(other, metric)
        return Difference.of(value, self._standard_error(metric, system, other))

    def _standard_error(self, metric: str, *systems: str) -> float:
        """Return the standard error of a value, or of the difference of two."""
        sums = [self.sums.get(system, {}).get(metric) for system in systems]
        defined = [each for each in sums if each is not None]
        return np.nan if len(defined) < len(sums) else defined[0].standard_error(*defined[1:])

    def best(self, metric: str) -> str:
        """Return the system with the best value of a metric; ties go to the first."""
        values = np.array([self.value(system, metric) for system in self.systems])
        if np.isnan(values).all():
            raise ValueError(f"metric {metric!r} is defined for none of the {self.kind}s")
        signed = values if self._larger_is_better(metric) else -values
        return self.systems[int(np.nanargmax(signed))]

    def _larger_is_better(self, metric: str) -> bool:
        return get_metric(metric, k=1).larger_is_better

    def columns(self, intervals: bool = False) -> dict[str, list[Any]]:
        """Return the columns of :meth:`to_frame`."""
        columns: dict[str, list[Any]] = {self.kind: list(self.systems)}
        for name in self._columns:
            columns[name] = [self.value(system, name) for system in self.systems]
        for name in self.metrics if intervals else ():
            ends = [self.interval(system, name)[1:] for system in self.systems]
            columns[f"{name}_low"], columns[f"{name}_high"] = map(list, zip(*ends, strict=True))
        return columns

    def to_frame(self, library: str | None = None, *, intervals: bool = False) -> Any:
        """Return a frame of `library`, "pandas" or "polars", with a row for each system.

        None takes the library that is installed. With `intervals`, a metric such as "map" has
        columns "map_low" and "map_high" too.
        """
        from edgewise.io.frames import frame_library

        return frame_library(library).DataFrame(self.columns(flag("intervals", intervals)))

    def __str__(self) -> str:
        return self.text()

    def text(self, intervals: bool = False, stars: bool = True) -> str:
        """Return the printed table.

        With `intervals`, values have half their 95% interval; with `stars`, * marks the best of
        several systems.
        """
        columns = [self._cells(name, intervals, stars) for name in self._printed_columns]
        height = max(len(column) for column in columns)
        names = [*[""] * (height - 1 - len(self.systems)), self.kind, *self.systems]
        blocks: list[list[list[str]]] = []
        width = _MAX_WIDTH
        for column in columns:
            column = [""] * (height - len(column)) + column
            size = max(map(len, column)) + 2
            if width + size > _MAX_WIDTH:
                blocks.append([names])
                width = max(map(len, names))
            blocks[-1].append(column)
            width += size
        return "\n\n".join(text_table(list(zip(*block, strict=True))) for block in blocks)

    @property
    def _printed_columns(self) -> tuple[str, ...]:
        return self._columns

    def _title(self, name: str) -> list[str]:
        """Return the lines of a column's title."""
        return [name]

    def _mark(self, system: str, name: str) -> str:
        """Return what follows a value in the printed table."""
        return ""

    def _cells(self, name: str, intervals: bool, stars: bool) -> list[str]:
        """Return a title and cells, with numbers that end at the same position."""
        values = np.array([self.value(system, name) for system in self.systems])
        signed = values if self._larger_is_better(name) else -values
        has_best = stars and len(values) > 1 and not np.isnan(values).all()
        best = np.nanmax(signed) if has_best else np.inf
        marks = [
            self._mark(system, name) + "*" * bool(value >= best - _ROUNDING)
            for system, value in zip(self.systems, signed, strict=True)
        ]
        digits = 4 if name in self.metrics else 3
        texts = ["-" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
        if intervals and name in self.metrics:
            errors = [self._standard_error(name, system) for system in self.systems]
            halves = ["" if np.isnan(error) else f" ±{Z95 * error:.4f}" for error in errors]
            texts = [text + half for text, half in zip(texts, halves, strict=True)]
        width = max(map(len, marks))
        cells = [f"{text}{mark:<{width}}" for text, mark in zip(texts, marks, strict=True)]
        return [*(f"{line}{'':{width}}" for line in self._title(name)), *cells]
