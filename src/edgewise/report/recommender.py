"""The page of a recommender: errors of ratings, lists with reasons, and a map of the items."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.metrics.registry import metric_title
from edgewise.metrics.significance import mean_interval
from edgewise.ratings import Ratings
from edgewise.report.blocks import (
    axis,
    bars,
    beside,
    binned,
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
from edgewise.report.page import Block, Report

_MAP_ITEMS = 120
_USERS = 8
_LIST = 10
_CASES = 12
_BINS = 10
_LEVELS = 12
_MOST_PARTS = 6
_MOST_ROUNDS = 300
_HISTORY = 20
# A session ends where a user rates nothing for an hour.
_SESSION_S = 3600.0
# Times from 1980 on are seconds since 1970; smaller ones may be anything.
_SECONDS_FROM = 3e8

_SHARES = {
    "one_zero_best": "of rounded predictions",
    "disagreement": "of a user's items",
    "catalog_coverage@10": "of all items, on a list of ten",
}


def recommender_report(
    model: Any,
    ratings: Ratings,
    metrics: Mapping[str, tuple[float, float]],
    predictions: Reals,
    names: Mapping[Any, str] | None = None,
    title: str | None = None,
    n_users: int | None = None,
    shares: Any = None,
) -> Report:
    """Return the report of a fitted recommender on test ratings.

    `metrics` are by name, with half their 95% interval over users; lists were measured for
    `n_users` users, for all if None. `predictions` are for the test ratings, `names` for the items;
    `shares` is the exposure of groups of items.
    """
    made = _RecommenderReport(model, ratings, metrics, predictions, names or {}, n_users)
    subtitle = (
        f"{type(model).__name__}, {pluralize(len(ratings), 'ratings')} of "
        f"{pluralize(len(np.unique(ratings.items)), 'items')} by "
        f"{pluralize(len(np.unique(ratings.users)), 'users')}"
    )
    page = Report(title or "Recommender report", subtitle)
    page.add("overview", "Overview", "", made.overview())
    page.add("data", "Data", "", made.data())
    page.add("training", "Training", "", made.training())
    if model.predicts == "rating":
        page.add("errors", "Errors", *made.errors())
        page.add("calibration", "Calibration", *made.calibration())
    page.add("map", "Map of items", *made.item_map())
    page.add("exposure", "Exposure", *made.exposure(shares))
    page.add("lists", "Recommended lists", *made.lists())
    if model.predicts == "rating":
        page.add("cases", "Most wrong", *made.cases())
    return page


class _RecommenderReport:
    """The sections of a recommender."""

    def __init__(
        self,
        model: Any,
        ratings: Ratings,
        metrics: Mapping[str, tuple[float, float]],
        predictions: Reals,
        names: Mapping[Any, str],
        n_users: int | None,
    ) -> None:
        self.model, self.ratings, self.metrics = model, ratings, metrics
        self.predictions, self.names, self.n_users = predictions, names, n_users
        self.trained: Ratings = model.ratings_
        self.truth = ratings.values
        # Where the users and items of each rating are in training; -1 where they are not.
        users = self.trained.user_ids.find("users", ratings.user_ids.values)
        items = self.trained.item_ids.find("items", ratings.item_ids.values)
        self.here_users, self.here_items = users[ratings.users], items[ratings.items]
        self.words = {str(key): value for key, value in names.items()}

    def item(self, name: Any) -> str:
        """Return the name of an item."""
        return short(self.names.get(_plain(name), name), 80)

    # Overview and data

    def overview(self) -> list[Block]:
        found = []
        for key, (value, half) in self.metrics.items():
            if value != value:
                continue
            text, about = f"{value:.4f}", ""
            span = f"95% interval {value - half:.3f} to {value + half:.3f}, over users"
            if key == "rmse":
                always = float(np.sqrt(np.mean((self.truth - self.model.mean_) ** 2)))
                about = f"always the mean: {always:.4f}; "
            elif key in _SHARES:
                text, about = percent(value), f"{_SHARES[key]}; "
                span = f"{percent(value - half)} to {percent(value + half)}"
            detail = about + span if half == half else about.removesuffix("; ")
            found.append(tile(metric_title(key), text, detail))
        blocks: list[Block] = [tiles(found)]
        blocks += [note(text) for text in self._warnings()]
        shown = [("Model", type(self.model).__name__)]
        trained = self.trained
        sizes = ((len(trained), "ratings"), (trained.n_users, "users"), (trained.n_items, "items"))
        shown.append(("Trained on", ", ".join(pluralize(*one) for one in sizes)))
        for key, value in self.model.get_params(deep=False).items():
            told = value is not None and key not in ("verbose", "n_jobs")
            if told and not hasattr(value, "get_params"):
                words = number(value) if isinstance(value, float) else short(value)
                shown.append((key.removeprefix("n_").replace("_", " ").capitalize(), words))
        blocks.append(facts(shown[:16]))
        return blocks

    def _warnings(self) -> list[str]:
        found = []
        here_users, here_items = self.here_users, self.here_items
        known = (here_users >= 0) & (here_items >= 0)
        pairs = here_users[known].astype(np.int64) * self.trained.n_items + here_items[known]
        seen = self.trained.users.astype(np.int64) * self.trained.n_items + self.trained.items
        share = float(np.isin(pairs, seen).sum() / len(self.ratings))
        if share > 0:
            found.append(
                f"{percent(share)} of these ratings were in training: errors look better than on "
                "new ones."
            )
        cold = int((~self.model._are_known(here_users, here_items)).sum())
        if cold:
            found.append(
                f"{pluralize(cold, 'ratings')} have a user or an item that training does not know: "
                "their predictions are means."
            )
        if self.n_users is not None:
            found.append(f"Lists were measured for {self.n_users:,} users, drawn at random.")
        return found

    def data(self) -> list[Block]:
        trained = self.trained
        levels = np.union1d(trained.levels, self.ratings.levels)
        found: list[Block] = []
        charts: list[Block] = []
        if 1 < len(levels) <= 2 * _LEVELS:
            items = []
            for level in levels.tolist():
                here, there = (float((one == level).mean()) for one in (self.truth, trained.values))
                detail = f"in training {percent(there)}"
                items.append({"name": number(level), "value": here, "detail": detail})
            found.append(bars("Share of each rating", items, percent=True))
        for side, view in (("user", trained.by_user), ("item", trained.by_item)):
            sizes = np.sort(view.sizes[view.sizes > 0])
            at = spaced(len(sizes), 120)
            many = len(sizes) > 1 and sizes[-1] > 50 * max(sizes[0], 1)
            x = axis(f"ratings of the {side}", integer=True, log=bool(many))
            y = axis(f"share of {side}s with at most", percent=True, low=0, high=1)
            line = series(f"share of {side}s", sizes[at], (at + 1) / len(sizes), "steps")
            charts.append(chart(f"Training ratings by {side}", x, y, [line]))
        found.append(beside(*charts))
        view = trained.by_item
        order = np.argsort(-view.sizes, kind="stable")[:100].tolist()
        rows = [
            [self.item(trained.item_ids.values[i]), int(view.sizes[i]), f"{view.means[i]:.2f}"]
            for i in order
            if view.sizes[i]
        ]
        columns = ["item", "ratings", "mean rating"]
        found.append(table("Most rated items", columns, rows, search="Find an item", shown=8))
        return found

    def training(self) -> list[Block]:
        model = self.model
        history = getattr(model, "history_", None) or {}
        lines = []
        for key, words in (("train_rmse", "training RMSE"), ("validation_rmse", "validation RMSE"),
                           ("bound", "bound"), ("train_error", "training error"),
                           ("hamming_loss", "Hamming loss")):  # fmt: skip
            values = history.get(key)
            if values is not None and len(values):
                at = spaced(len(values), _MOST_ROUNDS)
                style = "dash" if key == "bound" else "line"
                lines.append(series(words, at + 1, values[at], style))
        if lines:
            x = axis("boosting round", integer=True)
            return [chart("Error by round", x, axis("error", scales=True), lines)]
        losses = getattr(model, "loss_history_", None)
        if losses is not None and len(losses) > 1:
            at = spaced(len(losses), _MOST_ROUNDS)
            line = series("training loss", at, losses[at])
            x, y = axis("epoch", integer=True), axis("loss", scales=True)
            return [chart("Loss by epoch", x, y, [line])]
        return []

    # Errors

    def errors(self) -> tuple[str, list[Block]]:
        """Return the errors by level, by user, and how they are spread."""
        truth, guess = self.truth, self.predictions
        errors = guess - truth
        edges, heights = histogram(errors)
        x, y = axis("predicted less true rating"), axis("share of ratings", percent=True, low=0)
        spread = chart(
            "Errors", x, y, [series("share of ratings", edges, heights, "area")], [(0.0, "0")]
        )
        levels = np.unique(truth)
        blocks: list[Block] = []
        if 1 < len(levels) <= _LEVELS:
            items = []
            for level in levels.tolist():
                mean, low, high = mean_interval(np.abs(errors[truth == level]))
                items.append(
                    {"name": f"rated {number(level)}", "value": mean, "low": low, "high": high,
                     "text": f"{mean:.3f}", "detail": f"({int((truth == level).sum()):,})"}
                )  # fmt: skip
            near = np.abs(guess[:, None] - levels).argmin(axis=1)
            k = len(levels)
            codes = np.searchsorted(levels, truth) * k + near
            blocks.append(
                {
                    "kind": "matrix",
                    "title": "True ratings and nearest levels of the predictions",
                    "names": [number(level) for level in levels.tolist()],
                    "counts": np.bincount(codes, minlength=k * k).reshape(k, k),
                    "plain": True,
                }
            )
            blocks.append(beside(bars("Mean absolute error", items), spread))
        else:
            blocks.append(spread)
        lead = "How far predictions are from the ratings."
        activity = self._by_activity(np.abs(errors))
        return lead, [*blocks, *activity]

    def _by_activity(self, errors: Reals) -> list[Block]:
        """Return the mean absolute error against the number of training ratings."""
        charts = []
        for side in ("user", "item"):
            trained = self.trained
            places = self.here_users if side == "user" else self.here_items
            view = trained.by_user if side == "user" else trained.by_item
            sizes = np.where(places >= 0, view.sizes[places], 0)
            points = binned("mean absolute error", sizes.astype(np.float64), errors, _BINS)
            if points is not None:
                x = axis(f"training ratings of the {side}", log=min(points["x"]) > 0)
                y = axis("mean absolute error", low=0)
                charts.append(chart(f"Error by ratings of the {side}", x, y, [points]))
        return [beside(*charts)] if charts else []

    def calibration(self) -> tuple[str, list[Block]]:
        """Return the mean rating of pairs with about the same prediction."""
        truth, guess = self.truth, self.predictions
        points = binned("mean rating", guess, truth, 2 * _BINS)
        if points is None:
            return "", []
        both = [*points["x"], *points["y"]]
        ends = [min(both), max(both)]
        ideal = series("ideal", ends, ends, "guide")
        x, y = axis("predicted rating"), axis("mean rating")
        edges, heights = histogram(guess)
        share = axis("share of ratings", percent=True, low=0)
        spread = [series("share of ratings", edges, heights, "area")]
        lead = (
            "Ratings predicted as 4 should have a mean of 4: points on the diagonal. Bars are 95% "
            "intervals."
        )
        return lead, [
            beside(
                chart("Calibration", x, y, [ideal, points]),
                chart("Predictions", x, share, spread),
            )
        ]

    # Items and lists

    def item_map(self) -> tuple[str, list[Block]]:
        """Return the most rated items along the two directions in which they differ most."""
        try:
            chosen, positions, shares = item_positions(self.model, _MAP_ITEMS)
        except ValueError:
            return "", []
        ids, sizes = self.trained.item_ids.values[chosen], self.trained.by_item.sizes[chosen]
        points = [
            {"name": self.item(name), "x": x, "y": y, "detail": pluralize(int(n), "ratings")}
            for name, x, y, n in zip(
                ids, rounded(positions[:, 0]), rounded(positions[:, 1]), sizes, strict=True
            )
        ]
        lead = (
            "Items that are close are liked by the same users. The axes are the two directions in "
            f"which the model's items differ most: {percent(shares[0], 0)} and "
            f"{percent(shares[1], 0)} of the variance."
        )
        block = {
            "kind": "map",
            "title": f"The {len(chosen)} most rated items",
            "points": points,
            "x": "first factor",
            "y": "second factor",
            "item": "item",
            "search": "Find an item",
            "detail": "Names are written where there is room; point at a dot to read the others.",
        }
        return lead, [block]

    def exposure(self, shares: Any) -> tuple[str, list[Block]]:
        """Return which part of the lists goes to items that many, some or few have rated."""
        if shares is None or not shares.lists.any():
            return "", []
        lead = (
            "Items in three groups with a third of the training ratings each, from the few that "
            "are rated most to the many that are rated least. Lists as even as the ratings have a "
            "third of each."
        )
        columns = ("items", shares.items), ("lists", shares.lists)
        made = [
            bars(
                f"Share of the {name}",
                [
                    {"name": group, "value": float(share), "text": percent(float(share))}
                    for group, share in zip(shares.groups, values, strict=True)
                ],
                percent=True,
            )
            for name, values in columns
        ]
        return lead, [beside(*made)]

    def lists(self) -> tuple[str, list[Block]]:
        """Return the lists of a few users, with reasons."""
        sizes = np.where(self.model.known_users_, self.trained.by_user.sizes, 0)
        rated = np.argsort(sizes, kind="stable")
        rated = rated[sizes[rated] > 0]
        if len(rated) == 0:
            return "", []
        tested = self.ratings.user_ids.values[np.unique(self.ratings.users)]
        here = np.isin(self.trained.user_ids.values[rated], tested)
        rated = rated[here] if here.any() else rated
        users = rated[spaced(len(rated), _USERS)][::-1]
        options = [(self._user_name(u), self._user_blocks(u)) for u in users.tolist()]
        lead = (
            f"The {_LIST} best items that a user has not rated, for users with many ratings down "
            "to few; before them what the user rated last, and after them what came next."
        )
        return lead, [choice("User", options)]

    def _user_name(self, u: int) -> str:
        name = short(self.trained.user_ids.values[u], 60)
        return f"{name} ({pluralize(int(self.trained.by_user.sizes[u]), 'ratings')})"

    def _user_blocks(self, u: int) -> list[Block]:
        user = self.trained.user_ids.values[u]
        user = _plain(user)
        view = self.trained.by_user
        span = view.span(u)
        order = np.argsort(-view.values[span], kind="stable")[:6]
        best = self.trained.item_ids.values[view.others[span][order]].tolist()
        values = view.values[span][order].tolist()
        pairs = zip(best, values, strict=True)
        liked = "; ".join(f"{self.item(item)}: {number(value)}" for item, value in pairs)
        listed = self.model.recommend(user, n=self.trained.n_items)
        tested = self._tested(user)
        rows = list(zip(listed.ids.tolist(), listed.scores.tolist(), strict=True))[:_LIST]
        items = []
        for place, (item, score) in enumerate(rows):
            rating = tested.get(item)
            words = f"score {number(round(score, 3))}"
            if self.model.predicts == "rating":
                words = f"predicted {min(max(score, self.model.low_), self.model.high_):.2f}"
            if rating is not None:
                words += f", rated {number(rating)} in the test"
            why = self._why(user, item)
            items.append(
                {
                    "title": f"{place + 1}. {self.item(item)}",
                    "chance": words,
                    "question": "Where the score comes from" if why else "",
                    "total": "score",
                    "parts": why,
                }
            )
        found: list[Block] = [facts([("Liked best", liked)]), *self._history(u)]
        if not items:
            found.append(note("No item is left to recommend."))
        elif items[0]["parts"]:
            found.append({"kind": "cases", "items": items})
        else:
            cells = [[one["title"], one["chance"]] for one in items]
            found.append(table("Recommended", ["item", "score"], cells))
        return found + self._what_came_next(user, listed.ids.tolist())

    def _history(self, u: int) -> list[Block]:
        """Return the last training ratings of a user, in sessions, if there are times."""
        view, times = self.trained.by_user, self.trained.times
        if times is None:
            return []
        span = view.span(u)
        mine = times[view.rows[span]]
        order = np.argsort(mine, kind="stable")[-_HISTORY:]
        items = self.trained.item_ids.values[view.others[span][order]].tolist()
        values = view.values[span][order].tolist()
        rows = [
            [when, self.item(item), number(value)]
            for when, item, value in zip(_sessions(mine[order]), items, values, strict=True)
        ]
        left = len(mine) - len(rows)
        name = "Rated so far" + f", without the first {left:,}" * (left > 0)
        return [table(name, ["session", "item", "rating"], rows, shown=_HISTORY)]

    def _what_came_next(self, user: Any, listed: list[Any]) -> list[Block]:
        """Return the test ratings of a user, in their order, and where the items were listed."""
        test, place = self.ratings, {item: k + 1 for k, item in enumerate(listed)}
        mine = np.flatnonzero(test.users == int(test.user_ids.find("users", [user])[0]))
        if len(mine) == 0:
            return []
        whens = [""] * len(mine)
        if test.times is not None:
            mine = mine[np.argsort(test.times[mine], kind="stable")]
            whens = _sessions(test.times[mine])
        items = test.item_ids.values[test.items[mine]].tolist()
        ranks = [place.get(item) for item in items]
        rows = [
            [
                when,
                self.item(item),
                number(test.values[row]),
                f"{self.predictions[row]:.2f}",
                "unknown" if rank is None else f"{rank:,} of {len(listed):,}",
            ]
            for when, item, row, rank in zip(whens, items, mine.tolist(), ranks, strict=True)
        ][:_HISTORY]
        predicted = "predicted" if self.model.predicts == "rating" else "score"
        columns = ["session", "item", "rating", predicted, "place on the list"]
        if test.times is None:
            columns, rows = columns[1:], [row[1:] for row in rows]
        return [table("What came next: ratings of the test", columns, rows, shown=_HISTORY)]

    def _tested(self, user: Any) -> dict[Any, float]:
        """Return what a user rated in the test."""
        place = int(self.ratings.user_ids.find("users", [user])[0])
        if place < 0:
            return {}
        view = self.ratings.by_user
        span = view.span(place)
        ids = self.ratings.item_ids.values[view.others[span]].tolist()
        return dict(zip(ids, view.values[span].tolist(), strict=True))

    def _why(self, user: Any, item: Any) -> list[Block]:
        """Return what adds to a score, if the model can tell."""
        try:
            parts = list(self.model.explain(user, item).contributions)
        except (AttributeError, ValueError, TypeError):
            return []
        found: list[Block] = [
            {
                "name": self._part(part.name),
                "detail": self._part(part.detail),
                "amount": part.amount,
            }
            for part in parts[:_MOST_PARTS]
        ]
        if rest := parts[_MOST_PARTS:]:
            total = float(sum(part.amount for part in rest))
            found.append({"name": pluralize(len(rest), "others"), "detail": "", "amount": total})
        return found

    def _part(self, name: str) -> str:
        """Return the name of a source, or of the item that it is."""
        return short(self.words.get(name, name), 60) if name else ""

    def cases(self) -> tuple[str, list[Block]]:
        """Return the ratings with the largest errors, and where the predictions come from."""
        errors = np.abs(self.predictions - self.truth)
        order = np.argsort(-errors, kind="stable")[:_CASES].tolist()
        items = []
        for i in order:
            user = self.ratings.user_ids.values[self.ratings.users[i]]
            item = self.ratings.item_ids.values[self.ratings.items[i]]
            user, item = _plain(user), _plain(item)
            items.append(
                {
                    "title": f"{self.item(item)} for {short(user, 40)}",
                    "chance": f"rated {self.truth[i]:g}, predicted {self.predictions[i]:.2f}",
                    "question": "Where the prediction comes from",
                    "total": "prediction",
                    "parts": self._why(user, item),
                }
            )
        if not any(one["parts"] for one in items):
            rows = [[one["title"], one["chance"]] for one in items]
            return "The ratings farthest from their predictions.", [
                table("Ratings", ["pair", "rating"], rows)
            ]
        lead = "The ratings farthest from their predictions, and what led to these."
        return lead, [{"kind": "cases", "items": items, "search": "Find in these ratings"}]


def _sessions(times: Reals) -> list[str]:
    """Return when each session of ascending times begins, beside its first rating."""
    seconds = bool((times >= _SECONDS_FROM).all())
    begins = np.ones(len(times), dtype=bool)
    begins[1:] = ~(np.diff(times) <= (_SESSION_S if seconds else 0.0))
    words = [_moment(time) if seconds else number(time) for time in times.tolist()]
    return [word if new else "" for word, new in zip(words, begins.tolist(), strict=True)]


def _moment(seconds: float) -> str:
    """Return the date and time of a number of seconds since 1970, to the minute."""
    return str(np.datetime64(int(seconds), "s"))[:16].replace("T", " ")


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def item_positions(model: Any, n: int) -> tuple[NDArray[np.intp], Reals, Reals]:
    """Return the `n` most rated items, where they lie on a map, and the share of each direction.

    Raises ValueError where a model has too few items for a map, or all are alike.
    """
    sizes = np.where(model.known_items_, model.ratings_.by_item.sizes, -1)
    chosen = np.argsort(-sizes, kind="stable")[:n]
    chosen = chosen[sizes[chosen] >= 0]
    if len(chosen) < 3:
        raise ValueError(f"estimator must know at least 3 items to draw, it knows {len(chosen)}")
    return chosen, *_principal(model._vectors("items")[chosen])


def _principal(vectors: Any) -> tuple[Reals, Reals]:
    """Return positions of rows along two principal components, and the share of each."""
    # There are few items, but a row of ratings may be long.
    products = vectors @ vectors.T
    products = np.asarray(products.todense() if hasattr(products, "todense") else products)
    centered = products - products.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    sizes, directions = np.linalg.eigh((centered + centered.T) / 2.0)
    sizes, directions = np.maximum(sizes[::-1], 0.0), directions[:, ::-1]
    if sizes[0] <= 1e-12 * max(float(np.abs(products).max()), 1e-300):
        raise ValueError("model must have items that differ: all have the same vector")
    first = directions[:, :2]
    farthest = first[np.abs(first).argmax(axis=0), [0, 1]]
    return first * np.sqrt(sizes[:2]) * np.where(farthest < 0, -1.0, 1.0), sizes[:2] / sizes.sum()
