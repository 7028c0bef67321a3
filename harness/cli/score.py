"""`rungs score FILE... --op OP --over VARIANT [CASE...]`: each file by a `rungs try` of its own, beside the variant, and one line of JSON (docs/RESULTS.md#scores).

    score.py PROGRAM TRIED FILE... [options]    TRIED: the folder for what `rungs try` compiles

Whatever becomes of a candidate costs its own line. With --out lines are kept, and --resume goes on where they end.
"""

import argparse
import contextlib
import ctypes
import fcntl
import hashlib
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CHECKED = "hot", "graph"  # modes whose clock the parent, or the device's own timer, checks
WORST = "error", "fail", "skip", "pass"
ENDING_SECONDS = 20  # for `try` to end its workers
MACHINE, INTERRUPTED = 4, 128


class Refused(Exception):
    def __init__(self, words, code=2):
        super().__init__(words)
        self.code = code


class Ended(BaseException):
    pass


def on_signal(number, _):
    raise Ended(number)


def with_parent():
    """`try` ends its workers and itself when this process is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Attempt:
    """A `rungs try` of a file, which has begun."""

    def __init__(self, args, path, folder, *more):
        """folder: for what it compiles."""
        argv = [args.program, "try", path, "--op", args.op, *args.cases, "--variants", args.over, *args.handed, *more]
        self.until = time.monotonic() + args.limit
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            list(map(str, argv)),
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=self.said,
            start_new_session=True,
            preexec_fn=with_parent,
            env=os.environ | {"RUNGS_TRIED": folder},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.said.close()

    def end(self):
        """(exit code, what it said); the code is None if it takes too long."""
        try:
            code = self.process.wait(max(0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = None
        self.said.seek(0)
        return code, self.said.read(1 << 20).decode(errors="replace")


def message_of(said):
    lines = [line.removeprefix("rungs try: ") for line in said.splitlines() if line.startswith("rungs")]
    lines = [line for line in lines if not line.startswith("races: ")]
    return (lines or said.strip().splitlines() or ["it said nothing"])[-1][:2000]


def rows_of(path):
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in found if row.get("kind") == "row"]


def times_of(row):
    """{mode: times} of a row, with who checked the clock."""
    found = {}
    for mode, times in ((row or {}).get("timing") or {}).items():
        if times["median"]:
            found[mode] = {key: times[key] for key in ("median", "low", "high")}
            found[mode]["share_of_limit"] = (times.get("limit") or {}).get("share")
            found[mode]["clock"] = "checked" if times.get("clock_checked") else "the worker's own"
    return found


def compared(own, base):
    """{mode: speed-up} where both have a checked clock; the interval is the widest that the medians' own allow."""
    found = {}
    for mode in CHECKED:
        if mode in own and mode in base and own[mode]["clock"] == base[mode]["clock"] == "checked":
            a, b = own[mode], base[mode]
            low, high = (
                (b["low"] or b["median"]) / (a["high"] or a["median"]),
                (b["high"] or b["median"]) / (a["low"] or a["median"]),
            )
            found[mode] = {"speedup": b["median"] / a["median"], "low": low, "high": high}
    return found


def case_of(row, base):
    times, other = times_of(row), times_of(base)
    ratios = [error["max_ratio"] for error in (row["errors"] or {}).values() if error.get("max_ratio") is not None]
    return {
        "case": row["case"],
        "verdict": row["verdict"],
        "reason": row["reason"],
        "backend": row["backend"],
        "times": times,
        "over": compared(times, other),
        "why_no_times": row["why_not_timed"]
        or (None if other else f"the variant has none: {(base or {}).get('reason')}"),
        "largest_error_of_tolerance": max(ratios, default=None),
        "does_not_tell": row["does_not_tell"],
    }


def overall(cases):
    """Over all cases: the geometric mean of the first mode that each of them has."""
    for mode in CHECKED:
        of_mode = [case["over"][mode] for case in cases if mode in case["over"]]
        if cases and len(of_mode) == len(cases):
            means = {
                key: math.exp(sum(math.log(at[key]) for at in of_mode) / len(of_mode))
                for key in ("speedup", "low", "high")
            }
            return {**means, "mode": mode}
    return None


def why_none(cases):
    for case in cases:
        if case["why_no_times"]:
            return case["why_no_times"]
    return "the clock of neither hot nor graph is checked in every row (docs/METHOD.md#the-clock); --quick leaves no time for it"


def run(args, path, folder):
    """(exit code, what it said, rows) of a file that is compiled."""
    rows = pathlib.Path(folder) / "rows.jsonl"
    with Attempt(args, path, folder, "--out", rows) as attempt:
        return *attempt.end(), rows_of(rows)


def compile_all(args, paths, folders):
    """{path: (exit code, what it said)}: side by side, while nothing is timed."""
    with contextlib.ExitStack() as stack:
        attempts = {path: stack.enter_context(Attempt(args, path, folders[path], "--dry-run")) for path in paths}
        return {path: attempt.end() for path, attempt in attempts.items()}


