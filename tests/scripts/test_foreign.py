"""Text that others wrote steers nothing: the table of cases for each kind of output (tests/golden/foreign.json; tests/unit/test_foreign.c reads it
for C), and hostile rows, scenarios and headers of files through every verb that reads them, with the real program."""

import csv
import json
import re
import xml.etree.ElementTree as xml

import pytest

from program import CUDA, SOURCE, call, expect

from compare_rows import LINES, Machine  # behind program, which has the checkout in the path

from analysis import foreign

FORMATS = pytest.importorskip("analysis.export.__main__", exc_type=ImportError).FORMATS
CASES = json.loads((SOURCE / "tests/golden/foreign.json").read_text())

BAD = (
    "::error::x\n  ::warning::y ##[error]z <script>alert(1)</script><img src=x onerror=alert(2)> \x1b]0;t\x07\x1b[31m\x9b1m\u202e\b "
    "![p](http://evil) [q](javascript:1) | `b` $\\frac{$ \"'"
)
FORMULAS = ("=1+1", "+1", "-1+cmd", "@SUM(A1)")


@pytest.fixture(autouse=True)
def no_workflow(monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["text"]))
def test_the_table(case):
    text = case["text"]
    assert case == {
        "text": text,
        "terminal": foreign.terminal(text),
        "lines": foreign.terminal(text, lines=True),
        "markdown": foreign.markdown(text),
        "csv": foreign.csv(text),
    }


def test_numbers_stay_numbers():
    assert [foreign.csv(value) for value in (-1.5, 0, None, True)] == [-1.5, 0, None, True]


def quiet(text, what, done=None):
    """Nothing that steers a terminal, no command of a workflow."""
    steering = re.search(
        "[^\\n\\t\\x20-\\x7e\\xa0-\\u200d\\u2010-\\u2027\\u202f-\\u2065\\u206a-\\uffff\\U00010000-\\U0010ffff]", text
    )
    commands = [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]
    expect(
        not steering and not commands,
        f"{what}: {steering and (steering, text[max(0, steering.start() - 80) : steering.end() + 40])} {commands[:2]}",
        done if steering or commands else None,
    )


def harmless_page(path):
    text = path.read_text()
    found = re.search(r"<script|<img|\x1b|\]\(http://evil|\]\(javascript", text)
    expect(
        not found,
        f"{path.name}: no tag, link or image of a row: {found and text[max(0, found.start() - 80) : found.end() + 60]!r}",
    )


def harmless_file(path):
    if path.suffix == ".md":
        harmless_page(path)
    elif path.suffix in (".xml", ".svg"):
        xml.parse(path)
        expect("\x1b" not in path.read_text(), f"{path.name} is XML")
    elif path.suffix == ".html":
        expect("alert(1)" not in path.read_text(), f"{path.name}: rows are data of the page")
    elif path.suffix == ".csv":
        for line in csv.reader(path.open(newline="")):
            for cell in line:
                if cell.startswith(("=", "+", "-", "@")):
                    float(cell)  # a number, or the test fails
        expect("'=1+1" in path.read_text(), f"{path.name}: no cell is a formula, and the text is there")
    else:
        expect("\x1b" not in path.read_bytes().decode("latin-1"), f"{path.name}: no ESC")


def hostile_rows(path, seed):
    def change(row, number):
        window = row["params"]["window"]
        row["scenario"] = BAD
        row["params"] |= {"note": FORMULAS[0] + BAD}
        if window == 70:
            row.update(
                verdict="fail",
                reason=BAD,
                timing=None,
                why_not_timed=BAD,
                reverified=None,
                spec=row["spec"] + BAD,
                bound={"name": BAD, "formula": BAD, "declared": True},
            )
        elif window == 60:
            row.update(verdict="error", reason=FORMULAS[2], timing=None, why_not_timed=FORMULAS[3], reverified=None)
        else:
            row.update(baseline=row["spec"], limit_reason=BAD, counts_reason=BAD)
            row["timing"]["cold"]["clock"] = "cuda events" + BAD
        return row

    Machine(seed).file(path, 2, [{"window": 10 * k} for k in range(1, 8)], change, name="GPU " + BAD, driver="1" + BAD)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "environment":
            line.update(
                os=BAD, container=BAD, argv=["rungs", "run", BAD], variables={"OMP_" + BAD: BAD}, commit="abcdef0"
            )
            line["build"].update(compiler=BAD, flags=BAD)
            line["cpu"]["model"] = BAD
            run = line["run"]
    claim = json.loads(json.dumps(next(line for line in LINES if line["kind"] == "claim")))
    claim.update(
        run=run,
        scenario=BAD,
        op="rolling",
        **{
            key: BAD for key in ("id", "statement", "source", "hardware", "method", "note", "expected", "reason", "why")
        },
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, claim]))
    return path


