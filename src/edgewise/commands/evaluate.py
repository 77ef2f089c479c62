"""``edgewise evaluate``: how good TREC runs are."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgewise.commands.options import seed
from edgewise.commands.paths import check_inputs
from edgewise.commands.screen import say, say_table
from edgewise.common.text import counted

if TYPE_CHECKING:
    from edgewise.commands.judged import Judged
    from edgewise.common.dtypes import Reals

GAINS = ("exponential", "linear")

_METRICS = "map,ndcg@10,mrr,precision@10,recall@100"
_DESCRIPTION = f"""\
Evaluate TREC runs against judgements, a row of the table for each run; * marks the best value.

Metrics are map, mrr, ndcg, ndcg@k, precision@k and recall@k. Conventions are those of trec_eval -c:
documents without a judgement are not relevant; relevant ones that a run does not return count
against it in map, recall and ndcg; every judged query counts, with 0 where a run returns nothing
or no document is relevant, with a grade above 0.

Two things differ from trec_eval. Documents with equal scores count with the expectation over a
random order, not sorted by name. The gain of grade g in ndcg is 2^g - 1; --gain linear makes it g,
which is trec_eval's.

With two or more runs, each is compared with the first by a paired randomisation test over the
queries: the difference and, in brackets, the p-value.

default metrics: {_METRICS}"""

Values = Sequence[tuple[str, list["Reals"]]]
"""The name of each run, and the values of the queries by each metric."""

# Means that are equal in exact arithmetic differ by rounding.
_ROUNDING = 1e-12


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "evaluate",
        help="evaluate TREC runs against judgements, and compare them",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("qrels", metavar="QRELS", help="judgements: query 0 document grade")
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="a run: query Q0 document rank score tag"
    )
    parser.add_argument(
        "--metrics", metavar="LIST", default=_METRICS, help="names with commas between"
    )
    parser.add_argument(
        "--gain", choices=GAINS, default="exponential", help="of ndcg (default: exponential)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=seed, default=0, help="of the randomisation test (default: 0)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Evaluate the runs."""
    check_inputs([("QRELS", options.qrels), *(("RUN", path) for path in options.runs)])
    from edgewise.commands.judged import Judged, metrics_named
    from edgewise.commands.runs import file_names, read_judgements, read_runs

    metrics = metrics_named(options.metrics)
    judged = Judged(read_judgements(options.qrels))
    for metric in metrics:
        judged.check(metric, options.gain, options.qrels)
    values = []
    for name, found in zip(file_names(options.runs), read_runs(options.runs), strict=True):
        returned = judged.returned_by(found, name)
        values.append((name, [returned.values(metric, options.gain) for metric in metrics]))
    names = [metric.name for metric in metrics]
    say_means(judged, names, values)
    if len(values) > 1:
        say()
        _say_tests(names, values, options.seed)


def say_means(judged: "Judged", names: list[str], values: Values) -> None:
    """Print the means over the queries: a row for each run, the best values marked."""
    said = counted(judged.n_queries, "judged queries")
    if judged.n_without:
        said += f", {judged.n_without} of them without a relevant document"
    say(said)
    means = [[float(column.mean()) for column in found] for _, found in values]
    best = [max(column) - _ROUNDING for column in zip(*means, strict=True)]
    rows = [["run", *(f"{name} " for name in names)]]
    for (name, _), row in zip(values, means, strict=True):
        marks = ["*" if len(values) > 1 and v >= b else " " for v, b in zip(row, best, strict=True)]
        rows.append([name, *(f"{v:.4f}{mark}" for v, mark in zip(row, marks, strict=True))])
    say_table(rows)


def _say_tests(names: list[str], values: Values, random_state: int) -> None:
    from edgewise.metrics import randomisation_test

    (first, base), *others = values
    rows = [[f"against {first}", *names]]
    for name, found in others:
        tests = [
            randomisation_test(mine, its, random_state=random_state)
            for mine, its in zip(found, base, strict=True)
        ]
        rows.append([name, *(f"{t.mean_difference:+.4f} ({t.p_value:.4f})" for t in tests)])
    say_table(rows)
