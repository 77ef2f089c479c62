"""Words of a line as text and numbers, and errors with line numbers."""

import re
from typing import Final

_NUMBER: Final = re.compile(
    rb"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE
)
_INTEGER: Final = re.compile(rb"[+-]?\d{1,18}")
_SHOWN: Final = 40


class LineError(ValueError):
    """A line that is wrong."""

    def __init__(self, number: int, fault: str) -> None:
        super().__init__(f"line {number}: {fault}")


def as_text(number: int, label: str, token: bytes) -> str:
    """Return a word of line `number` as text; errors call it `label`."""
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    # Other Unicode white space would split the word when it is written again.
    if text.split() != [text] or "\0" in text:
        raise LineError(number, f"{label} {quote_word(token)} is not a word of UTF-8 text")
    return text


def as_number(number: int, label: str, token: bytes) -> float:
    """Return a word of line `number` as a float, NaN and infinity included."""
    if not _NUMBER.fullmatch(token):
        raise LineError(number, f"{label} {quote_word(token)} is not a number")
    return float(token)


def as_integer(number: int, label: str, token: bytes) -> int:
    """Return a word of line `number` as an int."""
    if not _INTEGER.fullmatch(token):
        raise LineError(number, f"{label} {quote_word(token)} is not an integer")
    return int(token)


def quote_word(token: bytes) -> str:
    r"""Return a word for an error message, whatever its bytes."""
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return repr(token[:_SHOWN]).removeprefix("b")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
