"""A report: its sections as plain data, and the one HTML file that shows them."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from edgewise import __version__
from edgewise.common.files import PathLike, replace_file, resolve_target
from edgewise.common.text import to_json_value

Block = dict[str, Any]
"""Something to show, whose "kind" names the function of ``page.js`` that draws it."""


@dataclass
class Section:
    """One section of a page: a heading, a sentence on how to read it, and blocks."""

    id: str
    title: str
    lead: str
    blocks: list[Block]


@dataclass(eq=False)
class Report:
    """What a fitted model learned and how good it is, for people to look at.

    Attributes
    ----------
    title, subtitle : str
        The heading of the page, and the line under it.
    sections : list of Section
        The sections, in order.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> report = AdaBoostMH("stump", n_rounds=3).fit(X, y).report(X, y)
    >>> report.section("overview").title
    'Overview'
    >>> report.save("page.html")  # doctest: +SKIP
    """

    title: str
    subtitle: str
    sections: list[Section] = field(default_factory=list)

    def section(self, name: str) -> Section:
        """Return a section by its id, such as "training"."""
        for section in self.sections:
            if section.id == name:
                return section
        valid = ", ".join(repr(section.id) for section in self.sections)
        raise KeyError(f"unknown section {name!r}; valid sections: {valid}")

    def add(self, name: str, title: str, lead: str, blocks: list[Block]) -> None:
        """Add a section, unless it has nothing to show."""
        if blocks:
            self.sections.append(Section(name, title, lead, blocks))

    def to_dict(self) -> dict[str, Any]:
        """Return the page as numbers, strings, lists and dicts that JSON can hold."""
        return {
            "title": self.title,
            "subtitle": self.subtitle,
            "version": __version__,
            "sections": [to_json_value(vars(section)) for section in self.sections],
        }

    def to_html(self) -> str:
        """Return the page as one HTML document that loads nothing."""
        folder = files("edgewise.report")
        script, style = (
            folder.joinpath(name).read_text("utf-8") for name in ("page.js", "page.css")
        )
        # Escaped, so that no text in the data can close the element or open another.
        data = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))
        for character in "<>&\u2028\u2029":
            data = data.replace(character, f"\\u{ord(character):04x}")
        policy = (
            f"default-src 'none'; img-src data:; script-src '{_csp_hash(script)}'; "
            f"style-src '{_csp_hash(style)}'; base-uri 'none'; form-action 'none'"
        )
        head = [
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="edgewise {escape(__version__)}">',
            f"<title>{escape(self.title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
        ]
        body = [
            f"<noscript><h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p>"
            "<p>This page needs JavaScript.</p></noscript>",
            f'<script type="application/json" id="report">{data}</script>',
            f"<script>{script}</script>",
        ]
        lines = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>"]
        return "\n".join([*lines, "<body>", *body, "</body>", "</html>", ""])

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks."""
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" title="{escape(self.title)}" '
            'width="100%" height="800" style="border: 0"></iframe>'
        )

    def save(self, path: PathLike) -> None:
        """Write the page to a file."""
        with replace_file(path) as stream:
            # A lone surrogate in somebody's data must not keep the page from being written.
            stream.write(self.to_html().encode("utf-8", "replace"))


def build_report(path: PathLike | None, build: Callable[[], Report]) -> Report:
    """Return a report, and write it if there is a path, which is checked before any work."""
    if path is not None:
        resolve_target(path)
    report = build()
    if path is not None:
        report.save(path)
    return report


def _csp_hash(text: str) -> str:
    """Return the hash by which a content security policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
