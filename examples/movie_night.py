"""A movie night: compare recommenders, pick movies for one person, say why, let a friend join.

    python examples/movie_night.py                      # for user 1 of MovieLens 100K
    python examples/movie_night.py --user 310 --picture map.png

The ratings come from $EDGEWISE_DATA, the cache, or a download. They are for research only; the
first line of the output states the terms.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from edgewise import datasets, fusion, plots
from edgewise.ratings import Split
from edgewise.recommend import (
    BiasBaseline,
    BoostedFactorization,
    ImplicitFactorization,
    ItemKNN,
    MatrixFactorization,
    RankBoostRecommender,
    RecommendedList,
    Recommender,
    RecommenderComparison,
    compare,
)

Titles = Mapping[int, str]

# Somebody who came for the explosions.
FRIEND = 1000
FRIENDS_RATINGS = {
    "The Terminator": 5,
    "Die Hard": 5,
    "Aliens": 5,
    "The English Patient": 2,
    "Sense and Sensibility": 1,
}
WAYS = {"mean": "by the mean of both ratings", "borda": "by Borda points"}
METRICS = ("rmse", "mae_best", "one_zero_best", "disagreement", "ndcg")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole evening."""
    options = parsed(arguments)
    movies = datasets.load("ml-100k")
    if options.user not in movies.ratings.user_ids.values:
        raise SystemExit(f"--user must be one of the users, from 1 to 943, got {options.user}")
    titles = {item: plain_title(title) for item, title in movies.item_titles.items()}
    print(f"MovieLens 100K. {movies.info.license}.\n")

    print("Which model? On the published fold 1, trained on 80,000 ratings:\n")
    print(f"{compared(movies.fold(1), options.rounds)}\n")

    user, n = options.user, options.n
    model = BoostedFactorization(options.rounds, random_state=0).fit(movies.ratings)
    best = model.recommend(user, n)
    first = best.ids[0].item()
    say(f"For user {user}, out of all ratings:", shown(best, titles))
    say(f"Why {titles[first]}?", reasons(model, user, first, titles))
    knn = ItemKNN().fit(movies.ratings)
    say(
        f"Item neighbors say {knn.predict(user, first):.2f}, from the most similar movies:",
        neighbors(knn, user, first, titles),
    )
    ranker = RankBoostRecommender(random_state=0).fit(movies.ratings)
    say(
        f"RankBoost for user {user} counts what other users vote:",
        votes(ranker, user, first),
    )

    likes = by_title(FRIENDS_RATINGS, titles)
    both = model.fold_in({FRIEND: likes})
    say(
        f"A friend joins, with {len(likes)} ratings and without a new fit:",
        shown(both.recommend(FRIEND, n), titles),
    )
    say(
        f"For the two of them, what neither has rated, {WAYS[options.together]}:",
        shown(together(both, (user, FRIEND), n, options.together), titles),
    )

    picture = plots.ItemMapDisplay.from_estimator(model, names=titles)
    picture.ax_.set_title("What the model sees in movies", loc="left")
    picture.figure_.savefig(options.picture, dpi=150)
    print(f"The 100 most rated movies on two factors: {options.picture}")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A movie night with MovieLens 100K.")
    parser.add_argument("--user", type=int, default=1, help="the user who hosts (default: 1)")
    parser.add_argument("-n", type=int, default=8, help="length of the lists (default: 8)")
    parser.add_argument("--rounds", type=int, default=500, help="boosting rounds (default: 500)")
    parser.add_argument(
        "--together", choices=WAYS, default="mean", help="how to merge two lists (default: mean)"
    )
    parser.add_argument(
        "--picture",
        default="movie_night.png",
        help="picture file (default: movie_night.png)",
    )
    return parser.parse_args(arguments)


def say(heading: str, lines: Iterable[str]) -> None:
    print("\n".join([heading, "", *lines, ""]))


