"""What commands write lies in the build folder unless they are told otherwise: nothing lands in the checkout. They run on an overlay of the checkout,
so that whatever they write is found, and the checkout stays as it is."""

import json
import pathlib
import shutil
import subprocess

import pytest
from compare_rows import GOLDEN, Machine
from program import BUILD, RUNGS, SOURCE, expect

pytest.importorskip("matplotlib")

MOUNT = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "sh",
    "-c",
    'mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$0" && cd "$0" && shift && exec "$@"',
    SOURCE,
]


class Overlay:
    def __init__(self, folder):
        self.folder = folder
        for name in ("upper", "work"):
            (self.folder / name).mkdir()

    def call(self, *words, code=0):
        done = subprocess.run([*MOUNT, self.folder, *map(str, words)], capture_output=True, text=True)
        expect(done.returncode == code, " ".join(map(str, words[1:])), done)
        return done

    def written(self):
        """Files outside the build folder, relative to the checkout."""
        upper = self.folder / "upper"
        found = {p.relative_to(upper) for p in upper.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
        return {str(p) for p in found if not (SOURCE / p).is_relative_to(BUILD)}

    def built(self, *parts):
        return self.folder / "upper" / BUILD.relative_to(SOURCE) / pathlib.Path(*parts)


@pytest.fixture
def overlay(folder):
    if not BUILD.is_relative_to(SOURCE):
        pytest.skip("the build folder is not in the checkout")
    made = Overlay(folder)
    if not shutil.which("unshare") or subprocess.run([*MOUNT, folder, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine lets us mount no overlay")
    return made


@pytest.fixture
def history(folder):
    """Rows of two commits, one case."""
    machine, lines = Machine(1), []
    for i in range(2):
        environment = machine.environment()
        environment.update(commit=str(i + 1) * 40, dirty=False, date=f"2026-03-0{i + 1}T00:00:00Z")
        lines += [environment, machine.row(environment["run"], window=10, seconds=1e-3)]
    (folder / "results").mkdir()
    (folder / "results/runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "results"


def test_nothing_lands_in_the_checkout(overlay, history):
    rows = history / "runs.jsonl"
    overlay.call(RUNGS, "report", rows)  # too little for a figure
    overlay.call(RUNGS, "report", "--history", history)
    overlay.call(RUNGS, "run", "double n=1003", "--variants", "cpu_loop", "--verify-only")
    overlay.call(RUNGS, "export", "csv", rows)
    overlay.call(RUNGS, "compare", rows, rows, code=2)  # rows of two commits: an error, and no file
    assert overlay.written() == set()
    assert "cuda_shared" in overlay.built("report/REPORT.md").read_text(), "the report lies in the build folder"
    page = overlay.built("history/HISTORY.md")
    (figure,) = page.parent.glob("figures/*.svg")
    assert f"(figures/{figure.name})" in page.read_text(), "so does the history, with its figure"


def test_out_has_its_figures_beside_it(overlay, history, folder):
    overlay.call(RUNGS, "report", "--history", history, "--out", folder / "own/page.md")
    assert {path.name for path in (folder / "own").iterdir()} == {"page.md", "figures"}


def test_a_refused_command_writes_nothing(overlay):
    overlay.call(RUNGS, "report", "--committed", "--out", "x.md", code=2)
    assert overlay.written() == set()


def test_report_committed_writes_the_report_and_pages_of_docs(overlay):
    overlay.call(RUNGS, "report", "--committed", GOLDEN)
    written = overlay.written()
    assert "REPORT.md" in written and len(written) > 1
    assert all(path in ("REPORT.md", "README.md") or path.startswith("docs/") for path in written), written
    first = (SOURCE / "REPORT.md").read_text().splitlines()[0]
    assert (overlay.folder / "upper/REPORT.md").read_text().startswith(first), "the report begins as ever"
