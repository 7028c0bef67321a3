"""The site of the pages (.ci/site, mkdocs.yml): every page is in its navigation; built, all its links lead somewhere and nothing is loaded from elsewhere.
Without MkDocs only the configuration is tested; links between the pages themselves are test_words.py's."""

import html.parser
import re
import subprocess
import urllib.parse

import pytest
from program import SOURCE, expect
from test_words import COUNTED

CONFIGURATION = (SOURCE / "mkdocs.yml").read_text()
NAVIGATION = re.findall(r"[\w/]+\.md", CONFIGURATION.split("\nnav:\n")[1])


def test_every_page_is_in_the_navigation():
    assert sorted(NAVIGATION) == sorted({*(page for page in COUNTED if "/notebook/" not in page), "CHANGELOG.md"}), (
        "notebooks and data are linked from their pages"
    )


class Page(html.parser.HTMLParser):
    """Of a built page: what it names, what it links to, what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if key in found}
        for key in ("href", "src"):
            if found.get(key):
                loaded = key == "src" or (tag == "link" and found.get("rel") not in ("canonical", "next", "prev"))
                (self.loads if loaded else self.links).append(found[key])


def lost(pages, folder):
    """(page, address) of links of built pages that lead nowhere, and of what they load from elsewhere."""
    for path, page in pages.items():
        for address in page.links + page.loads:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loads and parts.scheme != "data":
                    yield path.name, address
                continue
            to = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if to.is_dir():
                to /= "index.html"
            anchors = pages[to].ids if to in pages and to.name != "report.html" else None
            if not to.exists() or (parts.fragment and anchors is not None and parts.fragment not in anchors):
                yield str(path.relative_to(folder)), address


@pytest.fixture(scope="module")
def site():
    done = subprocess.run([SOURCE / ".ci/site"], capture_output=True, text=True, timeout=600)
    if done.returncode == 77:
        pytest.skip("no MkDocs: pip install -r requirements-tests.txt")
    expect(done.returncode == 0, "the site is built, strictly", done)
    folder = (SOURCE / "build/site").resolve()
    return folder, {path: Page(path) for path in folder.rglob("*.html") if path.name != "404.html"}


def test_links_of_the_site(site):
    folder, pages = site
    assert len(pages) > len(NAVIGATION) and folder / "report.html" in pages
    assert list(lost(pages, folder)) == []


def test_lists_are_lists(site):
    _, pages = site
    flat = [path.name for path in pages if re.search(r"<p>(?:(?!</p>).)*\n(?:- |1\. )", path.read_text(), re.DOTALL)]
    assert flat == [], "a list that became a paragraph"


def test_a_lost_link_of_the_site_is_noticed(folder):
    (folder / "a.html").write_text(
        '<h1 id="top"><a href="#top"></a><a href="#no"></a><a href="b.html"></a><script src="https://x.y/z.js"></script>'
    )
    pages = {path: Page(path) for path in folder.glob("*.html")}
    assert [address for _, address in lost(pages, folder)] == ["#no", "b.html", "https://x.y/z.js"]
