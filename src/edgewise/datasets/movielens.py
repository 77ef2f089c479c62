"""One entry per MovieLens set: its facts, its files and their readers.

To add a set of ratings, write an entry here, a ``load_`` function in
:mod:`edgewise.datasets.ratings_sets`, and a row in ``docs/datasets.md``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from edgewise.datasets import movielens_files
from edgewise.datasets.fetch import File, Source
from edgewise.datasets.movielens_files import Rated, Side
from edgewise.datasets.ratings import RatingsInfo

_SITE: Final = "https://files.grouplens.org/datasets/movielens/"
_LICENCE: Final = (
    "GroupLens terms: research use only; no redistribution and no commercial use without "
    "permission; publications must acknowledge the data, and no endorsement by the University of "
    "Minnesota or GroupLens may be implied"
)
_CITATION: Final = (
    "F. M. Harper and J. A. Konstan. The MovieLens datasets: history and context. ACM Transactions "
    "on Interactive Intelligent Systems 5(4):19, 2015. doi:10.1145/2827872"
)
_STARS: Final = (1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True)
class RatingsEntry:
    """A set of ratings: facts, files and readers.

    Attributes
    ----------
    info : RatingsInfo
        What is known without touching a file; loading checks the counts.
    ratings, users, items : File
        All ratings, and the columns of users and items.
    tests : tuple of File
        The test ratings of each of ``info.splits``. What is not in a test file trains, so the
        training files, which say the same once more, are not needed.
    read_ratings, read_users, read_items : callable
        From the content of a file to its columns.
    """

    info: RatingsInfo
    ratings: File
    users: File
    items: File
    tests: tuple[File, ...]
    read_ratings: Callable[[bytes], Rated]
    read_users: Callable[[bytes], Side]
    read_items: Callable[[bytes], Side]

    @property
    def files(self) -> tuple[File, ...]:
        """All files of the set."""
        return (self.ratings, self.users, self.items, *self.tests)


def _member(folder: str, name: str, sha256: str) -> File:
    path = f"{folder}/{name}"
    return File(path, (Source(f"{_SITE}{folder}.zip", path),), sha256)


_100K: Final = partial(_member, "ml-100k")
_1M: Final = partial(_member, "ml-1m")

_ENTRIES: Final = (
    RatingsEntry(
        RatingsInfo(
            name="ml_100k",
            n_users=943,
            n_items=1_682,
            n_rated=1_682,
            n_ratings=100_000,
            levels=_STARS,
            licence=_LICENCE,
            citation=_CITATION,
            source="https://grouplens.org/datasets/movielens/100k/",
            description=(
                "Movies rated 1 to 5 on the MovieLens web site from September 1997 to April 1998, "
                "at least 20 by each user. Users have age, gender and occupation, movies a year "
                "and 19 genres. Splits u1 to u5 are five folds; ua and ub test ten ratings of "
                "each user."
            ),
            splits=("u1", "u2", "u3", "u4", "u5", "ua", "ub"),
            n_test=(20_000,) * 5 + (9_430,) * 2,
            n_folds=5,
        ),
        ratings=_100K("u.data", "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"),
        users=_100K("u.user", "f120e114da2e8cf314fd28f99417c94ae9ddf1cb6db8ce0e4b5995d40e90e62c"),
        items=_100K("u.item", "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701"),
        tests=(
            _100K("u1.test", "18c6014a4b2c7324f250a63f8904a7b16b2b19f911129e346141507b0cbac950"),
            _100K("u2.test", "4de658d1e04ed9104629509a2e2528fce833ac8e048280183f1df167632038c3"),
            _100K("u3.test", "0f548b51c78327de4c156461d3e430b7e5579fe2b5681586a59416e48fd35f6d"),
            _100K("u4.test", "7c02ad0a1e7ab1083c8b9d4b627203a051dd7b5eab46d99fa44de33470de8db9"),
            _100K("u5.test", "351cc52e0d15b6c721466276fc24671d40936899e3d01fadeaf312915b8c5634"),
            _100K("ua.test", "d0497e202417720f57a184ec8c66be2d1afa4ff41bb53787c57b28d6bf79bc42"),
            _100K("ub.test", "d54a72d05730d5892062734b2bec73e976f9b713d18c828a18b968d6cce442da"),
        ),
        read_ratings=movielens_files.rated,
        read_users=movielens_files.users_100k,
        read_items=movielens_files.movies_100k,
    ),
    RatingsEntry(
        RatingsInfo(
            name="ml_1m",
            n_users=6_040,
            n_items=3_883,
            n_rated=3_706,
            n_ratings=1_000_209,
            levels=_STARS,
            licence=_LICENCE,
            citation=_CITATION,
            source="https://grouplens.org/datasets/movielens/1m/",
            description=(
                "Movies rated 1 to 5 on the MovieLens web site by users who joined in 2000, at "
                "least 20 by each. Users have a group of age, gender and occupation, movies a "
                "year and 18 genres; 177 movies of the catalogue have no rating. No published "
                "split."
            ),
        ),
        ratings=_1M(
            "ratings.dat", "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f"
        ),
        users=_1M("users.dat", "1dc3a95300cb19f7c10e027daf29b8cdf1d908dab65b5edfb45950aa389a10a3"),
        items=_1M("movies.dat", "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9"),
        tests=(),
        read_ratings=partial(movielens_files.rated, separator=b"::"),
        read_users=movielens_files.users_1m,
        read_items=movielens_files.movies_1m,
    ),
)

ENTRIES: Final = {entry.info.name: entry for entry in _ENTRIES}
"""Every set of ratings by name, in the order of the documentation."""
