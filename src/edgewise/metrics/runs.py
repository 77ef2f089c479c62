"""TREC runs against relevance judgments, by the conventions of trec_eval."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import finite_numbers, one_of
from edgewise.common.choices import DEFAULT_RUN_METRICS, GAINS, TIES
from edgewise.common.dtypes import Reals
from edgewise.common.text import id_text, pluralize, quote_names, text_table
from edgewise.data.table import is_frame
from edgewise.metrics import registry
from edgewise.metrics.gain import ndcg
from edgewise.metrics.lists import Lists
from edgewise.metrics.registry import get_metrics
from edgewise.metrics.significance import (
    RandomizationResult,
    UnitSums,
    mean_interval,
    randomization_test,
)
from edgewise.metrics.tables import MetricTable

if TYPE_CHECKING:
    from edgewise.io import Qrels, Run


@dataclass(frozen=True, eq=False)
class RunEvaluation:
    """The values of a run for each judged query.

    Attributes
    ----------
    queries : ndarray of str
        The judged queries, sorted.
    values : dict of str to float64 array
        By the name of the metric, the value of each query.
    n_unanswered : int
        Number of judged queries for which the run returns nothing; they count 0.
    n_unjudged : int
        Number of queries of the run without a judgment; they are ignored.
    n_without_relevant : int
        Number of judged queries without a relevant document; they count 0.
    """

    queries: NDArray[np.str_]
    values: dict[str, Reals]
    n_unanswered: int
    n_unjudged: int
    n_without_relevant: int

    @property
    def means(self) -> dict[str, float]:
        """The mean over the judged queries, by the name of the metric."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95% interval of each mean, from the spread of the queries."""
        return {name: mean_interval(values, 0.0, 1.0)[1:] for name, values in self.values.items()}


