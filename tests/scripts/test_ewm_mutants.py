"""Exponential weights that are wrong in one rule: each is rejected where its rule matters, in either precision, and passes where it does not."""

import pathlib
import tempfile

from program import MUTANTS, call, expect, rows_of

# Case -> the mutants that it must tell from the right one beside cpu_zero, which is wrong everywhere; the others pass.
EXPECTED = {
    "ewm n=5003 span=20 input=normal": set(),
    "ewm n=5003 span=20 adjust=false input=uniform": set(),
    "ewm n=5003 span=20 segments=mask input=normal": {"cpu_leaks_across_series"},
    "ewm n=20011 span=20 nan=decay segments=mask input=naninf": {"cpu_forgets_gaps", "cpu_leaks_across_series"},
    "ewm n=20011 span=20 nan=propagate segments=mask input=gaps": {"cpu_leaks_across_series"},
    "ewm agg=var n=5003 span=20 input=normal": {"cpu_biased_variance"},
    "ewm agg=std n=5003 span=300 adjust=false input=offset1e6": {"cpu_biased_variance", "cpu_textbook_variance"},
    "ewm agg=std n=5003 span=300 input=offset1e6": {"cpu_biased_variance", "cpu_textbook_variance"},
    "ewm agg=var n=5003 span=20 segments=mask input=offset1e6": {
        "cpu_biased_variance",
        "cpu_leaks_across_series",
        "cpu_textbook_variance",
    },
}


def main():
    shipped = {p.stem for p in (pathlib.Path(__file__).resolve().parents[1] / "mutants" / "ewm").glob("cpu_*.c")}
    unjudged = shipped - {"cpu_right", "cpu_zero"} - set.union(*EXPECTED.values())
    expect(not unjudged, f"an expectation for every mutant {sorted(unjudged)}")
    with tempfile.TemporaryDirectory() as folder:
        for i, (case, wrong) in enumerate(EXPECTED.items()):
            for dtype in ("f64", "f32"):
                out = pathlib.Path(folder) / f"{i}{dtype}.jsonl"
                done = call("run", f"{case} dtype={dtype}", "--verify-only", "--out", out, program=MUTANTS)
                rejected = {row["variant"].split("/")[1] for row in rows_of(out) if row["verdict"] == "fail"}
                passed = {row["variant"].split("/")[1] for row in rows_of(out) if row["verdict"] == "pass"}
                found = wrong | {"cpu_zero"}
                expect(
                    rejected == found and passed == shipped - found,
                    f"{case} {dtype}: rejects {sorted(rejected)}, {sorted(found)} expected",
                    done,
                )


if __name__ == "__main__":
    main()
