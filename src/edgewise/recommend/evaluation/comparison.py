"""Many models over many parts: what was measured, and one table of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Reals
from edgewise.recommend.evaluation.measures import LEVEL, Measure, chosen
from edgewise.recommend.evaluation.parts import TIMES
from edgewise.recommend.evaluation.table import Cell, text_table

_SHOWN_TIMES = ("fit_s", "predict_s")

# How wide a printed table may be before it goes on below.
_WIDTH = 120


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`compare` found; ``print`` it for a table.

    Values are means over the folds in which they are defined; times, in seconds, are medians, since
    the first fit of a process may include compilation. For "mae_best" and the like, each model is
    judged by the output, predicted rating or level, whose mean over all folds is the lesser: the
    same output in all folds, and one that a user could choose beforehand.

    Attributes
    ----------
    models : tuple of str
        The names of the models.
    metrics : tuple of str
        The names of the measures.
    folds_ : dict of str to dict of str to float array
        For each model and measure, the values of the folds; also the times "fit_s", "fit_cpu_s",
        "predict_s" and "predict_cpu_s". CPU times add up all threads.
    outputs_ : dict of str to dict of str to str
        For each model and measure such as "mae_best", what it is judged by: "expected" or "level".

    Examples
    --------
    >>> import numpy as np
    >>> folds = {"one": {"rmse": np.array([1.0, 0.8])}, "two": {"rmse": np.array([0.9, 0.8])}}
    >>> comparison = Comparison(("one", "two"), ("rmse",), folds, {"one": {}, "two": {}})
    >>> print(comparison)
    model    rmse
    one    0.9000
    two    0.8500*
    mean of 2 folds; * best
    >>> comparison.best("rmse")
    'two'
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    folds_: dict[str, dict[str, Reals]]
    outputs_: dict[str, dict[str, str]]

    @property
    def n_folds(self) -> int:
        """How many parts were tested on."""
        return len(next(iter(self.folds_[self.models[0]].values())))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each model: "model", then the measures and times by name."""
        names = (*self.metrics, *self._times)
        return [
            {"model": model} | {name: self.value(model, name) for name in names}
            for model in self.models
        ]

    def value(self, model: str, metric: str) -> float:
        """Return the value of a model: the mean of a measure, or the median of a time."""
        one_of("metric", metric, [*self.metrics, *self._times])
        values = self.folds_[one_of("model", model, self.models)][metric]
        values = values[~np.isnan(values)]
        if not len(values):
            return float("nan")
        return float(np.median(values) if metric in TIMES else values.mean())

    def best(self, metric: str) -> str:
        """Return the name of the model with the best value; the first of equal ones.

        Parameters
        ----------
        metric : str
            One of :attr:`metrics`, or the name of a time.

        Raises
        ------
        ValueError
            If it was not measured, or is defined for no model.
        """
        values = np.array([self.value(model, metric) for model in self.models])
        if np.isnan(values).all():
            raise ValueError(f"metric {metric!r} is defined for none of the models")
        place = np.nanargmax(values) if larger_is_better(metric) else np.nanargmin(values)
        return self.models[int(place)]

    @property
    def _times(self) -> list[str]:
        return [name for name in TIMES if name in self.folds_[self.models[0]]]

    def to_frame(self, library: str | None = None) -> Any:
        """Return :attr:`table` as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"} or None, default None
            What the frame is to be; None takes the first of these that is installed.
        """
        from edgewise.io.frames import frame_library

        rows = self.table
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return frame_library(library).DataFrame(columns)

    def __repr__(self) -> str:
        sizes = {"model": len(self.models), "metric": len(self.metrics), "fold": self.n_folds}
        parts = [f"{size} {word}{'s' * (size != 1)}" for word, size in sizes.items()]
        return f"Comparison({', '.join(parts)})"

    def __str__(self) -> str:
        shown = [*self.metrics, *(name for name in _SHOWN_TIMES if name in self._times)]
        columns = {name: [self._cell(model, name) for model in self.models] for name in shown}
        return "\n".join([text_table(self.models, columns, _WIDTH), self._note()])

    def _cell(self, model: str, name: str) -> Cell:
        value = self.value(model, name)
        values = [self.value(one, name) for one in self.models]
        top = np.nan
        if not np.isnan(values).all():
            top = np.nanmax(values) if larger_is_better(name) else np.nanmin(values)
        marks = "L" if self.outputs_[model].get(name) == "level" else ""
        marks += "*" if value == top else ""
        return Cell(value, 3 if name in TIMES else 4, marks)

    def _note(self) -> str:
        parts = f"mean of {self.n_folds} folds" if self.n_folds > 1 else "1 fold"
        if self._times:
            parts += "; seconds: median" if self.n_folds > 1 else "; times in seconds"
        levels = any("level" in judged.values() for judged in self.outputs_.values())
        return parts + "; * best" + ("; L judged by the predicted level" if levels else "")


def larger_is_better(metric: str) -> bool:
    """Return whether more is better, of a measure or a time."""
    return metric not in TIMES and chosen(metric, 1)[0].kind.larger_is_better


def gathered(
    runs: dict[str, list[dict[str, float]]], measures: tuple[Measure, ...]
) -> tuple[dict[str, dict[str, Reals]], dict[str, dict[str, str]]]:
    """Return the values of all folds by model and measure, and the outputs that were judged."""
    folds: dict[str, dict[str, Reals]] = {}
    outputs: dict[str, dict[str, str]] = {}
    for model, rows in runs.items():
        found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        outputs[model] = {}
        folds[model] = {}
        for measure in measures:
            taken = min(measure.choices, key=lambda one: _total(found[one.name]))
            folds[model][measure.name] = found[taken.name]
            if len(measure.choices) > 1 and not np.isnan(found[taken.name]).all():
                outputs[model][measure.name] = "level" if LEVEL in taken.name else "expected"
        folds[model] |= {name: found[name] for name in TIMES}
    return folds, outputs


def _total(values: Reals) -> float:
    """Return the sum of the defined values, infinity if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.sum()) if len(defined) else float("inf")
