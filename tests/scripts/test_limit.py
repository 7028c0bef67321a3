"""Rows carry what they move per second, and the least time that the machine needs for it: the numbers of a row agree with each other."""

import pathlib
import sys
import tempfile

from program import RELEASE, call, expect, rows_of

CASES = ("double n=10007", "double n=0", "rolling n=2000 window=3000 agg=mean", "redact rows=2000 input=private")
VARIANTS = "cpu_loop,cpu_online,cpu_best"


def run(folder, *more):
    out = pathlib.Path(folder) / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", *CASES, "--variants", VARIANTS, "--quick", "--no-counts", "--out", out, *more)
    expect(done.returncode == 0, f"runs {' '.join(more)}", done)
    return rows_of(out)


def close(a, b):
    return abs(a - b) <= 1e-12 * abs(b)


def check_mode(row, mode, timed):
    work, limit = row["work"], timed["limit"]
    what = f"{row['spec']}, {row['case']}, {mode}"
    if timed["median"] is None:
        expect(
            (timed["bytes_per_second"], timed["elements_per_second"], limit) == (None, None, None),
            f"{what}: no time, no rate",
        )
        return
    rates = [(timed["bytes_per_second"], work["bytes"]), (timed["elements_per_second"], work["elements"])]
    expect(
        all(rate is None if amount == 0 else close(rate * timed["median"], amount) for rate, amount in rates),
        f"{what}: rates",
    )
    if mode == "first" or row["limit_reason"]:
        expect(limit is None, f"{what}: no limit")
        return
    expect(
        limit["seconds"] > 0 and limit["kernel"] and close(limit["share"], limit["seconds"] / timed["median"]),
        f"{what}: limit",
    )


def main():
    if not RELEASE:
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="rungs_limit_") as folder:
        rows = [row for row in run(folder) if row["verdict"] != "skip"]
        for row in rows:
            for mode, timed in row["timing"].items():
                check_mode(row, mode, timed)
        limits = {
            row["case"].split(" input=")[0] + row["variant"]: (row["timing"]["hot"]["limit"], row["limit_reason"])
            for row in rows
        }
        moved = {
            op: (limit["bytes_read"], limit["bytes_written"])
            for op, (limit, _) in ((key.split(" ")[0], value) for key, value in limits.items())
            if limit
        }
        expect(moved["double"] == (80056, 80056), "double reads and writes every element")
        expect(moved["rolling"] == (0, 16000), "no window is full: nothing is read")
        expect(moved["redact"][0] == 2000 * 4, "hidden names are not read")
        expect(moved["redact"][1] == 2001 * 4 + 2000 * 3, "'X X' is written for each")
        expect(
            any(limit is None and reason == "no bytes to move" for limit, reason in limits.values()),
            "no elements, no limit",
        )
        by_case = {}
        for row in rows:
            by_case.setdefault(row["case"], set()).add(
                repr(row["timing"]["hot"]["limit"] and row["timing"]["hot"]["limit"]["seconds"])
            )
        expect(all(len(found) == 1 for found in by_case.values()), "the rows of a case share a limit")
        untold = [row for row in run(folder, "--no-ceilings") if row["timing"]]
        expect(
            untold and all(row["limit_reason"] == "peaks were not measured" for row in untold),
            "--no-ceilings measures no limits",
        )


main()
