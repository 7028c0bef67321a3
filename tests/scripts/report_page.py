"""For tests of the report: golden lines, lines as a file, the report made in this process, its sections and tables. Without matplotlib a test is skipped."""

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
from checkout import SOURCE

pytest.importorskip("matplotlib")
import matplotlib.image

from analysis.report.__main__ import main
from plots import style

GOLDEN_FILE = SOURCE / "tests/golden/rows.jsonl"
GOLDEN = [json.loads(text) for text in GOLDEN_FILE.read_text().splitlines()]
ROWS = [line for line in GOLDEN if line["kind"] == "row"]
TIMED = next(row for row in ROWS if row["backend"] == "cuda" and row["verdict"] == "pass" and row["timing"])
FOLDER = tempfile.TemporaryDirectory(prefix="rungs_test_report_")
WORK = pathlib.Path(FOLDER.name)


def written(lines, name="rows.jsonl"):
    path = WORK / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def made_by(script, *words, name="made.jsonl"):
    """What a script of tests/golden/ prints, as a file."""
    path = WORK / name
    path.write_text(
        subprocess.run(
            [sys.executable, SOURCE / "tests/golden" / script, *words], capture_output=True, text=True, check=True
        ).stdout
    )
    return path


def report(*words, out="REPORT.md", expect=0):
    """The page, or None if there should be none; and what was said."""
    page, errors = WORK / out, io.StringIO()
    if "--figures" not in words and "--no-figures" not in words:
        words += ("--figures", WORK / "figures")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main([*map(str, words), "--out", str(page)])
    assert code == expect, f"exit code {code}, expected {expect}: {errors.getvalue()}"
    return page.read_text() if expect == 0 else None, errors.getvalue()


@contextlib.contextmanager
def drawn():
    """While it lasts every figure of matplotlib is looked at, as pixels: of a readable size, neither empty nor full. name -> pixels."""
    pictures, save = {}, style.save

    def look(figure, path):
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=160)
        pictures[path.stem] = pixels = matplotlib.image.imread(io.BytesIO(file.getvalue()), format="png")
        ink = (pixels[..., :3].min(axis=2) < 0.9).mean()
        assert pixels.shape[1] >= 1000 and pixels.shape[0] >= 400 and 0.005 < ink < 0.6, (path, pixels.shape, ink)
        return save(figure, path)

    style.save = look
    try:
        yield pictures
    finally:
        style.save = save


def links(page):
    """Of figures."""
    return [pathlib.Path(link) for link in re.findall(r"!\[.*?\]\((.*?)\)", page)]


def dead_links(path):
    """Links of a page, of figures and files, that lead nowhere."""
    found = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text())
    return [link for link in found if "://" not in link and not (path.parent / link).exists()]


def section(page, heading):
    """What stands under a heading of level two."""
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.S | re.M).group(1)


def op_page(op="rolling"):
    """The page of an op that the latest report wrote."""
    return (WORK / "results" / f"{op}.md").read_text()


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def tables(text):
    """Every table as its column names and lines of cells."""
    found = re.findall(r"^\|.*\n\| ---.*\n(?:\|.*\n?)*", text, re.M)
    return [
        (cells_of(head), [cells_of(line) for line in lines])
        for head, _, *lines in (table.splitlines() for table in found)
    ]


def table_line(text, *words):
    """The first line of a table that holds the words: its cells."""
    found = [line for line in text.splitlines() if line.startswith("|") and all(word in line for word in words)]
    assert found, f"no table line with {words}"
    return cells_of(found[0])


def table_cells(text, *words):
    """The same with the names of the columns."""
    cells = table_line(text, *words)
    return next(dict(zip(head, cells)) for head, lines in tables(text) if cells in lines)
