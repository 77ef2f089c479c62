"""Plain, gzip and compress(1) files, told apart by their first bytes."""

import gzip
import zlib
from typing import Final

GZIP_MAGIC: Final = b"\x1f\x8b"
LZW_MAGIC: Final = b"\x1f\x9d"

_CLEAR: Final = 256
_FIRST_WIDTH: Final = 9


def decompress(content: bytes) -> bytes:
    r"""Undo gzip or compress(1); give any other content back as it is.

    Parameters
    ----------
    content : bytes
        A file's bytes.

    Returns
    -------
    bytes
        The content without compression.

    Raises
    ------
    ValueError
        If the content is compressed but damaged.

    Examples
    --------
    >>> import gzip
    >>> decompress(gzip.compress(b"1,2\n")), decompress(b"1,2\n")
    (b'1,2\n', b'1,2\n')
    """
    if content.startswith(GZIP_MAGIC):
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"damaged gzip content: {error}") from error
    if content.startswith(LZW_MAGIC):
        return unlzw(content)
    return content


def unlzw(content: bytes) -> bytes:
    """Decode the LZW format of Unix compress(1), the ``.Z`` files of old archives.

    Parameters
    ----------
    content : bytes
        A whole ``.Z`` file.

    Returns
    -------
    bytes
        The decoded content.

    Raises
    ------
    ValueError
        If the header or a code is not valid.

    Notes
    -----
    Codes come in groups of eight, so a group takes as many bytes as a code has bits. The encoder
    fills up the group whenever the width changes, which is why the rest of a group is dropped
    then.
    """
    if len(content) < 3 or not content.startswith(LZW_MAGIC):
        raise ValueError("damaged .Z content: no compress(1) header")
    flags = content[2]
    max_width, has_clear = flags & 0x1F, bool(flags & 0x80)
    # With a limit of 9 bits compress(1) really goes to 10: a format of its own, seen nowhere.
    if flags & 0x60 or not _FIRST_WIDTH < max_width <= 16:
        raise ValueError(f"damaged .Z content: flags {flags:#04x} are not known")

    # Code 256 clears the table where the header says so; a placeholder keeps its slot.
    roots = [bytes([value]) for value in range(256)] + [b""] * has_clear
    table, width, previous = list(roots), _FIRST_WIDTH, b""
    decoded: list[bytes] = []
    at = 3
    while at < len(content):
        group = content[at : at + width]
        at += width
        bits, mask = int.from_bytes(group, "little"), (1 << width) - 1
        for _ in range(len(group) * 8 // width):
            code, bits = bits & mask, bits >> width
            if has_clear and code == _CLEAR:
                table, width, previous = list(roots), _FIRST_WIDTH, b""
                break
            if code < len(table):
                entry = table[code]
            elif code == len(table) and previous:
                entry = previous + previous[:1]
            else:
                raise ValueError(f"damaged .Z content: code {code} before it is defined")
            if previous and len(table) < 1 << max_width:
                table.append(previous + entry[:1])
            decoded.append(entry)
            previous = entry
            if len(table) > mask and width < max_width:
                width += 1
                break
    return b"".join(decoded)
