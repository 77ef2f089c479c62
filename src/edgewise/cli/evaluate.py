"""``edgewise evaluate``: how good TREC runs are."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import common, tables
from edgewise.cli.common import FILE, one_line_errors
from edgewise.common.choices import GAINS, Gain
from edgewise.common.text import counted, text_table

if TYPE_CHECKING:
    from edgewise.io import Run
    from edgewise.metrics import RunEvaluation

_METRICS = "map,ndcg@10,mrr,precision@10,recall@100"
# Means that are equal in exact arithmetic differ by rounding.
_ROUNDING = 1e-12

logger = logging.getLogger("edgewise")

option = common.heading("Options")
runs_only = common.heading("Runs")


@common.command("evaluate")
@click.argument(
    "qrels",
    type=FILE,
    metavar="MODEL|QRELS",
    help="Saved model, or judgements, lines of `query 0 document grade`.",
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
@runs_only("--metrics", metavar="LIST", default=_METRICS, help="Comma-separated names.")
@runs_only("--gain", choices=GAINS, help="Gain of grade g in ndcg: 2^g - 1, or g.")
@common.seed(runs_only)
@common.json_option(option)
def evaluate(
    qrels: str,
    run: tuple[str, ...],
    target: tuple[str, ...],
    query: str | None,
    weight: str | None,
    metrics: str,
    gain: Gain,
    random_state: int,
    as_json: bool,
) -> None:
    """Measure a saved model on a table, or TREC runs against judgements.

      edgewise evaluate people.edgewise test.csv
          error, log loss and more; of a ranker, map, ndcg and more
      edgewise evaluate qrels.txt bm25.run mine.run
          compares runs; * marks the best value of a column

    Metrics of runs are map, mrr, ndcg, ndcg@k, precision@k and recall@k, computed
    as `trec_eval -c` does. Documents without a judgement are not relevant.
    Relevant documents that a run misses count against it in map, recall and ndcg.
    Every judged query counts, as 0 if the run returns nothing for it or if none
    of its documents is relevant (grade above 0).

    There are two differences from trec_eval. Metrics average over all orders of
    documents with equal scores; trec_eval sorts these by id. The gain of grade g
    in ndcg is 2^g - 1; --gain linear gives trec_eval's own gain, g.

    With several runs, a paired randomisation test over the queries compares each
    run with the first: the difference of the means, and its p-value in brackets.
    """
    if qrels.endswith(common.MODEL):
        if len(run) > 1:
            raise click.UsageError("a model is tested on one file of rows: name it after MODEL")
        if extra := common.given("metrics", "gain", "random_state"):
            raise click.UsageError(f"{extra[0]} is for runs")
        _evaluate_model(qrels, run[0], target, {"query": query, "weight": weight}, as_json)
        return
    if extra := common.given("target", "query", "weight"):
        raise click.UsageError(f"{extra[0]} is for a model, whose name ends in {common.MODEL}")
    report = Report(qrels, metrics, gain)
    short = [stem(path) for path in run]
    names = short if len(set(short)) == len(short) else list(run)
    for name, found in zip(names, read_runs(run), strict=True):
        report.add(name, found)
    if as_json:
        common.print_json({name: found.means for name, found in report.runs.items()})
        return
    report.print()
    if len(names) > 1:
        click.echo()
        report.print_tests(random_state)


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
    queries = f", {counted(found['queries'], 'queries')}" if "queries" in found else ""
    size = f"{counted(found['rows'], 'rows')}{queries}"
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
    """The values of runs by some metrics, against the judgements of a file."""

    def __init__(self, path: str, metrics: str, gain: Gain = "exponential") -> None:
        from edgewise.io import read_qrels
        from edgewise.metrics.runs import run_metrics

        self.path, self.gain = path, gain
        with one_line_errors("--metrics"):
            names = [name.strip().lower() for name in metrics.split(",")]
            self.metrics = [metric.name for metric in run_metrics(names)]
        with one_line_errors():
            self.qrels = read_qrels(path)
        self.runs: dict[str, RunEvaluation] = {}

    def add(self, name: str, run: "Run") -> None:
        """Evaluate a run, and warn of queries that do not count."""
        from edgewise.metrics import evaluate_run

        if set(run.queries).isdisjoint(self.qrels.queries):
            raise click.ClickException(f"{name} has none of the judged queries")
        with one_line_errors(self.path):
            found = evaluate_run(self.qrels, run, self.metrics, gain=self.gain)
        if found.n_unjudged:
            queries = counted(found.n_unjudged, "queries")
            logger.warning("%s: ignored %s without judgements", name, queries)
        if found.n_unanswered:
            message = "%s returns nothing for %d of %d judged queries: they count 0"
            logger.warning(message, name, found.n_unanswered, len(found.queries))
        self.runs[name] = found

    def print(self) -> None:
        """Print the means over the queries, a row for each run, with the best values marked."""
        first = next(iter(self.runs.values()))
        judged = counted(len(first.queries), "judged queries")
        if first.n_without_relevant:
            judged += f", {first.n_without_relevant} of them without a relevant document"
        click.echo(judged)
        means = {name: list(found.means.values()) for name, found in self.runs.items()}
        best = [max(column) - _ROUNDING for column in zip(*means.values(), strict=True)]
        rows = [["run", *(f"{name} " for name in self.metrics)]]
        for name, row in means.items():
            cells = [
                f"{value:.4f}{'*' if len(means) > 1 and value >= top else ' '}"
                for value, top in zip(row, best, strict=True)
            ]
            rows.append([name, *cells])
        click.echo(text_table(rows))

    def print_tests(self, random_state: int) -> None:
        """Print the differences of all runs from the first, with p-values."""
        from edgewise.metrics import randomisation_test

        (first, base), *others = self.runs.items()
        rows = [[f"against {first}", *self.metrics]]
        for name, found in others:
            tests = [
                randomisation_test(found.values[one], base.values[one], random_state=random_state)
                for one in self.metrics
            ]
            rows.append([name, *(f"{t.mean_difference:+.4f} ({t.p_value:.4f})" for t in tests)])
        click.echo(text_table(rows))