def score(args, path, key, compiled, folder):
    began = time.monotonic()
    code, said, found = (*compiled, []) if compiled[0] != 0 else run(args, path, folder)
    own = [row for row in found if "/try_" in row["variant"]]
    bases = {row["case"]: row for row in found if "/try_" not in row["variant"]}
    if code == MACHINE and not own:
        raise Refused(message_of(said), MACHINE)
    cases = [case_of(row, bases.get(row["case"])) for row in own]
    verdict = next((word for word in WORST if any(case["verdict"] == word for case in cases)), "error")
    reason = next((case["reason"] for case in cases if case["verdict"] == verdict), message_of(said))
    if code is None:
        verdict, reason = "error", f"it took longer than {args.limit:g} s (--limit)"
    speedup = overall(cases) if verdict == "pass" else None
    return {
        "kind": "score",
        "schema": 1,
        "key": key,
        "file": str(path),
        "op": args.op,
        "over": args.over,
        "verdict": verdict,
        "reason": reason,
        "sandboxed": not args.no_sandbox,
        "speedup": speedup,
        "why_no_speedup": None if speedup or verdict != "pass" else why_none(cases),
        "cases": cases,
        "seconds": round(time.monotonic() - began, 3),
    }


def score_together(args, paths, keys):
    """The lines of so many files as there are processors to compile them."""
    with contextlib.ExitStack() as stack:
        name = f"score-{os.getpid()}-"
        folders = {
            path: stack.enter_context(tempfile.TemporaryDirectory(prefix=name, dir=args.tried)) for path in paths
        }
        compiled = compile_all(args, paths, folders)
        for path in paths:
            yield score(args, path, keys[path], compiled[path], folders[path])


def sweep(tried):
    """Removes what was compiled for one that was killed."""
    tried.mkdir(parents=True, exist_ok=True)
    for left in tried.glob("score-*-*"):
        if not pathlib.Path("/proc", left.name.split("-")[1]).exists():
            shutil.rmtree(left, ignore_errors=True)


def key_of(args, path):
    """What a line is of: the file's text, and all that is asked of it."""
    asked = json.dumps([str(path), args.op, args.over, args.cases, args.handed, args.version]).encode()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    return hashlib.sha256(asked + b"\0" + text).hexdigest()[:16]


def kept(out, resume):
    """The keys of the lines in the file, whose last one may have been cut off."""
    text = out.read()
    whole = text[: text.rfind(b"\n") + 1]
    if text and not resume:
        raise Refused(f"{out.name} has lines already: --resume goes on, or name another file")
    out.truncate(len(whole))
    out.seek(len(whole))
    return {json.loads(line).get("key") for line in whole.splitlines()}


def shown(line, as_json):
    if as_json:
        return json.dumps(line)
    speedup = line["speedup"]
    words = (
        f"{speedup['speedup']:.2f}x {speedup['mode']} ({speedup['low']:.2f} to {speedup['high']:.2f})"
        if speedup
        else line["reason"] or line["why_no_speedup"]
    )
    return f"{line['verdict']:<6} {line['file']}: {words}"


def main():
    parser = argparse.ArgumentParser()  # harness/cli/score.c has the help
    parser.add_argument("program")
    parser.add_argument("tried", type=pathlib.Path)
    parser.add_argument("words", nargs="+")
    for name in ("op", "over", "out", "call", "launch", "timeout", "device", "emulator"):
        parser.add_argument(f"--{name}")
    for name in ("json", "resume", "quick", "full", "emulate", "verify-only", "no-sandbox"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--limit", type=float)
    args = parser.parse_args()
    files = [pathlib.Path(word) for word in args.words if word.endswith((".c", ".cu", ".py"))]
    args.cases = [word for word in args.words if not word.endswith((".c", ".cu", ".py"))]
    given = {name: value for name, value in vars(args).items() if value}
    args.handed = [
        f"--{name}={given[name]}" for name in ("call", "launch", "timeout", "device", "emulator") if name in given
    ]
    args.handed += [
        f"--{name.replace('_', '-')}"
        for name in ("quick", "full", "emulate", "verify_only", "no_sandbox")
        if name in given
    ]
    args.handed += args.flag
    args.version = subprocess.run([args.program, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    keys = {path: key_of(args, path) for path in files}
    sweep(args.tried)
    with open(args.out, "ab+") if args.out else tempfile.TemporaryFile() as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.seek(0)
        known = kept(out, args.resume)
        todo = [path for path, key in keys.items() if key not in known]
        at_once = len(os.sched_getaffinity(0))
        for first in range(0, len(todo), at_once):
            for line in score_together(args, todo[first : first + at_once], keys):
                out.write(json.dumps(line).encode() + b"\n")
                out.flush()
                os.fsync(out.fileno())
                print(shown(line, args.json), flush=True)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    try:
        main()
    except Refused as error:
        print(f"rungs score: {error}", file=sys.stderr)
        sys.exit(error.code)
    except Ended as error:
        sys.exit(INTERRUPTED + error.args[0])
