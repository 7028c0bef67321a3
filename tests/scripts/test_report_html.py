"""The interactive page in a headless Chromium without a network: no errors, filters, ranking, sorting, slider, cells, links and paper work; figures are drawn. Without Chromium it is skipped."""

import csv
import json
import math
import re
import statistics
import time

import browser
import pytest
from checkout import SOURCE
from report_page import GOLDEN, ROWS, TIMED, WORK, made_by, report, written

if not browser.program():
    pytest.skip("no Chromium: apt-get install chromium", allow_module_level=True)
pytest.importorskip("bokeh")

FULL, PAGE, SMALL = made_by("make_rows.py", "gpu", name="full.jsonl"), WORK / "report.html", WORK / "small.html"
MOST_BYTES = 5_000_000
DRAWN = """[...document.querySelectorAll(%r)].every((place) => { const all = [];
  (function walk(node) { if (node.tagName === 'CANVAS') all.push(node); for (const child of [...(node.children || []), ...(node.shadowRoot ? node.shadowRoot.children : [])]) walk(child); })(place);
  return all.some((canvas) => { if (!canvas.width || !canvas.height) return false; const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
    const context = copy.getContext('2d', { willReadFrequently: true }); context.drawImage(canvas, 0, 0); const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data; const seen = new Set();
    for (let k = 0; k < pixels.length; k += 4) seen.add(pixels[k] << 16 | pixels[k + 1] << 8 | pixels[k + 2]); return seen.size > 2; }); })"""
NAMES = "[...document.querySelectorAll('#ranking-table tbody tr')].map((line) => line.dataset.variant)"


def histories():
    """The golden rows, and one of them at eight commits, slower from the fifth on."""
    naive = next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")
    environment = next(line for line in GOLDEN if line["kind"] == "environment")
    lines = []
    for k in range(8):
        run, value = f"2026030{k + 1}T000000Z-1", 0.3 * (1.2 if k >= 4 else 1.0) * (1 + 0.001 * (k % 3))
        timing = {"cold": {**naive["timing"]["cold"], "median": value, "low": 0.99 * value, "high": 1.01 * value}}
        lines += [
            {
                **environment,
                "run": run,
                "date": f"2026-03-0{k + 1}T00:00:00Z",
                "commit": f"{k + 1}" * 40,
                "id": f"{k:016x}",
            },
            {**naive, "run": run, "timing": timing},
        ]
    return lines


report(FULL, "--no-figures", "--html", PAGE)
report(written(GOLDEN + histories()), "--no-figures", "--html", SMALL)
CHROMIUM = browser.Browser()


@pytest.fixture(scope="module", autouse=True)
def chromium_ends():
    yield
    CHROMIUM.__exit__()


def click(what):
    CHROMIUM.run(f"{what}.click()")


def chip(group, value):
    click(
        f"[...document.querySelectorAll('#filters button')].find((b) => b.dataset.group === '{group}' && b.dataset.value === '{value}')"
    )


def shown(selector="#ranking-about"):
    return CHROMIUM.run(f"document.querySelector({selector!r}).textContent")


def test_one_small_file_without_addresses():
    text = PAGE.read_text()
    assert len(text.encode()) <= MOST_BYTES and "<script src" not in text and '<link rel="stylesheet' not in text


def test_it_opens_and_draws():
    CHROMIUM.open(PAGE)
    CHROMIUM.wait(DRAWN % "#ranking-chart")
    CHROMIUM.wait(DRAWN % "#claims-chart")
    timed = {
        row["variant"].split("/")[1]
        for row in map(json.loads, FULL.read_text().splitlines())
        if row["kind"] == "row" and row["verdict"] == "pass" and (row["timing"] or {}).get("cold")
    }
    assert set(CHROMIUM.run(NAMES)) == timed, "every variant with a verified time is ranked, and no other"
    assert not CHROMIUM.faults, CHROMIUM.faults


def test_filters_and_ranking():
    CHROMIUM.open(PAGE)
    before = shown()
    chip("dtype", "f32")
    rows = [
        row
        for row in map(json.loads, FULL.read_text().splitlines())
        if row["kind"] == "row"
        and row["dtype"] == "f32"
        and row["verdict"] == "pass"
        and (row["timing"] or {}).get("cold")
    ]
    assert shown() != before and set(CHROMIUM.run(NAMES)) == {row["variant"].split("/")[1] for row in rows}
    best = CHROMIUM.run(NAMES)[0]
    mean = "[...document.querySelectorAll('#ranking-table tbody tr')].map((line) => [line.dataset.variant, line.cells[2].textContent.replace(',', '')])"
    first = dict(CHROMIUM.run(mean))
    assert float(first[best]) < 1.2, first
    click(f"document.querySelector('tr[data-variant=\"{best}\"] input')")
    second = dict(CHROMIUM.run(mean))
    left = [float(v) for k, v in first.items() if k != best and v != "-"]
    assert second[best] == "-" and min(float(v) for v in second.values() if v != "-") <= min(left), "rescaled"
    address = CHROMIUM.run("location.href")
    click("document.getElementById('all')")
    assert dict(CHROMIUM.run(mean)) == first
    CHROMIUM.open(SMALL)
    CHROMIUM.open(address)
    assert dict(CHROMIUM.run(mean)) == second, "the address brings the same page back"


