"""large.py - the cheats of `double` at the sizes of published cases: what gets a time there, and which share of the honest one. Kept in
large.json.

    python3 tests/verification/large.py RUNGS_MUTANTS N cpu|peer    measure again: 3 minutes with 1e7, half an hour and 12 GiB with 1e8
"""

import json
import os
import pathlib
import sys

import cheats

KEPT = pathlib.Path(__file__).with_name("large.json")


def read():
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def measure(program, n, prefix):
    """Of each that is not skipped: n, place, mutant, rejected, share of the median of the honest variant, in `cold` (None: no time)."""
    names = [f"{prefix}_cheat_*", f"{prefix}_right"]
    found = cheats.rows(program, f"double n={n} input=normal", names, (), "120s", "12G", 7200)
    rows = [row for _, row in found if row["verdict"] != "skip"]
    cold = {row["variant"]: row["timing"]["cold"]["median"] for row in rows if row["timing"]}
    honest = cold[f"double/{prefix}_right"]
    return [
        {
            "n": n,
            "place": cheats.PLACES[prefix],
            "mutant": row["variant"],
            "rejected": row["verdict"] != "pass",
            "share": round(cold[row["variant"]] / honest, 3) if row["variant"] in cold else None,
        }
        for row in rows
        if not cheats.CONTROL.search(row["variant"])
    ]


def main(program, n, prefix):
    found, place = measure(os.path.abspath(program), n, prefix), cheats.PLACES[prefix]
    kept = [entry for entry in read() if (entry["n"], entry["place"]) != (n, place)]
    KEPT.write_text(json.dumps(kept + found, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