def compared(split: Split, n_rounds: int = 500) -> RecommenderComparison:
    """Compare a handful of models on one split; models that only score have no rating errors."""
    models = {
        "mean and biases": BiasBaseline(),
        "item neighbors": ItemKNN(),
        "matrix factorization": MatrixFactorization(random_state=0),
        "implicit feedback": ImplicitFactorization(random_state=0),
        "boosted factorization": BoostedFactorization(n_rounds, random_state=0),
    }
    return compare(models, split, METRICS)


def shown(ranked: RecommendedList, titles: Titles) -> Iterator[str]:
    """Yield one line per item of a list."""
    for item, score in zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True):
        yield f"  {score:5.2f}  {titles[item]}"


def reasons(model: BoostedFactorization, user: int, item: int, titles: Titles) -> Iterator[str]:
    """Yield the points that add up to a prediction."""
    why = model.explain(user, item)

    def points(name: str) -> float:
        return sum(part.amount for part in why.contributions if part.name == name)

    yield f"  {points('mean'):+.2f}  the average rating"
    yield f"  {points('user offset'):+.2f}  how much user {user} rates above average"
    yield f"  {points('item offset'):+.2f}  how much the movie is rated above average"
    yield f"  {points('user taste'):+.2f}  how user {user} rated other movies"
    yield f"  {points('rated'):+.2f}  which movies user {user} chose to rate, above all"
    for part in [part for part in why.contributions if part.name == "rated"][:4]:
        yield f"             {part.amount:+.3f}  {titles[int(part.detail)]}"
    yield f"  {points('feature'):+.2f}  the user's age, gender and occupation"
    yield f"  {why.score:5.2f}  in total"


def neighbors(model: ItemKNN, user: int, item: int, titles: Titles) -> Iterator[str]:
    """Yield the rated items most similar to an item."""
    for part in model.explain(user, item).contributions:
        if part.name != "baseline":
            yield f"  {part.amount:+.2f}  {titles[int(part.name)]} ({part.detail})"


def votes(model: RankBoostRecommender, user: int, item: int, n: int = 5) -> Iterator[str]:
    """Yield the votes for and against an item, which add up to its score."""
    why = model.explain(user, item, n)
    yield from str(why).splitlines()[1:]
    yield f"  {why.score:5.2f}  in total"


def together(
    model: Recommender, users: Sequence[int], n: int, way: str = "mean"
) -> RecommendedList:
    """Return one list for several users, of items that none of them has rated.

    "mean" ranks by the mean of their predicted ratings. "borda" gives an item one point for every
    item below it on each list, so that a strict user counts as much as a generous one.
    """
    ratings = model.ratings_
    view, places = ratings.by_user, ratings.user_ids.find("users", list(users))
    seen = np.concatenate([view.others[view.span(int(place))] for place in places])
    open_items = np.setdiff1d(np.flatnonzero(model.known_items_), seen)
    ids = ratings.item_ids.values[open_items]
    predictions = np.column_stack([model.predict(user, ids) for user in users])
    scores = predictions.mean(axis=1)
    if way == "borda":
        lists = fusion.RankedLists.from_scores(predictions, qid=np.zeros(len(ids), dtype=int))
        scores = fusion.borda(lists)
    best = np.argsort(-scores, kind="stable")[:n]
    return RecommendedList(ids[best], scores[best])


def by_title(ratings: Mapping[str, float], titles: Titles) -> dict[int, float]:
    """Turn ratings by title into ratings by id."""
    ids = {title: item for item, title in titles.items()}
    return {ids[title]: float(rating) for title, rating in ratings.items()}


def plain_title(title: str) -> str:
    """Return a title without its year, with the article in front.

    >>> plain_title("Godfather, The (1972)")
    'The Godfather'
    """
    name = re.sub(r" \((19|20)\d\d\)$", "", title)
    found = re.fullmatch(r"(.*), (The|A|An|Il|La|Le|Das)( \(.*\))?", name)
    return f"{found[2]} {found[1]}{found[3] or ''}" if found else name


if __name__ == "__main__":
    main()
