"""The pages in a real browser: every section drawn, controls that work, nothing fetched."""

from pathlib import Path

import pytest

from .conftest import NASTY

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield started
        started.close()


class Tab:
    """A page that is open, with all that it complained about and asked for."""

    def __init__(self, browser, report, folder, width=1000):
        self.path = folder / "page.html"
        report.save(self.path)
        self.complaints, self.requests = [], []
        self.page = browser.new_page(viewport={"width": width, "height": 800})
        self.page.set_default_timeout(5000)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.path.as_uri())

    def texts(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def count(self, selector):
        return self.page.locator(selector).count()


@pytest.fixture
def opened(browser, tmp_path):
    tabs = []

    def open_page(report, width=1000):
        tabs.append(Tab(browser, report, tmp_path, width))
        return tabs[-1]

    yield open_page
    for tab in tabs:
        tab.page.close()
        assert tab.complaints == []
        assert set(tab.requests) == {tab.path.as_uri()}


@pytest.mark.parametrize(
    "name", ["classes_page", "terms_page", "labels_page", "ranking_page", "ratings_page"]
)
def test_every_section_is_drawn_and_fits_a_phone(name, request, opened):
    report = request.getfixturevalue(name)
    tab = opened(report, 400)
    for section in report.sections:
        assert tab.texts(f"#{section.id} h2") == [section.title]
        assert tab.count(f"#{section.id} .stack > *") > 0, section.id
    assert tab.count("svg.plot path.line") > 0
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 400
    # Whatever can be reached by keyboard or drawn has a name.
    unnamed = "svg.plot:not([aria-labelledby]), input:not([aria-label]):not(label input)"
    assert tab.count(unnamed) == 0
    assert tab.count("select:not(label select), nav:not([aria-label]), th:not([scope])") == 0


def test_names_that_are_markup_are_shown_as_text(opened, classes_page):
    tab = opened(classes_page)
    assert tab.texts("h1") == [NASTY]
    assert tab.count("img") == 0
    assert NASTY in tab.texts("#mistakes thead th span")


def test_the_threshold_moves_the_counts(opened, classes_page, classifier):
    tab = opened(classes_page)
    tab.page.locator("#threshold select").select_option("rich")
    for value in (20, 80):
        tab.page.locator("#threshold input[type=range]").fill(str(value))
        assert tab.texts("#threshold output") == [f"{value}%"]
        model, X, y = classifier
        above = model.predict_proba(X)[:, list(model.classes_).index("rich")] >= value / 100
        hits, missed = (above & (y == "rich")).sum(), (~above & (y == "rich")).sum()
        cells = tab.texts("#threshold .counts td.number")
        assert cells[:2] == [str(hits), str(missed)]


def test_controls_change_what_is_shown(opened, classes_page):
    tab = opened(classes_page)
    page = tab.page
    lines = tab.count("#training path.line")
    page.locator("#training .key").first.click()
    assert tab.count("#training path.line") == lines - 1
    counts = tab.texts("#mistakes .matrix tbody td")
    page.get_by_role("button", name="row percentages").click()
    assert tab.texts("#mistakes .matrix tbody td") != counts
    page.locator("#effects select").first.select_option("city")
    assert "Oslo" in tab.texts("#effects .bars")[0]
    page.locator("#rules input").fill("CITY")
    assert tab.count("#rules li") == len([t for t in tab.texts("#rules li") if "city" in t]) > 0
    assert tab.count("#rules mark") > 0
    page.locator("#rules input").fill("no such rule")
    assert tab.count("#rules li") == 0
    page.locator("#cases select").select_option("rich")
    assert all("true: rich" in case for case in tab.texts("#cases summary"))


def test_tables_sort_and_stand_behind_charts(opened, labels_page):
    tab = opened(labels_page)
    tab.page.locator("#mistakes th button", has_text="recall").click()
    shown = [float(item.rstrip("%")) for item in tab.texts("#mistakes tbody td:nth-child(4)")]
    assert shown == sorted(shown, reverse=True)
    tab.page.locator("#training .behind summary").first.click()
    tab.page.locator("#training .behind tbody tr").first.wait_for()
    assert tab.count("#training .behind tbody tr") == 10


def test_charts_read_by_keyboard_and_colors_change(opened, ranking_page):
    tab = opened(ranking_page)
    page = tab.page
    page.locator("#training svg").first.focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert tab.texts("#training .tip")[0].startswith("boosting round: 2")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("button.theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


CONTRASTS = """() => {
  const parts = (color) => {
    const found = color.match(/[\\d.e-]+/g).map(Number);
    return color.startsWith("color(") ? found.map((one, k) => (k < 3 ? 255 * one : one)) : found;
  };
  const light = (color) => color.slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, k) => sum + [0.2126, 0.7152, 0.0722][k] * one, 0);
  const bad = [];
  for (const one of document.querySelectorAll("body :not(script, style, desc, noscript)")) {
    const text = [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data);
    if (!text.join("").trim()) continue;
    const ink = parts(getComputedStyle(one)[one.closest("svg") ? "fill" : "color"]);
    let behind = one, ground = [0, 0, 0, 0];
    while (behind && ground[3] === 0) {
      ground = parts(getComputedStyle(behind).backgroundColor);
      behind = behind.parentElement;
    }
    const [low, high] = [light(ink), light(ground)].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) bad.push([one.tagName, one.textContent, ink, ground]);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(
    scheme, opened, classes_page, terms_page, ratings_page
):
    for report in (classes_page, terms_page, ratings_page):
        tab = opened(report)
        tab.page.emulate_media(color_scheme=scheme)
        assert tab.page.evaluate(CONTRASTS) == []


def test_items_are_found_on_the_map_and_users_have_lists(opened, ratings_page):
    tab = opened(ratings_page)
    tab.page.locator("#map input").fill("heat")
    assert tab.count("#map circle.s1") == 1
    assert tab.page.locator("#map text.label").all_text_contents() == ["Heat"]
    before = tab.texts("#lists .case summary")
    tab.page.locator("#lists select").select_option(index=3)
    assert len(before) > 3
    assert tab.texts("#lists .case summary") != before


def test_the_wall_of_terms_is_searched_and_read_by_keyboard(opened, terms_page):
    tab = opened(terms_page)
    page, (wall, *_) = tab.page, terms_page.section("terms").blocks
    n_terms = len(wall["items"])
    assert tab.count("#terms .wall > *") == min(n_terms, 12)
    assert tab.texts("#terms .keys span.key") == wall["legend"]
    assert tab.count("#terms .band") > 0
    assert tab.count("#terms rect.rows") > 0
    page.locator("#terms svg:not(:has(pattern))").first.focus()
    page.keyboard.press("End")
    assert "missing" in tab.texts("#terms .tip")[0]
    page.locator("#terms input").fill("AGE *")
    pairs = [item for item in wall["items"] if "age *" in item["name"]]
    assert tab.count("#terms .wall > *") == tab.count("#terms svg pattern") == len(pairs) > 0
    page.locator("#terms svg").first.focus()
    page.keyboard.press("ArrowRight")
    heat = pairs[0]["block"]
    shown = tab.texts("#terms .tip")[0].splitlines()
    assert shown[:2] == [f"{heat[side]['name']}: {heat[side]['cells'][0]}" for side in "xy"]
    page.locator("#terms .behind summary").first.click()
    page.locator("#terms .behind tbody tr").first.wait_for()
    assert tab.count("#terms .behind tbody tr") == sum(map(len, heat["scores"]))
