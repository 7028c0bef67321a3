"""Moments, right and wrong in the ways that formulas, merges and reductions go wrong: each is rejected, by the output that it spoils."""

import pathlib
import tempfile

from program import MUTANTS, call, expect, rows_of

# case -> variant -> the output that fails; None: passes.
BIG = "rows=20000 cols=5 dtype=f64 input=normal"
SMALL = "rows=301 cols=7 dtype=f32 input=uniform"
OFFSET = "rows=301 cols=4 dtype=f64 input=offset1e6"
NAN = "rows=3000 cols=2 dtype=f64 input=naninf"
ALWAYS = {
    "cpu_right": None,
    "cpu_ddof_one": "var",
    "cpu_unbiased_skewness": "skewness",
    "cpu_excess_kurtosis": "kurtosis",
    "cpu_last_row": "mean",
    "cpu_last_column": "mean",
}
EXPECTED = {
    SMALL: {**ALWAYS, "cpu_empty_part": "min", "cpu_raw_squares": None, "cpu_float_sums": None},
    BIG: {**ALWAYS, "cpu_float_sums": "mean", "cpu_raw_squares": None},
    OFFSET: {**ALWAYS, "cpu_raw_squares": "var", "cpu_float_sums": "mean", "cpu_empty_part": "min"},
    NAN: {"cpu_right": None, "cpu_passes_over_nan": "min"},
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        for case, variants in EXPECTED.items():
            out = pathlib.Path(folder) / f"{len(list(pathlib.Path(folder).iterdir()))}.jsonl"
            done = call(
                "run",
                f"moments {case}",
                "--variants",
                ",".join(variants),
                "--verify-only",
                "--out",
                out,
                program=MUTANTS,
            )
            rows = {row["variant"].split("/")[1]: row for row in rows_of(out)}
            for name, output in variants.items():
                row = rows[name]
                verdict = "pass" if output is None else "fail"
                expect(
                    row["verdict"] == verdict and (output is None or f"{output}[" in row["reason"]),
                    f"{case}: {name}: {verdict}",
                    done,
                )


if __name__ == "__main__":
    main()
