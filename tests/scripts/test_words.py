"""Pages stay short: each has at most so many words, as `wc -w` counts them, and all together too. And what they link to is there.

Data pages begin with a line that marks them as such and are not counted; nor are CHANGELOG.md and docs/results, which grow with what there is.
A page that is shorter than its limit may lower it; none may be raised beyond the goals without a decision.
"""

import re

import pytest

from program import SOURCE

MARK = "<!-- data page: not counted as prose -->"
ALL = 30_000  # a row marker is about 12 of them, the bars of a table are 3,400
OPS, NOTEBOOKS = 1490, 820
LIMITS = {
    "README.md": 600,
    "REPORT.md": 2540,  # the goal: 2,500
    "SECURITY.md": 1080,
    "CONTRIBUTING.md": 420,
    "docs/ADDING_AN_OP.md": 660,
    "docs/ADDING_A_VARIANT.md": 720,
    "docs/APPLY.md": 440,
    "docs/CI.md": 840,
    "docs/COMPARISON.md": 1350,
    "docs/DESIGN.md": 960,
    "docs/EMULATOR.md": 1190,
    "docs/GLOSSARY.md": 410,
    "docs/HOWTO.md": 450,
    "docs/METHOD.md": 1890,
    "docs/ORIGINALS.md": 350,
    "docs/PROTOCOL.md": 950,
    "docs/RESULTS.md": 1580,
    "docs/RUNNERS.md": 440,
    "docs/SCENARIOS.md": 1210,
    "docs/TROUBLESHOOTING.md": 350,
    "docs/TUTORIAL.md": 620,
    "docs/VERIFICATION.md": 500,
    "docs/YOUR_KERNELS.md": 650,
}
PAGES = {
    str(path.relative_to(SOURCE)): path.read_text()
    for pattern in ("*.md", "docs/**/*.md")
    for path in sorted(SOURCE.glob(pattern))
}
COUNTED = {
    name: text
    for name, text in PAGES.items()
    if not text.startswith(MARK) and name != "CHANGELOG.md" and not name.startswith("docs/results/")
}


def limit_of(name):
    if name.startswith("docs/ops/"):
        return NOTEBOOKS if "/notebook/" in name else OPS
    return LIMITS[name]


def too_long(pages):
    return {name: len(text.split()) for name, text in pages.items() if len(text.split()) > limit_of(name)}


def test_each_page_has_a_limit_and_keeps_to_it():
    named = {name for name in COUNTED if not name.startswith("docs/ops/")}
    assert named == set(LIMITS), "a new page needs a limit in this table"
    assert too_long(COUNTED) == {}


def test_all_together():
    words = sum(len(text.split()) for text in COUNTED.values())
    assert words <= ALL, f"{words} words"


def test_no_page_says_deterministic():
    """That takes 1,000 calls on each model of GPU (`bits` of rows), which nobody checks of a sentence; the report's own says them."""
    assert [name for name, text in PAGES.items() if re.search("deterministic", text, re.I)] == []


def test_a_long_page_is_noticed():
    assert too_long({"README.md": "word " * 601, "docs/ops/double.md": "word " * OPS}) == {"README.md": 601}


def test_a_change_is_a_line_of_15_words():
    long = [line for line in PAGES["CHANGELOG.md"].splitlines() if line.startswith("- ") and len(line.split()) > 16]
    assert long == []


def anchors(text):
    """Of headings, as GitHub makes them."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    heads = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)", outside, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def lost_links(name, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        found = (SOURCE / name).parent / path if path else SOURCE / name
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found.read_text())):
            yield target


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    assert list(lost_links(name, PAGES[name])) == []


def test_a_lost_link_is_noticed():
    text = "[a](README.md) [b](nowhere.md) [c](docs/METHOD.md#nothing) [d](docs/METHOD.md#counts) [e](https://example.org/x.md)"
    assert list(lost_links("README.md", text)) == ["nowhere.md", "docs/METHOD.md#nothing"]
