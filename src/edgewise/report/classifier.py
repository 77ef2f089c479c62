"""The page of a classifier: classes or labels."""

from dataclasses import dataclass
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
    predict_targets,
    reliability,
)
from edgewise.metrics.roc import roc_auc
from edgewise.metrics.significance import proportion_interval
from edgewise.report import blocks
from edgewise.report.blocks import format_number, format_percent, round_digits, shorten
from edgewise.report.boosted import BoostedSections, describe_sample, draw_sample, rounds_reason
from edgewise.report.page import Block, Report

_MAX_CLASSES, _MAX_BARS, _MAX_CURVES = 30, 60, 40
_THRESHOLDS, _CALIBRATION_BINS = 100, 10
_CASES, _BACKGROUND_ROWS = 15, 32


def classifier_report(
    model: Any, rows: Table, codes: NDArray[Any] | None, title: str | None = None
) -> Report:
    """Return the report of a fitted classifier on rows, and their targets in its codes, if known.

    `codes` are class numbers of shape (n,), or a 0/1 matrix of shape (n, K) of labels.
    """
    classes = [shorten(name) for name in model.classes_.tolist()]
    multilabel = bool(model.fitted_.multilabel)
    shared = _sections(model, rows, classes, multilabel)
    results = None
    if codes is not None:
        scores = shared.score(shared.rows)
        probabilities = model.fitted_.probabilities(scores)
        results = _ClassifierResults(
            classes, multilabel, codes[shared.indices], scores, probabilities
        )
    subtitle = (
        f"{type(model).__name__}, {pluralize(len(classes), 'labels' if multilabel else 'classes')},"
        f" {pluralize(rows.n_rows, 'rows')}, {pluralize(rows.n_columns, 'columns')}"
    )
    target = shared.target_names()
    page = Report(title or f"Classification report{target and ': '}{target}", subtitle)
    lead = describe_sample(shared.rows.n_rows, rows.n_rows)
    page.add("overview", "Overview", lead, _overview(model, rows.n_rows, results))
    shared.add_terms(page)
    frequencies = []
    if results is not None:
        bars_title = f"Rows by {results.noun}"
        frequencies = [
            blocks.frequency_bars(bars_title, classes, results.counts, "rows", _MAX_BARS)
        ]
    page.add("data", "Data", "", [*frequencies, *shared.columns()])
    page.add("training", "Training", *shared.training())
    if results is not None:
        page.add("mistakes", "Labels" if multilabel else "Mistakes", *_mistakes(results))
        page.add("threshold", "Threshold", *_thresholds(results))
        page.add("margins", "Margins", *_margins(results, model.fitted_.terms.total_vote))
        page.add("calibration", "Calibration", *_calibration(results))
    shared.add_model_sections(page)
    if results is not None:
        page.add("cases", "Worst predictions", *_cases(shared, results))
    return page


def _sections(model: Any, rows: Table, classes: list[str], multilabel: bool) -> BoostedSections:
    def score(rows: Table) -> Reals:
        return np.asarray(model.decision_function(rows)).reshape(rows.n_rows, -1)

    if multilabel or model.fitted_.terms.n_scores > 1:
        return BoostedSections(model, rows, score, classes, "Added to the scores")
    low, high = (shorten(name, 40) for name in classes)
    unit = f"Added to the score: above 0 for {high}, below for {low}"
    return BoostedSections(model, rows, score, [f"{high} rather than {low}"], unit)


@dataclass(frozen=True)
class _ClassifierResults:
    """The predictions of a classifier on rows whose targets are known."""

    classes: list[str]
    multilabel: bool
    codes: NDArray[Any]
    scores: Reals
    probabilities: Reals

    @cached_property
    def predictions(self) -> NDArray[Any]:
        return predict_targets(self.scores, self.multilabel)

    @property
    def is_binary(self) -> bool:
        """Whether there is one score column for two classes."""
        return self.scores.shape[1] == 1 and not self.multilabel

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """The number of rows of each class or label."""
        if self.multilabel:
            return self.codes.sum(axis=0)
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def noun(self) -> str:
        return "label" if self.multilabel else "class"

    def is_class(self, k: int) -> NDArray[np.bool_]:
        """Return which rows have a class or label."""
        return self._select(self.codes, k)

    def is_predicted(self, k: int) -> NDArray[np.bool_]:
        """Return which rows are predicted to have a class or label."""
        return self._select(self.predictions, k)

    def _select(self, codes: NDArray[Any], k: int) -> NDArray[np.bool_]:
        return codes[:, k] > 0 if self.multilabel else codes == k

    def roc_auc(self, k: int) -> float:
        """Return the ROC AUC of a class with a score column, or NaN if all rows are alike."""
        truth = self.is_class(1 if self.is_binary else k)
        if truth.all() or not truth.any():
            return np.nan
        return roc_auc(truth.astype(np.int64), self.scores[:, 0 if self.is_binary else k])

    @property
    def curve_classes(self) -> list[int]:
        """The classes with curves of their own: the most frequent, the second of two first."""
        if self.is_binary:
            return [1, 0]
        order = np.argsort(-self.counts, kind="stable")[:_MAX_CURVES]
        return [k for k in sorted(order.tolist()) if self.counts[k]]

    def describe_curves(self) -> str:
        """Return which classes have curves, unless all have."""
        n, total = len(self.curve_classes), len(self.classes)
        plural = "labels" if self.multilabel else "classes"
        return "" if n == total else f" The {n} most frequent of {total:,} {plural} are shown."


