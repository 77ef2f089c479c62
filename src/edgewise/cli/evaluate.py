"""``edgewise evaluate``: how good a model or TREC runs are."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import common, tables
from edgewise.cli.common import FILE, one_line_errors
from edgewise.common.choices import DEFAULT_RUN_METRICS, GAINS, TIES, Gain
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise.io import Run
    from edgewise.metrics import Evaluation, RunEvaluation

logger = logging.getLogger("edgewise")

option = common.heading("Options")
runs_only = common.heading("Runs")


@common.command("evaluate")
@click.argument(
    "qrels",
    type=FILE,
    metavar="MODEL|QRELS",
    help="Saved model, or judgments, lines of `query 0 document grade`.",
)
@click.argument(
    "run",
    nargs=-1,
    required=True,
    type=FILE,
    metavar="DATA|RUN...",
    help="Rows to test the model on, or runs, lines of `query Q0 document rank score tag`.",
)
@tables.target_option("Column with the right answers, if the model does not know it.")
@tables.query_option
@tables.weight_option
@runs_only(
    "--metrics",
    metavar="LIST",
    default=",".join(DEFAULT_RUN_METRICS),
    help="Comma-separated names.",
)
@runs_only(
    "--gain",
    choices=GAINS,
    default=None,
    help="Gain of grade g in ndcg: 2^g - 1, or g; by default as its name says.",
)
@runs_only("--ties", choices=TIES, help="Order of equal scores: the mean over all, or trec_eval's.")
@common.seed(runs_only)
@common.json_option(option)
def evaluate(
    qrels: str,
    run: tuple[str, ...],
    target: tuple[str, ...],
    query: str | None,
    weight: str | None,
    metrics: str,
    gain: Gain | None,
    ties: str,
    random_state: int,
    as_json: bool,
) -> None:
    """Measure a saved model on a table, or TREC runs against judgments.

      edgewise evaluate people.edgewise test.csv
          error, log loss and more; of a ranker, map, ndcg and more
      edgewise evaluate qrels.txt bm25.run mine.run
          compares runs; * marks the best value of a column

    Metrics of runs are map, mrr, ndcg, err and rbp, all of them with or without a
    cut-off (ndcg@10), precision@k, recall@k, success@k, rprec and bpref, computed
    as `trec_eval -c` does. precision@1,5,10 is three of them. Names of trec_eval
    and ir_measures are known as well, with options: AP(rel=2), RBP(p=0.9), P_10.

    Documents without a judgment are not relevant. Relevant documents that a run
    misses count against it in map, recall and ndcg. Every judged query counts, as
    0 if the run returns nothing for it or if none of its documents is relevant
    (grade above 0). 95% intervals come from the spread of the queries.

    There are two differences from trec_eval. Metrics average over all orders of
    documents with equal scores; --ties trec_eval sorts these by id. The gain of
    grade g in ndcg is 2^g - 1; nDCG, written so, and ndcg_cut have that of
    trec_eval and ir_measures, g, and so has every ndcg with --gain linear.

    With several runs, a paired randomization test over the queries compares each
    run with the first: the difference of the means, and its p-value in brackets.
    """
    if qrels.endswith(common.MODEL):
        if len(run) > 1:
            raise click.UsageError("a model is tested on one file of rows: name it after MODEL")
        if extra := common.given("metrics", "gain", "ties", "random_state"):
            raise click.UsageError(f"{extra[0]} is for runs")
        _evaluate_model(qrels, run[0], target, {"query": query, "weight": weight}, as_json)
        return
    if extra := common.given("target", "query", "weight"):
        raise click.UsageError(f"{extra[0]} is for a model, whose name ends in {common.MODEL}")
    report = Report(qrels, metrics, gain, ties)
    short = [stem(path) for path in run]
    names = short if len(set(short)) == len(short) else list(run)
    for name, found in zip(names, read_runs(run), strict=True):
        report.add(name, found)
    if as_json:
        common.print_json({name: found.means for name, found in report.runs.items()})
        return
    click.echo(report.evaluation(random_state))


def _evaluate_model(
    path: str, data: str, target: tuple[str, ...], roles: dict[str, Any], as_json: bool
) -> None:
    """Measure a model on rows."""
    model = tables.load(path, "predict the rows of a table")
    rows = tables.read_for(data, model, path, target, **roles)
    found = tables.measured(model, rows)
    if as_json:
        common.print_json({"model": path, "data": data, "task": tables.task_of(model), **found})
        return
    queries = f", {pluralize(found['queries'], 'queries')}" if "queries" in found else ""
    size = f"{pluralize(found['rows'], 'rows')}{queries}"
    tables.print_measured(found, f"{path} on {size} of {data}")


def read_runs(paths: Sequence[str]) -> "list[Run]":
    """Read runs."""
    from edgewise.io import read_run

    with one_line_errors():
        return [read_run(path) for path in paths]


def stem(path: str) -> str:
    """Return the name of a file without its folder and the usual endings."""
    name = Path(path).name.removesuffix(".gz")
    for ending in (".run", ".txt", ".trec", ".res"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name


class Report:
    """The values of runs by some metrics, against the judgments of a file."""

    def __init__(
        self, path: str, metrics: str, gain: Gain | None = None, ties: str = TIES[0]
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
            found = evaluate_run(self.qrels, run, self.metrics, gain=self.gain, ties=self.ties)
        if found.n_unjudged:
            queries = pluralize(found.n_unjudged, "queries")
            logger.warning("%s: ignored %s without judgments", name, queries)
        if found.n_unanswered:
            message = "%s returns nothing for %d of %d judged queries: they count 0"
            logger.warning(message, name, found.n_unanswered, len(found.queries))
        self.runs[name] = found

    def evaluation(self, random_state: int = 0) -> "Evaluation":
        """Return the runs, compared with the first."""
        from edgewise.metrics import Evaluation

        return Evaluation.of(self.runs, random_state=random_state)
