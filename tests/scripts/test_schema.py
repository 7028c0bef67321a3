"""The schema accepts the golden rows and the committed results, and rejects rows that break one rule each. Of the committed rows every
eighth is looked at, with all other lines; RUNGS_TEST_FULL=1: all of them."""

import copy
import gzip
import json

import pytest

from program import FULL, SOURCE

Draft202012Validator = pytest.importorskip("jsonschema").Draft202012Validator
SCHEMA = json.loads((SOURCE / "harness/record/row.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


GOLDEN = SOURCE / "tests/golden/rows.jsonl"
# those of gate/ are excerpts: gate_evidence.py, KEPT
COMMITTED = sorted(path for path in (SOURCE / "results").rglob("*.jsonl*") if path.parent.name != "gate")


def lines_of(path):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(text, parse_constant=refuse) for text in file]


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
    same = {"outcome": "same", "calls": 100, "excluded": 0.03, "seconds": 0.1}
    for wrong in (
        {"outcome": "perhaps"},
        {"calls": 2},
        {"excluded": None},
        {"outcome": "differ", "excluded": None},
        {"outcome": "not tried", "excluded": None},
        {"element": 1},
    ):
        yield f"bits with {wrong}", changed(timed(), bits={**same, **wrong})
    yield "energy without a unit", changed(timed(), energy={"joules": 1.0})
    yield "energy and why there is none", changed(timed(), energy={"joules": 1.0, "reason": "none"})
    yield "timed, never verified again", changed(timed(), reverified=None)
    yield "a time of zero", changed(timed(), timing__cold__median=0)
    yield "a median from no samples", changed(timed(), timing__cold__count=0)
    yield "samples lost", changed(timed(), timing__cold__samples=[])
    yield "nothing checked", changed(timed(), timing__cold__checked=[])
    yield "a check of an unknown set", changed(timed(), timing__cold__checked=[{"sample": 1, "set": 57}])
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


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", [GOLDEN, *COMMITTED], ids=lambda path: str(path.relative_to(SOURCE)))
def test_lines_are_as_described(path):
    every = 1 if FULL or path == GOLDEN else 8
    lines = lines_of(path)
    looked_at = [(i, line) for i, line in enumerate(lines, 1) if i % every == 0 or line.get("kind") != "row"]
    wrong = [
        f"{path}:{number}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for number, line in looked_at
        for error in VALIDATOR.iter_errors(line)
    ]
    assert lines and not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "what, line", list(mutants(lines_of(GOLDEN))), ids=lambda what: what if isinstance(what, str) else ""
)
def test_a_broken_line_is_rejected(what, line):
    assert not VALIDATOR.is_valid(line)
