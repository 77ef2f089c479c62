"""What exports as text share: comments that names cannot break, and a limit of their size."""

from collections.abc import Sequence

from edgewise.export.formula import Formula


def commented(sign: str, heading: str, texts: Sequence[str]) -> list[str]:
    """Return texts as lines of comments, whatever they hold; none for no texts."""
    if not texts:
        return []
    lines = [line for text in texts for line in (text.splitlines() or [""])]
    if heading:
        lines = [heading, "", *(f"  {line}" for line in lines)]
    clean = ("".join(c if c.isprintable() else "?" for c in line) for line in lines)
    return [f"{sign} {line}".rstrip() for line in clean] + ([""] if heading else [])


def within_limit(text: str, max_size: int, what: str, formula: Formula) -> str:
    """Return the text, or raise if it is longer than `max_size` characters."""
    if len(text) > max_size:
        raise ValueError(
            f"{what} would have {len(text):,} characters, more than max_size={max_size:,}: export "
            f"{formula.title} to .onnx instead, train fewer rounds, or raise max_size"
        )
    return text
