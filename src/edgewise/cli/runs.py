"""TREC runs and qrels, for commands that evaluate or fuse runs."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from edgewise.cli.common import one_line_errors, stem
from edgewise.common.choices import TIES, Gain
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise.io import Run
    from edgewise.metrics import Evaluation, RunEvaluation

_ENDINGS = (".run", ".txt", ".trec", ".res")

logger = logging.getLogger("edgewise")


def read_runs(paths: Sequence[str]) -> "list[Run]":
    """Read runs."""
    from edgewise.io import read_run

    with one_line_errors():
        return [read_run(path) for path in paths]


def file_stems(paths: Sequence[str]) -> list[str]:
    """Return the names of the files of runs, without folders and the usual endings."""
    return [stem(path, _ENDINGS) for path in paths]


class RunEvaluator:
    """Evaluates runs by some metrics, against the judgments of a file."""

    def __init__(
        self, path: str, metrics: str | Sequence[str], gain: Gain | None = None, ties: str = TIES[0]
    ) -> None:
        from edgewise.io import read_qrels
        from edgewise.metrics.registry import RUN_METRICS, get_metrics

        self.path, self.gain, self.ties = path, gain, ties
        with one_line_errors("--metrics"):
            self.metrics = [metric.name for metric in get_metrics(metrics, RUN_METRICS)]
        with one_line_errors():
            self.qrels = read_qrels(path)
        self.runs: dict[str, RunEvaluation] = {}

    def add(self, name: str, run: "Run") -> None:
        """Evaluate a run, and warn of queries that do not count."""
        from edgewise.metrics import evaluate_run

        if set(run.queries).isdisjoint(self.qrels.queries):
            raise click.ClickException(f"{name} has none of the judged queries")
        with one_line_errors(self.path):
            values = evaluate_run(self.qrels, run, self.metrics, gain=self.gain, ties=self.ties)
        if values.n_unjudged:
            queries = pluralize(values.n_unjudged, "queries")
            logger.warning("%s: ignored %s without judgments", name, queries)
        if values.n_unanswered:
            message = "%s returns nothing for %d of %d judged queries: they count 0"
            logger.warning(message, name, values.n_unanswered, len(values.queries))
        self.runs[name] = values

    def evaluation(self, random_state: int = 0) -> "Evaluation":
        """Return the runs, compared with the first."""
        from edgewise.metrics import Evaluation

        return Evaluation.of(self.runs, random_state=random_state)
