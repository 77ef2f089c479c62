"""``edgewise evaluate``: the metrics of a model, or of TREC runs."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import common, params, tables
from edgewise.cli.common import one_line_errors, print_table, stem
from edgewise.cli.tables import Rows
from edgewise.common.choices import DEFAULT_RANKING_METRICS, DEFAULT_RUN_METRICS, GAINS, TIES
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise.common.dtypes import Reals
    from edgewise.io import Qrels, Run
    from edgewise.metrics import Evaluation

_RUN_ENDINGS = (".run", ".txt", ".trec", ".res")
# Larger confusion matrices would not fit on a terminal.
_MAX_CLASSES_SHOWN = 8
_MAX_LABELS_SHOWN = 20

logger = logging.getLogger("edgewise")

run_option = partial(params.option, group="Runs")


@params.command("evaluate")
@params.argument(
    "qrels",
    "Saved model, or judgments, lines of `query 0 document grade`.",
    type=params.FILE,
    metavar="MODEL|QRELS",
)
@params.argument(
    "run",
    "Rows to evaluate the model on, or runs, lines of `query Q0 document rank score tag`.",
    nargs=-1,
    required=True,
    type=params.FILE,
    metavar="DATA|RUN...",
)
@tables.target_option("Target column, if the model does not know it.")
@tables.query_option
@tables.weight_option
@run_option(
    "--metrics",
    metavar="LIST",
    default=",".join(DEFAULT_RUN_METRICS),
    help="Comma-separated names.",
)
@run_option(
    "--gain",
    choices=GAINS,
    default=None,
    help="Gain of grade g in ndcg: 2^g - 1, or g.  [default: by the name of the metric]",
)
@run_option("--ties", choices=TIES, help="Average over all orders of equal scores, or sort by id.")
@params.seed
@params.json
def evaluate(qrels: str, run: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Evaluate a saved model on a table, or TREC runs against qrels.

      edgewise evaluate people.edgewise test.csv
          error, log loss and more; of a ranker, map, ndcg and more
      edgewise evaluate qrels.txt bm25.run mine.run
          compares runs; * marks the best value of a column

    Metrics of runs are map, mrr, ndcg, err and rbp, all of them with or without a
    cutoff (ndcg@10), precision@k, recall@k, success@k, rprec and bpref, computed
    as `trec_eval -c` does. precision@1,5,10 is three of them. Names of trec_eval
    and ir_measures are known as well, with options: AP(rel=2), RBP(p=0.9), P_10.

    Documents without a judgment are not relevant. Relevant documents that a run
    misses count against it in map, recall and ndcg. Every judged query counts, as
    0 if the run returns nothing for it or if none of its documents is relevant
    (grade above 0). 95% confidence intervals are computed over queries.

    There are two differences from trec_eval. Metrics average over all orders of
    documents with equal scores; --ties trec_eval sorts these by id. The gain of
    grade g in ndcg is 2^g - 1. It is g, as in trec_eval and ir_measures, in nDCG
    (case matters here only) and ndcg_cut, and everywhere with --gain linear.

    With several runs, a paired randomization test over the queries compares each
    run with the first: the difference of the means, and its p-value in brackets.
    """
    if qrels.endswith(params.MODEL):
        params.refuse_options(("metrics", "gain", "ties", "random_state"), "is for runs")
        if len(run) > 1:
            raise click.UsageError("a model is evaluated on one file of rows")
        _evaluate_model(qrels, run[0], options, as_json)
    else:
        reason = f"is for a model, whose name ends in {params.MODEL}"
        params.refuse_options(("target", "query", "weight"), reason)
        _evaluate_runs(qrels, run, options, as_json)


def _evaluate_model(path: str, data: str, options: Mapping[str, Any], as_json: bool) -> None:
    model = common.load_model(path, common.TABLE_MODELS, "predict the rows of a table")
    roles = {name: options[name] for name in ("query", "weight")}
    rows = tables.read_for_model(data, model, path, options["target"], **roles)
    metrics = evaluate_rows(model, rows)
    if as_json:
        common.print_json({"model": path, "data": data, "task": tables.task_of(model), **metrics})
        return
    queries = f", {pluralize(metrics['queries'], 'queries')}" if "queries" in metrics else ""
    size = f"{pluralize(metrics['rows'], 'rows')}{queries}"
    print_evaluation(metrics, f"{path} on {size} of {data}")


