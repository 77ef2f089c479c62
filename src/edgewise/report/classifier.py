"""The page of a classifier: classes or labels."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.data.table import Table
from edgewise.metrics.classification import (
    balanced_accuracy,
    error,
    hamming_loss,
    log_loss,
    predicted,
    reliability,
)
from edgewise.metrics.roc import roc_auc
from edgewise.metrics.significance import proportion_interval
from edgewise.report.blocks import (
    axis,
    bars,
    beside,
    chart,
    choice,
    facts,
    histogram,
    note,
    number,
    percent,
    rounded,
    series,
    short,
    spaced,
    table,
    tile,
    tiles,
)
from edgewise.report.boosted import (
    BACKGROUND_ROWS,
    BoostedReport,
    sample,
    sampled_note,
    why_rounds,
)
from edgewise.report.page import Block, Report
from edgewise.theory import margin_distribution

_MOST_CLASSES = 30
_MOST_CURVES = 40
_BINS = 100
_CALIBRATION_BINS = 10
_CASES = 15
_MARGIN_POINTS = 200


def classifier_report(
    model: Any, rows: Table, codes: NDArray[Any] | None, title: str | None = None
) -> Report:
    """Return the report of a fitted classifier on rows, and their targets in its codes, if known.

    `codes` are class numbers of shape (n,), or a 0/1 matrix of shape (n, K) of labels.
    """
    labels = bool(model.fitted_.multilabel)
    what = "labels" if labels else "classes"
    subtitle = (
        f"{type(model).__name__}, {pluralize(len(model.classes_), what)}, "
        f"{pluralize(rows.n_rows, 'rows')}, {pluralize(rows.n_columns, 'columns')}"
    )
    made = _ClassifierReport(model, rows, codes)
    target = made.target()
    page = Report(title or f"Classification report{target and ': '}{target}", subtitle)
    page.add("overview", "Overview", made.overview_lead(), made.overview())
    page.add("data", "Data", "", made.data())
    page.add("training", "Training", made.training_lead(), made.training())
    if codes is not None:
        mistakes = "Labels" if labels else "Mistakes"
        page.add("mistakes", mistakes, made.mistakes_lead(), made.mistakes())
        page.add("threshold", "Threshold", *made.thresholds())
        page.add("margins", "Margins", *made.margins())
        page.add("calibration", "Calibration", *made.calibration())
    made.add_learned(page)
    if codes is not None:
        page.add("cases", "Most wrong", *made.cases())
    return page


class _ClassifierReport(BoostedReport):
    """The sections of a classifier."""

    def __init__(self, model: Any, rows: Table, codes: NDArray[Any] | None) -> None:
        super().__init__(model, rows)
        self.classes = [short(one) for one in model.classes_.tolist()]
        self.labels = bool(model.fitted_.multilabel)
        self.word = "Label" if self.labels else "Class"
        self.codes = None if codes is None else codes[self.chosen]
        self.row_scores = self.scores(self.rows)
        self.probabilities: Reals = model._probabilities(self.row_scores)
        self.two = self.row_scores.shape[1] == 1 and not self.labels
        self.predicted = predicted(self.row_scores, self.labels)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """The number of rows of each class or label."""
        assert self.codes is not None
        if self.labels:
            return self.codes.sum(axis=0)
        return np.bincount(self.codes, minlength=len(self.classes))

    def scores(self, rows: Table) -> Reals:
        scores = np.asarray(self.model.decision_function(rows))
        return scores[:, None] if scores.ndim == 1 else scores

    def score_names(self) -> list[str]:
        return [f"{self.classes[1]} rather than {self.classes[0]}"] if self.two else self.classes

    def effect_unit(self) -> str:
        if self.two:
            low, high = (short(one, 40) for one in self.classes)
            return f"Added to the score: above 0 for {high}, below for {low}"
        return "Added to the scores"

    # Overview and data

    def overview_lead(self) -> str:
        return sampled_note(self.rows.n_rows, self.n_given)

    def overview(self) -> list[Block]:
        found = [] if self.codes is None else [tiles(self._tiles())]
        if self.codes is None:
            found.append(note("No targets were given, so there are no errors to show."))
        settings = self.model.settings_
        if self.codes is not None and settings.n_rows == self.n_given:
            found.append(
                note(
                    "This table has as many rows as the training table. If they are the same rows, "
                    "expect larger errors on new ones."
                )
            )
        found.append(facts(self._facts(settings)))
        return found

    def _tiles(self) -> list[dict[str, str]]:
        assert self.codes is not None
        y, n = self.codes, len(self.codes)
        wrong = error(y, self.row_scores)
        low, high = proportion_interval(1.0 - wrong, n)
        span = f"95% interval {percent(low)} to {percent(high)}"
        loss = log_loss(y, self.probabilities)
        found = []
        if self.labels:
            found.append(tile("All labels right", percent(1.0 - wrong), span))
            hamming = hamming_loss(y, self.row_scores)
            found.append(tile("Hamming loss", f"{hamming:.4f}", "share of wrong labels"))
        else:
            counts = self.counts
            common = short(self.classes[int(counts.argmax())], 24)
            found.append(tile("Accuracy", percent(1.0 - wrong), span))
            always = f"of {n:,}; always {common}: {n - counts.max():,}"
            found.append(tile("Errors", f"{round(wrong * n):,}", always))
            balanced = balanced_accuracy(y, self.row_scores)
            found.append(tile("Balanced accuracy", percent(balanced), "mean recall of the classes"))
        found.append(tile("Log loss", f"{loss:.4f}", "0 is best"))
        area = self._area()
        if area == area:
            found.append(tile("ROC AUC", f"{area:.4f}", "1 is best, 0.5 is chance"))
        return found

    def _area(self) -> float:
        y, scores = self.codes, self.row_scores
        assert y is not None
        if self.labels:
            varied = (y.min(axis=0) != y.max(axis=0)).nonzero()[0]
            if len(varied) == 0:
                return np.nan
            return float(np.mean([roc_auc(y[:, k], scores[:, k]) for k in varied.tolist()]))
        if not self.two or y.min() == y.max():
            return np.nan
        return roc_auc(y, scores[:, 0])

    def _facts(self, settings: Any) -> list[tuple[str, str]]:
        shown = [
            ("Model", type(self.model).__name__),
        ]
        shown.append(("Rounds", f"{settings.n_rounds:,}{why_rounds(self.model)}"))
        shown.append(("Trained on", pluralize(settings.n_rows, "rows")))
        for key in ("loss", "votes", "learning_rate", "subsample"):
            value = getattr(settings, key)
            words = number(value) if isinstance(value, float) else str(value)
            shown.append((key.replace("_", " ").capitalize(), words))
        if settings.held_out_error == settings.held_out_error:
            wrong, loss = percent(settings.held_out_error), f"{settings.held_out_log_loss:.4f}"
            shown.append(("Held-out rows", f"error {wrong}, log loss {loss}"))
        shown.append(("Learner", settings.learner))
        return shown

    def data(self) -> list[Block]:
        found: list[Block] = []
        if self.codes is not None:
            counts = self.counts
            order = np.argsort(-counts, kind="stable")[: 2 * _MOST_CLASSES]
            items = [
                {
                    "name": self.classes[k],
                    "detail": pluralize(int(counts[k]), "rows"),
                    "value": float(counts[k] / len(self.codes)),
                }
                for k in order.tolist()
            ]
            what = "labels" if self.labels else "classes"
            title = f"Rows of the {len(items)} most frequent {what}"
            if len(items) == len(counts):
                title = f"Rows of each {'label' if self.labels else 'class'}"
            found.append(bars(title, items, percent=True, shown=15))
        return [*found, self.columns(), *self.left_out()]

    # Errors

    def mistakes_lead(self) -> str:
        if self.labels:
            return "Each label on its own, at the threshold of the model."
        return "Rows are the true classes, columns the predicted ones; the diagonal is right."

    def mistakes(self) -> list[Block]:
        assert self.codes is not None
        if self.labels:
            return [self._class_table()]
        k = len(self.classes)
        counts = np.bincount(self.codes * k + self.predicted, minlength=k * k).reshape(k, k)
        shown, detail = np.arange(k), ""
        if k > _MOST_CLASSES:
            wrong = counts.sum(axis=1) + counts.sum(axis=0) - 2 * counts.diagonal()
            shown = np.sort(np.argsort(-wrong, kind="stable")[:_MOST_CLASSES])
            detail = f"The {_MOST_CLASSES} classes with the most mistakes, of {k}."
        matrix = {
            "kind": "matrix",
            "title": "Confusion matrix",
            "names": [self.classes[i] for i in shown.tolist()],
            "counts": counts[np.ix_(shown, shown)],
            "detail": detail,
        }
        off = counts.copy()
        np.fill_diagonal(off, 0)
        places = np.argsort(-off, axis=None, kind="stable")[:10].tolist()
        pairs = [
            [self.classes[p // k], self.classes[p % k], int(off.flat[p]),
             percent(off.flat[p] / counts[p // k].sum())]
            for p in places if off.flat[p]
        ]  # fmt: skip
        per_class = self._class_table()
        if k == 2:
            return [beside(matrix, per_class)]
        columns = ["true class", "predicted", "rows", "of the class"]
        worst = [table("Most frequent confusions", columns, pairs)] if pairs else []
        return [matrix, *worst, per_class] if k > 12 else [matrix, beside(*worst, per_class)]

    def _class_table(self) -> Block:
        rows = []
        for k in range(len(self.classes)):
            truth = self._is(k)
            said = self.predicted[:, k] > 0 if self.labels else self.predicted == k
            both, n, m = int((truth & said).sum()), int(truth.sum()), int(said.sum())
            precision, recall = both / m if m else np.nan, both / n if n else np.nan
            f1 = 2 * both / (n + m) if n + m else np.nan
            cells = [self.classes[k], n, *(percent(one) for one in (precision, recall, f1))]
            if self.labels:
                varied = 0 < n < len(truth)
                area = roc_auc(truth.astype(np.int64), self.row_scores[:, k]) if varied else np.nan
                cells.append(f"{area:.3f}" if varied else number(area))
            rows.append(cells)
        name = "label" if self.labels else "class"
        columns = [name, "rows", "precision", "recall", "F1", *(["ROC AUC"] if self.labels else [])]
        search = "Find a class" if len(rows) > 12 else None
        return table(f"By {name}", columns, rows, search=search, shown=12)

    def _curve_classes(self) -> list[int]:
        """Return the classes with curves of their own: the most frequent, the second of two."""
        if self.two:
            return [1, 0]
        order = np.argsort(-self.counts, kind="stable")[:_MOST_CURVES]
        return [k for k in sorted(order.tolist()) if self.counts[k]]

    def _frequent(self) -> str:
        """Return which classes have curves, unless all have."""
        n, total = len(self._curve_classes()), len(self.classes)
        plural = "labels" if self.labels else "classes"
        return "" if n == total else f" The {n} most frequent of {total:,} {plural} have curves."

    def _is(self, k: int) -> NDArray[np.bool_]:
        assert self.codes is not None
        return self.codes[:, k] > 0 if self.labels else self.codes == k

    def thresholds(self) -> tuple[str, list[Block]]:
        """Return how precision and recall of each class change with the threshold."""
        edges = np.linspace(0.0, 1.0, _BINS + 1)
        classes = []
        for k in self._curve_classes():
            truth, p = self._is(k), self.probabilities[:, k]
            classes.append(
                {
                    "name": self.classes[k],
                    "positives": np.histogram(p[truth], edges)[0],
                    "negatives": np.histogram(p[~truth], edges)[0],
                }
            )
        lead = (
            f"A row gets the {self.word.lower()} if its probability reaches the threshold. Move "
            "the threshold to trade precision for recall."
        )
        block = {"kind": "threshold", "classes": classes, "name": self.word}
        return lead + self._frequent(), [block]

    def margins(self) -> tuple[str, list[Block]]:
        """Return the distribution of the margins."""
        assert self.codes is not None
        total = self.model.terms_.total_vote
        if total == 0.0:
            return "", []
        values, shares = margin_distribution(self._margin_values())
        at = spaced(len(values), _MARGIN_POINTS)
        x, y = axis("normalized margin"), axis("share at or below", percent=True, low=0, high=1)
        wrong = float((values <= 0).mean())
        lines = [series("share at or below", values[at], shares[at], "steps")]
        edges, heights = histogram(values)
        of = "labels" if self.labels else "rows"
        spread = series(f"share of {of}", edges, heights, "area")
        lead = (
            f"The share of the vote by which the truth wins: above 0 is right. {percent(wrong)} "
            f"of the {of} are at or below 0; the median is {number(float(np.median(values)))}."
        )
        mark = [(0.0, "0")]
        share = axis(f"share of {of}", percent=True, low=0)
        return lead, [
            beside(
                chart("Cumulative distribution", x, y, lines, mark),
                chart("Histogram", x, share, [spread], mark),
            )
        ]

    def _margin_values(self) -> Reals:
        from edgewise.theory import margins

        assert self.codes is not None
        by_class = not self.two and not self.labels
        targets = self.codes if by_class else np.where(self.codes > 0, 1, -1)
        scores = self.row_scores[:, 0] if self.two else self.row_scores
        return margins(scores, targets, self.model.terms_.total_vote)

    def calibration(self) -> tuple[str, list[Block]]:
        """Return how often predictions come true, by their probability."""
        options: list[tuple[str, list[Block]]] = []
        best = self.probabilities.argmax(axis=1)
        if not self.two and not self.labels:
            p = self.probabilities[np.arange(len(best)), best]
            options.append(("the predicted class", self._reliability(p, best == self.codes)))
        for k in self._curve_classes():
            blocks = self._reliability(self.probabilities[:, k], self._is(k))
            options.append((self.classes[k], blocks))
        lead = (
            "Among rows with a probability of 70%, 70% should have the class: points on the "
            "diagonal. Bars are 95% intervals."
        )
        return lead + self._frequent(), [choice(self.word, options)]

    def _reliability(self, p: Reals, truth: NDArray[np.bool_]) -> list[Block]:
        """Return the share of rows of a class in bins of its probability."""
        means, shares, counts = reliability(p, truth, _CALIBRATION_BINS)
        gap = float(np.abs(means - shares) @ counts / len(p))
        spans = [proportion_interval(s, int(n)) for s, n in zip(shares, counts, strict=True)]
        low, high = rounded([one for one, _ in spans]), rounded([two for _, two in spans])
        points = series("observed", means, shares, "interval", low=low, high=high, n=counts)
        ideal = series("ideal", [0.0, 1.0], [0.0, 1.0], "guide")
        x = axis("mean probability", percent=True, low=0, high=1)
        y = axis("observed share", percent=True, low=0, high=1)
        edges, heights = histogram(p, np.linspace(0.0, 1.0, _CALIBRATION_BINS + 1))
        spread = series("share of rows", edges, heights, "area")
        share = axis("share of rows", percent=True, low=0)
        return [
            note(f"Mean gap between probability and observed share: {percent(gap, 2)}."),
            beside(
                chart("Reliability", x, y, [ideal, points]),
                chart(
                    "Probabilities given", axis("probability", percent=True, low=0, high=1), share,
                    [spread],
                ),
            ),
        ]  # fmt: skip

    # Rows

    def cases(self) -> tuple[str, list[Block]]:
        """Return the rows with the least probability of the truth, and why."""
        assert self.codes is not None
        p = self.probabilities
        if self.labels:
            wrong = (self.predicted != self.codes).any(axis=1)
            truth = np.where(self.codes > 0, p, 1.0 - p).min(axis=1)  # of the worst label
        else:
            wrong = self.predicted != self.codes
            truth = p[np.arange(len(p)), self.codes]
        order = np.argsort(np.where(wrong, truth, truth + 2.0), kind="stable")
        order = order[: min(_CASES, max(int(wrong.sum()), 3))]
        if len(order) == 0:
            return "", []
        lead = "The rows whose truth got the lowest probability, and what spoke against it."
        if not wrong.any():
            lead = "Every row is right; these are the closest calls."
        background = self.rows.take(sample(self.rows.n_rows, BACKGROUND_ROWS))
        try:
            reasons = [
                self.model.explain(self.rows.take(one), background) for one in order[:, None]
            ]
        except ValueError as problem:
            return str(problem), [note("The scores of single rows cannot be explained.")]
        items = [self._case(i, why) for i, why in zip(order.tolist(), reasons, strict=True)]
        more = (
            f" Contributions are Shapley values against {pluralize(background.n_rows, 'rows')} "
            f"drawn at random. Row numbers start at {self.first_row}."
        )
        tag = "Label" if self.labels else "True class"
        block = {"kind": "cases", "items": items, "tag": tag, "search": "Find in these rows"}
        return lead + more, [block]

    def _case(self, i: int, explained: Any) -> Block:
        assert self.codes is not None
        truth, answer = self.codes[i], self.predicted[i]
        row = int(self.chosen[i]) + self.first_row
        if self.labels:
            own = np.where(truth > 0, self.probabilities[i], 1.0 - self.probabilities[i])
            k = int(own.argmin())
            said = 1 - int(truth[k])
            amounts = explained.amounts[:, k] * (1 if said else -1)
            names = {"true": self._listed(truth), "predicted": self._listed(answer)}
            question = f"Why {'' if said else 'not '}{self.classes[k]}"
            chance = f"{self.classes[k]}: {_chance(self.probabilities[i, k])}"
            tags = [self.classes[k]]
        else:
            truth, guess = int(truth), int(answer)
            if guess == truth:
                masked = self.probabilities[i].copy()
                masked[truth] = -1.0
                guess = int(masked.argmax())
            if self.two:
                amounts = explained.amounts[:, 0] * (1 if guess else -1)
            else:
                amounts = explained.amounts[:, guess] - explained.amounts[:, truth]
            names = {"true": self.classes[truth], "predicted": self.classes[int(answer)]}
            question = f"Why {self.classes[guess]} rather than {self.classes[truth]}"
            p = self.probabilities[i]
            chance = (
                f"{self.classes[truth]}: {_chance(p[truth])}, "
                f"{self.classes[guess]}: {_chance(p[guess])}"
            )
            tags = [self.classes[truth]]
        return {
            "title": f"Row {row:,}",
            **names,
            "chance": chance,
            "question": question,
            "tags": tags,
            "parts": self.parts(amounts, explained.names, self.details(explained)),
        }

    def _listed(self, flags: NDArray[Any]) -> str:
        named = [self.classes[k] for k in np.flatnonzero(flags).tolist()]
        return ", ".join(named) or "none"


def _chance(p: float) -> str:
    """Return a probability; near 0 and 1 it does not look certain."""
    if p < 0.001:
        return "below 0.1%"
    return "above 99.9%" if p > 0.999 else percent(float(p))
