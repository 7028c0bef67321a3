"""Rolling windows that are wrong in one way: each is rejected where it matters, in either precision, and passes where it does not."""

import pathlib
import tempfile

from program import MUTANTS, call, expect, rows_of

ALWAYS = {"cpu_window_off_by_one", "cpu_early", "cpu_zero"}
RUNNING = {"cpu_drifts", "cpu_keeps_spike"}
SPREADS = {"cpu_biased_variance"}
# Case -> dtype -> the mutants that it must tell from the right one; the others pass.
EXPECTED = {
    "rolling agg=mean n=5003 window=30 input=normal": {"f64": ALWAYS | {"cpu_drifts", "cpu_float_sums"}, "f32": ALWAYS},
    "rolling agg=mean n=5003 window=30 input=spike1e16": {
        "f64": ALWAYS | RUNNING | {"cpu_float_sums"},
        "f32": ALWAYS | RUNNING,
    },
    "rolling agg=mean n=5003 window=30 input=outlier": {
        "f64": ALWAYS | RUNNING | {"cpu_float_sums"},
        "f32": ALWAYS | RUNNING,
    },
    "rolling agg=sum n=5003 window=30 input=naninf": {
        "f64": ALWAYS | RUNNING | {"cpu_swallows_nan", "cpu_float_sums"},
        "f32": ALWAYS | RUNNING | {"cpu_swallows_nan"},
    },
    "rolling agg=var n=1503 window=300 input=uniform": {
        "f64": ALWAYS | SPREADS | {"cpu_float_sums"},
        "f32": ALWAYS | SPREADS,
    },
    "rolling agg=var n=1503 window=300 input=outlier": {
        "f64": ALWAYS | SPREADS | {"cpu_float_sums"},
        "f32": ALWAYS | SPREADS,
    },
    "rolling agg=var n=1503 window=300 input=offset1e6": {
        "f64": ALWAYS | SPREADS | {"cpu_float_sums", "cpu_textbook_variance"},
        "f32": {"cpu_early", "cpu_zero"},
    },
    # Tolerances that once let 0 pass.
    "rolling agg=var n=3203 window=3000 input=offset1e3": {"f32": ALWAYS | SPREADS},
    "rolling agg=std n=3203 window=3000 input=offset1e6": {"f32": {"cpu_early", "cpu_zero"}},
}


def main():
    # The cheats (cpu_cheat_*) have a test of their own.
    shipped = {
        p.stem
        for p in (pathlib.Path(__file__).resolve().parents[1] / "mutants" / "rolling").glob("cpu_*.c")
        if "_cheat_" not in p.stem
    }
    unjudged = (
        shipped - {"cpu_right"} - set().union(*(wrong for expected in EXPECTED.values() for wrong in expected.values()))
    )
    expect(not unjudged, f"an expectation for every mutant {sorted(unjudged)}")
    with tempfile.TemporaryDirectory() as folder:
        for i, (case, expected) in enumerate(EXPECTED.items()):
            for dtype, wrong in expected.items():
                out = pathlib.Path(folder) / f"{i}{dtype}.jsonl"
                done = call(
                    "run",
                    f"{case} dtype={dtype}",
                    "--verify-only",
                    "--variants",
                    "cpu_*,-cpu_cheat_*",
                    "--out",
                    out,
                    program=MUTANTS,
                )
                rejected = {row["variant"].split("/")[1] for row in rows_of(out) if row["verdict"] == "fail"}
                passed = {row["variant"].split("/")[1] for row in rows_of(out) if row["verdict"] == "pass"}
                expect(
                    rejected == wrong and passed == shipped - wrong,
                    f"{case} {dtype}: rejects {sorted(rejected)}, {sorted(wrong)} expected",
                    done,
                )


if __name__ == "__main__":
    main()
