"""Outputs that a variant allocates: what can be wrong with them, each rejected for the right reason."""

import pathlib
import re
import tempfile

from program import MUTANTS, SANITIZED, call, expect, rows_of

CASE = "redact rows=10007 nulls=some"

# name -> verdict, what its reason must say
EXPECTED = {
    "cpu_right": ("pass", ""),
    "cpu_count_on_device": ("pass", ""),
    "cpu_count_unwritten": (
        "fail",
        r"output redacted\.chars: run\(\) made it u8\[\d{10,}\]; at most u8\[\d+\] is possible",
    ),
    "cpu_leaks_block": ("fail", r"leaks 1 block of 100 bytes in all: neither released nor returned"),
    "cpu_overruns_block": (
        "fail",
        r"redacted\.chars u8\[\d+\]: written past its end: the first changed byte is 0 after",
    ),
    "cpu_overruns_scratch": ("fail", r"a block of 1000 bytes u8\[1000\]: written past its end"),
    "cpu_wrong_byte": (
        "fail",
        r'redacted\.chars\[\d+\] is 0x.., expected 0x..; row \d+ is ".+", expected ".+"; 1 of \d+ elements differ',
    ),
    "cpu_wrong_offset": (
        "fail",
        r"redacted\.offsets\[5004\] is (\d+), expected \d+; row 5003 is .+, expected .+; 1 of 10008 elements differ",
    ),
    "cpu_wrong_null": (
        "fail",
        r'redacted\.validity\[0\] is 0x.., expected 0x..; row \d is null, expected ".+"; 1 of 1251 elements differ',
    ),
    "cpu_too_short": ("fail", r"redacted\.chars has (\d+) elements, expected \d+"),
    "cpu_too_long": ("fail", r"output redacted\.chars u8\[\d+\]: larger than its block of \d+ bytes"),
    "cpu_too_many_rows": (
        "fail",
        r"output redacted\.offsets: run\(\) made it i32\[10009\]; at most i32\[10008\] is possible",
    ),
    "cpu_foreign_pointer": ("fail", r"output redacted\.chars .*not the start of a block that args->memory allocated"),
    "cpu_no_data": ("fail", r"output redacted\.chars .*run\(\) set elements but no data"),
    "cpu_hands_over_released": ("fail", r"output redacted\.chars .*its block of \d+ bytes was released"),
    "cpu_releases_input": ("fail", r"releases a pointer that args->memory did not allocate"),
    "cpu_releases_twice": ("fail", r"releases a block of 1000 bytes twice"),
    "cpu_unwritten": ("fail", r"output redacted\.chars: element \d+ was never written"),
    "cpu_unsteady": ("fail", r"output redacted\.chars: two runs on the same inputs differ, first in element 0"),
    "cpu_empty_later": ("fail", r"in timing, cold sample \d+|on the second data set|two runs on the same inputs"),
    "cpu_leaks_elsewhere": ("fail", r"leaks memory: one run ended with \d+ more bytes in use"),
    "cpu_cannot": ("skip", r"row 17 would become longer than it was"),
}


def main():
    folder_of_mutants = pathlib.Path(__file__).resolve().parents[1] / "mutants" / "redact"
    unjudged = {p.stem for p in folder_of_mutants.glob("cpu_*.c")} - set(EXPECTED)
    expect(not unjudged, f"an expectation for every mutant {sorted(unjudged)}")
    names = set(EXPECTED) - (
        {"cpu_leaks_elsewhere", "cpu_hands_over_released", "cpu_overruns_block", "cpu_overruns_scratch"}
        if SANITIZED
        else set()
    )
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        done = call("run", CASE, "--variants", ",".join(sorted(names)), "--quick", "--out", out, program=MUTANTS)
        expect(done.returncode == 1, "failures end in exit code 1", done)
        rows = {row["variant"].split("/")[1]: row for row in rows_of(out)}
    for name in sorted(names):
        verdict, pattern = EXPECTED[name]
        row = rows[name]
        good = (
            row["verdict"] == verdict
            and re.search(pattern, row["reason"] or "", re.S)
            and (verdict == "pass" or row["timing"] is None)
        )
        expect(good, f"{name}: {row['verdict']}: {row['reason']}")
    errors = rows["cpu_wrong_byte"]["errors"]["redacted.chars"]
    expect(
        errors["count"] == errors["expected_count"]
        and errors["mismatches"] == 1
        and errors["first_mismatch"] == errors["count"] // 2,
        f"errors: {errors}",
    )
    errors = rows["cpu_too_short"]["errors"]["redacted.chars"]
    expect(
        errors["expected_count"] - errors["count"] == 1 == errors["mismatches"]
        and errors["first_mismatch"] == errors["count"],
        f"errors: {errors}",
    )


if __name__ == "__main__":
    main()
