"""docs/data/reliability.md: what the fault suite tried and what it came to. `page.py --write` makes it from the records of the last run of
every part, plain and --full; without words it checks that the page says what this run did."""

import json
import os
import pathlib
import sys

SOURCE, BUILD = pathlib.Path(os.environ["RUNGS_SOURCE"]), pathlib.Path(os.environ["RUNGS_BUILD"])
FULL = bool(os.environ.get("RUNGS_TEST_FULL"))
RECORDS, PAGE = BUILD / "tests" / "faults", SOURCE / "docs" / "data" / "reliability.md"
PARTS = ("hostile", "kills", "ends", "outputs", "memory", "disk", "inputs", "fuzz")

HEAD = """<!-- data page: not counted as prose -->
# Reliability: faults tried, survived, rows lost

Made by `tests/faults/page.py --write` from runs of the suite; `./rungs test` checks it against its own run.

A fault is survived if it costs its own row, or ends with an exit code and words that name it, and nothing else: rows that were written
stay, every line of the file is whole, the next variant's row is as it would be alone, no file and no process is left, and `--resume`
finishes. Every fault is a line of a table in `tests/faults/`.

"""
COLUMNS = ("tried", "survived", "rows lost")
TAIL = """
## What a fault is
- **hostile variant**, **hostile library**: a variant in C, a file in Python. Where it is asked, prepared, run or released it aborts, hangs,
  exits, stops, corrupts the heap, eats memory, leaves processes, closes or floods its pipes, forges replies, changes limits, signals, folder
  or environment, or answers falsely (`hostile.py`).
- **kill -9**: at instants spread over the run, from a fixed seed (`kills.py`).
- **ended by a signal**: SIGKILL, SIGTERM, SIGINT and SIGHUP in turn, at instants as above. Nobody that the verb started goes on, and no file
  of it is left; the folder that a compiler works in may stay until the next run (`ends.py`).
- **an output, an input**: what each verb writes to or reads from is a loop of links, a folder, a device, a pipe, or one file twice (`outputs.py`).
- **rows moved or removed**: the error names the new path, or a copy that was saved beside the old one or in `$TMPDIR` (`outputs.py`).
- **no memory**: the k-th allocation of `list`, `run`, `exec` or `judge` fails, alone or with all after it (`memory.py`, `inject.c`).
- **a disk full**: the k-th write to a file and all after it fail (`disk.py`, `inject.c`).
- **a scenario**, **a row**, **a name**, **--shard**, **no threads**: aliases to aliases, values of a wrong type or range, names that are none, a
  machine that gives OpenMP no thread (`inputs.py`).
- **fuzzing**: mutations of a corpus that reaches every function of the parser, under AddressSanitizer and UBSan (`tests/fuzz/`).

Not tried: a variant that attacks the parent or other programs of the same user (`kill`, `ptrace`, files). A variant is code that you run.
Not tried without a GPU: faults of a device; `tests/scripts/test_mutants.py` has those.
"""


def fuzz_record(full):
    """The topics' own records as one part."""
    found = sorted((RECORDS / "fuzz").glob(f"*{'-full' if full else ''}.json"))
    kinds = {}
    for path in found:
        if full or not path.stem.endswith("-full"):
            kinds.update(json.loads(path.read_text()))
    return kinds


def records(full):
    """{kind: counts} of every part that has run."""
    kinds = {}
    for part in PARTS:
        path = RECORDS / f"{part}{'-full' if full else ''}.json"
        kinds.update(fuzz_record(full) if part == "fuzz" else json.loads(path.read_text()) if path.exists() else {})
    return kinds


def cells(counts):
    return [f"{counts['tried']:,}", f"{counts['survived']:,}", str(counts["lost"])] if counts else ["", "", ""]


def page(plain, full):
    kinds = list(dict.fromkeys([*plain, *full]))
    lines = [
        "| fault | " + " | ".join([*COLUMNS, *(f"--full: {name}" for name in COLUMNS)]) + " |",
        "|---|" + "--:|" * 6,
    ]
    lines += [f"| {kind} | " + " | ".join(cells(plain.get(kind)) + cells(full.get(kind))) + " |" for kind in kinds]
    known = sorted(
        {
            f"- {kind}: {words}"
            for counts in (plain, full)
            for kind in kinds
            if kind in counts
            for words in counts[kind]["known"]
        }
    )
    return HEAD + "\n".join(lines) + "\n\n## Not survived yet\n" + ("\n".join(known) or "None.") + "\n" + TAIL


def said(text):
    """{kind: [plain cells, full cells]} of a page."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith("| fault")
    ]
    return {row[0]: (row[1:4], row[4:7]) for row in rows}


def main():
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(records(False), records(True)))
        return
    ran, there = records(FULL), said(PAGE.read_text())
    if not ran:
        print("skip: no part of the fault suite has run; ctest -R faults runs all")
        sys.exit(77)
    never = [kind for kind in ran if FULL and kind in there and there[kind][FULL] == cells(None)]
    wrong = [
        f"{kind}: this run {cells(counts)}, the page {there.get(kind, ('none', 'none'))[FULL]}"
        for kind, counts in ran.items()
        if kind not in never and there.get(kind, (None, None))[FULL] != cells(counts)
    ]
    if wrong:
        sys.exit(
            "BAD  docs/data/reliability.md does not say what this run did; run the suite plain and with --full, then tests/faults/page.py --write\n"
            + "\n".join(wrong)
        )
    print(f"ok   docs/data/reliability.md agrees with this run in {len(ran) - len(never)} kinds of faults")
    if never:
        print(f"not on the page yet, page.py --write adds them: {', '.join(never)}")


if __name__ == "__main__":
    main()
