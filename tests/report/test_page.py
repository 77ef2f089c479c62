"""The file: whole, self-contained, and harmless whatever names the data brings."""

import json
import re

import numpy as np
import pytest

from edgewise.report import Report

from .conftest import NASTY

DATA = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)


@pytest.fixture(params=["classes_page", "labels_page", "ranking_page", "ratings_page"])
def page(request):
    return request.getfixturevalue(request.param)


def test_the_file_holds_the_data_and_nothing_else_to_load(page):
    html = page.to_html()
    (data,) = DATA.findall(html)
    assert json.loads(data) == json.loads(json.dumps(page.to_dict()))
    assert len(html) < 300_000
    # A data address for the icon, and the name space of SVG; nothing that a browser would fetch.
    addresses = set(re.findall(r'(?:src|href)="([^"]*)"|url\(|@import|(https?://[^"\s]*)', html))
    assert {item for pair in addresses for item in pair if item} == {
        "data:,",
        "http://www.w3.org/2000/svg",
    }


def test_markup_in_names_stays_text(classes_page, ratings_page):
    for page in (classes_page, ratings_page):
        html = page.to_html()
        assert "<img" not in html
        assert html.count("<script") == html.count("</script>") == 2
        (data,) = DATA.findall(html)
        assert NASTY in json.dumps(json.loads(data), ensure_ascii=False).replace('\\"', '"')
        assert not set("<>&") & set(data)


def test_numbers_that_json_lacks_become_null():
    page = Report("a", "b")
    page.add("one", "One", "", [{"kind": "note", "x": np.array([1.0, np.nan, np.inf])}])
    page.add("none", "None", "", [])
    (section,) = page.to_dict()["sections"]
    assert section["blocks"][0]["x"] == [1.0, None, None]


def test_the_file_is_written_whole_and_checked_first(classes_page, classifier, tmp_path):
    path = tmp_path / "page.html"
    model, X, y = classifier
    assert model.report(X[:9], y[:9], path).to_html() == path.read_text("utf-8")
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        model.report(None, None, tmp_path / "nowhere" / "page.html")


def test_notebooks_show_the_page_in_a_frame(classes_page):
    frame = classes_page._repr_html_()
    assert frame.count("<") == frame.count(">") == 2
    assert "</script>" not in frame


def test_unknown_sections_are_named(classes_page):
    with pytest.raises(KeyError, match=r"'x'.*'overview'"):
        classes_page.section("x")
