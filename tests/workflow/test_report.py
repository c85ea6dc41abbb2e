"""The report as a reader opens it: Chromium, no network, every link of it followed."""

import base64
import shutil
import urllib.parse
import zipfile
from pathlib import Path

import pytest

from captionlab.tables.figure_names import FIGURES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1400,900",
)
TABLES = {
    ("benchmarks", "CSV"): "benchmarks.csv",
    ("claims", "Markdown"): "claims.md",
    ("duplicates", "Markdown"): "duplicates.md",
    ("final", "HTML"): "final.html",
    ("final", "Markdown"): "final.md",
    ("runs", "Markdown"): "runs.md",
    ("screen", "Markdown"): "screen.md",
}
RUNS = {
    "exposure": {("hierarchical", "1")},
    "larger": {(option, seed) for option in ("relative", "hierarchical") for seed in "12"},
    "screen": {("relative", "1"), ("relative", "1.repeat-1"), ("binding-whole", "1")},
}


@pytest.fixture(scope="module")
def tabled(finished, tmp_path_factory):
    """The tiny campaign with all of its tables and figures."""
    made = finished.copy(tmp_path_factory.mktemp("report") / "copy")
    made.engine("tables")
    return made


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium with a profile of its own; names resolve to nothing, so that a page must do without a network."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    for name, program in programs.items():
        if program is None:
            pytest.skip(f"{name} is not installed (Debian: chromium, chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(executable_path=programs["chromedriver"]))
    yield driver
    driver.quit()


@pytest.fixture(scope="module", params=["zip", "html"])
def page(request, browser, tabled, tmp_path_factory):
    """The report's page, opened; from the zip as unpacked, and as the single file."""
    made = tabled.folder / f"report.{request.param}"
    tabled.engine(f"--report={made.name}", "tables")
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "zip":
        with zipfile.ZipFile(made) as archive:
            archive.extractall(folder)
        place = folder / "report" / "report.html"
    else:
        place = Path(shutil.move(made, folder))
    browser.get(place.as_uri())
    return place


@pytest.fixture
def report(page, browser):
    """The report at its first view."""
    browser.get(page.as_uri())
    return Report(browser)


class Report:
    """What a reader does: open a folder of the menu, choose a seed, view a row, ask what it is."""

    def __init__(self, browser):
        self.browser = browser

    def all(self, css, inside=None):
        return (inside or self.browser).find_elements("css selector", css)

    def one(self, css, inside=None):
        return (inside or self.browser).find_element("css selector", css)

    def open(self, *folders):
        """Go through the menu by the names of its folders."""
        for name in folders:
            (link,) = [row for row in self.all("nav li a") if row.text == name]
            link.click()

    def rows(self):
        """The links of every row that can be shown, by its labels in the order of the head."""
        toggles = self.all("nav fieldset label")
        if not toggles:
            return self._shown()
        found = {}
        for toggle in toggles:
            toggle.click()
            for labels, links in self._shown().items():
                found[(*labels, toggle.text)] = links
        return found

    def _shown(self):
        found = {}
        for row in self.all("nav tbody tr"):
            *labels, actions = self.all("td", row)
            view, about = self.all("a", actions)
            found[tuple(cell.text for cell in labels)] = (view, about, view.get_attribute("href"))
        return found


def content(link):
    """The bytes behind a link: of a file beside the page, or inside the link itself."""
    if link.startswith("data:"):
        head, data = link.split(",", 1)
        return base64.b64decode(data) if head.endswith(";base64") else urllib.parse.unquote_to_bytes(data)
    return Path(urllib.parse.unquote(urllib.parse.urlparse(link).path)).read_bytes()


def test_the_first_view_says_what_the_campaign_is(report):
    text = report.one("#app").text
    assert "Campaign tiny: caption encoders distilled from a consensus of teachers" in text
    assert {"Tables", "Figures", "Runs"} <= {row.text for row in report.all("nav li a")}


def test_every_table_is_listed_and_its_link_holds_the_file(report, tabled):
    report.open("Tables")
    rows = report.rows()
    assert set(rows) == set(TABLES)
    for labels, name in TABLES.items():
        if not name.endswith(".html"):
            assert content(rows[labels][2]) == tabled.path(f"tables/{name}").read_bytes(), name


def test_the_page_of_all_tables_opens_inside_the_report(report, browser):
    report.open("Tables")
    report.rows()["final", "HTML"][0].click()
    browser.switch_to.frame(report.one("iframe"))
    assert report.one("h1").is_displayed()
    assert len(report.all("table")) > 5
    cell = report.one("table a[href^='#']")
    target = cell.get_attribute("href").rsplit("#", 1)[1]
    cell.click()
    top = "return document.getElementById(arguments[0]).getBoundingClientRect().top / innerHeight"
    assert 0 <= browser.execute_script(top, target) < 1
    browser.switch_to.default_content()


def test_every_figure_is_drawn(report, browser):
    report.open("Figures")
    rows = report.rows()
    assert set(rows) == {(name,) for name in FIGURES}
    for (name,), (view, _, _) in rows.items():
        view.click()
        loaded = "const i = arguments[0]; return i.decode().then(() => i.naturalWidth)"
        assert browser.execute_script(loaded, report.one("#app img:not(nav img)")) > 300, name


@pytest.mark.parametrize("recipe", RUNS)
def test_every_history_is_found_by_option_and_seed(report, tabled, recipe):
    report.open("Runs", recipe)
    rows = report.rows()
    assert set(rows) == RUNS[recipe]
    for (option, seed), (_, _, link) in rows.items():
        history = tabled.path(f"runs/{recipe}/{option}/seed-{seed}/history.jsonl")
        assert content(link) == history.read_bytes()


@pytest.mark.parametrize(
    ("folders", "labels", "words"),
    [
        (("Tables",), ("claims", "Markdown"), "Every checkable statement of the cards"),
        (("Figures",), ("spectrum",), "Cumulative share of variance"),
        (("Runs", "exposure"), ("hierarchical", "1"), "History of run exposure/hierarchical/seed-1"),
    ],
)
def test_a_result_says_what_it_is(report, folders, labels, words):
    report.open(*folders)
    report.rows()[labels][1].click()
    assert words in report.one("nav").text


def test_nothing_is_fetched_and_nothing_fails(page, browser):
    browser.get(page.as_uri())
    fetched = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert [name for name in browser.execute_script(fetched) if name.startswith("http")] == []
    assert [row for row in browser.get_log("browser") if "ERR_" in row["message"]] == []
