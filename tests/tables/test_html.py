"""final.html: the numbers of final.md, no network, and links that arrive."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.final import document
from captionlab.tables.html import inline, page
from captionlab.tables.plan import plan_from_spec


class Reader(HTMLParser):
    """Ids, links and what asks for the network."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        if "id" in held:
            self.ids.append(held["id"])
        if tag == "a":
            self.links.append(held["href"])
        self.loads += [held[key] for key in ("src", "srcset", "data") if key in held]
        if tag in ("link", "iframe", "object"):
            self.loads.append(tag)


@pytest.fixture(scope="module")
def written(plan_spec, results):
    artifacts = Artifacts(results)
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    return page(document(plan_from_spec(plan_spec), artifacts), artifacts, {"A figure": svg})


@pytest.fixture(scope="module")
def read(written):
    reader = Reader()
    reader.feed(written)
    return reader


def test_every_link_arrives_once(read):
    assert len(read.ids) == len(set(read.ids))
    assert all(link.startswith("#") for link in read.links)
    assert {link[1:] for link in read.links} <= set(read.ids)
    assert len(read.links) > 800


def test_nothing_is_loaded_from_elsewhere(written, read):
    assert all(load.startswith("data:") for load in read.loads)
    assert not re.search(r"@import|url\(|https?://", written)


def test_a_number_leads_to_its_place_and_its_weights(written):
    anchor = re.search(r'<a href="#(place-\d+)">0\.5427</a>', written)
    assert anchor is not None
    start = written.index(f'<li id="{anchor.group(1)}">')
    assert written[start:].startswith(f'<li id="{anchor.group(1)}"><code>/suites/STS-B/spearman</code>')
    section = written[written.rindex("<details", 0, start) : start]
    assert "evaluation/larger/hierarchical/seed-1/suites.json" in section
    for fact in ("0f" * 32, "1e" * 32, "aa" * 32, "bb" * 32):
        assert fact in section


def test_a_computed_number_leads_to_all_of_its_places(written):
    anchor = re.search(r'<a href="#(computed-\d+)">0\.57467</a>', written)
    assert anchor is not None
    entry = written[written.index(f'<li id="{anchor.group(1)}">') :].split("</li>")[0]
    assert entry.count('<a href="#place-') == 2


def test_gaps_are_shown_as_such(plan_spec, tmp_path):
    artifacts = Artifacts(tmp_path)
    text = page(document(plan_from_spec(plan_spec), artifacts), artifacts, {})
    assert '<span class="missing">missing</span>' in text


def test_the_same_results_give_the_same_page(plan_spec, results, written):
    artifacts = Artifacts(results)
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    assert page(document(plan_from_spec(plan_spec), artifacts), artifacts, {"A figure": svg}) == written


def test_markdown_is_escaped_before_it_is_read():
    assert inline("**not** `<b>` & *so*") == "<strong>not</strong> <code>&lt;b&gt;</code> &amp; <em>so</em>"


def test_text_from_a_spec_cannot_become_markup(plan_spec, tmp_path):
    runs = [{**run, "label": "<script>alert(1)</script>"} for run in plan_spec["runs"]]
    artifacts = Artifacts(tmp_path)
    text = page(document(plan_from_spec({**plan_spec, "runs": runs}), artifacts), artifacts, {})
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


@pytest.mark.slow
def test_a_browser_shows_it_at_phone_width(written, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    probe = (
        "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script></body>"
    )
    place = tmp_path / "final.html"
    place.write_text(written.replace("</body>", probe))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += [f"--user-data-dir={tmp_path}/profile", "--window-size=500,900", "--dump-dom"]
    dom = subprocess.run(
        [chromium, *flags, place.as_uri()], capture_output=True, text=True, timeout=60
    ).stdout
    found = re.search(r"<title>(\d+) of (\d+)</title>", dom)
    assert found is not None
    assert int(found.group(1)) <= int(found.group(2))
