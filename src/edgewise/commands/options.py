"""Values of options, turned from words into numbers."""

import argparse


def count(text: str) -> int:
    """Return a whole number of at least 1.

    Examples
    --------
    >>> count("300")
    300
    """
    number = _whole(text)
    if number is None or number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def seed(text: str) -> int:
    """Return a whole number from 0 to 2**32 - 1.

    Examples
    --------
    >>> seed("0")
    0
    """
    number = _whole(text)
    if number is None or not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2**32 - 1")
    return number


def jobs(text: str) -> int:
    """Return a number of threads: -1 stands for all cores.

    Examples
    --------
    >>> jobs("-1")
    -1
    """
    number = _whole(text)
    if number is None or (number < 1 and number != -1):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of threads: 1 or more, or -1 for all cores"
        )
    return number


def rate(text: str) -> float:
    """Return a number above 0 and at most 1.

    Examples
    --------
    >>> rate("0.2")
    0.2
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and at most 1")
    return number


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