def _evaluate_runs(
    path: str, paths: tuple[str, ...], options: Mapping[str, Any], as_json: bool
) -> None:
    from edgewise.metrics.registry import RUN_METRICS, get_metrics

    with one_line_errors("--metrics"):
        metrics = [metric.name for metric in get_metrics(options["metrics"], RUN_METRICS)]
    qrels, stems = read_judgments(path), file_stems(paths)
    names = stems if len(set(stems)) == len(stems) else paths
    settings = {name: options[name] for name in ("gain", "ties", "random_state")}
    runs = dict(zip(names, read_runs(paths), strict=True))
    evaluation = evaluate_runs(path, qrels, runs, metrics, **settings)
    if as_json:
        common.print_json(evaluation.means)
    else:
        click.echo(evaluation)


# Runs


def read_runs(paths: Sequence[str]) -> "list[Run]":
    """Read TREC runs."""
    from edgewise.io import read_run

    with one_line_errors():
        return [read_run(path) for path in paths]


def read_judgments(path: str) -> "Qrels":
    """Read TREC judgments."""
    from edgewise.io import read_qrels

    with one_line_errors():
        return read_qrels(path)


def file_stems(paths: Sequence[str]) -> list[str]:
    """Return the names of the files of runs, without folders and the usual endings."""
    return [stem(path, _RUN_ENDINGS) for path in paths]


def evaluate_runs(
    path: str,
    qrels: "Qrels",
    runs: "Mapping[str, Run]",
    metrics: Sequence[str],
    warns_of_unjudged: bool = True,
    **settings: Any,
) -> "Evaluation":
    """Evaluate runs against the judgments of a file, and warn of queries that do not count."""
    from edgewise.metrics import evaluate

    with one_line_errors(path):
        evaluation = evaluate(qrels, runs, metrics, **settings)
    for name, values in evaluation.runs.items():
        if values.n_unjudged and warns_of_unjudged:
            queries = pluralize(values.n_unjudged, "queries")
            logger.warning("%s: ignored %s without judgments", name, queries)
        if values.n_unanswered:
            message = "%s returns nothing for %d of %d judged queries: they count 0"
            logger.warning(message, name, values.n_unanswered, len(values.queries))
    return evaluation


# Metrics of models


def evaluate_rows(model: Any, rows: Rows) -> dict[str, Any]:
    """Return the metrics of a model on rows with targets, by name."""
    task = tables.task_of(model)
    with one_line_errors(rows.path):
        if task == "grades":
            return evaluate_ranking(model, rows, model.predict(rows.X))
        rows = tables.align_classes(model.classes_, rows)
        evaluate = _evaluate_labels if task == "labels" else _evaluate_classes
        return evaluate(model, rows, *predict_classes(model, rows.X))


def predict_classes(model: Any, X: Any) -> tuple[Any, Any]:
    """Return a classifier's probabilities, and its predictions as class indices or 0/1 labels."""
    from edgewise.metrics.classification import predict_targets

    scores = model._scores(X)
    return model.fitted_.probabilities(scores), predict_targets(scores, model.fitted_.multilabel)


def _evaluate_classes(
    model: Any, rows: Rows, probabilities: "Reals", predicted: Any
) -> dict[str, Any]:
    import numpy as np

    from edgewise.metrics import balanced_accuracy, error, log_loss, roc_auc
    from edgewise.metrics.significance import proportion_interval

    classes, weight, codes = model.classes_, rows.weight, rows.y
    predictions = np.eye(len(classes))[predicted]
    counts = np.bincount(codes, weight, minlength=len(classes))
    error_rate = error(codes, predictions, weight)
    # Unequal weights reduce the effective number of rows (Kish 1965).
    n_rows = len(rows) if weight is None else weight.sum() ** 2 / (weight**2).sum()
    metrics = {
        "rows": len(rows),
        "error": error_rate,
        "error_interval": proportion_interval(error_rate, n_rows),
        "baseline_error": 1.0 - float(counts.max() / counts.sum()),
        "log_loss": log_loss(codes, probabilities, weight),
        "balanced_accuracy": balanced_accuracy(codes, predictions, weight),
    }
    if len(classes) == 2 and counts.min() > 0:
        metrics["roc_auc"] = roc_auc(codes, probabilities[:, 1])
    matrix = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(matrix, (codes, predicted), 1)
    return {**metrics, "classes": classes.tolist(), "confusion": matrix.tolist()}