def _overview(model: Any, n_rows: int, results: _ClassifierResults | None) -> list[Block]:
    settings = model.settings_
    content = [blocks.note("No targets were given: errors are left out.")]
    if results is not None:
        content = [blocks.tiles(_metrics(results))]
        if settings.n_rows == n_rows:
            warning = (
                "There are as many rows as in training. If they are the training rows, expect "
                "larger errors on new ones."
            )
            content.append(blocks.note(warning))
    facts = [
        ("Model", type(model).__name__),
        ("Rounds", f"{settings.n_rounds:,}{rounds_reason(model)}"),
        ("Trained on", pluralize(settings.n_rows, "rows")),
    ]
    facts += blocks.format_settings(settings, ("loss", "votes", "learning_rate", "subsample"))
    if settings.held_out_error == settings.held_out_error:
        wrong, loss = format_percent(settings.held_out_error), settings.held_out_log_loss
        facts.append(("Held-out rows", f"error {wrong}, log loss {loss:.4f}"))
    return [*content, blocks.facts([*facts, ("Learner", settings.learner)])]


def _metrics(results: _ClassifierResults) -> list[tuple[str, str, str]]:
    y, scores, n = results.codes, results.scores, len(results.codes)
    wrong = error(y, scores)
    low, high = proportion_interval(1.0 - wrong, n)
    span = f"95% interval {format_percent(low)} to {format_percent(high)}"
    if results.multilabel:
        loss = f"{hamming_loss(y, scores):.4f}"
        items = [
            ("All labels correct", format_percent(1.0 - wrong), span),
            ("Hamming loss", loss, "fraction of wrong labels"),
        ]
        areas = [results.roc_auc(k) for k in range(len(results.classes))]
    else:
        majority = int(results.counts.argmax())
        baseline = f"{n - results.counts[majority]:,} when always predicting"
        detail = f"of {n:,} rows; {baseline} {shorten(results.classes[majority], 24)}"
        balanced = format_percent(balanced_accuracy(y, scores))
        items = [
            ("Accuracy", format_percent(1.0 - wrong), span),
            ("Errors", f"{round(wrong * n):,}", detail),
            ("Balanced accuracy", balanced, "mean recall of the classes"),
        ]
        areas = [results.roc_auc(1)] if results.is_binary else []
    items.append(("Log loss", f"{log_loss(y, results.probabilities):.4f}", "0 is best"))
    areas = [area for area in areas if area == area]
    if areas:
        items.append(("ROC AUC", f"{np.mean(areas):.4f}", "1 is best, 0.5 is chance"))
    return items


