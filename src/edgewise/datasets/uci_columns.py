"""Names of the columns of the UCI sets, as their documentation has them."""

from typing import Final

# fmt: off
ADULT: Final = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country",
)
ADULT_NUMERIC: Final = (
    "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week",
)
MUSHROOM: Final = (
    "cap-shape", "cap-surface", "cap-color", "bruises?", "odor", "gill-attachment", "gill-spacing",
    "gill-size", "gill-color", "stalk-shape", "stalk-root", "stalk-surface-above-ring",
    "stalk-surface-below-ring", "stalk-color-above-ring", "stalk-color-below-ring", "veil-type",
    "veil-color", "ring-number", "ring-type", "spore-print-color", "population", "habitat",
)
CAR: Final = ("buying", "maint", "doors", "persons", "lug_boot", "safety")
# The documentation describes these columns in half a sentence each; these are short forms.
GERMAN: Final = (
    "checking-account", "duration", "credit-history", "purpose", "credit-amount", "savings",
    "employment-since", "installment-rate", "personal-status-and-sex", "other-debtors",
    "residence-since", "property", "age", "other-installment-plans", "housing", "existing-credits",
    "job", "people-liable", "telephone", "foreign-worker",
)
GERMAN_NUMERIC: Final = (
    "duration", "credit-amount", "installment-rate", "residence-since", "age", "existing-credits",
    "people-liable",
)
VOTES: Final = (
    "handicapped-infants", "water-project-cost-sharing", "adoption-of-the-budget-resolution",
    "physician-fee-freeze", "el-salvador-aid", "religious-groups-in-schools",
    "anti-satellite-test-ban", "aid-to-nicaraguan-contras", "mx-missile", "immigration",
    "synfuels-corporation-cutback", "education-spending", "superfund-right-to-sue", "crime",
    "duty-free-exports", "export-administration-act-south-africa",
)
CHESS: Final = (
    "bkblk", "bknwy", "bkon8", "bkona", "bkspr", "bkxbq", "bkxcr", "bkxwp", "blxwp", "bxqsq",
    "cntxt", "dsopp", "dwipd", "hdchk", "katri", "mulch", "qxmsq", "r2ar8", "reskd", "reskr",
    "rimmx", "rkxwp", "rxmsq", "simpl", "skach", "skewr", "skrxp", "spcop", "stlmt", "thrsk",
    "wkcti", "wkna8", "wknck", "wkovl", "wkpos", "wtoeg",
)
_SPAM_WORDS: Final = (
    "make", "address", "all", "3d", "our", "over", "remove", "internet", "order", "mail",
    "receive", "will", "people", "report", "addresses", "free", "business", "email", "you",
    "credit", "your", "font", "000", "money", "hp", "hpl", "george", "650", "lab", "labs",
    "telnet", "857", "data", "415", "85", "technology", "1999", "parts", "pm", "direct", "cs",
    "meeting", "original", "project", "re", "edu", "table", "conference",
)
# fmt: on
SPAMBASE: Final = (
    *(f"word_freq_{word}" for word in _SPAM_WORDS),
    *(f"char_freq_{sign}" for sign in ";([!$#"),
    *(f"capital_run_length_{what}" for what in ("average", "longest", "total")),
)
CONNECT4: Final = tuple(f"{column}{row}" for column in "abcdefg" for row in range(1, 7))
TICTACTOE: Final = tuple(
    f"{row}-{column}-square"
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
)


def numbered(n: int) -> tuple[str, ...]:
    """Name `n` columns that the documentation only numbers, from 1.

    Examples
    --------
    >>> numbered(3)
    ('f1', 'f2', 'f3')
    """
    return tuple(f"f{column}" for column in range(1, n + 1))
