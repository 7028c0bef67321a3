"""The schema accepts the golden rows and the committed results, and rejects rows that break one rule each. Of the committed rows every
eighth is looked at, with all other lines; RUNGS_TEST_FULL=1: all of them.

Files named on the command line are held against it too: cmake/python tests/scripts/test_schema.py fresh.jsonl
"""

import copy
import gzip
import json
import os
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("jsonschema is not installed")
    sys.exit(77)

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).parents[2]))
SCHEMA = json.loads((SOURCE / "harness/record/row.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def lines_of(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            yield number, json.loads(text, parse_constant=lambda word: sys.exit(f"{path}:{number}: {word} is not JSON"))


def check_file(path, every=1):
    bad = 0
    count = 0
    for number, line in lines_of(path):
        count += 1
        if number % every and line.get("kind") == "row":
            continue
        for error in VALIDATOR.iter_errors(line):
            bad += 1
            print(f"{path}:{number}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    if count == 0:
        sys.exit(f"{path}: no lines")
    return bad


def first(golden, kind, wanted=lambda line: True):
    return copy.deepcopy(next(line for line in golden if line["kind"] == kind and wanted(line)))


def without(line, key):
    del line[key]
    return line


def changed(line, **values):
    """a__b=v sets line["a"]["b"]."""
    for path, value in values.items():
        *folders, key = path.split("__")
        target = line
        for folder in folders:
            target = target[folder]
        target[key] = value
    return line


def no_times(mode):
    numbers = ("median", "min", "max", "q1", "q3", "low", "high", "elements_per_second", "limit", "clock", "sm_mhz")
    return {**mode, **dict.fromkeys(numbers), "count": 0, "samples": [], "why_none": "not captured"}


def mutants(golden):
    """(what is wrong, the line)."""

    def timed():
        return first(golden, "row", lambda r: r["timing"] is not None)

    def failed():
        return first(golden, "row", lambda r: r["verdict"] == "fail")

    def emulated():
        return first(golden, "row", lambda r: r["backend"] == "emulator")

    def held():
        return first(golden, "row", lambda r: ((r["timing"] or {}).get("cold") or {}).get("limit"))

    def gpu():
        return first(golden, "environment", lambda e: e["gpu"] is not None)

    for kind in ("environment", "ceilings", "row", "claim"):
        for key in first(golden, kind):
            if key != "kind":
                yield f"{kind} without {key}", without(first(golden, kind), key)
        yield f"{kind} with an unknown key", changed(first(golden, kind), hostname="somewhere")
        yield f"{kind} of another schema", changed(first(golden, kind), schema=2)
    yield "unknown kind", changed(timed(), kind="rows")
    yield "no kind", without(timed(), "kind")
    yield "failed, yet timed", changed(failed(), timing=timed()["timing"], why_not_timed=None, reverified=True)
    yield "failed without a reason", changed(failed(), reason=None)
    yield "passed with a reason", changed(timed(), reason="but")
    yield "passed without errors", changed(timed(), errors=None)
    yield "emulated, yet timed", changed(emulated(), timing=timed()["timing"], why_not_timed=None, reverified=True)
    yield "not timed, no reason", changed(emulated(), why_not_timed=None)
    yield "timed, never verified again", changed(timed(), reverified=None)
    yield "a time of zero", changed(timed(), timing__cold__median=0)
    yield "a median from no samples", changed(timed(), timing__cold__count=0)
    yield "samples lost", changed(timed(), timing__cold__samples=[])
    yield "nothing checked", changed(timed(), timing__cold__checked=[])
    yield "a check of an unknown set", changed(timed(), timing__cold__checked=[{"sample": 1, "set": 4}])
    yield "an unknown mode", changed(timed(), timing__lukewarm=timed()["timing"]["cold"])
    yield "a number as text", changed(timed(), work__bytes="16")
    yield "a verdict of its own", changed(timed(), verdict="ok")
    yield "a decimal worst value", changed(timed(), errors__y__worst_truth="0.333")
    yield "a variant without a backend", changed(timed(), variant="rolling/shared")
    yield "a negative count", changed(timed(), errors__y__unwritten=-1)
    yield "no hash, no reason", changed(timed(), code={"sass_hash": None, "host_hash": None, "reason": None})
    yield "a hash and a reason", changed(timed(), code={"sass_hash": "0" * 16, "host_hash": "0" * 16, "reason": "none"})
    yield (
        "a limit without its kernel",
        changed(held(), timing__cold__limit={"seconds": 1e-3, "bytes_read": 8, "bytes_written": 8, "share": 0.5}),
    )
    yield "a limit of no time", changed(held(), timing__cold__limit__seconds=0)
    yield "a limit without rates", changed(timed(), timing__cold__limit=None)
    yield (
        "rates without a limit",
        changed(timed(), timing__cold__bytes_per_second=1e9, timing__cold__elements_per_second=1e9),
    )
    yield (
        "a rate without a time",
        changed(held(), timing__graph={**no_times(held()["timing"]["graph"]), "bytes_per_second": 1e9}),
    )
    yield "an absolute path", changed(gpu(), argv=["rungs", "/home/somebody/x"])
    yield "a GPU and a reason why there is none", changed(gpu(), gpu_reason="none")
    yield "no GPU, no reason", changed(gpu(), gpu=None)
    yield "a short id", changed(gpu(), id="12ab")
    yield (
        "an unknown ceiling",
        changed(first(golden, "ceilings"), ceilings=[{**first(golden, "ceilings")["ceilings"][0], "name": "speed"}]),
    )

    def claim(outcome):
        return first(golden, "claim", lambda c: c["outcome"] == outcome)

    yield "a claim that holds without a number", changed(claim("holds"), here=None, low=None, high=None, processes=0)
    yield "a claim without a reason for its band", changed(claim("holds"), reason=None)
    yield "a number of no process", changed(claim("holds"), processes=0)
    yield "a claim of an unknown program", changed(claim("holds"), program="mine")
    yield "a claim without a program", without(claim("holds"), "program")
    yield "not run, yet a number", changed(claim("not_run"), here=1.0, processes=1)
    yield "a provisional nothing", changed(claim("not_run"), provisional=True)
    yield "an outcome without why", changed(claim("not_run"), why=None)


def main():
    Draft202012Validator.check_schema(SCHEMA)
    golden_path = SOURCE / "tests/golden/rows.jsonl"
    bad = check_file(golden_path)
    committed = sorted(
        path for path in (SOURCE / "results").rglob("*.jsonl*") if path.parent.name != "gate"
    )  # excerpts: gate_evidence.py, KEPT
    for path in committed:
        bad += check_file(path, every=1 if os.environ.get("RUNGS_TEST_FULL") else 8)
    for word in sys.argv[1:]:
        bad += check_file(pathlib.Path(word))
    golden = [line for _, line in lines_of(golden_path)]
    tried = 0
    for what, line in mutants(golden):
        tried += 1
        if VALIDATOR.is_valid(line):
            bad += 1
            print(f"accepted, but must be rejected: {what}")
    print(f"{len(golden)} golden lines, {len(committed)} files of results, {tried} broken lines")
    sys.exit(1 if bad else 0)


main()
