"""Whom and what lists are asked for: ids and ratings from words, looked at before training."""

import argparse
import csv
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.item_names import Names
from edgewise.commands.rating_files import ids_from
from edgewise.common.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.ratings import Ratings
    from edgewise.recommend import Ranked, RankedLists, Recommender

NEW = "new user"

Titled = tuple[str, "Ranked"]
"""A list, and what stands above it."""


def pairs_of(text: str) -> list[tuple[str, float | None]]:
    """Return items and ratings from words such as ``50=5,181=4``; None where no rating is given.

    Raises
    ------
    CommandError
        If a rating is no number, or an item is missing.

    Examples
    --------
    >>> pairs_of('Heat=5, "Good, the Bad=4"')
    [('Heat', 5.0), ('Good, the Bad', 4.0)]
    """
    try:
        words = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise CommandError(f"--new-user {text!r} has quotes that don't match: {error}") from error
    pairs = [_pair(text, word.strip()) for word in words]
    if not pairs:
        raise CommandError("--new-user must be item=rating with commas between, got nothing")
    return pairs


def _pair(text: str, word: str) -> tuple[str, float | None]:
    item, sign, number = word.rpartition("=")
    item, rating = (item.strip(), _real(number)) if sign else (word, None)
    if not item or (sign and rating is None):
        raise CommandError(
            f"--new-user must be item=rating with commas between, got {word!r} in {text!r}"
        )
    return item, rating


def _real(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class Asked(NamedTuple):
    """What lists are asked for, all of it known to the ratings.

    Attributes
    ----------
    users, items : arrays
        Whose lists, and what others are to be similar to.
    new : list of dict
        The ratings of each new user.
    n : int
        The length of lists.
    seen : bool
        Whether lists may hold what users have rated.
    everyone : bool
        Whether all users' lists are wanted, and no others.
    """

    users: "NDArray[Any]"
    items: "NDArray[Any]"
    new: list[dict[Any, float]]
    n: int
    seen: bool
    everyone: bool

    def lists(self, model: "Recommender") -> "RankedLists | None":
        """Return the lists of the users, or of all of them if these are wanted."""
        if not len(self.users) and not self.everyone:
            return None
        users = None if self.everyone else self.users
        with in_one_line("--user"):
            return model.recommend(users, self.n, exclude_seen=not self.seen)

    def shown(
        self, model: "Recommender", lists: "RankedLists | None", names: Names
    ) -> list[Titled]:
        """Return what to show: the lists of users, if they were asked for, and all others."""
        found = [] if lists is None or self.everyone else self._of_users(model, lists)
        found += self._of_new(model) if self.new else []
        return found + (self._similar(model, names) if len(self.items) else [])

    def _of_users(self, model: "Recommender", lists: "RankedLists") -> list[Titled]:
        places = model.ratings_.user_ids.find("users", self.users)
        sizes = model.ratings_.by_user.sizes[places].tolist()
        titles = [
            f"user {user} ({counted(size, 'ratings')})"
            for user, size in zip(self.users.tolist(), sizes, strict=True)
        ]
        return list(zip(titles, lists, strict=True))

    def _of_new(self, model: "Recommender") -> list[Titled]:
        ids = _free(model.ratings_, len(self.new))
        with in_one_line("--new-user"):
            wider = model.fold_in(dict(zip(ids, self.new, strict=True)))
            lists = wider.recommend(ids, self.n, exclude_seen=not self.seen)
        numbers = [f" {place}" for place in range(1, len(ids) + 1)] if len(ids) > 1 else [""]
        titles = [
            f"{NEW}{number} ({counted(len(rated), 'ratings')})"
            for number, rated in zip(numbers, self.new, strict=True)
        ]
        return list(zip(titles, lists, strict=True))

    def _similar(self, model: "Recommender", names: Names) -> list[Titled]:
        with in_one_line("--similar-to"):
            lists = model.similar_items(self.items, self.n)
        titles = [
            f"similar to {item}" + (f" ({names[item]})" if item in names else "")
            for item in self.items.tolist()
        ]
        return list(zip(titles, lists, strict=True))


def asked_of(options: argparse.Namespace, ratings: "Ratings", model: "Recommender | None") -> Asked:
    """Return what the options ask for.

    Parameters
    ----------
    options : Namespace
        The options of the command.
    ratings : Ratings
        What a model is trained on.
    model : Recommender or None
        The model, if it is trained already.

    Raises
    ------
    CommandError
        If an id is of the wrong kind or unknown, or a rating is not on the scale or given twice.
    """
    users_known = ratings.by_user.sizes > 0 if model is None else model.known_users_
    items_known = ratings.by_item.sizes > 0 if model is None else model.known_items_
    of_users = (ratings.user_ids, users_known, f"the users of {options.ratings}")
    of_items = (ratings.item_ids, items_known, f"the items of {options.ratings}")
    new = []
    for text in options.new_user:
        items, numbers = zip(*pairs_of(text), strict=True)
        values = [_on_scale(*pair, ratings) for pair in zip(items, numbers, strict=True)]
        found = ids_from("--new-user", items, *of_items).tolist()
        if len(set(found)) < len(found):
            raise CommandError(f"--new-user {text!r} rates an item twice")
        new.append(dict(zip(found, values, strict=True)))
    return Asked(
        users=ids_from("--user", _once(options.user), *of_users),
        items=ids_from("--similar-to", _once(options.similar_to), *of_items),
        new=new,
        n=options.n,
        seen=options.include_seen,
        everyone=options.out is not None and not options.user,
    )


def _once(words: list[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _on_scale(item: str, number: float | None, ratings: "Ratings") -> float:
    """Return a rating; it may be left out where all ratings are the same."""
    low, high = ratings.low, ratings.high
    if number is None and low == high:
        return low
    if number is None:
        raise CommandError(
            f"--new-user must be item=rating with commas between, got {item!r} without a rating"
        )
    if not low <= number <= high:
        raise CommandError(f"--new-user: ratings must be from {low:g} to {high:g}, got {number:g}")
    return number


def _free(ratings: "Ratings", n: int) -> list[Any]:
    """Return ids, of the kind that users have, that are nobody's."""
    taken = set(ratings.user_ids.values.tolist())
    numbers = iter(range(len(taken) + n))
    if ratings.user_ids.kind == "integers":
        return [one for one in numbers if one not in taken][:n]
    return [name for name in (f"{NEW} {one}" for one in numbers) if name not in taken][:n]
