import gzip
import shutil
import subprocess

import numpy as np
import pytest

from edgewise.datasets.compression import decompress, unlzw


def compress_z(data: bytes, max_bits: int = 16, clear_every: int | None = None) -> bytes:
    """Encode as compress(1) does: groups of eight codes, filled up when the width changes."""
    out = bytearray([0x1F, 0x9D, 0x80 | max_bits])
    table: dict[bytes, int] = {}
    width, free, group = 9, 257, []

    def flush(full: bool) -> None:
        bits = sum(code << (width * at) for at, code in enumerate(group))
        n_bytes = width if full else (len(group) * width + 7) // 8
        out.extend(bits.to_bytes(n_bytes, "little"))
        group.clear()

    def reset() -> None:
        nonlocal free
        table.clear()
        table.update({bytes([value]): value for value in range(256)})
        free = 257

    def emit(code: int) -> None:
        nonlocal width
        group.append(code)
        if code == 256:
            flush(full=True)
            width = 9
        elif free > (1 << width) - 1 and width < max_bits:
            flush(full=True)
            width += 1
        elif len(group) == 8:
            flush(full=True)

    reset()
    current, emitted = b"", 0
    for value in data:
        longer = current + bytes([value])
        if longer in table:
            current = longer
            continue
        emit(table[current])
        emitted += 1
        if free < 1 << max_bits:
            table[longer] = free
            free += 1
        current = bytes([value])
        if clear_every and emitted % clear_every == 0:
            reset()
            emit(256)
    if current:
        emit(table[current])
    if group:
        flush(full=False)
    return bytes(out)


def text(n: int) -> bytes:
    return np.random.default_rng(0).choice(list(b"0123456789.,- \n"), n).astype(np.uint8).tobytes()


@pytest.mark.parametrize("max_bits", [10, 12, 16])
@pytest.mark.parametrize("clear_every", [None, 777])
def test_unlzw_undoes_compress(max_bits: int, clear_every: int | None):
    data = text(30_000)
    assert unlzw(compress_z(data, max_bits, clear_every)) == data


def test_unlzw_fills_the_widest_table():
    data = text(400_000)
    assert unlzw(compress_z(data)) == data


@pytest.mark.parametrize("n", [0, 1, 2, 9, 1000])
def test_unlzw_reads_runs_whose_code_is_not_yet_defined(n: int):
    assert unlzw(compress_z(b"a" * n)) == b"a" * n


@pytest.mark.skipif(shutil.which("gzip") is None, reason="needs gzip as the reference decoder")
@pytest.mark.parametrize("clear_every", [None, 777])
def test_the_encoder_of_these_tests_speaks_the_real_format(clear_every: int | None):
    encoded = compress_z(text(30_000), 12, clear_every)
    reference = subprocess.run(["gzip", "-dc"], input=encoded, capture_output=True, check=True)
    assert reference.stdout == unlzw(encoded)


@pytest.mark.parametrize(
    "content",
    [
        b"\x1f\x9d",
        b"\x1f\x9d\xff\x00",  # flags that no compress(1) writes
        b"\x1f\x9d\x90\xff\xff\xff",  # a code far past the table
        gzip.compress(b"1,2\n", mtime=0)[:-6],
        gzip.compress(b"1,2\n", mtime=0)[:12] + b"\xff" * 8,
    ],
    ids=["no flags", "unknown flags", "undefined code", "cut gzip", "garbled gzip"],
)
def test_damaged_content_is_refused(content: bytes):
    with pytest.raises(ValueError, match="damaged"):
        decompress(content)


def test_decompress_goes_by_the_first_bytes():
    assert decompress(compress_z(b"1,2\n")) == b"1,2\n"
    assert decompress(gzip.compress(b"1,2\n")) == b"1,2\n"
    assert decompress(b"1,2\n") == b"1,2\n"
    assert decompress(b"") == b""
