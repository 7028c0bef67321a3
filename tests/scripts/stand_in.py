"""A program in place of rungs, whose speed is known: for tests of what compares programs."""

import sys

from checkout import SOURCE

# A program that takes `run SCENARIO... --out FILE` and appends rows as rungs does; it keeps a diary of its command lines.
PROGRAM = """#!{python} -SE
import json, os, pathlib, random, sys
sys.path.insert(0, {scripts!r})
from compare_rows import Machine
words = sys.argv[1:]
if words == ["run", "--help"]:
    sys.exit(print({help!r}))
diary = pathlib.Path({diary!r})
lines = diary.read_text().splitlines() if diary.exists() else []
diary.write_text("\\n".join([*lines, json.dumps([{name!r}, *words])]) + "\\n")
if {fails}:
    print("a bad day")
    sys.exit(4)
out = pathlib.Path(words[words.index("--out") + 1])
machine = Machine(len(lines))
environment = machine.environment()
environment["variables"] = {{}}
rows = [machine.row(environment["run"], window=w, seconds=1e-3 * ({factor} if w == 30 else 1)) for w in range(10, 60, 10)]
with open(out, "a") as file:
    file.write("".join(json.dumps(line) + "\\n" for line in [environment, *rows]))
"""


def stand_in(path, diary, factor=1.0, fails=False, help="--out --no-ceilings"):
    """Makes it. factor: of the time of the third of its rows; diary: a file."""
    known = {"python": sys.executable, "scripts": str(SOURCE / "tests/scripts"), "diary": str(diary), "name": path.name}
    path.write_text(PROGRAM.format(**known, factor=factor, fails=fails, help=help))
    path.chmod(0o755)
    return path