def ranks_of(page):
    """Of the page's ranking: variant -> geometric mean, of those with a rank."""
    lines = page.run(
        "[...document.querySelectorAll('#ranking-table tbody tr')].map((line) => [line.dataset.variant, line.cells[1].textContent, line.cells[2].textContent.replace(',', '')])"
    )
    return {name: float(mean) for name, rank, mean in lines if rank.isdigit()}


def test_ranks_are_on_cases_that_all_ranked_variants_have():
    """Computed anew here from the rows: medians of cases that all of them passed and timed. One variant, of a case of its own, has no rank."""
    own = {
        **TIMED,
        "case": TIMED["case"].replace("seed=1", "seed=77"),
        "variant": "rolling/cpu_alone",
        "spec": "rolling/cpu_alone",
    }
    assert own["case"] != TIMED["case"]
    lines = [json.loads(text) for text in FULL.read_text().splitlines()]
    report(written([*lines, {**own, "run": lines[-1]["run"]}]), "--no-figures", "--html", WORK / "ranks.html")
    CHROMIUM.open(WORK / "ranks.html")
    ranked = ranks_of(CHROMIUM)
    assert len(ranked) > 1 and "cpu_alone" in CHROMIUM.run(NAMES) and "cpu_alone" not in ranked
    times = {}
    for row in lines:
        name = row.get("variant", "").removeprefix("rolling/")
        if row["kind"] == "row" and row["verdict"] == "pass" and (row["timing"] or {}).get("cold") and name in ranked:
            of = times.setdefault(row["case"], {})
            of[name] = min(of.get(name, math.inf), row["timing"]["cold"]["median"])
    common = [of for of in times.values() if of.keys() == ranked.keys()]
    assert f"on the {len(common)} of " in shown(), shown()
    for name, mean in ranked.items():
        expected = math.exp(statistics.fmean(math.log(of[name] / min(of.values())) for of in common))
        assert abs(mean / expected - 1) < 0.01, (name, mean, expected)


def test_chips_are_there_where_they_filter():
    CHROMIUM.open(PAGE)
    groups = CHROMIUM.run(
        "[...document.querySelectorAll('#filters .group')].map((g) => g.querySelectorAll('[data-group]').length)"
    )
    assert groups and all(count > 1 for count in groups), groups


def test_sorting():
    CHROMIUM.open(PAGE)
    click("document.querySelector('#ranking-table [data-sort=\"r:v\"]')")
    names = CHROMIUM.run(NAMES)
    assert names == sorted(names)
    click("document.querySelector('#ranking-table [data-sort=\"r:v\"]')")
    assert CHROMIUM.run(NAMES) == sorted(names, reverse=True)
    click("document.querySelector('#cases-table [data-sort=\"c:size\"]')")
    sizes = CHROMIUM.run(
        "[...document.querySelectorAll('#cases-table tbody tr')].map((line) => Number(line.cells[1].textContent))"
    )
    assert sizes == sorted(sizes) and len(sizes) > 1, sizes


def test_the_slider_drops():
    CHROMIUM.open(PAGE)
    before = CHROMIUM.run(NAMES)
    CHROMIUM.run(
        "(() => { const slider = document.getElementById('tolerance'); slider.value = -8; slider.dispatchEvent(new Event('input')); })()"
    )
    assert "Outside this tolerance" in shown("#dropped") and CHROMIUM.run(NAMES) != before
    assert float(shown("#tolerance-value")) == 1e-8 and re.match(
        r"drops \d+ of \d+ times, of \w", shown("#slider-drops")
    )