def test_hostile_rows_through_every_verb(folder):
    rows, other, out = hostile_rows(folder / "rows.jsonl", 1), hostile_rows(folder / "other.jsonl", 2), folder / "out"
    out.mkdir()
    (folder / "commits").mkdir()
    (folder / "commits/1.jsonl").write_text(rows.read_text())
    (folder / "commits/2.jsonl").write_text(other.read_text().replace("abcdef0", "1234567"))
    commands = [
        ("report", rows, "--out", out / "REPORT.md", "--figures", out / "figures", "--html", out / "page.html"),
        ("report", "--history", folder / "commits", "--out", out / "HISTORY.md", "--figures", out / "history"),
        ("compare", rows, other, "--json", out / "c.json", "--markdown", out / "c.md", "--junit", out / "c.xml"),
        *(
            (
                "export",
                form,
                rows,
                "--out",
                out / f"export-{form}.{dict(csv='csv', junit='xml').get(form, 'txt')}",
            )
            for form in FORMATS
        ),
        *(("export", form, rows) for form in ("csv", "junit")),
        ("plot", "rolling_window_f64", rows),
        ("plot", "rolling_window_f64", rows, "--out", out / "plot.svg"),
        ("judge", rows, "--out", out / "judged.jsonl"),
        ("merge", rows, rows),
        ("merge", rows, "--out", out / "merged.jsonl"),
        ("merge", rows, "--expect", "double n=1000"),
        ("run", "double n=1000", "--quick", "--no-ceilings", "--variants", "cpu_*", "--resume", "--out", rows),
        ("list", "scenarios"),
    ]
    for words in commands:
        done = call(*words)
        told = f"{words[0]} {' '.join(map(str, words[1:3]))}"
        expect(
            done.returncode
            in (0, 1) + (2, 3) * (words[0] in ("judge", "merge")) + (4,) * (words[0] == "judge" and not CUDA)
            and "Traceback" not in done.stderr,
            f"{told}: no crash",
            done,
        )
        if words[0] != "export" or "--out" in words:
            quiet(done.stdout + done.stderr, told, done)
        else:
            quiet(
                done.stdout.replace("::", "").replace("##", ""), f"{told}: no character that steers"
            )  # data on stdout, not words for a log
    files = [path for path in out.rglob("*") if path.is_file()]
    expect(
        {"REPORT.md", "page.html", "HISTORY.md", "c.md", "c.xml", "export-csv.csv", "export-junit.xml"}
        <= {path.name for path in files},
        f"written: {sorted(path.name for path in files)}",
    )
    for path in files:
        if path.suffix != ".jsonl":
            harmless_file(path)


def refused_rows():
    line = json.loads((SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()[0])
    yield "a wrong type", json.dumps({**line, "date": BAD}, ensure_ascii=False)
    yield "a key twice", f"{{{json.dumps(BAD)}: 1, {json.dumps(BAD)}: 2}}"
    yield "no JSON", "{" + BAD.replace("\n", " ")


@pytest.mark.parametrize("verb", ["report", "merge", "compare"])
@pytest.mark.parametrize("what, text", list(refused_rows()), ids=[what for what, _ in refused_rows()])
def test_rows_that_are_refused_are_shown_without_steering(folder, what, text, verb):
    path = folder / "bad.jsonl"
    path.write_text(text + "\n")
    more = {"report": ["--out", folder / "no.md"], "merge": [], "compare": [path]}[verb]
    done = call(verb, path, *more)
    expect(done.returncode == 2, f"{what} is refused", done)
    quiet(done.stdout + done.stderr, what, done)


TEXT = json.dumps(BAD)
CASE = "title: t\nsuites:\n - op: double\n   axes: {n: [10]}\n   variants: "


@pytest.mark.parametrize("more", [["--out", "rows.jsonl"], ["--dry-run"]], ids=["run", "dry run"])
@pytest.mark.parametrize(
    "yaml",
    [
        f"{TEXT}: 1\n",
        f"title: t\nsuites:\n - op: {TEXT}\n",
        f"{CASE}[{TEXT}]\n",
        f"{CASE.replace(': t', f': {TEXT}', 1)}[cpu_loop]\n   not_run: {TEXT}\n",
    ],
    ids=["a key", "an op", "a variant", "not_run"],
)
def test_text_of_a_scenario_is_shown_without_steering(folder, yaml, more):
    (folder / "bad.yaml").write_text(yaml)
    done = call("run", folder / "bad.yaml", *more, cwd=folder)
    quiet(done.stdout + done.stderr, "run", done)


def test_headers_of_files_are_shown_without_steering(folder):
    (folder / "bad.csv").write_text(f'"{BAD}"\n1\n')
    header = f"{{'descr': '{BAD[:60]}', 'fortran_order': False, 'shape': (1,), }}".encode()
    (folder / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    for name in ("bad.csv", "bad.npy"):
        done = call("exec", "double", "--in", f"x={folder / name}", "--out", f"y={folder / 'y.npy'}")
        expect(done.returncode in (1, 2), f"exec: {name} is refused", done)
        quiet(done.stdout + done.stderr, f"exec: {name}", done)
