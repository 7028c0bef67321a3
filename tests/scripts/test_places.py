"""What commands write lies in the build folder unless they are told otherwise: nothing lands in the checkout. They run on an overlay of the checkout,
so that whatever they write is found, and the checkout stays as it is."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from compare_rows import GOLDEN, Machine
from program import BUILD, RUNGS, SOURCE, expect

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    print(error)
    sys.exit(77)

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
        self.folder = pathlib.Path(folder)
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


def history(folder):
    """Rows of two commits, one case."""
    machine, lines = Machine(1), []
    for i in range(2):
        environment = machine.environment()
        environment.update(commit=str(i + 1) * 40, dirty=False, date=f"2026-03-0{i + 1}T00:00:00Z")
        lines += [environment, machine.row(environment["run"], window=10, seconds=1e-3)]
    folder.mkdir()
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def main():
    if not BUILD.is_relative_to(SOURCE):
        print("the build folder is not in the checkout")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        overlay, rows = Overlay(name), history(pathlib.Path(name) / "results")
        if not shutil.which("unshare") or subprocess.run([*MOUNT, name, "true"], capture_output=True).returncode != 0:
            print("this machine lets us mount no overlay")
            sys.exit(77)
        overlay.call(RUNGS, "report", rows / "runs.jsonl")  # too little for a figure
        overlay.call(RUNGS, "report", "--history", rows)
        overlay.call(RUNGS, "run", "double n=1003", "--variants", "cpu_loop", "--verify-only")
        overlay.call(RUNGS, "export", "csv", rows / "runs.jsonl")
        overlay.call(
            RUNGS, "compare", rows / "runs.jsonl", rows / "runs.jsonl", code=2
        )  # rows of two commits: an error, and no file
        expect(overlay.written() == set(), f"nothing lands in the checkout: {overlay.written()}")
        expect("cuda_shared" in overlay.built("report/REPORT.md").read_text(), "the report lies in the build folder")
        page = overlay.built("history/HISTORY.md")
        figures = [path.name for path in page.parent.glob("figures/*.svg")]
        expect(
            len(figures) == 1 and f"(figures/{figures[0]})" in page.read_text(), "so does the history, with its figure"
        )
        overlay.call(RUNGS, "report", "--history", rows, "--out", f"{name}/own/page.md")
        expect(
            {p.name for p in (pathlib.Path(name) / "own").iterdir()} == {"page.md", "figures"},
            "--out FILE has its figures beside it",
        )
        overlay.call(RUNGS, "report", "--committed", "--out", "x.md", code=2)
        expect(overlay.written() == set(), "a refused command writes nothing")
        overlay.call(RUNGS, "report", "--committed", GOLDEN)
        written = overlay.written()
        expect(
            "REPORT.md" in written
            and len(written) > 1
            and all(p in ("REPORT.md", "README.md") or p.startswith("docs/") for p in written),
            f"report --committed writes REPORT.md, docs/results, docs/figures and numbers in pages: {written}",
        )
        first = (SOURCE / "REPORT.md").read_text().splitlines()[0]
        expect((overlay.folder / "upper/REPORT.md").read_text().startswith(first), "the report begins as ever")


if __name__ == "__main__":
    main()