def test_cells_open():
    CHROMIUM.open(SMALL)
    click("[...document.querySelectorAll('#cases-table td.best button')][0]")
    assert CHROMIUM.run("document.getElementById('detail').open")
    CHROMIUM.wait(DRAWN % "#detail-body > div:nth-of-type(1) .samples")
    CHROMIUM.run("document.getElementById('detail').close()")
    corner = "(() => { const cell = document.querySelector('#cases-table td.best'); cell.scrollIntoView({ block: 'center' }); const box = cell.getBoundingClientRect(); return [box.left + 1, box.top + 1]; })()"
    CHROMIUM.run(f"document.elementFromPoint(...{corner}).click()")
    assert CHROMIUM.run("document.getElementById('detail').open"), "a cell opens at its very corner"
    CHROMIUM.wait(DRAWN % "#detail-body > div:nth-of-type(1) .samples")
    told = shown("#detail-body")
    for word in ("NVIDIA H200", "commit", "./rungs run 'rolling ", "error bound", "580.95.05"):
        assert word in told, (word, told)
    CHROMIUM.ask("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
    CHROMIUM.wait("!document.getElementById('detail').open")
    click("[...document.querySelectorAll('#cases-table td.bad button')][0]")
    assert "fail" in shown("#detail-body") or "error" in shown("#detail-body")
    assert not CHROMIUM.faults, CHROMIUM.faults


def test_claims_by_the_readers_factor():
    CHROMIUM.open(SMALL)
    before = shown("#claims-table")
    assert "another size" in before and "holds" in before
    CHROMIUM.run(
        "(() => { const box = document.getElementById('factor'); box.value = 50; box.dispatchEvent(new Event('change')); })()"
    )
    assert "another size" not in shown("#claims-table"), "fifty times is generous"
    click("document.querySelector('#claims-table tbody button')")
    assert "protocol" in shown("#detail-body") and "an example tutorial" in shown("#detail-body")


def test_history():
    CHROMIUM.open(SMALL)
    assert "1 series" in shown("#history-about"), shown("#history-about")
    CHROMIUM.wait(DRAWN % "#history-charts .chart")
    assert "changes at 5555555" in shown("#history-charts"), shown("#history-charts")
    CHROMIUM.open(PAGE)
    assert "one commit" in shown("#history-about")


def test_csv_button():
    """The file that the button saves, cell by cell; and the table of cases that all languages share."""
    spec = '=1+1,"q"\r\nnext\x1b[31m'
    report(
        written([{**line, "spec": spec} if line.get("spec") == TIMED["spec"] else line for line in GOLDEN]),
        "--no-figures",
        "--html",
        WORK / "formula.html",
    )
    CHROMIUM.open(WORK / "formula.html")
    CHROMIUM.ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(WORK))
    click("document.getElementById('csv')")
    end = time.monotonic() + browser.PATIENCE
    while not (files := list(WORK.glob("rungs-*.csv"))) and time.monotonic() < end:
        time.sleep(0.05)
    lines = list(csv.DictReader(files[0].open(newline="")))
    assert lines and '\'=1+1,"q"\nnext\\x1b[31m' in [line["spec"] for line in lines], lines
    assert all(float(line["median_s"]) > 0 for line in lines if line["median_s"]), "numbers stay numbers"
    for case in json.loads((SOURCE / "tests/golden/foreign.json").read_text()):
        assert CHROMIUM.run(f"csvCell({json.dumps(case['text'])})") == case["csv"], case
    assert CHROMIUM.run("[-1.5, 0, null, undefined].map(csvCell)") == ["-1.5", "0", "", ""]


def test_csv_keys_and_paper():
    CHROMIUM.open(SMALL)
    lines = list(csv.DictReader(CHROMIUM.run("csvText(seen)").splitlines()))
    cells = CHROMIUM.run("[...document.querySelectorAll('#cases-table td.opens')].map((cell) => cell.textContent)")
    assert cells and [line["shown"] for line in lines] == cells, "the CSV is what is seen, cell by cell"
    CHROMIUM.ask("Input.dispatchKeyEvent", type="keyDown", key="/", text="/")
    assert CHROMIUM.run("document.activeElement.closest('#filters') !== null"), "a slash leads to the filters"
    assert CHROMIUM.paper()[:5] == b"%PDF-" and not CHROMIUM.faults, CHROMIUM.faults


def test_paper_has_everything():
    """More cases and variants than the screen shows at first."""
    rows = [
        {**TIMED, "case": f"{TIMED['case']}{k}", "variant": f"rolling/cpu_v{v}", "spec": f"rolling/cpu_v{v}"}
        for k in range(70)
        for v in range(17)
    ]
    report(
        written([line for line in GOLDEN if line["kind"] != "row"] + rows), "--no-figures", "--html", WORK / "long.html"
    )
    CHROMIUM.open(WORK / "long.html")
    count = "document.querySelectorAll('.cases td.opens').length"
    before = CHROMIUM.run(count)
    CHROMIUM.run("window.dispatchEvent(new Event('beforeprint'))")
    assert before < len(rows) == CHROMIUM.run(count)
    CHROMIUM.run("window.dispatchEvent(new Event('afterprint'))")
    assert CHROMIUM.run(count) == before


def test_narrow_and_dark():
    with browser.Browser(dark=True, width=400) as narrow:
        narrow.open(SMALL)
        assert narrow.run("document.documentElement.scrollWidth") <= 400, "nothing is wider than the screen"
        folded = narrow.run("[...document.querySelectorAll('#cases-table .case')].map((line) => line.cells.length)")
        assert folded and set(folded) == {1}, "a case stands above its cells"
        assert narrow.run("document.querySelector('#cases-table tbody td').getBoundingClientRect().left") < 20
        assert narrow.run("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
        narrow.wait(DRAWN % "#ranking-chart")
        assert not narrow.faults, narrow.faults


def test_rows_without_times():
    report(
        written([line for line in GOLDEN if line["run"].endswith("2")]), "--no-figures", "--html", WORK / "none.html"
    )
    CHROMIUM.open(WORK / "none.html")
    assert (
        "No GPU was used" in shown("#about") and "nothing to rank" in shown() and "No claim" in shown("#claims-about")
    )
    assert not CHROMIUM.faults, CHROMIUM.faults
