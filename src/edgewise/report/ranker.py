"""The page of a ranker: metrics with intervals over queries, and the queries it gets most wrong."""

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
from edgewise.report.blocks import (
    axis,
    bars,
    beside,
    binned,
    chart,
    facts,
    histogram,
    note,
    number,
    series,
    short,
    spaced,
    table,
    tile,
    tiles,
)
from edgewise.report.boosted import MOST_ROWS, BoostedReport, sampled_note, why_rounds
from edgewise.report.page import Block, Report

_METRICS = "map,ndcg@1,5,10,mrr,precision@1,5,10,auc"
_TILES = ("ndcg@10", "map", "mrr", "auc")
_POSITIONS = 20
_CASES = 10
_SCORE_BINS = 10
_TOP = 5


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
    lists = None if grades is None else Lists(grades, qid)
    made = _RankerReport(model, rows, lists, worded, documents)
    queries = "" if lists is None else f"{pluralize(lists.n_queries, 'queries')}, "
    subtitle = (
        f"{type(made.worded).__name__}, {queries}{pluralize(rows.n_rows, 'documents')}, "
        f"{pluralize(rows.n_columns, 'columns')}"
    )
    page = Report(title or "Ranking report", subtitle)
    lead = sampled_note(made.rows.n_rows, rows.n_rows, "documents, in whole queries")
    page.add("overview", "Overview", lead, made.overview())
    page.add("data", "Data", "", made.data())
    page.add("training", "Training", made.training_lead(), made.training())
    if lists is not None:
        page.add("metrics", "Metrics", *made.metrics())
        page.add("scores", "Scores and grades", *made.score_blocks())
    made.add_learned(page)
    if lists is not None:
        page.add("cases", "Most wrong", *made.cases())
    return page


