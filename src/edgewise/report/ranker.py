"""The page of a ranker: metrics with intervals over queries, and the queries ranked worst."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.data.table import Table
from edgewise.metrics.gain import ndcg
from edgewise.metrics.lists import Lists
from edgewise.metrics.pairs import disagreement
from edgewise.metrics.registry import metric_title, ranking_metrics
from edgewise.metrics.significance import mean_interval
from edgewise.report import blocks
from edgewise.report.blocks import capitalize, format_number, shorten
from edgewise.report.boosted import MAX_ROWS, BoostedSections, describe_sample, rounds_reason
from edgewise.report.curves import evenly_spaced
from edgewise.report.page import Block, Report

_METRICS = "map,ndcg@1,5,10,mrr,precision@1,5,10,auc"
_HEADLINE_METRICS = ("map", "ndcg@10", "mrr", "auc")
_MAX_RANK, _MAX_GRADES, _SCORE_BINS = 20, 12, 10
_CASES, _TOP = 10, 5


def ranker_report(
    model: Any,
    rows: Table,
    grades: Any = None,
    qid: Any = None,
    title: str | None = None,
    worded: Any = None,
    documents: Any = None,
) -> Report:
    """Return the report of a fitted ranker on documents, and their grades if they are known.

    `worded` is the model that words the rules, if it is another one; `documents` names the rows.
    """
    lists = indices = None
    if grades is not None:
        lists = Lists(grades, qid)
        if lists.n_rows != rows.n_rows:
            raise ValueError(f"y has {lists.n_rows} rows, X has {rows.n_rows}")
        if rows.n_rows > MAX_ROWS:
            indices = _draw_queries(lists)
    shared = BoostedSections(
        model, rows, lambda rows: np.asarray(model.predict(rows))[:, None], ["score"],
        worded=worded, indices=indices,
    )  # fmt: skip
    queries = "" if lists is None else f"{pluralize(lists.n_queries, 'queries')}, "
    subtitle = (
        f"{type(shared.worded).__name__}, {queries}{pluralize(rows.n_rows, 'documents')}, "
        f"{pluralize(rows.n_columns, 'columns')}"
    )
    page = Report(title or "Ranking report", subtitle)
    results = None
    if lists is not None:
        if indices is not None:
            lists = Lists(lists.grades[indices], lists.queries[lists.row_query[indices]])
        results = _RankingResults(lists, model.predict(shared.rows))
    lead = describe_sample(shared.rows.n_rows, rows.n_rows, "documents, in whole queries")
    page.add("overview", "Overview", lead, _overview(model, shared.worded, results))
    shared.add_terms(page)
    page.add("data", "Data", "", [*(_data(results.lists) if results else []), *shared.columns()])
    page.add("training", "Training", *shared.training())
    if results is not None:
        page.add("metrics", "Metrics", *_metrics(results))
        page.add("scores", "Scores and grades", *_scores(results))
    shared.add_model_sections(page)
    if results is not None:
        page.add("cases", "Worst queries", *_cases(shared, results, documents))
    return page


@dataclass(frozen=True)
class _RankingResults:
    """The scores of documents whose grades are known."""

    lists: Lists
    scores: Reals

    @cached_property
    def metrics(self) -> dict[str, tuple[float, float, float]]:
        """The metrics that the grades allow, by name, with 95% intervals over queries."""
        values = {}
        for metric in ranking_metrics(_METRICS):
            try:
                mean = metric(self.lists, self.scores)
                per_query = metric.function(self.lists, self.scores, None, per_query=True)
            except ValueError:
                continue  # negative grades have no gain, equal ones no order
            values[metric.name] = (mean, *mean_interval(np.asarray(per_query), 0.0, 1.0)[1:])
        return values

    @cached_property
    def quality(self) -> tuple[str, Reals]:
        """How well each query is ranked, by NDCG or pairs; NaN where no order is wrong."""
        lists = self.lists
        best, worst = (np.full(lists.n_queries, sign * np.inf) for sign in (-1.0, 1.0))
        np.maximum.at(best, lists.row_query, lists.grades)
        np.minimum.at(worst, lists.row_query, lists.grades)
        if lists.grades.min() < 0:
            title = "ordered pairs"
            values = 1.0 - np.asarray(disagreement(lists, self.scores, per_query=True, empty=1.0))
        else:
            title = metric_title("ndcg@10")
            values = np.asarray(ndcg(lists, self.scores, k=10, per_query=True))
        return title, np.where(best > worst, values, np.nan)


def _overview(model: Any, worded: Any, results: _RankingResults | None) -> list[Block]:
    content = [blocks.note("No grades were given: metrics are left out.")]
    if results is not None:
        items = []
        for name in _HEADLINE_METRICS:
            if name in results.metrics:
                value, low, high = results.metrics[name]
                span = f"95% interval {low:.3f} to {high:.3f}" if low == low else "one query"
                items.append((metric_title(name), f"{value:.4f}", span))
        content = [blocks.tiles(items)]
    rows = [("Model", type(worded).__name__)]
    if model.learner_ is not None:
        rows.append(("Learner", model.settings_.learner))
    rows.append(("Rounds", f"{model.n_rounds_:,}{rounds_reason(model)}"))
    keys = ("criterion", "pair_weight", "query_weight", "monotonic_cst")
    decided = SimpleNamespace(learning_rate=model.fitted_.learning_rate)
    vars(decided).update((key, worded._resolve_setting(key)) for key in keys)
    return [*content, blocks.facts([*rows, *blocks.format_settings(decided, vars(decided))])]


def _data(lists: Lists) -> list[Block]:
    grades, counts = np.unique(lists.grades, return_counts=True)
    names = [f"grade {format_number(grade)}" for grade in grades.tolist()]
    x = blocks.axis("documents", integer=True)
    return [
        blocks.side_by_side(
            blocks.frequency_bars("Documents by grade", names, counts, "documents", _MAX_GRADES),
            blocks.cumulative_chart("Documents per query", x, lists.sizes, "queries"),
        )
    ]


def _metrics(results: _RankingResults) -> tuple[str, list[Block]]:
    items = [
        blocks.bar(capitalize(metric_title(name)), value, low=low, high=high, text=f"{value:.3f}")
        for name, (value, low, high) in results.metrics.items()
    ]
    # Queries whose documents are all alike count in the means; here they would hide others.
    name, quality = results.quality
    values = quality[~np.isnan(quality)]
    n_alike = len(quality) - len(values)
    distribution = blocks.histogram_chart(
        f"{capitalize(name)} by query", blocks.axis(name, low=0, high=1), values, "queries",
        np.linspace(0.0, 1.0, 21),
        detail=f"Left out: {pluralize(n_alike, 'queries')} of equal grades." if n_alike else "",
    )  # fmt: skip
    n_queries = pluralize(len(quality), "queries")
    lead = f"Means over {n_queries}; thin lines are 95% intervals. 1 is best."
    beside = blocks.side_by_side(distribution, _mean_grades(results.lists, results.scores))
    return lead, [blocks.bars("Metrics", items, min=0, max=1), beside]


def _mean_grades(lists: Lists, scores: Reals) -> Block:
    """Return the mean grade at each rank, by the model, the best order and a random one."""
    max_rank = int(min(_MAX_RANK, lists.sizes.max()))
    ranks = np.arange(1, max_rank + 1)
    is_shown = lists.position <= max_rank
    counts = np.bincount(lists.position[is_shown], minlength=max_rank + 1)[1:]

    def draw_order(name: str, order_by: Reals, style: str) -> Block:
        grades = lists.grades[lists.rank(order_by).order]
        sums = np.bincount(lists.position[is_shown], grades[is_shown], max_rank + 1)[1:]
        return blocks.series(name, ranks, sums / counts, style)

    means = np.bincount(lists.row_query, lists.grades) / lists.sizes
    random = [float(means[lists.sizes >= rank].mean()) for rank in ranks]
    lines = [
        draw_order("the model", scores, "line"),
        draw_order("the best order", lists.grades, "dash"),
        blocks.series("a random order", ranks, random, "guide"),
    ]
    x, y = blocks.axis("rank", integer=True, low=1), blocks.axis("grade", low=0)
    detail = "Dashed: the best order. Dotted: a random order."
    return blocks.chart("Mean grade by rank", x, y, lines, detail=detail)


def _scores(results: _RankingResults) -> tuple[str, list[Block]]:
    grades, scores = results.lists.grades, results.scores
    points = blocks.bin_means("mean grade", scores, grades, _SCORE_BINS)
    if points is None:
        return "", []
    levels = np.unique(grades)
    edges = np.linspace(scores.min(), scores.max(), 25)
    lines = []
    for grade in levels[evenly_spaced(len(levels), 6)].tolist():
        _, heights = blocks.histogram_shares(scores[grades == grade], edges)
        lines.append(blocks.series(f"grade {format_number(grade)}", edges, heights, "steps"))
    lead = (
        "Only the order within a query counts. Across queries too, higher grades should get higher "
        "scores."
    )
    x, y = blocks.axis("score"), blocks.axis("share of the grade", percent=True, low=0)
    means = blocks.chart("Mean grade by score", x, blocks.axis("grade"), [points])
    return lead, [blocks.side_by_side(means, blocks.chart("Scores by grade", x, y, lines))]


def _cases(
    shared: BoostedSections, results: _RankingResults, documents: Any
) -> tuple[str, list[Block]]:
    name, quality = results.quality
    order = np.argsort(quality, kind="stable")[:_CASES]
    order = order[quality[order] < 1.0 - 1e-12]
    if len(order) == 0:
        return "", [blocks.note("Every query is in the best order.")]
    ranked = results.lists.rank(results.scores).order
    try:
        items = [_case(shared, results, documents, int(q), ranked) for q in order]
    except ValueError as problem:
        return str(problem), [blocks.note("The scores of documents cannot be explained.")]
    lead = (
        f"The queries with the lowest {name}, and why a document ranks above a better one: the "
        "Shapley values of its score against the other's."
    )
    return lead, [blocks.cases(items, search="Find in these queries")]


def _case(
    shared: BoostedSections, results: _RankingResults, documents: Any, q: int, ranked: NDArray[Any]
) -> Block:
    lists, (name, quality) = results.lists, results.quality
    rows = ranked[lists.starts[q] : lists.starts[q] + lists.sizes[q]]
    grades, scores = lists.grades[rows], results.scores[rows]
    # The first document that scores above a better one, and the first of the best of those.
    lower = np.searchsorted(-scores, -scores, side="right")
    best_below = np.append(np.maximum.accumulate(grades[::-1])[::-1], -np.inf)
    wrong = np.flatnonzero(grades < best_below[lower])
    above = int(wrong[0]) if len(wrong) else 0  # only ties, whose order is arbitrary
    first_below = int(lower[above]) if len(wrong) else 1
    best = first_below + int(np.argmax(grades[first_below:]))
    names = [_document_name(shared, documents, int(row)) for row in rows]
    head = [
        [rank + 1, names[rank], format_number(float(grades[rank])), f"{scores[rank]:.3f}"]
        for rank in sorted({*range(min(_TOP, len(rows))), above, best})
    ]
    pair = (shared.rows.take(rows[rank : rank + 1]) for rank in (above, best))
    contributions = shared.model.explain_pair(*pair).contributions
    return blocks.case(
        f"Query {shorten(lists.queries[q], 60)}",
        shared.contributions([(c.name, c.detail, c.amount) for c in contributions]),
        f"Why {names[above]} ranks above {names[best]}",
        detail=f"{name} {quality[q]:.3f}, {pluralize(len(rows), 'documents')}",
        blocks=[blocks.table("Ranked list", ["rank", "document", "grade", "score"], head)],
        total="difference of the scores",
    )


def _document_name(shared: BoostedSections, documents: Any, row: int) -> str:
    index = int(shared.indices[row])
    if documents is None:
        return f"row {index + shared.first_row:,}"
    return shorten(documents[index], 40)


def _draw_queries(lists: Lists) -> NDArray[np.intp]:
    """Return the rows of as many queries at random as fit into the maximum number of rows."""
    order = np.random.default_rng(0).permutation(lists.n_queries)
    kept = order[np.cumsum(lists.sizes[order]) <= MAX_ROWS]
    kept = kept if len(kept) else order[:1]
    return np.flatnonzero(np.isin(lists.row_query, kept))