def evaluate_run(
    qrels: "Qrels",
    run: "Run",
    metrics: str | Sequence[str] = DEFAULT_RUN_METRICS,
    *,
    gain: str | None = None,
    ties: str = "expected",
) -> RunEvaluation:
    """Evaluate a run against judgments, as ``trec_eval -c`` does.

    - Every judged query counts, with 0 where the run returns nothing or no document is relevant.
    - A document is relevant if its grade is above 0. Unjudged documents are not relevant.
    - A relevant document that the run does not return adds nothing, but the run is measured
      against it in MAP, recall and NDCG.

    Ties differ by default: documents with equal scores count with the expectation over all their
    orders, where trec_eval sorts them by name.

    Parameters
    ----------
    qrels : Qrels
        The judgments; a grade below 0 counts as 0.
    run : Run
        The documents that a system returns, with their scores.
    metrics : str or sequence of str, default "map, ndcg@10, mrr, precision@10, recall@100"
        Names, in a list or between commas: "map", "mrr", "ndcg", "rbp" and "err", with or without
        a cutoff such as "@10", "precision@k", "recall@k", "success@k", "rprec" and "bpref", or
        those of ir_measures and trec_eval (:func:`ranking_metric`).
    gain : {"exponential", "linear"} or None, default None
        The gain of grade g in NDCG: 2^g - 1, or g. None goes by the name: linear for "nDCG" and
        "ndcg_cut", as in ir_measures and trec_eval, else exponential.
    ties : {"expected", "trec_eval"}, default "expected"
        The order of documents with equal scores: the expectation over all orders, or the order of
        trec_eval, which takes scores in single precision and sorts equal ones by descending name.

    Examples
    --------
    Two relevant documents; the run returns one of them, at rank 2:

    >>> import numpy as np
    >>> from edgewise.io import Qrels, Run
    >>> q, tag = np.array(["q", "q"]), np.array(["mine", "mine"])
    >>> qrels = Qrels(q, np.array(["a", "b"]), np.array([1, 1]))
    >>> run = Run(q, np.array(["x", "a"]), np.array([1, 2]), np.array([0.9, 0.4]), tag)
    >>> evaluate_run(qrels, run, ["map", "recall@2"]).means
    {'map': 0.25, 'recall@2': 0.5}
    """
    chosen = get_metrics(metrics, registry.RUN_METRICS)
    if gain is not None:
        one_of("gain", gain, GAINS)
    one_of("ties", ties, TIES)
    queries = np.unique(qrels.queries)
    is_judged = np.isin(run.queries, queries)
    if not is_judged.any():
        raise ValueError("run must have at least one of the judged queries, got none")
    lists, scores = _join_run(qrels, run, is_judged, ties)
    relevant = np.bincount(lists.row_query, lists.grades > 0, minlength=len(queries))
    values = {}
    for metric in chosen:
        function = metric.function
        if gain is not None and getattr(function, "func", function) is ndcg:
            function = partial(function, gain=gain)
        values[metric.name] = np.asarray(function(lists, scores, empty=0.0, per_query=True))
    n_answered = len(np.unique(run.queries[is_judged]))
    return RunEvaluation(
        queries,
        values,
        n_unanswered=len(queries) - n_answered,
        n_unjudged=len(np.unique(run.queries)) - n_answered,
        n_without_relevant=int((relevant == 0).sum()),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(MetricTable):
    """Several runs by several metrics, with intervals and tests; print it to read it.

    Attributes
    ----------
    systems, metrics : tuple of str
        The names of the runs and of the metrics.
    runs : dict of str to RunEvaluation
        The values of each run, by name.
    baseline : str
        The run that the others are compared with.
    random_state : int
        Draws the sign assignments of the tests.
    """

    runs: dict[str, RunEvaluation]
    baseline: str
    random_state: Any = 0

    kind: str = field(default="run", kw_only=True)

    @classmethod
    def of(
        cls, runs: dict[str, RunEvaluation], baseline: str | None = None, random_state: Any = 0
    ) -> "Evaluation":
        """Return the evaluations of runs by the same metrics, compared with one of them."""
        first = next(iter(runs)) if baseline is None else baseline
        if first not in runs:
            raise ValueError(f"baseline must be one of {quote_names(runs)}, got {first!r}")
        sums = {
            name: {metric: UnitSums.of(values) for metric, values in run.values.items()}
            for name, run in runs.items()
        }
        return cls(tuple(runs), tuple(runs[first].values), sums, runs, first, random_state)

    @cached_property
    def tests(self) -> dict[str, dict[str, RandomizationResult]]:
        """Paired randomization tests of the other runs against `baseline`, by run and metric."""
        base = self.runs[self.baseline].values
        return {
            name: {
                metric: randomization_test(values, base[metric], random_state=self.random_state)
                for metric, values in run.values.items()
            }
            for name, run in self.runs.items()
            if name != self.baseline
        }

    def columns(self, intervals: bool = False) -> dict[str, list[Any]]:
        """Return the columns of :meth:`to_frame`; with `intervals`, also of the tests."""
        columns = super().columns(intervals)
        for metric in self.metrics if intervals and self.tests else ():
            tests = [self.tests.get(name, {}).get(metric) for name in self.runs]
            columns[f"{metric}_difference"] = [t.mean_difference if t else np.nan for t in tests]
            columns[f"{metric}_p_value"] = [t.p_value if t else np.nan for t in tests]
        return columns

    def __str__(self) -> str:
        tables = [self.summary(), self._interval_table()]
        return "\n\n".join([*tables, self._test_table()] if len(self.runs) > 1 else tables)

    def summary(self) -> str:
        """Return the number of judged queries and the means as text."""
        first = next(iter(self.runs.values()))
        judged = pluralize(len(first.queries), "judged queries")
        if first.n_without_relevant:
            judged += f", {first.n_without_relevant} of them without a relevant document"
        return f"{judged}\n{self.text()}"

    def _interval_table(self) -> str:
        rows = [["95% interval", *self.metrics]]
        for name, intervals in self.intervals.items():
            rows.append([name, *(f"{low:.4f}..{high:.4f}" for low, high in intervals.values())])
        return text_table(rows)

    def _test_table(self) -> str:
        rows = [[f"against {self.baseline}", *self.metrics]]
        for name, tests in self.tests.items():
            cells = (f"{test.mean_difference:+.4f} ({test.p_value:.4f})" for test in tests.values())
            rows.append([name, *cells])
        return text_table(rows)


def evaluate(
    qrels: Any,
    runs: Any,
    metrics: str | Sequence[str] = DEFAULT_RUN_METRICS,
    *,
    gain: str | None = None,
    ties: str = "expected",
    baseline: str | None = None,
    random_state: Any = 0,
) -> Evaluation:
    """Evaluate runs against judgments: means, 95% intervals, and tests against one of them.

    It counts as :func:`evaluate_run` does, and prints what ``edgewise evaluate`` prints.

    Parameters
    ----------
    qrels : Qrels, path, dict or data frame
        The judgments: an object, the path of a file, a dict of grades by query and document, or a
        data frame with the columns query, doc and grade.
    runs : dict of str to run, or a run
        The runs by name. A run is an object, the path of a file, a dict of scores by query and
        document, or a data frame with the columns query, doc and score.
    metrics, gain, ties
        As for :func:`evaluate_run`.
    baseline : str or None, default None
        The run to compare the others with; None is the first.
    random_state : int, RandomState, Generator or None, default 0
        Draws the sign assignments of the tests.

    Examples
    --------
    >>> from edgewise.metrics import evaluate
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"b": 2, "c": 1}}
    >>> runs = {
    ...     "bm25": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"b": 3.0, "a": 1.0}, "q3": {"b": 1.0}},
    ...     "mine": {"q1": {"b": 1.0, "a": 2.0}, "q2": {"a": 1.0}, "q3": {"b": 1.0, "c": 2.0}},
    ... }
    >>> print(evaluate(qrels, runs, "AP, P@1"))
    3 judged queries
    run      AP      P@1
    bm25  0.5000   0.3333
    mine  1.0000*  1.0000*
    <BLANKLINE>
    95% interval              AP             P@1
    bm25          0.5000..0.5000  0.0000..0.9867
    mine          1.0000..1.0000  1.0000..1.0000
    <BLANKLINE>
    against bm25                AP               P@1
    mine          +0.5000 (0.2500)  +0.6667 (0.5000)
    """
    judged = as_qrels(qrels)
    chosen = [metric.name for metric in get_metrics(metrics, registry.RUN_METRICS)]
    named = runs if isinstance(runs, Mapping) and not _is_nested(runs) else {"run": runs}
    if not named:
        raise ValueError("runs must have at least one run, got none")
    evaluations = {}
    for name, run in named.items():
        try:
            evaluations[str(name)] = evaluate_run(judged, as_run(run), chosen, gain=gain, ties=ties)
        except ValueError as error:
            raise ValueError(f"runs[{name!r}]: {error}") from error
    return Evaluation.of(evaluations, baseline, random_state)


def _is_nested(runs: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is a single run: numbers by query and document."""
    inner = next(iter(runs.values()), None)
    return isinstance(inner, Mapping) and not isinstance(next(iter(inner.values()), None), Mapping)


def as_qrels(judgments: Any) -> "Qrels":
    """Return judgments in any form as `Qrels`."""
    from edgewise.io import Qrels

    if isinstance(judgments, Qrels):
        return judgments
    queries, docs, grades = query_document_values(judgments, "qrels", "grade")
    rounded = grades.astype(np.int64)
    if (rounded != grades).any():
        raise ValueError("qrels must have grades that are integers")
    return Qrels(queries, docs, rounded)


def as_run(run: Any) -> "Run":
    """Return a run in any form as `Run`."""
    from edgewise.io import Run

    if isinstance(run, Run):
        return run
    queries, docs, scores = query_document_values(run, "run", "score")
    n = len(queries)
    return Run(queries, docs, np.zeros(n, dtype=np.int64), scores, np.full(n, "run"))


def query_document_values(
    source: Any, argument: str, column: str
) -> tuple[NDArray[np.str_], NDArray[np.str_], Reals]:
    """Return queries, documents and numbers of judgments ("grade") or a run ("score").

    They may be the path of a file, a dict of dicts, a data frame, or an object with arrays.
    """
    from edgewise.io import read_qrels, read_run

    if isinstance(source, (str, PathLike)):
        source = read_qrels(source) if column == "grade" else read_run(source)
    names = ("query", "doc", column)
    if isinstance(source, Mapping):
        rows = [(q, doc, value) for q, inner in source.items() for doc, value in inner.items()]
        columns: Any = list(zip(*rows, strict=True)) if rows else ()
    elif all(hasattr(source, name) for name in ("queries", "docs", f"{column}s")):
        columns = source.queries, source.docs, getattr(source, f"{column}s")
    elif is_frame(source):
        absent = [name for name in names if name not in list(source.columns)]
        if absent:
            raise ValueError(
                f"{argument} must have a column {absent[0]!r}, got {list(source.columns)}"
            )
        columns = tuple(np.asarray(source[name]).tolist() for name in names)
    else:
        kind = type(source).__name__
        raise TypeError(f"{argument} must be a path, a dict of dicts or a data frame, got {kind}")
    if not columns or not len(columns[0]):
        raise ValueError(f"{argument} must not be empty")
    queries, docs = (np.array([id_text(value) for value in ids]) for ids in columns[:2])
    pairs = Counter(zip(queries.tolist(), docs.tolist(), strict=True))
    (query, doc), count = pairs.most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{argument} must have each document of a query once, got {doc!r} of query {query!r} "
            f"{count} times"
        )
    return queries, docs, finite_numbers(f"{argument}: {column}", columns[2], len(queries))


def _join_run(
    qrels: "Qrels", run: "Run", is_judged: NDArray[np.bool_], ties: str
) -> tuple[Lists, Reals]:
    """Return all judged and all returned documents of the judged queries, and their scores."""
    queries, docs, scores = run.queries[is_judged], run.docs[is_judged], run.scores[is_judged]
    if ties == "trec_eval":
        from edgewise.io.trec import positions_by, sorted_codes

        with np.errstate(over="ignore"):
            single = scores.astype(np.float32)
        scores = -positions_by(queries, -sorted_codes(docs), -single).astype(np.float64)
    grades = dict(_by_pair(qrels.queries, qrels.docs, qrels.grades))
    returned = dict(_by_pair(queries, docs, scores))
    missing = [pair for pair in grades if pair not in returned]
    pairs = [*returned, *missing]
    # A grade below 0 stands for a document that was not judged.
    grade = np.array([grades.get(pair, -1) for pair in pairs])
    lists = Lists(
        np.maximum(grade, 0),
        np.array([query for query, _ in pairs]),
        returned=np.arange(len(pairs)) < len(returned),
        judged=grade >= 0,
    )
    return lists, np.array([*returned.values(), *([-np.inf] * len(missing))])


def _by_pair(queries: NDArray, docs: NDArray, values: NDArray) -> zip:
    keys = zip(queries.tolist(), docs.tolist(), strict=True)
    return zip(keys, values.tolist(), strict=True)