def _evaluate_labels(
    model: Any, rows: Rows, probabilities: "Reals", predicted: Any
) -> dict[str, Any]:
    import numpy as np

    from edgewise.metrics import roc_auc

    wrong = predicted != rows.y
    labels = {}
    for k, name in enumerate(model.classes_.tolist()):
        truth = rows.y[:, k]
        auc = roc_auc(truth, probabilities[:, k]) if 0 < truth.sum() < len(truth) else float("nan")
        error = float(wrong[:, k].mean())
        labels[str(name)] = {"share": float(truth.mean()), "error": error, "roc_auc": auc}
    shares = rows.y.mean(axis=0)
    return {
        "rows": len(rows),
        "hamming_loss": float(wrong.mean()),
        "baseline_hamming_loss": float(np.minimum(shares, 1 - shares).mean()),
        "any_label_wrong": float(wrong.any(axis=1).mean()),
        "labels": labels,
    }


def evaluate_ranking(model: Any, rows: Rows, scores: "Reals") -> dict[str, Any]:
    """Return the usual metrics and the model's own; None where grades have no such value."""
    from edgewise.metrics import Lists, ranking_metric
    from edgewise.metrics.registry import first_metric

    lists = Lists(rows.y, rows.qid)
    own_metric = first_metric(model.eval_metric)
    own_metric = model.eval_metric_ if own_metric == "auto" else own_metric
    names = [*DEFAULT_RANKING_METRICS, *([own_metric] if isinstance(own_metric, str) else [])]
    metrics: dict[str, float | None] = {}
    for name in dict.fromkeys(names):
        try:
            metrics[name] = float(ranking_metric(name)(lists, scores))
        except ValueError:
            # Negative grades have no gain.
            metrics[name] = None
    return {"rows": len(rows), "queries": lists.n_queries, **metrics}


def print_evaluation(metrics: Mapping[str, Any], title: str) -> None:
    """Print metrics for people."""
    common.print_heading(title)
    if "labels" in metrics:
        _print_labels(metrics)
    elif "classes" in metrics:
        _print_classes(metrics)
    else:
        sizes = ("rows", "queries")
        common.print_metrics({name: v for name, v in metrics.items() if name not in sizes})


def _print_classes(metrics: Mapping[str, Any]) -> None:
    low, high = metrics["error_interval"]
    baseline = f"{metrics['baseline_error']:.1%} when always predicting the majority class"
    rows = [
        ["error", f"{metrics['error']:.1%}", f"95% interval {low:.1%} to {high:.1%}; {baseline}"],
        ["log loss", f"{metrics['log_loss']:.3f}", "lower is better; punishes confident mistakes"],
        ["balanced accuracy", f"{metrics['balanced_accuracy']:.1%}", "mean recall of the classes"],
    ]
    if "roc_auc" in metrics:
        about = "1 is perfect, 0.5 is chance"
        rows.insert(2, ["ROC AUC", f"{metrics['roc_auc']:.3f}", about])
    print_table(rows, left=(0, 2), heading=False)
    names = [str(name) for name in metrics["classes"]]
    if len(names) <= _MAX_CLASSES_SHOWN:
        click.echo()
        heading = ["actual", *(f"predicted {name}" for name in names)]
        body = zip(names, metrics["confusion"], strict=True)
        print_table([heading, *([name, *(f"{n:,}" for n in row)] for name, row in body)])


def _print_labels(metrics: Mapping[str, Any]) -> None:
    baseline = f"{metrics['baseline_hamming_loss']:.1%} when always predicting the majority value"
    rows = [
        ["Hamming loss", f"{metrics['hamming_loss']:.1%}", baseline],
        ["rows with a wrong label", f"{metrics['any_label_wrong']:.1%}", ""],
    ]
    print_table(rows, left=(0, 2), heading=False)
    click.echo()
    rows = [["label", "share", "error", "ROC AUC"]]
    for name, label in list(metrics["labels"].items())[:_MAX_LABELS_SHOWN]:
        auc = "-" if label["roc_auc"] != label["roc_auc"] else f"{label['roc_auc']:.3f}"
        rows.append([name, f"{label['share']:.1%}", f"{label['error']:.1%}", auc])
    print_table(rows)
