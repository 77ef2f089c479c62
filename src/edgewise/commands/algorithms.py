"""The recommenders that commands know by name, and their parameters from words."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from edgewise.commands.errors import CommandError, in_one_line

if TYPE_CHECKING:
    from edgewise.recommend import Recommender


class Algorithm(NamedTuple):
    """A recommender by the name of its class, what is set of it, and what it does."""

    kind: str
    about: str
    settings: Mapping[str, Any] = {}


ALGORITHMS = {
    "boosted": Algorithm("BoostedFactorization", "boosted products of user values and item values"),
    "rankboost": Algorithm("RankBoostRecommender", "RankBoost for each user, on others' ratings"),
    "item-knn": Algorithm("ItemKNN", "nearest neighbours among items"),
    "user-knn": Algorithm("UserKNN", "nearest neighbours among users"),
    "nearest": Algorithm("RankingNeighbour", "the user who orders items most alike"),
    "regression": Algorithm("UserRegression", "least squares for each user, on others' ratings"),
    "sgd": Algorithm("MatrixFactorization", "factors and biases, by SGD", {"solver": "sgd"}),
    "als": Algorithm("MatrixFactorization", "the same by least squares", {"solver": "als"}),
    "svd": Algorithm("SVDRecommender", "truncated singular value decomposition"),
    "nmf": Algorithm("NonNegativeFactorization", "factors that are never negative"),
    "implicit": Algorithm("ImplicitFactorization", "factors of what was chosen, not how it was"),
    "bias": Algorithm("BiasBaseline", "the mean with biases of users and items"),
    "popularity": Algorithm("Popularity", "what most users rated"),
    "random": Algorithm("RandomRecommender", "anything, to compare with"),
}
"""What ``--algorithm`` may be: one line for each name."""

DEFAULT = "boosted"
DEFAULT_OF_CHOICES = "implicit"
"""What is taken where there are no ratings: it only is known which items users chose."""

_WORDS = {"true": True, "false": False, "none": None}


def listed() -> str:
    """Return the names and what they stand for, a line each.

    Examples
    --------
    >>> listed().split()[0]
    'boosted'
    """
    return "\n".join(f"  {name:<11} {one.about}" for name, one in ALGORITHMS.items())


def value_of(word: str) -> Any:
    """Return the number, truth value or None that a word stands for, or else the word.

    Examples
    --------
    >>> [value_of(word) for word in ("30", "0.05", "true", "none", "cosine")]
    [30, 0.05, True, None, 'cosine']
    """
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def settings_of(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the parameters that words of the form key=value set.

    Raises
    ------
    CommandError
        If a word has another form, or a key comes twice.

    Examples
    --------
    >>> settings_of(["k=30", "similarity=cosine"])
    {'k': 30, 'similarity': 'cosine'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, sign, word = pair.partition("=")
        if not sign or not key.strip():
            raise CommandError(f"--set must be of the form key=value, got {pair!r}")
        if key.strip() in settings:
            raise CommandError(f"--set gives {key.strip()} twice")
        settings[key.strip()] = value_of(word.strip())
    return settings


def built(name: str, settings: Mapping[str, Any], usual: Mapping[str, Any]) -> "Recommender":
    """Return a recommender, untrained, whose parameters are all as they should be.

    Parameters
    ----------
    name : str
        One of `ALGORITHMS`.
    settings : mapping
        What ``--set`` says.
    usual : mapping
        Parameters that are set where the recommender has them, such as a seed.

    Raises
    ------
    CommandError
        If it has no such parameter, or a value is wrong.

    Examples
    --------
    >>> built("item-knn", {"k": 7}, {"n_jobs": 1, "verbose": 0})
    ItemKNN(k=7)
    """
    chosen = ALGORITHMS[name]
    kind = getattr(import_module("edgewise.recommend"), chosen.kind)
    known = kind._get_param_names()
    for key in settings:
        if key not in known:
            raise CommandError(
                f"--set: {name} has no parameter {key!r}, but {', '.join(known) or 'none at all'}"
            )
    shared = {key: value for key, value in usual.items() if key in known}
    model: Recommender = kind(**{**shared, **chosen.settings, **settings})
    with in_one_line("--set"):
        model._check_parameters()
    return model


def usual_of(seed: int | None, n_jobs: int | None, choices: bool) -> dict[str, Any]:
    """Return parameters that are set where a recommender has them.

    Examples
    --------
    >>> usual_of(None, None, choices=True)
    {'random_state': 0, 'n_jobs': 1, 'implicit': True}
    """
    usual = {"random_state": seed or 0, "n_jobs": n_jobs or 1}
    return {**usual, "implicit": True} if choices else usual


def names_from(text: str) -> list[str]:
    """Return the names in a list with commas between.

    Raises
    ------
    CommandError
        If one is unknown, or comes twice.

    Examples
    --------
    >>> names_from("bias, item-knn")
    ['bias', 'item-knn']
    """
    names = [name.strip() for name in text.split(",")]
    for place, name in enumerate(names):
        if name not in ALGORITHMS:
            raise CommandError(f"--algorithms: {name!r} is none of {', '.join(ALGORITHMS)}")
        if name in names[:place]:
            raise CommandError(f"--algorithms names {name} twice")
    return names


def settings_by_name(pairs: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of each algorithm, from words of the form name.key=value.

    Raises
    ------
    CommandError
        If a word has another form or names an algorithm that is not among `names`.

    Examples
    --------
    >>> settings_by_name(["item-knn.k=30"], ["bias", "item-knn"])
    {'bias': {}, 'item-knn': {'k': 30}}
    """
    words: dict[str, list[str]] = {name: [] for name in names}
    for pair in pairs:
        name, point, rest = pair.partition(".")
        if not point or "=" in name:
            raise CommandError(f"--set must be of the form algorithm.key=value, got {pair!r}")
        if name not in words:
            raise CommandError(f"--set: {name!r} is none of the algorithms: {', '.join(names)}")
        words[name].append(rest)
    return {name: settings_of(given) for name, given in words.items()}