class _RankerReport(BoostedReport):
    """The sections of a ranker."""

    def __init__(
        self, model: Any, rows: Table, lists: Lists | None, worded: Any, documents: Any
    ) -> None:
        if lists is not None and lists.n_rows != rows.n_rows:
            raise ValueError(f"y has {lists.n_rows} rows, X has {rows.n_rows}")
        chosen = None
        if lists is not None and rows.n_rows > MOST_ROWS:
            chosen = _whole_queries(lists)
            grades, queries = lists.grades[chosen], lists.queries[lists.row_query[chosen]]
            lists = Lists(grades, queries)
        super().__init__(model, rows, worded, chosen)
        self.lists = lists
        self.documents = documents
        self.row_scores: Reals = model.predict(self.rows)
        if lists is not None:
            self.measured = self._measured()
            self.quality_word, self.quality = self._quality()

    def scores(self, rows: Table) -> Reals:
        return np.asarray(self.model.predict(rows))[:, None]

    def score_names(self) -> list[str]:
        return ["score"]

    # Overview and data

    def _measured(self) -> dict[str, tuple[float, float, float]]:
        """Return the metrics that the grades allow, with 95% intervals over queries."""
        assert self.lists is not None
        found = {}
        for metric in ranking_metrics(_METRICS):
            name = metric.name
            try:
                mean = metric(self.lists, self.row_scores)
                values = metric.function(self.lists, self.row_scores, None, per_query=True)
            except ValueError:
                continue  # negative grades have no gain, equal ones no order
            found[name] = (mean, *mean_interval(np.asarray(values), 0.0, 1.0)[1:])
        return found

    def _quality(self) -> tuple[str, Reals]:
        """Return how well each query is ranked, by NDCG or pairs; NaN where no order is wrong."""
        assert self.lists is not None
        lists = self.lists
        ordered = 1.0 - np.asarray(disagreement(lists, self.row_scores, per_query=True, empty=1.0))
        best, worst = (np.full(lists.n_queries, sign * np.inf) for sign in (-1.0, 1.0))
        np.maximum.at(best, lists.row_query, lists.grades)
        np.minimum.at(worst, lists.row_query, lists.grades)
        if lists.grades.min() < 0:
            return "ordered pairs", np.where(best > worst, ordered, np.nan)
        gains = np.asarray(ndcg(lists, self.row_scores, k=10, per_query=True))
        return "NDCG@10", np.where(best > worst, gains, np.nan)

    def overview(self) -> list[Block]:
        found: list[Block] = []
        if self.lists is None:
            found.append(note("No grades were given: metrics are left out."))
        else:
            items = []
            for name in _TILES:
                if name in self.measured:
                    value, low, high = self.measured[name]
                    span = f"95% interval {low:.3f} to {high:.3f}" if low == low else "one query"
                    items.append(tile(metric_title(name), f"{value:.4f}", span))
            found.append(tiles(items))
        model = self.worded
        shown = [("Model", type(model).__name__)]
        if self.model.learner_ is not None:
            shown.append(("Learner", self.model.settings_.learner))
        shown.append(("Rounds", f"{self.model.n_rounds_:,}{why_rounds(self.model)}"))
        for key in ("criterion", "learning_rate", "pair_weight", "query_weight", "monotonic_cst"):
            words = key.replace("_", " ").replace(" cst", " columns").capitalize()
            shown.append((words, short(getattr(model, key))))
        found.append(facts(shown))
        return found

    def data(self) -> list[Block]:
        found: list[Block] = []
        lists = self.lists
        if lists is not None:
            grades, counts = np.unique(lists.grades, return_counts=True)
            order = np.argsort(-counts, kind="stable")[:12] if len(grades) > 12 else slice(None)
            pairs = zip(grades[order].tolist(), counts[order].tolist(), strict=True)
            items = [
                {
                    "name": f"grade {number(grade)}",
                    "detail": pluralize(count, "documents"),
                    "value": count / lists.n_rows,
                }
                for grade, count in pairs
            ]
            sizes = np.sort(lists.sizes)
            at = spaced(len(sizes), 100)
            share = (at + 1) / len(sizes)
            found.append(
                beside(
                    bars("Documents of each grade", items, percent=True),
                    chart(
                        "Documents in a query", axis("documents", integer=True),
                        axis("share of queries with at most", percent=True, low=0, high=1),
                        [series("share of queries", sizes[at], share, "steps")],
                    ),
                )
            )  # fmt: skip
        return [*found, self.columns(), *self.left_out()]

    # How good

    def metrics(self) -> tuple[str, list[Block]]:
        """Return all metrics with intervals over queries, and their spread."""
        assert self.lists is not None
        items = []
        for name, (value, low, high) in self.measured.items():
            span = {"low": low, "high": high, "text": f"{value:.3f}"}
            items.append({"name": metric_title(name), "value": value, **span})
        # Queries whose documents are all alike count in the means; here they would hide others.
        values = self.quality[~np.isnan(self.quality)]
        alike = self.lists.n_queries - len(values)
        edges, heights = histogram(values, np.linspace(0.0, 1.0, 21))
        word = self.quality_word
        spread = chart(
            f"{word[0].upper()}{word[1:]} of each query", axis(word, low=0, high=1),
            axis("share of queries", percent=True, low=0),
            [series("share of queries", edges, heights, "area")],
            detail=f"Left out: {pluralize(alike, 'queries')} of equal grades." if alike else "",
        )  # fmt: skip
        lead = (
            f"Means over {pluralize(self.lists.n_queries, 'queries')}; thin lines are 95% "
            "intervals of the mean. 1 is best."
        )
        return lead, [
            bars("Metrics", items, least=0, most=1),
            beside(spread, self._by_position()),
        ]

    def _by_position(self) -> Block:
        """Return the mean grade at each position, by the model, the best order and a random one."""
        assert self.lists is not None
        lists = self.lists
        most = int(min(_POSITIONS, lists.sizes.max()))
        places = np.arange(1, most + 1)
        lines: list[Block] = []
        for name, scores in (("the model", self.row_scores), ("the best order", lists.grades)):
            grades = lists.grades[lists.rank(scores).order]
            there = lists.position <= most
            sums = np.bincount(lists.position[there], grades[there], most + 1)[1:]
            counts = np.bincount(lists.position[there], minlength=most + 1)[1:]
            lines.append(series(name, places, sums / counts, "line" if not lines else "dash"))
        means = np.bincount(lists.row_query, lists.grades) / lists.sizes
        by_chance = [float(means[lists.sizes >= place].mean()) for place in places]
        lines.append(series("a random order", places, by_chance, "guide"))
        return chart(
            "Mean grade by position", axis("position", integer=True, low=1), axis("grade", low=0),
            lines, detail="Dashed: the best order. Dotted: a random order.",
        )  # fmt: skip

    def score_blocks(self) -> tuple[str, list[Block]]:
        """Return how grades rise with scores."""
        assert self.lists is not None
        grades, scores = self.lists.grades, self.row_scores
        points = binned("mean grade", scores, grades, _SCORE_BINS)
        if points is None:
            return "", []
        rise = chart("Mean grade by score", axis("score"), axis("grade"), [points])
        levels = np.unique(grades)
        levels = levels[spaced(len(levels), 6)]
        edges = np.linspace(scores.min(), scores.max(), 25)
        lines = []
        for grade in levels.tolist():
            _, heights = histogram(scores[grades == grade], edges)
            lines.append(series(f"grade {number(grade)}", edges, heights, "steps"))
        spread = chart(
            "Scores of each grade",
            axis("score"),
            axis("share of the grade", percent=True, low=0),
            lines,
        )
        lead = (
            "Scores order the documents within a query. Across queries too, higher grades should "
            "get higher scores."
        )
        return lead, [beside(rise, spread)]

    # Queries

    def cases(self) -> tuple[str, list[Block]]:
        """Return the queries that are ranked worst, and why."""
        assert self.lists is not None
        lists = self.lists
        order = np.argsort(self.quality, kind="stable")[:_CASES]
        order = order[self.quality[order] < 1.0 - 1e-12]
        if len(order) == 0:
            return "", [note("Every query is in the best order.")]
        ranked = lists.rank(self.row_scores).order
        try:
            self.model.explain(self.rows.take(ranked[:1]))
        except ValueError as problem:
            return str(problem), [note("The scores of documents cannot be explained.")]
        items = [self._case(int(q), ranked) for q in order]
        lead = (
            f"The queries with the lowest {self.quality_word}, and what put a document above a "
            "better one: what each column adds to its score, minus what it adds to the other's."
        )
        return lead, [{"kind": "cases", "items": items, "search": "Find in these queries"}]

    def _case(self, q: int, ranked: NDArray[Any]) -> Block:
        assert self.lists is not None
        lists = self.lists
        rows = ranked[lists.starts[q] : lists.starts[q] + lists.sizes[q]]
        grades, scores = lists.grades[rows], self.row_scores[rows]
        # The first document that scores above a better one, and the first of the best of those.
        lower = np.searchsorted(-scores, -scores, side="right")
        best_below = np.append(np.maximum.accumulate(grades[::-1])[::-1], -np.inf)
        wrong = np.flatnonzero(grades < best_below[lower])
        above = int(wrong[0]) if len(wrong) else 0  # only ties, whose order says nothing
        first_below = int(lower[above]) if len(wrong) else 1
        best = first_below + int(np.argmax(grades[first_below:]))
        first, second = (
            self.model.explain(self.rows.take(np.array([rows[place]]))) for place in (above, best)
        )
        amounts, names, details = self._difference(first, second)
        documents = [self._document(int(row)) for row in rows]
        head = [
            [p + 1, documents[p], number(float(grades[p])), f"{self.row_scores[rows[p]]:.3f}"]
            for p in sorted({*range(min(_TOP, len(rows))), above, best})
        ]
        how_many = pluralize(len(rows), "documents")
        return {
            "title": f"Query {short(lists.queries[q], 60)}",
            "chance": f"{self.quality_word} {self.quality[q]:.3f}, {how_many}",
            "blocks": [table("Ranked list", ["rank", "document", "grade", "score"], head)],
            "question": f"Why {documents[above]} stands above {documents[best]}",
            "total": "difference of the scores",
            "parts": self.parts(amounts, names, details)[1:],
        }

    def _document(self, row: int) -> str:
        place = int(self.chosen[row])
        return (
            f"row {place + self.first_row:,}"
            if self.documents is None
            else short(self.documents[place], 40)
        )

    def _difference(self, first: Any, second: Any) -> tuple[Reals, list[str], list[str]]:
        """Return by how much the contributions to two documents differ, with both values."""
        found: dict[str, tuple[float, str, str]] = {}
        for explained, sign in ((first, 1.0), (second, -1.0)):
            amounts = explained.amounts[:, 0].tolist()
            for name, amount, detail in zip(
                explained.names, amounts, self.details(explained), strict=True
            ):
                before, one, two = found.get(name, (0.0, "", ""))
                pair = (detail, two) if sign > 0 else (one, detail)
                found[name] = (before + sign * amount, *pair)
        amounts, ones, twos = zip(*found.values(), strict=True)
        details = [f"{one} against {two}" for one, two in zip(ones, twos, strict=True)]
        return np.array(amounts), list(found), details


def _whole_queries(lists: Lists) -> NDArray[np.intp]:
    """Return the rows of as many queries, drawn at random, as there is room for."""
    order = np.random.default_rng(0).permutation(lists.n_queries)
    kept = order[np.cumsum(lists.sizes[order]) <= MOST_ROWS]
    kept = kept if len(kept) else order[:1]
    return np.flatnonzero(np.isin(lists.row_query, kept))
