"""The page of a recommender: errors of ratings, a map of the items, and lists with reasons."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Indices, Reals
from edgewise.common.text import pluralize
from edgewise.metrics.registry import metric_title
from edgewise.metrics.significance import mean_interval
from edgewise.ratings import Ratings
from edgewise.report import blocks
from edgewise.report.blocks import capitalize, format_number, format_percent, round_digits, shorten
from edgewise.report.curves import evenly_spaced, learning_curves
from edgewise.report.page import Block, Report

_USERS, _LIST, _LIKED, _HISTORY, _CASES = 8, 10, 6, 20, 12
_BINS, _MAX_LEVELS, _MAX_FACTS, _MAX_CONTRIBUTIONS = 10, 12, 16, 6
# A session ends when the user rates nothing for an hour.
_SESSION_S = 3600.0
# Times from 1980 on are seconds since 1970; smaller ones may be anything.
_MIN_SECONDS = 3e8
# What a metric that is a fraction is a fraction of.
_FRACTIONS = {
    "one_zero_best": "of rounded predictions",
    "disagreement": "of the pairs of a user's items",
    "catalog_coverage@10": "of all items are on a list of ten",
}


class RecommenderResults(NamedTuple):
    """A fitted recommender and its results on test ratings."""

    model: Any
    test: Ratings
    predictions: Reals
    """Of the test ratings."""
    metrics: Mapping[str, tuple[float, float]]
    """By name, with half their 95% interval over users."""
    n_users: int | None
    """The number of users that lists were evaluated for; None is all."""
    exposure: Any
    """The exposure of groups of items, or None."""
    item_map: tuple[Indices, Reals, Reals] | None
    """Some items, their positions on two components, and the shares of the variance."""
    names: Mapping[Any, str]
    """Of items."""

    @property
    def train(self) -> Ratings:
        """The training ratings."""
        return self.model.ratings_

    @property
    def is_rating(self) -> bool:
        """Whether the model predicts ratings, rather than scores that only order items."""
        return bool(self.model.predicts == "rating")

    def train_indices(self, side: str) -> Indices:
        """Return the index of the user or item of each test rating in training, or -1."""
        if side == "users":
            return self.train.user_ids.find(side, self.test.user_ids.values)[self.test.users]
        return self.train.item_ids.find(side, self.test.item_ids.values)[self.test.items]

    def item_name(self, item: Any) -> str:
        """Return the name of an item, or its id."""
        return shorten(self.names.get(_to_python(item), item), 80)

    def contributions(self, user: Any, item: Any) -> list[Block]:
        """Return the contributions to a score; none if the model cannot explain it."""
        try:
            contributions = self.model.explain(user, item).contributions
        except (AttributeError, ValueError, TypeError):
            return []
        by_text = {str(key): name for key, name in self.names.items()}
        # Names and details may be items.
        translated = [
            (by_text.get(c.name, c.name), by_text.get(c.detail, c.detail), c.amount)
            for c in contributions
        ]
        return blocks.contribution_bars(translated, _MAX_CONTRIBUTIONS)


def recommender_report(results: RecommenderResults, title: str | None = None) -> Report:
    """Return the report of a fitted recommender on test ratings."""
    model, test = results.model, results.test
    subtitle = (
        f"{type(model).__name__}, {pluralize(len(test), 'ratings')} of "
        f"{pluralize(len(np.unique(test.items)), 'items')} by "
        f"{pluralize(len(np.unique(test.users)), 'users')}"
    )
    page = Report(title or "Recommender report", subtitle)
    page.add("overview", "Overview", "", _overview(results))
    page.add("data", "Data", "", _data(results))
    curves = learning_curves(model)
    page.add("training", "Training", "", blocks.learning_charts(curves) if curves.losses else [])
    if results.is_rating:
        page.add("errors", "Errors", *_errors(results))
        page.add("calibration", "Calibration", *_calibration(results))
    page.add("map", "Map of items", *_item_map(results))
    page.add("exposure", "Exposure", *_exposure(results.exposure))
    page.add("lists", "Recommended lists", *_lists(results))
    if results.is_rating:
        page.add("cases", "Worst predictions", *_cases(results))
    return page


def _overview(results: RecommenderResults) -> list[Block]:
    model, train = results.model, results.train
    items = []
    for name, (value, half) in results.metrics.items():
        if value != value:
            continue
        text, details = f"{value:.4f}", []
        low, high = f"{value - half:.3f}", f"{value + half:.3f}"
        if name == "rmse":
            always = float(np.sqrt(np.mean((results.test.values - model.mean_) ** 2)))
            details.append(f"{always:.4f} when always predicting the mean")
        elif name in _FRACTIONS:
            text, details = format_percent(value), [_FRACTIONS[name]]
            low, high = format_percent(value - half), format_percent(value + half)
        if half == half:
            details.append(f"95% interval {low} to {high}, over users")
        items.append((capitalize(metric_title(name)), text, "; ".join(details)))
    sizes = ((len(train), "ratings"), (train.n_users, "users"), (train.n_items, "items"))
    rows = [
        ("Model", type(model).__name__),
        ("Trained on", ", ".join(pluralize(*size) for size in sizes)),
    ]
    rows += blocks.format_settings(
        model,
        [
            name
            for name, value in model.get_params(deep=False).items()
            if not (value is None or name in ("verbose", "n_jobs") or hasattr(value, "get_params"))
        ],
    )
    notes = map(blocks.note, _warnings(results))
    return [blocks.tiles(items), *notes, blocks.facts(rows[:_MAX_FACTS])]


def _warnings(results: RecommenderResults) -> list[str]:
    warnings, model, train = [], results.model, results.train
    users, items = results.train_indices("users"), results.train_indices("items")
    known = (users >= 0) & model.known_users_[users] & (items >= 0) & model.known_items_[items]
    pairs = users[known].astype(np.int64) * train.n_items + items[known]
    seen = train.users.astype(np.int64) * train.n_items + train.items
    if n_seen := int(np.isin(pairs, seen).sum()):
        warnings.append(
            f"{format_percent(n_seen / len(users))} of these ratings were in training: errors on "
            "new ratings are larger."
        )
    if n_unknown := int((~known).sum()):
        warnings.append(
            f"{pluralize(n_unknown, 'ratings')} of unknown users or items: means are predicted."
        )
    if results.n_users is not None:
        warnings.append(f"Lists were evaluated for {results.n_users:,} users, drawn at random.")
    return warnings


def _data(results: RecommenderResults) -> list[Block]:
    train, test = results.train, results.test
    levels = np.union1d(train.levels, test.levels)
    content: list[Block] = []
    if 1 < len(levels) <= 2 * _MAX_LEVELS:
        items = []
        for level in levels.tolist():
            here, there = (float((ratings.values == level).mean()) for ratings in (test, train))
            detail = f"{format_percent(there)} in training"
            items.append(blocks.bar(format_number(level), here, detail=detail))
        content.append(blocks.bars("Share of each rating", items, percent=True))
    charts = []
    for side, view in (("user", train.by_user), ("item", train.by_item)):
        sizes = view.sizes[view.sizes > 0]
        is_log = len(sizes) > 1 and sizes.max() > 50 * max(sizes.min(), 1)
        x = blocks.axis(f"ratings per {side}", integer=True, log=bool(is_log))
        charts.append(blocks.cumulative_chart(f"Training ratings per {side}", x, sizes, f"{side}s"))
    view = train.by_item
    rows = [
        [results.item_name(train.item_ids.values[i]), int(view.sizes[i]), f"{view.means[i]:.2f}"]
        for i in np.argsort(-view.sizes, kind="stable")[:100].tolist()
        if view.sizes[i]
    ]
    columns, search = ["item", "ratings", "mean rating"], "Find an item"
    most_rated = blocks.table("Most rated items", columns, rows, search=search, shown=8)
    return [*content, blocks.side_by_side(*charts), most_rated]


def _errors(results: RecommenderResults) -> tuple[str, list[Block]]:
    truth, guess = results.test.values, results.predictions
    errors = np.abs(guess - truth)
    x = blocks.axis("predicted minus true rating")
    distribution = blocks.histogram_chart("Errors", x, guess - truth, "ratings", marks=[(0.0, "0")])
    levels = np.unique(truth)
    content = [distribution]
    if 1 < len(levels) <= _MAX_LEVELS:
        names, k = [format_number(level) for level in levels.tolist()], len(levels)
        items = []
        for level, name in zip(levels, names, strict=True):
            mean, low, high = mean_interval(errors[truth == level])
            detail = f"({int((truth == level).sum()):,})"
            span = {"low": low, "high": high, "text": f"{mean:.3f}"}
            items.append(blocks.bar(f"rated {name}", mean, detail=detail, **span))
        nearest = np.abs(guess[:, None] - levels).argmin(axis=1)
        codes = np.searchsorted(levels, truth) * k + nearest
        counts = np.bincount(codes, minlength=k * k).reshape(k, k)
        title = "True ratings and rounded predictions"
        content = [
            blocks.confusion_matrix(title, names, counts, plain=True),
            blocks.side_by_side(blocks.bars("Mean absolute error", items), distribution),
        ]
    charts = []
    for side, view in (("user", results.train.by_user), ("item", results.train.by_item)):
        indices = results.train_indices(f"{side}s")
        sizes = np.where(indices >= 0, view.sizes[indices], 0).astype(np.float64)
        points = blocks.bin_means("mean absolute error", sizes, errors, _BINS)
        if points is not None:
            x = blocks.axis(f"training ratings of the {side}", log=min(points["x"]) > 0)
            y = blocks.axis("mean absolute error", low=0)
            charts.append(blocks.chart(f"Error by ratings of the {side}", x, y, [points]))
    if charts:
        content.append(blocks.side_by_side(*charts))
    return "The differences between predictions and ratings.", content


def _calibration(results: RecommenderResults) -> tuple[str, list[Block]]:
    points = blocks.bin_means("mean rating", results.predictions, results.test.values, 2 * _BINS)
    if points is None:
        return "", []
    both = [*points["x"], *points["y"]]
    x, y = blocks.axis("predicted rating"), blocks.axis("mean rating")
    lead = (
        "Ratings predicted as 4 should have a mean of 4: points on the diagonal are perfectly "
        "calibrated. Bars are 95% intervals."
    )
    calibration = blocks.calibration_chart("Calibration", x, y, points, (min(both), max(both)))
    histogram = blocks.histogram_chart("Predictions", x, results.predictions, "ratings")
    return lead, [blocks.side_by_side(calibration, histogram)]


def _item_map(results: RecommenderResults) -> tuple[str, list[Block]]:
    if results.item_map is None:
        return "", []
    chosen, positions, shares = results.item_map
    view = results.train.by_item
    x, y = round_digits(positions[:, 0]), round_digits(positions[:, 1])
    points = [
        {"name": results.item_name(results.train.item_ids.values[i]), "x": x[k], "y": y[k],
         "detail": pluralize(int(view.sizes[i]), "ratings")}
        for k, i in enumerate(chosen.tolist())
    ]  # fmt: skip
    lead = (
        "Items that are close are liked by the same users. The axes are the first two principal "
        f"components of the items: {format_percent(shares[0], 0)} and "
        f"{format_percent(shares[1], 0)} of the variance."
    )
    block = {
        "kind": "map", "title": f"The {len(chosen)} most rated items", "points": points,
        "x": "first component", "y": "second component", "item": "item", "search": "Find an item",
        "detail": "Names are written where there is room; point at a dot to read the others.",
    }  # fmt: skip
    return lead, [block]


def _exposure(exposure: Any) -> tuple[str, list[Block]]:
    if exposure is None or not exposure.lists.any():
        return "", []
    lead = (
        'Three groups of items with a third of the training ratings each: "head" are the few most '
        'rated items, "tail" the many least rated. Unbiased lists have a third of each.'
    )
    charts = []
    for unit, shares in (("items", exposure.items), ("lists", exposure.lists)):
        pairs = zip(exposure.groups, shares.tolist(), strict=True)
        items = [blocks.bar(group, share, text=format_percent(share)) for group, share in pairs]
        charts.append(blocks.bars(f"Share of the {unit}", items, percent=True))
    return lead, [blocks.side_by_side(*charts)]


def _lists(results: RecommenderResults) -> tuple[str, list[Block]]:
    train, test = results.train, results.test
    sizes = np.where(results.model.known_users_, train.by_user.sizes, 0)
    users = np.argsort(sizes, kind="stable")
    users = users[sizes[users] > 0]
    if len(users) == 0:
        return "", []
    tested = np.isin(train.user_ids.values[users], test.user_ids.values[np.unique(test.users)])
    users = users[tested] if tested.any() else users
    options = []
    for u in users[evenly_spaced(len(users), _USERS)][::-1].tolist():
        name = shorten(train.user_ids.values[u], 60)
        options.append((f"{name} ({pluralize(int(sizes[u]), 'ratings')})", _user(results, u)))
    lead = (
        f"The top {_LIST} items that a user has not rated, between the user's rating history and "
        "the test ratings; for users with many to few ratings."
    )
    return lead, [blocks.choice("User", options)]


def _user(results: RecommenderResults, u: int) -> list[Block]:
    """Return the history of a user, the recommended items, and the test ratings."""
    user = _to_python(results.train.user_ids.values[u])
    ranked = results.model.recommend(user, n=results.train.n_items)
    items, scores = ranked.ids.tolist(), ranked.scores.tolist()
    return [
        *_history(results, u),
        _recommend_items(results, user, items[:_LIST], scores[:_LIST]),
        *_test_ratings(results, user, items),
    ]


def _history(results: RecommenderResults, u: int) -> list[Block]:
    items, values, times = _user_ratings(results.train, u)
    names, numbers = [*map(results.item_name, items)], [*map(format_number, values)]
    best = np.argsort(-values, kind="stable")[:_LIKED].tolist()
    liked = "; ".join(f"{names[i]}: {numbers[i]}" for i in best)
    facts = blocks.facts([("Liked best", liked)])
    if times is None:
        return [facts]
    order = np.argsort(times, kind="stable")[-_HISTORY:]
    title = "Rating history"
    if n_omitted := len(values) - len(order):
        title += f" ({pluralize(n_omitted, 'earlier ratings')} omitted)"
    cells = [[names[i], numbers[i]] for i in order.tolist()]
    return [facts, _ratings_table(title, ["item", "rating"], cells, times[order])]


def _recommend_items(
    results: RecommenderResults, user: Any, items: list[Any], scores: list[float]
) -> Block:
    if not items:
        return blocks.note("No items to recommend.")
    model, tested = results.model, int(results.test.user_ids.find("users", [user])[0])
    ratings: dict[Any, float] = {}
    if tested >= 0:
        test_items, values, _ = _user_ratings(results.test, tested)
        ratings = dict(zip(test_items.tolist(), values.tolist(), strict=True))
    listed = []
    for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1):
        text = f"score {format_number(round(score, 3))}"
        if results.is_rating:
            text = f"predicted {min(max(score, model.low_), model.high_):.2f}"
        if item in ratings:
            text += f", rated {format_number(ratings[item])} in the test"
        reasons = results.contributions(user, item)
        question = "Contributions to the score" if reasons else ""
        title = f"{rank}. {results.item_name(item)}"
        listed.append(blocks.case(title, reasons, question, detail=text, total="score"))
    return _explain_cases(listed, "Recommended", ["item", "score"])


def _explain_cases(items: list[Block], title: str, columns: list[str], **settings: Any) -> Block:
    """Return cases, or a table of them if the model cannot explain its scores."""
    if any(item["contributions"] for item in items):
        return blocks.cases(items, **settings)
    return blocks.table(title, columns, [[item["title"], item["detail"]] for item in items])


def _test_ratings(results: RecommenderResults, user: Any, listed: list[Any]) -> list[Block]:
    """Return the test ratings of a user in their order, and the ranks of the items."""
    test, ranks = results.test, {item: rank for rank, item in enumerate(listed, 1)}
    rows = np.flatnonzero(test.users == test.user_ids.find("users", [user])[0])
    if len(rows) == 0:
        return []
    if test.times is not None:
        rows = rows[np.argsort(test.times[rows], kind="stable")]
    rows = rows[:_HISTORY]
    cells = []
    for row in rows.tolist():
        item = _to_python(test.item_ids.values[test.items[row]])
        rank = f"{ranks[item]:,} of {len(listed):,}" if item in ranks else "unknown"
        rating, prediction = format_number(test.values[row]), f"{results.predictions[row]:.2f}"
        cells.append([results.item_name(item), rating, prediction, rank])
    columns = ["item", "rating", "predicted" if results.is_rating else "score", "rank"]
    times = None if test.times is None else test.times[rows]
    return [_ratings_table("Test ratings", columns, cells, times)]


def _ratings_table(
    title: str, columns: list[str], cells: list[list[str]], times: Reals | None
) -> Block:
    """Return a table of ratings; with ascending times, each session is marked where it begins."""
    if times is not None:
        columns = ["session", *columns]
        cells = [[start, *row] for start, row in zip(_session_starts(times), cells, strict=True)]
    return blocks.table(title, columns, cells, shown=_HISTORY)


def _cases(results: RecommenderResults) -> tuple[str, list[Block]]:
    test, predictions = results.test, results.predictions
    items = []
    for row in np.argsort(-np.abs(predictions - test.values), kind="stable")[:_CASES].tolist():
        user = _to_python(test.user_ids.values[test.users[row]])
        item = _to_python(test.item_ids.values[test.items[row]])
        title = f"{results.item_name(item)} for {shorten(user, 40)}"
        text = f"rated {test.values[row]:g}, predicted {predictions[row]:.2f}"
        reasons = results.contributions(user, item)
        question = "Contributions to the prediction"
        items.append(blocks.case(title, reasons, question, detail=text, total="prediction"))
    columns, search = ["pair", "rating"], "Find in these ratings"
    content = [_explain_cases(items, "Ratings", columns, search=search)]
    return "The ratings with the largest errors.", content


def _user_ratings(ratings: Ratings, user: int) -> tuple[NDArray[Any], Reals, Reals | None]:
    """Return the items that a user rated, the values, and the times if there are any."""
    view = ratings.by_user
    span = view.span(user)
    times = None if ratings.times is None else ratings.times[view.rows[span]]
    return ratings.item_ids.values[view.others[span]], view.values[span], times


def _session_starts(times: Reals) -> list[str]:
    """Return when each session of ascending times begins, beside its first rating."""
    is_seconds = bool((times >= _MIN_SECONDS).all())
    is_first = np.ones(len(times), dtype=bool)
    is_first[1:] = ~(np.diff(times) <= (_SESSION_S if is_seconds else 0.0))
    starts = [format_number(time) for time in times.tolist()]
    if is_seconds:  # to the minute
        starts = [str(time)[:16].replace("T", " ") for time in times.astype("datetime64[s]")]
    return [start if first else "" for start, first in zip(starts, is_first, strict=True)]


def _to_python(value: Any) -> Any:
    """Return a NumPy scalar as a Python object."""
    return value.item() if isinstance(value, np.generic) else value
