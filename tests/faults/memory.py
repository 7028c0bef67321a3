"""The k-th allocation fails, alone or with all after it, in the program or in its workers: an error that says so, or the same result.

Never a crash, never exit code 0 with less than the whole output, never the verdict `fail`: memory says nothing about a variant."""

import concurrent.futures
import json
import pathlib
import os
import random

from faults import CASE, FULL, HOSTILE, INJECT, RUNGS, SOURCE, Part, Sandbox

TRIES = 40 if FULL else 8  # values of k for each command and way
X = SOURCE / "examples" / "data" / "x.npy"


def list_json(out, printed):
    return json.loads(printed)


def rows_of(out, printed):
    """What a run says of its variants; what differs from run to run is left out."""
    rows = [row for row in map(json.loads, out.read_text().splitlines()) if row["kind"] == "row"]
    return [
        {key: value for key, value in row.items() if key not in ("run", "seconds_spent", "prepare_seconds")}
        for row in rows
    ]


def array_of(out, printed):
    return out.read_bytes()


# name -> program, words ({out}, {rows} are files of the sandbox), what is read as its result
COMMANDS = {
    "list": (RUNGS, ["list", "variants", "--json"], list_json),
    "run": (
        HOSTILE,
        ["run", CASE, "--variants", "cpu_right", "--verify-only", "--timeout", "10s", "--out", "{out}"],
        rows_of,
    ),
    "exec": (
        RUNGS,
        ["exec", "rolling/cpu_naive", "--in", f"x={X}", "--set", "window=300", "--out", "y={out}", "--check"],
        array_of,
    ),
    "judge": (RUNGS, ["judge", SOURCE / "tests" / "golden" / "rows.jsonl"], lambda out, printed: printed),
}


def call(name, fault=(), count=None):
    program, words, result_of = COMMANDS[name]
    with Sandbox() as sandbox:
        out = sandbox.folder / ("out.npy" if name == "exec" else "out.jsonl")
        environment = {"LD_PRELOAD": str(INJECT), "RUNGS_WORKERS_WRITE": "/dev/shm", **dict(fault)}
        counts = pathlib.Path("/dev/shm") / sandbox.folder.name
        if count:
            environment["RUNGS_FAULT_COUNT"] = str(counts)
        code, printed, said = sandbox.call(
            program, *(str(word).format(out=out) for word in words), environment=environment
        )
        numbers = counts.read_text().split() if count else None
        counts.unlink(missing_ok=True)
        try:
            result = result_of(out, printed)
        except (OSError, ValueError) as error:
            result = error
        return code, result, printed, said, sandbox.left_behind(), numbers


def judge(name, good, code, result, said):
    """What is wrong; "" for an error with words or the very result."""
    if code is None or code < 0 or code > 4:
        return f"ended with {code}: {said[-200:]}"
    if name == "run" and isinstance(result, list) and any(row["verdict"] == "fail" for row in result):
        return f"out of memory became the verdict fail: {result[0]['reason']}"
    if code == good[0]:
        return (
            ""
            if not isinstance(result, Exception) and result == good[1]
            else f"exit code {code}, but the result is another one: {str(result)[:300]}"
        )
    if name == "run" and code in (1, 3):
        return (
            ""
            if isinstance(result, list) and all(row["reason"] for row in result if row["verdict"] != "pass")
            else f"exit code {code} without a row that says why"
        )
    if code == 4 and said.strip():
        return ""
    return f"exit code {code}, said: {said.strip()[-200:] or 'nothing'}"


def main():
    part = Part("memory")
    for name in COMMANDS:
        for place in ("program", "worker") if name in ("run", "exec") else ("program",):
            where = {"RUNGS_FAULT_IN": "worker"} if place == "worker" else {}
            good = call(name, {"RUNGS_FAULT": "malloc:0", **where}, count=True)
            if isinstance(good[1], Exception) or good[0] not in (
                0,
                3,
                *[4][: name == "judge"],
            ):  # without CUDA variants the files are read, and no claim is judged
                raise SystemExit(f"BAD  {name} without a fault ended with {good[0]}: {good[3]}")
            total, source = int(good[5][0]), random.Random(18)
            for way in ("malloc", "memory"):
                ks = [1, 2, total] + [source.randint(1, total) for _ in range(TRIES - 3)]
                with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
                    faults = [{"RUNGS_FAULT": f"{way}:{k}", **where} for k in ks]
                    for k, (code, result, _, said, left, _) in zip(
                        ks, pool.map(lambda fault: call(name, fault), faults)
                    ):
                        kind = f"no memory {'once' if way == 'malloc' else 'any more'}, {'in a worker' if where else 'in the program'}"
                        part.tell(
                            kind, f"{name}, allocation {k} of {total}", judge(name, good, code, result, said) or left
                        )
    part.end()


if __name__ == "__main__":
    main()