def _mistakes(results: _ClassifierResults) -> tuple[str, list[Block]]:
    """Return the confusion matrix, the most frequent confusions, and precision and recall."""
    by_class = _class_table(results)
    if results.multilabel:
        return "Each label on its own, at the threshold of the model.", [by_class]
    classes, k = results.classes, len(results.classes)
    counts = np.bincount(results.codes * k + results.predictions, minlength=k * k).reshape(k, k)
    mistakes = counts - np.diag(counts.diagonal())
    shown, detail = np.arange(k), ""
    if k > _MAX_CLASSES:
        wrong = mistakes.sum(axis=1) + mistakes.sum(axis=0)
        shown = np.sort(np.argsort(-wrong, kind="stable")[:_MAX_CLASSES])
        detail = f"The {_MAX_CLASSES} of {k} classes with the most mistakes."
    names = [classes[i] for i in shown.tolist()]
    shown_counts = counts[np.ix_(shown, shown)]
    matrix = blocks.confusion_matrix("Confusion matrix", names, shown_counts, detail=detail)
    lead = "Rows are the true classes, columns the predicted ones."
    if k == 2:
        return lead, [blocks.side_by_side(matrix, by_class)]
    pairs = []
    for i in np.argsort(-mistakes, axis=None, kind="stable")[:10].tolist():
        if n := int(mistakes.flat[i]):
            share = format_percent(n / counts[i // k].sum())
            pairs.append([classes[i // k], classes[i % k], n, share])
    columns = ["true class", "predicted", "rows", "of the class"]
    worst = [blocks.table("Most frequent confusions", columns, pairs)] if pairs else []
    if k > 12:
        return lead, [matrix, *worst, by_class]
    return lead, [matrix, blocks.side_by_side(*worst, by_class)]


def _class_table(results: _ClassifierResults) -> Block:
    rows = []
    for k, name in enumerate(results.classes):
        truth, answer = results.is_class(k), results.is_predicted(k)
        both, n, m = (int(mask.sum()) for mask in (truth & answer, truth, answer))
        precision, recall = both / m if m else np.nan, both / n if n else np.nan
        f1 = 2 * both / (n + m) if n + m else np.nan
        cells = [name, n, *map(format_percent, (precision, recall, f1))]
        if results.multilabel:
            area = results.roc_auc(k)
            cells.append(f"{area:.3f}" if area == area else format_number(area))
        rows.append(cells)
    columns = [results.noun, "rows", "precision", "recall", "F1"]
    columns += ["ROC AUC"] * results.multilabel
    search = "Find a class" if len(rows) > 12 else None
    return blocks.table(f"By {results.noun}", columns, rows, search=search, shown=12)


def _thresholds(results: _ClassifierResults) -> tuple[str, list[Block]]:
    """Return how precision and recall of each class change with the threshold."""
    edges = np.linspace(0.0, 1.0, _THRESHOLDS + 1)
    options = []
    for k in results.curve_classes:
        truth, p = results.is_class(k), results.probabilities[:, k]
        positives, negatives = (np.histogram(p[rows], edges)[0] for rows in (truth, ~truth))
        options.append({"name": results.classes[k], "positives": positives, "negatives": negatives})
    lead = (
        f"A row gets the {results.noun} if its probability reaches the threshold. Move the "
        f"threshold to trade precision for recall.{results.describe_curves()}"
    )
    return lead, [{"kind": "threshold", "classes": options, "name": results.noun.capitalize()}]


def _margins(results: _ClassifierResults, total_vote: float) -> tuple[str, list[Block]]:
    from edgewise.theory import margins

    if total_vote == 0.0:
        return "", []
    by_class = not results.is_binary and not results.multilabel
    targets = results.codes if by_class else np.where(results.codes > 0, 1, -1)
    scores = results.scores[:, 0] if results.is_binary else results.scores
    values = margins(scores, targets, total_vote)
    wrong, median = float((values <= 0).mean()), float(np.median(values))
    unit = "labels" if results.multilabel else "rows"
    x, marks = blocks.axis("normalized margin"), [(0.0, "0")]
    lead = (
        "The margin is the share of the votes by which the truth wins: the prediction is wrong at "
        f"or below 0. {format_percent(wrong)} of the {unit} are there; the median is "
        f"{format_number(median)}."
    )
    cumulative = blocks.cumulative_chart("Cumulative distribution", x, values, unit, marks=marks)
    histogram = blocks.histogram_chart("Histogram", x, values, unit, marks=marks)
    return lead, [blocks.side_by_side(cumulative, histogram)]


def _calibration(results: _ClassifierResults) -> tuple[str, list[Block]]:
    """Return the observed frequency of each class against its predicted probability."""
    options: list[tuple[str, list[Block]]] = []
    if not results.is_binary and not results.multilabel:
        best = results.probabilities.argmax(axis=1)
        p = results.probabilities[np.arange(len(best)), best]
        options.append(("the predicted class", _reliability(p, best == results.codes)))
    for k in results.curve_classes:
        content = _reliability(results.probabilities[:, k], results.is_class(k))
        options.append((results.classes[k], content))
    lead = (
        f"Of the rows with a probability of 70%, 70% should have the {results.noun}: points on the "
        f"diagonal are perfectly calibrated. Bars are 95% intervals.{results.describe_curves()}"
    )
    return lead, [blocks.choice(results.noun.capitalize(), options)]


def _reliability(p: Reals, truth: NDArray[np.bool_]) -> list[Block]:
    means, shares, counts = reliability(p, truth, _CALIBRATION_BINS)
    gap = float(np.abs(means - shares) @ counts / len(p))
    spans = np.array([proportion_interval(s, int(n)) for s, n in zip(shares, counts, strict=True)])
    low, high = map(round_digits, spans.T)
    points = blocks.series("observed", means, shares, "interval", low=low, high=high, n=counts)
    unit = {"percent": True, "low": 0, "high": 1}
    x = blocks.axis("mean predicted probability", **unit)
    y = blocks.axis("observed frequency", **unit)
    axis, bins = blocks.axis("probability", **unit), np.linspace(0.0, 1.0, _CALIBRATION_BINS + 1)
    return [
        blocks.note(f"Expected calibration error: {format_percent(gap, 2)}."),
        blocks.side_by_side(
            blocks.calibration_chart("Reliability", x, y, points, (0.0, 1.0)),
            blocks.histogram_chart("Probabilities", axis, p, "rows", bins),
        ),
    ]


def _cases(shared: BoostedSections, results: _ClassifierResults) -> tuple[str, list[Block]]:
    """Return the rows whose true class got the lowest probability, and why."""
    p, rows = results.probabilities, np.arange(len(results.codes))
    if results.multilabel:
        is_wrong = (results.predictions != results.codes).any(axis=1)
        truth = np.where(results.codes > 0, p, 1.0 - p).min(axis=1)  # of the worst label
    else:
        is_wrong = results.predictions != results.codes
        truth = p[rows, results.codes]
    order = np.argsort(np.where(is_wrong, truth, truth + 2.0), kind="stable")
    order = order[: min(_CASES, max(int(is_wrong.sum()), 3))]
    if len(order) == 0:
        return "", []
    background = shared.rows.take(draw_sample(len(rows), _BACKGROUND_ROWS))
    try:
        explanations = [
            shared.model.explain(shared.rows.take(row), background) for row in order[:, None]
        ]
    except ValueError as problem:
        return str(problem), [blocks.note("Single predictions cannot be explained.")]
    lead = f"Rows where the true {results.noun} got the lowest probability, and why."
    if not is_wrong.any():
        lead = "Every row is correct; these are the closest calls."
    lead += (
        f" Contributions are Shapley values against {pluralize(background.n_rows, 'rows')} drawn "
        f"at random. Row numbers start at {shared.first_row}."
    )
    make = _label_case if results.multilabel else _class_case
    items = []
    for i, explanation in zip(order.tolist(), explanations, strict=True):
        amounts, settings = make(results, i, explanation.amounts)
        title = f"Row {int(shared.indices[i]) + shared.first_row:,}"
        columns = explanation.names, explanation.details, amounts.tolist()
        bias, *others = zip(*columns, strict=True)
        others = sorted((c for c in others if c[2]), key=lambda c: -abs(c[2]))
        items.append(blocks.case(title, shared.contributions([bias, *others]), **settings))
    tag = "Label" if results.multilabel else "True class"
    return lead, [blocks.cases(items, search="Find in these rows", tag=tag)]


def _label_case(
    results: _ClassifierResults, i: int, amounts: Reals
) -> tuple[Reals, dict[str, Any]]:
    """Return the contributions to the worst label of a row, and what is shown of the row."""
    truth, p = results.codes[i], results.probabilities[i]
    k = int(np.where(truth > 0, p, 1.0 - p).argmin())
    answer = 1 - int(truth[k])
    true, guess = (
        ", ".join(results.classes[j] for j in np.flatnonzero(flags).tolist()) or "none"
        for flags in (truth, results.predictions[i])
    )
    return amounts[:, k] * (1 if answer else -1), {
        "true": true, "predicted": guess, "tags": [results.classes[k]],
        "question": f"Why {'' if answer else 'not '}{results.classes[k]}",
        "detail": f"{results.classes[k]}: {_format_probability(p[k])}",
    }  # fmt: skip


def _class_case(
    results: _ClassifierResults, i: int, amounts: Reals
) -> tuple[Reals, dict[str, Any]]:
    """Return the contributions to the strongest other class, and what is shown of the row."""
    names, p = results.classes, results.probabilities[i]
    truth, answer = int(results.codes[i]), int(results.predictions[i])
    other = answer
    if answer == truth:
        other = int(np.where(np.arange(len(p)) == truth, -1.0, p).argmax())
    if results.is_binary:
        difference = amounts[:, 0] * (1 if other else -1)
    else:
        difference = amounts[:, other] - amounts[:, truth]
    return difference, {
        "true": names[truth], "predicted": names[answer], "tags": [names[truth]],
        "question": f"Why {names[other]} rather than {names[truth]}",
        "detail": ", ".join(f"{names[k]}: {_format_probability(p[k])}" for k in (truth, other)),
    }  # fmt: skip


def _format_probability(p: float) -> str:
    """Return a probability; near 0 and 1 it does not look certain."""
    if p < 0.001:
        return "below 0.1%"
    return "above 99.9%" if p > 0.999 else format_percent(float(p))
