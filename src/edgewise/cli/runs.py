"""TREC runs and qrels, for commands that evaluate or fuse runs."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from edgewise.cli.common import one_line_errors, stem
from edgewise.common.choices import TIES, Gain
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise.io import Qrels, Run
    from edgewise.metrics import Evaluation

_ENDINGS = (".run", ".txt", ".trec", ".res")

logger = logging.getLogger("edgewise")


def read_runs(paths: Sequence[str]) -> "list[Run]":
    """Read runs."""
    from edgewise.io import read_run

    with one_line_errors():
        return [read_run(path) for path in paths]


def read_judgments(path: str) -> "Qrels":
    """Read judgments."""
    from edgewise.io import read_qrels

    with one_line_errors():
        return read_qrels(path)


def file_stems(paths: Sequence[str]) -> list[str]:
    """Return the names of the files of runs, without folders and the usual endings."""
    return [stem(path, _ENDINGS) for path in paths]


def evaluate_runs(
    path: str,
    qrels: "Qrels",
    runs: "Mapping[str, Run]",
    metrics: Sequence[str],
    gain: Gain | None = None,
    ties: str = TIES[0],
    random_state: int = 0,
    warns_of_unjudged: bool = True,
) -> "Evaluation":
    """Evaluate runs against the judgments of a file, and warn of queries that do not count."""
    from edgewise.metrics import evaluate

    with one_line_errors(path):
        evaluation = evaluate(qrels, runs, metrics, gain=gain, ties=ties, random_state=random_state)
    for name, values in evaluation.runs.items():
        if values.n_unjudged and warns_of_unjudged:
            queries = pluralize(values.n_unjudged, "queries")
            logger.warning("%s: ignored %s without judgments", name, queries)
        if values.n_unanswered:
            message = "%s returns nothing for %d of %d judged queries: they count 0"
            logger.warning(message, name, values.n_unanswered, len(values.queries))
    return evaluation
