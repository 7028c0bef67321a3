"""For tests of what is drawn and reported: plots/ to import from, the golden lines, and lines as a file. Without matplotlib the test is skipped."""
import json
import os
import pathlib
import sys

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "plots"))

try:
    import matplotlib  # noqa: F401
except ImportError:
    print("matplotlib is not installed")
    sys.exit(77)

GOLDEN = [json.loads(text) for text in (SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()]


def written(folder, lines):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
