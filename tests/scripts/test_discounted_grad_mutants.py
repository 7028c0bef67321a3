"""Gradients of a discount that lack something: the harness must tell, at the sizes, dtypes and input families of sweeps/, sizes/ and the gate,
scaled to what a test can run. A row more or less shows in float32 too, where terms of both signs cancel (normal)."""

import pathlib
import tempfile

from program import MUTANTS, call, expect, rows_of

RIGHT, ANY = "cpu_right", {"cpu_zero_dgamma", "cpu_wrong_sign"}
PART, ROW = {"cpu_drops_part"}, {"cpu_drops_row"}

# case -> mutants that must be rejected there
EXPECTED = {
    "batch=1 n=1e5 dtype=f32 input=normal": ANY | PART,
    "batch=1 n=1e6 dtype=f32 input=normal": ANY | PART,
    "batch=1 n=1e6 dtype=f64 input=normal": ANY | PART,
    "batch=1 n=1e6 dtype=f32 input=uniform": ANY | PART,
    "batch=1 n=1e6 dtype=f32 input=integers gamma=1": ANY | PART,
    "batch=1000 n=1024 dtype=f32 input=normal": ANY | PART | ROW,
    "batch=1000 n=1024 dtype=f64 input=normal": ANY | PART | ROW,
    "batch=1000 n=1024 dtype=f32 input=uniform": ANY | PART | ROW,
    "batch=1000 n=1024 dtype=f32 input=integers gamma=1": ANY | PART | ROW,
    "batch=1000 n=1024 dtype=f32 input=normal gamma_per=row": ANY | PART | ROW,
    "batch=16384 n=64 dtype=f32 input=normal": ANY | PART | ROW,
    "batch=16384 n=64 dtype=f64 input=uniform": ANY | PART | ROW,
    "batch=16384 n=64 dtype=f32 input=integers gamma=1": ANY | PART | ROW,
    "batch=3 n=2000 dtype=f32 input=normal": ANY | PART | ROW,
}


def main():
    shipped = {
        path.stem
        for path in (pathlib.Path(__file__).resolve().parents[1] / "mutants" / "discounted_cumsum_grad").glob("cpu_*.c")
    }
    unjudged = shipped - {RIGHT} - set.union(*EXPECTED.values())
    expect(not unjudged, f"an expectation for every mutant {sorted(unjudged)}")
    with tempfile.TemporaryDirectory() as folder:
        for number, (case, wrong) in enumerate(EXPECTED.items()):
            out = pathlib.Path(folder) / f"{number}.jsonl"
            done = call(
                "run",
                f"discounted_cumsum_grad {case}",
                "--variants",
                ",".join(sorted({RIGHT} | wrong)),
                "--verify-only",
                "--out",
                out,
                program=MUTANTS,
            )
            rows = {row["variant"].split("/")[1]: row for row in rows_of(out)}
            rejected = {name for name, row in rows.items() if row["verdict"] == "fail" and "dgamma" in row["reason"]}
            expect(
                rejected == wrong and rows[RIGHT]["verdict"] == "pass",
                f"{case}: rejected for their dgamma: {sorted(rejected)}",
                done,
            )


if __name__ == "__main__":
    main()
